// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The table of operations: what every request must look like before a handler
 * sees it, and how an error leaves the worker. The command thread runs this.
 * The request is a private copy of what a hostile guest wrote.
 */
#include <errno.h>
#include <string.h>

#include "clock.h"
#include "dispatch.h"
#include "verbs/jobs.h"
#include "uverbs/uverbs.h"
#include "verbs/object.h"
#include "verbs/ucontext.h"

#define D_DESTROY	(1u << 0)	/* releases something, never delayed */
#define D_NO_UC		(1u << 1)	/* ucontext must be 0 */
#define D_OPT_UC	(1u << 2)	/* ucontext may be 0 */
#define D_CTL		(1u << 3)	/* ucontext may be 0: dev->ctl */
#define D_RANGES	(1u << 4)	/* may have XENVHCA_REQ_RANGES */
#define D_UDATA		(1u << 5)	/* udata is the handler's, no HCA's */

struct row {
	int (*handler)(const struct be_cmd *c);	/* NULL: be_destroy() */
	enum be_type type;		/* what be_destroy() ends */
	const char *name;
	uint16_t body;			/* octets of the body that are used */
	uint16_t flags;
};

#define ROW(OP, func, bytes, fl)					\
	[XENVHCA_OP_##OP] = {						\
		.handler = be_##func, .name = #func,			\
		.body = (bytes), .flags = (fl),				\
	}
#define ROW_END(OP, func, KIND)						\
	[XENVHCA_OP_##OP] = {						\
		.type = BE_##KIND, .name = #func,			\
		.body = HANDLE, .flags = D_DESTROY,			\
	}
#define BODY(name)	sizeof(struct xenvhca_##name##_req)
/* Without its reserved field, which then is among the unused octets. */
#define HANDLE		offsetof(struct xenvhca_handle_req, reserved)

