// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Queue memory in user pages, as most hardware HCAs have it: addresses in the
 * udata become addresses of mapped guest pages. With a table made up here; the
 * kernel is still the fake Soft-RoCE, which ignores what it does not know.
 */
#include <errno.h>

#include "tests/fake/guest.h"

#define VA_BUF	0x7f0012345678ull
#define VA_DB	0x7f00deadb040ull

struct cq_in { uint64_t buf, db, flags; };

/* From VA_BUF on these are three pages. */
static int cq_length(const struct xenvhca_request *req, uint64_t *len)
{
	return vhca_len_mul(req->u.create_cq.cqe + 1, 512, len);
}

static const struct vhca_udata_op ops[] = {
	{
		.op = XENVHCA_OP_CREATE_CQ, .in_min = 24, .in_max = 24,
		.out_min = 16, .out_max = 16,
		.req = {
			{ .kind = VHCA_BUF, .len = 8, .off = 0,
			  .length = cq_length },
			{ .kind = VHCA_DBPAGE, .len = 8, .off = 8, .arg = 8 },
			{ .kind = VHCA_MASK, .len = 8, .off = 16, .arg = 6 },
		},
		.rsp = {
			{ .kind = VHCA_MASK, .len = 4, .off = 12,
			  .arg = 0xff },
		},
	},
	{ .op = 0 },
};

static const struct vhca_provider hw = { .name = "hw", .ops = ops };

static int setup(void **state)
{
	struct guest *g;
	int r = guest_setup(state);

	g = *state;
	g->uc = guest_alloc_uc(g);
	be_dev_provider(&g->dev, &hw);
	return r;
}

static void fill(struct guest *g, uint64_t db, uint32_t page)
{
	struct cq_in in = { VA_BUF, db, 0x0f };

	g->req.u.create_cq.cqe = 15;
	guest_pages(g, &g->req.u.create_cq.buf, 10, 3, 0, 0);
	guest_pages(g, &g->req.u.create_cq.db, page, 1, 0, 0);
	memcpy(g->req.udata, &in, sizeof(in));
	g->req.in_len = sizeof(in);
	g->req.out_len = 16;
}

static struct cq_in seen(void)
{
	struct cq_in in;
	size_t len;
	const void *p = fake_last_in(&len);

	assert_int_equal(len, sizeof(in));
	memcpy(&in, p, sizeof(in));
	return in;
}

static void addresses_lead_to_guest_pages(void **state)
{
	struct guest *g = *state;
	struct cq_in in;

	strcpy((char *)loop_page(g->loop, 10) + 0x678, "queue");
	strcpy((char *)loop_page(g->loop, 20) + 0x40, "record");
	fill(g, VA_DB, 20);
	assert_int_equal(guest_cmd(g, XENVHCA_OP_CREATE_CQ), 0);
	in = seen();
	assert_string_equal((char *)(uintptr_t)in.buf, "queue");
	assert_string_equal((char *)(uintptr_t)in.db, "record");
	assert_int_equal(in.flags, 0x09);
	assert_int_equal(g->dev.quota.used_pages, 4);
	assert_int_equal(guest_handle(g, XENVHCA_OP_DESTROY_CQ,
				      g->rsp.u.cq.handle), 0);
	assert_int_equal(loop_mapped(g->loop), 0);
}

/* One guest page keeps one address as long as anything uses it. */
static void a_doorbell_page_is_shared(void **state)
{
	struct guest *g = *state;
	struct cq_in first, second;
	uint32_t cq[2];

	fill(g, VA_DB, 20);
	assert_int_equal(guest_cmd(g, XENVHCA_OP_CREATE_CQ), 0);
	cq[0] = g->rsp.u.cq.handle;
	first = seen();
	fill(g, VA_DB + 64, 20);
	assert_int_equal(guest_cmd(g, XENVHCA_OP_CREATE_CQ), 0);
	cq[1] = g->rsp.u.cq.handle;
	second = seen();
	assert_int_equal(second.db, first.db + 64);
	assert_int_equal(loop_mapped(g->loop), 3 + 3 + 1);
	assert_int_equal(guest_handle(g, XENVHCA_OP_DESTROY_CQ, cq[0]), 0);
	assert_int_equal(loop_mapped(g->loop), 3 + 1);
	fill(g, VA_DB + 4096, 21);
	assert_int_equal(guest_cmd(g, XENVHCA_OP_CREATE_CQ), 0);
	assert_int_equal(loop_mapped(g->loop), 3 + 1 + 3 + 1);
	assert_int_equal(guest_handle(g, XENVHCA_OP_DESTROY_CQ, cq[1]), 0);
	assert_int_equal(loop_mapped(g->loop), 3 + 1);
}

/* As of a process that has mapped something else there, or of a child with the same file. */
static void another_page_at_the_same_address_is_another(void **state)
{
	struct guest *g = *state;
	uint32_t cq[2];
	struct cq_in in;

	strcpy((char *)loop_page(g->loop, 20) + 0x40, "old");
	strcpy((char *)loop_page(g->loop, 21) + 0x40, "new");
	fill(g, VA_DB, 20);
	assert_int_equal(guest_cmd(g, XENVHCA_OP_CREATE_CQ), 0);
	cq[0] = g->rsp.u.cq.handle;
	fill(g, VA_DB, 21);
	assert_int_equal(guest_cmd(g, XENVHCA_OP_CREATE_CQ), 0);
	cq[1] = g->rsp.u.cq.handle;
	in = seen();
	assert_string_equal((char *)(uintptr_t)in.db, "new");
	/* Its own grant ends with it, whatever else lives. */
	assert_int_equal(guest_handle(g, XENVHCA_OP_DESTROY_CQ, cq[0]), 0);
	assert_int_equal(loop_mapped(g->loop), 3 + 1);
	assert_string_equal((char *)(uintptr_t)in.db, "new");
	assert_int_equal(guest_handle(g, XENVHCA_OP_DESTROY_CQ, cq[1]), 0);
	assert_int_equal(loop_mapped(g->loop), 0);
}

static void refuse(struct guest *g, int err)
{
	assert_int_equal(guest_cmd(g, XENVHCA_OP_CREATE_CQ), err);
	assert_int_equal(loop_mapped(g->loop), 0);
	assert_int_equal(g->dev.quota.used_pages, 0);
	assert_int_equal(g->dev.quota.used[BE_CQ], 0);
}

static void refuses_lists_that_do_not_fit(void **state)
{
	struct guest *g = *state;

	fill(g, VA_DB, 20);
	memset(&g->req.u.create_cq.buf, 0, sizeof(g->req.u.create_cq.buf));
	refuse(g, -EINVAL);
	fill(g, VA_DB, 20);
	memset(&g->req.u.create_cq.db, 0, sizeof(g->req.u.create_cq.db));
	refuse(g, -EINVAL);
	fill(g, VA_DB, 20);		/* a record lies in one page */
	guest_pages(g, &g->req.u.create_cq.db, 20, 2, 0, 0);
	refuse(g, -EINVAL);
	fill(g, VA_DB, 20);
	fake_fail(18 /* CREATE_CQ */, 1, EFAULT);
	refuse(g, -EFAULT);
	fill(g, VA_DB, 20);
	loop_fail_map(g->loop, 2, -ENOSPC);	/* the doorbell page */
	refuse(g, -ENOSPC);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, guest_teardown)
	const struct CMUnitTest tests[] = {
		T(addresses_lead_to_guest_pages),
		T(a_doorbell_page_is_shared),
		T(another_page_at_the_same_address_is_another),
		T(refuses_lists_that_do_not_fit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
