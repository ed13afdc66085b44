/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * struct be_dev, a device as its worker has it, and how it ends
 * (core/fault.c).
 *
 * One supervisor (main.c) forks one worker per device (worker.c). A worker runs
 * these threads: command (worker.c: command ring, store), kick (kick.c), receive
 * (recv_poll.c: receives of Soft-RoCE), event (event.c: verbs fds to event ring) and job
 * threads (jobs.c: what takes long of commands or may wait).
 * The command thread holds be_dev.lock for writing while it changes tables or
 * closes an fd; the other threads hold it for reading while they use a handle
 * or a shadow.
 *
 * Nothing that a guest sends is trusted: it is copied once, checked, then used.
 */
#ifndef BE_H
#define BE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <xen/io/vhcaif.h>
#include "addr.h"
#include "bucket.h"
#include "handle.h"
#include "host/window.h"
#include "kick_lock.h"
#include "log.h"
#include "quota.h"
#include "transport.h"
#include "vfile.h"

struct be_ah;
struct be_chunk;
struct be_counters;
struct be_cm_ids;
struct be_jobs;
struct be_mmap;
struct be_offset;
struct be_recv_poll;
struct be_shadow;
struct be_uc;
struct be_umads;

#define BE_AH_HEADS	256
#define BE_OFFSET_HEADS	512

/* Which management datagrams a guest may send. */
enum be_umad_mode { BE_UMAD_NONE, BE_UMAD_QUERY, BE_UMAD_ALL };

/* What is counted, in the order of the statistics file: cmd_lanes of jobs.h, map_ and
 * unmap_ are of guest memory into the worker, list_pages of references to it, dmabuf_ of
 * guest memory for the HCA alone, wqes and recv_polls of shadow.c. */
#define BE_COUNTERS(X) \
	X(cmds) X(cmd_errors) X(cmd_lanes) X(cmd_spins) X(cmd_sleeps) X(cmd_notifies) \
	X(kicks) X(kick_spins) X(kick_sleeps) \
	X(events) X(events_dropped) X(map_pages) X(map_ns) X(unmap_ns) \
	X(list_pages) X(dmabuf_pages) X(dmabuf_refused) X(wqes) X(wqes_refused) \
	X(recv_polls) X(faults) X(rate_waits)
#define BE_COUNTER_(name) uint64_t name;
struct be_stats {
	BE_COUNTERS(BE_COUNTER_)
};
#undef BE_COUNTER_

struct be_dev {
	/* Configuration: worker.c and conf.c write it before there are other threads. */
	int domid, devid;
	char hca[XENVHCA_NAME_LEN];
	uint8_t port;
	bool trusted;			/* it may use what the driver cannot refuse */
	bool counters_shown;		/* those of the port, to the guest */
	enum be_umad_mode umad;
	struct be_addr addr;
	struct host_window window;	/* its doorbell pages; nr 0: the agent's */
	unsigned int spinners;		/* of our threads, that may poll at once: spin.h */

	/* The HCA: be_dev_open() writes it, before there is a command of the guest. */
	char uverbs_path[64];
	char umad_path[64];		/* "": none for the guest */
	const struct vhca_provider *prov;
	const struct vhca_udata_op *rows[XENVHCA_OP_MAX]; /* its; NULL: no udata */
	struct xenvhca_get_info_rsp info;
	uint64_t bar_end;		/* with a window: frame behind its BAR */
	uint32_t ibdev_index;		/* the kernel's number of the HCA */
	uint32_t gid_tbl_len, pkey_tbl_len;	/* of the physical port */
	bool ethernet;			/* link layer of that port */
	uint32_t domain_pages;		/* of queues, that the helper grants the guest */
	struct be_counters *counters;	/* verbs/counters.c; NULL: not shown */
	uint64_t dmabuf_end;		/* regions of at least so many octets have no dma-buf */
	int ctl_fd;			/* uverbs context for queries */
	int ctl_async_fd;		/* its async events: the only source of
					 * port and device events, as every
					 * context reports them; event.c */
	/* May a change of the port's GIDs be the guest's? NULL: it may. Event thread. */
	bool (*gids_changed)(struct be_dev *dev);

	/* The transport and the other threads; NULL: not there. The command thread makes
	 * and ends each while the threads that use it do not run. */
	struct be_transport *t;
	struct be_events *events;	/* event.c */
	struct be_kicks *kicks;		/* worker/kick.c */
	struct be_recv_poll *recv_poll;	/* verbs/recv_poll.c */
	struct be_jobs *jobs;		/* verbs/jobs.c */

	/*
	 * The guest's objects: the command thread writes them with lock held for writing,
	 * and reads them without; others read them with lock held for reading.
	 */
	pthread_rwlock_t lock;
	struct be_handles *handles;
	struct be_obj *ucontexts;	/* list */
	struct be_uc *ctl;		/* what is in no ucontext: xrcd.c */
	struct be_shadow *shadows;	/* shadow.c */
	uint32_t n_shadows;		/* atomic: read without the lock */
	struct be_ah *ahs[BE_AH_HEADS];	/* by number: rxe_wqe.c */

	/* The command thread's alone; of the quota, what quota.c says. */
	struct be_quota quota;
	struct be_offset *offsets[BE_OFFSET_HEADS];	/* verbs/offsets.c */
	struct be_offset *owners[BE_OFFSET_HEADS];	/* the same by owner */
	struct be_mmap *mmaps[BE_OFFSET_HEADS];	/* by offset */
	struct be_chunk *chunk;		/* the newest: verbs/chunk.c */
	uint32_t chunk_pages, chunk_live; /* of all; of the queues in them */
	struct be_vfile *vfiles[BE_VFILE_CLOSED];	/* by state: context/vfile.c */
	uint32_t n_vfiles[BE_VFILE_CLOSED];
	uint32_t spoilt_uars;		/* of spoilt files, not those of the quota */
	bool unsettled;			/* closed, but files are still open */

	/* Of whoever has the lock named. */
	struct be_cm_ids *cm_ids;	/* cm_lock: verbs/cm_id.c */
	unsigned int cm_jobs;		/* command thread: CM_COMMANDs without an answer */
	pthread_mutex_t cm_lock;	/* verbs/cm.h */
	struct be_umads *umads;		/* its own: verbs/umad_queue.c */
	pthread_mutex_t evt_lock;	/* put_event, overflow, quota.evt */
	struct be_kick_lock kick_lock;
	uint32_t recv_from;		/* recv_poll.c's: the first queue to look at */

	/* All threads write it: atomically, or as log.c and fault.c do. */
	int wake_fd;			/* eventfd, wakes the command thread */
	unsigned int spinning;		/* threads that poll now: spin.h */
	struct be_stats stats;
	struct vl_bucket log_bucket;	/* be_log_peer */
	uint32_t log_dropped;
	bool fault;			/* close this device */
	char fault_reason[256];
};

/* Counters are bumped by all threads. */
#define BE_STAT_ADD(dev, field, n) \
	__atomic_fetch_add(&(dev)->stats.field, (n), __ATOMIC_RELAXED)

/* Zeroes dev, then defaults of every field (quotas, locks, fds -1); 0 or
 * -errno. be_dev_fini() undoes it and tolerates a failed init. */
int be_dev_init(struct be_dev *dev, int domid, int devid);
void be_dev_fini(struct be_dev *dev);
/* Mark the device for closing; logs once; the worker ends in order. Any
 * thread. */
void be_fault(struct be_dev *dev, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

#endif
