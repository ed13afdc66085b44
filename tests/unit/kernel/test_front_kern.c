// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * frontend/kernel/ against two HCA models: formats of requests and completions, arms,
 * windows, shared receive queues, datagrams; errors of the HCA, and its end. Buffers are
 * mapped as consumers map them, so what arrives went through both pools.
 */
#include "front_kern_rest.h"

#define SIGNALED	IB_SEND_SIGNALED
#define BUF		(4 * PAGE_SIZE)

static u8 *buf[2];		/* of a consumer of each guest */
static dma_addr_t addr[2];

static void fill(u8 *p, size_t len, unsigned int seed)
{
	size_t i;

	for (i = 0; i < len; i++)
		p[i] = i * 7 + (i >> 8) * 13 + seed;
}

static bool filled(const u8 *p, size_t len, unsigned int seed)
{
	size_t i;

	for (i = 0; i < len && p[i] == (u8)(i * 7 + (i >> 8) * 13 + seed); i++)
		;
	return i == len;
}

static struct device *dev_of(unsigned int i)
{
	return &ends[i].dev.ibdev.dev;
}

static int setup(void **state, enum hca_kind kind)
{
	unsigned int i;

	(void)state;
	hca_model = true;
	hca_open(kind);
	for (i = 0; i < 2; i++) {
		assert_int_equal(end_begin(&ends[i], HCA_POOL_MB), 0);
		end_objects(&ends[i], kind == HCA_UD ? IB_QPT_UD : IB_QPT_RC,
			    kind == HCA_SRQ);
		buf[i] = aligned_alloc(PAGE_SIZE, BUF);
		memset(buf[i], 0, BUF);
		addr[i] = map_page(dev_of(i), (struct page *)buf[i], 0, BUF,
				   DMA_BIDIRECTIONAL, 0);
		assert_int_not_equal(addr[i], DMA_MAPPING_ERROR);
	}
	return 0;
}

static int setup_rc(void **state)
{
	return setup(state, HCA_RC);
}

static int setup_ud(void **state)
{
	return setup(state, HCA_UD);
}

static int setup_srq(void **state)
{
	return setup(state, HCA_SRQ);
}

static int teardown(void **state)
{
	unsigned int i;

	(void)state;
	for (i = 0; i < 2; i++) {
		unmap(dev_of(i), addr[i], BUF, DMA_TO_DEVICE, 0);
		vhca_pool_back(pool_of(&ends[i]));	/* of a test that ends without one */
		assert_true(bitmap_empty(pool_of(&ends[i])->used, pool_of(&ends[i])->nr));
		end_end(&ends[i]);
		free(buf[i]);
	}
	hca_close();
	return 0;
}

/* ---- a consumer ---- */
static int post(unsigned int i, struct ib_send_wr *wr)
{
	const struct ib_send_wr *bad;

	return vhca_kern_post_send(&ends[i].qp.qp.ibqp, wr, &bad);
}

static int send_wr(unsigned int i, enum ib_wr_opcode op, u64 id, u32 at, u32 len, u64 raddr,
		   u32 rkey)
{
	struct ib_sge sge[2] = { { addr[i] + at, len }, { addr[i] + at + len / 2 } };
	struct ib_rdma_wr wr = {
		.wr = { .opcode = op, .wr_id = id, .sg_list = sge, .num_sge = !!len,
			.send_flags = SIGNALED, .ex.invalidate_rkey = rkey },
		.remote_addr = raddr, .rkey = rkey,
	};

	if (len > 64 && op != IB_WR_RDMA_READ) {	/* in two pieces */
		sge[0].length = len / 2;
		sge[1].length = len - len / 2;
		wr.wr.num_sge = 2;
	}
	return post(i, &wr.wr);
}

static int receive_wr(unsigned int i, u64 id, u32 at, u32 len)
{
	struct ib_sge sge = { addr[i] + at, len };
	struct ib_recv_wr wr = { .wr_id = id, .sg_list = &sge, .num_sge = 1 };
	const struct ib_recv_wr *bad;

	return ends[i].srq.rq.cnt ?
	       vhca_kern_post_srq_recv(&ends[i].srq.srq.ibsrq, &wr, &bad) :
	       vhca_kern_post_recv(&ends[i].qp.qp.ibqp, &wr, &bad);
}

static struct ib_wc next(unsigned int i, bool recv, u64 id, int status)
{
	struct ib_wc wc = {};

	hca_run();
	assert_int_equal(vhca_kern_poll_cq(recv ? &ends[i].rcq.cq.ibcq :
					   &ends[i].scq.cq.ibcq, 1, &wc), 1);
	assert_int_equal(wc.status, status);
	assert_int_equal(wc.wr_id, id);
	assert_ptr_equal(wc.qp, &ends[i].qp.qp.ibqp);
	return wc;
}

static void none(unsigned int i, bool recv)
{
	struct ib_wc wc;

	hca_run();
	assert_int_equal(vhca_kern_poll_cq(recv ? &ends[i].rcq.cq.ibcq :
					   &ends[i].scq.cq.ibcq, 1, &wc), 0);
}

/* A registration of @n pieces, each of so many pages of @buf from @from on. */
static int map_window(unsigned int i, struct ib_mr *mr, struct scatterlist *sg, int n)
{
	assert_int_equal(map_sg(dev_of(i), sg, n, DMA_BIDIRECTIONAL, 0), n);
	mr->page_size = PAGE_SIZE;
	mr->device = &ends[i].dev.ibdev;
	return vhca_kern_map_mr_sg(mr, sg, n, NULL);
}

static struct ib_mr *new_mr(unsigned int i)
{
	struct ib_mr *mr = vhca_kern_alloc_mr(&ends[i].pd, IB_MR_TYPE_MEM_REG, 16);

	assert_false(IS_ERR(mr));
	mr->pd = &ends[i].pd;
	mr->device = &ends[i].dev.ibdev;
	return mr;
}

/* The next key of the window, as ib_update_fast_reg_key() and ib_inc_rkey(). */
static u32 new_key(struct ib_mr *mr)
{
	mr->rkey = (mr->rkey & ~0xffu) | ((mr->rkey + 1) & 0xff);
	mr->lkey = mr->rkey;
	return mr->rkey;
}

static int bind(unsigned int i, struct ib_mr *mr, u64 id)
{
	struct ib_reg_wr wr = {
		.wr = { .opcode = IB_WR_REG_MR, .wr_id = id, .send_flags = SIGNALED },
		.mr = mr, .key = mr->rkey,
		.access = IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_READ |
			  IB_ACCESS_REMOTE_WRITE,
	};

	return post(i, &wr.wr);
}

