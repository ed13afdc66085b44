// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The store of a worker without xenstore: files on our side, a page of a hostile guest on
 * the other. The page is plain memory that the test writes to, whenever it likes.
 * libxenstore is never called (test_store_page.h).
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
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>
#include "clock.h"
#include "core/be.h"
#include "carrier/gntdev.h"
#include "carrier/open_files.h"
#include "host/tree.h"
#include "worker/conf.h"
#include "test_store_page.h"

/* Of the guest's half: the guest writes after each number that is read. */
static void (*peer)(const void *read);
#define __atomic_load_n(p, order)					\
({									\
	__typeof__(*(p)) __v = *(p);					\
	if (peer)							\
		peer(p);						\
	__v;								\
})
#include "carrier/store_page.c"
#undef __atomic_load_n

/* ---- a device ---- */
static char root[] = "/tmp/vhca-page-XXXXXX", dir[64];
static struct be_dev dev;
static struct be_store *l;

static void put(const char *node, const char *value)
{
	assert_int_equal(host_tree_write(dir, node, value), 0);
}

static unsigned int file_number(const char *node)
{
	return host_tree_number(dir, node, 0, 99, 99);
}

/* The guest's frontend. */
static void offers(void)
{
	memset(&guest, 0, sizeof(guest));
	guest.front_layout = XENVHCA_STORE_LAYOUT;
	guest.front_port = PORT;
	guest.front_state = XenbusStateInitialising;
	guest.front_magic = XENVHCA_STORE_MAGIC;
	granted = true;
}

static void notifies(void)
{
	uint64_t one = 1;

	assert_int_equal(write(event_fd, &one, sizeof(one)), sizeof(one));
}

/* Until the store has something to tell, or a look for a page has gone by. */
static int look(void)
{
	struct pollfd p = { .fd = l->ops->fd(l), .events = POLLIN };

	poll(&p, 1, 1500);
	return l->ops->changed(l);
}

/* Nothing of our own writing is left to be told. */
static void settle(void)
{
	struct pollfd p = { .fd = l->ops->fd(l), .events = POLLIN };

	while (poll(&p, 1, 0) > 0)
		l->ops->changed(l);
}

static void open_link(void)
{
	l = be_store_page(&dev, 5, 0);
	assert_non_null(l);
	assert_int_equal(l->ops->find(l), 0);
	assert_int_equal(l->ops->watch(l), NEWS);
}

static int setup(void **state)
{
	(void)state;
	snprintf(root, sizeof(root), "/tmp/vhca-page-XXXXXX");
	if (!mkdtemp(root) || be_dev_init(&dev, 5, 0))
		return -1;
	snprintf(dir, sizeof(dir), "%s/5", root);
	mkdir(dir, 0700);
	snprintf(dir, sizeof(dir), "%s/5/0", root);
	mkdir(dir, 0700);
	be_files_at(root);
	put("hca", "rxe0\n");
	put("grant-ref", "2");
	put("state", "1");
	put("online", "1");
	memset(&guest, 0, sizeof(guest));
	granted = mapped_at_unbind = false;
	granted_ref = 2;
	maps = mapped = notices = unmasks = slept = 0;
	l = NULL;
	peer = NULL;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	if (l)
		l->ops->close(l);
	assert_int_equal(mapped, 0);
	assert_int_equal(event_fd, -1);
	assert_false(mapped_at_unbind);
	be_dev_fini(&dev);
	host_tree_remove(root, 5, 0);
	return rmdir(root);
}

#define RING "100 101 102 103 104 105 106 107 108 109 110 111 112 113 114 115"

/* The frontend's setup: this version, the backend's offer, the rest. */
static void front_offers(const char *version, const char *rest)
{
	memset(guest.front_setup, 0, sizeof(guest.front_setup));
	snprintf((char *)guest.front_setup, sizeof(guest.front_setup), "%s %u%s",
		 version, l->offer, rest);
}

