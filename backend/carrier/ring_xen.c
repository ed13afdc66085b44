// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The transport of a real guest: rings in granted pages (ring_shm.c reads and
 * writes them), event channels, grants in both directions.
 *
 * Each port has its own event channel handle, because each is used by a
 * different thread (transport.h says which).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <xenevtchn.h>
#include "agent_xen.h"
#include "gntdev.h"
#include "helper.h"
#include "host/arch.h"
#include "open_xen.h"
#include "ring_shm.h"
#include "uapi/vhca-helper.h"

#define BE_SPURIOUS_FREE	16	/* empty notifications before we slow */
#define BE_SPURIOUS_MAX_US	1000

struct be_port {
	xenevtchn_handle *h;
	int port;
	unsigned int spurious;
};

struct be_xen {
	struct be_shm shm;		/* first: a transport is one of these */
	struct be_dev *dev;
	struct be_gntdev gnt;
	struct be_agent agent;
	int helper_fd;
	struct be_port port[BE_PORTS];
	void *ring_va, *evt, *kick;
	uint32_t ring_pages;
};

static struct be_xen *to_xen(struct be_transport *t)
{
	return (struct be_xen *)t;	/* first member of the first */
}

/* Failing means that the frontend closed its end: it will not wait for us. */
static void xen_notify(struct be_shm *shm, enum be_port_id which)
{
	struct be_port *p = &((struct be_xen *)shm)->port[which];

	xenevtchn_notify(p->h, (evtchn_port_t)p->port);
}

/*
 * End of an interrupt. A frontend that notifies without work is slowed down,
 * not us: until the port is unmasked it cannot notify again.
 */
static void port_ack(struct be_port *p, bool had_work)
{
	unsigned int us;
	int port;

	if (had_work) {
		p->spurious = 0;
	} else if (p->spurious++ >= BE_SPURIOUS_FREE) {
		us = (p->spurious - BE_SPURIOUS_FREE) * 10;
		usleep(us < BE_SPURIOUS_MAX_US ? us : BE_SPURIOUS_MAX_US);
	}
	port = xenevtchn_pending(p->h);
	if (port >= 0)
		xenevtchn_unmask(p->h, (evtchn_port_t)port);
}

static int xen_cmd_fd(struct be_transport *t)
{
	return xenevtchn_fd(to_xen(t)->port[BE_PORT_CMD].h);
}

static int xen_kick_fd(struct be_transport *t)
{
	return xenevtchn_fd(to_xen(t)->port[BE_PORT_KICK].h);
}

static int xen_agent_fd(struct be_transport *t)
{
	const struct be_agent *a = &to_xen(t)->agent;

	return a->xs ? a->fd : -1;
}

static int xen_agent_ack(struct be_transport *t)
{
	return be_agent_heard(&to_xen(t)->agent);
}

static void xen_cmd_ack(struct be_transport *t, bool had_work)
{
	port_ack(&to_xen(t)->port[BE_PORT_CMD], had_work);
}

static void xen_kick_ack(struct be_transport *t, bool had_work)
{
	port_ack(&to_xen(t)->port[BE_PORT_KICK], had_work);
}

/* ---- memory ---- */
static void *xen_map(struct be_transport *t, const uint32_t *ref, uint32_t n,
		     bool readonly, const struct be_place *place)
{
	struct be_xen *x = to_xen(t);
	void *addr = be_gntdev_map(&x->gnt, ref, n, readonly, place);
	int err = errno;

	if (!addr)
		be_log_peer(x->dev,
			    "cannot map %u guest pages (%s; %llu are mapped): a bad grant reference, or raise gnttab_max_maptrack_frames (Xen command line), or max_grant_frames of the guest",
			    n, strerror(err),
			    (unsigned long long)be_gntdev_pages(&x->gnt));
	errno = err;
	return addr;
}

static void xen_unmap(struct be_transport *t, void *addr, uint32_t n)
{
	struct be_xen *x = to_xen(t);

	if (be_gntdev_unmap(&x->gnt, addr, n))
		be_log(x->dev, BE_ERR, "unmap of unknown range, %u pages", n);
}

static int xen_copy(struct be_transport *t, const uint32_t *ref, uint32_t n,
		    void *dst)
{
	struct be_xen *x = to_xen(t);
	int err = be_gntdev_copy(&x->gnt, ref, n, dst);

	if (err)
		be_log_peer(x->dev, "cannot copy %u pages of grant references: %s",
			    n, strerror(-err));
	return err;
}

