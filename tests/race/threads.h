/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Of tests/unit/kernel/kernel.h what is real where there are threads: locks and waits
 * are those of pthreads, READ_ONCE() and the atomic counters those of the compiler. A
 * "second" of the kernel takes 25 ms. ThreadSanitizer knows these primitives, but for
 * barriers: kernel_mb() below tells it what they order.
 *
 * RACE_PLANT=NAME breaks one primitive (planted() below), to show that a test notices.
 */
#ifndef THREADS_H
#define THREADS_H

#include <pthread.h>
#include <sanitizer/tsan_interface.h>
#include <sched.h>
#include <semaphore.h>
#include <time.h>
#include <unistd.h>

static inline void wrong(const char *what)
{
	printf("wrong: %s\n", what);
	fflush(stdout);
	_exit(1);
}

/* Set before there are threads. */
static const char *kernel_plant = "";
#define planted(name)		(!strcmp(kernel_plant, name))

#define KERNEL_PER_THREAD	__thread
#undef print_message
#define print_message(...)	((void)0)

/* ---- accesses and barriers ---- */
/*
 * Linux' rule: a store after a write barrier that another CPU reads before a read
 * barrier orders what is before the one with what is behind the other. So the first
 * marked store after a barrier releases, and a barrier acquires from the words that were
 * read marked since the last one. A load that must come after an own store (the second
 * half of smp_mb()) is the business of model_events.c.
 */
static __thread struct {
	const volatile void *read[8];
	unsigned int nr;
	bool release;
} kernel_fence;

static inline void kernel_seen(const volatile void *p)
{
	kernel_fence.read[kernel_fence.nr++ % ARRAY_SIZE(kernel_fence.read)] = p;
}

static inline void kernel_mb(bool acquire, bool release)
{
	unsigned int i, nr = min(kernel_fence.nr, ARRAY_SIZE(kernel_fence.read));

	for (i = 0; acquire && i < nr; i++)
		__tsan_acquire((void *)kernel_fence.read[i]);
	if (acquire)
		kernel_fence.nr = 0;
	kernel_fence.release |= release;
}

static inline int kernel_store_order(void)
{
	int order = kernel_fence.release ? __ATOMIC_RELEASE : __ATOMIC_RELAXED;

	kernel_fence.release = false;
	return order;
}

#define READ_ONCE(x)							\
({									\
	__auto_type __v = planted("plain") ? (x) :			\
			  __atomic_load_n(&(x), __ATOMIC_RELAXED);	\
	kernel_seen(&(x));						\
	__v;								\
})
#define WRITE_ONCE(x, v)						\
do {									\
	__typeof__(x) __w = (v);					\
	if (kernel_store_order() == __ATOMIC_RELEASE)			\
		__atomic_store_n(&(x), __w, __ATOMIC_RELEASE);		\
	else								\
		__atomic_store_n(&(x), __w, __ATOMIC_RELAXED);		\
} while (0)
#define virt_rmb()		kernel_mb(!planted("rmb"), false)
#define virt_wmb()		kernel_mb(false, !planted("wmb"))
#define virt_mb()		kernel_mb(true, true)
#define smp_mb			virt_mb
#define smp_rmb			virt_rmb
#define rmb			virt_rmb
#define wmb			virt_wmb
#undef xen_mb
#undef xen_rmb
#undef xen_wmb
#define xen_mb			virt_mb
#define xen_rmb			virt_rmb
#define xen_wmb			virt_wmb
#define smp_load_acquire(p)	__atomic_load_n(p, __ATOMIC_ACQUIRE)
#define smp_store_release(p, v)	__atomic_store_n(p, v, __ATOMIC_RELEASE)
#define xchg(p, new)		__atomic_exchange_n(p, new, __ATOMIC_SEQ_CST)
#define cmpxchg(p, old, new)	__sync_val_compare_and_swap(p, old, new)
#define cmpxchg64		cmpxchg

