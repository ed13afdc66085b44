// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * A consumer of RDMA in the kernel, for scenarios: one reliable queue pair on the first
 * device with kernel verbs, connected by hand. A command is written to "run" of the
 * debugfs folder vhca-kverbs; the write ends with the command, and fails if it failed.
 * "info" has: device, LID, number of the queue pair, the last command's result; "messages"
 * how many messages have gone both ways, also while serve or send runs.
 *
 *   open direct|softirq|workqueue|own    connect LID QPN    close
 *   serve N LEN     answers N messages of LEN octets (at the peer: send N LEN)
 *   atomic N LEN    as send; before each message makes, asks and ends address handles
 *   register N      N registrations of 32 pages, which the peer reads and writes
 *   target N        that peer; every other key is invalidated by it
 *   stale           uses the last key of target once more: it has to be refused
 *
 * All verbs that ib_core lets consumers call in any context run under a spin lock here, with
 * interrupts off; a kernel with DEBUG_ATOMIC_SLEEP reports one that sleeps. A CQ that is
 * opened as "own" has the module's handler, which fails the next command if two of it run at
 * once, or one within a verb.
 */
#include <linux/debugfs.h>
#include <linux/dma-mapping.h>
#include <linux/module.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <rdma/ib_verbs.h>

#define DEPTH		16
#define PAGES		32
#define FIRST		512	/* where a registration begins in its first page */
#define LAST		256	/* octets of the last page that it leaves out */
#define WAIT		(30 * HZ)

struct slot {			/* a request, and its page */
	struct ib_cqe cqe;
	u8 *page;
	u64 dma;
	bool done;
	enum ib_wc_status status;
	u32 len, rkey;		/* rkey: invalidated by the peer, or 0 */
};

struct offer {			/* a message: what the peer may reach */
	u64 addr;
	u32 rkey, len, seed;
};

static struct {
	struct ib_device *dev;
	struct ib_pd *pd;
	struct ib_cq *cq;
	bool own;			/* the CQ, which is polled directly, too */
	struct ib_qp *qp;
	struct ib_mr *mr;
	struct slot rx[DEPTH], tx;
	unsigned int next;		/* of rx */
	struct page *page[PAGES];	/* of registrations */
	u8 *target;			/* of reads and writes */
	dma_addr_t target_dma;
	struct offer last;
	u32 messages;			/* of the command that runs */
	u32 lid;			/* the peer's */
	char result[96];
} kv;

static DEFINE_MUTEX(lock);		/* all of kv */
static DEFINE_SPINLOCK(verbs);		/* held in verbs that may not sleep */
static int verbs_cpu = -1;		/* that is in such a verb */
static struct {
	atomic_t running, calls;
	bool twice, within;		/* what it should never be */
} handler;				/* of a CQ that is the module's own */
static bool leaving;			/* the device goes: a command ends */
static DECLARE_WAIT_QUEUE_HEAD(done_wait);

#define RESULT(...)	snprintf(kv.result, sizeof(kv.result), __VA_ARGS__)

static u8 octet(u32 at, u32 seed)
{
	return at * 7 + (at >> 8) + seed * 13;
}

static void fill(u8 *p, u32 len, u32 seed)
{
	u32 i;

	for (i = 0; i < len; i++)
		p[i] = octet(i, seed);
}

static int check(const u8 *p, u32 len, u32 seed)
{
	u32 i;

	for (i = 0; i < len; i++)
		if (p[i] != octet(i, seed)) {
			RESULT("octet %u of %u is %#x, not %#x", i, len, p[i],
			       octet(i, seed));
			return -EBADMSG;
		}
	return 0;
}

/* ---- contexts ---- */
#define VERB(call)							\
({									\
	unsigned long __flags;						\
	__typeof__(call) __r;						\
	spin_lock_irqsave(&verbs, __flags);				\
	WRITE_ONCE(verbs_cpu, smp_processor_id());			\
	__r = (call);							\
	WRITE_ONCE(verbs_cpu, -1);					\
	spin_unlock_irqrestore(&verbs, __flags);			\
	__r;								\
})

