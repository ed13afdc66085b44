/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * What the udata of a HCA's provider means: which fields hold user addresses,
 * mmap offsets or bits that must not pass. Tables are plain C, shared by
 * frontend and backend, one file per driver_id (provider_<name>.c), checked
 * against the kernel's uapi headers by a unit test. An unknown driver, ABI
 * version, operation with udata, or udata length is refused.
 */
#ifndef VHCA_PROVIDER_H
#define VHCA_PROVIDER_H

#ifdef __KERNEL__
#include <linux/types.h>
#include <linux/stddef.h>
#else
#include <stddef.h>
#include <stdint.h>
#endif

enum vhca_field_kind {
	VHCA_END,
	VHCA_BUF,	/* request u64: address of queue memory -> pages list,
			 * the first one buf, the second sq_buf; arg: offset
			 * of its u32 length in the udata, 0: none */
	VHCA_DBPAGE,	/* request u64: address of a doorbell record */
	VHCA_REF,	/* equal to an earlier lkey/iova: verbatim */
	VHCA_COOKIE,	/* opaque: verbatim */
	VHCA_DEV,	/* device number for WQEs/doorbells: verbatim */
	VHCA_KEY,	/* response: u64 mmap offset followed by u32 size */
	VHCA_MASK,	/* request bits (arg) that are cleared */
	VHCA_OUTPTR,	/* request u64: user address the kernel writes arg
			 * octets to; backend uses its own buffer and appends
			 * the result to the response udata. The frontend
			 * raises out_len on the wire by
			 * vhca_provider_outptr(); the appended octets start
			 * where the guest's own room, cut to what
			 * out_max leaves, ends. */
};

struct vhca_field {
	uint8_t kind;		/* enum vhca_field_kind */
	uint8_t len;		/* octets of the field */
	uint16_t off;		/* offset in the payload */
	uint64_t arg;
};

#define VHCA_MAX_FIELDS 8
struct vhca_udata_op {
	uint8_t op;		/* XENVHCA_OP_*, 0 ends the table */
	uint8_t in_min, in_max;	/* request payload, octets */
	uint8_t out_min, out_max; /* response payload, octets */
	struct vhca_field req[VHCA_MAX_FIELDS];
	struct vhca_field rsp[VHCA_MAX_FIELDS];
};

struct vhca_provider {
	const char *name;	/* rdma-core provider */
	uint32_t driver_id;	/* enum rdma_driver_id */
	uint32_t abi_min, abi_max;
	uint8_t kicks;		/* XENVHCA_INFO_KICK_* */
	uint8_t run;		/* 0: table not proven on hardware, refused */
	const struct vhca_udata_op *ops;
};

extern const struct vhca_provider vhca_provider_rxe;

/* NULL if unknown or ABI outside the range. */
const struct vhca_provider *vhca_provider_find(uint32_t driver_id,
					       uint32_t abi);
/* Row for an op or NULL: then both lengths must be 0. */
const struct vhca_udata_op *vhca_provider_op(const struct vhca_provider *p,
					     uint8_t op);
/* Octets that the OUTPTR fields of a row append to the response udata; 0 for
 * row NULL. */
uint32_t vhca_provider_outptr(const struct vhca_udata_op *row);
/* 0, or -EINVAL if the lengths are outside the row. Holds for the lengths of
 * the guest's provider and for those on the wire. */
int vhca_provider_check(const struct vhca_provider *p, uint8_t op,
			uint32_t in_len, uint32_t out_len);

#endif
