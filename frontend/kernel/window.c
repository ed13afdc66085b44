// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Fast registration: a memory region of ib_core is a memory window of type 2 over the
 * pool, which a work request (send.c) binds to its queue pair. The key opens what the
 * consumer registered, in up to VHCA_KERN_EXTENTS ranges; what dma.c maps is one range
 * unless it has gaps.
 */
#include <linux/slab.h>

#include "kern.h"
#include "verbs/cmd.h"
#include "verbs/verbs.h"

struct ib_mr *vhca_kern_alloc_mr(struct ib_pd *ibpd, enum ib_mr_type type, u32 nr)
{
	struct vhca_dev *dev = to_vdev(ibpd->device);
	struct xenvhca_alloc_mw_req req = { .type = IB_MW_TYPE_2 };
	struct xenvhca_mr_rsp rsp;
	struct vhca_kmr *mr;
	int rc;

	if (type != IB_MR_TYPE_MEM_REG)
		return ERR_PTR(-EOPNOTSUPP);
	if (nr > VHCA_KERN_PAGES)
		return ERR_PTR(-EINVAL);
	mr = kzalloc(sizeof(*mr), GFP_KERNEL);
	if (!mr)
		return ERR_PTR(-ENOMEM);
	rc = vhca_hold(dev, READ_ONCE(dev->gen));
	if (rc)
		goto free;
	req.pd = dev->own_pd;
	mr->gen = dev->gen;
	rc = vhca_made(dev, vhca_cmd_alloc_mw(dev->own_uc, &req, NULL, &rsp));
	vhca_let_go(dev);
	if (rc)
		goto free;
	mr->handle = rsp.handle;
	mr->ibmr.rkey = rsp.rkey;
	mr->ibmr.lkey = rsp.rkey;
	return &mr->ibmr;

free:
	kfree(mr);
	return ERR_PTR(rc);
}

static int set_page(struct ib_mr *ibmr, u64 addr)
{
	struct vhca_kmr *mr = to_kmr(ibmr);

	if (mr->nr && mr->ext[mr->nr - 1].addr + mr->ext[mr->nr - 1].len == addr) {
		mr->ext[mr->nr - 1].len += ibmr->page_size;
		return 0;
	}
	if (mr->nr == VHCA_KERN_EXTENTS)
		return -ENOMEM;
	mr->ext[mr->nr].addr = addr;
	mr->ext[mr->nr++].len = ibmr->page_size;
	return 0;
}

/* ib_sg_to_pages() names whole pages: cuts what is not the consumer's, opens the rest. */
static void trim(struct vhca_kmr *mr)
{
	struct vhca_pool *pool = &to_kern(mr->ibmr.device)->pool;
	u64 cut = mr->ibmr.iova & (mr->ibmr.page_size - 1), left = mr->ibmr.length;
	u32 i;

	mr->ext[0].addr += cut;
	mr->ext[0].len -= cut;
	for (i = 0; i < mr->nr; i++) {
		mr->ext[i].len = min(mr->ext[i].len, left);
		left -= mr->ext[i].len;
		vhca_pool_open(pool, mr->ext[i].addr, mr->ext[i].len);
	}
}

int vhca_kern_map_mr_sg(struct ib_mr *ibmr, struct scatterlist *sg, int nents,
			unsigned int *offset)
{
	struct vhca_kmr *mr = to_kmr(ibmr);
	int n;

	mr->nr = 0;
	n = ib_sg_to_pages(ibmr, sg, nents, offset, set_page);
	if (n > 0 && mr->nr)
		trim(mr);
	return n;
}

int vhca_kern_dereg_mr(struct ib_mr *ibmr, struct ib_udata *udata)
{
	struct vhca_dev *dev = to_vdev(ibmr->device);
	struct vhca_kmr *mr = to_kmr(ibmr);

	if (!vhca_hold(dev, mr->gen)) {
		vhca_release(dev->own_uc, "mw", mr->handle,
			     vhca_cmd_destroy(dev->own_uc, XENVHCA_OP_DEALLOC_MW, mr->handle),
			     NULL);
		vhca_let_go(dev);
	}
	kfree(mr);
	return 0;
}