/* ---- tests ---- */
static void both_ends_connect(void **state)
{
	struct be_ring_params p;
	char text[64];

	(void)state;
	offers();
	open_link();
	assert_true(l->no_agent);
	assert_int_equal(l->own, XenbusStateInitialising);
	assert_int_equal(l->ops->state(l, BE_PEER), XenbusStateInitialising);
	assert_int_equal(file_number("frontend-state"), XenbusStateInitialising);
	assert_int_equal(be_conf_read(&dev, l), 0);
	assert_string_equal(dev.hca, "rxe0");
	assert_int_equal(be_conf_offer(l), 0);
	assert_int_equal(l->ops->set_state(l, XenbusStateInitWait), 0);
	assert_int_equal(guest.back_state, XenbusStateInitWait);
	assert_int_equal(file_number("state"), XenbusStateInitWait);
	assert_string_equal((char *)guest.back_versions, XENVHCA_PROTOCOL_VERSION);
	snprintf(text, sizeof(text), "%u %u", XENVHCA_MAX_RING_ORDER, l->offer);
	assert_string_equal((char *)guest.back_setup, text);
	assert_int_equal(l->ops->read(l, BE_PEER, XENVHCA_NODE_SETUP, text,
				      sizeof(text)), -ENOENT);
	front_offers("1", " 10 11 12 200 201 " RING);
	guest.front_state = XenbusStateInitialised;
	settle();
	notifies();
	assert_int_equal(look(), NEWS);
	assert_int_equal(l->ops->state(l, BE_PEER), XenbusStateInitialised);
	assert_int_equal(be_conf_frontend(&dev, l, &p), 0);
	assert_int_equal(p.ring_ref[15], 115);
	assert_int_equal(p.evt_ref, 200);
	assert_int_equal(p.kick_port, 12);
	assert_int_equal(l->ops->set_state(l, XenbusStateConnected), 0);
	assert_int_equal(guest.back_state, XenbusStateConnected);
	assert_true(notices >= 2);
	assert_true(l->ops->alive(l));
}

/* Each is told, none is used. */
static void a_wild_setup_is_refused(void **state)
{
	static const char *const bad[][2] = {
		{ "2", " 10 11 12 200 201 100" }, { "4294967295", " 10 11 12 200 201 100" },
		{ "0", " 10 11 12 200 201 100" }, { "1", "" },
		{ "1", " 10 11 12 200 201" }, { "1", " 10 11 12 200 201 1 2 3" },
		{ "1", " 10 11 12 200 201 " RING " 116" },
		{ "1", " 10 11 12 200 201 0" }, { "1", " 10 11 12 4294967295 201 100" },
		{ "1", " 131072 11 12 200 201 100" }, { "1", " 10 11 0 200 201 100" },
		{ "1", " 10 11 12 200 201 100\n" }, { "1", " 10 11 12 200 0 100" },
	};
	struct be_ring_params p;
	size_t i;

	(void)state;
	offers();
	open_link();
	assert_int_equal(be_conf_offer(l), 0);
	for (i = 0; i <= sizeof(bad) / sizeof(bad[0]); i++) {
		front_offers("1", " 10 11 12 200 201 100");
		dev.fault = false;
		assert_int_equal(be_conf_frontend(&dev, l, &p), 0);
		if (i < sizeof(bad) / sizeof(bad[0]))
			front_offers(bad[i][0], bad[i][1]);
		else
			memset(guest.front_setup, '1', sizeof(guest.front_setup));
		memset(guest.front_pad1, '1', sizeof(guest.front_pad1));
		assert_true(be_conf_frontend(&dev, l, &p) < 0);
		assert_non_null(strstr(dev.fault_reason, "/setup must be version 1"));
	}
}

static void a_wild_state_is_none(void **state)
{
	static const uint32_t wild[] = { 7, 8, 0x104, ~0u, 0x80000000 };
	size_t i;

	(void)state;
	offers();
	open_link();
	for (i = 0; i < sizeof(wild) / sizeof(wild[0]); i++) {
		guest.front_state = wild[i];
		assert_int_equal(l->ops->state(l, BE_PEER), XenbusStateUnknown);
	}
}

static void state_flips(const void *read)
{
	if (read == &guest.front_state)
		guest.front_state = ~0u;
}

/* What was read is what counts, and a text that never ends does. */
static void setup_flips(const void *read)
{
	const uint8_t *at = read;

	if (at >= guest.front_setup && at < guest.front_setup + XENVHCA_STORE_SETUP)
		memset(guest.front_setup, '7', (size_t)(at + 1 - guest.front_setup));
}

static void port_flips(const void *read)
{
	if (read == &guest.front_port)
		guest.front_port = 7;
}

