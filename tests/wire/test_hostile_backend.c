// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The other direction: what a hostile backend sends to the frontend. Runs the
 * module's own checks (frontend/ring/check.c) over indices, ids, lengths, limits,
 * texts, lists and events that cannot be.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "frontend/ring/check.h"
#include "vhca-provider.h"

static void response_index(void **state)
{
	static const uint32_t base[] = { 0, 1, 100, 0x7fffffff, 0xfffffff0 };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(base) / sizeof(base[0]); i++) {
		uint32_t cons = base[i], sent = cons + 64;

		assert_null(vhca_check_rsp_prod(cons, cons, sent));
		assert_null(vhca_check_rsp_prod(cons + 64, cons, sent));
		assert_non_null(vhca_check_rsp_prod(cons + 65, cons, sent));
		assert_non_null(vhca_check_rsp_prod(cons - 1, cons, sent));
		assert_non_null(vhca_check_rsp_prod(cons + 0x80000000u, cons,
						    sent));
		assert_non_null(vhca_check_rsp_prod(cons + 1, cons, cons));
	}
}

static void other_indices(void **state)
{
	(void)state;
	assert_null(vhca_check_evt_prod(256, 0));
	assert_non_null(vhca_check_evt_prod(257, 0));
	assert_non_null(vhca_check_evt_prod(~0u, 0));
	assert_null(vhca_check_evt_prod(3, ~0u));
	assert_non_null(vhca_check_evt_prod(5, 6));
	assert_null(vhca_check_kick_cons(0, 256));
	assert_non_null(vhca_check_kick_cons(0, 257));
	assert_non_null(vhca_check_kick_cons(1, 0));
	assert_null(vhca_check_kick_cons(~0u, 3));
}

/* Neither more than there is nor less than there was. */
static void executed_kicks(void **state)
{
	static const uint32_t base[] = { 0, 1, 0x7fffffff, 0xfffffffd };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(base) / sizeof(base[0]); i++) {
		uint32_t seen = base[i], prod = seen + 5;

		assert_null(vhca_check_kick_done(seen, seen, prod));
		assert_null(vhca_check_kick_done(prod, seen, prod));
		assert_null(vhca_check_kick_done(prod, prod, prod));
		assert_non_null(vhca_check_kick_done(prod + 1, seen, prod));
		assert_non_null(vhca_check_kick_done(prod + 1, prod, prod));
		assert_non_null(vhca_check_kick_done(seen - 1, seen, prod));
		assert_non_null(vhca_check_kick_done(seen + 0x80000000u, seen,
						     prod));
	}
}

static void responses(void **state)
{
	struct xenvhca_request req = { .op = XENVHCA_OP_CREATE_CQ,
				       .out_len = 16 };
	struct xenvhca_response rsp = { .op = XENVHCA_OP_CREATE_CQ,
					.out_len = 16 };

	(void)state;
	assert_null(vhca_check_rsp(&rsp, &req));
	assert_non_null(vhca_check_rsp(&rsp, NULL));
	rsp.out_len = 17;
	assert_non_null(vhca_check_rsp(&rsp, &req));
	rsp.out_len = 0xffff;
	assert_non_null(vhca_check_rsp(&rsp, &req));
	req.out_len = 0xffff;
	assert_non_null(vhca_check_rsp(&rsp, &req));
	rsp.out_len = 0;
	rsp.op = XENVHCA_OP_CREATE_QP;
	assert_non_null(vhca_check_rsp(&rsp, &req));
	rsp.id = 255;
	assert_null(vhca_check_rsp_id(&rsp));
	rsp.id = 256;
	assert_non_null(vhca_check_rsp_id(&rsp));
	rsp.id = 0xffff;
	assert_non_null(vhca_check_rsp_id(&rsp));
}