/* ---- tests ---- */

static void messages_go_around_the_rings(void **state)
{
	struct ib_wc wc;
	u64 i;

	for (i = 0; i < 1000; i++) {
		fill(buf[0], 2000, i);
		assert_int_equal(receive_wr(1, 5000 + i, PAGE_SIZE, PAGE_SIZE), 0);
		assert_int_equal(send_wr(0, IB_WR_SEND, i, 0, 2000, 0, 0), 0);
		wc = next(0, false, i, IB_WC_SUCCESS);
		assert_int_equal(wc.opcode, IB_WC_SEND);
		wc = next(1, true, 5000 + i, IB_WC_SUCCESS);
		assert_int_equal(wc.opcode, IB_WC_RECV);
		assert_int_equal(wc.byte_len, 2000);
		assert_true(filled(buf[1] + PAGE_SIZE, 2000, i));
	}
}

static void inline_data_comes_from_the_kernels_addresses(void **state)
{
	static char text[] = "inline, of some 40 octets or so, and more";
	struct ib_sge sge[2] = { { (uintptr_t)text, 10 },
				 { (uintptr_t)text + 10, sizeof(text) - 10 } };
	struct ib_send_wr wr = {
		.opcode = IB_WR_SEND, .wr_id = 2, .sg_list = sge, .num_sge = 2,
		.send_flags = SIGNALED | IB_SEND_INLINE,
	};

	assert_int_equal(receive_wr(1, 1, 0, 100), 0);
	assert_int_equal(post(0, &wr), 0);
	next(0, false, 2, IB_WC_SUCCESS);
	next(1, true, 1, IB_WC_SUCCESS);
	assert_string_equal((char *)buf[1], text);
	sge[1].length = 120;
	assert_int_equal(post(0, &wr), -EINVAL);
}

static void a_read_has_no_inline_data(void **state)
{
	static const u8 ops[] = { IB_WR_RDMA_READ, IB_WR_RDMA_READ_WITH_INV };
	struct ib_sge sge = { addr[0], 100 };
	struct ib_rdma_wr wr = {
		.wr = { .sg_list = &sge, .num_sge = 1, .send_flags = SIGNALED | IB_SEND_INLINE },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(ops); i++) {
		wr.wr.opcode = ops[i];
		assert_int_equal(post(0, &wr.wr), -EINVAL);
	}
}

static void immediate_data_arrives(void **state)
{
	struct ib_wc wc;

	assert_int_equal(receive_wr(1, 1, 0, 100), 0);
	assert_int_equal(send_wr(0, IB_WR_SEND_WITH_IMM, 2, 0, 10, 0, 0x1234), 0);
	next(0, false, 2, IB_WC_SUCCESS);
	wc = next(1, true, 1, IB_WC_SUCCESS);
	assert_int_equal(wc.wc_flags & IB_WC_WITH_IMM, IB_WC_WITH_IMM);
	assert_int_equal(wc.ex.imm_data, 0x1234);
}

/* Two ranges with a gap between; the peer reads and writes; either end ends the window. */
static void windows_are_bound_and_ended(void **state)
{
	struct ib_mr *mr = new_mr(1);
	u8 *mem = aligned_alloc(PAGE_SIZE, 8 * PAGE_SIZE);
	struct ib_send_wr inv = {
		.opcode = IB_WR_LOCAL_INV, .wr_id = 15, .send_flags = SIGNALED,
	};
	struct ib_wc wc;
	u32 i, key;

	for (i = 0; i < 200; i++) {
		struct scatterlist sg[2] = {
			{ mem, 0x200, PAGE_SIZE - 0x200 },
			{ mem + 4 * PAGE_SIZE, 0, PAGE_SIZE + 0x100 },
		};

		fill(mem + 0x200, PAGE_SIZE - 0x200, i);
		fill(mem + 4 * PAGE_SIZE, PAGE_SIZE + 0x100, i + 1);
		key = new_key(mr);
		assert_int_equal(map_window(1, mr, sg, 2), 2);
		assert_int_equal(mr->length, 2 * PAGE_SIZE - 0x100);
		mr->iova = 0x5500000200ull;	/* as NFS does */
		assert_int_equal(bind(1, mr, 10), 0);
		wc = next(1, false, 10, IB_WC_SUCCESS);
		assert_int_equal(wc.opcode, IB_WC_REG_MR);

		assert_int_equal(send_wr(0, IB_WR_RDMA_READ, 11, 0, mr->length, mr->iova,
					 key), 0);
		wc = next(0, false, 11, IB_WC_SUCCESS);
		assert_int_equal(wc.opcode, IB_WC_RDMA_READ);
		assert_true(filled(buf[0], PAGE_SIZE - 0x200, i));
		assert_true(filled(buf[0] + PAGE_SIZE - 0x200, PAGE_SIZE + 0x100, i + 1));
		fill(buf[0], PAGE_SIZE - 0x200, i + 7);
		assert_int_equal(send_wr(0, IB_WR_RDMA_WRITE, 12, 0, mr->length, mr->iova,
					 key), 0);
		next(0, false, 12, IB_WC_SUCCESS);
		if (i & 1) {
			assert_int_equal(receive_wr(1, 13, 0, 64), 0);
			assert_int_equal(send_wr(0, IB_WR_SEND_WITH_INV, 14, 0, 16, 0, key), 0);
			next(0, false, 14, IB_WC_SUCCESS);
			wc = next(1, true, 13, IB_WC_SUCCESS);
			assert_int_equal(wc.wc_flags, IB_WC_WITH_INVALIDATE);
			assert_int_equal(wc.ex.invalidate_rkey, key);
		} else {
			inv.ex.invalidate_rkey = key;
			assert_int_equal(post(1, &inv), 0);
			next(1, false, 15, IB_WC_SUCCESS);
		}
		unmap_sg(dev_of(1), sg, 2, DMA_BIDIRECTIONAL, 0);
		assert_true(filled(mem + 0x200, PAGE_SIZE - 0x200, i + 7));
	}
	free(mem);
	vhca_kern_dereg_mr(mr, NULL);
}

