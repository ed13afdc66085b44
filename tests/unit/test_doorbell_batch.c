// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Lists of requests to the doorbell agent: what a backend gets for them, hostile
 * ones, what an end of either side leaves, and what they cost.
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
#include "tools/doorbelld/request.h"
#include "vhca-agent.h"
#include "vhca-keys.h"
#include "vhca-provider.h"

#define NOT_UNDERSTOOD	"0 refused request not understood"

/* Maps of n pages from slot and page first on, with numbers from number on. */
static char *maps_of(char *text, unsigned int number, unsigned int first,
		     unsigned int n, bool pv)
{
	size_t len = 0;
	unsigned int i;

	text[0] = '\0';
	for (i = first; i < first + n; i++)
		len += (size_t)sprintf(text + len, "%s%u %u map 0x%x 0x%x 0x1",
				       len ? ";" : "", number++, i,
				       0xe0100 + i, pv ? 0 : 0x100000 + i);
	return text;
}

static char *maps(char *text, unsigned int number, unsigned int first,
		  unsigned int n)
{
	return maps_of(text, number, first, n, false);
}

static void a_list_is_answered(void **state)
{
	(void)state;
	assert_string_equal(host_list("1 3 map 0xe0100 0x100000 0x1;2 4 map 0x1000 0x100001 0x1;7 5 unmap"),
			    "1 mapped;2 refused not in a BAR of the HCA;7 unmapped");
	assert_int_equal(host.mapped, 1);
	/* what is not asked any more is not answered any more */
	assert_string_equal(host_list("7 5 unmap;8 3 unmap"),
			    "7 unmapped;8 unmapped");
	assert_int_equal(host.mapped, 0);
	assert_string_equal(host_list("9 8191 map 0xe0100 0x100000 0x1;10 8192 map 0xe0101 0x100001 0x1;11 x unmap;12 03 unmap;13 4 hello;14 all map 0xe0101 0x100001 0x1;15 4  unmap"),
			    "9 mapped;10 refused no such slot;11 refused no such slot;12 refused no such slot;13 refused request not understood;14 refused request not understood;15 refused request not understood");
	assert_int_equal(host.mapped, 1);
	assert_string_equal(host_list(""), "9 mapped;10 refused no such slot;11 refused no such slot;12 refused no such slot;13 refused request not understood;14 refused request not understood;15 refused request not understood");
}

/* The reason would be another one by now. */
static void an_answered_request_is_done(void **state)
{
	static const char list[] =
		"1 0 map 0xe0100 0x100000 0x1;2 1 map 0xe0100 0x100001 0x1";
	static const char answers[] =
		"1 mapped;2 refused mapped into this guest already";
	int before;

	(void)state;
	assert_string_equal(host_list(list), answers);
	before = host.calls;
	assert_string_equal(host_list("1 0 map 0xe0100 0x100000 0x1;2 1 map 0xe0100 0x100001 0x1;3 0 unmap"),
			    "1 mapped;2 refused mapped into this guest already;3 unmapped");
	assert_int_equal(host.calls, before + 3);
	/* nor by an agent that was started anew */
	dba_agent_stop(&host.a);
	assert_int_equal(dba_agent_start(&host.a), 0);
	before = host.calls;
	host_turn();
	assert_int_equal(host.calls, before);
	assert_int_equal(host.mapped, 0);
}

/* It ended between doing and saying. */
static void a_lost_answer_is_said_again(void **state)
{
	int before;

	(void)state;
	host_list("1 0 map 0xe0100 0x100000 0x1;2 1 unmap");
	before = host.calls;
	dba_agent_stop(&host.a);
	fake_xs_rm(DB "/answers");
	assert_int_equal(dba_agent_start(&host.a), 0);
	host_turn();
	assert_string_equal(fake_xs_get(DB "/answers"), "1 mapped;2 unmapped");
	assert_int_equal(host.calls, before);
	/* one that the backend spoilt is its own loss, and no more is done */
	fake_xs_set(DB "/answers", "1 \033[2J");
	assert_string_equal(host_list("1 0 map 0xe0100 0x100000 0x1"), "1 mapped");
	fake_xs_set(DB "/answers", "1 of my own;;x; 1 ;1");
	assert_string_equal(host_list("1 0 map 0xe0100 0x100000 0x1;2 1 unmap"),
			    "1 of my own;2 unmapped");
	assert_int_equal(host.calls, before);
	assert_int_equal(host.mapped, 1);
}

