/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * A small mlx5 driver and provider over the rig: it speaks registers, the
 * command queue, event queues, doorbell records and doorbells as mlx5_core,
 * mlx5_ib and the provider do. Commands return the status that the device
 * gave (0 is good), DRV_LOST if it did not answer, or a delivery status with
 * DRV_DELIVERY added.
 */
#ifndef DRV_H
#define DRV_H

#include "tests/hca/model/cx_prm.h"
#include "rig.h"

#define DRV_LOST	0x1000
#define DRV_DELIVERY	0x2000
#define DRV_COMP_EQS	2

/* IBV_ACCESS_*, as the driver translates them into an MKEY. */
enum drv_access {
	DRV_LW = 1, DRV_RW = 2, DRV_RR = 4, DRV_RA = 8, DRV_ZERO_BASED = 32,
	DRV_ALL = 15,
};

enum drv_type {			/* MLX5_QP_ST_* */
	DRV_RC = 0, DRV_UC = 1, DRV_UD = 2, DRV_XRC = 3, DRV_QP1 = 8,
	DRV_UMR = 12,
};

enum drv_state { DRV_RST, DRV_INIT, DRV_RTR, DRV_RTS, DRV_SQER, DRV_SQD,
		 DRV_ERR };

struct drv_eqe {		/* 64 bytes, struct mlx5_eqe */
	uint8_t rsvd0, type, rsvd1, sub_type;
	uint8_t rsvd2[28];
	uint8_t data[28];
	uint8_t rsvd3[2], signature, owner;
};

struct drv_eq {
	uint32_t eqn, ci;
	uint8_t log_size, vector;
	uint32_t uar;
	struct drv_eqe *e;
};

struct drv_mr {
	void *p;
	size_t len;
	uint64_t va;
	uint32_t key;
};

struct drv_cq {
	uint32_t cqn, ci, arm_sn, uar;
	uint8_t log_size;
	bool cqe128;
	uint8_t *buf;
	uint32_t *db;		/* consumer index; arm */
	struct drv_eq *eq;
};

enum drv_srq_kind { DRV_SRQ_PLAIN, DRV_SRQ_XRC, DRV_SRQ_RMP, DRV_SRQ_TM };

#define DRV_SRQ_INDEX 0x5a5a	/* user index of XRC and tag SRQs */
#define DRV_LOG_TAGS	3	/* list of a tag SRQ */

struct drv_srq {
	uint32_t srqn;
	enum drv_srq_kind kind;
	uint8_t log_size, log_stride;
	uint16_t head, tail, counter;
	uint8_t *buf;
	uint32_t *db;
};

struct drv_qp {
	struct drv *drv;
	uint32_t qpn, uar, user_index;
	enum drv_type type;
	struct drv_cq *scq, *rcq;
	struct drv_srq *srq;
	uint8_t log_rq, log_rq_stride, log_sq;
	bool no_sq, xrc_target;
	uint8_t *rq, *sq;
	uint32_t *db;		/* receive; send */
	uint16_t sq_pi, rq_pi;
	uint8_t bf;		/* which BlueFlame buffer is next */
};

struct drv {
	struct rig *rig;
	/* A fuzzer's hand in every command: the entry and its boxes. */
	void (*spoil)(struct drv *v, uint8_t *entry, size_t in_len);
	void *spoil_arg;
	struct rig_dev *dev;
	uint8_t *cmdq, *box_in, *box_out;
	size_t boxes;		/* of each */
	uint8_t log_sz, log_stride, slot, token;
	bool events;		/* command completions come as events */
	uint32_t syndrome;	/* of the last command */
	uint32_t fw_pages;
	uint32_t uar, pd, td, xrcd, xrcd0, xrcd1, resd_lkey, counter;
	struct drv_eq cmd_eq, async_eq, pages_eq, comp_eq[DRV_COMP_EQS];
	struct drv_cq c0;
	struct drv_srq s0, s1;
	uint8_t *db_page;
	unsigned int db_used, qps;
};

/* ---- drv.c: commands and bring-up ---- */
int drv_exec(struct drv *v, const void *in, size_t in_len, void *out,
	     size_t out_len);
/* A command of 16 bytes with one 24-bit argument at 0x48; *result at 0x48. */
int drv_simple(struct drv *v, uint16_t opcode, uint32_t arg,
	       uint32_t *result);
/* What mlx5_core does in a probe up to QUERY_HCA_CAP after INIT_HCA ... */
int drv_enable(struct drv *v, struct rig_dev *dev);
/* ... and all of it: event queues, the resources of mlx5_ib. */
int drv_open(struct drv *v, struct rig_dev *dev);
/* Destroys what drv_open() made, and takes the pages back. */
int drv_close(struct drv *v);
/* A capability structure, op_mod as the driver has it: type << 1 | current. */
int drv_caps(struct drv *v, uint16_t op_mod, uint8_t caps[4096]);
int drv_mad_ifc(struct drv *v, const void *in, void *out);
int drv_uar(struct drv *v, uint32_t *uar);
uint32_t *drv_db(struct drv *v);
/* Bus addresses of all pages of a buffer, big endian, to pas. */
void drv_pas(struct drv *v, void *pas, const void *buf, size_t len);

