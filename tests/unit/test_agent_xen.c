// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The backend's half of the dialogue with the doorbell agent, over a xenstore
 * in memory. The agent acts whenever the backend waits, that is in poll(),
 * which like the clock is the test's own: hours pass in no time.
 */
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>
#include "carrier/agent_xen.h"
#include "tests/fake/fake_xs.h"
#include "vhca-agent.h"

#define DB	"/local/domain/1/backend/vhca/5/0/doorbell"
#define MFN	0xe0100u
#define GFN	0x100000u
#define START_MS 10000u			/* for an answer, at the start */
#define WAIT_MS	5000u			/* later */

static struct be_dev dev;
static struct be_agent a;
static uint64_t clock_ms;
static unsigned int naps, asked, listed;
static char last[96];			/* request that the agent saw */
static const char *say;			/* NULL: as asked; "": nothing */
static int break_with;			/* the connection, at the next nap */

/* ---- instead of the system's ---- */
int clock_gettime(clockid_t id, struct timespec *ts)
{
	if (id != CLOCK_MONOTONIC)
		return (int)syscall(SYS_clock_gettime, id, ts);
	ts->tv_sec = (time_t)(clock_ms / 1000);
	ts->tv_nsec = (long)(clock_ms % 1000) * 1000000;
	return 0;
}

/* Has the list, of requests or answers, an entry of that number? */
static bool has(const char *list, const char *n)
{
	size_t len = strlen(n);

	for (; list; list = strchr(list, ';')) {
		list += *list == ';';
		if (!strncmp(list, n, len) && list[len] == ' ')
			return true;
	}
	return false;
}

static bool is_answered(const char *n)
{
	return has(fake_xs_get(DB "/answers"), n);
}

/* Answers are there as long as what they answer. */
static void answer(const char *n, const char *text)
{
	const char *before = fake_xs_get(DB "/answers");
	char old[2048], all[2048], number[24], *rest = old, *s;
	size_t len = 0;

	snprintf(old, sizeof(old), "%s", before ? before : "");
	while ((s = strsep(&rest, ";"))) {
		snprintf(number, sizeof(number), "%.*s", (int)strcspn(s, " "), s);
		if (has(fake_xs_get(DB "/requests"), number))
			len += (size_t)sprintf(all + len, "%s;", s);
	}
	sprintf(all + len, "%s %s", n, text);
	fake_xs_set(DB "/answers", all);
}

/* A request that has an answer is not looked at. */
static void entry_acts(char *entry)
{
	char *n = strsep(&entry, " ");

	assert_non_null(entry);
	if (is_answered(n))
		return;
	asked++;
	snprintf(last, sizeof(last), "%s", entry);
	if (!say)
		answer(n, strstr(last, "unmap") ? "unmapped" : "mapped");
	else if (say[0])
		answer(n, say);
}

static void agent_acts(void)
{
	const char *requests = fake_xs_get(DB "/requests");
	char text[2048], *rest = text, *entry;

	if (!requests)
		return;
	assert_in_range(strlen(requests), 1, XENVHCA_DOORBELL_TEXT);
	snprintf(text, sizeof(text), "%s", requests);
	listed = 0;
	while ((entry = strsep(&rest, ";"))) {
		entry_acts(entry);
		listed++;
	}
	assert_in_range(listed, 1, XENVHCA_DOORBELL_BATCH);
}

int poll(struct pollfd *fds, nfds_t n, int ms)
{
	assert_int_equal(n, 1);
	assert_true(ms > 0);
	naps++;
	fds->revents = 0;
	agent_acts();
	if (break_with) {
		fake_xs_break(break_with);
		break_with = 0;
	}
	if (say && !say[0])
		clock_ms += (unsigned int)ms;
	return 0;
}

/* ---- the tests ---- */
static int setup(void **state)
{
	(void)state;
	fake_xs_reset();
	fake_xs_set("domid", "1");
	be_log_level = BE_ERR;
	naps = asked = listed = 0;
	say = NULL;
	break_with = 0;
	last[0] = '\0';
	memset(&a, 0, sizeof(a));
	assert_int_equal(be_dev_init(&dev, 5, 0), 0);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	be_agent_close(&a);
	be_dev_fini(&dev);
	return 0;
}

