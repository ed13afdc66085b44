/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * What the files of the queue pairs' engines share: cx_qp.c (states, run
 * queue, deadlines), cx_flush.c (completion entries, flushing), cx_wqe.c
 * (send WQEs), cx_req.c and cx_req_rx.c (requester), cx_resp.c and
 * cx_resp_run.c (responder), cx_tm.c (tag matching), cx_rndv.c (rendezvous),
 * cx_ud.c (datagrams).
 */
#ifndef CX_ENG_H
#define CX_ENG_H

#include <errno.h>
#include <stdlib.h>

#include "cx_priv.h"

#define CX_NEXT_IBA	0x1bu	/* next header of a GRH */
#define CX_FLIGHTS	128u		/* WQEs of a QP in flight, at most */
#define CX_WINDOW	(1u << 20)	/* bytes sent and not acknowledged */
#define CX_CHUNK	(512u << 10)	/* bytes of a READ asked for at once */
#define CX_SLICE	(128u << 10)	/* budget of one QP before the next */
#define CX_COST		256u		/* budget of whatever is done */
#define CX_GRH		40u		/* bytes before a received datagram */
#define CX_PSNS		(1u << 24)
#define CX_SQ_SGES	(CX_MAX_WQE / 16)

/* a - b of two PSNs, of which one is less than 2^23 behind the other. */
static inline int32_t cx_psn_diff(uint32_t a, uint32_t b)
{
	return (int32_t)((a - b) << 8) >> 8;
}

static inline uint32_t cx_psn_add(uint32_t a, uint32_t n)
{
	return (a + n) & (CX_PSNS - 1);
}

/* Transports that answer, and those of datagrams: UD and management QPs. */
static inline bool cx_is_reliable(const struct cx_qp *qp)
{
	return qp->st == CX_ST_RC || qp->st == CX_ST_XRC;
}

static inline bool cx_is_ud(const struct cx_qp *qp)
{
	return qp->st == CX_ST_UD || qp->st == CX_ST_QP0 ||
	       qp->st == CX_ST_QP1;
}

/* A WQE is one message that nobody answers. */
static inline bool cx_is_unanswered(const struct cx_qp *qp)
{
	return cx_is_ud(qp) || qp->st == CX_ST_SQ;
}

/* PSNs of a message or of its part of so many bytes. */
static inline uint32_t cx_psns(const struct cx_qp *qp, uint32_t bytes)
{
	return bytes ? (bytes + (1u << qp->mtu) - 1) >> qp->mtu : 1;
}

/* Little is left of a turn after something of so many bytes was done. */
static inline void cx_spend(size_t *budget, size_t bytes)
{
	bytes += CX_COST;
	*budget = *budget > bytes ? *budget - bytes : 0;
}

/* A send WQE, read and parsed; nothing of it is trusted but its bounds. */
struct cx_swqe {
	uint16_t index, bbs;	/* first basic block, and how many */
	uint8_t opcode;
	bool signaled, solicited;
	bool local;		/* done in the device itself, without a frame ... */
	bool alone;		/* ... when all before it is done */
	uint8_t fence;		/* CX_FENCE_* */
	uint32_t imm;		/* or the key to invalidate */
	uint32_t srqn;		/* XRC */
	uint64_t raddr;
	uint32_t rkey;
	uint64_t swap_add, compare;
	struct cx_av av;	/* datagrams */
	uint32_t dqpn, qkey;
	uint16_t pkey;		/* of a management QP; 0: the QP's */
	/* Of an SQ: flags, octets of each piece's data, and of headers. */
	uint8_t checksums;
	uint16_t mss, header;
	uint64_t bytes;
	uint32_t len;		/* of raw */
	unsigned int nr;
	struct {
		uint64_t addr;	/* of inline data: in raw */
		uint32_t key, len;
		bool inl;
	} sge[CX_SQ_SGES];
	uint8_t raw[CX_MAX_WQE];
};

enum { CX_FENCE_NONE, CX_FENCE_SMALL, CX_FENCE_READS, CX_FENCE_ALL,
       CX_FENCE_SMALL_READS };

