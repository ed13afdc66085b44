/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The cable to a device in another process: a stream of messages, each with
 * magic, version, type and length; first a hello, with the GUID, then frames,
 * and another hello when the port's readiness changes.
 *
 * The peer is not trusted: the first byte that is not as it should be ends the
 * link. What is kept of it is one message; what is kept for it, while the host
 * has no room, is acknowledgements up to a limit. Frames with data wait with
 * their QPs, and get lost when the peer does not read for a while, as on a
 * switch, so that it does not hold up what goes elsewhere.
 */
#include <errno.h>
#include <stdlib.h>

#include "cx_priv.h"

#define MAGIC		0x43584c4bu	/* "CXLK" */
#define VERSION		2u
#define MSG_HDR		12u
#define HELLO_BODY	16u
#define FRAME_HDR	136u
#define BODY_MAX	(FRAME_HDR + CX_FRAME_DATA)
#define MSG_MAX		(MSG_HDR + BODY_MAX)
#define BACKLOG_MAX	(256u << 10)
#define HOQ_LIFE	1000000000ULL	/* ns that data waits for the peer */
#define RUN_BUDGET	(256u << 10)

enum { MSG_HELLO = 1, MSG_FRAME = 2 };
enum { HELLO_READY = 1, HELLO_ETH = 2, HELLO_TOLD = 0x80 };

struct cx_link {
	bool connected;
	bool blocked;		/* a frame with data was refused */
	bool dropping;		/* ... and the peer does not read */
	bool peer_up;
	uint8_t told;		/* the hello that was sent, with HELLO_TOLD */
	uint64_t deadline;	/* of what is blocked */
	uint64_t peer_guid;
	uint8_t *backlog;	/* whole messages */
	uint32_t backlog_len;
	uint32_t in_len;
	uint8_t in[MSG_MAX], out[MSG_MAX];
};

/* ---- frames as bytes ---- */
#define FIELD(at, name) \
	{ at, sizeof(((struct cx_frame *)0)->name), \
	  offsetof(struct cx_frame, name) }

/* Big endian there; where flags and byte strings are, see below. */
static const struct {
	uint8_t at, size;
	uint16_t off;
} fields[] = {
	FIELD(0, kind), FIELD(1, st), FIELD(3, sl), FIELD(4, tclass),
	FIELD(5, hop), FIELD(6, nak), FIELD(7, timer), FIELD(8, slid),
	FIELD(10, dlid), FIELD(12, pkey), FIELD(16, sqpn), FIELD(20, dqpn),
	FIELD(24, xrc_srqn), FIELD(28, qkey), FIELD(32, flow),
	FIELD(36, psn), FIELD(40, npsn), FIELD(44, imm_data),
	FIELD(48, rkey), FIELD(52, dma_len), FIELD(56, va),
	FIELD(64, swap_add), FIELD(72, compare),
	FIELD(124, vlan), FIELD(128, sport), FIELD(130, net),
};

#define FIELDS		(sizeof(fields) / sizeof(fields[0]))
#define AT_FLAGS	2
#define AT_ZERO		14
#define AT_SGID		80
#define AT_DGID		96
#define AT_SMAC		112
#define AT_DMAC		118
#define AT_REST		131	/* zeroes up to the data */

static void store_be(uint8_t *to, uint64_t v, unsigned int size)
{
	while (size--) {
		to[size] = v;
		v >>= 8;
	}
}

static uint64_t load_be(const uint8_t *from, unsigned int size)
{
	uint64_t v = 0;

	while (size--)
		v = v << 8 | *from++;
	return v;
}

static uint64_t field_get(const struct cx_frame *f, size_t i)
{
	const uint8_t *p = (const uint8_t *)f + fields[i].off;
	uint16_t v16;
	uint32_t v32;
	uint64_t v64;

	switch (fields[i].size) {
	case 1:
		return *p;
	case 2:
		memcpy(&v16, p, 2);
		return v16;
	case 4:
		memcpy(&v32, p, 4);
		return v32;
	default:
		memcpy(&v64, p, 8);
		return v64;
	}
}

