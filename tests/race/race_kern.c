// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * frontend/kernel/ and event.c with consumers on several processors, which post, poll, arm,
 * map and step the same queue pairs, and an HCA whose events come in an upcall. In the
 * middle of it the connection ends. What was posted completes once, a CQ has one handler at
 * a time, no handler runs within a verb, and no store goes to a page that is gone.
 */
#include "race.h"
#include "front_kern.h"

#define XA_PRESENT		0
static void *xa_find(struct xarray *xa, unsigned long *i, unsigned long max, int mark)
{
	void *obj = NULL;

	for (; !obj && *i < ARRAY_SIZE(xa->at); *i += !obj)
		obj = smp_load_acquire(&xa->at[*i]);
	return obj;
}

#include "copy/event.c"

#define PAIRS		3	/* one is stepped to RESET, one has an SRQ */
#define STEPPED		1
#define SHARING		2
#define CQS		2
#define CQES		1023
#define DEPTH		16
#define POSTERS		3
#define POLLERS		2
#define REQUESTS	(1u << 20)	/* of a poster */
#define SIZE		300

static struct vhca_dev dev;
static struct vhca_store store;
static struct ib_pd pd;
static struct vhca_kcq cq[CQS];
static struct vhca_kqp *pair[PAIRS];
static struct vhca_ksrq srq;
static bool stop;
static u8 *done[POSTERS];		/* by the number of a request: it has completed */
static atomic_t posted, lost, completed, told, last_told, resets;
static __thread bool in_verb;

/* ---- the HCA; its lock is inside of all others ---- */
static struct {
	pthread_mutex_t lock;
	sem_t events;
	bool gone;			/* its page of registers */
	struct { u32 n, arm; bool armed, raised; } cq[CQS];
	struct { u32 send, recv; bool rts; } qp[PAIRS];
	u16 shared;
} hca = { PTHREAD_MUTEX_INITIALIZER };
static u8 page_of_registers[PAGE_SIZE];

/* No consumer looks at it without its lock, which the HCA has none of. */
static __attribute__((no_sanitize("thread"))) u32 polled(unsigned int c)
{
	return cq[c].cons;
}

static void hca_raise(unsigned int c)
{
	if (!hca.cq[c].armed || hca.cq[c].n == hca.cq[c].arm)
		return;
	hca.cq[c].armed = false;
	hca.cq[c].raised = true;
	sem_post(&hca.events);
}

static void hca_complete(struct ib_cq *ibcq, u8 op, u32 qpn, u16 counter)
{
	unsigned int c = to_kcq(ibcq) - cq;
	u32 n = hca.cq[c].n++;
	struct mlx5_cqe64 *cqe = (void *)(cq[c].cq.buf->va +
					  (n & CQES) * sizeof(*cqe));

	if (n - polled(c) > CQES)
		wrong("a CQ overflows");
	cqe->byte_cnt = 0;
	cqe->flags_rqpn = 0;
	cqe->sop_drop_qpn = cpu_to_be32(qpn);
	cqe->wqe_counter = cpu_to_be16(counter);
	virt_wmb();
	WRITE_ONCE(cqe->op_own, op << 4 | !!(n & (CQES + 1)));
	hca_raise(c);
}

/* The receive of a send to the queue pair itself. */
static void hca_receive(unsigned int i)
{
	struct vhca_kqp *qp = pair[i];
	u16 slot = hca.shared;
	bool there;

	if (i != SHARING) {
		there = hca.qp[i].recv != smp_load_acquire(&qp->rq.head);
		slot = hca.qp[i].recv++;
		if (!there)
			hca.qp[i].recv--;
	} else {
		spin_lock(&srq.rq.lock);
		there = srq.rq.recv[slot].posted;
		hca.shared = there ? srq.rq.recv[slot].next : slot;
		spin_unlock(&srq.rq.lock);
	}
	if (there)
		hca_complete(qp->qp.ibqp.recv_cq, MLX5_CQE_RESP_SEND, qp->qp.ibqp.qp_num,
			     slot);
}

