/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * What the drivers of the family "hx" (a host command register, context memory
 * of the host: mlx4, and mthca before it) and a ConnectX-3 agree on: registers,
 * commands, contexts, queue entries. The only place of such facts, beside the
 * tests' own driver. All of it is big endian. Where it stands: Linux,
 * drivers/net/ethernet/mellanox/mlx4 and drivers/infiniband/hw/mlx4; rdma-core,
 * providers/mlx4.
 *
 * A field is the octet that its 32-bit word begins at, its highest bit and its
 * lowest: the arguments of hx_get() and hx_set() behind the structure.
 */
#ifndef CX_HX_PRM_H
#define CX_HX_PRM_H

#include "cx_prm.h"

static inline uint32_t hx_get(const void *p, size_t at, unsigned int hi,
			      unsigned int lo)
{
	return cx_bits_get(p, at * 8 + 31 - hi, hi - lo + 1);
}

static inline void hx_set(void *p, size_t at, unsigned int hi, unsigned int lo,
			  uint32_t value)
{
	cx_bits_set(p, at * 8 + 31 - hi, hi - lo + 1, value);
}

/* ---- BAR 0 (its size, and where MSI-X is: cx.h) ---- */
#define HX_HCR		0x80680u	/* seven words: */
#define HX_HCR_WORDS	7u
enum { HX_IN_HI, HX_IN_LO, HX_IN_MOD, HX_OUT_HI, HX_OUT_LO, HX_TOKEN,
       HX_STATUS };
#define HX_HCR_GO	BIT(23)
#define HX_HCR_EVENT	BIT(22)
#define HX_HCR_TOGGLE	BIT(21)
#define HX_HCR_OPMOD	12u		/* its lowest bit; the opcode is below */
#define HX_HCR_ERROR	24u		/* the lowest bit of the answer's status */
#define HX_OWNER	0x8069cu	/* 0: no other function has the HCA */
#define HX_CATAS	0xe0000u	/* not 0: the firmware has stopped */
#define HX_CATAS_WORDS	16u
#define HX_RESET	0xf0010u	/* 1 resets */
#define HX_CLR_INT	0xf00d8u
#define HX_SEMAPHORE	0xf03fcu	/* reads 0: taken */

/* ---- BAR 2: pages of doorbells ---- */
#define HX_UAR_EQS	128u		/* pages for event queues, four in each */
#define HX_UAR_SEND	0x14u		/* QPN << 8 */
#define HX_UAR_CQ	0x20u		/* two words */
#define HX_UAR_EQ	0x800u		/* 8 octets for each; the first word */
#define HX_EQS_PER_UAR	4u
#define HX_EQ_ARM	BIT(31)
#define HX_CQ_SN(word)	((word) >> 28 & 3)
#define HX_CQ_SOLICITED	BIT(24)		/* beside: any is 2 << 24 */
#define HX_NUMBER	0xffffffu	/* and consumer indices */

/* ---- commands ---- */
#define HX_MAILBOX	4096u

enum hx_opcode {
	HX_QUERY_DEV_CAP = 0x03, HX_QUERY_FW = 0x04, HX_QUERY_ADAPTER = 0x06,
	HX_INIT_HCA = 0x07, HX_CLOSE_HCA = 0x08, HX_INIT_PORT = 0x09,
	HX_CLOSE_PORT = 0x0a, HX_QUERY_HCA = 0x0b, HX_SET_PORT = 0x0c,
	HX_SW2HW_MPT = 0x0d, HX_QUERY_MPT = 0x0e, HX_HW2SW_MPT = 0x0f,
	HX_MAP_EQ = 0x12, HX_SW2HW_EQ = 0x13, HX_HW2SW_EQ = 0x14,
	HX_SW2HW_CQ = 0x16, HX_HW2SW_CQ = 0x17, HX_QUERY_CQ = 0x18,
	HX_RST2INIT = 0x19, HX_INIT2RTR = 0x1a, HX_RTR2RTS = 0x1b,
	HX_RTS2RTS = 0x1c, HX_SQERR2RTS = 0x1d, HX_2ERR = 0x1e,
	HX_RTS2SQD = 0x1f, HX_SQD2RTS = 0x20, HX_2RST = 0x21,
	HX_QUERY_QP = 0x22, HX_CONF_SPECIAL_QP = 0x23, HX_MAD_IFC = 0x24,
	HX_READ_MGM = 0x25, HX_WRITE_MGM = 0x26, HX_MGID_HASH = 0x27,
	HX_MODIFY_CQ = 0x2c, HX_INIT2INIT = 0x2d, HX_SYNC_TPT = 0x2f,
	HX_DIAG_RPRT = 0x30, HX_NOP = 0x31, HX_MOD_STAT_CFG = 0x34,
	HX_SW2HW_SRQ = 0x35, HX_HW2SW_SRQ = 0x36, HX_QUERY_SRQ = 0x37,
	HX_SQD2SQD = 0x38, HX_ARM_SRQ = 0x40, HX_QUERY_PORT = 0x43,
	HX_SET_NODE = 0x5a,
	HX_RUN_FW = 0xff6, HX_UNMAP_ICM = 0xff9, HX_MAP_ICM = 0xffa,
	HX_UNMAP_ICM_AUX = 0xffb, HX_MAP_ICM_AUX = 0xffc,
	HX_SET_ICM_SIZE = 0xffd, HX_UNMAP_FA = 0xffe, HX_MAP_FA = 0xfff,
};

