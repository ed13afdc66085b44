// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Frames that a send queue sends: one for a WQE, or as many as its data make
 * at the size that it names (LSO), with the headers of each mended, and the
 * checksums that it asks for. WQEs are the driver's; a frame that is none, or
 * too long for the port, is not sent.
 */
#include <string.h>

#include "cx_eng.h"

#define CS_L3		0x40u	/* MLX5_ETH_WQE_L3_CSUM */
#define CS_L4		0x80u
#define FCS		4u
#define FRAME_MIN	60u	/* without its FCS */
#define HEADERS_MAX	256u
#define PIECES_MAX	8192u	/* one WQE must not hold up the others */
#define TYPE_VLAN	0x8100u
#define PROTO_TCP	6u
#define TCP_LAST	0x09u	/* FIN, PSH: of the last piece */
#define TCP_FIRST	0x80u	/* CWR: of the first one */

/* Of lengths with the FCS. */
static unsigned int size_class(uint32_t len)
{
	static const uint16_t most[CX_SIZES - 1] = {
		64, 127, 255, 511, 1023, 1518, 2047, 4095, 8191,
	};
	unsigned int i;

	for (i = 0; i < CX_SIZES - 1 && len > most[i]; i++)
		;
	return i;
}

static void count(struct cx_traffic *t, const struct cx_frame *f)
{
	t->frames++;
	t->octets += f->len;
}

void cx_eth_count(struct cx_side *side, const struct cx_frame *f)
{
	static const uint8_t all[6] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff };
	enum cx_cast cast = !memcmp(f->data, all, 6) ? CX_BROADCAST :
			    f->data[0] & 1 ? CX_MULTICAST : CX_UNICAST;
	bool tagged = f->len >= 16 && cx_be16_get(f->data + 12) == TYPE_VLAN;

	count(&side->cast[cast], f);
	count(&side->prio[tagged ? f->data[14] >> 5 : 0], f);
	side->sizes[size_class(f->len + FCS)]++;
}

/* ---- checksums ---- */
static void sum_ipv4(struct cx_frame *f, const struct cx_packet *p)
{
	uint8_t *ip = f->data + p->l3;

	cx_be16_set(ip + 10, 0);
	cx_be16_set(ip + 10, ~cx_sum_fold(cx_sum(ip, (ip[0] & 0xf) * 4, 0)));
}

static void sum_l4(struct cx_frame *f, const struct cx_packet *p)
{
	uint8_t *field = f->data + p->l4 + (p->proto == PROTO_TCP ? 16 : 6);
	uint16_t sum;

	cx_be16_set(field, 0);
	sum = ~cx_sum_fold(cx_packet_sum(p, f->data));
	cx_be16_set(field, sum || p->proto == PROTO_TCP ? sum : 0xffff);
}

static void sum_frame(struct cx_frame *f, uint8_t flags)
{
	struct cx_packet p;

	if (!(flags & (CS_L3 | CS_L4)))
		return;
	cx_packet_parse(&p, f->data, f->len);
	if ((flags & CS_L3) && p.ip == 4)
		sum_ipv4(f, &p);
	if ((flags & CS_L4) && p.l4)
		sum_l4(f, &p);
}

/* ---- pieces of a large send ---- */
/* Mends the headers of the piece that begins at octet off of the data. */
static void mend(struct cx_frame *f, uint32_t off, uint16_t nr, bool last)
{
	struct cx_packet p;
	uint8_t *ip, *l4;

	cx_packet_parse(&p, f->data, f->len);
	if (!p.ip)
		return;
	ip = f->data + p.l3;
	if (p.ip == 4) {
		cx_be16_set(ip + 2, f->len - p.l3);
		cx_be16_set(ip + 4, cx_be16_get(ip + 4) + nr);
	} else {
		cx_be16_set(ip + 4, f->len - p.l3 - 40);
	}
	cx_packet_parse(&p, f->data, f->len);
	if (!p.l4)
		return;
	l4 = f->data + p.l4;
	if (p.proto != PROTO_TCP) {
		cx_be16_set(l4 + 4, f->len - p.l4);
		return;
	}
	cx_be32_set(l4 + 4, cx_be32_get(l4 + 4) + off);
	if (!last)
		l4[13] &= ~TCP_LAST;
	if (nr)
		l4[13] &= ~TCP_FIRST;
}

/* ---- sending ---- */
/*
 * Whether a frame is for a receive queue of its own device: those of its own
 * transport domain do not get it, so a network driver does not hear itself.
 */
static bool loops(const struct cx_dev *d, const struct cx_qp *sq,
		  const struct cx_frame *f)
{
	const struct cx_tis *tis = cx_ids_get(&d->tises, sq->tis);
	const struct cx_tir *tir;
	struct cx_packet p;
	uint32_t tag;

	cx_packet_parse(&p, f->data, f->len);
	tir = cx_steer(d, &p, &tag);
	return tis && tir && tir->td != tis->td;
}

/* Whatever the wire has no room for is lost, as on a switch. */
static void transmit(struct cx_dev *d, const struct cx_qp *sq,
		     struct cx_frame *f)
{
	f->kind = CX_F_ETHER;
	f->net = CX_NET_ETHER;
	f->st = CX_ST_UD;
	f->first = f->last = true;
	f->npsn = 1;
	if (f->len < FRAME_MIN) {
		memset(f->data + f->len, 0, FRAME_MIN - f->len);
		f->len = FRAME_MIN;
	}
	f->loops = loops(d, sq, f);
	if (cx_wire_send(d, f) == -EAGAIN)
		cx_frame_free(f);
}

/* A frame of octets off on of the WQE's data, behind its headers. */
static int send_piece(struct cx_dev *d, struct cx_qp *qp,
		      const struct cx_swqe *w, uint32_t off, uint32_t len)
{
	uint32_t header = w->header;
	struct cx_frame *f = cx_frame_new(header + len + FRAME_MIN);
	bool large = w->opcode == MLX5_OPCODE_TSO;
	int rc;

	if (!f)
		return -ENOMEM;
	rc = cx_wqe_gather(d, qp, w, 0, f->data, header);
	if (!rc)
		rc = cx_wqe_gather(d, qp, w, header + off, f->data + header,
				   len);
	if (rc) {
		cx_frame_free(f);
		return rc;
	}
	f->len = header + len;
	if (large)
		mend(f, off, off / w->mss, header + off + len == w->bytes);
	sum_frame(f, w->checksums);
	transmit(d, qp, f);
	return 0;
}

int cx_eth_send(struct cx_dev *d, struct cx_qp *qp, const struct cx_swqe *w)
{
	uint32_t room = d->nic.port_mtu - FCS, header = w->header;
	bool large = w->opcode == MLX5_OPCODE_TSO;
	uint32_t data = w->bytes - header, off = 0, len;
	int rc;

	if (large && (!w->mss || !header || header > HEADERS_MAX ||
		      data / w->mss > PIECES_MAX))
		return -EINVAL;
	do {
		len = large && data - off > w->mss ? w->mss : data - off;
		if (header + len < 14 || header + len > room) {
			d->port.xmit_discards++;
			return 0;
		}
		rc = send_piece(d, qp, w, off, len);
		off += len;
	} while (!rc && off < data);
	return rc;
}
