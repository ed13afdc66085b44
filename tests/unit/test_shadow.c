// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Work queues of Soft-RoCE: what a guest writes reaches the driver's queue
 * only as far as its opcode has it, and no driver's queue is the guest's.
 */
#include <errno.h>
#include <limits.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <sched.h>
#include <rdma/ib_user_verbs.h>

#include "clock.h"
#include "tests/fake/shadow.h"

static void a_guest_writes_pages_of_its_own(void **state)
{
	struct guest *g = *state;
	struct pair p = open_qp(g, 2);

	assert_ptr_not_equal(p.sq.guest, p.sq.real);
	assert_int_equal(p.sq.guest->index_mask, p.sq.real->index_mask);
	assert_int_equal(p.sq.guest->log2_elem_size,
			 p.sq.real->log2_elem_size);
	memset(p.sq.guest, 0xff, 4096);
	memset(p.rq.guest, 0xff, 4096);
	assert_int_equal(p.sq.real->producer_index, 0);
	assert_int_equal(p.rq.real->producer_index, 0);
	assert_int_not_equal(p.sq.real->index_mask, ~0u);
	guest_close(g);
}

static void a_request_is_built_anew(void **state)
{
	struct guest *g = *state;
	struct pair p = open_qp(g, 2);
	struct rxe_send_wqe *w = next(p.sq, IB_UVERBS_WR_RDMA_WRITE);
	const struct rxe_send_wqe *r;

	w->wr.wr.rdma.remote_addr = 0xdead000;
	w->wr.wr.rdma.rkey = 99;
	w->wr.send_flags = ~0u & ~8u;		/* not inline */
	w->status = w->state = w->mask = w->first_psn = w->last_psn = 55;
	w->iova = 55;
	w->has_rd_atomic = 1;
	w->dma.cur_sge = 0x40000000;
	w->dma.sge_offset = 0x80000000;
	w->dma.resid = 3000000000u;
	w->dma.length = 5;
	r = post(g, p.sq);
	assert_int_equal(r->wr.opcode, IB_UVERBS_WR_RDMA_WRITE);
	assert_int_equal(r->wr.wr_id, 0x1234);
	assert_int_equal(r->wr.send_flags, 7);
	assert_int_equal(r->wr.wr.rdma.remote_addr, 0xdead000);
	assert_int_equal(r->wr.wr.rdma.rkey, 99);
	assert_int_equal(r->iova, 0xdead000);
	assert_int_equal(r->dma.num_sge, 1);
	assert_memory_equal(r->dma.sge, w->dma.sge, sizeof(struct rxe_sge));
	assert_int_equal(r->dma.length, 100);
	assert_int_equal(r->dma.resid, 100);
	assert_int_equal(r->dma.cur_sge | r->dma.sge_offset, 0);
	assert_int_equal(r->status | r->state | r->mask | r->first_psn |
			 r->last_psn | r->has_rd_atomic, 0);
	assert_int_equal(g->dev.stats.wqes, 1);
	assert_int_equal(g->dev.stats.wqes_refused, 0);
	assert_int_equal(fake_nth(FAKE_QP, 0)->posts, 1);
	guest_close(g);
}

static void an_atomic_keeps_its_numbers(void **state)
{
	struct guest *g = *state;
	struct pair p = open_qp(g, 2);
	struct rxe_send_wqe *w = next(p.sq, IB_UVERBS_WR_ATOMIC_CMP_AND_SWP);
	const struct rxe_send_wqe *r;

	w->wr.wr.atomic.remote_addr = 0x1000;
	w->wr.wr.atomic.compare_add = 1;
	w->wr.wr.atomic.swap = 2;
	w->wr.wr.atomic.rkey = 3;
	w->wr.send_flags = 8;			/* inline: it sends no data */
	w->dma.sge[0].length = 8;
	r = post(g, p.sq);
	assert_memory_equal(&r->wr.wr.atomic, &w->wr.wr.atomic,
			    sizeof(r->wr.wr.atomic));
	assert_int_equal(r->iova, 0x1000);
	assert_int_equal(r->wr.send_flags, 0);
	assert_int_equal(r->dma.length, 8);
	w = next(p.sq, IB_UVERBS_WR_ATOMIC_FETCH_AND_ADD);
	w->wr.wr.atomic.remote_addr = 0x1004;
	refused(g, p.sq);
	guest_close(g);
}

