// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Management datagrams: everything that waits for a guest is bounded and charged, and
 * ends with the agent, the file or the device.
 */
#include <time.h>

#include "core/event.h"
#include "test_umad.h"

#define LIMIT_MS 20000

static void an_answer_without_room_is_an_error(void **state)
{
	size_t big = XENVHCA_UMAD_RECV_MAX - BE_UMAD_HEAD;
	struct fake_mad sent;
	uint32_t i;

	(void)state;
	assert_int_equal(sends(SA, GET_TABLE, 1), 0);
	sent = fake_umad_sent(0);
	assert_true(fake_umad_answer(&sent, big + 1));
	assert_int_equal(fetch(), BE_UMAD_HEAD + BE_MAD_HEAD);
	assert_int_equal(hdr.status, EMSGSIZE);
	assert_true(tid_of(mad) == 1);
	for (i = 0; i < 6; i++) {
		assert_int_equal(sends(SA, GET_TABLE, 10 + i), 0);
		sent = fake_umad_sent(0);
		assert_true(fake_umad_answer(&sent, big));
	}
	for (i = 0; i < 6; i++) {
		assert_int_equal(fetch(), i < 4 ? XENVHCA_UMAD_RECV_MAX :
				 BE_UMAD_HEAD + BE_MAD_HEAD);
		assert_int_equal(hdr.status, i < 4 ? 0 : ENOBUFS);
		assert_true(tid_of(mad) == 10 + i);
	}
	assert_int_equal(fetch(), 0);
}

static void sends_are_charged_until_the_answer_is_fetched(void **state)
{
	struct fake_mad sent;
	uint32_t i;

	(void)state;
	for (i = 0; i < BE_UMAD_SENDS; i++)
		assert_int_equal(sends(SA, GET, i), 0);
	assert_int_equal(sends(SA, GET, i), -ENOMEM);
	umad = file();
	agent = new_agent();
	assert_int_equal(sends(SA, GET, i), -ENOMEM);	/* of the device */
	sent = fake_umad_sent(0);
	assert_true(fake_umad_answer(&sent, BE_MAD_SIZE));
	assert_int_equal(fetch(), 0);			/* not this file's */
	assert_int_equal(sends(SA, GET, i), -ENOMEM);
	/* Without an answer, a send waits for nothing. */
	prepare(SA, GET, i);
	hdr.timeout_ms = 0;
	assert_int_equal(send_it(), 0);
}

static void a_fetched_answer_makes_room(void **state)
{
	struct fake_mad sent;
	uint32_t i;

	(void)state;
	for (i = 0; i < BE_UMAD_SENDS; i++)
		assert_int_equal(sends(SA, GET, i), 0);
	sent = fake_umad_sent(3);
	assert_true(fake_umad_answer(&sent, BE_MAD_SIZE));
	assert_int_equal(sends(SA, GET, i), -ENOMEM);
	assert_true(fetch() != 0);
	assert_int_equal(sends(SA, GET, i), 0);
	assert_int_equal(sends(SA, GET, i + 1), -ENOMEM);
	/* So does one that the kernel did not take. */
	sent = fake_umad_sent(0);
	assert_true(fake_umad_timeout(&sent));
	assert_true(fetch() != 0);
	fake_umad_fail(ENOMEM);
	assert_int_equal(sends(SA, GET, 500), -ENOMEM);
	assert_int_equal(sends(SA, GET, 500), 0);
	/* And the end of its agent. */
	assert_int_equal(sends(SA, GET, 501), -ENOMEM);
	assert_int_equal(unregister(agent), 0);
	agent = new_agent();
	for (i = 0; i < BE_UMAD_SENDS; i++)
		assert_int_equal(sends(SA, GET, i), 0);
}

