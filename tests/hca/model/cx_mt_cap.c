// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * What an InfiniHost tells of itself: sizes, limits, flags; and the commands that only
 * it has. What the model does not do is not announced; the sizes are what the engines
 * bear.
 */
#include "cx_hx.h"

#define FW_MAJOR	1u
#define FW_MINOR	2u
#define FW_SUBMINOR	0u
#define BOARD		"VHCA_LX_00000001"	/* 16 octets */

#define WIDTHS		3u		/* 1X, 4X */
#define VLS		4u		/* eight of them */
#define LOG_READS	4u
#define ACK_DELAY	15u
#define RATES		0xfu
#define WQE_MOST	512u		/* octets */

static const struct hx_value fw[] = {
	HX_VALUE(HX_FW_PAGES, HX_FW_PAGES_NEEDED),
	HX_VALUE(HX_FW_MAJOR, FW_MAJOR),
	HX_VALUE(HX_FW_SUBMINOR, FW_SUBMINOR),
	HX_VALUE(HX_FW_MINOR, FW_MINOR),
	HX_VALUE(HX_FW_LOG_CMDS, HX_LOG_CMDS),
	HX_VALUE(HX_FW_CATAS_SIZE, HX_CATAS_WORDS),
};

static enum cx_status query_fw(struct cx_dev *d, struct hx_cmd *c)
{
	HX_SET_ALL(c->out, fw);
	cx_be64_set(c->out + HX_FW_CLR_INT, HX_CLR_INT);
	cx_be64_set(c->out + HX_FW_CATAS, HX_CATAS);
	cx_be64_set(c->out + MT_FW_EQ_ARM, MT_EQ_ARM);
	cx_be64_set(c->out + MT_FW_EQ_SET_CI, MT_EQ_SET_CI);
	return CX_OK;
}

static const struct hx_value limits[] = {
	HX_VALUE(HX_CAP_LOG_SRQ_SZ, 14),
	HX_VALUE(HX_CAP_LOG_QP_SZ, 14),
	HX_VALUE(HX_CAP_LOG_RSVD_QP, 4),
	HX_VALUE(HX_CAP_LOG_QP, 16),
	HX_VALUE(HX_CAP_LOG_RSVD_SRQ, 4),
	HX_VALUE(HX_CAP_LOG_SRQ, 10),
	HX_VALUE(HX_CAP_LOG_CQ_SZ, 17),
	HX_VALUE(HX_CAP_LOG_RSVD_CQ, 3),
	HX_VALUE(HX_CAP_LOG_CQ, 16),
	HX_VALUE(HX_CAP_LOG_MPT, 17),
	HX_VALUE(HX_CAP_LOG_RSVD_EQ, 2),
	HX_VALUE(MT_LIM_LOG_EQ, 6),
	HX_VALUE(HX_CAP_LOG_RSVD_MTT, 4),
	HX_VALUE(HX_CAP_LOG_RSVD_MRW, 4),
	HX_VALUE(MT_LIM_LOG_MTT_SEG, 20),
	HX_VALUE(HX_CAP_LOG_REQ_READS, LOG_READS),
	HX_VALUE(HX_CAP_LOG_RESP_READS, LOG_READS),
	HX_VALUE(MT_LIM_LOG_RDMA, 20),
	HX_VALUE(HX_CAP_ACK_DELAY, ACK_DELAY),
	HX_VALUE(MT_LIM_MTU, CX_MTU_2048),
	HX_VALUE(MT_LIM_WIDTH, WIDTHS),
	HX_VALUE(MT_LIM_VLS, VLS),
	HX_VALUE(HX_CAP_PORTS, 1),
	HX_VALUE(HX_CAP_RATES, RATES),
	HX_VALUE(HX_CAP_FLAGS, HX_FLAG_RC | HX_FLAG_UC | HX_FLAG_UD | HX_FLAG_SRQ |
		 HX_FLAG_BAD_PKEY | HX_FLAG_BAD_QKEY | HX_FLAG_ATOMIC |
		 HX_FLAG_UD_AV_PORT | HX_FLAG_UD_MCAST),
	HX_VALUE(HX_CAP_RSVD_UARS, MT_UAR_RSVD),
	HX_VALUE(HX_CAP_LOG_UAR_MB, CX_BAR2_LOG_MB),
	HX_VALUE(HX_CAP_LOG_PAGE, HX_LOG_PAGE),
	HX_VALUE(HX_CAP_SQ_SG, 30),
	HX_VALUE(HX_CAP_SQ_DESC, WQE_MOST),
	HX_VALUE(HX_CAP_RQ_SG, 30),
	HX_VALUE(HX_CAP_RQ_DESC, WQE_MOST),
	HX_VALUE(MT_LIM_LOG_MCG_QPS, 5),
	HX_VALUE(MT_LIM_LOG_MCG, 13),
	HX_VALUE(HX_CAP_LOG_PD, 15),
	HX_VALUE(HX_CAP_QPC, 256),
	HX_VALUE(MT_LIM_EQPC, 256),
	HX_VALUE(HX_CAP_EQC, 64),
	HX_VALUE(HX_CAP_CQC, 64),
	HX_VALUE(HX_CAP_SRQC, 32),
	HX_VALUE(MT_LIM_UAR_SCRATCH, 32),
	HX_VALUE(HX_CAP_MTT, HX_MTT_BYTES),
	HX_VALUE(HX_CAP_DMPT, HX_MPT_BYTES),
};

