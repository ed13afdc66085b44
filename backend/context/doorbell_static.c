// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Doorbell pages without an agent. Xen has mapped a range of the HCA's BAR into the
 * guest, for as long as the guest lives, and no two guests have the same pages. So no
 * page outside of the guest's range is ever named to it, and a page inside can be no
 * other guest's, whoever had it before.
 *
 * Only the HCA chooses the pages of a context. Contexts that it places elsewhere are
 * held open, empty, and contexts with many pages besides, so that it goes on to others;
 * all are closed when one is right. The workers of an HCA do this one after the other.
 * The command thread runs this. The guest is hostile: it decides how often.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "host/bar.h"
#include "uverbs/sysfs.h"
#include "context.h"
#include "vhca-keys.h"

#define MAX_ROUNDS	64
#define MAX_HELD	(2 * MAX_ROUNDS)
#define MAX_UARS	256u	/* of one context: as mlx5 allows */
#define LOCK_TRIES	200
#define LOCK_US		10000

/* Contexts that are held during a search. */
struct held {
	int fd[MAX_HELD], async_fd[MAX_HELD];
	unsigned int n;
};

int be_static_check(struct be_dev *dev)
{
	const struct host_window *w = &dev->window;
	struct host_uars u;
	char dir[192];

	if (!dev->prov->mmaps)
		dev->window.nr = 0;
	if (!w->nr)
		return 0;
	snprintf(dir, sizeof(dir), "%s/infiniband/%s/device", be_sysfs, dev->hca);
	if (host_uars(dir, &u)) {
		be_fault(dev, "hca \"%s\": cannot tell where its BAR is, in which the guest has doorbell pages",
			 dev->hca);
		return -ENOENT;
	}
	dev->bar_end = u.frame + u.pages;
	if (w->mfn < u.frame || w->mfn + w->nr > dev->bar_end) {
		be_fault(dev, "%s: frames 0x%" PRIx64 "..0x%" PRIx64 " are not in the BAR of hca \"%s\", 0x%" PRIx64 "..0x%" PRIx64 ": describe its address anew for vhca-devicetree",
			 XENVHCA_NODE_DOORBELL_STATIC, w->mfn, w->mfn + w->nr - 1,
			 dev->hca, u.frame, dev->bar_end - 1);
		return -EINVAL;
	}
	dev->quota.window_uars = (uint32_t)w->nr;
	return 0;
}

static bool inside(const struct host_window *w, uint64_t frame)
{
	return frame >= w->mfn && frame - w->mfn < w->nr;
}

/* ---- one context ---- */

/* The frame of page i of those that a context has from the beginning. */
static int frame_of(const struct be_dev *dev, int fd, uint32_t i,
		    uint64_t *frame)
{
	const struct vhca_mmap *row = dev->prov->mmaps;
	struct be_bell bell = { .slot = BE_NO_SLOT };
	void *addr = NULL;
	int err;

	while (row->kind != VHCA_MMAP_MMIO || row->takes)
		row++;
	err = uv_mmap(fd, (uint64_t)(row->pgoff | i) * XENVHCA_PAGE_SIZE,
		      XENVHCA_PAGE_SIZE, &addr);
	if (err)
		return err;
	err = dev->t->ops->doorbell_frame(dev->t, addr, &bell);
	uv_munmap(addr, XENVHCA_PAGE_SIZE);
	*frame = bell.frame;
	return err;
}

/* 1: all pages of a context lie in the window; 0: *frame does not; or -errno. */
static int is_right(const struct be_dev *dev, int fd, uint32_t uars,
		    uint64_t *frame)
{
	uint32_t i;
	int err;

	for (i = 0; i < uars; i++) {
		err = frame_of(dev, fd, i, frame);
		if (err)
			return err;
		if (!inside(&dev->window, *frame))
			return 0;
	}
	return 1;
}

/* ---- a search ---- */

static void hold(struct held *h, int *fd, int *async_fd)
{
	h->fd[h->n] = *fd;
	h->async_fd[h->n++] = *async_fd;
	*fd = *async_fd = -1;
}

static void let_go(struct held *h)
{
	unsigned int i;

	for (i = 0; i < h->n; i++) {
		uv_close(&h->async_fd[i]);
		uv_close(&h->fd[i]);
	}
}

/* How many pages lie between a context at @frame and where it should begin. */
static uint64_t gap(const struct be_dev *dev, uint64_t frame, uint32_t uars)
{
	uint64_t to = frame < dev->window.mfn ? dev->window.mfn : dev->bar_end;
	uint64_t n = to > frame ? to - frame : 0;

	return n > uars ? n - uars : 0;
}

