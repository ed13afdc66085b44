// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The vport of an Ethernet port as commands see it: its context (addresses,
 * MTU, RoCE), its state and counters, and the RoCE address table. There is no
 * eswitch: the lists of addresses are kept for who asks, and filter nothing.
 */
#include <stdlib.h>
#include <string.h>

#include "cx_cmd.h"

#define VPORT_UP	1u
#define VPORT_ADMIN_AUTO 2u

/* ---- the function's state ---- */
void cx_nic_clear(struct cx_dev *d)
{
	struct cx_nic *n = &d->nic;
	unsigned int i;

	for (i = 0; i < CX_LISTS; i++) {
		free(n->list[i].entry);
		n->list[i].entry = NULL;
		n->list[i].nr = 0;
	}
	memset(n->addr, 0, sizeof(n->addr));
	n->roce = false;
	n->promisc = 0;
	n->root = CX_NONE;
}

/* The MAC address of a GUID: without the two octets in its middle. */
void cx_nic_init(struct cx_dev *d)
{
	struct cx_nic *n = &d->nic;
	uint8_t guid[8];

	cx_nic_clear(d);
	cx_be64_set(guid, d->config.guid);
	memcpy(n->mac, guid, 3);
	memcpy(n->mac + 3, guid + 5, 3);
	n->mtu = 0;
	n->port_mtu = CX_ETH_MTU;
	n->speeds = CX_ETH_SPEEDS;
	n->admin_down = false;
	memset(&n->tx, 0, sizeof(n->tx));
	memset(&n->rx, 0, sizeof(n->rx));
}

/* ---- the context ---- */
static uint32_t list_max(uint32_t type)
{
	return 1u << (type == CX_LIST_VLAN ? CX_LOG_VLANS : CX_LOG_MACS);
}

static enum cx_status query_list(const struct cx_dev *d, struct cx_cmd *c,
				 uint8_t *ctx)
{
	uint32_t type = CX_GET(query_nic_vport_context_in, c->in,
			       allowed_list_type);
	uint32_t nr;

	if (type >= CX_LISTS)
		return CX_BAD_PARAM;
	nr = d->nic.list[type].nr;
	/* Who asks for the context alone has no room for a list. */
	if (c->out_len < CX_BYTES(query_nic_vport_context_out) + nr * 8)
		nr = 0;
	CX_SET(nic_vport_context, ctx, allowed_list_type, type);
	CX_SET(nic_vport_context, ctx, allowed_list_size, nr);
	if (nr)
		memcpy(CX_ADDR(nic_vport_context, ctx, current_uc_mac_address),
		       d->nic.list[type].entry, nr * 8);
	return CX_OK;
}

static enum cx_status query_nic_vport(struct cx_dev *d, struct cx_cmd *c)
{
	uint8_t *ctx = CX_ADDR(query_nic_vport_context_out, c->out,
			       nic_vport_context);
	const struct cx_nic *n = &d->nic;

	if (CX_GET(query_nic_vport_context_in, c->in, other_vport))
		return CX_BAD_PARAM;
	CX_SET(nic_vport_context, ctx, roce_en, n->roce);
	CX_SET(nic_vport_context, ctx, mtu, n->mtu);
	CX_SET64(nic_vport_context, ctx, system_image_guid, d->config.guid);
	CX_SET64(nic_vport_context, ctx, port_guid, d->config.guid);
	CX_SET64(nic_vport_context, ctx, node_guid, d->config.guid);
	CX_SET(nic_vport_context, ctx, qkey_violation_counter,
	       d->port.qkey_viol);
	CX_SET(nic_vport_context, ctx, promisc_uc, n->promisc >> 2);
	CX_SET(nic_vport_context, ctx, promisc_mc, n->promisc >> 1);
	CX_SET(nic_vport_context, ctx, promisc_all, n->promisc);
	memcpy(CX_ADDR(nic_vport_context, ctx, permanent_address) + 2, n->mac,
	       6);
	return query_list(d, c, ctx);
}

