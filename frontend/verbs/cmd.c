// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Each function marshals one opcode into a slot of the command ring, and its
 * answer out of it. It runs in the process that made the system call, or in a
 * work of device.c. ring_cmd.c has checked the header of an answer; the callers
 * check the fields of its body, except that a handle is never 0.
 */
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "cmd.h"
#include "ring/grant.h"
#include "mmap/range.h"
#include "verbs.h"
#include "vhca-provider.h"

/* Bodies are members of the slots' unions, so none is larger than raw. */
static_assert(sizeof(((struct xenvhca_request *)0)->u) == XENVHCA_BODY_SIZE);
static_assert(sizeof(((struct xenvhca_response *)0)->u) == XENVHCA_BODY_SIZE);

/* The differences between commands. */
struct call {
	struct vhca_dev *dev;
	u32 ucontext;
	u16 op;
	u16 undo;			/* op that ends the object of this one */
	const void *body;
	size_t len;
	void *rsp;
	size_t rsp_len;
	struct ib_udata *udata;		/* NULL: none in either direction */
	bool outptr;
	struct vhca_ucontext *uc;	/* with bufs: holds them if unknown */
	struct vhca_bufs *bufs;
	u16 at_buf, at_sq_buf, at_db;	/* lists in the body, 0: not there */
	unsigned int flags;		/* of vhca_ring_submit() */
	bool ranges;			/* the answer may have their references */
};

#define VHCA_BODY(b)	.body = (b), .len = sizeof(*(b))
#define VHCA_RESULT(r)	.rsp = (r), .rsp_len = sizeof(*(r))
#define VHCA_UC(u)	.dev = to_vdev((u)->ibuc.device), \
			.ucontext = (u)->handle, .uc = (u)
/* @uc is NULL for an object of the device. */
#define VHCA_UC_OR_DEV(d, u)	.dev = (d), \
				.ucontext = (u) ? (u)->handle : 0, .uc = (u)

static void call_pages(struct vhca_cmd *cmd, u16 at,
		       const struct vhca_mem *mem)
{
	if (at && mem)
		memcpy(cmd->req.u.raw + at, &mem->pages, sizeof(mem->pages));
}

static int call_prepare(const struct call *c, struct vhca_cmd *cmd)
{
	int rc;

	if (c->len)
		memcpy(cmd->req.u.raw, c->body, c->len);
	if (c->ranges && c->udata)
		cmd->req.flags = vhca_ranges_flags(cmd->row);
	if (c->udata) {
		rc = vhca_udata_load(c->dev, cmd, c->udata, c->outptr);
		if (rc)
			return rc;
	}
	if (!c->bufs)
		return 0;
	rc = vhca_bufs_get(c->uc, cmd, c->bufs);
	if (rc)
		return rc;
	call_pages(cmd, c->at_buf, c->bufs->buf);
	call_pages(cmd, c->at_sq_buf, c->bufs->sq_buf);
	call_pages(cmd, c->at_db, c->bufs->db);
	return 0;
}

static int submit(const struct call *c);

/* An object was made, but its udata did not reach the process: ends the object. */
static void call_undo(const struct call *c, u32 handle)
{
	struct xenvhca_handle_req req = { .handle = handle };
	struct call undo = {
		.dev = c->dev,
		.ucontext = c->ucontext,
		.op = c->undo,
		VHCA_BODY(&req),
		.flags = VHCA_CMD_DESTROY,
	};

	if (c->undo == XENVHCA_OP_DEALLOC_UCONTEXT) {
		undo.ucontext = handle;
		undo.len = 0;
	}
	submit(&undo);
}