static void open_agent(void)
{
	assert_int_equal(be_agent_open(&a, &dev), 0);
	assert_string_equal(a.dir, DB);
	assert_int_equal(asked, 0);
}

/* As a command that is executed until it has an answer. */
static int ask_map(uint64_t mfn, uint64_t gfn, uint32_t *slot)
{
	int rc;

	*slot = BE_NO_SLOT;
	do
		rc = be_agent_map(&a, mfn, gfn, slot);
	while (rc == -EINPROGRESS);
	return rc;
}

static uint32_t map(uint64_t mfn, uint64_t gfn)
{
	uint32_t slot = 77;

	assert_int_equal(ask_map(mfn, gfn, &slot), 0);
	assert_true(slot < XENVHCA_DOORBELL_SLOTS);
	return slot;
}

static void requests_have_the_form_of_the_interface(void **state)
{
	char first[128];

	(void)state;
	open_agent();
	assert_int_equal(map(MFN, GFN), 0);
	assert_string_equal(last, "0 map 0xe0100 0x100000 0x1");
	snprintf(first, sizeof(first), "%llu %s", (unsigned long long)a.n, last);
	assert_string_equal(fake_xs_get(DB "/requests"), first);
	assert_int_equal(map(0xffffffffffull, 0), 1);
	assert_string_equal(last, "1 map 0xffffffffff 0x0 0x1");
	assert_int_equal(be_agent_unmap(&a, 1), 0);
	assert_string_equal(last, "1 unmap");
	assert_int_equal(asked, 3);
	assert_int_equal(listed, 1);	/* what has an answer goes with the next */
	assert_false(a.slot[1].used);
	assert_true(a.slot[0].used);
}

/* However often a slot is used: an answer is that of one request. */
static void an_answer_is_of_one_request(void **state)
{
	(void)state;
	open_agent();
	map(MFN, GFN);
	say = "refused not now";
	assert_int_equal(be_agent_unmap(&a, 0), -EBUSY);
	assert_int_equal(asked, 2);
	say = "mapped";			/* whatever that means */
	assert_int_equal(be_agent_unmap(&a, 0), -EBUSY);
	assert_true(a.slot[0].used);
	say = "";			/* late answers to what was asked before */
	fake_xs_set(DB "/answers", "1 unmapped;2 unmapped;0 unmapped;x;7;;");
	assert_int_equal(be_agent_unmap(&a, 0), -ETIMEDOUT);
	assert_true(a.slot[0].used);
	say = NULL;
	agent_acts();
	assert_int_equal(be_agent_unmap(&a, 0), 0);
	assert_false(a.slot[0].used);
}

/* What is asked for at the same time costs a write each, and reads in common. */
static void many_are_asked_in_one_node(void **state)
{
	uint32_t slot[40], i;
	unsigned int before;

	(void)state;
	open_agent();
	say = "";
	for (i = 0; i < 40; i++) {
		slot[i] = BE_NO_SLOT;
		assert_int_equal(be_agent_map(&a, MFN + i, 0, &slot[i]),
				 -EINPROGRESS);
	}
	agent_acts();
	assert_int_equal(listed, XENVHCA_DOORBELL_BATCH);
	assert_int_equal(fake_xs_nodes(), 1);
	say = NULL;
	before = fake_xs_requests();
	for (i = 0; i < 40; i++)
		assert_int_equal(be_agent_map(&a, MFN + i, 0, &slot[i]), 0);
	/* Three lists: two of them are written here, and three are read. */
	assert_in_range(fake_xs_requests() - before, 1, 6);
	assert_int_equal(fake_xs_nodes(), 2);
}

