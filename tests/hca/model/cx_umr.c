// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * UMR WQEs, of three kinds of send queues:
 *
 * - A process's binds and invalidates memory windows, as set_bind_wr() of the
 *   provider does it. It can only touch a window of the QP's PD, and can only
 *   point it at what regions of that PD allow.
 * - A kernel's (fre, fast registration enabled, in its context) besides gives a
 *   key of the QP's PD a list of pages, or of pieces of other keys, and takes it
 *   back (set_reg_wr(), set_linv_wr() of the driver). Such a list holds bus
 *   addresses: whoever posts it may reach all memory.
 * - The driver's own QP, of type UMR, changes any region's PD and rights
 *   (mlx5r_umr_revoke_mr(), mlx5r_umr_rereg_pd_access()) and fills page lists
 *   (mlx5r_umr_update_mr_pas()).
 *
 * Lists of pages are there if the configuration has umr_lists, else
 * umr_modify_entity_size_disabled is set.
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
#define MASK_RINVAL	BIT_ULL(8)
#define MASK_KEY	BIT_ULL(13)
#define MASK_QPN	BIT_ULL(14)
#define MASK_LR		BIT_ULL(17)
#define MASK_LW		BIT_ULL(18)
#define MASK_RR		BIT_ULL(19)
#define MASK_RW		BIT_ULL(20)
#define MASK_A		BIT_ULL(21)
#define MASK_FENCE	BIT_ULL(23)	/* small, for READ responses */
#define MASK_ORDER	(BIT_ULL(25) | BIT_ULL(47))	/* relaxed ordering */
#define MASK_FREE	BIT_ULL(29)
#define MASK_RIGHTS	(MASK_LR | MASK_LW | MASK_RR | MASK_RW | MASK_A)
#define MASK_ANY	(MASK_FREE | MASK_KEY | MASK_QPN | MASK_RIGHTS)
#define MASK_WINDOW	(MASK_ANY | MASK_LEN | MASK_START)
#define MASK_FAST	(MASK_WINDOW | MASK_PAGE | MASK_RINVAL | MASK_FENCE)
#define MASK_DRIVER	(MASK_ANY | MASK_PD | MASK_ORDER)
#define MASK_EXTENT	(MASK_LEN | MASK_START | MASK_PAGE)
#define MTT_FLAGS	0xfffull
#define REMOTE_INVAL	BIT(24)	/* of flags_pd: en_rinval */
#define OCTOWORD	16u	/* two pages, or one piece */
#define PART		64u	/* entries of a page list that are read at once */

/*
 * A WQE, as far as it is fixed; klm has room for what is behind: the list, or a data
 * segment that says where it lies.
 */
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

/* May WQEs of this QP hold bus addresses? */
static bool is_fast(const struct cx_dev *d, const struct cx_qp *qp)
{
	return d->config.umr_lists && CX_GET(qpc, qp->qpc, fre);
}

static uint64_t may_change(const struct cx_dev *d, const struct cx_qp *qp)
{
	if (qp->st != CX_ST_UMR)
		return is_fast(d, qp) ? MASK_FAST : MASK_WINDOW;
	return d->config.umr_lists ? MASK_DRIVER | MASK_EXTENT : MASK_DRIVER;
}

/* Which keys: those with a list to change, of its PD. */
static bool may_touch(const struct cx_dev *d, const struct cx_qp *qp,
		      const struct cx_mkey *k)
{
	if (!k->umr_en)
		return false;
	if (qp->st == CX_ST_UMR)
		return true;
	return k->pd == qp->pd &&
	       (k->klms || (is_fast(d, qp) && !k->pa && !k->length64));
}

