// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * frontend/ring/ring*.c with a backend that is silent: who gets the last slots, and
 * which silence is the end of the device.
 */
#include "kernel.h"

/* Another thread runs behind the next lock. */
static void (*meanwhile)(void);
#undef spin_unlock_irqrestore
#define spin_unlock_irqrestore(l, flags)				\
do {									\
	void (*__meanwhile)(void) = meanwhile;				\
	meanwhile = NULL;						\
	spin_unlock(l);							\
	if (__meanwhile)						\
		__meanwhile();						\
} while (0)

#include "front_ring.h"

/* Else the port stays open, and its handler runs on a device that is gone. */
static void the_first_irq_of_an_arm_guest_is_unbound_too(void **state)
{
	(void)state;
	assert_int_equal(dev->ring.cmd_irq, 0);
	assert_int_equal(kernel_irqs, 7);
	vhca_ring_free(dev);
	assert_int_equal(kernel_irqs, 0);
	assert_int_equal(vhca_ring_init(dev, 0, &ops), 0);
}

/* They fill the grant table as regions do. */
static void pages_of_rings_count(void **state)
{
	(void)state;
	assert_int_equal(counted, 3);
	vhca_ring_free(dev);
	assert_int_equal(counted, 0);
	vhca_ring_free(dev);
	assert_int_equal(counted, 0);
	assert_int_equal(vhca_ring_init(dev, 0, &ops), 0);
	assert_int_equal(counted, 3);
}

/* A device of the kernel's has more than one connection, each with rings of its own. */
static void another_connection_begins_anew(void **state)
{
	(void)state;
	assert_int_equal(submit(XENVHCA_OP_QUERY_PORT, 0), -ETIMEDOUT);
	dev->ring.evt_cons = dev->ring.kick_prod = dev->ring.kick_seen = 5;
	dev->ring.closed = true;
	vhca_break(dev, "it is gone");
	assert_int_equal(submit(XENVHCA_OP_QUERY_PORT, 0), -EIO);
	vhca_ring_free(dev);
	assert_int_equal(submit(XENVHCA_OP_QUERY_PORT, 0), -EIO);
	assert_int_equal(vhca_ring_init(dev, 0, &ops), 0);
	assert_null(dev->ring.reason);
	assert_false(dev->ring.closed);
	assert_int_equal(dev->ring.evt_cons + dev->ring.kick_prod + dev->ring.kick_seen, 0);
	assert_int_equal(dev->ring.asleep, 0);
	assert_int_equal(free_slots(), RING_SIZE(&dev->ring.cmd));
	broken = NULL;
	assert_int_equal(submit(XENVHCA_OP_QUERY_PORT, 0), -ETIMEDOUT);
	vhca_break(dev, "it is gone, too");
	assert_string_equal(broken, "it is gone, too");
}

/* Ordinary commands take what is not kept, of processes that take one each. */
static void fill(void)
{
	for (; free_slots() > ring_reserve(&dev->ring); current->tgid++)
		assert_int_equal(submit(XENVHCA_OP_QUERY_PORT, 0), -ETIMEDOUT);
	assert_null(broken);
}

static void only_destroys_take_the_last_slots(void **state)
{
	unsigned int kept;

	(void)state;
	fill();
	kept = free_slots();
	assert_true(kept > 0);
	assert_int_equal(submit(XENVHCA_OP_QUERY_PORT, 0), -ETIMEDOUT);
	assert_int_equal(submit(XENVHCA_OP_ALLOC_UCONTEXT,
				VHCA_CMD_OWNERLESS), -ETIMEDOUT);
	assert_int_equal(free_slots(), kept);
	assert_null(broken);		/* nothing was sent */
	assert_int_equal(submit(XENVHCA_OP_DEALLOC_UCONTEXT,
				VHCA_CMD_DESTROY), -ETIMEDOUT);
	assert_int_equal(free_slots(), kept - 1);
	assert_non_null(strstr(broken, "destroy"));
}

static void an_ownerless_object_may_not_be_left(void **state)
{
	(void)state;
	assert_int_equal(submit(XENVHCA_OP_ALLOC_UCONTEXT,
				VHCA_CMD_OWNERLESS), -ETIMEDOUT);
	assert_non_null(broken);
	assert_null(strstr(broken, "destroy"));
	assert_int_equal(submit(XENVHCA_OP_QUERY_PORT, 0), -EIO);
}

