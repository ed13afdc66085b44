// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The command queue: entries (struct mlx5_cmd_layout) with 16 bytes inline,
 * chains of mailboxes (struct mlx5_cmd_prot_block) for the rest, dispatch,
 * and the two ways of completion: the ownership bit, and an event once an EQ
 * for commands exists. Nothing in host memory is trusted: addresses, lengths,
 * tokens, chains that end early or loop.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cx_cmd.h"

#define INLINE		16u	/* bytes of in[] and out[] of an entry */
#define SHORTEST	8u	/* opcode and op_mod; status and syndrome */
#define XPORT		7u	/* MLX5_PCI_CMD_XPORT */
#define OWNER_HW	1u
#define BLOCK		512u	/* data of a mailbox */
#define ALIGNMENT	512u	/* of a mailbox */

/* MLX5_CMD_DELIVERY_STAT_* */
enum delivery {
	DELIVERED = 0x0, TOKEN_ERR = 0x2, BLOCK_NUM_ERR = 0x3,
	OUT_PTR_ERR = 0x4, IN_PTR_ERR = 0x5, FW_ERR = 0x6, IN_LEN_ERR = 0x7,
	OUT_LEN_ERR = 0x8, DESCR_ERR = 0x10,
};

struct entry {			/* struct mlx5_cmd_layout */
	uint8_t type, rsvd0[3];
	uint32_t inlen;
	uint64_t in_ptr;
	uint8_t in[INLINE], out[INLINE];
	uint64_t out_ptr;
	uint32_t outlen;
	uint8_t token, sig, rsvd1, status_own;
};

struct mailbox {		/* struct mlx5_cmd_prot_block */
	uint8_t data[BLOCK], rsvd0[48];
	uint64_t next;
	uint32_t block_num;
	uint8_t rsvd1, token, ctrl_sig, sig;
};

struct cx_cmdq {
	uint8_t told[65536 / 8];	/* unknown opcodes, each told once */
};

int cx_cmdq_init(struct cx_dev *d)
{
	d->cmdq = calloc(1, sizeof(*d->cmdq));
	return d->cmdq ? 0 : -ENOMEM;
}

void cx_cmdq_free(struct cx_dev *d)
{
	free(d->cmdq);
	d->cmdq = NULL;
}

/* ---- dispatch ---- */
static const struct cx_cmd_desc *find(const struct cx_cmd_desc *t,
				      uint16_t opcode)
{
	for (; t->name; t++)
		if (t->opcode == opcode)
			return t;
	return NULL;
}

static void tell_unknown(struct cx_dev *d, const struct cx_cmd *c)
{
	uint8_t *told = &d->cmdq->told[c->opcode / 8], bit = 1 << c->opcode % 8;
	const char *name = cx_opcode_name(c->opcode);

	d->stats.cmd_unknown++;
	if (*told & bit)
		return;
	*told |= bit;
	cx_log(d, CX_WARN, "unknown command %s (%#x), op_mod %#x",
	       name ? name : "", c->opcode, c->op_mod);
}

static const struct cx_cmd_desc *find_eth(uint16_t opcode)
{
	const struct cx_cmd_desc *t = find(cx_cmds_nic, opcode);

	if (!t)
		t = find(cx_cmds_eth, opcode);
	return t ? t : find(cx_cmds_flow, opcode);
}

static enum cx_status dispatch(struct cx_dev *d, struct cx_cmd *c)
{
	const struct cx_cmd_desc *t = find(cx_cmds_hca, c->opcode);
	bool need_up = !t;

	if (!t)
		t = find(cx_cmds_obj, c->opcode);
	if (!t)
		t = find(cx_cmds_qp, c->opcode);
	if (!t && d->config.eth)
		t = find_eth(c->opcode);
	if (!t) {
		tell_unknown(d, c);
		return CX_BAD_OP;
	}
	if (c->in_len < t->in_min)
		return CX_BAD_INP_LEN;
	if (c->out_len < t->out_min)
		return CX_BAD_OUTP_LEN;
	if (need_up ? !d->hca_up || d->teardown :
	    !d->hca_enabled && c->opcode != MLX5_CMD_OP_ENABLE_HCA)
		return CX_BAD_SYS_STATE;
	return t->fn(d, c);
}

static void run(struct cx_dev *d, struct cx_cmd *c)
{
	enum cx_status status;

	c->opcode = cx_bits_get(c->in, 0, 16);
	c->op_mod = cx_bits_get(c->in, 48, 16);
	status = dispatch(d, c);
	if (status) {
		/* What a handler wrote before it gave up means nothing. */
		memset(c->out, 0, c->out_len);
		d->stats.cmd_failed++;
		if (status != CX_BAD_OP)
			cx_log(d, CX_INFO, "%s (%#x), op_mod %#x: status %#x",
			       cx_opcode_name(c->opcode), c->opcode,
			       c->op_mod, status);
	}
	cx_bits_set(c->out, 0, 8, status);
	cx_bits_set(c->out, 32, 32, c->syndrome);
}

/* ---- mailboxes ---- */
static uint32_t boxes(uint32_t len)
{
	return len > INLINE ? (len - INLINE + BLOCK - 1) / BLOCK : 0;
}

static enum delivery check_box(const struct mailbox *b, uint8_t token,
			       uint32_t i)
{
	if (b->token != token)
		return TOKEN_ERR;
	return be32toh(b->block_num) == i ? DELIVERED : BLOCK_NUM_ERR;
}

