// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * frontend/event.c against a backend that sends as many events as it likes.
 */
#include "kernel.h"

#define xa_load(xa, i)		((i) < ARRAY_SIZE((xa)->at) ? (xa)->at[i] : NULL)
#define XA_PRESENT		0

static inline void *xa_find(struct xarray *xa, unsigned long *i,
			    unsigned long max, int mark)
{
	(void)mark;
	for (; *i < ARRAY_SIZE(xa->at) && *i <= max; (*i)++)
		if (xa->at[*i])
			return xa->at[*i];
	return NULL;
}

#include "copy/event.c"

#define FLOOD		10000000
#define CQ_RATE		50000	/* per second, and what may come at once */
#define CQ_BURST	1000
#define DEV_RATE	200000
#define DEV_BURST	4000
#define CQS		8

static struct vhca_dev dev;
static struct vhca_cq cq[CQS];
static unsigned int told[CQS];
static struct vhca_provider provider;

void vhca_break(struct vhca_dev *d, const char *reason)
{
	(void)d;
	print_message("  broken: %s\n", reason);
}

void vhca_port_refresh(struct vhca_dev *d)
{
	(void)d;
}

static struct { u16 seq; unsigned int n; } file_told;

bool vhca_file_notify(struct vhca_file *file, u16 seq, bool events)
{
	file_told.seq = seq;
	file_told.n++;
	return events;
}

void vhca_file_overflow(struct vhca_file *file)
{
	file->lost = true;
}

bool vhca_check_event(const struct xenvhca_event *ev)
{
	(void)ev;
	return true;
}

static struct vhca_mem record[CQS];
static u32 arm[CQS];

u32 vhca_mem_word(const struct vhca_mem *mem, u32 offset)
{
	assert_int_equal(offset, 4);
	return arm[mem - record];
}

static void completed(struct ib_cq *ibcq, void *ctx)
{
	(void)ctx;
	assert_true(dev.evt_lock.held);		/* so a CQ has one handler at a time */
	told[container_of(ibcq, struct vhca_cq, ibcq) - cq]++;
}

static int setup(void **state)
{
	size_t i;

	(void)state;
	memset(&dev, 0, sizeof(dev));
	memset(cq, 0, sizeof(cq));
	memset(told, 0, sizeof(told));
	memset(kernel_works, 0, sizeof(kernel_works));
	dev.provider = &provider;
	dev.ring.state = VHCA_RING_UP;
	provider.kicks = 0;		/* armed by doorbells */
	provider.arm_at = 0;
	memset(arm, 0, sizeof(arm));
	vhca_event_init(&dev);
	for (i = 0; i < CQS; i++) {
		cq[i].ibcq.comp_handler = completed;
		dev.cqs.at[i] = &cq[i];
	}
	return 0;
}

static bool event(u32 handle)
{
	const struct xenvhca_event ev = {
		.type = XENVHCA_EVT_COMP, .handle = handle,
	};

	return vhca_event(&dev, &ev);
}

static unsigned int told_all(void)
{
	unsigned int sum = 0, i;

	for (i = 0; i < CQS; i++)
		sum += told[i];
	return sum;
}

/* The time of all of them is none: a burst is handed on, the rest is no work. */
static void a_flood_for_one(void **state)
{
	unsigned int i, news = 0;

	(void)state;
	for (i = 0; i < FLOOD; i++)
		news += event(0);
	assert_int_equal(news, told[0]);
	assert_in_range(told[0], CQ_BURST, CQ_BURST + 2);
	/* One was held back, and comes. */
	kernel_advance(HZ);
	assert_in_range(told[0], CQ_BURST + 1, CQ_BURST + 3);
	kernel_advance(HZ);
	kernel_idle();
}

/* ib_core sets the handler after the CQ is made, and one that is polled alone warns. */
static void a_cq_of_the_kernel_gets_events_when_it_is_armed(void **state)
{
	struct vhca_ucontext uc;

	(void)state;
	dev.own_uc = &uc;
	atomic_set(&cq[0].qps, 1);
	provider.arm_at = 4;
	cq[0].ibcq.comp_handler = NULL;
	assert_false(event(0));
	assert_int_equal(cq[0].events, 0);
	cq[0].ibcq.comp_handler = completed;
	vhca_credit_arm(&cq[0].comp_credit);
	assert_true(event(0));
	assert_int_equal(cq[0].events, 1);
	assert_int_equal(told[0], 1);
}

