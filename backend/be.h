/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Inside of xen-vhcad: objects and functions that cross a file boundary.
 *
 * One supervisor (main.c) forks one worker per device (worker.c). A worker
 * runs four threads: command (worker.c: command ring, xenstore), kick (kick.c),
 * look (look.c: receives of Soft-RoCE) and event (event.c: verbs fds to event
 * ring). be_dev.lock is read-held while a handle or a shadow is used by the
 * others, write-held by the command thread while the tables change or an fd is
 * closed.
 *
 * Nothing that a guest sends is trusted: copied once, checked, then used.
 */
#ifndef BE_H
#define BE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <xen/io/vhcaif.h>
#include "bucket.h"
#include "clock.h"
#include "transport.h"

/* ---- log.c: stderr (systemd) lines; "d<dom>/<dev> <op> <id>: text" ---- */
enum be_log_level { BE_ERR, BE_WARN, BE_INFO, BE_DEBUG };
extern enum be_log_level be_log_level;
struct be_dev;
void be_log(const struct be_dev *dev, enum be_log_level level,
	    const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* As be_log, at most 10 lines per second and device; then a count. */
void be_log_peer(struct be_dev *dev, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* ---- quota.c ---- */
#define BE_KIND_(KIND, word, def) BE_##KIND,
enum be_type {			/* also handle types */
	BE_NONE,
	XENVHCA_KINDS(BE_KIND_)
	BE_TYPES
};
#undef BE_KIND_
struct be_quota {
	uint32_t max[BE_TYPES], used[BE_TYPES];
	uint64_t max_pages, used_pages;		/* guest pages mapped */
	uint64_t queue_pages;	/* queue memory of the HCA's driver */
	uint32_t uars;		/* doorbell pages of the HCA, mapped or not */
	struct vl_bucket cmd, evt;
	struct vl_bucket fail;	/* commands that the HCA's driver refuses */
	struct vl_bucket kick;	/* under drain_lock of kick.c */
	uint32_t spin_us;
};
void be_quota_defaults(struct be_quota *q);
int be_quota_take(struct be_quota *q, enum be_type t);	/* 0 or -EDQUOT->wire ENOMEM */
void be_quota_give(struct be_quota *q, enum be_type t);
int be_quota_take_pages(struct be_quota *q, uint64_t n);
void be_quota_give_pages(struct be_quota *q, uint64_t n);
/* How much queue memory the HCA's driver allocates is known only afterwards:
 * it is charged in any case, and once max_pages is reached no more queues are
 * made. 0 or -EDQUOT. */
int be_quota_check_queue(const struct be_quota *q);
void be_quota_charge_queue(struct be_quota *q, uint64_t n);
void be_quota_give_queue(struct be_quota *q, uint64_t n);
/* Doorbell pages that the HCA's driver allocates: 0; -EDQUOT; -ENOMEM: not
 * even if it had no others. */
int be_quota_take_uars(struct be_quota *q, uint32_t n);
void be_quota_give_uars(struct be_quota *q, uint32_t n);
extern const char *const be_type_name[BE_TYPES];

/* ---- uverbs.c: the raw kernel ABI, behind a table for unit tests ---- */
/*
 * be_uverbs_sys: system calls used by uverbs*.c and gntdev.c. The daemon uses
 * the real ones; unit tests put fake drivers here (tests/fake/fake_uverbs.c,
 * test_gntdev.c).
 */
struct be_uverbs_sys {
	int (*open)(const char *path, int flags);
	ssize_t (*write)(int fd, const void *buf, size_t len);
	ssize_t (*read)(int fd, void *buf, size_t len);
	int (*ioctl)(int fd, unsigned long req, void *arg);
	void *(*mmap)(void *a, size_t len, int prot, int fl, int fd, off_t off);
	int (*munmap)(void *a, size_t len);
	int (*close)(int fd);
};
extern struct be_uverbs_sys be_sys;

/* ---- handle.c ---- */
struct be_uc;
struct be_obj {
	enum be_type type;
	uint32_t handle;		/* wire */
	uint32_t host;			/* uverbs handle */
	struct be_uc *uc;		/* owner, NULL for a ucontext */
	struct be_obj *next, *prev;	/* list of the owner */
};
struct be_handles;
struct be_handles *be_handles_new(void);
void be_handles_free(struct be_handles *h);
/* Generation in the upper bits; never 0; -ENOMEM. */
int be_handle_add(struct be_handles *h, struct be_obj *obj);
void be_handle_del(struct be_handles *h, struct be_obj *obj);
/* NULL unless type and owner (uc; NULL: any) agree. */
struct be_obj *be_handle_get(struct be_handles *h, uint32_t handle,
			     enum be_type type, const struct be_uc *uc);

/* ---- device ---- */
struct be_stats {
	uint64_t cmds, cmd_errors, kicks, kick_spins, kick_sleeps, events,
		 events_dropped, faults, rate_waits,
		 map_pages, map_ns, unmap_ns,	/* guest memory */
		 wqes, wqes_refused, recv_polls; /* shadow.c */
};
struct be_dev {
	int domid, devid;
	char hca[XENVHCA_NAME_LEN];
	char uverbs_path[64];
	uint8_t port;
	struct be_transport *t;
	struct be_quota quota;
	struct be_stats stats;
	pthread_rwlock_t lock;
	struct be_handles *handles;
	struct be_obj *ucontexts;	/* list */
	struct be_uc *ctl;		/* what is in no ucontext: xrcd.c */
	struct be_parked *parked, *spoilt;	/* park.c */
	uint32_t n_parked, n_spoilt;
	uint32_t spoilt_uars;		/* not those of the quota */
	bool unsettled;			/* closed, but files are still open */
	struct be_shadow *shadows;	/* shadow.c */
	bool trusted;			/* the guest may use what can harm us */
	bool unproven;			/* providers not run on hardware too */
	const struct vhca_provider *prov;
	struct xenvhca_get_info_rsp info;
	int ctl_fd;			/* uverbs context for queries */
	int ctl_async_fd;		/* its async events: the only source of
					 * port and device events, as every
					 * context reports them; event.c */
	uint32_t gid_tbl_len, pkey_tbl_len;	/* of the physical port */
	bool ethernet;			/* link layer of that port */
	struct be_events *events;	/* event.c, NULL: not started */
	struct be_kicks *kicks;		/* kick.c, NULL: not started */
	struct be_look *look;		/* look.c, NULL: not started */
	pthread_mutex_t evt_lock;	/* put_event, overflow, quota.evt */
	struct vl_bucket log_bucket;	/* be_log_peer */
	uint32_t log_dropped;
	int wake_fd;			/* eventfd, wakes the command thread */
	bool fault;			/* close this device */
	char fault_reason[256];
};
/* Counters are bumped by all threads. */
#define BE_STAT_ADD(dev, field, n) \
	__atomic_fetch_add(&(dev)->stats.field, (n), __ATOMIC_RELAXED)

/* ---- fault.c ---- */
/* Zeroes dev, then defaults of every field (quotas, locks, fds -1); 0 or
 * -errno. be_dev_fini() undoes it and tolerates a failed init. */
int be_dev_init(struct be_dev *dev, int domid, int devid);
void be_dev_fini(struct be_dev *dev);
/* Mark the device for closing; logs once; the worker ends in order. Any
 * thread. */
void be_fault(struct be_dev *dev, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* ---- dispatch.c / <object>.c ---- */
/* Open the HCA, read its limits, choose the provider. On failure be_fault()
 * has said why, for the log and the operator. */
int be_dev_open(struct be_dev *dev);
/* Close every ucontext (objects first, then unmap), then the HCA. Contexts
 * whose doorbells the guest may still reach stay open: dev->unsettled. */
void be_dev_close(struct be_dev *dev);
/* Close what could not be closed before. Once a second: it may wait. */
void be_dev_tick(struct be_dev *dev);
/* True for commands that release something: never delayed by others. */
bool be_op_destroys(uint16_t op);
/* Executes one request: fills the whole response. Command thread only. */
void be_dispatch(struct be_dev *dev, const struct xenvhca_request *req,
		 struct xenvhca_response *rsp);

/* ---- kick.c ---- */
/* Execute one kick; takes the read lock itself. */
void be_kick(struct be_dev *dev, const struct xenvhca_kick *k);
/* Execute the kicks that were in the ring when this was called: a command
 * must not overtake the posts made before it. Command thread; bounded. */
void be_kick_flush(struct be_dev *dev);
/* A send queue has more than the driver's had room for. Any thread. */
void be_kick_more(struct be_dev *dev);
/* Starts the look thread, too. */
int be_kick_start(struct be_dev *dev);
void be_kick_stop(struct be_dev *dev);

/* ---- look.c ---- */
#define BE_LOOK_NICE	(-10)
/* Move receives that the guest has posted into the driver's queues. Any thread,
 * without dev->lock; nothing to do before be_look_start(). */
void be_look_now(struct be_dev *dev);
int be_look_start(struct be_dev *dev);
void be_look_stop(struct be_dev *dev);

/* ---- event.c ---- */
/* Register / forget the verbs fds (comp channel, async) of a ucontext;
 * called by ucontext.c. Switches the fd to O_NONBLOCK. Call be_event_del()
 * before the fd is closed. Before be_event_start() there is nobody to listen:
 * 0. The descriptors name wire handles, so the thread takes no other lock. */
int be_event_add(struct be_dev *dev, int fd, struct be_obj *uc, bool async);
void be_event_del(struct be_dev *dev, int fd);
int be_event_start(struct be_dev *dev);
void be_event_stop(struct be_dev *dev);
/* Queue an event to the guest (quota, overflow). Any thread. */
void be_event_push(struct be_dev *dev, uint8_t type, uint8_t event,
		   uint32_t handle);

#endif