/* ---- drv_eq.c ---- */
int drv_eq_create(struct drv *v, struct drv_eq *eq, uint8_t log_size,
		  uint8_t vector, uint64_t mask);
int drv_eq_destroy(struct drv *v, struct drv_eq *eq);
/* The next event, or NULL; consumed. */
const struct drv_eqe *drv_eq_next(struct drv_eq *eq);
/* Tells the device how far it was read, and arms it or not. */
void drv_eq_update(struct drv *v, struct drv_eq *eq, bool arm);
/* Reads and arms again: the last event of that type, or NULL; *n: how many. */
const struct drv_eqe *drv_event(struct drv *v, struct drv_eq *eq, uint8_t type,
				unsigned int *n);
/* The number in an event of a QP or SRQ. */
uint32_t drv_event_qpn(const struct drv_eqe *e);

/* ---- drv_obj.c ---- */
int drv_mr(struct drv *v, struct drv_mr *mr, void *p, size_t len, int access);
/* As mlx5_ib registers: from anywhere in a page, at any address. */
int drv_mr_at(struct drv *v, struct drv_mr *mr, void *p, size_t len,
	      uint64_t va, uint32_t pd, int access, uint8_t log_page);
/* The kernel's DMA MR: all bus addresses. */
int drv_dma_mr(struct drv *v, uint32_t *key, int access);
int drv_mw(struct drv *v, uint32_t *key, bool type2);
/* A region without pages, with room for twice as many as octo says. */
int drv_free_mr(struct drv *v, uint32_t *key, uint32_t octo);
/* As mlx5_ib_alloc_mr(): nr pages, or pieces of other keys, can be registered. */
int drv_alloc_mr(struct drv *v, uint32_t *key, uint32_t nr, bool pieces,
		 uint32_t pd);
int drv_mkey_destroy(struct drv *v, uint32_t key);
int drv_cq(struct drv *v, struct drv_cq *cq, uint8_t log_size);
int drv_cq_on(struct drv *v, struct drv_cq *cq, uint8_t log_size,
	      struct drv_eq *eq, uint32_t uar, bool cqe128);
int drv_cq_resize(struct drv *v, struct drv_cq *cq, uint8_t log_size);
int drv_cq_destroy(struct drv *v, struct drv_cq *cq);
/* As the driver makes them with ISSI 1: XRC with a CQ, or an RMP. */
int drv_srq(struct drv *v, struct drv_srq *srq, uint8_t log_size,
	    struct drv_cq *xrc_cq);
int drv_srq_as(struct drv *v, struct drv_srq *srq, uint8_t log_size,
	       enum drv_srq_kind kind, struct drv_cq *cq);
int drv_srq_arm(struct drv *v, struct drv_srq *srq, uint16_t limit);
int drv_srq_destroy(struct drv *v, struct drv_srq *srq);
/* The context of a tag SRQ, as QUERY_XRQ answers. */
int drv_xrq_query(struct drv *v, struct drv_srq *srq,
		  uint8_t xrqc[CX_BYTES(xrqc)]);

/* ---- drv_qp.c ---- */
struct drv_qp_init {
	enum drv_type type;
	struct drv_cq *scq, *rcq;
	struct drv_srq *srq;
	uint8_t log_sq, log_rq, log_rq_stride;	/* 0: 6, 6 and 6 */
	uint32_t uar;				/* 0: the driver's */
	uint32_t pd;				/* 0: the driver's */
	bool xrc_target, loop_mc;	/* own multicast comes back */
	bool no_sq;			/* as for a tag SRQ */
	bool rndv;			/* the device's send queue, where it cannot be */
	bool kernel;			/* may register memory */
	uint8_t cs_req, cs_res;			/* scatter to CQE */
};

struct drv_path {
	uint16_t dlid;
	uint32_t qpn, qkey, psn;	/* psn: of both ends */
	uint8_t mtu;			/* IBV_MTU_*, 0: 4096 */
	uint8_t timeout, retry, rnr_retry, min_rnr;
	int access;
	uint8_t log_rd;			/* outstanding reads */
	const uint8_t *dgid;		/* with a GRH */
	const uint8_t *dmac;		/* RoCE, with dgid */
	uint8_t sgid_index;
	uint16_t sport;
};

int drv_qp(struct drv *v, struct drv_qp *qp, const struct drv_qp_init *init);
int drv_qp_destroy(struct drv_qp *qp);
int drv_qp_modify(struct drv_qp *qp, uint16_t opcode, uint32_t optpar,
		  const struct drv_path *p);
