// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The kick and event threads over the loopback transport: order, counting,
 * overflow, rings that lie, and objects that go while they are kicked.
 */
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <rdma/rdma_user_rxe.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "core/event.h"
#include "worker/kick.h"
#include "tests/fake/guest.h"

#define WAIT_MS	5000
#define FAULT_MS 60000		/* for an event thread without a processor */

static int start(void **state)
{
	struct guest *g;

	if (guest_setup(state))
		return -1;
	g = *state;
	assert_int_equal(be_event_start(&g->dev), 0);
	assert_int_equal(be_kick_start(&g->dev), 0);
	guest_open(g);
	return 0;
}

static int stop(void **state)
{
	struct guest *g = *state;

	be_kick_stop(&g->dev);
	be_event_stop(&g->dev);
	return guest_teardown(state);
}

/* Waits for a notification of the backend; the caller looks and repeats. */
static void await(struct guest *g, enum be_port_id which)
{
	struct pollfd p = {
		.fd = loop_notify_fd(g->loop, which), .events = POLLIN,
	};
	uint64_t n;

	assert_int_equal(poll(&p, 1, WAIT_MS), 1);
	assert_int_equal(read(p.fd, &n, sizeof(n)), sizeof(n));
}

static uint32_t done(struct guest *g)
{
	return __atomic_load_n(&loop_kick(g->loop)->done, __ATOMIC_ACQUIRE);
}

/* As a frontend that sleeps until done reaches n. */
static void await_done(struct guest *g, uint32_t n)
{
	__atomic_store_n(&loop_kick(g->loop)->done_event, n,
			 __ATOMIC_SEQ_CST);
	xen_mb();
	while ((int32_t)(n - done(g)) > 0)
		await(g, BE_PORT_KICK);
}

static void kicks_are_executed_and_counted(void **state)
{
	struct guest *g = *state;
	struct xenvhca_kick k = { .type = XENVHCA_KICK_SEND, .handle = g->qp };
	uint32_t i;

	for (i = 1; i <= 2000; i++) {
		loop_put_kick(g->loop, &k);
		if (i % 200 == 0)
			await_done(g, i);
	}
	assert_int_equal(fake_nth(FAKE_QP, 0)->posts, 2000);
	assert_int_equal(done(g), 2000);
}

/* No receive queue is looked at, no kick or command comes: it is posted. */
static void what_has_no_room_is_posted_when_there_is(void **state)
{
	const struct timespec tick = { .tv_nsec = 1000000 };
	struct guest *g = *state;
	struct xenvhca_kick k = { .type = XENVHCA_KICK_SEND, .handle = g->qp };
	struct guest_key sq = guest_key(g, 16);
	struct rxe_queue_buf *guest, *real;
	int i;

	assert_int_equal(guest_mmap(g, sq), 0);
	guest = loop_gmap(g->loop, g->rsp.u.mmap.gref[0]);
	loop_gunmap(g->loop, g->rsp.u.mmap.gref[0]);
	real = fake_ring(sq.offset);
	guest->producer_index = guest->index_mask;
	loop_put_kick(g->loop, &k);
	await_done(g, 1);
	__atomic_store_n(&guest->producer_index, 0, __ATOMIC_RELEASE);
	loop_put_kick(g->loop, &k);
	await_done(g, 2);
	assert_int_equal(real->producer_index, real->index_mask);
	nanosleep(&(struct timespec){ .tv_nsec = 50000000 }, NULL);
	__atomic_store_n(&real->consumer_index, 1, __ATOMIC_RELEASE);
	for (i = 0; i < WAIT_MS && __atomic_load_n(&real->producer_index,
						   __ATOMIC_ACQUIRE); i++)
		nanosleep(&tick, NULL);
	assert_int_equal(real->producer_index, 0);
}

static void next_event(struct guest *g, struct xenvhca_event *ev)
{
	while (!loop_get_event(g->loop, ev))
		await(g, BE_PORT_EVT);
}