static enum cx_status set_list(struct cx_dev *d, const struct cx_cmd *c,
			       const uint8_t *ctx)
{
	uint32_t type = CX_GET(nic_vport_context, ctx, allowed_list_type);
	uint32_t nr = CX_GET(nic_vport_context, ctx, allowed_list_size);
	uint8_t (*entry)[8];

	if (type >= CX_LISTS || nr > list_max(type))
		return CX_BAD_PARAM;
	if (c->in_len < CX_BYTES(modify_nic_vport_context_in) + nr * 8)
		return CX_BAD_INP_LEN;
	entry = malloc(nr * 8 + 1);
	if (!entry)
		return CX_LIM;
	memcpy(entry, CX_ADDR(nic_vport_context, ctx, current_uc_mac_address),
	       nr * 8);
	free(d->nic.list[type].entry);
	d->nic.list[type].entry = entry;
	d->nic.list[type].nr = nr;
	return CX_OK;
}

/* What the capabilities do not announce is refused: GUIDs, affiliation. */
#define SELECTED(field) \
	CX_GET(modify_nic_vport_context_in, c->in, field_select.field)

static enum cx_status modify_nic_vport(struct cx_dev *d, struct cx_cmd *c)
{
	const uint8_t *ctx = CX_ADDR(modify_nic_vport_context_in, c->in,
				     nic_vport_context);
	struct cx_nic *n = &d->nic;
	uint32_t mtu = CX_GET(nic_vport_context, ctx, mtu);
	enum cx_status status = CX_OK;

	if (CX_GET(modify_nic_vport_context_in, c->in, other_vport) ||
	    SELECTED(affiliation) || SELECTED(node_guid) ||
	    SELECTED(port_guid) || SELECTED(min_inline) ||
	    SELECTED(disable_uc_local_lb) || SELECTED(disable_mc_local_lb) ||
	    SELECTED(permanent_address) ||
	    (SELECTED(mtu) && mtu > CX_ETH_MTU))
		return CX_BAD_PARAM;
	if (SELECTED(addresses_list))
		status = set_list(d, c, ctx);
	if (status)
		return status;
	if (SELECTED(mtu))
		n->mtu = mtu;
	if (SELECTED(roce_en))
		n->roce = CX_GET(nic_vport_context, ctx, roce_en);
	if (SELECTED(promisc))
		n->promisc = CX_GET(nic_vport_context, ctx, promisc_uc) << 2 |
			     CX_GET(nic_vport_context, ctx, promisc_mc) << 1 |
			     CX_GET(nic_vport_context, ctx, promisc_all);
	return CX_OK;
}

/* ---- state and counters ---- */
static enum cx_status query_vport_state(struct cx_dev *d, struct cx_cmd *c)
{
	if (CX_GET(query_vport_state_in, c->in, other_vport) ||
	    c->op_mod > MLX5_VPORT_STATE_OP_MOD_UPLINK)
		return CX_BAD_PARAM;
	CX_SET(query_vport_state_out, c->out, admin_state, VPORT_ADMIN_AUTO);
	CX_SET(query_vport_state_out, c->out, state,
	       d->port.state == CX_PORT_S_ACTIVE ? VPORT_UP : 0);
	return CX_OK;
}

static void tell_traffic(uint8_t *counter, uint64_t frames, uint64_t octets)
{
	CX_SET64(traffic_counter, counter, packets, frames);
	CX_SET64(traffic_counter, counter, octets, octets);
}

static enum cx_status query_vport_counter(struct cx_dev *d, struct cx_cmd *c)
{
	const struct cx_port *p = &d->port;
	const struct cx_nic *n = &d->nic;

	if (CX_GET(query_vport_counter_in, c->in, other_vport) || c->op_mod)
		return CX_BAD_PARAM;
#define TELL(field, frames, octets) \
	tell_traffic(CX_ADDR(query_vport_counter_out, c->out, field), frames, \
		     octets)
	TELL(received_ib_unicast, p->rcv_pkts, p->rcv_data);
	TELL(transmitted_ib_unicast, p->xmit_pkts, p->xmit_data);
	TELL(received_ib_multicast, p->mc_rcv_pkts, p->mc_rcv_data);
	TELL(transmitted_ib_multicast, p->mc_xmit_pkts, p->mc_xmit_data);
#define TELL_ETH(field, way, kind) \
	TELL(field, n->way.cast[kind].frames, n->way.cast[kind].octets)
	TELL_ETH(received_eth_unicast, rx, CX_UNICAST);
	TELL_ETH(transmitted_eth_unicast, tx, CX_UNICAST);
	TELL_ETH(received_eth_multicast, rx, CX_MULTICAST);
	TELL_ETH(transmitted_eth_multicast, tx, CX_MULTICAST);
	TELL_ETH(received_eth_broadcast, rx, CX_BROADCAST);
	TELL_ETH(transmitted_eth_broadcast, tx, CX_BROADCAST);
	return CX_OK;
}

