// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Fast registration: requests that a card refuses, of a kernel that is mistaken, or of a
 * process that is no kernel.
 */
#include "fast.h"

#define PAGE		FAST_PAGE
#define VA		FAST_VA
#define ROOM		FAST_ROOM
#define PIECE		FAST_PIECE

/* ---- keys, lengths, rights ---- */
static void of_another_domain(void **state)
{
	struct drv_wr wr;
	struct fast f;
	uint32_t pd;

	fast_begin(&f, state);
	pd = fast_other_pd(&f);
	ok(drv_mkey_destroy(&f.p->b.drv, f.key));
	ok(drv_alloc_mr(&f.p->b.drv, &f.key, ROOM, false, pd));
	fast_pages(&f, 1);
	wr = fast_wr(&f, 1, VA, PAGE);
	fast_bind_failed(&f, &wr);
	fast_end(&f);
	ok(drv_simple(&f.p->b.drv, MLX5_CMD_OP_DEALLOC_PD, pd, NULL));
}

static void invalidated_from_another_domain(void **state)
{
	struct drv_qp_init init = { .type = DRV_RC, .kernel = true };
	struct drv_path path = pair_path();
	struct fast f, g;
	uint32_t pd;

	fast_begin(&f, state);
	fast_registered(&f, 1);
	pd = fast_other_pd(&f);
	g = f;
	init.scq = &f.p->a.scq;
	init.rcq = &f.p->a.rcq;
	ok(drv_qp(&f.p->a.drv, &g.a, &init));
	init.scq = &f.p->b.scq;
	init.rcq = &f.p->b.rcq;
	init.pd = pd;
	ok(drv_qp(&f.p->b.drv, &g.b, &init));
	ok(drv_connect(&g.a, 1, &g.b, 2, &path));
	fast_send_inval(&g, f.key);
	get_err(&f.p->a, &f.p->a.scq, MLX5_CQE_SYNDROME_REMOTE_ACCESS_ERR);
	fast_reached(&f, 1, 0, VA, PAGE);
	ok(drv_qp_destroy(&g.a));
	ok(drv_qp_destroy(&g.b));
	fast_end(&f);
	ok(drv_simple(&f.p->b.drv, MLX5_CMD_OP_DEALLOC_PD, pd, NULL));
}

static void more_than_it_has_room_for(void **state)
{
	struct drv_wr wr;
	struct fast f;

	fast_begin(&f, state);
	ok(drv_mkey_destroy(&f.p->b.drv, f.key));
	ok(drv_alloc_mr(&f.p->b.drv, &f.key, 4, false, f.p->b.drv.pd));
	fast_pages(&f, 9);
	wr = fast_wr(&f, 9, VA, PAGE);
	fast_bind_failed(&f, &wr);
	fast_end(&f);
}

static void refused(void **state, unsigned int nr, uint64_t iova, uint64_t len)
{
	struct drv_wr wr;
	struct fast f;

	fast_begin(&f, state);
	fast_pages(&f, nr);
	wr = fast_wr(&f, nr, iova, len);
	fast_bind_failed(&f, &wr);
	fast_end(&f);
}

static void longer_than_its_pages(void **state)
{
	refused(state, 8, VA + 1, 8 * PAGE);
}

static void longer_than_its_list(void **state)
{
	refused(state, 16, VA, 16 * PAGE + 1);
}

static void around_the_end_of_addresses(void **state)
{
	refused(state, 2, -(uint64_t)PAGE, 2 * PAGE);
}

static void of_no_length(void **state)
{
	refused(state, 1, VA + 8, 0);
}

static void of_no_pages(void **state)
{
	refused(state, 0, VA, PAGE);
}

static void not_without_the_property(void **state)
{
	refused(state, 1, VA, PAGE);
}

static void of_pages_too_small(void **state)
{
	struct drv_wr wr;
	struct fast f;

	fast_begin(&f, state);
	fast_pages(&f, 1);
	wr = fast_wr(&f, 1, VA, 512);
	wr.reg.log_page = 9;
	fast_bind_failed(&f, &wr);
	fast_end(&f);
}

static void of_no_key(void **state)
{
	struct drv_wr wr;
	struct fast f;

	fast_begin(&f, state);
	fast_pages(&f, 1);
	wr = fast_wr(&f, 1, VA, PAGE);
	wr.reg.key = 0x00ffff01;
	fast_bind_failed(&f, &wr);
	fast_end(&f);
}

/* The key for all of memory is no region that can be registered. */
static void of_the_dma_key(void **state)
{
	struct drv_wr wr;
	struct fast f;

	fast_begin(&f, state);
	fast_pages(&f, 1);
	wr = fast_wr(&f, 1, VA, PAGE);
	wr.reg.key = f.dma;
	fast_bind_failed(&f, &wr);
	fast_end(&f);
}

