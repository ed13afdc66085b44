// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Which devices have a doorbell agent (backend/carrier/ring_xen.c): none without
 * xenstore, and none with a window of doorbell pages.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <cmocka.h>
#include "core/be.h"
#include "uapi/vhca-helper.h"

/* The helper module keeps any memory. */
static int helper_ioctl(int fd, unsigned long cmd, ...)
{
	return fd >= 0 && cmd == VHCA_HELPER_KEEP_MM ? 0 : -1;
}

#define ioctl helper_ioctl
#include "carrier/ring_xen.c"
#undef ioctl

#define FRAME	0x8000140u
#define GFN	0x1000u
#define SLOT	3u

static struct be_dev dev;
static unsigned int opened, asked;
static int agent_err;

/* ---- below the transport ---- */
int be_gntdev_open(struct be_gntdev *g, uint32_t domid)
{
	g->domid = domid;
	return 0;
}

uint64_t be_gntdev_close(struct be_gntdev *g)
{
	(void)g;
	return 0;
}

void *be_gntdev_map(struct be_gntdev *g, const uint32_t *ref, uint32_t n,
		    bool readonly, const struct be_place *place)
{
	(void)g;
	(void)ref;
	(void)n;
	(void)readonly;
	(void)place;
	return NULL;
}

int be_gntdev_copy(const struct be_gntdev *g, const uint32_t *ref, uint32_t n,
		   void *dst)
{
	(void)g;
	(void)ref;
	(void)n;
	(void)dst;
	return -EINVAL;
}

int be_gntdev_unmap(struct be_gntdev *g, void *addr, uint32_t n)
{
	(void)g;
	(void)addr;
	(void)n;
	return 0;
}

uint64_t be_gntdev_pages(struct be_gntdev *g)
{
	(void)g;
	return 0;
}

int be_agent_open(struct be_agent *a, struct be_dev *d)
{
	assert_ptr_equal(d, &dev);
	opened++;
	if (!agent_err)
		a->xs = (struct xs_handle *)a;
	return agent_err;
}

void be_agent_close(struct be_agent *a)
{
	a->xs = NULL;
}

int be_agent_map(struct be_agent *a, uint64_t frame, uint64_t gfn,
		 uint32_t *slot)
{
	assert_non_null(a->xs);
	assert_int_equal(frame, FRAME);
	assert_int_equal(gfn, GFN);
	asked++;
	*slot = SLOT;
	return 0;
}

int be_agent_heard(struct be_agent *a)
{
	(void)a;
	return 0;
}

int be_agent_unmap(struct be_agent *a, uint32_t slot)
{
	(void)a;
	(void)slot;
	return 0;
}

int be_helper_frame(int fd, void *addr, struct be_bell *bell)
{
	(void)fd;
	(void)addr;
	bell->frame = FRAME;
	return 0;
}

int be_helper_cap_dma(int fd, const char *hca, int uverbs_fd)
{
	(void)fd;
	(void)hca;
	(void)uverbs_fd;
	return 0;
}

/* ---- tests ---- */
static struct be_transport *t;

static struct be_transport *open_with(bool agent, uint64_t window)
{
	int err = 0;

	dev.window.nr = window;
	t = be_xen_open(&dev, eventfd(0, EFD_CLOEXEC), agent, &err);
	assert_int_equal(err, agent_err && agent && !window ? agent_err : 0);
	return t;
}

static int setup(void **state)
{
	(void)state;
	opened = asked = 0;
	agent_err = 0;
	t = NULL;
	return be_dev_init(&dev, 5, 0);
}

static int teardown(void **state)
{
	(void)state;
	if (t)
		t->ops->close(t);
	be_dev_fini(&dev);
	return 0;
}

static void the_agent_maps_pages(void **state)
{
	struct be_bell bell = { .slot = BE_NO_SLOT };

	(void)state;
	assert_non_null(open_with(true, 0));
	assert_int_equal(opened, 1);
	assert_int_equal(t->ops->doorbell_map(t, NULL, GFN, &bell), 0);
	assert_int_equal(asked, 1);
	assert_int_equal(bell.slot, SLOT);
}

/* Its failure is no device. */
static void an_agent_that_fails_is_told(void **state)
{
	(void)state;
	agent_err = -EACCES;
	assert_null(open_with(true, 0));
	assert_int_equal(opened, 1);
}

static void without_xenstore_no_page_is_mapped(void **state)
{
	struct be_bell bell = { .slot = BE_NO_SLOT };

	(void)state;
	agent_err = -ENOENT;
	assert_non_null(open_with(false, 0));
	assert_int_equal(opened, 0);
	assert_int_equal(t->ops->doorbell_map(t, NULL, GFN, &bell), -EACCES);
	assert_int_equal(asked, 0);
	assert_int_equal(bell.slot, BE_NO_SLOT);
}

/* Xen mapped them already, with xenstore or without; their frames are found. */
static void a_window_needs_no_agent(void **state)
{
	int agent;

	(void)state;
	agent_err = -ENOENT;
	for (agent = 0; agent < 2; agent++) {
		struct be_bell bell = { .slot = BE_NO_SLOT };

		assert_non_null(open_with(agent, 64));
		assert_int_equal(opened, 0);
		assert_int_equal(t->ops->doorbell_frame(t, NULL, &bell), 0);
		assert_int_equal(bell.frame, FRAME);
		t->ops->close(t);
		t = NULL;
	}
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	static const struct CMUnitTest tests[] = {
		T(the_agent_maps_pages),
		T(an_agent_that_fails_is_told),
		T(without_xenstore_no_page_is_mapped),
		T(a_window_needs_no_agent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