/* ---- the RoCE address table ---- */
static bool is_zero(const uint8_t *p, size_t len)
{
	while (len && !*p) {
		p++;
		len--;
	}
	return !len;
}

/* False: no version or type that was announced. */
static bool addr_parse(struct cx_roce_addr *a, const uint8_t *layout)
{
	uint32_t version = CX_GET(roce_addr_layout, layout, roce_version);
	uint32_t l3 = CX_GET(roce_addr_layout, layout, roce_l3_type);

	memcpy(a->gid, CX_ADDR(roce_addr_layout, layout, source_l3_address),
	       16);
	memcpy(a->mac, CX_ADDR(roce_addr_layout, layout, source_mac_47_32), 6);
	a->used = !is_zero(a->gid, 16);
	a->net = version ? CX_NET_ROCE_V2 : CX_NET_ROCE_V1;
	a->ipv4 = version && !l3;
	if (CX_GET(roce_addr_layout, layout, vlan_valid))
		a->vlan = CX_VLAN_VALID |
			  CX_GET(roce_addr_layout, layout, vlan_id);
	return (version == 0 || version == 2) && l3 <= 1;
}

static enum cx_status set_roce_address(struct cx_dev *d, struct cx_cmd *c)
{
	uint32_t index = CX_GET(set_roce_address_in, c->in,
				roce_address_index);
	struct cx_roce_addr a = { 0 };

	if (index >= CX_ROCE_ADDRS ||
	    !addr_parse(&a, CX_ADDR(set_roce_address_in, c->in, roce_address)))
		return CX_BAD_PARAM;
	if (!a.used)
		memset(&a, 0, sizeof(a));
	d->nic.addr[index] = a;
	return CX_OK;
}

static enum cx_status query_roce_address(struct cx_dev *d, struct cx_cmd *c)
{
	const struct cx_roce_addr *a;
	uint32_t index = CX_GET(query_roce_address_in, c->in,
				roce_address_index);
	uint8_t *out = CX_ADDR(query_roce_address_out, c->out, roce_address);

	if (index >= CX_ROCE_ADDRS)
		return CX_BAD_PARAM;
	a = &d->nic.addr[index];
	if (!a->used)
		return CX_OK;
	memcpy(CX_ADDR(roce_addr_layout, out, source_l3_address), a->gid, 16);
	memcpy(CX_ADDR(roce_addr_layout, out, source_mac_47_32), a->mac, 6);
	CX_SET(roce_addr_layout, out, vlan_valid, a->vlan >> 16);
	CX_SET(roce_addr_layout, out, vlan_id, a->vlan);
	CX_SET(roce_addr_layout, out, roce_version,
	       a->net == CX_NET_ROCE_V2 ? 2 : 0);
	CX_SET(roce_addr_layout, out, roce_l3_type,
	       a->net == CX_NET_ROCE_V2 && !a->ipv4);
	return CX_OK;
}

const struct cx_cmd_desc cx_cmds_nic[] = {
	CX_CMD(QUERY_NIC_VPORT_CONTEXT, query_nic_vport,
	       query_nic_vport_context),
	CX_CMD(MODIFY_NIC_VPORT_CONTEXT, modify_nic_vport,
	       modify_nic_vport_context),
	CX_CMD(QUERY_VPORT_STATE, query_vport_state, query_vport_state),
	CX_CMD(QUERY_VPORT_COUNTER, query_vport_counter, query_vport_counter),
	CX_CMD(SET_ROCE_ADDRESS, set_roce_address, set_roce_address),
	CX_CMD(QUERY_ROCE_ADDRESS, query_roce_address, query_roce_address),
	{ 0 }
};