static void inline_data_is_copied_to_its_end(void **state)
{
	struct guest *g = *state;
	struct pair p = open_qp(g, 2);
	struct rxe_send_wqe *w;
	const struct rxe_send_wqe *r;
	uint32_t max = ((struct be_qp *)be_handle_get(g->dev.handles, g->qp,
						      BE_QP, NULL))->sq->max_inline;

	assert_true(max);
	w = next(p.sq, IB_UVERBS_WR_SEND);
	w->wr.send_flags = 8 | 2;
	w->dma.length = max;
	w->dma.sge_offset = 0x7fffffff;
	memset(w->dma.inline_data, 'x', max);
	r = post(g, p.sq);
	assert_int_equal(r->wr.send_flags, 8 | 2);
	assert_int_equal(r->dma.length, max);
	assert_int_equal(r->dma.resid, max);
	assert_int_equal(r->dma.sge_offset | r->dma.num_sge, 0);
	assert_memory_equal(r->dma.inline_data, w->dma.inline_data, max);
	w = next(p.sq, IB_UVERBS_WR_SEND);
	w->wr.send_flags = 8;
	w->dma.length = max + 1;
	refused(g, p.sq);
	guest_close(g);
}

static void refuses_opcodes(void **state)
{
	static const uint32_t bad[] = {
		IB_UVERBS_WR_LOCAL_INV, IB_UVERBS_WR_BIND_MW,
		IB_UVERBS_WR_SEND_WITH_INV, IB_UVERBS_WR_TSO, 11, 12, 13, 14,
		15, 0x20 /* REG_MR */, 0x21, 0xff, 0x100, 0x10000, 0x80000002,
		~0u,
	};
	struct guest *g = *state;
	struct pair p = open_qp(g, 2);
	unsigned int i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		next(p.sq, bad[i]);
		refused(g, p.sq);
	}
	guest_close(g);
}

static void refuses_what_the_queue_pair_has_not(void **state)
{
	static const uint32_t rc[] = {
		IB_UVERBS_WR_RDMA_READ, IB_UVERBS_WR_ATOMIC_CMP_AND_SWP,
		IB_UVERBS_WR_ATOMIC_FETCH_AND_ADD,
	};
	struct guest *g = *state;
	struct pair p = open_qp(g, 3);
	unsigned int i;

	for (i = 0; i < sizeof(rc) / sizeof(rc[0]); i++) {
		next(p.sq, rc[i]);
		refused(g, p.sq);
	}
	next(p.sq, IB_UVERBS_WR_RDMA_WRITE_WITH_IMM);
	assert_int_equal(post(g, p.sq)->wr.opcode,
			 IB_UVERBS_WR_RDMA_WRITE_WITH_IMM);
	guest_close(g);
}

static void refuses_lengths(void **state)
{
	struct guest *g = *state;
	struct pair p = open_qp(g, 2);
	struct rxe_send_wqe *w = next(p.sq, IB_UVERBS_WR_SEND);

	w->dma.num_sge = 2;			/* made with 1 */
	refused(g, p.sq);
	w = next(p.sq, IB_UVERBS_WR_SEND);
	w->dma.num_sge = ~0u;
	refused(g, p.sq);
	w = next(p.sq, IB_UVERBS_WR_SEND);
	w->dma.sge[0].length = 0x80000001;
	refused(g, p.sq);
	w = next(p.sq, IB_UVERBS_WR_SEND);
	w->dma.num_sge = 0;
	assert_int_equal(post(g, p.sq)->dma.length, 0);
	guest_close(g);
}

