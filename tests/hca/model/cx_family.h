/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * What the engines of RC, UC and UD have in common with every family of drivers:
 * opcodes and syndromes, with the numbers that all families give them. cx_priv.h
 * includes this.
 */
#ifndef CX_FAMILY_H
#define CX_FAMILY_H

#include "cx.h"

/* Of a send WQE, as the engines know it; others are done in the device. */
enum cx_op {
	CX_OP_NOP = 0x00, CX_OP_SEND_INVAL = 0x01, CX_OP_RDMA_WRITE = 0x08,
	CX_OP_RDMA_WRITE_IMM = 0x09, CX_OP_SEND = 0x0a, CX_OP_SEND_IMM = 0x0b,
	CX_OP_RDMA_READ = 0x10, CX_OP_ATOMIC_CS = 0x11, CX_OP_ATOMIC_FA = 0x12,
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

#endif
