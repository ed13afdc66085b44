// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Rendezvous of tag matching: a request says where the sender has the data, the
 * device reads them into the tagged buffer, and a copy of the request's headers
 * with the opcode FIN tells the sender that its memory is free. No software of the
 * receiver has a part in it but to append the tag.
 *
 * The queue pair has no send queue of the driver's. The device makes two WQEs for
 * each request: a READ, and a SEND that is fenced behind it. The requester treats
 * them as any other: it repeats what was lost, and waits while the sender has no
 * receive posted. Their completions are the list's: software learns of the match
 * at once, and of the data when they are there, whatever becomes of the FIN.
 *
 * Headers are the peer's: the READ is as good as they are, and one that is refused
 * ends the connection. The buffer's key is checked as of any other receive.
 */
#include "cx_eng.h"

#define RVH_ADDR	CX_TMH		/* offsets in a request */
#define RVH_KEY		(CX_TMH + 8)
#define RVH_LEN		(CX_TMH + 12)
#define WQES		2u		/* of a rendezvous: READ, FIN */

static struct cx_rndv *rndv_at(const struct cx_qp *qp, uint16_t index)
{
	return &qp->req->rndv[index / WQES % CX_RNDVS];
}

static bool is_fin(uint16_t index)
{
	return index % WQES;
}

bool cx_rndv_ours(const struct cx_qp *qp, const struct cx_tag *tag,
		  const struct cx_frame *f)
{
	uint32_t len;

	if (!qp->rndv || f->len < CX_TMH + CX_RVH)
		return false;
	len = cx_be32_get(f->data + RVH_LEN);
	return len <= tag->len && len <= CX_MAX_MSG;
}

bool cx_rndv_room(struct cx_qp *qp)
{
	struct cx_req *r = qp->req;

	if (!r->rndv)
		r->rndv = calloc(CX_RNDVS, sizeof(*r->rndv));
	return r->rndv &&
	       (uint16_t)(qp->sq_pi - qp->sq_tail) <= WQES * (CX_RNDVS - 1);
}

void cx_rndv_begin(struct cx_dev *d, struct cx_qp *qp,
		   const struct cx_frame *f)
{
	struct cx_rndv *v = rndv_at(qp, qp->sq_pi);

	v->tag = qp->resp->tag;
	v->len = cx_be32_get(f->data + RVH_LEN);
	v->solicited = f->solicited;
	memcpy(v->head, f->data, sizeof(v->head));
	qp->sq_pi += WQES;
	cx_tm_consumed(d, qp);
	qp->resp->tm = CX_TM_NONE;
	cx_qp_schedule(d, qp);
}

int cx_rndv_wqe(const struct cx_qp *qp, uint16_t index, struct cx_swqe *w)
{
	const struct cx_rndv *v = rndv_at(qp, index);
	bool fin = is_fin(index);

	memset(w, 0, offsetof(struct cx_swqe, sge));
	w->index = index;
	w->bbs = 1;
	w->opcode = fin ? CX_OP_SEND : CX_OP_RDMA_READ;
	w->fence = fin ? CX_FENCE_READS : CX_FENCE_NONE;
	w->signaled = true;
	w->raddr = cx_be64_get(v->head + RVH_ADDR);
	w->rkey = cx_be32_get(v->head + RVH_KEY);
	w->bytes = fin ? sizeof(v->head) : v->len;
	w->nr = w->bytes != 0;
	w->sge[0].addr = fin ? 0 : v->tag.addr;
	w->sge[0].key = v->tag.key;
	w->sge[0].len = w->bytes;
	w->sge[0].inl = fin;
	memcpy(w->raw, v->head, sizeof(v->head));
	w->raw[0] = IBV_TMH_FIN;
	return 0;
}

void cx_rndv_done(struct cx_dev *d, struct cx_qp *qp, uint16_t index,
		  uint8_t syndrome)
{
	if (!is_fin(index))
		cx_tm_arrived(d, qp, rndv_at(qp, index), syndrome);
}

void cx_rndv_cancel(struct cx_dev *d, struct cx_qp *qp)
{
	if (!qp->rndv)
		return;
	for (; qp->sq_tail != qp->sq_pi; qp->sq_tail++)
		cx_rndv_done(d, qp, qp->sq_tail, CX_SYND_WR_FLUSH_ERR);
	qp->sq_head = qp->sq_tail;
}
