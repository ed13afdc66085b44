/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Inside of xen-vhcad: objects and functions that cross a file boundary.
 *
 * One supervisor (main.c) forks one worker per device (worker.c). A worker
 * runs three threads: command (worker.c: command ring, xenstore), kick
 * (kick.c) and event (event.c: verbs fds to event ring). be_dev.lock is
 * read-held while a handle is used by the kick or event thread, write-held by
 * the command thread while the tables change or an fd is closed.
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
enum be_type {			/* also handle types */
	BE_NONE, BE_UCONTEXT, BE_PD, BE_CQ, BE_QP, BE_SRQ, BE_AH, BE_MR, BE_MW,
	BE_MCAST, BE_MMAP, BE_TYPES
};
struct be_bucket { uint64_t rate, tokens_ns, last_ns; };
struct be_quota {
	uint32_t max[BE_TYPES], used[BE_TYPES];
	uint64_t max_pages, used_pages;		/* guest pages mapped */
	struct be_bucket cmd, evt;
	uint32_t spin_us;
};
void be_quota_defaults(struct be_quota *q);
int be_quota_take(struct be_quota *q, enum be_type t);	/* 0 or -EDQUOT->wire ENOMEM */
void be_quota_give(struct be_quota *q, enum be_type t);
int be_quota_take_pages(struct be_quota *q, uint64_t n);
void be_quota_give_pages(struct be_quota *q, uint64_t n);
/* 0: a token was taken; else nanoseconds until there is one. */
uint64_t be_bucket_take(struct be_bucket *b, uint64_t now_ns);
extern const char *const be_type_name[BE_TYPES];

/* ---- transport.h: what carries requests; ring_xen.c or ring_loop.c ---- */
struct be_transport;
struct be_transport_ops {
	/* Copies the next request. 1: got one, 0: none (notification is
	 * armed), -EPROTO: ring violated, device must be closed. */
	int (*get_request)(struct be_transport *t, struct xenvhca_request *req);
	/* Copies out; notifies if the frontend asked for it. */
	int (*put_response)(struct be_transport *t,
			    const struct xenvhca_response *rsp);
	/* 0, or -ENOSPC: full, overflow flag was set. */
	int (*put_event)(struct be_transport *t, const struct xenvhca_event *ev);
	/* Up to max entries; advances cons. -EPROTO as above. */
	int (*get_kicks)(struct be_transport *t, struct xenvhca_kick *kick,
			 unsigned int max);
	/* n more entries executed. */
	void (*kicks_done)(struct be_transport *t, unsigned int n);
	/* Arm the kick notification; true if entries are there already. */
	bool (*arm_kicks)(struct be_transport *t);
	/* fds to poll: command ring, kick ring. ack returns when read. */
	int (*cmd_fd)(struct be_transport *t);
	int (*kick_fd)(struct be_transport *t);
	void (*cmd_ack)(struct be_transport *t, bool had_work);
	void (*kick_ack)(struct be_transport *t, bool had_work);

	/* Guest memory: map n grants read-write at one contiguous address,
	 * all or nothing. at: NULL or a reserved range. Returns address or
	 * NULL with errno. */
	void *(*map)(struct be_transport *t, const uint32_t *ref, uint32_t n);
	void (*unmap)(struct be_transport *t, void *addr, uint32_t n);
	/* HCA memory mapped at addr: grant n pages; id for ungrant. */
	int (*grant)(struct be_transport *t, void *addr, uint32_t n,
		     uint32_t *ref, uint32_t *id);
	/* 0, or number of pages the guest still maps (handed over). */
	int (*ungrant)(struct be_transport *t, uint32_t id);
	void (*close)(struct be_transport *t);
};
struct be_transport { const struct be_transport_ops *ops; };

/* ---- uverbs.c: the raw kernel ABI, behind a table for unit tests ---- */
/*
 * be_uverbs_sys: system calls used by uverbs*.c. The daemon uses the real
 * ones; unit tests put a fake driver here (tests/unit/fake_uverbs.c).
 */
struct be_uverbs_sys {
	int (*open)(const char *path, int flags);
	ssize_t (*write)(int fd, const void *buf, size_t len);
	ssize_t (*read)(int fd, void *buf, size_t len);
	void *(*mmap)(void *a, size_t len, int prot, int fl, int fd, off_t off);
	int (*munmap)(void *a, size_t len);
	int (*close)(int fd);
};
extern struct be_uverbs_sys be_sys;

/* ---- handle.c ---- */
struct be_obj {
	enum be_type type;
	uint32_t handle;		/* wire */
	uint32_t host;			/* uverbs handle */
	struct be_obj *uc;		/* owner, NULL for a ucontext */
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
			     enum be_type type, const struct be_obj *uc);

/* ---- device ---- */
struct be_stats {
	uint64_t cmds, cmd_errors, kicks, kick_spins, kick_sleeps, events,
		 events_dropped, faults, rate_waits;
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
	const struct vhca_provider *prov;
	struct xenvhca_get_info_rsp info;
	int ctl_fd;			/* uverbs context for queries */
	int epoll_fd;			/* event thread */
	bool fault;			/* close this device */
	char fault_reason[128];
};
/* Mark the device for closing; logs once; the worker ends in order. */
void be_fault(struct be_dev *dev, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* ---- dispatch.c / <object>.c ---- */
/* Open the HCA, read its limits, choose the provider. Clear message to log on
 * failure. */
int be_dev_open(struct be_dev *dev);
/* Close every ucontext (objects first, then unmap), then the HCA. */
void be_dev_close(struct be_dev *dev);
/* Executes one request: fills the whole response. Command thread only. */
void be_dispatch(struct be_dev *dev, const struct xenvhca_request *req,
		 struct xenvhca_response *rsp);

/* ---- kick.c, event.c ---- */
/* Execute one kick under the read lock. */
void be_kick(struct be_dev *dev, const struct xenvhca_kick *k);
int be_kick_start(struct be_dev *dev);
void be_kick_stop(struct be_dev *dev);
/* Register / forget the verbs fds (comp channel, async) of a ucontext;
 * called by ucontext.c. cookie = ucontext object. */
int be_event_add(struct be_dev *dev, int fd, struct be_obj *uc, bool async);
void be_event_del(struct be_dev *dev, int fd);
int be_event_start(struct be_dev *dev);
void be_event_stop(struct be_dev *dev);
/* Queue an event to the guest (quota, overflow). */
void be_event_push(struct be_dev *dev, uint8_t type, uint8_t event,
		   uint32_t handle);

#endif
