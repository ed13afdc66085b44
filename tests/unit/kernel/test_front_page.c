// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * frontend/link_page.c: what it offers and when, and a hostile backend, which writes
 * anything to its half at any time, notifies as it likes, dies, or does not let go.
 */
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
#define smp_load_acquire(p)	(*(p))
#define smp_store_release(p, v)	(*(p) = (v))
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

static struct xenvhca_link_page *page;	/* NULL: none is allocated */
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
		assert_int_equal(page->front_ring_ref[0], 77);
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
	assert_int_equal(page->front_magic, XENVHCA_LINK_MAGIC);
	granted = ref;
	granted_to = domid;
}

static int device_property_read_u32(struct device *dev, const char *name, u32 *v)
{
	bool is_ref = !strcmp(name, XENVHCA_LINK_REF);

	assert_true(is_ref || !strcmp(name, XENVHCA_LINK_DOMID));
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
#include "copy/link.h"

/* ---- the rest of the module ---- */
struct vhca_front { struct vhca_link *link; } front;
static bool front_fails;

struct vhca_front *vhca_front_new(struct vhca_link *link)
{
	if (front_fails)
		return ERR_PTR(-ENOMEM);
	front.link = link;
	link->ops->enter(link, XenbusStateInitialising);
	return &front;
}

void vhca_front_changed(struct vhca_front *f, enum xenbus_state theirs)
{
	assert_ptr_equal(f, &front);
	told = theirs;
	looks++;
}

/* Nothing that the backend says reaches it any more. */
void vhca_front_remove(struct vhca_front *f)
{
	unsigned int before = looks;

	(void)f;
	page->back_state ^= XenbusStateConnected;
	upcall(0, upcall_arg);
	kernel_advance(2 * HZ);
	assert_int_equal(looks, before);
}

#include "copy/link_page.c"

static struct platform_device pdev;

static int setup(void **state)
{
	(void)state;
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
	return 0;
}

static struct vhca_link *probed(void)
{
	assert_int_equal(page_driver.probe(&pdev), 0);
	return front.link;
}

static void backend(u32 s)
{
	held = true;
	page->back_state = s;
	upcall(0, upcall_arg);
	kernel_advance(1);
}

static void gone(void)
{
	page_driver.remove(&pdev);
	assert_int_equal(kernel_irqs, 0);
	kernel_idle();
}

/* ---- tests ---- */
static void a_page_is_offered(void **state)
{
	struct vhca_link *l = probed();

	(void)state;
	assert_int_equal(granted, 2);
	assert_int_equal(granted_to, 3);
	assert_int_equal(l->backend, 3);
	assert_int_equal(page->front_layout, XENVHCA_LINK_LAYOUT);
	assert_int_equal(page->front_port, 9);
	assert_int_equal(page->front_state, XenbusStateInitialising);
	assert_int_equal(l->ops->theirs(l), XenbusStateUnknown);
	gone();
	assert_null(page);
	assert_int_equal(granted, 0);
}

static void a_wrong_description_is_refused(void **state)
{
	static const u32 bad[][2] = {
		{ 3, 0 }, { 3, 1 }, { 3, 8 }, { 3, ~0u }, { 0x7ff0, 2 }, { ~0u, 2 },
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		memcpy(props, bad[i], sizeof(props));
		assert_int_equal(page_driver.probe(&pdev), -EINVAL);
	}
	setup(NULL);
	for (no_props = 1; no_props < 4; no_props++)
		assert_int_equal(page_driver.probe(&pdev), -EINVAL);
	assert_int_equal(granted, 0);
	assert_null(page);
}

static void parameters_make_a_device(void **state)
{
	(void)state;
	grant_ref = 7;
	backend_domid = 0;
	assert_int_equal(vhca_page_init(), 0);
	probed();
	assert_int_equal(granted, 7);
	assert_int_equal(granted_to, 0);
	gone();
}

/* As an earlier module left it whose backend still maps that page. */
static void a_reference_in_use_is_not_taken(void **state)
{
	(void)state;
	ref_in_use = true;
	assert_int_equal(page_driver.probe(&pdev), -EBUSY);
	assert_int_equal(granted, 0);
	assert_null(page);
	assert_int_equal(kernel_irqs, 0);
}

static void what_fails_leaves_nothing(void **state)
{
	(void)state;
	front_fails = true;
	assert_int_equal(page_driver.probe(&pdev), -ENOMEM);
	assert_int_equal(granted, 0);
	assert_null(page);
	assert_int_equal(kernel_irqs, 0);
}

/* It may bind the port by its number before there is a page. */
static void an_early_notice_is_harmless(void **state)
{
	(void)state;
	fires_at_once = true;
	probed();
	kernel_advance(HZ);
	gone();

	setup(NULL);
	fires_at_once = front_fails = true;
	assert_int_equal(page_driver.probe(&pdev), -ENOMEM);
	kernel_idle();
}

static void states_are_heard_of(void **state)
{
	static const u32 s[] = {
		XenbusStateInitialising, XenbusStateInitWait, XenbusStateConnected,
		XenbusStateClosing, XenbusStateClosed,
	};
	struct vhca_link *l = probed();
	size_t i;

	(void)state;
	kernel_advance(1);
	for (i = 0; i < ARRAY_SIZE(s); i++) {
		backend(s[i]);
		assert_int_equal(told, s[i]);
		assert_int_equal(looks, i + 1);
		assert_int_equal(l->ops->theirs(l), s[i]);
	}
	assert_int_equal(eois, ARRAY_SIZE(s));
	assert_int_equal(spurious, 0);
	gone();
}

static void a_wild_state_is_none(void **state)
{
	static const u32 wild[] = { 7, 8, 0x100, 0x80000004, ~0u };
	struct vhca_link *l = probed();
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(wild); i++) {
		backend(XenbusStateConnected);
		backend(wild[i]);
		assert_int_equal(told, XenbusStateUnknown);
		assert_int_equal(l->ops->theirs(l), XenbusStateUnknown);
	}
	gone();
}

