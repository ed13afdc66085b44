// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Page lists that lie: number, level and length disagree, references are 0,
 * unknown, revoked or too many, directories name themselves; and maps that fail
 * half way. Nothing stays mapped and no quota is lost.
 */
#include "wire.h"

#define PAGE XENVHCA_PAGE_SIZE

static struct xenvhca_request reg(const struct world *w, uint32_t nr,
				  uint8_t level)
{
	struct xenvhca_request req;

	wire_good(&w->c, XENVHCA_OP_REG_MR, &req);
	req.u.reg_mr.iova = 0;
	req.u.reg_mr.page_offset = 0;
	req.u.reg_mr.length = (uint64_t)nr * PAGE;
	memset(&req.u.reg_mr.pages, 0, sizeof(req.u.reg_mr.pages));
	req.u.reg_mr.pages.nr_pages = nr;
	req.u.reg_mr.pages.level = level;
	return req;
}

/* Page dir names nr data pages, all of them the same one. */
static void fill(struct world *w, uint32_t dir, uint32_t nr, uint32_t ref)
{
	uint32_t *p = loop_page(w->a.loop, dir), i;

	memset(p, 0, PAGE);
	for (i = 0; i < nr; i++)
		p[i] = ref;
}

static void refused(struct world *w, struct xenvhca_request *req, int status,
		    const char *what)
{
	struct snap s;
	int got;

	world_snap(w, &s);
	got = wire_call(&w->a, req);
	if (!got || (status && got != status))
		fail_msg("%s: %d instead of %d", what, got, status);
	world_same(w, &s, what);
}

static void counts(void **state)
{
	static const struct { uint32_t nr; uint8_t level; } bad[] = {
		{ 0, 0 }, { 0, 1 }, { 0, 2 }, { 9, 0 }, { 8193, 1 },
		{ 8 * 1024 * 1024 + 1, 2 }, { 1, 3 }, { 1, 255 }, { ~0u, 0 },
		{ ~0u, 1 }, { ~0u, 2 }, { 0x80000000u, 2 }, { 1u << 20, 1 },
	};
	struct world *w = *state;
	struct xenvhca_request req;
	size_t i;

	for (i = 0; i < COUNT(bad); i++) {
		req = reg(w, bad[i].nr, bad[i].level);
		memset(req.u.reg_mr.pages.gref, LOOP_REF(1),
		       sizeof(req.u.reg_mr.pages.gref));
		refused(w, &req, -22, "count and level");
	}
}

static void inline_refs(void **state)
{
	struct world *w = *state;
	struct xenvhca_request req = reg(w, 2, 0);
	uint32_t *gref = req.u.reg_mr.pages.gref;

	gref[0] = LOOP_REF(1);
	refused(w, &req, -22, "second reference is 0");
	gref[1] = LOOP_REF(2);
	gref[2] = LOOP_REF(3);
	refused(w, &req, -22, "a third reference");
	gref[2] = 0;
	gref[7] = 1;
	refused(w, &req, -22, "a reference at the end");
	gref[7] = 0;
	gref[1] = LOOP_REF(WIRE_PAGES);
	refused(w, &req, 0, "unknown reference");
	gref[1] = ~0u;
	refused(w, &req, 0, "reference ~0");
	gref[1] = 1;
	refused(w, &req, 0, "reserved reference");
	loop_revoke(w->a.loop, 5);
	gref[1] = LOOP_REF(5);
	refused(w, &req, 0, "revoked reference");
	gref[1] = LOOP_REF(1);			/* twice the same: legal */
	assert_int_equal(wire_call(&w->a, &req), 0);
}

static void directories(void **state)
{
	struct world *w = *state;
	struct xenvhca_request req = reg(w, 100, 1);
	uint32_t *dir = loop_page(w->a.loop, 20);

	req.u.reg_mr.pages.gref[0] = LOOP_REF(20);
	fill(w, 20, 99, LOOP_REF(1));
	refused(w, &req, -22, "directory with 99 of 100");
	fill(w, 20, 101, LOOP_REF(1));
	refused(w, &req, -22, "directory with 101 of 100");
	fill(w, 20, 100, LOOP_REF(1));
	dir[1023] = 1;
	refused(w, &req, -22, "last entry used");
	dir[1023] = 0;
	dir[50] = ~0u;
	refused(w, &req, 0, "bad reference in the middle");
	dir[50] = 0;
	refused(w, &req, -22, "hole");
	fill(w, 20, 100, LOOP_REF(1));
	req.u.reg_mr.pages.gref[1] = LOOP_REF(20);
	refused(w, &req, -22, "second directory");
	req.u.reg_mr.pages.gref[1] = 0;
	req.u.reg_mr.pages.gref[0] = ~0u;
	refused(w, &req, 0, "directory unknown");
	req.u.reg_mr.pages.gref[0] = LOOP_REF(20);
	req.u.reg_mr.length -= PAGE;
	refused(w, &req, -22, "list longer than the region");
	req.u.reg_mr.length += 2 * PAGE;
	refused(w, &req, -22, "list shorter than the region");
	req.u.reg_mr.length -= PAGE;
	assert_int_equal(wire_call(&w->a, &req), 0);
}

