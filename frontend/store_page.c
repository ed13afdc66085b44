// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The store of a device where there is no xenstore: a page that the backend maps
 * (vhcaif.h, "A page in the place of xenstore"). A node of the device tree says which,
 * or for a try the module's parameters. front.c knows what states and nodes mean.
 *
 * The back half is the backend's and hostile: each number is read once. When a backend
 * dies its end of the event channel is closed, which a work finds once a second. That
 * work, and front.c's worker, call the ops.
 */
#include <linux/delay.h>
#include <linux/mod_devicetable.h>
#include <linux/module.h>
#include <linux/platform_device.h>
#include <linux/property.h>
#include <linux/slab.h>
#include <xen/events.h>
#include <xen/grant_table.h>
#include <xen/interface/event_channel.h>
#include <xen/io/vhcaif.h>
#include <xen/page.h>
#include <asm/xen/hypercall.h>

#include "compat.h"
#include "front.h"
#include "store.h"

#define VHCA_LOOK		HZ
#define VHCA_LET_GO_MS		5000	/* until the backend unmaps the page */
#define VHCA_LET_GO_POLL_MS	20
#define VHCA_PAGE_DRIVER	"xen-vhca-page"
#define VHCA_FIRST_RESERVED	0x7ff0u	/* DOMID_FIRST_RESERVED */

static unsigned int backend_domid;
module_param(backend_domid, uint, 0444);
MODULE_PARM_DESC(backend_domid,
		 "domain that serves the device of grant_ref (default 0)");

static unsigned int grant_ref;
module_param(grant_ref, uint, 0444);
MODULE_PARM_DESC(grant_ref,
		 "make a device without xenstore and device tree, whose page has this reference (2..7; default 0: none)");

struct vhca_page {
	struct vhca_store store;
	struct vhca_front *front;
	struct xenvhca_store_page *page;
	grant_ref_t ref;
	evtchn_port_t port;
	int irq;
	atomic_t fired;			/* upcalls whose end look_work() owes */
	enum xenbus_state mine, seen;
	bool live;			/* changes go to front */
	struct delayed_work look;
};

static struct vhca_page *to_page(struct vhca_store *l)
{
	return container_of(l, struct vhca_page, store);
}

/* ---- nodes ---- */

/* Text of the backend, copied once. */
static char *text_of(const u8 *from)
{
	char *text = kzalloc(XENVHCA_STORE_TEXT, GFP_KERNEL);
	unsigned int i;

	for (i = 0; text && i < XENVHCA_STORE_TEXT - 1; i++)
		text[i] = READ_ONCE(from[i]);
	return text ? text : ERR_PTR(-ENOMEM);
}

static char *page_read(struct vhca_store *l, const char *node)
{
	const struct xenvhca_store_page *page = to_page(l)->page;

	if (!strcmp(node, XENVHCA_NODE_VERSIONS))
		return text_of(page->back_versions);
	if (!strcmp(node, XENVHCA_NODE_SETUP))
		return text_of(page->back_setup);
	return ERR_PTR(-ENOENT);
}

/* The page has no node for the window of doorbells: without an agent there is none. */
static int page_write(struct vhca_store *l, const struct vhca_node *node,
		      unsigned int nr)
{
	u8 *to = to_page(l)->page->front_setup;
	unsigned int i;

	BUILD_BUG_ON(sizeof(node->value) != XENVHCA_STORE_SETUP);
	for (; nr; nr--, node++) {
		if (strcmp(node->name, XENVHCA_NODE_SETUP))
			continue;
		for (i = 0; i < XENVHCA_STORE_SETUP; i++)
			WRITE_ONCE(to[i], node->value[i]);
	}
	return 0;
}

static int page_remove(struct vhca_store *l, const char *node)
{
	return 0;
}

static void page_broken(struct vhca_store *l, const char *reason)
{
	dev_warn(l->dev, "broken: %s\n", reason);
}

/* ---- states ---- */

/* Does the backend have the other end of the event channel, and so the page? */
static bool page_held(const struct vhca_page *p)
{
	struct evtchn_status status = {
		.dom = DOMID_SELF, .port = p->port,
	};

	if (HYPERVISOR_event_channel_op(EVTCHNOP_status, &status))
		return false;
	return status.status == EVTCHNSTAT_interdomain;
}

static enum xenbus_state page_theirs(struct vhca_store *l)
{
	const struct vhca_page *p = to_page(l);
	u32 state = READ_ONCE(p->page->back_state);

	virt_rmb();		/* before anything else of the back half */
	if (state > XenbusStateClosed)
		return XenbusStateUnknown;
	/* The last state stays in the page when the backend dies. */
	if (state != XenbusStateClosed && !page_held(p))
		return XenbusStateUnknown;
	return state;
}

