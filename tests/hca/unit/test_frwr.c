// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Fast registration: the kernel's consumers register memory by work requests of their own
 * QPs (IB_WR_REG_MR, IB_WR_LOCAL_INV); with the property umr-lists.
 */
#include "fast.h"

#define PAGE		FAST_PAGE
#define VA		FAST_VA
#define BACK		FAST_BACK
#define ROOM		FAST_ROOM
#define PIECE		FAST_PIECE

/* ---- pages ---- */
static void region(void **state, unsigned int nr, uint32_t off, uint64_t iova,
		   uint32_t len)
{
	struct drv_wr wr;
	struct fast f;

	fast_begin(&f, state);
	fast_pages(&f, nr);
	wr = fast_wr(&f, nr, iova, len);
	fast_done(&f, &wr);
	fast_reached(&f, nr, off, iova, len);
	fast_refused(&f, iova + len - 1, 2, f.key);
	fast_refused_there(&f, iova - 1, f.key);
	fast_end(&f);
}

static void of_one_page(void **state)
{
	region(state, 1, 0, VA, PAGE);
}

static void of_a_part_of_a_page(void **state)
{
	region(state, 1, 100, VA + 100, 512);
}

static void of_two_pages(void **state)
{
	region(state, 2, PAGE - 1, VA + PAGE - 1, 2);
}

/* As many as go into a WQE; in another one, the list is behind an address. */
static void of_eight_pages(void **state)
{
	region(state, 8, 17, VA + 17, 8 * PAGE - 20);
}

static void of_nine_pages(void **state)
{
	region(state, 9, 17, VA + 17, 9 * PAGE - 20);
}

static void of_33_pages(void **state)
{
	region(state, 33, 0xabc, VA + 0xabc, 33 * PAGE - 0xabc - 1);
}

/* Consumers may choose another address, with the same offset in a page. */
static void at_an_address_of_its_own(void **state)
{
	region(state, 3, 0x123, 0x123, 2 * PAGE + 5);
}

static void as_many_as_it_has_room_for(void **state)
{
	region(state, ROOM, 0, VA, ROOM * PAGE);
}

/* Both as what is sent and as where a READ goes. */
static void used_by_its_owner(void **state)
{
	struct drv_mr mr = { .va = VA + 5 };
	struct fast f;
	struct pair *p;
	uint32_t i;

	fast_begin(&f, state);
	p = f.p;
	fast_registered(&f, 3);
	mr.key = f.key;
	fill(p->a.mem, 2 * PAGE, 3);
	drv_rdma(&f.b, MLX5_OPCODE_RDMA_READ, &mr, 0, 2 * PAGE, p->a.mr.va,
		 p->a.mr.key);
	get_wc(&p->b, &p->b.scq, MLX5_CQE_REQ);
	for (i = 0; i < 2 * PAGE; i++)
		assert_int_equal(*fast_behind(&f, 3, 5, i), p->a.mem[i]);
	drv_rdma(&f.b, MLX5_OPCODE_RDMA_WRITE, &mr, 0, 2 * PAGE,
		 p->a.mr.va + BACK, p->a.mr.key);
	get_wc(&p->b, &p->b.scq, MLX5_CQE_REQ);
	assert_true(filled(p->a.mem + BACK, 2 * PAGE, 3));
	fast_end(&f);
}

static void for_reading_only(void **state)
{
	struct drv_wr wr;
	struct fast f;
	struct pair *p;

	fast_begin(&f, state);
	p = f.p;
	fast_pages(&f, 1);
	wr = fast_wr(&f, 1, VA, PAGE);
	wr.reg.access = DRV_RR;
	fast_done(&f, &wr);
	fill(p->b.mem, PAGE, 1);
	drv_rdma(&f.a, MLX5_OPCODE_RDMA_READ, &p->a.mr, 0, PAGE, VA, f.key);
	get_wc(&p->a, &p->a.scq, MLX5_CQE_REQ);
	assert_true(filled(p->a.mem, PAGE, 1));
	fast_refused(&f, VA, 1, f.key);
	fast_end(&f);
}

/* Rights are those of the last registration alone. */
static void not_for_the_peer(void **state)
{
	struct drv_wr wr;
	struct fast f;

	fast_begin(&f, state);
	fast_registered(&f, 1);
	fast_invalidated(&f);
	wr = fast_wr(&f, 1, VA, PAGE);
	wr.reg.access = DRV_LW;
	fast_done(&f, &wr);
	fast_refused(&f, VA, 1, f.key);
	fast_end(&f);
}

