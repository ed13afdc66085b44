// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * frontend/kernel/: completions that the backend makes up, and queues that it writes to.
 * A consumer hears of each request once, of none that it did not post, and nothing is
 * written but where it receives.
 */
#include "front_kern_rest.h"

static struct end *e = &ends[0];
static u8 *mem;			/* mapped for receives, but its last page to be read */
static dma_addr_t addr, readable;

static int setup_as(bool shared)
{
	hca_model = false;
	mem = aligned_alloc(PAGE_SIZE, 2 * PAGE_SIZE);
	memset(mem, 0x11, 2 * PAGE_SIZE);
	assert_int_equal(end_begin(e, 1), 0);
	end_objects(e, IB_QPT_RC, shared);
	addr = map_page(&e->dev.ibdev.dev, (struct page *)mem, 0, PAGE_SIZE,
			DMA_FROM_DEVICE, 0);
	readable = map_page(&e->dev.ibdev.dev, (struct page *)(mem + PAGE_SIZE), 0,
			    PAGE_SIZE, DMA_TO_DEVICE, 0);
	memset(vhca_pool_at(pool_of(e), VHCA_POOL_IOVA), 0x22, 1 << 20);
	return 0;
}

static int setup(void **state)
{
	(void)state;
	return setup_as(false);
}

static int setup_shared(void **state)
{
	(void)state;
	return setup_as(true);
}

static int teardown(void **state)
{
	unsigned int i;
	bool good = true;

	(void)state;
	for (i = PAGE_SIZE; i < 2 * PAGE_SIZE; i++)
		good &= mem[i] == 0x11;
	unmap(&e->dev.ibdev.dev, addr, PAGE_SIZE, DMA_TO_DEVICE, 0);
	unmap(&e->dev.ibdev.dev, readable, PAGE_SIZE, DMA_TO_DEVICE, 0);
	end_end(e);
	free(mem);
	return good ? 0 : -1;
}

static int send_wr(u64 id, int flags)
{
	struct ib_send_wr wr = { .opcode = IB_WR_SEND, .wr_id = id, .send_flags = flags };
	const struct ib_send_wr *bad;

	return vhca_kern_post_send(&e->qp.qp.ibqp, &wr, &bad);
}

static int receive_wr(u64 id, u32 len)
{
	struct ib_sge sge = { addr, len };
	struct ib_recv_wr wr = { .wr_id = id, .sg_list = &sge, .num_sge = 1 };
	const struct ib_recv_wr *bad;

	return e->srq.rq.cnt ? vhca_kern_post_srq_recv(&e->srq.srq.ibsrq, &wr, &bad) :
			       vhca_kern_post_recv(&e->qp.qp.ibqp, &wr, &bad);
}

/* The next completion of @cq, as the HCA would write it. */
static struct mlx5_cqe64 *forge(struct vhca_kcq *cq, u32 ahead, u8 opcode, u16 counter,
				u32 len)
{
	u32 n = cq->cons + ahead;
	struct mlx5_cqe64 *cqe = cqe_at(cq, n);

	memset(cqe, 0, sizeof(*cqe));
	cqe->sop_drop_qpn = cpu_to_be32(e->qp.qp.ibqp.qp_num);
	cqe->wqe_counter = cpu_to_be16(counter);
	cqe->byte_cnt = cpu_to_be32(len);
	cqe->op_own = opcode << 4 | !!(n & cq->nent);
	return cqe;
}

/* How many completions a consumer gets, and the last of them. */
static int poll(struct vhca_kcq *cq, struct ib_wc *wc)
{
	struct ib_wc all[8];
	int n = vhca_kern_poll_cq(&cq->cq.ibcq, 8, all);

	if (n)
		*wc = all[n - 1];
	return n;
}

static void a_request_completes_once(void **state)
{
	struct ib_wc wc;

	assert_int_equal(send_wr(7, IB_SEND_SIGNALED), 0);
	forge(&e->scq, 0, MLX5_CQE_REQ, 0, 0);
	forge(&e->scq, 1, MLX5_CQE_REQ, 0, 0);
	forge(&e->scq, 2, MLX5_CQE_REQ_ERR, 0, 0);
	assert_int_equal(poll(&e->scq, &wc), 1);
	assert_int_equal(wc.wr_id, 7);
	assert_int_equal(e->scq.cons, 3);
}

static void what_was_not_posted_does_not_complete(void **state)
{
	struct ib_wc wc;
	u32 i;

	for (i = 0; i < 4; i++) {
		forge(&e->scq, i, MLX5_CQE_REQ, i * 0x5555, 0);
		forge(&e->rcq, i, MLX5_CQE_RESP_SEND, i * 0x5555, 0);
	}
	assert_int_equal(poll(&e->scq, &wc), 0);
	assert_int_equal(poll(&e->rcq, &wc), 0);
	assert_int_equal(e->scq.cons, 4);
	assert_int_equal(send_wr(7, IB_SEND_SIGNALED), 0);
	forge(&e->scq, 0, MLX5_CQE_REQ, 1, 0);	/* the block behind */
	assert_int_equal(poll(&e->scq, &wc), 0);
}

