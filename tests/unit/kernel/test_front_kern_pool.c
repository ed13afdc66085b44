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

/* By a window. */
static void hca_writes(dma_addr_t a, size_t size)
{
	vhca_pool_open(pool_of(e), a, size);
	memset(copy_of(a), 0x22, size);
}

static void a_small_mapping_takes_a_slot_and_copies_its_octets(void **state)
{
	dma_addr_t a = map(100, 64, DMA_BIDIRECTIONAL);

	assert_int_equal(in_use(), 1);
	assert_int_equal(*copy_of(a), 0x11);
	assert_int_equal(copy_of(a)[64], 0);
	hca_writes(a, VHCA_POOL_SLOT);
	unmap(dma(), a, 64, DMA_BIDIRECTIONAL, 0);
	assert_int_equal(in_use(), 0);
	assert_int_equal(mem[99], 0x11);
	assert_int_equal(mem[100], 0x22);
	assert_int_equal(mem[163], 0x22);
	assert_int_equal(mem[164], 0x11);
}

/* Each has its own place, and goes without the others. */
static void small_mappings_share_a_page(void **state)
{
	dma_addr_t a[VHCA_POOL_SLOTS + 1], again;
	u32 i, at = PAGE_SIZE;

	for (i = 0; i <= VHCA_POOL_SLOTS; i++) {
		a[i] = map(i * 300, 1 + i * VHCA_POOL_SLOT / 17, DMA_FROM_DEVICE);
		assert_int_equal(in_use(), i < VHCA_POOL_SLOTS ? 1 : 2);
		memset(copy_of(a[i]), i, VHCA_POOL_SLOT);
	}
	unmap(dma(), a[5], 1 + 5 * VHCA_POOL_SLOT / 17, DMA_FROM_DEVICE, 0);
	again = map(at, VHCA_POOL_SLOT, DMA_FROM_DEVICE);
	assert_int_equal(again, a[5]);
	hca_writes(again, VHCA_POOL_SLOT);
	for (i = 0; i <= VHCA_POOL_SLOTS; i++)
		if (i != 5) {
			assert_int_equal(*copy_of(a[i]), i);
			unmap(dma(), a[i], 1 + i * VHCA_POOL_SLOT / 17, DMA_FROM_DEVICE, 0);
		}
	assert_int_equal(in_use(), 1);
	unmap(dma(), again, VHCA_POOL_SLOT, DMA_FROM_DEVICE, 0);
	assert_int_equal(in_use(), 0);
	assert_int_equal(mem[at - 1], 0x11);
	assert_int_equal(mem[at], 0x22);
	assert_int_equal(mem[at + VHCA_POOL_SLOT - 1], 0x22);
	assert_int_equal(mem[at + VHCA_POOL_SLOT], 0x11);
}

static void pages_and_slots_take_each_others_places(void **state)
{
	dma_addr_t slot = map(0, 1, DMA_TO_DEVICE), rows, again;

	rows = map(0, 2 * PAGE_SIZE, DMA_BIDIRECTIONAL);
	assert_int_equal(in_use(), 3);
	assert_true(rows >= slot + VHCA_POOL_SLOT || rows + 2 * PAGE_SIZE <= slot);
	unmap(dma(), slot, 1, DMA_TO_DEVICE, 0);
	again = map(PAGE_SIZE + 8, PAGE_SIZE - 8, DMA_BIDIRECTIONAL);
	assert_int_equal(again, (slot & PAGE_MASK) + 8);
	hca_writes(again, PAGE_SIZE - 8);
	unmap(dma(), again, PAGE_SIZE - 8, DMA_BIDIRECTIONAL, 0);
	assert_int_equal(mem[PAGE_SIZE + 7], 0x11);
	assert_int_equal(mem[PAGE_SIZE + 8], 0x22);
	assert_int_equal(mem[2 * PAGE_SIZE - 1], 0x22);
	assert_int_equal(mem[2 * PAGE_SIZE], 0x11);
	unmap(dma(), rows, 2 * PAGE_SIZE, DMA_TO_DEVICE, 0);
}

