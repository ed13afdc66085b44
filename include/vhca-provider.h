/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * What the udata of an HCA's provider means: which fields hold user addresses,
 * mmap offsets or bits that must not pass. Tables are plain C, shared by
 * frontend and backend, one file per driver_id (common/provider/<name>.c); a
 * unit test checks them against the kernel's uapi headers. An unknown driver,
 * ABI version, operation with udata, or udata length is refused.
 */
#ifndef VHCA_PROVIDER_H
#define VHCA_PROVIDER_H

#ifdef __KERNEL__
#include <linux/types.h>
#include <linux/stddef.h>
#else
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#endif

#define VHCA_PCI_MELLANOX	0x15b3

/* Doorbell pages of a context on an mlx5, on average: what rdma-core allocates. */
#define XENVHCA_UCONTEXT_UARS	8

enum vhca_field_kind {
	VHCA_END,
	VHCA_BUF,	/* request u64: address of queue memory -> pages list,
			 * the first one buf, the second sq_buf; length():
			 * what the HCA's driver pins
			 */
	VHCA_DBPAGE,	/* request u64: address of a doorbell record; arg: its
			 * octets, a power of two; it is aligned to them, so
			 * that it lies in one page; length(), if there is one:
			 * 0, if the object has no record
			 */
	VHCA_COOKIE,	/* opaque: verbatim */
	VHCA_DEV,	/* device number for WQEs/doorbells: verbatim */
	VHCA_AH,	/* response u32: number by which a WQE of a shadowed send
			 * queue names the new address handle: verbatim
			 */
	VHCA_KEY,	/* response: u64 mmap offset followed by u32 size; arg:
			 * enum vhca_queue; length(): what the HCA's driver
			 * allocates, at most
			 */
	VHCA_MASK,	/* request bits (arg) that are cleared */
	VHCA_OUTPTR,	/* request u64: user address the kernel writes arg
			 * octets to; backend uses its own buffer and appends
			 * the result to the response udata. The frontend
			 * raises out_len on the wire by
			 * vhca_provider_outptr(); the appended octets start
			 * where the guest's own room, cut to what
			 * out_max leaves, ends.
			 */
	VHCA_ZERO,	/* request bits (arg) that are refused if set */
	VHCA_IS,	/* response: a number of the HCA's that the lengths
			 * repeat; must be arg, or the HCA is refused
			 */
	VHCA_UARS,	/* request u32 of ALLOC_UCONTEXT: doorbell registers;
			 * the HCA's driver allocates a page for each arg of
			 * them, whether it is mapped or not
			 */
};

/* Queue memory of the HCA's driver that a KEY field hands out. */
enum vhca_queue {
	VHCA_QUEUE_SHARED,	/* completions: the driver trusts nothing there */
	VHCA_QUEUE_SEND,	/* work requests, of which the driver believes */
	VHCA_QUEUE_RECV,	/* what it reads: the guest gets pages apart */
};

struct xenvhca_request;

/*
 * Octets of queue memory, computed as the HCA's driver does it, from the
 * request's body and udata. All of them were chosen by a guest process. 0:
 * there is none, and its list must be empty.
 * Return: 0, -EINVAL if it is more than VHCA_BUF_LIMIT.
 */
typedef int vhca_length_fn(const struct xenvhca_request *req, uint64_t *len);
#define VHCA_BUF_LIMIT	0x7fffffffull	/* drivers compute it in an int */

struct vhca_field {
	uint8_t kind;		/* enum vhca_field_kind */
	uint8_t len;		/* octets of the field */
	uint16_t off;		/* offset in the payload */
	uint64_t arg;
	vhca_length_fn *length;	/* of a BUF, a KEY or a DBPAGE */
};

#define VHCA_MAX_FIELDS 8
struct vhca_udata_op {
	uint8_t op;		/* XENVHCA_OP_*, 0 ends the table */
	uint8_t or_none;	/* both lengths may be 0, too */
	uint8_t in_min, in_max;	/* request payload, octets */
	uint8_t out_min, out_max; /* response payload, octets */
	struct vhca_field req[VHCA_MAX_FIELDS];
	struct vhca_field rsp[VHCA_MAX_FIELDS];
};

/*
 * What a process may mmap at an offset that no KEY handed out. Each is one
 * page. Only doorbell pages can be given to a guest: memory of the driver
 * domain's kernel and other registers are named to be refused.
 */
enum vhca_mmap_kind {
	VHCA_MMAP_END,
	VHCA_MMAP_MMIO,		/* doorbell page in a BAR of the HCA */
	VHCA_MMAP_REGS,		/* anything else in a BAR */
	VHCA_MMAP_RAM,		/* memory of the HCA's driver */
};

struct vhca_mmap {
	uint8_t kind;		/* enum vhca_mmap_kind */
	uint8_t prot;		/* XENVHCA_PROT_*, as the driver maps */
	uint32_t pgoff;		/* offset / XENVHCA_PAGE_SIZE */
	uint32_t index;		/* bits of pgoff that number pages */
	uint8_t takes;		/* pages that each mmap allocates first */
};