static void hca_send(unsigned int i)
{
	struct vhca_kqp *qp = pair[i];
	struct mlx5_wqe_ctrl_seg *ctrl;
	u32 at;

	while (hca.qp[i].rts && hca.qp[i].send != (be32_to_cpu(*qp->sq.db) & 0xffff)) {
		at = hca.qp[i].send;
		ctrl = (void *)(qp->sq.buf + (at & (qp->sq.cnt - 1)) * MLX5_SEND_WQE_BB);
		hca.qp[i].send = (at + DIV_ROUND_UP((be32_to_cpu(ctrl->qpn_ds) & 0x3f) *
						    VHCA_SEGMENT, MLX5_SEND_WQE_BB)) & 0xffff;
		hca_receive(i);
		hca_complete(qp->qp.ibqp.send_cq, MLX5_CQE_REQ, qp->qp.ibqp.qp_num, at);
	}
}

void mlx5_write64(u32 val[2], u8 *reg)
{
	u32 low = be32_to_cpu(val[1]), c = low;

	pthread_mutex_lock(&hca.lock);
	if (reg - page_of_registers == MLX5_CQ_DOORBELL) {
		hca.cq[c].armed = true;
		hca.cq[c].arm = hca.cq[c].n;
		if ((be32_to_cpu(val[0]) ^ hca.cq[c].n) & 0xffffff)
			hca.cq[c].arm--;	/* there is one that was not polled */
		hca_raise(c);
	} else {
		hca_send(low >> 8);
	}
	kernel_unlock(&hca.lock);
	if (__atomic_load_n(&hca.gone, __ATOMIC_RELAXED))
		wrong("a store to a page that is gone");
}

static void *upcalls(void *arg)
{
	struct xenvhca_event ev = { .type = XENVHCA_EVT_COMP };
	bool raised;

	while (!sem_wait(&hca.events) && !READ_ONCE(stop)) {
		for (ev.handle = 0; ev.handle < CQS; ev.handle++) {
			pthread_mutex_lock(&hca.lock);
			raised = hca.cq[ev.handle].raised;
			hca.cq[ev.handle].raised = false;
			pthread_mutex_unlock(&hca.lock);
			if (raised)
				vhca_event(&dev, &ev);
		}
	}
	return NULL;
}

/* ---- the rest of the module ---- */
static struct vhca_mem *mem_new(size_t size)
{
	struct vhca_mem *mem = calloc(1, sizeof(*mem));

	mem->va = aligned_alloc(PAGE_SIZE, PAGE_ALIGN(size));
	memset(mem->va, 0, PAGE_ALIGN(size));
	return mem;
}

struct vhca_mem *vhca_mem_new(struct vhca_dev *d, u32 nr) { return mem_new(nr * PAGE_SIZE); }
int vhca_mem_grant_again(struct vhca_mem *mem) { return 0; }
u32 vhca_mem_withdraw(struct vhca_mem *mem) { return 0; }
void vhca_mem_drop_dirs(struct vhca_mem *mem) { }
u32 vhca_mem_word(const struct vhca_mem *mem, u32 offset) { return 0; }
void vhca_bufs_put(struct vhca_ucontext *uc, struct vhca_bufs *bufs, bool unknown) { }
void vhca_mem_put(struct vhca_mem *mem)
{
	free(mem->va);
	free(mem);
}

int vhca_alloc_ucontext(struct ib_ucontext *ibuc, struct ib_udata *udata) { return 0; }
void vhca_dealloc_ucontext(struct ib_ucontext *ibuc) { }
int vhca_cmd_alloc_pd(struct vhca_ucontext *uc, struct ib_udata *u, u32 *h) { return 0; }
int vhca_cmd_destroy(struct vhca_ucontext *uc, u16 op, u32 handle) { return 0; }
int vhca_cmd_alloc_mw(struct vhca_ucontext *uc, const struct xenvhca_alloc_mw_req *req,
		      struct ib_udata *udata, struct xenvhca_mr_rsp *rsp) { return -ENOMEM; }
