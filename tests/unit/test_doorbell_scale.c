// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Doorbell pages of 1,024 processes, 8 each, in one guest and over 16, with what
 * xenstored allows a driver domain by default. The workers' half of the dialogue and
 * the agent are the real ones; the agent acts whenever a worker waits, in poll().
 */
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>
#include "carrier/agent_xen.h"
#include "tests/fake/fake_agent.h"
#include "tests/fake/fake_xs.h"
#include "vhca-agent.h"
#include "vhca-keys.h"
#include "vhca-provider.h"

#define PROCESSES	1024u
#define PAGES		(PROCESSES * XENVHCA_UCONTEXT_UARS)
#define NODES		1000u		/* xenstored's --entry-nb */
#define OCTETS		2000u		/* --entry-size, less permissions */
#define CONFIG		9u		/* nodes of a device besides, directories too */

static struct be_dev dev[HOST_GUESTS];
static struct be_agent agent[HOST_GUESTS];
static uint32_t slot[PAGES];
static unsigned int by_agent, by_worker;	/* requests to xenstored */
static uint64_t clock_ns;
static bool busy;			/* the agent, with something else */

int clock_gettime(clockid_t id, struct timespec *ts)
{
	if (id != CLOCK_MONOTONIC)
		return (int)syscall(SYS_clock_gettime, id, ts);
	ts->tv_sec = (time_t)(clock_ns / 1000000000);
	ts->tv_nsec = (long)(clock_ns % 1000000000);
	return 0;
}

int poll(struct pollfd *fds, nfds_t n, int ms)
{
	unsigned int before = fake_xs_requests();

	assert_true(n == 1 && ms > 0);
	fds->revents = 0;
	clock_ns += (uint64_t)ms * 1000000;
	if (!busy)
		host_turn();
	by_agent += fake_xs_requests() - before;
	return 0;
}

/* What a device has in the backend's directory, beside its doorbells. */
static void add_config(unsigned int guest, unsigned int devid)
{
	unsigned int i;
	char path[128];

	for (i = 0; i < CONFIG; i++) {
		snprintf(path, sizeof(path),
			 "/local/domain/1/backend/vhca/%u/%u/node%u", guest,
			 devid, i);
		fake_xs_set(path, "x");
	}
}

static int setup(void **state)
{
	unsigned int i;

	clock_ns += 1000000000;
	host_setup(state);
	fake_xs_connections();
	fake_xs_set("domid", "1");
	fake_xs_set(LIBXL "/max-ucontext", "1024");
	fake_xs_set(FE "/doorbell-window", "0x100000 0x2000");
	host.file.short_form = true;
	be_log_level = BE_ERR;
	memset(agent, 0, sizeof(agent));
	for (i = 0; i < HOST_GUESTS; i++)
		assert_int_equal(be_dev_init(&dev[i], 5 + (int)i, i ? 3 : 0), 0);
	fake_xs_quota("/local/domain/1/backend", NODES, OCTETS);
	by_agent = 0;
	busy = false;
	return 0;
}

static int teardown(void **state)
{
	unsigned int i;

	for (i = 0; i < HOST_GUESTS; i++) {
		be_agent_close(&agent[i]);
		be_dev_fini(&dev[i]);
	}
	return host_teardown(state);
}

static void add_guests(unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++) {
		if (i)
			host_more_guests(i);
		add_config(5 + i, i ? 3 : 0);
		assert_int_equal(be_agent_open(&agent[i], &dev[i]), 0);
	}
	host_turn();
}

static bool map_page(unsigned int guests, unsigned int i)
{
	unsigned int g = i % guests;
	int rc = be_agent_map(&agent[g], 0xe0100 + i, g ? 0 : 0x100000 + i / guests,
			      &slot[i]);

	assert_true(!rc || rc == -EINPROGRESS);
	return !rc;
}

/* As many commands at a time as there are processes that map a page now. */
static void map_pages(unsigned int guests, unsigned int first, unsigned int n,
		      unsigned int at_a_time)
{
	unsigned int i, left;

	for (; n; n -= at_a_time, first += at_a_time) {
		for (i = first; i < first + at_a_time; i++)
			slot[i] = BE_NO_SLOT;
		for (busy = true, left = at_a_time; left; busy = false)
			for (i = first, left = 0; i < first + at_a_time; i++)
				left += !map_page(guests, i);
	}
}

static unsigned int mapped(void)
{
	return (unsigned int)(host.mapped + host.mapped6);
}

/* The first 16 pages, and then all others: they need no node more. */
static void many_processes(unsigned int guests)
{
	unsigned int nodes, before;

	add_guests(guests);
	map_pages(guests, 0, 16, 16);
	nodes = fake_xs_most();
	assert_in_range(nodes, guests * CONFIG, guests * (CONFIG + 6) + 2);
	by_agent = 0;
	before = fake_xs_requests();
	map_pages(guests, 16, PAGES - 16, 16);
	assert_int_equal(mapped(), PAGES);
	assert_int_equal(fake_xs_most(), nodes);
	by_worker = fake_xs_requests() - before - by_agent;
	print_message("%u guests: %u nodes; for a page %.2f requests of the worker, %.2f of the agent\n",
		      guests, nodes, (double)by_worker / (PAGES - 16),
		      (double)by_agent / (PAGES - 16));
}

static void processes_of_one_guest(void **state)
{
	unsigned int i;

	(void)state;
	many_processes(1);
	assert_in_range(by_worker, PAGES - 16, PAGES * 5 / 4);
	assert_in_range(by_agent, 1, PAGES);
	for (i = 0; i < PAGES; i++)
		assert_int_equal(be_agent_unmap(&agent[0], slot[i]), 0);
	assert_int_equal(mapped(), 0);
}

