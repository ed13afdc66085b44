/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Inside of xen-vhcafront.ko: the objects and the functions that cross a file
 * boundary. A verb goes device.c/<object>.c -> cmd.c -> ring.c; shared memory
 * is touched in ring.c only; grants are made and ended in grant.c; queue
 * memory of the backend is mapped into processes in map.c.
 */
#ifndef VHCA_H
#define VHCA_H

#include <linux/completion.h>
#include <linux/mm_types.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <rdma/ib_umem.h>
#include <rdma/ib_verbs.h>
#include <xen/grant_table.h>
#include <xen/xenbus.h>
#include <xen/io/vhcaif.h>

#include "compat.h"

#define VHCA_RING_PAGES		BIT(XENVHCA_MAX_RING_ORDER)

struct vhca_mmap;
struct vhca_provider;
struct vhca_window;

/* Counters, in debugfs (stats.c); the data path must not move cmds. */
struct vhca_stats {
	atomic64_t cmds;		/* commands sent */
	atomic64_t cmd_errors;		/* answered with an error */
	atomic64_t cmd_timeouts;	/* abandoned, id quarantined */
	atomic64_t kicks;		/* entries put into the kick ring */
	atomic64_t kicks_merged;	/* not needed, queue already named */
	atomic64_t kick_notifies;	/* event channel notifications sent */
	atomic64_t events;		/* events consumed */
	atomic64_t irqs;		/* event channel upcalls, all three */
	atomic64_t spurious;		/* upcalls without work */
	atomic64_t bad_events;		/* unknown type or handle */
	atomic64_t pages_granted;	/* data pages granted now */
	atomic64_t pages_mapped;	/* backend pages mapped now */
	atomic64_t doorbells;		/* doorbell pages of the HCA now */
};

/* A command on its way: allocate zeroed with vhca_cmd_alloc(). */
struct vhca_cmd {
	struct xenvhca_request req;
	struct xenvhca_response rsp;	/* private copy, checked header */
	struct completion done;
	bool abandoned;			/* waiter gave up; ring.c frees it */
};

enum vhca_ring_state { VHCA_RING_UP, VHCA_RING_BROKEN };

/* Command, event and kick rings of one connection (ring.c owns it all). */
struct vhca_ring {
	struct xenvhca_front_ring cmd;
	struct xenvhca_evt_page *evt;
	struct xenvhca_kick_page *kick;
	grant_ref_t cmd_ref[VHCA_RING_PAGES];
	grant_ref_t evt_ref;
	grant_ref_t kick_ref;
	unsigned int order;
	evtchn_port_t cmd_port, evt_port, kick_port;
	int cmd_irq, evt_irq, kick_irq;

	spinlock_t lock;		/* cmd ring, pending ids, state */
	struct vhca_cmd *pending[XENVHCA_MAX_ID];
	DECLARE_BITMAP(ids, XENVHCA_MAX_ID);
	unsigned int next_id;
	struct xenvhca_response scratch; /* the one copy of a response */
	enum vhca_ring_state state;
	wait_queue_head_t slots;	/* waiters for a slot or an id */
	atomic_t ended;			/* destroy commands answered, xenbus.c */

	spinlock_t kick_lock;		/* producer side of the kick ring */
	u32 kick_prod;			/* private copy */
	u32 kick_done;			/* done at the last upcall */
	u16 kick_what[XENVHCA_KICK_ENTRIES]; /* type, flags: private copy */
	wait_queue_head_t kick_wait;	/* waiters for done or room */
	u32 evt_cons;			/* private copy */
};

/* One RDMA device = one connection to a backend. */
struct vhca_dev {
	struct ib_device ibdev;
	struct vhca_front *front;
	struct xenbus_device *xbdev;
	domid_t backend;
	struct vhca_ring ring;
	struct vhca_stats stats;
	struct dentry *debugfs;
	struct vhca_window *window;	/* of the front; NULL: PV guest */