static void receives_come_with_the_next_look(void **state)
{
	struct guest *g = *state;
	struct pair p = open_qp(g, 2);
	struct rxe_recv_wqe *w = recv_at(p.rq.guest, 0), *r;
	uint64_t again;

	w->wr_id = 77;
	w->dma.num_sge = 1;
	w->dma.cur_sge = 0x10000000;
	w->dma.sge_offset = w->dma.resid = w->dma.length = 12345;
	w->dma.sge[0] = (struct rxe_sge){ 0x1000, 64, 5 };
	p.rq.guest->producer_index = 1;
	assert_int_equal(be_shadow_receives(&g->dev, UINT_MAX, &again), 1);
	assert_int_equal(again, 0);			/* it cannot receive yet */
	assert_int_equal(p.rq.real->producer_index, 1);
	assert_int_equal(p.rq.guest->consumer_index, 1);
	r = recv_at(p.rq.real, 0);
	assert_int_equal(r->wr_id, 77);
	assert_int_equal(r->dma.cur_sge | r->dma.sge_offset, 0);
	assert_int_equal(r->dma.length, 64);
	assert_int_equal(r->dma.resid, 64);
	assert_int_equal(r->dma.num_sge, 1);

	w = recv_at(p.rq.guest, 1);
	w->wr_id = 78;
	w->dma.num_sge = 0xffff;
	p.rq.guest->producer_index = 2;
	assert_int_equal(be_shadow_receives(&g->dev, UINT_MAX, &again), 1);
	r = recv_at(p.rq.real, 1);
	assert_int_equal(r->wr_id, 78);
	assert_int_equal(r->dma.num_sge | r->dma.length, 0);
	assert_int_equal(g->dev.stats.wqes_refused, 1);

	g->req.u.modify_qp.handle = g->qp;
	g->req.u.modify_qp.attr.mask = 1;
	g->req.u.modify_qp.attr.qp_state = 2;
	assert_int_equal(guest_cmd(g, XENVHCA_OP_MODIFY_QP), 0);
	assert_int_equal(be_shadow_receives(&g->dev, UINT_MAX, &again), 0);
	assert_int_equal(again, BE_RECV_RC_NS);
	guest_close(g);
}

/* No kick, no command: the thread that looks must come by itself. */
static void receives_need_no_system_call(void **state)
{
	struct guest *g = *state;
	struct pair p = open_qp(g, 2);
	unsigned int i, n;

	assert_int_equal(be_recv_poll_start(&g->dev), 0);
	g->req.u.modify_qp.handle = g->qp;
	g->req.u.modify_qp.attr.mask = 1;
	g->req.u.modify_qp.attr.qp_state = 2;
	assert_int_equal(guest_cmd(g, XENVHCA_OP_MODIFY_QP), 0);
	for (n = 1; n < 4; n++) {
		__atomic_store_n(&p.rq.guest->producer_index, n,
				 __ATOMIC_RELEASE);
		for (i = 0; i < 5000 &&
		     __atomic_load_n(&p.rq.real->producer_index,
				     __ATOMIC_ACQUIRE) != n; i++)
			usleep(1000);
		assert_int_equal(p.rq.real->producer_index, n);
		usleep(20000);		/* it looks seldom by now */
	}
	assert_true(g->dev.stats.recv_polls > 3);
	be_recv_poll_stop(&g->dev);
	guest_close(g);
}

static void indices_stay_inside(void **state)
{
	struct guest *g = *state;
	struct pair p = open_qp(g, 2);
	uint32_t mask = p.sq.real->index_mask;

	p.sq.guest->producer_index = ~0u;
	p.sq.guest->consumer_index = 12345678;
	p.sq.guest->index_mask = 0xffff;
	p.sq.guest->log2_elem_size = 20;
	kick(g, g->qp);
	assert_int_equal(p.sq.real->producer_index, mask);
	assert_int_equal(g->dev.stats.wqes, mask);
	guest_close(g);
}

static void what_has_no_room_waits(void **state)
{
	struct guest *g = *state;
	struct pair p = open_qp(g, 2);
	uint32_t mask = p.sq.real->index_mask, i;

	for (i = 0; i < mask; i++) {
		next(p.sq, IB_UVERBS_WR_SEND);
		post(g, p.sq);
	}
	next(p.sq, IB_UVERBS_WR_SEND)->wr.wr_id = 4711;
	p.sq.guest->producer_index = 0;
	kick(g, g->qp);
	assert_int_equal(p.sq.real->producer_index, mask);
	assert_true(be_shadow_sends(&g->dev));
	assert_int_equal(p.sq.real->producer_index, mask);
	p.sq.real->consumer_index = 1;		/* one was executed */
	assert_false(be_shadow_sends(&g->dev));
	assert_int_equal(p.sq.real->producer_index, 0);
	assert_int_equal(send_at(p.sq.real, mask)->wr.wr_id, 4711);
	assert_int_equal(fake_nth(FAKE_QP, 0)->posts, mask + 2);
	guest_close(g);
}