static void events_name_the_guests_objects(void **state)
{
	struct guest *g = *state;
	struct xenvhca_event ev;

	fake_comp_event(fake_nth(FAKE_CQ, 0));
	next_event(g, &ev);
	assert_int_equal(ev.type, XENVHCA_EVT_COMP);
	assert_int_equal(ev.handle, g->cq);
	fake_async_event(fake_nth(FAKE_QP, 0), 3);	/* access error */
	next_event(g, &ev);
	assert_int_equal(ev.type, XENVHCA_EVT_QP);
	assert_int_equal(ev.event, 3);
	assert_int_equal(ev.handle, g->qp);
}

static void a_full_event_ring_sets_overflow(void **state)
{
	struct guest *g = *state;
	struct xenvhca_event ev;
	unsigned int i, n = 0;

	for (i = 0; i < XENVHCA_EVT_ENTRIES + 10; i++)
		be_event_push(&g->dev, XENVHCA_EVT_COMP, 0, i);
	assert_true(loop_take_overflow(g->loop));
	while (loop_get_event(g->loop, &ev))
		assert_int_equal(ev.handle, n++);
	assert_int_equal(n, XENVHCA_EVT_ENTRIES);
	assert_int_equal(g->dev.stats.events_dropped, 10);
	be_event_push(&g->dev, XENVHCA_EVT_COMP, 0, 7);
	assert_false(loop_take_overflow(g->loop));
	assert_int_equal(loop_get_event(g->loop, &ev), 1);
}

static unsigned int take_events(struct guest *g, uint8_t type)
{
	struct xenvhca_event ev;
	unsigned int n = 0;

	while (loop_get_event(g->loop, &ev))
		n += ev.type == type;
	return n;
}

/* A ring full of them, and not what comes behind. */
static void take_completions(struct guest *g)
{
	struct xenvhca_event ev;
	unsigned int i;

	for (i = 0; i < XENVHCA_EVT_ENTRIES; i++) {
		assert_int_equal(loop_get_event(g->loop, &ev), 1);
		assert_int_equal(ev.type, XENVHCA_EVT_COMP);
	}
}

/* A completion is made good by a poll of every CQ; nobody asks every QP. */
static void an_async_event_waits_for_room(void **state)
{
	struct guest *g = *state;
	unsigned int i, n;

	for (i = 0; i < XENVHCA_EVT_ENTRIES + 10; i++)
		be_event_push(&g->dev, XENVHCA_EVT_COMP, 0, i);
	for (i = 0; i < 200; i++)
		fake_async_event(fake_nth(FAKE_QP, 0), 3);
	fake_comp_event(fake_nth(FAKE_CQ, 0));
	for (i = 0; i < WAIT_MS && __atomic_load_n(&g->dev.stats.events_dropped,
						   __ATOMIC_RELAXED) < 11; i++)
		usleep(1000);
	take_completions(g);
	assert_true(loop_take_overflow(g->loop));
	assert_int_equal(g->dev.stats.events_dropped, 11);
	for (n = i = 0; n < 200 && i < WAIT_MS; i++) {
		n += take_events(g, XENVHCA_EVT_QP);
		usleep(1000);
	}
	assert_int_equal(n, 200);
	assert_int_equal(g->dev.stats.events_dropped, 11);
}

static uint32_t create_srq(struct guest *g)
{
	g->req.out_len = 24;
	g->req.u.create_srq = (struct xenvhca_create_srq_req){
		.pd = g->pd, .max_wr = 32, .max_sge = 2,
	};
	assert_int_equal(guest_cmd(g, XENVHCA_OP_CREATE_SRQ), 0);
	return g->rsp.u.create_srq.handle;
}

/* The kernel raises it once for each limit that is set: a process would wait for ever. */
static void the_limit_of_an_srq_waits_for_room(void **state)
{
	struct guest *g = *state;
	uint32_t srq = create_srq(g), i;
	struct xenvhca_event ev;

	for (i = 0; i < XENVHCA_EVT_ENTRIES; i++)
		be_event_push(&g->dev, XENVHCA_EVT_COMP, 0, i);
	fake_async_event(fake_nth(FAKE_SRQ, 0), 15);	/* limit reached */
	fake_comp_event(fake_nth(FAKE_CQ, 0));
	for (i = 0; i < WAIT_MS && !__atomic_load_n(&g->dev.stats.events_dropped,
						    __ATOMIC_RELAXED); i++)
		usleep(1000);
	take_completions(g);
	next_event(g, &ev);
	assert_int_equal(ev.type, XENVHCA_EVT_SRQ);
	assert_int_equal(ev.event, 15);
	assert_int_equal(ev.handle, srq);
	assert_int_equal(g->dev.stats.events_dropped, 1);	/* the completion */
}