/* What was checked is what is used, whatever it becomes in between. */
static void numbers_are_read_once(void **state)
{
	struct be_ring_params p;

	(void)state;
	offers();
	peer = port_flips;
	open_link();
	assert_int_equal(mapped, 1);
	guest.front_state = XenbusStateConnected;
	peer = state_flips;
	assert_int_equal(l->ops->state(l, BE_PEER), XenbusStateConnected);
	front_offers("1", " 10 11 12 200 201 100");
	peer = setup_flips;
	assert_int_equal(be_conf_frontend(&dev, l, &p), 0);
	assert_int_equal(p.ring_ref[0], 100);
	peer = NULL;
}

/* What is no page of ours is left alone: it may be any page of the guest's. */
static void a_strange_page_is_not_touched(void **state)
{
	static const uint32_t front[][3] = {
		{ 0, XENVHCA_STORE_LAYOUT, PORT }, { ~0u, XENVHCA_STORE_LAYOUT, PORT },
		{ XENVHCA_STORE_MAGIC, 0, PORT }, { XENVHCA_STORE_MAGIC, 2, PORT },
		{ XENVHCA_STORE_MAGIC, XENVHCA_STORE_LAYOUT, 0 },
		{ XENVHCA_STORE_MAGIC, XENVHCA_STORE_LAYOUT, 1u << 17 },
		{ XENVHCA_STORE_MAGIC, XENVHCA_STORE_LAYOUT, ~0u },
	};
	struct xenvhca_store_page was;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(front) / sizeof(front[0]); i++) {
		offers();
		guest.front_magic = front[i][0];
		guest.front_layout = front[i][1];
		guest.front_port = front[i][2];
		was = guest;
		open_link();
		assert_int_equal(mapped, 0);
		assert_int_equal(l->ops->state(l, BE_PEER), XenbusStateUnknown);
		assert_int_equal(l->ops->set_state(l, XenbusStateInitWait), 0);
		assert_memory_equal(&was, &guest, sizeof(was));
		l->ops->close(l);
		put("state", "1");
	}
	/* A port of somebody else's. */
	offers();
	guest.front_port = 7;
	open_link();
	assert_int_equal(mapped, 0);
	assert_int_equal(event_fd, -1);
}

/* Until the guest has a frontend; then what we are is there before the port is bound. */
static void a_page_is_waited_for(void **state)
{
	unsigned int before;

	(void)state;
	open_link();
	assert_int_equal(l->ops->state(l, BE_PEER), XenbusStateUnknown);
	assert_int_equal(be_conf_offer(l), 0);
	assert_int_equal(l->ops->set_state(l, XenbusStateInitWait), 0);
	settle();
	before = maps;
	assert_int_equal(look(), 0);
	assert_int_equal(maps, before + 1);
	offers();
	assert_int_equal(look(), NEWS);
	assert_int_equal(state_at_bind, XenbusStateInitWait);
	assert_string_equal((char *)guest.back_versions, XENVHCA_PROTOCOL_VERSION);
	assert_int_equal(l->ops->state(l, BE_PEER), XenbusStateInitialising);
}

/* And the guest's next frontend is met. */
static void a_withdrawn_page_is_left(void **state)
{
	(void)state;
	offers();
	open_link();
	assert_int_equal(l->ops->set_state(l, XenbusStateInitWait), 0);
	settle();
	guest.front_magic = 0;
	assert_int_equal(l->ops->state(l, BE_PEER), XenbusStateUnknown);
	settle();
	granted = false;
	notifies();
	assert_int_equal(look(), NEWS);
	assert_int_equal(mapped, 0);
	assert_int_equal(event_fd, -1);
	assert_int_equal(look(), 0);
	offers();
	assert_int_equal(look(), NEWS);
	assert_int_equal(guest.back_state, XenbusStateInitWait);
}

/* A guest that withdraws and offers all the time has one page mapped in each second. */
static void a_flapping_page_is_mapped_once_a_second(void **state)
{
	time_t end = time(NULL) + 3;
	unsigned int flaps = 0;

	(void)state;
	offers();
	open_link();
	while (time(NULL) < end) {
		guest.front_magic ^= XENVHCA_STORE_MAGIC;
		if (event_fd >= 0)
			notifies();
		l->ops->changed(l);
		flaps++;
	}
	assert_true(flaps > 1000);
	assert_in_range(maps, 1, 6);
}

