// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The device of an id. Natively an address decides, and an id that is bound to none, or
 * to the wildcard, is at no device. Here an id is made at the first device, whose
 * backend checks its parameters; when an address decides for another device the id is
 * made there, with the options that were set before. The wildcard is bound at each
 * device.
 *
 * The configuration of a device has its addresses and networks (XENVHCA_NODE_IP).
 * Without them all backends are asked in turn. Processes run this, and a work of their
 * file.
 */
#include <linux/slab.h>
#include <linux/socket.h>

#include "cm.h"

static void put_id(struct vhca_cm_call *c, u32 id)
{
	if (c->op->at_id != VHCA_CM_NONE)
		memcpy(c->in + c->op->at_id, &id, sizeof(id));
}

int vhca_cm_send_to(struct vhca_cm_end *end, struct vhca_cm_call *c)
{
	put_id(c, end->id);
	return vhca_cmd_cm_command(&end->part->f, c);
}

/* A command of the frontend itself, in cm->call. */
static struct vhca_cm_call *own(struct vhca_cm *cm, u32 cmd, const void *in,
				u16 len, u16 room)
{
	struct vhca_cm_call *c = &cm->call;
	int rc;

	memset(c, 0, sizeof(*c));
	c->cmd = cmd;
	c->op = vhca_cm_op(cmd, &rc);
	c->in_len = len;
	c->room = room;
	memcpy(c->in, in, len);
	return c;
}

/* If the command fails the id stays at the backend until the file is closed. */
void vhca_cm_end_drop(struct vhca_cm_id *id, struct vhca_cm_end *end)
{
	struct rdma_ucm_destroy_id in = {};

	vhca_cm_send_to(end, own(id->cm, RDMA_USER_CM_CMD_DESTROY_ID, &in,
				 sizeof(in),
				 sizeof(struct rdma_ucm_destroy_id_resp)));
	vhca_cm_end_free(end);
}

static void drop_all_but(struct vhca_cm_id *id, struct vhca_cm_end *that)
{
	struct vhca_cm_end *end, *next;

	list_for_each_entry_safe(end, next, &id->ends, list)
		if (end != that)
			vhca_cm_end_drop(id, end);
}

static int set_options(struct vhca_cm_id *id, struct vhca_cm_end *end)
{
	struct rdma_ucm_set_option in = { .level = RDMA_OPTION_ID };
	struct vhca_cm_call *c;
	int rc = 0;
	u32 i;

	for (i = 0; !rc && i < VHCA_CM_OPTIONS; i++) {
		if (!id->opt_len[i])
			continue;
		in.optname = i;
		in.optlen = id->opt_len[i];
		c = own(id->cm, RDMA_USER_CM_CMD_SET_OPTION, &in, sizeof(in), 0);
		memcpy(c->in + c->in_len, id->opt[i], in.optlen);
		c->in_len += in.optlen;
		rc = vhca_cm_send_to(end, c);
	}
	return rc;
}

static struct vhca_cm_end *end_make(struct vhca_cm_id *id,
				    struct vhca_cm_part *part)
{
	struct rdma_ucm_create_id in = id->create;
	struct vhca_cm_call *c;
	struct vhca_cm_end *end = vhca_cm_end_new(id, part, 0);
	int rc;

	if (!end)
		return ERR_PTR(-ENOMEM);
	in.uid = id->uid ? id->id : 0;
	c = own(id->cm, RDMA_USER_CM_CMD_CREATE_ID, &in, sizeof(in),
		sizeof(struct rdma_ucm_create_id_resp));
	rc = vhca_cmd_cm_command(&part->f, c);
	if (!rc && c->out_len < sizeof(end->id))
		rc = -EIO;
	if (rc) {
		vhca_cm_end_free(end);
		return ERR_PTR(rc);
	}
	end->id = vhca_cm_u32(c->out, 0);
	rc = set_options(id, end);
	if (!rc)
		return end;
	vhca_cm_end_drop(id, end);
	return ERR_PTR(rc);
}

static struct vhca_cm_end *end_at(struct vhca_cm_id *id,
				  struct vhca_cm_part *part)
{
	return vhca_cm_end_of(id, part) ?: end_make(id, part);
}

/* Errors about the device, not about the command. -EIO: it is gone. */
static bool not_here(int rc)
{
	return rc == -EADDRNOTAVAIL || rc == -ENODEV || rc == -EIO;
}

struct vhca_cm_end *vhca_cm_somewhere(struct vhca_cm_id *id)
{
	struct vhca_cm_end *end = ERR_PTR(-ENODEV);
	struct vhca_cm_part *part;

