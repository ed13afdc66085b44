// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * A confined process makes no socket, starts no program and reaches no other
 * process, in none of its threads; what a worker does all day works.
 */
#include <asm/ioctls.h>
#include <asm/sockios.h>
#include <errno.h>
#include <fcntl.h>
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
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "worker/confine.h"

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
	bool elder_refuses = false;
	pthread_t t;
	int p[2];

	if (refuses() || pipe(p))
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
	return works() ? 0 : 6;
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
