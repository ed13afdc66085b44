// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * What a ConnectX-3 tells of itself: sizes, limits, flags. What the model does
 * not do is not announced; the sizes are what the engines bear.
 */
#include <string.h>

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

struct value {
	uint16_t at;
	uint8_t hi, lo;
	uint32_t value;
};

#define V(field, value) { field, value }
#define SET_ALL(p, t) do { \
	size_t i_; \
	for (i_ = 0; i_ < sizeof(t) / sizeof((t)[0]); i_++) \
		hx_set(p, (t)[i_].at, (t)[i_].hi, (t)[i_].lo, (t)[i_].value); \
} while (0)

static const struct value fw[] = {
	V(HX_FW_PAGES, HX_FW_PAGES_NEEDED),
	V(HX_FW_MAJOR, FW_MAJOR),
	V(HX_FW_SUBMINOR, FW_SUBMINOR),
	V(HX_FW_MINOR, FW_MINOR),
	V(HX_FW_CMD_REV, CMD_REV),
	V(HX_FW_LOG_CMDS, HX_LOG_CMDS),
	V(HX_FW_CATAS_SIZE, HX_CATAS_WORDS),
};

enum cx_status hx_query_fw(struct cx_dev *d, struct hx_cmd *c)
{
	SET_ALL(c->out, fw);
	cx_be64_set(c->out + HX_FW_CLR_INT, HX_CLR_INT);
	cx_be64_set(c->out + HX_FW_CATAS, HX_CATAS);
	return CX_OK;
}

static const struct value caps[] = {
	V(HX_CAP_LOG_SRQ_SZ, 14),
	V(HX_CAP_LOG_QP_SZ, 14),
	V(HX_CAP_LOG_RSVD_QP, 6),
	V(HX_CAP_LOG_QP, 18),
	V(HX_CAP_LOG_RSVD_SRQ, 6),
	V(HX_CAP_LOG_SRQ, 16),
	V(HX_CAP_LOG_CQ_SZ, 22),
	V(HX_CAP_LOG_RSVD_CQ, 7),
	V(HX_CAP_LOG_CQ, 16),
	V(HX_CAP_LOG_MPT, 19),
	V(HX_CAP_LOG_RSVD_EQ, 5),
	V(HX_CAP_LOG_EQ, 9),
	V(HX_CAP_LOG_RSVD_MTT, 4),
	V(HX_CAP_LOG_RSVD_MRW, 8),
	V(HX_CAP_LOG_REQ_READS, LOG_READS),
	V(HX_CAP_LOG_RESP_READS, LOG_READS),
	V(HX_CAP_ACK_DELAY, ACK_DELAY),
	V(HX_CAP_PORTS, 1),
	V(HX_CAP_LOG_MSG, 30),
	V(HX_CAP_RATES, RATES),
	V(HX_CAP_FLAGS, HX_FLAG_RC | HX_FLAG_UC | HX_FLAG_UD | HX_FLAG_SRQ |
	  HX_FLAG_BAD_PKEY | HX_FLAG_BAD_QKEY | HX_FLAG_ATOMIC |
	  HX_FLAG_UD_AV_PORT | HX_FLAG_UD_MCAST),
	V(HX_CAP_RSVD_UARS, UAR_RSVD),
	V(HX_CAP_LOG_UAR_MB, CX_BAR2_LOG_MB - 1),
	V(HX_CAP_LOG_PAGE, HX_LOG_PAGE),
	V(HX_CAP_SQ_SG, 62),
	V(HX_CAP_SQ_DESC, HX_WQE_MAX),
	V(HX_CAP_RQ_SG, 32),
	V(HX_CAP_RQ_DESC, 512),
	V(HX_CAP_LOG_MCG_QPS, 8),
	V(HX_CAP_LOG_MCG, 13),
	V(HX_CAP_LOG_PD, 15),
	V(HX_CAP_RDMARC, 32),
	V(HX_CAP_QPC, 256),
	V(HX_CAP_AUXC, 64),
	V(HX_CAP_ALTC, 64),
	V(HX_CAP_EQC, 128),
	V(HX_CAP_CQC, 128),
	V(HX_CAP_SRQC, 128),
	V(HX_CAP_CMPT, 64),
	V(HX_CAP_MTT, HX_MTT_BYTES),
	V(HX_CAP_DMPT, HX_MPT_BYTES),
};

enum cx_status hx_query_dev_cap(struct cx_dev *d, struct hx_cmd *c)
{
	SET_ALL(c->out, caps);
	cx_be64_set(c->out + HX_CAP_ICM, 1ULL << HX_LOG_ICM);
	hx_set(c->out, HX_CAP_CQE64, d->config.cqe64);
	if (d->config.blueflame) {
		hx_set(c->out, HX_CAP_BLUEFLAME, 1);
		hx_set(c->out, HX_CAP_LOG_BF, HX_LOG_BF + 1);
		hx_set(c->out, HX_CAP_LOG_BFS, HX_LOG_PAGE - HX_LOG_BF - 1);
	}
	return CX_OK;
}

/* The firmware turns the words of a name around, and the driver back. */
enum cx_status hx_query_adapter(struct cx_dev *d, struct hx_cmd *c)
{
	static const char board[] = BOARD;
	uint8_t *to = c->out + HX_ADAPTER_VSD / 4 + HX_ADAPTER_BOARD;
	unsigned int i;

	for (i = 0; i < 16; i++)
		to[i] = board[i ^ 3];
	return CX_OK;
}

enum cx_status hx_query_port(struct cx_dev *d, struct hx_cmd *c)
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
