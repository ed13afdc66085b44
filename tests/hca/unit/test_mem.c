// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Memory keys: where they reach, whom they serve, and what becomes of an
 * access that they do not allow.
 */
#include <stdlib.h>

#include "pair.h"

static void write_to(struct pair *p, uint64_t addr, uint32_t key, uint32_t len)
{
	drv_rdma(&p->a.qp, MLX5_OPCODE_RDMA_WRITE, &p->a.mr, 0, len, addr,
		 key);
}

/* What the other end refuses ends both queue pairs. */
static void refused(struct pair *p, uint64_t addr, uint32_t key, uint32_t len)
{
	write_to(p, addr, key, len);
	get_err(&p->a, &p->a.scq, MLX5_CQE_SYNDROME_REMOTE_ACCESS_ERR);
	assert_int_equal(drv_qp_state(&p->a.qp), DRV_ERR);
	assert_int_equal(drv_qp_state(&p->b.qp), DRV_ERR);
}

static void from_the_middle_of_a_page(void **state)
{
	struct pair *p = *state;
	struct drv_mr mr;

	ok(drv_mr_at(&p->b.drv, &mr, p->b.mem + 1000, 9000,
		     0x7f0000001000ULL + 1000, p->b.drv.pd, DRV_ALL, 12));
	fill(p->a.mem, 9000, 1);
	write_to(p, mr.va, mr.key, 9000);
	get_wc(&p->a, &p->a.scq, MLX5_CQE_REQ);
	assert_true(filled(p->b.mem + 1000, 9000, 1));
	assert_int_equal(p->b.mem[999], 0);
	assert_int_equal(p->b.mem[10000], 0);
	write_to(p, mr.va + 8999, mr.key, 1);
	get_wc(&p->a, &p->a.scq, MLX5_CQE_REQ);
	refused(p, mr.va + 8999, mr.key, 2);
	ok(drv_mkey_destroy(&p->b.drv, mr.key));
}

static void before_the_first_byte(void **state)
{
	struct pair *p = *state;

	refused(p, p->b.mr.va - 1, p->b.mr.key, 1);
}

static void beyond_all_bounds(void **state)
{
	struct pair *p = *state;

	refused(p, ~0ULL - 10, p->b.mr.key, 100);
}

static void another_variant_of_the_key(void **state)
{
	struct pair *p = *state;

	refused(p, p->b.mr.va, p->b.mr.key ^ 1, 1);
}

static void a_key_that_is_gone(void **state)
{
	struct pair *p = *state;
	struct drv_mr mr;

	ok(drv_mr(&p->b.drv, &mr, p->b.mem, 4096, DRV_ALL));
	write_to(p, mr.va, mr.key, 10);
	get_wc(&p->a, &p->a.scq, MLX5_CQE_REQ);
	ok(drv_mkey_destroy(&p->b.drv, mr.key));
	refused(p, mr.va, mr.key, 10);
}

static void a_key_of_another_pd(void **state)
{
	struct pair *p = *state;
	struct drv_mr mr;
	uint32_t pd;

	ok(drv_simple(&p->b.drv, MLX5_CMD_OP_ALLOC_PD, 0, &pd));
	ok(drv_mr_at(&p->b.drv, &mr, p->b.mem, 4096, 4096, pd, DRV_ALL, 12));
	refused(p, mr.va, mr.key, 10);
	assert_int_not_equal(drv_simple(&p->b.drv, MLX5_CMD_OP_DEALLOC_PD, pd,
					NULL), 0);
	ok(drv_mkey_destroy(&p->b.drv, mr.key));
	ok(drv_simple(&p->b.drv, MLX5_CMD_OP_DEALLOC_PD, pd, NULL));
}

static void no_right_to_write(void **state)
{
	struct pair *p = *state;
	struct drv_mr mr;

	ok(drv_mr(&p->b.drv, &mr, p->b.mem, 4096, DRV_LW | DRV_RR));
	drv_rdma(&p->a.qp, MLX5_OPCODE_RDMA_READ, &p->a.mr, 0, 100, mr.va,
		 mr.key);
	get_wc(&p->a, &p->a.scq, MLX5_CQE_REQ);
	refused(p, mr.va, mr.key, 10);
	ok(drv_mkey_destroy(&p->b.drv, mr.key));
}

static void no_right_to_read(void **state)
{
	struct pair *p = *state;
	struct drv_mr mr;

	ok(drv_mr(&p->b.drv, &mr, p->b.mem, 4096, DRV_LW | DRV_RW));
	drv_rdma(&p->a.qp, MLX5_OPCODE_RDMA_READ, &p->a.mr, 0, 100, mr.va,
		 mr.key);
	get_err(&p->a, &p->a.scq, MLX5_CQE_SYNDROME_REMOTE_ACCESS_ERR);
	ok(drv_mkey_destroy(&p->b.drv, mr.key));
}

static void a_gather_list_that_may_not(void **state)
{
	struct pair *p = *state;
	struct drv_mr mr = p->a.mr;

	mr.key ^= 0x3;
	drv_recv(&p->b.qp, &p->b.mr, 0, 100);
	drv_send(&p->a.qp, &mr, 0, 10);
	get_err(&p->a, &p->a.scq, MLX5_CQE_SYNDROME_LOCAL_PROT_ERR);
	assert_int_equal(drv_qp_state(&p->a.qp), DRV_ERR);
	no_wc(&p->b, &p->b.rcq);
}