/* ib_core takes a positive number for success and -512.. for its own. */
static void statuses(void **state)
{
	(void)state;
	assert_int_equal(vhca_check_status(XENVHCA_OP_REG_MR, 0), 0);
	assert_int_equal(vhca_check_status(XENVHCA_OP_REG_MR, -ENOMEM), -ENOMEM);
	assert_int_equal(vhca_check_status(XENVHCA_OP_REG_MR, 1), -EIO);
	assert_int_equal(vhca_check_status(XENVHCA_OP_REG_MR, INT32_MAX), -EIO);
	assert_int_equal(vhca_check_status(XENVHCA_OP_REG_MR, INT32_MIN), -EIO);
	assert_int_equal(vhca_check_status(XENVHCA_OP_REG_MR, -512), -EIO);
	assert_int_equal(vhca_check_status(XENVHCA_OP_REG_MR, -134), -EIO);
	/* "No answer" is what the frontend says, never the backend. */
	assert_int_equal(vhca_check_status(XENVHCA_OP_REG_MR, -EINTR), -EIO);
	assert_int_equal(vhca_check_status(XENVHCA_OP_REG_MR, -ETIMEDOUT), -EIO);
	assert_int_equal(vhca_check_status(XENVHCA_OP_CREATE_QP, -ETIMEDOUT), -EIO);
	assert_int_equal(vhca_check_status(XENVHCA_OP_MODIFY_QP, -EINTR), -EIO);
}

/* Natively a RoCE neighbour that nobody has ends both verbs with ETIMEDOUT. */
static void neighbour_does_not_answer(void **state)
{
	(void)state;
	assert_int_equal(vhca_check_status(XENVHCA_OP_MODIFY_QP, -ETIMEDOUT), -ETIMEDOUT);
	assert_int_equal(vhca_check_status(XENVHCA_OP_CREATE_AH, -ETIMEDOUT), -ETIMEDOUT);
}

static unsigned int events_of(uint8_t type)
{
	struct xenvhca_event ev = { .type = type };
	unsigned int n = 0, i;

	for (i = 0; i < 256; i++) {
		ev.event = (uint8_t)i;
		n += vhca_check_event(&ev);
	}
	return n;
}

static void events(void **state)
{
	struct xenvhca_event fatal = { .type = XENVHCA_EVT_QP, .event = 8 };
	unsigned int type;

	(void)state;
	assert_int_equal(events_of(XENVHCA_EVT_COMP), 1);
	assert_int_equal(events_of(XENVHCA_EVT_CQ), 1);
	assert_int_equal(events_of(XENVHCA_EVT_QP), 8);
	assert_int_equal(events_of(XENVHCA_EVT_SRQ), 2);
	assert_int_equal(events_of(XENVHCA_EVT_PORT), 8);
	assert_int_equal(events_of(XENVHCA_EVT_CM), 1);
	assert_int_equal(events_of(XENVHCA_EVT_UMAD), 1);
	assert_int_equal(events_of(0), 0);
	for (type = XENVHCA_EVT_UMAD + 1; type < 256; type++)
		assert_int_equal(events_of((uint8_t)type), 0);
	assert_false(vhca_check_event(&fatal));	/* only the port's */
	fatal.type = XENVHCA_EVT_PORT;
	assert_true(vhca_check_event(&fatal));
}

static bool info_with(size_t off, char c, size_t n)
{
	struct xenvhca_get_info_rsp info = { .hca = "rxe0", .fw = "1" };

	memset((char *)&info + off, c, n);
	return vhca_check_info(&info);
}

static void texts(void **state)
{
	struct xenvhca_get_info_rsp info = { .hca = "rxe0" };

	(void)state;
	memset(info.hca + 5, 0xff, sizeof(info.hca) - 5);
	assert_true(vhca_check_info(&info));	/* behind the end: cleared */
	assert_int_equal(info.hca[63], 0);
	assert_false(info_with(offsetof(struct xenvhca_get_info_rsp, hca), 'x',
			       XENVHCA_NAME_LEN));
	assert_false(info_with(offsetof(struct xenvhca_get_info_rsp, fw), 'x',
			       32));
	assert_false(info_with(offsetof(struct xenvhca_get_info_rsp, hca),
			       '\n', 1));
	assert_false(info_with(offsetof(struct xenvhca_get_info_rsp, fw),
			       '\033', 1));
	assert_false(info_with(offsetof(struct xenvhca_get_info_rsp, hca),
			       '\377', 1));
	assert_false(info_with(offsetof(struct xenvhca_get_info_rsp, hca_type),
			       'x', 16));
	assert_false(info_with(offsetof(struct xenvhca_get_info_rsp, hw_rev),
			       'x', 16));
	assert_false(info_with(offsetof(struct xenvhca_get_info_rsp, board_id),
			       '\n', 1));
}

