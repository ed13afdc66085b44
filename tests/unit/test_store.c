// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The store of a worker over a xenstore in memory: what is read of which side,
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
#include "core/be.h"
#include "carrier/open_xenstore.h"
#include "clock.h"
#include "promised.h"
#include "tests/fake/fake_xs.h"
#include "vhca-keys.h"
#include "worker/conf.h"

#define BACK	"/local/domain/1/backend/vhca/5/0"
#define FRONT	"/local/domain/5/device/vhca/0"

static struct be_dev dev;
static struct be_store *l;

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
	l = be_store_xenstore(&dev, 5, 0);
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
		{ "umad", "" }, { "umad", "1" }, { "umad", "query all" },
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

static void rights_come_over_it(void **state)
{
	(void)state;
	assert_int_equal(be_conf_read(&dev, l), 0);
	assert_int_equal(dev.umad, BE_UMAD_NONE);
	fake_xs_set(BACK "/umad", "query");
	assert_int_equal(be_conf_read(&dev, l), 0);
	assert_int_equal(dev.umad, BE_UMAD_QUERY);
	fake_xs_set(BACK "/umad", "all");
	assert_int_equal(be_conf_read(&dev, l), 0);
	assert_int_equal(dev.umad, BE_UMAD_ALL);
	fake_xs_rm(BACK "/umad");
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
	assert_int_equal(l->ops->changed(l), BE_NEWS_OWN | BE_NEWS_PEER);
	assert_int_equal(l->ops->changed(l), 0);
}

/* Beyond the rate the worker sleeps. Each change costs a hundredth of a second; the first
 * hundred are free. */
static void changes_are_slowed_down(void **state)
{
	uint64_t begin;
	int i;

	(void)state;
	assert_int_equal(l->ops->find(l), 0);
	assert_int_equal(l->ops->watch(l), 0);
	l->ops->changed(l);
	begin = vl_now_ns();
	for (i = 0; i < 160; i++) {
		fake_xs_set(FRONT "/state", i % 2 ? "6" : "3");
		assert_int_equal(l->ops->changed(l), BE_NEWS_PEER);
	}
	assert_true(vl_now_ns() - begin > VL_SEC_NS / 2);
}

#define RING "386 387 388 389 390 391 392 393 394 395 396 397 398 399 400 401"

static void offer(void)
{
	assert_int_equal(be_conf_offer(l), 0);
	assert_int_equal(l->ops->set_state(l, XenbusStateInitWait), 0);
}

/* Puts the setup node with this text behind the offer, or behind another one. */
static void front_offers(uint32_t more, const char *rest)
{
	char text[256];
	unsigned int order, offer;

	assert_int_equal(sscanf(fake_xs_get(BACK "/setup"), "%u %u", &order,
				&offer), 2);
	assert_int_equal(order, XENVHCA_MAX_RING_ORDER);
	snprintf(text, sizeof(text), "1 %u%s", offer + more, rest);
	fake_xs_set(FRONT "/setup", text);
}

static int offered(struct be_ring_params *p)
{
	dev.fault = false;
	dev.fault_reason[0] = '\0';
	return be_conf_frontend(&dev, l, p);
}

static void one_node_says_all(void **state)
{
	struct be_ring_params p;

	(void)state;
	assert_int_equal(l->ops->find(l), 0);
	offer();
	front_offers(0, " 15 16 17 402 403 " RING);
	assert_int_equal(offered(&p), 0);
	assert_int_equal(p.ring_order, 4);
	assert_int_equal(p.ring_ref[0], 386);
	assert_int_equal(p.ring_ref[15], 401);
	assert_int_equal(p.cmd_port, 15);
	assert_int_equal(p.evt_port, 16);
	assert_int_equal(p.kick_port, 17);
	assert_int_equal(p.evt_ref, 402);
	assert_int_equal(p.kick_ref, 403);
	front_offers(0, " 15 16 17 402 403 386");
	assert_int_equal(offered(&p), 0);
	assert_int_equal(p.ring_order, 0);
}

static void a_wrong_setup_is_named(void **state)
{
	static const char *const wrong[] = {
		"", " ", " 15 16 17 402 403", " 15 16 17 402 403 1 2 3",
		" 15 16 17 402 403 " RING " 1", " 15 16 17 402 403 " RING " " RING,
		" 15 16 17 402 403 0", " 0 16 17 402 403 386",
		" 131072 16 17 402 403 386", " 15 16 17 402 4294967295 386",
		" 15 16 17 4294967296 403 386", " 15 16 17 402 403 -1",
		" 15 16 17 402 403 386 ", "  15 16 17 402 403 386",
		" 15 16 17 402 403 0x10",
	};
	struct be_ring_params p;
	unsigned int i;

	(void)state;
	assert_int_equal(l->ops->find(l), 0);
	offer();
	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		front_offers(0, wrong[i]);
		if (offered(&p) >= 0)
			fail_msg("'%s' was taken", wrong[i]);
		assert_non_null(strstr(dev.fault_reason, FRONT "/setup"));
	}
	fake_xs_set(FRONT "/setup", "2 1");
	assert_true(offered(&p) < 0);
	fake_xs_rm(FRONT "/setup");
	assert_true(offered(&p) < 0);
}

/* Of the connection before this, by another module or to another worker. */
static void what_an_earlier_one_left_is_not_taken(void **state)
{
	struct be_ring_params p;

	(void)state;
	assert_int_equal(l->ops->find(l), 0);
	offer();
	front_offers(1, " 15 16 17 402 403 77");
	assert_true(offered(&p) < 0);
	assert_non_null(strstr(dev.fault_reason, FRONT "/setup"));
}

