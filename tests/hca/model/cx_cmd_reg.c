// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The port as commands see it: registers (ACCESS_REG), management datagrams
 * (MAD_IFC) and the vport context. The agents behind are in cx_port.c and
 * cx_mad.c; here, what the driver sends is checked and translated.
 */
#include <string.h>

#include "cx_cmd.h"

/* MLX5_REG_* of linux/mlx5/driver.h */
enum reg { REG_PCAP = 0x5001, REG_PMTU = 0x5003, REG_PTYS = 0x5004,
	   REG_PAOS = 0x5006, REG_PFCC = 0x5007, REG_PPCNT = 0x5008,
	   REG_PVLC = 0x500f, REG_PDDR = 0x5031, REG_NODE_DESC = 0x6001,
	   REG_HOST_ENDIANNESS = 0x7004 };

#define PORT		1u
#define MTU_MAX		4096u
#define VL_0_TO_3	4u	/* MLX5_VL_HW_0_3 */
#define PTYS_IB		1u
#define PTYS_EN		4u
#define WIDTH_1X	1u	/* MLX5_PTYS_WIDTH_* */
#define WIDTH_4X	4u
#define RATE_SDR	1u	/* MLX5_PTYS_RATE_* */
#define RATE_QDR	4u
#define RATE_EDR	0x20u
#define RATE_ALL	0x37u	/* SDR, DDR, QDR, FDR, EDR */
#define PAOS_UP		1u
#define PAOS_DOWN	2u

/* Of CapabilityMask, what the host's software has a say in. */
#define CAPS_OF_HOST	(BIT(1) /* SM */ | BIT(16) /* CM */ | \
			 BIT(17) /* SNMP */ | BIT(19) /* DM */ | \
			 BIT(20) /* vendor */)

/* The register in data, to be filled (read) or taken (write). */
struct reg_desc {
	uint16_t id;
	uint16_t bytes;
	enum cx_status (*read)(struct cx_dev *d, uint8_t *data);
	enum cx_status (*write)(struct cx_dev *d, const uint8_t *data);
};

static enum cx_status read_endianness(struct cx_dev *d, uint8_t *data)
{
	return CX_OK;
}

/* Atomics are done in little endian, the only order there is. */
static enum cx_status write_endianness(struct cx_dev *d, const uint8_t *data)
{
	return data[0] ? CX_BAD_PARAM : CX_OK;
}

static enum cx_status read_pcap(struct cx_dev *d, uint8_t *data)
{
	cx_bits_set(data, 32, 32, d->port.cap_mask);
	return CX_OK;
}

static enum cx_status write_pcap(struct cx_dev *d, const uint8_t *data)
{
	uint32_t mask = cx_bits_get(data, 32, 32);

	if (data[1] != PORT)
		return CX_BAD_PARAM;
	cx_port_set_caps(d, (d->port.cap_mask & ~CAPS_OF_HOST) |
			    (mask & CAPS_OF_HOST));
	return CX_OK;
}

static enum cx_status read_node_desc(struct cx_dev *d, uint8_t *data)
{
	memcpy(data, d->port.description, 64);
	return CX_OK;
}

static enum cx_status write_node_desc(struct cx_dev *d, const uint8_t *data)
{
	cx_port_describe(d, (const char *)data);
	return CX_OK;
}

static enum cx_status read_pmtu(struct cx_dev *d, uint8_t *data)
{
	if (d->config.eth) {
		CX_SET(pmtu_reg, data, max_mtu, CX_ETH_MTU);
		CX_SET(pmtu_reg, data, admin_mtu, d->nic.port_mtu);
		CX_SET(pmtu_reg, data, oper_mtu, d->nic.port_mtu);
		return CX_OK;
	}
	CX_SET(pmtu_reg, data, max_mtu, MTU_MAX);
	CX_SET(pmtu_reg, data, admin_mtu, MTU_MAX);
	CX_SET(pmtu_reg, data, oper_mtu, 128u << (d->port.mtu & 7));
	return CX_OK;
}

/* Of InfiniBand, the subnet manager's. */
static enum cx_status write_pmtu(struct cx_dev *d, const uint8_t *data)
{
	uint32_t mtu = CX_GET(pmtu_reg, data, admin_mtu);

