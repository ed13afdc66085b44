/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * frontend/store_page.c with as much of Linux, Xen and the module as it uses, and a
 * backend that whoever includes this plays, for test_front_page.c and a fuzz target.
 */
#ifndef FRONT_PAGE_H
#define FRONT_PAGE_H

#include "kernel.h"

/* ---- more of the kernel ---- */
#undef READ_ONCE
#define READ_ONCE(x)		({ typeof(x) __v = (x); peer_writes(); __v; })
#undef HYPERVISOR_event_channel_op
#define HYPERVISOR_event_channel_op(cmd, op) port_op(cmd, op)
#undef bind_evtchn_to_irqhandler_lateeoi
#define bind_evtchn_to_irqhandler_lateeoi(port, fn, flags, name, arg) \
	(upcall = (fn), upcall_arg = (arg), bound(), kernel_bind())
#undef notify_remote_via_irq
#define notify_remote_via_irq(irq) notified()
#undef xen_irq_lateeoi
#define xen_irq_lateeoi(irq, flags) ((flags) ? spurious++ : eois++)
#define EVTCHNOP_status		5
#define EVTCHNSTAT_interdomain	2
struct evtchn_status { domid_t dom; evtchn_port_t port; u32 status; };
#define atomic_xchg(a, n)	__sync_lock_test_and_set(&(a)->v, n)
#define get_zeroed_page(gfp)	((unsigned long)page_new())
#undef free_page
#define free_page(addr)		page_free((void *)(addr))
#define xen_page_to_gfn(page)	((unsigned long)(page))
#define system_percpu_wq	NULL
#define MODULE_DEVICE_TABLE(bus, ids)
#define PLATFORM_DEVID_NONE	(-1)
#define PTR_ERR_OR_ZERO(p)	(IS_ERR(p) ? PTR_ERR(p) : 0)
#define vhca_removed_t		int
#define VHCA_REMOVED		0
struct of_device_id { const char *compatible; };
struct property_entry { const char *name; u32 value; };
#define PROPERTY_ENTRY_U32(n, v) { .name = (n), .value = (v) }
struct platform_device { struct device dev; void *data; };
struct platform_device_info {
	const char *name;
	int id;
	const struct property_entry *properties;
};
struct platform_driver {
	int (*probe)(struct platform_device *pdev);
	int (*remove)(struct platform_device *pdev);
	struct { const char *name; const struct of_device_id *of_match_table; } driver;
};
#define platform_set_drvdata(p, d) ((p)->data = (d))
#define platform_get_drvdata(p)	((p)->data)
#define platform_driver_register(d) ((void)(d), 0)
#define platform_driver_unregister(d)
#define platform_device_register_full(info) params_new(info)
#define platform_device_unregister(p)

static struct xenvhca_store_page *page;	/* NULL: none is allocated */
static irq_handler_t *upcall;
static void *upcall_arg;
static unsigned int spurious, eois, notices, looks;
static void (*peer)(void);		/* after each octet or number that is read */
static bool held;			/* the backend has the port, and the page */
static bool stubborn;			/* and does not let go */
static bool fires_at_once;		/* it guesses the port */
static bool ref_in_use;
static u32 granted, granted_to;		/* the reference, 0: none */
static u32 ended;			/* it was tried to end that one */
static u32 props[2];			/* domid, reference */
static int no_props;
static enum xenbus_state told;
static u32 state_at_notice;

static void peer_writes(void)
{
	if (peer)
		peer();
}

static void *page_new(void)
{
	assert_null(page);
	page = calloc(1, XENVHCA_PAGE_SIZE);
	return page;
}

static void page_free(void *p)
{
	assert_ptr_equal(p, page);
	assert_int_equal(granted, 0);	/* nobody else can reach it */
	free(page);
	page = NULL;
}

static void bound(void)
{
	if (fires_at_once) {
		upcall(0, upcall_arg);
		kernel_advance(1);
	}
}

/* What a state stands for is in the page when the backend hears of it. */
static void notified(void)
{
	notices++;
	state_at_notice = page->front_state;
	if (page->front_state == XenbusStateInitialised)
		assert_int_equal(page->front_setup[0], '1');
	if (!page->front_magic && !stubborn)
		held = false;
}

static int port_op(int cmd, void *op)
{
	if (cmd == EVTCHNOP_alloc_unbound) {
		((struct evtchn_alloc_unbound *)op)->port = 9;
	} else if (cmd == EVTCHNOP_status) {
		assert_int_equal(((struct evtchn_status *)op)->port, 9);
		((struct evtchn_status *)op)->status = held ? 2 : 1;
	}
	return 0;
}

static int gnttab_end_foreign_access_ref(grant_ref_t ref)
{
	ended = ref;
	if (ref_in_use || (granted == ref && held))
		return 0;
	granted = 0;
	return 1;
}

static void gnttab_grant_foreign_access_ref(grant_ref_t ref, domid_t domid,
					    unsigned long gfn, int readonly)
{
	assert_ptr_equal((void *)gfn, page);
	assert_int_equal(readonly, 0);
	assert_int_equal(page->front_magic, XENVHCA_STORE_MAGIC);
	granted = ref;
	granted_to = domid;
}

static int device_property_read_u32(struct device *dev, const char *name, u32 *v)
{
	bool is_ref = !strcmp(name, XENVHCA_STORE_REF);

	assert_true(is_ref || !strcmp(name, XENVHCA_STORE_DOMID));
	*v = props[is_ref];
	return no_props & (1 << is_ref) ? -EINVAL : 0;
}

static struct platform_device *params_new(const struct platform_device_info *info)
{
	props[0] = info->properties[0].value;
	props[1] = info->properties[1].value;
	return NULL;
}

#include "copy/front.h"
#include "copy/store.h"

/* ---- the rest of the module ---- */
struct vhca_front { struct vhca_store *store; } front;
static bool front_fails;

struct vhca_front *vhca_front_new(struct vhca_store *store)
{
	if (front_fails)
		return ERR_PTR(-ENOMEM);
	front.store = store;
	store->ops->enter(store, XenbusStateInitialising);
	return &front;
}

void vhca_front_changed(struct vhca_front *f, enum xenbus_state theirs)
{
	assert_ptr_equal(f, &front);
	told = theirs;
	looks++;
}

/* Nothing that the backend says reaches it any more. */
void vhca_front_end(struct vhca_front *f)
{
	unsigned int before = looks;

	(void)f;
	page->back_state ^= XenbusStateConnected;
	upcall(0, upcall_arg);
	kernel_advance(2 * HZ);
	assert_int_equal(looks, before);
}

bool vhca_front_ended(struct vhca_front *f)
{
	return true;
}

void vhca_front_put(struct vhca_front *f)
{
}

#include "copy/store_page.c"

static struct platform_device pdev;

/* Nothing of an earlier device is left. */
static void page_reset(void)
{
	free(page);
	page = NULL;
	memset(kernel_works, 0, sizeof(kernel_works));
	kernel_irqs = 0;
	props[0] = 3;
	props[1] = 2;
	no_props = 0;
	spurious = eois = notices = looks = 0;
	granted = ended = 0;
	peer = NULL;
	held = stubborn = fires_at_once = ref_in_use = front_fails = false;
	told = XenbusStateUnknown;
	grant_ref = 0;
	pdev = (struct platform_device){ 0 };
}

#endif
