/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Consumers of RDMA in this guest's kernel (key kernel=1). One context, one PD and one
 * region of the HCA, the pool, serve all of them; each connection makes these anew. The HCA
 * and the backend reach the pool and the queues, and no other memory of the kernel.
 *
 * The backend can write to the queues at any time. So nothing is read from a work queue,
 * and a completion is copied once; each number in it is an index into memory of our own,
 * by a mask, and counts only if the request that it names is posted.
 */
#ifndef VHCA_KERN_H
#define VHCA_KERN_H

#include <linux/completion.h>
#include <linux/dma-mapping.h>
#include <linux/mlx5/device.h>
#include <linux/mlx5/cq.h>
#include <linux/mlx5/qp.h>
#include <linux/refcount.h>

#include "verbs/udata.h"
#include "vhca.h"

#define VHCA_POOL_IOVA		0x100000000ull
#define VHCA_POOL_SLOTS		16	/* of a page that small mappings share */
#define VHCA_POOL_SLOT		(PAGE_SIZE / VHCA_POOL_SLOTS)	/* octets */
#define VHCA_KERN_SGE		8	/* of a request */
#define VHCA_KERN_PAGES		256	/* of a fast registration */
#define VHCA_KERN_EXTENTS	4	/* of a window: what alloc_mw gives */
#define VHCA_SEGMENT		16	/* octets of a work request's segment */
#define VHCA_NO_QPN		0xffffff
#define VHCA_BF_SIZE		0x100	/* octets between registers that take turns */

/*
 * May a device have DMA operations? Not on Arm, where a store to a doorbell page that was
 * taken away is an abort in the kernel; with 32 bits vhca_key() has no room for the number
 * of a connection.
 */
#define VHCA_DMA_OPS		\
	(IS_ENABLED(CONFIG_X86_64) && IS_ENABLED(VHCA_CONFIG_DMA_OPS))

/* ---- pool.c: memory that the HCA reaches; any context ---- */
struct vhca_pool {
	struct vhca_mem *mem;
	u32 key, nr;			/* nr: pages */
	struct vhca_stats *stats;	/* pool_... */
	spinlock_t lock;		/* used ... late; counters but those of copies */
	unsigned long *used;
	unsigned long *partial;		/* pages with slots in use and free ones */
	u16 *slots;			/* of each page: those in use; 0: it has none */
	u16 *late;			/* of each page: given back, and in use as before */
	u64 *origin;			/* of each slot: its copy's, or 0 */
	const struct vhca_dev *dev;
};

/* Memory of @mb MiB; 0 or -errno. vhca_pool_exit() undoes it, after an error, too. */
int vhca_pool_init(struct vhca_pool *p, struct vhca_dev *dev, u32 mb);
void vhca_pool_exit(struct vhca_pool *p, struct vhca_dev *dev);
/*
 * @nr pages in a row, or a slot: the address of the first octet, or DMA_MAPPING_ERROR. There
 * may be no connection: then nobody reaches them before there is one.
 */
dma_addr_t vhca_pool_take(struct vhca_pool *p, u32 nr);
dma_addr_t vhca_pool_take_slot(struct vhca_pool *p);
/* The pages, or the slot, of @size octets at @addr. Without a connection they stay in use. */
void vhca_pool_give(struct vhca_pool *p, dma_addr_t addr, size_t size);
/* There is one, which has no objects yet, or there is none any more: ends that. */
void vhca_pool_back(struct vhca_pool *p);
/*
 * @addr: of a slot, or at the offset of @phys in a page. It is a copy of @size octets at
 * @phys. @late: gets its content by vhca_pool_fill() or vhca_pool_open().
 */
void vhca_pool_assign(struct vhca_pool *p, dma_addr_t addr, phys_addr_t phys,
		      size_t size, bool late);
/* A request names a range, or it is mapped: copies from its origins. */
void vhca_pool_fill(struct vhca_pool *p, u64 addr, size_t size);
/* From now on a window shows it. Copies what is late. */
void vhca_pool_open(struct vhca_pool *p, u64 addr, size_t size);
/* The consumer changed it. What is late and not open waits for a request. */
void vhca_pool_renew(struct vhca_pool *p, u64 addr, size_t size);
/* So much was received: copies to the origins. */
void vhca_pool_receive(struct vhca_pool *p, u64 addr, size_t size);
/* A read wrote it: copies to the origins. No window shows it any more. */
void vhca_pool_sink(struct vhca_pool *p, u64 addr, size_t size);
/* Copies what may have been written by windows. What was received or read is there. */
void vhca_pool_return(struct vhca_pool *p, u64 addr, size_t size);
void *vhca_pool_at(struct vhca_pool *p, dma_addr_t addr);

