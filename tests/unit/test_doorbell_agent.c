// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The doorbell agent over a xenstore in memory: what a backend gets for its
 * requests, and that pages go back when a guest, a device or the ownership of
 * the HCA ends, also across a restart of the agent.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <xen/io/vhcaif.h>
#include "tests/fake/fake_agent.h"
#include "tests/fake/fake_xs.h"
#include "tools/doorbelld/request.h"

static void map_and_unmap_are_answered(void **state)
{
	(void)state;
	assert_string_equal(host_ask(3, "map 0xe0100 0x100000 0x1"), "mapped");
	assert_int_equal(host.mapped, 1);
	assert_string_equal(host_ask(3, "unmap"), "unmapped");
	assert_int_equal(host.mapped, 0);
	assert_string_equal(host_ask(3, "unmap"), "unmapped");	/* as wanted */
	assert_string_equal(host_ask(8191, "map 0xe0100 0x100000 0x1"), "mapped");
	assert_string_equal(host_ask(8192, "map 0xe0101 0x100001 0x1"),
			    "refused no such slot");
	assert_string_equal(host_ask(4, "hello"), "refused request not understood");
	assert_string_equal(host_ask(4, "map 0x1000 0x100001 0x1"),
			    "refused not in a BAR of the HCA");
	assert_string_equal(host_ask(4, "map 0xe0100 0x100001 0x1"),
			    "refused mapped into this guest already");
	assert_int_equal(host.mapped, 1);
}

static void what_is_mapped_is_not_mapped_again(void **state)
{
	int before;

	(void)state;
	assert_string_equal(host_ask(0, "map 0xe0100 0x100000 0x1"), "mapped");
	before = host.calls;
	/* said again, not done again */
	assert_string_equal(host_ask(0, "map 0xe0100 0x100000 0x1"), "mapped");
	assert_int_equal(host.calls, before);
	assert_string_equal(host_ask(0, "map 0xe0101 0x100000 0x1"),
			    "refused slot is in use, unmap first");
}

static void the_toolstack_has_the_say(void **state)
{
	(void)state;
	/* a domain asks that has no such device */
	assert_string_equal(host_list_in("/local/domain/2/backend/vhca/5/0/doorbell",
					 "1 0 map 0xe0100 0x100000 0x1"), "");
	fake_xs_rm(PCI);	/* now dom0's own */
	assert_string_equal(host_ask(0, "map 0xe0100 0x100000 0x1"),
			    "refused the HCA is not assigned to this backend domain");
	fake_xs_set("/local/domain/0/backend/pci/2/0/dev-3", BDF);
	assert_string_equal(host_ask(0, "map 0xe0100 0x100000 0x1"),
			    "refused the HCA is not assigned to this backend domain");
	fake_xs_set(PCI "/dev-0", BDF);		/* two have it: unclear */
	assert_string_equal(host_ask(0, "map 0xe0100 0x100000 0x1"),
			    "refused the HCA is not assigned to this backend domain");
	fake_xs_rm(LIBXL "/pci");
	assert_string_equal(host_ask(0, "map 0xe0100 0x100000 0x1"),
			    "refused the toolstack named no PCI device for this vhca");
	fake_xs_set(LIBXL "/pci", "../../../../etc/x");
	assert_string_equal(host_ask(0, "map 0xe0100 0x100000 0x1"),
			    "refused the toolstack named no PCI device for this vhca");
	assert_int_equal(host.calls, 0);
}

/* libxl may leave the nodes of a utility domain that was destroyed. */
static void dead_owners_do_not_count(void **state)
{
	(void)state;
	fake_xs_set("/local/domain/0/backend/pci/2/0/dev-3", BDF);
	fake_xs_rm("/local/domain/2");
	assert_string_equal(host_ask(0, "map 0xe0100 0x100000 0x1"), "mapped");
	fake_xs_rm("/local/domain/1/name");
	assert_string_equal(host_ask(1, "map 0xe0101 0x100001 0x1"),
			    "refused the HCA is not assigned to this backend domain");
}

static void the_guest_has_the_say_about_its_memory(void **state)
{
	(void)state;
	assert_string_equal(host_ask(0, "map 0xe0100 0x1000 0x1"),
			    "refused guest frame outside of the guest's window");
	fake_xs_rm(FE "/doorbell-window");
	assert_string_equal(host_ask(0, "map 0xe0100 0x100000 0x1"),
			    "refused the guest published no window for doorbells");
	host.pv = true;
	assert_string_equal(host_ask(0, "map 0xe0100 0x100000 0x1"),
			    "refused a PV guest has no guest frame (gfn must be 0x0)");
	assert_string_equal(host_ask(0, "map 0xe0100 0x0 0x1"), "mapped");
	assert_int_equal(host.mapped, 1);
}

