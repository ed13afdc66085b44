// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The protocol of sd_notify(3): a datagram of lines, with files attached.
 */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include "notify.h"

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

int vl_notify(const char *text, int fd)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} files = {};
	struct sockaddr_un to;
	struct iovec iov = { .iov_base = (char *)text,
			     .iov_len = strlen(text) };
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