	if (id->removed)
		return ERR_PTR(-EINVAL);
	if (!list_empty(&id->ends))
		return list_first_entry(&id->ends, struct vhca_cm_end, list);
	if (id->any)
		return end;
	vhca_cm_join(id->cm);
	list_for_each_entry(part, &id->cm->parts, list) {
		end = end_make(id, part);
		if (!IS_ERR(end) || !not_here(PTR_ERR(end)))
			break;
	}
	return end;
}

/* ---- addresses ---- */

/* IPv4 or IPv6; both kinds of sockaddr have the port at the same place. */
struct addr {
	u16 family;
	__be16 port;
	bool any;
	u8 at[16];			/* IPv4: mapped */
};

static void addr_load(const u8 *sa, struct addr *a)
{
	static const u8 mapped[12] = { [10] = 0xff, [11] = 0xff }, none[16];

	memset(a, 0, sizeof(*a));
	memcpy(&a->family, sa, sizeof(a->family));
	memcpy(&a->port, sa + 2, sizeof(a->port));
	if (a->family == AF_INET) {
		a->any = !memcmp(sa + 4, none, 4);
		memcpy(a->at, mapped, sizeof(mapped));
		memcpy(a->at + 12, sa + 4, 4);
	} else if (a->family == AF_INET6) {
		a->any = !memcmp(sa + 8, none, 16);
		memcpy(a->at, sa + 8, 16);
	}
}

/* How well an address fits the device: from 0, not at all, to 129, its own address. */
static unsigned int fits(const struct vhca_cm_part *part, const struct addr *a)
{
	const struct vhca_net *net;
	unsigned int best = 0;

	for (net = part->nets.net; net < part->nets.net + part->nets.nr; net++)
		if (vhca_same_net(net->addr, a->at, 128))
			best = 129;
		else if (vhca_same_net(net->addr, a->at, net->prefix))
			best = max_t(unsigned int, best, net->prefix);
	return best;
}

static struct vhca_cm_part *best_part(struct vhca_cm *cm, const struct addr *a)
{
	struct vhca_cm_part *part, *best = NULL;
	unsigned int fit, most = 0;

	list_for_each_entry(part, &cm->parts, list) {
		fit = fits(part, a);
		if (fit > most) {
			most = fit;
			best = part;
		}
	}
	return best;
}

static int try_at(struct vhca_cm_id *id, struct vhca_cm_part *part,
		  struct vhca_cm_call *c)
{
	struct vhca_cm_end *end = end_at(id, part);
	int rc;

	if (IS_ERR(end))
		return PTR_ERR(end);
	rc = vhca_cm_send_to(end, c);
	if (not_here(rc))
		vhca_cm_end_drop(id, end);
	if (rc)
		return rc;
	drop_all_but(id, end);
	id->any = false;
	id->placed = true;
	return 0;
}

/* Tries the device that fits best, then the others in the order of their numbers. */
static int place(struct vhca_cm_id *id, const struct addr *a,
		 struct vhca_cm_call *c)
{
	struct vhca_cm_part *part, *best;
	int rc;

	vhca_cm_join(id->cm);
	best = best_part(id->cm, a);
	rc = best ? try_at(id, best, c) : -ENODEV;
	list_for_each_entry(part, &id->cm->parts, list) {
		if (!not_here(rc))
			break;
		if (part != best)
			rc = try_at(id, part, c);
	}
	return rc;
}

/* ---- the wildcard ---- */

static int port_of(struct vhca_cm_end *end, __be16 *port)
{
	struct rdma_ucm_query in = { .option = RDMA_USER_CM_QUERY_ADDR };
	struct vhca_cm_call *c = own(end->part->cm, RDMA_USER_CM_CMD_QUERY, &in,
				     sizeof(in),
				     sizeof(struct rdma_ucm_query_addr_resp));
	struct addr a;
	int rc = vhca_cm_send_to(end, c);

	addr_load(c->out + offsetof(struct rdma_ucm_query_addr_resp, src_addr),
		  &a);
	*port = a.port;
	return rc;
}

static int any_at(struct vhca_cm_id *id, struct vhca_cm_part *part)
{
	bool v4 = id->family == AF_INET;
	struct rdma_ucm_bind in = { .addr_size = v4 ? 16 : 28 };
	struct vhca_cm_end *end = end_at(id, part);
	u8 *sa = (u8 *)&in.addr;
	int rc;

	if (IS_ERR(end))
		return PTR_ERR(end);
	memcpy(sa, &id->family, sizeof(id->family));
	memcpy(sa + 2, &id->port, sizeof(id->port));
	rc = vhca_cm_send_to(end, own(id->cm, RDMA_USER_CM_CMD_BIND, &in,
				      sizeof(in), 0));
	/* The first one chooses the port for the others. */
	if (!rc && !id->port)
		rc = port_of(end, &id->port);
	if (rc && (not_here(rc) || id->any))
		vhca_cm_end_drop(id, end);
	return rc;
}