static void pages_go_back(void **state)
{
	(void)state;
	assert_string_equal(host_ask(0, "map 0xe0100 0x100000 0x1"), "mapped");
	fake_xs_rm(DB "/requests");
	host_turn();
	assert_int_equal(host.mapped, 0);
	assert_string_equal(host_ask(0, "map 0xe0100 0x100000 0x1"), "mapped");
	fake_xs_rm(BE);
	host_turn();
	assert_int_equal(host.mapped, 0);
	assert_string_equal(host_ask(0, "map 0xe0100 0x100000 0x1"), "mapped");
	fake_xs_rm(PCI);		/* the HCA is taken from the backend */
	host_turn();
	assert_int_equal(host.mapped, 0);
	fake_xs_set(PCI "/dev-0", BDF);
	assert_string_equal(host_ask(0, "map 0xe0100 0x100000 0x1"), "mapped");
	fake_xs_rm(LIBXL);		/* detach */
	host_turn();
	assert_int_equal(host.mapped, 0);
	assert_int_equal(host.a.table.n, 0);
	assert_null(host.a.devs);
}

static void a_dead_guest_is_forgotten(void **state)
{
	int before;

	(void)state;
	assert_string_equal(host_ask(0, "map 0xe0100 0x100000 0x1"), "mapped");
	before = host.calls;
	host.dead = true;
	fake_xs_set("@releaseDomain", "");
	host_turn();
	assert_int_equal(host.a.table.n, 0);
	assert_int_equal(host.calls, before);	/* Xen did it */
	assert_string_equal(host_ask(1, "map 0xe0100 0x100000 0x1"),
			    "refused the guest is gone");
	host.dead = false;
	assert_string_equal(host_ask(1, "map 0xe0100 0x100000 0x1"), "mapped");
	host.uuid = 2;				/* the number is used again */
	fake_xs_set("@releaseDomain", "");
	host_turn();
	assert_int_equal(host.a.table.n, 0);
}

static void a_restarted_agent_goes_on(void **state)
{
	int before;

	(void)state;
	assert_string_equal(host_list("1 0 map 0xe0100 0x100000 0x1"), "1 mapped");
	before = host.calls;
	dba_agent_stop(&host.a);
	host.a.devs = NULL;
	/* meanwhile: one request more, and the answer of the first is lost */
	fake_xs_rm(DB "/answers");
	fake_xs_set(DB "/requests",
		    "1 0 map 0xe0100 0x100000 0x1;2 1 map 0xe0101 0x100001 0x1");
	assert_int_equal(dba_agent_start(&host.a), 0);
	host_turn();
	assert_string_equal(fake_xs_get(DB "/answers"), "1 mapped;2 mapped");
	assert_int_equal(host.calls, before + 2);
	assert_int_equal(host.mapped, 2);
	/* a mapping whose device went while no agent ran */
	dba_agent_stop(&host.a);
	fake_xs_rm(LIBXL);
	assert_int_equal(dba_agent_start(&host.a), 0);
	host_turn();
	assert_int_equal(host.mapped, 0);
}

static void a_page_is_one_guests(void **state)
{
	(void)state;
	host_second_guest();
	assert_string_equal(host_ask(0, "map 0xe0100 0x100000 0x1"), "mapped");
	assert_string_equal(host_ask_in(DB6, 0, "map 0xe0100 0x0 0x1"),
			    "refused mapped into another guest");
	assert_string_equal(host_ask_in(DB6, 0, "map 0xe0101 0x0 0x1"), "mapped");
	assert_string_equal(host_ask(1, "map 0xe0101 0x100001 0x1"),
			    "refused mapped into another guest");
	/* its page tables may have it after an unmap, too */
	assert_string_equal(host_ask_in(DB6, 0, "unmap"), "unmapped");
	assert_string_equal(host_ask(1, "map 0xe0101 0x100001 0x1"),
			    "refused was mapped into another guest that still runs");
	assert_string_equal(host_ask_in(DB6, 1, "map 0xe0101 0x0 0x1"), "mapped");
	/* not so those of a guest whose frames Xen translates */
	assert_string_equal(host_ask(0, "unmap"), "unmapped");
	assert_string_equal(host_ask_in(DB6, 2, "map 0xe0100 0x0 0x1"), "mapped");
	assert_true(host.mapped == 0 && host.mapped6 == 2);
}

static void a_device_is_one_guests(void **state)
{
	(void)state;
	host_second_guest();
	/* the id of the other guest's device, on either side */
	assert_string_equal(host_ask_in("/local/domain/1/backend/vhca/5/3/doorbell",
				   0, "map 0xe0100 0x100000 0x1"), "");
	assert_string_equal(host_ask_in("/local/domain/1/backend/vhca/6/0/doorbell",
				   0, "map 0xe0100 0x0 0x1"), "");
	/* the toolstack's node of one names the other's backend nodes */
	fake_xs_set(LIBXL6 "/backend", BE);
	host_turn();
	assert_string_equal(host_ask_in(DB6, 0, "map 0xe0100 0x0 0x1"), "");
	assert_int_equal(host.calls, 0);
	assert_string_equal(host_ask(0, "map 0xe0100 0x100000 0x1"), "mapped");
}