/* What of the key the WQE names may be changed by this QP. */
static int umr_allowed(const struct cx_dev *d, const struct cx_qp *qp,
		       const struct cx_mkey *k, const struct umr *w)
{
	uint64_t mask = be64toh(w->umr.mkey_mask);
	uint32_t key = be32toh(w->ctrl.imm);

	if (!k)
		return -ENOKEY;
	if (!may_touch(d, qp, k))
		return -EPERM;
	/*
	 * The provider's invalidation sets the variant to 0, and a registration
	 * names the key by the variant that it will have.
	 */
	if (!k->free && k->variant != (key & 0xff))
		return -ENOKEY;
	if (mask & ~may_change(d, qp))
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

/*
 * A window is of type 2 if it is bound to the QP. A key that is registered names no QP.
 */
static bool qpn_ok(const struct cx_qp *qp, const struct cx_mkey *k,
		   uint64_t mask)
{
	if (k->klms && !k->free && !(mask & MASK_RINVAL) &&
	    k->rinval != (k->qpn == qp->qpn))
		return false;
	return k->qpn == CX_ANY_QPN || k->qpn == qp->qpn;
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
	if (mask & MASK_RINVAL)
		k->rinval = be32toh(w->mkey.flags_pd) & REMOTE_INVAL;
	if (mask & MASK_START)
		k->start = be64toh(w->mkey.start_addr);
	if (mask & MASK_LEN)
		k->len = be64toh(w->mkey.len);
	if (mask & MASK_PAGE)
		k->log_page = w->mkey.log_page_size & 0x1f;
	k->access = rights(k->access, mask, w->mkey.access_flags);
	return qpn_ok(qp, k, mask) ? 0 : -EPERM;
}

/* ---- lists ---- */
/* The key and the place of a list that does not lie in the WQE. */
static struct cx_mkey *list_key(struct cx_dev *d, const struct cx_qp *qp,
				const struct umr *w)
{
	const struct mlx5_wqe_umr_klm_seg *data = &w->klm[0];
	int why;

	return cx_mkey_check(d, be32toh(data->mkey), qp->pd, qp->qpn,
			     be64toh(data->address), be32toh(data->byte_count),
			     CX_LR, &why);
}

/* A list that the key has room for, in the WQE or behind a data segment. */
static int list_check(const struct cx_dev *d, const struct cx_qp *qp,
		      const struct cx_mkey *k, const struct umr *w, size_t len)
{
	uint32_t octo = be16toh(w->umr.klm_octowords);

	if (!octo || octo > (k->klms ? k->room : k->room / 2) ||
	    be16toh(w->umr.translation_offset))
		return -EINVAL;
	if (w->umr.flags & MLX5_WQE_UMR_CTRL_FLAG_INLINE)
		return octo > (len - UMR_FIXED) / OCTOWORD ? -EINVAL : 0;
	if (!is_fast(d, qp) || len < UMR_FIXED + OCTOWORD ||
	    be32toh(w->klm[0].byte_count) != octo * OCTOWORD)
		return -EINVAL;
	return 0;
}

/* The first octets of the list, of which all has to be there. */
static int list_read(struct cx_dev *d, const struct cx_qp *qp,
		     const struct umr *w, void *to, size_t len)
{
	const struct cx_mkey *k;

	if (w->umr.flags & MLX5_WQE_UMR_CTRL_FLAG_INLINE) {
		memcpy(to, w->klm, len);
		return 0;
	}
	k = list_key(d, qp, w);
	return k && !cx_mkey_read(d, k, be64toh(w->klm[0].address), to, len) ?
	       0 : -EFAULT;
}

/* ---- pieces ---- */
_Static_assert(sizeof(struct cx_klm) == OCTOWORD &&
	       sizeof(struct mlx5_wqe_umr_klm_seg) == OCTOWORD, "one piece");

static int klms_parse(struct cx_dev *d, const struct cx_qp *qp,
		      struct cx_mkey *k, const struct umr *w, uint32_t nr)
{
	struct mlx5_wqe_umr_klm_seg seg;
	uint32_t i;
	int err;

	k->klm = calloc(nr, sizeof(*k->klm));
	if (!k->klm)
		return -ENOMEM;
	err = list_read(d, qp, w, k->klm, nr * OCTOWORD);
	for (i = 0; i < nr && !err; i++) {
		memcpy(&seg, &k->klm[i], sizeof(seg));
		k->klm[i].bytes = be32toh(seg.byte_count);
		k->klm[i].key = be32toh(seg.mkey);
		k->klm[i].va = be64toh(seg.address);
	}
	return err;
}

/*
 * What is behind each piece must allow all that the key will. Pieces behind the key's
 * end do not count: a list is filled up with what happened to be there.
 */
static int klms_check(struct cx_dev *d, struct cx_mkey *k, uint32_t nr)
{
	uint64_t bytes = 0;
	int err;

	for (k->nr = 0; k->nr < nr && bytes < k->len; k->nr++) {
		if (!k->klm[k->nr].bytes)
			continue;
		err = cx_mkey_bindable(d, &k->klm[k->nr], k->pd, k->access);
		if (err)
			return err;
		bytes += k->klm[k->nr].bytes;
	}
	if (!k->len || k->len > bytes || k->start + k->len - 1 < k->start)
		return -ERANGE;
	return 0;
}

static int umr_pieces(struct cx_dev *d, const struct cx_qp *qp,
		      struct cx_mkey *k, const struct umr *w)
{
	uint32_t nr = be16toh(w->umr.klm_octowords);
	int err;

	err = klms_parse(d, qp, k, w, nr);
	if (!err)
		err = klms_check(d, k, nr);
	return err;
}

/* ---- pages ---- */
/* How many hold all of the key, of those that a list may have; 0 if none do. */
static uint64_t pages_needed(const struct cx_mkey *k, uint64_t most)
{
	uint64_t page = 1ULL << k->log_page, first = k->start & (page - 1);

	if (k->log_page < 12 || !k->len || k->start + k->len - 1 < k->start ||
	    k->len > page * most || first > page * most - k->len)
		return 0;
	return (first + k->len + page - 1) >> k->log_page;
}

/* As with pieces, those that are not needed do not count. */
static int umr_pages(struct cx_dev *d, const struct cx_qp *qp,
		     struct cx_mkey *k, const struct umr *w)
{
	uint64_t nr = pages_needed(k, 2 * be16toh(w->umr.klm_octowords));
	uint32_t i;
	int err;

	if (!nr)
		return -ERANGE;
	k->mtt = calloc(nr, sizeof(*k->mtt));
	if (!k->mtt)
		return -ENOMEM;
	k->nr = nr;
	err = list_read(d, qp, w, k->mtt, nr * sizeof(*k->mtt));
	for (i = 0; i < nr && !err; i++)
		k->mtt[i] = be64toh(k->mtt[i]) & ~MTT_FLAGS;
	return err;
}

/*
 * The new translation of a key, whose other fields are k's: a list of its own,
 * or none if it becomes free.
 */
static int umr_list(struct cx_dev *d, const struct cx_qp *qp,
		    struct cx_mkey *k, const struct umr *w, size_t len)
{
	int err;

	k->klm = NULL;
	k->mtt = NULL;
	k->nr = 0;
	if (k->free)
		return 0;
	err = list_check(d, qp, k, w, len);
	if (err)
		return err;
	err = k->klms ? umr_pieces(d, qp, k, w) : umr_pages(d, qp, k, w);
	if (!err && !cx_entries_take(d, k->nr))
		err = -ENOMEM;
	if (err) {
		free(k->klm);
		free(k->mtt);
	}
	return err;
}

/* ---- the driver's lists of pages ---- */
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
static int driver_pages(struct cx_dev *d, struct cx_mkey *k,
			const struct umr *w, size_t len)
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
	if (!d->config.umr_lists || k->pa || !dma ||
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

/* ---- WQEs ---- */
/* The key becomes what was made of its copy, with the copy's list. */
static void umr_commit(struct cx_dev *d, struct cx_mkey *k,
		       const struct cx_mkey *new)
{
	if (k->klm != new->klm || k->mtt != new->mtt)
		cx_mkey_unlist(d, k);
	*k = *new;
}

int cx_umr(struct cx_dev *d, struct cx_qp *qp, const void *wqe, size_t len)
{
	struct cx_mkey *k, new;
	struct umr w;
	bool own_list;
	int err;

	if (len < UMR_FIXED || len > sizeof(w))
		return -EINVAL;
	memset(&w, 0, sizeof(w));
	memcpy(&w, wqe, len);
	k = cx_ids_get(&d->mkeys, be32toh(w.ctrl.imm) >> 8);
	err = umr_allowed(d, qp, k, &w);
	if (err)
		return err;
	/* The driver's lists come in parts, and stay while the region is free. */
	own_list = k->klms || qp->st != CX_ST_UMR;
	if (!own_list && w.umr.klm_octowords &&
	    !(w.umr.flags & MLX5_WQE_UMR_CTRL_FLAG_INLINE))
		err = driver_pages(d, k, &w, len);
	if (err)
		return err;
	new = *k;
	err = umr_apply(qp, &new, &w);
	if (!err && !cx_pd(d, new.pd))
		err = -EPERM;
	if (!err && own_list)
		err = umr_list(d, qp, &new, &w, len);
	else if (!err && be64toh(w.umr.mkey_mask) & MASK_EXTENT)
		err = extent_check(&new);
	if (!err)
		umr_commit(d, k, &new);
	return err;
}

/* Whether a message for the QP may end it: its own window, or a registered key. */
static bool may_invalidate(const struct cx_qp *qp, const struct cx_mkey *k)
{
	return k->pd == qp->pd && k->rinval &&
	       (k->qpn == qp->qpn || (k->umr_en && k->qpn == CX_ANY_QPN));
}

int cx_invalidate(struct cx_dev *d, struct cx_qp *qp, uint32_t key)
{
	struct cx_mkey *k = cx_ids_get(&d->mkeys, key >> 8);

	if (!k || k->free || k->variant != (key & 0xff))
		return -ENOKEY;
	if (!may_invalidate(qp, k))
		return -EPERM;
	cx_mkey_unlist(d, k);
	k->free = true;
	k->qpn = CX_ANY_QPN;
	return 0;
}
