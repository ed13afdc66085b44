/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Objects that a worker keeps for its guest and what the object handlers
 * share. All of it belongs to the command thread; the kick and event threads
 * may read what they reach through be_handle_get() while they hold
 * be_dev.lock for reading, so every change of a published object's links, and
 * every close of its fds, happens with the lock held for writing.
 */
#ifndef OBJ_H
#define OBJ_H

#include "be.h"
#include "vhca-provider.h"
#include "uverbs/uverbs.h"

/* One request on its way through the handlers. */
struct be_cmd {
	struct be_dev *dev;
	struct be_uc *uc;		/* NULL if the request names none */
	const struct xenvhca_request *req;	/* private copy */
	struct xenvhca_response *rsp;	/* zeroed, id and op set */
};

/* ---- gmap.c: guest pages mapped here ---- */
struct be_gmap {
	void *addr;			/* NULL: nothing mapped */
	uint32_t nr_pages;
	bool readonly;
};
/**
 * be_gmap_map() - check a page list, charge the quota, map all pages
 * @readonly: the list may be a read-only one, of a region nobody writes to
 * @g: out, must be empty; unchanged on error
 *
 * Return: 0; -EINVAL malformed list; -EDQUOT over max-pinned-mb; -ENOMEM;
 * the error of the transport.
 */
int be_gmap_map(struct be_dev *dev, const struct xenvhca_pages *pages,
		bool readonly, struct be_gmap *g);
/* Unmap and give the quota back; empty is fine. The HCA must be done. */
void be_gmap_unmap(struct be_dev *dev, struct be_gmap *g);
/* 0, or -EINVAL if [offset, offset + length) does not need exactly nr_pages */
int be_gmap_check_range(uint32_t nr_pages, uint32_t page_offset,
			uint64_t length);
/* True if there is no list and its fields are 0. */
bool be_pages_absent(const struct xenvhca_pages *pages);

/* ---- provider_udata.c: opaque user data, by the provider's table ---- */
#define BE_MAX_BUFS	2

struct be_shadow;			/* shadow.h */
struct be_dbpage;			/* doorbell-record page, refcounted */

/* Queue memory in user pages (none for rxe); part of CQ, QP, SRQ. */
struct be_bufs {
	struct be_gmap buf[BE_MAX_BUFS];
	struct be_dbpage *db;
};

/*
 * mmap offset that a response handed out. Lives as long as its queue; the
 * queue's memory is charged here, or to the range while that is mapped, as
 * either may end first.
 */
struct be_key {
	struct be_key *next;
	uint64_t offset;
	uint32_t size;			/* octets */
	uint32_t owner;			/* handle of CQ, QP or SRQ */
	uint32_t charged;		/* pages of queue memory */
	enum vhca_queue queue;
	bool mapped;			/* once, and never again */
};

/* A doorbell page of a context, from its mmap to the context's end. */
struct be_doorbell {
	struct be_doorbell *next;
	uint64_t offset, gfn;
	void *addr;			/* mapped here: keeps the verbs file */
	struct be_bell bell;
	bool broken;			/* the guest was not told of it */
};

struct be_udata {
	struct be_uc *uc;
	const struct vhca_udata_op *row;	/* NULL: no udata */
	struct uv_udata uv;		/* what goes to the kernel */
	uint16_t guest_out;		/* out_len without OUTPTR data */
	uint16_t extra;			/* octets of ptr_out */
	uint8_t in[XENVHCA_UDATA_SIZE];
	uint8_t out[XENVHCA_UDATA_SIZE];
	uint64_t ptr_out[8];		/* target of OUTPTR */
};

/* The page lists of a request, in the order of the table's BUF fields. */
struct be_lists {
	const struct xenvhca_pages *buf[BE_MAX_BUFS];
	const struct xenvhca_pages *db;
};

/**
 * be_udata_begin() - rewrite the request udata for the kernel
 * @lists: page lists of the request, NULL if the request has none
 * @bufs: out, memory that was mapped for the object; NULL with @lists NULL
 *
 * Return: 0, -EINVAL if lengths or lists do not fit the table, or the error
 * of mapping. Nothing stays mapped on error.
 */
int be_udata_begin(struct be_udata *u, const struct be_cmd *c,
		   const struct be_lists *lists, struct be_bufs *bufs);
/* After success: fill the response udata, remember its mmap offsets. */
int be_udata_end(struct be_udata *u, const struct be_cmd *c, uint32_t owner);
void be_bufs_release(struct be_dev *dev, struct be_uc *uc,
		     struct be_bufs *bufs);
/* Offsets of a destroyed object must not be mapped any more. */
void be_keys_drop(struct be_dev *dev, struct be_uc *uc, uint32_t owner);
void be_keys_drop_all(struct be_dev *dev, struct be_uc *uc);