/* Page lists of MAP_FA, MAP_ICM_AUX, MAP_ICM: pairs of doublewords. */
#define HX_MAP_ENTRY	16u
#define HX_MAP_BUS	8u		/* address; the low bits: log2 of pages */
#define HX_MAP_LOG	0xfffu
#define HX_LOG_PAGE	12u		/* whatever the host's pages are */

/* QUERY_FW; doublewords have their octet alone. */
#define HX_FW_PAGES	0x00, 31, 16
#define HX_FW_MAJOR	0x00, 15, 0
#define HX_FW_SUBMINOR	0x04, 31, 16
#define HX_FW_MINOR	0x04, 15, 0
#define HX_FW_CMD_REV	0x08, 15, 0
#define HX_FW_LOG_CMDS	0x0c, 7, 0
#define HX_FW_CLR_INT	0x20
#define HX_FW_CATAS	0x30
#define HX_FW_CATAS_SIZE 0x38, 31, 0
/* The bars of those are 0: two bits at 0x28, 0x3c. */

/* QUERY_ADAPTER. */
#define HX_ADAPTER_VSD	0x20		/* ... that begins with the board's name, */
#define HX_ADAPTER_BOARD 0xd0		/* at that octet, words swapped */

/* QUERY_DEV_CAP: log2 where LOG says so. */
#define HX_CAP_LOG_SRQ_SZ	0x10, 31, 24
#define HX_CAP_LOG_QP_SZ	0x10, 23, 16
#define HX_CAP_LOG_RSVD_QP	0x10, 11, 8
#define HX_CAP_LOG_QP		0x10, 4, 0
#define HX_CAP_LOG_RSVD_SRQ	0x14, 31, 28
#define HX_CAP_LOG_SRQ		0x14, 20, 16
#define HX_CAP_LOG_CQ_SZ	0x18, 23, 16
#define HX_CAP_LOG_RSVD_CQ	0x18, 11, 8
#define HX_CAP_LOG_CQ		0x18, 4, 0
#define HX_CAP_LOG_MPT		0x1c, 21, 16
#define HX_CAP_LOG_RSVD_EQ	0x1c, 11, 8
#define HX_CAP_LOG_EQ		0x1c, 3, 0
#define HX_CAP_LOG_RSVD_MTT	0x20, 31, 28
#define HX_CAP_LOG_RSVD_MRW	0x20, 11, 8
#define HX_CAP_LOG_REQ_READS	0x28, 21, 16
#define HX_CAP_LOG_RESP_READS	0x28, 5, 0
#define HX_CAP_ACK_DELAY	0x34, 20, 16
#define HX_CAP_PORTS		0x34, 3, 0
#define HX_CAP_LOG_MSG		0x38, 28, 24
#define HX_CAP_RATES		0x3c, 31, 16
#define HX_CAP_CQE64		0x40, 30, 30
#define HX_CAP_FLAGS		0x44, 31, 0
#define HX_CAP_RSVD_UARS	0x48, 31, 28
#define HX_CAP_LOG_UAR_MB	0x48, 21, 16	/* MiB of doorbell pages */
#define HX_CAP_LOG_PAGE		0x48, 7, 0
#define HX_CAP_BLUEFLAME	0x4c, 31, 31
#define HX_CAP_LOG_BF		0x4c, 20, 16	/* octets of two buffers */
#define HX_CAP_LOG_BFS		0x4c, 13, 8	/* of these in a page */
#define HX_CAP_SQ_SG		0x50, 23, 16
#define HX_CAP_SQ_DESC		0x50, 15, 0
#define HX_CAP_RQ_SG		0x54, 23, 16
#define HX_CAP_RQ_DESC		0x54, 15, 0
#define HX_CAP_LOG_MCG_QPS	0x60, 23, 16
#define HX_CAP_LOG_MCG		0x60, 7, 0
#define HX_CAP_LOG_PD		0x64, 21, 16
#define HX_CAP_RDMARC		0x80, 31, 16	/* octets of contexts */
#define HX_CAP_QPC		0x80, 15, 0
#define HX_CAP_AUXC		0x84, 31, 16
#define HX_CAP_ALTC		0x84, 15, 0
#define HX_CAP_EQC		0x88, 31, 16
#define HX_CAP_CQC		0x88, 15, 0
#define HX_CAP_SRQC		0x8c, 31, 16
#define HX_CAP_CMPT		0x8c, 15, 0
#define HX_CAP_MTT		0x90, 31, 16
#define HX_CAP_DMPT		0x90, 15, 0
#define HX_CAP_ICM		0xa0		/* octets */
enum {
	HX_FLAG_RC = BIT(0), HX_FLAG_UC = BIT(1), HX_FLAG_UD = BIT(2),
	HX_FLAG_SRQ = BIT(6), HX_FLAG_BAD_PKEY = BIT(8),
	HX_FLAG_BAD_QKEY = BIT(9), HX_FLAG_ATOMIC = BIT(18),
	HX_FLAG_UD_AV_PORT = BIT(20), HX_FLAG_UD_MCAST = BIT(21),
};