	/* Cached before registration, refreshed by port events (device.c). */
	struct xenvhca_get_info_rsp info;
	const struct vhca_provider *provider;
	struct ib_device_attr attr;
	struct mutex cache_lock;	/* port, gids, pkeys */
	struct ib_port_attr port;
	u8 link_layer;
	struct xarray gids;		/* index -> struct xenvhca_gid copy */
	u16 *pkeys;
	struct delayed_work refresh_work;
	unsigned long refreshed;	/* jiffies of the last one */
	unsigned long refresh_gap;	/* to the next one at least */
	/*
	 * Bit n: the backend reported port event n (enum ib_event_type). Set
	 * before vhca_port_refresh(), which passes them on to ib_core after
	 * the cache is fresh, so that who hears of it sees the new state.
	 */
	unsigned long port_events;

	/*
	 * Objects by backend handle, for events; all under evt_lock, which the
	 * event channel's upcall takes: spin_lock_irq() elsewhere.
	 */
	spinlock_t evt_lock;
	struct xarray cqs, qps, srqs;
	/* Completion events over their rate, and overflows: event.c. */
	u64 comp_paid;
	bool overflow;
	struct delayed_work owed_work;
	bool registered;
	bool leaving;			/* we unregister it ourselves */
	bool dealloced;			/* by ib_core, which let it go */
};

/* One xenbus device; outlives its connections. Private to xenbus.c. */
struct vhca_front;

struct vhca_ucontext {
	struct ib_ucontext ibuc;
	u32 handle;
	u32 unit;			/* VHCA_UNIT of the HCA, or 0 */
	struct mutex lock;		/* orphans, doorbells */
	struct list_head maps;		/* struct vhca_map, private to map.c */
	struct list_head doorbells;	/* private to doorbell.c */
	u32 nr_doorbells;
	struct list_head orphans;	/* struct vhca_mem of abandoned REG_MR */
};

struct vhca_pd {
	struct ib_pd ibpd;
	u32 handle;
	atomic_t mws;			/* may rightly keep an MR alive */
};

struct vhca_xrcd {
	struct ib_xrcd ibxrcd;
	u32 handle;
};

struct vhca_cq {
	struct ib_cq ibcq;
	u32 handle;
	u32 last_arm;			/* kick index, ring.c */
	atomic_t comp_credit;		/* events that may come, event.c */
	u64 comp_paid;			/* those that came without, in time */
	bool comp_owed;			/* one was held back */
	bool comp_told;			/* one came, when this was the arm: */
	u32 comp_arm;
	atomic_t async_credit;
	struct mutex resize_lock;	/* buf, ibcq.cqe: verbs run side by side */
	struct vhca_mem *buf, *db;	/* NULL if the HCA keeps them */
};

struct vhca_qp {
	struct ib_qp ibqp;
	u32 handle;
	u8 state;			/* enum ib_qp_state last asked for */
	u32 last_kick;			/* index of the last kick, ring.c */
	bool kicked;			/* last_kick is valid */
	atomic_t async_credit;		/* event.c */
	struct vhca_mem *buf, *sq_buf, *db;
};

