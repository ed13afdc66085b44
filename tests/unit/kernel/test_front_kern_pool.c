// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * frontend/kernel/: the pool and the DMA operations, windows over what is mapped, and
 * begin and end of a device for the kernel, without an HCA.
 */
#include "front_kern_rest.h"

#define PAGES	256u		/* of a pool of 1 MiB */

static struct end *e = &ends[0];
static u8 *mem;			/* of a consumer: 16 pages */

static int setup(void **state)
{
	(void)state;
	hca_model = false;
	mem = aligned_alloc(PAGE_SIZE, 16 * PAGE_SIZE);
	memset(mem, 0x11, 16 * PAGE_SIZE);
	return end_begin(e, 1);
}

static int teardown(void **state)
{
	bool left = !bitmap_empty(pool_of(e)->used, PAGES);

	(void)state;
	end_end(e);
	free(mem);
	return left ? -1 : 0;
}

static struct device *dma(void)
{
	return &e->dev.ibdev.dev;
}

static u32 in_use(void)
{
	return bitmap_weight(pool_of(e)->used, PAGES);
}

static dma_addr_t map(u32 at, size_t size, enum dma_data_direction dir)
{
	return map_page(dma(), (struct page *)(mem + (at & PAGE_MASK)), offset_in_page(at),
			size, dir, 0);
}

static u8 *copy_of(dma_addr_t addr)
{
	return vhca_pool_at(pool_of(e), addr);
}

/* ---- mappings ---- */

static void a_small_mapping_takes_a_page_and_copies_its_octets(void **state)
{
	dma_addr_t a = map(100, 64, DMA_BIDIRECTIONAL);

	assert_int_equal(in_use(), 1);
	assert_int_equal(offset_in_page(a), 100);
	assert_int_equal(*copy_of(a), 0x11);
	assert_int_equal(copy_of(a)[-1], 0);
	assert_int_equal(copy_of(a)[64], 0);
	memset(copy_of(a) - 100, 0x22, PAGE_SIZE);
	unmap(dma(), a, 64, DMA_BIDIRECTIONAL, 0);
	assert_int_equal(in_use(), 0);
	assert_int_equal(mem[99], 0x11);
	assert_int_equal(mem[100], 0x22);
	assert_int_equal(mem[163], 0x22);
	assert_int_equal(mem[164], 0x11);
}

static void a_mapping_over_the_end_of_a_page_takes_two(void **state)
{
	dma_addr_t a = map(PAGE_SIZE - 8, 16, DMA_FROM_DEVICE);

	assert_int_equal(in_use(), 2);
	memset(copy_of(a), 0x22, 16);
	unmap(dma(), a, 16, DMA_FROM_DEVICE, 0);
	assert_int_equal(mem[PAGE_SIZE - 9], 0x11);
	assert_int_equal(mem[PAGE_SIZE + 7], 0x22);
	assert_int_equal(mem[PAGE_SIZE + 8], 0x11);
}

/* What the HCA does not write is what was there, as with swiotlb. */
static void what_was_not_received_stays(void **state)
{
	dma_addr_t a = map(0, PAGE_SIZE, DMA_FROM_DEVICE);

	copy_of(a)[0] = 0x22;
	unmap(dma(), a, PAGE_SIZE, DMA_FROM_DEVICE, 0);
	assert_int_equal(mem[0], 0x22);
	assert_int_equal(mem[1], 0x11);
}

static void what_is_mapped_to_be_read_is_never_written(void **state)
{
	dma_addr_t a = map(0, PAGE_SIZE, DMA_TO_DEVICE);

	memset(copy_of(a), 0x22, PAGE_SIZE);
	vhca_pool_return(pool_of(e), a, PAGE_SIZE);
	sync_for_cpu(dma(), a, PAGE_SIZE, DMA_BIDIRECTIONAL);
	unmap(dma(), a, PAGE_SIZE, DMA_BIDIRECTIONAL, 0);
	assert_int_equal(mem[0], 0x11);
}