/* ib_core would warn of a good completion without a handler. */
static void an_unsignaled_request_does_not_succeed(void **state)
{
	struct ib_wc wc;

	assert_int_equal(send_wr(0, 0), 0);
	assert_int_equal(send_wr(0, 0), 0);
	forge(&e->scq, 0, MLX5_CQE_REQ, 0, 0);
	assert_int_equal(poll(&e->scq, &wc), 0);
	forge(&e->scq, 0, MLX5_CQE_REQ_ERR, 0, 0);
	assert_int_equal(poll(&e->scq, &wc), 1);
	assert_int_equal(wc.status, IB_WC_GENERAL_ERR);	/* syndrome 0 is none */
}

/* An HCA completes in order. */
static void a_later_request_does_not_hide_an_earlier_one(void **state)
{
	struct ib_wc wc;

	assert_int_equal(send_wr(7, IB_SEND_SIGNALED), 0);
	assert_int_equal(send_wr(8, IB_SEND_SIGNALED), 0);
	forge(&e->scq, 0, MLX5_CQE_REQ, 1, 0);
	assert_int_equal(poll(&e->scq, &wc), 0);
	forge(&e->scq, 0, MLX5_CQE_REQ, 0, 0);
	assert_int_equal(poll(&e->scq, &wc), 1);
	assert_int_equal(wc.wr_id, 7);
}

/* Its work could begin again behind ib_core's back. */
static void no_event_comes_while_a_cq_ends(void **state)
{
	cq_end[0] = '\0';
	e->scq.cq.ibcq.poll_ctx = IB_POLL_WORKQUEUE;
	assert_int_equal(vhca_kern_destroy_cq(&e->scq.cq.ibcq, NULL), 0);
	assert_string_equal(cq_end, "uwd");
	e->scq.cq.ibcq.poll_ctx = IB_POLL_DIRECT;
}

static void the_wrong_queue_completes_nothing(void **state)
{
	struct ib_wc wc;

	assert_int_equal(send_wr(7, IB_SEND_SIGNALED), 0);
	assert_int_equal(receive_wr(8, 64), 0);
	forge(&e->rcq, 0, MLX5_CQE_REQ, 0, 0);
	forge(&e->scq, 0, MLX5_CQE_RESP_SEND, 0, 0);
	assert_int_equal(poll(&e->rcq, &wc), 0);
	assert_int_equal(poll(&e->scq, &wc), 0);
	forge(&e->scq, 0, MLX5_CQE_REQ, 0, 0)->sop_drop_qpn = cpu_to_be32(0x777);
	forge(&e->scq, 1, MLX5_CQE_REQ, 0, 0)->sop_drop_qpn =
		cpu_to_be32(e->qp.qp.ibqp.qp_num + ARRAY_SIZE(e->scq.qps.at));
	assert_int_equal(poll(&e->scq, &wc), 0);
	forge(&e->scq, 0, 9, 0, 0);
	assert_int_equal(poll(&e->scq, &wc), 0);
}

static void a_message_longer_than_the_receive_is_an_error(void **state)
{
	struct ib_wc wc;

	assert_int_equal(receive_wr(8, 64), 0);
	forge(&e->rcq, 0, MLX5_CQE_RESP_SEND, 0, 65);
	assert_int_equal(poll(&e->rcq, &wc), 1);
	assert_int_equal(wc.status, IB_WC_LOC_LEN_ERR);
	assert_int_equal(wc.byte_len, 0);
	assert_int_equal(mem[0], 0x11);
	assert_int_equal(receive_wr(9, 64), 0);
	forge(&e->rcq, 0, MLX5_CQE_RESP_SEND, 0, 64);
	assert_int_equal(poll(&e->rcq, &wc), 1);
	assert_int_equal(wc.status, IB_WC_SUCCESS);
	assert_int_equal(mem[63], 0x22);
	assert_int_equal(mem[64], 0x11);
}

/* A consumer skips the GRH unasked, and takes the rest for as long as it is told. */
static void a_datagram_has_a_grh_and_fits(void **state)
{
	static const struct { u8 opcode; u32 room, len; int status; } kind[] = {
		{ MLX5_CQE_RESP_SEND, 64, 40, IB_WC_SUCCESS },
		{ MLX5_CQE_RESP_SEND, 64, 39, IB_WC_LOC_LEN_ERR },
		{ MLX5_CQE_RESP_SEND, 64, 0, IB_WC_LOC_LEN_ERR },
		{ MLX5_CQE_RESP_WR_IMM, 64, 64, IB_WC_SUCCESS },
		{ MLX5_CQE_RESP_WR_IMM, 64, 65, IB_WC_LOC_LEN_ERR },
		{ MLX5_CQE_RESP_ERR, 64, 0, IB_WC_GENERAL_ERR },
	};
	struct ib_wc wc;
	u32 i;

	e->qp.qp.ibqp.qp_type = IB_QPT_UD;
	for (i = 0; i < ARRAY_SIZE(kind); i++) {
		assert_int_equal(receive_wr(i, kind[i].room), 0);
		forge(&e->rcq, 0, kind[i].opcode, i, kind[i].len);
		assert_int_equal(poll(&e->rcq, &wc), 1);
		assert_int_equal(wc.status, kind[i].status);
		assert_int_equal(wc.byte_len, wc.status == IB_WC_SUCCESS ? kind[i].len : 0);
	}
}

