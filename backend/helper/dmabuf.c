// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Grants of another domain as a dma-buf, for a memory region of an HCA that supports
 * dma-bufs. A page is mapped once, for DMA; gntdev would map it for the process as well.
 * No program can read the page.
 *
 * This runs in the worker's system calls, in the HCA's driver (attach, map) and in the
 * thread that drops the last reference. The region holds a reference: the driver ends the
 * region in the HCA, then puts the dma-buf, which unmaps the grants before the system call
 * that ended the region returns. If a kernel thread ends the region, because a process
 * died or an HCA is removed, the kernel puts the dma-buf a little later.
 *
 * All mappings are writable, because the rights of the region decide in the driver whether
 * the HCA may write. A page that another domain granted read-only may be its page table,
 * which nobody else may write, so such a page is refused.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/dma-buf.h>
#include <linux/dma-mapping.h>
#include <linux/fcntl.h>
#include <linux/moduleparam.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <xen/grant_table.h>
#include <xen/xen.h>
#include <asm/xen/hypercall.h>
#include "compat.h"
#include "helper.h"

VH_IMPORT_DMA_BUF;

#define VH_OPS		16384u		/* of one hypercall */

static unsigned int vh_map_pages = 1 << 22;
module_param_named(map_pages, vh_map_pages, uint, 0644);
MODULE_PARM_DESC(map_pages, "Most pages of all dma-bufs (4194304); 0: makes none");

/* The grants of one dma-buf. The unmap operations contain the bus addresses. */
struct vh_map {
	u32 nr;				/* pages */
	u32 mapped;			/* valid entries of undo */
	u32 flags;			/* GNTMAP_* */
	u32 users;			/* 1: an HCA has the pages */
	domid_t domid;
	struct page **pages;		/* NULL in a PV domain */
	struct gnttab_unmap_grant_ref undo[];
};

/*
 * A PV domain's bus addresses are machine addresses, which Xen returns: the pages are
 * mapped for DMA only, without an address in this kernel. In other domains Xen maps a
 * grant only at a page of the domain's address space.
 */
static u32 vh_map_flags(void)
{
	return xen_pv_domain() ? GNTMAP_device_map : GNTMAP_host_map;
}

static unsigned long vh_map_addr(const struct vh_map *m, u32 i)
{
	return m->pages ? (unsigned long)page_address(m->pages[i]) : 0;
}

/* Unmaps n of the mapped grants, from at on. Did Xen unmap all? */
static bool vh_undo(struct vh_map *m, u32 at, u32 n)
{
	u32 i;
	int err;

	if (m->pages)
		err = gnttab_unmap_refs(m->undo + at, NULL, m->pages + at, n);
	else
		err = HYPERVISOR_grant_table_op(GNTTABOP_unmap_grant_ref,
						m->undo + at, n);
	if (err)
		return false;
	for (i = at; i < at + n; i++)
		if (m->undo[i].status != GNTST_okay)
			return false;
	return true;
}

static void vh_map_free(struct vh_map *m)
{
	bool all = true;
	u32 at, n;

	for (at = 0; at < m->mapped; at += n) {
		n = min(m->mapped - at, VH_OPS);
		all &= vh_undo(m, at, n);
		cond_resched();
	}
	if (!all)		/* they stay charged, and are not used again */
		pr_err_ratelimited("grants of domain %u were not unmapped\n",
				   m->domid);
	else if (m->pages)
		gnttab_free_pages(m->nr, m->pages);
	if (all)
		atomic_sub(m->nr, &vh_mapped);
	kvfree(m->pages);
	kvfree(m);
}

/* Everything is charged before it is allocated. */
static struct vh_map *vh_map_new(const struct vhca_helper_map *u)
{
	struct vh_map *m = NULL;