static void a_full_pool_refuses_and_a_list_leaves_nothing(void **state)
{
	struct scatterlist sg[2] = { { mem, 0, PAGE_SIZE - 1 }, { mem, 0, 3 * PAGE_SIZE } };
	dma_addr_t all[PAGES - 3], other;
	u32 i;

	for (i = 0; i < PAGES - 3; i++)
		all[i] = map(0, 8, DMA_TO_DEVICE);
	assert_int_equal(map(0, 4 * PAGE_SIZE, DMA_TO_DEVICE), DMA_MAPPING_ERROR);
	assert_int_equal(map_sg(dma(), sg, 2, DMA_TO_DEVICE, 0), -EIO);
	assert_int_equal(in_use(), PAGES - 3);
	other = map(0, 3 * PAGE_SIZE, DMA_TO_DEVICE);
	assert_int_not_equal(other, DMA_MAPPING_ERROR);
	assert_int_equal(map(0, 1, DMA_TO_DEVICE), DMA_MAPPING_ERROR);
	unmap(dma(), other, 3 * PAGE_SIZE, DMA_TO_DEVICE, 0);
	for (i = 0; i < PAGES - 3; i++)
		unmap(dma(), all[i], 8, DMA_TO_DEVICE, 0);
}

static void pages_of_a_list_lie_in_a_row_unless_there_are_gaps(void **state)
{
	struct scatterlist sg[4] = {
		{ mem, 512, PAGE_SIZE - 512 }, { mem + 4 * PAGE_SIZE, 0, 2 * PAGE_SIZE },
		{ mem + 8 * PAGE_SIZE, 0, 100 }, { mem + 9 * PAGE_SIZE, 0, 100 },
	};
	dma_addr_t hole = map(0, 1, DMA_TO_DEVICE);

	assert_int_equal(map_sg(dma(), sg, 4, DMA_FROM_DEVICE, 0), 4);
	assert_int_equal(in_use(), 6);
	assert_int_equal(sg[0].dma + PAGE_SIZE - 512, sg[1].dma);
	assert_int_equal(sg[1].dma + 2 * PAGE_SIZE, sg[2].dma);
	memset(copy_of(sg[0].dma), 0x22, 3 * PAGE_SIZE - 512 + 100);
	unmap_sg(dma(), sg, 4, DMA_FROM_DEVICE, 0);
	assert_int_equal(mem[511], 0x11);
	assert_int_equal(mem[512], 0x22);
	assert_int_equal(mem[6 * PAGE_SIZE - 1], 0x22);
	assert_int_equal(mem[8 * PAGE_SIZE + 99], 0x22);
	assert_int_equal(mem[8 * PAGE_SIZE + 100], 0x11);
	unmap(dma(), hole, 1, DMA_TO_DEVICE, 0);
}

static void coherent_memory_is_zeroed_and_a_copy_of_nothing(void **state)
{
	dma_addr_t a = map(0, PAGE_SIZE, DMA_BIDIRECTIONAL), c;
	u8 *va;

	unmap(dma(), a, PAGE_SIZE, DMA_TO_DEVICE, 0);
	va = alloc_coherent(dma(), PAGE_SIZE + 1, &c, 0, 0);
	assert_non_null(va);
	assert_ptr_equal(va, copy_of(c));
	assert_int_equal(va[0], 0);
	assert_int_equal(in_use(), 2);
	vhca_pool_fill(pool_of(e), c, PAGE_SIZE);
	assert_int_equal(va[0], 0);
	free_coherent(dma(), PAGE_SIZE + 1, va, c, 0);
}

static void addresses_outside_of_the_pool_copy_nothing(void **state)
{
	struct vhca_pool *p = pool_of(e);

	vhca_pool_fill(p, 0, 16);
	vhca_pool_fill(p, VHCA_POOL_IOVA - 1, 16);
	vhca_pool_return(p, VHCA_POOL_IOVA + PAGES * PAGE_SIZE - 8, 16);
	vhca_pool_return(p, ~0ull - 7, 16);
	vhca_pool_return(p, VHCA_POOL_IOVA, ~(size_t)0);
}

/* ---- when what is read is copied ---- */