	if (!d->config.eth || CX_GET(pmtu_reg, data, local_port) != PORT ||
	    !mtu || mtu > CX_ETH_MTU)
		return CX_BAD_PARAM;
	d->nic.port_mtu = mtu;
	return CX_OK;
}

static bool link_up(const struct cx_dev *d)
{
	return d->port.phys_state == CX_PHYS_LINK_UP;
}

static uint32_t fastest(uint32_t speeds)
{
	while (speeds & (speeds - 1))
		speeds &= speeds - 1;
	return speeds;
}

static enum cx_status read_ptys_eth(struct cx_dev *d, uint8_t *data)
{
	if (CX_GET(ptys_reg, data, proto_mask) != PTYS_EN)
		return CX_BAD_PARAM;
	CX_SET(ptys_reg, data, eth_proto_capability, CX_ETH_SPEEDS);
	CX_SET(ptys_reg, data, eth_proto_admin, d->nic.speeds);
	CX_SET(ptys_reg, data, eth_proto_oper,
	       link_up(d) ? fastest(d->nic.speeds) : 0);
	return CX_OK;
}

static enum cx_status write_ptys(struct cx_dev *d, const uint8_t *data)
{
	uint32_t speeds = CX_GET(ptys_reg, data, eth_proto_admin);

	if (!d->config.eth || CX_GET(ptys_reg, data, proto_mask) != PTYS_EN ||
	    CX_GET(ptys_reg, data, local_port) != PORT || !speeds ||
	    (speeds & ~CX_ETH_SPEEDS) ||
	    CX_GET(ptys_reg, data, ext_eth_proto_admin) ||
	    CX_GET(ptys_reg, data, an_disable_admin))
		return CX_BAD_PARAM;
	d->nic.speeds = speeds;
	return CX_OK;
}

static enum cx_status read_ptys(struct cx_dev *d, uint8_t *data)
{
	uint8_t info[64];

	if (d->config.eth)
		return read_ptys_eth(d, data);
	if (CX_GET(ptys_reg, data, proto_mask) != PTYS_IB)
		return CX_BAD_PARAM;
	CX_SET(ptys_reg, data, ib_link_width_capability, WIDTH_1X | WIDTH_4X);
	CX_SET(ptys_reg, data, ib_link_width_admin, WIDTH_1X | WIDTH_4X);
	CX_SET(ptys_reg, data, ib_proto_capability, RATE_ALL);
	CX_SET(ptys_reg, data, ib_proto_admin, RATE_ALL);
	cx_port_get_info(d, info);
	CX_SET(ptys_reg, data, ib_link_width_oper, WIDTH_4X);
	/* LinkSpeedExtActive of PortInfo: EDR or not. */
	CX_SET(ptys_reg, data, ib_proto_oper,
	       !link_up(d) ? RATE_SDR : info[62] >> 4 ? RATE_EDR : RATE_QDR);
	return CX_OK;
}

static enum cx_status read_paos(struct cx_dev *d, uint8_t *data)
{
	CX_SET(paos_reg, data, admin_status,
	       d->port.disabled || d->nic.admin_down ? PAOS_DOWN : PAOS_UP);
	CX_SET(paos_reg, data, oper_status, link_up(d) ? PAOS_UP : PAOS_DOWN);
	return CX_OK;
}

static enum cx_status write_paos(struct cx_dev *d, const uint8_t *data)
{
	uint32_t admin = CX_GET(paos_reg, data, admin_status);

	if (!d->config.eth || CX_GET(paos_reg, data, local_port) != PORT ||
	    (admin != PAOS_UP && admin != PAOS_DOWN))
		return CX_BAD_PARAM;
	if (!CX_GET(paos_reg, data, ase))
		return CX_OK;
	d->nic.admin_down = admin == PAOS_DOWN;
	cx_port_link(d);
	return CX_OK;
}

/* The port neither sends nor obeys pause frames, and cannot be told to. */
static enum cx_status read_pfcc(struct cx_dev *d, uint8_t *data)
{
	memset(data + 4, 0, CX_BYTES(pfcc_reg) - 4);
	return d->config.eth ? CX_OK : CX_BAD_PARAM;
}

