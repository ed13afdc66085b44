// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * frontend/kernel/iw*.c with the connection manager of hostile-backend, as
 * 61-hostile-backend-kernel has both on Xen: honest, it brings twenty connections up and
 * those of its peers; whatever it lies, iw_cm meets no BUG_ON(), and nothing is left.
 */
#define QPS		40
#include "front_iw.h"
#include "hostile.h"

#define COUNT		20
#define PEERS		3		/* requests that a listener hears of */
#define ROUNDS		400

static int hostile_does(struct vhca_cm_call *c, struct vhca_file *file)
{
	struct hostile_cm h = {
		.cmd = c->cmd, .in = c->in, .in_len = c->in_len, .room = c->room, .out = c->out,
	};
	int rc;

	memset(c->out, 0, sizeof(c->out));
	rc = hostile_cm(&h);
	c->out_len = h.out_len;
	file->events = h.events;
	return rc;
}

static void goes_on(int rounds)
{
	int i;

	while (rounds--) {
		iw_kern.iw->f.events |= hostile_tick();
		for (i = 0; i < 50 && woken(iw_kern.iw); i++)
			take_one(iw_kern.iw);
		iws_work();
	}
}

/* What listens accepts, as long as there is a queue pair. */
static void accepts_all(unsigned int *accepted)
{
	unsigned int i;

	for (i = 0; i < iw_nr && *accepted < QPS - COUNT; i++)
		if (iws[i].state == IW_CONN_RECV && !iws[i].waits)
			*accepted += !iw_accepts(&iws[i], 100 + COUNT + *accepted, 5);
}

static unsigned int up(void)
{
	unsigned int i, n = 0;

	for (i = 0; i < iw_nr; i++)
		n += iws[i].state == IW_ESTABLISHED;
	return n;
}

static void all_end(void)
{
	unsigned int i;

	for (i = 0; i < QPS; i++)
		qp_renewed(i);
	goes_on(20);
	for (i = 0; i < iw_nr; i++)
		if (!iws[i].drops)
			iw_destroys(&iws[i]);
	goes_on(20);
	iw_ends();
}

/* Return: how many connections came up. */
static unsigned int connects(enum hostile_lie lie, bool later)
{
	unsigned int i, n, accepted = 0;

	hostile_begin(lie);
	iw_begins();
	iw_backend = hostile_does;
	iw_later = later;
	assert_int_equal(iw_listens(iw_new(IW_IDLE)), 0);
	for (i = 0; i < COUNT; i++)
		assert_int_equal(iw_connects(iw_new(IW_IDLE), 100 + i, 12), 0);
	for (i = 0; i < ROUNDS && iw_nr < IWS - 200; i++) {
		goes_on(1);
		accepts_all(&accepted);
	}
	n = up();
	all_end();
	return n;
}

static void honest_it_connects_all(void **state)
{
	assert_int_equal(connects(HOSTILE_HONEST, false), COUNT + PEERS);
	assert_int_equal(connects(HOSTILE_HONEST, true), COUNT + PEERS);
}

static void no_lie_stops_the_kernel(void **state)
{
	enum hostile_lie lie;

	for (lie = HOSTILE_ORDERS; lie <= HOSTILE_DATA; lie++) {
		connects(lie, false);
		assert_true(hostile_lies() > COUNT);
		connects(lie, true);
	}
}

static void without_events_all_wait_until_the_end(void **state)
{
	assert_int_equal(connects(HOSTILE_QUIET, true), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(honest_it_connects_all),
		cmocka_unit_test(no_lie_stops_the_kernel),
		cmocka_unit_test(without_events_all_wait_until_the_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
