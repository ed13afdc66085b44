// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Ethernet frames that came: flow tables choose a TIR, its hash one of its
 * receive queues, a WQE of that takes the frame, and the completion says what
 * a card has found out about it. Frames are any peer's, WQEs the driver's.
 */
#include <string.h>

#include "cx_mlx5.h"

#define FCS		4u
#define ETH_HEADER	14u
#define ADDRESSES	12u	/* before a VLAN tag */
#define TAG		4u
#define PROTO_TCP	6u
#define VENDOR_FRAME	0x53	/* syndrome: any but 0 */

/* Of a completion entry; struct mlx5_cqe64 of the kernel. */
enum { CQE_HASH = 12, CQE_HASH_TYPE = 16, CQE_SUM = 20 };
enum { L2_OK = 1, L3_OK = 2, L4_OK = 4 };
enum { HASH_IPV4 = 1 << 2, HASH_IPV6 = 2 << 2, HASH_TCP = 1 << 6,
       HASH_UDP = 2 << 6 };
enum { HAS_VLAN = 1 };

/* ---- checksums ---- */
uint64_t cx_packet_sum(const struct cx_packet *p, const uint8_t *data)
{
	const uint8_t *from = data + p->l3 + (p->ip == 4 ? 12 : 8);
	uint32_t len = p->end - p->l4;
	uint64_t sum = cx_sum(from, p->ip == 4 ? 8 : 32, p->proto + len);

	return cx_sum(data + p->l4, len, sum);
}

static uint8_t verdict(const struct cx_packet *p, const uint8_t *data)
{
	const uint8_t *ip = data + p->l3;
	uint8_t ok = L2_OK;

	if (p->ip == 6 || (p->ip == 4 &&
			   cx_sum_fold(cx_sum(ip, (ip[0] & 0xf) * 4, 0)) ==
			   0xffff))
		ok |= L3_OK;
	if (p->l4 && cx_sum_fold(cx_packet_sum(p, data)) == 0xffff)
		ok |= L4_OK;
	return ok;
}

/* ---- hash ---- */
static uint32_t toeplitz(const uint8_t *key, const uint8_t *data, uint32_t len)
{
	uint32_t window = cx_be32_get(key), hash = 0, i, bit;

	for (i = 0; i < len; i++)
		for (bit = 0; bit < 8; bit++) {
			if (data[i] & 0x80 >> bit)
				hash ^= window;
			window = window << 1 | (key[i + 4] >> (7 - bit) & 1);
		}
	return hash;
}

static uint32_t xor8(const uint8_t *data, uint32_t len)
{
	uint8_t x = 0xff;

	while (len--)
		x ^= *data++;
	return x;
}

/* The fields that the TIR selects; returns their length, at most 36. */
static uint32_t hash_input(const struct cx_tir *t, const struct cx_packet *p,
			   const uint8_t *data, uint8_t *to, uint8_t *type)
{
	const uint8_t *ip = data + p->l3 + (p->ip == 4 ? 12 : 8);
	uint32_t addr = p->ip == 4 ? 4 : 16, len = 0;
	unsigned int i;

	if (!p->ip)
		return 0;
	for (i = 0; i < 2; i++)
		if (t->fields >> i & 1) {
			memcpy(to + len, ip + addr * i, addr);
			len += addr;
			*type |= p->ip == 4 ? HASH_IPV4 : HASH_IPV6;
		}
	for (i = 0; p->l4 && i < 2; i++)
		if (t->fields >> (2 + i) & 1) {
			memcpy(to + len, data + p->l4 + 2 * i, 2);
			len += 2;
			*type |= p->proto == PROTO_TCP ? HASH_TCP : HASH_UDP;
		}
	return len;
}

static uint32_t hash(const struct cx_tir *t, const struct cx_packet *p,
		     const uint8_t *data, uint8_t *type)
{
	uint8_t input[36];
	uint32_t len;

	*type = 0;
	len = hash_input(t, p, data, input, type);
	switch (t->hash_fn) {
	case MLX5_RX_HASH_FN_TOEPLITZ:
		return toeplitz(t->key, input, len);
	case MLX5_RX_HASH_FN_INVERTED_XOR8:
		return xor8(input, len);
	default:
		*type = 0;
		return 0;
	}
}