/* ---- objects; base first, so that a be_obj pointer converts ---- */
struct be_uc {
	struct be_obj o;
	struct be_obj *objs[BE_TYPES];	/* lists by type */
	struct be_key *keys;
	struct be_dbpage *dbpages;
	struct be_doorbell *doorbells;
	struct be_opening *opening;	/* NULL: no HCA with doorbells */
	unsigned int exchanges;		/* of its files, park.c */
	bool spoilt;			/* a page of it belongs to another */
	uint32_t unit;			/* VHCA_UNIT of the HCA, or 0 */
	uint32_t uars;			/* charged, until fd is closed */
	int fd;				/* uverbs file */
	int async_fd, comp_fd;
	bool closing;			/* DEALLOC_UCONTEXT failed: retried */
};
struct be_pd { struct be_obj o; };
struct be_ah { struct be_obj o; };
struct be_mw { struct be_obj o; };
struct be_mr {
	struct be_obj o;
	uint32_t access;		/* as registered, or asked for since */
	struct be_gmap mem;
};
struct be_mmap {
	struct be_obj o;
	uint64_t offset;
	size_t length;
	void *addr;
	uint32_t nr_pages;
	uint32_t charged;		/* see be_key */
	uint32_t grant_id;
	uint32_t owner;			/* handle of the queue's object */
	uint32_t *ref;			/* nr_pages references */
	struct be_shadow *shadow;	/* what is granted, NULL: addr */
};
struct be_cq {
	struct be_obj o;
	struct be_bufs bufs;
	uint32_t cqe;
};
/* XRC domain; in dev->ctl. */
struct be_xrcd {
	struct be_obj o;
	int inode_fd;			/* names it to other verbs files */
	uint32_t users;			/* SRQs and target QPs */
	bool dying;			/* ends with its last user */
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
	uint8_t state;			/* as last set by the guest */
	struct xenvhca_qp_cap cap;
	struct be_shadow *sq, *rq;	/* NULL: none, or not mapped */
	struct be_xrcd *xrcd;		/* NULL: no XRC target */
};
struct be_mcast {
	struct be_obj o;
	struct be_qp *qp;
	uint8_t gid[16];
	uint16_t mlid;
};

/* ---- object.c: life of an object ---- */
/*
 * A kind of objects, be_kind_<word> in the kind's own file. A destroy command of
 * an object that others need (busy) is refused. end() is the physical object's:
 * 0 or the kernel's error, the object stays as it is; release() gives back what
 * the HCA is done with. Each may be NULL: nothing to do.
 */
struct be_kind {
	bool (*busy)(const struct be_obj *obj);
	int (*end)(const struct be_dev *dev, const struct be_obj *obj);
	void (*release)(struct be_dev *dev, struct be_obj *obj);
};
#define BE_KIND_ROW_(KIND, word, def) extern const struct be_kind be_kind_##word;
XENVHCA_KINDS(BE_KIND_ROW_)
#undef BE_KIND_ROW_

/**
 * be_obj_new() - charge the quota, allocate, reserve a handle
 * @size: sizeof of the type's struct
 *
 * The handle is known but not found by be_handle_get() until
 * be_obj_publish(). Return: the object or NULL with *err set.
 */
void *be_obj_new(struct be_dev *dev, enum be_type type, size_t size, int *err);
/* Make it visible: type, owner and its list. uc NULL for a ucontext. */
void be_obj_publish(struct be_dev *dev, struct be_obj *obj, enum be_type type,
		    struct be_uc *uc, uint32_t host);
/* Undo both; @type as in be_obj_new(). NULL is fine. */
void be_obj_free(struct be_dev *dev, struct be_obj *obj, enum be_type type);
/* Object of this command's ucontext or NULL with *err = -ENOENT. */
void *be_obj_get(const struct be_cmd *c, uint32_t handle, enum be_type type,
		 int *err);
/* Destroy the physical object, then release its memory and itself. Return: 0
 * or the kernel's error (the object stays as it is). */
int be_obj_destroy(struct be_dev *dev, struct be_obj *obj);
/* The physical object is gone: unmap its memory, free the rest. */
void be_obj_release(struct be_dev *dev, struct be_obj *obj);
/* Handler of every DESTROY, DEALLOC, DEREG with a handle. */
int be_destroy(const struct be_cmd *c, enum be_type type);

/* ---- xrcd.c: what lives in the device, not in a ucontext ---- */
/* dev->ctl on the files of the device's own context. 0 or -ENOMEM. */
int be_ctl_open(struct be_dev *dev);
/* Destroy what is in it. The files are the caller's. NULL is fine. */
void be_ctl_close(struct be_dev *dev);
/* XRC domain that an SRQ or QP may be made in, or NULL with *err = -ENOENT. */
struct be_xrcd *be_xrcd_get(const struct be_cmd *c, uint32_t handle, int *err);
void be_xrcd_hold(struct be_xrcd *xrcd);
/* One user less: the last of a dying one ends it. NULL is fine. */
void be_xrcd_put(struct be_dev *dev, struct be_xrcd *xrcd);
/* Open it in the verbs file of a ucontext: *host is its handle there. */
int be_xrcd_open(const struct be_cmd *c, const struct be_xrcd *xrcd,
		 uint32_t *host);

