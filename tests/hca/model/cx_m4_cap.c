// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * What a ConnectX-3 tells of itself: sizes, limits, flags; and the commands that only
 * it has. What the model does not do is not announced; the sizes are what the engines
 * bear.
 */
#include "cx_cmd.h"
#include "cx_hx.h"

#define FW_MAJOR	2u
#define FW_MINOR	42u
#define FW_SUBMINOR	5000u
#define CMD_REV		3u		/* the port has commands of its own */
#define BOARD		"VHCA_CX3_0000001"	/* 16 octets */

#define MTU_4096	5u
#define WIDTHS		3u		/* 1X, 4X */
#define VLS		8u
#define LOG_READS	4u
#define ACK_DELAY	15u
#define RATES		0xffffu
#define UAR_RSVD	8u

static const struct hx_value fw[] = {
	HX_VALUE(HX_FW_PAGES, HX_FW_PAGES_NEEDED),
	HX_VALUE(HX_FW_MAJOR, FW_MAJOR),
	HX_VALUE(HX_FW_SUBMINOR, FW_SUBMINOR),
	HX_VALUE(HX_FW_MINOR, FW_MINOR),
	HX_VALUE(HX_FW_CMD_REV, CMD_REV),
	HX_VALUE(HX_FW_LOG_CMDS, HX_LOG_CMDS),
	HX_VALUE(HX_FW_CATAS_SIZE, HX_CATAS_WORDS),
};

static enum cx_status query_fw(struct cx_dev *d, struct hx_cmd *c)
{
	HX_SET_ALL(c->out, fw);
	cx_be64_set(c->out + HX_FW_CLR_INT, HX_CLR_INT);
	cx_be64_set(c->out + HX_FW_CATAS, HX_CATAS);
	return CX_OK;
}

static const struct hx_value caps[] = {
	HX_VALUE(HX_CAP_LOG_SRQ_SZ, 14),
	HX_VALUE(HX_CAP_LOG_QP_SZ, 14),
	HX_VALUE(HX_CAP_LOG_RSVD_QP, 6),
	HX_VALUE(HX_CAP_LOG_QP, 18),
	HX_VALUE(HX_CAP_LOG_RSVD_SRQ, 6),
	HX_VALUE(HX_CAP_LOG_SRQ, 16),
	HX_VALUE(HX_CAP_LOG_CQ_SZ, 22),
	HX_VALUE(HX_CAP_LOG_RSVD_CQ, 7),
	HX_VALUE(HX_CAP_LOG_CQ, 16),
	HX_VALUE(HX_CAP_LOG_MPT, 19),
	HX_VALUE(HX_CAP_LOG_RSVD_EQ, 5),
	HX_VALUE(HX_CAP_LOG_EQ, 9),
	HX_VALUE(HX_CAP_LOG_RSVD_MTT, 4),
	HX_VALUE(HX_CAP_LOG_RSVD_MRW, 8),
	HX_VALUE(HX_CAP_LOG_REQ_READS, LOG_READS),
	HX_VALUE(HX_CAP_LOG_RESP_READS, LOG_READS),
	HX_VALUE(HX_CAP_ACK_DELAY, ACK_DELAY),
	HX_VALUE(HX_CAP_PORTS, 1),
	HX_VALUE(HX_CAP_LOG_MSG, 30),
	HX_VALUE(HX_CAP_RATES, RATES),
	HX_VALUE(HX_CAP_FLAGS, HX_FLAG_RC | HX_FLAG_UC | HX_FLAG_UD | HX_FLAG_SRQ |
		 HX_FLAG_BAD_PKEY | HX_FLAG_BAD_QKEY | HX_FLAG_ATOMIC |
		 HX_FLAG_UD_AV_PORT | HX_FLAG_UD_MCAST),
	HX_VALUE(HX_CAP_RSVD_UARS, UAR_RSVD),
	HX_VALUE(HX_CAP_LOG_UAR_MB, CX_BAR2_LOG_MB - 1),
	HX_VALUE(HX_CAP_LOG_PAGE, HX_LOG_PAGE),
	HX_VALUE(HX_CAP_SQ_SG, 62),
	HX_VALUE(HX_CAP_SQ_DESC, HX_WQE_MAX),
	HX_VALUE(HX_CAP_RQ_SG, 32),
	HX_VALUE(HX_CAP_RQ_DESC, 512),
	HX_VALUE(HX_CAP_LOG_MCG_QPS, 8),
	HX_VALUE(HX_CAP_LOG_MCG, 13),
	HX_VALUE(HX_CAP_LOG_PD, 15),
	HX_VALUE(HX_CAP_RDMARC, 32),
	HX_VALUE(HX_CAP_QPC, 256),
	HX_VALUE(HX_CAP_AUXC, 64),
	HX_VALUE(HX_CAP_ALTC, 64),
	HX_VALUE(HX_CAP_EQC, 128),
	HX_VALUE(HX_CAP_CQC, 128),
	HX_VALUE(HX_CAP_SRQC, 128),
	HX_VALUE(HX_CAP_CMPT, 64),
	HX_VALUE(HX_CAP_MTT, HX_MTT_BYTES),
	HX_VALUE(HX_CAP_DMPT, HX_MPT_BYTES),
};