/* All that look at the process wait for its mmap_lock; the device lives on. */
static void an_mmap_waits_ten_seconds(void **state)
{
	unsigned long begin = jiffies;

	(void)state;
	assert_int_equal(submit(XENVHCA_OP_MMAP, VHCA_CMD_SOON), -ETIMEDOUT);
	assert_in_range(jiffies - begin, 10 * HZ, 10 * HZ + 2);
	begin = jiffies;
	assert_int_equal(submit(XENVHCA_OP_MMAP, 0), -ETIMEDOUT);
	assert_in_range(jiffies - begin, 60 * HZ, 60 * HZ + 2);
	assert_null(broken);
}

/*
 * The backend takes commands in order, each so long. One op it never answers.
 */
static unsigned long each;
static u16 refused;
static unsigned int next_req;
static void serve(struct work_struct *work);
static struct delayed_work server = { { serve } };

static void serve(struct work_struct *work)
{
	struct xenvhca_sring *sring = dev->ring.cmd.sring;
	struct xenvhca_request req;

	(void)work;
	schedule_delayed_work(&server, each);
	if (next_req == sring->req_prod)
		return;
	req = sring->ring[next_req++ % RING_SIZE(&dev->ring.cmd)].req;
	if (req.op == refused)
		return;
	sring->ring[sring->rsp_prod++ % RING_SIZE(&dev->ring.cmd)].rsp =
		(struct xenvhca_response){ .id = req.id, .op = req.op };
	vhca_ring_cmd_irq(1, dev);
}

static void serve_each(unsigned long time)
{
	each = time;
	schedule_delayed_work(&server, each);
}

static int setup_many(void **state)
{
	(void)state;
	refused = next_req = 0;
	setup(state);
	vhca_ring_free(dev);
	return vhca_ring_init(dev, XENVHCA_MAX_RING_ORDER, &ops);
}

static int teardown_many(void **state)
{
	kernel_cancel(&server);
	return teardown(state);
}

/* A thread of a process asks, and waits somewhere. */
static struct vhca_cmd *thread(pid_t process, u16 op, unsigned int flags)
{
	struct vhca_cmd *cmd = vhca_cmd_alloc(op, 0);

	cmd->flags = flags;
	cmd->process = process;
	ring_queue(dev, cmd);
	return cmd;
}

#define THREADS	60

/* Each of them waits a second for a GID that nobody has. */
static void one_process_delays_no_other(void **state)
{
	struct vhca_cmd *cmd[THREADS];
	unsigned long begin = jiffies;
	unsigned int i;

	(void)state;
	for (i = 0; i < THREADS; i++)
		cmd[i] = thread(1, XENVHCA_OP_CREATE_AH, 0);
	serve_each(HZ);
	current->tgid = 2;
	assert_int_equal(submit(XENVHCA_OP_ALLOC_UCONTEXT,
				VHCA_CMD_OWNERLESS), 0);
	assert_in_range(jiffies - begin, HZ, 10 * HZ);
	kernel_advance(THREADS * HZ);
	assert_int_equal(free_slots(), RING_SIZE(&dev->ring.cmd));
	for (i = 0; i < THREADS; i++) {
		assert_true(cmd[i]->done.done);
		kfree(cmd[i]);
	}
	assert_null(broken);
}

/* Threads of one that destroy what they have do not take what is for others, either. */
static void nor_do_its_destroys(void **state)
{
	struct vhca_cmd *cmd[THREADS];
	unsigned int i;

	(void)state;
	for (i = 0; i < THREADS; i++)
		cmd[i] = thread(1, XENVHCA_OP_DEREG_MR, VHCA_CMD_DESTROY);
	assert_in_range(free_slots(), 40, 60);
	serve_each(1);
	kernel_advance(THREADS + 2);
	for (i = 0; i < THREADS; i++) {
		assert_true(cmd[i]->done.done);
		kfree(cmd[i]);
	}
}

