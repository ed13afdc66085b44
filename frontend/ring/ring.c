// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The three rings of a connection, from their pages and event channels to their end.
 * ring_cmd.c, ring_event.c and ring_kick.c use one each. Only these four files touch
 * memory that is shared with the backend.
 *
 * The backend is not trusted: each entry is copied once into private memory, checked
 * there and used from there. An impossible index ends the connection (vhca_break()),
 * never the guest. The rings' pages are whole pages and zeroed: they contain nothing
 * else.
 */
#include <linux/interrupt.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <xen/events.h>
#include <xen/page.h>
#include <asm/xen/hypercall.h>

#include "check.h"
#include "grant.h"
#include "vhca.h"

/* End the grants of a ring; pages that are still mapped become zombies. */
static void ring_unshare(struct vhca_dev *dev, void *mem, unsigned int nr,
			 grant_ref_t *ref)
{
	unsigned int i;

	for (i = 0; mem && i < nr; i++) {
		void *page = mem + i * XEN_PAGE_SIZE;

		if (ref[i] == INVALID_GRANT_REF) {
			free_page((unsigned long)page);
			continue;
		}
		vhca_grant_end_page(dev, ref[i], virt_to_page(page));
		vhca_grant_count(-1);
		ref[i] = INVALID_GRANT_REF;
	}
}

/*
 * Whole zeroed pages, contiguous in our address space. NULL: out of memory. Several pages
 * may fail: without I/O, as for a device that a disk waits for, the kernel would look for
 * them for ever.
 */
static void *ring_share(struct vhca_dev *dev, unsigned int nr,
			grant_ref_t *ref)
{
	unsigned int i;
	void *mem;
	int gref;

	mem = alloc_pages_exact(nr * XEN_PAGE_SIZE, GFP_KERNEL | __GFP_ZERO |
				(nr > 1 ? __GFP_RETRY_MAYFAIL | __GFP_NOWARN : 0));
	for (i = 0; i < nr; i++)
		ref[i] = INVALID_GRANT_REF;
	for (i = 0; mem && i < nr; i++) {
		struct page *page = virt_to_page(mem + i * XEN_PAGE_SIZE);

		gref = gnttab_grant_foreign_access(dev->backend,
						   xen_page_to_gfn(page), 0);
		if (gref < 0) {
			ring_unshare(dev, mem, nr, ref);
			return NULL;
		}
		ref[i] = gref;
		vhca_grant_count(1);
	}
	return mem;
}

static void ring_close_port(evtchn_port_t port)
{
	struct evtchn_close op = { .port = port };

	HYPERVISOR_event_channel_op(EVTCHNOP_close, &op);
}

/* An event channel for the backend to bind, and its upcall. */
static int ring_bind(struct vhca_dev *dev, evtchn_port_t *port, int *irq,
		     irq_handler_t fn, const char *name)
{
	struct evtchn_alloc_unbound op = {
		.dom = DOMID_SELF,
		.remote_dom = dev->backend,
	};
	int err = HYPERVISOR_event_channel_op(EVTCHNOP_alloc_unbound, &op);

	if (err)
		return err;
	*port = op.port;
	err = bind_evtchn_to_irqhandler_lateeoi(*port, fn, 0, name, dev);
	if (err < 0) {
		ring_close_port(*port);
		return err;
	}
	*irq = err;
	return 0;
}

static int ring_alloc(struct vhca_dev *dev)
{
	struct vhca_ring *ring = &dev->ring;
	unsigned int nr = 1u << ring->order;
	void *sring;

	sring = ring_share(dev, nr, ring->cmd_ref);
	if (!sring)
		return -ENOMEM;
	XEN_FRONT_RING_INIT(&ring->cmd, (struct xenvhca_sring *)sring,
			    nr * XEN_PAGE_SIZE);
	ring->evt = ring_share(dev, 1, &ring->evt_ref);
	ring->kick = ring_share(dev, 1, &ring->kick_ref);
	return ring->evt && ring->kick ? 0 : -ENOMEM;
}

/* The locks of a device that had a connection before may be in use. */
static void ring_begin(struct vhca_ring *ring, const struct vhca_ring_ops *ops)
{
	if (!ring->ops) {
		spin_lock_init(&ring->lock);
		spin_lock_init(&ring->kick_lock);
		INIT_LIST_HEAD(&ring->waiters);
		init_waitqueue_head(&ring->kick_wait);
	}
	ring->ops = ops;
	ring->heard = jiffies;
	ring->reason = NULL;
	ring->closed = false;
	ring->evt_cons = 0;
	ring->kick_prod = 0;
	ring->kick_done = 0;
	ring->kick_seen = 0;
}

int vhca_ring_init(struct vhca_dev *dev, unsigned int order,
		   const struct vhca_ring_ops *ops)
{
	struct vhca_ring *ring = &dev->ring;
	int err;

	BUILD_BUG_ON(sizeof(struct xenvhca_evt_page) != XENVHCA_PAGE_SIZE);
	BUILD_BUG_ON(sizeof(struct xenvhca_kick_page) != XENVHCA_PAGE_SIZE);
	BUILD_BUG_ON(sizeof(struct xenvhca_request) != XENVHCA_SLOT_SIZE);
	BUILD_BUG_ON(sizeof(struct xenvhca_response) != XENVHCA_SLOT_SIZE);

	ring_begin(ring, ops);
	ring->order = order;
	ring->cmd_irq = -1;
	ring->evt_irq = -1;
	ring->kick_irq = -1;

	err = ring_alloc(dev);
	if (!err)
		err = ring_bind(dev, &ring->cmd_port, &ring->cmd_irq,
				vhca_ring_cmd_irq, "vhca-cmd");
	if (!err)
		err = ring_bind(dev, &ring->evt_port, &ring->evt_irq,
				vhca_ring_evt_irq, "vhca-evt");
	if (!err)
		err = ring_bind(dev, &ring->kick_port, &ring->kick_irq,
				vhca_ring_kick_irq, "vhca-kick");
	if (err) {
		vhca_ring_free(dev);
		return err;
	}
	/* Commands may come from now on, if the device was there before. */
	smp_store_release(&ring->state, VHCA_RING_UP);
	return 0;
}

static void ring_unbind(struct vhca_dev *dev, int *irq)
{
	if (*irq >= 0)		/* the first irq of an Arm guest is 0 */
		unbind_from_irqhandler(*irq, dev);	/* closes the port */
	*irq = -1;
}

void vhca_ring_free(struct vhca_dev *dev)
{
	struct vhca_ring *ring = &dev->ring;

	/* Order: no command, no upcall, no polling process, no grant, no page. */
	if (ring->cmd.sring)
		vhca_ring_fail(dev);
	ring_unbind(dev, &ring->cmd_irq);
	ring_unbind(dev, &ring->evt_irq);
	ring_unbind(dev, &ring->kick_irq);
	if (ring->cmd.sring)
		synchronize_rcu();	/* each polling process has seen the state */
	ring_unshare(dev, ring->cmd.sring, 1u << ring->order, ring->cmd_ref);
	ring_unshare(dev, ring->evt, 1, &ring->evt_ref);
	ring_unshare(dev, ring->kick, 1, &ring->kick_ref);
	ring->cmd.sring = NULL;
	ring->evt = NULL;
	ring->kick = NULL;
}
