// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Which addresses a guest may use with the connection manager, and whether what the
 * kernel found for them is the guest's. A vhca without addresses of its own shares
 * those of the port, so its guest may name any that the kernel knows. A vhca with
 * addresses of its own binds to these only: the wildcard means the first of its
 * family, and whoever names no source gets it too.
 *
 * Loopback means the guest itself. This domain's kernel takes it, and the wildcard as
 * a destination, for the first HCA that it has, on RoCE with no way to it; so it never
 * sees either where an address of the vhca is known.
 *
 * Job threads run this, see cm.h.
 */
#include <errno.h>
#include <netinet/in.h>
#include <rdma/rdma_user_cm.h>
#include <stdlib.h>
#include <string.h>

#include "core/addr.h"
#include "cm.h"
#include "tables.h"
#include "uverbs/uverbs.h"
#include "vhca-provider.h"

/* One address of a command; where it is, its room, and, or NULL, its length. */
struct named {
	uint8_t *at;
	size_t room;
	uint16_t *len;
};

static sa_family_t family_of(const struct named *a)
{
	sa_family_t family;

	memcpy(&family, a->at, sizeof(family));
	return family;
}

static bool is_any(const struct named *a)
{
	struct sockaddr_in in;
	struct sockaddr_in6 in6;

	switch (family_of(a)) {
	case AF_INET:
		memcpy(&in, a->at, sizeof(in));
		return in.sin_addr.s_addr == INADDR_ANY;
	case AF_INET6:
		memcpy(&in6, a->at, sizeof(in6));
		return IN6_IS_ADDR_UNSPECIFIED(&in6.sin6_addr);
	default:
		return family_of(a) == AF_UNSPEC;
	}
}

static bool is_loopback(const struct named *a)
{
	struct sockaddr_in in;
	struct sockaddr_in6 in6;

	switch (family_of(a)) {
	case AF_INET:
		memcpy(&in, a->at, sizeof(in));
		return ntohl(in.sin_addr.s_addr) >> IN_CLASSA_NSHIFT ==
		       IN_LOOPBACKNET;
	case AF_INET6:
		memcpy(&in6, a->at, sizeof(in6));
		return IN6_IS_ADDR_LOOPBACK(&in6.sin6_addr);
	default:
		return false;
	}
}

/* Another address, or with @len 0 the wildcard, and the same port. */
static int put(const struct named *a, const struct sockaddr_storage *sa,
	       socklen_t len)
{
	sa_family_t family = family_of(a);
	in_port_t port = 0;
	/* Both families have the port there. */
	size_t at = offsetof(struct sockaddr_in, sin_port);

	if (len > a->room)
		return -EADDRNOTAVAIL;
	if (family)
		memcpy(&port, a->at + at, sizeof(port));
	memset(a->at, 0, a->room);
	if (len)
		memcpy(a->at, sa, len);
	else
		memcpy(a->at, &family, sizeof(family));
	memcpy(a->at + at, &port, sizeof(port));
	if (a->len && len)
		*a->len = (uint16_t)len;
	return 0;
}

/* IPv6's wildcard is that of IPv4, too, as natively. */
static socklen_t any(const struct be_dev *dev, sa_family_t family,
		     struct sockaddr_storage *sa)
{
	socklen_t len = be_addr_any(dev, family, sa);

	return len || family != AF_INET6 ? len : be_addr_any(dev, AF_INET, sa);
}

/*
 * An address of the port. One of AF_IB has a P_Key, which the kernel takes for that of
 * whoever asks for a datagram there.
 */
static int shared(const struct be_dev *dev, const struct named *a,
		  sa_family_t family)
{
	bool ib = family_of(a) == AF_IB || family == AF_IB;

	return ib && be_pkeys_own(dev) ? -EADDRNOTAVAIL : 0;
}

/*
 * The source that a guest names. @family: of the destination, if there is no
 * source. The error is the kernel's for an address that it does not have.
 */