/* The requester. Flights are numbered; fl[n & (room - 1)]. */
struct cx_req {
	struct cx_flight *fl;
	uint32_t room;
	uint32_t first, cur, end;	/* oldest, being sent, next new */
	uint32_t off;		/* bytes of fl[cur] that are sent */
	uint32_t una, psn;	/* oldest not acknowledged, next new PSN */
	uint32_t high;		/* behind the highest PSN ever sent */
	uint32_t unasked;	/* bytes sent since an ACK was asked for */
	uint8_t retries, rnr_tries;
	bool rnr;		/* waits out an RNR NAK */
	bool implied;		/* repeats what a later response implied */
	bool progress, late;	/* since the deadline was set */
	bool drained;		/* SQD: the event was sent */
	uint64_t deadline;	/* of whatever the QP waits for, or 0 */
	uint64_t poll;		/* ERR: interval at which receives are seen */
	bool timed;		/* in the device's list */
	struct cx_qp *timed_next;
	struct cx_rndv *rndv;	/* CX_RNDVS, or NULL: none yet */
};

/* A READ or atomic request, to be answered or kept for a repetition. */
struct cx_rd {
	uint8_t kind;		/* CX_F_READ, or of an atomic */
	bool pending;
	uint32_t psn, npsn;
	uint32_t srqn;		/* XRC: whose PD applies */
	uint32_t rkey, len, off;
	uint64_t va;
	uint64_t result;	/* of an atomic */
};

enum cx_msg { CX_MSG_NONE, CX_MSG_SEND, CX_MSG_WRITE };

/* What a message is to the list of a queue with tags. */
enum cx_tm_msg {
	CX_TM_NONE,		/* no such queue, or no SEND */
	CX_TM_UNEXPECTED,	/* no tag that it matches; counted */
	CX_TM_NO_TAG,		/* has none, by its header */
	CX_TM_EAGER,		/* matched: data follows the header ... */
	CX_TM_EAGER_LONG,	/* ... in several packets */
	CX_TM_RNDV,		/* matched: says where the device finds the data ... */
	CX_TM_RNDV_SW,		/* ... which software has to read */
};

/* What a message for such a queue begins with (struct ibv_tmh) ... */
#define CX_TMH		16u
/* ... and a rendezvous request goes on with (struct ibv_rvh). */
#define CX_RVH		16u

/* A tagged buffer. */
struct cx_tag {
	uint16_t index;		/* by which software knows it */
	bool live;		/* messages may match it */
	uint64_t tag, mask;
	uint64_t addr;
	uint32_t key, len;
};

/*
 * The send queue of a QP of which the device is the owner: two WQEs for each
 * rendezvous, which reads the data and then tells the sender (FIN).
 */
struct cx_rndv {
	struct cx_tag tag;
	uint32_t len;			/* of the data */
	bool solicited;			/* the request was */
	uint8_t head[CX_TMH + CX_RVH];	/* of the request */
};

#define CX_RNDVS	(1u << CX_LOG_TAGS)

struct cx_resp {
	uint32_t epsn;		/* expected */
	uint32_t msn;
	uint16_t rq_pi;		/* as last read from the doorbell record */
	bool established;	/* COMM_EST was sent */
	bool last_wqe;		/* its event was sent */
	bool ack_due, nak_due, fatal;
	bool gap;		/* NAKed: only epsn counts */
	uint8_t nak;
	uint32_t nak_psn;
	enum cx_event event;	/* of a fatal NAK, or 0 */
	enum cx_msg msg;	/* of which a part has come */
	uint32_t off;
	uint32_t rkey, dma_len;
	uint64_t va;
	bool have_w;		/* w is taken and not completed */
	uint32_t w_srqn;	/* from this SRQ, if it has a CQ, or CX_NONE */
	struct cx_rwqe w;	/* or the tagged buffer of a message */
	enum cx_tm_msg tm;
	struct cx_tag tag;	/* off the list, if one was matched */
	uint8_t tmh[CX_TMH];
	struct cx_rd *rd;	/* a ring of 1 << log_rra_max */
	uint32_t rd_room, rd_first, rd_nr, rd_pending;
};

/* How a QP's turn ended: nothing to do now, more to do, cannot send now. */
enum cx_turn { CX_IDLE, CX_MORE, CX_BLOCKED };