/* With a change or without: each changes a file, of which the supervisor hears. */
static void notices_are_slowed_down(void **state)
{
	uint64_t begin = vl_now_ns();
	int i;

	(void)state;
	offers();
	open_link();
	l->ops->state(l, BE_PEER);
	settle();
	for (i = 0; i < 400; i++) {
		guest.front_state = i % 2 ? XenbusStateClosed :
				    XenbusStateInitialising;
		notifies();
		assert_int_equal(l->ops->changed(l), NEWS);
		l->ops->state(l, BE_PEER);
		assert_true(i > 50 || !slept);
	}
	assert_int_equal(unmasks, 400);
	/* In as long as these should have taken, of which a slow host has spent some. */
	assert_true(slept + (vl_now_ns() - begin) / 1000 >= 1000 * 1000);
}

/* What a killed worker left in the page and in the file is not what we are. */
static void a_new_worker_begins_closed(void **state)
{
	(void)state;
	offers();
	guest.back_state = XenbusStateConnected;
	guest.front_state = XenbusStateConnected;
	put("state", "6");		/* the supervisor saw it */
	open_link();
	assert_int_equal(state_at_bind, XenbusStateClosed);
	assert_int_equal(l->own, XenbusStateClosed);
	l->ops->close(l);
	put("state", "4");		/* it did not */
	guest.back_state = XenbusStateConnected;
	open_link();
	assert_int_equal(state_at_bind, XenbusStateClosed);
	assert_int_equal(l->own, XenbusStateConnected);
	assert_int_equal(l->ops->set_state(l, XenbusStateClosed), 0);
}

static void a_detach_is_seen_by_the_guest(void **state)
{
	(void)state;
	offers();
	open_link();
	assert_int_equal(l->ops->set_state(l, XenbusStateInitWait), 0);
	assert_int_equal(l->ops->set_state(l, XenbusStateConnected), 0);
	settle();
	put("online", "0");
	put("state", "5");
	assert_int_equal(look(), NEWS);
	assert_int_equal(l->ops->state(l, BE_OWN), XenbusStateClosing);
	assert_int_equal(guest.back_state, XenbusStateClosing);
}

static void nothing_is_made_anew(void **state)
{
	(void)state;
	offers();
	open_link();
	assert_int_equal(l->ops->set_state(l, XenbusStateConnected), -EPERM);
	assert_int_equal(l->ops->write(l, "broken", "why"), 0);
	assert_int_equal(l->ops->write(l, "broken", NULL), 0);
	put("state", NULL);		/* as it begins */
	assert_int_equal(l->ops->set_state(l, XenbusStateInitWait), -ENOENT);
	guest.front_state = XenbusStateClosed;
	l->ops->state(l, BE_PEER);
	assert_int_equal(file_number("state"), 99);
	assert_int_equal(file_number("frontend-state"), 99);
	assert_int_equal(host_tree_remove(root, 5, 0), 0);
	assert_int_equal(l->ops->set_state(l, XenbusStateInitWait), -ENOENT);
	assert_int_equal(l->ops->write(l, "broken", "why"), -ENOENT);
	assert_int_equal(l->ops->state(l, BE_OWN), XenbusStateUnknown);
	assert_int_not_equal(access(dir, F_OK), 0);
}

static void a_wrong_reference_is_told(void **state)
{
	static const char *const bad[] = { "1", "8", "x", "", "-1", "4294967298" };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		put("grant-ref", bad[i]);
		assert_null(be_store_page(&dev, 5, 0));
	}
	assert_int_equal(maps, 0);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	static const struct CMUnitTest tests[] = {
		T(both_ends_connect),
		T(a_wild_setup_is_refused),
		T(a_wild_state_is_none),
		T(numbers_are_read_once),
		T(a_strange_page_is_not_touched),
		T(a_page_is_waited_for),
		T(a_withdrawn_page_is_left),
		T(a_flapping_page_is_mapped_once_a_second),
		T(notices_are_slowed_down),
		T(a_new_worker_begins_closed),
		T(a_detach_is_seen_by_the_guest),
		T(nothing_is_made_anew),
		T(a_wrong_reference_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