struct vhca_provider {
	const char *name;	/* rdma-core provider */
	uint32_t driver_id;	/* enum rdma_driver_id */
	uint16_t pci_vendor;	/* of its HCAs, or 0 */
	uint32_t abi_min, abi_max;
	uint8_t kicks;		/* XENVHCA_INFO_KICK_* */
	uint8_t xrc;		/* XRC SRQs and QPs have the udata of others */
	uint8_t tm;		/* so have SRQs with tag matching */
	/* the driver's memory windows are not safe between domains */
	uint8_t no_windows;
	/* the driver believes attributes of verbs that a process chose: verbs/rxe_attr.c */
	uint8_t trusts;
	uint8_t dmabuf;		/* its driver makes regions of dma-bufs */
	/* lower bits of a region's address that the driver takes for those of the iova */
	uint8_t mr_bits;
	/* a region gets no other memory: its driver frees twice what it fails to replace */
	uint8_t no_retranslate;
	uint8_t ib_only;	/* Ethernet ports are refused */
	uint8_t av_port;	/* a datagram's work request names the port */
	/* where in a CQ's doorbell record the process writes each arm before it rings, or 0 */
	uint8_t arm_at;
	uint8_t pages_assumed;	/* nobody has seen the HCA compare pages of doorbells */
	/* room for events in the queue that has the ends of commands, too; 0: they have one */
	uint16_t events;
	uint8_t context_uars;	/* doorbell pages for each of max-ucontext */
	/*
	 * Numbers of queue pairs of which its driver keeps one or all in memory of the HCA's
	 * domain (bits of a number), and the pages of that memory; 0: it keeps none
	 */
	uint8_t qp_group;
	uint16_t qp_group_pages;
	/* octets of queue memory for each entry, at most: vhca_provider_entries() */
	uint16_t cqe_len, qp_wr_len, srq_wr_len;
	/* udata that opens a context only to ask, with the fewest resources */
	const uint8_t *ask_in;
	uint8_t ask_in_len;
	uint8_t ask_out_len;	/* that the driver writes, whatever room there is */
	const struct vhca_udata_op *ops;
	const struct vhca_mmap *mmaps;	/* NULL: by KEY only */
};

/* All that there are: X(name), for vhca_provider_<name>. */
#define VHCA_PROVIDERS(X) X(mlx4) X(mlx4_v3) X(mlx5) X(rxe)

#define VHCA_PROVIDER_(name) extern const struct vhca_provider vhca_provider_##name;
VHCA_PROVIDERS(VHCA_PROVIDER_)
#undef VHCA_PROVIDER_

/* NULL if unknown or ABI outside the range. */
const struct vhca_provider *vhca_provider_find(uint32_t driver_id,
					       uint32_t abi);
/* Row for an op or NULL: then both lengths must be 0. */
const struct vhca_udata_op *vhca_provider_op(const struct vhca_provider *p,
					     uint8_t op);
/* The field of ALLOC_UCONTEXT that says how many doorbell registers, or NULL. */
const struct vhca_field *vhca_provider_uars(const struct vhca_provider *p);
/*
 * How many entries of @len octets, up to @max, a queue may have for which @pages pages
 * are always enough: what max_cqe, max_qp_wr and max_srq_wr announce. At least one.
 */
uint32_t vhca_provider_entries(uint32_t max, uint32_t len, uint64_t pages);
/* Octets that the OUTPTR fields of a row append to the response udata; 0 for
 * row NULL.
 */
uint32_t vhca_provider_outptr(const struct vhca_udata_op *row);
/* 0, or -EINVAL if the lengths are outside the row. Holds for the lengths of
 * the guest's provider and for those on the wire.
 */
int vhca_provider_check(const struct vhca_provider *p, uint8_t op,
			uint32_t in_len, uint32_t out_len);
/* The same for a whole request: an XRC target QP never has udata. */
int vhca_provider_check_req(const struct vhca_provider *p,
			    const struct xenvhca_request *req);
/*
 * Return: -EINVAL, as from a driver that does not know them, if bits of a ZERO
 * field in the request's udata are set; else 0. @row NULL: 0.
 */
int vhca_provider_check_zero(const struct vhca_udata_op *row,
			     const struct xenvhca_request *req);
/* The field of @row by which @answer, of @len octets, is refused (VHCA_IS), or NULL. */
const struct vhca_field *vhca_provider_differs(const struct vhca_udata_op *row,
					       const uint8_t *answer, uint32_t len);
/* Row of an mmap offset in octets, or NULL: never pass it on then. */
const struct vhca_mmap *vhca_provider_mmap(const struct vhca_provider *p,
					   uint64_t offset);
/*
 * May a process map @length octets at the offset of row @m?
 * Return: 0; -EINVAL if it is not one page; -EOPNOTSUPP for what exists but
 * is not a doorbell page.
 */
int vhca_provider_mmap_check(const struct vhca_mmap *m, uint64_t length);
/*
 * May the page of row @m have cache attribute @prot? As the table says, or
 * uncached where the CPU of the HCA's domain cannot combine writes.
 */
bool vhca_provider_mmap_prot(const struct vhca_mmap *m, uint8_t prot);

/* ---- for the tables: numbers of a guest; -EINVAL over VHCA_BUF_LIMIT ---- */

/* The power of two that is @v or the next above it; @v up to 2^32. */
uint64_t vhca_len_pow2(uint64_t v);
int vhca_len_mul(uint64_t count, uint64_t size, uint64_t *len);
int vhca_len_shl(uint64_t count, uint32_t shift, uint64_t *len);
/* @len += @more */
int vhca_len_add(uint64_t more, uint64_t *len);
/* Number of @size octets (1, 2, 4) at @off of the udata. */
uint32_t vhca_len_num(const struct xenvhca_request *req, uint16_t off,
		      uint8_t size);

#endif