static inline u32 vhca_pages_of(u64 addr, size_t size)
{
	return DIV_ROUND_UP(offset_in_page(addr) + size, PAGE_SIZE);
}

/* ---- what all consumers share ---- */
struct vhca_kern {
	struct vhca_ucontext uc;	/* the first: vhca_dev.own_uc */
	struct vhca_dev *dev;
	void __iomem *uar;
	atomic_t records;		/* pages of doorbell records so far */
	struct vhca_pool pool;
	struct vhca_iw *iw;		/* NULL: rdma_cm does not use the device */
	struct xarray qps;		/* by number, until their owner destroys them */
	/* For reading: a number ends at the HCA; for writing: one begins. Outer to the gate. */
	struct rw_semaphore numbers;
	struct device_dma_parameters parms;
};

static inline struct vhca_kern *to_kern(struct ib_device *ibdev)
{
	return container_of(to_vdev(ibdev)->own_uc, struct vhca_kern, uc);
}

/*
 * A number in place of the user address of a doorbell record, by which the worker tells
 * their pages apart.
 */
static inline u64 vhca_kern_record(struct vhca_kern *kern)
{
	return (1ull << 40) + ((u64)atomic_inc_return(&kern->records) << PAGE_SHIFT);
}

/* Has the HCA an object of the connection @gen? */
static inline bool vhca_kern_alive(const struct vhca_kern *kern, u32 gen)
{
	return gen == READ_ONCE(kern->dev->gen) && vhca_ring_up(&kern->dev->ring);
}

/*
 * Stores to a register, unless the page may be gone from the guest: whoever takes it away
 * ends the connection first, and then waits for a grace period.
 */
static inline void vhca_kern_ring(struct vhca_kern *kern, u32 gen, __be32 val[2], u32 reg)
{
	rcu_read_lock();
	if (vhca_kern_alive(kern, gen))
		mlx5_write64(val, kern->uar + reg);
	rcu_read_unlock();
}

/* The HCA has gone: completions of what was posted are made up, which poll_cq is told. */
static inline void vhca_kern_posted(struct vhca_kern *kern, u32 gen)
{
	if (unlikely(!vhca_kern_alive(kern, gen)))
		vhca_event_all(kern->dev);
}

/* ---- dma.c ---- */
extern const struct dma_map_ops vhca_dma_ops;

/* ---- recv.c: receive queues, of a queue pair or shared ---- */
struct vhca_krecv {		/* a receive; the HCA cannot write here */
	u64 wr_id;
	u32 room;		/* octets */
	u16 next;		/* of an SRQ: the slot behind it in the list */
	bool posted;
};

struct vhca_krq {
	struct vhca_kern *kern;
	spinlock_t lock;		/* of those who post */
	u8 *buf;
	__be32 *db;
	u32 cnt, max_gs, stride;	/* slots, segments and octets of each */
	bool shared;
	u32 head, tail;			/* not shared: posted, completed so far */
	u16 first, last, posts;		/* shared: list of free slots */
	struct vhca_krecv *recv;
	struct ib_sge *sge;		/* max_gs for each slot */
};

/* cnt, max_gs, stride and shared are set. 0 or -ENOMEM. */
int vhca_krq_init(struct vhca_krq *rq, struct vhca_kern *kern);
void vhca_krq_exit(struct vhca_krq *rq);
/* The HCA has forgotten all receives, or begins. */
void vhca_krq_reset(struct vhca_krq *rq);
/*
 * A completion with @len octets of data here (@written: elsewhere). False: there is no
 * such receive. Under the lock of the CQ.
 */
bool vhca_krq_complete(struct vhca_krq *rq, u16 counter, u32 len, bool written,
		       struct ib_wc *wc);