static void what_comes_unasked_is_bounded(void **state)
{
	struct fake_mad sent;
	unsigned int i, n = 0;

	(void)state;
	g->dev.umad = BE_UMAD_ALL;
	assert_int_equal(sends(PING, GET, 1), 0);
	sent = fake_umad_sent(0);
	for (i = 0; i < 1000; i++)
		fake_umad_request(&sent, 0);
	for (i = 0; i < 20; i++)
		assert_int_equal(part(0), 0);	/* of a long queue, the first */
	assert_int_equal(fake_umad_waiting(), 0);
	assert_true(fake_umad_answer(&sent, BE_MAD_SIZE));
	while (fetch())
		n++;
	/* Each part(0) has fetched one. */
	assert_in_range(n, BE_UMAD_UNASKED - 20, BE_UMAD_UNASKED + 1);
	assert_int_equal(mad[3], GET | 0x80);
}

static void what_was_not_asked_for_goes_no_further(void **state)
{
	struct fake_mad sent;

	(void)state;
	assert_int_equal(sends(SA, GET, 1), 0);
	sent = fake_umad_sent(0);
	fake_umad_request(&sent, 7);	/* a partition that is not there */
	g->dev.addr.n_pkeys = 1;
	g->dev.addr.pkey[0] = 0x8001;
	fake_umad_request(&sent, 0);
	assert_int_equal(fetch(), 0);
	assert_int_equal(fake_umad_waiting(), 0);
}

static void an_agent_ends_with_what_it_waits_for(void **state)
{
	struct fake_mad sent;
	uint32_t again;

	(void)state;
	assert_int_equal(unregister(agent + 1), -EINVAL);
	assert_int_equal(unregister(32), -EINVAL);
	assert_int_equal(unregister(~0u), -EINVAL);
	assert_int_equal(sends(SA, GET, 0x100000001), 0);
	sent = fake_umad_sent(0);
	assert_int_equal(unregister(agent), 0);
	assert_int_equal(unregister(agent), -EINVAL);
	assert_int_equal(sends(SA, GET, 2), -EIO);
	assert_false(fake_umad_answer(&sent, BE_MAD_SIZE));
	again = new_agent();
	assert_int_equal(again, agent);		/* the same number */
	assert_int_equal(sends(SA, GET, 0x200000001), 0);
	sent = fake_umad_sent(0);
	assert_true(fake_umad_answer(&sent, BE_MAD_SIZE));
	assert_true(fetch() != 0);
	assert_true(tid_of(mad) == 0x200000001);
}

static void agents_are_the_kernels_and_make_no_noise(void **state)
{
	unsigned int i;

	(void)state;
	assert_int_equal(registers(2, SA, 0), -EINVAL);
	g->req.u.register_umad.umad = umad;
	g->req.u.register_umad.oui = 1 << 24;
	assert_int_equal(guest_cmd(g, XENVHCA_OP_REGISTER_UMAD), -EINVAL);
	g->req.u.register_umad.umad = umad;
	g->req.u.register_umad.reserved = 1;
	assert_int_equal(guest_cmd(g, XENVHCA_OP_REGISTER_UMAD), -EINVAL);
	for (i = 1; i < XENVHCA_UMAD_AGENTS; i++)
		assert_int_equal(registers(i & 1, 0, 0), 0);
	assert_int_equal(registers(1, SA, 0), -ENOMEM);
	assert_int_equal(fake_umad_agents(), XENVHCA_UMAD_AGENTS);
	umad = file();
	assert_int_equal(registers(1, SA, 0), 0);
}

static void a_file_ends_with_all_that_is_in_it(void **state)
{
	struct fake_mad sent;
	unsigned int i;

	(void)state;
	assert_int_equal(guest_handle(g, XENVHCA_OP_DEALLOC_UMAD, 77), -ENOENT);
	for (i = 0; i < 3; i++) {
		assert_int_equal(sends(SA, GET, i), 0);
		sent = fake_umad_sent(0);
		if (i < 2)
			assert_true(fake_umad_answer(&sent, 100000));
	}
	assert_int_equal(part(0), 0);		/* received, and queued */
	assert_int_equal(guest_handle(g, XENVHCA_OP_DEALLOC_UMAD, umad), 0);
	assert_int_equal(fake_umad_files(), 0);
	assert_int_equal(fake_umad_agents(), 0);
	assert_int_equal(part(0), -ENOENT);
	assert_int_equal(sends(SA, GET, 9), -ENOENT);
	umad = file();
	agent = new_agent();
	for (i = 0; i < BE_UMAD_SENDS; i++)
		assert_int_equal(sends(SA, GET, i), 0);
	/* And the device with all files: teardown. */
}