/* The command was executed: copies the answer. */
static int call_finish(const struct call *c, const struct vhca_cmd *cmd)
{
	u32 handle;
	int rc = 0;

	if (c->rsp)
		memcpy(c->rsp, cmd->rsp.u.raw, c->rsp_len);
	/* The handle comes first in an answer that makes an object, and in requests. */
	memcpy(&handle, c->undo ? cmd->rsp.u.raw : cmd->req.u.raw,
	       sizeof(handle));
	if (c->undo && !handle) {
		vhca_break(c->dev, "backend made an object 0");
		return -EIO;
	}
	if (cmd->row)
		rc = vhca_udata_store(c->dev, cmd, c->udata, c->outptr);
	/* If ranges were requested, the backend mapped them even if the copy failed. */
	if (cmd->row && c->uc && (!rc || cmd->req.flags))
		vhca_ranges_fetch(c->uc, handle, cmd);
	if (rc && c->undo)
		call_undo(c, handle);
	if (rc && c->undo && c->uc)
		vhca_ranges_drop(c->uc, handle);
	else if (c->undo && c->uc)
		vhca_leave_count(c->uc, 1);
	return rc;
}

static int submit_one(const struct call *c)
{
	struct vhca_cmd *cmd;
	int rc;

	cmd = vhca_cmd_alloc(c->op, c->ucontext);
	if (!cmd)
		return -ENOMEM;
	if (c->udata)
		cmd->row = vhca_provider_op(c->dev->provider, c->op);
	rc = call_prepare(c, cmd);
	if (rc)
		goto out;
	rc = vhca_ring_submit(c->dev, &cmd, c->flags);
	/* The memory of ranges that have ended may be enough. */
	if (rc == -ENOMEM && c->ranges && c->uc && vhca_ranges_flush(c->uc))
		rc = vhca_ring_submit(c->dev, &cmd, c->flags);
	if (!rc)
		rc = call_finish(c, cmd);
	if (!c->bufs)
		goto out;
	if (rc) {
		vhca_bufs_put(c->uc, c->bufs, vhca_cmd_unknown(rc));
	} else {
		vhca_mem_drop_dirs(c->bufs->buf);
		vhca_mem_drop_dirs(c->bufs->sq_buf);
	}
out:
	kfree(cmd);	/* NULL: the ring holds it until the late answer */
	return rc;
}

/*
 * A consumer in the kernel may be a disk, to which memory has to be written before it is
 * free: a command that waits for memory, with the gate held, would wait for itself.
 */
static int submit(const struct call *c)
{
	unsigned int noio;
	int rc;

	if (!c->dev->own_uc)
		return submit_one(c);
	noio = memalloc_noio_save();
	rc = submit_one(c);
	memalloc_noio_restore(noio);
	return rc;
}

#define SUBMIT(...) submit(&(struct call){ __VA_ARGS__ })

/* For a command whose answer is only the handle of a new object. */
static int submit_new(struct call *c, u32 *handle)
{
	struct xenvhca_handle_rsp rsp;
	int rc;

	c->rsp = &rsp;
	c->rsp_len = sizeof(rsp);
	rc = submit(c);
	if (!rc)
		*handle = rsp.handle;
	return rc;
}

#define SUBMIT_NEW(handle, ...) submit_new(&(struct call){ __VA_ARGS__ }, handle)

int vhca_cmd_get_info(struct vhca_dev *dev, struct xenvhca_get_info_rsp *rsp)
{
	return SUBMIT(.dev = dev, .op = XENVHCA_OP_GET_INFO, VHCA_RESULT(rsp));
}

int vhca_cmd_query_device(struct vhca_dev *dev, struct vhca_ucontext *uc,
			  struct ib_udata *udata,
			  struct xenvhca_query_device_rsp *rsp)
{
	return SUBMIT(.dev = dev, .ucontext = uc ? uc->handle : 0,
		      .op = XENVHCA_OP_QUERY_DEVICE, VHCA_RESULT(rsp), .udata = udata);
}

int vhca_cmd_query_port(struct vhca_dev *dev,
			struct xenvhca_query_port_rsp *rsp)
{
	return SUBMIT(.dev = dev, .op = XENVHCA_OP_QUERY_PORT, VHCA_RESULT(rsp));
}

int vhca_cmd_query_gid_table(struct vhca_dev *dev, u32 first,
			     struct xenvhca_query_gid_table_rsp *rsp)
{
	struct xenvhca_query_gid_table_req req = { .first = first };