static void a_mapping_over_the_end_of_a_page_takes_two(void **state)
{
	dma_addr_t a = map(PAGE_SIZE - 8, 16, DMA_FROM_DEVICE);

	assert_int_equal(in_use(), 2);
	assert_int_equal(offset_in_page(a), PAGE_SIZE - 8);
	hca_writes(a, 16);
	unmap(dma(), a, 16, DMA_FROM_DEVICE, 0);
	assert_int_equal(mem[PAGE_SIZE - 9], 0x11);
	assert_int_equal(mem[PAGE_SIZE + 7], 0x22);
	assert_int_equal(mem[PAGE_SIZE + 8], 0x11);
}

static void a_part_of_a_mapping_is_synced(void **state)
{
	static const u32 size[] = { 200, 3 * PAGE_SIZE };
	dma_addr_t a;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(size); i++) {
		memset(mem, 0x11, 4 * PAGE_SIZE);
		a = map(101, size[i], DMA_BIDIRECTIONAL);
		memset(mem + 101, 0x33, size[i]);
		sync_for_device(dma(), a + 10, 5, DMA_BIDIRECTIONAL);
		assert_int_equal(copy_of(a)[9], 0x11);
		assert_int_equal(copy_of(a)[10], 0x33);
		assert_int_equal(copy_of(a)[14], 0x33);
		assert_int_equal(copy_of(a)[15], 0x11);
		hca_writes(a, size[i]);
		sync_for_cpu(dma(), a + 20, 7, DMA_BIDIRECTIONAL);
		assert_int_equal(mem[101 + 19], 0x33);
		assert_int_equal(mem[101 + 20], 0x22);
		assert_int_equal(mem[101 + 26], 0x22);
		assert_int_equal(mem[101 + 27], 0x33);
		unmap(dma(), a, size[i], DMA_TO_DEVICE, 0);
	}
}

/* Of a consumer that names more than it mapped. */
static void a_slot_reaches_no_further_than_its_page(void **state)
{
	dma_addr_t a = map(PAGE_SIZE - 16, 16, DMA_FROM_DEVICE);

	hca_writes(a, VHCA_POOL_SLOT);
	vhca_pool_receive(pool_of(e), a, VHCA_POOL_SLOT);
	assert_int_equal(mem[PAGE_SIZE - 16], 0x22);
	assert_int_equal(mem[PAGE_SIZE], 0x11);
	unmap(dma(), a, 16, DMA_FROM_DEVICE, 0);
}

/* What the HCA does not write is what was there, as with swiotlb. */
static void what_was_not_received_stays(void **state)
{
	dma_addr_t a = map(0, PAGE_SIZE, DMA_FROM_DEVICE);

	hca_writes(a, 1);
	unmap(dma(), a, PAGE_SIZE, DMA_FROM_DEVICE, 0);
	assert_int_equal(mem[0], 0x22);
	assert_int_equal(mem[1], 0x11);
}

static void what_is_mapped_to_be_read_is_never_written(void **state)
{
	static const u32 size[] = { 64, PAGE_SIZE };
	dma_addr_t a;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(size); i++) {
		a = map(0, size[i], DMA_TO_DEVICE);
		hca_writes(a, size[i]);
		vhca_pool_return(pool_of(e), a, size[i]);
		vhca_pool_receive(pool_of(e), a, size[i]);
		sync_for_cpu(dma(), a, size[i], DMA_BIDIRECTIONAL);
		unmap(dma(), a, size[i], DMA_BIDIRECTIONAL, 0);
		assert_int_equal(mem[0], 0x11);
	}
}