static struct xenvhca_query_counter_names_rsp some_names(void)
{
	return (struct xenvhca_query_counter_names_rsp){
		.count = 2, .total = 9, .name = { "rx_Bytes_64", "b" },
	};
}

static bool named(const char *name, size_t n)
{
	struct xenvhca_query_counter_names_rsp r = some_names();

	memset(r.name[1], 0, sizeof(r.name[1]));
	memcpy(r.name[1], name, n);
	return vhca_check_counter_names(&r, 0, 9);
}

/* They become files of sysfs. */
static void names_of_counters(void **state)
{
	const char *const bad[] = { "", ".", "..", "a/b", "a b", "a\n", "a-b",
				    "\377", "lifespan", "vhca_cmds" };
	char whole[XENVHCA_COUNTER_NAME];
	size_t i;

	(void)state;
	assert_true(named("lifespan2", 9));
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(named(bad[i], strlen(bad[i])));
	memset(whole, 'x', sizeof(whole));
	assert_true(named(whole, sizeof(whole) - 1));
	assert_false(named(whole, sizeof(whole)));	/* no end */
}

static void numbers_of_counters(void **state)
{
	struct xenvhca_query_counter_names_rsp n = some_names();
	struct xenvhca_query_counters_rsp v = { .count = 28 };

	(void)state;
	assert_true(vhca_check_counter_names(&n, 7, 9));
	assert_false(vhca_check_counter_names(&n, 8, 9));	/* too many */
	assert_false(vhca_check_counter_names(&n, 10, 9));
	assert_false(vhca_check_counter_names(&n, 0, 8));	/* another total */
	n.total = XENVHCA_MAX_COUNTERS + 1;
	assert_false(vhca_check_counter_names(&n, 0, n.total));
	n.total = 9;
	n.count = XENVHCA_NAMES_PER_RSP + 1;
	assert_false(vhca_check_counter_names(&n, 0, 9));
	n.count = 0;					/* asked for ever */
	assert_false(vhca_check_counter_names(&n, 0, 9));
	n.total = 0;
	assert_true(vhca_check_counter_names(&n, 0, 0));
	assert_true(vhca_check_counters(&v, 36, 64));
	assert_false(vhca_check_counters(&v, 37, 64));
	assert_false(vhca_check_counters(&v, 64, 64));
	v.count = 29;
	assert_false(vhca_check_counters(&v, 0, 64));
	v.count = 0;
	assert_false(vhca_check_counters(&v, 0, 64));
}

static void lists(void **state)
{
	struct xenvhca_mmap_rsp m = { .nr_pages = 100, .count = 48,
				      .kind = XENVHCA_MMAP_GRANT };
	struct xenvhca_query_pkey_table_rsp p = { .count = 100 };

	(void)state;
	assert_true(vhca_check_mmap(&m, 0, 100));
	assert_false(vhca_check_mmap(&m, 53, 100));
	assert_false(vhca_check_mmap(&m, 100, 100));
	assert_false(vhca_check_mmap(&m, ~0u, 100));
	assert_false(vhca_check_mmap(&m, 0, 99));
	m.count = 49;
	assert_false(vhca_check_mmap(&m, 0, 100));
	m.count = 0;
	assert_false(vhca_check_mmap(&m, 0, 100));
	m.count = 1;
	m.kind = 2;
	assert_false(vhca_check_mmap(&m, 0, 100));
	assert_true(vhca_check_pkeys(&p));
	p.count = 101;
	assert_false(vhca_check_pkeys(&p));
	p.count = 0;
	assert_false(vhca_check_pkeys(&p));
}

