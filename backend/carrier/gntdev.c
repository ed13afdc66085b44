// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Grant maps by raw gntdev ioctls. A memory region may be longer than what is
 * mapped at once, but must be contiguous, so the pieces go into one reserved
 * address range. The hypervisor decides which references are valid.
 *
 * The kernel changes the mappings of a process for one thread at a time: while the
 * job thread maps or unmaps a piece, no other thread can map anything, queue memory for
 * example. So a piece has 64 MiB, some 20 ms, where gntdev would take 256 MiB.
 *
 * In the kernel, the offsets of what one open file maps are ints, which ends at
 * 2 GiB, and a freed range of the same size is never used again. So a piece gives
 * its offset back as soon as it is mapped: the mapping holds what it needs, and
 * munmap() alone undoes it all. One file serves for all pieces, and for copies.
 *
 * A region may need an address with certain lower bits. Such regions share a range of
 * addresses where the kernel puts nothing by itself. It has windows, each with one address
 * for every value of these bits. A region goes to the window where the last one went, if its
 * place there is free, which the kernel knows, or else to the next: regions of different
 * places lie as close together as in the guest, and those of one place cost one more call.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <xen/xen.h>
#include <xen/grant_table.h>
#include <xen/sys/gntdev.h>
#include <xen/io/vhcaif.h>
#include "core/be.h"
#include "file.h"
#include "gntdev.h"
#include "host/paths.h"
#include "core/sys.h"

#define GNTDEV_PATH	"/dev/xen/gntdev"
#define PIECE_PAGES	16384u
#define COPY_BATCH	64u		/* pages for one ioctl */
/* Addresses of windows: behind shadow memory of sanitizers, before programs and libraries. */
#define WINDOWS		(1ull << 44)
#define WINDOWS_END	(1ull << 46)

struct be_map {
	struct be_map *next;
	char *addr;
	uint32_t n;
};

static size_t bytes(uint32_t pages)
{
	return (size_t)pages * XENVHCA_PAGE_SIZE;
}

/* A piece may not exceed the module's parameter either. */
static uint32_t gntdev_limit(void)
{
	unsigned long v;
	char text[16];

	vl_file_line(text, sizeof(text), HOST_GNTDEV_LIMIT);
	v = strtoul(text, NULL, 10);
	return v && v < PIECE_PAGES ? (uint32_t)v : PIECE_PAGES;
}

int be_gntdev_open(struct be_gntdev *g, uint32_t domid)
{
	pthread_mutex_init(&g->lock, NULL);
	g->domid = domid;
	g->chunk = gntdev_limit();
	g->fd = be_sys_open(GNTDEV_PATH, O_RDWR | O_CLOEXEC);
	if (g->fd >= 0)
		return 0;
	return errno == EMFILE || errno == ENFILE ? -ENOMEM : -errno;
}

/* Tell gntdev about references; -errno, else *index names them. */
static int piece_add(const struct be_gntdev *g, const uint32_t *ref, uint32_t n,
		     uint64_t *index)
{
	struct ioctl_gntdev_map_grant_ref *op;
	uint32_t i;
	int rc = 0;

	op = calloc(1, sizeof(*op) + (size_t)n * sizeof(op->refs[0]));
	if (!op)
		return -ENOMEM;
	op->count = n;
	for (i = 0; i < n; i++) {
		op->refs[i].domid = g->domid;
		op->refs[i].ref = ref[i];
	}
	if (be_sys_ioctl(g->fd, IOCTL_GNTDEV_MAP_GRANT_REF, op) < 0)
		rc = -errno;
	else
		*index = op->index;
	free(op);
	return rc;
}

/* A mapping: what mmap() is asked for. */
struct mapping {
	size_t len;
	int prot, flags, fd;
	off_t off;
};

static void *mmap_at(const struct mapping *m, uint64_t at, int flags)
{
	return be_sys_mmap((void *)(uintptr_t)at, m->len, m->prot, m->flags | flags,
			   m->fd, m->off);
}

