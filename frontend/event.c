// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Delivers events of the backend, already copied out of the event ring, to
 * ib_core. This runs in the upcall of the event channel. An event names its
 * object by the backend's handle, which is looked up among the objects of this
 * device only. An event that names nothing, or that cannot happen to its
 * object, is counted and ignored: it may be a late event of an object that is
 * gone.
 */
#include "ring/check.h"
#include "verbs/credit.h"
#include "files/file.h"
#include "ring/grant.h"
#include "vhca.h"
#include "vhca-provider.h"

/*
 * The frontend does not see a process that arms its CQ by a doorbell. But the process
 * first writes into the CQ's doorbell record how many events it has taken and how far
 * it has polled. While this word is the same as at the last event, the process has not
 * taken that event, and gets no other.
 *
 * A process can write any value there, so there is a rate, too: of a CQ and of the
 * device, each with a burst. An event over the rate is delivered later, one for each
 * CQ, so that no process waits for ever. It counts as no work, so Xen's driver slows
 * the event channel down.
 */
#define VHCA_COMP_CQ_NS		(NSEC_PER_SEC / 50000)
#define VHCA_COMP_DEV_NS	(NSEC_PER_SEC / 200000)
#define VHCA_COMP_BURST_NS	(20 * NSEC_PER_MSEC)

/*
 * Is an event within the rates? Each moves the time up to which events are paid for;
 * that may be one burst ahead of now. evt_lock is held.
 */
static bool event_paced(struct vhca_dev *dev, struct vhca_cq *cq)
{
	u64 now = ktime_get_ns(), limit = now + VHCA_COMP_BURST_NS;

	if (cq->comp_paid > limit || dev->comp_paid > limit)
		return false;
	cq->comp_paid = max(cq->comp_paid, now) + VHCA_COMP_CQ_NS;
	dev->comp_paid = max(dev->comp_paid, now) + VHCA_COMP_DEV_NS;
	return true;
}

/* Under evt_lock. */
static bool event_rung(struct vhca_dev *dev, struct vhca_cq *cq)
{
	u8 at = cq->db ? dev->provider->arm_at : 0;
	u32 arm = at ? vhca_mem_word(cq->db, cq->record + at) : 0;

	if (at && cq->comp_reported && arm == cq->comp_arm) {
		cq->comp_owed = false;
		return false;
	}
	if (!event_paced(dev, cq)) {
		cq->comp_owed = true;
		schedule_delayed_work(&dev->owed_work, VHCA_COMP_LATER);
		return false;
	}
	/* If the process arms meanwhile @arm is the older word: one event too many. */
	cq->comp_arm = arm;
	cq->comp_reported = true;
	return true;
}

/* May an event be delivered now? The frontend sees arms by a kick, and those of the kernel. */
static bool event_due(struct vhca_dev *dev, struct vhca_cq *cq)
{
	return dev->own_uc || dev->provider->kicks & XENVHCA_INFO_KICK_ARM ?
	       vhca_credit_spend(&cq->comp_credit) : event_rung(dev, cq);
}

/*
 * ib_core arms a CQ of the kernel before it has the queue for its work. When the CQ ends, it
 * waits for the work and then frees what the work uses for moderation. So an event waits for
 * a queue pair (pair.c), whose owner ends it before the CQ.
 */
static bool event_early(struct vhca_dev *dev, struct vhca_cq *cq)
{
	bool idle = dev->own_uc && !atomic_read(&cq->qps);

	if (!idle && (!vhca_cq_works(cq) || READ_ONCE(cq->ibcq.comp_wq)))
		return false;
	cq->comp_owed = true;
	if (!idle)
		schedule_delayed_work(&dev->owed_work, VHCA_COMP_LATER);
	return true;
}

/* Under evt_lock. */
static bool event_comp(struct vhca_dev *dev, struct vhca_cq *cq)
{
	if (event_early(dev, cq) || !event_due(dev, cq))
		return false;
	cq->comp_owed = false;
	WRITE_ONCE(cq->events, cq->events + 1);
	cq->ibcq.comp_handler(&cq->ibcq, cq->ibcq.cq_context);
	return true;
}

/* The object cannot go away: its owner erases it under evt_lock first. */
static bool event_cq(struct vhca_dev *dev, const struct xenvhca_event *ev)
{
	struct vhca_cq *cq = xa_load(&dev->cqs, vhca_key(READ_ONCE(dev->gen), ev->handle));
	struct ib_event event = {
		.device = &dev->ibdev, .event = ev->event,
	};

	if (!cq)
		return false;
	if (ev->type == XENVHCA_EVT_COMP)
		return event_comp(dev, cq);
	event.element.cq = &cq->ibcq;
	if (!vhca_credit_spend(&cq->async_credit))
		return false;
	if (cq->ibcq.event_handler)
		cq->ibcq.event_handler(&event, cq->ibcq.cq_context);
	return true;
}

/*
 * A first message before the connection is up. Consumers pass that to rdma_notify(), which
 * takes the connection of an IB_CA for one of ib_cm's. Ours is up without that, once the
 * backend has accepted.
 */
static bool event_foreign(struct vhca_dev *dev, const struct xenvhca_event *ev)
{
	return vhca_by_iw(dev) && ev->event == IB_EVENT_COMM_EST;
}

/* Under evt_lock. */
static void tell_qp(struct vhca_dev *dev, struct vhca_qp *qp, enum ib_event_type type)
{
	struct ib_event event = {
		.device = &dev->ibdev, .element.qp = &qp->ibqp, .event = type,
	};

	if (qp->ibqp.event_handler)
		qp->ibqp.event_handler(&event, qp->ibqp.qp_context);
}