static enum xenbus_state page_mine(struct vhca_store *l)
{
	return to_page(l)->mine;
}

static int page_enter(struct vhca_store *l, enum xenbus_state state)
{
	struct vhca_page *p = to_page(l);

	p->mine = state;
	virt_wmb();		/* the nodes are written before the state */
	WRITE_ONCE(p->page->front_state, state);
	notify_remote_via_irq(p->irq);
	return 0;
}

static bool page_found(struct vhca_store *l)
{
	return true;
}

static const struct vhca_store_ops page_ops = {
	.read = page_read,
	.write = page_write,
	.remove = page_remove,
	.broken = page_broken,
	.theirs = page_theirs,
	.mine = page_mine,
	.enter = page_enter,
	.found = page_found,
};

/* ---- changes ---- */

/* A backend that notifies without a change is slowed down by Linux. */
static void look_work(struct work_struct *work)
{
	struct vhca_page *p = container_of(to_delayed_work(work),
					   struct vhca_page, look);
	enum xenbus_state theirs;
	bool changed;

	/* Pairs with the store when all of it was there. */
	if (!smp_load_acquire(&p->live))
		return;
	theirs = page_theirs(&p->store);
	changed = theirs != p->seen;
	p->seen = theirs;
	if (changed)
		vhca_front_changed(p->front, theirs);
	if (atomic_xchg(&p->fired, 0))
		xen_irq_lateeoi(p->irq, changed ? 0 : XEN_EOI_FLAG_SPURIOUS);
	schedule_delayed_work(&p->look, VHCA_LOOK);
}

static irqreturn_t page_upcall(int irq, void *arg)
{
	struct vhca_page *p = arg;

	atomic_set(&p->fired, 1);
	mod_delayed_work(system_percpu_wq, &p->look, 0);
	return IRQ_HANDLED;
}

static void look_end(struct vhca_page *p)
{
	WRITE_ONCE(p->live, false);
	cancel_delayed_work_sync(&p->look);
}

/* ---- begin and end ---- */

/* After that nothing refers to @p. */
static void port_close(struct vhca_page *p)
{
	unbind_from_irqhandler(p->irq, p);	/* closes the port */
	look_end(p);
}

static int port_open(struct vhca_page *p)
{
	struct evtchn_alloc_unbound op = {
		.dom = DOMID_SELF,
		.remote_dom = p->store.backend,
	};
	struct evtchn_close end;
	int err = HYPERVISOR_event_channel_op(EVTCHNOP_alloc_unbound, &op);

	if (err) {
		dev_err(p->store.dev,
			"no event channel for domain %u (%d); does Xen's policy let this domain talk to it (xsm=dummy)?\n",
			p->store.backend, err);
		return err;
	}
	p->port = op.port;
	err = bind_evtchn_to_irqhandler_lateeoi(p->port, page_upcall, 0,
						"vhca-store", p);
	if (err < 0) {
		end.port = op.port;
		HYPERVISOR_event_channel_op(EVTCHNOP_close, &end);
		return err;
	}
	p->irq = err;
	return 0;
}

/* From the magic number on the backend may use the page. */
static void page_offer(struct vhca_page *p)
{
	struct xenvhca_store_page *page = p->page;

	WRITE_ONCE(page->front_layout, XENVHCA_STORE_LAYOUT);
	WRITE_ONCE(page->front_port, p->port);
	virt_wmb();	/* the magic number comes last */
	WRITE_ONCE(page->front_magic, XENVHCA_STORE_MAGIC);
	gnttab_grant_foreign_access_ref(p->ref, p->store.backend,
					xen_page_to_gfn(virt_to_page(page)), 0);
	smp_store_release(&p->live, true);	/* p->front is there */
	schedule_delayed_work(&p->look, 0);
}

/*
 * The backend unmaps the page when it sees that it was withdrawn, and then closes the
 * port. A page that it maps longer stays allocated, and its reference in use.
 */
static void page_withdraw(struct vhca_page *p)
{
	unsigned int waited;

	WRITE_ONCE(p->page->front_magic, 0);
	notify_remote_via_irq(p->irq);
	for (waited = 0; page_held(p) && waited < VHCA_LET_GO_MS;
	     waited += VHCA_LET_GO_POLL_MS)
		msleep(VHCA_LET_GO_POLL_MS);
	if (!page_held(p) && gnttab_end_foreign_access_ref(p->ref))
		free_page((unsigned long)p->page);
	else
		dev_warn(p->store.dev,
			 "backend still maps the page of grant reference %u, it stays allocated\n",
			 p->ref);
}

