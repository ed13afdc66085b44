// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * What a process of the guest can do: work requests with malformed words,
 * doorbells of any value, doorbell records, queues and completion entries
 * written over, between two devices that are up.
 */
#include "hfuzz.h"

static struct end a, b;

static void spoil_queue(struct drv_qp *qp, struct input *in)
{
	size_t sq = 64UL << qp->log_sq, rq = qp->sq - qp->rq;
	uint8_t n = in_u8(in) & 15;
	uint32_t value;
	uint16_t off;

	while (n--) {
		off = in_u16(in);
		value = in_u32(in);
		if (off & 1 && rq)
			memcpy(qp->rq + (off & ~3U) % rq, &value, 4);
		else
			memcpy(qp->sq + (off & ~3U) % sq, &value, 4);
	}
}

/* A word of the request that was written last. */
static void spoil_last(struct drv_qp *qp, uint16_t index, struct input *in)
{
	uint8_t n = in_u8(in) & 7, off;
	uint32_t value;

	while (n--) {
		off = in_u8(in);
		value = off & 1 ? in_u32(in) : in_u8(in);
		if (off & 2)
			value = htobe32(value);
		memcpy(qp->sq + (index * 64UL + (off & 0xfc)) %
		       (64UL << qp->log_sq), &value, 4);
	}
}

static void good_post(struct input *in)
{
	uint8_t who = in_u8(in);

	hfuzz_post(who & 1 ? &b : &a, who & 2 ? &a : &b, in, 0);
}

static void spoilt_post(struct input *in)
{
	uint16_t before[HFUZZ_QPS], i;
	struct drv_qp *qp;

	for (i = 0; i < HFUZZ_QPS; i++)
		before[i] = hfuzz_qp(&a, i)->sq_pi;
	hfuzz_post(&a, &b, in, DRV_QUIET);
	for (i = 0; i < HFUZZ_QPS; i++) {
		qp = hfuzz_qp(&a, i);
		if (qp->sq_pi == before[i])
			continue;
		spoil_last(qp, before[i], in);
		drv_ring(qp, qp->sq + before[i] * 64UL %
			 (64UL << qp->log_sq), qp->uar);
	}
}

static void any_queue(struct input *in)
{
	spoil_queue(hfuzz_qp(&a, in_u8(in)), in);
}

static void doorbell(struct input *in)
{
	struct drv_qp *qp = hfuzz_qp(&a, in_u8(in));
	uint8_t how = in_u8(in);
	uint32_t word[2] = { in_u32(in), htobe32(qp->qpn << 8 | in_u8(in)) };

	if (how & 1)
		qp->db[0] = in_u32(in);
	if (how & 2)
		qp->db[1] = in_u32(in);
	if (how & 4)
		word[1] = in_u32(in);
	rig_store64(a.drv.dev, (a.drv.uar + (how >> 6)) * 4096ULL + 0x800,
		    word);
}

static void any_register(struct input *in)
{
	uint32_t off = in_u32(in), value = in_u32(in);

	if (off & 1)
		off = a.drv.uar * 4096 + (off >> 8 & 0xffc);
	off = off % CX_BAR_SIZE & ~7U;
	if (off < 0x20)			/* not the command queue's address */
		off += 0x20;
	cx_mmio_write(a.drv.dev->cx, off, (uint64_t)value << 32 | off,
		      value & 1 ? 4 : 8);
	cx_mmio_read(a.drv.dev->cx, off, 4);
}

static void shared_queue(struct input *in)
{
	uint8_t how = in_u8(in);
	struct drv_srq *srq = how & 1 ? &a.srq : how & 8 ? &a.tag_srq :
			      &a.xrc_srq;
	uint16_t off = in_u16(in) & 0x3fc;
	uint32_t value = in_u32(in);

	memcpy(srq->buf + off, &value, 4);
	if (how & 2)
		srq->db[0] = in_u32(in);
	if (how & 4)
		drv_srq_arm(&a.drv, srq, how);
}

static void completions(struct input *in)
{
	uint8_t how = in_u8(in);
	struct drv_wc wc;

	if (how & 1)
		a.scq.db[0] = in_u32(in);
	if (how & 2)
		memset(a.scq.buf, how, 64UL << a.scq.log_size);
	if (how & 4)
		drv_arm(&a.drv, how & 8 ? &a.scq : &a.rcq, how & 16);
	if (how & 32)
		while (drv_poll(&a.rcq, &wc) || drv_poll(&b.rcq, &wc) ||
		       drv_poll(&a.scq, &wc) || drv_poll(&b.scq, &wc))
			;
	if (how & 64)
		drv_cq_resize(&a.drv, &a.scq, 1 + (how & 7));
}

static void change(struct input *in)
{
	static const struct drv_path path = { .dlid = 2, .qkey = 0x1111,
					      .timeout = 10, .access = 15 };
	uint8_t how = in_u8(in);
	struct drv_qp *qp = hfuzz_qp(&a, how);

	if (how & 0x10)
		drv_qp_to(qp, MLX5_CMD_OP_2ERR_QP);
	if (how & 0x20)
		drv_qp_to(qp, MLX5_CMD_OP_2RST_QP);
	if (how & 0x40)
		drv_qp_up(qp, &path);
	if (how == 0xff)
		drv_qp_destroy(qp);
	if (how == 0xfe)
		drv_mkey_destroy(&b.drv, b.mr.key);
	if (how == 0xfd)
		cx_reset(b.drv.dev->cx);
	if (how == 0xfc)
		rig_revoke(a.drv.rig, a.mem, 8192);
}

static void pass_time(struct input *in)
{
	rig_sleep(a.drv.rig, in_u16(in) * 100000ULL);
}

static void pull_cable(struct input *in)
{
	cx_cable(a.drv.dev->cx, in_u8(in) & 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const step[])(struct input *) = {
		good_post, spoilt_post, doorbell, any_register, shared_queue,
		completions, change, pass_time, good_post, spoilt_post,
		good_post, spoilt_post, spoilt_post, pull_cable, any_queue,
	};
	struct input in = { data, size };
	struct rig *r = hfuzz_rig(0);
	int i;

	hfuzz_open(&a, r, 1, false);
	hfuzz_open(&b, r, 2, false);
	hfuzz_connect(&a, &b);
	in_bytes(&in, a.mem, in_u8(&in));
	for (i = 0; i < 128 && in.left; i++)
		step[in_step(&in) % (sizeof(step) / sizeof(step[0]))](&in);
	rig_sleep(r, 3000000000ULL);
	hfuzz_check(r);
	rig_clear(r);
	return 0;
}
