// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Turns of the doorbell agent: what a pass writes before it does or says anything,
 * and that a flood of requests does not hold others up.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include <xen/io/vhcaif.h>
#include "clock.h"
#include "tests/fake/fake_agent.h"
#include "tests/fake/fake_xs.h"
#include "vhca-agent.h"

static void slow_agent(void)
{
	dba_agent_stop(&host.a);
	host.a.rate = 1;
	assert_int_equal(dba_agent_start(&host.a), 0);
	host_turn();
}

/* A list of as many as may be, with numbers behind *n. How many had an answer? */
static unsigned int flood(unsigned int *n)
{
	unsigned int i, answered = 0;
	char text[1024];
	size_t len = 0;

	for (i = 0; i < XENVHCA_DOORBELL_BATCH; i++)
		len += (size_t)sprintf(text + len, "%s%u %u map 0x1000 0x100000 0x1",
				       i ? ";" : "", ++*n, i);
	host_list(text);
	for (i = 0; i < XENVHCA_DOORBELL_BATCH; i++)
		answered += host_listed_in(DB, *n - i)[0] != '\0';
	return answered;
}

static void a_flood_is_the_floods_own(void **state)
{
	unsigned int n = 0, i, k;

	(void)state;
	host_second_guest();
	slow_agent();
	for (i = 0; i < 3; i++) {
		for (k = 0; k < 20; k++)
			flood(&n);
		assert_string_equal(host_ask_in(DB6, i, "unmap"), "unmapped");
	}
	assert_string_equal(host_ask_in(DB6, 3, "map 0xe0100 0x0 0x1"), "mapped");
	assert_string_equal(host_listed_in(DB, n), "");
	assert_int_equal(host.mapped6, 1);
}

static void a_flood_waits(void **state)
{
	unsigned int n = 0, answered = 0;

	(void)state;
	slow_agent();
	while (n < 2 * DBA_BURST)
		answered += flood(&n);
	assert_true(answered > DBA_BURST / 2 && answered <= DBA_BURST);
	assert_true(host.a.wake_ns > vl_now_ns());
}

/* On file before the first hypercall (fake_iomem() looks), and nobody is told
 * before the result is there, too. */
static void a_pass_is_written_as_a_whole(void **state)
{
	unsigned int slot, i;
	char text[64];

	(void)state;
	for (i = 0; i < 2; i++) {
		for (slot = 0; slot < 10; slot++) {
			snprintf(text, sizeof(text), "map 0x%x 0x%x 0x1",
				 0xe0100 + slot, 0x100000 + slot);
			host_request(slot, i ? "unmap" : text);
		}
		host.file.calls = 0;
		host_turn();
		assert_in_range(host.file.calls, 1, 2);
		assert_int_equal(host.file.answered, 0);
		assert_int_equal(host.file.in_transit, 0);
		assert_int_equal(host.file.n, i ? 0 : 10);
		for (slot = 0; slot < 10; slot++)
			assert_string_equal(host_answer(slot),
					    i ? "unmapped" : "mapped");
	}
	host.file.calls = 0;
	host_turn();
	assert_int_equal(host.file.calls, 0);
}

/* A device with many pages goes. */
static void pages_go_back_in_one_write(void **state)
{
	unsigned int slot;
	char text[64];

	(void)state;
	for (slot = 0; slot < 10; slot++) {
		snprintf(text, sizeof(text), "map 0x%x 0x%x 0x1",
			 0xe0100 + slot, 0x100000 + slot);
		assert_string_equal(host_ask(slot, text), "mapped");
	}
	host.file.calls = 0;
	fake_xs_rm(LIBXL);
	host_turn();
	assert_int_equal(host.mapped, 0);
	assert_true(host.file.calls == 1 && !host.file.n);
}

static void what_is_not_on_file_is_not_done(void **state)
{
	(void)state;
	host.file.fail = -ENOSPC;
	host_request(1, "map 0xe0101 0x100001 0x1");
	assert_string_equal(host_ask(0, "map 0xe0100 0x100000 0x1"),
			    "refused agent cannot write its state file");
	assert_string_equal(host_answer(1),
			    "refused agent cannot write its state file");
	assert_true(!host.calls && !host.a.table.n);
	host.file.fail = 0;
	assert_string_equal(host_ask(0, "map 0xe0100 0x100000 0x1"), "mapped");
}

/* Reconnects of a PV guest hold more and more. */
static void a_guest_has_so_many_pages(void **state)
{
	struct dba_map held = { .guest = 6, .devid = 3, .backend = 1, .nr = 1,
				.mfn = 0xe0800, .held = true, .uuid = { 1 } };

	(void)state;
	host_second_guest();
	for (; held.mfn < 0xe0800 + 2048; held.mfn++)
		assert_non_null(dba_map_insert(&host.a.table, &held));
	assert_string_equal(host_ask_in(DB6, 0, "map 0xe0100 0x0 0x1"),
			    "refused the guest has all pages that one may have, mapped or held until it ends");
	assert_string_equal(host_ask_in(DB6, 1, "map 0xe0800 0x0 0x1"), "mapped");
	assert_string_equal(host_ask(0, "map 0xe0100 0x100000 0x1"), "mapped");
}

/*
 * Both guests ask, and something comes in the turn of the first one that is served,
 * which is 6. Is there more to do?
 */
static bool comes_in_a_turn(void (*come)(void))
{
	host_request_in(DB6, 0, "map 0x1000 0x0 0x1");
	host_request(0, "map 0x1000 0x100000 0x1");
	host_pass(come, 1);
	return host.a.wake_ns && host.a.wake_ns <= vl_now_ns();
}

static void the_device_goes(void)
{
	fake_xs_rm(LIBXL);
}

static void guest_6_asks(void)
{
	fake_xs_set(DB6 "/requests", "1000 1 unmap");
}

/* Its event was taken in the turn: nothing else would wake the agent. */
static void what_comes_in_a_turn_is_looked_at(void **state)
{
	(void)state;
	host_second_guest();
	assert_true(comes_in_a_turn(guest_6_asks));
	dba_agent_work(&host.a);
	assert_string_equal(host_listed_in(DB6, 1000), "unmapped");
	host_turn();

	assert_string_equal(host_ask(5, "map 0xe0100 0x100000 0x1"), "mapped");
	assert_true(comes_in_a_turn(the_device_goes));
	dba_agent_work(&host.a);
	assert_int_equal(host.mapped, 0);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, host_setup, host_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_flood_is_the_floods_own),
		TEST(a_flood_waits),
		TEST(a_pass_is_written_as_a_whole),
		TEST(pages_go_back_in_one_write),
		TEST(what_is_not_on_file_is_not_done),
		TEST(a_guest_has_so_many_pages),
		TEST(what_comes_in_a_turn_is_looked_at),
	};

	return cmocka_run_group_tests(tests, host_make_sysfs,
				      host_remove_sysfs);
}