/* A page: its request is written, its answer read; nothing else, however many. */
static void a_page_costs_two_requests(void **state)
{
	unsigned int before, i;

	(void)state;
	open_agent();
	map(MFN, GFN);
	for (i = 1; i < 1000; i++) {
		before = fake_xs_requests();
		map(MFN + i, GFN + i);
		assert_int_equal(fake_xs_requests() - before, 2);
	}
	assert_int_equal(fake_xs_nodes(), 2);
	assert_int_equal(fake_xs_commits(), 0);
}

/* Another page would do if somebody else has this one, and only then. */
static void who_has_the_page_is_told(void **state)
{
	uint32_t slot = 0;

	(void)state;
	open_agent();
	say = "refused mapped into another guest";
	assert_int_equal(ask_map(1, GFN, &slot), -EPERM);
	say = "refused was mapped into another guest that still runs";
	assert_int_equal(ask_map(1, GFN, &slot), -EPERM);
	say = "refused guest frame outside of the guest's window";
	assert_int_equal(ask_map(1, GFN, &slot), -EACCES);
	say = "refused mapped into this guest already";
	assert_int_equal(ask_map(1, GFN, &slot), -EACCES);
	assert_int_equal(slot, BE_NO_SLOT);
	say = NULL;
}

static void a_refused_slot_is_free_again(void **state)
{
	uint32_t slot = 0;

	(void)state;
	open_agent();
	say = "refused not in a BAR of the HCA";
	assert_int_equal(ask_map(1, GFN, &slot), -EACCES);
	assert_int_equal(slot, BE_NO_SLOT);
	assert_false(a.slot[0].used);
	say = "whatever";
	assert_int_equal(ask_map(1, GFN, &slot), -EACCES);
	assert_int_equal(slot, BE_NO_SLOT);
	say = NULL;
	assert_int_equal(map(MFN, GFN), 0);
	assert_int_equal(naps, 3);
}

static void a_silent_agent_is_not_waited_for_twice(void **state)
{
	uint32_t slot = 77;
	uint64_t start;

	(void)state;
	open_agent();
	say = "";
	start = clock_ms;
	assert_int_equal(ask_map(MFN, GFN, &slot), -ETIMEDOUT);
	assert_in_range(clock_ms - start, WAIT_MS, WAIT_MS + 10);
	/* it may be executed yet: to be unmapped */
	assert_int_equal(slot, 0);
	assert_true(a.slot[0].used);
	assert_non_null(strstr(fake_xs_get(DB "/requests"), last));
	start = clock_ms;
	naps = 0;
	assert_int_equal(ask_map(MFN + 1, GFN + 1, &slot),
			 -ETIMEDOUT);
	assert_int_equal(slot, BE_NO_SLOT);	/* not asked for */
	assert_int_equal(be_agent_unmap(&a, 0), -ETIMEDOUT);
	assert_int_equal(be_agent_unmap(&a, 0), -ETIMEDOUT);
	assert_true(a.slot[0].used);
	assert_non_null(strstr(fake_xs_get(DB "/requests"), " 0 unmap"));
	assert_true(clock_ms == start && !naps);
	/* restarted: sees the last request, its answer is not asked for anew */
	say = NULL;
	agent_acts();
	asked = 0;
	assert_int_equal(be_agent_unmap(&a, 0), 0);
	assert_true(!asked && !a.slot[0].used && !a.silent);
	say = "";
	start = clock_ms;		/* patience is back */
	assert_int_equal(ask_map(MFN, GFN, &slot), -ETIMEDOUT);
	assert_in_range(clock_ms - start, WAIT_MS, WAIT_MS + 10);
}

static void an_agent_that_is_back_is_asked(void **state)
{
	uint32_t slot;

	(void)state;
	open_agent();
	map(MFN, GFN);
	say = "";
	assert_int_equal(ask_map(MFN + 1, GFN + 1, &slot),
			 -ETIMEDOUT);
	assert_int_equal(slot, 1);
	assert_int_equal(ask_map(MFN + 2, GFN + 2, &slot),
			 -ETIMEDOUT);
	say = NULL;
	agent_acts();			/* late, and to nobody */
	assert_int_equal(map(MFN + 2, GFN + 2), 2);
	assert_false(a.silent);
	assert_int_equal(be_agent_unmap(&a, 1), 0);
	assert_string_equal(last, "1 unmap");
	/* a refusal that nobody waited for is not the last word */
	say = "";
	assert_int_equal(be_agent_unmap(&a, 2), -ETIMEDOUT);
	say = "refused hypercall failed";
	agent_acts();
	say = NULL;
	assert_int_equal(be_agent_unmap(&a, 2), 0);
}

