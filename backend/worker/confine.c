// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * A worker that a guest took over is root with two capabilities: it could ask
 * D-Bus to start programs, end the other processes of root, or leave one of its own
 * behind. So, before it serves, it loses the system calls for that. The list names
 * what is refused, because libraries and the HCA's provider may need anything else.
 * The worker has to retain Xen's devices and its connections to xenstore;
 * docs/design/threat-model.md says what that means. Its capabilities are dropped, and its
 * limits set, before it opens anything. The command thread runs this once; the kernel
 * is trusted.
 */
#include <asm/ioctls.h>
#include <asm/sockios.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/fs.h>
#include <linux/fscrypt.h>
#include <linux/fsverity.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "core/be.h"
#include "caps.h"
#include "confine.h"
#include "verbs/shadow.h"
#include "vhca-keys.h"

#define BE_FDS_PER_UC	3	/* uverbs file, async events, completions */
#define BE_FDS_SPARE	256
#define BE_FDS_PER_XRCD	1
#define BE_FDS_PER_CM	1
#define BE_FDS_PER_UMAD	1

#ifdef __x86_64__
#define BE_ARCH		AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define BE_ARCH		AUDIT_ARCH_AARCH64
#endif
#define BE_UNKNOWN	450u	/* newer than this list, or x32's */