/* Nor does the rate of completions take one. */
static void an_async_event_over_the_rate_is_told(void **state)
{
	struct guest *g = *state;
	unsigned int n = 0, i;

	g->dev.quota.evt = (struct vl_bucket){ .rate = 1, .last_ns = vl_coarse_ns() };
	be_event_push(&g->dev, XENVHCA_EVT_COMP, 0, 1);
	assert_int_equal(take_events(g, XENVHCA_EVT_COMP), 0);
	fake_async_event(fake_nth(FAKE_QP, 0), 3);
	for (i = 0; !n && i < WAIT_MS; i++) {
		usleep(1000);
		n = take_events(g, XENVHCA_EVT_QP);
	}
	assert_int_equal(n, 1);
}

/* The kernel keeps what is not read, so that has an end, and nothing spins. */
static void a_guest_that_takes_nothing_loses_async_events(void **state)
{
	struct guest *g = *state;
	struct timespec t[2];
	uint64_t begin;
	unsigned int i;

	for (i = 0; i < XENVHCA_EVT_ENTRIES; i++)
		be_event_push(&g->dev, XENVHCA_EVT_COMP, 0, i);
	for (i = 0; i < 50; i++)
		fake_async_event(fake_nth(FAKE_QP, 0), 3);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t[0]);
	begin = vl_now_ns();
	for (i = 0; i < WAIT_MS && !g->dev.stats.events_dropped; i++)
		usleep(1000);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t[1]);
	assert_int_equal(g->dev.stats.events_dropped, 49);
	assert_true(vl_now_ns() - begin >= VL_SEC_NS / 2);
	assert_true(t[1].tv_sec - t[0].tv_sec < 1 + (t[1].tv_nsec < t[0].tv_nsec));
	take_completions(g);
	for (i = 0; !take_events(g, XENVHCA_EVT_QP) && i < WAIT_MS; i++)
		usleep(1000);
	assert_in_range(i, 0, WAIT_MS - 1);	/* the one that was held */
	assert_false(g->dev.fault);
}

/* It wakes the command thread. */
static void await_fault(struct guest *g)
{
	struct pollfd p = { .fd = g->dev.wake_fd, .events = POLLIN };

	assert_int_equal(poll(&p, 1, FAULT_MS), 1);
	assert_true(__atomic_load_n(&g->dev.fault, __ATOMIC_ACQUIRE));
}