static void field_set(struct cx_frame *f, size_t i, uint64_t v)
{
	uint8_t *p = (uint8_t *)f + fields[i].off;
	uint16_t v16 = v;
	uint32_t v32 = v;

	switch (fields[i].size) {
	case 1:
		*p = v;
		break;
	case 2:
		memcpy(p, &v16, 2);
		break;
	case 4:
		memcpy(p, &v32, 4);
		break;
	default:
		memcpy(p, &v, 8);
	}
}

static void frame_encode(const struct cx_frame *f, uint8_t *to)
{
	size_t i;

	memset(to, 0, FRAME_HDR);
	for (i = 0; i < FIELDS; i++)
		store_be(to + fields[i].at, field_get(f, i), fields[i].size);
	to[AT_FLAGS] = f->first | f->last << 1 | f->imm << 2 | f->inv << 3 |
		       f->solicited << 4 | f->grh << 5 | f->ack_req << 6;
	memcpy(to + AT_SGID, f->sgid, 16);
	memcpy(to + AT_DGID, f->dgid, 16);
	memcpy(to + AT_SMAC, f->smac, 6);
	memcpy(to + AT_DMAC, f->dmac, 6);
	memcpy(to + FRAME_HDR, f->data, f->len);
}

static void flags_decode(struct cx_frame *f, uint8_t flags)
{
	f->first = flags & 1;
	f->last = flags >> 1 & 1;
	f->imm = flags >> 2 & 1;
	f->inv = flags >> 3 & 1;
	f->solicited = flags >> 4 & 1;
	f->grh = flags >> 5 & 1;
	f->ack_req = flags >> 6 & 1;
}

/* How much data a kind of frame may carry. */
static uint32_t data_max(uint8_t kind)
{
	switch (kind) {
	case CX_F_SEND:
	case CX_F_WRITE:
	case CX_F_READ_DATA:
		return CX_FRAME_DATA;
	case CX_F_DATAGRAM:
		return 4096;
	case CX_F_ETHER:
		return CX_ETH_MTU;
	case CX_F_ATOMIC_DATA:
		return 8;
	default:
		return 0;
	}
}

/* Fields within their width, and of the sizes that a device sends. */
static bool frame_ok(const struct cx_frame *f)
{
	const uint32_t bits24 = 0xffffff;
	bool st_ok = f->st == CX_ST_RC || f->st == CX_ST_UC ||
		     f->st == CX_ST_UD || f->st == CX_ST_XRC;

	bool ud = f->kind == CX_F_DATAGRAM || f->kind == CX_F_ETHER;

	return f->kind < CX_F_KINDS && st_ok && (f->st == CX_ST_UD) == ud &&
	       f->net <= CX_NET_ROCE_V2 && f->vlan < 2 * CX_VLAN_VALID &&
	       f->len <= data_max(f->kind) && f->sl < 16 &&
	       f->nak <= CX_NAK_RNR && f->timer < 32 &&
	       f->sqpn <= bits24 && f->dqpn <= bits24 &&
	       f->xrc_srqn <= bits24 && f->flow < 1u << 20 &&
	       f->psn <= bits24 && f->npsn < 1u << 23 &&
	       f->dma_len <= CX_MAX_MSG;
}

/* NULL: no frame that a device sends. */
static struct cx_frame *frame_decode(const uint8_t *from, uint32_t len)
{
	struct cx_frame *f;
	size_t i;

	if (len < FRAME_HDR || from[AT_FLAGS] & 0x80 ||
	    from[AT_ZERO] || from[AT_ZERO + 1] ||
	    load_be(from + AT_REST, FRAME_HDR - AT_REST))
		return NULL;
	f = cx_frame_new(len - FRAME_HDR);
	if (!f)
		return NULL;
	f->len = len - FRAME_HDR;
	for (i = 0; i < FIELDS; i++)
		field_set(f, i, load_be(from + fields[i].at, fields[i].size));
	flags_decode(f, from[AT_FLAGS]);
	memcpy(f->sgid, from + AT_SGID, 16);
	memcpy(f->dgid, from + AT_DGID, 16);
	memcpy(f->smac, from + AT_SMAC, 6);
	memcpy(f->dmac, from + AT_DMAC, 6);
	memcpy(f->data, from + FRAME_HDR, f->len);
	if (frame_ok(f))
		return f;
	cx_frame_free(f);
	return NULL;
}

