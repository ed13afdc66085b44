/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Work queues of drivers that trust what is in them (vhca-provider.h,
 * VHCA_QUEUE_*). The guest's process gets pages of this worker's in place of
 * the driver's; each work request is copied once, checked and posted to the
 * driver's queue, which only this worker writes.
 */
#ifndef BE_SHADOW_H
#define BE_SHADOW_H

#include <stdint.h>
#include <rdma/rdma_user_rxe.h>

#include "core/be.h"
#include "vhca-provider.h"

#define BE_WQE_SHIFT	12		/* log2 of a queue's largest element */
#define BE_WQE_MAX	(1u << BE_WQE_SHIFT)

/* Who finds no receive tries again (RC), or the message is lost (UC, UD). */
#define BE_RECV_RC_NS	5000000u
#define BE_RECV_LOSSY_NS 1000000u

struct be_ah;
struct be_chunk;
struct be_mmap;

/* One queue; owned by its range (struct be_mmap). */
struct be_shadow {
	struct be_shadow *next, **prev;	/* dev->shadows */
	const struct be_dev *dev;
	struct be_obj *owner;		/* QP or SRQ, NULL when it is gone */
	struct rxe_queue_buf *real;	/* the driver's */
	struct rxe_queue_buf *guest;	/* what the guest's process maps */
	size_t length;			/* octets of either */
	struct be_chunk *chunk;		/* where the guest's is: chunk.h */
	enum vhca_queue kind;
	uint32_t shift, mask;		/* log2 of an element; indices */
	uint32_t prod;			/* of the real queue: ours */
	uint32_t taken;			/* of the guest's queue */
	uint32_t ssn;
	uint32_t max_sge, max_inline;
	uint8_t qp_type;		/* send queue */
	uint32_t pd;			/* handle of its domain, likewise */
	bool trusted;			/* windows are allowed */
	bool behind;			/* the real queue was full */
};

/**
 * be_shadow_new() - a queue for a guest beside one of the driver's
 * @m: range whose addr and length are those of the driver's queue
 * @kind: VHCA_QUEUE_SEND or VHCA_QUEUE_RECV
 * @owner: its QP or SRQ
 * @err: 0 or -errno: -EIO, the queue has not the form of this driver's
 */
struct be_shadow *be_shadow_new(struct be_dev *dev, const struct be_mmap *m,
				enum vhca_queue kind, struct be_obj *owner,
				int *err);
/* The grants of its pages have ended, or hold them. NULL is fine. */
void be_shadow_free(struct be_dev *dev, struct be_shadow *s);
/* The driver's queue is gone, or is another one now: nothing is posted. */
void be_shadow_detach(struct be_dev *dev, struct be_obj *owner);
/* Undoes it for one queue. */
void be_shadow_attach(struct be_dev *dev, struct be_shadow *s,
		      struct be_obj *owner);
/* How many requests the driver has and did not execute yet. */
uint32_t be_shadow_queued(const struct be_shadow *s);

/*
 * Post what the guest has posted. With dev->lock held for reading, and by one
 * thread at a time: under be_dev.kick_lock a send queue, under the lock of
 * recv_poll.c a receive queue. Return: number of work requests.
 */
unsigned int be_shadow_take(struct be_dev *dev, struct be_shadow *s);
/*
 * be_shadow_take() for all receive queues. Takes dev->lock itself.
 *
 * @most: so many requests at most; the next one begins where this one ends
 * @look_ns: out, when to look again at the latest; 0: there is no need to
 */
unsigned int be_shadow_receives(struct be_dev *dev, unsigned int most,
				uint64_t *look_ns);
/* be_shadow_take() and post for send queues that had no room. Takes dev->lock
 * itself. Return: one has none yet. */
bool be_shadow_sends(struct be_dev *dev);

/* How many queues have a request that the driver has not executed and that
 * names this address handle? Takes dev->lock itself. */
uint32_t be_shadow_names_ah(struct be_dev *dev, uint32_t num);

/* ---- recv_poll.c: the receive thread moves receives into the driver's queues ---- */
#define BE_RECV_POLL_NICE	(-10)
/* Move receives that the guest has posted into the driver's queues. Any thread,
 * without dev->lock; nothing to do before be_recv_poll_start(). */
void be_recv_poll_now(struct be_dev *dev);
int be_recv_poll_start(struct be_dev *dev);
void be_recv_poll_stop(struct be_dev *dev);

/* ---- rxe_wqe.c ---- */
/**
 * be_rxe_send() - the work request that a send queue may hold
 * @s: whose limits count; with dev->lock held, as address handles are looked up
 * @raw: private copy of what the guest wrote, aligned to 8, an element long
 * @wqe: out, zeroed by the caller, as long
 *
 * A request that is refused becomes one that the driver completes with
 * IB_WC_LOC_QP_OP_ERR. Return: false if it was.
 */
bool be_rxe_send(struct be_shadow *s, const void *raw, void *wqe);
/* The address handle that a request of a UD queue pair names. */
uint32_t be_rxe_ah(const void *wqe);
/* The same as be_rxe_send() for a receive queue; a refused one takes no data. */
bool be_rxe_recv(const struct be_shadow *s, const void *raw, void *wqe);
/* Room for scatter/gather elements and inline data behind the fixed part. */
uint32_t be_rxe_room(enum vhca_queue kind, uint32_t element);
/* From now on requests of the handle's domain may name it. */
void be_ah_number_add(struct be_dev *dev, struct be_ah *ah);
/* No more; also of a handle that was not added. */
void be_ah_number_del(struct be_dev *dev, struct be_ah *ah);

/* ---- rxe_attr.c ---- */
struct be_qp;
struct be_srq;
struct ib_uverbs_modify_qp;
/**
 * be_rxe_modify_qp() - may the driver be asked for this?
 * @fd: verbs file of the queue pair
 * @m: what it would be asked; the current state is taken out, so that the driver goes
 *     by the one that it knows
 *
 * Return: 0; -EINVAL, what the driver would believe is wrong; -errno.
 */
int be_rxe_modify_qp(int fd, const struct be_qp *qp,
		     struct ib_uverbs_modify_qp *m);
/**
 * be_rxe_resize_srq() - before the driver is asked for another queue
 * @err: 0, or -EINVAL: more requests are queued than another one had room for
 *
 * Nothing is posted to the old queue from now on.
 *
 * Return: the old queue, to attach it again if the driver refuses; NULL: it is not
 * mapped, or *err is set.
 */
struct be_shadow *be_rxe_resize_srq(struct be_dev *dev, struct be_srq *srq,
				    uint32_t max_wr, int *err);

#endif
