// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * What be_dispatch() refuses before a handler runs, and the answers to the
 * queries.
 */
#include <errno.h>
#include <sys/utsname.h>

#include "tests/fake/guest.h"
#include "uverbs/sysfs.h"

static const uint16_t ops[] = {
	XENVHCA_OP_GET_INFO, XENVHCA_OP_QUERY_DEVICE, XENVHCA_OP_QUERY_PORT,
	XENVHCA_OP_QUERY_GID_TABLE, XENVHCA_OP_QUERY_PKEY_TABLE,
	XENVHCA_OP_QUERY_COUNTER_NAMES, XENVHCA_OP_QUERY_COUNTERS,
	XENVHCA_OP_ALLOC_UCONTEXT, XENVHCA_OP_DEALLOC_UCONTEXT,
	XENVHCA_OP_MMAP, XENVHCA_OP_MUNMAP, XENVHCA_OP_ALLOC_PD,
	XENVHCA_OP_DEALLOC_PD, XENVHCA_OP_REG_MR, XENVHCA_OP_REREG_MR,
	XENVHCA_OP_DEREG_MR, XENVHCA_OP_ALLOC_MW, XENVHCA_OP_DEALLOC_MW,
	XENVHCA_OP_CREATE_CQ, XENVHCA_OP_RESIZE_CQ, XENVHCA_OP_DESTROY_CQ,
	XENVHCA_OP_MODIFY_CQ,
	XENVHCA_OP_CREATE_QP, XENVHCA_OP_MODIFY_QP, XENVHCA_OP_QUERY_QP,
	XENVHCA_OP_DESTROY_QP, XENVHCA_OP_CREATE_SRQ, XENVHCA_OP_MODIFY_SRQ,
	XENVHCA_OP_QUERY_SRQ, XENVHCA_OP_DESTROY_SRQ, XENVHCA_OP_CREATE_AH,
	XENVHCA_OP_DESTROY_AH, XENVHCA_OP_ATTACH_MCAST,
	XENVHCA_OP_DETACH_MCAST, XENVHCA_OP_ALLOC_XRCD,
	XENVHCA_OP_DEALLOC_XRCD, XENVHCA_OP_ALLOC_CM, XENVHCA_OP_DEALLOC_CM,
};
#define NR_OPS (sizeof(ops) / sizeof(ops[0]))

static bool known(uint32_t op)
{
	size_t i;

	for (i = 0; i < NR_OPS; i++)
		if (ops[i] == op)
			return true;
	/* test_cm.c, test_umad.c */
	return op == XENVHCA_OP_CM_COMMAND ||
	       (op >= XENVHCA_OP_ALLOC_UMAD && op <= XENVHCA_OP_RECV_UMAD);
}

static void refuses_unknown_operations(void **state)
{
	struct guest *g = *state;
	uint32_t op;

	for (op = 0; op <= UINT16_MAX; op++)
		if (!known(op))
			assert_int_equal(guest_cmd(g, (uint16_t)op),
					 -EOPNOTSUPP);
}

static void refuses_a_surplus_of_octets(void **state)
{
	struct guest *g = *state;
	size_t i;

	guest_open(g);
	for (i = 0; i < NR_OPS; i++) {
		g->req.u.raw[XENVHCA_BODY_SIZE - 1] = 1;
		assert_int_equal(guest_cmd(g, ops[i]), -EINVAL);
		g->req.udata[0] = 1;	/* in_len is 0 */
		assert_int_equal(guest_cmd(g, ops[i]), -EINVAL);
		g->req.flags = 2;
		assert_int_equal(guest_cmd(g, ops[i]), -EINVAL);
	}
	guest_close(g);
}

static void refuses_udata_outside_of_the_table(void **state)
{
	static const uint16_t lens[] = { 1, 7, 9, 255, 256, 257, UINT16_MAX };
	struct guest *g = *state;
	size_t i, j;

	guest_open(g);
	for (i = 0; i < NR_OPS; i++) {
		for (j = 0; j < sizeof(lens) / sizeof(lens[0]); j++) {
			g->req.in_len = lens[j];
			assert_int_equal(guest_cmd(g, ops[i]), -EINVAL);
		}
		g->req.out_len = UINT16_MAX;
		assert_int_equal(guest_cmd(g, ops[i]), -EINVAL);
		g->req.out_len = 257;
		assert_int_equal(guest_cmd(g, ops[i]), -EINVAL);
	}
	guest_close(g);
}

