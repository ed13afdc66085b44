// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * A confined process makes no socket, starts no program, reaches no other process and
 * changes no file that it does not open for writing, in none of its threads; what a
 * worker does all day works.
 */
#include <asm/ioctls.h>
#include <asm/sockios.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <cmocka.h>
#include "worker/confine.h"

#define NEW_FCHMODAT2	452	/* of Linux 6.6; an earlier one has none either */
#define CHANGES		16u

#define REFUSED(call)	({ errno = 0; (call) == -1 && errno == EPERM; })

/* What reaches other processes, or makes one. */
static bool refuses_others(void)
{
	struct f_owner_ex owner = { F_OWNER_PID, getppid() };
	struct rlimit lim;
	int in = STDIN_FILENO, pid = getppid();
	cpu_set_t cpus = {};
	pid_t child;

	child = fork();
	if (child >= 0) {
		if (!child)
			_exit(0);
		waitpid(child, NULL, 0);
		return false;
	}
	return errno == EPERM &&
	       REFUSED(prlimit(pid, RLIMIT_CPU, NULL, &lim)) &&
	       REFUSED(setpriority(PRIO_PROCESS, (id_t)pid, 0)) &&
	       REFUSED(setpriority(PRIO_USER, 0, 0)) &&
	       REFUSED(sched_setaffinity(pid, sizeof(cpus), &cpus)) &&
	       REFUSED(syscall(SYS_pidfd_getfd, -1, 0, 0)) &&
	       REFUSED(fcntl(in, F_SETOWN, pid)) &&
	       REFUSED(fcntl(in, F_SETOWN_EX, &owner)) &&
	       REFUSED(fcntl(in, F_SETSIG, SIGKILL)) &&
	       REFUSED(ioctl(in, FIOSETOWN, &pid)) &&
	       REFUSED(ioctl(in, SIOCSPGRP, &pid)) &&
	       REFUSED(syscall(SYS_shmget, 1, 1, 0)) &&
	       REFUSED(truncate("/nowhere", 0));
}

/*
 * What root may do to files that it opens for reading at most. The number of those that
 * are refused; here Landlock has no say.
 */
static unsigned int refused_changes(const char *path)
{
	const struct timespec now[2] = {};
	int fd = open(path, O_RDONLY | O_CLOEXEC), flags = 0;
	uint64_t how[3] = { O_RDONLY };
	unsigned int n = 0;

	n += REFUSED(open(path, O_RDONLY | O_TRUNC | O_CLOEXEC));
	n += REFUSED(syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_TRUNC));
	n += REFUSED(truncate(path, 0));
	n += REFUSED(chmod(path, 04755));
	n += REFUSED(fchmod(fd, 04755));
	n += REFUSED(fchmodat(AT_FDCWD, path, 04755, 0));
	n += REFUSED(chown(path, 1, 1));
	n += REFUSED(fchown(fd, 1, 1));
	n += REFUSED(utimensat(AT_FDCWD, path, now, 0));
	n += REFUSED(futimens(fd, now));
	n += REFUSED(setxattr(path, "user.x", "", 0, 0));
	n += REFUSED(fremovexattr(fd, "user.x"));
	n += REFUSED(ioctl(fd, FS_IOC_SETFLAGS, &flags));
	n += REFUSED(fcntl(fd, F_SETLEASE, F_RDLCK));
	errno = 0;
	n += syscall(SYS_openat2, AT_FDCWD, path, how, sizeof(how)) < 0 &&
	     errno == ENOSYS;
	errno = 0;
	n += syscall(NEW_FCHMODAT2, -1, "", 0, 0) < 0 && errno == ENOSYS;
	close(fd);
	return n;
}

static bool refuses(void)
{
	char *const argv[] = { (char *)"true", NULL };
	char *const envp[] = { NULL };
	int sv[2];

	return REFUSED(socket(AF_UNIX, SOCK_STREAM, 0)) &&
	       REFUSED(socket(AF_NETLINK, SOCK_RAW, 0)) &&
	       REFUSED(socketpair(AF_UNIX, SOCK_STREAM, 0, sv)) &&
	       REFUSED(execve("/bin/true", argv, envp)) &&
	       REFUSED(kill(getppid(), 0)) &&
	       REFUSED(syscall(SYS_tgkill, getppid(), getppid(), 0)) &&
	       REFUSED(ptrace(PTRACE_TRACEME, 0, NULL, NULL)) &&
	       REFUSED(syscall(SYS_bpf, 0, NULL, 0)) &&
	       REFUSED(syscall(SYS_init_module, NULL, 0, NULL)) &&
	       REFUSED(syscall(SYS_kexec_load, 0, 0, NULL, 0)) &&
	       refuses_others();
}

static void *wait_for_end(void *arg)
{
	(void)arg;
	pause();
	return NULL;
}

/* Open, map, poll, write, make threads and end one as libxenstore does. */
static bool works(void)
{
	int fd = open("/dev/zero", O_RDWR | O_CLOEXEC);
	void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	uint64_t one = 1;
	int efd = eventfd(0, EFD_CLOEXEC);
	struct rlimit lim;
	pthread_t t;

	return !getrlimit(RLIMIT_NOFILE, &lim) &&
	       !setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0)) &&
	       !fcntl(efd, F_SETFL, O_NONBLOCK) &&
	       fd >= 0 && p != MAP_FAILED && !munmap(p, 4096) &&
	       write(efd, &one, sizeof(one)) == sizeof(one) &&
	       !pthread_create(&t, NULL, wait_for_end, NULL) &&
	       !pthread_cancel(t) && !pthread_join(t, NULL) &&
	       !close(fd) && !close(efd);
}

static int go = -1;		/* pipe: the elder thread may look */

static void *elder(void *arg)
{
	char c;

	*(bool *)arg = read(go, &c, 1) == 1 && refuses();
	return NULL;
}

/* In a process of its own; its exit code says what was not as it should be. */
static int confined(void)
{
	char path[] = "/tmp/vhca-confine-XXXXXX";
	bool elder_refuses = false;
	struct stat st;
	pthread_t t;
	int p[2], fd = mkstemp(path);

	/* The newest may be unknown to this kernel. */
	if (refuses() || pipe(p) || fd < 0 || refused_changes(path) > 1 ||
	    fchown(fd, 0, 0) || fchmod(fd, 0600) || write(fd, "x", 1) != 1)
		return 1;
	go = p[0];
	if (pthread_create(&t, NULL, elder, &elder_refuses))
		return 2;
	if (be_confine())
		return 3;
	if (!refuses())
		return 4;
	if (write(p[1], "", 1) != 1 || pthread_join(t, NULL) || !elder_refuses)
		return 5;
	if (refused_changes(path) != CHANGES || fstat(fd, &st) || st.st_size != 1 ||
	    (st.st_mode & 07777) != 0600)
		return 7;
	return !unlink(path) && works() ? 0 : 6;
}

static void takes_what_harms(void **state)
{
	int status = -1;
	pid_t pid;

	(void)state;
	pid = fork();
	if (!pid)
		_exit(confined());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(takes_what_harms),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