/* A list with bus addresses is a kernel's alone, wherever it lies. */
static void refused_to_a_process(void **state, unsigned int nr)
{
	struct drv_wr wr;
	struct fast f;

	fast_begin_as(&f, *state, false, false);
	fast_pages(&f, nr);
	wr = fast_wr(&f, nr, VA, PAGE);
	fast_bind_failed(&f, &wr);
	fast_refused_there(&f, VA, wr.reg.key);
	fast_end(&f);
}

static void not_by_a_process(void **state)
{
	refused_to_a_process(state, 1);
}

static void no_list_of_a_process(void **state)
{
	refused_to_a_process(state, 9);
}

static void no_pieces_by_a_process(void **state)
{
	struct drv_wr wr;
	struct fast f;

	fast_begin_as(&f, *state, true, false);
	cx_be32_set(f.list, PAGE);
	cx_be32_set(f.list + 4, f.p->b.mr.key);
	cx_be64_set(f.list + 8, f.p->b.mr.va);
	wr = fast_wr(&f, 1, VA, PAGE);
	wr.reg.how = DRV_REG_PIECES;
	fast_bind_failed(&f, &wr);
	fast_end(&f);
}

/* A process's region is not the process's to end. */
static void not_invalidated_by_a_process(void **state)
{
	struct drv_wr wr;
	struct fast f;
	struct pair *p;

	fast_begin_as(&f, *state, false, false);
	p = f.p;
	wr = fast_inval_wr(p->b.mr.key);
	fast_bind_failed(&f, &wr);
	drv_rdma(&p->a.qp, MLX5_OPCODE_RDMA_WRITE, &p->a.mr, 0, 8, p->b.mr.va,
		 p->b.mr.key);
	get_wc(&p->a, &p->a.scq, MLX5_CQE_REQ);
	fast_end(&f);
}

/* ---- malformed WQEs ---- */
static void malformed(void **state, unsigned int nr, void (*spoil)(uint8_t *wqe))
{
	struct drv_wr wr;
	struct fast f;
	uint8_t *wqe;

	fast_begin(&f, state);
	fast_pages(&f, nr);
	wr = fast_wr(&f, nr, VA, PAGE);
	wr.flags |= DRV_QUIET;
	wqe = f.b.sq + drv_post(&f.b, &wr) * 64UL;
	spoil(wqe);
	drv_ring(&f.b, wqe, f.b.uar);
	get_err(&f.p->b, &f.p->b.scq, MLX5_CQE_SYNDROME_MW_BIND_ERR);
	fast_refused_there(&f, VA, wr.reg.key);
	fast_end(&f);
}

/* Of the control segment: one octoword of a list of four is there. */
static void cut(uint8_t *wqe)
{
	wqe[7] = 9;
}

static void shorter_than_its_list(void **state)
{
	malformed(state, 1, cut);
}

/* No data segment. */
static void cut_more(uint8_t *wqe)
{
	wqe[7] = 8;
}

static void without_its_list(void **state)
{
	malformed(state, 9, cut_more);
}

/* Of the data segment: 64 octets of 128. */
static void halve(uint8_t *wqe)
{
	cx_be32_set(wqe + 128, 64);
}

static void of_two_lengths(void **state)
{
	malformed(state, 9, halve);
}

/* MLX5_MKEY_MASK_PD, of the UMR control segment: the kernel's QP is not the driver's. */
static void name_domain(uint8_t *wqe)
{
	cx_be64_set(wqe + 24, cx_be64_get(wqe + 24) | BIT_ULL(7));
}

static void into_another_domain(void **state)
{
	malformed(state, 1, name_domain);
}

/* A list of parts, as the driver's QP may have it. */
static void offset(uint8_t *wqe)
{
	wqe[16] |= MLX5_WQE_UMR_CTRL_FLAG_TRNSLATION_OFFSET;
	cx_be16_set(wqe + 22, 4);
}

static void in_parts(void **state)
{
	malformed(state, 1, offset);
}

/* ---- where a list lies ---- */
static struct drv_wr list_begin(struct fast *f, void **state)
{
	fast_begin(f, state);
	fast_pages(f, 33);
	return fast_wr(f, 33, VA, 33 * PAGE);
}

static void list_refused(struct fast *f, const struct drv_wr *wr)
{
	fast_failed(f, wr, MLX5_CQE_SYNDROME_LOCAL_PROT_ERR);
	fast_refused_there(f, VA, wr->reg.key);
	fast_end(f);
}

static void list_behind_no_key(void **state)
{
	struct fast f;
	struct drv_wr wr = list_begin(&f, state);

	wr.reg.lkey = fast_next(f.dma);
	list_refused(&f, &wr);
}

/* The key that is about to be registered. */
static void list_behind_a_dead_key(void **state)
{
	struct fast f;
	struct drv_wr wr = list_begin(&f, state);

	wr.reg.lkey = f.key;
	list_refused(&f, &wr);
}

/* The address is good, but of the bus: the region has others. */
static void list_out_of_its_region(void **state)
{
	struct fast f;
	struct drv_wr wr = list_begin(&f, state);

	wr.reg.lkey = f.p->b.mr.key;
	list_refused(&f, &wr);
}

