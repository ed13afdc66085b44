// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Commands: good ones with malformed words in the entry and in the mailboxes, in
 * any order, and raw input as a command; every second one to a model of a rich card.
 */
#include "hfuzz.h"

static struct end end;

/* Up to 7 words of the entry or of the first mailboxes. */
static void spoil(struct drv *v, uint8_t *entry, size_t in_len)
{
	struct input *in = v->spoil_arg;
	uint8_t n = in_u8(in) & 7, where;
	uint32_t value;
	uint16_t off;
	size_t room = in_len > 16 ? (in_len - 16 + 511) / 512 * 1024 : 0;

	while (n--) {
		where = in_u8(in);
		off = in_u16(in);
		value = where & 2 ? (uint32_t)in_u8(in) << (where >> 3) :
			in_u32(in);
		if (where & 4)		/* big endian, as numbers are */
			value = htobe32(value);
		if (where & 1 || room < 8)
			memcpy(entry + off % 61, &value, 4);
		else
			memcpy(v->box_in + off % (room - 4) / 4 * 4, &value,
			       4);
	}
}

static void raw(struct drv *v, struct input *in)
{
	uint8_t b[2048] = { 0 }, out[2048];
	uint16_t len = in_u16(in) % sizeof(b), out_len = in_u16(in);

	in_bytes(in, b, len < 256 ? len : 256);
	drv_exec(v, b, len, out, out_len % sizeof(out));
}

static void simple(struct drv *v, struct input *in)
{
	static const uint16_t op[] = {
		MLX5_CMD_OP_DESTROY_QP, MLX5_CMD_OP_DESTROY_CQ,
		MLX5_CMD_OP_DESTROY_XRC_SRQ, MLX5_CMD_OP_DESTROY_RMP,
		MLX5_CMD_OP_DESTROY_EQ, MLX5_CMD_OP_DESTROY_MKEY,
		MLX5_CMD_OP_DEALLOC_PD, MLX5_CMD_OP_DEALLOC_UAR,
		MLX5_CMD_OP_DEALLOC_XRCD, MLX5_CMD_OP_2ERR_QP,
		MLX5_CMD_OP_2RST_QP, MLX5_CMD_OP_ALLOC_PD,
		MLX5_CMD_OP_ALLOC_UAR, MLX5_CMD_OP_QUERY_CQ,
		MLX5_CMD_OP_QUERY_EQ, MLX5_CMD_OP_QUERY_QP,
		MLX5_CMD_OP_QUERY_MKEY, MLX5_CMD_OP_TEARDOWN_HCA,
		MLX5_CMD_OP_INIT_HCA, MLX5_CMD_OP_ENABLE_HCA,
		MLX5_CMD_OP_DISABLE_HCA, MLX5_CMD_OP_QUERY_RMP,
		MLX5_CMD_OP_QUERY_XRC_SRQ, MLX5_CMD_OP_QUERY_ADAPTER,
		MLX5_CMD_OP_QUERY_Q_COUNTER, MLX5_CMD_OP_ACCESS_REG,
		MLX5_CMD_OP_DESTROY_XRQ, MLX5_CMD_OP_QUERY_XRQ,
		MLX5_CMD_OP_ARM_XRQ, MLX5_CMD_OP_CREATE_UCTX,
		MLX5_CMD_OP_DESTROY_UCTX, MLX5_CMD_OP_CREATE_DCT,
		MLX5_CMD_OP_ALLOC_MEMIC,
	};
	uint16_t which = op[in_u8(in) % (sizeof(op) / sizeof(op[0]))];
	uint32_t n = in_u16(in), base[] = {
		0, end.rc.qpn, end.scq.cqn, end.srq.srqn, end.mr.key >> 8,
		end.drv.uar, end.drv.pd, end.drv.xrcd,
	};

	drv_simple(v, which, base[n & 7] + (n >> 3 & 15), NULL);
}

static void queues(struct drv *v, struct input *in)
{
	struct drv_cq cq;
	struct drv_eq eq;
	struct drv_srq srq;
	uint8_t how = in_u8(in);

	if (how & 1)
		drv_cq_on(v, &cq, how >> 4, &v->comp_eq[0], v->uar, how & 8);
	if (how & 2)
		drv_eq_create(v, &eq, how >> 4, how & 63, in_u32(in));
	if (how & 4)
		drv_srq_as(v, &srq, how >> 5, how & 1 ? DRV_SRQ_TM : how % 3,
			   &end.scq);
	if (how & 8)
		drv_cq_resize(v, &end.scq, how >> 5);
	if (how & 16)
		drv_srq_arm(v, &end.srq, in_u16(in));
}