/* No interrupt comes in a verb, so whoever calls this on its processor is the verb. */
static void own_handler(struct ib_cq *cq, void *context)
{
	if (atomic_inc_return(&handler.running) != 1)
		WRITE_ONCE(handler.twice, true);
	if (READ_ONCE(verbs_cpu) == raw_smp_processor_id())
		WRITE_ONCE(handler.within, true);
	/* Not each time: what is there and not polled yet raises the next event at once. */
	if (atomic_inc_return(&handler.calls) % 2)
		ib_req_notify_cq(cq, IB_CQ_NEXT_COMP);
	atomic_dec(&handler.running);
	wake_up(&done_wait);
}

static int handler_check(void)
{
	if (!handler.twice && !handler.within)
		return 0;
	RESULT("a completion handler runs %s", handler.twice ? "twice at once" : "in a verb");
	return -EBADMSG;
}

static int events_check(void)
{
	if (!kv.own || atomic_read(&handler.calls))
		return 0;
	RESULT("no completion event");
	return -EBADMSG;
}

static int make_ah(struct rdma_ah_attr *attr)
{
	struct ib_ah *ah = rdma_create_ah(kv.pd, attr, 0);
	struct rdma_ah_attr asked = {};
	int rc;

	if (IS_ERR(ah))
		return PTR_ERR(ah);
	rc = rdma_query_ah(ah, &asked);		/* which a device need not have */
	rdma_destroy_ah(ah, 0);
	return rc == -EOPNOTSUPP ? 0 : rc;
}

/* By the peer's LID, and by a GID, too. */
static int make_ahs(void)
{
	struct rdma_ah_attr attr = { .type = RDMA_AH_ATTR_TYPE_IB };
	union ib_gid gid = {};
	int rc;

	rdma_ah_set_dlid(&attr, kv.lid);
	rdma_ah_set_port_num(&attr, 1);
	rc = VERB(make_ah(&attr));
	rdma_ah_set_grh(&attr, &gid, 0, 0, 1, 0);
	if (!rc)
		rc = VERB(make_ah(&attr));
	if (rc)
		RESULT("an address handle: %d", rc);
	return rc;
}

/* ---- requests ---- */

static void slot_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct slot *s = container_of(wc->wr_cqe, struct slot, cqe);

	s->status = wc->status;
	s->len = wc->byte_len;
	s->rkey = wc->wc_flags & IB_WC_WITH_INVALIDATE ? wc->ex.invalidate_rkey : 0;
	smp_store_release(&s->done, true);	/* pairs with slot_wait() */
	wake_up(&done_wait);
}

static bool slot_poll(struct slot *s)
{
	const enum ib_cq_notify_flags arm = IB_CQ_NEXT_COMP | IB_CQ_REPORT_MISSED_EVENTS;

	do {
		if (kv.cq->poll_ctx == IB_POLL_DIRECT)
			VERB(ib_process_cq_direct(kv.cq, 4));
	} while (kv.own && VERB(ib_req_notify_cq(kv.cq, arm)) > 0);
	return smp_load_acquire(&s->done);
}

static int slot_wait(struct slot *s)
{
	unsigned long end = jiffies + WAIT;
	int calls = atomic_read(&handler.calls);

	while (!slot_poll(s)) {
		if (READ_ONCE(leaving) || time_after(jiffies, end)) {
			RESULT(leaving ? "the device goes" : "no completion");
			return leaving ? -ENODEV : -ETIMEDOUT;
		}
		if (kv.cq->poll_ctx == IB_POLL_DIRECT && !kv.own)
			cond_resched();
		else
			wait_event_timeout(done_wait, READ_ONCE(s->done) || READ_ONCE(leaving) ||
					   atomic_read(&handler.calls) != calls, HZ);
		calls = atomic_read(&handler.calls);
	}
	if (s->status == IB_WC_SUCCESS)
		return 0;
	RESULT("completion: %s", ib_wc_status_msg(s->status));
	return -EIO;
}

static int post_wait(struct ib_send_wr *wr)
{
	int rc;

	wr->wr_cqe = &kv.tx.cqe;
	wr->send_flags = IB_SEND_SIGNALED;
	kv.tx.done = false;
	rc = VERB(ib_post_send(kv.qp, wr, NULL));
	return rc ? rc : slot_wait(&kv.tx);
}

