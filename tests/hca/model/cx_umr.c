// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * UMR WQEs: binding and invalidating memory windows, as set_bind_wr() of the
 * provider builds them, and what the driver's own UMR QP does to regions
 * (mlx5r_umr_revoke_mr(), mlx5r_umr_rereg_pd_access()). Page lists are changed
 * by UMR if the configuration has umr_lists: by the driver's QP alone, as
 * mlx5r_umr_update_mr_pas() does it; else umr_modify_entity_size_disabled is set.
 *
 * A process's WQE can only touch a window of the QP's PD, and can only point
 * it at what regions of that PD allow. Only the driver can create a QP of type
 * UMR; it may change any region's PD and rights.
 */
#include <errno.h>
#include <stdlib.h>

#include "cx_cmd.h"

#define FAIL_IF_BOUND	BIT(5)	/* flags: check that it is free, ... */
#define FAIL_IF_FREE	BIT(6)	/* ... or that it is not */

/* MLX5_MKEY_MASK_*, linux/mlx5/device.h. */
#define MASK_LEN	BIT_ULL(0)
#define MASK_PAGE	BIT_ULL(1)
#define MASK_START	BIT_ULL(6)
#define MASK_PD		BIT_ULL(7)
#define MASK_KEY	BIT_ULL(13)
#define MASK_QPN	BIT_ULL(14)
#define MASK_LR		BIT_ULL(17)
#define MASK_LW		BIT_ULL(18)
#define MASK_RR		BIT_ULL(19)
#define MASK_RW		BIT_ULL(20)
#define MASK_A		BIT_ULL(21)
#define MASK_ORDER	(BIT_ULL(25) | BIT_ULL(47))	/* relaxed ordering */
#define MASK_FREE	BIT_ULL(29)
#define MASK_RIGHTS	(MASK_LR | MASK_LW | MASK_RR | MASK_RW | MASK_A)
#define MASK_ANY	(MASK_FREE | MASK_KEY | MASK_QPN | MASK_RIGHTS)
#define MASK_WINDOW	(MASK_ANY | MASK_LEN | MASK_START)
#define MASK_DRIVER	(MASK_ANY | MASK_PD | MASK_ORDER)
#define MASK_EXTENT	(MASK_LEN | MASK_START | MASK_PAGE)
#define MTT_FLAGS	0xfffull
#define PART		64u	/* entries of a page list that are read at once */

/* A WQE, as far as it is fixed; klm has room for what is behind. */
struct umr {
	struct mlx5_wqe_ctrl_seg ctrl;
	struct mlx5_wqe_umr_ctrl_seg umr;
	struct mlx5_wqe_mkey_context_seg mkey;
	struct mlx5_wqe_umr_klm_seg klm[(CX_MAX_WQE - 128) / 16];
};

#define UMR_FIXED	offsetof(struct umr, klm)

/* The rights that the mask names, from the segment. */
static uint8_t rights(uint8_t old, uint64_t mask, uint8_t flags)
{
	static const struct {
		uint64_t mask;
		uint8_t flag, right;
	} map[] = {
		{ MASK_LR, MLX5_WQE_MKEY_CONTEXT_ACCESS_FLAGS_LOCAL_READ,
		  CX_LR },
		{ MASK_LW, MLX5_WQE_MKEY_CONTEXT_ACCESS_FLAGS_LOCAL_WRITE,
		  CX_LW },
		{ MASK_RR, MLX5_WQE_MKEY_CONTEXT_ACCESS_FLAGS_REMOTE_READ,
		  CX_RR },
		{ MASK_RW, MLX5_WQE_MKEY_CONTEXT_ACCESS_FLAGS_REMOTE_WRITE,
		  CX_RW },
		{ MASK_A, MLX5_WQE_MKEY_CONTEXT_ACCESS_FLAGS_ATOMIC,
		  CX_ATOMIC },
	};
	size_t i;

	for (i = 0; i < sizeof(map) / sizeof(map[0]); i++) {
		if (!(mask & map[i].mask))
			continue;
		old &= ~map[i].right;
		if (flags & map[i].flag)
			old |= map[i].right;
	}
	return old;
}

