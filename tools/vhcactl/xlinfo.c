// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Asks xl for what only the hypervisor knows. It runs the program instead of
 * using libxl, whose ABI changes with every Xen: vhcactl works with any xl, and
 * without xl too.
 */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>
#include "ctl.h"

extern char **environ;

static int spawn(int out, pid_t *pid)
{
	char xl[] = "xl", info[] = "info", *argv[] = { xl, info, NULL };
	posix_spawn_file_actions_t act;
	int rc;

	rc = posix_spawn_file_actions_init(&act);
	if (rc)
		return -rc;
	rc = posix_spawn_file_actions_adddup2(&act, out, STDOUT_FILENO);
	if (!rc)	/* what xl has to complain about is said by us */
		rc = posix_spawn_file_actions_addopen(&act, STDERR_FILENO,
						      "/dev/null", O_WRONLY, 0);
	if (!rc)
		rc = posix_spawnp(pid, xl, &act, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&act);
	return -rc;
}

int ctl_xl_info(char *buf, size_t size)
{
	int fd[2], status = 0, rc;
	size_t len = 0;
	ssize_t n = 1;
	pid_t pid;

	if (pipe2(fd, O_CLOEXEC))
		return -errno;
	rc = spawn(fd[1], &pid);
	close(fd[1]);
	while (!rc && n > 0 && len < size - 1) {
		n = read(fd[0], buf + len, size - 1 - len);
		if (n > 0)
			len += (size_t)n;
	}
	close(fd[0]);
	buf[len] = '\0';
	if (rc)
		return rc;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return WIFEXITED(status) && !WEXITSTATUS(status) ? 0 : -EIO;
}
