// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * udata of rdma_rxe (Soft-RoCE), ABI 2: every queue is memory of the HCA's
 * driver, announced as struct mminfo (offset, size) in a response. Sends and
 * CQ arming are system calls, hence the kicks. Lengths are those of
 * <rdma/rdma_user_rxe.h>; a unit test compares them.
 */
#include "vhca-provider.h"

#ifdef __KERNEL__
#include <linux/errno.h>
#else
#include <errno.h>
#endif

#include <xen/io/vhcaif.h>

#define RXE_DRIVER_ID	14	/* RDMA_DRIVER_RXE */
#define RXE_ABI		2
#define RXE_MMINFO	16	/* sizeof(struct mminfo) */

#define RXE_MIN_ELEMENT	64	/* octets: a cache line */
#define RXE_CQE		128	/* struct rxe_cqe, which is the kernel's own */
#define RXE_SGE		16
#define RXE_SEND_WQE	208	/* sizeof(struct rxe_send_wqe) */
#define RXE_RECV_WQE	40	/* sizeof(struct rxe_recv_wqe) */
#define RXE_MAX_SEND	1024	/* with its 32 elements */
#define RXE_MAX_RECV	1024
#define RXE_MAX_SRQ	512	/* with its 27 */
#define RXE_SRQ_MAX_WR	1u	/* IB_SRQ_MAX_WR: new queue */

#define RXE_KEY(offset, queue, fn) \
	{ .kind = VHCA_KEY, .len = RXE_MMINFO, .off = (offset), \
	  .arg = VHCA_QUEUE_##queue, .length = rxe_##fn }

/* As rxe_queue_init(): powers of two, and one entry stays empty. */
static int rxe_queue(uint32_t entries, uint64_t element, uint64_t *len)
{
	if (element > VHCA_BUF_LIMIT)
		return -EINVAL;
	if (element < RXE_MIN_ELEMENT)
		element = RXE_MIN_ELEMENT;
	return vhca_len_mul(vhca_len_pow2(1 + (uint64_t)entries),
			    vhca_len_pow2(element), len);
}

static int rxe_create_cq(const struct xenvhca_request *req, uint64_t *len)
{
	return rxe_queue(req->u.create_cq.cqe, RXE_CQE, len);
}

static int rxe_resize_cq(const struct xenvhca_request *req, uint64_t *len)
{
	return rxe_queue(req->u.resize_cq.cqe, RXE_CQE, len);
}

static int rxe_create_rq(const struct xenvhca_request *req, uint64_t *len)
{
	const struct xenvhca_create_qp_req *r = &req->u.create_qp;

	*len = 0;
	return r->srq ? 0 : rxe_queue(r->cap.max_recv_wr, RXE_RECV_WQE +
				      (uint64_t)r->cap.max_recv_sge * RXE_SGE,
				      len);
}

static int rxe_create_sq(const struct xenvhca_request *req, uint64_t *len)
{
	const struct xenvhca_qp_cap *cap = &req->u.create_qp.cap;
	uint64_t data = (uint64_t)cap->max_send_sge * RXE_SGE;

	if (data < cap->max_inline_data)
		data = cap->max_inline_data;
	return rxe_queue(cap->max_send_wr, RXE_SEND_WQE + data, len);
}

static int rxe_create_srq(const struct xenvhca_request *req, uint64_t *len)
{
	return rxe_queue(req->u.create_srq.max_wr, RXE_RECV_WQE +
			 (uint64_t)req->u.create_srq.max_sge * RXE_SGE, len);
}

/* The elements that the queue was made for are not in the request. */
static int rxe_modify_srq(const struct xenvhca_request *req, uint64_t *len)
{
	const struct xenvhca_modify_srq_req *r = &req->u.modify_srq;

	*len = 0;
	return r->mask & RXE_SRQ_MAX_WR ?
	       rxe_queue(r->max_wr, RXE_MAX_SRQ, len) : 0;
}

static const struct vhca_udata_op rxe_ops[] = {
	{
		.op = XENVHCA_OP_CREATE_CQ,
		.out_min = RXE_MMINFO, .out_max = RXE_MMINFO,
		.rsp = { RXE_KEY(0, SHARED, create_cq) },
	}, {
		.op = XENVHCA_OP_RESIZE_CQ,
		.out_min = RXE_MMINFO, .out_max = RXE_MMINFO,
		.rsp = { RXE_KEY(0, SHARED, resize_cq) },
	}, {
		/* rq, then sq; the rq is all 0 if the QP uses an SRQ */
		.op = XENVHCA_OP_CREATE_QP,
		.out_min = 2 * RXE_MMINFO, .out_max = 2 * RXE_MMINFO,
		.rsp = {
			RXE_KEY(0, RECV, create_rq),
			RXE_KEY(RXE_MMINFO, SEND, create_sq),
		},
	}, {
		/* mminfo, then u32 srq_num for the provider */
		.op = XENVHCA_OP_CREATE_SRQ,
		.out_min = RXE_MMINFO + 8, .out_max = RXE_MMINFO + 8,
		.rsp = {
			RXE_KEY(0, RECV, create_srq),
			{ .kind = VHCA_COOKIE, .len = 8, .off = RXE_MMINFO },
		},
	}, {
		/*
		 * The driver writes mminfo of a resized queue to a user
		 * address; the provider itself leaves no room (out 0), the
		 * frontend asks the backend for it (out 16).
		 */
		.op = XENVHCA_OP_MODIFY_SRQ,
		.in_min = 8, .in_max = 8, .out_min = 0, .out_max = RXE_MMINFO,
		.req = {
			{ .kind = VHCA_OUTPTR, .len = 8, .off = 0,
			  .arg = RXE_MMINFO },
		},
		.rsp = { RXE_KEY(0, RECV, modify_srq) },
	}, {
		/* ah_num for WQEs; old providers leave no room for it */
		.op = XENVHCA_OP_CREATE_AH,
		.out_min = 0, .out_max = 8,
		.rsp = { { .kind = VHCA_AH, .len = 4, .off = 0 } },
	},
	{ .op = 0 },
};

const struct vhca_provider vhca_provider_rxe = {
	.name = "rxe",
	.driver_id = RXE_DRIVER_ID,
	.abi_min = RXE_ABI,
	.abi_max = RXE_ABI,
	.kicks = XENVHCA_INFO_KICK_SEND | XENVHCA_INFO_KICK_ARM,
	.no_windows = 1,
	.trusts = 1,
	.cqe_len = RXE_CQE,
	.qp_wr_len = RXE_MAX_SEND + RXE_MAX_RECV,
	.srq_wr_len = RXE_MAX_SRQ,
	.ops = rxe_ops,
};
