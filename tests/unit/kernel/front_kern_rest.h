/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The rest of the module for frontend/kernel/: each device's objects are those of one of
 * two HCA models (front_kern_hca.h), or memory alone if @hca_model is false.
 */
#ifndef FRONT_KERN_REST_H
#define FRONT_KERN_REST_H

#include "front_kern.h"
#include "front_kern_hca.h"

/*
 * What a consumer may call in any context is called here as under its spin lock: whatever
 * sleeps in there fails (one_thread.h).
 */
#define atomically(call)						\
({									\
	kernel_atomic++;						\
	__auto_type __r = (call);					\
	kernel_atomic--;						\
	__r;								\
})
#define create_ah(...)		atomically(create_ah(__VA_ARGS__))
#define destroy_ah(...)		atomically(destroy_ah(__VA_ARGS__))
#define map_page(...)		atomically(map_page(__VA_ARGS__))
#define map_sg(...)		atomically(map_sg(__VA_ARGS__))
#define unmap(...)		atomically((unmap(__VA_ARGS__), 0))
#define unmap_sg(...)		atomically((unmap_sg(__VA_ARGS__), 0))
#define vhca_kern_arm_cq(...)	atomically(vhca_kern_arm_cq(__VA_ARGS__))
#define vhca_kern_map_mr_sg(...) atomically(vhca_kern_map_mr_sg(__VA_ARGS__))
#define vhca_kern_poll_cq(...)	atomically(vhca_kern_poll_cq(__VA_ARGS__))
#define vhca_kern_post_recv(...) atomically(vhca_kern_post_recv(__VA_ARGS__))
#define vhca_kern_post_send(...) atomically(vhca_kern_post_send(__VA_ARGS__))
#define vhca_kern_post_srq_recv(...) atomically(vhca_kern_post_srq_recv(__VA_ARGS__))

struct end {			/* a guest with its HCA */
	struct vhca_dev dev;
	struct vhca_store store;
	struct ib_pd pd;
	struct vhca_kcq scq, rcq;
	struct vhca_kqp qp;
	struct vhca_ksrq srq;
	struct vhca_mem mem[24];	/* that the device has now */
};

static struct end ends[2];
static u8 registers[2][PAGE_SIZE];
static bool hca_model;
static unsigned int commands, destroyed, stores;
static unsigned int bufs_put;
static u32 held;		/* pages of the pool, by the backend */
static unsigned int granted_again;
static int command_rc;
static const char *broken;

static struct end *end_of(const struct vhca_dev *dev)
{
	return container_of(dev, struct end, dev);
}

static struct hca_side *side_of(const struct vhca_dev *dev)
{
	return hca_side(end_of(dev) - ends);
}

/* Memory of the HCA's, or of nobody if there is none. */
static struct vhca_mem *mem_at(struct vhca_dev *dev, void *va, size_t size)
{
	struct end *e = end_of(dev);
	struct vhca_mem *mem = e->mem;

	while (mem < e->mem + ARRAY_SIZE(e->mem) && mem->va)
		mem++;
	assert_true(mem < e->mem + ARRAY_SIZE(e->mem));
	mem->dev = dev;
	mem->va = va ? va : memset(aligned_alloc(PAGE_SIZE, PAGE_ALIGN(size)), 0,
				   PAGE_ALIGN(size));
	return mem;
}

/* Nobody has it any more: without a model a use of it is one of freed memory. */
static void mem_free(struct vhca_mem *mem)
{
	if (!mem || !mem->va)
		return;
	if (!hca_model && mem->va != side_of(mem->dev)->pool)
		free(mem->va);
	mem->va = NULL;
}

static void mems_free(struct end *e)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(e->mem); i++)
		mem_free(&e->mem[i]);
}

struct vhca_mem *vhca_mem_new(struct vhca_dev *dev, u32 nr)
{
	return mem_at(dev, side_of(dev)->pool, nr * PAGE_SIZE);
}

void vhca_mem_drop_dirs(struct vhca_mem *mem)
{
}

void vhca_mem_put(struct vhca_mem *mem)
{
}

void vhca_bufs_put(struct vhca_ucontext *uc, struct vhca_bufs *bufs, bool unknown)
{
	bufs_put++;
	mem_free(bufs->buf);
	mem_free(bufs->db);
}

u32 vhca_mem_withdraw(struct vhca_mem *mem)
{
	return held;
}

int vhca_mem_grant_again(struct vhca_mem *mem)
{
	assert_int_equal(held, 0);
	granted_again++;
	return 0;
}

