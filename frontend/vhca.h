/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Internals of xen-vhcafront.ko: a device and the objects of its verbs.
 * Everything else that several files use has its own header. A verb goes
 * verbs/<object>.c -> verbs/cmd.c -> ring/ring_cmd.c. Each folder calls those below it
 * only (docs/design/architecture.md); front.c decides whether there is a device at all.
 */
#ifndef VHCA_H
#define VHCA_H

#include <linux/mm_types.h>
#include <linux/mutex.h>
#include <linux/rwsem.h>
#include <linux/semaphore.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <rdma/ib_verbs.h>
#include <xen/io/vhcaif.h>

#include "compat.h"
#include "limit.h"
#include "store.h"
#include "ring/ring.h"
#include "stats.h"

struct vhca_counters;
struct vhca_front;
struct vhca_mem;
struct vhca_netdevs;
struct vhca_provider;
struct vhca_umad_port;
struct vhca_window;

/* Addresses of a device, each as in IPv6, with the network that it is in. */
struct vhca_nets {
	unsigned int nr;		/* 0: it has none of its own */
	struct vhca_net {
		u8 addr[16], prefix;
	} net[XENVHCA_MAX_IPS];
};

/* Both have so many first bits in common. */
static inline bool vhca_same_net(const u8 *a, const u8 *b, unsigned int bits)
{
	unsigned int mask = 0xff00 >> bits % 8;

	return !memcmp(a, b, bits / 8) &&
	       (!(bits % 8) || !((a[bits / 8] ^ b[bits / 8]) & mask));
}

/*
 * One RDMA device = one connection to a backend. That of the guest's kernel outlives its
 * connections: between two of them it is away.
 */
struct vhca_dev {
	struct ib_device ibdev;
	struct vhca_front *front;
	struct vhca_store *store;
	domid_t backend;
	struct vhca_ring ring;
	struct vhca_stats stats;
	struct vhca_counters *counters;	/* private to counters.c */
	struct dentry *debugfs;
	struct vhca_window *window;	/* of the front; NULL: PV guest */
	u32 pool_mb;			/* for the guest's kernel; 0: for processes */
	struct vhca_ucontext *own_uc;	/* of the kernel, see kernel/kern.h; or NULL */
	u32 own_pd;			/* of the kernel, in this connection */
	bool stays;			/* when the connection ends */
	/* Verbs with handles of the backend's hold it, so that they see one connection. */
	struct rw_semaphore gate;
	u32 gen;			/* of the connection; objects of others are dead */
	bool away;			/* as gen, written under the gate */

	/* Cached before registration, refreshed by port events (device.c). */
	struct xenvhca_get_info_rsp info;
	struct xenvhca_query_device_rsp caps;
	const struct vhca_provider *provider;
	struct ib_device_attr attr;
	struct mutex cache_lock;	/* port, gids, pkeys */
	struct ib_port_attr port;
	u8 link_layer;
	struct xarray gids;		/* index -> struct xenvhca_gid copy */
	u16 *pkeys;
	struct delayed_work refresh_work;
	bool stale;			/* a refresh was asked for */
	unsigned long refreshed;	/* jiffies of the last one */
	unsigned long refresh_gap;	/* to the next one at least */
	/*
	 * Bit n: the backend reported port event n (enum ib_event_type). Set before
	 * vhca_port_refresh(), which passes the events to ib_core after the cache is
	 * fresh, so that a client sees the new state. Until then they are owed.
	 * active_reported: the last event of the port's state.
	 */
	unsigned long port_events, port_owed;
	bool active_reported;

