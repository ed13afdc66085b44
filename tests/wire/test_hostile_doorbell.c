// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * A guest of a ConnectX that wants more than its doorbells: other pages of
 * the HCA, more of them than it may have, contexts that are kept for it and
 * never taken, pages that the agent refuses over and over. What it gets is
 * one page for a page's right; what the daemon keeps for it has a bound.
 */
#include "verbs/ucontext.h"
#include "wire.h"

#define MAX_KEPT	33		/* files of spoilt contexts, and one */

static struct xenvhca_request mmap_req(const struct world *w, uint64_t pgoff,
				       uint64_t gfn)
{
	struct xenvhca_request req = wire_req(XENVHCA_OP_MMAP, w->c.uc);

	req.u.mmap.offset = pgoff * XENVHCA_PAGE_SIZE;
	req.u.mmap.length = XENVHCA_PAGE_SIZE;
	req.u.mmap.gfn = gfn;
	return req;
}

static bool is_doorbell(uint64_t pgoff)
{
	uint64_t cmd = pgoff >> 8;

	return !cmd || cmd == 2 || cmd == 3 || (cmd & 0xff) == 6;
}

/* Every offset of a command, of a page, of bits that mean nothing. */
static void other_pages_of_the_hca(void **state)
{
	struct world *w = *state;
	struct xenvhca_request req;
	uint64_t pgoff;
	struct snap s;
	unsigned int i;
	int status;

	world_snap(w, &s);
	for (i = 0; i < 256 + 44; i++) {
		pgoff = i < 256 ? (uint64_t)i << 8 : 1ull << (i - 256 + 8);
		if (is_doorbell(pgoff))
			continue;
		req = mmap_req(w, pgoff, 0x200000 + i);
		status = wire_call(&w->a, &req);
		if (status != (pgoff == 0x500 || pgoff == 0x700 ||
			       pgoff == 0x800 ? -95 : -22))
			fail_msg("page %#llx: status %d",
				 (unsigned long long)pgoff, status);
	}
	req = mmap_req(w, 0, 0x200000);
	req.u.mmap.offset = ~0ull;
	assert_int_equal(wire_call(&w->a, &req), -22);
	req.u.mmap.offset = 8;
	assert_int_equal(wire_call(&w->a, &req), -22);
	world_same(w, &s, "other pages");
}

static void fields(void **state)
{
	static const uint64_t length[] = {
		0, 1, 4095, 4097, 8192, 1ull << 32 | 4096, ~0ull & ~4095ull,
	};
	struct world *w = *state;
	struct xenvhca_request req;
	struct snap s;
	size_t i;

	world_snap(w, &s);
	for (i = 0; i < COUNT(length); i++) {
		req = mmap_req(w, 0, 0x200000);
		req.u.mmap.length = length[i];
		assert_int_equal(wire_call(&w->a, &req), -22);
	}
	req = mmap_req(w, 0, 0x200000);
	req.u.mmap.first = 1;
	assert_int_equal(wire_call(&w->a, &req), -22);
	req.u.mmap.first = ~0u;
	assert_int_equal(wire_call(&w->a, &req), -22);
	req = mmap_req(w, 0, 0x200000);
	req.u.mmap.reserved = 1;
	assert_int_equal(wire_call(&w->a, &req), -22);
	req = mmap_req(w, 0, 0x200000);
	req.in_len = 8;
	assert_int_equal(wire_call(&w->a, &req), -22);
	req = mmap_req(w, 0, 0x200000);
	req.ucontext = w->mine.uc + 100;
	assert_int_equal(wire_call(&w->a, &req), -2);
	world_same(w, &s, "fields of MMAP");
}

static void more_than_the_quota(void **state)
{
	struct world *w = *state;
	struct xenvhca_request req;
	struct snap s;
	unsigned int i;

	w->a.dev.quota.max[BE_MMAP] = 40;
	for (i = 0; i < 40; i++) {
		req = mmap_req(w, i, 0x200000 + i);
		assert_int_equal(wire_call(&w->a, &req), 0);
	}
	world_snap(w, &s);
	assert_int_equal(s.doorbells, 40);
	for (; i < 256; i++) {
		req = mmap_req(w, i, 0x200000 + i);
		assert_int_equal(wire_call(&w->a, &req), -12);
	}
	for (i = 0; i < 40; i++) {		/* idempotent, for nothing */
		req = mmap_req(w, i, 0x200000 + i);
		assert_int_equal(wire_call(&w->a, &req), 0);
	}
	world_same(w, &s, "doorbells over the quota");
	req = wire_req(XENVHCA_OP_DEALLOC_UCONTEXT, w->c.uc);
	assert_int_equal(wire_call(&w->a, &req), 0);
	assert_int_equal(loop_doorbells(w->a.loop), 0);
	assert_int_equal(w->a.dev.quota.used[BE_MMAP], 0);
}