/* QUERY_PORT. */
#define HX_PORT_UP	0x00, 31, 31
#define HX_PORT_IB	0x00, 24, 24
#define HX_PORT_MTU	0x00, 19, 16
#define HX_PORT_WIDTH	0x04, 11, 8
#define HX_PORT_LOG_GIDS 0x04, 7, 4
#define HX_PORT_LOG_PKEYS 0x04, 3, 0
#define HX_PORT_VLS	0x08, 3, 0

/* SET_PORT, without an opcode modifier. */
#define HX_SET_QKEY_VIOL 0x00, 0, 0	/* forget the count */
#define HX_SET_CAPS	0x04, 31, 0
#define HX_SET_BYTES	8u
#define HX_NODE_BYTES	64u		/* of SET_NODE: a description */

/* MAD_IFC: opcode modifiers; the LID in the upper half of the modifier. */
enum { HX_MAD_NO_MKEY = BIT(0), HX_MAD_NO_BKEY = BIT(1), HX_MAD_WC = BIT(2) };
#define HX_MAD_BYTES	256u

/* MOD_STAT_CFG, opcode modifier 2: the port's GUID, in two words. */
#define HX_STAT_PORT	2u
#define HX_STAT_GUID_HI	0x14, 31, 0
#define HX_STAT_GUID_LO	0x1c, 31, 0
#define HX_STAT_BYTES	0x20u

/* INIT_HCA. */
#define HX_INIT_BYTES	0x200u
#define HX_INIT_BIG	0x14, 1, 1	/* the host is big endian */
#define HX_INIT_LOG_QP	0x34, 4, 0	/* beside each table's base, whose ... */
#define HX_INIT_LOG_SRQ	0x4c, 4, 0	/* ... low bits it takes */
#define HX_INIT_LOG_CQ	0x54, 4, 0
#define HX_INIT_EQE64	0x58, 29, 29
#define HX_INIT_CQE64	0x58, 30, 30
#define HX_INIT_LOG_EQ	0x84, 4, 0
#define HX_INIT_LOG_MCG	0xd8, 4, 0
#define HX_INIT_DMPT	0xf0
#define HX_INIT_LOG_MPT	0xf8, 5, 0
#define HX_INIT_MTT	0x100
#define HX_INIT_LOG_UARC 0x128, 23, 16	/* log2 of pages; mthca alone, as the base */
#define HX_INIT_UAR_PAGE 0x128, 7, 0	/* log2, less 12 */
#define HX_INIT_UARC	0x138