static int xen_dmabuf(struct be_transport *t, const uint32_t *ref, uint32_t n)
{
	struct be_xen *x = to_xen(t);
	struct vhca_helper_map m = {
		.refs = (uintptr_t)ref,
		.nr_pages = n,
		.domid = (uint16_t)x->dev->domid,
	};
	int fd;

	if (n > VHCA_HELPER_MAX_MAP)
		return -E2BIG;
	fd = ioctl(x->helper_fd, VHCA_HELPER_MAP, &m);
	return fd < 0 ? -errno : fd;
}

static int xen_grant(struct be_transport *t, void *addr, uint32_t n,
		     uint32_t *ref, uint32_t *id)
{
	struct be_xen *x = to_xen(t);
	struct vhca_helper_grant g = {
		.addr = (uintptr_t)addr,
		.refs = (uintptr_t)ref,
		.nr_pages = n,
		.domid = (uint16_t)x->dev->domid,
	};
	int err;

	if (ioctl(x->helper_fd, VHCA_HELPER_GRANT, &g) < 0) {
		err = errno;
		be_log_peer(x->dev, "cannot grant %u queue pages: %s%s", n,
			    strerror(err), err == ENOSPC ?
			    "; raise gnttab_max_frames of this domain" : "");
		return -err;
	}
	*id = g.id;
	return 0;
}

static int xen_ungrant(struct be_transport *t, uint32_t id)
{
	struct vhca_helper_ungrant u = {
		.id = id,
		.flags = t->closing ? VHCA_HELPER_MAY_DIE : 0,
	};
	int r = ioctl(to_xen(t)->helper_fd, VHCA_HELPER_UNGRANT, &u);

	return r < 0 ? -errno : r;
}

/* ---- doorbells ---- */
static int xen_doorbell_frame(struct be_transport *t, void *addr,
			      struct be_bell *bell)
{
	struct be_xen *x = to_xen(t);
	int err = be_helper_frame(x->helper_fd, addr, bell);

	if (err)
		be_log(x->dev, BE_ERR, "cannot find the frame of a doorbell page: %s",
		       strerror(-err));
	return err;
}

static int xen_doorbell_map(struct be_transport *t, void *addr, uint64_t gfn,
			    struct be_bell *bell)
{
	struct be_xen *x = to_xen(t);
	int err;

	if (!x->agent.xs) {
		be_log_peer(x->dev, "no doorbells without xenstore: only HCAs that need none can be used");
		return -EACCES;
	}
	err = bell->slot == BE_NO_SLOT ? xen_doorbell_frame(t, addr, bell) : 0;
	if (err)
		return err;
	return be_agent_map(&x->agent, bell->frame, gfn, &bell->slot);
}

static int xen_doorbell_unmap(struct be_transport *t, uint32_t slot)
{
	return be_agent_unmap(&to_xen(t)->agent, slot);
}

static int xen_cap_dma(struct be_transport *t, const char *hca, int fd)
{
	return be_helper_cap_dma(to_xen(t)->helper_fd, hca, fd);
}

/* ---- life ---- */
static void xen_close(struct be_transport *t)
{
	struct be_xen *x = to_xen(t);
	uint64_t left;
	int i;

	/* No port may fire into rings that are gone: ports first. */
	for (i = 0; i < BE_PORTS; i++)
		if (x->port[i].h)
			xenevtchn_close(x->port[i].h);
	if (x->ring_va)
		be_gntdev_unmap(&x->gnt, x->ring_va, x->ring_pages);
	if (x->evt)
		be_gntdev_unmap(&x->gnt, x->evt, 1);
	if (x->kick)
		be_gntdev_unmap(&x->gnt, x->kick, 1);
	left = be_gntdev_close(&x->gnt);
	if (left)
		be_log(x->dev, BE_ERR, "%llu guest pages were still mapped",
		       (unsigned long long)left);
	be_agent_close(&x->agent);
	/* Last: as long as it is open our memory outlives us. */
	if (x->helper_fd >= 0)
		close(x->helper_fd);
	free(x);
}

static int port_bind(struct be_xen *x, int which, uint32_t remote)
{
	struct be_port *p = &x->port[which];
	int fl, err;

	p->h = xenevtchn_open(NULL, 0);
	/* Kernels that cannot restrict it serve as well. */
	if (p->h)
		xenevtchn_restrict(p->h, (domid_t)x->dev->domid);
	if (p->h)
		p->port = xenevtchn_bind_interdomain(p->h,
						     (uint32_t)x->dev->domid,
						     remote);
	if (!p->h || p->port < 0) {
		err = errno;
		be_fault(x->dev, "event channel %u of the frontend: %s",
			 remote, strerror(err));
		return -err;
	}
	/* A read without an event must not block the thread for ever. */
	fl = fcntl(xenevtchn_fd(p->h), F_GETFL);
	if (fl < 0 || fcntl(xenevtchn_fd(p->h), F_SETFL, fl | O_NONBLOCK) < 0)
		return -errno;
	return 0;
}