static void beyond_a_window_is_refused_and_the_rest_flushed(void **state)
{
	struct ib_mr *mr = new_mr(1);
	struct scatterlist sg = { buf[1], 0, PAGE_SIZE };
	u32 key = new_key(mr);

	assert_int_equal(map_window(1, mr, &sg, 1), 1);
	assert_int_equal(bind(1, mr, 1), 0);
	next(1, false, 1, IB_WC_SUCCESS);
	assert_int_equal(send_wr(0, IB_WR_RDMA_READ, 2, 0, PAGE_SIZE + 1, mr->iova, key), 0);
	assert_int_equal(send_wr(0, IB_WR_SEND, 3, 0, 64, 0, 0), 0);
	next(0, false, 2, IB_WC_REM_ACCESS_ERR);
	next(0, false, 3, IB_WC_WR_FLUSH_ERR);
	unmap_sg(dev_of(1), &sg, 1, DMA_TO_DEVICE, 0);
	vhca_kern_dereg_mr(mr, NULL);
}

static void a_dead_key_is_refused(void **state)
{
	struct ib_mr *mr = new_mr(1);
	struct scatterlist sg = { buf[1], 0, PAGE_SIZE };
	struct ib_send_wr inv = {
		.opcode = IB_WR_LOCAL_INV, .wr_id = 2, .send_flags = SIGNALED,
		.ex.invalidate_rkey = new_key(mr),
	};

	assert_int_equal(map_window(1, mr, &sg, 1), 1);
	assert_int_equal(bind(1, mr, 1), 0);
	next(1, false, 1, IB_WC_SUCCESS);
	assert_int_equal(post(1, &inv), 0);
	next(1, false, 2, IB_WC_SUCCESS);
	assert_int_equal(send_wr(0, IB_WR_RDMA_READ, 3, 0, 64, mr->iova, mr->rkey), 0);
	next(0, false, 3, IB_WC_REM_ACCESS_ERR);
	unmap_sg(dev_of(1), &sg, 1, DMA_TO_DEVICE, 0);
	vhca_kern_dereg_mr(mr, NULL);
}

static int read_inv(struct ib_mr *sink, u64 raddr, u32 rkey)
{
	struct ib_sge sge = { sink->iova, sink->length, sink->lkey };
	struct ib_rdma_wr wr = {
		.wr = { .opcode = IB_WR_RDMA_READ_WITH_INV, .wr_id = 22, .sg_list = &sge,
			.num_sge = 1, .send_flags = SIGNALED, .ex.invalidate_rkey = 0x1234 },
		.remote_addr = raddr, .rkey = rkey,
	};

	return post(0, &wr.wr);
}

/* As ib_core reads for a device of iWARP: the key of the sink is open to nobody afterwards. */
static void a_read_ends_the_key_of_its_sink(void **state)
{
	struct ib_mr *sink = new_mr(0), *source = new_mr(1);
	struct scatterlist to = { buf[0], 0, BUF }, from = { buf[1], 0, BUF };
	u32 i, key, n = 3 * ends[0].qp.sq.max_post;

	assert_int_equal(map_window(1, source, &from, 1), 1);
	key = new_key(source);
	assert_int_equal(bind(1, source, 1), 0);
	next(1, false, 1, IB_WC_SUCCESS);
	for (i = 0; i < n; i++) {	/* around the ring */
		fill(vhca_pool_at(pool_of(&ends[1]), from.dma), BUF, i);
		assert_int_equal(map_window(0, sink, &to, 1), 1);
		new_key(sink);
		assert_int_equal(bind(0, sink, 2), 0);
		assert_int_equal(read_inv(sink, source->iova, key), 0);
		next(0, false, 2, IB_WC_SUCCESS);
		assert_int_equal(next(0, false, 22, IB_WC_SUCCESS).opcode, IB_WC_RDMA_READ);
		none(0, false);
		/* The NFS server looks at it, and unmaps it when others have the memory. */
		assert_true(filled(buf[0], BUF, i));
		fill(buf[0], BUF, i + 1);
		unmap_sg(dev_of(0), &to, 1, DMA_FROM_DEVICE, 0);
		assert_true(filled(buf[0], BUF, i + 1));
	}
	assert_int_equal(send_wr(1, IB_WR_RDMA_READ, 3, 0, 64, sink->iova, sink->rkey), 0);
	next(1, false, 3, IB_WC_REM_ACCESS_ERR);
	unmap_sg(dev_of(1), &from, 1, DMA_TO_DEVICE, 0);
	vhca_kern_dereg_mr(sink, NULL);
	vhca_kern_dereg_mr(source, NULL);
}

/* It has no completion of its own. */
static void what_a_read_brings_is_there_with_the_next_completion(void **state)
{
	struct scatterlist from = { buf[1], 0, PAGE_SIZE };
	struct ib_mr *source = new_mr(1);
	struct ib_sge sge[2] = { { addr[0] + 10, 50 }, { addr[0] + 100, 150 } };
	struct ib_rdma_wr more = {
		.wr = { .opcode = IB_WR_RDMA_READ, .sg_list = sge + 1, .num_sge = 1 },
	}, read = {
		.wr = { .next = &more.wr, .opcode = IB_WR_RDMA_READ, .sg_list = sge,
			.num_sge = 1 },
	};

	assert_int_equal(map_window(1, source, &from, 1), 1);
	read.rkey = more.rkey = new_key(source);
	assert_int_equal(bind(1, source, 1), 0);
	next(1, false, 1, IB_WC_SUCCESS);
	fill(vhca_pool_at(pool_of(&ends[1]), from.dma), 200, 3);
	memset(buf[0], 0x11, BUF);
	read.remote_addr = source->iova;
	more.remote_addr = source->iova + 50;
	assert_int_equal(post(0, &read.wr), 0);
	none(0, false);
	assert_int_equal(buf[0][10], 0x11);
	assert_int_equal(send_wr(0, IB_WR_RDMA_WRITE, 2, 0, 0, source->iova, read.rkey), 0);
	next(0, false, 2, IB_WC_SUCCESS);
	assert_true(filled(buf[0] + 10, 50, 3));
	assert_int_equal(buf[0][60], 0x11);
	assert_int_equal(buf[0][100], (u8)(50 * 7 + 3));
	assert_int_equal(buf[0][249], (u8)(199 * 7 + 3));
	assert_int_equal(buf[0][250], 0x11);
	read.wr.num_sge = 2;		/* as for iWARP */
	assert_int_equal(post(0, &read.wr), -EINVAL);
	unmap_sg(dev_of(1), &from, 1, DMA_TO_DEVICE, 0);
	vhca_kern_dereg_mr(source, NULL);
}