static void processes_of_16_guests(void **state)
{
	(void)state;
	many_processes(16);
	assert_in_range(by_worker, PAGES - 16, 2 * PAGES);
	assert_in_range(by_agent, PAGES, 16 * PAGES);
}

/* Page i of the first guest, by an agent that answers what it is told to. */
static int ask(unsigned int i)
{
	return be_agent_map(&agent[0], 0xe0100 + i, 0x100000 + i, &slot[i]);
}

static void others_are_answered(unsigned int i, uint64_t after_ms)
{
	char text[64];

	slot[i] = BE_NO_SLOT;
	assert_int_equal(ask(i), -EINPROGRESS);
	clock_ns += after_ms * 1000000;
	snprintf(text, sizeof(text), "%llu " XENVHCA_DOORBELL_MAPPED,
		 (unsigned long long)agent[0].slot[slot[i]].n);
	fake_xs_set("/local/domain/1/backend/vhca/5/0/doorbell/answers", text);
	assert_int_equal(ask(i), 0);
}

static void the_first_waits(void)
{
	add_guests(1);
	busy = true;
	slot[0] = BE_NO_SLOT;
	assert_int_equal(ask(0), -EINPROGRESS);
}

/* An agent with many guests to answer is slow. It is silent if nothing comes for 5 s. */
static void a_slow_agent_is_not_silent(void **state)
{
	unsigned int i;

	(void)state;
	the_first_waits();
	for (i = 1; i <= 5; i++) {
		others_are_answered(i, 4900);
		assert_int_equal(ask(0), -EINPROGRESS);	/* looks */
		assert_false(agent[0].silent);
	}
	clock_ns += 5000000000;
	assert_int_equal(ask(0), -ETIMEDOUT);
	assert_true(agent[0].silent);
}

/* Nor does a process wait for ever while others have answers. */
static void a_slow_agent_has_30_seconds(void **state)
{
	unsigned int i = 0;

	(void)state;
	the_first_waits();
	do
		others_are_answered(++i, 1000);
	while (ask(0) == -EINPROGRESS);
	assert_in_range(i, 29, 30);
	assert_true(agent[0].silent);
}

/* An unmap without an answer is in nobody's way: who waits for a page still looks. */
static void unmaps_do_not_look(void **state)
{
	(void)state;
	the_first_waits();
	others_are_answered(1, 0);
	others_are_answered(2, 0);
	assert_int_equal(be_agent_unmap(&agent[0], slot[1]), -ETIMEDOUT);
	assert_int_equal(be_agent_unmap(&agent[0], slot[2]), -ETIMEDOUT);
	assert_int_equal(ask(0), -EINPROGRESS);
	assert_int_equal(agent[0].skip, 0);
}

/* Nor is it silent for those that wait for a page, and each later one waits less. */
static void a_late_unmap_is_of_a_slow_agent(void **state)
{
	uint64_t start;

	(void)state;
	the_first_waits();
	others_are_answered(1, 0);
	others_are_answered(2, 0);
	start = clock_ns;
	assert_int_equal(be_agent_unmap(&agent[0], slot[1]), -ETIMEDOUT);
	assert_in_range(clock_ns - start, 1000000000, 1100000000);
	assert_int_equal(be_agent_unmap(&agent[0], slot[2]), -ETIMEDOUT);
	assert_int_equal(be_agent_unmap(&agent[0], slot[2]), -ETIMEDOUT);
	assert_in_range(clock_ns - start, 1000000000, 1200000000);
	assert_false(agent[0].silent);
	assert_int_equal(ask(0), -EINPROGRESS);
	others_are_answered(3, 0);
	start = clock_ns;
	assert_int_equal(be_agent_unmap(&agent[0], slot[2]), -ETIMEDOUT);
	assert_in_range(clock_ns - start, 1000000000, 1100000000);
	clock_ns += 5000000000;
	assert_int_equal(be_agent_unmap(&agent[0], slot[2]), -ETIMEDOUT);
	assert_true(agent[0].silent);
}

/* kill -9, of all of them and of the agent: what is mapped goes back, and what PV
 * guests had stays theirs, and charged. */
static void workers_that_are_killed(void **state)
{
	unsigned int i;

	(void)state;
	add_guests(16);
	map_pages(16, 0, PAGES, 16);
	for (i = 0; i < 16; i++)
		xs_close(agent[i].xs);
	memset(agent, 0, sizeof(agent));
	dba_agent_stop(&host.a);
	assert_int_equal(dba_agent_start(&host.a), 0);
	host_turn();
	assert_int_equal(mapped(), PAGES);
	for (i = 0; i < 16; i++)
		assert_int_equal(be_agent_open(&agent[i], &dev[i]), 0);
	assert_int_equal(mapped(), 0);
	assert_int_equal(host.a.table.of_guest[5], 0);
	for (i = 1; i < 16; i++)
		assert_int_equal(host.a.table.of_guest[5 + i], PAGES / 16);
	map_pages(16, 0, PAGES, 16);
	assert_int_equal(mapped(), PAGES);
	assert_int_equal(host.a.table.n, PAGES);
}

static int make_sysfs(void **state)
{
	(void)state;
	return host_make_sysfs_of(64);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(processes_of_one_guest),
		TEST(processes_of_16_guests),
		TEST(a_slow_agent_is_not_silent),
		TEST(a_slow_agent_has_30_seconds),
		TEST(unmaps_do_not_look),
		TEST(a_late_unmap_is_of_a_slow_agent),
		TEST(workers_that_are_killed),
	};

	return cmocka_run_group_tests(tests, make_sysfs, host_remove_sysfs);
}