/* No window is looked at twice. Two threads may look at the same: one of them gets it. */
static void *mmap_place(struct be_gntdev *g, const struct mapping *m,
			const struct be_place *place)
{
	uint64_t size = 1ull << place->bits, i, at;
	uint64_t nr = WINDOWS % size ? 0 : (WINDOWS_END - WINDOWS) / size;
	uint64_t w = __atomic_load_n(&g->window, __ATOMIC_RELAXED);
	void *addr;

	for (i = 0; i < nr; i++, w++) {
		at = WINDOWS + w % nr * size + place->like % size;
		if (m->len > WINDOWS_END - at)
			continue;
		addr = mmap_at(m, at, MAP_FIXED_NOREPLACE);
		if (addr == MAP_FAILED && errno == EEXIST)
			continue;
		__atomic_store_n(&g->window, w % nr, __ATOMIC_RELAXED);
		return addr;
	}
	errno = ENOMEM;
	return MAP_FAILED;
}

/*
 * Map n pages at an address of theirs, or if @at is NULL where @place says; mmap() is
 * where the hypervisor is asked, for the right to write only if prot has it.
 */
static int piece_map(struct be_gntdev *g, char *at, const struct be_place *place,
		     const uint32_t *ref, uint32_t n, int prot, char **addr)
{
	struct ioctl_gntdev_unmap_grant_ref un = { .count = n };
	struct mapping m = { .len = bytes(n), .prot = prot, .flags = MAP_SHARED,
			     .fd = g->fd };
	int rc = piece_add(g, ref, n, &un.index);

	if (rc && at)			/* still reserved */
		be_sys_munmap(at, bytes(n));
	if (rc)
		return rc;
	m.off = (off_t)un.index;
	*addr = !at && place ? mmap_place(g, &m, place) :
		mmap_at(&m, (uintptr_t)at, at ? MAP_FIXED : 0);
	if (*addr == MAP_FAILED)
		rc = -errno;
	if (be_sys_ioctl(g->fd, IOCTL_GNTDEV_UNMAP_GRANT_REF, &un) < 0 && !rc) {
		rc = -errno;
		be_sys_munmap(*addr, bytes(n));
	}
	return rc;
}

static struct be_map **map_bucket(struct be_gntdev *g, const char *addr)
{
	uintptr_t page = (uintptr_t)addr / XENVHCA_PAGE_SIZE;

	return &g->bucket[(page ^ page >> 10) % BE_MAP_BUCKETS];
}

/* By pieces, too, from the last one on. False: the kernel has no memory for that. */
static bool unmap_pieces(const struct be_gntdev *g, struct be_map *m)
{
	uint32_t some;

	for (; m->n; m->n -= some) {
		some = (m->n - 1) % g->chunk + 1;
		if (be_sys_munmap(m->addr + bytes(m->n - some), bytes(some)) < 0)
			return false;
	}
	return true;
}

/* Consumes m, which is in no table. What stays is tried again with the next call. */
static void map_end(struct be_gntdev *g, struct be_map *m)
{
	uint32_t n = m->n;
	bool all = unmap_pieces(g, m);

	pthread_mutex_lock(&g->lock);
	g->pages -= n - m->n;
	if (!all) {
		m->next = g->left;
		g->left = m;
	}
	pthread_mutex_unlock(&g->lock);
	if (all)
		free(m);
}

/* Is anything left? */
static bool left_end(struct be_gntdev *g)
{
	struct be_map *m, *left;

	pthread_mutex_lock(&g->lock);
	left = g->left;
	g->left = NULL;
	pthread_mutex_unlock(&g->lock);
	while ((m = left)) {
		left = m->next;
		map_end(g, m);
	}
	pthread_mutex_lock(&g->lock);
	left = g->left;
	pthread_mutex_unlock(&g->lock);
	return left;
}

/* More than is mapped at once goes into a range that is reserved before. */
static int map_pieces(struct be_gntdev *g, struct be_map *m, const uint32_t *ref,
		      int prot, const struct be_place *place)
{
	const struct mapping range = {
		.len = bytes(m->n), .prot = PROT_NONE, .fd = -1,
		.flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
	};
	uint32_t i, n;
	char *at;
	int rc;

	m->addr = place ? mmap_place(g, &range, place) : mmap_at(&range, 0, 0);
	if (m->addr == MAP_FAILED) {
		m->n = 0;
		return -errno;
	}
	for (i = 0; i < m->n; i += n) {
		n = m->n - i < g->chunk ? m->n - i : g->chunk;
		rc = piece_map(g, m->addr + bytes(i), NULL, ref + i, n, prot, &at);
		if (!rc)
			continue;
		/*
		 * A failed MAP_FIXED may have left a hole that another thread
		 * has filled since, so this piece is not ours to unmap here;
		 * without one in between this leaks address space only.
		 */
		if (i + n < m->n)
			be_sys_munmap(m->addr + bytes(i + n),
				      bytes(m->n - i - n));
		m->n = i;
		return rc;
	}
	return 0;
}