	if ((u32)atomic_add_return(u->nr_pages, &vh_mapped) >
	    READ_ONCE(vh_map_pages)) {
		atomic_sub(u->nr_pages, &vh_mapped);
		return ERR_PTR(-EBUSY);
	}
	m = kvzalloc(struct_size(m, undo, u->nr_pages), GFP_KERNEL_ACCOUNT);
	if (!m)
		goto uncharge;
	m->nr = u->nr_pages;
	m->domid = u->domid;
	m->flags = vh_map_flags();
	if (m->flags & GNTMAP_device_map)
		return m;
	m->pages = kvcalloc(m->nr, sizeof(*m->pages), GFP_KERNEL_ACCOUNT);
	if (m->pages && !gnttab_alloc_pages(m->nr, m->pages))
		return m;
	kvfree(m->pages);
	kvfree(m);
uncharge:
	atomic_sub(u->nr_pages, &vh_mapped);
	return ERR_PTR(-ENOMEM);
}

/* Collects the unmap operations of mapped grants; pages of the others follow theirs. */
static int vh_map_done(struct vh_map *m, const struct gnttab_map_grant_ref *op,
		       u32 n)
{
	u32 i, at = m->mapped;
	int err = 0;

	for (i = 0; i < n; i++) {
		if (op[i].status != GNTST_okay) {
			err = op[i].status == GNTST_no_space ? -ENOSPC : -EINVAL;
			continue;
		}
		if (m->pages)
			swap(m->pages[m->mapped], m->pages[at + i]);
		gnttab_set_unmap_op(&m->undo[m->mapped],
				    vh_map_addr(m, m->mapped), m->flags,
				    op[i].handle);
		m->undo[m->mapped].status = GNTST_general_error;
		if (!m->pages)
			m->undo[m->mapped].dev_bus_addr = op[i].dev_bus_addr;
		m->mapped++;
	}
	return err;
}

/* @n more grants; refs and op have room for them. */
static int vh_map_some(struct vh_map *m, const u32 __user *user, u32 n,
		       u32 *refs, struct gnttab_map_grant_ref *op)
{
	int err = 0, done;
	u32 i;

	if (copy_from_user(refs, user, n * sizeof(*refs)))
		return -EFAULT;
	for (i = 0; i < n; i++) {
		gnttab_set_map_op(&op[i], vh_map_addr(m, m->mapped + i),
				  m->flags, refs[i], m->domid);
		op[i].status = GNTST_general_error;
	}
	/* The hypercall as a whole fails before Xen maps a grant, or after. */
	if (m->pages)
		err = gnttab_map_refs(op, NULL, m->pages + m->mapped, n);
	else
		gnttab_batch_map(op, n);
	done = vh_map_done(m, op, n);
	return err ? err : done;
}

static int vh_map_refs(struct vh_map *m, const u32 __user *user)
{
	u32 n, room = min(m->nr, VH_OPS);
	struct gnttab_map_grant_ref *op;
	int err = -ENOMEM;
	u32 *refs;

	refs = kvmalloc_array(room, sizeof(*refs), GFP_KERNEL_ACCOUNT);
	op = kvmalloc_array(room, sizeof(*op), GFP_KERNEL_ACCOUNT);
	if (refs && op)
		err = 0;
	while (!err && m->mapped < m->nr) {
		n = min(m->nr - m->mapped, VH_OPS);
		err = vh_map_some(m, user + m->mapped, n, refs, op);
		cond_resched();
	}
	kvfree(op);
	kvfree(refs);
	return err;
}

/* ---- the dma-buf ---- */
/*
 * A software HCA has no bus and cannot use bus addresses. Each attachment has a list, and
 * the creator of the dma-buf is charged for one, so only one may attach.
 */
static int vh_buf_attach(struct dma_buf *buf, struct dma_buf_attachment *a)
{
	struct vh_map *m = buf->priv;

	if (!a->dev->dma_mask)
		return -EOPNOTSUPP;
	return cmpxchg(&m->users, 0, 1) ? -EBUSY : 0;
}

static void vh_buf_detach(struct dma_buf *buf, struct dma_buf_attachment *a)
{
	struct vh_map *m = buf->priv;

	xchg(&m->users, 0);
}

