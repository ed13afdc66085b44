// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * DMA operations of the RDMA device: a DMA address is an address of the pool's region.
 * What is mapped for the device to read alone is copied when a request or a window names
 * it, since some consumers (nvmet) map first and write later, without a sync. Everything
 * else is copied when it is mapped, so that what the HCA does not write is what was there,
 * and back at the end if a window showed it.
 */
#include <linux/dma-map-ops.h>
#include <linux/scatterlist.h>

#include "kern.h"

static struct vhca_pool *to_pool(struct device *dev)
{
	return &to_kern(container_of(dev, struct ib_device, dev))->pool;
}

/* A slot, or pages with the same offset. Return: where the copy of @phys will be. */
static dma_addr_t take(struct vhca_pool *p, phys_addr_t phys, size_t size)
{
	u32 nr = vhca_pages_of(phys, size);
	dma_addr_t addr;

	if (nr <= 1 && size <= VHCA_POOL_SLOT)
		return vhca_pool_take_slot(p);
	addr = vhca_pool_take(p, nr);
	return addr == DMA_MAPPING_ERROR ? addr : addr + offset_in_page(phys);
}

static void map_at(struct vhca_pool *p, dma_addr_t addr, phys_addr_t phys, size_t size,
		   enum dma_data_direction dir, unsigned long attrs)
{
	vhca_pool_assign(p, addr, phys, size, dir == DMA_TO_DEVICE);
	if (dir != DMA_TO_DEVICE && !(attrs & DMA_ATTR_SKIP_CPU_SYNC))
		vhca_pool_fill(p, addr, size);
}

static dma_addr_t dma_map_op(struct device *dev, VHCA_DMA_FROM, size_t size,
			     enum dma_data_direction dir, unsigned long attrs)
{
	struct vhca_pool *p = to_pool(dev);
	dma_addr_t addr = take(p, VHCA_DMA_PHYS, size);

	if (addr != DMA_MAPPING_ERROR)
		map_at(p, addr, VHCA_DMA_PHYS, size, dir, attrs);
	return addr;
}

static void unmap(struct device *dev, dma_addr_t addr, size_t size,
		  enum dma_data_direction dir, unsigned long attrs)
{
	struct vhca_pool *p = to_pool(dev);

	if (dir != DMA_TO_DEVICE && !(attrs & DMA_ATTR_SKIP_CPU_SYNC))
		vhca_pool_return(p, addr, size);
	vhca_pool_give(p, addr, size);
}

static void unmap_sg(struct device *dev, struct scatterlist *sgl, int nents,
		     enum dma_data_direction dir, unsigned long attrs)
{
	struct scatterlist *sg;
	int i;

	for_each_sg(sgl, sg, nents, i)
		unmap(dev, sg_dma_address(sg), sg_dma_len(sg), dir, attrs);
}

/* Octets of the entries from @sg on that are one extent: @nr at most, @n of them. */
static size_t extent(struct scatterlist *sg, int nr, int *n)
{
	size_t size = sg->length;

	for (*n = 1; *n < nr; ++*n) {
		if (offset_in_page(sg->offset + sg->length))
			break;
		sg = sg_next(sg);
		if (offset_in_page(sg->offset))
			break;
		size += sg->length;
	}
	return size;
}

/*
 * Entries that meet at the ends of pages lie in a row, so that a window has one extent
 * for them.
 */
static int map_sg(struct device *dev, struct scatterlist *sgl, int nents,
		  enum dma_data_direction dir, unsigned long attrs)
{
	struct vhca_pool *p = to_pool(dev);
	struct scatterlist *sg = sgl;
	int i = 0, n;
	dma_addr_t at;

	while (i < nents) {
		at = take(p, sg_phys(sg), extent(sg, nents - i, &n));
		if (at == DMA_MAPPING_ERROR) {
			unmap_sg(dev, sgl, i, DMA_TO_DEVICE, 0);
			return -EIO;
		}
		for (i += n; n--; sg = sg_next(sg)) {
			map_at(p, at, sg_phys(sg), sg->length, dir, attrs);
			sg_dma_address(sg) = at;
			sg_dma_len(sg) = sg->length;
			at += sg->length;
		}
	}
	return nents;
}

static void sync_for_cpu(struct device *dev, dma_addr_t addr, size_t size,
			 enum dma_data_direction dir)
{
	if (dir != DMA_TO_DEVICE)
		vhca_pool_return(to_pool(dev), addr, size);
}

static void sync_for_device(struct device *dev, dma_addr_t addr, size_t size,
			    enum dma_data_direction dir)
{
	if (dir != DMA_FROM_DEVICE)
		vhca_pool_renew(to_pool(dev), addr, size);
}

static void sync_sg_for_cpu(struct device *dev, struct scatterlist *sgl, int nents,
			    enum dma_data_direction dir)
{
	struct scatterlist *sg;
	int i;

	for_each_sg(sgl, sg, nents, i)
		sync_for_cpu(dev, sg_dma_address(sg), sg_dma_len(sg), dir);
}

static void sync_sg_for_device(struct device *dev, struct scatterlist *sgl, int nents,
			       enum dma_data_direction dir)
{
	struct scatterlist *sg;
	int i;

	for_each_sg(sgl, sg, nents, i)
		sync_for_device(dev, sg_dma_address(sg), sg_dma_len(sg), dir);
}

/* Pages of the pool itself: a copy of nothing. */
static void *alloc_coherent(struct device *dev, size_t size, dma_addr_t *addr,
			    gfp_t gfp, unsigned long attrs)
{
	struct vhca_pool *p = to_pool(dev);

	*addr = vhca_pool_take(p, vhca_pages_of(0, size));
	return *addr == DMA_MAPPING_ERROR ? NULL :
	       memset(vhca_pool_at(p, *addr), 0, size);
}

static void free_coherent(struct device *dev, size_t size, void *va,
			  dma_addr_t addr, unsigned long attrs)
{
	vhca_pool_give(to_pool(dev), addr, size);
}

static int pool_dma_supported(struct device *dev, u64 mask)
{
	return mask >= DMA_BIT_MASK(64);
}

const struct dma_map_ops vhca_dma_ops = {
	.alloc = alloc_coherent,
	.free = free_coherent,
	.dma_map_op = dma_map_op,
	.dma_unmap_op = unmap,
	.map_sg = map_sg,
	.unmap_sg = unmap_sg,
	.sync_single_for_cpu = sync_for_cpu,
	.sync_single_for_device = sync_for_device,
	.sync_sg_for_cpu = sync_sg_for_cpu,
	.sync_sg_for_device = sync_sg_for_device,
	.dma_supported = pool_dma_supported,
};