static int source(const struct be_dev *dev, const struct named *a,
		  sa_family_t family)
{
	struct sockaddr_storage sa;
	socklen_t len;

	/* The kernel's listener at loopback is one at the wildcard. */
	if (!be_addr_given(dev))
		return is_loopback(a) ? put(a, NULL, 0) : shared(dev, a, family);
	if (!is_any(a) && !is_loopback(a))
		return be_addr_own(dev, (struct sockaddr *)a->at,
				   (socklen_t)a->room) ? 0 : -EADDRNOTAVAIL;
	len = any(dev, family_of(a) ? family_of(a) : family, &sa);
	return len ? put(a, &sa, len) : -EADDRNOTAVAIL;
}

/* An address that a GID of the port is made of; 0: there is none. */
static socklen_t gid_address(const uint8_t gid[16], sa_family_t family,
			     struct sockaddr_storage *sa)
{
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6 };
	struct sockaddr_in in = { .sin_family = AF_INET };
	bool v4;

	memcpy(&in6.sin6_addr, gid, 16);
	v4 = IN6_IS_ADDR_V4MAPPED(&in6.sin6_addr);
	if (v4 != (family == AF_INET) ||
	    IN6_IS_ADDR_LINKLOCAL(&in6.sin6_addr) ||
	    IN6_IS_ADDR_UNSPECIFIED(&in6.sin6_addr))
		return 0;
	memset(sa, 0, sizeof(*sa));
	if (!v4) {
		memcpy(sa, &in6, sizeof(in6));
		return sizeof(in6);
	}
	memcpy(&in.sin_addr, gid + 12, sizeof(in.sin_addr));
	memcpy(sa, &in, sizeof(in));
	return sizeof(in);
}

/* The first address of the port; no GID of InfiniBand has one. */
static socklen_t port_address(const struct be_dev *dev, sa_family_t family,
			      struct sockaddr_storage *sa)
{
	struct ib_uverbs_gid_entry *gid;
	socklen_t len = 0;
	uint64_t n = 0, i;

	gid = dev->ethernet ? calloc(UV_GIDS, sizeof(*gid)) : NULL;
	if (gid && !uv_query_gid_table(dev->ctl_fd, dev->prov->driver_id, gid,
				       &n))
		for (i = 0; i < n && !len; i++)
			if (gid[i].port_num == dev->port)
				len = gid_address((const uint8_t *)gid[i].gid,
						  family, sa);
	free(gid);
	return len;
}

/* Loopback and, to the kernel, the wildcard: where the guest itself is. */
static int destination(const struct be_dev *dev, const struct named *a)
{
	sa_family_t family = family_of(a);
	struct sockaddr_storage sa;
	socklen_t len;

	if (!family || (!is_any(a) && !is_loopback(a)))
		return 0;
	if (be_addr_given(dev)) {
		len = any(dev, family, &sa);
		return len ? put(a, &sa, len) : -EADDRNOTAVAIL;
	}
	len = port_address(dev, family, &sa);
	return len ? put(a, &sa, len) : 0;
}

/* ---- what the kernel found ---- */

int be_cm_judge(const struct be_cm_call *c, struct be_cm_id *id)
{
	struct rdma_ucm_query query = {
		.id = id->id, .option = RDMA_USER_CM_QUERY_ADDR,
	};
	struct rdma_ucm_query_addr_resp rsp;
	struct uv_cm uv;
	int err;

	if (id->foreign)
		return -ENODEV;
	err = be_cm_own(c->dev, id->cm, &uv, RDMA_USER_CM_CMD_QUERY, &query,
			sizeof(query), sizeof(rsp));
	if (err)
		return err;
	memcpy(&rsp, uv.out, sizeof(rsp));
	if (!rsp.node_guid && !rsp.port_num)
		return 0;
	id->foreign = rsp.node_guid != c->dev->info.node_guid ||
		      rsp.port_num != c->dev->port ||
		      rsp.ibdev_index != c->dev->ibdev_index ||
		      (!c->dev->ethernet &&
		       !be_pkey_member(c->dev, ntohs(rsp.pkey)));
	return id->foreign ? -ENODEV : 1;
}

