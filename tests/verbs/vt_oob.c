// SPDX-License-Identifier: GPL-2.0
/* Copyright (C) 2026 The vhca authors */
/*
 * Out-of-band link of the two sides of a test: TCP between machines, a socket
 * pair in one process. Messages carry a type and a length that are checked,
 * a side that fails tells the other so, and no wait is without limit.
 * Both sides have the same byte order (x86-64 and arm64 little endian).
 */
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "vt.h"

#define OOB_MAGIC 0x76686361u

enum oob_type { OOB_DATA = 1, OOB_VERDICT = 2 };

struct oob_hdr {
	uint32_t magic;
	uint32_t type;
	uint32_t len;
	int32_t rc;
};

static int wait_fd(int fd, short events, int timeout_ms)
{
	struct pollfd p = { .fd = fd, .events = events };
	int r;

	do {
		r = poll(&p, 1, timeout_ms);
	} while (r < 0 && errno == EINTR);
	if (r < 0)
		return -errno;
	return r ? 0 : -ETIMEDOUT;
}

static int write_all(int fd, const void *buf, size_t len)
{
	const uint8_t *p = buf;
	ssize_t r;

	while (len) {
		r = send(fd, p, len, MSG_NOSIGNAL);
		if (r < 0 && errno == EINTR)
			continue;
		if (r <= 0)
			return r ? -errno : -EPIPE;
		p += r;
		len -= r;
	}
	return 0;
}

static int read_all(int fd, void *buf, size_t len, int timeout_ms)
{
	uint8_t *p = buf;
	ssize_t r;
	int err;

	while (len) {
		err = wait_fd(fd, POLLIN, timeout_ms);
		if (err)
			return err;
		r = recv(fd, p, len, 0);
		if (r < 0 && errno == EINTR)
			continue;
		if (r <= 0)
			return r ? -errno : -ECONNRESET;
		p += r;
		len -= r;
	}
	return 0;
}

static void oob_init(struct vt_oob *o, int fd)
{
	int one = 1;

	memset(o, 0, sizeof(*o));
	o->fd = fd;
	/* Fails on a socket pair, which needs none. */
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
}

int vt_oob_pair(struct vt_oob *a, struct vt_oob *b)
{
	int fd[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd))
		return -errno;
	oob_init(a, fd[0]);
	oob_init(b, fd[1]);
	return 0;
}

/**
 * vt_oob_listen() - listen on a TCP port of every address
 *
 * Return: the socket, or -1 with the reason in @why (VT_WHY bytes).
 */
int vt_oob_listen(int port, char *why)
{
	struct sockaddr_in sa = {
		.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_ANY),
	};
	int one = 1;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		goto fail;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (!bind(fd, (struct sockaddr *)&sa, sizeof(sa)) && !listen(fd, 4))
		return fd;
fail:
	snprintf(why, VT_WHY, "cannot listen on TCP port %d: %s", port,
		 vt_errno(errno));
	if (fd >= 0)
		close(fd);
	return -1;
}

int vt_oob_accept(int lfd, struct vt_oob *o, int timeout_ms, char *why)
{
	int err = wait_fd(lfd, POLLIN, timeout_ms);
	int fd;

	if (err) {
		snprintf(why, VT_WHY, "no client came: %s", vt_errno(err));
		return -1;
	}
	fd = accept(lfd, NULL, NULL);
	if (fd < 0) {
		snprintf(why, VT_WHY, "accept: %s", vt_errno(errno));
		return -1;
	}
	oob_init(o, fd);
	return 0;
}

static int try_connect(const char *host, const char *port)
{
	struct addrinfo hints = {
		.ai_family = AF_INET, .ai_socktype = SOCK_STREAM,
	};
	struct addrinfo *ai;
	int fd, err = 0;

	if (getaddrinfo(host, port, &hints, &ai))
		return -EHOSTUNREACH;
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || connect(fd, ai->ai_addr, ai->ai_addrlen))
		err = -errno;
	freeaddrinfo(ai);
	if (err && fd >= 0)
		close(fd);
	return err ? err : fd;
}

/**
 * vt_oob_connect() - connect to a server, which may still be starting
 * @timeout_ms: how long refusals are retried
 *
 * Return: 0, or -1 with the reason in @why (VT_WHY bytes).
 */