/* ---- out ---- */
static void disconnect(struct cx_dev *d)
{
	struct cx_link *l = d->link;

	l->connected = l->blocked = l->dropping = l->peer_up = false;
	l->told = 0;
	l->backlog_len = l->in_len = 0;
	l->peer_guid = 0;
	d->port.peer = false;
	cx_port_link(d);
}

/* 0, -EAGAIN, or -ENOTCONN: then the link has ended. */
static int transmit(struct cx_dev *d, const uint8_t *msg, uint32_t len)
{
	int rc = d->host->link_tx(d->opaque, msg, len);

	if (!rc || rc == -EAGAIN)
		return rc;
	cx_log(d, CX_WARN, "cable: cannot send: %s", strerror(-rc));
	disconnect(d);
	return -ENOTCONN;
}

static uint32_t msg_len(const uint8_t *msg)
{
	return MSG_HDR + load_be(msg + 8, 4);
}

static void flush_backlog(struct cx_dev *d)
{
	struct cx_link *l = d->link;
	uint32_t sent = 0, len;

	while (sent < l->backlog_len) {
		len = msg_len(l->backlog + sent);
		if (transmit(d, l->backlog + sent, len))
			break;
		sent += len;
	}
	if (!l->connected || !sent)
		return;
	l->backlog_len -= sent;
	memmove(l->backlog, l->backlog + sent, l->backlog_len);
}

/* For what must not wait: -ENOTCONN if there is too much of it. */
static int keep(struct cx_link *l, uint32_t len)
{
	if (!l->backlog)
		l->backlog = malloc(BACKLOG_MAX);
	if (!l->backlog || len > BACKLOG_MAX - l->backlog_len)
		return -ENOTCONN;
	memcpy(l->backlog + l->backlog_len, l->out, len);
	l->backlog_len += len;
	return 0;
}

/* The message's body lies in l->out behind the header. */
static int send_msg(struct cx_dev *d, uint8_t type, uint32_t body, bool must)
{
	struct cx_link *l = d->link;
	int rc = -EAGAIN;

	store_be(l->out, MAGIC, 4);
	l->out[4] = VERSION;
	l->out[5] = type;
	store_be(l->out + 6, 0, 2);
	store_be(l->out + 8, body, 4);
	if (!l->backlog_len)
		rc = transmit(d, l->out, MSG_HDR + body);
	return rc == -EAGAIN && must ? keep(l, MSG_HDR + body) : rc;
}

void cx_link_hello(struct cx_dev *d)
{
	uint8_t flags = HELLO_TOLD | (cx_port_ready(d) ? HELLO_READY : 0) |
			(d->config.eth ? HELLO_ETH : 0);
	struct cx_link *l = d->link;

	if (!l || !l->connected || l->told == flags)
		return;
	l->told = flags;
	memset(l->out + MSG_HDR, 0, HELLO_BODY);
	store_be(l->out + MSG_HDR, d->config.guid, 8);
	store_be(l->out + MSG_HDR + 8, d->config.lid, 2);
	l->out[MSG_HDR + 10] = flags & (HELLO_READY | HELLO_ETH);
	send_msg(d, MSG_HELLO, HELLO_BODY, true);
}

int cx_link_send(struct cx_dev *d, const struct cx_frame *f)
{
	struct cx_link *l = d->link;
	bool must = cx_frame_is_ack(f);
	int rc;

	if (!l || !l->connected || (l->dropping && !must))
		return -ENOTCONN;
	if (l->backlog_len && !must) {
		rc = -EAGAIN;
	} else {
		frame_encode(f, l->out + MSG_HDR);
		rc = send_msg(d, MSG_FRAME, FRAME_HDR + f->len, must);
	}
	if (rc == -EAGAIN && !l->blocked) {
		l->blocked = true;
		l->deadline = d->host->now(d->opaque) + HOQ_LIFE;
		cx_timer_set(d, l->deadline);
	}
	return rc;
}

bool cx_link_blocked(const struct cx_dev *d)
{
	return d->link && d->link->blocked;
}

uint64_t cx_link_timer(struct cx_dev *d, uint64_t now)
{
	struct cx_link *l = d->link;

	if (!l || !l->blocked)
		return 0;
	if (now < l->deadline)
		return l->deadline;
	cx_log(d, CX_WARN, "cable: the peer does not read; frames are lost");
	l->blocked = false;
	l->dropping = true;
	return 0;
}