static struct cx_qp *queue_of(struct cx_dev *d, const struct cx_tir *t,
			      uint32_t value)
{
	const struct cx_rqt *rqt = cx_ids_get(&d->rqts, t->rqtn);

	return cx_ids_get(&d->qps, rqt ? rqt->rqn[value % rqt->nr] : t->rqn);
}

/* ---- into a WQE ---- */
/* What the completion tells. */
struct told {
	struct cx_packet p;
	bool strip;		/* the tag goes to the completion */
	uint32_t bytes, tag, hash;
	uint8_t hash_type;
};

static int scatter(struct cx_dev *d, struct cx_qp *rq,
		   const struct cx_frame *f, const struct told *t)
{
	int rc;

	if (!t->strip)
		return cx_resp_scatter(d, rq, 0, f->data, f->len);
	rc = cx_resp_scatter(d, rq, 0, f->data, ADDRESSES);
	return rc ? rc : cx_resp_scatter(d, rq, ADDRESSES,
					 f->data + ADDRESSES + TAG,
					 f->len - ADDRESSES - TAG);
}

static void complete(struct cx_dev *d, struct cx_qp *rq,
		     const struct cx_frame *f, const struct told *t,
		     uint8_t syndrome)
{
	struct cx_cq *cq = cx_ids_get(&d->cqs, rq->cqn_rcv);
	uint32_t from = ETH_HEADER + (t->strip ? TAG : 0);
	struct mlx5_cqe64 cqe = { 0 };
	uint8_t *raw = (uint8_t *)&cqe;

	rq->resp->have_w = false;
	cx_cqe_begin(d, &cqe, syndrome ? MLX5_CQE_RESP_ERR :
					 MLX5_CQE_RESP_SEND, syndrome,
		     VENDOR_FRAME);
	cqe.wqe_counter = htobe16(rq->resp->w.index);
	cqe.srqn_uidx = htobe32(rq->user_index);
	cqe.byte_cnt = htobe32(t->bytes);
	cqe.sop_drop_qpn = htobe32(syndrome ? rq->qpn : t->tag);
	if (!syndrome) {
		cx_be32_set(raw + CQE_HASH, t->hash);
		raw[CQE_HASH_TYPE] = t->hash_type;
		cx_be16_set(raw + CQE_SUM,
			    cx_sum_fold(cx_sum(f->data + from, f->len - from,
					       0)));
		cqe.hds_ip_ext = verdict(&t->p, f->data);
		cqe.l4_hdr_type_etc = t->strip ? HAS_VLAN : 0;
		cqe.vlan_info = htobe16(t->strip ? t->p.vlan : 0);
	}
	if (cq)
		cx_cq_post(d, cq, &cqe, syndrome);
}

/* A WQE that is too short costs its frame; one of bad memory, the queue. */
static void receive(struct cx_dev *d, struct cx_qp *rq,
		    const struct cx_frame *f, struct told *t)
{
	int rc = cx_resp_take(d, rq, 0);

	if (rc == -ENOENT) {
		cx_counter(d, rq)->out_of_buffer++;
		d->stats.frames_dropped++;
		return;
	}
	if (rc) {
		cx_qp_fail(d, rq, CX_EV_WQ_CATAS);
		return;
	}
	t->strip = t->p.vlan && !rq->keep_vlan;
	t->bytes = f->len - (t->strip ? TAG : 0);
	if (rq->resp->w.bytes < t->bytes) {
		complete(d, rq, f, t, MLX5_CQE_SYNDROME_LOCAL_LENGTH_ERR);
	} else if (scatter(d, rq, f, t)) {
		complete(d, rq, f, t, MLX5_CQE_SYNDROME_LOCAL_PROT_ERR);
		cx_qp_fail(d, rq, 0);
	} else {
		complete(d, rq, f, t, 0);
	}
}

void cx_eth_rx(struct cx_dev *d, const struct cx_frame *f)
{
	const struct cx_tir *tir = NULL;
	struct cx_qp *rq = NULL;
	struct told t = { 0 };

	if (f->len >= ETH_HEADER && f->len + FCS <= d->nic.port_mtu) {
		cx_eth_count(&d->nic.rx, f);
		cx_packet_parse(&t.p, f->data, f->len);
		tir = cx_steer(d, &t.p, &t.tag);
	}
	if (tir) {
		t.hash = hash(tir, &t.p, f->data, &t.hash_type);
		rq = queue_of(d, tir, t.hash);
	}
	if (rq && rq->state == CX_RTR)
		receive(d, rq, f, &t);
	else
		d->stats.frames_dropped++;
}