static const struct row rows[XENVHCA_OP_MAX] = {
	ROW(GET_INFO, get_info, 0, D_NO_UC),
	ROW(QUERY_DEVICE, query_device, 0, D_OPT_UC),
	ROW(QUERY_PORT, query_port, 0, D_NO_UC),
	ROW(QUERY_GID_TABLE, query_gid_table, BODY(query_gid_table), D_NO_UC),
	ROW(QUERY_PKEY_TABLE, query_pkey_table, BODY(query_pkey_table),
	    D_NO_UC),
	ROW(QUERY_COUNTER_NAMES, query_counter_names, BODY(counters), D_NO_UC),
	ROW(QUERY_COUNTERS, query_counters, BODY(counters), D_NO_UC),
	ROW(ALLOC_UCONTEXT, alloc_ucontext, 0, D_NO_UC),
	ROW(DEALLOC_UCONTEXT, dealloc_ucontext, 0, D_DESTROY),
	ROW(MMAP, mmap, BODY(mmap), 0),
	ROW(MUNMAP, munmap, BODY(munmap), D_DESTROY),
	ROW(ALLOC_PD, alloc_pd, 0, 0),
	ROW_END(DEALLOC_PD, dealloc_pd, PD),
	ROW(ALLOC_XRCD, alloc_xrcd, 0, D_NO_UC),
	ROW(DEALLOC_XRCD, dealloc_xrcd, HANDLE, D_NO_UC | D_DESTROY),
	ROW(REG_MR, reg_mr, BODY(reg_mr), 0),
	ROW(REREG_MR, rereg_mr, BODY(rereg_mr), 0),
	ROW(DEREG_MR, dereg_mr, HANDLE, D_DESTROY),
	ROW(ALLOC_MW, alloc_mw, BODY(alloc_mw), 0),
	ROW_END(DEALLOC_MW, dealloc_mw, MW),
	ROW(CREATE_CQ, create_cq, BODY(create_cq), D_RANGES),
	ROW(RESIZE_CQ, resize_cq, BODY(resize_cq), D_RANGES),
	ROW_END(DESTROY_CQ, destroy_cq, CQ),
	ROW(MODIFY_CQ, modify_cq, BODY(modify_cq), 0),
	ROW(CREATE_QP, create_qp, BODY(create_qp), D_CTL | D_RANGES),
	ROW(MODIFY_QP, modify_qp, BODY(modify_qp), D_CTL),
	ROW(QUERY_QP, query_qp, BODY(query_qp), D_CTL),
	ROW(DESTROY_QP, destroy_qp, HANDLE, D_CTL | D_DESTROY),
	ROW(CREATE_SRQ, create_srq, BODY(create_srq), D_RANGES),
	ROW(MODIFY_SRQ, modify_srq, BODY(modify_srq), 0),
	ROW(QUERY_SRQ, query_srq, HANDLE, 0),
	ROW_END(DESTROY_SRQ, destroy_srq, SRQ),
	ROW(CREATE_AH, create_ah, BODY(create_ah), 0),
	ROW_END(DESTROY_AH, destroy_ah, AH),
	ROW(ATTACH_MCAST, attach_mcast, BODY(mcast), 0),
	ROW(DETACH_MCAST, detach_mcast, BODY(mcast), D_DESTROY),
	ROW(ALLOC_CM, alloc_cm, 0, D_NO_UC),
	ROW(DEALLOC_CM, dealloc_cm, HANDLE, D_NO_UC | D_DESTROY),
	ROW(CM_COMMAND, cm_command, BODY(cm_command), D_NO_UC | D_UDATA),
	ROW(ALLOC_UMAD, alloc_umad, 0, D_NO_UC),
	ROW(DEALLOC_UMAD, dealloc_umad, HANDLE, D_NO_UC | D_DESTROY),
	ROW(REGISTER_UMAD, register_umad, BODY(register_umad), D_NO_UC),
	ROW(UNREGISTER_UMAD, unregister_umad, BODY(unregister_umad),
	    D_NO_UC | D_DESTROY),
	ROW(SEND_UMAD, send_umad, BODY(send_umad), D_NO_UC | D_UDATA),
	ROW(RECV_UMAD, recv_umad, BODY(recv_umad), D_NO_UC | D_UDATA),
};

static const struct row *row_find(uint16_t op)
{
	if (op >= XENVHCA_OP_MAX || !rows[op].name)
		return NULL;
	return &rows[op];
}

bool be_op_destroys(uint16_t op)
{
	const struct row *row = row_find(op);

	return row && row->flags & D_DESTROY;
}

/* The only place where an error becomes a number of the protocol. */
static int32_t wire_status(int err)
{
	static const struct { int host; int32_t wire; } map[] = {
#define XEN_ERRNO(name, value) { name, value },
#include <xen/errno.h>
		{ EDQUOT, 12 },		/* a quota looks like ENOMEM */
		/* Of CM_COMMAND, and not Xen's. */
		{ EAFNOSUPPORT, 97 }, { ENETUNREACH, 101 },
		{ EHOSTUNREACH, 113 },
	};
	size_t i;

	if (!err)
		return 0;
	for (i = 0; i < sizeof(map) / sizeof(map[0]); i++)
		if (map[i].host == -err)
			return -map[i].wire;
	return -5;			/* EIO, for what the protocol has no number */
}

static int find_uc(const struct row *row, struct be_cmd *c)
{
	uint32_t handle = c->req->ucontext;

	if (row->flags & D_NO_UC)
		return handle ? -EINVAL : 0;
	if (row->flags & D_OPT_UC && !handle)
		return 0;
	if (row->flags & D_CTL && !handle) {
		c->uc = c->dev->ctl;
		return 0;
	}
	c->uc = be_handle_get(c->dev->handles, handle, BE_UCONTEXT, NULL);
	return c->uc && c->uc->file->state == BE_VFILE_OPEN ? 0 : -ENOENT;
}

