// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Event queues: entries, arming, interrupts. The driver's side is next_eqe_sw()
 * and eq_update_ci() of mlx5_core; the family knows where in an entry things
 * are. The consumer index comes from a doorbell and is believed only if it lies
 * among the entries that were written.
 *
 * A full queue loses nothing that a CQ can tell later: its completion events
 * wait until there is room. Other events are lost, with a log line; the driver
 * sizes its queues so that this does not happen. That a command has ended cannot be
 * told later, and its caller waits for it: no other event takes the places that
 * commands under way need.
 */
#include <errno.h>

#include "cx_priv.h"

#define EQE_TYPE	1u	/* offsets */
#define EQE_SUBTYPE	3u
#define EQE_DATA_MAX	28u
#define EQE_LAST	4u	/* octets of the word with the owner bit */
#define INDEX_MASK	0xffffffu

static uint32_t eq_used(const struct cx_eq *eq)
{
	return (eq->pi - eq->ci) & INDEX_MASK;
}

static void eq_fire(struct cx_dev *d, struct cx_eq *eq)
{
	if (!eq->armed || !eq_used(eq))
		return;
	eq->armed = false;
	d->stats.irqs++;
	/* A message is a store too, to where the guest wants it. */
	cx_dma_depth++;
	d->host->irq(d->opaque, eq->vector);
	cx_dma_depth--;
}

/*
 * The owner bit is written last, since the driver may look at the entry at any
 * time.
 */
static int eqe_write(struct cx_dev *d, struct cx_eq *eq, uint8_t *eqe)
{
	uint32_t bytes = d->family->eqe.bytes, head = bytes - EQE_LAST;
	uint64_t at = (uint64_t)(eq->pi & ((1u << eq->log_size) - 1)) * bytes;

	eqe[bytes - 1] = d->family->laps && eq->pi >> eq->log_size & 1 ?
			 d->family->eqe.owner : 0;
	if (cx_buf_write(d, &eq->buf, at, eqe, head))
		return -EFAULT;
	__atomic_thread_fence(__ATOMIC_RELEASE);
	return cx_buf_write(d, &eq->buf, at + head, eqe + head, EQE_LAST);
}

/* How many entries are there for events of that type. */
static uint32_t eq_places(const struct cx_dev *d, const struct cx_eq *eq,
			  enum cx_event type)
{
	uint32_t size = 1u << eq->log_size, kept = 1u << d->family->log_cmds;

	if (type == CX_EV_CMD || !(eq->mask >> CX_EV_CMD & 1))
		return size;
	return size - (kept < size / 2 ? kept : size / 2);
}

static bool eq_room(const struct cx_dev *d, struct cx_eq *eq, enum cx_event type)
{
	if (eq_used(eq) < eq_places(d, eq, type))
		return true;
	eq->full = true;
	return false;
}

bool cx_eq_room(const struct cx_dev *d, struct cx_eq *eq)
{
	return eq_room(d, eq, CX_EV_COMP);
}

void cx_eq_post(struct cx_dev *d, struct cx_eq *eq, enum cx_event type,
		uint8_t subtype, const void *data, size_t len)
{
	uint8_t eqe[CX_EQE_MAX] = { 0 };
	size_t room = d->family->eqe.bytes - d->family->eqe.data - EQE_LAST;
	bool was_full = eq->full;

	if (!eq_room(d, eq, type)) {
		cx_log(d, was_full ? CX_DEBUG : CX_ERR,
		       "EQ 0x%x is full: event 0x%x is lost", eq->eqn, type);
		return;
	}
	eqe[EQE_TYPE] = type;
	eqe[EQE_SUBTYPE] = subtype;
	if (data && len)
		memcpy(eqe + d->family->eqe.data, data, len < room ? len : room);
	if (eqe_write(d, eq, eqe)) {
		cx_log(d, CX_DEBUG, "EQ 0x%x: entry cannot be written",
		       eq->eqn);
		return;
	}
	eq->pi++;
	d->stats.eqes++;
	eq_fire(d, eq);
}

void cx_event(struct cx_dev *d, enum cx_event type, uint8_t subtype,
	      const void *data, size_t len)
{
	struct cx_eq *eq;
	uint32_t n;

	CX_EACH(&d->eqs, n, eq)
		if (eq->mask >> type & 1)
			cx_eq_post(d, eq, type, subtype, data, len);
}

struct cx_eq *cx_command_eq(const struct cx_dev *d)
{
	struct cx_eq *eq;
	uint32_t n;

	CX_EACH(&d->eqs, n, eq)
		if (eq->mask >> CX_EV_CMD & 1)
			return eq;
	return NULL;
}

/* What an event's number is of; SRQs have event types of their own. */
enum resource { RESOURCE_QP, RESOURCE_RQ, RESOURCE_SQ };

/* struct mlx5_eqe_qp_srq */
static void event_number(struct cx_dev *d, enum cx_event type, uint32_t n,
			 enum resource resource)
{
	uint8_t data[EQE_DATA_MAX] = { 0 };

	if (d->family->eqe.number)
		data[d->family->eqe.number - 4] = resource;
	cx_be32_set(data + d->family->eqe.number, n);
	cx_event(d, type, 0, data, sizeof(data));
}

void cx_event_qp(struct cx_dev *d, enum cx_event type, uint32_t qpn)
{
	const struct cx_qp *qp = cx_ids_get(&d->qps, qpn);
	enum cx_st st = qp ? qp->st : CX_ST_RC;

	event_number(d, type, qpn, st == CX_ST_SQ ? RESOURCE_SQ :
		     st == CX_ST_RQ ? RESOURCE_RQ : RESOURCE_QP);
}

void cx_event_srq(struct cx_dev *d, enum cx_event type, uint32_t srqn)
{
	event_number(d, type, srqn, RESOURCE_QP);
}

/* There is room again: what the queue's CQs could not tell. */
static void eq_catch_up(struct cx_dev *d, struct cx_eq *eq)
{
	struct cx_cq *cq;
	uint32_t n;

	eq->full = false;
	CX_EACH(&d->cqs, n, cq) {
		if (eq->full)
			break;
		if (cq->arm && cq->eqn == eq->eqn)
			cx_cq_notify(d, cq);
	}
}

void cx_eq_doorbell(struct cx_dev *d, struct cx_eq *eq, uint32_t ci, bool arm)
{
	uint32_t used = (eq->pi - ci) & INDEX_MASK;

	if (used > eq_used(eq)) {
		cx_refuse(d, "EQ", eq->eqn, eq->uar);
		return;
	}
	eq->ci = eq->pi - used;
	if (eq->full && cx_eq_room(d, eq))
		eq_catch_up(d, eq);
	if (arm)
		eq->armed = true;
	eq_fire(d, eq);
}