/* What of the key the WQE names may be changed by this QP. */
static int umr_allowed(const struct cx_dev *d, const struct cx_qp *qp,
		       const struct cx_mkey *k, const struct umr *w)
{
	uint64_t mask = be64toh(w->umr.mkey_mask);
	uint32_t key = be32toh(w->ctrl.imm);
	bool driver = qp->st == CX_ST_UMR;
	uint64_t may = !driver ? MASK_WINDOW : !d->config.umr_lists ?
		       MASK_DRIVER : MASK_DRIVER | MASK_EXTENT;

	if (!k)
		return -ENOKEY;
	if (!k->umr_en || (!driver && (!k->klms || k->pd != qp->pd)))
		return -EPERM;
	/* The provider's invalidation sets the variant to 0. */
	if (!k->free && k->variant != (key & 0xff))
		return -ENOKEY;
	if (mask & ~may)
		return -EINVAL;
	if ((w->umr.flags & FAIL_IF_BOUND) && !k->free)
		return -EINVAL;
	if ((w->umr.flags & FAIL_IF_FREE) && k->free)
		return -EINVAL;
	if ((w->umr.flags & MLX5_WQE_UMR_CTRL_FLAG_CHECK_QPN) &&
	    k->qpn != qp->qpn)
		return -EPERM;
	return 0;
}

/* All that the mask names but the translation. */
static int umr_apply(const struct cx_qp *qp, struct cx_mkey *k,
		     const struct umr *w)
{
	uint64_t mask = be64toh(w->umr.mkey_mask);
	uint32_t qpn_key = be32toh(w->mkey.qpn_mkey);

	if (mask & MASK_FREE)
		k->free = w->mkey.free & MLX5_WQE_MKEY_CONTEXT_FREE;
	if (mask & MASK_KEY)
		k->variant = qpn_key & 0xff;
	if (mask & MASK_QPN)
		k->qpn = qpn_key >> 8;
	if (mask & MASK_PD)
		k->pd = be32toh(w->mkey.flags_pd) & 0xffffff;
	if (mask & MASK_START)
		k->start = be64toh(w->mkey.start_addr);
	if (mask & MASK_LEN)
		k->len = be64toh(w->mkey.len);
	if (mask & MASK_PAGE)
		k->log_page = w->mkey.log_page_size & 0x1f;
	k->access = rights(k->access, mask, w->mkey.access_flags);
	if (k->klms && !k->free && k->type2 != (k->qpn == qp->qpn))
		return -EPERM;
	return k->qpn == CX_ANY_QPN || k->qpn == qp->qpn ? 0 : -EPERM;
}

static int klms_parse(struct cx_mkey *k, const struct umr *w, uint32_t nr)
{
	uint32_t i;

	k->klm = calloc(nr, sizeof(*k->klm));
	if (!k->klm)
		return -ENOMEM;
	for (i = 0; i < nr; i++) {
		k->klm[i].bytes = be32toh(w->klm[i].byte_count);
		k->klm[i].key = be32toh(w->klm[i].mkey);
		k->klm[i].va = be64toh(w->klm[i].address);
	}
	return 0;
}

/* The regions behind a new binding must allow all that the window will. */
static int klms_check(struct cx_dev *d, const struct cx_mkey *k, uint32_t nr)
{
	uint64_t bytes = 0;
	uint32_t i;
	int err;

	for (i = 0; i < nr; i++) {
		if (!k->klm[i].bytes)
			continue;
		err = cx_mkey_bindable(d, &k->klm[i], k->pd, k->access);
		if (err)
			return err;
		bytes += k->klm[i].bytes;
	}
	if (!k->len || k->len > bytes || k->start + k->len - 1 < k->start)
		return -ERANGE;
	return 0;
}

/*
 * The new translation of a window, whose other fields are k's: a list of its
 * own, or none if it becomes free. The entries lie in the WQE.
 */
static int umr_bind(struct cx_dev *d, struct cx_mkey *k, const struct umr *w,
		    size_t len)
{
	uint32_t nr = be16toh(w->umr.klm_octowords);
	int err;

	k->klm = NULL;
	k->nr = 0;
	if (k->free)
		return 0;
	if (!(w->umr.flags & MLX5_WQE_UMR_CTRL_FLAG_INLINE) ||
	    be16toh(w->umr.translation_offset) || !nr || nr > k->room ||
	    nr > (len - UMR_FIXED) / sizeof(w->klm[0]))
		return -EINVAL;
	err = klms_parse(k, w, nr);
	if (!err)
		err = klms_check(d, k, nr);
	if (!err && !cx_entries_take(d, nr))
		err = -ENOMEM;
	if (err)
		free(k->klm);
	k->nr = nr;
	return err;
}