static void say_of(uint32_t slot, const char *text)
{
	char n[24];

	snprintf(n, sizeof(n), "%llu", (unsigned long long)a.slot[slot].n);
	answer(n, text);
}

/* Other commands do not wait longer than for one look at a time. */
static void an_answer_that_takes_time_holds_nobody(void **state)
{
	uint32_t slot = BE_NO_SLOT, first, other = BE_NO_SLOT;
	uint64_t start;

	(void)state;
	open_agent();
	say = "";
	start = clock_ms;
	assert_int_equal(be_agent_map(&a, MFN, GFN, &slot), -EINPROGRESS);
	assert_in_range(clock_ms - start, 1, 30);
	first = slot;
	start = clock_ms;
	assert_int_equal(be_agent_map(&a, MFN + 1, GFN + 1, &other),
			 -EINPROGRESS);
	assert_int_equal(clock_ms, start);	/* the agent reads both at once */
	assert_non_null(strchr(fake_xs_get(DB "/requests"), ';'));
	assert_int_equal(be_agent_map(&a, MFN, GFN, &slot), -EINPROGRESS);
	assert_in_range(clock_ms - start, 1, 5);
	say_of(other, "mapped");
	start = clock_ms;		/* it has what the other one found */
	assert_int_equal(be_agent_map(&a, MFN + 1, GFN + 1, &other),
			 -EINPROGRESS);
	assert_int_equal(clock_ms, start);
	assert_int_equal(be_agent_map(&a, MFN + 1, GFN + 1, &other), 0);
	assert_int_equal(be_agent_map(&a, MFN, GFN, &slot), -EINPROGRESS);
	say = NULL;
	say_of(first, "refused not in a BAR of the HCA");
	assert_int_equal(be_agent_heard(&a), 0);	/* which keeps it */
	assert_int_equal(be_agent_map(&a, MFN, GFN, &slot), -EACCES);
	assert_int_equal(slot, BE_NO_SLOT);
	assert_false(a.silent);
}

static void slots_are_used_again(void **state)
{
	uint32_t slot, i;

	(void)state;
	open_agent();
	for (i = 0; i < 8; i++)
		assert_int_equal(map(MFN + i, GFN + i), i);
	for (; i < XENVHCA_DOORBELL_SLOTS - 1; i++)
		a.slot[i].used = true;
	assert_int_equal(map(MFN + i, GFN + i), i);
	assert_int_equal(ask_map(MFN, GFN, &slot), -ENOSPC);
	assert_int_equal(slot, BE_NO_SLOT);
	assert_int_equal(be_agent_unmap(&a, i), 0);
	assert_int_equal(be_agent_unmap(&a, 7), 0);
	assert_int_equal(map(MFN, GFN), 7);
	assert_int_equal(map(MFN, GFN), i);
	assert_int_equal(asked, 8 + 1 + 4);
}

/* The answer cannot be read: the guest may have the page. */
static void a_lost_connection_is_no_refusal(void **state)
{
	uint32_t slot = 77;

	(void)state;
	open_agent();
	break_with = EPIPE;
	assert_int_equal(ask_map(MFN, GFN, &slot), -EPIPE);
	assert_int_equal(slot, 0);
	assert_true(a.slot[0].used);
	assert_int_equal(be_agent_unmap(&a, slot), -EPIPE);
	assert_int_equal(be_agent_heard(&a), -EPIPE);
	assert_true(a.slot[0].used);
	/* nothing can have been asked for */
	assert_int_equal(ask_map(MFN, GFN, &slot), -EPIPE);
	assert_int_equal(slot, BE_NO_SLOT);
	fake_xs_break(0);
	assert_int_equal(be_agent_unmap(&a, 0), 0);
}