/* It is one request of the consumer, though two of the HCA. */
static void a_read_that_fails_completes_once(void **state)
{
	struct ib_mr *sink = new_mr(0);
	struct scatterlist to = { buf[0], 0, PAGE_SIZE };
	unsigned int i;

	assert_int_equal(map_window(0, sink, &to, 1), 1);
	new_key(sink);
	for (i = 0; i < 2; i++) {		/* the key is not bound; then flushed */
		assert_int_equal(read_inv(sink, 0x1000, 0xdead00), 0);
		next(0, false, 22, i ? IB_WC_WR_FLUSH_ERR : IB_WC_MW_BIND_ERR);
		none(0, false);
	}
	assert_int_equal(ends[0].qp.sq.tail, ends[0].qp.sq.next);
	unmap_sg(dev_of(0), &to, 1, DMA_TO_DEVICE, 0);
	vhca_kern_dereg_mr(sink, NULL);
}

static void an_arm_gives_one_event(void **state)
{
	unsigned int i;

	for (i = 0; i < 20; i++) {
		hca_arm_events(1);
		assert_int_equal(vhca_kern_arm_cq(&ends[1].rcq.cq.ibcq, IB_CQ_NEXT_COMP |
						  IB_CQ_REPORT_MISSED_EVENTS), 0);
		assert_int_equal(receive_wr(1, 1, 0, 64), 0);
		assert_int_equal(send_wr(0, IB_WR_SEND, 2, 0, 10, 0, 0), 0);
		next(0, false, 2, IB_WC_SUCCESS);
		assert_int_equal(hca_events(1), 1);
		ends[1].rcq.cq.events++;	/* event.c */
		assert_int_equal(vhca_kern_arm_cq(&ends[1].rcq.cq.ibcq, IB_CQ_NEXT_COMP |
						  IB_CQ_REPORT_MISSED_EVENTS), 1);
		hca_run();
		ends[1].rcq.cq.events += hca_events(1);
		next(1, true, 1, IB_WC_SUCCESS);
	}
}

static void only_signaled_requests_complete(void **state)
{
	struct ib_sge sge = { addr[0], 32 };
	struct ib_send_wr second = { .opcode = IB_WR_SEND, .wr_id = 2, .sg_list = &sge,
				     .num_sge = 1, .send_flags = SIGNALED };
	struct ib_send_wr first = { .next = &second, .opcode = IB_WR_SEND, .wr_id = 1,
				    .sg_list = &sge, .num_sge = 1 };

	assert_int_equal(receive_wr(1, 3, 0, 64), 0);
	assert_int_equal(receive_wr(1, 4, 0, 64), 0);
	assert_int_equal(post(0, &first), 0);
	next(0, false, 2, IB_WC_SUCCESS);
	none(0, false);
	assert_int_equal(ends[0].qp.sq.tail, 2);
	next(1, true, 3, IB_WC_SUCCESS);
	next(1, true, 4, IB_WC_SUCCESS);
}

static void full_queues_take_no_more(void **state)
{
	u32 i;

	for (i = 0; i < ends[0].qp.sq.max_post; i++)
		assert_int_equal(send_wr(0, IB_WR_SEND, i, 0, 8, 0, 0), 0);
	assert_int_equal(send_wr(0, IB_WR_SEND, i, 0, 8, 0, 0), -ENOMEM);
	for (i = 0; i < ends[1].qp.rq.cnt; i++)
		assert_int_equal(receive_wr(1, 100 + i, 0, 64), 0);
	assert_int_equal(receive_wr(1, 1, 0, 64), -ENOMEM);
	for (i = 0; i < ends[0].qp.sq.max_post; i++) {
		next(0, false, i, IB_WC_SUCCESS);
		next(1, true, 100 + i, IB_WC_SUCCESS);
	}
	assert_int_equal(receive_wr(1, 1, 0, 64), 0);
}

/* As ib_drain_qp(). */
static void a_step_to_err_flushes(void **state)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };

	assert_int_equal(receive_wr(1, 1, 0, 64), 0);
	assert_int_equal(vhca_kern_modify_qp(&ends[1].qp.qp.ibqp, &attr, IB_QP_STATE, NULL), 0);
	assert_int_equal(receive_wr(1, 2, 0, 64), 0);
	assert_int_equal(send_wr(1, IB_WR_SEND, 3, 0, 8, 0, 0), 0);
	next(1, true, 1, IB_WC_WR_FLUSH_ERR);
	next(1, true, 2, IB_WC_WR_FLUSH_ERR);
	next(1, false, 3, IB_WC_WR_FLUSH_ERR);
}

/* The same when the backend has died: each request completes once, at once or later. */
static void without_a_backend_the_queues_are_flushed(void **state)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };
	struct ib_send_wr unsignaled = { .opcode = IB_WR_SEND, .wr_id = 8 };
	struct ib_wc wc[8];

	assert_int_equal(receive_wr(1, 1, 0, 64), 0);
	assert_int_equal(receive_wr(1, 2, 0, 64), 0);
	assert_int_equal(send_wr(0, IB_WR_SEND, 3, 0, 8, 0, 0), 0);
	hca_run();
	ends[0].dev.ring.state = ends[1].dev.ring.state = VHCA_RING_BROKEN;
	next(1, true, 1, IB_WC_SUCCESS);	/* it was there */
	next(1, true, 2, IB_WC_WR_FLUSH_ERR);
	none(1, true);
	assert_int_equal(vhca_kern_modify_qp(&ends[0].qp.qp.ibqp, &attr, IB_QP_STATE, NULL), 0);
	assert_null(broken);
	next(0, false, 3, IB_WC_SUCCESS);
	assert_int_equal(post(0, &unsignaled), 0);
	assert_true(ends[0].dev.overflow);	/* the CQ's handler is called */
	assert_int_equal(send_wr(0, IB_WR_SEND, 9, 0, 8, 0, 0), 0);
	assert_int_equal(vhca_kern_poll_cq(&ends[0].scq.cq.ibcq, 8, wc), 2);
	assert_int_equal(wc[0].wr_id, 8);
	assert_int_equal(wc[1].wr_id, 9);
	assert_int_equal(wc[1].status, IB_WC_WR_FLUSH_ERR);
	assert_ptr_equal(wc[1].qp, &ends[0].qp.qp.ibqp);
	none(0, false);
	kernel_cancel(&ends[0].dev.owed_work);
	kernel_cancel(&ends[1].dev.owed_work);
}

