// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * See guest.h.
 */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>

#include "guest.h"

static int setup(void **state, bool mlx5, enum be_umad_mode umad)
{
	struct guest *g = calloc(1, sizeof(*g));

	assert_non_null(g);
	be_log_level = BE_ERR;
	g->mlx5 = mlx5;
	g->tag = 16;
	assert_int_equal(fake_install(), 0);
	if (mlx5)
		fake_be_mlx5();
	assert_int_equal(be_dev_init(&g->dev, 1, 0), 0);
	strcpy(g->dev.hca, "rxe0");
	g->dev.umad = umad;
	g->loop = loop_new(GUEST_PAGES, 2);
	assert_non_null(g->loop);
	g->dev.t = loop_transport(g->loop);
	assert_int_equal(be_dev_open(&g->dev), 0);
	*state = g;
	return 0;
}

int guest_setup(void **state)
{
	return setup(state, false, BE_UMAD_NONE);
}

int guest_setup_mlx5(void **state)
{
	return setup(state, true, BE_UMAD_NONE);
}

int guest_setup_umad(void **state)
{
	return setup(state, false, BE_UMAD_QUERY);
}

static void check_quota(const struct be_quota *q)
{
	unsigned int type;

	for (type = 0; type < BE_TYPES; type++)
		assert_int_equal(q->used[type], 0);
	assert_int_equal(q->used_pages, 0);
	assert_int_equal(q->uars, 0);
}

int guest_teardown(void **state)
{
	struct guest *g = *state;

	fake_settle(&g->dev);
	be_dev_close(&g->dev);
	assert_false(g->dev.unsettled);
	g->dev.t->ops->close(g->dev.t);
	check_quota(&g->dev.quota);
	assert_int_equal(fake_live_all(), 0);
	assert_int_equal(fake_files(), 0);
	assert_int_equal(fake_vmas(), 0);
	assert_int_equal(fake_violations(), 0);
	assert_int_equal(loop_mapped(g->loop), 0);
	assert_int_equal(loop_granted(g->loop), 0);
	assert_int_equal(loop_doorbells(g->loop), 0);
	assert_int_equal(loop_errors(g->loop), 0);
	loop_free(g->loop);
	be_dev_fini(&g->dev);
	fake_remove();
	free(g);
	return 0;
}

int guest_cmd(struct guest *g, uint16_t op)
{
	enum be_done done;

	g->req.op = op;
	g->req.id = g->next_id++ % XENVHCA_MAX_ID;
	if (!g->req.ucontext && op >= XENVHCA_OP_DEALLOC_UCONTEXT &&
	    op < XENVHCA_OP_ALLOC_CM)
		g->req.ucontext = g->uc;
	memset(&g->rsp, 0xa5, sizeof(g->rsp));
	do {
		done = be_dispatch(&g->dev, &g->req, &g->rsp);
	} while (done == BE_AGAIN);
	while (done == BE_ELSEWHERE && !be_dispatched(&g->dev, &g->rsp))
		sched_yield();
	assert_int_equal(g->rsp.id, g->req.id);
	assert_int_equal(g->rsp.op, op);
	assert_int_equal(g->rsp.reserved, 0);
	assert_int_equal(g->rsp.reserved1, 0);
	assert_true(g->rsp.out_len <= g->req.out_len);
	memset(&g->req, 0, sizeof(g->req));
	return g->rsp.status;
}

int guest_handle(struct guest *g, uint16_t op, uint32_t handle)
{
	g->req.u.handle.handle = handle;
	return guest_cmd(g, op);
}

int guest_program(struct guest *g, uint32_t tag)
{
	if (g->mlx5) {
		g->req.in_len = FAKE_MLX5_IN;
		g->req.out_len = FAKE_MLX5_OUT;
		fake_mlx5_open(g->req.udata, tag);
	}
	return guest_cmd(g, XENVHCA_OP_ALLOC_UCONTEXT);
}

uint32_t guest_alloc_uc(struct guest *g)
{
	assert_int_equal(guest_program(g, g->tag), 0);
	return g->rsp.u.alloc_ucontext.ucontext;
}

void guest_park(struct guest *g, uint32_t tag)
{
	g->tag = tag;
	g->uc = guest_alloc_uc(g);
	assert_int_equal(guest_doorbell(g, 0, 0), 0);
	guest_close(g);
}

uint32_t guest_alloc_pd(struct guest *g)
{
	if (g->mlx5)
		g->req.out_len = 4;
	assert_int_equal(guest_cmd(g, XENVHCA_OP_ALLOC_PD), 0);
	return g->rsp.u.handle.handle;
}

/* As struct mlx5_ib_create_cq. */
static void mlx5_cq(struct guest *g, uint32_t cqe)
{
	struct xenvhca_create_cq_req *r = &g->req.u.create_cq;
	uint32_t entries = 1, size = 64;
	uint64_t buf, db;

	while (entries <= cqe)
		entries *= 2;
	buf = guest_queue(g, &r->buf, entries * size);
	db = guest_queue(g, &r->db, 8);
	g->req.in_len = 32;
	memcpy(g->req.udata, &buf, sizeof(buf));
	memcpy(g->req.udata + 8, &db, sizeof(db));
	memcpy(g->req.udata + 16, &size, sizeof(size));
}