int vhca_cmd_reg_mr(struct vhca_ucontext *uc, const struct xenvhca_reg_mr_req *req,
		    struct ib_udata *udata, struct xenvhca_mr_rsp *rsp)
{
	rsp->lkey = 0x1234;
	return 0;
}

void vhca_release(struct vhca_ucontext *uc, const char *what, u32 handle, int rc,
		  struct vhca_mem *mem) { }
bool vhca_check_event(const struct xenvhca_event *ev) { return true; }
bool vhca_file_notify(struct vhca_file *file, u16 seq, bool events) { return false; }
void vhca_file_overflow(struct vhca_file *file) { }
void vhca_port_refresh(struct vhca_dev *d) { }
int vhca_ah_check(struct vhca_dev *d, const struct rdma_ah_attr *a) { return 0; }
void vhca_break(struct vhca_dev *d, const char *reason) { wrong(reason); }
const struct ib_device_ops vhca_iw_ops;
int vhca_iw_begin(struct vhca_kern *kern) { return 0; }
void vhca_iw_leave(struct vhca_kern *kern) { }
void vhca_iw_end(struct vhca_kern *kern) { }
void vhca_iw_away(struct vhca_kern *kern) { }
void vhca_iw_back(struct vhca_kern *kern) { }
void vhca_iw_qp_end(struct vhca_kqp *qp) { }
bool vhca_iw_modify(struct vhca_kqp *qp, struct ib_qp_attr *attr, int *mask) { return false; }
void cancel_work_sync(struct work_struct *work) { }

void *vhca_doorbell_kernel(struct vhca_ucontext *uc, u64 offset)
{
	return page_of_registers;
}

void vhca_doorbell_kernel_end(void *va)
{
	__atomic_store_n(&hca.gone, true, __ATOMIC_RELAXED);
}

int ib_sg_to_pages(struct ib_mr *mr, struct scatterlist *sgl, int n, unsigned int *offset,
		   int (*set_page)(struct ib_mr *mr, u64 addr)) { return -EINVAL; }

/* Numbers and handles are 0, 1, ... of one connection. */
void *xa_load(struct xarray *xa, unsigned long i)
{
	return i >> 32 ? NULL : smp_load_acquire(&xa->at[i % ARRAY_SIZE(xa->at)]);
}

void *xa_erase(struct xarray *xa, unsigned long i)
{
	smp_store_release(&xa->at[i], NULL);
	return NULL;
}

int vhca_publish(struct vhca_dev *d, struct xarray *table, unsigned long key, void *obj)
{
	smp_store_release(&table->at[key], obj);
	return 0;
}

void vhca_unpublish(struct vhca_dev *d, struct xarray *table, unsigned long key)
{
	xa_erase(table, key);
	spin_lock_irq(&d->evt_lock);
	spin_unlock_irq(&d->evt_lock);
}

int vhca_cq_make(struct vhca_cq *c, struct vhca_ucontext *uc,
		 const struct ib_cq_init_attr *attr, struct ib_udata *udata)
{
	struct mlx5_ib_create_cq_resp *rsp = (void *)udata->outbuf;

	c->uc = uc;
	c->handle = rsp->cqn = container_of(c, struct vhca_kcq, cq) - cq;
	c->buf = mem_new((CQES + 1) * sizeof(struct mlx5_cqe64));
	c->db = mem_new(8);
	return vhca_publish(&dev, &dev.cqs, c->handle, c);
}

int vhca_destroy_cq(struct ib_cq *ibcq, struct ib_udata *udata)
{
	vhca_mem_put(to_vcq(ibcq)->buf);
	vhca_mem_put(to_vcq(ibcq)->db);
	return 0;
}

int vhca_create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *attr, struct ib_udata *udata)
{
	const struct mlx5_ib_create_qp *cmd = (const void *)udata->inbuf;
	struct vhca_qp *qp = to_vqp(ibqp);

	qp->buf = mem_new((cmd->sq_wqe_count << 6) +
			  (cmd->rq_wqe_count << cmd->rq_wqe_shift));
	qp->db = mem_new(8);
	qp->handle = ibqp->qp_num;
	return vhca_publish(&dev, &dev.qps, qp->handle, qp);
}

