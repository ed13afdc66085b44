/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * As much of Linux and of its Xen drivers as some files of frontend/ use, for
 * one thread and with a clock that a test moves. The test includes the module's
 * source, whose kernel headers are taken away when it is built (Makefile.inc),
 * and defines what that needs beyond.
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
#define __aligned(n)		__attribute__((aligned(n)))
#define THIS_MODULE		NULL
#define KBUILD_MODNAME		"vhca"
#define GFP_KERNEL		0
#define GFP_KERNEL_ACCOUNT	0
#define __GFP_ZERO		0
#define BIT(n)			(1ul << (n))
#define DECLARE_BITMAP(name, n)	unsigned long name[((n) + 63) / 64]
#define ARRAY_SIZE(a)		(sizeof(a) / sizeof(*(a)))
#define DIV_ROUND_UP(a, b)	(((a) + (b) - 1) / (b))
#define container_of(p, type, m) ((type *)((char *)(p) - offsetof(type, m)))
#define min(a, b)		((a) < (b) ? (a) : (b))
#define max(a, b)		((a) > (b) ? (a) : (b))
#define min_t(type, a, b)	min((type)(a), (type)(b))
#define max_t(type, a, b)	max((type)(a), (type)(b))
#define clamp(v, low, high)	min(max(v, low), high)
#define READ_ONCE(x)		(x)
#define WRITE_ONCE(x, v)	((x) = (v))
#define smp_mb()		do { } while (0)	/* one thread */
#define cmpxchg(p, old, new)	__sync_val_compare_and_swap(p, old, new)
#define xchg(p, new)		__sync_lock_test_and_set(p, new)
#define BUILD_BUG_ON(cond)	_Static_assert(!(cond), #cond)
#define module_param(name, type, mode)
#define MODULE_PARM_DESC(name, text)
#define might_sleep()
#define __releases(lock)
#define cond_resched()
#define try_module_get(m)	true
#define module_put(m)
#define kzalloc(size, gfp)	calloc(1, size)
#define kmalloc(size, gfp)	malloc(size)
#define alloc_pages_exact(size, gfp) memset(aligned_alloc(PAGE_SIZE, size), 0, size)
#define free_page(addr)		free((void *)(addr))
#define kcalloc(n, size, gfp)	calloc(n, size)
#define kvmalloc_array(n, size, gfp) calloc(n, size)
#define kfree			free
#define kvfree			free
#define IS_ERR(p)		((unsigned long)(p) >= -4095ul)
#define ERR_CAST(p)		((void *)(p))
#define IS_ERR_OR_NULL(p)	(!(p) || IS_ERR(p))
#define PTR_ERR(p)		((long)(p))
#define ERR_PTR(err)		((void *)(long)(err))
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

struct device { void *driver; };
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

/* ---- counters, locks, lists ---- */
typedef struct { long v; } atomic_t, atomic64_t;
#define atomic_set(a, n)	((a)->v = (n))
#define atomic_inc(a)		((a)->v++)
#define atomic_dec(a)		((a)->v--)
#define atomic_dec_and_test(a)	(!--(a)->v)
#define atomic_read(a)		((int)(a)->v)
#define atomic_add(n, a)	((a)->v += (n))
#define atomic_sub(n, a)	((a)->v -= (n))
#define atomic_try_cmpxchg(a, old, new)	((a)->v == *(old) ? ((a)->v = (new), true) : false)
#define atomic_dec_if_positive(a) ((a)->v > 0 ? --(a)->v : -1l)
#define atomic64_set(a, n)	((a)->v = (n))
#define atomic64_read(a)	((u64)(a)->v)
#define atomic64_inc(a)		((a)->v++)
#define atomic64_dec(a)		((a)->v--)
#define atomic64_add(n, a)	((a)->v += (long)(n))
#define atomic64_sub(n, a)	((a)->v -= (long)(n))
#define atomic64_add_return(n, a) ((u64)atomic64_add(n, a))

typedef struct { int unused; } spinlock_t, wait_queue_head_t;
/* One thread: whoever would wait for another one is told so, or has hung. */
struct mutex { bool held; };
#define mutex_init(m)		((m)->held = false)
#define mutex_destroy(m)	assert_false((m)->held)
#define mutex_lock(m)		(assert_false((m)->held), (void)((m)->held = true))
#define mutex_lock_killable(m)	((m)->held ? -EINTR : ((m)->held = true, 0))
#define mutex_unlock(m)		((m)->held = false)
#define swap(a, b)							\
	do { __typeof__(a) __a = (a); (a) = (b); (b) = __a; } while (0)