static void a_full_pool_refuses_and_a_list_leaves_nothing(void **state)
{
	struct scatterlist sg[2] = { { mem, 0, PAGE_SIZE - 1 }, { mem, 0, 3 * PAGE_SIZE } };
	dma_addr_t all[PAGES - 3], other, small;
	u32 i;

	for (i = 0; i < PAGES - 3; i++)
		all[i] = map(0, PAGE_SIZE, DMA_TO_DEVICE);
	assert_int_equal(map(0, 4 * PAGE_SIZE, DMA_TO_DEVICE), DMA_MAPPING_ERROR);
	assert_int_equal(map_sg(dma(), sg, 2, DMA_TO_DEVICE, 0), -EIO);
	assert_int_equal(in_use(), PAGES - 3);
	other = map(0, 3 * PAGE_SIZE, DMA_TO_DEVICE);
	assert_int_not_equal(other, DMA_MAPPING_ERROR);
	assert_int_equal(map(0, 1, DMA_TO_DEVICE), DMA_MAPPING_ERROR);
	unmap(dma(), all[0], PAGE_SIZE, DMA_TO_DEVICE, 0);
	small = map(0, 1, DMA_TO_DEVICE);
	all[0] = map(0, 1, DMA_TO_DEVICE);	/* in a page that is there */
	assert_int_not_equal(all[0], DMA_MAPPING_ERROR);
	unmap(dma(), small, 1, DMA_TO_DEVICE, 0);
	unmap(dma(), other, 3 * PAGE_SIZE, DMA_TO_DEVICE, 0);
	for (i = 0; i < PAGES - 3; i++)
		unmap(dma(), all[i], i ? PAGE_SIZE : 1, DMA_TO_DEVICE, 0);
}