static void a_scatter_list_that_may_not(void **state)
{
	struct pair *p = *state;
	struct drv_mr mr;

	ok(drv_mr(&p->b.drv, &mr, p->b.mem, 4096, 0));
	drv_recv(&p->b.qp, &mr, 0, 100);
	drv_send(&p->a.qp, &p->a.mr, 0, 10);
	get_err(&p->b, &p->b.rcq, MLX5_CQE_SYNDROME_LOCAL_PROT_ERR);
	get_err(&p->a, &p->a.scq, MLX5_CQE_SYNDROME_REMOTE_OP_ERR);
	ok(drv_mkey_destroy(&p->b.drv, mr.key));
}

/* 64 MiB in one key, a page list of 128 KiB; and with pages of 2 MiB. */
static void large_regions(void **state)
{
	struct pair *p = *state;
	size_t len = 64 << 20;
	uint8_t *small = rig_alloc(p->rig, len);
	uint8_t *large = rig_alloc_contiguous(p->rig, 8 << 20, 2 << 20);
	struct drv_mr mr, big;

	assert_non_null(small);
	assert_non_null(large);
	ok(drv_mr(&p->b.drv, &mr, small, len, DRV_ALL));
	ok(drv_mr_at(&p->b.drv, &big, large, 8 << 20, 0x40000000,
		     p->b.drv.pd, DRV_ALL, 21));
	fill(p->a.mem, 300000, 1);
	write_to(p, mr.va + len - 300000, mr.key, 300000);
	get_wc(&p->a, &p->a.scq, MLX5_CQE_REQ);
	assert_true(filled(small + len - 300000, 300000, 1));
	write_to(p, big.va + (4 << 20) - 1000, big.key, 300000);
	get_wc(&p->a, &p->a.scq, MLX5_CQE_REQ);
	assert_true(filled(large + (4 << 20) - 1000, 300000, 1));
	assert_true(cx_may_touch(p->b.drv.dev->cx,
				 rig_bus(p->rig, small + len - 1)));
	ok(drv_mkey_destroy(&p->b.drv, mr.key));
	ok(drv_mkey_destroy(&p->b.drv, big.key));
	assert_false(cx_may_touch(p->b.drv.dev->cx,
				  rig_bus(p->rig, small + len - 1)));
}

/* The kernel's own region: addresses of the bus, no bounds. */
static void dma_region(void **state)
{
	struct pair *p = *state;
	uint32_t key;

	ok(drv_dma_mr(&p->b.drv, &key, DRV_ALL));
	fill(p->a.mem, 4096, 7);
	write_to(p, rig_bus(p->rig, p->b.mem + 8192), key, 4096);
	get_wc(&p->a, &p->a.scq, MLX5_CQE_REQ);
	assert_true(filled(p->b.mem + 8192, 4096, 7));
	refused(p, 0x1000, key, 4096);		/* nothing lies there */
	assert_true(cx_stats(p->b.drv.dev->cx)->dma_errors > 0);
	ok(drv_mkey_destroy(&p->b.drv, key));
}

static void pages_that_went_away(void **state)
{
	struct pair *p = *state;

	rig_revoke(p->rig, p->a.mem + 8192, 4096);
	drv_recv(&p->b.qp, &p->b.mr, 0, 65536);
	drv_send(&p->a.qp, &p->a.mr, 0, 16384);
	get_err(&p->a, &p->a.scq, MLX5_CQE_SYNDROME_LOCAL_PROT_ERR);
	assert_true(cx_stats(p->a.drv.dev->cx)->dma_errors > 0);
}

/* The command is refused, and nothing stays behind. */
static void page_lists_that_do_not_suffice(void **state)
{
	struct pair *p = *state;
	uint8_t in[CX_BYTES(create_mkey_in) + 16] = { 0 }, out[16];
	uint8_t *mkc = CX_ADDR(create_mkey_in, in, memory_key_mkey_entry);
	uint64_t held = cx_pages_held(p->a.drv.dev->cx);

	CX_SET(create_mkey_in, in, opcode, MLX5_CMD_OP_CREATE_MKEY);
	CX_SET(create_mkey_in, in, translations_octword_actual_size, 1);
	CX_SET(mkc, mkc, access_mode_1_0, 1);
	CX_SET(mkc, mkc, lr, 1);
	CX_SET(mkc, mkc, qpn, 0xffffff);
	CX_SET(mkc, mkc, pd, p->a.drv.pd);
	CX_SET(mkc, mkc, log_page_size, 12);
	CX_SET(mkc, mkc, translations_octword_size, 1);
	CX_SET64(mkc, mkc, len, 3 * 4096);
	assert_int_not_equal(drv_exec(&p->a.drv, in, sizeof(in), out, 16), 0);
	CX_SET64(mkc, mkc, len, 2 * 4096);
	CX_SET(create_mkey_in, in, translations_octword_actual_size, 0xffffff);
	assert_int_not_equal(drv_exec(&p->a.drv, in, sizeof(in), out, 16), 0);
	CX_SET(create_mkey_in, in, translations_octword_actual_size, 1);
	CX_SET(mkc, mkc, pd, 0xfffff);
	assert_int_not_equal(drv_exec(&p->a.drv, in, sizeof(in), out, 16), 0);
	assert_int_equal(cx_pages_held(p->a.drv.dev->cx), held);
}

int main(void)
{
#define RC(f) cmocka_unit_test_setup_teardown(f, pair_setup_rc, pair_teardown)
	const struct CMUnitTest tests[] = {
		RC(from_the_middle_of_a_page),
		RC(before_the_first_byte),
		RC(beyond_all_bounds),
		RC(another_variant_of_the_key),
		RC(a_key_that_is_gone),
		RC(a_key_of_another_pd),
		RC(no_right_to_write),
		RC(no_right_to_read),
		RC(a_gather_list_that_may_not),
		RC(a_scatter_list_that_may_not),
		RC(large_regions),
		RC(dma_region),
		RC(pages_that_went_away),
		RC(page_lists_that_do_not_suffice),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