static enum cx_status write_pfcc(struct cx_dev *d, const uint8_t *data)
{
	if (!d->config.eth || CX_GET(pfcc_reg, data, pptx) ||
	    CX_GET(pfcc_reg, data, pprx) || CX_GET(pfcc_reg, data, pfctx) ||
	    CX_GET(pfcc_reg, data, pfcrx))
		return CX_BAD_PARAM;
	return CX_OK;
}

/* Monitor opcodes of PDDR, as mlx5e translates them for ethtool. */
enum { PDDR_NO_ISSUE = 0, PDDR_BY_COMMAND = 1, PDDR_NO_PARTNER = 2,
       PDDR_NO_CABLE = 1024 };

/* Why there is no link: the page that the driver reads, without its text. */
static enum cx_status read_pddr(struct cx_dev *d, uint8_t *data)
{
	uint8_t *page = CX_ADDR(pddr_reg, data, page_data);
	uint32_t code = PDDR_NO_PARTNER;

	if (!d->config.eth || CX_GET(pddr_reg, data, local_port) != PORT ||
	    CX_GET(pddr_reg, data, page_select) !=
	    MLX5_PDDR_REG_PAGE_SELECT_TROUBLESHOOTING_INFO_PAGE ||
	    CX_GET(pddr_troubleshooting_page, page, group_opcode) !=
	    MLX5_PDDR_REG_TRBLSH_GROUP_OPCODE_MONITOR)
		return CX_BAD_PARAM;
	if (link_up(d))
		code = PDDR_NO_ISSUE;
	else if (d->nic.admin_down)
		code = PDDR_BY_COMMAND;
	else if (!d->port.plugged)
		code = PDDR_NO_CABLE;
	memset(page, 0, CX_BYTES(pddr_troubleshooting_page));
	CX_SET(pddr_troubleshooting_page, page,
	       status_opcode.pddr_monitor_opcode.monitor_opcode, code);
	return CX_OK;
}

static enum cx_status read_pvlc(struct cx_dev *d, uint8_t *data)
{
	CX_SET(pvlc_reg, data, vl_hw_cap, VL_0_TO_3);
	CX_SET(pvlc_reg, data, vl_admin, VL_0_TO_3);
	CX_SET(pvlc_reg, data, vl_operational, VL_0_TO_3);
	return CX_OK;
}

static const struct reg_desc regs[] = {
	{ REG_HOST_ENDIANNESS, 16, read_endianness, write_endianness },
	{ REG_NODE_DESC, 64, read_node_desc, write_node_desc },
	{ REG_PCAP, CX_BYTES(pcap_reg), read_pcap, write_pcap },
	{ REG_PMTU, CX_BYTES(pmtu_reg), read_pmtu, write_pmtu },
	{ REG_PTYS, CX_BYTES(ptys_reg), read_ptys, write_ptys },
	{ REG_PAOS, CX_BYTES(paos_reg), read_paos, write_paos },
	{ REG_PFCC, CX_BYTES(pfcc_reg), read_pfcc, write_pfcc },
	{ REG_PPCNT, CX_BYTES(ppcnt_reg), cx_read_ppcnt, NULL },
	{ REG_PVLC, CX_BYTES(pvlc_reg), read_pvlc, NULL },
	{ REG_PDDR, CX_BYTES(pddr_reg), read_pddr, NULL },
};

enum cx_status cx_access_reg(struct cx_dev *d, struct cx_cmd *c)
{
	uint32_t id = CX_GET(access_register_in, c->in, register_id), i;
	const uint8_t *in = c->in + CX_BYTES(access_register_in);
	uint8_t *out = c->out + CX_BYTES(access_register_out);
	const struct reg_desc *r = NULL;

	for (i = 0; i < sizeof(regs) / sizeof(regs[0]); i++)
		if (regs[i].id == id)
			r = &regs[i];
	if (!r || (c->op_mod == 0 && !r->write) || c->op_mod > 1)
		return CX_BAD_PARAM;
	if (c->in_len - CX_BYTES(access_register_in) < r->bytes)
		return CX_BAD_INP_LEN;
	if (c->out_len - CX_BYTES(access_register_out) < r->bytes)
		return CX_BAD_OUTP_LEN;
	/* The index (port, protocol) comes back with the contents. */
	memcpy(out, in, r->bytes);
	return c->op_mod ? r->read(d, out) : r->write(d, in);
}

