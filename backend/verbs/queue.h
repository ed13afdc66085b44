/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Completion queues, shared receive queues, queue pairs and their multicast
 * attachments.
 */
#ifndef BE_QUEUE_H
#define BE_QUEUE_H

#include "core/be.h"
#include "udata.h"

struct be_shadow;
struct be_xrcd;

struct be_cq {
	struct be_obj o;
	struct be_bufs bufs;
	uint32_t cqe;
};
struct be_srq {
	struct be_obj o;
	struct be_bufs bufs;
	struct be_xrcd *xrcd;		/* NULL: basic */
	uint32_t xrcd_host;		/* its handle in our verbs file */
	uint32_t max_sge;
	struct be_shadow *rq;		/* NULL: none, or not mapped */
};
struct be_qp {
	struct be_obj o;
	struct be_bufs bufs;
	uint8_t qp_type;
	uint8_t state;			/* as last set by the guest; any thread */
	unsigned int jobs;		/* of the job threads, that modify it */
	uint32_t pd;			/* handle, 0: XRC target */
	struct xenvhca_qp_cap cap;
	struct be_shadow *sq, *rq;	/* NULL: none, or not mapped */
	struct be_xrcd *xrcd;		/* NULL: no XRC target */
};
struct be_mcast {
	struct be_obj o;
	struct be_qp *qp;
	uint8_t gid[16];
	uint16_t mlid;
};

#endif
