// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The host command register: seven words, a mailbox of a page in each direction,
 * and the two ways of completion, the GO bit and an event. A command is carried
 * out within the store of its last word. Addresses and all contents are the
 * driver's: nothing of them is trusted.
 */
#include <stdlib.h>
#include <string.h>

#include "cx_hx.h"

static const struct hx_cmd_desc *const tables[] = {
	hx_cmds_hca, hx_cmds_port, hx_cmds_mpt, hx_cmds_queue, hx_cmds_qp,
	hx_cmds_mcg,
};

static const struct hx_cmd_desc *find_in(const struct hx_cmd_desc *t,
					 uint16_t opcode)
{
	for (; t->name; t++)
		if (t->opcode == opcode)
			return t;
	return NULL;
}

static const struct hx_cmd_desc *find(const struct cx_dev *d, uint16_t opcode)
{
	const struct hx_cmd_desc *t = find_in(d->family->hx->cmds, opcode);
	size_t i;

	for (i = 0; !t && i < sizeof(tables) / sizeof(tables[0]); i++)
		t = find_in(tables[i], opcode);
	return t;
}

static enum cx_status unknown(struct cx_dev *d, const struct hx_cmd *c)
{
	d->stats.cmd_unknown++;
	cx_log(d, CX_WARN, "unknown command %#x, op_mod %#x", c->opcode,
	       c->op_mod);
	return CX_BAD_OP;
}

static enum cx_status dispatch(struct cx_dev *d, struct hx_cmd *c,
			       const struct hx_cmd_desc *t)
{
	enum cx_status status;

	if (!t)
		return unknown(d, c);
	if (d->hx->state < t->state)
		return CX_BAD_SYS_STATE;
	if (t->in && cx_dma_read(d, c->in_param, c->in, t->in))
		return CX_INT_ERR;
	status = t->fn(d, c);
	if (!status && t->out && cx_dma_write(d, c->out_param, c->out, t->out))
		return CX_INT_ERR;
	return status;
}

static enum cx_status run(struct cx_dev *d, struct hx_cmd *c)
{
	const struct hx_cmd_desc *t = find(d, c->opcode);
	enum cx_status status = dispatch(d, c, t);

	d->stats.commands++;
	if (!status)
		return CX_OK;
	d->stats.cmd_failed++;
	if (t)
		cx_log(d, CX_INFO, "%s (%#x), modifiers %#x, %#x: status %#x",
		       t->name, c->opcode, c->op_mod, c->in_mod, status);
	return status;
}

static void tell(struct cx_dev *d, uint16_t token, uint64_t out,
		 enum cx_status status)
{
	struct cx_eq *eq = cx_command_eq(d);
	uint8_t data[HX_EQE_OUT + 8] = { 0 };

	hx_set(data, HX_EQE_TOKEN, token);
	hx_set(data, HX_EQE_STATUS, status);
	cx_be64_set(data + HX_EQE_OUT, out);
	if (eq)
		cx_eq_post(d, eq, CX_EV_CMD, 0, data, sizeof(data));
}

/* ---- answers ---- */
void hx_set_all(uint8_t *p, const struct hx_value *t, size_t nr)
{
	for (; nr; nr--, t++)
		hx_set(p, t->place.at, t->place.hi, t->place.lo, t->value);
}

/* The firmware turns the words of a name around, and the driver back. */
void hx_board(uint8_t *out, const char *name)
{
	uint8_t *to = out + HX_ADAPTER_VSD / 4 + HX_ADAPTER_BOARD;
	unsigned int i;

	for (i = 0; i < 16; i++)
		to[i] = name[i ^ 3];
}

/* ---- the register ---- */
/* A reset by the driver is no command: the register is as it was written. */
void hx_hcr_run(struct cx_dev *d)
{
	uint32_t *hcr = d->hx->hcr, word = hcr[HX_STATUS];
	struct hx_cmd *c = calloc(1, sizeof(*c));
	enum cx_status status = CX_INT_ERR;

	if (c) {
		c->opcode = word & ((1u << HX_HCR_OPMOD) - 1);
		c->op_mod = word >> HX_HCR_OPMOD & 0xf;
		c->in_mod = hcr[HX_IN_MOD];
		c->in_param = (uint64_t)hcr[HX_IN_HI] << 32 | hcr[HX_IN_LO];
		c->out_param = (uint64_t)hcr[HX_OUT_HI] << 32 | hcr[HX_OUT_LO];
		status = run(d, c);
		hcr[HX_OUT_HI] = c->out_param >> 32;
		hcr[HX_OUT_LO] = c->out_param;
	}
	hcr[HX_STATUS] = (word & HX_HCR_TOGGLE) | status << HX_HCR_ERROR;
	if (word & HX_HCR_EVENT)
		tell(d, hcr[HX_TOKEN] >> 16, c ? c->out_param : 0, status);
	free(c);
}