/* ---- the family's ---- */
/* The control segment and size of a WQE; -EFAULT. */
static inline int cx_wqe_peek(struct cx_dev *d, const struct cx_qp *qp,
			      uint16_t index, struct cx_swqe *w)
{
	return d->family->wqe_peek(d, qp, index, w);
}

/* ---- cx_wqe.c ---- */
/* 0; -EFAULT: unreadable; -EINVAL: malformed (opcode, index, bbs are set). */
int cx_wqe_read(struct cx_dev *d, const struct cx_qp *qp, uint16_t index,
		struct cx_swqe *w);
/* Bytes of a WQE from its byte off on, into w->raw; -EFAULT. */
int cx_wqe_copy(struct cx_dev *d, const struct cx_qp *qp, struct cx_swqe *w,
		uint32_t off, uint32_t len);
/* The data segments, which begin there; -EINVAL. */
int cx_wqe_pieces(struct cx_swqe *w, uint32_t off);
/* Whether all of its memory may be used so; 0 or as cx_mkey_check(). */
int cx_wqe_check(struct cx_dev *d, const struct cx_qp *qp,
		 const struct cx_swqe *w, uint8_t access);
int cx_wqe_gather(struct cx_dev *d, const struct cx_qp *qp,
		  const struct cx_swqe *w, uint64_t off, void *to, size_t len);
int cx_wqe_scatter(struct cx_dev *d, const struct cx_qp *qp,
		   const struct cx_swqe *w, uint64_t off, const void *from,
		   size_t len);

/* ---- cx_flush.c ---- */
/* Completes a send: syndrome 0 is success. bytes: of a READ or atomic. */
void cx_send_done(struct cx_dev *d, struct cx_qp *qp, uint16_t wqe,
		  uint8_t opcode, uint32_t bytes, uint8_t syndrome);
/*
 * Completes the receive WQE that was taken, or the tagged buffer; f may be NULL
 * if syndrome.
 */
void cx_recv_done(struct cx_dev *d, struct cx_qp *qp,
		  const struct cx_frame *f, enum cx_recv how, uint32_t bytes,
		  uint8_t syndrome);
enum cx_turn cx_flush_sq(struct cx_dev *d, struct cx_qp *qp, size_t *budget);
enum cx_turn cx_flush_rq(struct cx_dev *d, struct cx_qp *qp, size_t *budget);

/* ---- cx_qp.c ---- */
/* Looks how far the send queue is posted; false: the QP has failed. */
bool cx_sq_update(struct cx_dev *d, struct cx_qp *qp);
void cx_deadline(struct cx_dev *d, struct cx_qp *qp, uint64_t when);
/* A send failed: SQER for UC and UD, ERR for the others. */
void cx_sq_fail(struct cx_dev *d, struct cx_qp *qp);

/* ---- cx_req.c, cx_req_rx.c ---- */
enum cx_turn cx_req_run(struct cx_dev *d, struct cx_qp *qp, size_t *budget);
/* Completes what is done, oldest first. */
void cx_req_complete(struct cx_dev *d, struct cx_qp *qp);
static inline struct cx_flight *cx_flight(const struct cx_req *r, uint32_t n)
{
	return &r->fl[n & (r->room - 1)];
}
/* Behind which byte the chunk of a READ ends that holds byte off. */
static inline uint32_t cx_chunk_end(const struct cx_flight *fl, uint32_t off)
{
	uint32_t end = (off / CX_CHUNK + 1) * CX_CHUNK;

	return end < fl->bytes ? end : fl->bytes;
}
static inline bool cx_is_atomic(uint8_t opcode)
{
	return opcode == CX_OP_ATOMIC_CS ||
	       opcode == CX_OP_ATOMIC_FA;
}
/* Goes on sending with the oldest PSN not acknowledged. */
void cx_req_rewind(struct cx_dev *d, struct cx_qp *qp);
/* The deadline has come. */
void cx_req_timer(struct cx_dev *d, struct cx_qp *qp, uint64_t now);
uint64_t cx_req_timeout(const struct cx_qp *qp);
/* A flight's WQE once more; it fails unless it is what it was. */
bool cx_req_reread(struct cx_dev *d, struct cx_qp *qp, struct cx_flight *fl,
		   struct cx_swqe *w);
void cx_req_reset(struct cx_qp *qp);