/* Entries of the page list of a region: those it has, or has room for. */
static int pages_room(struct cx_dev *d, struct cx_mkey *k)
{
	if (k->mtt)
		return 0;
	if (!k->room || !cx_entries_take(d, k->room))
		return -ENOMEM;
	k->mtt = calloc(k->room, sizeof(*k->mtt));
	if (!k->mtt) {
		cx_entries_give(d, k->room);
		return -ENOMEM;
	}
	k->nr = k->room;
	return 0;
}

/*
 * The driver's list of pages, which the data segment behind the fixed part names by a
 * key for all of memory. Lists are filled up with zeros to 64 octets.
 */
static int umr_pages(struct cx_dev *d, const struct cx_qp *qp,
		     struct cx_mkey *k, const struct umr *w, size_t len)
{
	const struct mlx5_wqe_umr_klm_seg *data = &w->klm[0];
	const struct cx_mkey *dma = cx_ids_get(&d->mkeys,
					       be32toh(data->mkey) >> 8);
	uint64_t i, at = 0, nr = 2 * be16toh(w->umr.klm_octowords);
	uint8_t pas[8 * PART];
	size_t some;
	int err;

	if (w->umr.flags & MLX5_WQE_UMR_CTRL_FLAG_TRNSLATION_OFFSET)
		at = 2 * be16toh(w->umr.translation_offset);
	if (!d->config.umr_lists || qp->st != CX_ST_UMR || k->pa || !dma ||
	    !dma->pa || len < UMR_FIXED + sizeof(*data) ||
	    be32toh(data->byte_count) != 8 * nr)
		return -EINVAL;
	err = pages_room(d, k);
	for (i = 0; i < nr && !err; i++) {
		some = nr - i < PART ? nr - i : PART;
		if (i % PART == 0)
			err = cx_dma_read(d, be64toh(data->address) + 8 * i,
					  pas, 8 * some);
		if (!err && at + i < k->nr)
			k->mtt[at + i] = cx_be64_get(pas + 8 * (i % PART)) &
					 ~MTT_FLAGS;
		else if (!err && cx_be64_get(pas + 8 * (i % PART)))
			err = -ERANGE;
	}
	return err;
}

/* The pages of a region must hold all of it. */
static int extent_check(const struct cx_mkey *k)
{
	uint64_t page = 1ULL << k->log_page, first = k->start & (page - 1);

	if (k->log_page < 12 || k->start + k->len < k->start ||
	    k->len > page * k->nr || first > page * k->nr - k->len)
		return -ERANGE;
	return 0;
}

/* The key becomes what was made of its copy, with the copy's list. */
static void umr_commit(struct cx_dev *d, struct cx_mkey *k,
		       const struct cx_mkey *new)
{
	if (k->klms) {
		cx_entries_give(d, k->nr);
		free(k->klm);
	}
	*k = *new;
}

int cx_umr(struct cx_dev *d, struct cx_qp *qp, const void *wqe, size_t len)
{
	struct cx_mkey *k, new;
	struct umr w;
	bool klms;
	int err;

	if (len < UMR_FIXED || len > sizeof(w))
		return -EINVAL;
	memset(&w, 0, sizeof(w));
	memcpy(&w, wqe, len);
	k = cx_ids_get(&d->mkeys, be32toh(w.ctrl.imm) >> 8);
	err = umr_allowed(d, qp, k, &w);
	if (err)
		return err;
	klms = k->klms;
	if (!klms && w.umr.klm_octowords &&
	    !(w.umr.flags & MLX5_WQE_UMR_CTRL_FLAG_INLINE))
		err = umr_pages(d, qp, k, &w, len);
	if (err)
		return err;
	new = *k;
	err = umr_apply(qp, &new, &w);
	if (!err && !cx_pd(d, new.pd))
		err = -EPERM;
	if (!err && klms)
		err = umr_bind(d, &new, &w, len);
	else if (!err && be64toh(w.umr.mkey_mask) & MASK_EXTENT)
		err = extent_check(&new);
	if (!err)
		umr_commit(d, k, &new);
	return err;
}

int cx_invalidate(struct cx_dev *d, struct cx_qp *qp, uint32_t key)
{
	struct cx_mkey *k = cx_ids_get(&d->mkeys, key >> 8);
	struct cx_mkey new;

	if (!k || k->free || k->variant != (key & 0xff))
		return -ENOKEY;
	if (k->pd != qp->pd || !k->klms || !k->type2 || k->qpn != qp->qpn)
		return -EPERM;
	new = *k;
	new.free = true;
	new.qpn = CX_ANY_QPN;
	new.klm = NULL;
	new.nr = 0;
	umr_commit(d, k, &new);
	return 0;
}
