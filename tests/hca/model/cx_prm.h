/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The hardware's structures, from where the driver and the provider have
 * them: command layouts from the kernel headers' linux/mlx5/mlx5_ifc.h (bits
 * as arrays of u8), WQE and CQE layouts from libibverbs' infiniband/mlx5dv.h.
 * Here only the accessors, and what neither header says.
 */
#ifndef CX_PRM_H
#define CX_PRM_H

#include <endian.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef uint8_t u8;
#ifndef BIT
#define BIT(n) (1U << (n))
#define BIT_ULL(n) (1ULL << (n))
#endif
/* An array in a union, in the headers of newer kernels. */
#ifndef DECLARE_FLEX_ARRAY
#define DECLARE_FLEX_ARRAY(type, name) \
	struct { struct { } empty_##name; type name[]; }
#endif
#include <linux/mlx5/mlx5_ifc.h>
#include <infiniband/mlx5dv.h>

/* The offset and the width, in bits, of a field of struct mlx5_ifc_*_bits. */
#define CX_OFF(type, field) offsetof(struct mlx5_ifc_##type##_bits, field)
#define CX_WIDTH(type, field) \
	sizeof(((struct mlx5_ifc_##type##_bits *)0)->field)
#define CX_BYTES(type) (sizeof(struct mlx5_ifc_##type##_bits) / 8)

/*
 * Bits of odp_cap at which each transport's odp_per_transport_service_cap begins. Headers of
 * Linux 6.12.118 and of 6.14 name them otherwise than older ones.
 */
enum {
	CX_ODP_RC = 0x80, CX_ODP_UC = 0xa0, CX_ODP_UD = 0xc0,
	CX_ODP_XRC = 0xe0, CX_ODP_DC = 0x100,
};

/*
 * Big-endian numbers at any address: cx_be16_get(), cx_be32_get(),
 * cx_be64_get(), cx_be16_set(), cx_be32_set(), cx_be64_set().
 */
#define CX_BE(bits)							\
static inline uint##bits##_t cx_be##bits##_get(const void *p)		\
{									\
	uint##bits##_t v;						\
									\
	memcpy(&v, p, sizeof(v));					\
	return be##bits##toh(v);					\
}									\
									\
static inline void cx_be##bits##_set(void *p, uint##bits##_t v)		\
{									\
	v = htobe##bits(v);						\
	memcpy(p, &v, sizeof(v));					\
}

CX_BE(16)
CX_BE(32)
CX_BE(64)

/* A field within one 32-bit word of a big-endian structure at p. */
static inline uint32_t cx_bits_get(const void *p, size_t off, size_t width)
{
	uint32_t word = cx_be32_get((const uint8_t *)p + off / 32 * 4);

	word >>= 32 - width - off % 32;
	return width == 32 ? word : word & ((1U << width) - 1);
}

static inline void cx_bits_set(void *p, size_t off, size_t width,
			       uint32_t value)
{
	uint32_t mask = width == 32 ? ~0U : (1U << width) - 1;
	uint8_t *word = (uint8_t *)p + off / 32 * 4;
	size_t shift = 32 - width - off % 32;

	cx_be32_set(word, (cx_be32_get(word) & ~(mask << shift)) |
			  (value & mask) << shift);
}

#define CX_GET(type, p, field) \
	cx_bits_get(p, CX_OFF(type, field), CX_WIDTH(type, field))
#define CX_SET(type, p, field, value) \
	cx_bits_set(p, CX_OFF(type, field), CX_WIDTH(type, field), value)
#define CX_ADDR(type, p, field) ((uint8_t *)(p) + CX_OFF(type, field) / 8)
#define CX_GET64(type, p, field) cx_be64_get(CX_ADDR(type, p, field))
#define CX_SET64(type, p, field, value) \
	cx_be64_set(CX_ADDR(type, p, field), value)

/* Event types and where they go (linux/mlx5/device.h, enum mlx5_event). */
enum cx_event {
	CX_EV_COMP			= 0x00,
	CX_EV_PATH_MIG			= 0x01,
	CX_EV_COMM_EST			= 0x02,
	CX_EV_SQ_DRAINED		= 0x03,
	CX_EV_CQ_ERROR			= 0x04,
	CX_EV_WQ_CATAS			= 0x05,
	CX_EV_PORT_CHANGE		= 0x09,
	CX_EV_CMD			= 0x0a,
	CX_EV_PAGE_REQUEST		= 0x0b,
	CX_EV_WQ_INVAL_REQ		= 0x10,
	CX_EV_WQ_ACCESS			= 0x11,
	CX_EV_SRQ_CATAS			= 0x12,
	CX_EV_SRQ_LAST_WQE		= 0x13,
	CX_EV_SRQ_LIMIT			= 0x14,
};

/* Port change subtypes. */
enum cx_port_event {
	CX_PORT_DOWN = 1, CX_PORT_ACTIVE = 4, CX_PORT_INIT = 5,
	CX_PORT_LID = 6, CX_PORT_PKEY = 7, CX_PORT_GUID = 8,
	CX_PORT_REREG = 9,
};

/* Status of a command (linux/mlx5/device.h, MLX5_CMD_STAT_*). */
enum cx_status {
	CX_OK = 0x0, CX_INT_ERR = 0x1, CX_BAD_OP = 0x2, CX_BAD_PARAM = 0x3,
	CX_BAD_SYS_STATE = 0x4, CX_BAD_RES = 0x5, CX_RES_BUSY = 0x6,
	CX_LIM = 0x8, CX_BAD_RES_STATE = 0x9, CX_IX = 0xa, CX_NO_RES = 0xf,
	CX_LAM_NOT_PRE = 0x22, CX_BAD_INP_LEN = 0x50, CX_BAD_OUTP_LEN = 0x51,
	CX_BAD_QP_STATE = 0x10, CX_BAD_PKT = 0x30, CX_BAD_SIZE = 0x40,
};

#endif