static void lists_that_break_the_rules_are_refused(void **state)
{
	static const char *const bad[] = {
		"1 0 map 0xe0100 0x100000 0x1;1 1 map 0xe0101 0x100001 0x1",
		"2 0 map 0xe0100 0x100000 0x1;1 1 map 0xe0101 0x100001 0x1",
		"0 0 map 0xe0100 0x100000 0x1", "-1 0 unmap", "x 0 unmap",
		"99999999999999999999 0 unmap", "1 0 unmap;", ";1 0 unmap", ";",
		"1", "1 0", "1 ", " ", "1 0 map 0xe0100 0x100000 0x1;2",
		"1 0 map 0xe0100 0x100000 0x1\n", "\033[2J", "unmap",
		"map 0xe0100 0x100000 0x1",
	};
	char text[3000];
	size_t i, len;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_string_equal(host_list(bad[i]), NOT_UNDERSTOOD);
	assert_string_equal(host_list(maps(text, 1, 0, XENVHCA_DOORBELL_BATCH + 1)),
			    NOT_UNDERSTOOD);
	len = strlen(maps(text, 1, 0, 1));
	memset(text + len, '0', sizeof(text) - len - 1);
	text[XENVHCA_DOORBELL_TEXT + 1] = '\0';
	assert_string_equal(host_list(text), NOT_UNDERSTOOD);
	text[XENVHCA_DOORBELL_TEXT] = '\0';	/* no longer than may be */
	assert_string_equal(host_list(text), "1 refused request not understood");
	assert_true(!host.calls && !host.a.table.n);
	/* and the next one is none the worse for it */
	assert_string_equal(host_list("2 0 map 0xe0100 0x100000 0x1"), "2 mapped");
}

/* The longest answers, to the longest numbers. */
static void all_answers_fit(void **state)
{
	char text[XENVHCA_DOORBELL_TEXT + 1];
	struct dba_batch b = { .n = XENVHCA_DOORBELL_BATCH };
	char longest[DBA_ANSWER];
	unsigned int i, r;
	size_t most = 0;

	(void)state;
	for (r = 0; r < DBA_NR_REASONS; r++)
		if (strlen(dba_reason_text(r)) > most) {
			most = strlen(dba_reason_text(r));
			snprintf(longest, sizeof(longest), "refused %s",
				 dba_reason_text(r));
			assert_int_equal(strlen(longest), most + 8);
			assert_null(strchr(longest, ';'));
		}
	for (i = 0; i < b.n; i++) {
		b.e[i].n = 9999999999999999999ull;
		b.e[i].answer = longest;
	}
	dba_batch_text(&b, text);
	assert_int_equal(strlen(text), b.n * (19 + 1 + most + 8 + 1) - 1);
}

/* The map is never done then. */
static void a_list_that_changes_its_mind(void **state)
{
	(void)state;
	assert_string_equal(host_list("1 0 map 0xe0100 0x100000 0x1;2 0 unmap;3 0 map 0xe0101 0x100000 0x1;4 1 map 0xe0102 0x100001 0x1;5 all unmap;6 1 map 0xe0103 0x100001 0x1"),
			    "1 refused slot has no mapping;2 unmapped;3 refused slot has no mapping;4 refused slot has no mapping;5 unmapped;6 mapped");
	assert_int_equal(host.mapped, 1);
	assert_int_equal(host.a.table.n, 1);
	assert_int_equal(host.file.in_transit, 0);
}