/* ---- invalidation, keys ---- */
static void not_registered_yet(void **state)
{
	struct fast f;

	fast_begin(&f, state);
	fast_refused(&f, VA, 1, f.key);
	fast_end(&f);
}

static void invalidated_by_its_owner(void **state)
{
	struct fast f;
	uint64_t held;

	fast_begin(&f, state);
	held = cx_pages_held(f.p->b.drv.dev->cx);
	fast_registered(&f, 33);
	assert_int_equal(cx_pages_held(f.p->b.drv.dev->cx), held + 33);
	fast_invalidated(&f);
	assert_int_equal(cx_pages_held(f.p->b.drv.dev->cx), held);
	memset(f.p->b.mem, 0, PAGE);
	fill(f.p->a.mem, PAGE, 9);
	fast_refused(&f, VA + 32 * PAGE, PAGE, f.key);
	assert_int_equal(f.p->b.mem[1], 0);
	fast_end(&f);
}

static void the_old_key_is_dead(void **state)
{
	struct fast f;
	uint32_t old;

	fast_begin(&f, state);
	fast_registered(&f, 2);
	old = f.key;
	fast_invalidated(&f);
	fast_registered(&f, 2);
	assert_int_not_equal(old, f.key);
	fast_reached(&f, 2, 0, VA, 2 * PAGE);
	fast_refused(&f, VA, 1, old);
	fast_end(&f);
}

/* Once around the low octet of the key, and often around the queue. */
static void registered_often(void **state)
{
	struct drv_wr wr;
	struct fast f;
	uint32_t first;
	int i;

	fast_begin(&f, state);
	first = f.key;
	for (i = 0; i < 256; i++) {
		fast_pages(&f, 1 + i % 20);
		wr = fast_wr(&f, 1 + i % 20, VA + i, PAGE - i);
		fast_done(&f, &wr);
		if (i % 50 == 0)
			fast_reached(&f, 1 + i % 20, i, VA + i, PAGE - i);
		fast_invalidated(&f);
	}
	assert_int_equal(f.key, first);
	fast_end(&f);
}

/* More than a device takes at once: 1 MiB of list, for each time. */
static void entries_come_back(void **state)
{
	const uint32_t nr = 131064;
	struct drv_wr wr;
	struct fast f;
	int i;

	fast_begin(&f, state);
	ok(drv_mkey_destroy(&f.p->b.drv, f.key));
	ok(drv_alloc_mr(&f.p->b.drv, &f.key, nr / 2, false, f.p->b.drv.pd));
	f.list = rig_alloc_contiguous(f.p->rig, nr * 8, PAGE);
	assert_non_null(f.list);
	for (i = 0; i < 260; i++) {
		wr = fast_wr(&f, nr, VA, (uint64_t)nr * PAGE);
		fast_done(&f, &wr);
		fast_invalidated(&f);
	}
	fast_end(&f);
}

static void registered_twice(void **state)
{
	struct drv_wr wr;
	struct fast f;

	fast_begin(&f, state);
	fast_registered(&f, 2);
	wr = fast_wr(&f, 1, VA, PAGE);
	wr.reg.key = f.key;		/* a good one */
	fast_bind_failed(&f, &wr);
	fast_end(&f);
}

static void invalidated_by_another_key(void **state)
{
	struct drv_wr wr;
	struct fast f;
	struct pair *p;

	fast_begin(&f, state);
	p = f.p;
	fast_registered(&f, 1);
	wr = fast_inval_wr(fast_next(f.key));
	fast_bind_failed(&f, &wr);
	fill(p->a.mem, PAGE, 2);
	drv_rdma(&p->a.qp, MLX5_OPCODE_RDMA_WRITE, &p->a.mr, 0, PAGE, VA,
		 f.key);
	get_wc(&p->a, &p->a.scq, MLX5_CQE_REQ);
	assert_true(filled(p->b.mem, PAGE, 2));
	fast_end(&f);
}