/* Its beginning is in the region. */
static void list_over_the_end_of_its_region(void **state)
{
	struct fast f;
	struct drv_wr wr = list_begin(&f, state);

	wr.reg.lkey = f.p->b.mr.key;
	wr.reg.at = f.p->b.mr.va + PAIR_MR - 319;
	list_refused(&f, &wr);
}

static void list_where_nothing_is(void **state)
{
	struct fast f;
	struct drv_wr wr = list_begin(&f, state);

	wr.reg.at = 64;
	list_refused(&f, &wr);
}

static void list_around_the_end_of_addresses(void **state)
{
	struct fast f;
	struct drv_wr wr = list_begin(&f, state);

	wr.reg.at = -(uint64_t)64;
	list_refused(&f, &wr);
}

static void list_of_another_domain(void **state)
{
	struct drv_mr mr;
	struct drv_wr wr;
	struct fast f;
	uint32_t pd;

	fast_begin(&f, state);
	pd = fast_other_pd(&f);
	ok(drv_mr_at(&f.p->b.drv, &mr, f.list, PAGE, VA, pd, DRV_LW, 12));
	fast_pages(&f, 33);
	wr = fast_wr(&f, 33, VA, 33 * PAGE);
	wr.reg.lkey = mr.key;
	wr.reg.at = VA;
	fast_failed(&f, &wr, MLX5_CQE_SYNDROME_LOCAL_PROT_ERR);
	ok(drv_mkey_destroy(&f.p->b.drv, mr.key));
	fast_end(&f);
	ok(drv_simple(&f.p->b.drv, MLX5_CMD_OP_DEALLOC_PD, pd, NULL));
}

/* Any key of the domain serves that reaches all of it. */
static void list_in_a_region(void **state)
{
	struct drv_mr mr;
	struct drv_wr wr;
	struct fast f;

	fast_begin(&f, state);
	ok(drv_mr_at(&f.p->b.drv, &mr, f.list, 320, VA, f.p->b.drv.pd, 0, 12));
	fast_pages(&f, 33);
	wr = fast_wr(&f, 33, VA, 33 * PAGE);
	wr.reg.lkey = mr.key;
	wr.reg.at = VA;
	fast_done(&f, &wr);
	fast_reached(&f, 33, 0, VA, 33 * PAGE);
	ok(drv_mkey_destroy(&f.p->b.drv, mr.key));
	fast_end(&f);
}

/* ---- pieces ---- */
static void pieces_that_are_too_short(void **state)
{
	struct drv_wr wr;
	struct fast f;

	fast_begin_pieces(&f, state);
	fast_pieces(&f, 8, f.dma);
	wr = fast_pieces_wr(&f, 8);
	wr.reg.len++;
	fast_bind_failed(&f, &wr);
	fast_end(&f);
}

/* b's memory may not be written by this key. */
static void pieces_without_the_right(void **state)
{
	struct drv_wr wr;
	struct fast f;
	uint32_t key;

	fast_begin_pieces(&f, state);
	ok(drv_dma_mr(&f.p->b.drv, &key, 0));
	fast_pieces(&f, 6, key);
	wr = fast_pieces_wr(&f, 6);
	fast_bind_failed(&f, &wr);
	ok(drv_mkey_destroy(&f.p->b.drv, key));
	fast_end(&f);
}

static void more_pieces_than_it_has_room_for(void **state)
{
	struct drv_wr wr;
	struct fast f;

	fast_begin_pieces(&f, state);
	fast_pieces(&f, ROOM + 1, f.dma);
	wr = fast_pieces_wr(&f, ROOM + 1);
	wr.reg.len = PIECE;
	fast_bind_failed(&f, &wr);
	fast_end(&f);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, pair_setup_umr, pair_teardown)
	const struct CMUnitTest tests[] = {
		T(of_another_domain),
		T(invalidated_from_another_domain),
		T(more_than_it_has_room_for),
		T(longer_than_its_pages),
		T(longer_than_its_list),
		T(around_the_end_of_addresses),
		T(of_no_length),
		T(of_no_pages),
		T(of_pages_too_small),
		T(of_no_key),
		T(of_the_dma_key),
		T(not_by_a_process),
		T(no_list_of_a_process),
		T(no_pieces_by_a_process),
		T(not_invalidated_by_a_process),
		cmocka_unit_test_setup_teardown(not_without_the_property,
						pair_setup_rc, pair_teardown),
		T(shorter_than_its_list),
		T(without_its_list),
		T(of_two_lengths),
		T(into_another_domain),
		T(in_parts),
		T(list_behind_no_key),
		T(list_behind_a_dead_key),
		T(list_out_of_its_region),
		T(list_over_the_end_of_its_region),
		T(list_where_nothing_is),
		T(list_around_the_end_of_addresses),
		T(list_of_another_domain),
		T(list_in_a_region),
		T(pieces_that_are_too_short),
		T(pieces_without_the_right),
		T(more_pieces_than_it_has_room_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
