/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * As much of Linux and of its Xen drivers as some files of frontend/ use. The test
 * includes the module's source, whose kernel headers are taken away when it is built
 * (Makefile.inc), and defines what that needs beyond. Locks, waits, clock and works
 * are those of KERNEL_THREADS: of one thread, or real ones (tests/race/threads.h).
 */
#ifndef KERNEL_H
#define KERNEL_H

#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <xen/io/vhcaif.h>

#ifndef KERNEL_THREADS
#define KERNEL_THREADS	"one_thread.h"
#endif

typedef uint8_t u8;
typedef uint16_t u16, domid_t;
typedef uint32_t u32, grant_ref_t, evtchn_port_t;
typedef int16_t s16;
typedef int32_t s32;
typedef int64_t s64;
typedef uint64_t u64;

#define __init
#define __exit
#define __user
#define __force
#define __iomem
#define __aligned(n)		__attribute__((aligned(n)))
#define THIS_MODULE		NULL
#define KBUILD_MODNAME		"vhca"
#define GFP_KERNEL		0
#define GFP_KERNEL_ACCOUNT	0
#define GFP_ATOMIC		1
#define __GFP_ZERO		0
#define __GFP_NOWARN		0
#define __GFP_RETRY_MAYFAIL	0
#define BIT(n)			(1ul << (n))
#define DECLARE_BITMAP(name, n)	unsigned long name[((n) + 63) / 64]
#define ARRAY_SIZE(a)		(sizeof(a) / sizeof(*(a)))
#define DIV_ROUND_UP(a, b)	(((a) + (b) - 1) / (b))
#define DIV_ROUND_UP_ULL	DIV_ROUND_UP
#define container_of(p, type, m) ((type *)((char *)(p) - offsetof(type, m)))
#define min(a, b)		((a) < (b) ? (a) : (b))
#define max(a, b)		((a) > (b) ? (a) : (b))
#define min_t(type, a, b)	min((type)(a), (type)(b))
#define max_t(type, a, b)	max((type)(a), (type)(b))
#define clamp(v, low, high)	min(max(v, low), high)
#define BUILD_BUG_ON(cond)	_Static_assert(!(cond), #cond)
#define module_param(name, type, mode)
#define MODULE_PARM_DESC(name, text)
#define __releases(lock)
#define try_module_get(m)	true
#define module_put(m)
#define kzalloc(size, gfp)	(kernel_allocates(gfp), calloc(1, size))
#define kmalloc(size, gfp)	(kernel_allocates(gfp), malloc(size))
#define alloc_pages_exact(size, gfp)					\
	(kernel_allocates(gfp), memset(aligned_alloc(PAGE_SIZE, size), 0, size))
#define free_page(addr)		free((void *)(addr))
#define kcalloc(n, size, gfp)	(kernel_allocates(gfp), calloc(n, size))
#define kvmalloc_array(n, size, gfp) kcalloc(n, size, gfp)
#define kfree			free
#define kvfree			free
#define IS_ERR(p)		((unsigned long)(p) >= -4095ul)
#define ERR_CAST(p)		((void *)(p))
#define IS_ERR_OR_NULL(p)	(!(p) || IS_ERR(p))
#define PTR_ERR(p)		((long)(p))
#define ERR_PTR(err)		((void *)(long)(err))
#define IOMEM_ERR_PTR		ERR_PTR
#define kstrtouint		kernel_strtouint
extern int inet_pton(int af, const char *text, void *to);
#define in4_pton(s, n, to, delim, end) (inet_pton(2, s, to) == 1)
#define in6_pton(s, n, to, delim, end) (inet_pton(10, s, to) == 1)
#define strim(s)		(s)

static inline int kernel_strtouint(const char *s, int base, unsigned int *v)
{
	char *end;
	unsigned long value = strtoul(s, &end, base);

	if (*s < '0' || *s > '9' || strcmp(end, "\n" + !*end))
		return -EINVAL;
	if (value > UINT_MAX)
		return -ERANGE;
	*v = value;
	return 0;
}