static unsigned int qp_told;

static void qp_event(struct ib_event *event, void *ctx)
{
	qp_told |= 1 << event->event;
}

/* Consumers would pass it to rdma_notify(), which takes the connection for one of ib_cm's. */
static void a_device_of_iwarp_hides_first_messages(void **state)
{
	struct xenvhca_event ev = { .type = XENVHCA_EVT_QP, .handle = 1, .event = 4 };
	struct vhca_ucontext uc;
	struct vhca_qp qp = { .ibqp.event_handler = qp_event };

	(void)state;
	qp_told = 0;
	dev.qps.at[1] = &qp;
	vhca_credit_recharge(&qp.async_credit);
	assert_true(vhca_event(&dev, &ev));
	assert_int_equal(qp_told, 1 << IB_EVENT_COMM_EST);
	dev.own_uc = &uc;
	dev.nets.nr = 1;
	dev.info.flags = XENVHCA_INFO_CM;
	qp_told = 0;
	vhca_event(&dev, &ev);
	assert_int_equal(qp_told, 0);
	ev.event = 1;
	assert_true(vhca_event(&dev, &ev));
	assert_int_equal(qp_told, 1 << 1);
	dev.qps.at[1] = NULL;
}

/* ib_core arms such a CQ before it says where its work is to run. */
static void a_cq_that_has_no_queue_for_its_work_waits(void **state)
{
	struct vhca_ucontext uc;

	(void)state;
	dev.own_uc = &uc;
	atomic_set(&cq[0].qps, 1);
	cq[0].ibcq.poll_ctx = IB_POLL_WORKQUEUE;
	vhca_credit_arm(&cq[0].comp_credit);
	assert_false(event(0));
	assert_int_equal(told[0], 0);
	cq[0].ibcq.comp_wq = (struct workqueue_struct *)&uc;
	kernel_advance(HZ);
	assert_int_equal(told[0], 1);
}

/*
 * ib_core ends a CQ after its queue pairs: it waits for the work, and frees what the work
 * uses. An event that the HCA raised is not lost: it used an arm up.
 */
static void a_cq_without_queue_pairs_waits_for_one(void **state)
{
	struct vhca_ucontext uc;

	(void)state;
	dev.own_uc = &uc;
	vhca_credit_arm(&cq[0].comp_credit);
	assert_false(event(0));
	kernel_idle();
	assert_int_equal(told[0], 0);
	atomic_set(&cq[0].qps, 1);
	schedule_delayed_work(&dev.owed_work, VHCA_COMP_LATER);		/* pair.c */
	kernel_advance(HZ);
	assert_int_equal(told[0], 1);
	assert_int_equal(cq[0].events, 1);
}

/* Then consumers in the kernel wait for completions that no backend announces. */
static void without_a_backend_each_armed_cq_gets_an_event(void **state)
{
	struct vhca_ucontext uc;
	unsigned int i;

	(void)state;
	dev.own_uc = &uc;
	for (i = 0; i < CQS; i++)
		atomic_set(&cq[i].qps, 1);
	for (i = 1; i < CQS; i++)
		vhca_credit_arm(&cq[i].comp_credit);
	dev.ring.state = VHCA_RING_BROKEN;
	vhca_event_all(&dev);
	kernel_advance(HZ);
	assert_int_equal(told_all(), CQS - 1);
	assert_int_equal(told[0], 0);
}

/* A doorbell record tells of each arm; nobody who has one waits for another. */
static void an_arm_is_an_event(void **state)
{
	unsigned int i, n;

	(void)state;
	provider.arm_at = 4;
	cq[0].db = &record[0];
	for (n = 1; n < 5; n++) {
		for (i = 0; i < 1000; i++)
			event(0);
		assert_int_equal(told[0], n);
		assert_false(cq[0].comp_owed);
		arm[0] += 1 << 28;	/* it was taken, and he armed again */
	}
	/* It came for the arm before and was held back: it is still owed. */
	cq[0].comp_paid = ~0ull >> 1;
	assert_false(event(0));
	assert_true(cq[0].comp_owed);
	cq[0].comp_paid = 0;
	kernel_advance(HZ);
	assert_int_equal(told[0], n);
	/* What an overflow owes to all, this one has. */
	assert_true(vhca_event_overflow(&dev));
	kernel_advance(HZ);
	assert_int_equal(told[0], n);
	assert_int_equal(told[1], 1);
}

