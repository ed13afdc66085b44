// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Commands of the function's life: enable, pages, initialise, tear down, and
 * what the driver asks about it. Their order is mlx5_function_setup() and
 * mlx5_function_teardown() of mlx5_core. The driver is not trusted with it.
 */
#include <stdlib.h>
#include <string.h>

#include "cx_cmd.h"

/* Pages of context memory that the device asks for, and would ever take. */
#define BOOT_PAGES	16u
#define INIT_PAGES	64u
#define MAX_PAGES	65536u

#define VENDOR_ID	0x2c9u		/* IEEE */
#define VSD_VENDOR_ID	0x15b3u
#define PSID		"VHCA_CX4_0000001"

enum { PAGES_CANT_GIVE, PAGES_GIVE, PAGES_TAKE };

static enum cx_status enable_hca(struct cx_dev *d, struct cx_cmd *c)
{
	if (CX_GET(enable_hca_in, c->in, function_id))
		return CX_BAD_PARAM;
	if (d->hca_enabled) {
		/* A kernel after a crash, on a device that was not reset. */
		cx_log(d, CX_WARN, "enabled anew: the old state goes");
		cx_quiesce(d);
		cx_port_link(d);
	}
	d->hca_enabled = true;
	return CX_OK;
}

static enum cx_status disable_hca(struct cx_dev *d, struct cx_cmd *c)
{
	if (CX_GET(disable_hca_in, c->in, function_id))
		return CX_BAD_PARAM;
	cx_quiesce(d);
	cx_port_link(d);
	return CX_OK;
}

static enum cx_status init_hca(struct cx_dev *d, struct cx_cmd *c)
{
	if (d->hca_up)
		return CX_BAD_RES_STATE;
	if (d->nr_pages < BOOT_PAGES + INIT_PAGES)
		return CX_NO_RES;
	d->hca_up = true;
	cx_port_link(d);
	cx_log(d, CX_INFO, "HCA up");
	return CX_OK;
}

/*
 * The fast way down has two steps: the command, that keeps the queues for its
 * own completion, and the NIC interface register.
 */
static enum cx_status teardown_hca(struct cx_dev *d, struct cx_cmd *c)
{
	uint32_t profile = CX_GET(teardown_hca_in, c->in, profile);

	if (!d->hca_up)
		return CX_BAD_RES_STATE;
	if (profile > MLX5_TEARDOWN_HCA_IN_PROFILE_PREPARE_FAST_TEARDOWN)
		return CX_BAD_PARAM;
	CX_SET(teardown_hca_out, c->out, state,
	       MLX5_TEARDOWN_HCA_OUT_FORCE_STATE_SUCCESS);
	if (profile == MLX5_TEARDOWN_HCA_IN_PROFILE_PREPARE_FAST_TEARDOWN) {
		d->teardown = true;
		return CX_OK;
	}
	cx_objects_free(d);
	d->hca_up = false;
	d->teardown = false;
	cx_port_link(d);
	cx_log(d, CX_INFO, "HCA down");
	return CX_OK;
}

static enum cx_status query_issi(struct cx_dev *d, struct cx_cmd *c)
{
	CX_SET(query_issi_out, c->out, current_issi, d->issi);
	CX_SET(query_issi_out, c->out, supported_issi_dw0, 1u << 0 | 1u << 1);
	return CX_OK;
}

static enum cx_status set_issi(struct cx_dev *d, struct cx_cmd *c)
{
	uint32_t issi = CX_GET(set_issi_in, c->in, current_issi);

	if (issi > 1)
		return CX_BAD_PARAM;
	if (d->hca_up)
		return CX_BAD_RES_STATE;
	d->issi = issi;
	return CX_OK;
}

/* ---- pages ---- */
static enum cx_status query_pages(struct cx_dev *d, struct cx_cmd *c)
{
	uint32_t need = 0;

	switch (c->op_mod) {
	case MLX5_QUERY_PAGES_IN_OP_MOD_BOOT_PAGES:
		need = BOOT_PAGES;
		break;
	case MLX5_QUERY_PAGES_IN_OP_MOD_INIT_PAGES:
	case MLX5_QUERY_PAGES_IN_OP_MOD_REGULAR_PAGES:
		need = BOOT_PAGES + INIT_PAGES;
		break;
	default:
		return CX_BAD_PARAM;
	}
	CX_SET(query_pages_out, c->out, num_pages,
	       need > d->nr_pages ? need - d->nr_pages : 0);
	return CX_OK;
}

static bool page_room(struct cx_dev *d, uint32_t nr)
{
	uint32_t room = d->nr_pages + nr;
	struct cx_page *p;

	if (room <= d->room_pages)
		return true;
	p = realloc(d->pages, room * sizeof(*p));
	if (!p)
		return false;
	d->pages = p;
	d->room_pages = room;
	return true;
}

static enum cx_status give_pages(struct cx_dev *d, struct cx_cmd *c,
				 uint32_t nr)
{
	const uint8_t *pas = c->in + CX_BYTES(manage_pages_in);
	uint64_t addr;
	uint32_t i;

	if (nr > (c->in_len - CX_BYTES(manage_pages_in)) / 8)
		return CX_BAD_INP_LEN;
	if (nr > MAX_PAGES - d->nr_pages || !page_room(d, nr))
		return CX_LIM;
	for (i = 0; i < nr; i++) {
		addr = cx_be64_get(pas + 8 * (size_t)i);
		if (!addr || addr % CX_PAGE)
			return CX_BAD_PARAM;
		d->pages[d->nr_pages + i].addr = addr;
	}
	d->nr_pages += nr;
	return CX_OK;
}