static int post_receive(struct slot *s)
{
	struct ib_sge sge = {
		.addr = s->dma, .length = PAGE_SIZE, .lkey = kv.pd->local_dma_lkey,
	};
	struct ib_recv_wr wr = { .wr_cqe = &s->cqe, .sg_list = &sge, .num_sge = 1 };

	s->done = false;
	return VERB(ib_post_recv(kv.qp, &wr, NULL));
}

/* Sends what is in tx; @inv: a key of the peer's that this ends, or 0. */
static int send_message(u32 len, u32 inv)
{
	struct ib_sge sge = {
		.addr = kv.tx.dma, .length = len, .lkey = kv.pd->local_dma_lkey,
	};
	struct ib_send_wr wr = {
		.opcode = inv ? IB_WR_SEND_WITH_INV : IB_WR_SEND, .sg_list = &sge,
		.num_sge = 1, .ex.invalidate_rkey = inv,
	};

	ib_dma_sync_single_for_device(kv.dev, kv.tx.dma, len, DMA_TO_DEVICE);
	return post_wait(&wr);
}

/* The next message into @buf; its slot is posted again. 0: *rkey says what it ended. */
static int receive_message(void *buf, u32 len, u32 *rkey)
{
	struct slot *s = &kv.rx[kv.next % DEPTH];
	int rc = slot_wait(s);

	if (rc)
		return rc;
	kv.next++;
	if (s->len != len) {
		RESULT("a message of %u octets, not %u", s->len, len);
		return -EBADMSG;
	}
	ib_dma_sync_single_for_cpu(kv.dev, s->dma, PAGE_SIZE, DMA_FROM_DEVICE);
	memcpy(buf, s->page, len);
	*rkey = s->rkey;
	ib_dma_sync_single_for_device(kv.dev, s->dma, PAGE_SIZE, DMA_FROM_DEVICE);
	return post_receive(s);
}

/* ---- the queue pair ---- */

static int slot_new(struct slot *s, enum dma_data_direction dir)
{
	s->cqe.done = slot_done;
	s->page = (u8 *)get_zeroed_page(GFP_KERNEL);
	if (!s->page)
		return -ENOMEM;
	s->dma = ib_dma_map_single(kv.dev, s->page, PAGE_SIZE, dir);
	if (!ib_dma_mapping_error(kv.dev, s->dma))
		return 0;
	free_page((unsigned long)s->page);
	s->page = NULL;
	return -ENOMEM;
}

static void slot_end(struct slot *s, enum dma_data_direction dir)
{
	if (!s->page)
		return;
	ib_dma_unmap_single(kv.dev, s->dma, PAGE_SIZE, dir);
	free_page((unsigned long)s->page);
	s->page = NULL;
}

static int do_close(void)
{
	unsigned int i;

	if (!IS_ERR_OR_NULL(kv.qp)) {
		ib_drain_qp(kv.qp);
		ib_destroy_qp(kv.qp);
	}
	if (!IS_ERR_OR_NULL(kv.mr))
		ib_dereg_mr(kv.mr);
	if (!IS_ERR_OR_NULL(kv.cq) && kv.own)
		ib_destroy_cq(kv.cq);
	else if (!IS_ERR_OR_NULL(kv.cq))
		ib_free_cq(kv.cq);
	for (i = 0; i < DEPTH; i++)
		slot_end(&kv.rx[i], DMA_FROM_DEVICE);
	slot_end(&kv.tx, DMA_TO_DEVICE);
	if (kv.target)
		dma_free_coherent(kv.dev->dma_device, PAGES * PAGE_SIZE, kv.target,
				  kv.target_dma);
	for (i = 0; i < PAGES; i++)
		if (kv.page[i])
			__free_page(kv.page[i]);
	if (!IS_ERR_OR_NULL(kv.pd))
		ib_dealloc_pd(kv.pd);
	memset(kv.page, 0, sizeof(kv.page));
	kv.qp = NULL;
	kv.mr = NULL;
	kv.cq = NULL;
	kv.pd = NULL;
	kv.target = NULL;
	return 0;
}

