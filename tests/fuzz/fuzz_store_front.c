// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The frontend's page in the place of xenstore, and what it makes of the backend's nodes:
 * the input is what a backend does, which writes anywhere in the page at any time,
 * notifies as it likes, dies, or does not let go, and when the frontend looks. The page is
 * freed only when nobody can map it.
 */
#pragma clang diagnostic ignored "-Weverything"
#include "promise.h"
#include "tests/unit/kernel/front_page.h"
#include "copy/nodes.c"

#define FLIPS		4	/* one read in so many, at most */

static struct input in;

/* Not of doorbells: without an agent there are none. */
u64 vhca_window_gfn(const struct vhca_window *w)
{
	(void)w;
	return 0;
}

static void backend_writes(void)
{
	static const u32 back = offsetof(struct xenvhca_store_page, back_state);
	u32 at = in_u8(&in) % 2 ? back + in_u8(&in) % 70 : in_u16(&in);

	if (page)
		((u8 *)page)[at % XENVHCA_PAGE_SIZE] = in_u8(&in);
}

static void flips(void)
{
	if (in.left && !(in_u8(&in) % FLIPS))
		backend_writes();
}

static void backend_state_is(struct vhca_store *l)
{
	u32 state = in_u8(&in) % 16;

	page->back_state = state;
	PROMISE(l->ops->theirs(l) <= XenbusStateClosed);
}

/* What the worker of front.c does before it has rings. */
static void meets(struct vhca_store *l)
{
	struct vhca_terms t;

	vhca_check_version(l);
	if (!vhca_read_terms(l, &t))
		PROMISE(t.order <= XENVHCA_MAX_RING_ORDER);
}

static void offers(struct vhca_store *l)
{
	struct vhca_dev *dev = calloc(1, sizeof(*dev));

	PROMISE(dev);
	dev->store = l;
	dev->ring.order = in_u8(&in) % (XENVHCA_MAX_RING_ORDER + 1);
	dev->ring.cmd_ref[0] = 77;
	PROMISE(!vhca_offer(dev, &(struct vhca_terms){ 0 }));
	free(dev);
	PROMISE(!l->ops->enter(l, XenbusStateInitialised));
	PROMISE(l->ops->mine(l) == XenbusStateInitialised);
}

static void reads(struct vhca_store *l)
{
	char node[24] = "", *text;

	in_bytes(&in, node, sizeof(node) - 1);
	text = l->ops->read(l, in_u8(&in) % 2 ? XENVHCA_NODE_VERSIONS : node);
	if (IS_ERR(text))
		return;
	PROMISE(strlen(text) < XENVHCA_STORE_TEXT);
	free(text);
}

static void one(struct vhca_store *l)
{
	switch (in_u8(&in) % 10) {
	case 0: case 1: backend_writes(); break;
	case 2: backend_state_is(l); break;
	case 3: held = !held; break;
	case 4: upcall(0, upcall_arg); break;
	case 5: kernel_advance(in_u8(&in)); break;
	case 6: meets(l); break;
	case 7: reads(l); break;
	case 8: offers(l); break;
	default: l->ops->remove(l, XENVHCA_NODE_DOORBELL_WINDOW); break;
	}
	PROMISE(told <= XenbusStateClosed && granted == 2);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned int steps;

	in = (struct input){ data, size };
	page_reset();
	fires_at_once = in_u8(&in) % 2;
	PROMISE(!page_driver.probe(&pdev));
	peer = in_u8(&in) % 2 ? flips : NULL;
	for (steps = 0; in.left && steps < 256; steps++)
		one(front.store);
	stubborn = in_u8(&in) % 2;
	page_driver.remove(&pdev);
	PROMISE(!kernel_irqs);
	kernel_idle();
	PROMISE(page ? granted && held : !granted);
	return 0;
}