static void nothing_is_posted_to_a_queue_that_is_gone(void **state)
{
	struct guest *g = *state;
	struct pair p = open_qp(g, 2);
	uint64_t again;

	assert_int_equal(guest_handle(g, XENVHCA_OP_DESTROY_QP, g->qp), 0);
	p.rq.guest->producer_index = 1;
	assert_int_equal(be_shadow_receives(&g->dev, UINT_MAX, &again), 0);
	assert_int_equal(again, 0);
	guest_close(g);
}

static struct guest_key create_srq_of(struct guest *g, uint32_t max_wr,
				      uint32_t *handle)
{
	g->req.u.create_srq.pd = g->pd;
	g->req.u.create_srq.max_wr = max_wr;
	g->req.u.create_srq.max_sge = 1;
	g->req.out_len = 24;
	assert_int_equal(guest_cmd(g, XENVHCA_OP_CREATE_SRQ), 0);
	*handle = g->rsp.u.create_srq.handle;
	return guest_key(g, 0);
}

static struct guest_key create_srq(struct guest *g, uint32_t *handle)
{
	return create_srq_of(g, 3, handle);
}

static int resize_srq(struct guest *g, uint32_t srq, uint32_t max_wr)
{
	g->req.u.modify_srq.handle = srq;
	g->req.u.modify_srq.mask = 1;
	g->req.u.modify_srq.max_wr = max_wr;
	g->req.in_len = 8;
	g->req.out_len = 16;
	return guest_cmd(g, XENVHCA_OP_MODIFY_SRQ);
}

static void a_resized_queue_has_pages_of_its_own(void **state)
{
	struct guest *g = *state;
	struct queue old, new;
	uint32_t srq;
	uint64_t again;

	g->uc = guest_alloc_uc(g);
	g->pd = guest_alloc_pd(g);
	old = map(g, create_srq(g, &srq));
	assert_int_equal(be_shadow_receives(&g->dev, UINT_MAX, &again), 0);
	assert_int_not_equal(again, 0);
	assert_int_equal(resize_srq(g, srq, 100), 0);
	new = map(g, guest_key(g, 0));
	assert_true(new.guest->index_mask > old.guest->index_mask);
	old.guest->producer_index = 1;
	assert_int_equal(be_shadow_receives(&g->dev, UINT_MAX, &again), 0);
	new.guest->producer_index = 1;
	assert_int_equal(be_shadow_receives(&g->dev, UINT_MAX, &again), 1);
	guest_close(g);
}

/*
 * The driver of an older kernel has no queue at all after it refused to resize one, and
 * follows NULL: what it would refuse, it is not asked. The guest goes on with the old one.
 */
static void a_queue_is_not_resized_below_what_it_holds(void **state)
{
	struct guest *g = *state;
	struct queue q;
	uint32_t srq;
	uint64_t again;

	g->uc = guest_alloc_uc(g);
	g->pd = guest_alloc_pd(g);
	q = map(g, create_srq(g, &srq));		/* of three */
	q.guest->producer_index = 2;
	assert_int_equal(be_shadow_receives(&g->dev, UINT_MAX, &again), 2);
	fake_fail(IB_USER_VERBS_CMD_MODIFY_SRQ, FAKE_EACH, EIO);
	assert_int_equal(resize_srq(g, srq, 1), -EINVAL);
	q.guest->producer_index = 3;		/* one that only the guest has yet */
	assert_int_equal(resize_srq(g, srq, 2), -EIO);
	assert_int_equal(be_shadow_receives(&g->dev, UINT_MAX, &again), 1);
	assert_int_equal(resize_srq(g, srq, 1), -EINVAL);
	assert_int_equal(q.real->producer_index, 3);
	q.real->consumer_index = 2;
	fake_fail(IB_USER_VERBS_CMD_MODIFY_SRQ, 0, 0);
	assert_int_equal(resize_srq(g, srq, 1), 0);
	q.guest->producer_index = 0;
	assert_int_equal(be_shadow_receives(&g->dev, UINT_MAX, &again), 0);
	guest_close(g);
}

static uint64_t turn_ns;	/* what each turn of the thread takes; 0: what it does */

/* Of a slow host: that clock is read each 32 turns. */
int clock_gettime(clockid_t id, struct timespec *ts)
{
	static uint64_t cpu_ns;
	uint64_t now;

	if (id != CLOCK_THREAD_CPUTIME_ID || !turn_ns)
		return (int)syscall(SYS_clock_gettime, id, ts);
	now = __atomic_add_fetch(&cpu_ns, 32 * turn_ns, __ATOMIC_RELAXED);
	ts->tv_sec = (time_t)(now / VL_SEC_NS);
	ts->tv_nsec = (long)(now % VL_SEC_NS);
	return 0;
}