static void the_queue_does_not_say_where_to_receive(void **state)
{
	struct mlx5_wqe_data_seg *seg = (void *)e->qp.rq.buf;
	struct ib_wc wc;

	assert_int_equal(receive_wr(8, 64), 0);
	seg->addr = cpu_to_be64(readable);
	seg->byte_count = cpu_to_be32(PAGE_SIZE);
	forge(&e->rcq, 0, MLX5_CQE_RESP_SEND, 0, 64);
	assert_int_equal(poll(&e->rcq, &wc), 1);
	assert_int_equal(mem[63], 0x22);
	assert_int_equal(mem[64], 0x11);
}

/* Even a consumer's mistake gives the backend no way to what it only sends. */
static void what_is_sent_is_not_written_by_a_receive(void **state)
{
	struct ib_wc wc;

	addr = readable;
	assert_int_equal(receive_wr(8, 64), 0);
	addr = readable - PAGE_SIZE;
	forge(&e->rcq, 0, MLX5_CQE_RESP_SEND, 0, 64);
	assert_int_equal(poll(&e->rcq, &wc), 1);
	assert_int_equal(mem[PAGE_SIZE], 0x11);
}

static void a_shared_receive_completes_once(void **state)
{
	struct ib_wc wc;

	assert_int_equal(receive_wr(8, 64), 0);
	forge(&e->rcq, 0, MLX5_CQE_RESP_SEND, 1, 8);		/* not posted */
	forge(&e->rcq, 1, MLX5_CQE_RESP_SEND, 0, 8);
	forge(&e->rcq, 2, MLX5_CQE_RESP_SEND, 0, 8);
	forge(&e->rcq, 3, MLX5_CQE_RESP_ERR, 0xffff, 8);
	assert_int_equal(poll(&e->rcq, &wc), 1);
	assert_int_equal(wc.wr_id, 8);
	assert_int_equal(receive_wr(9, 64), 0);
	assert_int_equal(receive_wr(10, 64), 0);
}

/* The list of free slots is not read from the queue. */
static void a_shared_queue_does_not_say_what_is_next(void **state)
{
	struct mlx5_wqe_srq_next_seg *seg = (void *)e->srq.rq.buf;
	struct ib_wc wc;
	u32 i;

	assert_int_equal(receive_wr(0, 64), 0);
	for (i = 0; i < e->srq.rq.cnt; i++)
		((struct mlx5_wqe_srq_next_seg *)(e->srq.rq.buf + i * e->srq.rq.stride))->
			next_wqe_index = 0xffff;
	for (i = 1; i < e->srq.rq.cnt - 1; i++)
		assert_int_equal(receive_wr(i, 64), 0);
	assert_int_equal(receive_wr(i, 64), -ENOMEM);
	for (i = 0; i < e->srq.rq.cnt - 1; i++) {
		forge(&e->rcq, 0, MLX5_CQE_RESP_SEND, i, 8);
		assert_int_equal(poll(&e->rcq, &wc), 1);
		assert_int_equal(wc.wr_id, i);
	}
}

/* A ring that is full of inventions, polled with the lock held, has an end. */
static void a_poll_takes_the_ring_once_at_most(void **state)
{
	struct ib_wc wc;
	u32 i;

	for (i = 0; i < e->scq.nent; i++)
		forge(&e->scq, i, MLX5_CQE_REQ, i, 0);
	assert_int_equal(poll(&e->scq, &wc), 0);
	assert_int_equal(e->scq.cons, e->scq.nent);
}

int main(void)
{
#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
#define SHARED(test) cmocka_unit_test_setup_teardown(test, setup_shared, teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_request_completes_once),
		TEST(what_was_not_posted_does_not_complete),
		TEST(an_unsignaled_request_does_not_succeed),
		TEST(a_later_request_does_not_hide_an_earlier_one),
		TEST(no_event_comes_while_a_cq_ends),
		TEST(the_wrong_queue_completes_nothing),
		TEST(a_message_longer_than_the_receive_is_an_error),
		TEST(a_datagram_has_a_grh_and_fits),
		TEST(the_queue_does_not_say_where_to_receive),
		TEST(what_is_sent_is_not_written_by_a_receive),
		TEST(a_poll_takes_the_ring_once_at_most),
		SHARED(a_shared_receive_completes_once),
		SHARED(a_shared_queue_does_not_say_what_is_next),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
