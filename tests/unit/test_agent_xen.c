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
#include "carrier/doorbell_xen.h"
#include "tests/fake/fake_xs.h"

#define DB	"/local/domain/1/backend/vhca/5/0/doorbell"
#define MFN	0xe0100u
#define GFN	0x100000u
#define START_MS 10000u			/* for an answer, at the start */
#define WAIT_MS	5000u			/* later */

static struct be_dev dev;
static struct be_agent a;
static uint64_t clock_ms;
static unsigned int naps, asked;
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

static void slot_path(char *path, uint32_t slot, const char *name)
{
	snprintf(path, 128, DB "/%u/%s", slot, name);
}

static const char *slot_get(uint32_t slot, const char *name)
{
	char path[128];

	slot_path(path, slot, name);
	return fake_xs_get(path);
}

static void slot_set(uint32_t slot, const char *name, const char *value)
{
	char path[128];

	slot_path(path, slot, name);
	fake_xs_set(path, value);
}

/* A request that has an answer is not looked at. */
static void agent_acts(uint32_t slot)
{
	const char *request = slot_get(slot, "request");

	if (!request || slot_get(slot, "answer"))
		return;
	asked++;
	snprintf(last, sizeof(last), "%s", request);
	if (!say)
		slot_set(slot, "answer", !strcmp(last, "unmap") ?
			 "unmapped" : "mapped");
	else if (say[0])
		slot_set(slot, "answer", say);
}

int poll(struct pollfd *fds, nfds_t n, int ms)
{
	uint32_t slot;

	assert_int_equal(n, 1);
	assert_true(ms > 0);
	naps++;
	fds->revents = 0;
	for (slot = 0; slot < XENVHCA_DOORBELL_SLOTS; slot++)
		agent_acts(slot);
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
	naps = asked = 0;
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
	uint32_t slot;

	(void)state;
	open_agent();
	slot = map(MFN, GFN);
	assert_int_equal(slot, 0);
	assert_string_equal(last, "map 0xe0100 0x100000 0x1");
	assert_string_equal(slot_get(0, "request"), last);
	assert_int_equal(map(0xffffffffffull, 0), 1);
	assert_string_equal(last, "map 0xffffffffff 0x0 0x1");
	assert_int_equal(be_agent_unmap(&a, 1), 0);
	assert_string_equal(last, "unmap");
	assert_null(slot_get(1, "request"));
	assert_null(slot_get(1, "answer"));
	assert_non_null(slot_get(0, "request"));	/* says what is mapped */
	assert_int_equal(asked, 3);
}

/* Both in one transaction, or the agent would execute the old request again,
 * or the old answer would be taken for the new one. */