/* Each read of it takes one of n events of CQ 1. */
static int events_of(struct guest *g, unsigned int n)
{
	int fd = eventfd(n, EFD_SEMAPHORE | EFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(be_event_add(&g->dev, fd, (void *)g, false), 0);
	return fd;
}

/* The kernel would keep them in its memory. */
static void events_that_never_end_close_the_device(void **state)
{
	struct guest *g = *state;
	int fd = events_of(g, UINT_MAX);

	await_fault(g);
	assert_non_null(strstr(g->dev.fault_reason, "faster than"));
	be_event_del(&g->dev, fd);
	close(fd);
}

static void many_events_do_no_harm(void **state)
{
	struct guest *g = *state;
	int fd = events_of(g, 50000), i;
	struct pollfd p = { .fd = fd, .events = POLLIN };

	for (i = 0; i < WAIT_MS && poll(&p, 1, 0); i++)
		usleep(1000);
	assert_int_equal(poll(&p, 1, 0), 0);
	be_event_del(&g->dev, fd);
	assert_false(g->dev.fault);
	assert_int_equal(g->dev.stats.events + g->dev.stats.events_dropped,
			 50000);
	close(fd);
}

static void a_lying_kick_ring_closes_the_device(void **state)
{
	struct guest *g = *state;

	__atomic_store_n(&loop_kick(g->loop)->prod, XENVHCA_KICK_ENTRIES + 1,
			 __ATOMIC_SEQ_CST);
	loop_signal(g->loop, BE_PORT_KICK);
	await_fault(g);
	assert_int_equal(fake_nth(FAKE_QP, 0)->posts, 0);
}

/* Queues come and go under a storm of kicks, most of them for dead ones. */
static void objects_go_while_they_are_kicked(void **state)
{
	struct guest *g = *state;
	struct xenvhca_kick k[2] = {
		{ .type = XENVHCA_KICK_SEND }, { .type = XENVHCA_KICK_ARM },
	};
	struct guest_key key;
	uint32_t sent = 0, i, j;

	for (i = 0; i < 100; i++) {
		k[1].handle = g->cq = guest_create_cq(g, 15);
		key = guest_key(g, 0);
		assert_int_equal(guest_mmap(g, key), 0);
		k[0].handle = guest_create_qp(g, 2);
		for (j = 0; j < 20; j++, sent++)
			loop_put_kick(g->loop, &k[j % 2]);
		assert_int_equal(guest_handle(g, XENVHCA_OP_DESTROY_QP,
					      k[0].handle), 0);
		assert_int_equal(guest_handle(g, XENVHCA_OP_DESTROY_CQ,
					      k[1].handle), 0);
		for (j = 0; j < 20; j++, sent++)
			loop_put_kick(g->loop, &k[j % 2]);
		g->req.u.munmap.offset[0] = key.offset;
		assert_int_equal(guest_cmd(g, XENVHCA_OP_MUNMAP), 0);
		await_done(g, sent);
	}
	guest_close(g);
}

#define FLUSHES	40

/* Keeps the kick ring full of what names nothing. */
struct flood {
	struct guest *g;
	bool stop;
};

static void *flood_thread(void *arg)
{
	const struct xenvhca_kick k = { .type = XENVHCA_KICK_SEND };
	struct flood *f = arg;
	struct xenvhca_kick_page *page = loop_kick(f->g->loop);
	uint32_t cons, i;

	for (i = 0; i < XENVHCA_KICK_ENTRIES; i++)
		page->kick[i] = k;
	while (!__atomic_load_n(&f->stop, __ATOMIC_RELAXED)) {
		cons = __atomic_load_n(&page->cons, __ATOMIC_ACQUIRE);
		if (page->prod == cons + XENVHCA_KICK_ENTRIES)
			continue;
		__atomic_store_n(&page->prod, cons + XENVHCA_KICK_ENTRIES,
				 __ATOMIC_SEQ_CST);
		loop_signal(f->g->loop, BE_PORT_KICK);
	}
	return NULL;
}

static int order(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static uint64_t kicks(struct guest *g)
{
	return __atomic_load_n(&g->dev.stats.kicks, __ATOMIC_RELAXED);
}

/*
 * A command waits for the kicks that were in the ring, and for the batch that
 * is being executed, but not for those that the guest makes meanwhile.
 */
static void a_flood_of_kicks_does_not_hold_a_command(void **state)
{
	struct guest *g = *state;
	const struct sched_param none = {};
	struct xenvhca_kick_page *page = loop_kick(g->loop);
	struct flood f = { .g = g };
	uint64_t n[FLUSHES], before;
	pthread_t thread;
	int i;

	g->dev.quota.kick = (struct vl_bucket){
		.rate = 32000, .depth_ns = 10 * VL_MSEC_NS,
	};
	assert_int_equal(pthread_create(&thread, NULL, flood_thread, &f), 0);
	/* As on a processor of its own: it is woken after the kick thread went on. */
	sched_setscheduler(0, SCHED_BATCH, &none);
	for (i = 0; i < FLUSHES; i++) {
		do
			nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
		while (__atomic_load_n(&page->prod, __ATOMIC_ACQUIRE) -
		       __atomic_load_n(&page->cons, __ATOMIC_ACQUIRE) <
		       XENVHCA_KICK_ENTRIES / 2);
		before = kicks(g);
		be_kick_flush(&g->dev);
		n[i] = kicks(g) - before;
	}
	__atomic_store_n(&f.stop, true, __ATOMIC_RELAXED);
	sched_setscheduler(0, SCHED_OTHER, &none);
	pthread_join(thread, NULL);
	qsort(n, FLUSHES, sizeof(n[0]), order);
	/* not of all: this thread may lose its processor before it asks */
	assert_in_range(n[FLUSHES * 9 / 10], 0, 2 * XENVHCA_KICK_ENTRIES);
}

static int had_work;			/* of the last notification; -1: not yet */
static struct be_transport_ops noting;
static void (*real_ack)(struct be_transport *t, bool work);

static void note_ack(struct be_transport *t, bool work)
{
	real_ack(t, work);
	__atomic_store_n(&had_work, work, __ATOMIC_SEQ_CST);
}

static bool signalled(struct guest *g)
{
	__atomic_store_n(&had_work, -1, __ATOMIC_SEQ_CST);
	loop_signal(g->loop, BE_PORT_KICK);
	while (__atomic_load_n(&had_work, __ATOMIC_SEQ_CST) < 0)
		sched_yield();
	return had_work;
}

/* The notification came late, and was for what a command had executed first. */
static void a_kick_that_a_command_executed_was_work(void **state)
{
	struct guest *g = *state;
	volatile struct xenvhca_kick_page *page = loop_kick(g->loop);

	noting = *g->dev.t->ops;
	real_ack = noting.kick_ack;
	noting.kick_ack = note_ack;
	g->dev.t->ops = &noting;
	page->kick[0].type = XENVHCA_KICK_SEND;
	page->kick[0].handle = g->qp;
	__atomic_store_n(&page->prod, 1, __ATOMIC_SEQ_CST);
	be_kick_flush(&g->dev);
	assert_int_equal(done(g), 1);
	assert_true(signalled(g));
	assert_false(signalled(g));
}

static void commands_go_over_the_ring(void **state)
{
	struct guest *g = *state;
	struct xenvhca_request req = { .op = XENVHCA_OP_GET_INFO, .id = 77 };
	struct be_transport *t = g->dev.t;
	struct xenvhca_response rsp;

	assert_int_equal(t->ops->get_request(t, &req), 0);
	req = (struct xenvhca_request){ .op = XENVHCA_OP_GET_INFO, .id = 77 };
	assert_int_equal(loop_put_request(g->loop, &req), 0);
	memset(&req, 0, sizeof(req));
	assert_int_equal(t->ops->get_request(t, &req), 1);
	assert_int_equal(req.id, 77);
	be_dispatch(&g->dev, &req, &rsp);
	assert_int_equal(t->ops->put_response(t, &rsp), 1);	/* notified */
	memset(&rsp, 0, sizeof(rsp));
	assert_int_equal(loop_get_response(g->loop, &rsp), 1);
	assert_int_equal(rsp.id, 77);
	assert_string_equal(rsp.u.get_info.hca, "rxe0");
	/* one answer too many is our own bug and must not be sent */
	assert_true(t->ops->put_response(t, &rsp) < 0);
}

static void a_lying_command_ring_is_refused(void **state)
{
	struct guest *g = *state;
	struct be_transport *t = g->dev.t;
	struct xenvhca_request req;

	loop_sring(g->loop)->req_prod = 1u << 20;
	assert_true(t->ops->get_request(t, &req) < 0);
	loop_sring(g->loop)->req_prod = -1u;
	assert_true(t->ops->get_request(t, &req) < 0);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, start, stop)
	const struct CMUnitTest tests[] = {
		T(kicks_are_executed_and_counted),
		T(what_has_no_room_is_posted_when_there_is),
		T(events_name_the_guests_objects),
		T(a_full_event_ring_sets_overflow),
		T(an_async_event_waits_for_room),
		T(the_limit_of_an_srq_waits_for_room),
		T(an_async_event_over_the_rate_is_told),
		T(a_guest_that_takes_nothing_loses_async_events),
		T(events_that_never_end_close_the_device),
		T(many_events_do_no_harm),
		T(a_lying_kick_ring_closes_the_device),
		T(objects_go_while_they_are_kicked),
		T(a_flood_of_kicks_does_not_hold_a_command),
		T(a_kick_that_a_command_executed_was_work),
		T(commands_go_over_the_ring),
		T(a_lying_command_ring_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