static int post_send(enum ib_wr_opcode op, dma_addr_t addr, u32 len)
{
	struct ib_sge sge = { addr, len };
	struct ib_rdma_wr wr = { .wr = { .opcode = op, .sg_list = &sge, .num_sge = 1 } };
	const struct ib_send_wr *bad;

	return vhca_kern_post_send(&e->qp.qp.ibqp, &wr.wr, &bad);
}

/* nvmet maps first and writes later, without a sync. */
static void what_is_sent_is_copied_when_it_is_posted(void **state)
{
	dma_addr_t a = map(0, PAGE_SIZE, DMA_TO_DEVICE);

	end_objects(e, IB_QPT_RC, false);
	assert_int_equal(*copy_of(a), 0);
	mem[0] = 0x33;
	assert_int_equal(post_send(IB_WR_RDMA_READ, a, 64), 0);
	assert_int_equal(*copy_of(a), 0);
	assert_int_equal(post_send(IB_WR_SEND, a, 64), 0);
	assert_int_equal(copy_of(a)[0], 0x33);
	assert_int_equal(copy_of(a)[63], 0x11);
	assert_int_equal(copy_of(a)[64], 0);
	unmap(dma(), a, PAGE_SIZE, DMA_TO_DEVICE, 0);
}

static void what_a_window_shows_is_copied_when_it_is_registered(void **state)
{
	struct ib_mr *mr = vhca_kern_alloc_mr(&e->pd, IB_MR_TYPE_MEM_REG, 16);
	struct scatterlist sg = { mem, 100, 2 * PAGE_SIZE };

	mr->device = &e->dev.ibdev;
	mr->page_size = PAGE_SIZE;
	assert_int_equal(map_sg(dma(), &sg, 1, DMA_TO_DEVICE, 0), 1);
	mem[100] = 0x33;
	assert_int_equal(vhca_kern_map_mr_sg(mr, &sg, 1, NULL), 1);
	assert_int_equal(*copy_of(sg.dma), 0x33);
	assert_int_equal(copy_of(sg.dma)[2 * PAGE_SIZE - 1], 0x11);
	assert_int_equal(copy_of(sg.dma)[2 * PAGE_SIZE], 0);
	unmap_sg(dma(), &sg, 1, DMA_TO_DEVICE, 0);
	mr->pd = &e->pd;
	vhca_kern_dereg_mr(mr, NULL);
}

/* ---- windows ---- */

static void a_window_has_the_octets_of_the_list_and_no_others(void **state)
{
	struct ib_mr *mr = vhca_kern_alloc_mr(&e->pd, IB_MR_TYPE_MEM_REG, 16);
	struct scatterlist sg[2] = { { mem, 512, PAGE_SIZE - 512 }, { mem, 0, 256 } };

	mr->device = &e->dev.ibdev;
	mr->page_size = PAGE_SIZE;
	assert_int_equal(map_sg(dma(), sg, 2, DMA_BIDIRECTIONAL, 0), 2);
	assert_int_equal(vhca_kern_map_mr_sg(mr, sg, 2, NULL), 2);
	assert_int_equal(to_kmr(mr)->nr, 1);
	assert_int_equal(to_kmr(mr)->ext[0].addr, sg[0].dma);
	assert_int_equal(to_kmr(mr)->ext[0].len, PAGE_SIZE - 256);
	unmap_sg(dma(), sg, 2, DMA_TO_DEVICE, 0);
	mr->pd = &e->pd;
	vhca_kern_dereg_mr(mr, NULL);
}

