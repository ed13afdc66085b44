/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * frontend/kernel/ in user space: what it uses of Linux beyond kernel.h, with the formats
 * of the kernel's own <linux/mlx5/>. A physical address is one
 * of the test's. front_kern_rest.h is the rest of the module.
 */
#ifndef FRONT_KERN_H
#define FRONT_KERN_H

#include "kernel.h"
#include <endian.h>
#include <linux/types.h>

typedef u64 dma_addr_t, phys_addr_t;
typedef int gfp_t;
typedef struct { int n; } refcount_t;
#define __packed		__attribute__((packed))
#define BITS_PER_LONG		64
#define BIT_ULL(n)		(1ull << (n))
#define GENMASK(high, low)	((2ul << (high)) - (1ul << (low)))
#define U16_MAX			0xffff
#define U32_MAX			0xffffffffu
#define struct_group(name, ...)	__VA_ARGS__
#define DECLARE_FLEX_ARRAY(type, name) type name[0]
#define KERN_WARNING
#define DUMP_PREFIX_OFFSET	0
#define print_hex_dump(...)
#define refcount_set(r, v)	((r)->n = (v))
#define refcount_inc(r)		((r)->n++)
#define refcount_dec_and_test(r) (!--(r)->n)
#define cpu_to_be16		htobe16
#define cpu_to_be32		htobe32
#define cpu_to_be64		htobe64
#define be16_to_cpu		be16toh
#define be32_to_cpu		be32toh
#define be64_to_cpu		be64toh
#define barrier()		__asm__ volatile("" ::: "memory")
#define xa_lock(xa)
#define xa_unlock(xa)
#define unlikely(x)		(x)
#define array_size(a, b)	((a) * (b))
#define kvcalloc(n, size, gfp)						\
	(kernel_allocates(gfp), calloc((n) ? (n) : 1, (size) ? (size) : 1))
#define ilog2(v)		(31 - __builtin_clz(v))

static inline u32 roundup_pow_of_two(u32 v)
{
	u32 r = 1;

	while (r < v)
		r <<= 1;
	return r;
}

/* Of driver.h, which is not included: only the formats are of interest. */
#define MLX5_DRIVER_H
struct ib_grh { u8 raw[40]; };
struct mlx5_core_dev { struct { struct { u32 cur[1]; } *hca[32]; } caps; };
struct mlx5_core_rsc_common { int unused; };
enum mlx5_event;
#define MLX5_CQ_DOORBELL	0x20
#define MLX5_BF_OFFSET		0x800
void mlx5_write64(u32 val[2], u8 *reg);
#include <linux/mlx5/device.h>
#include <linux/mlx5/cq.h>
#include <linux/mlx5/qp.h>
#include <rdma/mlx5-abi.h>

/* ---- bitmaps, pages ---- */
#define bitmap_zalloc(n, gfp)	kvcalloc(((n) + 63) / 64, 8, gfp)
#define bitmap_free		free
#define pfn_to_page(pfn)	((struct page *)((pfn) << PAGE_SHIFT))
#define page_to_phys(page)	((phys_addr_t)(uintptr_t)(page))
#undef kmap_local_page
#define kmap_local_page(page)	((u8 *)(page))

static inline u32 bitmap_weight(const unsigned long *bits, u32 n)
{
	u32 i, w = 0;

	for (i = 0; i < n; i++)
		w += test_bit(i, bits);
	return w;
}

#define bitmap_empty(bits, n)	(!bitmap_weight(bits, n))

#define ffz(word)		__builtin_ctzl(~(unsigned long)(word))

static inline u32 find_first_bit(const unsigned long *bits, u32 n)
{
	u32 i;

	for (i = 0; i < n && !test_bit(i, bits); i++)
		;
	return i;
}

static inline void bitmap_set(unsigned long *bits, u32 at, u32 n)
{
	while (n--)
		__set_bit(at + n, bits);
}

static inline void bitmap_clear(unsigned long *bits, u32 at, u32 n)
{
	while (n--)
		__clear_bit(at + n, bits);
}

static inline u32 bitmap_find_next_zero_area(const unsigned long *bits, u32 size, u32 at,
					     u32 n, u32 align)
{
	u32 i;

	for (; at + n <= size; at++) {
		for (i = 0; i < n && !test_bit(at + i, bits); i++)
			;
		if (i == n)
			return at;
	}
	return size;
}