int vhca_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		   struct ib_udata *udata)
{
	int rc = vhca_hold(&dev, to_vqp(ibqp)->gen);

	if (rc)
		return rc;
	pthread_mutex_lock(&hca.lock);
	memset(&hca.qp[ibqp->qp_num], 0, sizeof(hca.qp[0]));
	hca.qp[ibqp->qp_num].rts = attr->qp_state == IB_QPS_RTS;
	kernel_unlock(&hca.lock);
	vhca_let_go(&dev);
	return 0;
}

int vhca_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata)
{
	struct vhca_qp *qp = to_vqp(ibqp);

	vhca_unpublish(&dev, &dev.qps, qp->handle);
	vhca_mem_put(qp->buf);
	vhca_mem_put(qp->db);
	return 0;
}

int vhca_create_srq(struct ib_srq *ibsrq, struct ib_srq_init_attr *init,
		    struct ib_udata *udata)
{
	struct vhca_krq *rq = &to_ksrq(ibsrq)->rq;

	to_vsrq(ibsrq)->buf = mem_new(rq->cnt * rq->stride);
	to_vsrq(ibsrq)->db = mem_new(8);
	return 0;
}

int vhca_modify_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr,
		    enum ib_srq_attr_mask mask, struct ib_udata *udata) { return 0; }

int vhca_destroy_srq(struct ib_srq *ibsrq, struct ib_udata *udata)
{
	vhca_mem_put(to_vsrq(ibsrq)->buf);
	vhca_mem_put(to_vsrq(ibsrq)->db);
	return 0;
}

/* ---- consumers ---- */
static int handlers[CQS];

/* Arms the CQ, as one that waits for the next one does. */
static void comp_handler(struct ib_cq *ibcq, void *context)
{
	unsigned int c = to_kcq(ibcq) - cq;

	if (in_verb)
		wrong("a handler is called within a verb");
	if (__atomic_exchange_n(&handlers[c], 1, __ATOMIC_RELAXED))
		wrong("a CQ has two handlers at a time");
	vhca_kern_arm_cq(ibcq, IB_CQ_NEXT_COMP);
	sched_yield();
	__atomic_store_n(&handlers[c], 0, __ATOMIC_RELAXED);
	atomic_inc(&told);
}

static void qp_handler(struct ib_event *event, void *context)
{
	if (in_verb)
		wrong("a handler is called within a verb");
	atomic_inc(&last_told);
}

#define VERB(call)							\
({									\
	in_verb = true;							\
	__auto_type __r = (call);					\
	in_verb = false;						\
	__r;								\
})

static void complete_one(const struct ib_wc *wc)
{
	if (__atomic_exchange_n(&done[wc->wr_id >> 32][(u32)wc->wr_id], 1, __ATOMIC_RELAXED))
		wrong("a request completes twice");
	if (wc->status != IB_WC_SUCCESS && wc->status != IB_WC_WR_FLUSH_ERR)
		wrong("a completion with another error");
	atomic_inc(&completed);
}

static int poll(unsigned int c)
{
	struct ib_wc wc[4];
	int i, n = VERB(vhca_kern_poll_cq(&cq[c].cq.ibcq, 4, wc));

	for (i = 0; i < n; i++)
		complete_one(&wc[i]);
	return n;
}

static int post(unsigned int i, u64 id, struct ib_sge *sge, bool recv)
{
	struct ib_send_wr send = {
		.opcode = IB_WR_SEND, .wr_id = id, .sg_list = sge, .num_sge = 1,
	};
	struct ib_recv_wr rwr = { .wr_id = id, .sg_list = sge, .num_sge = 1 };
	const struct ib_send_wr *bad;
	const struct ib_recv_wr *bad_recv;

	if (!recv)
		return VERB(vhca_kern_post_send(&pair[i]->qp.ibqp, &send, &bad));
	return i == SHARING ? VERB(vhca_kern_post_srq_recv(&srq.srq.ibsrq, &rwr, &bad_recv)) :
			      VERB(vhca_kern_post_recv(&pair[i]->qp.ibqp, &rwr, &bad_recv));
}