static void state_flips(void)
{
	page->back_state = ~0u;
}

static void order_flips(void)
{
	page->back_max_ring_order = 0x1000;
}

static void text_grows(void)
{
	memset(page->back_versions, '1', sizeof(page->back_versions));
}

/* What was checked is what is used, whatever stands there now. */
static void numbers_are_read_once(void **state)
{
	struct vhca_link *l = probed();
	char *text;

	(void)state;
	held = true;
	page->back_state = XenbusStateInitWait;
	peer = state_flips;
	assert_int_equal(l->ops->theirs(l), XenbusStateInitWait);
	page->back_max_ring_order = 4;
	peer = order_flips;
	text = l->ops->read(l, XENVHCA_NODE_MAX_RING_ORDER);
	assert_string_equal(text, "4");
	kfree(text);
	peer = NULL;
	gone();
}

static void texts_end(void **state)
{
	struct vhca_link *l = probed();
	char *text;

	(void)state;
	memset(page->back_versions, '7', sizeof(page->back_versions));
	page->back_pad[0] = '7';
	text = l->ops->read(l, XENVHCA_NODE_VERSIONS);
	assert_int_equal(strlen(text), XENVHCA_LINK_TEXT - 1);
	kfree(text);
	memcpy(page->back_versions, "1,2", 4);
	peer = text_grows;		/* torn: shorter or longer, but ended */
	text = l->ops->read(l, XENVHCA_NODE_VERSIONS);
	assert_in_range(strlen(text), 1, XENVHCA_LINK_TEXT - 1);
	kfree(text);
	peer = NULL;
	assert_true(IS_ERR(l->ops->read(l, XENVHCA_NODE_HCA)));
	assert_true(IS_ERR(l->ops->read(l, XENVHCA_NODE_SETUP)));
	gone();
}

static void notices_without_a_change_are_slowed_down(void **state)
{
	unsigned int i;

	(void)state;
	probed();
	backend(XenbusStateConnected);
	for (i = 0; i < 100; i++)
		backend(XenbusStateConnected);
	assert_int_equal(looks, 1);
	assert_int_equal(spurious, 100);
	gone();
}