static void long_requests_are_not_understood(void **state)
{
	char text[3000];

	(void)state;
	memset(text, '0', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	memcpy(text, "map 0xe0100 0x100000 0x1", 24);
	assert_string_equal(host_ask(0, text), "refused request not understood");
	assert_string_equal(host_ask(1, ""), "refused request not understood");
	assert_string_equal(host_ask(2, "map \001\033[2J 0x0 0x1"),
			    "refused request not understood");
	assert_int_equal(host.calls, 0);
}

static void add_guest(unsigned int guest)
{
	char path[64], value[64];

	snprintf(path, sizeof(path), "/libxl/%u/device/vhca/0/backend", guest);
	snprintf(value, sizeof(value), "/local/domain/1/backend/vhca/%u/0",
		 guest);
	fake_xs_set(path, value);
}

/* Requests for one more guest beside n that have a device each. */
static unsigned int cost_beside(unsigned int n)
{
	unsigned int i, before;

	host_teardown(NULL);
	host_setup(NULL);
	for (i = 0; i < n; i++)
		add_guest(100 + i);
	host_turn();
	before = fake_xs_requests();
	add_guest(99);
	host_turn();
	return fake_xs_requests() - before;
}

static void one_more_costs_the_same_beside_many(void **state)
{
	unsigned int few = cost_beside(1), before;

	(void)state;
	assert_in_range(few, 1, 8);
	assert_int_equal(cost_beside(60), few);
	/* What is no vhca, or of no domain, costs nothing. */
	before = fake_xs_requests();
	fake_xs_set("/libxl/40000/device/vhca/0/backend", "x");
	fake_xs_set("/libxl/7/device/vif/0/backend", "x");
	fake_xs_set("/libxl/7/device/vhcas/0/backend", "x");
	fake_xs_set("/libxl/7/dm-version", "qemu_xen");
	host_turn();
	assert_int_equal(fake_xs_requests(), before);
}

/* More at once than are looked at one by one, and each way in which nodes go. */
static void all_that_came_are_found(void **state)
{
	unsigned int i, n = 0;
	struct dba_dev *d;

	(void)state;
	for (i = 0; i < 2 * DBA_STALE; i++)
		add_guest(100 + i);
	host_second_guest();
	assert_string_equal(host_ask_in(DB6, 0, "map 0xe0100 0x0 0x1"), "mapped");
	assert_string_equal(host_ask(0, "map 0xe0101 0x100000 0x1"), "mapped");
	fake_xs_rm("/libxl/6/device");
	host_turn();
	assert_int_equal(host.mapped6, 0);
	assert_int_equal(host.mapped, 1);
	fake_xs_rm("/libxl/5");
	host_turn();
	assert_int_equal(host.mapped, 0);
	fake_xs_rm("/libxl/100/device/vhca");
	host_turn();
	fake_xs_rm("/libxl/101/device/vhca/0");
	host_turn();
	for (d = host.a.devs; d; d = d->next)
		n++;
	assert_int_equal(n, 2 * DBA_STALE - 2);
	fake_xs_rm("/libxl");
	host_turn();
	assert_null(host.a.devs);
}

/* What the hypervisor is asked when a domain ends: once about each guest. */
static void a_guest_is_asked_about_once(void **state)
{
	unsigned int i, before;

	(void)state;
	for (i = 0; i < 8; i++) {
		char text[64];

		snprintf(text, sizeof(text), "map 0xe01%02x 0x1000%02x 0x1", i, i);
		assert_string_equal(host_ask(i, text), "mapped");
	}
	before = host.about;
	fake_xs_set("@releaseDomain", "");
	host_turn();
	assert_int_equal(host.about - before, 1);
}

/* The agent anew, which lets through a burst and then one request a second. */
static void a_dry_run_answers_nothing(void **state)
{
	(void)state;
	host.a.dry_run = true;
	assert_string_equal(host_ask(0, "map 0xe0100 0x100000 0x1"), "");
	assert_string_equal(host_ask(1, "map 0x1 0x100000 0x1"), "");
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, host_setup, host_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(map_and_unmap_are_answered),
		TEST(what_is_mapped_is_not_mapped_again),
		TEST(the_toolstack_has_the_say),
		TEST(dead_owners_do_not_count),
		TEST(the_guest_has_the_say_about_its_memory),
		TEST(pages_go_back),
		TEST(a_dead_guest_is_forgotten),
		TEST(a_restarted_agent_goes_on),
		TEST(a_page_is_one_guests),
		TEST(a_device_is_one_guests),
		TEST(long_requests_are_not_understood),
		TEST(one_more_costs_the_same_beside_many),
		TEST(all_that_came_are_found),
		TEST(a_guest_is_asked_about_once),
		TEST(a_dry_run_answers_nothing),
	};

	return cmocka_run_group_tests(tests, host_make_sysfs, host_remove_sysfs);
}
