// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * A service manager (fake_manager.h), in the abstract name space.
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include "fake_manager.h"

int fake_manager(void)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int len, fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	char env[64];

	len = snprintf(env, sizeof(env), "@vhca-test-%d", (int)getpid());
	memcpy(a.sun_path + 1, env + 1, (size_t)len - 1);
	if (fd >= 0 && !bind(fd, (struct sockaddr *)&a,
			     (socklen_t)offsetof(struct sockaddr_un, sun_path) +
			     (socklen_t)len) &&
	    !setenv("NOTIFY_SOCKET", env, 1))
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}