enum cx_status cx_mad_ifc(struct cx_dev *d, struct cx_cmd *c)
{
	if (!d->hca_up)
		return CX_BAD_SYS_STATE;
	if (CX_GET(mad_ifc_in, c->in, port) != PORT)
		return CX_BAD_PARAM;
	return cx_mad(d, c->op_mod & 1, c->op_mod & 2,
		      CX_GET(mad_ifc_in, c->in, remote_lid),
		      CX_ADDR(mad_ifc_in, c->in, mad),
		      CX_ADDR(mad_ifc_out, c->out, response_mad_packet)) ?
	       CX_OK : CX_BAD_PKT;
}

/* ---- the vport, of which there is one ---- */
#define SET(field, value) CX_SET(hca_vport_context, v, field, value)

enum cx_status cx_query_hca_vport(struct cx_dev *d, struct cx_cmd *c)
{
	uint8_t *v = CX_ADDR(query_hca_vport_context_out, c->out,
			     hca_vport_context);
	const struct cx_port *p = &d->port;

	if (CX_GET(query_hca_vport_context_in, c->in, other_vport))
		return CX_BAD_PARAM;
	SET(has_smi, 1);
	SET(port_state, p->state);
	SET(vport_state, p->state);
	SET(port_physical_state, p->phys_state);
	CX_SET64(hca_vport_context, v, system_image_guid, d->config.guid);
	CX_SET64(hca_vport_context, v, node_guid, d->config.guid);
	CX_SET64(hca_vport_context, v, port_guid, p->guid);
	SET(cap_mask1, p->cap_mask);
	SET(cap_mask1_field_select, CAPS_OF_HOST);
	SET(lid, p->lid);
	SET(lmc, p->lmc);
	SET(subnet_timeout, p->subnet_timeout);
	SET(sm_lid, p->sm_lid);
	SET(sm_sl, p->sm_sl);
	SET(qkey_violation_counter, p->qkey_viol);
	SET(pkey_violation_counter, p->pkey_viol);
	return CX_OK;
}

#define ALL_INDEXES 0xffffu

/* One entry or all of a table: first and end; false if there is none. */
static bool table_range(uint32_t index, uint32_t size, uint32_t *first,
			uint32_t *end)
{
	*first = index == ALL_INDEXES ? 0 : index;
	*end = index == ALL_INDEXES ? size : index + 1;
	return *end <= size;
}

enum cx_status cx_query_hca_vport_gid(struct cx_dev *d, struct cx_cmd *c)
{
	const uint32_t head = CX_BYTES(query_hca_vport_gid_out);
	uint8_t *gid = c->out + head;
	uint32_t i, end;

	if (CX_GET(query_hca_vport_gid_in, c->in, other_vport) ||
	    !table_range(CX_GET(query_hca_vport_gid_in, c->in, gid_index),
			 CX_GIDS, &i, &end))
		return CX_BAD_PARAM;
	if (c->out_len - head < (end - i) * 16)
		return CX_BAD_OUTP_LEN;
	CX_SET(query_hca_vport_gid_out, c->out, gids_num, end - i);
	for (; i < end; i++, gid += 16)
		cx_gid(d, i, gid);
	return CX_OK;
}

enum cx_status cx_query_hca_vport_pkey(struct cx_dev *d, struct cx_cmd *c)
{
	const uint32_t head = CX_BYTES(query_hca_vport_pkey_out);
	uint8_t *pkey = c->out + head;
	uint32_t i, end;

	if (CX_GET(query_hca_vport_pkey_in, c->in, other_vport) ||
	    !table_range(CX_GET(query_hca_vport_pkey_in, c->in, pkey_index),
			 CX_PKEYS, &i, &end))
		return CX_BAD_PARAM;
	if (c->out_len - head < (end - i) * 4)
		return CX_BAD_OUTP_LEN;
	for (; i < end; i++, pkey += 4)
		cx_bits_set(pkey, 16, 16, d->port.pkey[i]);
	return CX_OK;
}
