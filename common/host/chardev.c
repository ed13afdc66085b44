// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Asks the kernel over RDMA netlink which character device, driver and ABI
 * version an HCA has, as libibverbs does. One thread of the process calls this.
 * The kernel is trusted; lengths are checked nevertheless.
 */
#include <errno.h>
#include <linux/netlink.h>
#include <rdma/rdma_netlink.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "host/chardev.h"
#include "vhca-cm.h"

#define NL_BUF		65536
#define NL_TIMEOUT_S	5

struct nl_req {
	struct nlmsghdr hdr;
	uint8_t attrs[64];
};

/* The question and the fields of the answer. */
struct nl_want {
	const char *hca;		/* GET: name to look for */
	int64_t index;			/* GET: its index, -1: not seen */
	struct host_chardev *cd;		/* GET_CHARDEV */
	bool abi, name;
};

static void attr_put(struct nl_req *req, uint16_t type, const void *data,
		     uint16_t len)
{
	struct nlattr a = { .nla_len = NLA_HDRLEN + len, .nla_type = type };
	uint8_t *p = (uint8_t *)req + NLMSG_ALIGN(req->hdr.nlmsg_len);

	memcpy(p, &a, sizeof(a));
	memcpy(p + NLA_HDRLEN, data, len);
	req->hdr.nlmsg_len = NLMSG_ALIGN(req->hdr.nlmsg_len) +
			     NLA_ALIGN(a.nla_len);
}

static uint32_t attr_u32(const uint8_t *p, uint16_t len)
{
	uint32_t v = 0;

	memcpy(&v, p, len < sizeof(v) ? len : sizeof(v));
	return v;
}

static void want_chardev(struct nl_want *w, uint16_t type, const uint8_t *p,
			 uint16_t len)
{
	switch (type) {
	case RDMA_NLDEV_ATTR_CHARDEV_NAME:
		snprintf(w->cd->name, sizeof(w->cd->name), "%.*s", len,
			 (const char *)p);
		w->name = true;
		break;
	case RDMA_NLDEV_ATTR_CHARDEV_ABI:
		w->cd->abi = attr_u32(p, len);
		w->abi = true;
		break;
	case RDMA_NLDEV_ATTR_UVERBS_DRIVER_ID:
		w->cd->driver_id = attr_u32(p, len);
		break;
	}
}

static void want_attrs(struct nl_want *w, const uint8_t *p, size_t len)
{
	int64_t index = -1;
	bool match = false;
	struct nlattr a;
	size_t step;

	while (len >= sizeof(a)) {
		memcpy(&a, p, sizeof(a));
		if (a.nla_len < NLA_HDRLEN || a.nla_len > len)
			return;
		a.nla_type &= NLA_TYPE_MASK;
		a.nla_len -= NLA_HDRLEN;
		if (w->cd)
			want_chardev(w, a.nla_type, p + NLA_HDRLEN, a.nla_len);
		else if (a.nla_type == RDMA_NLDEV_ATTR_DEV_INDEX)
			index = attr_u32(p + NLA_HDRLEN, a.nla_len);
		else if (a.nla_type == RDMA_NLDEV_ATTR_DEV_NAME)
			match = a.nla_len == strlen(w->hca) + 1 &&
				!memcmp(p + NLA_HDRLEN, w->hca, a.nla_len);
		step = NLA_ALIGN(a.nla_len + NLA_HDRLEN);
		if (step > len)
			break;
		p += step;
		len -= step;
	}
	if (match)
		w->index = index;
}

/* 1: the answer is complete, 0: more to come, -errno. */
static int nl_parse(struct nl_want *w, const uint8_t *buf, size_t len,
		    bool dump)
{
	struct nlmsghdr h;
	int32_t err;

	while (len >= sizeof(h)) {
		memcpy(&h, buf, sizeof(h));
		if (h.nlmsg_len < sizeof(h) || h.nlmsg_len > len)
			return -EPROTO;
		if (h.nlmsg_type == NLMSG_DONE)
			return 1;
		if (h.nlmsg_type == NLMSG_ERROR) {
			if (h.nlmsg_len < sizeof(h) + sizeof(err))
				return -EPROTO;
			memcpy(&err, buf + NLMSG_HDRLEN, sizeof(err));
			return err ? err : 1;
		}
		want_attrs(w, buf + NLMSG_HDRLEN, h.nlmsg_len - NLMSG_HDRLEN);
		if (!dump)
			return 1;
		if (NLMSG_ALIGN(h.nlmsg_len) >= len)
			break;
		buf += NLMSG_ALIGN(h.nlmsg_len);
		len -= NLMSG_ALIGN(h.nlmsg_len);
	}
	return 0;
}

