// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * See fake_xen.h.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include <xen/xen.h>
#include <xen/grant_table.h>
#include <xen/sys/gntdev.h>
#include <xenevtchn.h>

#include "carrier/agent_xen.h"
#include "carrier/helper.h"
#include "fake_xen.h"
#include "ring_loop.h"
#include "core/sys.h"
#include "uapi/vhca-helper.h"

#define PAGE		((size_t)XENVHCA_PAGE_SIZE)
#define PORTS		4
#define FILES		4096
#define COPY_BATCH	16u		/* of Linux' gntdev */
#define HELPER_OPS	16384u		/* backend/helper/dmabuf.c */

struct grants {				/* one map of a file of gntdev */
	struct grants *next;
	int fd;
	uint64_t index;
	uint32_t n, ref[];
};

struct mapped {				/* memory of the guest, somewhere */
	struct mapped *next;
	void *addr;
};

struct xenevtchn_handle { int fd; };

static uint8_t *memory;
static int memory_fd = -1, helper_fd = -1;
static bool gntdev[FILES];
static struct grants *maps;
static struct mapped *mapped;
static uint64_t next_index;
static uint32_t next_grant;
static xenevtchn_handle *ports[PORTS];

static __thread bool counted;
static struct fake_calls calls;		/* of several threads */
static bool asleep;			/* the thread that is counted */
static bool stands;			/* the coarse clock, */
static struct timespec stood;		/* at that time */

#define COUNT(name) ((void)(counted && \
	__atomic_fetch_add(&calls.name, 1, __ATOMIC_RELAXED)))

static void sleeps(bool yes)
{
	if (yes)
		COUNT(sleeps);
	if (counted)
		__atomic_store_n(&asleep, yes, __ATOMIC_SEQ_CST);
}

/* ---- what the linker wraps ---- */
int __real_poll(struct pollfd *p, nfds_t n, int timeout);
int __wrap_poll(struct pollfd *p, nfds_t n, int timeout);
int __wrap_poll(struct pollfd *p, nfds_t n, int timeout)
{
	int r;

	if (timeout)
		sleeps(true);
	r = __real_poll(p, n, timeout);
	if (timeout)
		sleeps(false);
	return r;
}

int __real_clock_gettime(clockid_t id, struct timespec *ts);
int __wrap_clock_gettime(clockid_t id, struct timespec *ts);
int __wrap_clock_gettime(clockid_t id, struct timespec *ts)
{
	if (id == CLOCK_MONOTONIC_COARSE &&
	    __atomic_load_n(&stands, __ATOMIC_SEQ_CST)) {
		*ts = stood;
		return 0;
	}
	return __real_clock_gettime(id, ts);
}

void fake_xen_time_stands(bool on)
{
	__atomic_store_n(&stands, false, __ATOMIC_SEQ_CST);
	if (!on)
		return;
	__real_clock_gettime(CLOCK_MONOTONIC_COARSE, &stood);
	__atomic_store_n(&stands, true, __ATOMIC_SEQ_CST);
}

static int helper_grant(struct vhca_helper_grant *g)
{
	uint32_t i, *ref = (uint32_t *)(uintptr_t)g->refs;

	for (i = 0; i < g->nr_pages; i++)
		ref[i] = ++next_grant;
	g->id = next_grant;
	return 0;
}

/* One hypercall for up to 16,384 pages; the file is one that can be closed. */
static int helper_map(const struct vhca_helper_map *m)
{
	const uint32_t *ref = (const uint32_t *)(uintptr_t)m->refs;
	uint32_t i = m->nr_pages;

	if (m->domid != FAKE_XEN_DOMID || m->reserved)
		abort();
	while (i--)
		if (ref[i] - LOOP_REF_BASE >= FAKE_XEN_PAGES)
			abort();
	calls.grant_hypercalls += (m->nr_pages + HELPER_OPS - 1) / HELPER_OPS;
	return eventfd(0, EFD_CLOEXEC);
}

int __wrap_ioctl(int fd, unsigned long req, ...);
int __wrap_ioctl(int fd, unsigned long req, ...)
{
	va_list ap;
	void *arg;

	va_start(ap, req);
	arg = va_arg(ap, void *);
	va_end(ap);
	if (fd != helper_fd) {
		errno = ENOTTY;
		return -1;
	}
	return req == VHCA_HELPER_MAP ? helper_map(arg) :
	       req == VHCA_HELPER_GRANT ? helper_grant(arg) : 0;
}

/* ---- gntdev ---- */
static bool is_gntdev(int fd)
{
	return fd >= 0 && fd < FILES && gntdev[fd];
}