/* ---- cx_resp.c, cx_resp_run.c ---- */
/* Takes a receive WQE unless one is left: 0 or as cx_rq_take(). */
int cx_resp_take(struct cx_dev *d, struct cx_qp *qp, uint32_t xrc_srqn);
/* Writes into the receive WQE that was taken. */
int cx_resp_scatter(struct cx_dev *d, struct cx_qp *qp, uint64_t off,
		    const void *from, size_t len);
/* The PD that guards accesses of a request: of the SRQ for XRC; or CX_NONE. */
uint32_t cx_resp_pd(struct cx_dev *d, const struct cx_qp *qp,
		    uint32_t xrc_srqn);
enum cx_turn cx_resp_run(struct cx_dev *d, struct cx_qp *qp, size_t *budget);
/* Is there room for another READ or atomic? -EBUSY: the peer has too many. */
int cx_resp_room(struct cx_qp *qp);
/* Keeps one, when there was room. */
struct cx_rd *cx_resp_keep(struct cx_qp *qp, const struct cx_frame *f);
/* A request that was carried out already. */
void cx_resp_repeat(struct cx_dev *d, struct cx_qp *qp,
		    const struct cx_frame *f);
void cx_resp_reset(struct cx_qp *qp);

/* ---- cx_tm.c ---- */
static inline bool cx_tm_matched(const struct cx_resp *rs)
{
	return rs->tm >= CX_TM_EAGER;
}
/* The queue with tags that a QP receives from, or NULL. */
struct cx_srq *cx_tm_srq(struct cx_dev *d, const struct cx_qp *qp);
/*
 * The first frame of a SEND. If a tag matches, its buffer is what the message
 * goes to, and 0 is returned. -EBUSY: the sender has to try again. -ENOENT: a
 * receive WQE is to be taken ...
 */
int cx_tm_begin(struct cx_dev *d, struct cx_qp *qp, const struct cx_frame *f);
/* ... and when there was one, the message is counted. */
void cx_tm_unmatched(struct cx_dev *d, struct cx_qp *qp,
		     const struct cx_frame *f);
/* What of its first frame goes to the buffer. */
void cx_tm_cut(const struct cx_resp *rs, const uint8_t **data, uint32_t *len);
/* A message that software will not hear of is not counted any more. */
void cx_tm_forget(struct cx_dev *d, struct cx_qp *qp);
/* Tells software that a message has taken the tag, as its data are under way ... */
void cx_tm_consumed(struct cx_dev *d, const struct cx_qp *qp);
/* ... and what became of a rendezvous. */
void cx_tm_arrived(struct cx_dev *d, const struct cx_qp *qp,
		   const struct cx_rndv *v, bool failed);

/* ---- cx_rndv.c ---- */
/* Whether the device reads the data of a request that matched a tag. */
bool cx_rndv_ours(const struct cx_qp *qp, const struct cx_tag *tag,
		  const struct cx_frame *f);
/* Is there room for another? */
bool cx_rndv_room(struct cx_qp *qp);
/* Begins one, of the tag that was matched, when there was room. */
void cx_rndv_begin(struct cx_dev *d, struct cx_qp *qp,
		   const struct cx_frame *f);
/* A WQE of the device's: as cx_wqe_read(). */
int cx_rndv_wqe(const struct cx_qp *qp, uint16_t index, struct cx_swqe *w);
/* One of them is done with; syndrome 0 is success. */
void cx_rndv_done(struct cx_dev *d, struct cx_qp *qp, uint16_t index,
		  uint8_t syndrome);
/* Nothing more will be read: software gets the buffers back. */
void cx_rndv_cancel(struct cx_dev *d, struct cx_qp *qp);

/* ---- cx_ud.c ---- */
int cx_ud_send(struct cx_dev *d, struct cx_qp *qp, const struct cx_swqe *w);
void cx_ud_rx(struct cx_dev *d, struct cx_qp *qp, struct cx_frame *f);
/* Fills in the addresses of a frame. */
void cx_frame_route(struct cx_dev *d, const struct cx_qp *qp,
		    const struct cx_av *av, struct cx_frame *f);
/* Whether a frame's P_Key is the QP's (any of the port's for QP 0 and 1). */
bool cx_pkey_ok(struct cx_dev *d, const struct cx_qp *qp, uint16_t pkey);

#endif