static struct ib_cq *open_cq(const char *how)
{
	struct ib_cq_init_attr attr = { .cqe = 64 };
	struct ib_cq *cq;

	kv.own = !strcmp(how, "own");
	atomic_set(&handler.calls, 0);
	if (kv.own) {
		cq = ib_create_cq(kv.dev, own_handler, NULL, NULL, &attr);
		if (!IS_ERR(cq))
			cq->poll_ctx = IB_POLL_DIRECT;	/* ib_drain_qp() polls it */
		return cq;
	}
	return ib_alloc_cq(kv.dev, NULL, attr.cqe, 0,
			   !strcmp(how, "direct") ? IB_POLL_DIRECT :
			   !strcmp(how, "softirq") ? IB_POLL_SOFTIRQ : IB_POLL_WORKQUEUE);
}

static int open_objects(const char *how)
{
	struct ib_qp_init_attr init = {
		.qp_type = IB_QPT_RC, .sq_sig_type = IB_SIGNAL_REQ_WR,
		.cap = { .max_send_wr = 16, .max_recv_wr = DEPTH + 1,
			 .max_send_sge = 1, .max_recv_sge = 1 },
	};

	kv.pd = ib_alloc_pd(kv.dev, 0);
	if (IS_ERR(kv.pd))
		return PTR_ERR(kv.pd);
	kv.cq = open_cq(how);
	if (IS_ERR(kv.cq))
		return PTR_ERR(kv.cq);
	init.send_cq = kv.cq;
	init.recv_cq = kv.cq;
	kv.qp = ib_create_qp(kv.pd, &init);
	if (IS_ERR(kv.qp))
		return PTR_ERR(kv.qp);
	kv.mr = ib_alloc_mr(kv.pd, IB_MR_TYPE_MEM_REG, PAGES);
	return PTR_ERR_OR_ZERO(kv.mr);
}

static int open_memory(void)
{
	unsigned int i;
	int rc = 0;

	for (i = 0; i < PAGES && !rc; i++) {
		kv.page[i] = alloc_page(GFP_KERNEL);
		rc = kv.page[i] ? 0 : -ENOMEM;
	}
	kv.target = dma_alloc_coherent(kv.dev->dma_device, PAGES * PAGE_SIZE,
				       &kv.target_dma, GFP_KERNEL);
	if (!kv.target)
		return -ENOMEM;
	for (i = 0; i < DEPTH && !rc; i++)
		rc = slot_new(&kv.rx[i], DMA_FROM_DEVICE);
	return rc ? rc : slot_new(&kv.tx, DMA_TO_DEVICE);
}

static int do_open(const char *how)
{
	struct ib_qp_attr attr = {
		.qp_state = IB_QPS_INIT, .port_num = 1,
		.qp_access_flags = IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_WRITE,
	};
	unsigned int i;
	int rc;

	kv.next = 0;
	rc = open_objects(how);
	if (!rc)
		rc = open_memory();
	if (!rc)
		rc = ib_modify_qp(kv.qp, &attr, IB_QP_STATE | IB_QP_PKEY_INDEX |
				  IB_QP_PORT | IB_QP_ACCESS_FLAGS);
	for (i = 0; i < DEPTH && !rc; i++)
		rc = post_receive(&kv.rx[i]);
	if (rc)
		do_close();
	return rc;
}

static int do_connect(u32 lid, u32 qpn)
{
	struct ib_qp_attr attr = {
		.qp_state = IB_QPS_RTR, .path_mtu = IB_MTU_1024, .dest_qp_num = qpn,
		.rq_psn = 7, .max_dest_rd_atomic = 4, .min_rnr_timer = 12,
		.ah_attr.type = RDMA_AH_ATTR_TYPE_IB,
	};
	int rc;

	kv.lid = lid;
	rdma_ah_set_dlid(&attr.ah_attr, lid);
	rdma_ah_set_port_num(&attr.ah_attr, 1);
	rc = ib_modify_qp(kv.qp, &attr, IB_QP_STATE | IB_QP_AV | IB_QP_PATH_MTU |
			  IB_QP_DEST_QPN | IB_QP_RQ_PSN | IB_QP_MAX_DEST_RD_ATOMIC |
			  IB_QP_MIN_RNR_TIMER);
	if (rc)
		return rc;
	attr = (struct ib_qp_attr) {
		.qp_state = IB_QPS_RTS, .sq_psn = 7, .timeout = 18, .retry_cnt = 7,
		.rnr_retry = 7, .max_rd_atomic = 4,
	};
	return ib_modify_qp(kv.qp, &attr, IB_QP_STATE | IB_QP_TIMEOUT | IB_QP_RETRY_CNT |
			    IB_QP_RNR_RETRY | IB_QP_SQ_PSN | IB_QP_MAX_QP_RD_ATOMIC);
}

