// SPDX-License-Identifier: GPL-2.0
/* Copyright (C) 2026 The vhca authors */
/*
 * Opens the device, names errors, tells the time and makes the data pattern.
 * Any thread may call these functions; each works on its caller's objects only.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "vt.h"

/**
 * vt_errno() - symbolic name of an error number
 * @err: errno value, either sign; 0 gives "ok"
 */
const char *vt_errno(int err)
{
	const char *name;

	if (err < 0)
		err = -err;
	if (!err)
		return "ok";
	name = strerrorname_np(err);
	return name ? name : "unknown-error";
}

uint64_t vt_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

/**
 * vt_fail() - record why this side failed
 * @s: side; only its first failure is kept, the later ones follow from it
 *
 * Return: always -1, to be returned at once.
 */
int vt_fail(struct vt_side *s, const char *fmt, ...)
{
	va_list ap;

	if (s->why[0])
		return -1;
	va_start(ap, fmt);
	vsnprintf(s->why, sizeof(s->why), fmt, ap);
	va_end(ap);
	return -1;
}

/**
 * vt_open_name() - open an RDMA device
 * @name: device, NULL for the first one
 * @why: VT_WHY bytes for the explanation of a failure
 *
 * Return: the context, or NULL.
 */
struct ibv_context *vt_open_name(const char *name, char *why)
{
	struct ibv_context *ctx = NULL;
	struct ibv_device **list;
	int i, n;

	list = ibv_get_device_list(&n);
	if (!list) {
		snprintf(why, VT_WHY, "cannot list RDMA devices: %s; is "
			 "ib_uverbs loaded?", vt_errno(errno));
		return NULL;
	}
	for (i = 0; i < n; i++) {
		if (name && strcmp(name, ibv_get_device_name(list[i])))
			continue;
		ctx = ibv_open_device(list[i]);
		if (!ctx)
			snprintf(why, VT_WHY, "cannot open %s: %s",
				 ibv_get_device_name(list[i]),
				 vt_errno(errno));
		break;
	}
	if (i == n)
		snprintf(why, VT_WHY, "no RDMA device %s; ibv_devices lists "
			 "what there is", name ? name : "at all");
	ibv_free_device_list(list);
	return ctx;
}

static int set_nonblock(int fd)
{
	int fl = fcntl(fd, F_GETFL);

	return fl < 0 ? -1 : fcntl(fd, F_SETFL, fl | O_NONBLOCK);
}

/**
 * vt_open() - open the device, its PD and its addresses
 * @d: filled in; vt_close() undoes it
 * @why: VT_WHY bytes for the explanation of a failure
 *
 * Return: 0 or -1. The async event descriptor is left non-blocking.
 */
int vt_open(struct vt_dev *d, const struct vt_opt *o, char *why)
{
	memset(d, 0, sizeof(*d));
	d->ctx = vt_open_name(o->dev, why);
	if (!d->ctx)
		return -1;
	d->gid_index = o->gid_index;
	if (ibv_query_device(d->ctx, &d->attr)) {
		snprintf(why, VT_WHY, "ibv_query_device failed");
	} else if (ibv_query_port(d->ctx, VT_PORT, &d->port)) {
		snprintf(why, VT_WHY, "ibv_query_port failed");
	} else if (d->port.state != IBV_PORT_ACTIVE) {
		snprintf(why, VT_WHY, "port %d is not active (%s)", VT_PORT,
			 ibv_port_state_str(d->port.state));
	} else if (ibv_query_gid(d->ctx, VT_PORT, o->gid_index, &d->gid)) {
		snprintf(why, VT_WHY, "no GID at index %d; choose with -g",
			 o->gid_index);
	} else if (set_nonblock(d->ctx->async_fd)) {
		snprintf(why, VT_WHY, "cannot set the async fd non-blocking");
	} else {
		d->pd = ibv_alloc_pd(d->ctx);
		if (d->pd)
			return 0;
		snprintf(why, VT_WHY, "ibv_alloc_pd: %s", vt_errno(errno));
	}
	vt_close(d);
	return -1;
}

void vt_close(struct vt_dev *d)
{
	if (d->pd)
		ibv_dealloc_pd(d->pd);
	if (d->ctx)
		ibv_close_device(d->ctx);
	memset(d, 0, sizeof(*d));
}

/**
 * vt_async_fatal() - has the device died?
 *
 * Takes the pending async events (the descriptor does not block), and remembers
 * their types in d->seen: whoever waits for a completion looks here meanwhile, and
 * must not lose the event that his test waits for next.
 * Return: 1 after IBV_EVENT_DEVICE_FATAL, whoever took it, or when the kernel hung
 * up, else 0.
 */
int vt_async_fatal(struct vt_dev *d)
{
	struct pollfd p = { .fd = d->ctx->async_fd, .events = POLLIN };
	struct ibv_async_event ev;

	while (poll(&p, 1, 0) > 0) {
		if (!(p.revents & POLLIN))
			return 1;
		if (ibv_get_async_event(d->ctx, &ev))
			return errno != EAGAIN;
		d->seen |= 1u << ev.event_type;
		ibv_ack_async_event(&ev);
	}
	return d->seen >> IBV_EVENT_DEVICE_FATAL & 1;
}

/* splitmix64: each eight bytes depend on the seed and on their place. */
static uint64_t word_at(uint64_t seed, uint64_t i)
{
	uint64_t z = seed + (i + 1) * 0x9e3779b97f4a7c15ull;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

/**
 * vt_fill() - write the pattern of a seed
 * @buf: any alignment
 */
void vt_fill(void *buf, size_t len, uint64_t seed)
{
	uint8_t *p = buf;
	uint64_t w;
	size_t i;

	for (i = 0; i + 8 <= len; i += 8) {
		w = word_at(seed, i / 8);
		memcpy(p + i, &w, 8);
	}
	w = word_at(seed, i / 8);
	memcpy(p + i, &w, len - i);
}

/**
 * vt_check() - compare with the pattern of a seed
 *
 * Return: -1 when every byte is right, else the offset of a wrong byte's
 * group of eight.
 */
ptrdiff_t vt_check(const void *buf, size_t len, uint64_t seed)
{
	const uint8_t *p = buf;
	uint64_t w;
	size_t i;

	for (i = 0; i + 8 <= len; i += 8) {
		w = word_at(seed, i / 8);
		if (memcmp(p + i, &w, 8))
			return i;
	}
	w = word_at(seed, i / 8);
	return memcmp(p + i, &w, len - i) ? (ptrdiff_t)i : -1;
}

bool vt_all(const void *buf, size_t len, uint8_t value)
{
	const uint8_t *p = buf;
	size_t i;

	for (i = 0; i < len; i++)
		if (p[i] != value)
			return false;
	return true;
}