/* While the HCA is up, it keeps what it asked for. */
static enum cx_status take_pages(struct cx_dev *d, struct cx_cmd *c,
				 uint32_t nr)
{
	uint32_t keep = d->hca_up ? BOOT_PAGES + INIT_PAGES : 0, i;
	uint8_t *pas = c->out + CX_BYTES(manage_pages_out);

	if (nr > (c->out_len - CX_BYTES(manage_pages_out)) / 8)
		return CX_BAD_OUTP_LEN;
	for (i = 0; i < nr && d->nr_pages > keep; i++)
		cx_be64_set(pas + 8 * (size_t)i,
			    d->pages[--d->nr_pages].addr);
	CX_SET(manage_pages_out, c->out, output_num_entries, i);
	return CX_OK;
}

static enum cx_status manage_pages(struct cx_dev *d, struct cx_cmd *c)
{
	uint32_t nr = CX_GET(manage_pages_in, c->in, input_num_entries);

	if (CX_GET(manage_pages_in, c->in, function_id))
		return CX_BAD_PARAM;
	switch (c->op_mod) {
	case PAGES_CANT_GIVE:
		return CX_OK;
	case PAGES_GIVE:
		return give_pages(d, c, nr);
	case PAGES_TAKE:
		return take_pages(d, c, nr);
	default:
		return CX_BAD_PARAM;
	}
}

/* ---- who is who ---- */
static enum cx_status query_adapter(struct cx_dev *d, struct cx_cmd *c)
{
	uint8_t *a = CX_ADDR(query_adapter_out, c->out, query_adapter_struct);

	CX_SET(query_adapter_param_block, a, ieee_vendor_id, VENDOR_ID);
	CX_SET(query_adapter_param_block, a, vsd_vendor_id, VSD_VENDOR_ID);
	memcpy(CX_ADDR(query_adapter_param_block, a, vsd_contd_psid), PSID,
	       sizeof(PSID) - 1);
	return CX_OK;
}

/*
 * There is no reserved key: 0 is the number of none. Null and dump key are announced
 * alone, and requests with them fail.
 */
static enum cx_status query_special(struct cx_dev *d, struct cx_cmd *c)
{
	if (!d->config.cx6dx)
		return CX_OK;
	CX_SET(query_special_contexts_out, c->out, dump_fill_mkey,
	       CX_KEY_DUMP_FILL);
	CX_SET(query_special_contexts_out, c->out, null_mkey, CX_KEY_NULL);
	return CX_OK;
}

static enum cx_status set_driver_version(struct cx_dev *d, struct cx_cmd *c)
{
	const uint8_t *from = CX_ADDR(set_driver_version_in, c->in,
				      driver_version);
	char text[65] = "";
	unsigned int i;

	for (i = 0; i < 64 && from[i]; i++)
		text[i] = from[i] >= ' ' && from[i] < 127 ? from[i] : '?';
	cx_log(d, CX_INFO, "driver \"%s\"", text);
	return CX_OK;
}

static enum cx_status nop(struct cx_dev *d, struct cx_cmd *c)
{
	return CX_OK;
}

#define CAP_MIN (16 + CX_BYTES(cmd_hca_cap))

const struct cx_cmd_desc cx_cmds_hca[] = {
	CX_CMD(ENABLE_HCA, enable_hca, enable_hca),
	CX_CMD(DISABLE_HCA, disable_hca, disable_hca),
	/* Of INIT_HCA, what follows the header is optional. */
	CX_CMD(INIT_HCA, init_hca, teardown_hca),
	CX_CMD(TEARDOWN_HCA, teardown_hca, teardown_hca),
	CX_CMD(QUERY_ISSI, query_issi, query_issi),
	CX_CMD(SET_ISSI, set_issi, set_issi),
	CX_CMD(QUERY_PAGES, query_pages, query_pages),
	CX_CMD(MANAGE_PAGES, manage_pages, manage_pages),
	CX_CMD(QUERY_ADAPTER, query_adapter, query_adapter),
	CX_CMD(QUERY_SPECIAL_CONTEXTS, query_special, query_special_contexts),
	CX_CMD(SET_DRIVER_VERSION, set_driver_version, set_driver_version),
	CX_CMD(NOP, nop, nop),
	CX_CMD(ACCESS_REG, cx_access_reg, access_register),
	CX_CMD(MAD_IFC, cx_mad_ifc, mad_ifc),
	CX_CMD(QUERY_HCA_VPORT_CONTEXT, cx_query_hca_vport,
	       query_hca_vport_context),
	CX_CMD(QUERY_HCA_VPORT_GID, cx_query_hca_vport_gid,
	       query_hca_vport_gid),
	CX_CMD(QUERY_HCA_VPORT_PKEY, cx_query_hca_vport_pkey,
	       query_hca_vport_pkey),
	{ MLX5_CMD_OP_QUERY_HCA_CAP, "QUERY_HCA_CAP", cx_query_hca_cap,
	  CX_BYTES(query_hca_cap_in), CAP_MIN },
	{ MLX5_CMD_OP_SET_HCA_CAP, "SET_HCA_CAP", cx_set_hca_cap,
	  CAP_MIN, CX_BYTES(set_hca_cap_out) },
	{ 0 }
};