/* ---- messages ---- */

static int exchange(bool client, u32 len, u32 seed)
{
	u8 *buf = kmalloc(PAGE_SIZE, GFP_KERNEL);
	u32 rkey;
	int rc = 0;

	if (!buf)
		return -ENOMEM;
	if (client) {
		fill(kv.tx.page, len, seed);
		rc = send_message(len, 0);
	}
	if (!rc)
		rc = receive_message(buf, len, &rkey);
	if (!rc)
		rc = check(buf, len, seed + client);
	if (!rc && !client) {
		fill(kv.tx.page, len, seed + 1);
		rc = send_message(len, 0);
	}
	kfree(buf);
	return rc;
}

static int do_messages(bool client, bool ahs, u32 n, u32 len)
{
	u64 begin = ktime_get_ns();
	int rc;

	if (!n || len > PAGE_SIZE)
		return -EINVAL;
	for (kv.messages = 0; kv.messages < n; kv.messages++) {
		rc = ahs ? make_ahs() : 0;
		if (!rc)
			rc = exchange(client, len, kv.messages);
		if (rc)
			return rc;
	}
	RESULT("%u messages, %llu ns each", n, (ktime_get_ns() - begin) / n);
	return 0;
}

/* ---- fast registration ---- */

static void list_init(struct scatterlist *sgl)
{
	unsigned int i, from;

	sg_init_table(sgl, PAGES);
	for (i = 0; i < PAGES; i++) {
		from = i ? 0 : FIRST;
		sg_set_page(&sgl[i], kv.page[i], PAGE_SIZE - from -
			    (i == PAGES - 1 ? LAST : 0), from);
	}
}

/* A registration is one message, piece by piece: both ends fill and check it so. */
static int each_piece(u8 *whole, struct scatterlist *sgl, u32 seed, bool write)
{
	unsigned int i;
	u8 *p = whole;
	u32 len;
	int rc = 0;

	for (i = 0; i < PAGES && !rc; i++, p += len) {
		len = PAGE_SIZE - (i ? 0 : FIRST) - (i == PAGES - 1 ? LAST : 0);
		if (sgl)
			p = sg_virt(&sgl[i]);
		if (write)
			fill(p, len, seed + i);
		else
			rc = check(p, len, seed + i);
	}
	return rc;
}

static int register_list(struct scatterlist *sgl)
{
	struct ib_reg_wr wr = {
		.wr.opcode = IB_WR_REG_MR, .mr = kv.mr,
		.access = IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_READ |
			  IB_ACCESS_REMOTE_WRITE,
	};
	int n;

	ib_update_fast_reg_key(kv.mr, ib_inc_rkey(kv.mr->rkey));
	n = VERB(ib_map_mr_sg(kv.mr, sgl, PAGES, NULL, PAGE_SIZE));
	if (n != PAGES) {
		RESULT("%d pages of %u are registered", n, PAGES);
		return -EINVAL;
	}
	wr.key = kv.mr->rkey;
	return post_wait(&wr.wr);
}