/* All pages first, so that a ring is never half there. */
static int rings_map(struct be_xen *x, const struct be_ring_params *p)
{
	x->ring_pages = 1u << p->ring_order;
	x->ring_va = xen_map(&x->shm.t, p->ring_ref, x->ring_pages,
			     false, NULL);
	if (!x->ring_va)
		return -errno;
	x->evt = xen_map(&x->shm.t, &p->evt_ref, 1, false, NULL);
	if (!x->evt)
		return -errno;
	x->kick = xen_map(&x->shm.t, &p->kick_ref, 1, false, NULL);
	if (!x->kick)
		return -errno;
	return 0;
}

static int xen_connect(struct be_transport *t, const struct be_ring_params *p)
{
	struct be_xen *x = to_xen(t);
	int rc;

	rc = rings_map(x, p);
	if (rc)
		return rc;
	rc = port_bind(x, BE_PORT_CMD, p->cmd_port);
	if (!rc)
		rc = port_bind(x, BE_PORT_EVT, p->evt_port);
	if (!rc)
		rc = port_bind(x, BE_PORT_KICK, p->kick_port);
	if (rc)
		return rc;
	/* Last: from here on the event thread uses ring and port. */
	be_shm_init(&x->shm, x->ring_va, x->ring_pages, x->evt, x->kick,
		    xen_notify);
	return 0;
}

static const struct be_transport_ops xen_ops = {
	.connect = xen_connect,
	.get_request = be_shm_get_request,
	.any_request = be_shm_any_request,
	.arm_requests = be_shm_arm_requests,
	.put_response = be_shm_put_response,
	.put_event = be_shm_put_event,
	.overflow = be_shm_overflow,
	.get_kicks = be_shm_get_kicks,
	.any_kick = be_shm_any_kick,
	.kicks_done = be_shm_kicks_done,
	.arm_kicks = be_shm_arm_kicks,
	.cmd_fd = xen_cmd_fd,
	.kick_fd = xen_kick_fd,
	.agent_fd = xen_agent_fd,
	.agent_ack = xen_agent_ack,
	.cmd_ack = xen_cmd_ack,
	.kick_ack = xen_kick_ack,
	.map = xen_map,
	.unmap = xen_unmap,
	.copy = xen_copy,
	.dmabuf = xen_dmabuf,
	.grant = xen_grant,
	.ungrant = xen_ungrant,
	.doorbell_frame = xen_doorbell_frame,
	.doorbell_map = xen_doorbell_map,
	.doorbell_unmap = xen_doorbell_unmap,
	.cap_dma = xen_cap_dma,
	.close = xen_close,
};

static int helper_open(struct be_xen *x, int fd)
{
	int err;

	x->helper_fd = fd >= 0 ? fd : open(VHCA_HELPER_DEV,
					   O_RDWR | O_CLOEXEC);
	if (x->helper_fd < 0) {
		err = errno;
		be_fault(x->dev, "%s: %s; run: modprobe xen-vhca-helper",
		       VHCA_HELPER_DEV, strerror(err));
		return -err;
	}
	if (ioctl(x->helper_fd, VHCA_HELPER_KEEP_MM) < 0) {
		err = errno;
		be_fault(x->dev, "%s: KEEP_MM: %s", VHCA_HELPER_DEV,
			 strerror(err));
		return -err;
	}
	return 0;
}

struct be_transport *be_xen_open(struct be_dev *dev, int helper_fd, bool agent,
				 int *err)
{
	struct be_xen *x = calloc(1, sizeof(*x));

	if (!x) {
		*err = -ENOMEM;
		return NULL;
	}
	x->shm.t.ops = &xen_ops;
	x->shm.t.hold_translated = host_is_arm();
	x->dev = dev;
	x->helper_fd = -1;
	*err = be_gntdev_open(&x->gnt, (uint32_t)dev->domid);
	if (*err)
		be_fault(dev, "/dev/xen/gntdev: %s; run: modprobe xen-gntdev",
			 strerror(-*err));
	else
		*err = helper_open(x, helper_fd);
	/* With a window Xen has mapped the pages: nobody is asked. */
	if (!*err && agent && !dev->window.nr)
		*err = be_agent_open(&x->agent, dev);
	if (!*err)
		return &x->shm.t;
	xen_close(&x->shm.t);
	return NULL;
}