static enum cx_status query_dev_cap(struct cx_dev *d, struct hx_cmd *c)
{
	HX_SET_ALL(c->out, caps);
	cx_be64_set(c->out + HX_CAP_ICM, 1ULL << HX_LOG_ICM);
	hx_set(c->out, HX_CAP_CQE64, d->config.cqe64);
	if (d->config.blueflame) {
		hx_set(c->out, HX_CAP_BLUEFLAME, 1);
		hx_set(c->out, HX_CAP_LOG_BF, HX_LOG_BF + 1);
		hx_set(c->out, HX_CAP_LOG_BFS, HX_LOG_PAGE - HX_LOG_BF - 1);
	}
	return CX_OK;
}

static enum cx_status query_adapter(struct cx_dev *d, struct hx_cmd *c)
{
	hx_board(c->out, BOARD);
	return CX_OK;
}

static enum cx_status query_port(struct cx_dev *d, struct hx_cmd *c)
{
	if (c->in_mod != 1)
		return CX_IX;
	hx_set(c->out, HX_PORT_UP, d->port.state != CX_PORT_S_DOWN);
	hx_set(c->out, HX_PORT_IB, 1);
	hx_set(c->out, HX_PORT_MTU, MTU_4096);
	hx_set(c->out, HX_PORT_WIDTH, WIDTHS);
	hx_set(c->out, HX_PORT_LOG_GIDS, __builtin_ctz(CX_GIDS));
	hx_set(c->out, HX_PORT_LOG_PKEYS, __builtin_ctz(CX_PKEYS));
	hx_set(c->out, HX_PORT_VLS, VLS);
	return CX_OK;
}

static enum cx_status mod_stat_cfg(struct cx_dev *d, struct hx_cmd *c)
{
	uint8_t out[HX_STAT_BYTES] = { 0 };

	if (c->op_mod != HX_STAT_PORT)
		return CX_OK;
	hx_set(out, HX_STAT_GUID_HI, d->port.guid >> 32);
	hx_set(out, HX_STAT_GUID_LO, d->port.guid);
	return cx_dma_write(d, c->out_param, out, sizeof(out)) ? CX_INT_ERR :
								 CX_OK;
}

/* Counters that nothing counts. */
static enum cx_status diag_rprt(struct cx_dev *d, struct hx_cmd *c)
{
	return CX_OK;
}

static enum cx_status set_node(struct cx_dev *d, struct hx_cmd *c)
{
	cx_port_describe(d, (const char *)c->in);
	return CX_OK;
}

static enum cx_status conf_special_qp(struct cx_dev *d, struct hx_cmd *c)
{
	if (c->in_mod % HX_SQPS || c->in_mod > HX_NUMBER)
		return CX_BAD_PARAM;
	d->hx->sqp_base = c->in_mod;
	return CX_OK;
}

const struct hx_cmd_desc hx_cmds_m4[] = {
	{ HX_QUERY_FW, "QUERY_FW", query_fw, HX_OFF, 0, 0x100 },
	{ HX_MOD_STAT_CFG, "MOD_STAT_CFG", mod_stat_cfg, HX_FW, 0, 0 },
	{ HX_QUERY_DEV_CAP, "QUERY_DEV_CAP", query_dev_cap, HX_FW, 0, 0x100 },
	{ HX_QUERY_ADAPTER, "QUERY_ADAPTER", query_adapter, HX_FW, 0, 0x100 },
	{ HX_QUERY_PORT, "QUERY_PORT", query_port, HX_FW, 0, 0x100 },
	{ HX_DIAG_RPRT, "DIAG_RPRT", diag_rprt, HX_UP, 0, HX_MAILBOX },
	{ HX_SET_NODE, "SET_NODE", set_node, HX_UP, HX_NODE_BYTES, 0 },
	{ HX_CONF_SPECIAL_QP, "CONF_SPECIAL_QP", conf_special_qp, HX_UP, 0, 0 },
	{ HX_READ_MGM, "READ_MGM", hx_read_mgm, HX_UP, 0, HX_MGM_BYTES },
	{ HX_WRITE_MGM, "WRITE_MGM", hx_write_mgm, HX_UP, HX_MGM_BYTES, 0 },
	{ 0 }
};