static void the_old_answer_goes_with_the_new_request(void **state)
{
	unsigned int before;

	(void)state;
	open_agent();
	before = fake_xs_commits();
	map(MFN, GFN);
	assert_int_equal(fake_xs_commits(), before + 1);
	assert_string_equal(slot_get(0, "answer"), "mapped");
	say = "refused not now";
	assert_int_equal(be_agent_unmap(&a, 0), -EBUSY);
	assert_int_equal(fake_xs_commits(), before + 2);
	assert_int_equal(fake_xs_outside(), 0);
	assert_int_equal(asked, 2);
	say = "mapped";			/* late: of the request before */
	assert_int_equal(be_agent_unmap(&a, 0), -EBUSY);
	assert_true(a.used[0]);
	say = NULL;
	assert_int_equal(be_agent_unmap(&a, 0), 0);
	assert_false(a.used[0]);
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
	assert_null(slot_get(0, "request"));
	assert_null(slot_get(0, "answer"));
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
	assert_true(a.used[0]);
	assert_string_equal(slot_get(0, "request"), last);
	start = clock_ms;
	naps = 0;
	assert_int_equal(ask_map(MFN + 1, GFN + 1, &slot),
			 -ETIMEDOUT);
	assert_int_equal(slot, BE_NO_SLOT);	/* not asked for */
	assert_int_equal(be_agent_unmap(&a, 0), -ETIMEDOUT);
	assert_int_equal(be_agent_unmap(&a, 0), -ETIMEDOUT);
	assert_true(a.used[0]);
	assert_string_equal(slot_get(0, "request"), "unmap");
	assert_true(clock_ms == start && !naps);
	/* restarted: sees the last request, its answer is not asked for anew */
	say = NULL;
	agent_acts(0);
	asked = 0;
	assert_int_equal(be_agent_unmap(&a, 0), 0);
	assert_true(!asked && !a.used[0] && !a.silent);
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
	agent_acts(1);			/* late, and to nobody */
	assert_int_equal(map(MFN + 2, GFN + 2), 2);
	assert_false(a.silent);
	assert_int_equal(be_agent_unmap(&a, 1), 0);
	assert_string_equal(last, "unmap");
	/* a refusal that nobody waited for is not the last word */
	say = "";
	assert_int_equal(be_agent_unmap(&a, 2), -ETIMEDOUT);
	say = "refused hypercall failed";
	agent_acts(2);
	say = NULL;
	assert_int_equal(be_agent_unmap(&a, 2), 0);
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
	assert_int_equal(be_agent_map(&a, MFN + 1, GFN + 1, &other),
			 -EINPROGRESS);
	start = clock_ms;
	assert_int_equal(be_agent_map(&a, MFN, GFN, &slot), -EINPROGRESS);
	assert_in_range(clock_ms - start, 1, 5);
	slot_set(other, "answer", "mapped");
	assert_int_equal(be_agent_map(&a, MFN + 1, GFN + 1, &other), 0);
	assert_int_equal(be_agent_map(&a, MFN, GFN, &slot), -EINPROGRESS);
	say = NULL;
	slot_set(first, "answer", "refused not in a BAR of the HCA");
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
		a.used[i] = true;
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
	assert_true(a.used[0]);
	assert_int_equal(be_agent_unmap(&a, slot), -EPIPE);
	assert_true(a.used[0]);
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

static void leave(void)
{
	slot_set(0, "request", "map 0xe0100 0x100000 0x1");
	slot_set(0, "answer", "mapped");
	slot_set(9, "request", "map 0xe0101 0x100001 0x1");
	slot_set(12, "request", "unmap");
	fake_xs_set(DB "/hello/request", "map 0xe0101 0x100001 0x1");
	fake_xs_set(DB "/1024/request", "map 0xe0101 0x100001 0x1");
}

static void left_over_slots_are_cleared(void **state)
{
	(void)state;
	leave();
	assert_int_equal(be_agent_open(&a, &dev), 0);
	assert_int_equal(asked, 2 + 2);	/* two had no answer, one was unmap */
	assert_string_equal(last, "unmap");
	assert_null(slot_get(0, "request"));
	assert_null(slot_get(9, "request"));
	assert_null(slot_get(12, "request"));
	assert_int_equal(map(MFN, GFN), 0);
}

static void no_start_with_pages_left(void **state)
{
	uint64_t start = clock_ms;

	(void)state;
	leave();
	say = "";
	assert_int_equal(be_agent_open(&a, &dev), -ETIMEDOUT);
	assert_in_range(clock_ms - start, START_MS, START_MS + 10);
	assert_true(dev.fault);
	assert_non_null(strstr(dev.fault_reason, "start xen-vhca-doorbelld"));
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
		T(the_old_answer_goes_with_the_new_request),
		T(who_has_the_page_is_told),
		T(a_refused_slot_is_free_again),
		T(a_silent_agent_is_not_waited_for_twice),
		T(an_agent_that_is_back_is_asked),
		T(an_answer_that_takes_time_holds_nobody),
		T(slots_are_used_again),
		T(a_lost_connection_is_no_refusal),
		T(an_answer_that_is_none_is_no_refusal),
		T(left_over_slots_are_cleared),
		T(no_start_with_pages_left),
		T(no_start_against_the_agents_will),
		T(no_start_without_xenstore),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
