// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * hostile.h: requests and answers around tests/hostile/kern*.c, in the place of Xen's rings,
 * grants and store.
 */
#include <errno.h>
#include <stdlib.h>

#include "hostile.h"
#include "tests/hostile/kern.h"
#include "tests/hostile/reg.h"

static struct peer peer;
static enum hostile_lie lie;
static bool said;
static void *granted[2];	/* by its reference */

/* ---- what the program has of Xen ---- */

void *xengnttab_map_domain_grant_refs(xengnttab_handle *h, uint32_t n, uint32_t domid,
				      uint32_t *refs, int prot)
{
	(void)h, (void)n, (void)domid, (void)prot;
	return granted[refs[0]];
}

int xengnttab_unmap(xengnttab_handle *h, void *va, uint32_t n)
{
	(void)h, (void)va, (void)n;
	return 0;
}

bool reg_permit(uint32_t domid, bool may)
{
	(void)domid, (void)may;
	return true;
}

void store_put(const char *dir, const char *node, const char *fmt, ...)
{
	(void)dir, (void)node, (void)fmt;
}

void die(const char *fmt, ...)
{
	(void)fmt;
	abort();
}

uint32_t rnd(void)
{
	static uint64_t s = 88172645463325252ull;

	s ^= s << 13;
	s ^= s >> 7;
	s ^= s << 17;
	return (uint32_t)(s >> 16);
}

bool peer_rests(struct peer *b)
{
	(void)b;
	return false;
}

bool peer_pour_one(struct peer *b, const struct xenvhca_event *ev)
{
	(void)b;
	said |= ev->type == XENVHCA_EVT_CM;
	return true;
}

void peer_poured(struct peer *b)
{
	(void)b;
}

/* ---- the test's side ---- */

static void asks(struct xenvhca_request *req, struct xenvhca_response *rsp)
{
	kern_answer(&peer, req, rsp);
}

void hostile_begin(enum hostile_lie what)
{
	struct xenvhca_request end = { .op = XENVHCA_OP_DEALLOC_UCONTEXT };
	struct xenvhca_response rsp = { .id = 0 };

	peer = (struct peer){ .file = { 1 } };
	lie = what;
	said = false;
	asks(&end, &rsp);
	kern_cm_end();
}

unsigned int hostile_lies(void)
{
	return peer.told;
}

bool hostile_tick(void)
{
	bool had;

	if (lie == HOSTILE_ORDERS)
		kern_orders(&peer);
	if (lie == HOSTILE_REQUESTS)
		kern_requests(&peer);
	if (lie == HOSTILE_COMPLETIONS)
		kern_completions(&peer);
	kern_idle(&peer);
	had = said;
	said = false;
	return had;
}

static void lie_of(struct xenvhca_request *req, struct xenvhca_response *rsp)
{
	peer.told += lie == HOSTILE_DATA;
	if (lie == HOSTILE_DATA)
		kern_cm_data(&peer, req, rsp);
	if (lie == HOSTILE_QUIET)
		kern_cm_quiet(&peer, req, rsp);
}

int hostile_cm(struct hostile_cm *c)
{
	struct xenvhca_request req = { .op = XENVHCA_OP_CM_COMMAND };
	struct xenvhca_response rsp = { .id = 0 };
	size_t here = c->in_len < XENVHCA_CM_IN ? c->in_len : XENVHCA_CM_IN, more;

	req.u.cm_command.cmd = c->cmd;
	req.u.cm_command.in_len = (uint16_t)c->in_len;
	req.u.cm_command.out_len = (uint16_t)c->room;
	memcpy(req.u.cm_command.in, c->in, here);
	memcpy(req.udata, (const uint8_t *)c->in + here, c->in_len - here);
	asks(&req, &rsp);
	lie_of(&req, &rsp);
	c->out_len = rsp.u.cm_command.out_len;
	c->events = rsp.u.cm_command.events;
	more = c->out_len > XENVHCA_CM_OUT ? c->out_len - XENVHCA_CM_OUT : 0;
	if (c->out_len > c->room || rsp.out_len != more)
		return -EIO;
	memcpy(c->out, rsp.u.cm_command.out, c->out_len - more);
	memcpy((uint8_t *)c->out + XENVHCA_CM_OUT, rsp.udata, more);
	return 0;
}

void hostile_cq(uint32_t handle, uint32_t nent, void *buf, void *db)
{
	struct xenvhca_request req = { .op = XENVHCA_OP_CREATE_CQ };
	struct xenvhca_response rsp = { .id = 0 };

	granted[0] = buf;
	granted[1] = db;
	req.u.create_cq.cqe = nent - 1;
	req.u.create_cq.buf.nr_pages = (uint32_t)(nent * 64 / PAGE);
	req.u.create_cq.db.nr_pages = 1;
	req.u.create_cq.db.gref[0] = 1;
	rsp.u.cq.handle = handle;
	asks(&req, &rsp);
}

void hostile_qp(uint32_t handle, uint32_t qpn, uint32_t send_cq, uint32_t recv_cq, void *db)
{
	struct xenvhca_request req = { .op = XENVHCA_OP_CREATE_QP };
	struct xenvhca_response rsp = { .id = 0 };

	granted[0] = db;
	req.u.create_qp.send_cq = send_cq;
	req.u.create_qp.recv_cq = recv_cq;
	req.u.create_qp.db.nr_pages = 1;
	rsp.u.create_qp.handle = handle;
	rsp.u.create_qp.qpn = qpn;
	asks(&req, &rsp);
}

void hostile_stop(uint32_t handle)
{
	struct xenvhca_request req = { .op = XENVHCA_OP_MODIFY_QP };
	struct xenvhca_response rsp = { .id = 0 };

	req.u.modify_qp.handle = handle;
	req.u.modify_qp.attr.mask = 1;		/* the state: */
	req.u.modify_qp.attr.qp_state = 6;	/* ERR */
	asks(&req, &rsp);
}