void *be_gntdev_map(struct be_gntdev *g, const uint32_t *ref, uint32_t n,
		    bool readonly, const struct be_place *place)
{
	int prot = readonly ? PROT_READ : PROT_READ | PROT_WRITE;
	struct be_map *m, **b;
	int rc;

	if (!n || left_end(g)) {
		errno = n ? ENOMEM : EINVAL;
		return NULL;
	}
	m = calloc(1, sizeof(*m));
	if (!m)
		return NULL;
	m->n = n;
	rc = n > g->chunk ? map_pieces(g, m, ref, prot, place) :
			    piece_map(g, NULL, place, ref, n, prot, &m->addr);
	if (rc && n <= g->chunk)
		m->n = 0;
	pthread_mutex_lock(&g->lock);
	g->pages += m->n;
	if (!rc) {
		b = map_bucket(g, m->addr);
		m->next = *b;
		*b = m;
	}
	pthread_mutex_unlock(&g->lock);
	if (!rc)
		return m->addr;
	map_end(g, m);
	errno = -rc;
	return NULL;
}

/* Takes it out of the table; NULL: it is not there. */
static struct be_map *map_take(struct be_gntdev *g, const void *addr,
			       uint32_t n)
{
	struct be_map **p, *m;

	pthread_mutex_lock(&g->lock);
	p = map_bucket(g, addr);
	while (*p && (*p)->addr != addr)
		p = &(*p)->next;
	m = *p && (*p)->n == n ? *p : NULL;
	if (m)
		*p = m->next;
	pthread_mutex_unlock(&g->lock);
	return m;
}

int be_gntdev_unmap(struct be_gntdev *g, void *addr, uint32_t n)
{
	struct be_map *m = map_take(g, addr, n);

	if (!m)
		return -EINVAL;
	left_end(g);
	map_end(g, m);
	return 0;
}

uint64_t be_gntdev_pages(struct be_gntdev *g)
{
	uint64_t pages;

	pthread_mutex_lock(&g->lock);
	pages = g->pages;
	pthread_mutex_unlock(&g->lock);
	return pages;
}

static int copy_batch(const struct be_gntdev *g, const uint32_t *ref,
		      uint32_t n, char *dst)
{
	struct ioctl_gntdev_grant_copy_segment seg[COPY_BATCH] = {};
	struct ioctl_gntdev_grant_copy op = { .count = n, .segments = seg };
	uint32_t i;

	for (i = 0; i < n; i++) {
		seg[i].source.foreign.ref = ref[i];
		seg[i].source.foreign.domid = (uint16_t)g->domid;
		seg[i].dest.virt = dst + bytes(i);
		seg[i].len = XENVHCA_PAGE_SIZE;
		seg[i].flags = GNTCOPY_source_gref;
	}
	if (be_sys_ioctl(g->fd, IOCTL_GNTDEV_GRANT_COPY, &op) < 0)
		return -errno;
	for (i = 0; i < n; i++)
		if (seg[i].status != GNTST_okay)
			return -EINVAL;
	return 0;
}

int be_gntdev_copy(const struct be_gntdev *g, const uint32_t *ref, uint32_t n,
		   void *dst)
{
	uint32_t i, some;
	int rc = 0;

	for (i = 0; i < n && !rc; i += some) {
		some = n - i < COPY_BATCH ? n - i : COPY_BATCH;
		rc = copy_batch(g, ref + i, some, (char *)dst + bytes(i));
	}
	return rc;
}

uint64_t be_gntdev_close(struct be_gntdev *g)
{
	uint64_t left = g->pages;
	struct be_map *m;
	int i;

	if (g->fd >= 0)
		be_sys_close(g->fd);
	g->fd = -1;
	for (i = 0; i < BE_MAP_BUCKETS; i++)
		while (g->bucket[i])
			be_gntdev_unmap(g, g->bucket[i]->addr,
					g->bucket[i]->n);
	left_end(g);
	while ((m = g->left)) {		/* the kernel does it with the process */
		g->left = m->next;
		free(m);
	}
	pthread_mutex_destroy(&g->lock);
	return left;
}
