// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The fixture of tests of fast registration, see fast.h.
 */
#include "fast.h"

#define PAGE		FAST_PAGE
#define VA		FAST_VA
#define BACK		FAST_BACK
#define ROOM		FAST_ROOM
#define PIECE		FAST_PIECE

void fast_begin_as(struct fast *f, struct pair *p, bool pieces, bool kernel)
{
	struct drv_qp_init init = { .type = DRV_RC, .scq = &p->a.scq,
				    .rcq = &p->a.rcq };
	struct drv_path path = pair_path();

	f->p = p;
	ok(drv_qp(&p->a.drv, &f->a, &init));
	init.scq = &p->b.scq;
	init.rcq = &p->b.rcq;
	init.kernel = kernel;
	ok(drv_qp(&p->b.drv, &f->b, &init));
	ok(drv_connect(&f->a, 1, &f->b, 2, &path));
	ok(drv_dma_mr(&p->b.drv, &f->dma, DRV_LW));
	ok(drv_alloc_mr(&p->b.drv, &f->key, ROOM, pieces, p->b.drv.pd));
	f->list = rig_alloc(p->rig, PAGE);
	assert_non_null(f->list);
}

void fast_begin(struct fast *f, void **state)
{
	fast_begin_as(f, *state, false, true);
}

void fast_begin_pieces(struct fast *f, void **state)
{
	fast_begin_as(f, *state, true, true);
}

void fast_end(struct fast *f)
{
	ok(drv_mkey_destroy(&f->p->b.drv, f->key));
	ok(drv_mkey_destroy(&f->p->b.drv, f->dma));
	ok(drv_qp_destroy(&f->a));
	ok(drv_qp_destroy(&f->b));
}

uint32_t fast_next(uint32_t key)
{
	return (key & ~0xffU) | ((key + 1) & 0xff);
}

void fast_pages(struct fast *f, unsigned int nr)
{
	const uint8_t *mem = f->p->b.mem;
	unsigned int i;

	for (i = 0; i < nr; i++)
		cx_be64_set(f->list + 8 * i,
			    rig_bus(f->p->rig, mem + (nr - 1 - i) * PAGE) | 3);
}

struct drv_wr fast_wr(struct fast *f, unsigned int nr, uint64_t iova,
		      uint64_t len)
{
	struct drv_wr wr = {
		.opcode = MLX5_OPCODE_UMR, .flags = DRV_SIGNALED,
		.reg.how = DRV_REG_PAGES, .reg.key = fast_next(f->key),
		.reg.list = f->list, .reg.nr = nr, .reg.lkey = f->dma,
		.reg.iova = iova, .reg.len = len, .reg.log_page = 12,
		.reg.access = DRV_LW | DRV_RR | DRV_RW,
	};

	return wr;
}

void fast_done(struct fast *f, const struct drv_wr *wr)
{
	struct drv_wc wc;

	drv_post(&f->b, wr);
	wc = get_wc(&f->p->b, &f->p->b.scq, MLX5_CQE_REQ);
	assert_int_equal(be32toh(wc.cqe.sop_drop_qpn) >> 24, MLX5_OPCODE_UMR);
	f->key = wr->reg.key;
}

void fast_failed(struct fast *f, const struct drv_wr *wr, uint8_t syndrome)
{
	uint64_t held = cx_pages_held(f->p->b.drv.dev->cx);

	drv_post(&f->b, wr);
	get_err(&f->p->b, &f->p->b.scq, syndrome);
	assert_int_equal(drv_qp_state(&f->b), DRV_ERR);
	assert_int_equal(cx_pages_held(f->p->b.drv.dev->cx), held);
}

void fast_bind_failed(struct fast *f, const struct drv_wr *wr)
{
	fast_failed(f, wr, MLX5_CQE_SYNDROME_MW_BIND_ERR);
}