/* The indices of xen/io/ring.h are marked here: it leaves them to "volatile" barriers. */
#undef RING_PUSH_REQUESTS_AND_CHECK_NOTIFY
#define RING_PUSH_REQUESTS_AND_CHECK_NOTIFY(r, notify)			\
do {									\
	RING_IDX __old = READ_ONCE((r)->sring->req_prod);		\
	RING_IDX __new = (r)->req_prod_pvt;				\
	xen_wmb();							\
	WRITE_ONCE((r)->sring->req_prod, __new);			\
	xen_mb();							\
	(notify) = __new - READ_ONCE((r)->sring->req_event) < __new - __old; \
} while (0)
#undef RING_FINAL_CHECK_FOR_RESPONSES
#define RING_FINAL_CHECK_FOR_RESPONSES(r, more)				\
do {									\
	(more) = READ_ONCE((r)->sring->rsp_prod) != (r)->rsp_cons;	\
	if (more)							\
		break;							\
	WRITE_ONCE((r)->sring->rsp_event, (r)->rsp_cons + 1);		\
	xen_mb();							\
	(more) = READ_ONCE((r)->sring->rsp_prod) != (r)->rsp_cons;	\
} while (0)

/* ---- counters ---- */
typedef struct { int v; } atomic_t;
typedef struct { long v; } atomic64_t;
#define atomic_set(a, n)	__atomic_store_n(&(a)->v, n, __ATOMIC_RELAXED)
#define atomic_read(a)		__atomic_load_n(&(a)->v, __ATOMIC_RELAXED)
#define atomic_add(n, a)	__atomic_fetch_add(&(a)->v, n, __ATOMIC_RELAXED)
#define atomic_sub(n, a)	atomic_add(-(n), a)
#define atomic_inc(a)		atomic_add(1, a)
#define atomic_dec(a)		atomic_add(-1, a)
#define atomic_dec_and_test(a)	(!__atomic_sub_fetch(&(a)->v, 1, __ATOMIC_SEQ_CST))
#define atomic_try_cmpxchg(a, old, new)					\
	(planted("cmpxchg") ? sched_yield(), atomic_set(a, new), true : \
	 __atomic_compare_exchange_n(&(a)->v, old, new, false,		\
				     __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
#define atomic_inc_return(a)	__atomic_add_fetch(&(a)->v, 1, __ATOMIC_SEQ_CST)
static inline int atomic_dec_if_positive(atomic_t *a)
{
	int v = atomic_read(a);

	while (v > 0 && !__atomic_compare_exchange_n(&a->v, &v, v - 1, false,
						     __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
		;
	return v - 1;
}
#define atomic64_set		atomic_set
#define atomic64_read		atomic_read
#define atomic64_inc		atomic_inc
#define atomic64_add		atomic_add
#define atomic64_add_return(n, a) (atomic_add(n, a) + (n))
struct kref { atomic_t n; };
#define kref_init(r)		atomic_set(&(r)->n, 1)
#define kref_get(r)		atomic_inc(&(r)->n)
#define kref_put(r, release)						\
	(atomic_dec_and_test(&(r)->n) ? (release(r), 1) : 0)

/* ---- contexts: kernel.h's claims are for one thread ---- */
#define might_sleep()
#define cond_resched()
#define kernel_allocates(gfp)	((void)0)

/* ---- memory: what is not freed is counted ---- */
static atomic_t kernel_allocs;
#undef kzalloc
#undef kfree
#undef kvfree
#define kzalloc(size, gfp)	(atomic_inc(&kernel_allocs), calloc(1, size))
#define kvcalloc(n, size, gfp)	kzalloc((n) * (size), gfp)
#define kfree			kernel_free
#define kvfree			kernel_free
static inline void kernel_free(const void *p)
{
	if (p)
		atomic_dec(&kernel_allocs);
	free((void *)p);
}

/* ---- locks: now and then somebody else runs behind one ---- */
static __thread unsigned int kernel_seed;
static inline void kernel_unlock(pthread_mutex_t *m)
{
	pthread_mutex_unlock(m);
	if (!kernel_seed)
		kernel_seed = (unsigned long)&kernel_seed >> 6;
	if (rand_r(&kernel_seed) % 16 == 0)
		usleep(rand_r(&kernel_seed) % 64);
}

typedef struct { pthread_mutex_t m; } spinlock_t;
#define DEFINE_SPINLOCK(l)	spinlock_t l = { PTHREAD_MUTEX_INITIALIZER }
#define spin_lock_init(l)	pthread_mutex_init(&(l)->m, NULL)
#define spin_lock(l)							\
	(planted("spinlock") ? 0 : pthread_mutex_lock(&(l)->m))
#define spin_unlock(l)							\
	(planted("spinlock") ? (void)0 : kernel_unlock(&(l)->m))
#define spin_lock_irq		spin_lock
#define spin_unlock_irq		spin_unlock
#define spin_lock_irqsave(l, flags) ((void)(flags), spin_lock(l))
#define spin_unlock_irqrestore(l, flags) spin_unlock(l)
struct mutex { pthread_mutex_t m; };
#define DEFINE_MUTEX(l)		struct mutex l = { PTHREAD_MUTEX_INITIALIZER }
#define mutex_init(l)		pthread_mutex_init(&(l)->m, NULL)
#define mutex_destroy(l)	pthread_mutex_destroy(&(l)->m)
#define mutex_lock(l)		(planted("mutex") ? 0 : pthread_mutex_lock(&(l)->m))
#define mutex_unlock(l)		(planted("mutex") ? (void)0 : kernel_unlock(&(l)->m))
#define mutex_lock_killable(l)	(mutex_lock(l), 0)
struct semaphore { int n; };
#define memalloc_noio_save()	0u
#define memalloc_noio_restore(flags) ((void)(flags))
#define GFP_NOIO		0
struct rw_semaphore { pthread_rwlock_t l; };
#define init_rwsem(s)		pthread_rwlock_init(&(s)->l, NULL)
#define down_read(s)		pthread_rwlock_rdlock(&(s)->l)
#define up_read(s)		pthread_rwlock_unlock(&(s)->l)
#define down_write(s)		pthread_rwlock_wrlock(&(s)->l)
#define up_write(s)		pthread_rwlock_unlock(&(s)->l)

static pthread_rwlock_t kernel_rcu = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
#define rcu_read_lock()		pthread_rwlock_rdlock(&kernel_rcu)
/* On one processor nobody else would come in between for minutes. */
#define rcu_read_unlock()						\
	(planted("rcu") ? sched_yield() : 0, pthread_rwlock_unlock(&kernel_rcu))
static inline void synchronize_rcu(void)
{
	if (planted("rcu"))
		return;
	pthread_rwlock_wrlock(&kernel_rcu);
	pthread_rwlock_unlock(&kernel_rcu);
}

/* ---- time and processors ---- */
#define JIFFY_NS		100000L
#define jiffies			((unsigned long)(ktime_get_ns() / JIFFY_NS))
#define num_online_cpus()	2
#define cpu_relax()		sched_yield()
#define need_resched()		false
#define schedule_timeout_uninterruptible(j) usleep((j) * (JIFFY_NS / 1000))

static inline u64 ktime_get_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

/* ---- waits ---- */
#define ERESTARTSYS		512
#define KILL_POLL		20l	/* jiffies until a sleeper sees that it is killed */
static __thread bool *kernel_kill;	/* somebody else sets it; NULL: nobody */
static inline bool kernel_killed(void)
{
	return kernel_kill && __atomic_load_n(kernel_kill, __ATOMIC_RELAXED);
}
#define fatal_signal_pending(t)	kernel_killed()

/* What threads wait for: wakes of a queue, or a completion. */
typedef struct completion {
	pthread_mutex_t m;
	pthread_cond_t c;
	unsigned int done, wakes;	/* wakes: a sleeper looks at done after one */
} wait_queue_head_t;

static inline void init_completion(struct completion *x)
{
	pthread_mutex_init(&x->m, NULL);
	pthread_cond_init(&x->c, NULL);
	x->done = x->wakes = 0;
}
#define init_waitqueue_head	init_completion

static inline void kernel_wake(struct completion *x)
{
	pthread_mutex_lock(&x->m);
	__atomic_store_n(&x->done, x->done + 1, __ATOMIC_RELAXED);
	if (!planted("wake")) {
		x->wakes++;
		pthread_cond_broadcast(&x->c);
	}
	pthread_mutex_unlock(&x->m);
}
#define complete		kernel_wake
#define wake_up_all		kernel_wake
#define wake_up_interruptible	kernel_wake

/* Under x->m, for @left jiffies at most. It wakes now and then to see a kill. */
static inline void kernel_doze(struct completion *x, long left)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	ts.tv_nsec += min(left, KILL_POLL) * JIFFY_NS;
	ts.tv_sec += ts.tv_nsec / NSEC_PER_SEC;
	ts.tv_nsec %= NSEC_PER_SEC;
	pthread_cond_timedwait(&x->c, &x->m, &ts);
}

/* Under x->m: until done is not @old. Jiffies that are left, at least 1; 0; -ERESTARTSYS. */
static inline long kernel_sleep(struct completion *x, unsigned int old,
				unsigned long end, bool killable)
{
	unsigned int wakes = x->wakes;
	long left = end - jiffies;

	while (x->done == old && left > 0) {
		if (killable && kernel_killed())
			return -ERESTARTSYS;
		kernel_doze(x, left);
		if (x->done != old && x->wakes == wakes)
			wrong("a sleeper is not woken");
		left = end - jiffies;
	}
	return x->done != old ? max(left, 1l) : 0;
}

static inline long kernel_wait_done(struct completion *x, long timeout, bool killable)
{
	unsigned long end = jiffies + timeout;
	long left;

	pthread_mutex_lock(&x->m);
	left = kernel_sleep(x, 0, end, killable);
	if (left > 0)
		__atomic_store_n(&x->done, x->done - 1, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&x->m);
	return left;
}
#define wait_for_completion_timeout(x, t) kernel_wait_done(x, t, false)
#define wait_for_completion_killable_timeout(x, t) kernel_wait_done(x, t, true)

/* As Linux: who sees it done waits until complete() has let go of it. */
static inline bool completion_done(struct completion *x)
{
	if (!__atomic_load_n(&x->done, __ATOMIC_RELAXED))
		return false;
	pthread_mutex_lock(&x->m);
	pthread_mutex_unlock(&x->m);
	return true;
}

static inline unsigned int kernel_wakes(wait_queue_head_t *wq)
{
	unsigned int wakes;

	pthread_mutex_lock(&wq->m);
	wakes = wq->done;
	pthread_mutex_unlock(&wq->m);
	return wakes;
}

static inline long kernel_wait_wake(wait_queue_head_t *wq, unsigned int old,
				    unsigned long end)
{
	long left;

	pthread_mutex_lock(&wq->m);
	left = kernel_sleep(wq, old, end, true);
	pthread_mutex_unlock(&wq->m);
	return left;
}

#define wait_event_killable_timeout(wq, cond, timeout)			\
({									\
	unsigned long __end = jiffies + (timeout);			\
	unsigned int __wakes;						\
	long __left = 1;						\
	bool __ok;							\
	while (!(__wakes = kernel_wakes(&(wq)), __ok = !!(cond)) && __left > 0) \
		__left = kernel_wait_wake(&(wq), __wakes, __end);	\
	__ok ? max(__left, 1l) : __left;				\
})

/* ---- works: one thread runs the clock, and one each work that is due ---- */
struct delayed_work { struct work_struct work; };
#define INIT_DELAYED_WORK(w, f)	((w)->work.fn = (f))
#define queue_delayed_work(wq, w, delay) kernel_arm(w, delay, false)
#define mod_delayed_work(wq, w, delay) kernel_arm(w, delay, true)
#define schedule_delayed_work(w, delay) kernel_arm(w, delay, false)
#define cancel_delayed_work_sync kernel_cancel
#define alloc_ordered_workqueue(...) malloc(1)
#define alloc_workqueue(...)	malloc(1)
#define destroy_workqueue(wq)	free(wq)	/* whose works were cancelled, or ran */

static struct kernel_job {
	struct delayed_work *w;		/* NULL: free */
	bool armed, running;
	unsigned long at;
} kernel_jobs[16];
static pthread_mutex_t kernel_jobs_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t kernel_jobs_change = PTHREAD_COND_INITIALIZER;

static inline struct kernel_job *kernel_job(struct delayed_work *w)
{
	struct kernel_job *j;

	for (j = kernel_jobs; j < kernel_jobs + ARRAY_SIZE(kernel_jobs); j++)
		if (j->w == w)
			return j;
	return w ? NULL : (abort(), NULL);
}

static void *kernel_run(void *arg)
{
	struct kernel_job *j = arg;

	j->w->work.fn(&j->w->work);	/* may free j->w */
	pthread_mutex_lock(&kernel_jobs_lock);
	j->running = false;
	if (!j->armed)
		j->w = NULL;
	pthread_cond_broadcast(&kernel_jobs_change);
	pthread_mutex_unlock(&kernel_jobs_lock);
	return NULL;
}

static inline void kernel_due(struct kernel_job *j)
{
	pthread_t thread;

	if (!j->w || !j->armed || j->running || time_before(jiffies, j->at))
		return;
	j->armed = false;
	j->running = true;
	if (pthread_create(&thread, NULL, kernel_run, j))
		abort();
	pthread_detach(thread);
}

static void *kernel_clock(void *arg)
{
	struct kernel_job *j;

	for (;; usleep(JIFFY_NS / 1000)) {
		pthread_mutex_lock(&kernel_jobs_lock);
		for (j = kernel_jobs; j < kernel_jobs + ARRAY_SIZE(kernel_jobs); j++)
			kernel_due(j);
		pthread_mutex_unlock(&kernel_jobs_lock);
	}
	return arg;
}

static inline void kernel_arm(struct delayed_work *w, unsigned long delay, bool anew)
{
	struct kernel_job *j;

	pthread_mutex_lock(&kernel_jobs_lock);
	j = kernel_job(w);
	if (!j) {
		j = kernel_job(NULL);
		j->w = w;
	}
	if (!j->armed || anew)
		j->at = jiffies + delay;
	j->armed = true;
	pthread_mutex_unlock(&kernel_jobs_lock);
}

/* It neither runs nor is to run any more; NULL: that of all. */
static inline void kernel_cancel(struct delayed_work *w)
{
	struct kernel_job *j;

	pthread_mutex_lock(&kernel_jobs_lock);
	j = kernel_job(w);
	if (j)
		j->armed = false;
	while (j && j->w == w && j->running && !planted("cancel"))
		pthread_cond_wait(&kernel_jobs_change, &kernel_jobs_lock);
	if (j && j->w == w && !j->running)
		j->w = NULL;
	pthread_mutex_unlock(&kernel_jobs_lock);
}

/* ---- event channels: a thread of the guest for each upcall ---- */
#define xen_irq_lateeoi(irq, flags)
static struct kernel_irq {
	sem_t raised;
	pthread_t thread;
	irq_handler_t *fn;		/* NULL: free */
	void *arg;
	bool ended;
} kernel_irqs[8];
static sem_t kernel_remote;		/* what we notify the backend of */
#define notify_remote_via_irq(irq) sem_post(&kernel_remote)
#define kernel_raise(irq)	sem_post(&kernel_irqs[irq].raised)

static void *kernel_upcalls(void *arg)
{
	struct kernel_irq *irq = arg;

	while (!sem_wait(&irq->raised) && !READ_ONCE(irq->ended))
		irq->fn(irq - kernel_irqs, irq->arg);
	return NULL;
}

/* One thread at a time binds and unbinds. */
static inline int kernel_bind(irq_handler_t *fn, void *arg)
{
	struct kernel_irq *irq = kernel_irqs;

	while (irq->fn)
		irq++;
	irq->fn = fn;
	irq->arg = arg;
	irq->ended = false;
	if (pthread_create(&irq->thread, NULL, kernel_upcalls, irq))
		abort();
	return irq - kernel_irqs;
}

static inline void kernel_unbind(unsigned int nr)
{
	struct kernel_irq *irq = kernel_irqs + nr;

	WRITE_ONCE(irq->ended, true);
	sem_post(&irq->raised);
	pthread_join(irq->thread, NULL);
	irq->fn = NULL;
}
#define bind_evtchn_to_irqhandler_lateeoi(port, fn, flags, name, arg) kernel_bind(fn, arg)
#define unbind_from_irqhandler(irq, arg) kernel_unbind(irq)

static inline void kernel_boot(void)
{
	struct kernel_irq *irq;
	pthread_t thread;

	kernel_plant = getenv("RACE_PLANT") ?: "";
	for (irq = kernel_irqs; irq < kernel_irqs + ARRAY_SIZE(kernel_irqs); irq++)
		sem_init(&irq->raised, 0, 0);
	sem_init(&kernel_remote, 0, 0);
	if (pthread_create(&thread, NULL, kernel_clock, NULL))
		abort();
	pthread_detach(thread);
}

#endif
