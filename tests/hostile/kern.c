// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Objects of a guest's kernel at hostile-backend, see kern.h: what it writes to CQs.
 */
#include <endian.h>
#include <errno.h>
#include <rdma/mlx5-abi.h>
#include <sys/mman.h>

#include "kern.h"
#include "reg.h"

#define CQS		160
#define QPS		160
#define CQE_SIZE	64
#define NUMBER		0xffffffu	/* of a queue pair, of a consumer's index */
#define QP_ERR		6
#define QP_STATE	1u
#define FLUSHED		5		/* syndrome */
#define POSTED_MOST	64

/* Of a completion (<linux/mlx5/device.h>). */
enum { AT_BYTES = 44, AT_SYNDROME = 55, AT_QPN = 56, AT_COUNTER = 60, AT_OWNER = 63 };
enum { OP_REQ, OP_RECV = 2, OP_REQ_ERR = 13, OP_RECV_ERR = 14, OP_NONE = 15 };
enum { DB_CONSUMED };			/* word of a CQ's record */
enum { DB_RECEIVES, DB_SENDS };		/* words of a queue pair's */

struct cq {
	uint32_t handle, nent, prod, pages;
	uint8_t *buf;
	uint32_t *db;
};

struct qp {
	uint32_t handle, qpn, send_cq, recv_cq, done[2];
	uint32_t *db;
	bool stops;
};

static struct cq cqs[CQS];
static struct qp qps[QPS];

/* ---- nodes, registers ---- */

void kern_begin(struct peer *b)
{
	store_put(b->back, XENVHCA_NODE_KERNEL, "1");
	store_put(b->back, XENVHCA_NODE_KERNEL_POOL_MB, "2");
	store_put(b->back, XENVHCA_NODE_IP, "%s", KERN_IP);
	if (!reg_permit(b->domid, true))
		die("no doorbell page for the guest: %s", strerror(errno));
}

void kern_end(struct peer *b)
{
	reg_permit(b->domid, false);
}

static void doorbell(struct xenvhca_response *rsp)
{
	struct xenvhca_mmap_rsp *m = &rsp->u.mmap;

	rsp->status = 0;
	memset(m, 0, sizeof(*m));
	m->kind = XENVHCA_MMAP_MMIO;
	m->prot = XENVHCA_PROT_NC;
	m->nr_pages = 1;
	m->frame = REG_FRAME;
}

/* ---- memory of queues ---- */

/* A directory is more than the consumers of these scenarios need. */
static void *map_pages(struct peer *b, const struct xenvhca_pages *p)
{
	void *va;

	if (!p->nr_pages || p->level || p->nr_pages > XENVHCA_MAX_GREFS_INLINE)
		return NULL;
	va = xengnttab_map_domain_grant_refs(b->gnt, p->nr_pages, b->domid,
					     (uint32_t *)p->gref, PROT_READ | PROT_WRITE);
	if (!va)
		die("cannot map a queue: %s", strerror(errno));
	return va;
}

static void cq_end(struct peer *b, struct cq *cq)
{
	if (cq->buf)
		xengnttab_unmap(b->gnt, cq->buf, cq->pages);
	if (cq->db)
		xengnttab_unmap(b->gnt, cq->db, 1);
	memset(cq, 0, sizeof(*cq));
}

static void qp_end(struct peer *b, struct qp *qp)
{
	if (qp->db)
		xengnttab_unmap(b->gnt, qp->db, 1);
	memset(qp, 0, sizeof(*qp));
}

static struct cq *cq_of(uint32_t handle)
{
	unsigned int i;

	for (i = 0; i < CQS; i++)
		if (cqs[i].handle == handle)
			return &cqs[i];
	return NULL;
}

static struct qp *qp_of(uint32_t handle)
{
	unsigned int i;

	for (i = 0; i < QPS; i++)
		if (qps[i].handle == handle)
			return &qps[i];
	return NULL;
}

static void cq_new(struct peer *b, const struct xenvhca_create_cq_req *r, uint32_t handle)
{
	struct cq *cq = cq_of(0);

	if (!cq)
		return;
	cq->handle = handle;
	cq->pages = r->buf.nr_pages;
	cq->buf = map_pages(b, &r->buf);
	cq->db = map_pages(b, &r->db);
	for (cq->nent = 1; cq->nent < r->cqe + 1; cq->nent <<= 1)
		;
	if (cq->nent * CQE_SIZE > cq->pages * PAGE)
		cq->nent = cq->pages * PAGE / CQE_SIZE;
}