static void a_flood_for_all(void **state)
{
	unsigned int i;

	(void)state;
	for (i = 0; i < FLOOD; i++)
		event(i % CQS);
	assert_in_range(told_all(), DEV_BURST, DEV_BURST + 2);
	for (i = 0; i < CQS; i++)
		assert_true(cq[i].comp_owed);
	kernel_advance(HZ);
	assert_in_range(told_all(), DEV_BURST + CQS, DEV_BURST + CQS + 2);
	for (i = 0; i < CQS; i++)
		assert_false(cq[i].comp_owed);
}

/* Ten seconds of it: the rate, and one more for each look after the rest. */
static void the_rate_holds(void **state)
{
	unsigned int i, n;

	(void)state;
	for (i = 0; i < 10 * HZ; i++) {
		for (n = 0; n < FLOOD / HZ && event(1); n++)
			;
		kernel_advance(1);
	}
	assert_in_range(told[1], 10 * CQ_RATE - CQ_BURST,
			10 * CQ_RATE + 2 * CQ_BURST);
	assert_int_equal(told_all(), told[1]);
}

/* Another CQ of the device has its own share. */
static void others_are_served(void **state)
{
	unsigned int i;

	(void)state;
	for (i = 0; i < FLOOD; i++)
		event(0);
	for (i = 0; i < CQ_BURST; i++)
		assert_true(event(3));
	assert_int_equal(told[3], CQ_BURST);
}

/* A flag that is set all the time is one walk a while, outside of the upcall. */
static void overflows_are_one_walk(void **state)
{
	unsigned int i, news = 0;

	(void)state;
	for (i = 0; i < FLOOD; i++)
		news += vhca_event_overflow(&dev);
	assert_int_equal(news, 1);
	assert_int_equal(told_all(), 0);
	kernel_advance(HZ);
	assert_int_equal(told_all(), CQS);
	kernel_idle();
}

/* Who arms by a kick has credit, as ever. */
static void an_arm_announces_two(void **state)
{
	(void)state;
	provider.kicks = XENVHCA_INFO_KICK_ARM;
	assert_false(event(0));
	vhca_credit_arm(&cq[0].comp_credit);
	assert_true(event(0));
	assert_true(event(0));
	assert_false(event(0));
	vhca_credit_arm(&cq[0].comp_credit);
	vhca_event_overflow(&dev);
	kernel_advance(HZ);
	assert_int_equal(told[0], 3);
	assert_int_equal(told_all(), 3);
}

/* An object that is gone is owed nothing. */
static void a_cq_that_goes_meanwhile(void **state)
{
	unsigned int i;

	(void)state;
	for (i = 0; i < FLOOD; i++)
		event(0);
	assert_true(cq[0].comp_owed);
	dev.cqs.at[0] = NULL;
	i = told[0];
	kernel_advance(HZ);
	assert_int_equal(told[0], i);
}

/* Nothing runs when the device is gone. */
static void an_end_with_something_owed(void **state)
{
	unsigned int i;

	(void)state;
	for (i = 0; i < FLOOD; i++)
		event(0);
	i = told[0];
	vhca_event_exit(&dev);
	kernel_idle();
	kernel_advance(HZ);
	assert_int_equal(told[0], i);
}

/* Handles of all kinds of files are in one table. */
static void a_file_hears_of_its_own_kind(void **state)
{
	static const struct vhca_file_ops ops = { .event = XENVHCA_EVT_UMAD };
	struct vhca_file file = { .ops = &ops };
	struct xenvhca_event ev = {
		.type = XENVHCA_EVT_UMAD, .handle = 3, .seq = 9,
	};

	dev.file_handles.at[3] = &file;
	assert_true(vhca_event(&dev, &ev));
	assert_int_equal(file_told.seq, 9);
	ev.type = XENVHCA_EVT_CM;
	assert_false(vhca_event(&dev, &ev));
	ev.type = XENVHCA_EVT_UMAD;
	ev.handle = 4;
	assert_false(vhca_event(&dev, &ev));
	assert_int_equal(file_told.n, 1);
	assert_int_equal(atomic64_read(&dev.stats.bad_events), 2);
	vhca_event_overflow(&dev);
	kernel_advance(HZ);
	assert_true(file.lost);
	vhca_event_exit(&dev);
}

