// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Which addresses a guest may use with the connection manager. A vhca without
 * addresses of its own shares those of the port, so its guest may name any that
 * the kernel knows; but what it gets has to be on the port that it was given, as
 * this domain may have other HCAs. A vhca with addresses of its own binds to
 * these only: the wildcard means the first of its family, and whoever names no
 * source gets it too. One thread at a time runs this, see cm.h.
 */
#include <errno.h>
#include <netinet/in.h>
#include <rdma/rdma_user_cm.h>
#include <string.h>

#include "addr.h"
#include "cm.h"

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

/* IPv6's wildcard is that of IPv4, too, as natively. */
static socklen_t any(const struct be_dev *dev, sa_family_t family,
		     struct sockaddr_storage *sa)
{
	socklen_t len = be_addr_any(dev, family, sa);

	return len || family != AF_INET6 ? len : be_addr_any(dev, AF_INET, sa);
}

/*
 * The source that a guest names. @family: of the destination, if there is no
 * source. The error is the kernel's for an address that it does not have.
 */
static int own(const struct be_dev *dev, const struct named *a,
	       sa_family_t family)
{
	struct sockaddr_storage sa;
	socklen_t len;

	if (!is_any(a))
		return be_addr_own(dev, (struct sockaddr *)a->at,
				   (socklen_t)a->room) ? 0 : -EADDRNOTAVAIL;
	len = any(dev, family_of(a) ? family_of(a) : family, &sa);
	if (!len || len > a->room)
		return -EADDRNOTAVAIL;
	/* Both families have the port there. */
	if (family_of(a))
		memcpy((uint8_t *)&sa + offsetof(struct sockaddr_in, sin_port),
		       a->at + offsetof(struct sockaddr_in, sin_port),
		       sizeof(in_port_t));
	memset(a->at, 0, a->room);
	memcpy(a->at, &sa, len);
	if (a->len)
		*a->len = (uint16_t)len;
	return 0;
}

static int bind_ip(struct be_cm_call *c)
{
	struct rdma_ucm_bind_ip *b = (struct rdma_ucm_bind_ip *)c->uv.in;
	struct named a = { (uint8_t *)&b->addr, sizeof(b->addr), NULL };

	return own(c->dev, &a, AF_UNSPEC);
}

static int bind_addr(struct be_cm_call *c)
{
	struct rdma_ucm_bind *b = (struct rdma_ucm_bind *)c->uv.in;
	struct named a = { (uint8_t *)&b->addr, sizeof(b->addr), &b->addr_size };

	return own(c->dev, &a, AF_UNSPEC);
}

static int resolve_ip(struct be_cm_call *c)
{
	struct rdma_ucm_resolve_ip *r = (struct rdma_ucm_resolve_ip *)c->uv.in;
	struct named a = { (uint8_t *)&r->src_addr, sizeof(r->src_addr), NULL };

	return own(c->dev, &a, r->dst_addr.sin6_family);
}

static int resolve_addr(struct be_cm_call *c)
{
	struct rdma_ucm_resolve_addr *r =
		(struct rdma_ucm_resolve_addr *)c->uv.in;
	struct named a = {
		(uint8_t *)&r->src_addr, sizeof(r->src_addr), &r->src_size,
	};

	return own(c->dev, &a, r->dst_addr.ss_family);
}

/* The kernel would bind to the wildcard itself. */
static int listen_unbound(const struct be_cm_call *c)
{
	struct rdma_ucm_bind b = { .id = c->id->id };
	struct uv_cm uv = {
		.cmd = RDMA_USER_CM_CMD_BIND, .in_len = sizeof(b),
	};
	struct sockaddr_storage sa;
	int err;

	if (c->id->bound)
		return 0;
	b.addr_size = (uint16_t)be_addr_any(c->dev, AF_INET, &sa);
	if (!b.addr_size)
		b.addr_size = (uint16_t)be_addr_any(c->dev, AF_INET6, &sa);
	memcpy(&b.addr, &sa, b.addr_size);
	memcpy(uv.in, &b, sizeof(b));
	uv.op = vhca_cm_op(uv.cmd, &err);
	return uv_cm_command(c->cm->fd, &uv);
}

/* A path has a source GID, which the kernel would send from. */
static int option(const struct be_cm_call *c)
{
	struct rdma_ucm_set_option o;

	memcpy(&o, c->uv.in, sizeof(o));
	return o.level == RDMA_OPTION_IB ? -ENOSYS : 0;
}

int be_cm_addr_check(struct be_cm_call *c)
{
	if (!be_addr_given(c->dev))
		return 0;		/* of the port: shared */
	switch (c->uv.cmd) {
	case RDMA_USER_CM_CMD_BIND_IP:
		return bind_ip(c);
	case RDMA_USER_CM_CMD_BIND:
		return bind_addr(c);
	case RDMA_USER_CM_CMD_RESOLVE_IP:
		return resolve_ip(c);
	case RDMA_USER_CM_CMD_RESOLVE_ADDR:
		return resolve_addr(c);
	case RDMA_USER_CM_CMD_LISTEN:
		return listen_unbound(c);
	case RDMA_USER_CM_CMD_SET_OPTION:
		return option(c);
	default:
		return 0;		/* names no address of the guest's */
	}
}

int be_cm_addr_bound(const struct be_cm_call *c, struct be_cm_id *id)
{
	struct rdma_ucm_query query = {
		.id = id->id, .option = RDMA_USER_CM_QUERY_ADDR,
	};
	struct rdma_ucm_query_addr_resp rsp;
	struct uv_cm uv = {
		.cmd = RDMA_USER_CM_CMD_QUERY, .in_len = sizeof(query),
		.out_len = sizeof(rsp),
	};
	int err;

	id->bound = true;
	uv.op = vhca_cm_op(uv.cmd, &err);
	memcpy(uv.in, &query, sizeof(query));
	if (!err)
		err = uv_cm_command(c->cm->fd, &uv);
	if (err)
		return err;
	memcpy(&rsp, uv.out, sizeof(rsp));
	id->foreign = rsp.node_guid &&
		(rsp.node_guid != c->dev->info.node_guid ||
		 rsp.port_num != c->dev->port ||
		 rsp.ibdev_index != c->dev->ibdev_index);
	return id->foreign ? -ENODEV : 0;
}
