/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The performance management agent: the port's counters, as the wire has kept
 * them, in their 32-bit and 64-bit forms. There is no sampling mechanism, and
 * PortSamplesControl says so. MADs are untrusted.
 */
#include "cx_priv.h"

enum {
	ATTR_CLASS_INFO = 0x01, ATTR_SAMPLES = 0x10, ATTR_COUNTERS = 0x12,
	ATTR_COUNTERS_EXT = 0x1d,
};

enum { ST_OK = 0x00, ST_VERSION = 0x04, ST_METHOD = 0x08,
       ST_ATTRIBUTE = 0x0c, ST_VALUE = 0x1c };

#define METHOD_GET	0x01
#define METHOD_SET	0x02
#define AT_CLASS_VER	2
#define AT_METHOD	3
#define AT_ATTR		16
#define AT_DATA		64
#define DATA_SIZE	192

#define CAP_ALL_PORTS	BIT(8)
#define CAP_EXT_WIDTH	BIT(9)
#define RESP_TIME	18u	/* 4.096 us * 2^18: about a second */
#define ALL_PORTS	0xffu

/* What a packet has but its payload: LRH, BTH, ICRC; and the GRH. */
#define PACKET_BYTES	24u
#define GRH_BYTES	40u

/* Counters do not wrap: they stay at their end. */
static uint64_t sat(uint64_t v, unsigned int bits)
{
	uint64_t max = (1ULL << bits) - 1;

	return v < max ? v : max;
}

/* ---- counting ---- */
/* A READ request is one packet, whatever PSNs its answer takes. */
static uint32_t packets(const struct cx_frame *f)
{
	switch (f->kind) {
	case CX_F_SEND:
	case CX_F_WRITE:
	case CX_F_READ_DATA:
		return f->npsn ? f->npsn : 1;
	default:
		return 1;
	}
}

void cx_port_count(struct cx_dev *d, const struct cx_frame *f, bool sent)
{
	bool multicast = cx_frame_is_multicast(f);
	struct cx_port *p = &d->port;
	uint32_t nr = packets(f);
	uint64_t bytes = f->len + (uint64_t)nr *
			 (PACKET_BYTES + (f->grh ? GRH_BYTES : 0));
	struct cx_side *side = sent ? &d->nic.tx : &d->nic.rx;
	struct cx_traffic *prio = &side->prio[f->vlan >> 13 & 7];

	prio->frames += nr;
	prio->octets += bytes;
	if (sent && multicast) {
		p->mc_xmit_data += bytes;
		p->mc_xmit_pkts += nr;
	} else if (sent) {
		p->xmit_data += bytes;
		p->xmit_pkts += nr;
	} else if (multicast) {
		p->mc_rcv_data += bytes;
		p->mc_rcv_pkts += nr;
	} else {
		p->rcv_data += bytes;
		p->rcv_pkts += nr;
	}
}

/* ---- attributes ---- */
static uint16_t class_info(uint8_t *data, bool set)
{
	if (set)
		return ST_ATTRIBUTE;
	memset(data, 0, DATA_SIZE);
	data[0] = 1;			/* versions: base, class */
	data[1] = 1;
	cx_be16_set(data + 2, CAP_ALL_PORTS | CAP_EXT_WIDTH);
	data[7] = RESP_TIME;
	return ST_OK;
}

static uint16_t samples(uint8_t *data, bool set)
{
	uint8_t port = data[1];

	if (set)
		return ST_ATTRIBUTE;
	memset(data, 0, DATA_SIZE);
	data[1] = port;
	return ST_OK;
}

/* Set: a counter starts anew if its bit is in the selection. */
static void reset(uint32_t select, uint32_t bit, uint64_t *a, uint64_t *b)
{
	if (select & bit)
		*a = *b = 0;
}

static void reset32(uint32_t select, uint32_t bit, uint32_t *counter)
{
	if (select & bit)
		*counter = 0;
}