static void pages_of_others_are_refused(void **state)
{
	(void)state;
	host_second_guest();
	assert_string_equal(host_list("1 0 map 0xe0100 0x100000 0x1"), "1 mapped");
	assert_string_equal(host_list_in(DB6, "1 0 map 0xe0100 0x0 0x1;2 0 map 0xe0101 0x0 0x1;3 1 map 0xe0101 0x0 0x1"),
			    "1 refused mapped into another guest;2 mapped;3 refused mapped into this guest already");
	/* of the same pass as well */
	assert_string_equal(host_list_in(DB6, "4 all unmap"), "4 unmapped");
	assert_int_equal(host.mapped, 1);
	assert_int_equal(host.mapped6, 0);
	assert_string_equal(host_list("2 1 map 0xe0101 0x100001 0x1"),
			    "2 refused was mapped into another guest that still runs");
}

/* Whatever the backend does with its nodes. */
static void what_is_removed_goes_back(void **state)
{
	char text[1024];

	(void)state;
	host_list(maps(text, 1, 0, 10));
	assert_int_equal(host.mapped, 10);
	fake_xs_rm(DB "/requests");
	host_turn();
	assert_int_equal(host.mapped, 0);
	host_list(maps(text, 20, 0, 10));
	fake_xs_rm(BE);
	host_turn();
	assert_int_equal(host.mapped, 0);
	assert_null(fake_xs_get(DB "/answers"));
	host_list(maps(text, 40, 0, 10));
	fake_xs_rm(LIBXL);
	host_turn();
	assert_int_equal(host.mapped, 0);
	assert_int_equal(host.a.table.n, 0);
}

static void the_device_goes(void)
{
	fake_xs_rm(LIBXL);
	fake_xs_rm(BE);
}

/* An answer does not bring its node back. */
static void a_device_that_goes_in_a_turn(void **state)
{
	(void)state;
	fake_xs_set(DB "/requests", "1 0 map 0xe0100 0x100000 0x1");
	host_pass(the_device_goes, 1);
	assert_null(fake_xs_get(DB "/answers"));
	host_turn();
	assert_int_equal(host.mapped, 0);
	assert_null(fake_xs_get(DB "/answers"));
}

static void the_list_changes(void)
{
	fake_xs_set(DB "/requests", "2 1 unmap;3 0 unmap");
}

/* Read once: what was read is answered, what is there then is looked at. */
static void a_list_that_changes_in_a_turn(void **state)
{
	(void)state;
	fake_xs_set(DB "/requests",
		    "1 0 map 0xe0100 0x100000 0x1;2 1 unmap");
	host_pass(the_list_changes, 1);
	assert_string_equal(fake_xs_get(DB "/answers"), "1 mapped;2 unmapped");
	host_turn();
	assert_string_equal(fake_xs_get(DB "/answers"), "2 unmapped;3 unmapped");
	assert_int_equal(host.mapped, 0);
}

/* What a worker that was killed leaves; those of other devices stay. */
static void a_backend_that_starts_anew(void **state)
{
	char text[1024];

	(void)state;
	host_second_guest();
	host_list(maps(text, 1, 0, 10));
	host_list_in(DB6, "1 0 map 0xe0200 0x0 0x1;2 1 map 0xe0201 0x0 0x1");
	assert_string_equal(host_list("50 all unmap"), "50 unmapped");
	assert_int_equal(host.mapped, 0);
	assert_int_equal(host.mapped6, 2);
	assert_string_equal(host_list_in(DB6, "50 all unmap"), "50 unmapped");
	assert_int_equal(host.mapped6, 0);
	assert_int_equal(host.a.table.of_guest[5], 0);
	assert_int_equal(host.a.table.of_guest[6], 2);	/* held, and charged */
	assert_string_equal(host_list_in(DB6, "51 all unmap;52 0 map 0xe0200 0x0 0x1"),
			    "51 unmapped;52 mapped");
	assert_int_equal(host.a.table.of_guest[6], 2);
}

