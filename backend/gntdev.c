// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Grant maps over raw gntdev ioctls: one ioctl maps at most 65536 pages, and
 * a memory region may be longer but must be contiguous, so the pieces go into
 * one reserved address range. Which references are valid is for the
 * hypervisor to say. Command thread only.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <xen/xen.h>
#include <xen/grant_table.h>
#include <xen/sys/gntdev.h>
#include <xen/io/vhcaif.h>
#include "gntdev.h"

#define GNTDEV_PATH	"/dev/xen/gntdev"
#define GNTDEV_LIMIT	"/sys/module/xen_gntdev/parameters/limit"
#define GNTDEV_DEFAULT	65536u

struct be_map {
	struct be_map *next;
	char *addr;
	uint32_t n;
	uint32_t n_pieces;
	uint64_t index[];	/* gntdev offset of each piece */
};

static size_t be_bytes(uint32_t pages)
{
	return (size_t)pages * XENVHCA_PAGE_SIZE;
}

static uint32_t be_piece_pages(const struct be_gntdev *g, uint32_t n,
			       uint32_t piece)
{
	uint32_t left = n - piece * g->chunk;

	return left < g->chunk ? left : g->chunk;
}

/* One mapping may not exceed the module's parameter. */
static uint32_t be_gntdev_limit(void)
{
	FILE *f = fopen(GNTDEV_LIMIT, "re");
	unsigned int v = GNTDEV_DEFAULT;

	if (!f)
		return v;
	if (fscanf(f, "%u", &v) != 1 || !v || v > GNTDEV_DEFAULT)
		v = GNTDEV_DEFAULT;
	fclose(f);
	return v;
}

int be_gntdev_open(struct be_gntdev *g, uint32_t domid)
{
	g->domid = domid;
	g->chunk = be_gntdev_limit();
	g->fd = open(GNTDEV_PATH, O_RDWR | O_CLOEXEC);
	return g->fd < 0 ? -errno : 0;
}

/* Tell gntdev about references; -errno, else *index names them. */
static int be_piece_add(struct be_gntdev *g, const uint32_t *ref, uint32_t n,
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
	if (ioctl(g->fd, IOCTL_GNTDEV_MAP_GRANT_REF, op) < 0)
		rc = -errno;
	else
		*index = op->index;
	free(op);
	return rc;
}

static void be_piece_del(struct be_gntdev *g, uint64_t index, uint32_t n)
{
	struct ioctl_gntdev_unmap_grant_ref op = { .index = index, .count = n };

	/* Fails only for an index that does not exist. */
	ioctl(g->fd, IOCTL_GNTDEV_UNMAP_GRANT_REF, &op);
}

/* Map piece i of m at its place; mmap() is where the hypervisor is asked. */
static int be_piece_map(struct be_gntdev *g, struct be_map *m, uint32_t i,
			const uint32_t *ref)
{
	uint32_t n = be_piece_pages(g, m->n, i);
	char *at = m->addr + be_bytes(i * g->chunk);
	int rc;

	rc = be_piece_add(g, ref + i * g->chunk, n, &m->index[i]);
	if (rc)
		return rc;
	if (mmap(at, be_bytes(n), PROT_READ | PROT_WRITE,
		 MAP_SHARED | MAP_FIXED, g->fd,
		 (off_t)m->index[i]) != MAP_FAILED)
		return 0;
	rc = -errno;
	be_piece_del(g, m->index[i], n);
	return rc;
}

/* Order: first the address range, then gntdev's table (its rule). */
static void be_pieces_unmap(struct be_gntdev *g, struct be_map *m,
			    uint32_t pieces)
{
	uint32_t i, n;

	for (i = 0; i < pieces; i++) {
		n = be_piece_pages(g, m->n, i);
		munmap(m->addr + be_bytes(i * g->chunk), be_bytes(n));
		be_piece_del(g, m->index[i], n);
	}
}

static struct be_map **be_map_bucket(struct be_gntdev *g, const char *addr)
{
	uintptr_t page = (uintptr_t)addr / XENVHCA_PAGE_SIZE;

	return &g->bucket[(page ^ page >> 10) % BE_MAP_BUCKETS];
}

static int be_map_pieces(struct be_gntdev *g, struct be_map *m,
			 const uint32_t *ref)
{
	uint32_t i, done;
	char *end = m->addr + be_bytes(m->n);
	char *rest;
	int rc;

	for (i = 0; i < m->n_pieces; i++) {
		rc = be_piece_map(g, m, i, ref);
		if (!rc)
			continue;
		/*
		 * A failed MAP_FIXED may have left a hole that another thread
		 * has filled since, so piece i is not ours to unmap; without
		 * threads in between this leaks address space only.
		 */
		be_pieces_unmap(g, m, i);
		done = i * g->chunk + be_piece_pages(g, m->n, i);
		rest = m->addr + be_bytes(done);
		if (rest < end)
			munmap(rest, (size_t)(end - rest));
		return rc;
	}
	return 0;
}

void *be_gntdev_map(struct be_gntdev *g, const uint32_t *ref, uint32_t n)
{
	uint32_t pieces = n / g->chunk + (n % g->chunk != 0);
	struct be_map *m, **b;
	int rc;

	if (!n) {
		errno = EINVAL;
		return NULL;
	}
	m = calloc(1, sizeof(*m) + pieces * sizeof(m->index[0]));
	if (!m)
		return NULL;
	m->n = n;
	m->n_pieces = pieces;
	m->addr = mmap(NULL, be_bytes(n), PROT_NONE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (m->addr == MAP_FAILED) {
		free(m);
		return NULL;
	}
	rc = be_map_pieces(g, m, ref);
	if (rc) {
		free(m);
		errno = -rc;
		return NULL;
	}
	b = be_map_bucket(g, m->addr);
	m->next = *b;
	*b = m;
	g->pages += n;
	return m->addr;
}

int be_gntdev_unmap(struct be_gntdev *g, void *addr, uint32_t n)
{
	struct be_map **p = be_map_bucket(g, addr), *m;

	while (*p && (*p)->addr != addr)
		p = &(*p)->next;
	m = *p;
	if (!m || m->n != n)
		return -EINVAL;
	*p = m->next;
	be_pieces_unmap(g, m, m->n_pieces);
	g->pages -= n;
	free(m);
	return 0;
}

uint64_t be_gntdev_close(struct be_gntdev *g)
{
	uint64_t left = g->pages;
	int i;

	if (g->fd < 0)
		return 0;
	for (i = 0; i < BE_MAP_BUCKETS; i++)
		while (g->bucket[i])
			be_gntdev_unmap(g, g->bucket[i]->addr,
					g->bucket[i]->n);
	close(g->fd);
	g->fd = -1;
	return left;
}
