/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * What frontend/verbs/srq.c uses of Linux beyond kernel.h.
 */
#ifndef SRQS_H
#define SRQS_H

#define IB_UVERBS_DEVICE_XRC	(1 << 20)

enum { IB_SRQT_BASIC, IB_SRQT_XRC, IB_SRQT_TM };
enum ib_srq_attr_mask { IB_SRQ_MAX_WR = 1, IB_SRQ_LIMIT = 2 };
struct ib_srq_attr { u32 max_wr, max_sge, srq_limit; };
struct ib_srq_init_attr {
	struct ib_srq_attr attr;
	int srq_type;
	struct {
		struct ib_cq *cq;
		struct { struct ib_xrcd *xrcd; } xrc;
		struct { u32 max_num_tags; } tag_matching;
	} ext;
};

#endif