/* RESET to INIT, to RTR, to RTS. */
int drv_qp_init(struct drv_qp *qp, const struct drv_path *p);
int drv_qp_rtr(struct drv_qp *qp, const struct drv_path *p);
int drv_qp_rts(struct drv_qp *qp, const struct drv_path *p);
int drv_qp_up(struct drv_qp *qp, const struct drv_path *p);
int drv_qp_to(struct drv_qp *qp, uint16_t opcode);	/* 2RST, 2ERR */
/* The state, or -1. */
int drv_qp_state(struct drv_qp *qp);
int drv_qp_query(struct drv_qp *qp, uint8_t qpc[CX_BYTES(qpc)]);
int drv_mcg(struct drv_qp *qp, const uint8_t gid[16], bool attach);
/* RC QPs a and b, each other's peer, in RTS. */
int drv_connect(struct drv_qp *a, uint16_t lid_a, struct drv_qp *b,
		uint16_t lid_b, const struct drv_path *p);

/* ---- drv_wr.c: posting and polling ---- */
enum { DRV_SIGNALED = 1, DRV_SOLICITED = 2, DRV_FENCE = 4, DRV_INLINE = 8,
       DRV_BF = 16, DRV_QUIET = 32 /* no doorbell */ };

/* IB_WR_REG_MR of both types of regions, and IB_WR_LOCAL_INV. */
enum drv_reg { DRV_REG_NONE, DRV_REG_PAGES, DRV_REG_PIECES, DRV_REG_INVAL };
#define DRV_REG_INLINE	64u	/* octets of a list that go into the WQE */

/* Of the provider's set_tm_seg(). */
enum drv_tm { DRV_TM_NOP, DRV_TM_APPEND, DRV_TM_REMOVE };
enum { DRV_TM_COUNT = 0x40, DRV_TM_CQE = 0x80 };

struct drv_sge {
	uint64_t addr;
	uint32_t len, key;
};

struct drv_wr {
	uint8_t opcode;			/* MLX5_OPCODE_* */
	int flags;
	uint32_t imm;			/* or the key to invalidate */
	uint64_t raddr;
	uint32_t rkey;
	uint64_t swap_add, compare;
	uint32_t xrc_srqn;
	struct {
		uint16_t dlid;
		uint32_t qpn, qkey;
		const uint8_t *dgid;
	} ud;
	struct {			/* of a datagram */
		const uint8_t *dmac;
		uint8_t sgid_index, tclass;
	} roce;
	struct {			/* MLX5_OPCODE_UMR */
		bool type2;
		uint32_t mw, new_key;
		uint64_t addr, len;
		uint32_t lkey;
		int access;
	} bind;
	struct {			/* ... of a kernel's QP, if how is set */
		enum drv_reg how;
		uint32_t key;		/* that it gets, or loses */
		const void *list;	/* what mlx5_ib_map_mr_sg() makes */
		uint32_t nr;		/* pages, or pieces */
		uint32_t lkey;		/* of a list that is not in the WQE */
		uint64_t at;		/* its bus address; 0: as it is */
		uint64_t iova, len;
		uint8_t log_page;
		int access;
	} reg;
	struct {			/* MLX5_OPCODE_TAG_MATCHING */
		uint8_t op;		/* enum drv_tm */
		uint8_t flags;		/* DRV_TM_COUNT, DRV_TM_CQE */
		uint16_t index, count;
		uint64_t tag, mask;
	} tm;
	const struct drv_sge *sge;
	unsigned int nr_sge;
	const void *inl;		/* with DRV_INLINE */
	uint32_t inl_len;
};

/* Writes the WQE and rings; returns its index (in basic blocks). */
uint16_t drv_post(struct drv_qp *qp, const struct drv_wr *wr);
/* Rings for what lies in the queue: doorbell record, then the store. */
void drv_ring(struct drv_qp *qp, const void *ctrl, uint32_t uar);
/* Shorthands with one piece of an MR. */
uint16_t drv_send(struct drv_qp *qp, const struct drv_mr *mr, uint32_t off,
		  uint32_t len);
uint16_t drv_rdma(struct drv_qp *qp, uint8_t opcode, const struct drv_mr *mr,
		  uint32_t off, uint32_t len, uint64_t raddr, uint32_t rkey);
void drv_recv(struct drv_qp *qp, const struct drv_mr *mr, uint32_t off,
	      uint32_t len);
void drv_recv_sge(struct drv_qp *qp, const struct drv_sge *sge,
		  unsigned int nr);
/* The entry's index, or -1 if the SRQ is full. */
int drv_srq_post(struct drv_srq *srq, const struct drv_mr *mr, uint32_t off,
		 uint32_t len);
void drv_srq_free(struct drv_srq *srq, uint16_t index);

struct drv_wc {
	uint8_t opcode;			/* MLX5_CQE_* */
	uint8_t syndrome, vendor;
	uint8_t format;			/* data within the entry */
	bool solicited, grh;
	uint8_t sl;
	uint16_t index, slid;
	uint32_t qpn, src_qpn, len, imm, user_index;
	struct mlx5_cqe64 cqe;
};

/* The next completion; false if there is none. The record is updated. */
bool drv_poll(struct drv_cq *cq, struct drv_wc *wc);
/* Runs the machine until there is one. */
bool drv_wait(struct drv_cq *cq, struct drv_wc *wc, struct drv *v);
void drv_arm(struct drv *v, struct drv_cq *cq, bool solicited);

#endif