/*
 * A context as the guest wants one, but with as many pages as bring the HCA nearer: not
 * less than the guest's has, with which the HCA's driver agreed. If there are not as
 * many left, the HCA gets on more slowly.
 */
static void fill(struct be_dev *dev, const struct uv_udata *ud, uint32_t uars,
		uint64_t n, struct held *h)
{
	const struct vhca_field *f = vhca_provider_uars(dev->prov);
	uint8_t in[XENVHCA_UDATA_SIZE], out[XENVHCA_UDATA_SIZE];
	struct uv_udata many = *ud;
	int fd = -1, async_fd = -1;
	uint32_t regs;

	if (!f || !n)
		return;
	if (n > MAX_UARS)
		n = MAX_UARS;
	if (n < uars)
		n = uars;
	regs = (uint32_t)(n * f->arg);
	memcpy(in, ud->in, ud->in_len);
	memcpy(in + f->off, &regs, sizeof(regs));	/* little-endian */
	many.in = in;
	many.out = out;
	uv_open_ucontext(dev->uverbs_path, &many, &fd, &async_fd);
	hold(h, &fd, &async_fd);
}

/* Another worker that does not end its search must not stop this one for ever. */
static bool search_begin(const struct be_dev *dev)
{
	unsigned int i;

	for (i = 0; i < LOCK_TRIES; i++) {
		if (!flock(dev->ctl_fd, LOCK_EX | LOCK_NB))
			return true;
		if (errno != EWOULDBLOCK)
			break;
		usleep(LOCK_US);
	}
	return false;
}

static int search(struct be_dev *dev, const struct uv_udata *ud, uint32_t uars,
		  int *fd, int *async_fd, struct held *h)
{
	unsigned int round;
	uint64_t frame = 0;
	int r = 0;

	for (round = 0; round < MAX_ROUNDS; round++) {
		r = uv_open_ucontext(dev->uverbs_path, ud, fd, async_fd);
		if (!r)
			r = is_right(dev, *fd, uars, &frame);
		if (r)
			return r < 0 ? r : 0;
		be_log(dev, BE_DEBUG, "doorbell page 0x%" PRIx64 " of a new context is not the guest's",
		       frame);
		hold(h, fd, async_fd);
		fill(dev, ud, uars, gap(dev, frame, uars), h);
	}
	return -ENOSPC;
}

/* Contexts that were held for the guest cost commands of the HCA: as those that fail. */
int be_static_open(struct be_dev *dev, const struct uv_udata *ud, uint32_t uars,
		   int *fd, int *async_fd)
{
	const struct host_window *w = &dev->window;
	struct held h = { .n = 0 };
	bool alone;
	int err;

	alone = search_begin(dev);
	err = search(dev, ud, uars, fd, async_fd, &h);
	let_go(&h);
	if (alone)
		flock(dev->ctl_fd, LOCK_UN);
	if (h.n) {
		be_log(dev, BE_DEBUG, "%u contexts were opened besides to find one with doorbell pages of the guest",
		       h.n);
		be_quota_failed(&dev->quota, h.n);
	}
	if (!err || !h.n)
		return err;
	be_log_peer(dev, "no context with %u doorbell pages among the guest's, 0x%" PRIx64 "..0x%" PRIx64 ", after %u others (%s): all are in use, also by contexts that are parked or by earlier connections",
		    uars, w->mfn, w->mfn + w->nr - 1, h.n, strerror(-err));
	return -ENOMEM;
}

/* ---- one page ---- */

int be_static_map(struct be_dev *dev, void *addr, uint64_t gfn,
		  struct be_bell *bell)
{
	const struct host_window *w = &dev->window;
	int err = dev->t->ops->doorbell_frame(dev->t, addr, bell);

	if (err)
		return err;
	if (gfn) {
		be_log_peer(dev, "a doorbell page cannot be mapped at a place of the guest's choice without the agent: its xen-vhcafront is too old, or its device tree has no node " XENVHCA_TREE_DOORBELLS);
		return -EACCES;
	}
	if (!inside(w, bell->frame)) {
		be_log_peer(dev, "doorbell page 0x%" PRIx64 " is not the guest's, which has 0x%" PRIx64 "..0x%" PRIx64,
			    bell->frame, w->mfn, w->mfn + w->nr - 1);
		return -EACCES;
	}
	bell->slot = (uint32_t)(bell->frame - w->mfn);
	bell->frame = w->gfn + bell->slot;
	return 0;
}