/* A tree whose pages name themselves has the depth of its level, no more. */
static void cycles(void **state)
{
	struct world *w = *state;
	struct xenvhca_request req = reg(w, 1024, 1);

	fill(w, 20, 1024, LOOP_REF(20));
	req.u.reg_mr.pages.gref[0] = LOOP_REF(20);
	assert_int_equal(wire_call(&w->a, &req), 0);
	req = reg(w, 4096, 2);
	req.u.reg_mr.pages.gref[0] = LOOP_REF(20);
	refused(w, &req, -22, "a root that is full but needs 4 entries");
	fill(w, 21, 4, LOOP_REF(20));
	req.u.reg_mr.pages.gref[0] = LOOP_REF(21);
	assert_int_equal(wire_call(&w->a, &req), 0);
}

/* The n-th copy or map of a request fails, for every n: roots, directories, pages. */
static void partial(void **state)
{
	struct world *w = *state;
	struct xenvhca_request req = reg(w, 2048, 2);
	unsigned int n;
	struct snap s;

	fill(w, 20, 1024, LOOP_REF(1));
	fill(w, 21, 2, LOOP_REF(20));
	req.u.reg_mr.pages.gref[0] = LOOP_REF(21);
	world_snap(w, &s);
	for (n = 1; n <= 3; n++) {
		loop_fail_map(w->a.loop, n, -12);
		refused(w, &req, -12, "copy or map fails");
	}
	/* all mapped, then the HCA refuses */
	fake_fail(IB_USER_VERBS_CMD_REG_MR, 1, 12);
	refused(w, &req, -12, "the HCA refuses");
	assert_int_equal(wire_call(&w->a, &req), 0);
}

/* max-pinned-mb is exact, and charged before anything is allocated. */
static void pinned(void **state)
{
	struct world *w = *state;
	struct xenvhca_request req = reg(w, 1024, 1);
	struct be_quota *q = &w->a.dev.quota;

	q->max_pages = q->used_pages + 1023;
	fill(w, 20, 1024, LOOP_REF(1));
	req.u.reg_mr.pages.gref[0] = LOOP_REF(20);
	refused(w, &req, -12, "one page over the quota");
	q->max_pages++;
	assert_int_equal(wire_call(&w->a, &req), 0);
	refused(w, &req, -12, "quota is full");
	req = reg(w, 8 * 1024 * 1024, 2);
	memset(req.u.reg_mr.pages.gref, LOOP_REF(20),
	       sizeof(req.u.reg_mr.pages.gref));
	refused(w, &req, -12, "32 GiB");
}

/* Rereg: the old pages stay if the new list is refused. */
static void rereg(void **state)
{
	struct world *w = *state;
	struct xenvhca_request req;
	const struct fake_obj *mr;
	uint64_t start;

	wire_good(&w->c, XENVHCA_OP_REREG_MR, &req);
	refused(w, &req, -16, "rereg beside a memory window");
	wire_good(&w->c, XENVHCA_OP_DEALLOC_MW, &req);
	assert_int_equal(wire_call(&w->a, &req), 0);
	wire_good(&w->c, XENVHCA_OP_REREG_MR, &req);
	mr = fake_nth(FAKE_MR, 0);
	start = mr->start;
	req.u.rereg_mr.mr.pages.gref[2] = ~0u;
	refused(w, &req, 0, "rereg with a bad list");
	req.u.rereg_mr.mr.pages.gref[2] = LOOP_REF(3);
	fake_fail(IB_USER_VERBS_CMD_REREG_MR, 1, 22);
	refused(w, &req, -22, "rereg refused by the HCA");
	assert_int_equal(mr->start, start);
	assert_int_equal(wire_call(&w->a, &req), 0);
	assert_int_not_equal(mr->start, start);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(counts, world_setup,
						world_teardown),
		cmocka_unit_test_setup_teardown(inline_refs, world_setup,
						world_teardown),
		cmocka_unit_test_setup_teardown(directories, world_setup,
						world_teardown),
		cmocka_unit_test_setup_teardown(cycles, world_setup,
						world_teardown),
		cmocka_unit_test_setup_teardown(partial, world_setup,
						world_teardown),
		cmocka_unit_test_setup_teardown(pinned, world_setup,
						world_teardown),
		cmocka_unit_test_setup_teardown(rereg, world_setup,
						world_teardown),
	};

	return cmocka_run_group_tests(tests, wire_group_setup,
				      wire_group_teardown);
}
