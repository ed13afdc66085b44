// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * A worker ahead (ahead.h). It sleeps in a recvmsg() and ends when the other end of
 * the socket is closed, also by the death of the supervisor. It has seen nothing of a
 * guest, so the one that gets it is as if it were executed for that guest.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "ahead.h"
#include "clock.h"

struct order {
	unsigned int domid, devid, left_uars;
};

/* With the guard's file, if there is one. */
union rights {
	char buf[CMSG_SPACE(sizeof(int))];
	struct cmsghdr align;
};

int be_ahead_start(struct be_ahead *a, const struct be_options *opt)
{
	int fd[2], rc;

	if (a->p.pid)
		return 0;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fd))
		return -errno;
	a->p = BE_PROCESS_NONE;
	rc = be_process_ahead(&a->p, opt, fd[1]);
	close(fd[1]);
	a->fd = fd[0];
	if (!rc)
		return 0;
	close(a->fd);
	a->p.pid = 0;
	return rc;
}

void be_ahead_stop(struct be_ahead *a)
{
	if (!a->p.pid)
		return;
	close(a->fd);
	be_process_signal(&a->p, SIGKILL);
	waitpid(a->p.pid, NULL, 0);
	be_process_forget(&a->p);
}

static int send_order(int to, struct order order, int guard)
{
	union rights r = {};
	struct iovec iov = { &order, sizeof(order) };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };
	struct cmsghdr *c;

	if (guard >= 0) {
		m.msg_control = r.buf;
		m.msg_controllen = sizeof(r.buf);
		c = CMSG_FIRSTHDR(&m);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(c), &guard, sizeof(int));
	}
	return sendmsg(to, &m, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno : 0;
}

int be_ahead_use(struct be_ahead *a, struct be_process *p, unsigned int domid,
		 unsigned int devid, unsigned int left_uars,
		 const struct be_guard *guard)
{
	const struct order order = { domid, devid, left_uars };
	int rc;

	if (!a->p.pid)
		return -ESRCH;
	rc = send_order(a->fd, order, be_guard_fd(guard));
	if (rc) {
		be_ahead_stop(a);
		return rc;
	}
	close(a->fd);
	*p = a->p;
	p->start_ns = vl_now_ns();
	a->p.pid = 0;
	return 0;
}

/* The file that came with a message; -1: none. */
static int file_of(struct msghdr *m)
{
	const struct cmsghdr *c = CMSG_FIRSTHDR(m);
	int fd = -1;

	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS &&
	    c->cmsg_len == CMSG_LEN(sizeof(fd)))
		memcpy(&fd, CMSG_DATA(c), sizeof(fd));
	return fd;
}

int be_ahead_wait(int fd, struct be_options *opt)
{
	union rights r = {};
	struct order order;
	struct iovec iov = { &order, sizeof(order) };
	struct msghdr m = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = r.buf, .msg_controllen = sizeof(r.buf),
	};
	ssize_t n;
	int guard;

	prctl(PR_SET_NAME, "vhcad-ahead", 0, 0, 0);
	do {
		n = recvmsg(fd, &m, 0);
	} while (n < 0 && errno == EINTR);
	close(fd);
	if (n != sizeof(order))
		return n < 0 ? -errno : -ENOTCONN;
	opt->domid = order.domid;
	opt->devid = order.devid;
	opt->left_uars = order.left_uars;
	guard = file_of(&m);
	opt->helper_fd = guard < 0 ? -1 : BE_GUARD_FD;
	if (guard < 0 || guard == BE_GUARD_FD)
		return 0;
	/* Where another supervisor will look for it (be_guard_adopt()). */
	if (dup2(guard, BE_GUARD_FD) < 0)
		return -errno;
	close(guard);
	return 0;
}