/* It is slow, for there is much to do, but not silent. */
static void who_answers_others_is_not_silent(void **state)
{
	unsigned long begin = jiffies;
	struct vhca_cmd *cmd[7];
	unsigned int i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(cmd); i++)
		cmd[i] = thread(i, XENVHCA_OP_REG_MR, 0);
	serve_each(20 * HZ);
	current->tgid = 100;
	assert_int_equal(submit(XENVHCA_OP_DEALLOC_PD, VHCA_CMD_DESTROY), 0);
	assert_in_range(jiffies - begin, 159 * HZ, 161 * HZ);
	assert_null(broken);
	for (i = 0; i < ARRAY_SIZE(cmd); i++)
		kfree(cmd[i]);
}

static void but_it_may_not_leave_one_out(void **state)
{
	struct vhca_cmd *cmd[40];
	unsigned long begin;
	unsigned int i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(cmd); i++)
		cmd[i] = thread(i, XENVHCA_OP_REG_MR, 0);
	refused = XENVHCA_OP_DEALLOC_PD;
	serve_each(20 * HZ);
	begin = jiffies;
	assert_int_equal(submit(XENVHCA_OP_DEALLOC_PD, VHCA_CMD_DESTROY),
			 -ETIMEDOUT);
	assert_in_range(jiffies - begin, 300 * HZ, 301 * HZ);
	assert_non_null(broken);
	for (i = 0; i < ARRAY_SIZE(cmd); i++)
		kfree(cmd[i]);
}

static bool sent(const struct vhca_cmd *cmd)
{
	return dev->ring.pending[cmd->req.id] == cmd;
}

static void who_came_first_goes_first(void **state)
{
	struct vhca_cmd *cmd[XENVHCA_MAX_ID];
	unsigned int i, n = 0, last;

	(void)state;
	while (free_slots() > ring_reserve(&dev->ring))
		cmd[n] = thread(n, XENVHCA_OP_QUERY_PORT, 0), n++;
	last = n + 10;
	for (i = n; i < last; i++) {
		cmd[i] = thread(i, XENVHCA_OP_QUERY_PORT, 0);
		assert_false(sent(cmd[i]));
	}
	/* a destroy has a slot of its own, and no other */
	cmd[last] = thread(i, XENVHCA_OP_DEALLOC_PD, VHCA_CMD_DESTROY);
	assert_true(sent(cmd[last]));
	assert_int_equal(free_slots(), ring_reserve(&dev->ring) - 1);
	each = 1000 * HZ;
	serve(NULL);
	assert_false(sent(cmd[n]));	/* the reserve is whole again */
	for (i = n; i < last; i++) {
		serve(NULL);
		assert_true(sent(cmd[i]));
		assert_true(i + 1 == last || !sent(cmd[i + 1]));
	}
	/* all that still wait are told when the device ends */
	fill();
	cmd[++last] = thread(n, XENVHCA_OP_QUERY_PORT, 0);
	assert_false(sent(cmd[last]));
	vhca_ring_fail(dev);
	assert_true(list_empty(&dev->ring.waiters));
	for (i = 0; i <= last; i++) {
		assert_true(cmd[i]->done.done);
		kfree(cmd[i]);
	}
}

/* A place of a process that ended is not free before its answer is there. */
static void who_gives_up_keeps_its_place(void **state)
{
	unsigned int size = RING_SIZE(&dev->ring.cmd), i;

	(void)state;
	current->tgid = 1;
	for (i = 0; i < size / VHCA_SHARE; i++)
		assert_int_equal(submit(XENVHCA_OP_CREATE_AH, 0), -ETIMEDOUT);
	assert_int_equal(free_slots(), size - i);
	assert_int_equal(submit(XENVHCA_OP_CREATE_AH, 0), -ETIMEDOUT);
	assert_int_equal(free_slots(), size - i);
	assert_true(list_empty(&dev->ring.waiters));
	serve_each(HZ);
	assert_int_equal(submit(XENVHCA_OP_CREATE_AH, 0), 0);
	assert_int_equal(free_slots(), size);
	assert_null(broken);
}

