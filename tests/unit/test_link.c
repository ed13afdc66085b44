// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The link of a worker over a xenstore in memory: what is read of which side,
 * what is not written where the toolstack has removed all, who the peer is.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "be.h"
#include "carrier/open_xenstore.h"
#include "tests/fake/fake_xs.h"
#include "worker/conf.h"

#define BACK	"/local/domain/1/backend/vhca/5/0"
#define FRONT	"/local/domain/5/device/vhca/0"

static struct be_dev dev;
static struct be_link *l;

static int setup(void **state)
{
	(void)state;
	fake_xs_reset();
	fake_xs_set("domid", "1");
	fake_xs_set("/local/domain/5/name", "web");
	fake_xs_set(BACK "/frontend", FRONT);
	fake_xs_set(BACK "/frontend-id", "5");
	fake_xs_set(BACK "/state", "1");
	fake_xs_set(BACK "/hca", "rxe0");
	fake_xs_set(FRONT "/state", "3");
	if (be_dev_init(&dev, 5, 0))
		return -1;
	l = be_link_xenstore(&dev, 5, 0);
	return l ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	l->ops->close(l);
	be_dev_fini(&dev);
	return 0;
}

static void each_side_has_its_nodes(void **state)
{
	char text[16];

	(void)state;
	assert_int_equal(l->own, XenbusStateInitialising);
	assert_int_equal(l->ops->find(l), 0);
	assert_string_equal(l->name[BE_OWN], BACK);
	assert_string_equal(l->name[BE_PEER], FRONT);
	assert_int_equal(l->ops->state(l, BE_PEER), XenbusStateInitialised);
	assert_int_equal(l->ops->read(l, BE_OWN, "hca", text, sizeof(text)), 0);
	assert_string_equal(text, "rxe0");
	assert_int_equal(l->ops->read(l, BE_PEER, "hca", text, sizeof(text)),
			 -ENOENT);
	assert_true(l->ops->alive(l));
}

static void the_peer_is_the_one_we_serve(void **state)
{
	(void)state;
	fake_xs_set(BACK "/frontend-id", "6");
	assert_true(l->ops->find(l) < 0);
	assert_non_null(strstr(dev.fault_reason, "frontend-id must be 5"));
}

static void a_device_without_a_peer_is_refused(void **state)
{
	(void)state;
	fake_xs_rm(BACK "/frontend");
	assert_int_equal(l->ops->find(l), -ENOENT);
	assert_non_null(strstr(dev.fault_reason, BACK "/frontend"));
}

static void configuration_comes_over_it(void **state)
{
	(void)state;
	fake_xs_set(BACK "/max-qp", "7");
	fake_xs_set(BACK "/port", "2");
	assert_int_equal(be_conf_read(&dev, l), 0);
	assert_string_equal(dev.hca, "rxe0");
	assert_int_equal(dev.quota.max[BE_QP], 7);
	assert_int_equal(dev.quota.max[BE_CQ], XENVHCA_DEF_MAX_CQ);
	assert_int_equal(dev.port, 2);
}

static void a_wrong_number_is_named(void **state)
{
	static const char *const wrong[] = {
		"", "0", "65536", "-1", "7x", "0x7", " 7",
		"11111111111111111111111111111111111111111111111111",
	};
	unsigned int i;

	(void)state;
	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		dev.fault = false;
		fake_xs_set(BACK "/max-qp", wrong[i]);
		assert_true(be_conf_read(&dev, l) < 0);
		assert_non_null(strstr(dev.fault_reason, BACK
				       "/max-qp must be a number 1..65535"));
	}
}

