/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * A small mlx4 driver and provider over the rig: it speaks the command register,
 * context memory, event queues, doorbell records and doorbells as mlx4_core,
 * mlx4_ib and the provider do. What it knows of contexts it has from the driver's
 * sources, of queue entries from infiniband/mlx4dv.h, and nothing from the model.
 * Commands return the status that the device gave (0 is good), or M4_LOST if it
 * did not answer.
 */
#ifndef M4_H
#define M4_H

#include <endian.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <infiniband/mlx4dv.h>

#include "rig.h"

#define M4_LOST		0x1000
#define M4_PAGE		4096u
#define M4_COMP_EQS	2

/* The tables of INIT_HCA (log2): small ones, that numbers wrap in. */
#define M4_LOG_QP	10u
#define M4_LOG_CQ	8u
#define M4_LOG_MPT	10u
#define M4_LOG_MTT	15u
#define M4_LOG_MCG	12u

enum { M4_RC = 0, M4_UC = 1, M4_UD = 3, M4_MLX = 7 };

/* MLX4_PERM_*: local write, remote write, read, atomic. */
enum { M4_LW = 1 << 11, M4_RW = 1 << 13, M4_RR = 1 << 12, M4_RA = 1 << 14,
       M4_ALL = M4_LW | M4_RW | M4_RR | M4_RA };

struct m4_eqe {			/* 32 octets, struct mlx4_eqe */
	uint8_t rsvd0, type, rsvd1, subtype;
	uint8_t data[24];
	uint8_t rsvd2[3], owner;
};

struct m4_eq {
	uint32_t eqn, ci;
	uint8_t log_size, vector;
	struct m4_eqe *e;
};

struct m4_cq {
	uint32_t cqn, ci, arm_sn, uar;
	uint8_t log_size, log_cqe;
	uint8_t *e;
	uint32_t *db;		/* consumer index; arm */
	struct m4_eq *eq;
};

/* An entry is at the end of its stride. */
static inline struct mlx4_cqe *m4_cqe(uint8_t *e, uint32_t i, uint8_t log_size,
				      uint8_t log_cqe)
{
	uint32_t at = (i & ((1u << log_size) - 1)) + 1;

	return (struct mlx4_cqe *)(e + ((size_t)at << log_cqe)) - 1;
}

struct m4_mr {
	uint8_t *p;
	size_t len;
	uint64_t va;
	uint32_t key, index;
};

struct m4_srq {
	uint32_t srqn;
	uint8_t log_size, log_stride;
	uint16_t head, tail, counter;
	uint8_t *buf;
	uint32_t *db;
};

struct m4;

struct m4_qp {
	struct m4 *v;
	uint32_t qpn, uar, pd;
	uint8_t st;
	struct m4_cq *scq, *rcq;
	struct m4_srq *srq;
	uint8_t log_rq, log_rq_stride, log_sq, log_sq_stride;
	uint8_t *rq, *sq;
	uint64_t mtt;
	uint32_t *db;
	uint32_t sq_head, rq_head;
};

struct m4 {
	struct rig *rig;
	/* A fuzzer's hand in every mailbox. */
	void (*spoil)(struct m4 *v, uint8_t *box);
	void *spoil_arg;
	struct rig_dev *dev;
	uint8_t *in, *out;		/* mailboxes */
	bool toggle, events;
	bool mt;			/* an InfiniHost's (mt.h) */
	struct m4_eq *commands;		/* that tells of their ends */
	uint8_t log_cqe;		/* octets, as the capabilities say */
	uint16_t token;
	uint32_t uar, sqp;
	uint8_t *mtt, *dmpt;		/* tables, as the CPU sees them */
	uint32_t mtt_used;
	uint32_t next_qpn, next_cqn, next_srqn, next_mpt;
	struct m4_eq async, comp[M4_COMP_EQS];
	struct m4_eqe kept[16];
	unsigned int nr_kept;
	uint8_t *db_page;
	unsigned int db_used;
};