/* ---- ucontext.c ---- */
/* Destroy every object in it that the HCA lets go of, users first. */
void be_uc_destroy_objects(struct be_dev *dev, struct be_uc *uc);
/* Destroy everything in it, close, unmap, in the order that is safe. 0, or
 * -errno: a doorbell page may still be the guest's; everything else is gone. */
int be_ucontext_close(struct be_dev *dev, struct be_uc *uc);
void be_mmap_release(struct be_dev *dev, struct be_mmap *m);
void be_files_close(struct be_dev *dev, struct be_uc *uc);
/* Listen to the events of its files. 0 or -errno. */
int be_files_listen(struct be_dev *dev, struct be_uc *uc);

/* ---- doorbell.c: doorbell pages ---- */
/* MMAP of a row of the provider's table. */
int be_doorbell_mmap(const struct be_cmd *c, const struct vhca_mmap *row);
/* Take the pages from the guest; 0, or -errno if one may still be its. */
int be_doorbells_end(struct be_dev *dev, struct be_doorbell **list);

/* ---- park.c: open contexts that nobody uses ---- */
/*
 * The page table entries of a PV guest cannot be taken back, only the guest's
 * word is there that they are gone. So a context whose doorbells such a guest
 * had stays open, without objects, until the guest opens the next one.
 *
 * be_park(): true if the context was put aside; uc has no files any more.
 * be_unpark(): give uc the files of a parked context that was opened by the
 * same request; true if there was one, and the response is filled in.
 */
bool be_park(struct be_dev *dev, struct be_uc *uc);
bool be_unpark(const struct be_cmd *c, struct be_uc *uc);
/* Charge doorbell pages that the HCA's driver is about to allocate for uc;
 * parked contexts make room. 0, -EDQUOT or -ENOMEM: refused, and logged. */
int be_uars_take(struct be_dev *dev, struct be_uc *uc, uint32_t n);
/* Remember how it was opened. 0 or -ENOMEM. */
int be_opening_keep(const struct be_cmd *c, const struct be_udata *u,
		    struct be_uc *uc);
/**
 * be_exchange() - give a context that nothing was made in other files
 *
 * For when the agent refuses a page because another guest may still have it:
 * the HCA chooses others for a context opened anew, while the old one stays
 * open. Return: true if the context has new files, opened in the same way.
 */
bool be_exchange(struct be_dev *dev, struct be_uc *uc);
/* The device ends: nobody asks the HCA for pages any more. */
void be_spoilt_close(struct be_dev *dev);

/* ---- mw.c: may this guest have memory windows of this HCA? ---- */
bool be_windows(const struct be_dev *dev);

/* ---- ah.c: address of a path, checked and with the physical port ---- */
int be_ah_check(const struct be_dev *dev, const struct xenvhca_ah_attr *ah);

/* ---- handlers, one per opcode; 0 or -errno; rsp->u filled in ---- */
int be_get_info(const struct be_cmd *c);
int be_query_device(const struct be_cmd *c);
int be_query_port(const struct be_cmd *c);
int be_query_gid_table(const struct be_cmd *c);
int be_query_pkey_table(const struct be_cmd *c);
int be_alloc_ucontext(const struct be_cmd *c);
int be_dealloc_ucontext(const struct be_cmd *c);
int be_mmap(const struct be_cmd *c);
int be_munmap(const struct be_cmd *c);
int be_alloc_pd(const struct be_cmd *c);
int be_dealloc_pd(const struct be_cmd *c);
int be_alloc_xrcd(const struct be_cmd *c);
int be_dealloc_xrcd(const struct be_cmd *c);
int be_reg_mr(const struct be_cmd *c);
int be_rereg_mr(const struct be_cmd *c);
int be_dereg_mr(const struct be_cmd *c);
int be_alloc_mw(const struct be_cmd *c);
int be_dealloc_mw(const struct be_cmd *c);
int be_create_cq(const struct be_cmd *c);
int be_resize_cq(const struct be_cmd *c);
int be_destroy_cq(const struct be_cmd *c);
int be_create_qp(const struct be_cmd *c);
int be_modify_qp(const struct be_cmd *c);
int be_query_qp(const struct be_cmd *c);
int be_destroy_qp(const struct be_cmd *c);
int be_create_srq(const struct be_cmd *c);
int be_modify_srq(const struct be_cmd *c);
int be_query_srq(const struct be_cmd *c);
int be_destroy_srq(const struct be_cmd *c);
int be_create_ah(const struct be_cmd *c);
int be_destroy_ah(const struct be_cmd *c);
int be_attach_mcast(const struct be_cmd *c);
int be_detach_mcast(const struct be_cmd *c);

#endif