struct vhca_srq {
	struct ib_srq ibsrq;
	u32 handle;
	atomic_t async_credit;		/* event.c */
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

/* ---- xenbus.c ---- */
int vhca_xenbus_init(void);
void vhca_xenbus_exit(void);
/*
 * The backend misbehaved or died: break the rings, fail all waiters, write
 * the reason to xenstore, schedule fatal event and unregistration. Any
 * context that may not sleep included.
 */
void vhca_break(struct vhca_dev *dev, const char *reason);

/* ---- ring.c: the only file that touches shared memory ---- */
/* Allocate and grant the three rings and their event channels. Sleeps. */
int vhca_ring_init(struct vhca_dev *dev, unsigned int order);
/* Unbind, end grants (deferred if still mapped), free. Idempotent. */
void vhca_ring_free(struct vhca_dev *dev);
/* Fail every waiter with -EIO, refuse what comes later. Atomic context ok. */
void vhca_ring_break(struct vhca_dev *dev);
struct vhca_cmd *vhca_cmd_alloc(u16 op, u32 ucontext);
/* Consumes nothing unless it returns -EINTR or -ETIMEDOUT (see flags). */
void vhca_cmd_free(struct vhca_cmd *cmd);

#define VHCA_CMD_DESTROY	BIT(0)	/* reserved slots, not killable */
#define VHCA_CMD_OWNERLESS	BIT(1)	/* makes what is in no ucontext */
/**
 * vhca_ring_submit() - send one command and wait for its answer
 * @dev: device
 * @cmdp: command with request filled in; on return the response (header
 *	checked) is in (*cmdp)->rsp. If the wait was given up, *cmdp is set to
 *	NULL: the command then belongs to the ring, its id stays in
 *	quarantine until the late answer comes.
 * @flags: VHCA_CMD_*
 *
 * Return: 0; the negative errno that the backend answered with; -EIO if the
 * device is broken; -EINTR (fatal signal) or -ETIMEDOUT with *cmdp = NULL:
 * whether the command was or will be executed is unknown. A destroy command
 * that times out breaks the device. So does an ownerless one that was sent: what
 * it made would stay for as long as the device. It cannot be killed then.
 */
int vhca_ring_submit(struct vhca_dev *dev, struct vhca_cmd **cmdp,
		     unsigned int flags);
/**
 * vhca_ring_kick() - put one entry into the kick ring
 * @last: index of the queue's previous kick, updated; @valid: *last is valid
 * @wait: wait until the backend has executed the entry (killable, bounded)
 * Return: 0, -EIO broken, -EINTR, -ETIMEDOUT (ring stayed full).
 */
int vhca_ring_kick(struct vhca_dev *dev, u8 type, u8 flags, u32 handle,
		   u32 *last, bool *valid, bool wait);

/* ---- event.c: one copied event to ib_core; any context, also upcalls ---- */
/* evt_lock and the work for what is held back; it ends after the last upcall. */
void vhca_event_init(struct vhca_dev *dev);
void vhca_event_exit(struct vhca_dev *dev);
/* False: nobody was told; only such ones count as a spurious notification. */
bool vhca_event(struct vhca_dev *dev, const struct xenvhca_event *ev);
bool vhca_event_overflow(struct vhca_dev *dev);
/*
 * How many events the backend may send: before a CQ is armed; when an object
 * is made or modified. More are ignored.
 */
void vhca_event_armed(struct vhca_cq *cq);
void vhca_event_recharge(atomic_t *credit);

/* ---- grant.c: guest memory granted to the backend ---- */
struct vhca_mem {
	struct vhca_dev *dev;
	struct ib_umem *umem;		/* owned */
	struct xenvhca_pages pages;	/* wire description */
	u32 page_offset;		/* first byte in the first page */
	u32 record;			/* of a doorbell record in its page */
	struct list_head list;		/* vhca_ucontext.orphans */
	/* private to grant.c below */
	grant_ref_t *ref;		/* nr_pages data references */
	struct page **dir;		/* directory and root pages */
	grant_ref_t *dir_ref;
	u32 nr_dir;
};
/**
 * vhca_mem_get() - pin user memory and grant it to the backend
 * @access: of the region; where it lets nobody write the pages are granted
 *	read-only, if the backend takes such: vhca_mem_readonly()
 * Return: ERR_PTR(-ENOMEM) with a log line that names max_grant_frames if
 * grant references are exhausted; errors of ib_umem_get().
 */
struct vhca_mem *vhca_mem_get(struct vhca_dev *dev, u64 addr, u64 length,
			      int access);
static inline bool vhca_mem_readonly(const struct vhca_mem *mem)
{
	return mem->pages.flags & XENVHCA_PAGES_READONLY;
}
/*
 * What the process has in the 32 bits at @offset of a doorbell record now, in the
 * HCA's byte order; 0 if they are not in its page. Any context.
 */
u32 vhca_mem_word(const struct vhca_mem *mem, u32 offset);
/* The request was answered: directory pages are not needed any more. */
void vhca_mem_drop_dirs(struct vhca_mem *mem);
/*
 * End grants, unpin, free. What is still mapped becomes a zombie: stays
 * allocated and charged, is retried, is counted; too many of a backend that
 * lives break the device. NULL is fine.
 */
void vhca_mem_put(struct vhca_mem *mem);
int vhca_grant_init(void);
void vhca_grant_exit(void);	/* waits (bounded) for zombies */
u64 vhca_grant_zombies(void);	/* pages the backend does not let go */
/* Data pages that can be granted in all: for max_mr_size. */
u64 vhca_grant_max_pages(void);
/*
 * Ends one reference of a page that the caller allocated with
 * alloc_page()/alloc_pages_exact(); frees now (true) or as a zombie (false).
 */
bool vhca_grant_end_page(grant_ref_t ref, struct page *page);

/* ---- map.c: backend memory mapped into a process ---- */
/**
 * vhca_map_grants() - map granted backend pages over a whole VMA
 * @ref: nr_pages references, copied from checked responses
 * @offset: mmap offset, for the MUNMAP command when the VMA is gone
 *
 * On success the VMA is tracked in uc->maps; a worker sends MUNMAP when the
 * last VMA is closed. On an error the caller sends MUNMAP: the backend says
 * -EBUSY while the undo of a partial mapping is under way, which is harmless,
 * because DEALLOC_UCONTEXT ends the range too.
 *
 * Return: 0; -EINVAL if the VMA is private, of another size, or the range is
 * mapped already; -ENOMEM; -EIO if Xen refused a reference; -ENODEV: the
 * module is being removed.
 */
int vhca_map_grants(struct vhca_ucontext *uc, struct vm_area_struct *vma,
		    const grant_ref_t *ref, u32 nr_pages, u64 offset);
/*
 * Take every mapping away from the processes (device is going): later
 * accesses see zero pages. Grants are unmapped when this returns.
 */
void vhca_map_zap(struct vhca_ucontext *uc);
/*
 * Wait until the MUNMAP of every closed VMA was answered; bounded. To be
 * called before DEALLOC_UCONTEXT.
 */
void vhca_map_flush(struct vhca_ucontext *uc);
int vhca_map_init(void);
void vhca_map_exit(void);

/* ---- doorbell.c: doorbell pages of the HCA mapped into a process ---- */
/*
 * Guest frames for doorbell pages, for as long as the xenbus device exists;
 * NULL in a PV guest. ERR_PTR(-ENOMEM or -EBUSY).
 */
struct vhca_window *vhca_window_new(void);
u64 vhca_window_gfn(const struct vhca_window *w);	/* the first */
/* The backend has entered InitWait: no frame has a page. NULL is fine. */
void vhca_window_clear(struct vhca_window *w);
/* Unless frames may still have a page: then they stay reserved for ever. */
void vhca_window_free(struct vhca_window *w);
/**
 * vhca_doorbell_mmap() - map one doorbell page into a process
 * @row: the provider's row of the VMA's offset
 *
 * Return: 0; -EINVAL, -EOPNOTSUPP if it is not to be mapped this way; -ENOSPC:
 * all XENVHCA_DOORBELL_SLOTS are in use; -EIO if the backend answered
 * nonsense; -ENODEV: the module is being removed; the errors of
 * vhca_cmd_mmap().
 */
int vhca_doorbell_mmap(struct vhca_ucontext *uc, struct vm_area_struct *vma,
		       const struct vhca_mmap *row);
/* Take every page away from the processes, which see zero pages then. */
void vhca_doorbell_zap(struct vhca_ucontext *uc);
/*
 * After DEALLOC_UCONTEXT. @unknown: the backend did not confirm it, the guest
 * frames stay in use.
 */
void vhca_doorbell_drop(struct vhca_ucontext *uc, bool unknown);

/* ---- stats.c; add and del are called by xenbus.c ---- */
void vhca_stats_init(void);
void vhca_stats_exit(void);
void vhca_stats_add(struct vhca_dev *dev);
void vhca_stats_del(struct vhca_dev *dev);

/* ---- device.c ---- */
struct vhca_dev *vhca_device_alloc(struct xenbus_device *xbdev);
/* GET_INFO, QUERY_*, ib_register_device. The ring is up. Sleeps. */
int vhca_device_register(struct vhca_dev *dev);
void vhca_device_unregister(struct vhca_dev *dev);	/* idempotent */
void vhca_device_free(struct vhca_dev *dev);

/* ---- port.c ---- */
/* Query port, GIDs, P_Keys anew and tell ib_core; any context. */
void vhca_port_refresh(struct vhca_dev *dev);

/* ---- cmd.c: one function per opcode; declared in cmd.h ---- */

#endif
