// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The service manager's file store (fdstore.h). The supervisor's thread. The
 * protocol is that of sd_notify(3): a datagram of lines, files beside it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include "be.h"
#include "fdstore.h"

#define FIRST_FD	3	/* SD_LISTEN_FDS_START */

/* The manager's socket; a name that begins with '@' is an abstract one. */
static socklen_t manager(struct sockaddr_un *to)
{
	const char *path = getenv("NOTIFY_SOCKET");
	size_t len = path ? strlen(path) : 0;

	if (len < 2 || len >= sizeof(to->sun_path) ||
	    (*path != '/' && *path != '@'))
		return 0;
	memset(to, 0, sizeof(*to));
	to->sun_family = AF_UNIX;
	memcpy(to->sun_path, path, len);
	if (*path == '@')
		to->sun_path[0] = '\0';
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);
}

static int tell(char *text, int fd)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} files = {};
	struct sockaddr_un to;
	struct iovec iov = { .iov_base = text, .iov_len = strlen(text) };
	struct msghdr m = { .msg_name = &to, .msg_iov = &iov, .msg_iovlen = 1 };
	int s, rc = 0;

	m.msg_namelen = manager(&to);
	if (!m.msg_namelen)
		return 0;
	if (fd >= 0) {
		files.head.cmsg_level = SOL_SOCKET;
		files.head.cmsg_type = SCM_RIGHTS;
		files.head.cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(&files.head), &fd, sizeof(fd));
		m.msg_control = &files;
		m.msg_controllen = sizeof(files.room);
	}
	s = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (s < 0 || sendmsg(s, &m, MSG_NOSIGNAL) < 0)
		rc = -errno;
	if (s >= 0)
		close(s);
	return rc;
}

int be_fdstore_put(const char *name, int fd)
{
	char text[BE_FDSTORE_NAME + 64];

	/* FDPOLL=0: our files are no sockets that hang up. */
	snprintf(text, sizeof(text), "FDSTORE=1\nFDNAME=%s\nFDPOLL=0\n", name);
	return tell(text, fd);
}

void be_fdstore_drop(const char *name)
{
	char text[BE_FDSTORE_NAME + 64];
	int rc;

	snprintf(text, sizeof(text), "FDSTOREREMOVE=1\nFDNAME=%s\n", name);
	rc = tell(text, -1);
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