void mlx5_write64(u32 val[2], u8 *reg)
{
	unsigned int i = (reg - registers[0]) / PAGE_SIZE;

	stores++;
	if (hca_model)
		hca_store(i, reg - registers[i], val);
}

/* ---- commands ---- */
int vhca_alloc_ucontext(struct ib_ucontext *ibuc, struct ib_udata *udata)
{
	commands++;
	return command_rc;
}

static bool gate_closed;		/* at the end of the last context */

void vhca_dealloc_ucontext(struct ib_ucontext *ibuc)
{
	gate_closed = to_vdev(ibuc->device)->gate.written;
	destroyed++;
}

int vhca_cmd_alloc_pd(struct vhca_ucontext *uc, struct ib_udata *udata, u32 *handle)
{
	commands++;
	*handle = 5;
	return 0;
}

int vhca_cmd_reg_mr(struct vhca_ucontext *uc, const struct xenvhca_reg_mr_req *req,
		    struct ib_udata *udata, struct xenvhca_mr_rsp *rsp)
{
	assert_int_equal(req->iova, HCA_POOL);
	commands++;
	rsp->handle = 6;
	rsp->lkey = hca_model ? side_of(to_vdev(uc->ibuc.device))->pool_key : 0x1234;
	return command_rc;
}

int vhca_cmd_alloc_mw(struct vhca_ucontext *uc, const struct xenvhca_alloc_mw_req *req,
		      struct ib_udata *udata, struct xenvhca_mr_rsp *rsp)
{
	commands++;
	rsp->handle = 7;
	rsp->rkey = hca_model ? hca_window(end_of(to_vdev(uc->ibuc.device)) - ends) :
				0x5600;
	return command_rc;
}

int vhca_cmd_destroy(struct vhca_ucontext *uc, u16 op, u32 handle)
{
	destroyed++;
	return 0;
}

void vhca_release(struct vhca_ucontext *uc, const char *what, u32 handle, int rc,
		  struct vhca_mem *mem)
{
}

void *vhca_doorbell_kernel(struct vhca_ucontext *uc, u64 offset)
{
	return registers[end_of(to_vdev(uc->ibuc.device)) - ends];
}

void vhca_doorbell_kernel_end(void *va)
{
}

int vhca_ah_check(struct vhca_dev *dev, const struct rdma_ah_attr *a)
{
	return 0;
}

void vhca_break(struct vhca_dev *dev, const char *reason)
{
	broken = reason;
	dev->ring.state = VHCA_RING_BROKEN;
}

/* ---- objects ---- */
int vhca_cq_make(struct vhca_cq *cq, struct vhca_ucontext *uc,
		 const struct ib_cq_init_attr *attr, struct ib_udata *udata)
{
	struct vhca_dev *dev = to_vdev(cq->ibcq.device);
	struct hca_cq *hca = &cq->ibcq == &end_of(dev)->scq.cq.ibcq ?
			     &side_of(dev)->scq : &side_of(dev)->rcq;
	struct mlx5_ib_create_cq_resp *rsp = (void *)udata->outbuf;

	if (dev->away)
		return -ENETDOWN;
	commands++;
	if (command_rc)
		return command_rc;
	cq->uc = uc;
	cq->gen = dev->gen;
	cq->buf = mem_at(dev, hca->buf, roundup_pow_of_two(attr->cqe + 1) * 64);
	cq->db = mem_at(dev, hca->db, PAGE_SIZE);
	rsp->cqn = hca->cqn;
	return 0;
}

int vhca_create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *attr,
		   struct ib_udata *udata)
{
	const struct mlx5_ib_create_qp *cmd = (const void *)udata->inbuf;
	struct vhca_dev *dev = to_vdev(ibqp->device);
	struct vhca_qp *qp = to_vqp(ibqp);

	if (dev->away || to_vcq(attr->send_cq)->gen != dev->gen)
		return -ENETDOWN;
	commands++;
	if (command_rc)
		return command_rc;
	qp->gen = dev->gen;
	if (hca_model) {
		assert_int_equal(cmd->sq_wqe_count, 1 << HCA_LOG_SQ);
		assert_int_equal(cmd->rq_wqe_count, attr->srq ? 0 : 1 << HCA_LOG_RQ);
		/* mlx5_ib compares both with what it computes. */
		assert_int_equal(1 << cmd->rq_wqe_shift,
				 attr->srq ? 1 : 16 * HCA_RECV_SGE);
	}
	qp->buf = mem_at(dev, side_of(dev)->queues, (cmd->sq_wqe_count << 6) +
			 (cmd->rq_wqe_count << cmd->rq_wqe_shift));
	qp->db = mem_at(dev, side_of(dev)->db, PAGE_SIZE);
	ibqp->qp_num = hca_model ? side_of(dev)->qpn : 0x100 + (end_of(dev) - ends);
	memset(&attr->cap, 0xff, sizeof(attr->cap));	/* a lie */
	return 0;
}