/* ---- memory keys ---- */
#define HX_MPT_BYTES	64u
#define HX_MPT_STATUS	0x00, 31, 28	/* 15: software's; 3: free */
#define HX_MPT_SW	0xfu
#define HX_MPT_HW	0x0u
#define HX_MPT_FREE	0x3u
#define HX_MPT_ATOMIC	0x00, 14, 14
#define HX_MPT_RW	0x00, 13, 13
#define HX_MPT_RR	0x00, 12, 12
#define HX_MPT_LW	0x00, 11, 11
#define HX_MPT_LR	0x00, 10, 10
#define HX_MPT_PHYSICAL	0x00, 9, 9
#define HX_MPT_REGION	0x00, 8, 8
#define HX_MPT_INDEX	0x08, 31, 0	/* a key is it, turned by 8 bits */
#define HX_MPT_PD	0x0c, 16, 0
#define HX_MPT_START	0x10
#define HX_MPT_LEN	0x18
#define HX_MPT_MTT	0x2c
#define HX_MPT_LOG_PAGE	0x38, 4, 0
#define HX_MTT_BYTES	8u
#define HX_MTT_FLAGS	7ull

/* ---- event queues ---- */
#define HX_EQC_BYTES	64u
#define HX_EQC_STATE	0x00, 11, 8
#define HX_EQ_ARMED	9u
#define HX_EQC_LOG	0x0c, 28, 24
#define HX_EQC_VECTOR	0x14, 7, 0
#define HX_EQC_LOG_PAGE	0x18, 29, 24
#define HX_EQC_MTT_HI	0x18, 7, 0
#define HX_EQC_MTT_LO	0x1c, 31, 0
#define HX_MAP_EQ_UNMAP	BIT(31)		/* of the input modifier */
#define HX_EQE_BYTES	32u
#define HX_EQE_DATA	4u
#define HX_LAP		0x80u		/* of an entry's last octet */
#define HX_FRESH	0xccu		/* octets of a queue that is new: the owner bit of */
#define HX_FRESH_OWNER	0x80u		/* ... the last one says that the entry is not written */
/* The data of a command's event. */
#define HX_EQE_TOKEN	0x00, 15, 0
#define HX_EQE_STATUS	0x08, 7, 0
#define HX_EQE_OUT	0x0c

/* ---- completion queues ---- */
#define HX_CQC_BYTES	64u
#define HX_CQC_STATUS	0x00, 31, 28
#define HX_CQC_OI	0x00, 17, 17
#define HX_CQC_STATE	0x00, 11, 8
#define HX_CQC_LOG	0x0c, 28, 24
#define HX_CQC_UAR	0x0c, 23, 0
#define HX_CQC_PERIOD	0x10, 31, 16
#define HX_CQC_COUNT	0x10, 15, 0
#define HX_CQC_EQ	0x14, 7, 0
#define HX_CQC_LOG_PAGE	0x18, 29, 24
#define HX_CQC_MTT_HI	0x18, 7, 0
#define HX_CQC_MTT_LO	0x1c, 31, 0
#define HX_CQC_CI	0x28, 23, 0
#define HX_CQC_PI	0x2c, 23, 0
#define HX_CQC_RECORD	0x38
enum { HX_CQ_RESIZE, HX_CQ_MODERATE };	/* of MODIFY_CQ */

#define HX_CQE_BYTES	32u
#define HX_CQE_QPN	0x00, 23, 0
#define HX_CQE_IMM	0x04, 31, 0	/* or a key, or an index of P_Keys */
#define HX_CQE_GRH	0x08, 31, 31
#define HX_CQE_PATH	0x08, 30, 24
#define HX_CQE_RQPN	0x08, 23, 0
#define HX_CQE_SL	0x0c, 31, 28
#define HX_CQE_RLID	0x0c, 15, 0
#define HX_CQE_LEN	0x14, 31, 0
#define HX_CQE_WQE	0x18, 31, 16
#define HX_CQE_VENDOR	0x18, 15, 8	/* these two if it is an error */
#define HX_CQE_SYND	0x18, 7, 0
#define HX_CQE_SEND	0x1c, 6, 6
#define HX_CQE_OPCODE	0x1c, 4, 0	/* enum cx_op, enum cx_recv, or: */
#define HX_OP_ERROR	0x1eu
#define HX_OP_RESIZE	0x16u