static int page_make(struct vhca_page *p)
{
	int err = port_open(p);

	if (err)
		return err;
	p->front = vhca_front_new(&p->store);
	if (!IS_ERR(p->front)) {
		page_offer(p);
		return 0;
	}
	port_close(p);
	return PTR_ERR(p->front);
}

/*
 * An earlier module may have left the reference to a backend that still maps its
 * page; using it again would confuse Xen's books.
 */
static int page_alloc(struct vhca_page *p)
{
	BUILD_BUG_ON(sizeof(*p->page) != XENVHCA_PAGE_SIZE);
	if (!gnttab_end_foreign_access_ref(p->ref)) {
		dev_err(p->store.dev,
			"grant reference %u is in use by domain %u; restart xen-vhcad there, then load this module again\n",
			p->ref, p->store.backend);
		return -EBUSY;
	}
	p->page = (void *)get_zeroed_page(GFP_KERNEL);
	return p->page ? 0 : -ENOMEM;
}

static int page_configured(struct vhca_page *p)
{
	u32 domid, ref;

	if (device_property_read_u32(p->store.dev, XENVHCA_STORE_DOMID, &domid) ||
	    device_property_read_u32(p->store.dev, XENVHCA_STORE_REF, &ref) ||
	    domid >= VHCA_FIRST_RESERVED || ref < XENVHCA_STORE_FIRST_REF ||
	    ref > XENVHCA_STORE_LAST_REF) {
		dev_err(p->store.dev,
			XENVHCA_STORE_DOMID " (a domain) and " XENVHCA_STORE_REF
			" (%u..%u) are needed\n", XENVHCA_STORE_FIRST_REF,
			XENVHCA_STORE_LAST_REF);
		return -EINVAL;
	}
	p->store.backend = domid;
	p->ref = ref;
	p->store.number = ref - XENVHCA_STORE_FIRST_REF;
	return 0;
}

static int page_probe(struct platform_device *pdev)
{
	struct vhca_page *p = kzalloc(sizeof(*p), GFP_KERNEL);
	int err;

	if (!p)
		return -ENOMEM;
	p->store.ops = &page_ops;
	p->store.dev = &pdev->dev;
	INIT_DELAYED_WORK(&p->look, look_work);
	err = page_configured(p);
	if (!err)
		err = page_alloc(p);
	if (err) {
		kfree(p);
		return err;
	}
	err = page_make(p);
	if (err) {
		free_page((unsigned long)p->page);
		kfree(p);
		return err;
	}
	platform_set_drvdata(pdev, p);
	return 0;
}

static vhca_removed_t page_removed(struct platform_device *pdev)
{
	struct vhca_page *p = platform_get_drvdata(pdev);

	look_end(p);
	/* Unbind or unload: the caller may wait. */
	vhca_front_end(p->front);
	while (!vhca_front_ended(p->front))
		;
	vhca_front_put(p->front);
	page_enter(&p->store, XenbusStateClosed);
	page_withdraw(p);
	port_close(p);
	kfree(p);
	return VHCA_REMOVED;
}

static const struct of_device_id page_ids[] = {
	{ .compatible = XENVHCA_STORE_COMPATIBLE },
	{ }
};
MODULE_DEVICE_TABLE(of, page_ids);

static struct platform_driver page_driver = {
	.probe = page_probe,
	.remove = page_removed,
	.driver = {
		.name = VHCA_PAGE_DRIVER,
		.of_match_table = page_ids,
	},
};

static struct platform_device *of_parameters;

static int parameters_device(void)
{
	const struct property_entry props[] = {
		PROPERTY_ENTRY_U32(XENVHCA_STORE_DOMID, backend_domid),
		PROPERTY_ENTRY_U32(XENVHCA_STORE_REF, grant_ref),
		{ }
	};
	const struct platform_device_info info = {
		.name = VHCA_PAGE_DRIVER,
		.id = PLATFORM_DEVID_NONE,
		.properties = props,
	};

	of_parameters = platform_device_register_full(&info);
	return PTR_ERR_OR_ZERO(of_parameters);
}

/* As on xenbus, no device holds a reference of the module. */
int vhca_page_init(void)
{
	int err = platform_driver_register(&page_driver);

	if (err || !grant_ref)
		return err;
	err = parameters_device();
	if (err) {
		platform_driver_unregister(&page_driver);
		of_parameters = NULL;
	}
	return err;
}

void vhca_page_exit(void)
{
	platform_device_unregister(of_parameters);
	platform_driver_unregister(&page_driver);
}