/* The kernel refuses what needs a device in the same way. */
static int bound(const struct be_cm_call *c)
{
	int r = be_cm_judge(c, c->id);

	return r > 0 ? 0 : r < 0 ? r : -EINVAL;
}

/* ---- by command ---- */

static struct named address(struct be_cm_call *c, uint16_t at, uint16_t at_len)
{
	struct named a = { c->uv.in + at, sizeof(struct sockaddr_in6), NULL };

	if (at_len) {
		a.room = sizeof(struct sockaddr_storage);
		a.len = (uint16_t *)(c->uv.in + at_len);
	}
	return a;
}

static int bind_addr(struct be_cm_call *c)
{
	struct named a = address(c, c->uv.op->at_src, c->uv.op->at_src_len);

	return source(c->dev, &a, AF_UNSPEC);
}

static int resolve(struct be_cm_call *c)
{
	struct named src = address(c, c->uv.op->at_src, c->uv.op->at_src_len);
	struct named dst = address(c, c->uv.op->at_dst, c->uv.op->at_dst_len);
	int err = destination(c->dev, &dst);

	return err ? err : source(c->dev, &src, family_of(&dst));
}

/* The kernel would bind to the wildcard itself. */
static int listen_unbound(struct be_cm_call *c)
{
	struct rdma_ucm_bind b = { .id = c->id->id };
	struct sockaddr_storage sa;
	struct uv_cm uv;
	int err = be_cm_judge(c, c->id);

	if (err || !be_addr_given(c->dev))
		return err < 0 ? err : 0;
	b.addr_size = (uint16_t)be_addr_any(c->dev, AF_INET, &sa);
	if (!b.addr_size)
		b.addr_size = (uint16_t)be_addr_any(c->dev, AF_INET6, &sa);
	memcpy(&b.addr, &sa, b.addr_size);
	return be_cm_own(c->dev, c->cm, &uv, RDMA_USER_CM_CMD_BIND, &b,
			 sizeof(b), 0);
}

/* A path has a source GID and a P_Key, which the kernel would send with. */
static int option(struct be_cm_call *c)
{
	struct rdma_ucm_set_option o;

	memcpy(&o, c->uv.in, sizeof(o));
	if (o.level != RDMA_OPTION_IB)
		return 0;
	if (be_addr_given(c->dev) || be_pkeys_own(c->dev))
		return -ENOSYS;
	return bound(c);
}

int be_cm_addr_check(struct be_cm_call *c)
{
	switch (c->uv.cmd) {
	case RDMA_USER_CM_CMD_BIND_IP:
	case RDMA_USER_CM_CMD_BIND:
		return bind_addr(c);
	case RDMA_USER_CM_CMD_RESOLVE_IP:
	case RDMA_USER_CM_CMD_RESOLVE_ADDR:
		return resolve(c);
	case RDMA_USER_CM_CMD_LISTEN:
		return listen_unbound(c);
	case RDMA_USER_CM_CMD_SET_OPTION:
		return option(c);
	case RDMA_USER_CM_CMD_RESOLVE_ROUTE:
	case RDMA_USER_CM_CMD_CONNECT:
	case RDMA_USER_CM_CMD_ACCEPT:
	case RDMA_USER_CM_CMD_REJECT:
	case RDMA_USER_CM_CMD_DISCONNECT:
	case RDMA_USER_CM_CMD_INIT_QP_ATTR:
	case RDMA_USER_CM_CMD_JOIN_IP_MCAST:
	case RDMA_USER_CM_CMD_JOIN_MCAST:
		return bound(c);
	default:
		return 0;	/* of an id that has no device, or tells of it */
	}
}
