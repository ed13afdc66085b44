/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Files for management datagrams (MADs): one of a guest's process is one of the
 * kernel's here, an agent is an agent.
 *
 * The command thread uses a file. The event thread takes what was
 * received off the kernel as soon as it comes, because the kernel would store
 * without limit what a guest does not fetch; how much waits here is bounded for the
 * device.
 */
#ifndef BE_UMAD_OBJECT_H
#define BE_UMAD_OBJECT_H

#include "file.h"
#include "uverbs/umad.h"
#include "vhca-slot.h"

#define BE_MAD_HEAD	24u	/* octets of the header that all have */
#define BE_MAD_SIZE	256u
#define BE_UMAD_HEAD	sizeof(struct ib_user_mad_hdr)

/* Of a device: what its agents wait for, and answers that were not fetched. */
#define BE_UMAD_SENDS	64u
/* What was received unasked and not fetched; umad=all only. */
#define BE_UMAD_UNASKED	64u
/* Octets of either. */
#define BE_UMAD_BYTES	(4u << 20)
/* Of one send; each retry is charged as a send. */
#define BE_UMAD_RETRIES	15u
#define BE_UMAD_MS	60000u

struct be_umad {
	struct be_file f;		/* the lock of its ready: of the queue, too */
	uint32_t agents;		/* bit n: agent n is registered */
	uint32_t qp0;			/* likewise, of queue pair 0 */
	struct be_umad_msg *first, **last;
};

/* What an agent waits for, from the send until the answer was fetched. */
struct be_umad_send {
	struct be_umad *umad;		/* NULL: not in use */
	uint32_t agent;
	uint32_t tid_high, tid_low;	/* as the guest has them */
	uint8_t mgmt_class;
	bool answered;			/* the answer is in the queue */
	uint64_t until_ns;		/* then the kernel has forgotten it */
};

/* What was received, in the guest's terms. */
struct be_umad_msg {
	struct be_umad_msg *next;
	struct be_umad_send *of;	/* NULL: nobody asked */
	uint32_t len;
	uint8_t packet[];
};

static inline uint32_t be_mad_u32(const uint8_t *mad, size_t at)
{
	return (uint32_t)mad[at] << 24 | (uint32_t)mad[at + 1] << 16 |
	       (uint32_t)mad[at + 2] << 8 | mad[at + 3];
}

/* ---- umad_filter.c ---- */
/**
 * be_umad_filter() - may a guest with umad=query send that?
 * @mad: BE_MAD_SIZE octets; those that were not sent are 0
 *
 * Return: 0 or -EPERM.
 */
int be_umad_filter(const struct ib_user_mad_hdr *hdr, const uint8_t *mad);
/*
 * Does it end within the header of its class, though it is a part of a longer message?
 * The kernel (ib_create_send_mad() of 6.1) then pads it by more than a datagram has.
 * @mad: as above, of which @len octets were sent.
 */
bool be_mad_cut(const uint8_t *mad, size_t len);
/* Is it an answer? Its transaction id is the asker's. */
bool be_mad_response(const uint8_t *mad);

/* ---- umad_queue.c ---- */
int be_umad_open(struct be_dev *dev);	/* 0 or -ENOMEM */
void be_umad_close(struct be_dev *dev);
/**
 * be_umad_ask() - an agent is going to wait for an answer
 *
 * Return: 0 and *send; -EINVAL: it waits for one to that transaction already;
 * -EDQUOT.
 */
int be_umad_ask(struct be_umad *umad, const struct ib_user_mad_hdr *hdr,
		const uint8_t *mad, struct be_umad_send **send);
/* It was not sent. */
void be_umad_unask(struct be_umad *umad, struct be_umad_send *send);
/* Nothing comes for these agents any more (bit n: agent n). */
void be_umad_forget(struct be_umad *umad, uint32_t agents);
/* Takes over what the kernel has; is there something to fetch? Under the lock. */
bool be_umad_fill(struct be_ready *ready);
void be_umad_pop(struct be_umad *umad);	/* the first one; under the lock */

#endif