	return SUBMIT(.dev = dev, .op = XENVHCA_OP_QUERY_GID_TABLE, VHCA_BODY(&req),
		      VHCA_RESULT(rsp));
}

int vhca_cmd_query_pkey_table(struct vhca_dev *dev, u32 first,
			      struct xenvhca_query_pkey_table_rsp *rsp)
{
	struct xenvhca_query_pkey_table_req req = { .first = first };

	return SUBMIT(.dev = dev, .op = XENVHCA_OP_QUERY_PKEY_TABLE, VHCA_BODY(&req),
		      VHCA_RESULT(rsp));
}

int vhca_cmd_query_counter_names(struct vhca_dev *dev, u32 group, u32 first,
				 struct xenvhca_query_counter_names_rsp *rsp)
{
	struct xenvhca_counters_req req = { .group = group, .first = first };

	return SUBMIT(.dev = dev, .op = XENVHCA_OP_QUERY_COUNTER_NAMES, VHCA_BODY(&req),
		      VHCA_RESULT(rsp));
}

int vhca_cmd_query_counters(struct vhca_dev *dev, u32 group, u32 first,
			    struct xenvhca_query_counters_rsp *rsp)
{
	struct xenvhca_counters_req req = { .group = group, .first = first };

	return SUBMIT(.dev = dev, .op = XENVHCA_OP_QUERY_COUNTERS, VHCA_BODY(&req),
		      VHCA_RESULT(rsp));
}

int vhca_cmd_alloc_ucontext(struct vhca_dev *dev, struct ib_udata *udata,
			    u32 *ucontext)
{
	return SUBMIT_NEW(ucontext, .dev = dev, .op = XENVHCA_OP_ALLOC_UCONTEXT,
			  .undo = XENVHCA_OP_DEALLOC_UCONTEXT, .udata = udata,
			  .flags = VHCA_CMD_OWNERLESS);
}

int vhca_cmd_dealloc_ucontext(struct vhca_dev *dev, u32 ucontext)
{
	return SUBMIT(.dev = dev, .ucontext = ucontext, .op = XENVHCA_OP_DEALLOC_UCONTEXT,
		      .flags = VHCA_CMD_DESTROY);
}

int vhca_cmd_alloc_pd(struct vhca_ucontext *uc, struct ib_udata *udata,
		      u32 *handle)
{
	return SUBMIT_NEW(handle, VHCA_UC(uc), .op = XENVHCA_OP_ALLOC_PD,
			  .undo = XENVHCA_OP_DEALLOC_PD, .udata = udata);
}

int vhca_cmd_alloc_ownerless(struct vhca_dev *dev, u16 op, u16 undo, u32 *handle)
{
	return SUBMIT_NEW(handle, .dev = dev, .op = op, .undo = undo,
			  .flags = VHCA_CMD_OWNERLESS);
}

int vhca_cmd_reg_mr(struct vhca_ucontext *uc,
		    const struct xenvhca_reg_mr_req *req,
		    struct ib_udata *udata, struct xenvhca_mr_rsp *rsp)
{
	return SUBMIT(VHCA_UC(uc), .op = XENVHCA_OP_REG_MR, .undo = XENVHCA_OP_DEREG_MR,
		      VHCA_BODY(req), VHCA_RESULT(rsp), .udata = udata);
}

int vhca_cmd_rereg_mr(struct vhca_ucontext *uc,
		      const struct xenvhca_rereg_mr_req *req,
		      struct ib_udata *udata, struct xenvhca_mr_rsp *rsp)
{
	return SUBMIT(VHCA_UC(uc), .op = XENVHCA_OP_REREG_MR, VHCA_BODY(req),
		      VHCA_RESULT(rsp), .udata = udata);
}

