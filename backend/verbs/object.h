/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Objects: their life, and what each kind has and offers to others.
 */
#ifndef BE_OBJECT_H
#define BE_OBJECT_H

#include "core/be.h"
#include "jobs.h"
#include "udata.h"
#include "vhca-keys.h"

struct be_shadow;

/* ---- object.c ---- */

/*
 * A kind of objects, be_kind_<word> in the kind's own file. A destroy command of
 * an object that others need (busy) is refused. end() is the physical object's, or
 * host_end() where the kernel's call is all of it: 0 or the kernel's error, the
 * object stays as it is; release() gives back what the HCA is done with. Each may be
 * NULL: nothing to do.
 */
struct be_kind {
	bool (*busy)(const struct be_obj *obj);
	int (*end)(struct be_dev *dev, struct be_obj *obj);
	int (*host_end)(int fd, uint32_t host);
	void (*release)(struct be_dev *dev, struct be_obj *obj);
};
#define BE_KIND_ROW_(KIND, word, def) extern const struct be_kind be_kind_##word;
XENVHCA_KINDS(BE_KIND_ROW_)
#undef BE_KIND_ROW_

/**
 * be_obj_new() - charge the quota, allocate, reserve a handle
 * @size: sizeof of the type's struct
 *
 * It is the command's ucontext's, or the device's own (be_dev.ctl). The handle is known
 * but not found by be_handle_get() until be_obj_publish(). Return: the object or NULL
 * with *err set.
 */
void *be_obj_new(const struct be_cmd *c, enum be_type type, size_t size,
		 int *err);
/* Make it visible: type and the list of its owner. */
void be_obj_publish(struct be_dev *dev, struct be_obj *obj, enum be_type type,
		    uint32_t host);
/**
 * be_obj_made() - end of a command that makes an object
 * @u: NULL if the command has no udata
 * @host: physical object
 * @err: of what made that; then the object is released and freed
 *
 * Otherwise be_obj_publish(), then be_udata_end(); if that fails the object is destroyed.
 * Return: the error.
 */
int be_obj_made(const struct be_cmd *c, struct be_udata *u, struct be_obj *obj,
		enum be_type type, uint32_t host, int err);
/* Undo be_obj_new() and be_obj_publish(). NULL is fine. */
void be_obj_free(struct be_dev *dev, struct be_obj *obj, enum be_type type);
/* Destroy the physical object, then release its memory and itself. Return: 0
 * or the kernel's error (the object stays as it is). */
int be_obj_destroy(struct be_dev *dev, struct be_obj *obj);
/* The physical object is gone: unmap its memory, free the rest. */
void be_obj_release(struct be_dev *dev, struct be_obj *obj);
/*
 * Destroy every object of a context that the HCA lets go of, down to the type @last
 * (XENVHCA_KINDS backwards: users first), but mappings of queue memory.
 */
void be_objs_destroy(struct be_dev *dev, struct be_uc *uc, unsigned int last);
#define BE_OBJS_ALL	(BE_NONE + 1)
/* Release those that it did not, which the end of the file destroys. Users go
 * first here, too: their release touches what they used. */
void be_objs_release(struct be_dev *dev, struct be_uc *uc);
/* Handler of every DESTROY, DEALLOC, DEREG with a handle. */
int be_destroy(const struct be_cmd *c, enum be_type type);

/* ---- pd.c ---- */
struct be_pd {
	struct be_obj o;
	unsigned int jobs;		/* of the job threads, of what is in it */
};

/* ---- mr.c, mw.c ---- */
struct be_mr {
	struct be_obj o;
	struct be_pd *pd;
	uint32_t access;		/* as registered, or asked for since */
	struct be_gmap mem;
	bool busy;			/* a job thread deregisters it */
	bool stays;			/* it could not, when the context ended */
};
struct be_mw { struct be_obj o; };

/* The context ends: has it regions that a job thread should end? */
bool be_mrs_slow(const struct be_uc *uc);
/* Leaves them to it, as many as it takes. */
void be_mrs_leave(struct be_dev *dev, struct be_uc *uc);
/*
 * Regions of at least this size do not use a dma-buf. Asks the HCA's driver, when the
 * device is opened; @odp: the general ODP capabilities of the HCA.
 */
uint64_t be_dmabuf_end(struct be_dev *dev, uint64_t odp);
/* May this guest have memory windows of this HCA? */
bool be_windows(const struct be_dev *dev);

/* ---- xrcd.c: XRC domains, and what else lives in the device and in no context ---- */
struct be_xrcd {			/* in dev->ctl */
	struct be_obj o;
	int inode_fd;			/* names it to other verbs files */
	uint32_t users;			/* SRQs and target QPs */
	struct be_line line;		/* changes of those that may wait */
	bool dying;			/* ends with its last user */
};

/* dev->ctl on the files of the device's own context. 0 or -ENOMEM. */
int be_ctl_open(struct be_dev *dev);
/* Destroy what is in it. The files are the caller's. NULL is fine. */
void be_ctl_close(struct be_dev *dev);
/* XRC domain that an SRQ or QP may be made in, or NULL with *err = -ENOENT. */
struct be_xrcd *be_xrcd_get(const struct be_cmd *c, uint32_t handle, int *err);
/* One user less: the last of a dying one ends it. NULL is fine. */
void be_xrcd_put(struct be_dev *dev, struct be_xrcd *xrcd);

/* ---- cq.c, srq.c, qp.c, mcast.c ---- */
struct be_cq {
	struct be_obj o;
	struct be_bufs bufs;
	uint32_t cqe;
};
struct be_srq {
	struct be_obj o;
	struct be_bufs bufs;
	struct be_xrcd *xrcd;		/* NULL: basic */
	uint32_t xrcd_host;		/* its handle in our verbs file */
	uint32_t max_sge;
	struct be_shadow *rq;		/* NULL: none, or not mapped */
};
struct be_qp {
	struct be_obj o;
	struct be_bufs bufs;
	uint8_t qp_type;
	uint8_t state;			/* as last set by the guest; any thread */
	unsigned int jobs;		/* of the job threads, that modify it */
	uint32_t pd;			/* handle, 0: XRC target */
	uint32_t qpn;
	bool charged;			/* for the group of its number */
	struct xenvhca_qp_cap cap;
	struct be_shadow *sq, *rq;	/* NULL: none, or not mapped */
	struct be_xrcd *xrcd;		/* NULL: no XRC target */
};
struct be_mcast {
	struct be_obj o;
	struct be_qp *qp;
	uint8_t gid[16];
	uint16_t mlid;			/* the guest's */
	uint16_t host_lid;		/* by which the kernel knows it */
};

/* ---- ah.c ---- */
struct be_ah {
	struct be_obj o;
	struct be_ah *next, **prev;	/* dev->ahs; prev NULL: not in it */
	uint32_t num;			/* the driver's, by which a WQE names it */
	uint32_t pd;			/* handle */
};

/* Address of a path, checked. 0, -EINVAL, or as be_gid_check(). */
int be_ah_check(const struct be_dev *dev, const struct xenvhca_ah_attr *ah);
/* The same of one that the guest made: with the physical index then (be_gid_to_host()). */
int be_ah_to_host(const struct be_dev *dev, struct xenvhca_ah_attr *ah);
/* Does the kernel ask the network for the Ethernet address? Then it may wait. */
bool be_ah_waits(const struct be_dev *dev, const struct xenvhca_ah_attr *ah);

#endif