static void files_are_charged(void **state)
{
	unsigned int i;

	(void)state;
	g->dev.quota.max[BE_UMAD] = 4;
	for (i = 1; i < 4; i++)
		file();
	assert_int_equal(guest_cmd(g, XENVHCA_OP_ALLOC_UMAD), -ENOMEM);
	assert_int_equal(guest_handle(g, XENVHCA_OP_DEALLOC_UMAD, umad), 0);
	file();
}

static void sends_have_a_rate(void **state)
{
	unsigned int i, n = 0;

	(void)state;
	g->dev.quota.umad = (struct vl_bucket){ .rate = 50 };
	for (i = 0; i < 1000; i++) {
		prepare(PERF, GET, i);
		hdr.timeout_ms = 0;
		n += !send_it();
	}
	assert_in_range(n, 45, 400);	/* a slow machine takes seconds */
	assert_int_equal(send_it(), -EAGAIN);
	g->dev.quota.umad = (struct vl_bucket){ .rate = 50 };
	prepare(PERF, GET, 5000);
	hdr.retries = hdr.timeout_ms = ~0u;
	n = fake_umad_sends();
	assert_int_equal(send_it(), 0);
	assert_int_equal(fake_umad_sent(0).hdr.retries, BE_UMAD_RETRIES);
	assert_int_equal(fake_umad_sent(0).hdr.timeout_ms, BE_UMAD_MS);
	assert_true(g->dev.quota.umad.tokens_ns < 36 * 20000000);
}

/* The event thread takes over what the kernel has, whether the guest fetches or not. */
static void await_taken(void)
{
	struct timespec ms = { .tv_nsec = 1000000 };
	int i;

	for (i = 0; i < LIMIT_MS && fake_umad_waiting(); i++)
		nanosleep(&ms, NULL);
	assert_int_not_equal(i, LIMIT_MS);
	/* Until it has told the guest, it has the lock of the queue. */
	assert_int_equal(part(XENVHCA_UMAD_RECV_MAX), -EINVAL);
}

/* How many events the ring has; they are all of this file. */
static unsigned int events(void)
{
	struct xenvhca_event ev;
	unsigned int n = 0;

	while (loop_get_event(g->loop, &ev) > 0) {
		assert_int_equal(ev.type, XENVHCA_EVT_UMAD);
		assert_int_equal(ev.handle, umad);
		n++;
	}
	return n;
}

static void the_guest_hears_once(void **state)
{
	struct fake_mad sent;
	uint32_t i;

	(void)state;
	assert_int_equal(be_event_start(&g->dev), 0);
	umad = file();
	agent = new_agent();
	for (i = 0; i < 3; i++) {
		assert_int_equal(sends(SA, GET, i), 0);
		sent = fake_umad_sent(0);
		assert_true(fake_umad_answer(&sent, BE_MAD_SIZE));
		await_taken();
	}
	assert_int_equal(events(), 1);
	for (i = 0; i < 3; i++) {
		assert_true(fetch() != 0);
		assert_int_equal(g->rsp.u.recv_umad.events, i < 2);
	}
	assert_int_equal(events(), 0);
	assert_int_equal(sends(SA, GET, 9), 0);
	sent = fake_umad_sent(0);
	assert_true(fake_umad_answer(&sent, BE_MAD_SIZE));
	await_taken();
	assert_int_equal(events(), 1);
	assert_int_equal(guest_handle(g, XENVHCA_OP_DEALLOC_UMAD, umad), 0);
	be_event_stop(&g->dev);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(an_answer_without_room_is_an_error),
		TEST(sends_are_charged_until_the_answer_is_fetched),
		TEST(a_fetched_answer_makes_room),
		TEST(what_comes_unasked_is_bounded),
		TEST(what_was_not_asked_for_goes_no_further),
		TEST(an_agent_ends_with_what_it_waits_for),
		TEST(agents_are_the_kernels_and_make_no_noise),
		TEST(a_file_ends_with_all_that_is_in_it),
		TEST(files_are_charged),
		TEST(the_guest_hears_once),
		TEST(sends_have_a_rate),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