/* A fifth range has no room: the consumer hears how much of the list is registered. */
static void a_window_has_four_ranges(void **state)
{
	struct ib_mr *mr = vhca_kern_alloc_mr(&e->pd, IB_MR_TYPE_MEM_REG, 16);
	dma_addr_t hole[5];
	struct scatterlist sg[5];
	u32 i;

	mr->device = &e->dev.ibdev;
	mr->page_size = PAGE_SIZE;
	for (i = 0; i < 5; i++) {
		sg[i] = (struct scatterlist){ mem + i * PAGE_SIZE, 0, PAGE_SIZE };
		assert_int_equal(map_sg(dma(), &sg[i], 1, DMA_BIDIRECTIONAL, 0), 1);
		hole[i] = map(0, 1, DMA_TO_DEVICE);
	}
	assert_int_equal(vhca_kern_map_mr_sg(mr, sg, 5, NULL), 4);
	assert_int_equal(mr->length, 4 * PAGE_SIZE);
	for (i = 0; i < 5; i++) {
		unmap_sg(dma(), &sg[i], 1, DMA_TO_DEVICE, 0);
		unmap(dma(), hole[i], 1, DMA_TO_DEVICE, 0);
	}
	mr->pd = &e->pd;
	vhca_kern_dereg_mr(mr, NULL);
}

static void other_kinds_of_regions_are_refused(void **state)
{
	assert_int_equal(PTR_ERR(vhca_kern_alloc_mr(&e->pd, IB_MR_TYPE_SG_GAPS, 1)),
			 -EOPNOTSUPP);
	assert_int_equal(PTR_ERR(vhca_kern_alloc_mr(&e->pd, IB_MR_TYPE_MEM_REG,
						    VHCA_KERN_PAGES + 1)), -EINVAL);
	assert_int_equal(PTR_ERR(get_dma_mr(&e->pd, 0)), -EOPNOTSUPP);
	command_rc = -ENOMEM;
	assert_int_equal(PTR_ERR(vhca_kern_alloc_mr(&e->pd, IB_MR_TYPE_MEM_REG, 1)),
			 -ENOMEM);
}

/* ---- sizes of queues ---- */

static void more_than_a_request_can_have_is_refused(void **state)
{
	struct ib_qp_init_attr a = { .qp_type = IB_QPT_RC, .send_cq = &e->scq.cq.ibcq,
				     .recv_cq = &e->rcq.cq.ibcq };
	struct ib_srq_init_attr s = { .attr = { .max_wr = 8, .max_sge = 9 } };

	a.cap.max_send_sge = VHCA_KERN_SGE + 1;
	assert_int_equal(vhca_kern_create_qp(&e->qp.qp.ibqp, &a, NULL), -EINVAL);
	a.cap = (struct ib_qp_cap){ .max_recv_sge = VHCA_KERN_SGE + 1 };
	assert_int_equal(vhca_kern_create_qp(&e->qp.qp.ibqp, &a, NULL), -EINVAL);
	a.cap = (struct ib_qp_cap){ .max_inline_data = VHCA_KSQ_INLINE + 1 };
	assert_int_equal(vhca_kern_create_qp(&e->qp.qp.ibqp, &a, NULL), -EINVAL);
	a.qp_type = IB_QPT_UD + 1;
	assert_int_equal(vhca_kern_create_qp(&e->qp.qp.ibqp, &a, NULL), -EOPNOTSUPP);
	assert_int_equal(vhca_kern_create_srq(&e->srq.srq.ibsrq, &s, NULL), -EINVAL);
	s.srq_type = IB_SRQT_XRC;
	assert_int_equal(vhca_kern_create_srq(&e->srq.srq.ibsrq, &s, NULL), -EOPNOTSUPP);
}

/* Also with other CQs: connections find a queue pair by its number. */
static void a_number_that_the_backend_uses_twice_makes_no_queue_pair(void **state)
{
	struct vhca_kcq cq = { .cq.ibcq.device = &e->dev.ibdev };
	struct ib_cq_init_attr cq_attr = { .cqe = 7 };
	struct ib_qp_init_attr a = {
		.qp_type = IB_QPT_RC, .cap = { .max_send_wr = 4, .max_recv_wr = 4 },
	};
	struct vhca_kqp other = e->qp;

	end_objects(e, IB_QPT_RC, false);
	assert_int_equal(vhca_kern_create_cq(&cq.cq.ibcq, &cq_attr, NULL), 0);
	other.qp.ibqp.send_cq = &cq.cq.ibcq;
	other.qp.ibqp.recv_cq = &cq.cq.ibcq;
	destroyed = 0;
	assert_int_equal(vhca_kern_create_qp(&other.qp.ibqp, &a, NULL), -EIO);
	assert_int_equal(destroyed, 1);
	assert_ptr_equal(xa_load(&to_kern(&e->dev.ibdev)->qps, 0x100), &e->qp);
}