	/*
	 * Objects by vhca_key(), for events; all under evt_lock, which the
	 * event channel's upcall takes: spin_lock_irq() elsewhere.
	 */
	spinlock_t evt_lock;
	struct xarray cqs, qps, srqs, file_handles;
	/* Completion events over their rate, and overflows: event.c. */
	u64 comp_paid;
	bool overflow, last_owed;	/* last_owed: by a queue pair */
	struct delayed_work owed_work;
	struct list_head files;		/* private to file.c */
	struct list_head cm_list;	/* private to cm_part.c */
	struct vhca_nets nets;
	struct vhca_netdevs *netdevs;	/* private to netdev.c; NULL: none */
	struct vhca_umad_port *umad;	/* private to umad.c; NULL: none */
	struct semaphore cm_slots;	/* commands without an answer */
	long zap_waited;		/* jiffies, for pages that are held: map.c */
	atomic_t queue_pages;		/* of its ranges and maps: range_end.c */
	bool registered;
	bool leaving;			/* we unregister it ourselves */
	bool dealloced;			/* by ib_core */
	struct vhca_limit core;		/* for an end by ib_core itself */
};

/* Queue memory that no process maps any more, and the backend may free. */
struct vhca_ended {
	u64 offset[XENVHCA_MUNMAP_RANGES];
	u32 nr, pages;
};

struct vhca_ucontext {
	struct ib_ucontext ibuc;
	u32 handle;
	struct mutex lock;		/* doorbells: held while the backend answers */
	struct list_head maps;		/* struct vhca_map, private to map.c */
	spinlock_t range_lock;
	struct list_head ranges;	/* private to range.c */
	struct vhca_ended ended;	/* private to range_end.c */
	struct delayed_work ended_work;
	struct list_head doorbells;	/* private to doorbell.c */
	u32 nr_doorbells;
	spinlock_t orphan_lock;		/* orphans */
	struct list_head orphans;	/* struct vhca_mem of abandoned REG_MR */
	struct list_head dbpages;	/* struct vhca_mem, private to udata.c */
	/* For a process that exits: object.c. */
	atomic64_t nr_objects, nr_pages;	/* nr_pages: of regions */
	atomic64_t end_waited;		/* jiffies */
	bool leaves_nothing;		/* another process may use an object */
};

struct vhca_pd {
	struct ib_pd ibpd;
	u32 handle;
	atomic_t mws;			/* windows that may hold an MR */
};

struct vhca_xrcd {
	struct ib_xrcd ibxrcd;
	u32 handle;
};

struct vhca_cq {
	struct ib_cq ibcq;
	struct vhca_ucontext *uc;	/* outlives the CQ */
	u32 handle, gen;
	atomic_t comp_credit;		/* events that may come, credit.h */
	u64 comp_paid;			/* rate of events without credit */
	bool comp_owed;			/* an event was held back */
	bool comp_reported;			/* the record at the last event: */
	u32 comp_arm;
	u32 events;			/* of completions, delivered */
	atomic_t qps;			/* of the kernel: queue pairs that complete here */
	atomic_t async_credit;
	struct mutex resize_lock;	/* buf, ibcq.cqe: verbs run side by side */
	struct vhca_mem *buf, *db;	/* NULL if the HCA has them */
	u32 record;			/* where its doorbell record is in db */
};

struct vhca_qp {
	struct ib_qp ibqp;
	u32 handle, gen;
	u8 state;			/* enum ib_qp_state last asked for */
	bool last_owed;			/* see vhca_event_last() */
	struct vhca_kick kick;
	atomic_t async_credit;		/* credit.h */
	struct vhca_mem *buf, *sq_buf, *db;
};

struct vhca_srq {
	struct ib_srq ibsrq;
	u32 handle, gen;
	atomic_t async_credit;		/* credit.h */
	struct mutex resize_lock;	/* buf: verbs run side by side */
	struct vhca_mem *buf, *db;
};

struct vhca_ah {
	struct ib_ah ibah;
	u32 handle;
};

struct vhca_mr {
	struct ib_mr ibmr;
	u32 handle;
	int access;			/* as pinned, or asked for since */
	struct vhca_mem *mem;
};

struct vhca_mw {
	struct ib_mw ibmw;
	u32 handle;
};

static inline struct vhca_dev *to_vdev(struct ib_device *ibdev)
{
	return container_of(ibdev, struct vhca_dev, ibdev);
}

/*
 * Is it for the kernel's rdma_cm? To that it is a device of iWARP, whose connections are
 * its own (kernel/iw.c), at the addresses of ip=.
 */