/* The peer has read and written, and has ended every other key. */
static int offer_list(u32 round)
{
	struct ib_send_wr inv = {
		.opcode = IB_WR_LOCAL_INV, .ex.invalidate_rkey = kv.mr->rkey,
	};
	struct offer *offer = (struct offer *)kv.tx.page;
	u32 rkey, answer;
	int rc;

	*offer = (struct offer) {
		.addr = kv.mr->iova, .rkey = kv.mr->rkey, .len = kv.mr->length,
		.seed = round,
	};
	rc = send_message(sizeof(*offer), 0);
	if (!rc)
		rc = receive_message(&answer, sizeof(answer), &rkey);
	if (rc)
		return rc;
	if (rkey == (round & 1 ? kv.mr->rkey : 0))
		return round & 1 ? 0 : post_wait(&inv);
	RESULT("the peer ended the key %#x, not %#x", rkey, kv.mr->rkey);
	return -EBADMSG;
}

static int register_round(struct scatterlist *sgl, u32 round)
{
	int rc;

	list_init(sgl);
	each_piece(NULL, sgl, round, true);
	if (!VERB(ib_dma_map_sg(kv.dev, sgl, PAGES, DMA_BIDIRECTIONAL)))
		return -EIO;
	rc = register_list(sgl);
	if (!rc)
		rc = offer_list(round);
	ib_dma_unmap_sg(kv.dev, sgl, PAGES, DMA_BIDIRECTIONAL);
	return rc ? rc : each_piece(NULL, sgl, round + 100, false);
}

static int do_register(u32 n)
{
	struct scatterlist *sgl = kcalloc(PAGES, sizeof(*sgl), GFP_KERNEL);
	u32 i;
	int rc = sgl ? 0 : -ENOMEM;

	for (i = 0; i < n && !rc; i++)
		rc = register_round(sgl, i);
	if (!rc)
		RESULT("%u registrations", n);
	kfree(sgl);
	return rc;
}

static int remote(enum ib_wr_opcode opcode)
{
	struct ib_sge sge = {
		.addr = kv.target_dma, .length = kv.last.len,
		.lkey = kv.pd->local_dma_lkey,
	};
	struct ib_rdma_wr wr = {
		.wr = { .opcode = opcode, .sg_list = &sge, .num_sge = 1 },
		.remote_addr = kv.last.addr, .rkey = kv.last.rkey,
	};

	if (kv.last.len != PAGES * PAGE_SIZE - FIRST - LAST) {
		RESULT("%u octets are registered", kv.last.len);
		return -EBADMSG;
	}
	return post_wait(&wr.wr);
}

static int target_round(u32 round)
{
	u32 rkey;
	int rc = receive_message(&kv.last, sizeof(kv.last), &rkey);

	if (!rc)
		rc = remote(IB_WR_RDMA_READ);
	if (!rc)
		rc = each_piece(kv.target, NULL, kv.last.seed, false);
	if (rc)
		return rc;
	each_piece(kv.target, NULL, kv.last.seed + 100, true);
	rc = remote(IB_WR_RDMA_WRITE);
	return rc ? rc : send_message(sizeof(u32), round & 1 ? kv.last.rkey : 0);
}

static int do_target(u32 n)
{
	u32 i;
	int rc = 0;

	for (i = 0; i < n && !rc; i++)
		rc = target_round(i);
	if (!rc)
		RESULT("%u registrations reached", n);
	return rc;
}

/* This ends the queue pair, too. */
static int do_stale(void)
{
	int rc = remote(IB_WR_RDMA_READ);

	if (rc == -EIO && kv.tx.status == IB_WC_REM_ACCESS_ERR)
		return 0;
	if (!rc)
		RESULT("a dead key works");
	return rc ? rc : -EBADMSG;
}

/* ---- commands ---- */

static int run(const char *what, const char *word, u32 x, u32 y)
{
	if (!kv.dev)
		return -ENODEV;
	if (!strcmp(what, "open"))
		return kv.qp ? -EBUSY : do_open(word);
	if (!kv.qp)
		return -ENOTCONN;
	if (!strcmp(what, "close"))
		return do_close();
	if (!strcmp(what, "connect"))
		return do_connect(x, y);
	if (!strcmp(what, "serve"))
		return do_messages(false, false, x, y);
	if (!strcmp(what, "send"))
		return do_messages(true, false, x, y);
	if (!strcmp(what, "atomic"))
		return do_messages(true, true, x, y) ?: events_check();
	if (!strcmp(what, "register"))
		return do_register(x);
	if (!strcmp(what, "target"))
		return do_target(x);
	return !strcmp(what, "stale") ? do_stale() : -EINVAL;
}