static int grants_add(int fd, struct ioctl_gntdev_map_grant_ref *op)
{
	struct grants *g = malloc(sizeof(*g) + op->count * sizeof(g->ref[0]));
	uint32_t i;

	*g = (struct grants){ maps, fd, next_index, op->count };
	for (i = 0; i < op->count; i++)
		g->ref[i] = op->refs[i].ref;
	maps = g;
	op->index = next_index * PAGE;
	next_index += op->count;
	return 0;
}

static struct grants **grants_find(int fd, uint64_t offset, uint32_t n)
{
	struct grants **p = &maps;

	while (*p && ((*p)->fd != fd || (*p)->index * PAGE != offset ||
		      (*p)->n != n))
		p = &(*p)->next;
	return p;
}

static int grants_del(struct grants **p)
{
	struct grants *g = *p;

	if (!g) {
		errno = ENOENT;
		return -1;
	}
	*p = g->next;
	free(g);
	return 0;
}

static int grants_copy(struct ioctl_gntdev_grant_copy *op)
{
	struct ioctl_gntdev_grant_copy_segment *s = op->segments;

	calls.grant_hypercalls += (op->count + COPY_BATCH - 1) / COPY_BATCH;
	for (; s < op->segments + op->count; s++) {
		memcpy(s->dest.virt,
		       fake_xen_page(s->source.foreign.ref - LOOP_REF_BASE),
		       PAGE);
		s->status = GNTST_okay;
	}
	return 0;
}

static int gntdev_ioctl(int fd, unsigned long req, void *arg)
{
	struct ioctl_gntdev_unmap_grant_ref *un = arg;

	if (req == IOCTL_GNTDEV_MAP_GRANT_REF)
		return grants_add(fd, arg);
	if (req == IOCTL_GNTDEV_GRANT_COPY)
		return grants_copy(arg);
	return grants_del(grants_find(fd, un->index, un->count));
}

static void mapped_add(void *addr)
{
	struct mapped *m = malloc(sizeof(*m));

	*m = (struct mapped){ mapped, addr };
	mapped = m;
}

static bool mapped_del(const void *addr)
{
	struct mapped **p = &mapped, *m;

	while (*p && (*p)->addr != addr)
		p = &(*p)->next;
	m = *p;
	if (m)
		*p = m->next;
	free(m);
	return m;
}

/* References that follow each other are one map of the memory. */
static void *gntdev_mmap(void *a, size_t len, int prot, int fd, off_t off)
{
	struct grants *g = *grants_find(fd, (uint64_t)off,
					(uint32_t)(len / PAGE));
	uint32_t i, n;
	uint8_t *at;

	errno = EINVAL;
	if (!g)
		return MAP_FAILED;
	calls.grant_hypercalls += 2;	/* for the process, for the kernel */
	at = a ? a : mmap(NULL, len, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS |
			  MAP_NORESERVE, -1, 0);
	for (i = 0; i < g->n; i += n) {
		for (n = 1; i + n < g->n && g->ref[i + n] == g->ref[i] + n; )
			n++;
		if (mmap(at + i * PAGE, n * PAGE, prot, MAP_SHARED | MAP_FIXED,
			 memory_fd, (off_t)((g->ref[i] - LOOP_REF_BASE) * PAGE))
		    == MAP_FAILED)
			return MAP_FAILED;
	}
	mapped_add(at);
	return at;
}

int __real_be_sys_open(const char *path, int flags);
int __wrap_be_sys_open(const char *path, int flags);
int __wrap_be_sys_open(const char *path, int flags)
{
	int fd;

	if (strcmp(path, "/dev/xen/gntdev"))
		return __real_be_sys_open(path, flags);
	fd = eventfd(0, EFD_CLOEXEC);
	if (fd >= 0 && fd < FILES)
		gntdev[fd] = true;
	return fd;
}

int __real_be_sys_close(int fd);
int __wrap_be_sys_close(int fd);
int __wrap_be_sys_close(int fd)
{
	bool ours = is_gntdev(fd);

	if (ours)
		gntdev[fd] = false;
	return ours ? close(fd) : __real_be_sys_close(fd);
}

int __real_be_sys_ioctl(int fd, unsigned long req, void *arg);
int __wrap_be_sys_ioctl(int fd, unsigned long req, void *arg);
int __wrap_be_sys_ioctl(int fd, unsigned long req, void *arg)
{
	return is_gntdev(fd) ? gntdev_ioctl(fd, req, arg) :
	       __real_be_sys_ioctl(fd, req, arg);
}

void *__real_be_sys_mmap(void *a, size_t len, int prot, int fl, int fd,
			 off_t off);
void *__wrap_be_sys_mmap(void *a, size_t len, int prot, int fl, int fd,
			 off_t off);