void fast_registered(struct fast *f, unsigned int nr)
{
	struct drv_wr wr = fast_wr(f, nr, VA, nr * PAGE);

	fast_pages(f, nr);
	fast_done(f, &wr);
}

struct drv_wr fast_inval_wr(uint32_t key)
{
	struct drv_wr wr = {
		.opcode = MLX5_OPCODE_UMR, .flags = DRV_SIGNALED,
		.reg.how = DRV_REG_INVAL, .reg.key = key,
	};

	return wr;
}

void fast_invalidated(struct fast *f)
{
	struct drv_wr wr = fast_inval_wr(f->key);

	fast_done(f, &wr);
}

uint8_t *fast_behind(struct fast *f, unsigned int nr, uint32_t off,
		     uint32_t i)
{
	uint32_t at = off + i;

	return f->p->b.mem + (nr - 1 - at / PAGE) * PAGE + at % PAGE;
}

void fast_write(struct fast *f, uint64_t addr, uint32_t len, uint32_t key)
{
	struct pair *p = f->p;

	drv_rdma(&f->a, MLX5_OPCODE_RDMA_WRITE, &p->a.mr, 0, len, addr, key);
}

void fast_reached(struct fast *f, unsigned int nr, uint32_t off,
		  uint64_t iova, uint32_t len)
{
	struct pair *p = f->p;
	uint32_t i;

	memset(p->b.mem, 0, PAIR_MR);
	fill(p->a.mem, len, 7);
	fast_write(f, iova, len, f->key);
	get_wc(&p->a, &p->a.scq, MLX5_CQE_REQ);
	for (i = 0; i < len; i++)
		assert_int_equal(*fast_behind(f, nr, off, i), p->a.mem[i]);
	drv_rdma(&f->a, MLX5_OPCODE_RDMA_READ, &p->a.mr, BACK, len, iova,
		 f->key);
	get_wc(&p->a, &p->a.scq, MLX5_CQE_REQ);
	assert_true(filled(p->a.mem + BACK, len, 7));
}

void fast_refused(struct fast *f, uint64_t addr, uint32_t len, uint32_t key)
{
	fast_write(f, addr, len, key);
	get_err(&f->p->a, &f->p->a.scq, MLX5_CQE_SYNDROME_REMOTE_ACCESS_ERR);
}

void fast_refused_there(struct fast *f, uint64_t addr, uint32_t key)
{
	struct pair *p = f->p;

	drv_rdma(&p->a.qp, MLX5_OPCODE_RDMA_WRITE, &p->a.mr, 0, 1, addr, key);
	get_err(&p->a, &p->a.scq, MLX5_CQE_SYNDROME_REMOTE_ACCESS_ERR);
}

void fast_send_inval(struct fast *f, uint32_t key)
{
	struct drv_wr wr = { .opcode = MLX5_OPCODE_SEND_INVAL,
			     .flags = DRV_SIGNALED, .imm = key };

	drv_recv(&f->b, &f->p->b.mr, 0, 64);
	drv_post(&f->a, &wr);
}

uint32_t fast_other_pd(struct fast *f)
{
	uint32_t pd;

	ok(drv_simple(&f->p->b.drv, MLX5_CMD_OP_ALLOC_PD, 0, &pd));
	return pd;
}

void fast_pieces(struct fast *f, unsigned int nr, uint32_t key)
{
	unsigned int i;

	for (i = 0; i < nr; i++) {
		cx_be32_set(f->list + 16 * i, PIECE);
		cx_be32_set(f->list + 16 * i + 4, key);
		cx_be64_set(f->list + 16 * i + 8,
			    rig_bus(f->p->rig,
				    f->p->b.mem + i * PAGE + 50 + i));
	}
}

struct drv_wr fast_pieces_wr(struct fast *f, unsigned int nr)
{
	struct drv_wr wr = fast_wr(f, nr, VA + 3, nr * PIECE);

	wr.reg.how = DRV_REG_PIECES;
	return wr;
}