/* ---- shared receive queues ---- */
#define HX_SRQC_BYTES	64u
#define HX_SRQC_STATE	0x00, 31, 28
#define HX_SRQC_LOG	0x00, 27, 24
#define HX_SRQC_STRIDE	0x04, 26, 24	/* log2 of 16 octets */
#define HX_SRQC_CQN	0x08, 23, 0
#define HX_SRQC_LOG_PAGE 0x10, 29, 24
#define HX_SRQC_MTT_HI	0x10, 7, 0
#define HX_SRQC_MTT_LO	0x14, 31, 0
#define HX_SRQC_PD	0x18, 23, 0
#define HX_SRQC_LIMIT	0x1c, 31, 16
#define HX_SRQC_RECORD	0x28

/* ---- queue pairs ---- */
#define HX_QPC_AT	8u		/* in a mailbox, behind ... */
#define HX_OPTPAR	0x00, 31, 0	/* ... which optional fields it has */
#define HX_QPC_BYTES	0xf8u
#define HX_QPC_STATE	0x00, 31, 28
#define HX_QPC_ST	0x00, 19, 16
#define HX_QPC_PM	0x00, 12, 11
#define HX_QPC_PD	0x04, 23, 0
#define HX_QPC_MTU	0x08, 31, 29
#define HX_QPC_LOG_MSG	0x08, 28, 24
#define HX_QPC_LOG_RQ	0x08, 22, 19
#define HX_QPC_RQ_STRIDE 0x08, 18, 16	/* log2 of 16 octets */
#define HX_QPC_LOG_SQ	0x08, 14, 11
#define HX_QPC_SQ_STRIDE 0x08, 10, 8
#define HX_QPC_UAR	0x0c, 23, 0
#define HX_QPC_QPN	0x10, 23, 0
#define HX_QPC_REMOTE	0x14, 23, 0
#define HX_PATH		0x18u		/* octets before this path's fields */
#define HX_ALT_PATH	0x44u
#define HX_PATH_BYTES	0x2cu
#define HX_QPC_SRA_MAX	0x70, 23, 21
#define HX_QPC_RETRY	0x70, 18, 16
#define HX_QPC_RNR_RETRY 0x70, 15, 13
#define HX_QPC_SQ_PSN	0x78, 23, 0
#define HX_QPC_SCQ	0x7c, 23, 0
#define HX_QPC_ACKED	0x88, 23, 0
#define HX_QPC_RRA_MAX	0x90, 23, 21
#define HX_QPC_RRE	0x90, 15, 15
#define HX_QPC_RWE	0x90, 14, 14
#define HX_QPC_RAE	0x90, 13, 13
#define HX_QPC_MIN_RNR	0x94, 28, 24
#define HX_QPC_RQ_PSN	0x94, 23, 0
#define HX_QPC_RCQ	0x9c, 23, 0
#define HX_QPC_RECORD	0xa0
#define HX_QPC_QKEY	0xa8, 31, 0
#define HX_QPC_HAS_SRQ	0xac, 24, 24
#define HX_QPC_SRQN	0xac, 23, 0
#define HX_QPC_MSN	0xb0, 23, 0
#define HX_QPC_RQ_COUNT	0xb4, 31, 16
#define HX_QPC_SQ_COUNT	0xb4, 15, 0
#define HX_QPC_LOG_PAGE	0xc8, 29, 24
#define HX_QPC_MTT_HI	0xc8, 7, 0
#define HX_QPC_MTT_LO	0xcc, 31, 0
/* Of the primary path; the other is laid out alike. */
#define HX_PATH_PKEY	0x18, 6, 0
#define HX_PATH_GRH	0x1c, 23, 23
#define HX_PATH_BITS	0x1c, 22, 16
#define HX_PATH_RLID	0x1c, 15, 0
#define HX_PATH_ACK	0x20, 31, 27
#define HX_PATH_SGID	0x20, 22, 16
#define HX_PATH_RATE	0x20, 15, 8
#define HX_PATH_HOP	0x20, 7, 0
#define HX_PATH_TCLASS	0x24, 27, 20
#define HX_PATH_FLOW	0x24, 19, 0
#define HX_PATH_RGID	0x28
#define HX_PATH_PORT	0x38, 30, 30	/* 0: the first */
#define HX_PATH_SCHED	0x38, 31, 24
#define HX_PATH_SL	0x38, 29, 26
enum { HX_ST_RC = 0, HX_ST_UC = 1, HX_ST_UD = 3, HX_ST_MLX = 7 };
#define HX_SQD_EVENT	BIT(31)		/* of the input modifier of RTS2SQD */
#define HX_DRAINING	7u		/* a state that is answered alone */
/* Special QPs: the first number is QP 0 of port 1; QP 1's are two further. */
#define HX_SQPS		8u
#define HX_SQP_QP1	2u
enum {
	HX_OPT_ALT_PATH = BIT(0), HX_OPT_RRE = BIT(1), HX_OPT_RAE = BIT(2),
	HX_OPT_RWE = BIT(3), HX_OPT_PKEY = BIT(4), HX_OPT_QKEY = BIT(5),
	HX_OPT_RNR_TIMER = BIT(6), HX_OPT_PATH = BIT(7),
	HX_OPT_SRA_MAX = BIT(8), HX_OPT_RRA_MAX = BIT(9), HX_OPT_PM = BIT(10),
	HX_OPT_RETRY = BIT(12), HX_OPT_RNR_RETRY = BIT(13),
	HX_OPT_ACK = BIT(14), HX_OPT_SCHED = BIT(16),
};

