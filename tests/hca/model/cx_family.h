/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The seam between what every HCA does (the hub, the wire, the port and its
 * agents, the engines of RC, UC and UD) and what only one family of drivers
 * knows: registers, commands, the formats of queues. cx_priv.h includes this.
 * Opcodes and syndromes have the numbers that all families give them.
 */
#ifndef CX_FAMILY_H
#define CX_FAMILY_H

#include "cx.h"

struct cx_cq;
struct cx_frame;
struct hx_kind;
struct cx_qp;
struct cx_srq;
struct cx_swqe;

/* Of a send WQE, as the engines know it; others are done in the device. */
enum cx_op {
	CX_OP_NOP = 0x00, CX_OP_SEND_INVAL = 0x01, CX_OP_RDMA_WRITE = 0x08,
	CX_OP_RDMA_WRITE_IMM = 0x09, CX_OP_SEND = 0x0a, CX_OP_SEND_IMM = 0x0b,
	CX_OP_RDMA_READ = 0x10, CX_OP_ATOMIC_CS = 0x11, CX_OP_ATOMIC_FA = 0x12,
};

/* What a receive WQE was used for. */
enum cx_recv {
	CX_RECV_WRITE_IMM, CX_RECV_SEND, CX_RECV_SEND_IMM, CX_RECV_SEND_INV,
};

/* Of a completion with an error. */
enum cx_synd {
	CX_SYND_LOCAL_LENGTH_ERR = 0x01, CX_SYND_LOCAL_QP_OP_ERR = 0x02,
	CX_SYND_LOCAL_PROT_ERR = 0x04, CX_SYND_WR_FLUSH_ERR = 0x05,
	CX_SYND_MW_BIND_ERR = 0x06, CX_SYND_BAD_RESP_ERR = 0x10,
	CX_SYND_REMOTE_INVAL_REQ_ERR = 0x12, CX_SYND_REMOTE_ACCESS_ERR = 0x13,
	CX_SYND_REMOTE_OP_ERR = 0x14, CX_SYND_TRANSPORT_RETRY_EXC_ERR = 0x15,
	CX_SYND_RNR_RETRY_EXC_ERR = 0x16,
};

/* What a completion entry tells. */
struct cx_comp {
	bool send;
	uint8_t opcode;			/* enum cx_op, or enum cx_recv */
	uint8_t syndrome;		/* enum cx_synd; 0: success */
	uint16_t wqe;
	uint32_t bytes;
	const struct cx_frame *f;	/* that was received, or NULL */
	const struct cx_srq *srq;	/* the queue whose CQ gets it, or NULL */
};

struct cx_family {
	/* ---- who it is ---- */
	uint16_t device_id;		/* of NodeInfo */
	const char *description;
	uint32_t port_events;		/* a bit for each enum cx_port_event it tells */
	uint8_t log_cmds;		/* commands that a driver may have under way */
	uint8_t mtu;			/* of the port, as PortInfo has it */

	const struct hx_kind *hx;	/* of the family hx (cx_hx.h) */

	/*
	 * ---- entries of event and completion queues ----
	 * Each lies at the end of its stride. Its last octet has the owner bit: it
	 * changes with every lap, or the device clears it and software sets it.
	 */
	bool laps;
	struct {
		uint8_t bytes;		/* at most CX_EQE_MAX */
		uint8_t data;		/* where the 28 octets of data are, or less */
		uint8_t number;		/* of a CQ, QP or SRQ: where in them */
		uint8_t owner;
	} eqe;
	struct {
		uint8_t bytes;		/* at most CX_CQE_MAX */
		uint8_t owner;
		uint8_t resize;		/* last octet of one that ends the buffer; 0: none does */
	} cqe;

	/* ---- life ---- */
	/* The family's part of a device: -ENOMEM. */
	int (*init)(struct cx_dev *d);
	void (*exit)(struct cx_dev *d);
	/* Forgets all that a driver told the device. */
	void (*quiesce)(struct cx_dev *d);
	/* Registers as after power-on; the device has been quiesced. */
	void (*power_on)(struct cx_dev *d);
	/* Memory that the driver lent to the device, beside queues and regions. */
	uint64_t (*pages_held)(const struct cx_dev *d);
	bool (*may_touch)(const struct cx_dev *d, uint64_t addr);

	/* ---- registers ---- */
	/* The word at a multiple of 4; and a store, of 4 or 8 octets. */
	uint32_t (*read)(struct cx_dev *d, uint64_t offset);
	void (*write)(struct cx_dev *d, uint64_t offset, uint64_t value,
		      unsigned int size);

	/* ---- queues ---- */
	/* Where a doorbell record is on the bus: 0, -EFAULT. NULL: it is known by that. */
	int (*record_at)(struct cx_dev *d, uint64_t record, uint64_t *bus);
	/* The entry that the head of a shared receive queue's WQE names as the next. */
	uint16_t (*srq_next)(const struct cx_srq *srq, const void *head);
	/* Posts the entry, with its event. */
	void (*complete)(struct cx_dev *d, struct cx_qp *qp, struct cx_cq *cq,
			 const struct cx_comp *comp);
	/*
	 * How far the send queue is posted: 0, with *pi (which is not yet
	 * trusted), or -EFAULT.
	 */
	int (*sq_posted)(struct cx_dev *d, const struct cx_qp *qp, uint16_t *pi);
	/* As cx_wqe_peek() and cx_wqe_read(). */
	int (*wqe_peek)(struct cx_dev *d, const struct cx_qp *qp, uint16_t index,
			struct cx_swqe *w);
	int (*wqe_read)(struct cx_dev *d, const struct cx_qp *qp, uint16_t index,
			struct cx_swqe *w);
	/* What is done without a frame (w->local): 0, or a syndrome. */
	uint8_t (*local)(struct cx_dev *d, struct cx_qp *qp,
			 const struct cx_swqe *w);
};

/* MTUs of a port. */
enum { CX_MTU_2048 = 4, CX_MTU_4096 = 5 };

#define CX_EQE_MAX	64u
#define CX_CQE_MAX	64u

/* A ConnectX-4 and later; a ConnectX-3; an InfiniHost III Lx. */
extern const struct cx_family cx_mlx5, cx_connectx3, cx_infinihost;

#endif