/* max-ucontext of the toolstack's own node, not of the backend's. */
static void a_guest_has_what_it_is_allowed(void **state)
{
	struct dba_map held = { .guest = 5, .devid = 0, .backend = 1, .nr = 1,
				.mfn = 0xe0800, .held = true, .uuid = { 1 } };

	(void)state;
	fake_xs_set(BE "/max-ucontext", "1024");
	for (; held.mfn < 0xe0800 + 2048; held.mfn++)
		assert_non_null(dba_map_insert(&host.a.table, &held));
	assert_string_equal(host_list("1 0 map 0xe0100 0x100000 0x1"),
			    "1 refused the guest has all pages that one may have, mapped or held until it ends");
	fake_xs_set(LIBXL "/max-ucontext", "257");
	assert_string_equal(host_list("2 0 map 0xe0100 0x100000 0x1"), "2 mapped");
	for (; host.a.table.n < 257 * XENVHCA_UCONTEXT_UARS; held.mfn++)
		assert_non_null(dba_map_insert(&host.a.table, &held));
	assert_string_equal(host_list("3 1 map 0xe0101 0x100001 0x1"),
			    "3 refused the guest has all pages that one may have, mapped or held until it ends");
	fake_xs_set(LIBXL "/max-ucontext", "many");
	assert_string_equal(host_list("4 0 unmap;5 1 map 0xe0101 0x100001 0x1"),
			    "4 unmapped;5 refused the guest has all pages that one may have, mapped or held until it ends");
}

static unsigned int dice(unsigned int sides)
{
	static uint32_t x = 1;

	x = x * 1664525 + 1013904223;
	return (x >> 8) % sides;
}

/* Lists of anything, by both guests, in one pass or not: what is mapped is in the
 * table, and nobody has a page of somebody else. */
static void lists_of_anything(void **state)
{
	static const char *const word[] = {
		"map 0xe0100 0x100000 0x1", "map 0xe0101 0x100001 0x1",
		"map 0xe0100 0x0 0x1", "map 0xe0101 0x0 0x1", "unmap", "unmap",
		"map 0x1 0x1 0x1", "", " ", "x", "map 0xe0100 0x100000 0x1 ",
	};
	static const char *const slots[] = { "0", "1", "2", "all", "8192", "" };
	const struct dba_map *m, *o;
	unsigned int i, k, n = 1;
	char text[2048];

	(void)state;
	host_second_guest();
	for (i = 0; i < 20000; i++) {
		int live[2] = { 0 };
		size_t len = 0;

		for (k = dice(18); k; k--) {
			n += dice(20) != 0;
			len += (size_t)sprintf(text + len, "%u %s %s%s", n,
					       slots[dice(6)], word[dice(11)],
					       k > 1 ? ";" : "");
		}
		text[len] = '\0';
		if (dice(50) == 0)
			fake_xs_rm(dice(2) ? DB "/requests" : DB6 "/answers");
		fake_xs_set(dice(2) ? DB "/requests" : DB6 "/requests", text);
		if (dice(2))
			host_turn();
		for (m = host.a.table.maps; m; m = m->next) {
			live[m->guest == 6] += !m->held;
			assert_true(!m->noted && !m->transit);
			for (o = m->next; o; o = o->next)
				assert_true(o->mfn != m->mfn);
		}
		assert_int_equal(host.mapped, live[0]);
		assert_int_equal(host.mapped6, live[1]);
	}
}

/* A hostile list is as dear as the requests in it, and a rewritten one as one. */
static void lists_have_a_rate(void **state)
{
	unsigned int i, read = 0;
	char text[1024];

	(void)state;
	dba_agent_stop(&host.a);
	host.a.rate = 1;
	assert_int_equal(dba_agent_start(&host.a), 0);
	host_turn();
	for (i = 1; i < 2 * DBA_BURST; i++) {
		snprintf(text, sizeof(text), "%u 0 unmap", i);
		read += strlen(host_list(text)) &&
			host_listed_in(DB, i)[0];
	}
	assert_in_range(read, DBA_BURST / 2, DBA_BURST);
	assert_true(host.a.wake_ns > vl_now_ns());
	host_second_guest();
	assert_string_equal(host_list_in(DB6, "1 0 unmap"), "1 unmapped");
}