int vt_oob_connect(struct vt_oob *o, const char *host, int port,
		   int timeout_ms, char *why)
{
	uint64_t end = vt_now_ns() + timeout_ms * 1000000ull;
	char name[16];
	int fd;

	snprintf(name, sizeof(name), "%d", port);
	while ((fd = try_connect(host, name)) < 0) {
		if (fd == -EHOSTUNREACH || vt_now_ns() > end) {
			snprintf(why, VT_WHY, "cannot connect to %s:%d: %s; "
				 "start the same program with -s there",
				 host, port, vt_errno(fd));
			return -1;
		}
		usleep(50000);
	}
	oob_init(o, fd);
	return 0;
}

void vt_oob_close(struct vt_oob *o)
{
	if (o->fd > 0)
		close(o->fd);
	o->fd = -1;
}

static int oob_send(struct vt_oob *o, int type, int rc, const void *buf,
		    size_t len)
{
	struct oob_hdr h = {
		.magic = OOB_MAGIC, .type = type, .len = len, .rc = rc,
	};
	int err = write_all(o->fd, &h, sizeof(h));

	return err ? err : write_all(o->fd, buf, len);
}

static int oob_header(struct vt_oob *o, struct oob_hdr *h, int timeout_ms)
{
	int err = read_all(o->fd, h, sizeof(*h), timeout_ms);

	if (err)
		return err;
	return h->magic == OOB_MAGIC && h->len <= 4096 ? 0 : -EPROTO;
}

static int oob_verdict_in(struct vt_oob *o, const struct oob_hdr *h,
			  int timeout_ms)
{
	if (h->len != sizeof(o->peer_why))
		return -EPROTO;
	o->peer_over = true;
	o->peer_rc = h->rc;
	if (read_all(o->fd, o->peer_why, sizeof(o->peer_why), timeout_ms))
		return -EPROTO;
	o->peer_why[sizeof(o->peer_why) - 1] = 0;
	return 0;
}

/**
 * vt_send() - send one message to the peer
 *
 * Return: 0, or -1 with the reason recorded in the side.
 */
int vt_send(struct vt_side *s, const void *buf, size_t len)
{
	int err = oob_send(&s->oob, OOB_DATA, 0, buf, len);

	if (err)
		return vt_fail(s, "link to the peer: %s", vt_errno(err));
	return 0;
}

/**
 * vt_recv() - receive one message of exactly @len bytes
 *
 * Return: 0, or -1: time-out, broken link, or the peer gave up meanwhile.
 */
int vt_recv(struct vt_side *s, void *buf, size_t len, int timeout_ms)
{
	struct oob_hdr h;
	int err;

	if (s->oob.peer_over)
		return vt_fail(s, "peer ended early: %s", s->oob.peer_why);
	err = oob_header(&s->oob, &h, timeout_ms);
	if (!err && h.type == OOB_VERDICT) {
		err = oob_verdict_in(&s->oob, &h, timeout_ms);
		if (!err)
			return vt_fail(s, "peer ended early: %s",
				       s->oob.peer_why);
	}
	if (!err && (h.type != OOB_DATA || h.len != len))
		err = -EPROTO;
	if (!err)
		err = read_all(s->oob.fd, buf, len, timeout_ms);
	if (err)
		return vt_fail(s, "link to the peer: %s", vt_errno(err));
	return 0;
}

/**
 * vt_xchg() - send and receive one message of the same length
 * @len: at most 4096 bytes
 */
int vt_xchg(struct vt_side *s, const void *mine, void *theirs, size_t len)
{
	if (vt_send(s, mine, len))
		return -1;
	/* Longer than the peer's waits, so that its reason comes through. */
	return vt_recv(s, theirs, len, 2 * s->opt->timeout_ms);
}

/** vt_sync() - wait until both sides are here */
int vt_sync(struct vt_side *s)
{
	uint32_t mine = 1, theirs;

	return vt_xchg(s, &mine, &theirs, sizeof(mine));
}

/**
 * vt_verdict() - end a test: tell our result, learn the peer's
 * @rc: our result, 0, 1 (skipped) or negative
 *
 * Leaves the link ready for the next test; the peer's result and reason are
 * in side->oob.
 * Return: 0, or -1 when the link itself is broken.
 */
int vt_verdict(struct vt_side *s, int rc)
{
	int timeout = 3 * s->opt->timeout_ms;
	char drop[4096];
	struct oob_hdr h;

	if (oob_send(&s->oob, OOB_VERDICT, rc, s->why, sizeof(s->why)))
		return -1;
	while (!s->oob.peer_over) {
		if (oob_header(&s->oob, &h, timeout))
			return -1;
		if (h.type == OOB_VERDICT) {
			if (oob_verdict_in(&s->oob, &h, timeout))
				return -1;
		} else if (read_all(s->oob.fd, drop, h.len, timeout)) {
			return -1;
		}
	}
	s->oob.peer_over = false;
	return 0;
}
