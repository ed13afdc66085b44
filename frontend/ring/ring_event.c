// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The event ring. Each entry is copied once before it is read; event.c decides
 * what an event means and how many may come.
 */
#include <linux/interrupt.h>
#include <xen/events.h>
#include <xen/page.h>

#include "check.h"
#include "vhca.h"

irqreturn_t vhca_ring_evt_irq(int irq, void *arg)
{
	struct vhca_dev *dev = arg;
	struct vhca_ring *ring = &dev->ring;
	struct xenvhca_evt_page *page = ring->evt;
	struct xenvhca_event ev;
	bool work = false;
	const char *bad;
	u32 prod;

	atomic64_inc(&dev->stats.irqs);
	if (!vhca_ring_up(ring))
		return IRQ_HANDLED;
	prod = READ_ONCE(page->prod);
	virt_rmb();	/* entries after prod; pairs with the backend's wmb */
	bad = vhca_check_evt_prod(prod, ring->evt_cons);
	if (bad) {
		vhca_break(dev, bad);
		return IRQ_HANDLED;
	}
	while (ring->evt_cons != prod) {
		ev = *(volatile struct xenvhca_event *)
			&page->event[ring->evt_cons % XENVHCA_EVT_ENTRIES];
		virt_mb();	/* copy before the slot is given back */
		WRITE_ONCE(page->cons, ++ring->evt_cons);
		atomic64_inc(&dev->stats.events);
		work |= ring->ops->event(dev, &ev);
	}
	if (READ_ONCE(page->overflow)) {
		WRITE_ONCE(page->overflow, 0);
		virt_mb();	/* clear before looking at the queues */
		work |= ring->ops->overflow(dev);
	}
	if (!work)
		atomic64_inc(&dev->stats.spurious);
	xen_irq_lateeoi(irq, work ? 0 : XEN_EOI_FLAG_SPURIOUS);
	return IRQ_HANDLED;
}