int vhca_cmd_alloc_mw(struct vhca_ucontext *uc,
		      const struct xenvhca_alloc_mw_req *req,
		      struct ib_udata *udata, struct xenvhca_mr_rsp *rsp)
{
	return SUBMIT(VHCA_UC(uc), .op = XENVHCA_OP_ALLOC_MW, .undo = XENVHCA_OP_DEALLOC_MW,
		      VHCA_BODY(req), VHCA_RESULT(rsp), .udata = udata);
}

int vhca_cmd_create_cq(struct vhca_ucontext *uc,
		       const struct xenvhca_create_cq_req *req,
		       struct ib_udata *udata, struct vhca_bufs *bufs,
		       struct xenvhca_cq_rsp *rsp)
{
	return SUBMIT(VHCA_UC(uc), .op = XENVHCA_OP_CREATE_CQ,
		      .undo = XENVHCA_OP_DESTROY_CQ, VHCA_BODY(req), VHCA_RESULT(rsp),
		      .udata = udata, .ranges = true, .bufs = bufs,
		      .at_buf = offsetof(typeof(*req), buf),
		      .at_db = offsetof(typeof(*req), db));
}

int vhca_cmd_resize_cq(struct vhca_ucontext *uc,
		       const struct xenvhca_resize_cq_req *req,
		       struct ib_udata *udata, struct vhca_bufs *bufs,
		       struct xenvhca_cq_rsp *rsp)
{
	return SUBMIT(VHCA_UC(uc), .op = XENVHCA_OP_RESIZE_CQ, VHCA_BODY(req),
		      VHCA_RESULT(rsp), .udata = udata, .ranges = true, .bufs = bufs,
		      .at_buf = offsetof(typeof(*req), buf));
}

int vhca_cmd_modify_cq(struct vhca_ucontext *uc,
		       const struct xenvhca_modify_cq_req *req)
{
	return SUBMIT(VHCA_UC(uc), .op = XENVHCA_OP_MODIFY_CQ, VHCA_BODY(req));
}

int vhca_cmd_create_qp(struct vhca_dev *dev, struct vhca_ucontext *uc,
		       const struct xenvhca_create_qp_req *req,
		       struct ib_udata *udata, struct vhca_bufs *bufs,
		       struct xenvhca_create_qp_rsp *rsp)
{
	return SUBMIT(VHCA_UC_OR_DEV(dev, uc), .op = XENVHCA_OP_CREATE_QP,
		      .undo = XENVHCA_OP_DESTROY_QP, VHCA_BODY(req), VHCA_RESULT(rsp),
		      .udata = udata, .ranges = true, .flags = uc ? 0 : VHCA_CMD_OWNERLESS,
		      .bufs = bufs, .at_buf = offsetof(typeof(*req), buf),
		      .at_sq_buf = offsetof(typeof(*req), sq_buf),
		      .at_db = offsetof(typeof(*req), db));
}

int vhca_cmd_modify_qp(struct vhca_dev *dev, struct vhca_ucontext *uc,
		       const struct xenvhca_modify_qp_req *req,
		       struct ib_udata *udata)
{
	/* ib_drain_qp() of the kernel cannot go on without the step to ERR. */
	return SUBMIT(VHCA_UC_OR_DEV(dev, uc), .op = XENVHCA_OP_MODIFY_QP, VHCA_BODY(req),
		      .udata = udata, .flags = dev->own_uc ? VHCA_CMD_DESTROY : 0);
}

int vhca_cmd_query_qp(struct vhca_dev *dev, struct vhca_ucontext *uc,
		      u32 handle, u32 mask, struct xenvhca_query_qp_rsp *rsp)
{
	struct xenvhca_query_qp_req req = { .handle = handle, .mask = mask };

	return SUBMIT(VHCA_UC_OR_DEV(dev, uc), .op = XENVHCA_OP_QUERY_QP, VHCA_BODY(&req),
		      VHCA_RESULT(rsp));
}