/*
 * Its buffer is mapped for each request, which may still be posted when that ends. Without
 * a connection what is given back stays in use.
 */
static void *poster(void *arg)
{
	u8 *buf = aligned_alloc(PAGE_SIZE, PAGE_SIZE);
	struct device *dma = &dev.ibdev.dev;
	u64 me = (unsigned long)arg;
	struct rdma_ah_attr path = { .dlid = 2 };
	struct rdma_ah_init_attr init = { &path };
	struct vhca_kah ah = { .ah.ibah.device = &dev.ibdev };
	struct ib_sge sge = { .length = SIZE };
	unsigned int i, recv;
	bool mapped;
	u32 n = 0;

	race_seed = me + jiffies;
	memset(buf, me, PAGE_SIZE);
	while (!READ_ONCE(stop) && n < REQUESTS) {
		i = any(PAIRS);
		recv = any(2);
		sge.addr = map_page(dma, (struct page *)buf, 0, SIZE, DMA_TO_DEVICE, 0);
		mapped = sge.addr != DMA_MAPPING_ERROR;
		if (!mapped && !READ_ONCE(dev.away))
			wrong("no room in the pool");
		if (VERB(create_ah(&ah.ah.ibah, &init, NULL)))
			wrong("no address handle");
		if (!post(i, me << 32 | n, &sge, recv)) {
			atomic_inc(i == STEPPED || (recv && i == SHARING) ? &lost : &posted);
			n++;
		}
		if (mapped)
			unmap(dma, sge.addr, SIZE, DMA_TO_DEVICE, 0);
	}
	free(buf);
	return NULL;
}

static void *poller(void *arg)
{
	unsigned int c;

	race_seed = (unsigned long)arg + jiffies;
	while (!READ_ONCE(stop)) {
		c = any(CQS);
		if (!poll(c) && VERB(vhca_kern_arm_cq(&cq[c].cq.ibcq, IB_CQ_NEXT_COMP |
						      IB_CQ_REPORT_MISSED_EVENTS)))
			poll(c);
	}
	return NULL;
}

static void step(unsigned int i, enum ib_qp_state state)
{
	struct ib_qp_attr attr = { .qp_state = state };

	VERB(vhca_kern_modify_qp(&pair[i]->qp.ibqp, &attr, IB_QP_STATE, NULL));
}

static pthread_barrier_t steps;
static bool last_step;

/* Two reset the queue pair at once, then one lets it go on. */
static void *stepper(void *arg)
{
	race_seed = (unsigned long)arg + jiffies;
	do {
		usleep(1 + any(1000));
		step(STEPPED, IB_QPS_RESET);
		pthread_barrier_wait(&steps);
		if (!arg) {
			step(STEPPED, IB_QPS_RTS);
			atomic_inc(&resets);
			last_step = READ_ONCE(stop);
		}
		pthread_barrier_wait(&steps);
	} while (!last_step);
	return NULL;
}