/* Are there receives that have not completed? Of a queue pair; under the lock of the CQ. */
static inline bool vhca_krq_posted(const struct vhca_krq *rq)
{
	return rq->tail != smp_load_acquire(&rq->head);	/* then the request itself */
}

/* Completes without an HCA; @n of completions. */
int vhca_krq_flush(struct vhca_krq *rq, int nr, struct ib_wc *wc);
int vhca_kern_post_recv(struct ib_qp *ibqp, const struct ib_recv_wr *wr,
			const struct ib_recv_wr **bad_wr);
int vhca_kern_post_srq_recv(struct ib_srq *ibsrq, const struct ib_recv_wr *wr,
			    const struct ib_recv_wr **bad_wr);

/* ---- send.c: send queues ---- */
#define VHCA_KSQ_BLOCKS		3	/* of a request, at most */
#define VHCA_KSQ_INLINE		124

struct vhca_ksend {		/* a request; the HCA cannot write here */
	u64 wr_id;
	u32 len;
	u8 op;			/* enum ib_wc_opcode */
	bool signaled;
	u64 sink;		/* where a read writes to */
};

struct vhca_ksq {
	spinlock_t lock;		/* of those who post */
	u8 *buf;
	__be32 *db;
	u32 cnt, max_post, max_gs;	/* cnt: blocks of the ring */
	u32 cur;			/* block of the next request */
	u32 next, head, tail;		/* requests written, rung for, completed */
	u32 *seq;			/* of each block: the request that begins there */
	struct vhca_ksend *send;	/* by the number of the request */
	u32 bf;				/* the next register */
	__be32 bell[2];
	u8 next_fence;
	bool sig_all;
};

int vhca_ksq_init(struct vhca_ksq *sq);		/* as vhca_krq_init() */
void vhca_ksq_exit(struct vhca_ksq *sq);
void vhca_ksq_reset(struct vhca_ksq *sq);
bool vhca_ksq_complete(struct vhca_ksq *sq, u16 counter, bool error,
		       struct ib_wc *wc);
/* Under the lock of the CQ. */
static inline bool vhca_ksq_posted(const struct vhca_ksq *sq)
{
	return sq->tail != smp_load_acquire(&sq->head);	/* then the request itself */
}

int vhca_ksq_flush(struct vhca_ksq *sq, int nr, struct ib_wc *wc);
int vhca_kern_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr,
			const struct ib_send_wr **bad_wr);

/* ---- objects of ib_core ---- */
struct vhca_kcq {
	struct vhca_cq cq;
	struct vhca_kern *kern;
	struct ib_cq_init_attr attr;
	struct mutex renew;		/* one makes it anew */
	bool renewed;			/* qps may have dead ones */
	spinlock_t lock;
	u8 *buf;
	__be32 *db;			/* consumer index; arm */
	u32 gen, cqn, nent, cons;	/* gen: of buf */
	struct xarray qps;		/* whose completions may come here */
};

/* What connections need of a queue pair. */
struct vhca_iw_qp {
	refcount_t refs;		/* its owner's, iw_cm's, its connection's */
	struct completion free;
	struct vhca_conn *conn;		/* under vhca_iw.lock */
};

struct vhca_kqp {
	struct vhca_qp qp;
	struct vhca_iw_qp iw;
	struct vhca_ksq sq;
	struct vhca_krq rq;
};

struct vhca_ksrq {
	struct vhca_srq srq;
	struct vhca_krq rq;
};

struct vhca_kah {
	struct vhca_ah ah;
	struct mlx5_av av;
};

struct vhca_kmr {		/* a window */
	struct ib_mr ibmr;
	u32 handle, gen, nr;
	struct { u64 addr, len; } ext[VHCA_KERN_EXTENTS];
};

#define to_kcq(x)	container_of(x, struct vhca_kcq, cq.ibcq)
#define to_kqp(x)	container_of(x, struct vhca_kqp, qp.ibqp)
#define to_ksrq(x)	container_of(x, struct vhca_ksrq, srq.ibsrq)
#define to_kah(x)	container_of(x, struct vhca_kah, ah.ibah)
#define to_kmr(x)	container_of(x, struct vhca_kmr, ibmr)

/* ---- poll.c: completion queues ---- */
int vhca_kern_create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
			struct vhca_cq_attrs *attrs);