int vhca_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		   struct ib_udata *udata)
{
	struct vhca_dev *dev = to_vdev(ibqp->device);

	if (!vhca_ring_up(&dev->ring) || to_vqp(ibqp)->gen != dev->gen)
		return -EIO;
	if (hca_model && attr->qp_state == IB_QPS_ERR)
		hca_stop(end_of(dev) - ends);
	return command_rc;
}

/* What ends a CQ, in this order. */
static char cq_end[4];
#define cq_ends(step)							\
	((void)(strlen(cq_end) < sizeof(cq_end) - 1 && strcat(cq_end, step)))

void vhca_unpublish(struct vhca_dev *dev, struct xarray *table, unsigned long key)
{
	cq_ends("u");
}

void cancel_work_sync(struct work_struct *work)
{
	cq_ends("w");
}

int vhca_destroy_cq(struct ib_cq *ibcq, struct ib_udata *udata)
{
	cq_ends("d");
	mem_free(to_vcq(ibcq)->buf);
	mem_free(to_vcq(ibcq)->db);
	return 0;
}

static int numbers_held;

int vhca_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata)
{
	numbers_held = to_kern(ibqp->device)->numbers.readers;
	destroyed++;
	mem_free(to_vqp(ibqp)->buf);
	mem_free(to_vqp(ibqp)->db);
	return 0;
}

int vhca_create_srq(struct ib_srq *ibsrq, struct ib_srq_init_attr *init,
		    struct ib_udata *udata)
{
	struct vhca_dev *dev = to_vdev(ibsrq->device);

	if (dev->away)
		return -ENETDOWN;
	commands++;
	if (command_rc)
		return command_rc;
	to_vsrq(ibsrq)->gen = dev->gen;
	to_vsrq(ibsrq)->buf = mem_at(dev, side_of(dev)->srq, to_ksrq(ibsrq)->rq.cnt *
				     to_ksrq(ibsrq)->rq.stride);
	to_vsrq(ibsrq)->db = mem_at(dev, side_of(dev)->srq_db, PAGE_SIZE);
	return 0;
}

int vhca_modify_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr,
		    enum ib_srq_attr_mask mask, struct ib_udata *udata)
{
	return 0;
}

int vhca_destroy_srq(struct ib_srq *ibsrq, struct ib_udata *udata)
{
	destroyed++;
	mem_free(to_vsrq(ibsrq)->buf);
	mem_free(to_vsrq(ibsrq)->db);
	return 0;
}

int vhca_publish(struct vhca_dev *dev, struct xarray *table, unsigned long key, void *obj)
{
	if (table->at[key % ARRAY_SIZE(table->at)]) {
		vhca_break(dev, "backend used a handle twice");
		return -EIO;
	}
	table->at[key % ARRAY_SIZE(table->at)] = obj;
	return 0;
}

/* ---- connections: test_front_iw.c ---- */
void *xa_load(struct xarray *xa, unsigned long i);
const struct ib_device_ops vhca_iw_ops;

int vhca_iw_begin(struct vhca_kern *kern)
{
	kern->iw = (struct vhca_iw *)kern;
	return 0;
}

void vhca_iw_leave(struct vhca_kern *kern)
{
}

void vhca_iw_end(struct vhca_kern *kern)
{
	kern->iw = NULL;
}

void vhca_iw_away(struct vhca_kern *kern)
{
}

void vhca_iw_back(struct vhca_kern *kern)
{
}

bool vhca_iw_modify(struct vhca_kqp *qp, struct ib_qp_attr *attr, int *mask)
{
	return false;
}

static void (*meanwhile)(void);		/* while a queue pair ends */

/* No connection begins any more. */
void vhca_iw_qp_end(struct vhca_kqp *qp)
{
	assert_null(xa_load(&to_kern(qp->qp.ibqp.device)->qps, qp->qp.ibqp.qp_num));
	if (meanwhile)
		meanwhile();
	meanwhile = NULL;
}

/* ---- Linux ---- */
void *xa_load(struct xarray *xa, unsigned long i)
{
	struct vhca_kqp *qp = xa->at[i % ARRAY_SIZE(xa->at)];

	return qp && qp->qp.ibqp.qp_num == i ? qp : NULL;
}