/* As ib_process_cq(): who gets fewer than he asks for arms the CQ, and polls no more. */
static void a_poll_with_a_completion_flushes_too(void **state)
{
	struct ib_wc wc[8];

	assert_int_equal(receive_wr(1, 1, 0, 64), 0);
	assert_int_equal(receive_wr(1, 2, 0, 64), 0);
	assert_int_equal(receive_wr(1, 3, 0, 64), 0);
	assert_int_equal(send_wr(0, IB_WR_SEND, 4, 0, 8, 0, 0), 0);
	hca_run();
	ends[1].dev.ring.state = VHCA_RING_BROKEN;
	assert_int_equal(vhca_kern_poll_cq(&ends[1].rcq.cq.ibcq, 2, wc), 2);
	assert_int_equal(wc[0].status, IB_WC_SUCCESS);
	assert_int_equal(wc[0].wr_id, 1);
	assert_int_equal(wc[1].status, IB_WC_WR_FLUSH_ERR);
	assert_int_equal(wc[1].wr_id, 2);
	assert_ptr_equal(wc[1].qp, &ends[1].qp.qp.ibqp);
	assert_int_equal(vhca_kern_poll_cq(&ends[1].rcq.cq.ibcq, 2, wc), 1);
	assert_int_equal(wc[0].wr_id, 3);
}

#define MISSED	(IB_CQ_NEXT_COMP | IB_CQ_REPORT_MISSED_EVENTS)

/* With IB_POLL_SOFTIRQ no event counts between the last poll and the arm. */
static void an_arm_tells_of_what_is_to_be_flushed(void **state)
{
	struct ib_cq *scq = &ends[1].scq.cq.ibcq, *rcq = &ends[1].rcq.cq.ibcq;

	assert_int_equal(receive_wr(1, 1, 0, 64), 0);
	assert_int_equal(vhca_kern_arm_cq(rcq, MISSED), 0);
	ends[1].dev.ring.state = VHCA_RING_BROKEN;
	assert_int_equal(vhca_kern_arm_cq(rcq, IB_CQ_NEXT_COMP), 0);
	assert_int_equal(vhca_kern_arm_cq(rcq, MISSED), 1);
	assert_int_equal(vhca_kern_arm_cq(scq, MISSED), 0);
	assert_int_equal(send_wr(1, IB_WR_SEND, 2, 0, 8, 0, 0), 0);
	assert_int_equal(vhca_kern_arm_cq(scq, MISSED), 1);
	next(1, true, 1, IB_WC_WR_FLUSH_ERR);
	next(1, false, 2, IB_WC_WR_FLUSH_ERR);
	assert_int_equal(vhca_kern_arm_cq(rcq, MISSED), 0);
	assert_int_equal(vhca_kern_arm_cq(scq, MISSED), 0);
	kernel_cancel(&ends[1].dev.owed_work);
}

static void a_refused_step_to_err_breaks_the_device(void **state)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };

	command_rc = -EINVAL;
	assert_int_equal(vhca_kern_modify_qp(&ends[0].qp.qp.ibqp, &attr, IB_QP_STATE, NULL), 0);
	assert_non_null(broken);
}

/* Its owner takes back what was posted: it does not complete, nor is anything there later. */
static void what_was_posted_before_a_refused_reset_is_forgotten(void **state)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_RESET };
	struct ib_wc wc[4];

	assert_int_equal(receive_wr(1, 1, 0, 64), 0);
	assert_int_equal(send_wr(0, IB_WR_SEND, 2, 0, 8, 0, 0), 0);
	command_rc = -EINVAL;
	assert_int_equal(vhca_kern_modify_qp(&ends[0].qp.qp.ibqp, &attr, IB_QP_STATE, NULL), 0);
	command_rc = 0;
	assert_non_null(broken);
	assert_false(vhca_ksq_posted(&ends[0].qp.sq));
	hca_run();			/* it never stopped */
	assert_int_equal(vhca_kern_poll_cq(&ends[0].scq.cq.ibcq, 4, wc), 0);
}

/* ---- another connection ---- */

/* It ends and another one begins, with an HCA that gives the same numbers. */
static void reconnect(struct end *e)
{
	e->dev.ring.state = VHCA_RING_BROKEN;
	vhca_kern_away(&e->dev);
	assert_true(e->dev.away);
	e->dev.ring.state = VHCA_RING_UP;
	assert_int_equal(vhca_kern_back(&e->dev), 0);
	assert_false(e->dev.away);
}

static void dead_queues_are_flushed_for_ever(void **state)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };
	unsigned int stored;
	struct ib_wc wc[8];

	assert_int_equal(receive_wr(0, 1, 0, 64), 0);
	reconnect(&ends[0]);
	next(0, true, 1, IB_WC_WR_FLUSH_ERR);
	none(0, true);
	stored = stores;
	ends[0].dev.overflow = false;
	assert_int_equal(send_wr(0, IB_WR_SEND, 2, 0, 8, 0, 0), 0);
	assert_true(ends[0].dev.overflow);	/* the CQ's handler is called */
	assert_int_equal(vhca_kern_arm_cq(&ends[0].scq.cq.ibcq, IB_CQ_NEXT_COMP), 0);
	next(0, false, 2, IB_WC_WR_FLUSH_ERR);
	ends[0].dev.overflow = false;
	assert_int_equal(receive_wr(0, 3, 0, 64), 0);
	assert_true(ends[0].dev.overflow);
	next(0, true, 3, IB_WC_WR_FLUSH_ERR);
	/* As ib_drain_qp(). The new HCA hears nothing of it. */
	command_rc = -EINVAL;
	assert_int_equal(vhca_kern_modify_qp(&ends[0].qp.qp.ibqp, &attr, IB_QP_STATE, NULL), 0);
	assert_null(broken);
	assert_int_equal(receive_wr(0, 4, 0, 64), 0);
	attr.qp_state = IB_QPS_RESET;
	assert_int_equal(vhca_kern_modify_qp(&ends[0].qp.qp.ibqp, &attr, IB_QP_STATE, NULL), 0);
	assert_null(broken);
	none(0, true);
	assert_int_equal(stores, stored);
	assert_int_equal(vhca_kern_poll_cq(&ends[0].scq.cq.ibcq, 8, wc), 0);
	command_rc = 0;
	kernel_cancel(&ends[0].dev.owed_work);
}