/* ---- DMA ---- */
enum dma_data_direction { DMA_BIDIRECTIONAL, DMA_TO_DEVICE, DMA_FROM_DEVICE };
#define DMA_MAPPING_ERROR	(~0ull)
#define DMA_ATTR_SKIP_CPU_SYNC	32ul
#define DMA_BIT_MASK(n)		((n) == 64 ? ~0ull : (1ull << (n)) - 1)
#define IS_ENABLED(option)	1	/* of VHCA_DMA_OPS */
#define dma_map_op		map_page
#define dma_unmap_op		unmap_page
#define VHCA_DMA_FROM		struct page *page, unsigned long offset
#define VHCA_DMA_PHYS		(page_to_phys(page) + offset)
struct device_dma_parameters { int unused; };
struct dma_map_ops {
	void *alloc, *free, *map_page, *unmap_page, *map_sg, *unmap_sg;
	void *sync_single_for_cpu, *sync_single_for_device;
	void *sync_sg_for_cpu, *sync_sg_for_device, *dma_supported;
};
struct scatterlist { void *va; u32 offset, length, dma_len; dma_addr_t dma; };
#define sg_dma_address(sg)	((sg)->dma)
#define sg_dma_len(sg)		((sg)->dma_len)
#define sg_phys(sg)		((phys_addr_t)(uintptr_t)(sg)->va + (sg)->offset)
#define sg_next(sg)		((sg) + 1)
#define for_each_sg(list, sg, n, i)					\
	for ((i) = 0, (sg) = (list); (i) < (n); (i)++, (sg)++)
#define set_dma_ops(dev, ops)
#define dma_set_max_seg_size(dev, size)

/* ---- verbs ---- */
enum { IB_QPT_RC = 2, IB_QPT_UC, IB_QPT_UD };
enum ib_qp_state { IB_QPS_RESET, IB_QPS_INIT, IB_QPS_RTR, IB_QPS_RTS, IB_QPS_SQD,
		   IB_QPS_SQE, IB_QPS_ERR };
enum { IB_QP_STATE = 1, IB_SIGNAL_ALL_WR = 0, IB_SIGNAL_REQ_WR };
enum ib_wr_opcode {
	IB_WR_RDMA_WRITE, IB_WR_RDMA_WRITE_WITH_IMM, IB_WR_SEND, IB_WR_SEND_WITH_IMM,
	IB_WR_RDMA_READ, IB_WR_ATOMIC_CMP_AND_SWP, IB_WR_LOCAL_INV = 7,
	IB_WR_SEND_WITH_INV = 9, IB_WR_RDMA_READ_WITH_INV = 11, IB_WR_REG_MR = 0x20,
};
enum { IB_SEND_FENCE = 1, IB_SEND_SIGNALED = 2, IB_SEND_SOLICITED = 4, IB_SEND_INLINE = 8 };
enum ib_wc_opcode { IB_WC_SEND, IB_WC_RDMA_WRITE, IB_WC_RDMA_READ, IB_WC_LOCAL_INV = 6,
		    IB_WC_REG_MR, IB_WC_RECV = 128, IB_WC_RECV_RDMA_WITH_IMM };
enum ib_wc_status {
	IB_WC_SUCCESS, IB_WC_LOC_LEN_ERR, IB_WC_LOC_QP_OP_ERR, IB_WC_LOC_EEC_OP_ERR,
	IB_WC_LOC_PROT_ERR, IB_WC_WR_FLUSH_ERR, IB_WC_MW_BIND_ERR, IB_WC_BAD_RESP_ERR,
	IB_WC_LOC_ACCESS_ERR, IB_WC_REM_INV_REQ_ERR, IB_WC_REM_ACCESS_ERR,
	IB_WC_REM_OP_ERR, IB_WC_RETRY_EXC_ERR, IB_WC_RNR_RETRY_EXC_ERR,
	IB_WC_REM_ABORT_ERR, IB_WC_GENERAL_ERR,
};
enum { IB_WC_GRH = 1, IB_WC_WITH_IMM = 2, IB_WC_WITH_INVALIDATE = 4 };
enum ib_cq_notify_flags { IB_CQ_SOLICITED = 1, IB_CQ_NEXT_COMP = 2,
			  IB_CQ_SOLICITED_MASK = 3, IB_CQ_REPORT_MISSED_EVENTS = 4 };
enum ib_mr_type { IB_MR_TYPE_MEM_REG, IB_MR_TYPE_SG_GAPS };
#define IB_MW_TYPE_2		2
#define IB_AH_GRH		1
#define IB_LINK_LAYER_ETHERNET	2
#define IBK_LOCAL_DMA_LKEY	1
#define IW_F_NO_PORT_MAP	1
#define RDMA_DRIVER_MLX5	1
#include "srqs.h"