static unsigned int kernel_wakes;	/* calls of wake_up_all() */
struct kref { int n; };
struct semaphore { int n; };
#define wake_up_interruptible	wake_up_all
struct completion { bool done; };
#define init_completion(c)	((c)->done = false)
#define complete(c)		((c)->done = true)
#define completion_done(c)	((c)->done)
#define init_waitqueue_head(wq)
#define wake_up_all(wq)	((void)(wq), kernel_wakes++)
#define jiffies_to_msecs(j)	((unsigned int)((j) * 1000 / HZ))
/* One thread: the clock moves until somebody has done it. */
#define wait_event_timeout(wq, cond, timeout)				\
({									\
	long __left = (timeout);					\
	bool __ok;							\
	while (!(__ok = !!(cond)) && __left--)				\
		kernel_advance(1);					\
	__ok ? max(__left, 1l) : 0;					\
})
#define wait_event_killable_timeout wait_event_timeout
#define wait_for_completion_timeout(c, timeout)				\
	wait_event_timeout(0, (c)->done, timeout)
#define wait_for_completion_killable_timeout wait_for_completion_timeout
#define DEFINE_SPINLOCK(l)	spinlock_t l
#define spin_lock_init(l)
#define spin_lock(l)
#define spin_unlock(l)
#define spin_lock_irqsave(l, flags) ((void)(flags))
#define spin_unlock_irqrestore(l, flags)
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

#include "processors.h"

/* ---- time and works ---- */
#define HZ			250
#define NSEC_PER_SEC		1000000000L
#define NSEC_PER_MSEC		1000000L
#define ktime_get_ns()		((u64)jiffies * (NSEC_PER_SEC / HZ) + kernel_ns)
#define msecs_to_jiffies(ms)	((unsigned long)(ms) * HZ / 1000)
#define time_after(a, b)	((long)((b) - (a)) < 0)
#define time_before(a, b)	((long)((a) - (b)) < 0)
#define msleep(ms)		kernel_advance(msecs_to_jiffies(ms))
#define schedule_timeout_uninterruptible(j) kernel_advance(j)
#define WQ_FREEZABLE		BIT(2)
#define DECLARE_DELAYED_WORK(w, f) struct delayed_work w = { { f } }
#define INIT_DELAYED_WORK(w, f)	((w)->work.fn = (f))
#define to_delayed_work(w)	container_of(w, struct delayed_work, work)
#define alloc_ordered_workqueue(...) malloc(1)
#ifndef alloc_workqueue
#define alloc_workqueue(...)	malloc(1)
#endif
#define WQ_UNBOUND		0
#define destroy_workqueue(wq)	(kernel_idle(), free(wq))
#define queue_delayed_work(wq, w, delay) kernel_arm(w, delay, false)
#define mod_delayed_work(wq, w, delay) kernel_arm(w, delay, true)
#define schedule_delayed_work(w, delay) kernel_arm(w, delay, false)
#define cancel_delayed_work_sync(w) kernel_cancel(w)

struct work_struct {
	void (*fn)(struct work_struct *work);
};

struct delayed_work {
	struct work_struct work;
	bool armed, running;
	unsigned long at;
};

struct workqueue_struct;

static unsigned long jiffies = 100000;
static struct delayed_work *kernel_works[8];
static void (*kernel_frozen)(struct work_struct *work);

static inline void kernel_arm(struct delayed_work *w, unsigned long delay,
			      bool anew)
{
	size_t i, at = ARRAY_SIZE(kernel_works);

	for (i = ARRAY_SIZE(kernel_works); i--; )
		if (!kernel_works[i])
			at = i;
	for (i = 0; i < ARRAY_SIZE(kernel_works); i++)
		if (kernel_works[i] == w)
			at = i;
	assert_true(at < ARRAY_SIZE(kernel_works));
	kernel_works[at] = w;
	if (w->armed && !anew)
		return;
	w->armed = true;
	w->at = jiffies + delay;
}

/* It may be freed: nobody looks at it again, unless it is armed anew. */
static inline void kernel_cancel(struct delayed_work *w)
{
	size_t i;

	w->armed = false;
	for (i = 0; i < ARRAY_SIZE(kernel_works); i++)
		if (kernel_works[i] == w)
			kernel_works[i] = NULL;
}