/* It is registered again without a request that invalidates it. */
static void invalidated_by_the_peer(void **state)
{
	struct fast f;
	struct pair *p;
	uint32_t old;

	fast_begin(&f, state);
	p = f.p;
	fast_registered(&f, 12);
	old = f.key;
	fast_send_inval(&f, old);
	assert_int_equal(get_wc(&p->b, &p->b.rcq,
				MLX5_CQE_RESP_SEND_INV).imm, old);
	get_wc(&p->a, &p->a.scq, MLX5_CQE_REQ);
	fast_registered(&f, 12);
	fast_reached(&f, 12, 0, VA, 12 * PAGE);
	fast_refused(&f, VA, 1, old);
	fast_end(&f);
}

/* Dead already: the peer's request fails, and the connection with it. */
static void invalidated_by_both(void **state)
{
	struct fast f;

	fast_begin(&f, state);
	fast_registered(&f, 1);
	fast_invalidated(&f);
	fast_send_inval(&f, f.key);
	get_err(&f.p->a, &f.p->a.scq, MLX5_CQE_SYNDROME_REMOTE_ACCESS_ERR);
	assert_int_equal(drv_qp_state(&f.b), DRV_ERR);
	fast_end(&f);
}

/* ---- pieces ---- */
static void gathered(void **state, unsigned int nr)
{
	struct drv_wr wr;
	struct fast f;
	unsigned int i;
	struct pair *p;

	fast_begin_pieces(&f, state);
	p = f.p;
	fast_pieces(&f, nr, f.dma);
	wr = fast_pieces_wr(&f, nr);
	fast_done(&f, &wr);
	fill(p->a.mem, nr * PIECE, 4);
	fast_write(&f, VA + 3, nr * PIECE, f.key);
	get_wc(&p->a, &p->a.scq, MLX5_CQE_REQ);
	for (i = 0; i < nr; i++) {
		assert_memory_equal(p->b.mem + i * PAGE + 50 + i,
				    p->a.mem + i * PIECE, PIECE);
		assert_int_equal(p->b.mem[i * PAGE + 49 + i], 0);
		assert_int_equal(p->b.mem[i * PAGE + 50 + i + PIECE], 0);
	}
	drv_rdma(&f.a, MLX5_OPCODE_RDMA_READ, &p->a.mr, BACK, nr * PIECE,
		 VA + 3, f.key);
	get_wc(&p->a, &p->a.scq, MLX5_CQE_REQ);
	assert_true(filled(p->a.mem + BACK, nr * PIECE, 4));
	fast_refused(&f, VA + 3 + nr * PIECE - 1, 2, f.key);
	fast_end(&f);
}

static void of_one_piece(void **state)
{
	gathered(state, 1);
}

static void of_three_pieces(void **state)
{
	gathered(state, 3);
}

static void of_33_pieces(void **state)
{
	gathered(state, 33);
}

static void pieces_invalidated_in_turn(void **state)
{
	struct drv_wr wr;
	struct fast f;
	struct pair *p;
	uint32_t old;
	int i;

	fast_begin_pieces(&f, state);
	p = f.p;
	fast_pieces(&f, 7, f.dma);
	for (i = 0; i < 4; i++) {
		wr = fast_pieces_wr(&f, 7);
		fast_done(&f, &wr);
		old = f.key;
		if (i & 1) {
			fast_invalidated(&f);
			continue;
		}
		fast_send_inval(&f, f.key);
		get_wc(&p->b, &p->b.rcq, MLX5_CQE_RESP_SEND_INV);
		get_wc(&p->a, &p->a.scq, MLX5_CQE_REQ);
	}
	fast_refused(&f, VA + 3, 1, old);
	fast_end(&f);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, pair_setup_umr, pair_teardown)
	const struct CMUnitTest tests[] = {
		T(of_one_page),
		T(of_a_part_of_a_page),
		T(of_two_pages),
		T(of_eight_pages),
		T(of_nine_pages),
		T(of_33_pages),
		T(at_an_address_of_its_own),
		T(as_many_as_it_has_room_for),
		T(used_by_its_owner),
		T(for_reading_only),
		T(not_for_the_peer),
		T(not_registered_yet),
		T(invalidated_by_its_owner),
		T(the_old_key_is_dead),
		T(registered_often),
		T(entries_come_back),
		T(registered_twice),
		T(invalidated_by_another_key),
		T(invalidated_by_the_peer),
		T(invalidated_by_both),
		T(of_one_piece),
		T(of_three_pieces),
		T(of_33_pieces),
		T(pieces_invalidated_in_turn),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