/* Two devices that share the addresses of one domain have the same wildcard. */
static bool shared(const struct vhca_cm_part *part, int rc)
{
	return rc == -EADDRINUSE && !part->nets.nr;
}

static int bind_any(struct vhca_cm_id *id, u16 family, __be16 port)
{
	struct vhca_cm_part *part;
	int rc, last = -ENODEV;

	vhca_cm_join(id->cm);
	id->family = family;
	id->port = port;
	list_for_each_entry(part, &id->cm->parts, list) {
		rc = any_at(id, part);
		if (!rc)
			id->any = true;
		else if (!not_here(rc) && !(id->any && shared(part, rc)))
			goto undo;
		else
			last = rc;
	}
	return id->any ? 0 : last;

undo:
	if (id->any)
		drop_all_but(id, NULL);
	id->any = false;
	return rc;
}

static int listen_any(struct vhca_cm_id *id, struct vhca_cm_call *c)
{
	struct vhca_cm_end *end;
	int rc, last = -ENODEV;
	bool some = false;

	list_for_each_entry(end, &id->ends, list) {
		rc = vhca_cm_send_to(end, c);
		if (rc)
			last = rc;
		else
			some = true;
		if (rc && !not_here(rc))
			return rc;
	}
	if (!some)
		return last;
	id->listens = true;
	id->backlog = vhca_cm_u32(c->in, offsetof(struct rdma_ucm_listen,
						  backlog));
	return 0;
}

void vhca_cm_extend(struct vhca_cm *cm)
{
	struct rdma_ucm_listen in = {};
	struct vhca_cm_part *part;
	struct vhca_cm_end *end;
	struct vhca_cm_id *id;

	list_for_each_entry(id, &cm->ids, list) {
		list_for_each_entry(part, &cm->parts, list) {
			if (!id->any || vhca_cm_end_of(id, part) ||
			    any_at(id, part) || !id->listens)
				continue;
			end = vhca_cm_end_of(id, part);
			in.backlog = id->backlog;
			if (vhca_cm_send_to(end, own(cm, RDMA_USER_CM_CMD_LISTEN, &in,
						     sizeof(in), 0)))
				vhca_cm_end_drop(id, end);
		}
	}
}

/* ---- commands ---- */

int vhca_cm_at_first(struct vhca_cm_id *id, struct vhca_cm_call *c)
{
	struct vhca_cm_end *end = vhca_cm_somewhere(id);

	return IS_ERR(end) ? PTR_ERR(end) : vhca_cm_send_to(end, c);
}

int vhca_cm_bind(struct vhca_cm_id *id, struct vhca_cm_call *c)
{
	struct addr a;

	if (id->placed || id->any || id->removed)
		return vhca_cm_at_first(id, c);
	addr_load(c->in + c->op->at_src, &a);
	return a.any ? bind_any(id, a.family, a.port) : place(id, &a, c);
}

int vhca_cm_resolve(struct vhca_cm_id *id, struct vhca_cm_call *c)
{
	struct addr src, dst;

	if (id->placed || id->removed)
		return vhca_cm_at_first(id, c);
	addr_load(c->in + c->op->at_src, &src);
	addr_load(c->in + c->op->at_dst, &dst);
	return place(id, src.family && !src.any ? &src : &dst, c);
}

/* As natively, an id that is not bound listens at the wildcard. */
int vhca_cm_listen(struct vhca_cm_id *id, struct vhca_cm_call *c)
{
	int rc = 0;

	if (id->placed || id->removed)
		return vhca_cm_at_first(id, c);
	if (!id->any)
		rc = bind_any(id, AF_INET, 0);
	if (not_here(rc))
		rc = bind_any(id, AF_INET6, 0);
	return rc ? rc : listen_any(id, c);
}

static void option_keep(struct vhca_cm_id *id, const struct vhca_cm_call *c)
{
	const struct rdma_ucm_set_option *o = (const void *)c->in;
	u32 i = o->optname;

	if (o->level != RDMA_OPTION_ID || i >= VHCA_CM_OPTIONS ||
	    o->optlen > sizeof(id->opt[i]))
		return;
	id->opt_len[i] = o->optlen;
	memcpy(id->opt[i], c->in + sizeof(*o), o->optlen);
}

int vhca_cm_option(struct vhca_cm_id *id, struct vhca_cm_call *c)
{
	struct vhca_cm_end *end = vhca_cm_somewhere(id);
	int rc;

	if (IS_ERR(end))
		return PTR_ERR(end);
	list_for_each_entry(end, &id->ends, list) {
		rc = vhca_cm_send_to(end, c);
		if (rc)
			return rc;
	}
	option_keep(id, c);
	return 0;
}