int vhca_cmd_create_srq(struct vhca_ucontext *uc,
			const struct xenvhca_create_srq_req *req,
			struct ib_udata *udata, struct vhca_bufs *bufs,
			struct xenvhca_create_srq_rsp *rsp)
{
	return SUBMIT(VHCA_UC(uc), .op = XENVHCA_OP_CREATE_SRQ,
		      .undo = XENVHCA_OP_DESTROY_SRQ, VHCA_BODY(req), VHCA_RESULT(rsp),
		      .udata = udata, .ranges = true, .bufs = bufs,
		      .at_buf = offsetof(typeof(*req), buf),
		      .at_db = offsetof(typeof(*req), db));
}

int vhca_cmd_modify_srq(struct vhca_ucontext *uc,
			const struct xenvhca_modify_srq_req *req,
			struct ib_udata *udata, struct vhca_bufs *bufs)
{
	/* Only where it resizes the queue the driver writes to the user address. */
	return SUBMIT(VHCA_UC(uc), .op = XENVHCA_OP_MODIFY_SRQ, VHCA_BODY(req),
		      .udata = udata, .outptr = req->mask & IB_SRQ_MAX_WR,
		      .bufs = bufs, .at_buf = offsetof(typeof(*req), buf));
}

int vhca_cmd_query_srq(struct vhca_ucontext *uc, u32 handle,
		       struct xenvhca_query_srq_rsp *rsp)
{
	struct xenvhca_handle_req req = { .handle = handle };

	return SUBMIT(VHCA_UC(uc), .op = XENVHCA_OP_QUERY_SRQ, VHCA_BODY(&req),
		      VHCA_RESULT(rsp));
}

int vhca_cmd_create_ah(struct vhca_ucontext *uc,
		       const struct xenvhca_create_ah_req *req,
		       struct ib_udata *udata, u32 *handle)
{
	return SUBMIT_NEW(handle, VHCA_UC(uc), .op = XENVHCA_OP_CREATE_AH,
			  .undo = XENVHCA_OP_DESTROY_AH, VHCA_BODY(req), .udata = udata);
}

int vhca_cmd_attach_mcast(struct vhca_ucontext *uc,
			  const struct xenvhca_mcast_req *req)
{
	return SUBMIT(VHCA_UC(uc), .op = XENVHCA_OP_ATTACH_MCAST, VHCA_BODY(req));
}

int vhca_cmd_detach_mcast(struct vhca_ucontext *uc,
			  const struct xenvhca_mcast_req *req)
{
	return vhca_leave(uc) ? VHCA_LEFT :
	       SUBMIT(VHCA_UC(uc), .op = XENVHCA_OP_DETACH_MCAST, VHCA_BODY(req),
		      .flags = VHCA_CMD_DESTROY);
}

int vhca_cmd_destroy(struct vhca_ucontext *uc, u16 op, u32 handle)
{
	struct xenvhca_handle_req req = { .handle = handle };
	struct call c = {
		VHCA_UC(uc), .op = op, VHCA_BODY(&req),
		.flags = VHCA_CMD_DESTROY,
	};
	unsigned long begin = jiffies;
	int rc;

	if (vhca_leaving(uc))
		c.flags |= VHCA_CMD_NOWAIT;
	rc = vhca_leave(uc) ? VHCA_LEFT : submit(&c);
	vhca_leave_waited(uc, begin);
	if (rc == -EINPROGRESS)
		rc = VHCA_LEFT;
	vhca_leave_count(uc, -1);
	if (rc != VHCA_LEFT)
		vhca_ranges_drop(uc, handle);
	return rc;
}

int vhca_cmd_dealloc_ownerless(struct vhca_dev *dev, u16 op, u32 handle)
{
	struct xenvhca_handle_req req = { .handle = handle };

	return SUBMIT(.dev = dev, .op = op, VHCA_BODY(&req),
		      .flags = VHCA_CMD_DESTROY);
}

int vhca_cmd_destroy_qp(struct vhca_dev *dev, struct vhca_ucontext *uc,
			u32 handle)
{
	return uc ? vhca_cmd_destroy(uc, XENVHCA_OP_DESTROY_QP, handle) :
		    vhca_cmd_dealloc_ownerless(dev, XENVHCA_OP_DESTROY_QP, handle);
}