/* bits: the first of four, for data sent, received; packets sent, received. */
static void reset_all(struct cx_port *p, uint32_t select, uint32_t bits)
{
	reset(select, bits, &p->xmit_data, &p->mc_xmit_data);
	reset(select, bits << 1, &p->rcv_data, &p->mc_rcv_data);
	reset(select, bits << 2, &p->xmit_pkts, &p->mc_xmit_pkts);
	reset(select, bits << 3, &p->rcv_pkts, &p->mc_rcv_pkts);
}

static uint16_t counters(struct cx_port *p, uint8_t *data, bool set)
{
	uint16_t select = cx_be16_get(data + 2);
	uint8_t port = data[1];

	if (set) {
		reset32(select, 0x0004, &p->link_downed);
		reset32(select, 0x0040, &p->xmit_discards);
		reset32(select, 0x0800, &p->vl15_dropped);
		reset_all(p, select, 0x1000);
	}
	memset(data, 0, DATA_SIZE);
	data[1] = port;
	cx_be16_set(data + 2, select);
	data[7] = sat(p->link_downed, 8);
	cx_be16_set(data + 14, sat(p->xmit_discards, 16));
	cx_be16_set(data + 22, sat(p->vl15_dropped, 16));
	cx_be32_set(data + 24, sat((p->xmit_data + p->mc_xmit_data) / 4, 32));
	cx_be32_set(data + 28, sat((p->rcv_data + p->mc_rcv_data) / 4, 32));
	cx_be32_set(data + 32, sat(p->xmit_pkts + p->mc_xmit_pkts, 32));
	cx_be32_set(data + 36, sat(p->rcv_pkts + p->mc_rcv_pkts, 32));
	return ST_OK;
}

static uint16_t counters_ext(struct cx_port *p, uint8_t *data, bool set)
{
	uint16_t select = cx_be16_get(data + 2);
	uint8_t port = data[1];

	if (set) {
		reset_all(p, select, 0x0001);
		reset(select, 0x0010, &p->xmit_pkts, &p->xmit_pkts);
		reset(select, 0x0020, &p->rcv_pkts, &p->rcv_pkts);
		reset(select, 0x0040, &p->mc_xmit_pkts, &p->mc_xmit_pkts);
		reset(select, 0x0080, &p->mc_rcv_pkts, &p->mc_rcv_pkts);
	}
	memset(data, 0, DATA_SIZE);
	data[1] = port;
	cx_be16_set(data + 2, select);
	cx_be64_set(data + 8, (p->xmit_data + p->mc_xmit_data) / 4);
	cx_be64_set(data + 16, (p->rcv_data + p->mc_rcv_data) / 4);
	cx_be64_set(data + 24, p->xmit_pkts + p->mc_xmit_pkts);
	cx_be64_set(data + 32, p->rcv_pkts + p->mc_rcv_pkts);
	cx_be64_set(data + 40, p->xmit_pkts);
	cx_be64_set(data + 48, p->rcv_pkts);
	cx_be64_set(data + 56, p->mc_xmit_pkts);
	cx_be64_set(data + 64, p->mc_rcv_pkts);
	return ST_OK;
}

uint16_t cx_pma(struct cx_dev *d, uint8_t mad[256])
{
	bool set = mad[AT_METHOD] == METHOD_SET;
	uint8_t *data = mad + AT_DATA;

	if (mad[AT_CLASS_VER] != 1)
		return ST_VERSION;
	if (!set && mad[AT_METHOD] != METHOD_GET)
		return ST_METHOD;
	if (cx_be16_get(mad + AT_ATTR) == ATTR_CLASS_INFO)
		return class_info(data, set);
	if (data[1] != 1 && data[1] != ALL_PORTS)
		return ST_VALUE;
	switch (cx_be16_get(mad + AT_ATTR)) {
	case ATTR_SAMPLES:
		return samples(data, set);
	case ATTR_COUNTERS:
		return counters(&d->port, data, set);
	case ATTR_COUNTERS_EXT:
		return counters_ext(&d->port, data, set);
	default:
		return ST_ATTRIBUTE;
	}
}