/* ---- send WQEs ---- */
#define HX_SEG		16u
#define HX_WQE_OWNER	0x00, 31, 31	/* the lap's parity: it is posted */
#define HX_WQE_OPCODE	0x00, 4, 0
#define HX_WQE_FENCE	0x04, 6, 6
#define HX_WQE_SIZE	0x04, 5, 0	/* segments */
#define HX_WQE_SIGNALED	0x08, 3, 2
#define HX_WQE_SOLICITED 0x08, 1, 1
#define HX_WQE_IMM	0x0c, 31, 0
#define HX_WQE_MAX	1008u
/* A datagram segment. */
#define HX_UD_BYTES	48u
#define HX_UD_GRH	0x04, 23, 23
#define HX_UD_BITS	0x04, 22, 16
#define HX_UD_LID	0x04, 15, 0
#define HX_UD_SGID	0x08, 22, 16
#define HX_UD_HOP	0x08, 7, 0
#define HX_UD_SL	0x0c, 31, 28
#define HX_UD_TCLASS	0x0c, 27, 20
#define HX_UD_FLOW	0x0c, 19, 0
#define HX_UD_DGID	0x10
#define HX_UD_QPN	0x20, 23, 0
#define HX_UD_QKEY	0x24, 31, 0
/* What an MLX queue's data begins with: the headers of InfiniBand. */
#define HX_LRH_BYTES	8u
#define HX_LRH_SL	0x00, 23, 20
#define HX_LRH_NEXT	0x00, 17, 16	/* 3: a GRH */
#define HX_LRH_GRH	3u
#define HX_LRH_DLID	0x00, 15, 0
#define HX_LRH_SLID	0x04, 15, 0
#define HX_GRH_BYTES	40u
#define HX_GRH_TCLASS	0x00, 27, 20
#define HX_GRH_FLOW	0x00, 19, 0
#define HX_GRH_HOP	0x04, 7, 0
#define HX_GRH_SGID	8u
#define HX_GRH_DGID	24u
#define HX_BTH_BYTES	12u
#define HX_BTH_OPCODE	0x00, 31, 24
#define HX_BTH_UD_SEND	0x64u
#define HX_BTH_UD_IMM	0x65u
#define HX_BTH_SOLICITED 0x00, 23, 23
#define HX_BTH_PKEY	0x00, 15, 0
#define HX_BTH_QPN	0x04, 23, 0
#define HX_DETH_BYTES	8u
#define HX_DETH_QKEY	0x00, 31, 0
#define HX_IMM_BYTES	4u
#define HX_ICRC_BYTES	4u		/* the last piece, inline */

/* ---- multicast groups ---- */
#define HX_MGM_BYTES	1024u		/* as the driver makes them by default */
#define HX_MGM_NEXT	0x00, 31, 6
#define HX_MGM_COUNT	0x04, 23, 0
#define HX_MGM_GID	16u
#define HX_MGM_QPS	32u
#define HX_MGM_QPN	0x00, 23, 0	/* of each member's word */
#define HX_MGM_NO_LOOP	0x00, 30, 30

#endif
