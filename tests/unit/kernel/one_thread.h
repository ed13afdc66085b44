/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Of kernel.h what is simple where there is one thread: a lock is never contended, a
 * wait moves the clock, and barriers are empty.
 */
#ifndef ONE_THREAD_H
#define ONE_THREAD_H

#define KERNEL_PER_THREAD

/* ---- contexts ---- */
/*
 * How many spin locks and RCU sections the thread is in; a test adds one to call a function
 * as from an interrupt, or under a spin lock of its caller. Whatever may sleep fails in there.
 */
static unsigned int __attribute__((unused)) kernel_atomic;
#define might_sleep()		({ assert_int_equal(kernel_atomic, 0); })
#define cond_resched		might_sleep
#define kernel_allocates(gfp)	((gfp) & GFP_ATOMIC ? (void)0 : might_sleep())

#include "processors.h"

/* ---- accesses and barriers ---- */
#define READ_ONCE(x)		(x)
#define WRITE_ONCE(x, v)	((x) = (v))
#define smp_mb()		do { } while (0)	/* one thread */
#define smp_rmb()		do { } while (0)
#define rmb()			do { } while (0)
#define wmb()			do { } while (0)
#define smp_load_acquire(p)	(*(p))
#define smp_store_release(p, v)	(*(p) = (v))
#define cmpxchg(p, old, new)	__sync_val_compare_and_swap(p, old, new)
#define cmpxchg64(p, old, new)	__sync_val_compare_and_swap(p, old, new)
#define xchg(p, new)		__sync_lock_test_and_set(p, new)
#define virt_mb()		__sync_synchronize()
#define virt_rmb		virt_mb
#define virt_wmb		virt_mb
#undef xen_mb
#undef xen_rmb
#undef xen_wmb
#define xen_mb			virt_mb
#define xen_rmb			virt_mb
#define xen_wmb			virt_mb

/* ---- counters, locks, waits ---- */
typedef struct { long v; } atomic_t, atomic64_t;
#define atomic_set(a, n)	((a)->v = (n))
#define atomic_inc(a)		((a)->v++)
#define atomic_inc_return(a)	((int)++(a)->v)
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

typedef struct { bool held; } spinlock_t;
typedef struct { int unused; } wait_queue_head_t;
/* One thread: whoever would wait for another one is told so, or has hung. */
struct mutex { bool held; };
#define mutex_init(m)		((m)->held = false)
#define mutex_destroy(m)	assert_false((m)->held)
#define mutex_lock(m)							\
	do { might_sleep(); assert_false((m)->held); (m)->held = true; } while (0)
#define mutex_lock_killable(m)						\
	(might_sleep(), (m)->held ? -EINTR : ((m)->held = true, 0))
#define mutex_unlock(m)		((m)->held = false)
struct rw_semaphore { int readers; bool written; };
#define init_rwsem(s)		((void)(s))
#define down_read(s)							\
	do { might_sleep(); assert_false((s)->written); (s)->readers++; } while (0)
#define up_read(s)		((void)(s)->readers--)
#define down_write(s)							\
do {									\
	might_sleep();							\
	assert_false((s)->readers || (s)->written);			\
	(s)->written = true;						\
} while (0)
#define up_write(s)		((void)((s)->written = false))
#define memalloc_noio_save()	0u
#define memalloc_noio_restore(flags) ((void)(flags))
#define GFP_NOIO		0
static unsigned int kernel_wakes;	/* calls of wake_up_all() */
struct kref { int n; };
struct semaphore { int n; };
#define wake_up_interruptible	wake_up_all
struct completion { bool done; };
#define init_completion(c)	((c)->done = false)
#define reinit_completion	init_completion
#define complete(c)		((c)->done = true)
#define completion_done(c)	((c)->done)
#define init_waitqueue_head(wq)
#define wake_up_all(wq)	((void)(wq), kernel_wakes++)
/* One thread: the clock moves until somebody has done it. */
#define wait_event_timeout(wq, cond, timeout)				\
({									\
	long __left = (timeout);					\
	bool __ok;							\
	might_sleep();							\
	while (!(__ok = !!(cond)) && __left--)				\
		kernel_advance(1);					\
	__ok ? max(__left, 1l) : 0;					\
})
#define wait_event_killable_timeout wait_event_timeout
#define wait_for_completion_timeout(c, timeout)				\
	wait_event_timeout(0, (c)->done, timeout)
#define wait_for_completion_killable_timeout wait_for_completion_timeout
#define DEFINE_SPINLOCK(l)	spinlock_t l
#define spin_lock_init(l)	((l)->held = false)
#define spin_lock(l)							\
	do { assert_false((l)->held); (l)->held = true; kernel_atomic++; } while (0)
#define spin_unlock(l)							\
	do { assert_true((l)->held); (l)->held = false; kernel_atomic--; } while (0)
#define spin_lock_irqsave(l, flags) do { (void)(flags); spin_lock(l); } while (0)
#define spin_unlock_irqrestore(l, flags) spin_unlock(l)
/* Interrupts are on afterwards: not for callers that have them off. */
#define spin_lock_irq(l)	do { might_sleep(); spin_lock(l); } while (0)
#define spin_unlock_irq(l)	spin_unlock(l)

/* ---- time and works: the clock moves when a test or a wait moves it ---- */
#define ktime_get_ns()		((u64)jiffies * (NSEC_PER_SEC / HZ) + kernel_ns)
#define msleep(ms)		schedule_timeout_uninterruptible(msecs_to_jiffies(ms))
#define schedule_timeout_uninterruptible(j) (might_sleep(), kernel_advance(j))
#define DECLARE_DELAYED_WORK(w, f) struct delayed_work w = { { f } }
#define INIT_DELAYED_WORK(w, f)	((w)->work.fn = (f))
#define alloc_ordered_workqueue(...) malloc(1)
#ifndef alloc_workqueue
#define alloc_workqueue(...)	malloc(1)
#endif
#define destroy_workqueue(wq)	(might_sleep(), kernel_idle(), free(wq))
#define queue_delayed_work(wq, w, delay) kernel_arm(w, delay, false)
#define mod_delayed_work(wq, w, delay) kernel_arm(w, delay, true)
#define schedule_delayed_work(w, delay) kernel_arm(w, delay, false)
#define cancel_delayed_work_sync(w) (might_sleep(), kernel_cancel(w))

struct delayed_work {
	struct work_struct work;
	bool armed, running;
	unsigned long at;
};

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

/* ---- upcalls ---- */
#define xen_irq_lateeoi(irq, flags)
#define notify_remote_via_irq(irq)
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

#endif