/*
 * One entry for each page, without merging, because neighbours in this list are not
 * adjacent on the bus. The importer changes the table, so it gets one of its own.
 */
static int vh_buf_fill(const struct vh_map *m, struct sg_table *sgt,
		       struct device *dev, enum dma_data_direction dir)
{
	struct scatterlist *sg;
	unsigned int i;

	for_each_sgtable_sg(sgt, sg, i) {
		sg_set_page(sg, m->pages ? m->pages[i] : NULL, PAGE_SIZE, 0);
		if (m->pages)
			continue;
		sg_dma_address(sg) = m->undo[i].dev_bus_addr;
		sg_dma_len(sg) = PAGE_SIZE;
		/* swiotlb must not make a copy for a device that does not reach the page. */
		if (m->undo[i].dev_bus_addr > dma_get_mask(dev))
			return -EIO;
	}
	return m->pages ? dma_map_sgtable(dev, sgt, dir, 0) : 0;
}

static struct sg_table *vh_buf_map(struct dma_buf_attachment *a,
				   enum dma_data_direction dir)
{
	const struct vh_map *m = a->dmabuf->priv;
	struct sg_table *sgt = kzalloc(sizeof(*sgt), GFP_KERNEL_ACCOUNT);
	int err;

	if (!sgt)
		return ERR_PTR(-ENOMEM);
	err = sg_alloc_table(sgt, m->nr, GFP_KERNEL_ACCOUNT);
	if (!err) {
		err = vh_buf_fill(m, sgt, a->dev, dir);
		if (!err)
			return sgt;
		sg_free_table(sgt);
	}
	kfree(sgt);
	return ERR_PTR(err);
}

static void vh_buf_unmap(struct dma_buf_attachment *a, struct sg_table *sgt,
			 enum dma_data_direction dir)
{
	const struct vh_map *m = a->dmabuf->priv;

	if (m->pages)
		dma_unmap_sgtable(a->dev, sgt, dir, 0);
	sg_free_table(sgt);
	kfree(sgt);
}

static void vh_buf_release(struct dma_buf *buf)
{
	vh_map_free(buf->priv);
}

static const struct dma_buf_ops vh_buf_ops = {
	.attach = vh_buf_attach,
	.detach = vh_buf_detach,
	.map_dma_buf = vh_buf_map,
	.unmap_dma_buf = vh_buf_unmap,
	.release = vh_buf_release,
};

/* Consumes m. A file descriptor, or an error. */
static int vh_buf_fd(struct vh_map *m)
{
	DEFINE_DMA_BUF_EXPORT_INFO(info);
	struct dma_buf *buf;
	int fd;

	info.ops = &vh_buf_ops;
	info.size = (size_t)m->nr << PAGE_SHIFT;
	info.flags = O_RDWR | O_CLOEXEC;
	info.priv = m;
	buf = dma_buf_export(&info);
	if (IS_ERR(buf)) {
		vh_map_free(m);
		return PTR_ERR(buf);
	}
	fd = dma_buf_fd(buf, O_CLOEXEC);
	if (fd < 0)
		dma_buf_put(buf);
	return fd;
}

long vh_map(struct vhca_helper_map __user *arg)
{
	struct vhca_helper_map u;
	struct vh_map *m;
	int err;

	if (copy_from_user(&u, arg, sizeof(u)))
		return -EFAULT;
	if (!u.nr_pages || u.nr_pages > VHCA_HELPER_MAX_MAP ||
	    u.domid >= DOMID_FIRST_RESERVED || u.reserved)
		return -EINVAL;
	if (!READ_ONCE(vh_map_pages))
		return -EOPNOTSUPP;
	m = vh_map_new(&u);
	if (IS_ERR(m))
		return PTR_ERR(m);
	err = vh_map_refs(m, u64_to_user_ptr(u.refs));
	if (!err)
		return vh_buf_fd(m);
	vh_map_free(m);
	return err;
}
