/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * A small mthca driver and provider over the rig, for a memory-free HCA: regions under
 * all queues, records by index, WQEs that are described by those before them. Commands
 * and events are m4.h's. What it knows of contexts and entries it has from the sources
 * of the driver and the provider, and nothing from the model.
 */
#ifndef MT_H
#define MT_H

#include "m4.h"

#define MT_LOG_QP	10u
#define MT_LOG_CQ	8u
#define MT_LOG_SRQ	6u
#define MT_LOG_MPT	10u
#define MT_LOG_MCG	8u
#define MT_LOG_UARC	18u		/* octets */
#define MT_RECORDS	512u		/* of a page */

enum { MT_LOCAL_WRITE = 1 << 11, MT_READ_ONLY = 0 };

struct mt;

struct mt_buf {
	uint8_t *p;
	size_t len;
	struct m4_mr mr;
};

struct mt_cq {
	uint32_t cqn, ci, arm_sn, uar;
	uint8_t log_size;
	struct mt_buf buf;
	uint32_t *set_ci, *arm;
	struct m4_eq *eq;
};

struct mt_srq {
	uint32_t srqn, first, last;
	uint8_t log_size, log_stride;
	uint16_t counter;
	struct mt_buf buf;
	uint32_t *record;
};

struct mt_qp {
	struct mt *m;
	uint32_t qpn, uar, pd;
	uint8_t st;
	struct mt_cq *scq, *rcq;
	struct mt_srq *srq;
	bool all_signaled;
	uint8_t log_rq, log_rq_stride, log_sq, log_sq_stride;
	uint32_t sq_off, sq_index, rq_index;	/* of records */
	struct mt_buf buf;
	uint32_t *sq_record, *rq_record;
	uint32_t sq_head, rq_head;
};

struct mt {
	struct m4 v;
	struct m4_eq command, comp;
	uint8_t *records;		/* the first page of the UAR page's */
	uint32_t next_record;
	uint32_t next_buf_mpt;
};

/* ---- mt.c: bring-up, keys, queues ---- */
/* Pages for the firmware, RUN_FW; context memory, INIT_HCA; all of a probe. */
int mt_start(struct mt *m, struct rig_dev *dev);
int mt_init(struct mt *m);
int mt_open(struct mt *m, struct rig_dev *dev);
int mt_close(struct mt *m);
int mt_eq(struct mt *m, struct m4_eq *eq, uint32_t eqn, uint8_t log_size,
	  uint8_t vector);
int mt_mr_at(struct mt *m, struct m4_mr *mr, void *p, size_t len, uint64_t va,
	     uint32_t pd, int access);
int mt_mr(struct mt *m, struct m4_mr *mr, void *p, size_t len, int access);
/* All bus addresses. */
int mt_dma_mr(struct mt *m, struct m4_mr *mr);
int mt_mr_free(struct mt *m, struct m4_mr *mr);
/* Memory of a queue, with its region from address 0 on. */
int mt_buf(struct mt *m, struct mt_buf *b, size_t len, uint32_t pd, int access);
/* The record's index, and where it is. */
uint32_t mt_record(struct mt *m, uint32_t qn, uint32_t type, uint32_t **at);
int mt_cq(struct mt *m, struct mt_cq *cq, uint8_t log_size);
/* By another's region or domain, as a process may ask for it. */
int mt_cq_in(struct mt *m, struct mt_cq *cq, uint8_t log_size, uint32_t key,
	     uint32_t pd);
int mt_cq_resize(struct mt *m, struct mt_cq *cq, uint8_t log_size);
int mt_cq_free(struct mt *m, struct mt_cq *cq);
int mt_srq(struct mt *m, struct mt_srq *srq, uint8_t log_size);
int mt_srq_free(struct mt *m, struct mt_srq *srq);
struct mt_qp_init {
	uint8_t st;
	struct mt_cq *scq, *rcq;
	struct mt_srq *srq;
	uint8_t log_sq, log_rq, log_sq_stride;	/* 0: 6, or what the transport needs */
	uint32_t qpn;				/* 0: the next */
	uint32_t pd;				/* 0: 1 */
	bool all_signaled;
};
int mt_qp(struct mt *m, struct mt_qp *qp, const struct mt_qp_init *init);
int mt_qp_to_init(struct mt_qp *qp, const struct m4_path *p);
int mt_qp_to_rtr(struct mt_qp *qp, const struct m4_path *p);
int mt_qp_to_rts(struct mt_qp *qp, const struct m4_path *p);
int mt_qp_up(struct mt_qp *qp, const struct m4_path *p);
int mt_qp_to_rst(struct mt_qp *qp);
int mt_qp_to_err(struct mt_qp *qp);
/* QUERY_QP's state, or -1. */
int mt_qp_state(struct mt_qp *qp);
int mt_mcg(struct mt *m, struct mt_qp *qp, const uint8_t gid[16], bool attach);

/* ---- mt_wr.c: posting and polling ---- */
/* Writes the WQE, the record, and rings. */
uint16_t mt_post(struct mt_qp *qp, const struct m4_wr *wr);
void mt_ring(struct mt_qp *qp);
void mt_post_mad(struct mt_qp *qp, uint32_t src, uint16_t dlid, uint32_t qkey,
		 const struct m4_sge *mad);
uint16_t mt_send(struct mt_qp *qp, const struct m4_mr *mr, uint32_t off,
		 uint32_t len);
void mt_rdma(struct mt_qp *qp, uint8_t opcode, const struct m4_mr *mr,
	     uint32_t off, uint32_t len, uint64_t raddr, uint32_t rkey);
void mt_recv(struct mt_qp *qp, const struct m4_mr *mr, uint32_t off,
	     uint32_t len);
/* The entry's index, or -1 if the SRQ is full. */
int mt_srq_post(struct mt_srq *srq, const struct m4_mr *mr, uint32_t off,
		uint32_t len);
void mt_srq_give(struct mt_srq *srq, uint32_t index);
/* wc->index is the WQE's, of a queue with that stride. */
bool mt_poll(struct mt_cq *cq, struct m4_wc *wc);
bool mt_wait(struct mt *m, struct mt_cq *cq, struct m4_wc *wc);
void mt_arm(struct mt *m, struct mt_cq *cq, bool solicited);

#endif