/* ---- m4.c: commands and bring-up ---- */
/* A command with its parameters as they are; *out is what it answers there. */
int m4_cmd(struct m4 *v, uint16_t opcode, uint8_t op_mod, uint32_t in_mod,
	   uint64_t in_param, uint64_t *out);
/* ... and with mailboxes, as many octets as are given or asked for. */
int m4_box(struct m4 *v, uint16_t opcode, uint8_t op_mod, uint32_t in_mod,
	   const void *in, size_t in_len, void *out, size_t out_len);
/* The next event, or NULL; consumed, and the queue is armed again. */
const struct m4_eqe *m4_event(struct m4 *v, struct m4_eq *eq);
/*
 * The last asynchronous event of that type, or NULL; the others are forgotten.
 * Those that came while a command waited for its own are kept for this.
 */
const struct m4_eqe *m4_async(struct m4 *v, uint8_t type);
void m4_eq_update(struct m4 *v, struct m4_eq *eq, bool arm);
/* Maps whole pages, each by itself; pages of its own, for the firmware. */
int m4_map(struct m4 *v, uint16_t opcode, const uint8_t *p, size_t len,
	   uint64_t virt);
int m4_give(struct m4 *v, uint16_t opcode, uint32_t pages);
/* Mailboxes, and nothing else yet. */
int m4_begin(struct m4 *v, struct rig_dev *dev);
/* Pages for the firmware, RUN_FW ... */
int m4_start(struct m4 *v, struct rig_dev *dev);
/* ... context memory, INIT_HCA ... */
int m4_init(struct m4 *v);
/* ... and all of a probe, up to a port that is up; and back. */
int m4_open(struct m4 *v, struct rig_dev *dev);
int m4_close(struct m4 *v);
/* The table of keys is unmapped, and mapped as it is. */
int m4_map_keys_again(struct m4 *v);
int m4_mad_ifc(struct m4 *v, const void *mad, void *reply);
void m4_put16(void *p, size_t at, uint16_t value);
void m4_put32(void *p, size_t at, uint32_t value);
void m4_put64(void *p, size_t at, uint64_t value);
uint32_t m4_get32(const void *p, size_t at);
uint64_t m4_get64(const void *p, size_t at);

/* ---- m4_obj.c ---- */
/* Translation entries for the pages of a buffer: where they are. */
uint64_t m4_mtt(struct m4 *v, const void *buf, size_t len);
uint32_t *m4_db(struct m4 *v);
int m4_eq_create(struct m4 *v, struct m4_eq *eq, uint32_t eqn,
		 uint8_t log_size, uint8_t vector);
int m4_mr(struct m4 *v, struct m4_mr *mr, void *p, size_t len, int access);
int m4_mr_at(struct m4 *v, struct m4_mr *mr, void *p, size_t len, uint64_t va,
	     uint32_t pd, int access);