struct device {
	void *driver, *dma_parms;
	u64 coherent_dma_mask, *dma_mask;
};
#define dev_err(dev, ...)	print_message("  " __VA_ARGS__)
#define dev_err_ratelimited	dev_err
#define dev_warn		dev_err
#define dev_warn_ratelimited	dev_err
#define dev_info		dev_err
#define pr_warn_ratelimited	pr_warn
#define pr_warn(...)		print_message("  " __VA_ARGS__)
#define dev_name(dev)		"vhca-0"
#define get_device(dev)
#define put_device(dev)
#define device_unregister(dev)
#define device_reprobe(dev)	0

/* ---- bits, lists ---- */
#define swap(a, b)							\
	do { __typeof__(a) __a = (a); (a) = (b); (b) = __a; } while (0)
#define __set_bit(n, bits)	((bits)[(n) / 64] |= BIT((n) % 64))
#define __clear_bit(n, bits)	((bits)[(n) / 64] &= ~BIT((n) % 64))
#define test_bit(n, bits)	((bits)[(n) / 64] >> (n) % 64 & 1)
#define for_each_set_bit(n, bits, size)					\
	for ((n) = 0; (n) < (size); (n)++)				\
		if (test_bit(n, bits))
#define test_and_set_bit(n, bits)					\
	(test_bit(n, bits) || (__set_bit(n, bits), false))
#define find_first_zero_bit(bits, size) find_next_zero_bit(bits, size, 0)

static inline unsigned int find_next_zero_bit(const unsigned long *bits,
					      unsigned int size, unsigned int n)
{
	while (n < size && test_bit(n, bits))
		n++;
	return n;
}

#include "lists.h"

/* ---- time, works, and what needs to know how many threads there are ---- */
#define HZ			250
#define NSEC_PER_SEC		1000000000L
#define NSEC_PER_MSEC		1000000L
#define msecs_to_jiffies(ms)	((unsigned long)(ms) * HZ / 1000)
#define jiffies_to_msecs(j)	((unsigned int)((j) * 1000 / HZ))
#define time_after(a, b)	((long)((b) - (a)) < 0)
#define time_before(a, b)	((long)((a) - (b)) < 0)
#define WQ_FREEZABLE		BIT(2)
#define WQ_UNBOUND		0
#define to_delayed_work(w)	container_of(w, struct delayed_work, work)
struct work_struct {
	void (*fn)(struct work_struct *work);
};
struct workqueue_struct;
typedef int irqreturn_t;
typedef irqreturn_t irq_handler_t(int irq, void *arg);

#include KERNEL_THREADS

/* ---- event channels ---- */
#define IRQ_HANDLED		1
#define XEN_EOI_FLAG_SPURIOUS	1
#define DOMID_SELF		0x7ff0
struct evtchn_alloc_unbound { domid_t dom, remote_dom; evtchn_port_t port; };
struct evtchn_close { evtchn_port_t port; };
struct evtchn_bind_interdomain {
	domid_t remote_dom;
	evtchn_port_t remote_port, local_port;
};
#define EVTCHNOP_bind_interdomain 0
#define EVTCHNOP_alloc_unbound	1
#define EVTCHNOP_close		2
/* One other domain, of which no port is ours. */
static bool kernel_pv, kernel_domain_gone;
#define xen_pv_domain()		kernel_pv
#define HYPERVISOR_event_channel_op(cmd, op)				\
	((void)(op), (cmd) != EVTCHNOP_bind_interdomain ? 0 :		\
	 kernel_domain_gone ? -ESRCH : -EINVAL)
#define virt_to_page(p)		((struct page *)(p))

#include "xenbus.h"

/* ---- memory and RDMA ---- */
#define PAGE_SHIFT		12
#define PAGE_SIZE		4096
#define PAGE_MASK		(~(PAGE_SIZE - 1ul))
#define offset_in_page(p)	((unsigned long)(p) & ~PAGE_MASK)
#define XEN_PAGE_SHIFT		12
#define XEN_PAGE_SIZE		4096
#define totalram_pages()	(1ul << 20)
#define INVALID_GRANT_REF	(~(grant_ref_t)0)

struct page {
	int refs;
	bool foreign;
	void *mapping;
	u8 data[PAGE_SIZE];
};

#define PageForeign(page)	((page)->foreign)
struct mm_struct {
	atomic64_t pinned_vm;
	int grabbed;
};