static void refuses_foreign_contexts(void **state)
{
	struct guest *g = *state;
	uint32_t uc2;
	size_t i;

	guest_open(g);
	for (i = 0; i < NR_OPS; i++) {
		g->req.ucontext = g->pd;	/* a handle, but no context */
		assert_int_not_equal(guest_cmd(g, ops[i]), 0);
	}
	uc2 = guest_alloc_uc(g);
	g->req.ucontext = uc2;		/* the PD is the first context's */
	assert_int_equal(guest_handle(g, XENVHCA_OP_DEALLOC_PD, g->pd),
			 -ENOENT);
	g->req.ucontext = uc2;
	g->req.u.create_qp.pd = g->pd;
	g->req.u.create_qp.qp_type = 2;
	g->req.out_len = 32;
	assert_int_equal(guest_cmd(g, XENVHCA_OP_CREATE_QP), -ENOENT);
	assert_int_equal(fake_live(FAKE_PD), 1);
}

static void an_error_carries_nothing(void **state)
{
	struct guest *g = *state;
	struct xenvhca_response zero = {};

	guest_open(g);
	g->req.u.reg_mr.pd = 0x12345;
	assert_int_not_equal(guest_cmd(g, XENVHCA_OP_REG_MR), 0);
	assert_memory_equal(&g->rsp.u, &zero.u, sizeof(zero.u));
	assert_memory_equal(g->rsp.udata, zero.udata, sizeof(zero.udata));
	assert_int_equal(g->rsp.out_len, 0);
	assert_true(g->dev.stats.cmd_errors > 0);
}

static void translates_errors(void **state)
{
	static const struct { int host, wire; } t[] = {
		{ EINVAL, -EINVAL }, { EFAULT, -EFAULT }, { EBUSY, -EBUSY },
		{ EOPNOTSUPP, -EOPNOTSUPP }, { EDQUOT, -ENOMEM },
		{ EPROTO, -EIO }, { 12345, -EIO }, { ENODEV, -ENODEV },
	};
	struct guest *g = *state;
	size_t i;

	guest_open(g);
	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		fake_fail(3 /* ALLOC_PD */, 1, t[i].host);
		assert_int_equal(guest_cmd(g, XENVHCA_OP_ALLOC_PD),
				 t[i].wire);
	}
	assert_int_equal(g->dev.quota.used[BE_PD], 1);
}

static void keeps_quotas(void **state)
{
	struct guest *g = *state;

	g->dev.quota.max[BE_PD] = 3;
	guest_open(g);
	guest_alloc_pd(g);
	guest_alloc_pd(g);
	assert_int_equal(guest_cmd(g, XENVHCA_OP_ALLOC_PD), -ENOMEM);
	assert_int_equal(guest_handle(g, XENVHCA_OP_DEALLOC_PD,
				      guest_alloc_uc(g)), -ENOENT);
	g->dev.quota.max[BE_UCONTEXT] = 2;
	assert_int_equal(guest_cmd(g, XENVHCA_OP_ALLOC_UCONTEXT), -ENOMEM);
}

static void answers_queries(void **state)
{
	struct guest *g = *state;
	struct xenvhca_get_info_rsp *info = &g->rsp.u.get_info;
	struct xenvhca_query_device_rsp *q = &g->rsp.u.query_device;
	struct utsname kernel;

	assert_int_equal(uname(&kernel), 0);
	g->dev.quota.max[BE_QP] = 7;
	assert_int_equal(guest_cmd(g, XENVHCA_OP_GET_INFO), 0);
	assert_int_equal(info->driver_id, 14);
	assert_int_equal(info->node_type, 1);
	assert_int_equal(info->kicks, 3);
	assert_int_equal(info->num_comp_vectors, 2);
	assert_true(info->flags & XENVHCA_INFO_CM);
	assert_int_equal(info->flags & ~XENVHCA_INFO_CM,
			 be_pins_readonly(kernel.release) ?
			 XENVHCA_INFO_READONLY : 0);
	assert_string_equal(info->hca, "rxe0");
	assert_string_equal(info->fw, "1.2.3");
	assert_int_equal(guest_cmd(g, XENVHCA_OP_QUERY_DEVICE), 0);
	assert_int_equal(q->max_qp, 7);
	assert_int_equal(q->max_mr_size, g->dev.quota.max_pages * 4096);
	assert_int_equal(q->device_cap_flags, 0);	/* no XRC, no windows, ... */
	g->dev.trusted = true;
	assert_int_equal(guest_cmd(g, XENVHCA_OP_QUERY_DEVICE), 0);
	assert_int_equal(q->device_cap_flags, 1 << 17);	/* windows */
	assert_int_equal(guest_cmd(g, XENVHCA_OP_QUERY_PORT), 0);
	assert_int_equal(g->rsp.u.query_port.state, 4);
	assert_int_equal(g->rsp.u.query_port.ip_gids, 1);
	assert_int_equal(g->rsp.u.query_port.port_cap_flags, 1 << 16);
	g->dev.ethernet = false;	/* there the bit is a capability */
	fake_hca.infiniband = true;
	assert_int_equal(guest_cmd(g, XENVHCA_OP_QUERY_PORT), 0);
	assert_int_equal(g->rsp.u.query_port.ip_gids, 0);
	assert_int_equal(g->rsp.u.query_port.port_cap_flags, 0x06414848);
	assert_int_equal(guest_cmd(g, XENVHCA_OP_QUERY_PKEY_TABLE), 0);
	assert_int_equal(g->rsp.u.query_pkey_table.count, 1);
	assert_int_equal(g->rsp.u.query_pkey_table.pkey[0], 0xffff);
}