/* Where a turn takes a millisecond, the thread would take a fifth of a processor. */
static void a_slow_host_is_looked_at_less_often(void **state)
{
	struct guest *g = *state;
	uint64_t before, start, spent;

	open_qp(g, 2);
	turn_ns = VL_MSEC_NS;
	assert_int_equal(be_recv_poll_start(&g->dev), 0);
	g->req.u.modify_qp.handle = g->qp;
	g->req.u.modify_qp.attr.mask = 1;
	g->req.u.modify_qp.attr.qp_state = 2;
	assert_int_equal(guest_cmd(g, XENVHCA_OP_MODIFY_QP), 0);
	do {				/* until it has measured 32 turns */
		usleep(1000);
		before = __atomic_load_n(&g->dev.stats.recv_polls, __ATOMIC_RELAXED);
	} while (before < 35);
	start = vl_now_ns();
	usleep(500000);
	be_recv_poll_stop(&g->dev);
	spent = vl_now_ns() - start;
	turn_ns = 0;
	assert_in_range(g->dev.stats.recv_polls - before, 1,
			spent / (16 * VL_MSEC_NS) + 1);
	guest_close(g);
}

#define SLOTS		1024u	/* of a queue, and what a turn moves */
#define FULL		31

/* A guest that says "full" again and again keeps the thread no more than a fifth. */
static void full_queues_are_not_moved_at_once(void **state)
{
	struct queue q[FULL];
	struct guest *g = *state;
	uint64_t again, moved, start, spent;
	unsigned int i, n;
	uint32_t srq;

	g->uc = guest_alloc_uc(g);
	g->pd = guest_alloc_pd(g);
	for (i = 0; i < FULL; i++) {
		q[i] = map(g, create_srq_of(g, SLOTS - 1, &srq));
		assert_int_equal(q[i].real->index_mask, SLOTS - 1);
		q[i].guest->producer_index = SLOTS - 1;
	}
	/* Each has its turn, whichever is full again. */
	for (n = 0; n < FULL; n++)
		assert_int_equal(be_shadow_receives(&g->dev, SLOTS - 1, &again),
				 SLOTS - 1);
	assert_int_equal(again, BE_RECV_LOSSY_NS);
	for (i = 0; i < FULL; i++)
		assert_int_equal(q[i].real->producer_index, SLOTS - 1);
	assert_int_equal(be_recv_poll_start(&g->dev), 0);
	be_recv_poll_now(&g->dev);
	moved = __atomic_load_n(&g->dev.stats.wqes, __ATOMIC_RELAXED);
	start = vl_now_ns();
	do {
		for (i = 0; i < FULL; i++) {	/* the driver has executed all */
			n = __atomic_load_n(&q[i].real->producer_index,
					    __ATOMIC_ACQUIRE);
			__atomic_store_n(&q[i].real->consumer_index, n,
					 __ATOMIC_RELEASE);
			n = __atomic_load_n(&q[i].guest->consumer_index,
					    __ATOMIC_ACQUIRE);
			__atomic_store_n(&q[i].guest->producer_index, n - 1,
					 __ATOMIC_RELEASE);
		}
		sched_yield();
		spent = vl_now_ns() - start;
	} while (spent < 500 * VL_MSEC_NS);
	be_recv_poll_stop(&g->dev);
	moved = g->dev.stats.wqes - moved;
	assert_in_range(moved, 10000, spent / 4000 + 2 * 1024);
	guest_close(g);
}

#define MANY		900
#define MANY_NS		(MANY * 500ull)		/* from one look to the next */