static struct { struct ib_srq *srq; int event; unsigned int n; } srq_told;

static void srq_event(struct ib_event *event, void *ctx)
{
	(void)ctx;
	srq_told.srq = event->element.srq;
	srq_told.event = event->event;
	srq_told.n++;
}

/* As often as it has credit, which each modify_srq() renews. */
static void an_srq_hears_of_its_limit(void **state)
{
	struct vhca_srq srq = { .ibsrq.event_handler = srq_event };
	struct xenvhca_event ev = {
		.type = XENVHCA_EVT_SRQ, .event = 15, .handle = 5,
	};
	unsigned int i;

	(void)state;
	dev.srqs.at[5] = &srq;
	vhca_credit_recharge(&srq.async_credit);
	for (i = 0; i < VHCA_ASYNC_CREDIT; i++)
		assert_true(vhca_event(&dev, &ev));
	assert_ptr_equal(srq_told.srq, &srq.ibsrq);
	assert_int_equal(srq_told.event, 15);
	assert_false(vhca_event(&dev, &ev));
	assert_int_equal(srq_told.n, VHCA_ASYNC_CREDIT);
	ev.handle = 6;
	assert_false(vhca_event(&dev, &ev));
	assert_int_equal(atomic64_read(&dev.stats.bad_events), 2);
	vhca_event_exit(&dev);
}

static unsigned int last_receives;

static void last_receive(struct ib_event *event, void *ctx)
{
	assert_int_equal(event->event, IB_EVENT_QP_LAST_WQE_REACHED);
	assert_ptr_equal(event->element.qp, ctx);
	assert_true(dev.evt_lock.held);		/* one at a time, and none after unpublish */
	last_receives++;
}

/* Once for each time that it is owed, to that queue pair alone, and in the work. */
static void a_queue_pair_hears_of_its_last_receive(void **state)
{
	struct vhca_qp qp[2];
	unsigned int i;

	memset(qp, 0, sizeof(qp));
	for (i = 0; i < 2; i++) {
		qp[i].ibqp.event_handler = last_receive;
		qp[i].ibqp.qp_context = &qp[i].ibqp;
		dev.qps.at[2 + i] = &qp[i];
	}
	last_receives = 0;
	kernel_atomic++;
	vhca_event_last(&dev, &qp[1]);
	kernel_atomic--;
	assert_int_equal(last_receives, 0);
	kernel_advance(1);
	assert_int_equal(last_receives, 1);
	vhca_event_overflow(&dev);
	kernel_advance(HZ);
	assert_int_equal(last_receives, 1);
	vhca_event_last(&dev, &qp[0]);
	dev.qps.at[2] = NULL;			/* unpublished */
	kernel_advance(1);
	assert_int_equal(last_receives, 1);
	vhca_event_exit(&dev);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_flood_for_one, setup),
		cmocka_unit_test_setup(a_cq_of_the_kernel_gets_events_when_it_is_armed, setup),
		cmocka_unit_test_setup(a_device_of_iwarp_hides_first_messages, setup),
		cmocka_unit_test_setup(a_cq_that_has_no_queue_for_its_work_waits, setup),
		cmocka_unit_test_setup(a_cq_without_queue_pairs_waits_for_one, setup),
		cmocka_unit_test_setup(without_a_backend_each_armed_cq_gets_an_event, setup),
		cmocka_unit_test_setup(an_arm_is_an_event, setup),
		cmocka_unit_test_setup(a_flood_for_all, setup),
		cmocka_unit_test_setup(the_rate_holds, setup),
		cmocka_unit_test_setup(others_are_served, setup),
		cmocka_unit_test_setup(overflows_are_one_walk, setup),
		cmocka_unit_test_setup(an_arm_announces_two, setup),
		cmocka_unit_test_setup(a_cq_that_goes_meanwhile, setup),
		cmocka_unit_test_setup(an_end_with_something_owed, setup),
		cmocka_unit_test_setup(a_file_hears_of_its_own_kind, setup),
		cmocka_unit_test_setup(an_srq_hears_of_its_limit, setup),
		cmocka_unit_test_setup(a_queue_pair_hears_of_its_last_receive, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