/* Its owner's PD and what it has mapped stay; new objects are like any others. */
static void new_queues_work_in_an_old_pd(void **state)
{
	dma_addr_t before = addr[0];
	struct ib_mr *mr = new_mr(0);

	reconnect(&ends[0]);
	assert_int_equal(granted_again, 1);
	vhca_kern_destroy_qp(&ends[0].qp.qp.ibqp, NULL);
	destroyed = 0;
	vhca_kern_dereg_mr(mr, NULL);
	assert_int_equal(destroyed, 0);		/* no command for a dead window */
	end_objects(&ends[0], IB_QPT_RC, false);

	fill(buf[0], 2000, 9);
	assert_int_equal(addr[0], before);
	assert_int_equal(receive_wr(1, 1, PAGE_SIZE, PAGE_SIZE), 0);
	assert_int_equal(send_wr(0, IB_WR_SEND, 2, 0, 2000, 0, 0), 0);
	next(0, false, 2, IB_WC_SUCCESS);
	next(1, true, 1, IB_WC_SUCCESS);
	assert_true(filled(buf[1] + PAGE_SIZE, 2000, 9));
	kernel_cancel(&ends[0].dev.owed_work);
}

static void hears(struct ib_event *event, void *context)
{
	fail_msg("a handler is called in the chain of a verb");
}

/*
 * ib_drain_qp() waits a minute for it. That of an HCA that lives is the HCA's. The consumer
 * may hold in the verb what its handler takes, so the work of event.c calls that.
 */
static void a_dead_queue_pair_with_an_srq_hears_of_its_last_receive_later(void **state)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };
	struct ib_qp *qp = &ends[0].qp.qp.ibqp;

	qp->event_handler = hears;
	reconnect(&ends[0]);
	assert_int_equal(vhca_kern_modify_qp(qp, &attr, IB_QP_STATE, NULL), 0);
	assert_false(ends[0].dev.last_owed);
	kernel_cancel(&ends[0].dev.owed_work);
	qp->srq = &ends[0].srq.srq.ibsrq;
	assert_int_equal(vhca_kern_modify_qp(qp, &attr, IB_QP_STATE, NULL), 0);
	assert_true(ends[0].dev.last_owed);
	assert_true(to_vqp(qp)->last_owed);
	assert_true(ends[0].dev.owed_work.armed);
	qp->srq = NULL;
	kernel_cancel(&ends[0].dev.owed_work);
}

/* By its number rdma_cm would find the one for the other. */
static void the_number_of_a_dead_queue_pair_is_taken(void **state)
{
	struct ib_qp_init_attr init = {
		.send_cq = &ends[0].scq.cq.ibcq, .recv_cq = &ends[0].rcq.cq.ibcq,
		.qp_type = IB_QPT_RC, .sq_sig_type = IB_SIGNAL_REQ_WR,
		.cap = { .max_send_wr = (1 << HCA_LOG_SQ) / VHCA_KSQ_BLOCKS,
			 .max_recv_wr = 1 << HCA_LOG_RQ, .max_send_sge = 4,
			 .max_recv_sge = HCA_RECV_SGE },
	};
	struct vhca_kqp *qp = calloc(1, sizeof(*qp));

	reconnect(&ends[0]);
	qp->qp.ibqp = ends[0].qp.qp.ibqp;
	assert_int_equal(vhca_kern_create_qp(&qp->qp.ibqp, &init, NULL), -EAGAIN);
	assert_null(broken);
	vhca_kern_destroy_qp(&ends[0].qp.qp.ibqp, NULL);
	assert_int_equal(vhca_kern_create_qp(&qp->qp.ibqp, &init, NULL), 0);
	vhca_kern_destroy_qp(&qp->qp.ibqp, NULL);
	ends[0].qp.sq.cnt = 0;
	free(qp);
	kernel_cancel(&ends[0].dev.owed_work);
}

static const struct ib_qp_init_attr like_the_last = {
	.send_cq = &ends[1].scq.cq.ibcq, .recv_cq = &ends[1].rcq.cq.ibcq,
	.qp_type = IB_QPT_RC, .sq_sig_type = IB_SIGNAL_REQ_WR,
	.cap = { .max_send_wr = (1 << HCA_LOG_SQ) / VHCA_KSQ_BLOCKS,
		 .max_recv_wr = 1 << HCA_LOG_RQ, .max_send_sge = 4,
		 .max_recv_sge = HCA_RECV_SGE },
};

static void another_has_the_number(void)
{
	struct ib_qp_init_attr init = like_the_last;

	memset(&ends[1].qp.rq, 0, sizeof(ends[1].qp.rq));
	memset(&ends[1].qp.sq, 0, sizeof(ends[1].qp.sq));
	assert_int_equal(vhca_kern_create_qp(&ends[1].qp.qp.ibqp, &init, NULL), 0);
	assert_int_equal(receive_wr(1, 1, 0, 64), 0);
	assert_int_equal(send_wr(0, IB_WR_SEND, 2, 0, 10, 0, 0), 0);
	hca_run();
}

/* Its number is another one's before it has ended. */
static void a_dead_queue_pair_takes_no_completion_along(void **state)
{
	struct vhca_kqp *dead = calloc(1, sizeof(*dead));
	u32 n = ends[1].qp.qp.ibqp.qp_num;

	reconnect(&ends[1]);
	*dead = ends[1].qp;
	xa_erase(&to_kern(&ends[1].dev.ibdev)->qps, n);
	xa_erase(&ends[1].scq.qps, n);
	xa_erase(&ends[1].rcq.qps, n);
	vhca_publish(&ends[1].dev, &to_kern(&ends[1].dev.ibdev)->qps, n, dead);
	vhca_publish(&ends[1].dev, &ends[1].scq.qps, n, dead);
	vhca_publish(&ends[1].dev, &ends[1].rcq.qps, n, dead);
	meanwhile = another_has_the_number;
	vhca_kern_destroy_qp(&dead->qp.ibqp, NULL);
	next(1, true, 1, IB_WC_SUCCESS);
	free(dead);
	kernel_cancel(&ends[1].dev.owed_work);
}

/* One of its number, which the HCA may give at once, waits for that of its completions. */
static void nobody_takes_a_number_while_it_ends(void **state)
{
	struct vhca_kern *kern = to_kern(&ends[1].dev.ibdev);

	vhca_kern_destroy_qp(&ends[1].qp.qp.ibqp, NULL);
	assert_int_equal(numbers_held, 1);
	assert_int_equal(kern->numbers.readers, 0);
	another_has_the_number();	/* down_write() fails while it is held */
	assert_false(kern->numbers.written);
}

