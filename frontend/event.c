// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Events of the backend, already copied out of the event ring, delivered to
 * ib_core. Runs in the upcall of the event channel. An event names its object
 * by the backend's handle, which is looked up among the objects of this device
 * and nothing else; one that names nothing, or cannot happen to its object, is
 * counted and ignored: it may be a late one of an object that is gone.
 */
#include "vhca.h"

/* Which events may reach the handlers of user space, by kind of object. */
#define VHCA_CQ_EVENTS	BIT(IB_EVENT_CQ_ERR)
#define VHCA_QP_EVENTS	(BIT(IB_EVENT_QP_FATAL) |			\
			 BIT(IB_EVENT_QP_REQ_ERR) |			\
			 BIT(IB_EVENT_QP_ACCESS_ERR) |			\
			 BIT(IB_EVENT_COMM_EST) |			\
			 BIT(IB_EVENT_SQ_DRAINED) |			\
			 BIT(IB_EVENT_PATH_MIG) |			\
			 BIT(IB_EVENT_PATH_MIG_ERR) |			\
			 BIT(IB_EVENT_QP_LAST_WQE_REACHED))
#define VHCA_SRQ_EVENTS	(BIT(IB_EVENT_SRQ_ERR) |			\
			 BIT(IB_EVENT_SRQ_LIMIT_REACHED))
#define VHCA_PORT_EVENTS (BIT(IB_EVENT_PORT_ACTIVE) |			\
			 BIT(IB_EVENT_PORT_ERR) |			\
			 BIT(IB_EVENT_LID_CHANGE) |			\
			 BIT(IB_EVENT_PKEY_CHANGE) |			\
			 BIT(IB_EVENT_SM_CHANGE) |			\
			 BIT(IB_EVENT_CLIENT_REREGISTER) |		\
			 BIT(IB_EVENT_GID_CHANGE))

static bool vhca_event_in(u8 event, unsigned long set)
{
	return event < BITS_PER_LONG && set & BIT(event);
}

/* The object cannot go away: its owner erases it under evt_lock first. */
static bool vhca_event_cq(struct vhca_dev *dev, const struct xenvhca_event *ev)
{
	struct vhca_cq *cq = xa_load(&dev->cqs, ev->handle);
	struct ib_event event = {
		.device = &dev->ibdev, .event = ev->event,
	};

	if (!cq)
		return false;
	if (ev->type == XENVHCA_EVT_COMP) {
		cq->ibcq.comp_handler(&cq->ibcq, cq->ibcq.cq_context);
		return true;
	}
	event.element.cq = &cq->ibcq;
	if (!vhca_event_in(ev->event, VHCA_CQ_EVENTS))
		return false;
	if (cq->ibcq.event_handler)
		cq->ibcq.event_handler(&event, cq->ibcq.cq_context);
	return true;
}

static bool vhca_event_qp(struct vhca_dev *dev, const struct xenvhca_event *ev)
{
	struct vhca_qp *qp = xa_load(&dev->qps, ev->handle);
	struct ib_event event = {
		.device = &dev->ibdev, .event = ev->event,
	};

	if (!qp || !vhca_event_in(ev->event, VHCA_QP_EVENTS))
		return false;
	event.element.qp = &qp->ibqp;
	if (qp->ibqp.event_handler)
		qp->ibqp.event_handler(&event, qp->ibqp.qp_context);
	return true;
}

static bool vhca_event_srq(struct vhca_dev *dev, const struct xenvhca_event *ev)
{
	struct vhca_srq *srq = xa_load(&dev->srqs, ev->handle);
	struct ib_event event = {
		.device = &dev->ibdev, .event = ev->event,
	};

	if (!srq || !vhca_event_in(ev->event, VHCA_SRQ_EVENTS))
		return false;
	event.element.srq = &srq->ibsrq;
	if (srq->ibsrq.event_handler)
		srq->ibsrq.event_handler(&event, srq->ibsrq.srq_context);
	return true;
}

static bool vhca_event_port(struct vhca_dev *dev,
			    const struct xenvhca_event *ev)
{
	if (ev->event == IB_EVENT_DEVICE_FATAL) {
		vhca_break(dev, "the HCA reported a fatal error");
		return true;
	}
	if (!vhca_event_in(ev->event, VHCA_PORT_EVENTS))
		return false;
	set_bit(ev->event, &dev->port_events);
	vhca_device_refresh(dev);
	return true;
}

void vhca_event(struct vhca_dev *dev, const struct xenvhca_event *ev)
{
	unsigned long flags;
	bool known = false;

	spin_lock_irqsave(&dev->evt_lock, flags);
	switch (ev->type) {
	case XENVHCA_EVT_COMP:
	case XENVHCA_EVT_CQ:
		known = vhca_event_cq(dev, ev);
		break;
	case XENVHCA_EVT_QP:
		known = vhca_event_qp(dev, ev);
		break;
	case XENVHCA_EVT_SRQ:
		known = vhca_event_srq(dev, ev);
		break;
	case XENVHCA_EVT_PORT:
		known = vhca_event_port(dev, ev);
		break;
	}
	spin_unlock_irqrestore(&dev->evt_lock, flags);
	if (!known)
		atomic64_inc(&dev->stats.bad_events);
}

/*
 * Events were lost: whoever waits for one of them must look for himself. A
 * completion event too many is harmless, an asynchronous event cannot be made
 * up; the state of the port can be read anew.
 */
void vhca_event_overflow(struct vhca_dev *dev)
{
	unsigned long flags, index;
	struct vhca_cq *cq;

	spin_lock_irqsave(&dev->evt_lock, flags);
	xa_for_each(&dev->cqs, index, cq)
		cq->ibcq.comp_handler(&cq->ibcq, cq->ibcq.cq_context);
	spin_unlock_irqrestore(&dev->evt_lock, flags);
	vhca_device_refresh(dev);
}