/* ---- a round ---- */
static void begin(void)
{
	struct ib_srq_init_attr shared = { .attr = { .max_wr = DEPTH, .max_sge = 1 } };
	struct ib_cq_init_attr cqa = { .cqe = CQES };
	struct ib_qp_init_attr init;
	unsigned int i;

	memset(&dev, 0, sizeof(dev));
	memset(cq, 0, sizeof(cq));
	memset(&srq, 0, sizeof(srq));
	memset(hca.cq, 0, sizeof(hca.cq));
	hca.gone = false;
	hca.shared = 0;
	dev.store = &store;
	dev.ring.state = VHCA_RING_UP;
	dev.info.driver_id = RDMA_DRIVER_MLX5;
	dev.pool_mb = 1;
	init_rwsem(&dev.gate);
	vhca_event_init(&dev);
	if (vhca_kern_begin(&dev))
		wrong("no device");
	pd.device = srq.srq.ibsrq.device = &dev.ibdev;
	srq.srq.ibsrq.pd = &pd;
	for (i = 0; i < CQS; i++) {
		cq[i].cq.ibcq.device = &dev.ibdev;
		cq[i].cq.ibcq.comp_handler = comp_handler;
		vhca_kern_create_cq(&cq[i].cq.ibcq, &cqa, NULL);
	}
	vhca_kern_create_srq(&srq.srq.ibsrq, &shared, NULL);
	for (i = 0; i < PAIRS; i++) {
		pair[i] = calloc(1, sizeof(*pair[i]));
		init = (struct ib_qp_init_attr) {
			.send_cq = &cq[i % CQS].cq.ibcq, .recv_cq = &cq[!i].cq.ibcq,
			.srq = i == SHARING ? &srq.srq.ibsrq : NULL, .qp_type = IB_QPT_RC,
			.sq_sig_type = IB_SIGNAL_ALL_WR,
			.cap = { DEPTH, DEPTH, 1, 1 },
		};
		pair[i]->qp.ibqp = (struct ib_qp) {
			.device = &dev.ibdev, .pd = &pd, .send_cq = init.send_cq,
			.recv_cq = init.recv_cq, .srq = init.srq, .qp_type = IB_QPT_RC,
			.qp_num = i, .event_handler = qp_handler,
		};
		if (vhca_kern_create_qp(&pair[i]->qp.ibqp, &init, NULL))
			wrong("no queue pair");
		step(i, IB_QPS_RTS);
	}
}

static void end(void)
{
	unsigned int i;

	for (i = 0; i < PAIRS; i++) {
		vhca_kern_destroy_qp(&pair[i]->qp.ibqp, NULL);
		free(pair[i]);
	}
	vhca_kern_destroy_srq(&srq.srq.ibsrq, NULL);
	for (i = 0; i < CQS; i++)
		vhca_kern_destroy_cq(&cq[i].cq.ibcq, NULL);
	vhca_event_exit(&dev);
	vhca_kern_end(&dev);
}

/* Each request of a queue pair that was not stepped completes; those of the others may. */
static void tally(void)
{
	int all = atomic_read(&completed);

	if (all < atomic_read(&posted) || all > atomic_read(&posted) + atomic_read(&lost))
		wrong("requests are lost, or made up");
}

/* The queue pair is dead, and has an SRQ. */
static void last_receive(void)
{
	unsigned long until = jiffies + 100000;

	atomic_set(&last_told, 0);
	step(SHARING, IB_QPS_ERR);
	while (!atomic_read(&last_told) && time_before(jiffies, until))
		usleep(100);
	if (!atomic_read(&last_told))
		wrong("nobody hears of the last receive");
}

static void round_of(void)
{
	pthread_t thread[POSTERS + POLLERS + 3];
	unsigned long i, n = 0;

	begin();
	WRITE_ONCE(stop, false);
	for (i = 0; i < POSTERS; i++) {
		done[i] = calloc(1, REQUESTS);
		thread[n++] = race_thread(poster, (void *)i);
	}
	for (i = 0; i < POLLERS; i++)
		thread[n++] = race_thread(poller, (void *)i);
	for (i = 0; i < 2; i++)
		thread[n++] = race_thread(stepper, (void *)i);
	thread[n++] = race_thread(upcalls, NULL);
	usleep(60000);
	vhca_kern_away(&dev);
	usleep(40000);
	WRITE_ONCE(stop, true);
	sem_post(&hca.events);
	while (n--)
		pthread_join(thread[n], NULL);
	while (poll(0) || poll(1))
		;
	tally();
	last_receive();
	end();
	for (i = 0; i < POSTERS; i++)
		free(done[i]);
}

int main(void)
{
	unsigned long end_at = race_end();
	unsigned int rounds = 0;

	kernel_boot();
	sem_init(&hca.events, 0, 0);
	pthread_barrier_init(&steps, NULL, 2);
	for (; rounds < 4 || time_before(jiffies, end_at); rounds++)
		round_of();
	printf("%u connections: %u completions of %u to %u requests, %u events, %u resets\n",
	       rounds, atomic_read(&completed), atomic_read(&posted),
	       atomic_read(&posted) + atomic_read(&lost), atomic_read(&told),
	       atomic_read(&resets));
	return 0;
}
