// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The service manager's file store (fdstore.h). The supervisor's thread calls
 * this.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "core/be.h"
#include "fdstore.h"
#include "notify.h"

#define FIRST_FD	3	/* SD_LISTEN_FDS_START */

int be_fdstore_put(const char *name, int fd)
{
	char text[BE_FDSTORE_NAME + 64];

	/* FDPOLL=0: our files are no sockets that hang up. */
	snprintf(text, sizeof(text), "FDSTORE=1\nFDNAME=%s\nFDPOLL=0\n", name);
	return vl_notify(text, fd);
}

void be_fdstore_drop(const char *name)
{
	char text[BE_FDSTORE_NAME + 64];
	int rc;

	snprintf(text, sizeof(text), "FDSTOREREMOVE=1\nFDNAME=%s\n", name);
	rc = vl_notify(text, -1);
	if (rc)
		be_log(NULL, BE_WARN, "%s stays in the service manager's store: %s",
		       name, strerror(-rc));
}

void be_fdstore_take(void (*each)(const char *name, int fd, void *arg),
		     void *arg)
{
	const char *pid = getenv("LISTEN_PID"), *fds = getenv("LISTEN_FDS");
	const char *listed = getenv("LISTEN_FDNAMES");
	char *names, *copy, *name;
	int fd, end = FIRST_FD;

	if (pid && fds && listed && atol(pid) == getpid())
		end += atoi(fds);
	names = copy = strdup(listed ? listed : "");
	for (fd = FIRST_FD; names && fd < end; fd++) {
		name = strsep(&names, ":");
		if (!fcntl(fd, F_SETFD, FD_CLOEXEC))
			each(name, fd, arg);
	}
	free(copy);
	unsetenv("LISTEN_PID");
	unsetenv("LISTEN_FDS");
	unsetenv("LISTEN_FDNAMES");
}