uint32_t guest_create_cq(struct guest *g, uint32_t cqe)
{
	g->req.u.create_cq.cqe = cqe;
	g->req.out_len = 16;
	if (g->mlx5) {
		mlx5_cq(g, cqe);
		g->req.out_len = 8;
	}
	assert_int_equal(guest_cmd(g, XENVHCA_OP_CREATE_CQ), 0);
	return g->rsp.u.cq.handle;
}

uint32_t guest_create_qp(struct guest *g, uint8_t type)
{
	g->req.u.create_qp = (struct xenvhca_create_qp_req){
		.pd = g->pd, .send_cq = g->cq, .recv_cq = g->cq,
		.qp_type = type,
		.cap = { .max_send_wr = 10, .max_recv_wr = 10,
			 .max_send_sge = 1, .max_recv_sge = 1,
			 .max_inline_data = 16 },
	};
	g->req.out_len = 32;
	assert_int_equal(guest_cmd(g, XENVHCA_OP_CREATE_QP), 0);
	return g->rsp.u.create_qp.handle;
}

void guest_open(struct guest *g)
{
	g->uc = guest_alloc_uc(g);
	g->pd = guest_alloc_pd(g);
	g->cq = guest_create_cq(g, 15);
	g->qp = guest_create_qp(g, 2);
}

void guest_close(struct guest *g)
{
	assert_int_equal(guest_cmd(g, XENVHCA_OP_DEALLOC_UCONTEXT), 0);
	g->uc = 0;
}

struct guest_key guest_key(struct guest *g, unsigned int at)
{
	struct guest_key k;

	memcpy(&k.offset, g->rsp.udata + at, sizeof(k.offset));
	memcpy(&k.size, g->rsp.udata + at + 8, sizeof(k.size));
	return k;
}

int guest_mmap(struct guest *g, struct guest_key key)
{
	g->req.u.mmap.offset = key.offset;
	g->req.u.mmap.length = key.size;
	return guest_cmd(g, XENVHCA_OP_MMAP);
}

int guest_doorbell(struct guest *g, uint64_t offset, uint64_t gfn)
{
	g->req.u.mmap.offset = offset;
	g->req.u.mmap.length = XENVHCA_PAGE_SIZE;
	g->req.u.mmap.gfn = gfn;
	return guest_cmd(g, XENVHCA_OP_MMAP);
}

uint64_t guest_queue(struct guest *g, struct xenvhca_pages *p, uint32_t n)
{
	uint32_t first = g->page;

	n = (n + XENVHCA_PAGE_SIZE - 1) / XENVHCA_PAGE_SIZE;
	assert_true(n <= XENVHCA_MAX_GREFS_INLINE);
	guest_pages(g, p, first, n, 0, 0);
	g->page += n;
	return 0x7f0000000000ull + (uint64_t)first * XENVHCA_PAGE_SIZE;
}

/* Directories for n references, whose values come from ref(). */
static uint32_t dirs(struct guest *g, uint32_t first, uint32_t n, uint32_t dir)
{
	uint32_t i, *d = NULL;

	for (i = 0; i < n; i++) {
		if (i % XENVHCA_GREFS_PER_PAGE == 0) {
			d = loop_page(g->loop, dir++);
			memset(d, 0, XENVHCA_PAGE_SIZE);
		}
		d[i % XENVHCA_GREFS_PER_PAGE] = LOOP_REF(first + i);
	}
	return dir;
}

void guest_pages(struct guest *g, struct xenvhca_pages *p, uint32_t first,
		 uint32_t n, uint8_t level, uint32_t dir)
{
	uint32_t i, next;

	memset(p, 0, sizeof(*p));
	p->nr_pages = n;
	p->level = level;
	while (level--) {
		next = dirs(g, first, n, dir);
		first = dir;
		n = next - dir;
		dir = next;
	}
	for (i = 0; i < n; i++)
		p->gref[i] = LOOP_REF(first + i);
}

void guest_mr(struct guest *g, uint32_t first, uint32_t n)
{
	struct xenvhca_reg_mr_req *r = &g->req.u.reg_mr;

	r->pd = g->pd;
	r->access = 7;
	r->iova = 0x7f0000000000ull;
	r->length = (uint64_t)n * XENVHCA_PAGE_SIZE;
	guest_pages(g, &r->pages, first, n, n > 8 ? 1 : 0, 3000);
}

int guest_teardown_exit(void **state)
{
	static struct guest *left[4];
	static unsigned int n;
	struct guest *g = *state;
	unsigned int files = fake_files();

	assert_true(files && n < 4);
	assert_int_equal(loop_doorbells(g->loop), files);
	assert_int_equal(fake_vmas(), files);
	assert_int_equal(loop_errors(g->loop), 0);
	assert_int_equal(fake_violations(), 0);
	fake_remove();
	loop_free(g->loop);
	be_dev_fini(&g->dev);
	left[n++] = g;
	assert_non_null(left[0]);
	return 0;
}

int guest_rereg_access(struct guest *g, uint32_t mr, uint32_t access)
{
	g->req.u.rereg_mr.handle = mr;
	g->req.u.rereg_mr.flags = 4;
	g->req.u.rereg_mr.mr.access = access;
	return guest_cmd(g, XENVHCA_OP_REREG_MR);
}