static void also_where_it_waits_for_a_slot(void **state)
{
	static struct delayed_work backend = { { serve } };
	unsigned long begin;

	(void)state;
	next_req = 0;
	each = 1000 * HZ;
	fill();
	begin = jiffies;
	assert_int_equal(submit(XENVHCA_OP_MMAP, VHCA_CMD_SOON), -ETIMEDOUT);
	assert_in_range(jiffies - begin, 10 * HZ, 10 * HZ + 2);
	schedule_delayed_work(&backend, 6 * HZ);
	begin = jiffies;
	assert_int_equal(submit(XENVHCA_OP_MMAP, VHCA_CMD_SOON), -ETIMEDOUT);
	assert_in_range(jiffies - begin, 10 * HZ, 10 * HZ + 2);
	assert_int_equal(free_slots(), ring_reserve(&dev->ring));
	assert_null(broken);
	kernel_cancel(&server);
}

/* One that was told to be quicker with all is so with this. */
static void nor_longer_than_for_others(void **state)
{
	unsigned long begin = jiffies;

	(void)state;
	cmd_timeout = 2;
	assert_int_equal(submit(XENVHCA_OP_MMAP, VHCA_CMD_SOON), -ETIMEDOUT);
	cmd_timeout = 60;
	assert_in_range(jiffies - begin, 2 * HZ, 2 * HZ + 2);
}

/* The backend answers the newest command, while its sender waits. */
static int status;

static void answer(struct work_struct *work)
{
	struct xenvhca_sring *sring = dev->ring.cmd.sring;
	unsigned int i = (sring->req_prod - 1) % RING_SIZE(&dev->ring.cmd);
	struct xenvhca_request req = sring->ring[i].req;

	(void)work;
	sring->ring[i].rsp = (struct xenvhca_response){
		.id = req.id, .op = req.op, .status = status,
	};
	sring->rsp_prod = sring->req_prod;
	vhca_ring_cmd_irq(1, dev);
}

static int answered(int answer_status)
{
	static struct delayed_work backend = { { answer } };

	status = answer_status;
	schedule_delayed_work(&backend, 1);
	return submit(XENVHCA_OP_QUERY_PORT, 0);
}

/* Memory of a command without an answer is held, and it may not have been executed. */
static void no_answer_is_what_nobody_answers(void **state)
{
	(void)state;
	assert_int_equal(answered(0), 0);
	assert_int_equal(answered(-ENOMEM), -ENOMEM);
	assert_int_equal(answered(-EINTR), -EIO);
	assert_int_equal(answered(-ETIMEDOUT), -EIO);
	assert_null(broken);
}

/* Their answers are all that is left of them, and half of the ring is for others. */
static void who_waits_for_no_answer_leaves_half(void **state)
{
	unsigned int size = RING_SIZE(&dev->ring.cmd), n = 0;
	struct vhca_cmd *cmd;

	(void)state;
	while (free_slots() > size / 2) {
		cmd = vhca_cmd_alloc(XENVHCA_OP_DESTROY_QP, 0);
		assert_int_equal(vhca_ring_submit(dev, &cmd, VHCA_CMD_DESTROY |
						  VHCA_CMD_NOWAIT),
				 -EINPROGRESS);
		assert_null(cmd);
		n++;
	}
	assert_int_equal(n, size / 2);
	assert_null(broken);
	/* One more is waited for, as others are; the device ends with silence. */
	assert_int_equal(submit(XENVHCA_OP_DESTROY_QP, VHCA_CMD_DESTROY |
				VHCA_CMD_NOWAIT), -ETIMEDOUT);
	assert_non_null(broken);
	assert_int_equal(submit(XENVHCA_OP_DESTROY_QP, VHCA_CMD_DESTROY |
				VHCA_CMD_NOWAIT), -EIO);
	for (n = 0; n < XENVHCA_MAX_ID; n++)
		assert_null(dev->ring.pending[n]);
}

/* Also one that the backend refuses. */
static void an_answer_that_nobody_waits_for_is_taken(void **state)
{
	struct vhca_cmd *cmd = vhca_cmd_alloc(XENVHCA_OP_DESTROY_QP, 0);
	unsigned int slots = free_slots();

	(void)state;
	assert_int_equal(vhca_ring_submit(dev, &cmd, VHCA_CMD_DESTROY |
					  VHCA_CMD_NOWAIT), -EINPROGRESS);
	assert_int_equal(free_slots(), slots - 1);
	status = -EBUSY;
	answer(NULL);
	assert_int_equal(free_slots(), slots);
	assert_int_equal(answered(0), 0);
	assert_null(broken);
}

