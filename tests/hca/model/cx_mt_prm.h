/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * What the driver mthca and an InfiniHost III Lx (MT25204, memory-free) agree on, where
 * it is not as in cx_hx_prm.h. Where it stands: Linux, drivers/infiniband/hw/mthca;
 * rdma-core, providers/mthca. Fields are written as there.
 */
#ifndef CX_MT_PRM_H
#define CX_MT_PRM_H

#include "cx_hx_prm.h"

/* ---- BAR 0 ---- */
#define MT_EQ_SET_CI	0xf0200u	/* 8 octets for each EQ; the first word */
#define MT_EQS		32u
#define MT_EQ_ARM	0xf0400u	/* two words of masks; EQs 0 to 31 in ... */
#define MT_EQ_ARM_LOW	(MT_EQ_ARM + 4)

/* ---- BAR 2: pages of doorbells, of two words each ---- */
#define MT_UAR_SEND	0x10u		/* QPN << 8 in the second */
#define MT_UAR_RSVD	1u		/* pages that no queue has */

/* ---- commands ---- */
enum { MT_ENABLE_LAM = 0xff8 };		/* beside those of enum hx_opcode */
enum { MT_SQP_SMI, MT_SQP_GSI };	/* opcode modifiers of CONF_SPECIAL_QP */
enum { MT_CQ_RESIZE = 1 };		/* ... of RESIZE_CQ; 0 is none */

/* QUERY_FW, beside cx_hx_prm.h's. */
#define MT_FW_EQ_ARM	0x40
#define MT_FW_EQ_SET_CI	0x48

/* QUERY_DEV_LIM, where it is not QUERY_DEV_CAP. */
#define MT_LIM_LOG_EQ		0x1c, 2, 0
#define MT_LIM_LOG_MTT_SEG	0x20, 5, 0
#define MT_LIM_LOG_RDMA		0x2c, 5, 0
#define MT_LIM_MTU		0x34, 15, 12
#define MT_LIM_WIDTH		0x34, 11, 8
#define MT_LIM_VLS		0x34, 7, 4
#define MT_LIM_LOG_GIDS		0x38, 3, 0
#define MT_LIM_LOG_PKEYS	0x3c, 3, 0
#define MT_LIM_LOG_MCG_QPS	0x60, 23, 16
#define MT_LIM_LOG_MCG		0x60, 7, 0
#define MT_LIM_EQPC		0x84, 15, 0
#define MT_LIM_UAR_SCRATCH	0x8c, 15, 0

/* ---- memory keys ---- */
#define MT_MPT_LOG_PAGE	0x04, 4, 0	/* less 12 */
#define MT_MPT_PD	0x0c, 23, 0

/* ---- queues: a key and its domain, in which addresses begin with 0 ---- */
#define MT_EQC_PD	0x18, 23, 0
#define MT_EQC_LKEY	0x1c, 31, 0
#define MT_EQ_MSIX	128u		/* the number that is vector 0; below: INTA */
#define MT_CQC_PD	0x18, 23, 0
#define MT_CQC_LKEY	0x1c, 31, 0
#define MT_CQC_SET_CI	0x34, 31, 0	/* records of its UAR page: by index */
#define MT_SRQC_LKEY	0x04, 31, 0
#define MT_SRQC_RECORD	0x08, 31, 0
#define MT_SRQC_STRIDE	0x0c, 31, 29	/* log2 of 16 octets */
#define MT_SRQC_UAR	0x0c, 23, 0
#define MT_RECORD_BYTES	8u		/* counter; number << 8, type << 5 */

/* ---- completion entries ---- */
#define MT_CQE_RQPN	0x08, 23, 0
#define MT_CQE_SL	0x0c, 31, 28
#define MT_CQE_GRH	0x0c, 23, 23
#define MT_CQE_PATH	0x0c, 22, 16
#define MT_CQE_RLID	0x0c, 15, 0
#define MT_CQE_IMM	0x10, 31, 0
#define MT_CQE_PKEY	0x10, 31, 16	/* without immediate data */
#define MT_CQE_SYND	0x10, 31, 24	/* these two if it is an error */
#define MT_CQE_VENDOR	0x10, 23, 16
#define MT_CQE_WQE	0x18, 31, 0	/* its offset in the queue's memory */
#define MT_CQE_OPCODE	0x1c, 31, 24	/* of a receive: the packet's, low bits */
#define MT_CQE_SEND	0x1c, 23, 23
enum { MT_OP_ERROR_RECV = 0xfe, MT_OP_ERROR_SEND = 0xff };
enum { MT_RECV_SEND = 0x04, MT_RECV_SEND_IMM = 0x05, MT_RECV_WRITE_IMM = 0x0b };

/* ---- queue pairs ---- */
#define MT_PATH_PORT	0x20, 25, 24
#define MT_PATH_PKEY	0x20, 6, 0
#define MT_PATH_RNR_RETRY 0x24, 31, 29
#define MT_PATH_GRH	0x24, 23, 23
#define MT_PATH_BITS	0x24, 22, 16
#define MT_PATH_RLID	0x24, 15, 0
#define MT_PATH_ACK	0x28, 31, 27
#define MT_PATH_SGID	0x28, 23, 16
#define MT_PATH_RATE	0x28, 15, 8
#define MT_PATH_HOP	0x28, 7, 0
#define MT_PATH_SL	0x2c, 31, 28
#define MT_PATH_TCLASS	0x2c, 27, 20
#define MT_PATH_FLOW	0x2c, 19, 0
#define MT_PATH_RGID	0x30u
#define MT_ALT_PATH	0x40u
#define MT_PATH_BYTES	0x20u
#define MT_QPC_PD	0x64, 23, 0
#define MT_QPC_LKEY	0x6c, 31, 0
#define MT_QPC_SSC	0x70, 3, 3	/* each send makes an entry */
#define MT_QPC_SQ_BASE	0x80, 31, 0	/* offset of the send queue in the memory */
#define MT_QPC_SQ_RECORD 0x84, 31, 0
#define MT_QPC_RQ_RECORD 0xa4, 31, 0
enum { MT_OPT_PORT = BIT(11), MT_OPT_RNR_RETRY = BIT(15) };

/* ---- WQEs ---- */
/*
 * The first words of a WQE are of the next: its opcode, size and fence in a send
 * queue, its offset in a shared receive queue.
 */
#define MT_NEXT_BYTES	16u
#define MT_NEXT_OFFSET	0x00, 31, 6	/* of 64 octets */
#define MT_NEXT_OPCODE	0x00, 4, 0
#define MT_NEXT_FENCE	0x04, 6, 6
#define MT_NEXT_SIZE	0x04, 5, 0	/* segments */
#define MT_WQE_SIGNALED	0x08, 3, 3
#define MT_WQE_SOLICITED 0x08, 1, 1
#define MT_WQE_IMM	0x0c, 31, 0

/* ---- multicast groups ---- */
#define MT_MGM_BYTES	256u
#define MT_MGM_VALID	0x00, 31, 31	/* of each member's word */

#endif