/* The toolstack writes after a worker has looked: the next one sees it. */
static void a_node_is_there_when_it_is_found(void **state)
{
	char text[16];

	(void)state;
	assert_int_equal(l->ops->find(l), 0);
	assert_int_equal(l->ops->read(l, BE_OWN, "max-qp", text, 16), -ENOENT);
	fake_xs_set(BACK "/max-qp", "7");
	assert_int_equal(l->ops->find(l), 0);
	assert_int_equal(l->ops->read(l, BE_OWN, "max-qp", text, 16), 0);
	fake_xs_set(BACK "/max-cq", "7");
	assert_int_equal(l->ops->watch(l), 0);
	assert_int_equal(l->ops->read(l, BE_OWN, "max-cq", text, 16), 0);
}

/* With hundreds of guests each end of one wakes all workers. */
static void the_end_of_others_is_one_request(void **state)
{
	unsigned int before;

	(void)state;
	assert_int_equal(l->ops->find(l), 0);
	assert_int_equal(l->ops->watch(l), 0);
	assert_int_equal(l->ops->changed(l), BE_NEWS_OWN | BE_NEWS_PEER);
	before = fake_xs_requests();
	fake_xs_set("@releaseDomain", "");
	fake_xs_set("@releaseDomain", "");
	assert_int_equal(l->ops->changed(l), 0);
	assert_int_equal(fake_xs_requests() - before, 1);
	fake_xs_rm("/local/domain/5/name");
	fake_xs_set("@releaseDomain", "");
	assert_int_equal(l->ops->changed(l), BE_NEWS_END);
	assert_int_equal(l->ops->changed(l), 0);
}

/* So that only what has changed is asked for. */
static void news_says_what_it_is_of(void **state)
{
	unsigned int before;

	(void)state;
	assert_int_equal(l->ops->find(l), 0);
	assert_int_equal(l->ops->watch(l), 0);
	assert_int_equal(l->ops->changed(l), BE_NEWS_OWN | BE_NEWS_PEER);
	before = fake_xs_requests();
	fake_xs_set(FRONT "/state", "5");
	assert_int_equal(l->ops->changed(l), BE_NEWS_PEER);
	fake_xs_set(BACK "/state", "5");
	assert_int_equal(l->ops->changed(l), BE_NEWS_OWN);
	assert_int_equal(fake_xs_requests(), before);
	/* Also where the toolstack removes all of it. */
	fake_xs_rm(BACK);
	assert_int_equal(l->ops->changed(l), BE_NEWS_OWN);
}

/* An offer is there with the state, for a frontend that looks at any time. */
static void an_offer_comes_with_its_state(void **state)
{
	unsigned int before;

	(void)state;
	assert_int_equal(l->ops->find(l), 0);
	before = fake_xs_requests();
	assert_int_equal(be_conf_offer(l), 0);
	assert_int_equal(fake_xs_requests(), before);
	assert_null(fake_xs_get(BACK "/versions"));
	assert_int_equal(be_conf_offer(l), 0);	/* instead of the other */
	before = fake_xs_commits();
	assert_int_equal(l->ops->set_state(l, XenbusStateInitWait), 0);
	assert_int_equal(fake_xs_commits() - before, 1);
	assert_string_equal(fake_xs_get(BACK "/versions"), "1");
	assert_non_null(fake_xs_get(BACK "/setup"));
	fake_xs_set(BACK "/versions", "7");
	assert_int_equal(l->ops->set_state(l, XenbusStateConnected), 0);
	assert_string_equal(fake_xs_get(BACK "/versions"), "7");
}

/* Removed meanwhile: nothing is made anew. */
static void an_offer_of_what_was_removed_is_not_there(void **state)
{
	(void)state;
	assert_int_equal(l->ops->find(l), 0);
	assert_int_equal(be_conf_offer(l), 0);
	fake_xs_rm(BACK);
	assert_int_equal(l->ops->set_state(l, XenbusStateInitWait), -ENOENT);
	assert_null(fake_xs_get(BACK "/setup"));
}

static void requests_of_an_attach(void **state)
{
	struct be_ring_params p;

	(void)state;
	assert_int_equal(l->ops->find(l), 0);
	assert_int_equal(be_conf_read(&dev, l), 0);
	assert_int_equal(l->ops->watch(l), 0);
	assert_int_equal(be_conf_offer(l), 0);
	assert_int_equal(l->ops->set_state(l, XenbusStateInitWait), 0);
	front_offers(0, " 15 16 17 402 403 " RING);
	assert_int_equal(be_conf_frontend(&dev, l, &p), 0);
	assert_int_equal(l->ops->set_state(l, XenbusStateConnected), 0);
	promised("requests of xenstore by a worker for an attach",
		 fake_xs_requests());
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
		T(rights_come_over_it),
		T(nothing_is_written_where_all_was_removed),
		T(states_follow_the_diagram),
		T(one_look_takes_all_events),
		T(changes_are_slowed_down),
		T(one_node_says_all),
		T(a_wrong_setup_is_named),
		T(what_an_earlier_one_left_is_not_taken),
		T(a_node_is_there_when_it_is_found),
		T(the_end_of_others_is_one_request),
		T(news_says_what_it_is_of),
		T(an_offer_comes_with_its_state),
		T(an_offer_of_what_was_removed_is_not_there),
		T(requests_of_an_attach),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