/* A worker that was killed says nothing, but its end of the port is closed. */
static void a_backend_that_dies_is_missed(void **state)
{
	struct vhca_link *l = probed();

	(void)state;
	backend(XenbusStateConnected);
	held = false;
	kernel_advance(2 * HZ);
	assert_int_equal(told, XenbusStateUnknown);
	assert_int_equal(l->ops->theirs(l), XenbusStateUnknown);
	/* One that closed before is no dead one. */
	backend(XenbusStateClosed);
	held = false;
	kernel_advance(2 * HZ);
	assert_int_equal(told, XenbusStateClosed);
	gone();
}

static void nodes_have_their_places(void **state)
{
	static const struct vhca_node nodes[] = {
		{ XENVHCA_NODE_VERSION, "1" }, { XENVHCA_NODE_RING_ORDER, "4" },
		{ XENVHCA_NODE_RING_REF "0", "77" }, { XENVHCA_NODE_RING_REF "15", "92" },
		{ XENVHCA_NODE_EVTCHN, "5" }, { XENVHCA_NODE_EVT_RING_REF, "93" },
		{ XENVHCA_NODE_EVT_EVTCHN, "6" }, { XENVHCA_NODE_KICK_RING_REF, "94" },
		{ XENVHCA_NODE_KICK_EVTCHN, "7" },
		{ XENVHCA_NODE_DOORBELL_WINDOW, "0x100 0x400" },
		{ XENVHCA_NODE_RING_REF "16", "1" }, { XENVHCA_NODE_RING_REF "512", "1" },
		{ XENVHCA_NODE_RING_REF "4294967295", "1" },
	};
	struct xenvhca_link_page was;
	struct vhca_link *l = probed();

	(void)state;
	memcpy(&was, page, sizeof(was));
	was.front_version = 1;
	was.front_ring_order = 4;
	was.front_ring_ref[0] = 77;
	was.front_ring_ref[15] = 92;
	was.front_evtchn = 5;
	was.front_evt_ref = 93;
	was.front_evt_evtchn = 6;
	was.front_kick_ref = 94;
	was.front_kick_evtchn = 7;
	assert_int_equal(l->ops->write(l, nodes, ARRAY_SIZE(nodes)), 0);
	assert_memory_equal(&was, page, sizeof(was));
	assert_int_equal(l->ops->enter(l, XenbusStateInitialised), 0);
	assert_int_equal(state_at_notice, XenbusStateInitialised);
	assert_int_equal(l->ops->remove(l, XENVHCA_NODE_EVTCHN), 0);
	assert_int_equal(page->front_evtchn, 0);
	assert_int_equal(l->ops->remove(l, XENVHCA_NODE_DOORBELL_WINDOW), 0);
	gone();
}

/* The page is used again when nobody maps it, and not before. */
static void a_page_that_is_mapped_stays(void **state)
{
	unsigned long begin;

	(void)state;
	probed();
	backend(XenbusStateConnected);
	stubborn = true;
	ended = 0;
	begin = jiffies;
	gone();
	assert_int_equal(page->front_magic, 0);
	assert_int_equal(page->front_state, XenbusStateClosed);
	assert_int_equal(granted, 2);
	assert_int_equal(ended, 0);
	assert_in_range(jiffies - begin, 4 * HZ, 8 * HZ);
}

#define T(f) cmocka_unit_test_setup(f, setup)
int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_page_is_offered),
		T(a_wrong_description_is_refused),
		T(parameters_make_a_device),
		T(a_reference_in_use_is_not_taken),
		T(what_fails_leaves_nothing),
		T(an_early_notice_is_harmless),
		T(states_are_heard_of),
		T(a_wild_state_is_none),
		T(numbers_are_read_once),
		T(texts_end),
		T(notices_without_a_change_are_slowed_down),
		T(a_backend_that_dies_is_missed),
		T(nodes_have_their_places),
		T(a_page_that_is_mapped_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