static void pages_of_a_list_lie_in_a_row_unless_there_are_gaps(void **state)
{
	struct scatterlist sg[4] = {
		{ mem, 512, PAGE_SIZE - 512 }, { mem + 4 * PAGE_SIZE, 0, 2 * PAGE_SIZE },
		{ mem + 8 * PAGE_SIZE, 0, 100 }, { mem + 9 * PAGE_SIZE, 0, 100 },
	};
	dma_addr_t hole = map(0, 1, DMA_TO_DEVICE);

	assert_int_equal(map_sg(dma(), sg, 4, DMA_FROM_DEVICE, 0), 4);
	assert_int_equal(in_use(), 5);		/* the last entry is a slot beside @hole */
	assert_int_equal(offset_in_page(sg[0].dma), 512);
	assert_int_equal(sg[0].dma + PAGE_SIZE - 512, sg[1].dma);
	assert_int_equal(sg[1].dma + 2 * PAGE_SIZE, sg[2].dma);
	hca_writes(sg[0].dma, 3 * PAGE_SIZE - 512 + 100);
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
	struct ib_rdma_wr wr = { .wr = { .opcode = op, .sg_list = &sge, .num_sge = 1,
					.send_flags = IB_SEND_SIGNALED } };
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

/* ---- how often ---- */

static u64 in(void)
{
	return atomic64_read(&e->dev.stats.pool_in);
}

static u64 out(void)
{
	return atomic64_read(&e->dev.stats.pool_out);
}

static struct ib_mr *new_mr(void)
{
	struct ib_mr *mr = vhca_kern_alloc_mr(&e->pd, IB_MR_TYPE_MEM_REG, 16);

	mr->pd = &e->pd;
	mr->device = &e->dev.ibdev;
	mr->page_size = PAGE_SIZE;
	return mr;
}

/* A receive of @len octets at @addr completes. */
static void receives(dma_addr_t addr, u32 len)
{
	struct ib_sge sge = { addr, len };
	struct ib_recv_wr wr = { .sg_list = &sge, .num_sge = 1 };
	const struct ib_recv_wr *bad;
	struct ib_wc wc = {};

	assert_int_equal(vhca_kern_post_recv(&e->qp.qp.ibqp, &wr, &bad), 0);
	assert_true(vhca_krq_complete(&e->qp.rq, 0, len, false, &wc));
}

/* As nvme and rpcrdma: a sync when it is written, then a request. */
static void what_is_sent_is_copied_once(void **state)
{
	dma_addr_t a = map(0, 64, DMA_TO_DEVICE);

	end_objects(e, IB_QPT_RC, false);
	sync_for_cpu(dma(), a, 64, DMA_TO_DEVICE);
	mem[0] = 0x33;
	sync_for_device(dma(), a, 64, DMA_TO_DEVICE);
	assert_int_equal(post_send(IB_WR_SEND, a, 64), 0);
	unmap(dma(), a, 64, DMA_TO_DEVICE, 0);
	assert_int_equal(in(), 64);
	assert_int_equal(out(), 0);
}

/* A window shows what the consumer changes, without a request. */
static void what_a_window_shows_is_copied_at_each_sync(void **state)
{
	struct scatterlist sg = { mem, 100, 64 };
	struct ib_mr *mr = new_mr();

	assert_int_equal(map_sg(dma(), &sg, 1, DMA_TO_DEVICE, 0), 1);
	assert_int_equal(vhca_kern_map_mr_sg(mr, &sg, 1, NULL), 1);
	mem[100] = 0x33;
	sync_for_device(dma(), sg.dma, 64, DMA_TO_DEVICE);
	assert_int_equal(*copy_of(sg.dma), 0x33);
	assert_int_equal(in(), 128);
	unmap_sg(dma(), &sg, 1, DMA_TO_DEVICE, 0);
	vhca_kern_dereg_mr(mr, NULL);
}

/* As nvme and rpcrdma: mapped for long, a sync after each completion. */
static void what_is_received_is_copied_once(void **state)
{
	dma_addr_t a = map(0, 64, DMA_FROM_DEVICE);

	end_objects(e, IB_QPT_RC, false);
	assert_int_equal(in(), 64);
	memset(copy_of(a), 0x22, 64);
	receives(a, 16);
	sync_for_cpu(dma(), a, 64, DMA_FROM_DEVICE);
	sync_for_device(dma(), a, 64, DMA_FROM_DEVICE);
	unmap(dma(), a, 64, DMA_FROM_DEVICE, 0);
	assert_int_equal(in(), 64);
	assert_int_equal(out(), 16);
	assert_int_equal(mem[15], 0x22);
	assert_int_equal(mem[16], 0x11);
}

/* In, so that what the HCA does not write is what was there, and out. */
static void what_a_peer_writes_is_copied_twice(void **state)
{
	struct scatterlist sg = { mem, 0, PAGE_SIZE };
	struct ib_mr *mr = new_mr();

	assert_int_equal(map_sg(dma(), &sg, 1, DMA_FROM_DEVICE, 0), 1);
	assert_int_equal(vhca_kern_map_mr_sg(mr, &sg, 1, NULL), 1);
	*copy_of(sg.dma) = 0x22;
	unmap_sg(dma(), &sg, 1, DMA_FROM_DEVICE, 0);
	assert_int_equal(in(), PAGE_SIZE);
	assert_int_equal(out(), PAGE_SIZE);
	assert_int_equal(mem[0], 0x22);
	vhca_kern_dereg_mr(mr, NULL);
}

static void what_a_read_brings_is_copied_twice(void **state)
{
	dma_addr_t a = map(0, PAGE_SIZE, DMA_FROM_DEVICE);
	struct ib_wc wc;

	end_objects(e, IB_QPT_RC, false);
	assert_int_equal(post_send(IB_WR_RDMA_READ, a, PAGE_SIZE), 0);
	*copy_of(a) = 0x22;
	assert_true(vhca_ksq_complete(&e->qp.sq, 0, true, &wc));
	assert_int_equal(mem[0], 0x11);
	assert_int_equal(post_send(IB_WR_RDMA_READ, a, PAGE_SIZE), 0);
	assert_true(vhca_ksq_complete(&e->qp.sq, 1, false, &wc));
	assert_int_equal(mem[0], 0x22);
	unmap(dma(), a, PAGE_SIZE, DMA_FROM_DEVICE, 0);
	assert_int_equal(in(), PAGE_SIZE);
	assert_int_equal(out(), PAGE_SIZE);
}

/* ---- what consumers take ---- */

/* @n mappings of @size octets, each with memory of its own in the consumer's kernel. */
static void take_small(u32 n, size_t size, enum dma_data_direction dir)
{
	u32 i;

	for (i = 0; i < n; i++)
		assert_int_not_equal(map(i % 16 * VHCA_POOL_SLOT, size, dir),
				     DMA_MAPPING_ERROR);
}

static void give_all(void)
{
	struct vhca_pool *p = pool_of(e);
	u32 i;

	for (i = 0; i < PAGES * VHCA_POOL_SLOTS; i++)
		if (p->origin[i])
			vhca_pool_give(p, VHCA_POOL_IOVA + i * VHCA_POOL_SLOT, 1);
}

/* Of what is no data of I/O, for a queue: docs/design/kernel-verbs.md. */
static void consumers_take_so_many_pages(void **state)
{
	take_small(128, 16, DMA_FROM_DEVICE);	/* nvme: completions, commands */
	take_small(128, 64, DMA_TO_DEVICE);
	assert_int_equal(in_use(), 16);
	give_all();
	take_small(128, 64, DMA_FROM_DEVICE);	/* nvmet: commands, completions */
	take_small(2 * 128, 16, DMA_TO_DEVICE);
	assert_int_equal(in_use(), 24);
	give_all();
	take_small(144, 128, DMA_TO_DEVICE);	/* rpcrdma: headers */
	assert_int_equal(in_use(), 9);
	give_all();
	take_small(512, 204, DMA_FROM_DEVICE);	/* iSER: receives, headers */
	take_small(512, 76, DMA_TO_DEVICE);
	assert_int_equal(in_use(), 64);
	give_all();
	assert_int_equal(in_use(), 0);
}

static void counters_tell_how_full_it_is(void **state)
{
	struct vhca_stats *st = &e->dev.stats;
	dma_addr_t a, b;

	assert_int_equal(atomic64_read(&st->pool_pages), PAGES);
	a = map(0, 3 * PAGE_SIZE, DMA_TO_DEVICE);
	b = map(0, 64, DMA_TO_DEVICE);
	assert_int_equal(map(0, PAGES * PAGE_SIZE, DMA_TO_DEVICE), DMA_MAPPING_ERROR);
	assert_int_equal(atomic64_read(&st->pool_used), 4);
	unmap(dma(), a, 3 * PAGE_SIZE, DMA_TO_DEVICE, 0);
	assert_int_equal(atomic64_read(&st->pool_used), 1);
	unmap(dma(), b, 64, DMA_TO_DEVICE, 0);
	assert_int_equal(atomic64_read(&st->pool_used), 0);
	assert_int_equal(atomic64_read(&st->pool_most), 4);
	assert_int_equal(atomic64_read(&st->pool_mappings), 2);
	assert_int_equal(atomic64_read(&st->pool_refused), 1);
}

/* ---- another connection ---- */

enum end_of { BROKEN, AWAY, AWAY_AND_UP };	/* of a connection, one step after the other */

/* The frwr_map() of an RPC of a hard mount, which fails the RPC if it fails. */
static void there_are_mappings_without_a_connection(void **state)
{
	dma_addr_t slot, row;

	e->dev.ring.state = VHCA_RING_BROKEN;
	slot = map(0, 64, DMA_TO_DEVICE);
	assert_int_not_equal(slot, DMA_MAPPING_ERROR);
	vhca_kern_away(&e->dev);
	row = map(0, 2 * PAGE_SIZE, DMA_TO_DEVICE);
	assert_int_not_equal(row, DMA_MAPPING_ERROR);
	e->dev.ring.state = VHCA_RING_UP;
	assert_int_equal(vhca_kern_back(&e->dev), 0);
	assert_int_equal(in_use(), 3);
	vhca_pool_fill(pool_of(e), row, PAGE_SIZE);
	assert_int_equal(*copy_of(row), 0x11);
	unmap(dma(), slot, 64, DMA_TO_DEVICE, 0);
	unmap(dma(), row, 2 * PAGE_SIZE, DMA_TO_DEVICE, 0);
	assert_int_equal(in_use(), 0);
	kernel_cancel(&e->dev.owed_work);
}

/* The HCA of the last one may still write to it. */
static void what_is_given_back_late_waits_for_a_connection(void **state)
{
	dma_addr_t kept = map(0, 8, DMA_TO_DEVICE), slot, row, other, small;
	int when;

	for (when = BROKEN; when <= AWAY_AND_UP; when++) {
		slot = map(0, 8, DMA_TO_DEVICE);
		row = map(0, 2 * PAGE_SIZE, DMA_TO_DEVICE);
		e->dev.ring.state = VHCA_RING_BROKEN;
		if (when >= AWAY)
			vhca_kern_away(&e->dev);
		if (when == AWAY_AND_UP)
			e->dev.ring.state = VHCA_RING_UP;
		unmap(dma(), slot, 8, DMA_TO_DEVICE, 0);
		unmap(dma(), row, 2 * PAGE_SIZE, DMA_TO_DEVICE, 0);
		assert_int_equal(in_use(), 3);
		assert_int_equal(atomic64_read(&e->dev.stats.pool_used), 3);
		other = map(0, 2 * PAGE_SIZE, DMA_TO_DEVICE);
		small = map(0, 8, DMA_TO_DEVICE);
		assert_true(other >= row + 2 * PAGE_SIZE);
		assert_int_equal(small & PAGE_MASK, kept & PAGE_MASK);
		assert_int_not_equal(small, slot);
		if (when == BROKEN)
			vhca_kern_away(&e->dev);
		e->dev.ring.state = VHCA_RING_UP;
		assert_int_equal(vhca_kern_back(&e->dev), 0);
		assert_int_equal(in_use(), 3);
		unmap(dma(), other, 2 * PAGE_SIZE, DMA_TO_DEVICE, 0);
		unmap(dma(), small, 8, DMA_TO_DEVICE, 0);
		assert_int_equal(in_use(), 1);
		assert_int_equal(atomic64_read(&e->dev.stats.pool_used), 1);
		assert_int_equal(map(0, 8, DMA_TO_DEVICE), slot);
		unmap(dma(), slot, 8, DMA_TO_DEVICE, 0);
	}
	unmap(dma(), kept, 8, DMA_TO_DEVICE, 0);
	kernel_cancel(&e->dev.owed_work);
}

/* A page whose last slot is given back late is free later; no consumer has left it mapped. */
static void all_slots_of_a_page_may_be_late(void **state)
{
	dma_addr_t slot = map(0, 8, DMA_TO_DEVICE);

	vhca_kern_away(&e->dev);
	unmap(dma(), slot, 8, DMA_TO_DEVICE, 0);
	assert_int_equal(in_use(), 1);
	assert_int_equal(vhca_kern_back(&e->dev), 0);
	assert_int_equal(in_use(), 0);
	assert_int_equal(atomic64_read(&e->dev.stats.pool_used), 0);
	assert_int_equal(map(0, PAGE_SIZE, DMA_TO_DEVICE), slot);
	unmap(dma(), slot, PAGE_SIZE, DMA_TO_DEVICE, 0);
	kernel_cancel(&e->dev.owed_work);
}

/* ---- windows ---- */

/* The rest of its page is of others. */
static void a_window_over_a_slot_has_its_octets(void **state)
{
	dma_addr_t before = map(0, 8, DMA_TO_DEVICE);
	struct scatterlist sg = { mem, 100, 64 };
	struct ib_mr *mr = new_mr();

	assert_int_equal(map_sg(dma(), &sg, 1, DMA_FROM_DEVICE, 0), 1);
	assert_int_equal(vhca_kern_map_mr_sg(mr, &sg, 1, NULL), 1);
	assert_int_equal(sg.dma, before + VHCA_POOL_SLOT);
	assert_int_equal(to_kmr(mr)->nr, 1);
	assert_int_equal(to_kmr(mr)->ext[0].addr, sg.dma);
	assert_int_equal(to_kmr(mr)->ext[0].len, 64);
	assert_int_equal(mr->iova, sg.dma);
	assert_int_equal(mr->length, 64);
	unmap_sg(dma(), &sg, 1, DMA_FROM_DEVICE, 0);
	unmap(dma(), before, 8, DMA_TO_DEVICE, 0);
	vhca_kern_dereg_mr(mr, NULL);
}

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
		hole[i] = map(0, PAGE_SIZE, DMA_TO_DEVICE);
	}
	assert_int_equal(vhca_kern_map_mr_sg(mr, sg, 5, NULL), 4);
	assert_int_equal(mr->length, 4 * PAGE_SIZE);
	for (i = 0; i < 5; i++) {
		unmap_sg(dma(), &sg[i], 1, DMA_TO_DEVICE, 0);
		unmap(dma(), hole[i], PAGE_SIZE, DMA_TO_DEVICE, 0);
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
	a.send_cq = a.recv_cq = &cq.cq.ibcq;
	other.qp.ibqp.send_cq = &cq.cq.ibcq;
	other.qp.ibqp.recv_cq = &cq.cq.ibcq;
	destroyed = 0;
	assert_int_equal(vhca_kern_create_qp(&other.qp.ibqp, &a, NULL), -EIO);
	assert_int_equal(destroyed, 1);
	assert_ptr_equal(xa_load(&to_kern(&e->dev.ibdev)->qps, 0x100), &e->qp);
}

