// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Counters of the port: for whom they are, what is left out, what a query costs.
 */
#include <errno.h>
#include <stdio.h>

#include "clock.h"
#include "tests/fake/fake_priv.h"
#include "tests/fake/guest.h"

#define PORT	XENVHCA_COUNTERS_PORT
#define HW	XENVHCA_COUNTERS_HW

/* Of mlx5, and a few that no guest may be told of. */
static void put_files(unsigned int many)
{
	static const char *const file[][2] = {
		{ "counters/port_xmit_data", "18446744073709551615" },
		{ "counters/symbol_error", "3" },
		{ "counters/port_xmit_wait", "N/A (no PMA)" },
		{ "hw_counters/out_of_buffer", "7" },
		{ "hw_counters/lifespan", "10" },
		{ "hw_counters/vhca_cmds", "1" },
		{ "hw_counters/a-b", "1" },
		{ "hw_counters/abcdefghijklmnopqrstuvwxyz012345", "1" },
	};
	char name[128], text[16];
	unsigned int i;

	for (i = 0; i < sizeof(file) / sizeof(file[0]); i++) {
		snprintf(name, sizeof(name), FAKE_HCA "ports/1/%s", file[i][0]);
		assert_int_equal(fake_sysfs_put(name, file[i][1]), 0);
	}
	for (i = 0; i < many; i++) {
		snprintf(name, sizeof(name),
			 FAKE_HCA "ports/1/hw_counters/n%02u", i);
		snprintf(text, sizeof(text), "%u", 1000 + i);
		assert_int_equal(fake_sysfs_put(name, text), 0);
	}
}

/* As the worker does when the guest connects. */
static void attach(struct guest *g, bool shown, unsigned int many)
{
	be_dev_close(&g->dev);
	put_files(many);
	g->dev.counters_shown = shown;
	assert_int_equal(be_dev_open(&g->dev), 0);
}

static int query(struct guest *g, uint16_t op, uint32_t group, uint32_t first)
{
	g->req.u.counters = (struct xenvhca_counters_req){ group, first };
	return guest_cmd(g, op);
}

static int names(struct guest *g, uint32_t group, uint32_t first)
{
	return query(g, XENVHCA_OP_QUERY_COUNTER_NAMES, group, first);
}

static int values(struct guest *g, uint32_t group, uint32_t first)
{
	return query(g, XENVHCA_OP_QUERY_COUNTERS, group, first);
}

static void are_not_for_everybody(void **state)
{
	struct guest *g = *state;

	attach(g, false, 0);
	assert_int_equal(guest_cmd(g, XENVHCA_OP_GET_INFO), 0);
	assert_int_equal(g->rsp.u.get_info.flags & XENVHCA_INFO_COUNTERS, 0);
	assert_int_equal(names(g, PORT, 0), -EOPNOTSUPP);
	assert_int_equal(values(g, HW, 0), -EOPNOTSUPP);
}

static void are_told_by_name(void **state)
{
	struct guest *g = *state;
	const struct xenvhca_query_counter_names_rsp *n =
		&g->rsp.u.query_counter_names;

	attach(g, true, 0);
	assert_int_equal(guest_cmd(g, XENVHCA_OP_GET_INFO), 0);
	assert_true(g->rsp.u.get_info.flags & XENVHCA_INFO_COUNTERS);
	assert_int_equal(names(g, PORT, 0), 0);
	assert_int_equal(n->count, 3);
	assert_int_equal(n->total, 3);
	assert_string_equal(n->name[0], "port_xmit_data");
	assert_string_equal(n->name[1], "port_xmit_wait");
	assert_string_equal(n->name[2], "symbol_error");
	assert_int_equal(names(g, HW, 0), 0);
	assert_int_equal(n->total, 1);
	assert_string_equal(n->name[0], "out_of_buffer");
	/* an HCA without: Soft-RoCE has no "counters" */
	assert_int_equal(names(g, HW, 1), -EINVAL);
	assert_int_equal(names(g, 2, 0), -EINVAL);
}

static void have_values_that_could_be_read(void **state)
{
	struct guest *g = *state;
	const struct xenvhca_query_counters_rsp *v = &g->rsp.u.query_counters;

	attach(g, true, 0);
	assert_int_equal(values(g, PORT, 0), 0);
	assert_int_equal(v->count, 3);
	assert_int_equal(v->valid, 5);		/* not port_xmit_wait */
	assert_true(v->value[0] == UINT64_MAX);
	assert_true(v->value[1] == 0);
	assert_true(v->value[2] == 3);
	assert_int_equal(values(g, PORT, 2), 0);
	assert_int_equal(v->count, 1);
	assert_true(v->value[0] == 3);
	assert_int_equal(values(g, PORT, 3), -EINVAL);
	assert_int_equal(values(g, UINT32_MAX, UINT32_MAX), -EINVAL);
}

/* More than an answer holds: 7 names, 28 values; 64 of a group at most. */
static void come_in_parts(void **state)
{
	struct guest *g = *state;
	uint32_t first = 0, total;

	attach(g, true, 70);
	assert_int_equal(names(g, HW, 0), 0);
	total = g->rsp.u.query_counter_names.total;
	assert_int_equal(total, XENVHCA_MAX_COUNTERS);
	while (first < total) {
		assert_int_equal(names(g, HW, first), 0);
		assert_in_range(g->rsp.u.query_counter_names.count, 1, 7);
		first += g->rsp.u.query_counter_names.count;
	}
	assert_int_equal(first, total);
	for (first = 0; first < total;
	     first += g->rsp.u.query_counters.count) {
		assert_int_equal(values(g, HW, first), 0);
		assert_in_range(g->rsp.u.query_counters.count, 1, 28);
	}
	assert_int_equal(first, total);
}

/* A value is a file, which costs the HCA as much as a command. */
static void cost_what_they_cost(void **state)
{
	struct guest *g = *state;
	struct vl_bucket *b = &g->dev.quota.cmd;

	attach(g, true, 20);
	/* holds nothing, however much time passes */
	*b = (struct vl_bucket){ .rate = 1000, .depth_ns = 1 };
	assert_int_equal(names(g, HW, 0), 0);
	assert_true(b->tokens_ns >= 0);
	assert_int_equal(values(g, HW, 0), 0);
	assert_int_equal(g->rsp.u.query_counters.count, 21);
	assert_in_range(-b->tokens_ns, 20 * VL_MSEC_NS, 21 * VL_MSEC_NS);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, guest_setup, guest_teardown)
	const struct CMUnitTest tests[] = {
		T(are_not_for_everybody),
		T(are_told_by_name),
		T(have_values_that_could_be_read),
		T(come_in_parts),
		T(cost_what_they_cost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