static void qp_new(struct peer *b, const struct xenvhca_create_qp_req *r, uint32_t handle,
		   uint32_t qpn)
{
	struct qp *qp = qp_of(0);

	if (!qp)
		return;
	qp->handle = handle;
	qp->qpn = qpn;
	qp->send_cq = r->send_cq;
	qp->recv_cq = r->recv_cq;
	qp->db = map_pages(b, &r->db);
}

void kern_let_go(struct peer *b)
{
	unsigned int i;

	for (i = 0; i < CQS; i++)
		cq_end(b, &cqs[i]);
	for (i = 0; i < QPS; i++)
		qp_end(b, &qps[i]);
}

static void modified(const struct xenvhca_modify_qp_req *r)
{
	struct qp *qp = qp_of(r->handle);

	if (qp && r->handle && r->attr.mask & QP_STATE && r->attr.qp_state == QP_ERR)
		qp->stops = true;
}

static void destroyed(struct peer *b, const struct xenvhca_request *req)
{
	uint32_t handle = req->u.handle.handle;

	if (handle && req->op == XENVHCA_OP_DESTROY_CQ && cq_of(handle))
		cq_end(b, cq_of(handle));
	if (handle && req->op == XENVHCA_OP_DESTROY_QP && qp_of(handle))
		qp_end(b, qp_of(handle));
}

void kern_answer(struct peer *b, const struct xenvhca_request *req,
		 struct xenvhca_response *rsp)
{
	switch (req->op) {
	case XENVHCA_OP_ALLOC_UCONTEXT:
		rsp->udata[offsetof(struct mlx5_ib_alloc_ucontext_resp, cqe_version)] = 0;
		break;
	case XENVHCA_OP_MMAP:
		doorbell(rsp);
		break;
	case XENVHCA_OP_CREATE_CQ:
		cq_new(b, &req->u.create_cq, rsp->u.cq.handle);
		break;
	case XENVHCA_OP_CREATE_QP:
		qp_new(b, &req->u.create_qp, rsp->u.create_qp.handle, rsp->u.create_qp.qpn);
		break;
	case XENVHCA_OP_MODIFY_QP:
		modified(&req->u.modify_qp);
		break;
	case XENVHCA_OP_DESTROY_CQ:
	case XENVHCA_OP_DESTROY_QP:
		destroyed(b, req);
		break;
	case XENVHCA_OP_DEALLOC_UCONTEXT:
		kern_let_go(b);
		break;
	case XENVHCA_OP_DEALLOC_CM:
		kern_cm_end();
		break;
	case XENVHCA_OP_CM_COMMAND:
		kern_cm_answer(b, req, rsp);
		break;
	}
}

/* ---- completions ---- */

static void put_be(uint8_t *cqe, unsigned int at, uint32_t v, unsigned int octets)
{
	while (octets--) {
		cqe[at + octets] = (uint8_t)v;
		v >>= 8;
	}
}

static uint32_t record(const uint32_t *db, unsigned int word)
{
	return db ? be32toh(__atomic_load_n(&db[word], __ATOMIC_ACQUIRE)) : 0;
}

/* Whether it is written: there is room. The owner is the last octet, and written last. */
static bool cq_put(struct cq *cq, const uint8_t *cqe, bool owner_lies)
{
	uint8_t *to, own;

	if (!cq || !cq->buf || !cq->nent ||
	    ((cq->prod - record(cq->db, DB_CONSUMED)) & NUMBER) >= cq->nent)
		return false;
	to = cq->buf + (cq->prod & (cq->nent - 1)) * CQE_SIZE;
	own = (uint8_t)(cqe[AT_OWNER] << 4 | !!(cq->prod & cq->nent));
	memcpy(to, cqe, AT_OWNER);
	__atomic_store_n(to + AT_OWNER, owner_lies ? own ^ 1 : own, __ATOMIC_RELEASE);
	cq->prod += !owner_lies;
	return true;
}

static void tell_cq(struct peer *b, const struct cq *cq)
{
	const struct xenvhca_event ev = { XENVHCA_EVT_COMP, 0, 0, cq->handle };

	if (peer_pour_one(b, &ev))
		peer_poured(b);
}

