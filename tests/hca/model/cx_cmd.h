/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * What the files with commands (cx_cmd*.c) share: numbers of the command
 * interface, objects that only commands know, references and the budget for
 * page lists.
 */
#ifndef CX_CMD_H
#define CX_CMD_H

#include "cx_priv.h"

/* The command queue: 32 entries of 64 bytes. */
#define CX_LOG_CMDQ	5u
#define CX_LOG_CMD	6u
#define CX_MAX_MAILBOX	(16u << 20)	/* bytes of a command, in or out */

#define CX_MAX_EQ	127u
#define CX_MAX_COUNTERS	127u
#define CX_LOG_KLMS	16	/* entries that a UMR may fill */
#define CX_LOG_RQ_STRIDE 9	/* bytes of a receive WQE, at most */
#define CX_LOG_READS	4	/* outstanding, per QP and direction */
/*
 * Pages that all queues and regions may list: 128 GiB in pages of 4 KiB. A
 * guest can name the same page often; this bounds the model's own memory.
 */
#define CX_MAX_ENTRIES	(1u << 25)

#define CX_LOG_UCTX	12	/* contexts of processes */
/* Keys that stand for no memory; no region has such a number. */
#define CX_KEY_DUMP_FILL 0xfffffe00u
#define CX_KEY_NULL	0xfffffd00u

#define CX_KHZ		156250u	/* of the free-running timer */

/* Of the NIC interface field (enum mlx5_interface_state). */
enum { CX_NIC_FULL = 0, CX_NIC_DISABLED = 1, CX_NIC_SW_RESET = 7 };

/* A protection domain, XRC domain, transport domain, UAR page. */
struct cx_ref {
	uint32_t users;
};

/* Forgets objects and pages; the function is disabled. */
void cx_quiesce(struct cx_dev *d);

/* ---- cx_cmd_obj.c ---- */
static inline struct cx_ref *cx_pd(struct cx_dev *d, uint32_t n)
{
	return cx_ids_get(&d->pds, n);
}

static inline struct cx_ref *cx_xrcd(struct cx_dev *d, uint32_t n)
{
	return cx_ids_get(&d->xrcds, n);
}

static inline struct cx_ref *cx_uar(struct cx_dev *d, uint32_t n)
{
	return cx_ids_get(&d->uars, n);
}

/* Counts page list entries; false if the device has too many. */
bool cx_entries_take(struct cx_dev *d, uint64_t nr);
void cx_entries_give(struct cx_dev *d, uint64_t nr);

/*
 * The buffer of a queue: the page list is the end of a command, from byte pas
 * on. field: log_page_size as in contexts, minus 12; po: page_offset, in 64ths
 * of a page.
 */
enum cx_status cx_queue_buf(struct cx_dev *d, struct cx_buf *b,
			    const struct cx_cmd *c, size_t pas, uint32_t field,
			    uint32_t po, uint64_t size);
void cx_queue_buf_free(struct cx_dev *d, struct cx_buf *b);
/* log_page_size and page_offset of a context, as cx_queue_buf() took them. */
uint32_t cx_queue_log_page(const struct cx_buf *b);
uint32_t cx_queue_page_offset(const struct cx_buf *b);
/* Gives a queue its number, or else its buffer back. */
enum cx_status cx_queue_add(struct cx_dev *d, struct cx_ids *ids, void *queue,
			    struct cx_buf *b, uint32_t *n);

/*
 * The last step of a new queue pair, or queue of a network driver: its engines,
 * number and references; on failure, its buffer is gone.
 */
enum cx_status cx_qp_add(struct cx_dev *d, struct cx_qp *qp);
/* Takes an object out of use and frees it; references are dropped. */
void cx_qp_free(struct cx_dev *d, struct cx_qp *qp);
void cx_srq_free(struct cx_dev *d, struct cx_srq *srq);
void cx_cq_free(struct cx_dev *d, struct cx_cq *cq);
void cx_mkey_free(struct cx_dev *d, struct cx_mkey *k);
/* The key has no translation any more. */
void cx_mkey_unlist(struct cx_dev *d, struct cx_mkey *k);

/* The command's name for people, or NULL. */
const char *cx_opcode_name(uint16_t opcode);

/* ---- commands ---- */
#define CX_CMD(op, fn, type) \
	{ MLX5_CMD_OP_##op, #op, fn, CX_BYTES(type##_in), CX_BYTES(type##_out) }

/* cx_cmd_hca.c's table */
enum cx_status cx_query_hca_cap(struct cx_dev *d, struct cx_cmd *c);
enum cx_status cx_set_hca_cap(struct cx_dev *d, struct cx_cmd *c);
enum cx_status cx_access_reg(struct cx_dev *d, struct cx_cmd *c);
/* Fills in the register PPCNT, of the group that it names. */
enum cx_status cx_read_ppcnt(struct cx_dev *d, uint8_t *data);
enum cx_status cx_mad_ifc(struct cx_dev *d, struct cx_cmd *c);
enum cx_status cx_query_hca_vport(struct cx_dev *d, struct cx_cmd *c);
enum cx_status cx_query_hca_vport_gid(struct cx_dev *d, struct cx_cmd *c);
enum cx_status cx_query_hca_vport_pkey(struct cx_dev *d, struct cx_cmd *c);
/* cx_cmd_obj.c's table */
enum cx_status cx_create_cq(struct cx_dev *d, struct cx_cmd *c);
enum cx_status cx_destroy_cq(struct cx_dev *d, struct cx_cmd *c);
enum cx_status cx_modify_cq(struct cx_dev *d, struct cx_cmd *c);
enum cx_status cx_query_cq(struct cx_dev *d, struct cx_cmd *c);
enum cx_status cx_create_mkey(struct cx_dev *d, struct cx_cmd *c);
enum cx_status cx_query_mkey(struct cx_dev *d, struct cx_cmd *c);
enum cx_status cx_destroy_mkey(struct cx_dev *d, struct cx_cmd *c);
enum cx_status cx_create_srq(struct cx_dev *d, struct cx_cmd *c);
enum cx_status cx_destroy_srq(struct cx_dev *d, struct cx_cmd *c);
enum cx_status cx_query_srq(struct cx_dev *d, struct cx_cmd *c);
enum cx_status cx_query_rmp(struct cx_dev *d, struct cx_cmd *c);
enum cx_status cx_query_xrq(struct cx_dev *d, struct cx_cmd *c);
enum cx_status cx_arm_srq(struct cx_dev *d, struct cx_cmd *c);
enum cx_status cx_modify_rmp(struct cx_dev *d, struct cx_cmd *c);

#endif