/* Empty queues cost the thread that looks as little of its time as full ones. */
static void many_queues_are_looked_at_less_often(void **state)
{
	struct guest *g = *state;
	uint64_t start, spent;
	uint32_t srq;
	int i;

	g->dev.quota.max[BE_SRQ] = MANY;
	g->uc = guest_alloc_uc(g);
	g->pd = guest_alloc_pd(g);
	for (i = 0; i < MANY; i++)
		map(g, create_srq(g, &srq));
	assert_int_equal(g->dev.n_shadows, MANY);
	assert_int_equal(be_recv_poll_start(&g->dev), 0);
	start = vl_now_ns();
	do {
		be_recv_poll_now(&g->dev);		/* as before each kick */
		usleep(1000);
		spent = vl_now_ns() - start;
	} while (spent < 300 * VL_MSEC_NS);
	be_recv_poll_stop(&g->dev);
	assert_in_range(g->dev.stats.recv_polls, 1, spent / MANY_NS + 1);
	guest_close(g);
	assert_int_equal(g->dev.n_shadows, 0);
}

static void a_queue_with_more_than_it_holds_keeps_its_size(void **state)
{
	struct guest *g = *state;
	struct queue q;
	uint32_t srq;
	uint64_t again;

	g->uc = guest_alloc_uc(g);
	g->pd = guest_alloc_pd(g);
	q = map(g, create_srq(g, &srq));
	q.guest->producer_index = q.guest->index_mask;
	assert_int_equal(be_shadow_receives(&g->dev, UINT_MAX, &again), q.real->index_mask);
	q.guest->producer_index = 0;
	assert_int_equal(be_shadow_receives(&g->dev, UINT_MAX, &again), 0);
	assert_int_equal(resize_srq(g, srq, 100), -EINVAL);
	guest_close(g);
}

static int alloc_mw(struct guest *g, uint8_t type)
{
	g->req.u.alloc_mw.pd = g->pd;
	g->req.u.alloc_mw.type = type;
	return guest_cmd(g, XENVHCA_OP_ALLOC_MW);
}

static void windows_are_for_trusted_guests(void **state)
{
	struct guest *g = *state;
	struct pair p = open_qp(g, 2);
	struct rxe_send_wqe *w;
	const struct rxe_send_wqe *r;
	uint32_t mw;

	assert_int_equal(alloc_mw(g, 1), -EOPNOTSUPP);
	assert_int_equal(alloc_mw(g, 2), -EOPNOTSUPP);
	assert_int_equal(guest_cmd(g, XENVHCA_OP_QUERY_DEVICE), 0);
	assert_int_equal(g->rsp.u.query_device.max_mw, 0);
	guest_close(g);

	g->dev.trusted = true;
	p = open_qp(g, 2);
	assert_int_equal(alloc_mw(g, 2), 0);
	mw = g->rsp.u.mr.handle;
	w = next(p.sq, IB_UVERBS_WR_BIND_MW);
	w->wr.wr.mw.addr = 0x1000;
	w->wr.wr.mw.length = 0x2000;
	w->wr.wr.mw.mw_rkey = 3;
	r = post(g, p.sq);
	assert_int_equal(r->wr.opcode, IB_UVERBS_WR_BIND_MW);
	assert_memory_equal(&r->wr.wr.mw, &w->wr.wr.mw, sizeof(w->wr.wr.mw));
	next(p.sq, IB_UVERBS_WR_LOCAL_INV)->wr.ex.invalidate_rkey = 3;
	r = post(g, p.sq);
	assert_int_equal(r->wr.opcode, IB_UVERBS_WR_LOCAL_INV);
	assert_int_equal(r->wr.ex.invalidate_rkey, 3);
	next(p.sq, 0x20);			/* REG_MR is nobody's */
	refused(g, p.sq);
	assert_int_equal(guest_handle(g, XENVHCA_OP_DEALLOC_MW, mw), 0);
	guest_close(g);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, guest_setup, guest_teardown)
		T(a_guest_writes_pages_of_its_own),
		T(a_request_is_built_anew),
		T(an_atomic_keeps_its_numbers),
		T(inline_data_is_copied_to_its_end),
		T(refuses_opcodes),
		T(refuses_what_the_queue_pair_has_not),
		T(refuses_lengths),
		T(receives_come_with_the_next_look),
		T(receives_need_no_system_call),
		T(indices_stay_inside),
		T(what_has_no_room_waits),
		T(nothing_is_posted_to_a_queue_that_is_gone),
		T(a_resized_queue_has_pages_of_its_own),
		T(a_queue_is_not_resized_below_what_it_holds),
		T(many_queues_are_looked_at_less_often),
		T(full_queues_are_not_moved_at_once),
		T(a_slow_host_is_looked_at_less_often),
		T(a_queue_with_more_than_it_holds_keeps_its_size),
		T(windows_are_for_trusted_guests),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