/* As ib_core's pool, of which both consumers have it. */
static void a_dead_cq_lives_again_with_a_queue_pair(void **state)
{
	struct ib_qp_init_attr init = {
		.send_cq = &ends[1].scq.cq.ibcq, .recv_cq = &ends[1].rcq.cq.ibcq,
		.qp_type = IB_QPT_RC, .sq_sig_type = IB_SIGNAL_REQ_WR,
		.cap = { .max_send_wr = (1 << HCA_LOG_SQ) / VHCA_KSQ_BLOCKS,
			 .max_recv_wr = 1 << HCA_LOG_RQ, .max_send_sge = 4,
			 .max_recv_sge = HCA_RECV_SGE },
	};
	struct ib_recv_wr recv = { .wr_id = 7 };
	struct vhca_kqp *dead = calloc(1, sizeof(*dead));
	const struct ib_recv_wr *bad;
	unsigned int made;
	struct ib_wc wc;

	assert_int_equal(vhca_kern_arm_cq(init.recv_cq, IB_CQ_NEXT_COMP), 0);
	reconnect(&ends[1]);
	/* One that stays, under another number than the HCA's. */
	*dead = ends[1].qp;
	dead->qp.ibqp.qp_num++;
	xa_erase(&to_kern(&ends[1].dev.ibdev)->qps, ends[1].qp.qp.ibqp.qp_num);
	xa_erase(&ends[1].scq.qps, ends[1].qp.qp.ibqp.qp_num);
	xa_erase(&ends[1].rcq.qps, ends[1].qp.qp.ibqp.qp_num);
	assert_int_equal(vhca_publish(&ends[1].dev, &ends[1].rcq.qps,
				      dead->qp.ibqp.qp_num, dead), 0);
	memset(&ends[1].qp.rq, 0, sizeof(ends[1].qp.rq));
	memset(&ends[1].qp.sq, 0, sizeof(ends[1].qp.sq));

	made = commands;
	bufs_put = stores = 0;
	hca_arm_events(1);
	assert_int_equal(vhca_kern_create_qp(&ends[1].qp.qp.ibqp, &init, NULL), 0);
	assert_int_equal(commands, made + 3);
	assert_int_equal(bufs_put, 2);
	assert_int_equal(stores, 1);		/* it was armed, and is; the other was not */
	assert_int_equal(vhca_kcq_renew(&ends[1].rcq), 0);
	assert_int_equal(commands, made + 3);

	assert_int_equal(receive_wr(1, 1, 0, 64), 0);
	assert_int_equal(send_wr(0, IB_WR_SEND, 2, 0, 10, 0, 0), 0);
	next(0, false, 2, IB_WC_SUCCESS);
	assert_int_equal(hca_events(1), 1);
	next(1, true, 1, IB_WC_SUCCESS);
	none(1, true);
	assert_int_equal(vhca_kern_post_recv(&dead->qp.ibqp, &recv, &bad), 0);
	assert_true(ends[1].dev.overflow);
	assert_int_equal(receive_wr(1, 3, 0, 64), 0);
	assert_int_equal(vhca_kern_poll_cq(init.recv_cq, 1, &wc), 1);
	assert_int_equal(wc.status, IB_WC_WR_FLUSH_ERR);
	assert_int_equal(wc.wr_id, 7);
	assert_ptr_equal(wc.qp, &dead->qp.ibqp);
	none(1, true);				/* those of a live one stay */
	assert_true(ends[1].rcq.renewed);
	xa_erase(&ends[1].rcq.qps, dead->qp.ibqp.qp_num);
	none(1, true);
	assert_false(ends[1].rcq.renewed);	/* no poll looks for dead ones any more */
	queues_exit(dead);
	free(dead);
	kernel_cancel(&ends[1].dev.owed_work);
}

static void a_dead_cq_stays_dead_if_it_is_refused(void **state)
{
	struct vhca_mem *buf = ends[0].scq.cq.buf;

	reconnect(&ends[0]);
	command_rc = -ENOMEM;
	assert_int_equal(vhca_kcq_renew(&ends[0].scq), -ENOMEM);
	command_rc = 0;
	assert_ptr_equal(ends[0].scq.cq.buf, buf);
	assert_int_not_equal(ends[0].scq.cq.gen, ends[0].dev.gen);
	assert_int_equal(vhca_kcq_renew(&ends[0].scq), 0);
	assert_int_equal(ends[0].scq.cq.gen, ends[0].dev.gen);
	kernel_cancel(&ends[0].dev.owed_work);
}

/* Its key may be that of a window of another consumer. */
static void a_dead_window_is_not_bound(void **state)
{
	struct ib_mr *mr = new_mr(0);
	struct scatterlist sg = { buf[0], 0, PAGE_SIZE };

	assert_int_equal(map_window(0, mr, &sg, 1), 1);
	reconnect(&ends[0]);
	vhca_kern_destroy_qp(&ends[0].qp.qp.ibqp, NULL);
	end_objects(&ends[0], IB_QPT_RC, false);
	assert_int_equal(bind(0, mr, 1), -EINVAL);
	unmap_sg(dev_of(0), &sg, 1, DMA_TO_DEVICE, 0);
	vhca_kern_dereg_mr(mr, NULL);
	kernel_cancel(&ends[0].dev.owed_work);
}

static void away_there_is_nothing_to_be_had(void **state)
{
	struct ib_cq_init_attr cq = { .cqe = 8 };
	unsigned int before;

	vhca_kern_away(&ends[0].dev);	/* the ring is up: a suspend */
	/* Nobody destroys a dead object while the backend has its memory. */
	assert_true(gate_closed);
	assert_false(ends[0].dev.gate.written);
	before = commands;
	assert_int_equal(vhca_kern_create_cq(&ends[0].scq.cq.ibcq, &cq, NULL), -ENETDOWN);
	assert_int_equal(PTR_ERR(vhca_kern_alloc_mr(&ends[0].pd, IB_MR_TYPE_MEM_REG, 16)),
			 -ENETDOWN);
	assert_int_equal(commands, before);
	held = 1;
	assert_int_equal(vhca_kern_held(&ends[0].dev), 1);
	kernel_cancel(&ends[0].dev.owed_work);
}

/* sunrpc waits for a network that is down, and fails what it is asked for at EIO. */
static void a_ring_that_broke_is_a_network_that_is_down(void **state)
{
	command_rc = -EIO;
	assert_int_equal(PTR_ERR(vhca_kern_alloc_mr(&ends[0].pd, IB_MR_TYPE_MEM_REG, 16)), -EIO);
	ends[0].dev.ring.state = VHCA_RING_BROKEN;
	assert_int_equal(PTR_ERR(vhca_kern_alloc_mr(&ends[0].pd, IB_MR_TYPE_MEM_REG, 16)),
			 -ENETDOWN);
	command_rc = 0;
	assert_int_equal(ends[0].dev.gate.readers, 0);
}