/* Events wait for one: event.c. */
static void a_cq_counts_its_queue_pairs(void **state)
{
	struct ib_qp_init_attr a = { .qp_type = IB_QPT_RC, .cap = { .max_send_wr = 4 },
		.send_cq = &e->scq.cq.ibcq, .recv_cq = &e->rcq.cq.ibcq };
	struct vhca_kqp other;

	end_objects(e, IB_QPT_RC, false);
	other = e->qp;
	assert_int_equal(atomic_read(&e->scq.cq.qps), 1);
	assert_int_equal(atomic_read(&e->rcq.cq.qps), 1);
	assert_true(e->dev.owed_work.armed);
	/* Of a number that is there. */
	a.send_cq = &e->scq.cq.ibcq;
	a.recv_cq = &e->rcq.cq.ibcq;
	assert_int_equal(vhca_kern_create_qp(&other.qp.ibqp, &a, NULL), -EIO);
	assert_int_equal(atomic_read(&e->scq.cq.qps), 1);
	vhca_kern_destroy_qp(&e->qp.qp.ibqp, NULL);
	assert_int_equal(atomic_read(&e->scq.cq.qps), 0);
	assert_int_equal(atomic_read(&e->rcq.cq.qps), 0);
	e->qp.sq.cnt = 0;
	kernel_cancel(&e->dev.owed_work);
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
	assert_int_equal(e->dev.ibdev.node_type, RDMA_NODE_IB_CA);
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
	assert_int_equal(e->dev.ibdev.node_type, RDMA_NODE_RNIC);
}