void *__wrap_be_sys_mmap(void *a, size_t len, int prot, int fl, int fd,
			 off_t off)
{
	if (fl & MAP_ANONYMOUS)
		return mmap(a, len, prot, fl, fd, off);
	return is_gntdev(fd) ? gntdev_mmap(a, len, prot, fd, off) :
	       __real_be_sys_mmap(a, len, prot, fl, fd, off);
}

int __real_be_sys_munmap(void *a, size_t len);
int __wrap_be_sys_munmap(void *a, size_t len);
int __wrap_be_sys_munmap(void *a, size_t len)
{
	return mapped_del(a) ? munmap(a, len) : __real_be_sys_munmap(a, len);
}

/* ---- event channels ---- */
xenevtchn_handle *xenevtchn_open(struct xentoollog_logger *logger,
				 unsigned int flags)
{
	xenevtchn_handle *h = calloc(1, sizeof(*h));

	(void)logger;
	(void)flags;
	h->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return h;
}

int xenevtchn_close(xenevtchn_handle *h)
{
	unsigned int i;

	for (i = 0; i < PORTS; i++)
		if (ports[i] == h)
			ports[i] = NULL;
	close(h->fd);
	free(h);
	return 0;
}

int xenevtchn_fd(xenevtchn_handle *h)
{
	return h->fd;
}

int xenevtchn_restrict(xenevtchn_handle *h, domid_t domid)
{
	(void)h;
	(void)domid;
	return 0;
}

xenevtchn_port_or_error_t
xenevtchn_bind_interdomain(xenevtchn_handle *h, uint32_t domid,
			   evtchn_port_t remote)
{
	(void)domid;
	ports[remote] = h;
	return (int)remote;
}

int xenevtchn_notify(xenevtchn_handle *h, evtchn_port_t port)
{
	(void)h;
	(void)port;
	COUNT(notifies);
	return 0;
}

xenevtchn_port_or_error_t xenevtchn_pending(xenevtchn_handle *h)
{
	uint64_t n;

	return read(h->fd, &n, sizeof(n)) == sizeof(n) ? 1 : -1;
}

int xenevtchn_unmask(xenevtchn_handle *h, evtchn_port_t port)
{
	(void)h;
	(void)port;
	return 0;
}

void fake_xen_notify(unsigned int port)
{
	uint64_t one = 1;

	if (write(ports[port]->fd, &one, sizeof(one)) != sizeof(one))
		abort();
}

/* ---- no agent: no HCA of these tests has doorbell pages in a guest ---- */
int be_agent_open(struct be_agent *a, struct be_dev *dev)
{
	(void)a;
	(void)dev;
	return 0;
}

void be_agent_close(struct be_agent *a)
{
	(void)a;
}

int be_agent_heard(struct be_agent *a)
{
	(void)a;
	return 0;
}

int be_agent_map(struct be_agent *a, uint64_t frame, uint64_t gfn,
		 uint32_t *slot)
{
	(void)a;
	(void)frame;
	(void)gfn;
	(void)slot;
	return -EPERM;
}

int be_agent_unmap(struct be_agent *a, uint32_t slot)
{
	(void)a;
	(void)slot;
	return -ENOENT;
}

int be_helper_frame(int fd, void *addr, struct be_bell *bell)
{
	(void)fd;
	(void)addr;
	(void)bell;
	return -EPERM;
}

int be_helper_cap_dma(int fd, const char *hca, int uverbs_fd)
{
	(void)fd;
	(void)hca;
	(void)uverbs_fd;
	return 0;
}

/* ---- for tests ---- */
int fake_xen_install(void)
{
	memory_fd = memfd_create("guest", MFD_CLOEXEC);
	if (memory_fd < 0 ||
	    ftruncate(memory_fd, (off_t)(FAKE_XEN_PAGES * PAGE)))
		return -1;
	memory = mmap(NULL, FAKE_XEN_PAGES * PAGE, PROT_READ | PROT_WRITE,
		      MAP_SHARED, memory_fd, 0);
	return memory == MAP_FAILED ? -1 : 0;
}

void fake_xen_remove(void)
{
	while (maps)
		grants_del(&maps);
	while (mapped)
		mapped_del(mapped->addr);
	munmap(memory, FAKE_XEN_PAGES * PAGE);
	close(memory_fd);
}

void *fake_xen_page(uint32_t i)
{
	return memory + i * PAGE;
}

int fake_xen_helper(void)
{
	helper_fd = eventfd(0, EFD_CLOEXEC);
	return helper_fd;
}

void fake_calls_here(void)
{
	counted = true;
}

struct fake_calls fake_calls_asleep(void)
{
	while (!__atomic_load_n(&asleep, __ATOMIC_SEQ_CST))
		sched_yield();
	return calls;
}

struct fake_calls fake_calls_now(void)
{
	return calls;
}