static int check(const struct row *row, struct be_cmd *c)
{
	const struct xenvhca_request *req = c->req;
	uint32_t flags = row->flags & D_RANGES ? XENVHCA_REQ_RANGES : 0;

	if (req->in_len > XENVHCA_UDATA_SIZE ||
	    req->out_len > XENVHCA_UDATA_SIZE || req->flags & ~flags)
		return -EINVAL;
	if (!be_zero(req->u.raw, row->body, XENVHCA_BODY_SIZE) ||
	    !be_zero(req->udata, req->in_len, XENVHCA_UDATA_SIZE))
		return -EINVAL;
	if (row->flags & D_UDATA)
		return 0;
	return vhca_provider_check_req(c->dev->prov, req);
}

static int run(struct be_cmd *c)
{
	const struct row *row = row_find(c->req->op);
	int err;

	if (!row)
		return -EOPNOTSUPP;
	err = check(row, c);
	if (!err)
		err = find_uc(row, c);
	if (!err)
		err = row->handler ? row->handler(c) : be_destroy(c, row->type);
	if (!err && c->req->flags & XENVHCA_REQ_RANGES)
		be_ranges_tell(c);
	return err;
}

static void answer(struct be_dev *dev, const struct xenvhca_request *req,
		   struct xenvhca_response *rsp, int err)
{
	const struct row *row = row_find(req->op);

	if (err) {
		memset(rsp, 0, sizeof(*rsp));
		BE_STAT_ADD(dev, cmd_errors, 1);
		be_log(dev, BE_DEBUG, "%s %u: %s", row ? row->name : "unknown",
		       req->id, strerror(-err));
	}
	rsp->id = req->id;
	rsp->op = req->op;
	rsp->status = wire_status(err);
	BE_STAT_ADD(dev, cmds, 1);
}

enum be_done be_dispatch(struct be_dev *dev, const struct xenvhca_request *req,
			 struct xenvhca_response *rsp)
{
	struct be_cmd c = { .dev = dev, .req = req, .rsp = rsp };
	int err;

	memset(rsp, 0, sizeof(*rsp));
	err = run(&c);
	if (err == BE_LATER)
		return BE_AGAIN;
	if (err == BE_PASSED)
		return BE_ELSEWHERE;
	answer(dev, req, rsp, err);
	return BE_ANSWERED;
}

/* False: there is no answer, or not yet. */
static bool job_dispatched(struct be_dev *dev, struct be_job *job,
			   struct xenvhca_response *rsp)
{
	const struct xenvhca_request req = { .op = job->op, .id = job->id };
	const struct be_cmd c = { dev, job->uc, &req, rsp };
	int err;

	memset(rsp, 0, sizeof(*rsp));
	err = be_job_end(&c, job);
	if (!req.op || err == BE_PASSED)
		return false;
	/* Too late to wait for its token, as cmdq.c would have it: a debt. */
	if (err && be_op_destroys(req.op))
		vl_bucket_charge(&dev->quota.cmd, vl_coarse_ns(), 1);
	answer(dev, &req, rsp, err);
	return true;
}

bool be_dispatched(struct be_dev *dev, struct xenvhca_response *rsp)
{
	struct be_job *job;

	while ((job = be_jobs_next(dev)))
		if (job_dispatched(dev, job, rsp))
			return true;
	return false;
}

void be_reply(struct be_dev *dev, const struct xenvhca_response *rsp)
{
	int r = dev->t->ops->put_response(dev->t, rsp);

	if (r < 0)
		be_fault(dev, "no room for the response of request %u",
			 rsp->id);
	else
		BE_STAT_ADD(dev, cmd_notifies, (unsigned int)r);
}

bool be_reply_elsewhere(struct be_dev *dev)
{
	struct xenvhca_response rsp;
	uint64_t errors = uv_errors;
	bool some = false;

	while (!dev->fault && be_dispatched(dev, &rsp)) {
		be_reply(dev, &rsp);
		some = true;
	}
	be_quota_failed(&dev->quota, (uint32_t)(uv_errors - errors));
	return some;
}