/* What is posted and not flushed yet of one direction. */
static void flush(struct peer *b, struct qp *qp, unsigned int word, uint8_t opcode)
{
	struct cq *cq = cq_of(word == DB_SENDS ? qp->send_cq : qp->recv_cq);
	uint8_t cqe[CQE_SIZE] = { [AT_SYNDROME] = FLUSHED, [AT_OWNER] = opcode };
	uint16_t posted = (uint16_t)record(qp->db, word);
	unsigned int n = 0;

	put_be(cqe, AT_QPN, qp->qpn, 4);
	while ((uint16_t)qp->done[word] != posted && n++ < POSTED_MOST) {
		put_be(cqe, AT_COUNTER, qp->done[word], 2);
		if (!cq_put(cq, cqe, false))
			break;
		qp->done[word]++;
	}
	if (n)
		tell_cq(b, cq);
}

void kern_idle(struct peer *b)
{
	unsigned int i;

	for (i = 0; i < QPS; i++) {
		if (!qps[i].stops)
			continue;
		flush(b, &qps[i], DB_RECEIVES, OP_RECV_ERR);
		flush(b, &qps[i], DB_SENDS, OP_REQ_ERR);
	}
	kern_cm_tell(b);
}

/* ---- lies ---- */

/* One that there is, or NULL. */
static struct cq *some_cq(void)
{
	unsigned int i, first = rnd() % CQS;

	for (i = 0; i < CQS; i++)
		if (cqs[(first + i) % CQS].handle)
			return &cqs[(first + i) % CQS];
	return NULL;
}

/* Of a queue pair that completes there, mostly. */
static uint32_t some_qpn(uint32_t cq)
{
	unsigned int i, first = rnd() % QPS;
	const struct qp *qp;

	for (i = 0; i < QPS; i++) {
		qp = &qps[(first + i) % QPS];
		if (qp->handle && (qp->send_cq == cq || qp->recv_cq == cq || !(rnd() % 8)))
			return qp->qpn;
	}
	return rnd();
}

/* Each field is what it should be, or close to that, or anything. */
static void forge(uint8_t *cqe, uint32_t cq)
{
	static const uint8_t usual[] = { OP_REQ, OP_RECV, OP_REQ_ERR, OP_RECV_ERR };
	unsigned int i;

	for (i = 0; i < CQE_SIZE; i++)
		cqe[i] = rnd() % 4 ? 0 : (uint8_t)rnd();
	cqe[AT_OWNER] = (uint8_t)(rnd() % 4 ? usual[rnd() % 4] : rnd() % 16);
	cqe[AT_SYNDROME] = (uint8_t)(rnd() % 4 ? rnd() % 0x25 : rnd());
	put_be(cqe, AT_QPN, rnd() % 8 ? some_qpn(cq) : rnd(), 4);
	put_be(cqe, AT_COUNTER, rnd() % 4 ? rnd() % 8 : rnd(), 2);
	put_be(cqe, AT_BYTES, rnd() % 4 ? rnd() % 128 : rnd(), 4);
}

/* Of CQs that are there, but those of queue pairs that stop, which are to end. */
static bool is_ending(uint32_t cq)
{
	unsigned int i;

	for (i = 0; i < QPS; i++)
		if (qps[i].stops && (qps[i].send_cq == cq || qps[i].recv_cq == cq))
			return true;
	return false;
}

void kern_completions(struct peer *b)
{
	struct cq *cq = some_cq();
	uint8_t cqe[CQE_SIZE];
	unsigned int n;

	if (!cq || is_ending(cq->handle))
		return;
	for (n = rnd() % 8; n--;) {
		forge(cqe, cq->handle);
		b->told += cq_put(cq, cqe, cqe[AT_OWNER] == OP_NONE || !(rnd() % 8));
	}
	if (rnd() % 4)
		tell_cq(b, cq);
}

void kern_flood(struct peer *b)
{
	struct xenvhca_event ev;
	unsigned int i;

	if (peer_rests(b))
		return;
	for (i = 0; i < CQS; i++)
		kern_completions(b);
	for (i = 0; i < 16; i++)
		kern_orders(b);
	do {
		ev = (struct xenvhca_event){
			(uint8_t)(XENVHCA_EVT_COMP + rnd() % 6), (uint8_t)(rnd() % 20),
			(uint16_t)rnd(), rnd() % (b->handle + 2),
		};
		if (ev.event == 8)	/* the HCA is broken: that would be all */
			ev.event = 0;
	} while (peer_pour_one(b, &ev));
	peer_poured(b);
}