/* Requests to xenstored for lists of that many pages, by the agent. */
static unsigned int cost(unsigned int number, unsigned int first, unsigned int n)
{
	unsigned int before = fake_xs_requests();
	char text[1024];

	assert_non_null(strstr(host_list(maps(text, number, first, n)), "mapped"));
	return fake_xs_requests() - before;
}

static void a_list_costs_as_one_request(void **state)
{
	unsigned int one = cost(1, 0, 1), all = cost(2, 1, 16), i;

	(void)state;
	assert_in_range(one, 1, 16);
	assert_int_equal(all, one);
	assert_int_equal(host.mapped, 17);
	for (i = 0; i < 50; i++)
		assert_int_equal(cost(100 + 16 * i, 17 + 16 * i, 16), one);
	host.file.calls = 0;
	cost(2000, 900, 16);
	assert_int_equal(host.file.calls, 2);
}

/* One reading of a list is for all of it, also while others wait. */
static void lists_at_once_are_read_once(void **state)
{
	unsigned int before, one;
	char text[1024];

	(void)state;
	host_second_guest();
	one = cost(1, 0, 1);
	before = fake_xs_requests();
	fake_xs_set(DB "/" XENVHCA_NODE_DOORBELL_REQUESTS, maps(text, 10, 1, 8));
	fake_xs_set(DB6 "/" XENVHCA_NODE_DOORBELL_REQUESTS,
		    "1 0 map 0xe0200 0x0 0x1;2 1 map 0xe0201 0x0 0x1");
	assert_int_equal(dba_agent_events(&host.a), 0);
	dba_agent_work(&host.a);
	assert_string_equal(host_listed_in(DB, 17), "mapped");
	assert_string_equal(host_listed_in(DB6, 2), "mapped");
	assert_in_range(fake_xs_requests() - before, one, 2 * one);
}

/* Of 16 that ask at once none waits for all lists of the others: four of each. */
static void lists_of_many_take_turns(void **state)
{
	unsigned int i, passes;
	char path[128], text[1024];

	(void)state;
	for (i = 1; i < HOST_GUESTS; i++)
		host_more_guests(i);
	host.pv = true;
	for (i = 0; i < HOST_GUESTS; i++) {
		snprintf(path, sizeof(path), "/local/domain/1/backend/vhca/%u/%u/doorbell/"
			 XENVHCA_NODE_DOORBELL_REQUESTS, 5 + i, i ? 3 : 0);
		fake_xs_set(path, maps_of(text, 1, 16 * i, 16, true));
	}
	assert_int_equal(dba_agent_events(&host.a), 0);
	for (passes = 1; passes <= 4; passes++) {
		dba_agent_work(&host.a);
		assert_int_equal(host.mapped, 4 * passes);
		assert_int_equal(host.mapped6, 4 * passes * (HOST_GUESTS - 1));
	}
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, host_setup, host_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_list_is_answered),
		TEST(an_answered_request_is_done),
		TEST(a_lost_answer_is_said_again),
		TEST(lists_that_break_the_rules_are_refused),
		TEST(all_answers_fit),
		TEST(a_list_that_changes_its_mind),
		TEST(pages_of_others_are_refused),
		TEST(what_is_removed_goes_back),
		TEST(a_device_that_goes_in_a_turn),
		TEST(a_list_that_changes_in_a_turn),
		TEST(a_backend_that_starts_anew),
		TEST(a_guest_has_what_it_is_allowed),
		TEST(lists_of_anything),
		TEST(lists_have_a_rate),
		TEST(a_list_costs_as_one_request),
		TEST(lists_at_once_are_read_once),
		TEST(lists_of_many_take_turns),
	};

	return cmocka_run_group_tests(tests, host_make_sysfs, host_remove_sysfs);
}