static const uint32_t refused[] = {
	/* others, by name or number */
	SYS_socket, SYS_socketpair, SYS_connect, SYS_bind, SYS_listen,
	SYS_accept, SYS_accept4, SYS_kill, SYS_tkill, SYS_rt_sigqueueinfo,
	SYS_rt_tgsigqueueinfo, SYS_pidfd_open, SYS_pidfd_send_signal,
	SYS_pidfd_getfd, SYS_ptrace, SYS_process_vm_readv,
	SYS_process_vm_writev, SYS_process_madvise, SYS_migrate_pages,
	SYS_move_pages, SYS_ioprio_set, SYS_sched_setaffinity,
	SYS_sched_setparam, SYS_sched_setscheduler, SYS_sched_setattr,
	/* what is charged to nobody, and outlives it */
	SYS_shmget, SYS_shmat, SYS_shmctl, SYS_semget, SYS_semctl, SYS_semop,
	SYS_semtimedop, SYS_msgget, SYS_msgctl, SYS_msgsnd, SYS_msgrcv,
	SYS_mq_open, SYS_mq_unlink,
	/* files by name, as Landlock of Linux before 6.2 does not know that */
	SYS_truncate,
	/* what is known of a file, which Landlock knows nothing of */
	SYS_fchmod, SYS_fchmodat, SYS_fchown, SYS_fchownat, SYS_utimensat,
	SYS_setxattr, SYS_lsetxattr, SYS_fsetxattr, SYS_removexattr,
	SYS_lremovexattr, SYS_fremovexattr,
#ifdef SYS_open				/* those that some architectures have besides */
	SYS_chmod, SYS_chown, SYS_lchown, SYS_utime, SYS_utimes, SYS_futimesat,
	SYS_creat,
#endif
	/* programs, other namespaces and file systems */
#ifdef SYS_fork
	SYS_fork, SYS_vfork,
#endif
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

/* System calls that are refused because of an argument, an int. */
struct arg_rule {
	uint32_t nr;
	unsigned int arg;
	enum { BE_ONLY, BE_NEVER, BE_WITH, BE_WITHOUT } how;	/* value; bits */
	uint32_t value;
};

#define BE_LOAD(field) \
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define BE_IF(how, value, yes, no) \
	BPF_JUMP(BPF_JMP | BPF_##how | BPF_K, value, yes, no)
#define BE_HEAD		6	/* instructions before the rules */
#ifdef SYS_open
#define BE_OPENS	2
#else
#define BE_OPENS	1
#endif
#define BE_RULES	(15 + BE_OPENS)
#define BE_RULE		4	/* instructions of one */
#define BE_TAIL		3
#define BE_LEN		(BE_HEAD + BE_RULES * BE_RULE + BE_REFUSED + BE_TAIL)
/* From instruction i to the last but one, or the last. */
#define BE_REFUSE(i)	(BE_LEN - 3 - (i))
#define BE_LACK(i)	(BE_REFUSE(i) + 1)

_Static_assert(BE_LACK(0) <= UINT8_MAX, "jumps are short");

/* Instructions from i on; the system call's number is loaded before and after. */
static void arg_filter(struct sock_filter *f, size_t i, const struct arg_rule *r)
{
	bool never = r->how == BE_NEVER || r->how == BE_WITHOUT;
	bool bits = r->how == BE_WITH || r->how == BE_WITHOUT;
	uint8_t yes = never ? BE_REFUSE(i + 2) : 0;
	uint8_t no = never ? 0 : BE_REFUSE(i + 2);
	const struct sock_filter rule[BE_RULE] = {
		BE_IF(JEQ, r->nr, 0, 3),
		BE_LOAD(args[r->arg]),
		{ BPF_JMP | BPF_K | (bits ? BPF_JSET : BPF_JEQ), yes, no,
		  r->value },
		BE_LOAD(nr),
	};

	memcpy(f + i, rule, sizeof(rule));
}

/*
 * Signals to its own threads stay: libxenstore ends one so. Nobody is told of a file by
 * a signal, which would end him. There are new threads, but no new processes: clone3()
 * has its flags in memory, and libc takes clone() where it is not there; openat2()
 * likewise. A kernel may have calls that nobody knew when this list was made: they are
 * not there either. All of another instruction set is refused. No file is made shorter by
 * its name, whatever it is opened for, as that takes no right to write that Landlock of
 * Linux before 6.2 knows.
 */
static void syscall_filter(struct sock_filter *f)
{
	const struct sock_filter head[BE_HEAD] = {
		BE_LOAD(arch),
		BE_IF(JEQ, BE_ARCH, 0, BE_REFUSE(1)),
		BE_LOAD(nr),
		BE_IF(JGE, BE_UNKNOWN, BE_LACK(3), 0),
		BE_IF(JEQ, SYS_clone3, BE_LACK(4), 0),
		BE_IF(JEQ, SYS_openat2, BE_LACK(5), 0),
	};
	const struct arg_rule rules[] = {
		{ SYS_clone, 0, BE_WITH, CLONE_THREAD },
		{ SYS_tgkill, 0, BE_ONLY, (uint32_t)getpid() },
		{ SYS_prlimit64, 0, BE_ONLY, 0 },
		{ SYS_setpriority, 0, BE_ONLY, PRIO_PROCESS },
		{ SYS_setpriority, 1, BE_ONLY, 0 },
		{ SYS_fcntl, 1, BE_NEVER, F_SETOWN },
		{ SYS_fcntl, 1, BE_NEVER, F_SETOWN_EX },
		{ SYS_fcntl, 1, BE_NEVER, F_SETSIG },
		{ SYS_fcntl, 1, BE_NEVER, F_SETLEASE },
		{ SYS_openat, 2, BE_WITHOUT, O_TRUNC },
#ifdef SYS_open
		{ SYS_open, 1, BE_WITHOUT, O_TRUNC },
#endif
		{ SYS_ioctl, 1, BE_NEVER, FS_IOC_SETFLAGS },
		{ SYS_ioctl, 1, BE_NEVER, FS_IOC_FSSETXATTR },
		{ SYS_ioctl, 1, BE_NEVER, FS_IOC_ENABLE_VERITY },
		{ SYS_ioctl, 1, BE_NEVER, FS_IOC_SET_ENCRYPTION_POLICY },
		{ SYS_ioctl, 1, BE_NEVER, FIOSETOWN },
		{ SYS_ioctl, 1, BE_NEVER, SIOCSPGRP },
	};
	const struct sock_filter tail[BE_TAIL] = {
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
	};
	size_t i = BE_HEAD, n;

	_Static_assert(sizeof(rules) == BE_RULES * sizeof(rules[0]), "one for each");
	memcpy(f, head, sizeof(head));
	for (n = 0; n < BE_RULES; n++, i += BE_RULE)
		arg_filter(f, i, &rules[n]);
	for (n = 0; n < BE_REFUSED; n++, i++)
		f[i] = (struct sock_filter)
			BE_IF(JEQ, refused[n], BE_REFUSE(i), 0);
	memcpy(f + i, tail, sizeof(tail));
}

int be_confine(void)
{
	struct sock_filter f[BE_LEN];
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
	struct rlimit nice = { 20 - BE_RECV_POLL_NICE, 20 - BE_RECV_POLL_NICE };
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