static void shared_receives_are_taken_in_turn(void **state)
{
	struct ib_wc wc;
	u32 i, turn;

	for (i = 0; i < ends[1].srq.rq.cnt - 1; i++)
		assert_int_equal(receive_wr(1, i, i * 64, 64), 0);
	assert_int_equal(receive_wr(1, i, 0, 64), -ENOMEM);
	for (turn = 0; turn < 300; turn++) {
		i = turn % (ends[1].srq.rq.cnt - 1);
		fill(buf[0], 50, turn);
		assert_int_equal(send_wr(0, IB_WR_SEND, 100, 0, 50, 0, 0), 0);
		next(0, false, 100, IB_WC_SUCCESS);
		wc = next(1, true, i, IB_WC_SUCCESS);
		assert_int_equal(wc.byte_len, 50);
		assert_true(filled(buf[1] + i * 64, 50, turn));
		assert_int_equal(receive_wr(1, i, i * 64, 64), 0);
	}
}

/* What a destroyed queue pair has taken from it, and nobody has polled, goes back. */
static void a_shared_queue_gets_its_receives_back(void **state)
{
	struct ib_wc wc;
	u32 i;

	for (i = 0; i < ends[1].srq.rq.cnt - 1; i++)
		assert_int_equal(receive_wr(1, i, 0, 64), 0);
	assert_int_equal(send_wr(0, IB_WR_SEND, 100, 0, 8, 0, 0), 0);
	next(0, false, 100, IB_WC_SUCCESS);
	assert_int_equal(receive_wr(1, i, 0, 64), -ENOMEM);
	vhca_kern_destroy_qp(&ends[1].qp.qp.ibqp, NULL);
	assert_int_equal(vhca_kern_poll_cq(&ends[1].rcq.cq.ibcq, 1, &wc), 0);
	assert_int_equal(receive_wr(1, i, 0, 64), 0);
	vhca_kern_destroy_srq(&ends[1].srq.srq.ibsrq, NULL);
	ends[1].qp.sq.cnt = 0;
}

static void datagrams_need_no_command(void **state)
{
	struct rdma_ah_attr path = { .dlid = 2 };
	struct rdma_ah_init_attr init = { &path };
	struct ib_sge sge = { addr[0], 100 };
	struct vhca_kah ah = { .ah.ibah.device = &ends[0].dev.ibdev };
	struct ib_ud_wr wr = {
		.wr = { .opcode = IB_WR_SEND, .wr_id = 1, .sg_list = &sge, .num_sge = 1,
			.send_flags = SIGNALED },
		.ah = &ah.ah.ibah, .remote_qpn = ends[1].qp.qp.ibqp.qp_num,
		.remote_qkey = hca_qkey(),
	};
	unsigned int before = commands;
	struct ib_wc wc;

	assert_int_equal(create_ah(&ah.ah.ibah, &init, NULL), 0);
	assert_int_equal(commands, before);
	fill(buf[0], 100, 9);
	assert_int_equal(receive_wr(1, 2, 0, PAGE_SIZE), 0);
	assert_int_equal(post(0, &wr.wr), 0);
	next(0, false, 1, IB_WC_SUCCESS);
	wc = next(1, true, 2, IB_WC_SUCCESS);
	assert_int_equal(wc.byte_len, 140);
	assert_int_equal(wc.src_qp, ends[0].qp.qp.ibqp.qp_num);
	assert_int_equal(wc.slid, 1);
	assert_true(filled(buf[1] + 40, 100, 9));
}

/* What it is not made of is no work request. */
static void unknown_requests_are_refused(void **state)
{
	struct ib_send_wr wr = { .opcode = IB_WR_ATOMIC_CMP_AND_SWP };

	assert_int_equal(post(0, &wr), -EINVAL);
	wr.opcode = 0x7f;
	assert_int_equal(post(0, &wr), -EINVAL);
	wr.opcode = IB_WR_SEND;
	wr.num_sge = 5;
	wr.sg_list = (struct ib_sge[5]) {};
	assert_int_equal(post(0, &wr), -EINVAL);
	none(0, false);
}

int main(void)
{
#define RC(test) cmocka_unit_test_setup_teardown(test, setup_rc, teardown)
#define SRQ(test) cmocka_unit_test_setup_teardown(test, setup_srq, teardown)
	const struct CMUnitTest tests[] = {
		RC(messages_go_around_the_rings),
		RC(inline_data_comes_from_the_kernels_addresses),
		RC(a_read_has_no_inline_data),
		RC(immediate_data_arrives),
		RC(windows_are_bound_and_ended),
		RC(beyond_a_window_is_refused_and_the_rest_flushed),
		RC(a_dead_key_is_refused),
		RC(a_read_ends_the_key_of_its_sink),
		RC(what_a_read_brings_is_there_with_the_next_completion),
		RC(a_read_that_fails_completes_once),
		RC(an_arm_gives_one_event),
		RC(only_signaled_requests_complete),
		RC(full_queues_take_no_more),
		RC(a_step_to_err_flushes),
		RC(without_a_backend_the_queues_are_flushed),
		RC(a_poll_with_a_completion_flushes_too),
		RC(an_arm_tells_of_what_is_to_be_flushed),
		RC(a_refused_step_to_err_breaks_the_device),
		RC(what_was_posted_before_a_refused_reset_is_forgotten),
		RC(unknown_requests_are_refused),
		RC(dead_queues_are_flushed_for_ever),
		RC(new_queues_work_in_an_old_pd),
		RC(a_dead_queue_pair_with_an_srq_hears_of_its_last_receive_later),
		RC(the_number_of_a_dead_queue_pair_is_taken),
		RC(a_dead_window_is_not_bound),
		RC(a_dead_queue_pair_takes_no_completion_along),
		RC(nobody_takes_a_number_while_it_ends),
		RC(a_dead_cq_lives_again_with_a_queue_pair),
		RC(a_dead_cq_stays_dead_if_it_is_refused),
		RC(away_there_is_nothing_to_be_had),
		RC(a_ring_that_broke_is_a_network_that_is_down),
		SRQ(shared_receives_are_taken_in_turn),
		SRQ(a_shared_queue_gets_its_receives_back),
		cmocka_unit_test_setup_teardown(datagrams_need_no_command, setup_ud, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