static ssize_t run_write(struct file *file, const char __user *from, size_t len,
			 loff_t *pos)
{
	char line[64] = "", what[16] = "", word[16] = "";
	u32 x = 0, y = 0;
	int rc;

	if (len >= sizeof(line) || copy_from_user(line, from, len))
		return -EINVAL;
	if (sscanf(line, "%15s %u %u", what, &x, &y) < 2 &&
	    sscanf(line, "%15s %15s", what, word) < 1)
		return -EINVAL;
	mutex_lock(&lock);
	RESULT("ok");
	rc = run(what, word, x, y) ?: handler_check();
	pr_info("vhca-kverbs: %s: %d, %s\n", what, rc, kv.result);
	mutex_unlock(&lock);
	return rc ? rc : len;
}

static ssize_t info_read(struct file *file, char __user *to, size_t len, loff_t *pos)
{
	struct ib_port_attr port = {};
	char line[192];
	int n;

	mutex_lock(&lock);
	if (kv.dev)
		ib_query_port(kv.dev, 1, &port);
	n = scnprintf(line, sizeof(line), "%s %u %u %s\n",
		      kv.dev ? dev_name(&kv.dev->dev) : "-", port.lid,
		      kv.qp ? kv.qp->qp_num : 0, kv.result);
	mutex_unlock(&lock);
	return simple_read_from_buffer(to, len, pos, line, n);
}

static const struct file_operations run_ops = {
	.owner = THIS_MODULE,
	.write = run_write,
};

static const struct file_operations info_ops = {
	.owner = THIS_MODULE,
	.read = info_read,
};

/* A device is ready for use when its clients hear of it. */
static int try_device(struct ib_device *dev)
{
	struct ib_qp_init_attr init = {
		.qp_type = IB_QPT_RC,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};
	struct ib_pd *pd = ib_alloc_pd(dev, 0);
	struct ib_cq *cq;
	struct ib_qp *qp;
	int rc;

	if (IS_ERR(pd))
		return PTR_ERR(pd);
	cq = ib_alloc_cq(dev, NULL, 4, 0, IB_POLL_SOFTIRQ);
	rc = PTR_ERR_OR_ZERO(cq);
	if (!rc) {
		init.send_cq = cq;
		init.recv_cq = cq;
		qp = ib_create_qp(pd, &init);
		rc = PTR_ERR_OR_ZERO(qp);
		if (!rc)
			ib_destroy_qp(qp);
		ib_free_cq(cq);
	}
	ib_dealloc_pd(pd);
	return rc;
}

static int add_one(struct ib_device *dev)
{
	int rc = -EBUSY;

	mutex_lock(&lock);
	if (!kv.dev)
		rc = try_device(dev);
	if (!rc)
		kv.dev = dev;
	mutex_unlock(&lock);
	return rc;
}

/* A command that runs ends first. What is posted then completes with errors. */
static void remove_one(struct ib_device *dev, void *data)
{
	WRITE_ONCE(leaving, true);
	wake_up(&done_wait);
	mutex_lock(&lock);
	do_close();
	kv.dev = NULL;
	WRITE_ONCE(leaving, false);
	mutex_unlock(&lock);
}

static struct ib_client client = {
	.name = "vhca-kverbs",
	.add = add_one,
	.remove = remove_one,
};

static struct dentry *folder;

static int __init kverbs_init(void)
{
	int rc = ib_register_client(&client);

	if (rc)
		return rc;
	folder = debugfs_create_dir("vhca-kverbs", NULL);
	debugfs_create_file("run", 0200, folder, NULL, &run_ops);
	debugfs_create_file("info", 0400, folder, NULL, &info_ops);
	debugfs_create_u32("messages", 0400, folder, &kv.messages);
	return 0;
}

static void __exit kverbs_exit(void)
{
	debugfs_remove(folder);
	ib_unregister_client(&client);
}

module_init(kverbs_init);
module_exit(kverbs_exit);

MODULE_DESCRIPTION("A consumer of RDMA in the kernel, for tests of vhca");
MODULE_LICENSE("GPL");