int vhca_kern_destroy_cq(struct ib_cq *ibcq, struct ib_udata *udata);
int vhca_kern_poll_cq(struct ib_cq *ibcq, int nr, struct ib_wc *wc);
int vhca_kern_arm_cq(struct ib_cq *ibcq, enum ib_cq_notify_flags flags);
/*
 * ib_core keeps CQs in a pool for as long as there is the device (ib_cq_pool_get()). So a dead
 * CQ lives again when a queue pair is made on it. 0 or -errno. Sleeps.
 */
int vhca_kcq_renew(struct vhca_kcq *cq);
/*
 * Completions of @qpn become nobody's; receives of @srq (or NULL) go back to it. @gen: of
 * the queue pair; a CQ that lives again has none of one that is dead.
 */
void vhca_kcq_clean(struct vhca_kcq *cq, u32 gen, u32 qpn, struct vhca_krq *srq);

/* ---- pair.c: queue pairs and shared receive queues ---- */
int vhca_kern_create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *attr,
			struct ib_udata *udata);
int vhca_kern_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
			struct ib_udata *udata);
int vhca_kern_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata);
int vhca_kern_create_srq(struct ib_srq *ibsrq, struct ib_srq_init_attr *init,
			 struct ib_udata *udata);
int vhca_kern_modify_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr,
			 enum ib_srq_attr_mask mask, struct ib_udata *udata);
int vhca_kern_destroy_srq(struct ib_srq *ibsrq, struct ib_udata *udata);

/* ---- window.c: fast registration ---- */
struct ib_mr *vhca_kern_alloc_mr(struct ib_pd *ibpd, enum ib_mr_type type, u32 nr);
int vhca_kern_map_mr_sg(struct ib_mr *ibmr, struct scatterlist *sg, int nents,
			unsigned int *offset);
int vhca_kern_dereg_mr(struct ib_mr *ibmr, struct ib_udata *udata);

/* ---- iw.c: connections of the kernel's rdma_cm, see iw.h ---- */
extern const struct ib_device_ops vhca_iw_ops;
/* 0 or -errno. */
int vhca_iw_begin(struct vhca_kern *kern);
/* Ends all connections but those of listeners, which wait for vhca_iw_back(). Sleeps. */
void vhca_iw_away(struct vhca_kern *kern);
void vhca_iw_back(struct vhca_kern *kern);
/* The device goes: nothing waits for a peer any more. Connections are their consumers' to end. */
void vhca_iw_leave(struct vhca_kern *kern);
/* Ends all connections. Idempotent; sleeps. */
void vhca_iw_end(struct vhca_kern *kern);

static inline void vhca_iw_qp_init(struct vhca_iw_qp *q)
{
	refcount_set(&q->refs, 1);
	init_completion(&q->free);
}

static inline void vhca_iw_qp_put(struct vhca_iw_qp *q)
{
	if (refcount_dec_and_test(&q->refs))
		complete(&q->free);
}

/*
 * A step of a queue pair, as rdma_cm asks it of a device of iWARP: completes what IB needs
 * beyond; the end of a queue pair is that of its connection. True: it is done.
 */
bool vhca_iw_modify(struct vhca_kqp *qp, struct ib_qp_attr *attr, int *mask);
/* Nobody uses the queue pair but its owner when this returns. Sleeps. */
void vhca_iw_qp_end(struct vhca_kqp *qp);

/* ---- kern.c: context, PD, address handles ---- */
/*
 * Before registration, if the device is for the kernel: sets its operations and limits,
 * and own_uc. 0 or -errno: then nothing is left.
 */
int vhca_kern_begin(struct vhca_dev *dev);
/* The connection ends: what it had, and all of its objects are dead. */
void vhca_kern_away(struct vhca_dev *dev);
/* There is another one. 0 or -errno: then the device is still away. */
int vhca_kern_back(struct vhca_dev *dev);
/* Away: how many pages of the pool a backend still maps. Sleeps. */
u32 vhca_kern_held(struct vhca_dev *dev);
/* ib_core is to end the device, which leaves: consumers do not wait for peers. */
void vhca_kern_leave(struct vhca_dev *dev);
/* After ib_core has done with the device. Idempotent. */
void vhca_kern_end(struct vhca_dev *dev);

#endif
