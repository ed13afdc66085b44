// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Completion queues: entries, overrun, requests for notification, resizing.
 * The software's side is get_sw_cqe(), mlx5_cq_arm() of mlx5_ib and
 * mlx5_arm_cq(), mlx5_cq_resize_copy_cqes() of the provider. Doorbells and
 * doorbell records are a process's: a wrong index there can only cost that
 * process entries or events.
 */
#include <errno.h>

#include "cx_priv.h"

#define CQE_LAST	4u	/* octets of the word with the owner bit */
#define INDEX_MASK	0xffffffu

enum arm { ARM_NOT, ARM_SOL, ARM_ANY };

/* struct mlx5_eqe_cq_err, and its syndromes. */
#define ERR_DATA	12u
#define ERR_SYNDROME	11u
#define ERR_OVERRUN	1u
#define ERR_ACCESS	2u

static uint32_t cq_size(const struct cx_cq *cq)
{
	return 1u << cq->log_size;
}

static uint32_t cq_used(const struct cx_cq *cq)
{
	return (cq->pi - cq->ci) & INDEX_MASK;
}

/*
 * Is there room for another entry? The doorbell record is read only when the
 * index that it had last time does not tell.
 */
static int cq_room(struct cx_dev *d, struct cx_cq *cq)
{
	uint32_t ci;

	if (cq_used(cq) < cq_size(cq))
		return 0;
	if (cx_record_read(d, cq->dbr, &ci))
		return -EFAULT;
	cq->ci = ci & INDEX_MASK;
	return cq_used(cq) < cq_size(cq) ? 0 : -ENOSPC;
}

/*
 * The entry is the end of a stride that is longer. The word with the owner bit
 * is written last: software may look at any time.
 */
static int cqe_write(struct cx_dev *d, struct cx_cq *cq, uint8_t *cqe)
{
	uint32_t bytes = d->family->cqe.bytes, head = bytes - CQE_LAST;
	uint8_t owner = d->family->cqe.owner;
	uint64_t at;

	at = (uint64_t)((cq->pi & (cq_size(cq) - 1)) + 1) << cq->log_cqe;
	at -= bytes;
	cqe[bytes - 1] &= ~owner;
	if (d->family->laps && cq->pi >> cq->log_size & 1)
		cqe[bytes - 1] |= owner;
	if (cx_buf_write(d, &cq->buf, at, cqe, head))
		return -EFAULT;
	__atomic_thread_fence(__ATOMIC_RELEASE);
	return cx_buf_write(d, &cq->buf, at + head, cqe + head, CQE_LAST);
}

/* One event for one request; the next request bears the next number. */
static void cq_fire(struct cx_dev *d, struct cx_cq *cq)
{
	struct cx_eq *eq = cx_ids_get(&d->eqs, cq->eqn);
	uint8_t data[28] = { 0 };

	if (!eq || !cx_eq_room(d, eq))
		return;
	cq->arm = ARM_NOT;
	cq->next_sn = (cq->arm_sn + 1) & 3;
	cx_be32_set(data + d->family->eqe.number, cq->cqn);
	cx_eq_post(d, eq, CX_EV_COMP, 0, data, sizeof(data));
}

void cx_cq_notify(struct cx_dev *d, struct cx_cq *cq)
{
	uint32_t beyond = (cq->pi - cq->arm_ci) & INDEX_MASK;

	if ((cq->arm == ARM_ANY && beyond) ||
	    (cq->arm == ARM_SOL && cq->pi - cq->sol_pi < beyond))
		cq_fire(d, cq);
}

void cx_cq_post(struct cx_dev *d, struct cx_cq *cq, void *cqe, bool solicited)
{
	int err;

	if (cq->failed)
		return;
	err = cq->oi ? 0 : cq_room(d, cq);
	if (!err)
		err = cqe_write(d, cq, cqe);
	if (err) {
		cx_cq_fail(d, cq, err == -ENOSPC ? ERR_OVERRUN : ERR_ACCESS);
		return;
	}
	cq->pi++;
	d->stats.cqes++;
	if (solicited)
		cq->sol_pi = cq->pi;
	if (cq->arm == ARM_ANY || (cq->arm == ARM_SOL && solicited))
		cq_fire(d, cq);
}

/*
 * A request with the number that was answered last is a late repetition of
 * it (the software has not seen the event yet): it would yield a second event.
 */
void cx_cq_doorbell(struct cx_dev *d, uint32_t uar, const struct cx_arm *arm)
{
	struct cx_cq *cq = cx_ids_get(&d->cqs, arm->cqn);

	d->stats.doorbells_cq++;
	if (!cq || !cx_uar_rings(d, uar, cq->uar)) {
		cx_refuse(d, "CQ", arm->cqn, uar);
		return;
	}
	if (cq->failed || arm->sn == ((cq->next_sn - 1) & 3))
		return;
	/* Who asked for any entry is not content with a solicited one. */
	if (!arm->solicited)
		cq->arm = ARM_ANY;
	else if (cq->arm == ARM_NOT)
		cq->arm = ARM_SOL;
	cq->arm_ci = arm->ci;
	cq->arm_sn = arm->sn;
	cx_cq_notify(d, cq);
}

bool cx_cq_failed(const struct cx_dev *d, const struct cx_qp *qp)
{
	const struct cx_cq *snd = cx_ids_get(&d->cqs, qp->cqn_snd);
	const struct cx_cq *rcv = cx_ids_get(&d->cqs, qp->cqn_rcv);

	return (snd && snd->failed) || (rcv && rcv->failed);
}

void cx_cq_fail(struct cx_dev *d, struct cx_cq *cq, uint8_t syndrome)
{
	uint8_t data[ERR_DATA] = { 0 };
	uint32_t n, cqn = htobe32(cq->cqn);
	struct cx_qp *qp;

	if (cq->failed)
		return;
	cq->failed = true;
	cq->arm = ARM_NOT;
	memcpy(data, &cqn, 4);
	data[ERR_SYNDROME] = syndrome;
	cx_log(d, CX_WARN, "CQ 0x%x fails, syndrome 0x%x", cq->cqn, syndrome);
	cx_event(d, CX_EV_CQ_ERROR, 0, data, sizeof(data));
	CX_EACH(&d->qps, n, qp)
		if (qp->cqn_snd == cq->cqn || qp->cqn_rcv == cq->cqn)
			cx_qp_schedule(d, qp);
}

/*
 * The RESIZE entry takes an index: software copies what is before it to one
 * place further in the new buffer, and reads on behind it there. Without such an
 * entry software copies what it finds, each entry to its place.
 */
int cx_cq_resize(struct cx_dev *d, struct cx_cq *cq, struct cx_buf *to,
		 uint8_t log_size, uint8_t log_cqe)
{
	uint32_t ci, more = d->family->cqe.resize != 0;
	uint8_t cqe[CX_CQE_MAX] = { 0 };

	if (cq->failed)
		return -EINVAL;
	if (cx_record_read(d, cq->dbr, &ci))
		return -EFAULT;
	cq->ci = ci & INDEX_MASK;
	if (cq_used(cq) + more > cq_size(cq))
		return -ENOSPC;
	if (cq_used(cq) + more > 1u << log_size)
		return -EINVAL;
	cqe[d->family->cqe.bytes - 1] = d->family->cqe.resize;
	if (more && cqe_write(d, cq, cqe))
		return -EFAULT;
	cq->pi += more;
	cx_buf_free(&cq->buf);
	cq->buf = *to;
	memset(to, 0, sizeof(*to));
	cq->log_size = log_size;
	cq->log_cqe = log_cqe;
	return 0;
}
