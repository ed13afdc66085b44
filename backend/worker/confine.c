// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * A worker that a guest took over is root with two capabilities: it could ask
 * D-Bus to start programs, or read and end the other processes of root. So,
 * before it serves, it loses the system calls for that. The list names what is
 * refused, because libraries and the HCA's provider may need anything else. The
 * worker has to retain Xen's devices and its connections to xenstore;
 * docs/threat-model.md says what that means. Its capabilities are dropped, and its
 * limits set, before it opens anything. The command thread runs this once; the kernel
 * is trusted.
 */
#include <errno.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "be.h"
#include "caps.h"
#include "confine.h"
#include "look.h"

#define BE_FDS_PER_UC	3	/* uverbs file, async events, completions */
#define BE_FDS_SPARE	256
#define BE_FDS_PER_XRCD	1
#define BE_FDS_PER_CM	1
#define BE_FDS_PER_UMAD	1

#ifdef __x86_64__
#define BE_ARCH		AUDIT_ARCH_X86_64
#define BE_FOREIGN_ABI	0x40000000u	/* x32: other numbers */
#elif defined(__aarch64__)
#define BE_ARCH		AUDIT_ARCH_AARCH64
#define BE_FOREIGN_ABI	UINT32_MAX
#endif

static const uint32_t refused[] = {
	/* others, by name or number */
	SYS_socket, SYS_socketpair, SYS_connect, SYS_bind, SYS_listen,
	SYS_accept, SYS_accept4, SYS_kill, SYS_tkill, SYS_rt_sigqueueinfo,
	SYS_rt_tgsigqueueinfo, SYS_pidfd_open, SYS_pidfd_send_signal,
	SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev,
	/* programs, other namespaces and file systems */
	SYS_execve, SYS_execveat, SYS_unshare, SYS_setns, SYS_chroot,
	SYS_pivot_root, SYS_mount, SYS_umount2, SYS_open_tree, SYS_move_mount,
	SYS_fsopen, SYS_fsconfig, SYS_fsmount, SYS_fspick,
	SYS_open_by_handle_at,
	/* parts of the kernel that no worker uses */
	SYS_init_module, SYS_finit_module, SYS_delete_module, SYS_kexec_load,
	SYS_kexec_file_load, SYS_reboot, SYS_bpf, SYS_perf_event_open,
	SYS_userfaultfd, SYS_io_uring_setup, SYS_io_uring_enter,
	SYS_io_uring_register, SYS_keyctl, SYS_add_key, SYS_request_key,
};
#define BE_REFUSED	(sizeof(refused) / sizeof(refused[0]))

#define BE_LOAD(field) \
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define BE_IF(how, value, yes, no) \
	BPF_JUMP(BPF_JMP | BPF_##how | BPF_K, value, yes, no)
#define BE_HEAD		7	/* instructions before the list */
/* From instruction i to the last but one, or the last. */
#define BE_ALLOW(i)	(BE_HEAD + BE_REFUSED - 1 - (i))
#define BE_REFUSE(i)	(BE_ALLOW(i) + 1)

_Static_assert(BE_REFUSE(0) <= UINT8_MAX, "jumps are short");

/*
 * Signals to its own threads stay: libxenstore ends one so, sleep.c wakes one. All of
 * another instruction set is refused.
 */
static void syscall_filter(struct sock_filter *f)
{
	const struct sock_filter head[BE_HEAD] = {
		BE_LOAD(arch),
		BE_IF(JEQ, BE_ARCH, 0, BE_REFUSE(1)),
		BE_LOAD(nr),
		BE_IF(JGE, BE_FOREIGN_ABI, BE_REFUSE(3), 0),
		BE_IF(JEQ, SYS_tgkill, 0, 2),
		BE_LOAD(args[0]),
		BE_IF(JEQ, (uint32_t)getpid(), BE_ALLOW(6), BE_REFUSE(6)),
	};
	size_t i;

	for (i = 0; i < BE_HEAD; i++)
		f[i] = head[i];
	for (; i < BE_HEAD + BE_REFUSED; i++)
		f[i] = (struct sock_filter)
			BE_IF(JEQ, refused[i - BE_HEAD], BE_REFUSE(i), 0);
	f[i++] = (struct sock_filter)
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	f[i] = (struct sock_filter)
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
}

int be_confine(void)
{
	struct sock_filter f[BE_HEAD + BE_REFUSED + 2];
	const struct sock_fprog prog = {
		.len = sizeof(f) / sizeof(f[0]), .filter = f,
	};
	long r;

	syscall_filter(f);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -errno;
	r = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
		    SECCOMP_FILTER_FLAG_TSYNC, &prog);
	if (r < 0)
		return -errno;
	return r ? -EBUSY : 0;		/* a thread has another filter */
}

void be_limit(void)
{
	struct rlimit mem = { RLIM_INFINITY, RLIM_INFINITY }, fds;
	struct rlimit nice = { 20 - BE_LOOK_NICE, 20 - BE_LOOK_NICE };
	int rc;

	/* Failure shows later, as an error that names the limit. */
	setrlimit(RLIMIT_MEMLOCK, &mem);
	setrlimit(RLIMIT_NICE, &nice);
	fds.rlim_cur = fds.rlim_max =
		(BE_FDS_PER_UC + BE_FDS_PER_XRCD + BE_FDS_PER_CM +
		 BE_FDS_PER_UMAD) * XENVHCA_MAX_OBJECTS + BE_FDS_SPARE;
	setrlimit(RLIMIT_NOFILE, &fds);
	/*
	 * The devices are root's by file mode alone, so a worker needs no
	 * capability but to pin without limit and to open what root may: a guest
	 * that takes it over gets no raw packets, no modules, no other process.
	 */
	rc = vl_caps_retain(1u << CAP_IPC_LOCK | 1u << CAP_DAC_OVERRIDE);
	if (rc)
		be_log(NULL, BE_WARN, "cannot drop capabilities: %s",
		       strerror(-rc));
}