static enum cx_status query_dev_lim(struct cx_dev *d, struct hx_cmd *c)
{
	HX_SET_ALL(c->out, limits);
	hx_set(c->out, MT_LIM_LOG_GIDS, __builtin_ctz(CX_GIDS));
	hx_set(c->out, MT_LIM_LOG_PKEYS, __builtin_ctz(CX_PKEYS));
	cx_be64_set(c->out + HX_CAP_ICM, 1ULL << HX_LOG_ICM);
	return CX_OK;
}

static enum cx_status query_adapter(struct cx_dev *d, struct hx_cmd *c)
{
	hx_board(c->out, BOARD);
	return CX_OK;
}

/* No memory of its own: that is what makes the driver lend it the host's. */
static enum cx_status enable_lam(struct cx_dev *d, struct hx_cmd *c)
{
	return CX_LAM_NOT_PRE;
}

/* Each by itself: QP 1's follows QP 0's; 0 takes them back. */
static enum cx_status conf_special_qp(struct cx_dev *d, struct hx_cmd *c)
{
	struct cx_hx *hx = d->hx;

	if (c->in_mod > HX_NUMBER || c->in_mod % 2 || c->op_mod > MT_SQP_GSI)
		return CX_BAD_PARAM;
	if (c->op_mod == MT_SQP_SMI)
		hx->sqp_base = c->in_mod;
	else if (c->in_mod && c->in_mod != hx->sqp_base + HX_SQP_QP1)
		return CX_BAD_PARAM;
	return CX_OK;
}

const struct hx_cmd_desc hx_cmds_mt[] = {
	{ HX_QUERY_FW, "QUERY_FW", query_fw, HX_OFF, 0, 0x100 },
	{ MT_ENABLE_LAM, "ENABLE_LAM", enable_lam, HX_OFF, 0, 0 },
	{ HX_QUERY_DEV_CAP, "QUERY_DEV_LIM", query_dev_lim, HX_FW, 0, 0x100 },
	{ HX_QUERY_ADAPTER, "QUERY_ADAPTER", query_adapter, HX_FW, 0, 0x100 },
	{ HX_CONF_SPECIAL_QP, "CONF_SPECIAL_QP", conf_special_qp, HX_UP, 0, 0 },
	{ HX_READ_MGM, "READ_MGM", hx_read_mgm, HX_UP, 0, MT_MGM_BYTES },
	{ HX_WRITE_MGM, "WRITE_MGM", hx_write_mgm, HX_UP, MT_MGM_BYTES, 0 },
	{ 0 }
};
