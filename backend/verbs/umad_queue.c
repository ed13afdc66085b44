// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * What agents of a guest wait for, and what was received for them.
 *
 * The kernel puts the number of its agent into the upper half of a transaction id, so
 * that answers find their way whatever two guests chose. Here is what the guest had
 * there, and it gets that back; an answer that nobody waits for goes no further. Each
 * send that waits is charged until the guest has fetched the answer, so there is room
 * for all answers; what comes unasked is dropped when it is too much.
 *
 * The command thread and the event thread run this. A queue has the lock of its
 * be_ready; below it is that of the device.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "tables.h"
#include "umad.h"

#define BATCH		64u	/* packets of one wake-up */
#define AT_CLASS	1
#define AT_TID_HIGH	8
#define AT_TID_LOW	12
/* Beyond the time-outs: parts of an answer follow each other for some time. */
#define SLACK_NS	(60 * VL_SEC_NS)

struct be_umads {
	pthread_mutex_t lock;
	struct be_umad_send send[BE_UMAD_SENDS];
	unsigned int unasked;
	uint32_t bytes;
};

int be_umad_open(struct be_dev *dev)
{
	dev->umads = calloc(1, sizeof(*dev->umads));
	if (!dev->umads)
		return -ENOMEM;
	pthread_mutex_init(&dev->umads->lock, NULL);
	return 0;
}

void be_umad_close(struct be_dev *dev)
{
	if (!dev->umads)
		return;
	pthread_mutex_destroy(&dev->umads->lock);
	free(dev->umads);
	dev->umads = NULL;
}

/* ---- what is waited for ---- */

static bool send_is(const struct be_umad_send *s, const struct be_umad *umad,
		    uint32_t agent, const uint8_t *mad)
{
	return s->umad == umad && !s->answered && s->agent == agent &&
	       s->tid_low == be_mad_u32(mad, AT_TID_LOW) &&
	       s->mgmt_class == mad[AT_CLASS];
}

static struct be_umad_send *send_find(struct be_umads *u,
				      const struct be_umad *umad,
				      uint32_t agent, const uint8_t *mad)
{
	unsigned int i;

	for (i = 0; i < BE_UMAD_SENDS; i++)
		if (send_is(&u->send[i], umad, agent, mad))
			return &u->send[i];
	return NULL;
}

/* One that is free, or whose answer cannot come any more. */
static struct be_umad_send *send_free(struct be_umads *u, uint64_t now)
{
	struct be_umad_send *s;
	unsigned int i;

	for (i = 0; i < BE_UMAD_SENDS; i++) {
		s = &u->send[i];
		if (!s->umad || (!s->answered && s->until_ns < now))
			return s;
	}
	return NULL;
}

int be_umad_ask(struct be_umad *umad, const struct ib_user_mad_hdr *hdr,
		const uint8_t *mad, struct be_umad_send **send)
{
	uint64_t wait = (uint64_t)hdr->timeout_ms * (hdr->retries + 1ull);
	struct be_umads *u = umad->f.dev->umads;
	uint64_t now = vl_coarse_ns();
	int err = 0;

	pthread_mutex_lock(&u->lock);
	*send = send_free(u, now);
	if (!*send)
		err = -EDQUOT;
	else if (send_find(u, umad, hdr->id, mad))
		err = -EINVAL;
	else
		**send = (struct be_umad_send){
			.umad = umad, .agent = hdr->id,
			.tid_high = be_mad_u32(mad, AT_TID_HIGH),
			.tid_low = be_mad_u32(mad, AT_TID_LOW),
			.mgmt_class = mad[AT_CLASS],
			.until_ns = now + wait * VL_MSEC_NS + SLACK_NS,
		};
	pthread_mutex_unlock(&u->lock);
	return err;
}

static void send_end(struct be_umad_send *s)
{
	s->umad = NULL;
	s->answered = false;
}

void be_umad_unask(struct be_umad *umad, struct be_umad_send *send)
{
	struct be_umads *u = umad->f.dev->umads;

	pthread_mutex_lock(&u->lock);
	send_end(send);
	pthread_mutex_unlock(&u->lock);
}

void be_umad_forget(struct be_umad *umad, uint32_t agents)
{
	struct be_umads *u = umad->f.dev->umads;
	struct be_umad_send *s;
	unsigned int i;

	pthread_mutex_lock(&u->lock);
	for (i = 0; i < BE_UMAD_SENDS; i++) {
		s = &u->send[i];
		if (s->umad == umad && !s->answered && agents >> s->agent & 1)
			send_end(s);
	}
	pthread_mutex_unlock(&u->lock);
}

/* ---- what was received ---- */

/*
 * Charges a packet of m->len octets. False: it is dropped. m->len gets less where
 * there is room for an error only, which an agent that waits has in any case.
 */