static uint32_t context(struct world *w, uint32_t tag)
{
	struct xenvhca_request req;

	wire_good(&w->c, XENVHCA_OP_ALLOC_UCONTEXT, &req);
	fake_mlx5_open(req.udata, tag);
	return wire_call(&w->a, &req) ? 0 :
	       w->a.rsp.u.alloc_ucontext.ucontext;
}

/* Each as if for another kind of program, so that none is taken again: the
 * guest is refused more, and no page is the HCA's to give. */
static void contexts_for_nobody(void **state)
{
	struct world *w = *state;
	struct xenvhca_request req;
	unsigned int i, mapped = 0;
	uint32_t uc;

	w->a.dev.quota.max[BE_UCONTEXT] = 10;
	for (i = 0; i < 200; i++) {
		uc = context(w, 1000 + i);
		assert_int_equal(!uc, i >= 8);
		if (!uc)
			continue;
		req = mmap_req(w, 0, 0);
		req.ucontext = uc;
		assert_int_equal(wire_call(&w->a, &req), 0);
		mapped++;
		req = wire_req(XENVHCA_OP_DEALLOC_UCONTEXT, uc);
		assert_int_equal(wire_call(&w->a, &req), 0);
		assert_int_equal(w->a.dev.n_vfiles[BE_VFILE_PARKED], mapped);
	}
	assert_int_equal(loop_doorbell_unmaps(w->a.loop), 0);
	assert_int_equal(w->a.dev.quota.used[BE_UCONTEXT], 2);
	assert_int_equal(w->a.dev.quota.used[BE_MMAP], mapped);
	world_bystander(w);
}

/* A place that has a page: the agent refuses, however often. */
static void a_place_that_is_taken(void **state)
{
	struct world *w = *state;
	struct xenvhca_request req;
	unsigned int i;

	req = mmap_req(w, 0, 0x200000);
	assert_int_equal(wire_call(&w->a, &req), 0);
	for (i = 0; i < 20; i++) {
		req = mmap_req(w, 1, 0x200000);
		req.ucontext = context(w, 16);
		assert_int_equal(wire_call(&w->a, &req), -1);
		assert_int_equal(wire_call(&w->a, &req), -1);
		req = wire_req(XENVHCA_OP_DEALLOC_UCONTEXT, req.ucontext);
		assert_int_equal(wire_call(&w->a, &req), 0);
		assert_true(fake_files() <= 2 + 3 + MAX_KEPT);
	}
	assert_int_equal(loop_doorbells(w->a.loop), 1);
	assert_int_equal(w->a.dev.quota.used[BE_MMAP], 1);
	world_bystander(w);
}

/* While a page cannot be taken back, nothing works on its context. */
static void a_context_on_its_way_out(void **state)
{
	struct world *w = *state;
	struct xenvhca_request req;
	uint16_t op;

	req = mmap_req(w, 0, 0x200000);
	assert_int_equal(wire_call(&w->a, &req), 0);
	loop_fail_undoorbell(w->a.loop, 1, -110);
	req = wire_req(XENVHCA_OP_DEALLOC_UCONTEXT, w->c.uc);
	assert_int_equal(wire_call(&w->a, &req), -110);
	for (op = XENVHCA_OP_DEALLOC_UCONTEXT; op < XENVHCA_OP_MAX; op++) {
		/* the device's own domains go on */
		if (!wire_good(&w->c, op, &req) || !req.ucontext)
			continue;
		assert_int_equal(wire_call(&w->a, &req), -2);
	}
	be_dev_tick(&w->a.dev);
	assert_int_equal(loop_doorbells(w->a.loop), 0);
	assert_int_equal(w->a.dev.quota.used[BE_UCONTEXT], 1);
	world_bystander(w);
}

/* Not one of them mapped: natively 512 registers are 256 pages each. */
static void all_pages_of_the_hca(void **state)
{
	static const uint32_t bfregs[] = { 512, 511, 64, 63, 1, 513, ~0u, 0 };
	struct world *w = *state;
	struct xenvhca_request req;
	unsigned int i, max, others = fake_uars() - w->a.dev.quota.uars;

	w->a.dev.quota.max[BE_UCONTEXT] = 40;
	max = 40 * 8;
	for (i = 0; i < 40 * COUNT(bfregs); i++) {
		wire_good(&w->c, XENVHCA_OP_ALLOC_UCONTEXT, &req);
		fake_mlx5_open_bfregs(req.udata, bfregs[i / 40]);
		wire_call(&w->a, &req);
		assert_true(fake_uars() <= others + max);
		assert_int_equal(fake_uars(), others + w->a.dev.quota.uars);
	}
	assert_true(w->a.dev.quota.uars + 1 >= max);
	world_bystander(w);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, world_setup_mlx5,	\
					     world_teardown)
	const struct CMUnitTest tests[] = {
		T(other_pages_of_the_hca),
		T(fields),
		T(more_than_the_quota),
		T(contexts_for_nobody),
		T(a_place_that_is_taken),
		T(a_context_on_its_way_out),
		T(all_pages_of_the_hca),
	};

	return cmocka_run_group_tests(tests, wire_group_setup,
				      wire_group_teardown);
}
