// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * What the good requests of good.c carry for a ConnectX: udata, queues in the
 * guest's memory with one page of doorbell records, and a doorbell page at a
 * place of the guest's, a different one for each context.
 */
#include <rdma/mlx5-abi.h>

#include "wire.h"

#define TAG		16u
#define RECORDS		40u		/* pages of the guest: records, */
#define QUEUE		41u		/* and from here on the queue */
#define VA		0x7f0000100000ull
#define GFN		0x100000ull

static uint64_t records(struct xenvhca_pages *p)
{
	*p = (struct xenvhca_pages){ .nr_pages = 1,
				     .gref = { LOOP_REF(RECORDS) } };
	return VA + 0x40;
}

static uint64_t queue(struct xenvhca_pages *p, uint32_t n)
{
	uint32_t i;

	*p = (struct xenvhca_pages){ .nr_pages = n };
	for (i = 0; i < n; i++)
		p->gref[i] = LOOP_REF(QUEUE + i);
	return VA + XENVHCA_PAGE_SIZE;
}

static void udata(struct xenvhca_request *r, const void *in, size_t in_len,
		  size_t out_len)
{
	if (in_len)
		memcpy(r->udata, in, in_len);
	r->in_len = (uint16_t)in_len;
	r->out_len = (uint16_t)out_len;
}

static void create_cq(struct xenvhca_request *r)
{
	struct mlx5_ib_create_cq u = { .cqe_size = 64 };

	u.buf_addr = queue(&r->u.create_cq.buf, 2);	/* 128 of 64 octets */
	u.db_addr = records(&r->u.create_cq.db);
	udata(r, &u, sizeof(u), sizeof(struct mlx5_ib_create_cq_resp));
}

static void resize_cq(struct xenvhca_request *r)
{
	struct mlx5_ib_resize_cq u = { .cqe_size = 64 };

	u.buf_addr = queue(&r->u.resize_cq.buf, 4);	/* 256 */
	udata(r, &u, sizeof(u), 0);
}

static void create_qp(struct xenvhca_request *r)
{
	struct mlx5_ib_create_qp u = { .sq_wqe_count = 64 };

	u.buf_addr = queue(&r->u.create_qp.buf, 1);
	u.db_addr = records(&r->u.create_qp.db);
	udata(r, &u, sizeof(u), 8);
}

static void create_srq(struct xenvhca_request *r)
{
	struct mlx5_ib_create_srq u = { 0 };

	u.buf_addr = queue(&r->u.create_srq.buf, 1);	/* 64 of 64 octets */
	u.db_addr = records(&r->u.create_srq.db);
	udata(r, &u, sizeof(u), sizeof(struct mlx5_ib_create_srq_resp));
}

static void modify_srq(struct xenvhca_request *r)
{
	udata(r, NULL, 0, 0);
	memset(r->udata, 0, sizeof(r->udata));
	r->u.modify_srq.mask = 2;	/* the limit; it cannot be resized */
	r->u.modify_srq.max_wr = 0;
	r->u.modify_srq.srq_limit = 1;
}

void wire_good_mlx5(const struct ctx *c, struct xenvhca_request *r)
{
	switch (r->op) {
	case XENVHCA_OP_ALLOC_UCONTEXT:
		udata(r, NULL, 0, FAKE_MLX5_OUT);
		r->in_len = FAKE_MLX5_IN;
		fake_mlx5_open(r->udata, TAG);
		break;
	case XENVHCA_OP_MMAP:
		r->u.mmap.offset = 0;
		r->u.mmap.length = XENVHCA_PAGE_SIZE;
		r->u.mmap.gfn = GFN + (c->uc & 0xffff);
		break;
	case XENVHCA_OP_ALLOC_PD:
		r->out_len = 4;
		break;
	case XENVHCA_OP_CREATE_CQ:
		create_cq(r);
		break;
	case XENVHCA_OP_RESIZE_CQ:
		resize_cq(r);
		break;
	case XENVHCA_OP_CREATE_QP:
		create_qp(r);
		break;
	case XENVHCA_OP_CREATE_SRQ:
		create_srq(r);
		break;
	case XENVHCA_OP_MODIFY_SRQ:
		modify_srq(r);
		break;
	case XENVHCA_OP_CREATE_AH:
		r->out_len = 16;
		break;
	}
}
