// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * What one kick does: the system call that a native process would have made.
 * Kick thread, with be_dev.lock held for reading from the look-up of the
 * handle to the end of the call, so that neither the fd is closed nor a ring
 * unmapped meanwhile. The handle and everything in a ring come from the guest.
 */
#include "obj.h"

/* Header of a queue of rdma_rxe, see <rdma/rdma_user_rxe.h>. */
#define RING_PRODUCER	128
#define RING_CONSUMER	256
#define RING_DATA	384
#define RING_CQE	64

static uint32_t ring_index(const struct be_mmap *m, unsigned int offset)
{
	return __atomic_load_n((uint32_t *)((uint8_t *)m->addr + offset),
			       __ATOMIC_ACQUIRE);
}

/*
 * Does the CQ hold entries that the guest has not consumed? The mask is
 * computed from what the kernel said, not read from the ring; the guest can
 * only fool itself. A ring of unknown shape counts as not empty.
 */
static bool cq_not_empty(const struct be_cq *cq)
{
	uint64_t slots = (uint64_t)cq->cqe + 1;
	uint32_t mask = cq->cqe;

	if (!cq->ring)			/* never polled, unless it was resized */
		return cq->resized;
	if (slots & mask || RING_DATA + slots * RING_CQE > cq->ring->length)
		return true;
	return (ring_index(cq->ring, RING_PRODUCER) & mask) !=
	       (ring_index(cq->ring, RING_CONSUMER) & mask);
}

static struct be_obj *kick_find(struct be_dev *dev,
				const struct xenvhca_kick *k,
				enum be_type type)
{
	return be_handle_get(dev->handles, k->handle, type, NULL);
}

static int kick_send(struct be_dev *dev, const struct xenvhca_kick *k)
{
	const struct be_obj *qp = kick_find(dev, k, BE_QP);

	if (!qp)
		return -1;
	/* An error is the QP's state; the guest sees it in its completions. */
	uv_post_send(((struct be_uc *)qp->uc)->fd, qp->host);
	return 0;
}

static int kick_arm(struct be_dev *dev, const struct xenvhca_kick *k,
		    bool *event)
{
	const struct be_obj *o = kick_find(dev, k, BE_CQ);
	bool solicited = k->flags & XENVHCA_KICK_SOLICITED;

	if (!o || k->flags & ~XENVHCA_KICK_SOLICITED)
		return -1;
	if (uv_req_notify_cq(((struct be_uc *)o->uc)->fd, o->host, solicited))
		return 0;
	/*
	 * The guest may have polled, found nothing, and gone to sleep before
	 * this took effect; a native arm would have been in force by then.
	 */
	*event = !solicited && cq_not_empty((const struct be_cq *)o);
	return 0;
}

void be_kick(struct be_dev *dev, const struct xenvhca_kick *k)
{
	bool event = false;
	int err = -1;

	pthread_rwlock_rdlock(&dev->lock);
	if (k->type == XENVHCA_KICK_SEND && !k->flags)
		err = kick_send(dev, k);
	else if (k->type == XENVHCA_KICK_ARM)
		err = kick_arm(dev, k, &event);
	pthread_rwlock_unlock(&dev->lock);
	if (err) {
		BE_STAT_ADD(dev, faults, 1);
		be_log_peer(dev, "kick ignored: type %u, flags %#x, handle %#x",
			    k->type, k->flags, k->handle);
	} else if (event) {
		be_event_push(dev, XENVHCA_EVT_COMP, 0, k->handle);
	}
}
