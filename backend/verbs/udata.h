/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Opaque user data, by the provider's table, and the queue memory that it names
 * (provider_udata.c).
 */
#ifndef BE_UDATA_H
#define BE_UDATA_H

#include "cmd.h"
#include "gmap.h"
#include "uverbs/uverbs.h"
#include "vhca-provider.h"

struct be_uc;

#define BE_MAX_BUFS	2

struct be_dbpage;			/* doorbell-record page, refcounted */

/* Queue memory in user pages (none for rxe); part of CQ, QP, SRQ. */
struct be_bufs {
	struct be_gmap buf[BE_MAX_BUFS];
	struct be_dbpage *db;
};

struct be_udata {
	struct be_uc *uc;
	const struct vhca_udata_op *row;	/* NULL: no udata */
	struct uv_udata uv;		/* what goes to the kernel */
	uint16_t guest_out;		/* out_len without OUTPTR data */
	uint16_t extra;			/* octets of ptr_out */
	uint32_t ah_num;		/* VHCA_AH; 0: none */
	uint8_t in[XENVHCA_UDATA_SIZE];
	uint8_t out[XENVHCA_UDATA_SIZE];
	uint64_t ptr_out[8];		/* target of OUTPTR */
};

/* The page lists of a request, in the order of the table's BUF fields. */
struct be_lists {
	const struct xenvhca_pages *buf[BE_MAX_BUFS];
	const struct xenvhca_pages *db;
};

/**
 * be_udata_begin() - rewrite the request udata for the kernel
 * @lists: page lists of the request, NULL if the request has none
 * @bufs: out, memory that was mapped for the object; NULL with @lists NULL
 *
 * Return: 0, -EINVAL if lengths or lists do not fit the table, or the error
 * of mapping. Nothing stays mapped on error.
 */
int be_udata_begin(struct be_udata *u, const struct be_cmd *c,
		   const struct be_lists *lists, struct be_bufs *bufs);
/* After success: fill the response udata, remember its mmap offsets. */
int be_udata_end(struct be_udata *u, const struct be_cmd *c, uint32_t owner);
void be_bufs_release(struct be_dev *dev, struct be_uc *uc,
		     struct be_bufs *bufs);

#endif
