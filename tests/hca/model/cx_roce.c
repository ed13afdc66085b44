// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * RoCE: from an index of the address table to the addresses of a frame, which
 * frames the table's entries accept, and what a datagram's receiver sees of
 * the headers. Entries are the driver's, but any process may name any index
 * in a datagram: a card checks no more than that the entry is there.
 */
#include <string.h>

#include "cx_eng.h"

#define PROTO_UDP	17u
#define IPV4_DF		0x4000u
#define BTH_DETH	20u
#define ICRC		4u
#define UDP_HEADER	8u
#define IPV4_HEADER	20u

const struct cx_roce_addr *cx_roce_addr(const struct cx_dev *d,
					unsigned int index)
{
	if (index >= CX_ROCE_ADDRS || !d->nic.addr[index].used)
		return NULL;
	return &d->nic.addr[index];
}

void cx_roce_route(const struct cx_dev *d, const struct cx_av *av,
		   struct cx_frame *f)
{
	const struct cx_roce_addr *a = cx_roce_addr(d, av->sgid_index);

	f->dlid = 0;
	f->slid = 0;
	f->grh = true;
	if (!a)
		return;
	f->net = a->net;
	f->vlan = a->vlan;
	if (a->vlan)
		f->vlan |= (uint32_t)av->eth_prio << 13;
	f->sport = a->net == CX_NET_ROCE_V2 ? av->sport : 0;
	memcpy(f->smac, a->mac, 6);
	memcpy(f->dmac, av->dmac, 6);
	memcpy(f->sgid, a->gid, 16);
}

bool cx_roce_owns(const struct cx_dev *d, const uint8_t mac[6])
{
	unsigned int i;

	for (i = 0; i < CX_ROCE_ADDRS; i++)
		if (d->nic.addr[i].used && !memcmp(d->nic.addr[i].mac, mac, 6))
			return true;
	return false;
}

/* The tag's number: its priority is of no matter. */
static uint32_t vlan_of(uint32_t vlan)
{
	return vlan & (CX_VLAN_VALID | 0xfff);
}

bool cx_roce_accepts(const struct cx_dev *d, const struct cx_frame *f)
{
	bool multicast = f->dmac[0] & 1;
	const struct cx_roce_addr *a;
	unsigned int i;

	for (i = 0; d->nic.roce && i < CX_ROCE_ADDRS; i++) {
		a = &d->nic.addr[i];
		if (!a->used || a->net != f->net ||
		    vlan_of(a->vlan) != vlan_of(f->vlan))
			continue;
		if (multicast ? f->kind == CX_F_DATAGRAM :
		    !memcmp(a->gid, f->dgid, 16) && !memcmp(a->mac, f->dmac, 6))
			return true;
	}
	return false;
}

/* ---- what a receiver sees of the headers ---- */
static bool is_ipv4(const struct cx_frame *f)
{
	static const uint8_t mapped[12] = { [10] = 0xff, 0xff };

	return f->net == CX_NET_ROCE_V2 && !memcmp(f->sgid, mapped, 12);
}

uint8_t cx_roce_header_type(const struct cx_frame *f)
{
	if (f->net != CX_NET_ROCE_V2)
		return 0;
	return is_ipv4(f) ? 2 : 1;
}

/* Of a datagram, from the BTH on, padded to words. */
static uint16_t payload(const struct cx_frame *f)
{
	return BTH_DETH + (f->imm ? 4 : 0) + ((f->len + 3) & ~3u) + ICRC;
}

/* 20 octets that a card leaves undefined, and the header. */
static void ipv4_header(const struct cx_frame *f, uint8_t grh[40])
{
	uint8_t *ip = grh + IPV4_HEADER;

	memset(grh, 0, 40);
	ip[0] = 0x45;
	ip[1] = f->tclass;
	cx_be16_set(ip + 2, IPV4_HEADER + UDP_HEADER + payload(f));
	cx_be16_set(ip + 6, IPV4_DF);
	ip[8] = f->hop;
	ip[9] = PROTO_UDP;
	memcpy(ip + 12, f->sgid + 12, 4);
	memcpy(ip + 16, f->dgid + 12, 4);
	cx_be16_set(ip + 10, ~cx_sum_fold(cx_sum(ip, IPV4_HEADER, 0)));
}

void cx_network_header(const struct cx_frame *f, uint8_t grh[40])
{
	bool udp = f->net == CX_NET_ROCE_V2;

	if (is_ipv4(f)) {
		ipv4_header(f, grh);
		return;
	}
	cx_be32_set(grh, 6u << 28 | (uint32_t)f->tclass << 20 |
			 (f->flow & 0xfffff));
	cx_be16_set(grh + 4, payload(f) + (udp ? UDP_HEADER : 0));
	grh[6] = udp ? PROTO_UDP : CX_NEXT_IBA;
	grh[7] = f->hop;
	memcpy(grh + 8, f->sgid, 16);
	memcpy(grh + 24, f->dgid, 16);
}