/* The fake has 24 entries, every second one empty; one system call each. */
static void walks_the_gid_table(void **state)
{
	struct guest *g = *state;
	struct xenvhca_query_gid_table_rsp *r = &g->rsp.u.query_gid_table;
	uint32_t first = 0, seen = 0, calls = 0, i;

	do {
		g->req.u.query_gid_table.first = first;
		assert_int_equal(guest_cmd(g, XENVHCA_OP_QUERY_GID_TABLE), 0);
		assert_in_range(r->count, 1, XENVHCA_GIDS_PER_RSP);
		assert_int_equal(fake_ioctls(), ++calls);
		for (i = 0; i < r->count; i++, seen++) {
			assert_int_equal(r->gid[i].index, seen * 2);
			assert_int_equal(r->gid[i].type, seen % 2 ? 2 : 1);
			assert_int_equal(r->gid[i].gid[0], 0xfe);
			assert_int_equal(r->gid[i].gid[15], 1);
		}
		first = r->next;
	} while (first);
	assert_int_equal(seen, 12);
	g->req.u.query_gid_table.first = 24;
	assert_int_equal(guest_cmd(g, XENVHCA_OP_QUERY_GID_TABLE), -EINVAL);
}

static void knows_what_destroys(void **state)
{
	(void)state;
	assert_true(be_op_destroys(XENVHCA_OP_DEREG_MR));
	assert_true(be_op_destroys(XENVHCA_OP_MUNMAP));
	assert_true(be_op_destroys(XENVHCA_OP_DEALLOC_UCONTEXT));
	assert_false(be_op_destroys(XENVHCA_OP_REG_MR));
	assert_false(be_op_destroys(0xffff));
}

static void open_with(const char *hca, uint32_t driver, uint32_t abi,
		      uint8_t port, int err)
{
	struct be_dev dev;

	assert_int_equal(be_dev_init(&dev, 1, 0), 0);
	strcpy(dev.hca, hca);
	dev.port = port;
	fake_hca.driver_id = driver;
	fake_hca.abi = abi;
	assert_int_equal(be_dev_open(&dev), err);
	be_dev_close(&dev);
	be_dev_fini(&dev);
}

static void opens_only_what_it_knows(void **state)
{
	(void)state;
	assert_int_equal(fake_install(), 0);
	open_with("rxe0", 14, 2, 1, 0);
	open_with("rxe1", 14, 2, 1, -ENODEV);
	open_with("../rxe0", 14, 2, 1, -EINVAL);
	open_with("", 14, 2, 1, -EINVAL);
	open_with("rxe0", 5, 1, 1, -EOPNOTSUPP);
	open_with("rxe0", 14, 3, 1, -EOPNOTSUPP);
	open_with("rxe0", 14, 2, 2, -EINVAL);
	open_with("rxe0", 14, 2, 0, -EINVAL);
	fake_fail_open(EACCES);
	open_with("rxe0", 14, 2, 1, -EACCES);
	fake_fail(2 /* QUERY_PORT */, 1, EIO);
	open_with("rxe0", 14, 2, 1, -EIO);
	assert_int_equal(fake_files(), 0);
	fake_remove();
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, guest_setup, guest_teardown)
	const struct CMUnitTest tests[] = {
		T(refuses_unknown_operations),
		T(refuses_a_surplus_of_octets),
		T(refuses_udata_outside_of_the_table),
		T(refuses_foreign_contexts),
		T(an_error_carries_nothing),
		T(translates_errors),
		T(keeps_quotas),
		T(answers_queries),
		T(walks_the_gid_table),
		cmocka_unit_test(knows_what_destroys),
		cmocka_unit_test(opens_only_what_it_knows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