static int nl_talk(int fd, struct nl_req *req, struct nl_want *w, bool dump)
{
	static uint8_t buf[NL_BUF];
	ssize_t r;
	int done = 0;

	req->hdr.nlmsg_flags = NLM_F_REQUEST | (dump ? NLM_F_DUMP : 0);
	if (send(fd, req, req->hdr.nlmsg_len, 0) < 0)
		return -errno;
	while (!done) {
		r = recv(fd, buf, sizeof(buf), 0);
		if (r < 0)
			return -errno;
		done = nl_parse(w, buf, (size_t)r, dump);
	}
	return done < 0 ? done : 0;
}

static int nl_index(int fd, const char *hca, uint32_t *index)
{
	struct nl_want w = { .hca = hca, .index = -1 };
	struct nl_req req = {
		.hdr.nlmsg_len = NLMSG_HDRLEN,
		.hdr.nlmsg_type = RDMA_NL_GET_TYPE(RDMA_NL_NLDEV,
						   RDMA_NLDEV_CMD_GET),
	};
	int err = nl_talk(fd, &req, &w, true);

	if (!err && w.index < 0)
		err = -ENODEV;
	if (!err)
		*index = (uint32_t)w.index;
	return err;
}

/* @index: HCA of the device; NULL: without an HCA. @port: 0: without a port. */
static int nl_chardev(int fd, const uint32_t *index, uint32_t port,
		      const char *type, struct host_chardev *cd)
{
	struct nl_want w = { .cd = cd };
	struct nl_req req = {
		.hdr.nlmsg_len = NLMSG_HDRLEN,
		.hdr.nlmsg_type = RDMA_NL_GET_TYPE(RDMA_NL_NLDEV,
						   RDMA_NLDEV_CMD_GET_CHARDEV),
	};
	int err;

	if (index)
		attr_put(&req, RDMA_NLDEV_ATTR_DEV_INDEX, index,
			 sizeof(*index));
	if (port)
		attr_put(&req, RDMA_NLDEV_ATTR_PORT_INDEX, &port, sizeof(port));
	attr_put(&req, RDMA_NLDEV_ATTR_CHARDEV_TYPE, type,
		 (uint16_t)(strlen(type) + 1));
	err = nl_talk(fd, &req, &w, false);
	if (!err && !(w.name && w.abi))
		err = -ENOENT;
	return err;
}

static int nl_open(void)
{
	struct timeval tv = { .tv_sec = NL_TIMEOUT_S };
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_RDMA);

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
	return fd;
}

int host_chardev(const char *hca, struct host_chardev *cd)
{
	struct host_chardev cm = {};
	uint32_t index = 0;
	int fd = nl_open();
	int err;

	if (fd < 0)
		return fd;
	memset(cd, 0, sizeof(*cd));
	err = nl_index(fd, hca, &index);
	if (!err)
		err = nl_chardev(fd, &index, 0, "uverbs", cd);
	if (!err) {
		cd->index = index;
		cd->cm = !nl_chardev(fd, NULL, 0, "rdma_cm", &cm) &&
			 cm.abi == VHCA_CM_ABI;
	}
	close(fd);
	return err;
}

int host_umad(uint32_t index, uint32_t port, char name[HOST_CHARDEV_NAME])
{
	struct host_chardev cd = {};
	int fd = nl_open();
	int err;

	if (fd < 0)
		return fd;
	err = nl_chardev(fd, &index, port, "umad", &cd);
	close(fd);
	if (!err)
		memcpy(name, cd.name, sizeof(cd.name));
	return err;
}
