/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * What the files of the family "hx" share: an HCA with a host command register
 * and context memory in the host, a ConnectX-3. Who does what:
 *   cx_hx.c	power-on, registers, doorbells
 *   cx_hx_cmd.c	the command register, the table of commands
 *   cx_hx_icm.c	context memory: which page of it is where, page lists in it
 *   cx_hx_hca.c	the HCA's life; cx_hx_cap.c: what it tells of itself
 *   cx_hx_port.c	the port and its agents
 *   cx_hx_mpt.c	memory keys; cx_hx_queue.c: EQs, CQs, SRQs; cx_hx_qp.c: QPs
 *   cx_hx_mcg.c	multicast groups
 *   cx_hx_wqe.c	send WQEs; cx_hx_mlx.c: those of the management QPs
 * The driver chooses all numbers of objects. They may go on above the size of
 * their table: the lower bits are the slot, the object has the whole number.
 */
#ifndef CX_HX_H
#define CX_HX_H

#include "cx_eng.h"

#define HX_LOG_ICM	36u		/* octets of context memory, at most */
#define HX_LOG_CHUNK	6u		/* pages of it that are kept together */
#define HX_LOG_MAP_MOST	12u		/* pages of one entry of a list */

#define HX_LOG_CMDS	4u		/* commands under way */
#define HX_LOG_BF	8u		/* octets of a BlueFlame buffer */

/* How far the driver has come. */
enum hx_state { HX_OFF, HX_FW, HX_UP };

struct hx_icm {
	uint64_t **chunk;		/* pages' bus addresses | 1, or 0 */
	uint64_t pages;			/* that are mapped */
};

struct cx_hx {
	enum hx_state state;
	uint32_t hcr[HX_HCR_WORDS];
	uint64_t fa_pages, aux_pages;
	struct hx_icm icm;
	/* Of INIT_HCA. */
	uint8_t init[HX_INIT_BYTES];
	uint64_t mtt_base, dmpt_base;
	uint8_t log_mpt, log_mcg;
	uint8_t log_cqe;		/* octets */
	uint32_t sqp_base;		/* of CONF_SPECIAL_QP; 0: none */
	uint8_t *given_back;		/* a bit for each MPT that is software's */
	struct cx_ids mgms;		/* entries of the multicast table */
	uint32_t mgm_walks;		/* through it so far */
};

/* ---- cx_hx_icm.c ---- */
/* A page of context memory is there from now on: 0, -EINVAL, -ENOMEM. */
int hx_icm_map(struct cx_hx *hx, uint64_t virt, uint64_t bus, uint32_t log);
void hx_icm_unmap(struct cx_hx *hx, uint64_t virt, uint32_t pages);
void hx_icm_free(struct cx_hx *hx);
/* 0, -EFAULT. */
int hx_icm_read(struct cx_dev *d, uint64_t virt, void *to, size_t len);
int hx_icm_write(struct cx_dev *d, uint64_t virt, const void *from, size_t len);
/* nr bus addresses (big endian, flags off) of the MTTs there; -EFAULT. */
int hx_mtts(struct cx_dev *d, uint64_t mtt, void *pas, uint32_t nr);
/* The buffer of a queue; the pages are counted. */
struct hx_queue {
	uint64_t mtt;
	uint32_t log_page;		/* less 12 */
	uint64_t size;
};
enum cx_status hx_buf(struct cx_dev *d, struct cx_buf *b,
		      const struct hx_queue *q);
void hx_buf_free(struct cx_dev *d, struct cx_buf *b);
/* Writes the octet from one place to before another: 0, -EFAULT. */
int hx_buf_fill(struct cx_dev *d, const struct cx_buf *b, uint64_t from, uint64_t to,
		uint8_t octet);

/* ---- cx_hx_cmd.c ---- */
struct hx_cmd {
	uint16_t opcode;
	uint8_t op_mod;
	uint32_t in_mod;
	uint64_t in_param;		/* an address, or the parameter itself */
	uint64_t out_param;		/* as in_param; also the answer */
	uint8_t in[HX_MAILBOX];
	uint8_t out[HX_MAILBOX];	/* zeroed */
};

typedef enum cx_status (*hx_cmd_fn)(struct cx_dev *d, struct hx_cmd *c);

struct hx_cmd_desc {
	uint16_t opcode;
	const char *name;		/* NULL ends a table */
	hx_cmd_fn fn;
	enum hx_state state;		/* that is needed at least */
	uint16_t in, out;		/* octets of mailboxes */
};

/*
 * HW2SW_x answer in a mailbox unless the opcode modifier says no. The driver
 * never asks for it, so they have none here.
 */
extern const struct hx_cmd_desc hx_cmds_hca[], hx_cmds_port[], hx_cmds_mpt[],
	hx_cmds_queue[], hx_cmds_qp[], hx_cmds_mcg[];
/* Runs what the register holds. */
void hx_hcr_run(struct cx_dev *d);

/* ---- cx_hx_cap.c ---- */
enum cx_status hx_query_fw(struct cx_dev *d, struct hx_cmd *c);
enum cx_status hx_query_dev_cap(struct cx_dev *d, struct hx_cmd *c);
enum cx_status hx_query_adapter(struct cx_dev *d, struct hx_cmd *c);
enum cx_status hx_query_port(struct cx_dev *d, struct hx_cmd *c);
#define HX_FW_PAGES_NEEDED	96u

/* ---- cx_hx_mpt.c ---- */
/* Pages of context memory were unmapped: SYNC_TPT reads no entry of them. */
void hx_mpts_gone(struct cx_hx *hx, uint64_t virt, uint32_t pages);

/* ---- objects ---- */
void hx_objects_free(struct cx_dev *d);
void hx_eq_free(struct cx_dev *d, struct cx_eq *eq);
void hx_cq_free(struct cx_dev *d, struct cx_cq *cq);
void hx_srq_free(struct cx_dev *d, struct cx_srq *srq);
void hx_qp_free(struct cx_dev *d, struct cx_qp *qp);
void hx_mgms_free(struct cx_dev *d);
/* The tables have these sizes, by INIT_HCA. */
void hx_mgms_init(struct cx_dev *d);
/* Who is a member of which group: an entry was written, or there is a new QP. */
bool hx_mgms_changed(struct cx_dev *d);

/* ---- cx_hx_wqe.c, cx_hx_mlx.c ---- */
int hx_sq_posted(struct cx_dev *d, const struct cx_qp *qp, uint16_t *pi);
int hx_wqe_peek(struct cx_dev *d, const struct cx_qp *qp, uint16_t index,
		struct cx_swqe *w);
int hx_wqe_read(struct cx_dev *d, const struct cx_qp *qp, uint16_t index,
		struct cx_swqe *w);
uint8_t hx_local(struct cx_dev *d, struct cx_qp *qp, const struct cx_swqe *w);
void hx_complete(struct cx_dev *d, struct cx_qp *qp, struct cx_cq *cq,
		 const struct cx_comp *comp);
/* Takes the headers and the ICRC out of the pieces of a WQE; -EINVAL. */
int hx_mlx_headers(struct cx_dev *d, const struct cx_qp *qp,
		   struct cx_swqe *w);

#endif
