// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Steering: a received frame is taken apart into the fields that flow entries
 * match, and walks through the tables as the driver programmed them. Frames
 * are any peer's: no length in one is believed.
 */
#include <string.h>

#include "cx_priv.h"

#define ETH_HEADER	14u
#define TAG		4u
#define TYPE_CTAG	0x8100u
#define TYPE_STAG	0x88a8u
#define TYPE_IPV4	0x0800u
#define TYPE_IPV6	0x86ddu
#define PROTO_TCP	6u
#define PROTO_UDP	17u
/* Extension headers of IPv6. */
enum { HOP_BY_HOP = 0, ROUTING = 43, FRAGMENT = 44, OPTIONS = 60 };

#define SET(field, value) \
	CX_SET(fte_match_set_lyr_2_4, p->match, field, value)
#define AT(field) CX_ADDR(fte_match_set_lyr_2_4, p->match, field)

uint64_t cx_sum(const uint8_t *data, uint32_t len, uint64_t sum)
{
	uint32_t i;

	for (i = 0; i + 1 < len; i += 2)
		sum += (uint32_t)data[i] << 8 | data[i + 1];
	if (i < len)
		sum += (uint32_t)data[i] << 8;
	return sum;
}

uint16_t cx_sum_fold(uint64_t sum)
{
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

/* ---- fields ---- */
static void parse_l4(struct cx_packet *p, const uint8_t *data, uint32_t at)
{
	uint32_t room = p->end - at;

	SET(ip_protocol, p->proto);
	if (p->fragment || (p->proto != PROTO_TCP && p->proto != PROTO_UDP))
		return;
	if (room < (p->proto == PROTO_TCP ? 20u : 8u))
		return;
	p->l4 = at;
	if (p->proto == PROTO_UDP) {
		memcpy(AT(udp_sport), data + at, 4);
		return;
	}
	memcpy(AT(tcp_sport), data + at, 4);
	SET(tcp_flags, (data[at + 12] & 1) << 8 | data[at + 13]);
}

/* The end of a packet that says how long it is. */
static uint32_t end_of(uint32_t at, uint32_t bytes, uint32_t len)
{
	return bytes < len - at ? at + bytes : len;
}

static void parse_ipv4(struct cx_packet *p, const uint8_t *data, uint32_t at,
		       uint32_t len)
{
	const uint8_t *ip = data + at;
	uint32_t header = (ip[0] & 0xf) * 4, total;

	if (len - at < 20 || ip[0] >> 4 != 4 || header < 20 ||
	    header > len - at)
		return;
	total = cx_be16_get(ip + 2);
	p->ip = 4;
	p->l3 = at;
	p->end = end_of(at, total < header ? header : total, len);
	p->fragment = cx_be16_get(ip + 6) & 0x3fff;
	p->proto = ip[9];
	SET(ip_version, 4);
	SET(ip_dscp, ip[1] >> 2);
	SET(ip_ecn, ip[1]);
	SET(frag, p->fragment);
	SET(ipv4_ihl, header / 4);
	SET(ttl_hoplimit, ip[8]);
	memcpy(AT(src_ipv4_src_ipv6) + 12, ip + 12, 4);
	memcpy(AT(dst_ipv4_dst_ipv6) + 12, ip + 16, 4);
	parse_l4(p, data, at + header);
}

/* Behind the extension headers. */
static uint32_t skip_extensions(struct cx_packet *p, const uint8_t *data,
				uint32_t at)
{
	uint32_t step;

	while (p->proto == HOP_BY_HOP || p->proto == ROUTING ||
	       p->proto == OPTIONS || p->proto == FRAGMENT) {
		if (p->end - at < 8)
			break;
		step = p->proto == FRAGMENT ? 8 : 8 + data[at + 1] * 8u;
		if (step > p->end - at)
			break;
		p->fragment |= p->proto == FRAGMENT;
		p->proto = data[at];
		at += step;
	}
	return at;
}

static void parse_ipv6(struct cx_packet *p, const uint8_t *data, uint32_t at,
		       uint32_t len)
{
	const uint8_t *ip = data + at;

	if (len - at < 40 || ip[0] >> 4 != 6)
		return;
	p->ip = 6;
	p->l3 = at;
	p->end = end_of(at, 40u + cx_be16_get(ip + 4), len);
	p->proto = ip[6];
	SET(ip_version, 6);
	SET(ip_dscp, cx_be16_get(ip) >> 6);
	SET(ip_ecn, cx_be16_get(ip) >> 4);
	SET(ttl_hoplimit, ip[7]);
	memcpy(AT(src_ipv4_src_ipv6), ip + 8, 16);
	memcpy(AT(dst_ipv4_dst_ipv6), ip + 24, 16);
	at = skip_extensions(p, data, at + 40);
	SET(frag, p->fragment);
	parse_l4(p, data, at);
}

static uint32_t parse_tags(struct cx_packet *p, const uint8_t *data,
			   uint32_t len, uint16_t *type)
{
	uint32_t at = ETH_HEADER;
	uint16_t tci;

	*type = cx_be16_get(data + 12);
	if ((*type != TYPE_CTAG && *type != TYPE_STAG) || len < at + TAG)
		return at;
	tci = cx_be16_get(data + at);
	SET(cvlan_tag, *type == TYPE_CTAG);
	SET(svlan_tag, *type == TYPE_STAG);
	SET(first_prio, tci >> 13);
	SET(first_cfi, tci >> 12);
	SET(first_vid, tci);
	if (*type == TYPE_CTAG)
		p->vlan = CX_VLAN_VALID | tci;
	*type = cx_be16_get(data + at + 2);
	return at + TAG;
}

void cx_packet_parse(struct cx_packet *p, const uint8_t *data, uint32_t len)
{
	uint16_t type;
	uint32_t at;

	memset(p, 0, sizeof(*p));
	if (len < ETH_HEADER)
		return;
	memcpy(AT(dmac_47_16), data, 6);
	memcpy(AT(smac_47_16), data + 6, 6);
	at = parse_tags(p, data, len, &type);
	SET(ethertype, type);
	if (type == TYPE_IPV4)
		parse_ipv4(p, data, at, len);
	else if (type == TYPE_IPV6)
		parse_ipv6(p, data, at, len);
}

/* ---- tables ---- */
static bool matches(const struct cx_fte *e, const struct cx_packet *p)
{
	unsigned int i;

	for (i = 0; i < CX_MATCH; i++)
		if ((p->match[i] ^ e->value[i]) & e->group->criteria[i])
			return false;
	return true;
}

const struct cx_tir *cx_steer(const struct cx_dev *d,
			      const struct cx_packet *p, uint32_t *tag)
{
	uint32_t n = d->nic.root;
	const struct cx_fte *e;
	const struct cx_ft *ft;

	*tag = 0;
	while ((ft = cx_ids_get(&d->fts, n))) {
		for (e = ft->entries; e && !matches(e, p); e = e->next)
			;
		if (!e) {
			n = ft->miss;
			continue;
		}
		*tag = e->tag;
		if (e->dest != CX_DEST_FT)
			return e->dest == CX_DEST_TIR ?
			       cx_ids_get(&d->tirs, e->id) : NULL;
		n = e->id;
	}
	return NULL;
}