struct ib_sge { u64 addr; u32 length, lkey; };
struct ib_wc {
	u64 wr_id;
	enum ib_wc_status status;
	enum ib_wc_opcode opcode;
	u32 vendor_err, byte_len;
	struct ib_qp *qp;
	union { __be32 imm_data; u32 invalidate_rkey; } ex;
	u32 src_qp, slid;
	int wc_flags;
	u8 sl, dlid_path_bits;
	u32 port_num;
};
struct ib_send_wr {
	struct ib_send_wr *next;
	u64 wr_id;
	struct ib_sge *sg_list;
	int num_sge;
	enum ib_wr_opcode opcode;
	int send_flags;
	union { __be32 imm_data; u32 invalidate_rkey; } ex;
};
struct ib_recv_wr {
	struct ib_recv_wr *next;
	u64 wr_id;
	struct ib_sge *sg_list;
	int num_sge;
};
struct ib_rdma_wr { struct ib_send_wr wr; u64 remote_addr; u32 rkey; };
struct ib_ud_wr { struct ib_send_wr wr; struct ib_ah *ah; u32 remote_qpn, remote_qkey; };
struct ib_reg_wr { struct ib_send_wr wr; struct ib_mr *mr; u32 key; int access; };
#define rdma_wr(w)		container_of(w, struct ib_rdma_wr, wr)
#define ud_wr(w)		container_of(w, struct ib_ud_wr, wr)
#define reg_wr(w)		container_of(w, struct ib_reg_wr, wr)
struct ib_qp_cap { u32 max_send_wr, max_recv_wr, max_send_sge, max_recv_sge,
		   max_inline_data; };
struct ib_qp_init_attr {
	struct ib_cq *send_cq, *recv_cq;
	struct ib_srq *srq;
	struct ib_qp_cap cap;
	int qp_type, sq_sig_type;
};
struct ib_qp_attr { enum ib_qp_state qp_state; };
struct ib_cq_init_attr { u32 cqe, comp_vector, flags; };
struct ib_global_route {
	u8 dgid[16];
	u32 flow_label;
	u8 sgid_index, hop_limit, traffic_class;
};
struct rdma_ah_attr { u16 dlid; u8 sl, path_bits, flags; struct ib_global_route grh; };
struct rdma_ah_init_attr { struct rdma_ah_attr *ah_attr; };
#define rdma_ah_get_sl(a)	((a)->sl)
#define rdma_ah_get_dlid(a)	((a)->dlid)
#define rdma_ah_get_path_bits(a) ((a)->path_bits)
#define rdma_ah_get_ah_flags(a)	((a)->flags)
#define rdma_ah_read_grh(a)	(&(a)->grh)
void cancel_work_sync(struct work_struct *work);

/* The operations that ib_core would call. */
struct ib_device_ops {
	struct ib_mr *(*alloc_mr)(struct ib_pd *ibpd, enum ib_mr_type type, u32 nr);
	void *alloc_pd, *create_cq, *create_qp, *create_srq, *dealloc_pd, *dereg_mr;
	int (*create_ah)(struct ib_ah *ibah, struct rdma_ah_init_attr *init,
			 struct ib_udata *udata);
	void *destroy_ah, *destroy_cq, *destroy_qp, *destroy_srq, *get_dma_mr, *map_mr_sg, *modify_qp;
	void *modify_srq, *poll_cq, *post_recv, *post_send, *post_srq_recv, *req_notify_cq;
	size_t size_ib_ah, size_ib_cq, size_ib_qp, size_ib_srq;
};
#define INIT_RDMA_OBJ_SIZE(ib, type, member) .size_##ib = sizeof(struct type)
static const struct ib_device_ops *kernel_ops;
#define ib_set_device_ops(ibdev, ops) ((void)(kernel_ops = (ops)))
#define vhca_cq_attrs		ib_udata

int ib_sg_to_pages(struct ib_mr *mr, struct scatterlist *sgl, int n, unsigned int *offset,
		   int (*set_page)(struct ib_mr *mr, u64 addr));
void *xa_load(struct xarray *xa, unsigned long i);
void *xa_erase(struct xarray *xa, unsigned long i);
#define xa_init(xa)		memset(xa, 0, sizeof(*(xa)))
#define xa_for_each(xa, i, e)						\
	for ((i) = 0; (i) < ARRAY_SIZE((xa)->at); (i)++)		\
		if (((e) = smp_load_acquire(&(xa)->at[i])))

#include "copy/pool.c"
#include "copy/dma.c"
#include "copy/recv.c"
#include "copy/send.c"
#include "copy/poll.c"
#include "copy/window.c"
#include "copy/pair.c"
#include "copy/kern.c"

#endif