static enum delivery take_input(struct cx_dev *d, const struct entry *e,
				struct cx_cmd *c)
{
	uint64_t addr = be64toh(e->in_ptr);
	uint32_t pos = INLINE, part, i;
	enum delivery ret;
	struct mailbox b;

	memcpy(c->in, e->in, INLINE);
	for (i = 0; i < boxes(c->in_len); i++) {
		if (!addr || addr % ALIGNMENT)
			return IN_PTR_ERR;
		if (cx_dma_read(d, addr, &b, sizeof(b)))
			return FW_ERR;
		ret = check_box(&b, e->token, i);
		if (ret)
			return ret;
		part = c->in_len - pos < BLOCK ? c->in_len - pos : BLOCK;
		memcpy(c->in + pos, b.data, part);
		pos += part;
		addr = be64toh(b.next);
	}
	return DELIVERED;
}

/* Before the command runs, so that one without a way back has no effect. */
static enum delivery find_output(struct cx_dev *d, const struct entry *e,
				 uint32_t out_len, uint64_t *box)
{
	const size_t skip = offsetof(struct mailbox, rsvd0);
	uint64_t addr = be64toh(e->out_ptr);
	enum delivery ret;
	struct mailbox b;
	uint32_t i;

	for (i = 0; i < boxes(out_len); i++) {
		if (!addr || addr % ALIGNMENT)
			return OUT_PTR_ERR;
		if (cx_dma_read(d, addr + skip, b.rsvd0, sizeof(b) - skip))
			return FW_ERR;
		ret = check_box(&b, e->token, i);
		if (ret)
			return ret;
		box[i] = addr;
		addr = be64toh(b.next);
	}
	return DELIVERED;
}

static enum delivery give_output(struct cx_dev *d, const struct cx_cmd *c,
				 const uint64_t *box)
{
	uint32_t pos = INLINE, part, i;

	for (i = 0; i < boxes(c->out_len); i++) {
		part = c->out_len - pos < BLOCK ? c->out_len - pos : BLOCK;
		if (cx_dma_write(d, box[i], c->out + pos, part))
			return FW_ERR;
		pos += part;
	}
	return DELIVERED;
}

static enum delivery exec(struct cx_dev *d, struct entry *e, struct cx_cmd *c,
			  uint64_t *box)
{
	enum delivery ret = take_input(d, e, c);

	if (!ret)
		ret = find_output(d, e, c->out_len, box);
	if (ret)
		return ret;
	run(d, c);
	memcpy(e->out, c->out, INLINE);
	return give_output(d, c, box);
}

static enum delivery deliver(struct cx_dev *d, struct entry *e)
{
	enum delivery ret = FW_ERR;
	struct cx_cmd c = { 0 };
	uint64_t *box;

	c.in_len = be32toh(e->inlen);
	c.out_len = be32toh(e->outlen);
	if (e->type != XPORT)
		return DESCR_ERR;
	if (c.in_len < SHORTEST || c.in_len > CX_MAX_MAILBOX)
		return IN_LEN_ERR;
	if (c.out_len < SHORTEST || c.out_len > CX_MAX_MAILBOX)
		return OUT_LEN_ERR;
	/* Of a shorter message, the entry holds 16 bytes nevertheless. */
	c.in = malloc(c.in_len + INLINE);
	c.out = calloc(1, c.out_len + INLINE);
	box = calloc(boxes(c.out_len) + 1, sizeof(*box));
	if (c.in && c.out && box)
		ret = exec(d, e, &c, box);
	free(box);
	free(c.out);
	free(c.in);
	return ret;
}

/* ---- entries ---- */
static void exec_entry(struct cx_dev *d, uint32_t index)
{
	uint64_t addr = d->cmdq_addr + ((uint64_t)index << CX_LOG_CMD);
	uint32_t vector = htobe32(1U << index);
	enum delivery delivery;
	struct cx_eq *eq;
	struct entry e;

	if (cx_dma_read(d, addr, &e, sizeof(e)) || !(e.status_own & OWNER_HW))
		return;
	/*
	 * The command that creates the EQ is polled for, so is the one that
	 * destroys it: an event for either would find nobody waiting.
	 */
	eq = cx_command_eq(d);
	d->stats.commands++;
	delivery = deliver(d, &e);
	if (delivery) {
		d->stats.cmd_failed++;
		cx_log(d, CX_WARN, "command %#x, %u bytes in, %u out: delivery "
		       "status %#x", cx_bits_get(e.in, 0, 16),
		       be32toh(e.inlen), be32toh(e.outlen), delivery);
	}
	e.status_own = delivery << 1;
	cx_dma_write(d, addr + offsetof(struct entry, out), e.out,
		     sizeof(e.out));
	/* The last byte hands the entry over. */
	cx_dma_write(d, addr + offsetof(struct entry, status_own),
		     &e.status_own, 1);
	if (eq && cx_command_eq(d) == eq)
		cx_eq_post(d, eq, CX_EV_CMD, 0, &vector, sizeof(vector));
}

void cx_cmdq_doorbell(struct cx_dev *d, uint32_t vector)
{
	uint32_t i;

	for (i = 0; i < 1U << CX_LOG_CMDQ; i++) {
		if (!(vector & 1U << i))
			continue;
		if (!d->cmdq_addr || d->nic_interface != CX_NIC_FULL) {
			d->stats.doorbells_refused++;
			return;
		}
		exec_entry(d, i);
	}
}