/* A mistake shares nothing: the device is refused. */
static void own_addresses_come_over_it(void **state)
{
	static const char *const bad[][2] = {
		{ "ip", "" }, { "ip", "192.0.2.7;id" }, { "ip", "eth0" },
		{ "pkeys", "" }, { "pkeys", "0x0" }, { "pkeys", "8001" },
		{ "doorbell-static", "" }, { "doorbell-static", "0x1 0x1" },
	};
	char path[80];
	size_t i;

	(void)state;
	fake_xs_set(BACK "/ip", "192.0.2.7/24 2001:db8::7");
	assert_int_equal(be_conf_read(&dev, l), 0);
	assert_int_equal(dev.addr.n_ips, 2);
	assert_int_equal(dev.addr.ip[0].prefix, 24);
	assert_int_equal(dev.addr.n_pkeys, 1);
	assert_true(dev.addr.default_pkey);
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(path, sizeof(path), BACK "/%s", bad[i][0]);
		fake_xs_set(path, bad[i][1]);
		dev.fault = false;
		assert_true(be_conf_read(&dev, l) < 0);
		assert_non_null(strstr(dev.fault_reason, bad[i][0]));
		fake_xs_rm(path);
	}
	assert_true(dev.window.nr == 0);
	fake_xs_set(BACK "/doorbell-static", "0x8000140 0x9000140 0x20");
	assert_int_equal(be_conf_read(&dev, l), 0);
	assert_true(dev.window.mfn == 0x8000140 && dev.window.gfn == 0x9000140 &&
		    dev.window.nr == 0x20);
	fake_xs_rm(BACK "/doorbell-static");
	memset(&dev.window, 0, sizeof(dev.window));
	memset(&dev.addr, 0, sizeof(dev.addr));
	fake_xs_set(BACK "/pkeys", "0x8001 0x1");
	assert_int_equal(be_conf_read(&dev, l), 0);
	assert_int_equal(dev.addr.n_ips, 0);
	assert_int_equal(dev.addr.n_pkeys, 2);
	fake_xs_rm(BACK "/pkeys");
	memset(&dev.addr, 0, sizeof(dev.addr));
	assert_int_equal(be_conf_read(&dev, l), 0);
	assert_int_equal(dev.addr.n_pkeys, 0);
}

static void nothing_is_written_where_all_was_removed(void **state)
{
	(void)state;
	assert_int_equal(l->ops->write(l, "broken", "why"), 0);
	assert_string_equal(fake_xs_get(BACK "/broken"), "why");
	assert_int_equal(l->ops->write(l, "broken", NULL), 0);
	assert_null(fake_xs_get(BACK "/broken"));
	fake_xs_rm(BACK);
	assert_int_equal(l->ops->write(l, "broken", "why"), -ENOENT);
	assert_int_equal(l->ops->set_state(l, XenbusStateInitWait), -ENOENT);
	assert_null(fake_xs_get(BACK "/broken"));
	assert_null(fake_xs_get(BACK "/state"));
}

static void states_follow_the_diagram(void **state)
{
	(void)state;
	assert_int_equal(l->ops->set_state(l, XenbusStateConnected), -EPERM);
	assert_int_equal(l->ops->set_state(l, XenbusStateInitWait), 0);
	assert_string_equal(fake_xs_get(BACK "/state"), "2");
	assert_int_equal(l->own, XenbusStateInitWait);
}

/*
 * libxenstore queues without limit what comes while a command is slow: one look
 * takes all of it, else a guest that writes its state makes the worker grow.
 */
static void one_look_takes_all_events(void **state)
{
	int i;

	(void)state;
	assert_int_equal(l->ops->find(l), 0);
	assert_int_equal(l->ops->watch(l), 0);
	for (i = 0; i < 3000; i++)
		fake_xs_set(FRONT "/state/x", "1");
	assert_int_equal(l->ops->changed(l), 1);
	assert_int_equal(l->ops->changed(l), 0);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	static const struct CMUnitTest tests[] = {
		T(each_side_has_its_nodes),
		T(the_peer_is_the_one_we_serve),
		T(a_device_without_a_peer_is_refused),
		T(configuration_comes_over_it),
		T(a_wrong_number_is_named),
		T(own_addresses_come_over_it),
		T(nothing_is_written_where_all_was_removed),
		T(states_follow_the_diagram),
		T(one_look_takes_all_events),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