/* ---- begin and end ---- */

static void a_device_for_processes_is_left_alone(void **state)
{
	vhca_kern_end(&e->dev);
	mems_free(e);
	kernel_ops = NULL;
	assert_int_equal(end_begin(e, 0), 0);
	assert_null(e->dev.own_uc);
	assert_null(kernel_ops);
	assert_int_equal(commands, 0);
	vhca_kern_end(&e->dev);
	assert_int_equal(end_begin(e, 1), 0);
}

static void soft_roce_is_refused_with_a_reason(void **state)
{
	vhca_kern_end(&e->dev);
	mems_free(e);
	e->dev.info.driver_id = 14;
	assert_int_equal(vhca_kern_begin(&e->dev), -EOPNOTSUPP);
	assert_non_null(strstr(broken, "needs an HCA of mlx5"));
	assert_int_equal(end_begin(e, 1), 0);
}

static void what_failed_to_begin_has_ended(void **state)
{
	vhca_kern_end(&e->dev);
	mems_free(e);
	commands = destroyed = 0;
	command_rc = -EIO;		/* of the context */
	assert_int_equal(vhca_kern_begin(&e->dev), -EIO);
	assert_null(e->dev.own_uc);
	assert_int_equal(commands, 1);
	assert_int_equal(destroyed, 0);
	assert_int_equal(end_begin(e, 1), 0);
}

static void ib_core_gets_the_kernels_operations_and_limits(void **state)
{
	assert_ptr_equal(kernel_ops, &kern_ops);
	assert_int_equal(e->dev.ibdev.local_dma_lkey, 0x1234);
	assert_int_equal(e->dev.attr.kernel_cap_flags, IBK_LOCAL_DMA_LKEY);
	assert_int_equal(e->dev.attr.max_fast_reg_page_list_len, VHCA_KERN_PAGES);
	assert_int_equal(e->dev.info.node_type, RDMA_NODE_IB_CA);
}

/* Consumers that know ib_cm alone ask for the type of the node. */
static void a_device_of_iwarp_is_an_rnic(void **state)
{
	vhca_kern_end(&e->dev);
	mems_free(e);
	e->dev.nets.nr = 1;
	e->dev.info.flags = XENVHCA_INFO_CM;
	assert_int_equal(vhca_kern_begin(&e->dev), 0);
	assert_ptr_equal(kernel_ops, &vhca_iw_ops);
	assert_int_equal(e->dev.info.node_type, RDMA_NODE_RNIC);
}

int main(void)
{
#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_small_mapping_takes_a_page_and_copies_its_octets),
		TEST(a_mapping_over_the_end_of_a_page_takes_two),
		TEST(what_was_not_received_stays),
		TEST(what_is_mapped_to_be_read_is_never_written),
		TEST(a_full_pool_refuses_and_a_list_leaves_nothing),
		TEST(pages_of_a_list_lie_in_a_row_unless_there_are_gaps),
		TEST(coherent_memory_is_zeroed_and_a_copy_of_nothing),
		TEST(addresses_outside_of_the_pool_copy_nothing),
		TEST(what_is_sent_is_copied_when_it_is_posted),
		TEST(what_a_window_shows_is_copied_when_it_is_registered),
		TEST(a_window_has_the_octets_of_the_list_and_no_others),
		TEST(a_window_has_four_ranges),
		TEST(other_kinds_of_regions_are_refused),
		TEST(more_than_a_request_can_have_is_refused),
		TEST(a_number_that_the_backend_uses_twice_makes_no_queue_pair),
		TEST(a_device_for_processes_is_left_alone),
		TEST(soft_roce_is_refused_with_a_reason),
		TEST(what_failed_to_begin_has_ended),
		TEST(ib_core_gets_the_kernels_operations_and_limits),
		TEST(a_device_of_iwarp_is_an_rnic),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
