// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * frontend/kernel/ with the completions of hostile-backend, as 61-hostile-backend-kernel has
 * both on Xen: a queue pair that stops is flushed as by an HCA, and whatever completions it
 * makes up, each request completes once at most.
 */
#include "front_kern_rest.h"
#include "hostile.h"

#define SCQ		1
#define RCQ		2
#define QP		3
#define POSTS		6

static struct end *e = &ends[0];
static bool done[2][256];	/* of sends, of receives: by their ids */
static u64 ids;

/* There is no model: end_begin() and what follows take memory alone, and one pool. */
static u8 pool[HCA_POOL_MB << 20] __attribute__((aligned(PAGE_SIZE)));
static struct hca_side no_hca[2] = { { .pool = pool } };

struct hca_side *hca_side(unsigned int i) { return &no_hca[i]; }
void hca_store(unsigned int i, uint64_t reg, const void *value) { }
uint32_t hca_window(unsigned int i) { return 0; }
void hca_stop(unsigned int i) { }

static void begins(enum hostile_lie lie)
{
	hca_model = false;
	ids = 0;
	memset(done, 0, sizeof(done));
	assert_int_equal(end_begin(e, 1), 0);
	end_objects(e, IB_QPT_RC, false);
	hostile_begin(lie);
	hostile_cq(SCQ, e->scq.nent, e->scq.buf, e->scq.db);
	hostile_cq(RCQ, e->rcq.nent, e->rcq.buf, e->rcq.db);
	hostile_qp(QP, e->qp.qp.ibqp.qp_num, SCQ, RCQ, e->qp.qp.db->va);
}

static void posts(unsigned int n)
{
	struct ib_send_wr send = { .opcode = IB_WR_SEND };
	struct ib_recv_wr recv = { .num_sge = 0 };
	const struct ib_send_wr *bad;
	const struct ib_recv_wr *bad_recv;

	for (; n && ids < ARRAY_SIZE(done[0]); n--, ids++) {
		send.wr_id = ids;
		send.send_flags = ids % 2 ? IB_SEND_SIGNALED : 0;
		recv.wr_id = ids;
		done[0][ids] = vhca_kern_post_send(&e->qp.qp.ibqp, &send, &bad);
		done[1][ids] = vhca_kern_post_recv(&e->qp.qp.ibqp, &recv, &bad_recv);
	}
}

/* Return: how many completed. */
static unsigned int polls(enum ib_wc_status *last)
{
	struct vhca_kcq *cq[] = { &e->scq, &e->rcq };
	unsigned int i, all = 0;
	struct ib_wc wc[8];
	int k, n;

	for (i = 0; i < 2; i++) {
		n = vhca_kern_poll_cq(&cq[i]->cq.ibcq, 8, wc);
		for (k = 0; k < n; k++) {
			assert_true(wc[k].wr_id < ids);
			assert_false(done[i][wc[k].wr_id]);
			assert_true(i || wc[k].wr_id % 2 || wc[k].status);
			done[i][wc[k].wr_id] = true;
			*last = wc[k].status;
		}
		all += n;
	}
	return all;
}

static void a_queue_pair_that_stops_is_flushed(void **state)
{
	enum ib_wc_status last = IB_WC_SUCCESS;

	begins(HOSTILE_HONEST);
	posts(POSTS);
	hostile_tick();
	assert_int_equal(polls(&last), 0);
	hostile_stop(QP);
	hostile_tick();
	assert_int_equal(polls(&last), 2 * POSTS);
	assert_int_equal(last, IB_WC_WR_FLUSH_ERR);
	posts(1);			/* as ib_drain_qp() */
	hostile_tick();
	assert_int_equal(polls(&last), 2);
	assert_int_equal(last, IB_WC_WR_FLUSH_ERR);
	end_end(e);
	kernel_cancel(&e->dev.owed_work);
}

static void what_is_made_up_completes_nothing_twice(void **state)
{
	enum ib_wc_status last;
	unsigned int i, n = 0;

	begins(HOSTILE_COMPLETIONS);
	for (i = 0; i < 20000; i++) {
		if (!(i % 200))
			posts(2);
		hostile_tick();
		n += polls(&last);
	}
	assert_true(hostile_lies() > 1000);
	assert_true(n > 100);		/* some were well made */
	end_end(e);
	kernel_cancel(&e->dev.owed_work);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_queue_pair_that_stops_is_flushed),
		cmocka_unit_test(what_is_made_up_completes_nothing_twice),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