/* Entries of different queues: none serves for another one. */
static void push(unsigned int nr)
{
	while (nr--) {
		struct vhca_kick kick = { .type = XENVHCA_KICK_SEND };

		assert_int_equal(vhca_ring_kick(dev, &kick), 0);
	}
}

/*
 * Two wait: what one of them writes into done_event can make the backend leave out
 * the upcall for the other, so who sees done move must wake it.
 */
static void a_waiter_wakes_the_others(void **state)
{
	unsigned int before;

	(void)state;
	push(7);
	assert_false(kick_executed(dev, 5));
	before = kernel_wakes;
	assert_false(kick_executed(dev, 5));
	assert_int_equal(kernel_wakes, before);
	dev->ring.kick->done = 6;	/* without an upcall */
	assert_true(kick_executed(dev, 5));
	assert_int_equal(kernel_wakes, before + 1);
	assert_false(kick_executed(dev, 6));
	assert_int_equal(kernel_wakes, before + 1);
	assert_null(broken);
}

static void another_one_asks(void)
{
	dev->ring.kick->done = 1;
	assert_false(kick_executed(dev, 1));	/* it sleeps */
}

/* A slow waiter must not take back what a sleeper asked for. */
static void a_waiter_asks_for_no_earlier_upcall(void **state)
{
	(void)state;
	push(2);
	meanwhile = another_one_asks;
	assert_true(kick_executed(dev, 0));
	assert_int_equal(dev->ring.kick->done_event, 2);
}

/* The upcall, with what the backend says; 1: without work, slows the channel. */
static int upcall(u32 done)
{
	u64 spurious = dev->stats.spurious.v;

	dev->ring.kick->done = done;
	vhca_ring_kick_irq(1, dev);
	return (int)(dev->stats.spurious.v - spurious);
}

/* As often as the backend did something. */
static void kicks_are_executed_once(void **state)
{
	(void)state;
	push(3);
	assert_int_equal(upcall(1), 0);
	assert_int_equal(upcall(1), 1);
	assert_int_equal(upcall(3), 0);
	assert_int_equal(upcall(3), 1);
	push(1);
	assert_true(kick_executed(dev, 2));
	dev->ring.kick->done = 4;
	assert_true(kick_executed(dev, 3));	/* before the upcall */
	assert_int_equal(upcall(4), 0);
	assert_null(broken);
}

/* Else each of its events would have work, and a storm would cost nothing. */
static void kicks_that_nobody_made_are_not_executed(void **state)
{
	static const u32 lies[] = { 4, 1, 0, 0x80000000, ~0u };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(lies); i++) {
		push(3);
		assert_int_equal(upcall(2), 0);
		assert_null(broken);
		assert_int_equal(upcall(lies[i]), 1);
		assert_non_null(strstr(broken, "kicks"));
		teardown(state);
		setup(state);
	}
	push(3);
	dev->ring.kick->done = 4;	/* and to a process that waits */
	assert_false(kick_executed(dev, 2));
	assert_non_null(broken);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
#define M(f) cmocka_unit_test_setup_teardown(f, setup_many, teardown_many)
int main(void)
{
	const struct CMUnitTest tests[] = {
		T(pages_of_rings_count),
		T(another_connection_begins_anew),
		T(the_first_irq_of_an_arm_guest_is_unbound_too),
		T(only_destroys_take_the_last_slots),
		T(an_ownerless_object_may_not_be_left),
		M(one_process_delays_no_other),
		M(nor_do_its_destroys),
		M(who_answers_others_is_not_silent),
		M(but_it_may_not_leave_one_out),
		M(who_came_first_goes_first),
		M(who_gives_up_keeps_its_place),
		T(an_mmap_waits_ten_seconds),
		T(also_where_it_waits_for_a_slot),
		T(nor_longer_than_for_others),
		T(no_answer_is_what_nobody_answers),
		T(who_waits_for_no_answer_leaves_half),
		T(an_answer_that_nobody_waits_for_is_taken),
		T(a_waiter_wakes_the_others),
		T(a_waiter_asks_for_no_earlier_upcall),
		T(kicks_are_executed_once),
		T(kicks_that_nobody_made_are_not_executed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