struct grant_entry_v1 { u64 unused; };
union grant_entry_v2 { u64 unused[2]; };
struct gnttab_get_version { int dom; u32 version; };
#define DOMID_SELF		0x7ff0
#define GNTTABOP_get_version	8
#ifndef GRANT_VERSION
#define GRANT_VERSION		1
#endif
/* Xen has no other operation here: a test that needs one has its own Xen. */
#define HYPERVISOR_grant_table_op(cmd, op, n)				\
	(((struct gnttab_get_version *)(op))->version = GRANT_VERSION, 0)
struct sg_table { struct page **sgl; int orig_nents; };
struct ib_umem {
	struct { struct sg_table sgt; } sgt_append;
	struct mm_struct *owning_mm;
	unsigned long address;
};
struct sg_page_iter { int i, n; struct page **sgl; };

#define mmgrab(mm)		((mm)->grabbed++)
#define mmdrop(mm)		((mm)->grabbed--)
#define get_page(p)		((p)->refs++)
#define page_address(p)		((void *)(p)->data)
#define __free_page		put_page
#define xen_page_to_gfn(p)	0
#define __sg_page_iter_start(it, list, nents, first)			\
	(*(it) = (struct sg_page_iter){ (int)(first) - 1, (int)(nents), list })
#define __sg_page_iter_next(it)	(++(it)->i < (it)->n)
#define sg_page_iter_page(it)	((it)->sgl[(it)->i])
#define kmap_local_page(p)	((u8 *)page_address(p))
#define kunmap_local(p)		((void)(p))
#define ib_umem_num_dma_blocks(umem, size) ((size_t)(umem)->sgt_append.sgt.orig_nents)
#define ib_umem_offset(umem)	0
/* Of compat.h, before 7.2. */
#define vhca_cqe		int
#define vhca_port_t		u32
#define vhca_rereg_t		struct ib_mr *
#define vhca_reregged(rc)	ERR_PTR(rc)
#define vhca_stat_t		struct rdma_stat_desc
#define vhca_stat_name(stat)	((stat).name)
#define vhca_umem_sgl(umem)	((umem)->sgt_append.sgt.sgl)
#define vhca_umem_nents(umem)	((umem)->sgt_append.sgt.orig_nents)
#define vhca_qp_creator(function) function
#define vhca_qp_destroyer(function) function
#define vhca_stats_allocator(function) function
#define vhca_user_caps(caps)	(caps)
#define vhca_iw_afonly(iw)	((iw)->afonly)
#define vhca_xenbus_removed_t	void
#define VHCA_XENBUS_REMOVED
#define VHCA_NOT_ESSENTIAL	.not_essential = true,
#define __maybe_unused		__attribute__((unused))
#define VHCA_FIND_NORMAL_PAGE(function) .find_normal_page = function,
#define VHCA_NO_MPROTECT(function) .mprotect = function,
#define vhca_refuse_mprotect(vma)
#define VHCA_DMAH
/* Likewise, for 6.3 and later: that is where it does something. */
#define vhca_umem_access(access) ((access) | IB_ACCESS_LOCAL_WRITE)

#define IB_ACCESS_LOCAL_WRITE	1
#define IB_ACCESS_REMOTE_WRITE	2
#define IB_ACCESS_REMOTE_READ	4
#define IB_ACCESS_REMOTE_ATOMIC	8
#define IB_ACCESS_MW_BIND	16
#define IB_ZERO_BASED		32
#define IB_ACCESS_HUGETLB	128
#define IB_ACCESS_OPTIONAL	0x3ff00000
#define ib_access_writable(access) ((access) & (1 | 2 | 8 | 16))
#define IB_MR_REREG_TRANS	1
#define IB_MR_REREG_PD		2
#define IB_MR_REREG_ACCESS	4
#define PAGE_ALIGN(x)		(((x) + PAGE_SIZE - 1) & PAGE_MASK)
#define ibdev_err_ratelimited(ibdev, ...) print_message("  " __VA_ARGS__)
#define ibdev_dbg(ibdev, ...)
#define ibdev_warn_ratelimited(ibdev, ...) print_message("  " __VA_ARGS__)