static inline struct delayed_work *kernel_due(unsigned long end)
{
	struct delayed_work *w, *first = NULL;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(kernel_works); i++) {
		w = kernel_works[i];
		if (w && w->armed && !w->running &&
		    w->work.fn != kernel_frozen && !time_before(end, w->at) &&
		    (!first || time_before(w->at, first->at)))
			first = w;
	}
	return first;
}

static inline bool kernel_knows(const struct delayed_work *w)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(kernel_works); i++)
		if (kernel_works[i] == w)
			return true;
	return false;
}

/* Time goes by, and works run; may be called from a work. */
static inline void kernel_advance(unsigned long delay)
{
	unsigned long end = jiffies + delay;
	struct delayed_work *w;

	while ((w = kernel_due(end))) {
		if (time_before(jiffies, w->at))
			jiffies = w->at;
		w->armed = false;
		w->running = true;
		w->work.fn(&w->work);
		if (kernel_knows(w))	/* else it may have freed itself */
			w->running = false;
	}
	if (time_before(jiffies, end))
		jiffies = end;
}

/* Nothing is to come: the works may be freed. */
static inline void kernel_idle(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(kernel_works); i++)
		assert_false(kernel_works[i] && kernel_works[i]->armed);
	memset(kernel_works, 0, sizeof(kernel_works));
}

/* ---- event channels, barriers ---- */
typedef int irqreturn_t;
typedef irqreturn_t irq_handler_t(int irq, void *arg);
#define IRQ_HANDLED		1
#define XEN_EOI_FLAG_SPURIOUS	1
#define xen_irq_lateeoi(irq, flags)
#define notify_remote_via_irq(irq)
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
/* As on Arm: the first number is 0. One bit for each that is bound. */
static unsigned long __attribute__((unused)) kernel_irqs;
static inline int kernel_bind(void)
{
	int irq = __builtin_ctzl(~kernel_irqs);

	kernel_irqs |= 1UL << irq;
	return irq;
}
#define bind_evtchn_to_irqhandler_lateeoi(port, fn, flags, name, arg) kernel_bind()
#define unbind_from_irqhandler(irq, arg)	(kernel_irqs &= ~(1UL << (irq)))
#define virt_mb()		__sync_synchronize()
#define virt_rmb		virt_mb
#define virt_wmb		virt_mb
#undef xen_mb
#undef xen_rmb
#undef xen_wmb
#define xen_mb			virt_mb
#define xen_rmb			virt_mb
#define xen_wmb			virt_mb
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
struct sg_table { struct page **page; int n; };
struct ib_umem {
	struct { struct sg_table sgt; } sgt_append;
	struct mm_struct *owning_mm;
	unsigned long address;
};
struct sg_page_iter { int i; struct sg_table *sgt; };

#define mmgrab(mm)		((mm)->grabbed++)
#define mmdrop(mm)		((mm)->grabbed--)
#define get_page(p)		((p)->refs++)
#define page_address(p)		((void *)(p)->data)
#define __free_page		put_page
#define xen_page_to_gfn(p)	0
#define for_each_sgtable_page(table, it, first)				\
	for ((it)->sgt = (table), (it)->i = (first);			\
	     (it)->i < (it)->sgt->n; (it)->i++)
#define sg_page_iter_page(it)	((it)->sgt->page[(it)->i])
#define kmap_local_page(p)	((u8 *)page_address(p))
#define kunmap_local(p)		((void)(p))
#define ib_umem_num_dma_blocks(umem, size) ((size_t)(umem)->sgt_append.sgt.n)
#define ib_umem_offset(umem)	0
/* Of compat.h, before 7.2. */
#define vhca_cqe		int
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

struct ib_device { u32 index; int unused; };
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
	u64 max_mr_size, device_cap_flags;
	int max_cqe, max_qp_wr, max_srq_wr;
	struct ib_tm_caps tm_caps;
};
struct ib_port_attr { int unused; };
struct ib_pd { struct ib_device *device; struct ib_uobject *uobject; };
struct ib_xrcd { struct ib_device *device; };
enum ib_event_type { IB_EVENT_DEVICE_FATAL = 8 };

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

struct ib_cq {
	struct ib_device *device;
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
	u32 lkey, rkey;
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
static struct {
	struct mm_struct *mm;
	int flags;
	pid_t tgid;
} kernel_task, *current = &kernel_task;
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