void cx_link_ready(struct cx_dev *d)
{
	struct cx_link *l = d->link;

	if (!l || !l->connected)
		return;
	flush_backlog(d);
	if (!l->backlog_len)
		l->blocked = l->dropping = false;
	cx_hub_run(d->hub, RUN_BUDGET);
}

/* ---- in ---- */
static bool header_ok(const struct cx_dev *d, const uint8_t *h)
{
	uint32_t body = load_be(h + 8, 4);

	if (load_be(h, 4) != MAGIC || h[4] != VERSION || h[6] || h[7])
		return false;
	if (h[5] == MSG_HELLO)
		return body == HELLO_BODY;
	return h[5] == MSG_FRAME && d->port.peer && body >= FRAME_HDR &&
	       body <= BODY_MAX;
}

/* Who is there: not this device itself, nor one with its fixed LID. */
static bool take_hello(struct cx_dev *d, const uint8_t *body)
{
	struct cx_link *l = d->link;
	uint64_t guid = load_be(body, 8);
	uint16_t lid = load_be(body + 8, 2);

	if (!guid || guid == d->config.guid ||
	    body[10] & ~(HELLO_READY | HELLO_ETH) ||
	    load_be(body + 11, 5) || (l->peer_guid && guid != l->peer_guid))
		return false;
	if (d->config.eth != !!(body[10] & HELLO_ETH)) {
		cx_log(d, CX_ERR, "cable: the other end has another port type");
		return false;
	}
	if (lid && lid == d->config.lid) {
		cx_log(d, CX_ERR, "cable: both ends have LID %u", lid);
		return false;
	}
	if (!l->peer_guid)
		cx_log(d, CX_INFO, "cable: peer %016llx, LID %u",
		       (unsigned long long)guid, lid);
	l->peer_guid = guid;
	l->peer_up = body[10] & HELLO_READY;
	d->port.peer = true;
	cx_port_link(d);
	return true;
}

static bool take_message(struct cx_dev *d)
{
	struct cx_link *l = d->link;
	uint32_t body = l->in_len - MSG_HDR;
	struct cx_frame *f;

	l->in_len = 0;
	if (l->in[5] == MSG_HELLO)
		return take_hello(d, l->in + MSG_HDR);
	f = frame_decode(l->in + MSG_HDR, body);
	if (!f)
		return false;
	cx_wire_deliver(d, f);
	return true;
}

/* Adds bytes to the message in l->in; 0: it is no message. */
static size_t take_bytes(struct cx_dev *d, const uint8_t *data, size_t len)
{
	struct cx_link *l = d->link;
	size_t need = l->in_len < MSG_HDR ? MSG_HDR : msg_len(l->in);

	if (len > need - l->in_len)
		len = need - l->in_len;
	memcpy(l->in + l->in_len, data, len);
	l->in_len += len;
	if (l->in_len < need)
		return len;
	if (need == MSG_HDR)
		return header_ok(d, l->in) ? len : 0;
	return take_message(d) ? len : 0;
}

int cx_link_rx(struct cx_dev *d, const void *data, size_t len)
{
	struct cx_link *l = d->link;
	const uint8_t *p = data;
	size_t n;

	while (l && l->connected && len) {
		n = take_bytes(d, p, len);
		if (!n) {
			cx_log(d, CX_ERR, "cable: not a message");
			disconnect(d);
		}
		p += n;
		len -= n;
	}
	if (!l || !l->connected)
		return -EPROTO;
	cx_hub_run(d->hub, RUN_BUDGET);
	return l->connected ? 0 : -EPROTO;
}

/* ---- the host's side ---- */
void cx_link_state(struct cx_dev *d, bool connected)
{
	if (!d->hub || !d->host->link_tx)
		return;
	if (!d->link && connected)
		d->link = calloc(1, sizeof(*d->link));
	if (!d->link)
		return;
	disconnect(d);
	if (!connected)
		return;
	d->link->connected = true;
	cx_link_hello(d);
}

bool cx_link_peer_up(const struct cx_dev *d)
{
	return d->link && d->link->peer_up;
}

void cx_link_free(struct cx_dev *d)
{
	if (!d->link)
		return;
	free(d->link->backlog);
	free(d->link);
	d->link = NULL;
	d->port.peer = false;
}