static void an_answer_that_is_none_is_no_refusal(void **state)
{
	uint32_t slot = 77;

	(void)state;
	open_agent();
	say = "\033[2J";
	assert_int_equal(ask_map(MFN, GFN, &slot), -EINVAL);
	assert_int_equal(slot, 0);
	say = NULL;
	assert_int_equal(be_agent_unmap(&a, slot), 0);
}

/* ---- what a worker that was killed left ---- */

/* A worker that is not closed. */
static void die(void)
{
	memset(&a, 0, sizeof(a));
	asked = 0;
	clock_ms++;
}

static void leave(void)
{
	uint32_t slot = BE_NO_SLOT;

	open_agent();
	map(MFN, GFN);
	say = "";
	assert_int_equal(be_agent_map(&a, MFN + 1, GFN + 1, &slot),
			 -EINPROGRESS);
	say = NULL;
	die();
}

static void what_was_left_is_cleared(void **state)
{
	uint64_t n;

	(void)state;
	leave();
	assert_int_equal(be_agent_open(&a, &dev), 0);
	assert_int_equal(asked, 1);
	assert_string_equal(last, "all unmap");
	n = a.n;
	assert_true(n >= clock_ms * 1000000);	/* the first one had less */
	assert_int_equal(map(MFN, GFN), 0);
	assert_int_equal(fake_xs_nodes(), 2);
}

/* Then the next one needs no agent to start. */
static void an_orderly_end_leaves_nothing(void **state)
{
	(void)state;
	open_agent();
	map(MFN, GFN);
	be_agent_close(&a);
	assert_int_equal(fake_xs_nodes(), 2);	/* the page is there still */
	die();
	assert_int_equal(be_agent_open(&a, &dev), 0);
	assert_string_equal(last, "all unmap");
	map(MFN, GFN);
	assert_int_equal(be_agent_unmap(&a, 0), 0);
	be_agent_close(&a);
	assert_int_equal(fake_xs_nodes(), 0);
	die();
	open_agent();
}

static void no_start_with_pages_left(void **state)
{
	uint64_t start;

	(void)state;
	leave();
	start = clock_ms;
	say = "";
	assert_int_equal(be_agent_open(&a, &dev), -ETIMEDOUT);
	assert_in_range(clock_ms - start, START_MS, START_MS + 10);
	assert_true(dev.fault);
	assert_non_null(strstr(dev.fault_reason, "start xen-vhca-doorbelld"));
	be_agent_close(&a);
	assert_non_null(fake_xs_get(DB "/requests"));	/* for the next one */
}

static void no_start_against_the_agents_will(void **state)
{
	(void)state;
	leave();
	say = "refused out of order";
	assert_int_equal(be_agent_open(&a, &dev), -EBUSY);
	assert_true(dev.fault);
}

static void no_start_without_xenstore(void **state)
{
	(void)state;
	fake_xs_break(ENOENT);
	assert_int_equal(be_agent_open(&a, &dev), -ENOENT);
	assert_true(dev.fault);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(requests_have_the_form_of_the_interface),
		T(an_answer_is_of_one_request),
		T(many_are_asked_in_one_node),
		T(a_page_costs_two_requests),
		T(who_has_the_page_is_told),
		T(a_refused_slot_is_free_again),
		T(a_silent_agent_is_not_waited_for_twice),
		T(an_agent_that_is_back_is_asked),
		T(an_answer_that_takes_time_holds_nobody),
		T(slots_are_used_again),
		T(a_lost_connection_is_no_refusal),
		T(an_answer_that_is_none_is_no_refusal),
		T(what_was_left_is_cleared),
		T(an_orderly_end_leaves_nothing),
		T(no_start_with_pages_left),
		T(no_start_against_the_agents_will),
		T(no_start_without_xenstore),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
