// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Commands on the port: up and down, what it announces, and MADs for its agents.
 */
#include <string.h>

#include "cx_hx.h"

#define PORT		1u

static enum cx_status port_up(struct cx_dev *d, struct hx_cmd *c, bool up)
{
	if (c->in_mod != PORT)
		return CX_IX;
	if (d->hca_up != up) {
		d->hca_up = up;
		cx_port_link(d);
	}
	return CX_OK;
}

static enum cx_status init_port(struct cx_dev *d, struct hx_cmd *c)
{
	return port_up(d, c, true);
}

static enum cx_status close_port(struct cx_dev *d, struct hx_cmd *c)
{
	return port_up(d, c, false);
}

static enum cx_status set_port(struct cx_dev *d, struct hx_cmd *c)
{
	if (c->in_mod != PORT)
		return CX_IX;
	if (c->op_mod)
		return CX_BAD_PARAM;
	if (hx_get(c->in, HX_SET_QKEY_VIOL))
		d->port.qkey_viol = 0;
	cx_port_set_caps(d, hx_get(c->in, HX_SET_CAPS));
	return CX_OK;
}

static enum cx_status mad_ifc(struct cx_dev *d, struct hx_cmd *c)
{
	uint16_t slid = c->op_mod & HX_MAD_WC ? c->in_mod >> 16 : 0;

	if ((c->in_mod & 0xff) != PORT)
		return CX_IX;
	return cx_mad(d, c->op_mod & HX_MAD_NO_MKEY, c->op_mod & HX_MAD_NO_BKEY,
		      slid, c->in, c->out) ? CX_OK : CX_BAD_PKT;
}

const struct hx_cmd_desc hx_cmds_port[] = {
	{ HX_INIT_PORT, "INIT_PORT", init_port, HX_UP, 0, 0 },
	{ HX_CLOSE_PORT, "CLOSE_PORT", close_port, HX_UP, 0, 0 },
	{ HX_SET_PORT, "SET_PORT", set_port, HX_UP, HX_SET_BYTES, 0 },
	{ HX_MAD_IFC, "MAD_IFC", mad_ifc, HX_UP, HX_MAD_BYTES, HX_MAD_BYTES },
	{ 0 }
};