static bool msg_charge(struct be_umad *umad, const struct ib_user_mad_hdr *hdr,
		       const uint8_t *mad, struct be_umad_msg *m)
{
	struct be_umads *u = umad->f.dev->umads;
	bool full = (uint64_t)u->bytes + m->len > BE_UMAD_BYTES;

	if (hdr->status || be_mad_response(mad)) {
		m->of = send_find(u, umad, hdr->id, mad);
		if (!m->of)
			return false;
		m->of->answered = true;
	} else if (u->unasked == BE_UMAD_UNASKED || full ||
		   m->len > XENVHCA_UMAD_RECV_MAX) {
		return false;
	} else {
		u->unasked++;
	}
	if (full || m->len > XENVHCA_UMAD_RECV_MAX)
		m->len = BE_UMAD_HEAD + BE_MAD_HEAD;
	u->bytes += m->len;
	return true;
}

static void msg_uncharge(struct be_umads *u, const struct be_umad_msg *m)
{
	u->bytes -= m->len;
	if (m->of)
		send_end(m->of);
	else
		u->unasked--;
}

static void put_u32(uint8_t *mad, size_t at, uint32_t v)
{
	mad[at] = (uint8_t)(v >> 24);
	mad[at + 1] = (uint8_t)(v >> 16);
	mad[at + 2] = (uint8_t)(v >> 8);
	mad[at + 3] = (uint8_t)v;
}

/* In the guest's terms. @len: as received. */
static void msg_fill(const struct be_umad *umad, struct be_umad_msg *m,
		     const uint8_t *packet, uint32_t len)
{
	struct ib_user_mad_hdr hdr;

	memcpy(&hdr, packet, sizeof(hdr));
	memcpy(m->packet, packet, m->len);
	if (m->len < len)
		hdr.status = len > XENVHCA_UMAD_RECV_MAX ? EMSGSIZE : ENOBUFS;
	hdr.length = m->len;
	if (be_pkey_find(umad->f.dev, hdr.pkey_index, &hdr.pkey_index))
		hdr.pkey_index = 0;
	memcpy(m->packet, &hdr, sizeof(hdr));
	if (m->of)
		put_u32(m->packet + BE_UMAD_HEAD, AT_TID_HIGH, m->of->tid_high);
}

/* It came in a partition that the guest does not have. */
static bool foreign(const struct be_umad *umad,
		    const struct ib_user_mad_hdr *hdr, const uint8_t *mad)
{
	uint16_t index;

	return !hdr->status && !be_mad_response(mad) &&
	       be_pkey_find(umad->f.dev, hdr->pkey_index, &index);
}

/* A packet of the kernel's is the guest's from now on, or dropped. */
static void msg_put(struct be_umad *umad, const uint8_t *packet, uint32_t len)
{
	const uint8_t *mad = packet + BE_UMAD_HEAD;
	struct be_umads *u = umad->f.dev->umads;
	struct be_umad_msg head = { .len = len }, *m = NULL;
	struct ib_user_mad_hdr hdr;

	if (len < BE_UMAD_HEAD + BE_MAD_HEAD)
		return;
	memcpy(&hdr, packet, sizeof(hdr));
	if (hdr.id >= XENVHCA_UMAD_AGENTS || foreign(umad, &hdr, mad))
		return;
	pthread_mutex_lock(&u->lock);
	if (msg_charge(umad, &hdr, mad, &head)) {
		m = malloc(sizeof(*m) + head.len);
		if (!m)
			msg_uncharge(u, &head);
	}
	pthread_mutex_unlock(&u->lock);
	if (!m)
		return;
	*m = head;
	msg_fill(umad, m, packet, len);
	*(umad->first ? umad->last : &umad->first) = m;
	umad->last = &m->next;
}

/* A message of several datagrams. False: it stays. */
static bool take_long(struct be_umad *umad, const uint8_t *first)
{
	struct ib_user_mad_hdr hdr;
	uint8_t *packet;
	ssize_t r;

	memcpy(&hdr, first, sizeof(hdr));
	packet = malloc(hdr.length);
	if (!packet)
		return false;
	r = uv_recv_umad(umad->f.ready.fd, packet, hdr.length);
	if (r > 0)
		msg_put(umad, packet, (uint32_t)r);
	free(packet);
	return r > 0;
}

static bool take_one(struct be_umad *umad)
{
	uint8_t packet[BE_UMAD_HEAD + BE_MAD_SIZE];
	ssize_t r = uv_recv_umad(umad->f.ready.fd, packet, sizeof(packet));

	if (r == -ENOSPC)
		return take_long(umad, packet);
	if (r > 0)
		msg_put(umad, packet, (uint32_t)r);
	return r > 0;
}

/*
 * What is left after a batch is taken with the next packet that comes, or when the
 * guest fetches one: it is told as long as there is any.
 */
bool be_umad_fill(struct be_ready *ready)
{
	struct be_umad *umad = (struct be_umad *)
		((char *)ready - offsetof(struct be_umad, f.ready));
	unsigned int i;

	for (i = 0; i < BATCH && umad->f.ready.fd >= 0 && take_one(umad); i++)
		;
	return umad->first;
}

void be_umad_pop(struct be_umad *umad)
{
	struct be_umads *u = umad->f.dev->umads;
	struct be_umad_msg *m = umad->first;

	umad->first = m->next;
	pthread_mutex_lock(&u->lock);
	msg_uncharge(u, m);
	pthread_mutex_unlock(&u->lock);
	free(m);
}