struct ib_device {
	u32 index, local_dma_lkey, iw_driver_flags;
	u8 node_type;
	struct device dev;
};
enum rdma_node_type { RDMA_NODE_IB_CA = 1, RDMA_NODE_RNIC = 4 };
struct task_struct;
struct rdma_restrack_entry { struct task_struct *task; };
struct ib_ucontext {
	struct ib_device *device;
	struct rdma_restrack_entry res;
};
struct ib_tm_caps {
	u32 max_rndv_hdr_size, max_num_tags, flags, max_ops, max_sge;
};
struct ib_device_attr {
	u64 max_mr_size, device_cap_flags, kernel_cap_flags;
	int max_cqe, max_qp_wr, max_srq_wr, max_send_sge, max_recv_sge, max_srq_sge,
	    max_sge_rd, max_mr, max_mw, max_qp_rd_atom, max_qp_init_rd_atom;
	u32 max_fast_reg_page_list_len;
	struct ib_tm_caps tm_caps;
	struct { u16 max_cq_moderation_count, max_cq_moderation_period; } cq_caps;
};
struct ib_port_attr { int unused; };
struct ib_pd { struct ib_device *device; struct ib_uobject *uobject; };
struct ib_xrcd { struct ib_device *device; };
enum ib_event_type {
	IB_EVENT_COMM_EST = 4, IB_EVENT_DEVICE_FATAL = 8, IB_EVENT_QP_LAST_WQE_REACHED = 16,
};

struct ib_event {
	struct ib_device *device;
	enum ib_event_type event;
	struct {
		struct ib_cq *cq;
		struct ib_qp *qp;
		struct ib_srq *srq;
		u32 port_num;
	} element;
};

enum ib_poll_context {
	IB_POLL_DIRECT, IB_POLL_SOFTIRQ, IB_POLL_WORKQUEUE, IB_POLL_UNBOUND_WORKQUEUE,
};

struct ib_cq {
	struct ib_device *device;
	enum ib_poll_context poll_ctx;
	struct workqueue_struct *comp_wq;
	struct work_struct work;
	int cqe;
	void (*comp_handler)(struct ib_cq *cq, void *ctx);
	void (*event_handler)(struct ib_event *event, void *ctx);
	void *cq_context;
};

struct ib_qp {
	struct ib_device *device;
	struct ib_pd *pd;
	struct ib_cq *send_cq, *recv_cq;
	struct ib_srq *srq;
	int qp_type;
	u32 qp_num;
	void (*event_handler)(struct ib_event *event, void *ctx);
	void *qp_context;
};

struct ib_srq {
	struct ib_device *device;
	struct ib_pd *pd;
	struct { struct { u32 srq_num; } xrc; } ext;
	void (*event_handler)(struct ib_event *event, void *ctx);
	void *srq_context;
};

struct ib_ah { struct ib_device *device; struct ib_pd *pd; };
struct ib_uobject { struct list_head list; struct ib_ucontext *context; };
struct ib_mr {
	struct ib_device *device;
	struct ib_pd *pd;
	u32 lkey, rkey, page_size;
	u64 iova, length;
	struct ib_uobject *uobject;
};
struct ib_mw {
	struct ib_device *device;
	struct ib_pd *pd;
	u32 rkey;
	int type;
};
struct xarray { void *at[8]; };
struct vm_area_struct {
	unsigned long vm_start, vm_end, vm_pgoff, vm_flags;
	int vm_page_prot;
};

/* ---- memory of a process, which is that of the test ---- */
#define PF_EXITING		4
static KERNEL_PER_THREAD struct {
	struct mm_struct *mm;
	int flags;
	pid_t tgid;
} kernel_task;
#define current			(&kernel_task)
#define task_tgid_nr(task)	((task)->tgid)

#define u64_to_user_ptr(addr)	((void *)(uintptr_t)(addr))
#define copy_to_user(to, from, n) (memcpy(to, from, n), 0)
#define mmap_read_unlock(mm)

struct ib_udata {
	const u8 *inbuf;
	u8 *outbuf;
	size_t inlen, outlen;
};

#define ib_copy_from_udata(to, udata, n) (memcpy(to, (udata)->inbuf, n), 0)
#define ib_copy_to_udata(udata, from, n) (memcpy((udata)->outbuf, from, n), 0)

static inline bool ib_is_udata_cleared(struct ib_udata *udata, size_t from,
				       size_t n)
{
	while (n && !udata->inbuf[from + n - 1])
		n--;
	return !n;
}

#endif