/* The kernel's: all bus addresses. */
int m4_dma_mr(struct m4 *v, struct m4_mr *mr);
int m4_mr_free(struct m4 *v, struct m4_mr *mr);
/* As REREG_MR with other rights, by way of context memory. */
int m4_mr_rereg(struct m4 *v, struct m4_mr *mr, int access);
int m4_cq(struct m4 *v, struct m4_cq *cq, uint8_t log_size, struct m4_eq *eq);
int m4_cq_resize(struct m4 *v, struct m4_cq *cq, uint8_t log_size);
int m4_cq_free(struct m4 *v, struct m4_cq *cq);
int m4_srq(struct m4 *v, struct m4_srq *srq, uint8_t log_size);
int m4_srq_free(struct m4 *v, struct m4_srq *srq);
struct m4_qp_init {
	uint8_t st;
	struct m4_cq *scq, *rcq;
	struct m4_srq *srq;
	uint8_t log_sq, log_sq_stride, log_rq, log_rq_stride;	/* 0: 6, or 7 */
	uint32_t qpn;			/* 0: the next */
	uint32_t pd;			/* 0: 1 */
};
struct m4_path {
	uint16_t dlid;
	uint32_t qpn, qkey, psn;	/* psn: of both ends */
	uint8_t timeout, retry, rnr_retry, min_rnr;
	uint8_t mtu;			/* IB_MTU_*; 0: of 4096 octets */
	const uint8_t *dgid;		/* with a GRH (mt.h alone) */
	bool rd;			/* READs and atomics, remote rights */
};
/* Nothing but memory; RST2INIT makes it. */
int m4_qp(struct m4 *v, struct m4_qp *qp, const struct m4_qp_init *init);
int m4_qp_to_init(struct m4_qp *qp, const struct m4_path *p);
int m4_qp_to_rtr(struct m4_qp *qp, const struct m4_path *p);
int m4_qp_to_rts(struct m4_qp *qp, const struct m4_path *p);
int m4_qp_up(struct m4_qp *qp, const struct m4_path *p);
int m4_qp_to_rst(struct m4_qp *qp);
int m4_qp_to_err(struct m4_qp *qp);
/* QUERY_QP's state, or -1. */
int m4_qp_state(struct m4_qp *qp);
int m4_mcg(struct m4 *v, struct m4_qp *qp, const uint8_t gid[16], bool attach);

/* ---- m4_wr.c: posting and polling ---- */
struct m4_sge {
	uint64_t addr;
	uint32_t len, key;
};

enum { M4_SIGNALED = 1, M4_SOLICITED = 2, M4_FENCE = 4, M4_INLINE = 8 };

struct m4_wr {
	uint8_t opcode;			/* MLX4_OPCODE_* */
	int flags;
	uint32_t imm;
	uint64_t raddr;
	uint32_t rkey;
	uint64_t swap_add, compare;
	struct {
		uint16_t dlid;
		uint32_t qpn, qkey;
		const uint8_t *dgid;
	} ud;
	const struct m4_sge *sge;
	unsigned int nr_sge;
	const void *inl;
	uint32_t inl_len;
};

/* Writes the WQE, and rings. */
uint16_t m4_post(struct m4_qp *qp, const struct m4_wr *wr);
void m4_ring(struct m4 *v, uint32_t uar, uint32_t qpn);
/* ... by a copy of the WQE, to a buffer of the UAR's BlueFlame page. */
void m4_ring_bf(struct m4 *v, uint32_t uar, uint32_t qpn, const void *wqe,
		unsigned int buffer);
/* A management QP's: headers, the MAD, room for the ICRC. */
void m4_post_mad(struct m4_qp *qp, uint32_t src, uint16_t dlid, uint32_t qkey,
		 const struct m4_sge *mad);
uint16_t m4_send(struct m4_qp *qp, const struct m4_mr *mr, uint32_t off,
		 uint32_t len);
void m4_rdma(struct m4_qp *qp, uint8_t opcode, const struct m4_mr *mr,
	     uint32_t off, uint32_t len, uint64_t raddr, uint32_t rkey);
void m4_recv(struct m4_qp *qp, const struct m4_mr *mr, uint32_t off,
	     uint32_t len);
/* The entry's index, or -1 if the SRQ is full. */
int m4_srq_post(struct m4_srq *srq, const struct m4_mr *mr, uint32_t off,
		uint32_t len);
void m4_srq_give(struct m4_srq *srq, uint16_t index);

struct m4_wc {
	bool send, error, grh;
	uint8_t opcode, syndrome;
	uint16_t index, slid, pkey_index;
	uint32_t qpn, src_qpn, len, imm;
};

bool m4_poll(struct m4_cq *cq, struct m4_wc *wc);
/* Runs the machine until there is one. */
bool m4_wait(struct m4 *v, struct m4_cq *cq, struct m4_wc *wc);
void m4_arm(struct m4 *v, struct m4_cq *cq, bool solicited);

#endif
