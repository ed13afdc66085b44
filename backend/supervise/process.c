// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Processes (process.h). Signals go by pidfd, so that none reaches
 * another process that has been given the same number since.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "clock.h"
#include "lock.h"
#include "core/log.h"
#include "process.h"

static int process_fd(pid_t pid)
{
	return (int)syscall(SYS_pidfd_open, pid, 0);
}

/* In the child. Nothing of ours may live on in a worker, libraries' files included. */
static void process_exec(const struct be_options *opt, const struct be_guard *guard)
{
	static const char *const level[] = { "error", "warning", "info",
					     "debug" };
	char domid[16], devid[16], left[16], spinners[16], fd[16];
	const char *argv[16] = {
		"xen-vhcad", "--run-dir", opt->run_dir,
		"--log-level", level[be_log_level],
	};
	const char **arg = &argv[5];
	sigset_t none;

	snprintf(domid, sizeof(domid), "%u", opt->domid);
	snprintf(devid, sizeof(devid), "%u", opt->devid);
	snprintf(left, sizeof(left), "%u", opt->left_uars);
	snprintf(spinners, sizeof(spinners), "%u", opt->spinners);
	snprintf(fd, sizeof(fd), "%d", BE_GUARD_FD);
	if (opt->devices[0]) {
		*arg++ = "--devices";
		*arg++ = opt->devices;
	}
	*arg++ = "--worker";
	*arg++ = domid;
	*arg++ = devid;
	*arg++ = left;
	*arg++ = spinners;
	*arg = guard ? fd : NULL;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	close_range(be_guard_pass(guard), ~0u, 0);
	unsetenv("NOTIFY_SOCKET");
	execv("/proc/self/exe", (char *const *)argv);
	be_log(NULL, BE_ERR, "cannot execute a worker: %s", strerror(errno));
	_exit(BE_EXIT_SYSTEM);
}

int be_process_start(struct be_process *p, const struct be_options *opt,
		     const struct be_guard *guard)
{
	pid_t pid = fork();

	if (!pid)
		process_exec(opt, guard);
	if (pid < 0)
		return -errno;
	p->start_ns = vl_now_ns();
	p->pid = pid;
	p->child = true;
	p->pidfd = process_fd(pid);
	if (p->pidfd < 0)	/* then a timer looks after it */
		be_log(NULL, BE_WARN, "pidfd_open: %s", strerror(errno));
	return 0;
}

/* Into @fa and @attr: no signal blocked, nothing of ours open, stderr is out. */
static int run_prepare(posix_spawn_file_actions_t *fa, posix_spawnattr_t *attr,
		       int out)
{
	sigset_t none;
	int rc;

	sigemptyset(&none);
	rc = posix_spawnattr_setsigmask(attr, &none);
	if (!rc)
		rc = posix_spawnattr_setflags(attr, POSIX_SPAWN_SETSIGMASK);
	if (!rc)
		rc = posix_spawn_file_actions_addopen(fa, 0, "/dev/null",
						      O_RDONLY, 0);
	if (!rc)
		rc = posix_spawn_file_actions_adddup2(fa, out, 1);
	if (!rc)
		rc = posix_spawn_file_actions_adddup2(fa, out, 2);
	if (!rc)
		rc = posix_spawn_file_actions_addclosefrom_np(fa, 3);
	return -rc;
}

static int run_spawn(struct be_process *p, char *const argv[], char *const env[],
		     int out)
{
	posix_spawn_file_actions_t fa;
	posix_spawnattr_t attr;
	int rc;

	posix_spawn_file_actions_init(&fa);
	posix_spawnattr_init(&attr);
	rc = run_prepare(&fa, &attr, out);
	if (!rc)
		rc = -posix_spawn(&p->pid, argv[0], &fa, &attr, argv, env);
	posix_spawn_file_actions_destroy(&fa);
	posix_spawnattr_destroy(&attr);
	return rc;
}

int be_process_run(struct be_process *p, char *const argv[], char *const env[],
		   int *out)
{
	int fd[2], rc;

	if (pipe2(fd, O_CLOEXEC | O_NONBLOCK))
		return -errno;
	*p = BE_PROCESS_NONE;
	rc = run_spawn(p, argv, env, fd[1]);
	close(fd[1]);
	if (rc) {
		*p = BE_PROCESS_NONE;
		close(fd[0]);
		return rc;
	}
	p->start_ns = vl_now_ns();
	p->child = true;
	p->pidfd = process_fd(p->pid);
	*out = fd[0];
	return 0;
}

/*
 * The pid could have been reused between reading it and opening it, so the lock
 * is looked at once more.
 */
bool be_process_adopt(struct be_process *p, const char *lock)
{
	pid_t pid = vl_lock_holder(lock);
	int fd = pid ? process_fd(pid) : -1;

	if (fd < 0)
		return false;
	if (vl_lock_holder(lock) != pid) {
		close(fd);
		return false;
	}
	*p = (struct be_process){ .pid = pid, .pidfd = fd,
				  .start_ns = vl_now_ns() };
	return true;
}

bool be_process_dead(struct be_process *p, int *status)
{
	struct pollfd poll_fd = { .fd = p->pidfd, .events = POLLIN };
	pid_t r;

	*status = 0;
	if (!p->child)
		return poll(&poll_fd, 1, 0) == 1;
	r = waitpid(p->pid, status, WNOHANG);
	return r == p->pid || (r < 0 && errno == ECHILD);
}

void be_process_signal(const struct be_process *p, int sig)
{
	if (p->pidfd >= 0)
		syscall(SYS_pidfd_send_signal, p->pidfd, sig, NULL, 0);
	else if (p->pid && p->child)
		kill(p->pid, sig);
}

void be_process_forget(struct be_process *p)
{
	if (p->pidfd >= 0)
		close(p->pidfd);
	p->pid = 0;
	p->pidfd = -1;
}