/* A page table entry is made of it, and the page may be anybody's. */
static void doorbell_pages(void **state)
{
	const struct xenvhca_mmap_rsp good = {
		.nr_pages = 1, .kind = XENVHCA_MMAP_MMIO,
		.prot = XENVHCA_PROT_WC, .frame = (1ull << 40) - 1,
	};
	struct xenvhca_mmap_rsp m = good;
	unsigned int i;

	(void)state;
	assert_true(vhca_check_mmio(&m));
	assert_false(vhca_check_mmap(&m, 0, 1));	/* no references */
	for (i = 0; i < 256; i++) {
		m.kind = (uint8_t)i;
		assert_int_equal(vhca_check_mmio(&m), i == XENVHCA_MMAP_MMIO);
	}
	m = good;
	m.nr_pages = 0;
	assert_false(vhca_check_mmio(&m));
	m.nr_pages = 2;
	assert_false(vhca_check_mmio(&m));
	m.nr_pages = ~0u;
	assert_false(vhca_check_mmio(&m));
	m = good;
	m.count = 1;
	assert_false(vhca_check_mmio(&m));
	m.count = 0xffff;
	assert_false(vhca_check_mmio(&m));
	m = good;
	m.frame = 0;			/* of a translated guest */
	assert_true(vhca_check_mmio(&m));
	for (i = 40; i < 64; i++) {	/* more than an address has */
		m.frame = 1ull << i;
		assert_false(vhca_check_mmio(&m));
		m.frame |= 0xe0100;
		assert_false(vhca_check_mmio(&m));
	}
	m.frame = ~0ull;
	assert_false(vhca_check_mmio(&m));
}

static const struct vhca_mmap *page(uint32_t pgoff)
{
	return vhca_provider_mmap(&vhca_provider_mlx5,
				  (uint64_t)pgoff * XENVHCA_PAGE_SIZE);
}

/* Cached, or combining where stores must not be: never. */
static void doorbell_attributes(void **state)
{
	const struct vhca_mmap *combining = page(0x200), *plain = page(0x300);
	unsigned int i;

	(void)state;
	assert_non_null(combining);
	assert_non_null(plain);
	for (i = 0; i < 256; i++) {
		assert_int_equal(vhca_provider_mmap_prot(plain, (uint8_t)i),
				 i == XENVHCA_PROT_NC);
		assert_int_equal(vhca_provider_mmap_prot(combining, (uint8_t)i),
				 i == XENVHCA_PROT_NC || i == XENVHCA_PROT_WC);
	}
}

static void gids(void **state)
{
	struct xenvhca_query_gid_table_rsp g = { .count = 2, .next = 9 };
	uint32_t end = 0;

	(void)state;
	g.gid[0].index = 3;
	g.gid[1].index = 8;
	assert_true(vhca_check_gids(&g, 3, 1024, &end));
	assert_int_equal(end, 9);
	assert_true(vhca_check_gids(&g, 0, 9, &end));
	assert_false(vhca_check_gids(&g, 4, 1024, &end));  /* before first */
	assert_false(vhca_check_gids(&g, 0, 8, &end));	/* behind the end */
	assert_false(vhca_check_gids(&g, 9, 1024, &end));  /* no progress */
	g.gid[1].index = 3;
	assert_false(vhca_check_gids(&g, 0, 1024, &end));  /* twice */
	g.count = 9;
	assert_false(vhca_check_gids(&g, 0, 1024, &end));
	g.count = ~0u;
	assert_false(vhca_check_gids(&g, 0, 1024, &end));
	g.count = 0;
	g.next = 0;
	assert_true(vhca_check_gids(&g, 7, 16, &end));
	assert_int_equal(end, 16);
	g.next = ~0u;
	assert_true(vhca_check_gids(&g, 7, 16, &end));
	assert_int_equal(end, 16);
}

static void numbers(void **state)
{
	struct xenvhca_qp_attr a = { .qp_state = 6, .cur_qp_state = 6 };

	(void)state;
	assert_true(vhca_check_cqe(127, 100));
	assert_false(vhca_check_cqe(99, 100));
	assert_false(vhca_check_cqe(0x80000000u, 100));
	assert_false(vhca_check_cqe(~0u, 100));
	assert_true(vhca_check_qp(&a));
	a.qp_state = 7;
	assert_false(vhca_check_qp(&a));
	a.qp_state = 0;
	a.cur_qp_state = 255;
	assert_false(vhca_check_qp(&a));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(response_index),
		cmocka_unit_test(other_indices),
		cmocka_unit_test(executed_kicks),
		cmocka_unit_test(responses), cmocka_unit_test(statuses),
		cmocka_unit_test(neighbour_does_not_answer),
		cmocka_unit_test(events), cmocka_unit_test(texts),
		cmocka_unit_test(lists), cmocka_unit_test(doorbell_pages),
		cmocka_unit_test(doorbell_attributes), cmocka_unit_test(gids),
		cmocka_unit_test(names_of_counters),
		cmocka_unit_test(numbers_of_counters),
		cmocka_unit_test(numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
