/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Constants of ib_core that the write() interface of ib_uverbs takes, but no header
 * for user space defines. Names and values are those of Linux's
 * include/rdma/ib_verbs.h; types of queue pairs and access flags are in
 * <rdma/ib_user_ioctl_verbs.h>.
 */
#ifndef BE_IB_CORE_H
#define BE_IB_CORE_H

/* enum ib_qp_state; a QP receives in the states from RTR to before ERR. */
#define IB_QPS_INIT	1
#define IB_QPS_RTR	2
#define IB_QPS_RTS	3
#define IB_QPS_ERR	6

/* enum ib_qp_attr_mask, as far as it matters here. */
#define IB_QP_STATE		(1u << 0)
#define IB_QP_CUR_STATE		(1u << 1)
#define IB_QP_PKEY_INDEX	(1u << 4)
#define IB_QP_PORT		(1u << 5)
#define IB_QP_QKEY		(1u << 6)
#define IB_QP_AV		(1u << 7)
#define IB_QP_PATH_MTU		(1u << 8)
#define IB_QP_ALT_PATH		(1u << 14)
#define IB_QP_MAX_DEST_RD_ATOMIC (1u << 17)
#define IB_QP_RATE_LIMIT	(1u << 25)
#define IB_QP_ATTR_STANDARD_BITS ((1u << 21) - 1)

/* Q_Keys with this bit are management's (InfiniBand vol. 1, 10.2.4). */
#define IB_QKEY_CONTROLLED	0x80000000u

/* enum ib_send_flags */
#define IB_SEND_FENCE		(1u << 0)
#define IB_SEND_SIGNALED	(1u << 1)
#define IB_SEND_SOLICITED	(1u << 2)
#define IB_SEND_INLINE		(1u << 3)

#endif