void *xa_erase(struct xarray *xa, unsigned long i)
{
	void *obj = xa_load(xa, i);

	xa->at[i % ARRAY_SIZE(xa->at)] = NULL;
	return obj;
}

/* As in drivers/infiniband/core/verbs.c, without an offset into the list. */
int ib_sg_to_pages(struct ib_mr *mr, struct scatterlist *sgl, int n, unsigned int *offset,
		   int (*set_page)(struct ib_mr *mr, u64 addr))
{
	u64 mask = ~((u64)mr->page_size - 1), addr, end, last = 0;
	int i;

	mr->iova = sgl->dma;
	mr->length = 0;
	for (i = 0; i < n; i++, last = end) {
		addr = sgl[i].dma;
		end = addr + sgl[i].dma_len;
		if (i && (addr & ~mask || last & ~mask))
			break;
		for (addr &= mask; addr < end; addr += mr->page_size)
			if (set_page(mr, addr))
				return i;
		mr->length += sgl[i].dma_len;
	}
	return i;
}

/* ---- a guest ---- */

/* A device whose pool has so many MiB. */
static int end_begin(struct end *e, u32 mb)
{
	memset(e, 0, sizeof(*e));
	e->dev.store = &e->store;
	e->dev.ring.state = VHCA_RING_UP;
	e->dev.info.driver_id = RDMA_DRIVER_MLX5;
	e->dev.ibdev.node_type = RDMA_NODE_IB_CA;
	e->dev.pool_mb = mb;
	e->pd.device = &e->dev.ibdev;
	e->scq.cq.ibcq.device = &e->dev.ibdev;
	e->rcq.cq.ibcq.device = &e->dev.ibdev;
	e->srq.srq.ibsrq.device = &e->dev.ibdev;
	e->srq.srq.ibsrq.pd = &e->pd;
	e->qp.qp.ibqp.device = &e->dev.ibdev;
	e->qp.qp.ibqp.pd = &e->pd;
	commands = destroyed = stores = granted_again = 0;
	held = 0;
	command_rc = 0;
	broken = NULL;
	return vhca_kern_begin(&e->dev);
}

/* A queue pair on the CQs that there are, with an SRQ of 15 or without. */
static void end_pair(struct end *e, int type, bool shared)
{
	struct ib_srq_init_attr srq = {
		.attr = { .max_wr = (1 << HCA_LOG_SRQ) - 1, .max_sge = 3 },
	};
	struct ib_qp_init_attr qp = {
		.send_cq = &e->scq.cq.ibcq, .recv_cq = &e->rcq.cq.ibcq,
		.srq = shared ? &e->srq.srq.ibsrq : NULL, .qp_type = type,
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.cap = { .max_send_wr = (1 << HCA_LOG_SQ) / VHCA_KSQ_BLOCKS,
			 .max_recv_wr = 1 << HCA_LOG_RQ, .max_send_sge = 4,
			 .max_recv_sge = HCA_RECV_SGE, .max_inline_data = 100 },
	};

	if (shared)
		assert_int_equal(vhca_kern_create_srq(qp.srq, &srq, NULL), 0);
	e->qp.qp.ibqp.send_cq = qp.send_cq;
	e->qp.qp.ibqp.recv_cq = qp.recv_cq;
	e->qp.qp.ibqp.srq = qp.srq;
	e->qp.qp.ibqp.qp_type = type;
	assert_int_equal(vhca_kern_create_qp(&e->qp.qp.ibqp, &qp, NULL), 0);
	assert_int_equal(qp.cap.max_send_wr, (1 << HCA_LOG_SQ) / VHCA_KSQ_BLOCKS);
}

static void end_objects(struct end *e, int type, bool shared)
{
	struct ib_cq_init_attr cq = { .cqe = (1 << HCA_LOG_CQ) - 1 };

	assert_int_equal(vhca_kern_create_cq(&e->scq.cq.ibcq, &cq, NULL), 0);
	assert_int_equal(vhca_kern_create_cq(&e->rcq.cq.ibcq, &cq, NULL), 0);
	end_pair(e, type, shared);
}

static void end_pair_end(struct end *e)
{
	vhca_kern_destroy_qp(&e->qp.qp.ibqp, NULL);
	if (e->srq.rq.cnt)
		vhca_kern_destroy_srq(&e->srq.srq.ibsrq, NULL);
}

static void end_end(struct end *e)
{
	if (e->qp.sq.cnt)
		end_pair_end(e);
	vhca_kern_end(&e->dev);
	mems_free(e);
}

static struct vhca_pool *pool_of(struct end *e)
{
	return &to_kern(&e->dev.ibdev)->pool;
}

#endif