int main(void)
{
#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_small_mapping_takes_a_slot_and_copies_its_octets),
		TEST(small_mappings_share_a_page),
		TEST(pages_and_slots_take_each_others_places),
		TEST(a_mapping_over_the_end_of_a_page_takes_two),
		TEST(a_part_of_a_mapping_is_synced),
		TEST(a_slot_reaches_no_further_than_its_page),
		TEST(what_was_not_received_stays),
		TEST(what_is_mapped_to_be_read_is_never_written),
		TEST(a_full_pool_refuses_and_a_list_leaves_nothing),
		TEST(pages_of_a_list_lie_in_a_row_unless_there_are_gaps),
		TEST(coherent_memory_is_zeroed_and_a_copy_of_nothing),
		TEST(addresses_outside_of_the_pool_copy_nothing),
		TEST(what_is_sent_is_copied_when_it_is_posted),
		TEST(what_a_window_shows_is_copied_when_it_is_registered),
		TEST(what_is_sent_is_copied_once),
		TEST(what_a_window_shows_is_copied_at_each_sync),
		TEST(what_is_received_is_copied_once),
		TEST(what_a_peer_writes_is_copied_twice),
		TEST(what_a_read_brings_is_copied_twice),
		TEST(consumers_take_so_many_pages),
		TEST(counters_tell_how_full_it_is),
		TEST(there_are_mappings_without_a_connection),
		TEST(what_is_given_back_late_waits_for_a_connection),
		TEST(all_slots_of_a_page_may_be_late),
		TEST(a_window_over_a_slot_has_its_octets),
		TEST(a_window_has_the_octets_of_the_list_and_no_others),
		TEST(a_window_has_four_ranges),
		TEST(other_kinds_of_regions_are_refused),
		TEST(more_than_a_request_can_have_is_refused),
		TEST(a_number_that_the_backend_uses_twice_makes_no_queue_pair),
		TEST(a_cq_counts_its_queue_pairs),
		TEST(a_device_for_processes_is_left_alone),
		TEST(soft_roce_is_refused_with_a_reason),
		TEST(what_failed_to_begin_has_ended),
		TEST(ib_core_gets_the_kernels_operations_and_limits),
		TEST(a_device_of_iwarp_is_an_rnic),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