static void pairs(struct drv *v, struct input *in)
{
	static const uint16_t op[] = {
		MLX5_CMD_OP_RST2INIT_QP, MLX5_CMD_OP_INIT2RTR_QP,
		MLX5_CMD_OP_RTR2RTS_QP, MLX5_CMD_OP_RTS2RTS_QP,
		MLX5_CMD_OP_SQERR2RTS_QP, MLX5_CMD_OP_INIT2INIT_QP,
		MLX5_CMD_OP_SQD_RTS_QP,
	};
	static const uint8_t gid[16] = { 0xff, 0x12, [15] = 1 };
	struct drv_path path = { .dlid = 1, .qpn = end.rc.qpn, .psn = 1 };
	struct drv_qp_init init = { .scq = &end.scq, .rcq = &end.rcq };
	uint8_t how = in_u8(in), qpc[CX_BYTES(qpc)];
	struct drv_qp qp;

	if (how & 1) {
		init.type = how >> 4 & 3;
		init.log_sq = in_u8(in) & 7;
		init.log_rq = in_u8(in) & 7;
		init.log_rq_stride = 4 + (in_u8(in) & 7);
		drv_qp(v, &qp, &init);
	}
	if (how & 2)
		drv_qp_modify(hfuzz_qp(&end, how >> 4), op[in_u8(in) % 7],
			      in_u32(in), &path);
	if (how & 4)
		drv_qp_query(hfuzz_qp(&end, how >> 4), qpc);
	if (how & 8)
		drv_mcg(&end.ud, gid, how & 16);
}

static void keys(struct drv *v, struct input *in)
{
	uint8_t how = in_u8(in), caps[4096], mad[256] = { 0 };
	struct drv_mr mr;
	uint32_t key;

	if (how & 1)
		drv_mr_at(v, &mr, end.mem + in_u16(in), in_u16(in), in_u16(in),
			  v->pd, how >> 4, 12);
	if (how & 2)
		drv_mw(v, &key, how & 16);
	if (how & 4)
		drv_caps(v, in_u16(in), caps);
	if (how & 8) {
		in_bytes(in, mad, 80);
		drv_mad_ifc(v, mad, mad);
	}
}

/* What the port and its tables are asked by commands, and registers. */
static void port(struct drv *v, struct input *in)
{
	static const uint16_t op[] = {
		MLX5_CMD_OP_ACCESS_REG, MLX5_CMD_OP_QUERY_HCA_VPORT_CONTEXT,
		MLX5_CMD_OP_QUERY_HCA_VPORT_GID,
		MLX5_CMD_OP_QUERY_HCA_VPORT_PKEY, MLX5_CMD_OP_MAD_IFC,
	};
	static const uint16_t reg[] = { 0x7004, 0x6001, 0x5001, 0x5003,
					0x5004, 0x5006, 0x500f, 0x9020 };
	uint8_t b[272] = { 0 }, out[4096 + 64];
	uint8_t which = in_u8(in), code = in_u8(in) % 5;

	b[0] = op[code] >> 8;
	b[1] = op[code];
	b[7] = which >> 7;
	if (!code) {
		b[10] = reg[which % 8] >> 8;
		b[11] = reg[which % 8];
		in_bytes(in, b + 12, 32);
		b[17] |= 1;			/* local_port */
	} else {
		in_bytes(in, b + 8, 16);
	}
	drv_exec(v, b, sizeof(b), out, sizeof(out));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const step[])(struct drv *, struct input *) = {
		raw, simple, queues, pairs, keys, port,
	};
	struct input in = { data, size };
	struct rig *r = hfuzz_rig(0);
	int i;

	r->cx6dx = size & 1;
	hfuzz_open(&end, r, 1, false);
	end.drv.spoil = spoil;
	end.drv.spoil_arg = &in;
	for (i = 0; i < 64 && in.left; i++)
		step[in_step(&in) % 6](&end.drv, &in);
	hfuzz_check(r);
	cx_pages_held(end.drv.dev->cx);
	cx_may_touch(end.drv.dev->cx, rig_bus(r, end.mem));
	rig_clear(r);
	return 0;
}
