// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Ethernet ports: frames of any octets through the steering, send requests with
 * malformed words, commands of a network driver with malformed words, flow
 * entries and addresses of any value, and RoCE between two devices.
 */
#include "hfuzz.h"

static struct end a, b;
static struct drv_nic nic_a, nic_b;

static void send_frame(struct input *in)
{
	uint8_t frame[2048] = { 0 };
	uint16_t len = in_u16(in) % sizeof(frame);
	uint8_t header = in_u8(in), flags = in_u8(in);
	uint16_t mss = in_u16(in) & 0x3fff;

	in_bytes(in, frame, len);
	drv_nic_send(&nic_a, frame, len, header < len ? header : len, flags,
		     mss);
	if (flags & 1)
		drv_nic_fill(&nic_b, flags >> 1 & 1, 1);
}

/* Words of what the ring holds, and then whatever lies at its head. */
static void spoilt_wqe(struct input *in)
{
	uint8_t n = in_u8(in) & 7, off;
	uint16_t at = nic_a.sq.pi % (1u << NIC_LOG_WQ) * 64;
	uint32_t value;

	while (n--) {
		off = in_u8(in) & 0xfc;
		value = in_u32(in);
		memcpy(nic_a.sq.buf + (at + off) % (64u << NIC_LOG_WQ), &value,
		       4);
	}
	nic_a.sq.pi += 1 + (in_u8(in) & 1);
	nic_a.sq.db[1] = htobe32(nic_a.sq.pi);
	rig_store64(a.drv.dev, a.drv.uar * 4096ULL + 0x800, nic_a.sq.buf + at);
}

/* Up to 7 words of the entry or of the first mailboxes. */
static void spoil(struct drv *v, uint8_t *entry, size_t in_len)
{
	struct input *in = v->spoil_arg;
	uint8_t n = in_u8(in) & 7, where;
	uint32_t value;
	uint16_t off;

	while (n--) {
		where = in_u8(in);
		off = in_u16(in);
		value = htobe32(where & 2 ? in_u8(in) : in_u32(in));
		if (where & 1 || in_len <= 16)
			memcpy(entry + 16 + off % 13, &value, 4);
		else
			memcpy(v->box_in + off % 576 / 4 * 4, &value, 4);
	}
}

/*
 * Another driver's worth of objects, each command with its mistakes; or those of a process,
 * whose frames come back.
 */
static void commands(struct input *in)
{
	uint32_t td = a.drv.td;
	struct drv_nic nic;

	if (in_u8(in) & 1)
		drv_simple(&a.drv, MLX5_CMD_OP_ALLOC_TRANSPORT_DOMAIN, 0,
			   &a.drv.td);
	a.drv.spoil = spoil;
	a.drv.spoil_arg = in;
	drv_nic_open(&a.drv, &nic);
	if (in_u8(in) & 1)
		drv_nic_close(&nic);
	a.drv.spoil = NULL;
	a.drv.td = td;
}

static void simple(struct input *in)
{
	static const uint16_t op[] = {
		MLX5_CMD_OP_DESTROY_SQ, MLX5_CMD_OP_DESTROY_RQ,
		MLX5_CMD_OP_DESTROY_TIR, MLX5_CMD_OP_DESTROY_TIS,
		MLX5_CMD_OP_DESTROY_RQT, MLX5_CMD_OP_DESTROY_QP,
		MLX5_CMD_OP_DEALLOC_TRANSPORT_DOMAIN, MLX5_CMD_OP_DEALLOC_UAR,
		MLX5_CMD_OP_DESTROY_CQ, MLX5_CMD_OP_2ERR_QP,
	};
	uint8_t which = in_u8(in), how = in_u8(in);
	uint32_t base[] = { 0, nic_a.sq.n, nic_a.tir, nic_a.scq.cqn };

	drv_simple(&a.drv, op[which % (sizeof(op) / sizeof(op[0]))],
		   base[how & 3] + (how >> 2 & 7), NULL);
	if (how & 0x20)
		drv_wq_move(&a.drv, MLX5_CMD_OP_MODIFY_SQ, nic_a.sq.n,
			    how >> 6, which & 3);
	if (how & 0x40)
		drv_wq_move(&b.drv, MLX5_CMD_OP_MODIFY_RQ, nic_b.rq[0].n,
			    which & 3, which >> 2 & 3);
}

static void flows(struct input *in)
{
	uint8_t how = in_u8(in), match[64] = { 0 };
	struct drv *v = &b.drv;
	uint32_t table, group;

	in_bytes(in, match, in_u8(in) & 63);
	drv_ft(v, in_u8(in), how & 1 ? nic_b.ttc : 0, &table);
	drv_fg(v, table, in_u8(in) & 3, in_u8(in), match, &group);
	drv_fte(v, table, group, in_u8(in), match, how >> 1 & 3,
		how & 8 ? nic_b.tir : nic_b.ttc);
	if (how & 0x10)
		drv_table_op(v, MLX5_CMD_OP_SET_FLOW_TABLE_ROOT, how & 0x20,
			     table, 0);
	if (how & 0x40)
		drv_fte_del(v, nic_b.l2, how & 1);
	if (how & 0x80)
		drv_table_op(v, MLX5_CMD_OP_DESTROY_FLOW_TABLE, 0, table, 0);
}

static void roce(struct input *in)
{
	hfuzz_post(in_u8(in) & 1 ? &b : &a, &b, in, 0);
}

static void addresses(struct input *in)
{
	uint8_t how = in_u8(in), gid[16] = { 0xfe, 0x80 };
	static const uint8_t mac[6] = { 0, 2, 0xc9, 0, 0, 2 };

	in_bytes(in, gid, how & 15);
	drv_roce_addr(&a.drv, how >> 4, 1 + (how & 1), how & 2 ? gid : NULL,
		      mac, how & 4 ? DRV_VLAN | how : 0);
	if (how & 8)
		drv_roce(&b.drv, how & 1);
}

static void port(struct input *in)
{
	static const uint16_t id[] = { 0x5003, 0x5004, 0x5006, 0x5008 };
	uint8_t how = in_u8(in), data[CX_BYTES(ppcnt_reg)] = { 0 };

	in_bytes(in, data, 48);
	data[1] |= 1;
	drv_reg(&a.drv, id[how & 3], how & 4, data, sizeof(data));
	if (how & 8)
		drv_admin(&b.drv, how & 16);
	if (how == 0xfe)
		cx_wire_loss(b.drv.dev->cx, data[0] % (CX_LOSS_MOST + 1));
	if (how == 0xff)
		cx_reset(b.drv.dev->cx);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const step[])(struct input *) = {
		send_frame, spoilt_wqe, commands, simple, flows, addresses,
		roce, port, send_frame,
	};
	struct input in = { data, size };
	struct rig *r = hfuzz_rig(0);
	unsigned int i;

	r->eth = true;
	hfuzz_open(&a, r, 1, false);
	hfuzz_open(&b, r, 2, false);
	hfuzz_addresses(&a, 1);
	hfuzz_addresses(&b, 2);
	hfuzz_connect(&a, &b);
	PROMISE(!drv_nic_open(&a.drv, &nic_a));
	PROMISE(!drv_nic_open(&b.drv, &nic_b));
	for (i = 0; i < NIC_RQS; i++)
		drv_nic_fill(&nic_b, i, 8);
	for (i = 0; i < 64 && in.left; i++)
		step[in_step(&in) % (sizeof(step) / sizeof(step[0]))](&in);
	rig_sleep(r, 3000000000ULL);
	hfuzz_check(r);
	rig_clear(r);
	return 0;
}