static bool event_qp(struct vhca_dev *dev, const struct xenvhca_event *ev)
{
	struct vhca_qp *qp = xa_load(&dev->qps, vhca_key(READ_ONCE(dev->gen), ev->handle));

	if (!qp || !vhca_credit_spend(&qp->async_credit))
		return false;
	if (!event_foreign(dev, ev))
		tell_qp(dev, qp, ev->event);
	return true;
}

static bool event_srq(struct vhca_dev *dev, const struct xenvhca_event *ev)
{
	struct vhca_srq *srq = xa_load(&dev->srqs, vhca_key(READ_ONCE(dev->gen), ev->handle));
	struct ib_event event = {
		.device = &dev->ibdev, .event = ev->event,
	};

	if (!srq || !vhca_credit_spend(&srq->async_credit))
		return false;
	event.element.srq = &srq->ibsrq;
	if (srq->ibsrq.event_handler)
		srq->ibsrq.event_handler(&event, srq->ibsrq.srq_context);
	return true;
}

static bool event_file(struct vhca_dev *dev, const struct xenvhca_event *ev,
		       bool *news)
{
	struct vhca_file *file = xa_load(&dev->file_handles,
					 vhca_key(READ_ONCE(dev->gen), ev->handle));

	if (!file || file->ops->event != ev->type)
		return false;
	*news = vhca_file_notify(file, ev->seq, true);
	return true;
}

/* No news if the same event waits for the refresh already. */
static bool event_port(struct vhca_dev *dev,
		       const struct xenvhca_event *ev, bool *news)
{
	if (ev->event == IB_EVENT_DEVICE_FATAL) {
		vhca_break(dev, "the HCA reported a fatal error");
		return true;
	}
	*news = !test_and_set_bit(ev->event, &dev->port_events);
	vhca_port_refresh(dev);
	return true;
}

bool vhca_event(struct vhca_dev *dev, const struct xenvhca_event *ev)
{
	unsigned long flags;
	bool known = false, news = true;

	spin_lock_irqsave(&dev->evt_lock, flags);
	switch (vhca_check_event(ev) ? ev->type : 0) {
	case XENVHCA_EVT_COMP:
	case XENVHCA_EVT_CQ:
		known = event_cq(dev, ev);
		break;
	case XENVHCA_EVT_QP:
		known = event_qp(dev, ev);
		break;
	case XENVHCA_EVT_SRQ:
		known = event_srq(dev, ev);
		break;
	case XENVHCA_EVT_PORT:
		known = event_port(dev, ev, &news);
		break;
	case XENVHCA_EVT_CM:
	case XENVHCA_EVT_UMAD:
		known = event_file(dev, ev, &news);
		break;
	}
	spin_unlock_irqrestore(&dev->evt_lock, flags);
	if (!known)
		atomic64_inc(&dev->stats.bad_events);
	return known && news;
}

/*
 * Events were lost: each CQ gets one, since a completion event too many is harmless. A
 * lost asynchronous event cannot be replaced; the state of the port is read anew.
 */
bool vhca_event_overflow(struct vhca_dev *dev)
{
	/* In a work: there may be many CQs, and this is an interrupt. */
	bool news = !READ_ONCE(dev->overflow);

	vhca_event_all(dev);
	vhca_port_refresh(dev);
	return news;
}

static void owed_files(struct vhca_dev *dev)
{
	unsigned long flags, index = 0;
	struct vhca_file *file;

	do {
		spin_lock_irqsave(&dev->evt_lock, flags);
		file = xa_find(&dev->file_handles, &index, ULONG_MAX,
			       XA_PRESENT);
		if (file)
			vhca_file_overflow(file);
		spin_unlock_irqrestore(&dev->evt_lock, flags);
		cond_resched();
	} while (file && index++ < ULONG_MAX);
}

static void owed_qps(struct vhca_dev *dev)
{
	unsigned long flags, index = 0;
	struct vhca_qp *qp;

	do {
		spin_lock_irqsave(&dev->evt_lock, flags);
		qp = xa_find(&dev->qps, &index, ULONG_MAX, XA_PRESENT);
		if (qp && READ_ONCE(qp->last_owed)) {
			WRITE_ONCE(qp->last_owed, false);
			tell_qp(dev, qp, IB_EVENT_QP_LAST_WQE_REACHED);
		}
		spin_unlock_irqrestore(&dev->evt_lock, flags);
		cond_resched();
	} while (qp && index++ < ULONG_MAX);
}

/*
 * Sends events that were held back, those that an overflow owes to all CQs, and those of
 * verbs, in which no handler may be called.
 */
static void event_owed_work(struct work_struct *work)
{
	struct vhca_dev *dev = container_of(to_delayed_work(work),
					    struct vhca_dev, owed_work);
	bool all = xchg(&dev->overflow, false);
	unsigned long flags, index = 0;
	struct vhca_cq *cq;

	if (all)
		owed_files(dev);
	if (xchg(&dev->last_owed, false))
		owed_qps(dev);
	do {
		/* Its owner erases it under this lock before it goes. */
		spin_lock_irqsave(&dev->evt_lock, flags);
		cq = xa_find(&dev->cqs, &index, ULONG_MAX, XA_PRESENT);
		if (cq && (all || cq->comp_owed))
			event_comp(dev, cq);
		spin_unlock_irqrestore(&dev->evt_lock, flags);
		cond_resched();
	} while (cq && index++ < ULONG_MAX);
}

void vhca_event_init(struct vhca_dev *dev)
{
	spin_lock_init(&dev->evt_lock);
	INIT_DELAYED_WORK(&dev->owed_work, event_owed_work);
}

void vhca_event_exit(struct vhca_dev *dev)
{
	cancel_delayed_work_sync(&dev->owed_work);
}