static inline bool vhca_by_iw(const struct vhca_dev *dev)
{
	return dev->own_uc && dev->nets.nr && dev->info.flags & XENVHCA_INFO_CM;
}

/* Another connection may use the same handle: kernel=1, for which a long has 64 bits. */
static inline unsigned long vhca_key(u32 gen, u32 handle)
{
	return (unsigned long)((u64)gen << 32 | handle);
}

#define VHCA_TO(type, field)						\
static inline struct vhca_##type *to_v##type(struct ib_##type *ib)	\
{									\
	return container_of(ib, struct vhca_##type, field);		\
}

VHCA_TO(ucontext, ibuc)
VHCA_TO(pd, ibpd)
VHCA_TO(xrcd, ibxrcd)
VHCA_TO(cq, ibcq)
VHCA_TO(qp, ibqp)
VHCA_TO(srq, ibsrq)
VHCA_TO(ah, ibah)
VHCA_TO(mr, ibmr)
VHCA_TO(mw, ibmw)

/* ---- device.c ---- */
int vhca_device_init(void);
void vhca_device_exit(void);
/*
 * Parent of the RDMA devices of @store, since the bus may remove store->dev while they
 * end. ERR_PTR(), or for root_device_unregister().
 */
struct device *vhca_device_parent(struct vhca_store *store);
/* @store: outlives the device */
struct vhca_dev *vhca_device_alloc(struct vhca_store *store);
/*
 * GET_INFO, QUERY_*, ib_register_device. The ring is up. Sleeps. One that is away is back
 * then; -ESTALE: it cannot be, as the backend has another HCA or other limits.
 */
int vhca_device_register(struct vhca_dev *dev);
/*
 * The connection ends, over the ring if that is up, and the device stays. Its consumers
 * get flush errors, and the end of their connections. Idempotent; sleeps.
 */
void vhca_device_away(struct vhca_dev *dev);
/* Away: how many pages that the next connection shares a backend still maps. Sleeps. */
u32 vhca_device_held(struct vhca_dev *dev);
void vhca_device_unregister(struct vhca_dev *dev);	/* idempotent */
void vhca_device_free(struct vhca_dev *dev);

/* ---- event.c ---- */
/* Is the completion handler of a CQ of the kernel a work of ib_core's? */
static inline bool vhca_cq_works(const struct vhca_cq *cq)
{
	return cq->ibcq.poll_ctx == IB_POLL_WORKQUEUE ||
	       cq->ibcq.poll_ctx == IB_POLL_UNBOUND_WORKQUEUE;
}

#define VHCA_COMP_LATER		max(HZ / 100, 1)

/* Each CQ gets an event soon, if it is armed. Any context. */
static inline void vhca_event_all(struct vhca_dev *dev)
{
	WRITE_ONCE(dev->overflow, true);
	schedule_delayed_work(&dev->owed_work, VHCA_COMP_LATER);
}

/*
 * Soon a queue pair of the kernel hears that its SRQ has no receive for it any more, as from
 * an HCA, which it has none of. Any context.
 */
static inline void vhca_event_last(struct vhca_dev *dev, struct vhca_qp *qp)
{
	WRITE_ONCE(qp->last_owed, true);
	smp_store_release(&dev->last_owed, true);	/* pairs with xchg() of the work */
	schedule_delayed_work(&dev->owed_work, 0);
}

/* evt_lock and the work for events that are held back; it ends after the last upcall. */
void vhca_event_init(struct vhca_dev *dev);
void vhca_event_exit(struct vhca_dev *dev);
/* struct vhca_ring_ops */
bool vhca_event(struct vhca_dev *dev, const struct xenvhca_event *ev);
bool vhca_event_overflow(struct vhca_dev *dev);

/* ---- port.c ---- */
/* Query port, GIDs, P_Keys anew and tell ib_core; any context. */
void vhca_port_refresh(struct vhca_dev *dev);
/* ib_core has the device: passes events from now on, and those that came before. */
void vhca_port_registered(struct vhca_dev *dev);

#endif
