// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Maps of guest pages over a gntdev with the limits of the kernel's: what one
 * open file maps has offsets in an int, a hole between two maps is used only
 * if it is larger than what is to go in, and a map lives until its pages are
 * unmapped and it is removed by its offset, or its file is closed.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>
#include <xen/xen.h>
#include <xen/grant_table.h>
#include <xen/sys/gntdev.h>
#include "core/be.h"
#include "carrier/gntdev.h"
#include "core/sys.h"

#define PAGE		XENVHCA_PAGE_SIZE
#define PIECE		16384u		/* most pages that are mapped at once */
#define GIB		(1u << 30 >> 12)	/* pages */
#define FILES		512
#define BAD_REF		666u

struct fake_map {
	struct fake_map *next;		/* by index */
	int index;			/* pages, as in the kernel */
	uint32_t count, ref;		/* the first reference */
	char *addr;			/* NULL: not mapped */
	int prot;
	bool removed;			/* has no offset any more */
};
struct fake_file {
	bool used;
	int fd;				/* -1: closed */
	struct fake_map *maps;
};

static struct fake_file file[FILES];
static uint64_t live;			/* pages in the hypervisor's table */
static unsigned int mmaps;		/* calls */
static unsigned int opens, copies, max_open;	/* 0: any number */
static bool fail_unmap;			/* the ioctl */
static int munmaps = -1;		/* so many are executed; < 0: all */
static struct be_gntdev gnt;
static uint32_t *refs;

static unsigned int files(void)
{
	unsigned int i, n = 0;

	for (i = 0; i < FILES; i++)
		n += file[i].used;
	return n;
}

static struct fake_file *file_of(int fd)
{
	unsigned int i;

	for (i = 0; i < FILES; i++)
		if (file[i].used && file[i].fd == fd)
			return &file[i];
	fail_msg("no such file: %d", fd);
	return NULL;
}

int be_sys_open(const char *path, int flags)
{
	unsigned int i = 0;

	assert_string_equal(path, "/dev/xen/gntdev");
	assert_true(flags & O_CLOEXEC);
	if (max_open && files() >= max_open) {
		errno = EMFILE;
		return -1;
	}
	while (i < FILES && file[i].used)
		i++;
	assert_true(i < FILES);
	opens++;
	file[i] = (struct fake_file){
		.used = true, .fd = open("/dev/null", O_RDWR | O_CLOEXEC),
	};
	return file[i].fd;
}

static void map_del(struct fake_map **p)
{
	struct fake_map *m = *p;

	assert_null(m->addr);
	*p = m->next;
	live -= m->count;
	free(m);
}

/* What has neither an offset nor a mapping is gone. */
static void maps_sweep(struct fake_file *f)
{
	struct fake_map **p = &f->maps;

	while (*p)
		if ((*p)->removed && !(*p)->addr)
			map_del(p);
		else
			p = &(*p)->next;
}

/* The last reference to the file: none of its maps is mapped. */
static void file_put(struct fake_file *f)
{
	struct fake_map *m;

	for (m = f->maps; m; m = m->next)
		if (m->addr)
			return;
	if (f->fd >= 0)
		return;
	while (f->maps)
		map_del(&f->maps);
	f->used = false;
}

int be_sys_close(int fd)
{
	struct fake_file *f = file_of(fd);

	f->fd = -1;
	file_put(f);
	return close(fd);
}

/* gntdev_add_map() */
static int map_add(struct fake_file *f, struct ioctl_gntdev_map_grant_ref *op)
{
	struct fake_map *m = calloc(1, sizeof(*m)), **p;

	assert_true(op->count && op->count <= PIECE);
	m->count = op->count;
	m->ref = op->refs[0].ref;
	for (p = &f->maps; *p; p = &(*p)->next) {
		if ((*p)->removed)
			continue;
		if (m->index + (int)m->count < (*p)->index)
			break;
		m->index = (*p)->index + (int)(*p)->count;
	}
	m->next = *p;
	*p = m;
	live += m->count;
	op->index = (uint64_t)(int)((unsigned int)m->index << 12);
	return 0;
}

static struct fake_map **map_find(struct fake_file *f, uint64_t offset,
				  uint32_t count)
{
	struct fake_map **p = &f->maps;

	while (*p && ((*p)->removed ||
		      (uint64_t)(*p)->index != offset >> 12 ||
		      (*p)->count != count))
		p = &(*p)->next;
	return p;
}

/* A granted page has its reference in all its words. */
static int grant_copy(struct fake_file *f, struct ioctl_gntdev_grant_copy *op)
{
	struct ioctl_gntdev_grant_copy_segment *s;
	const struct fake_map *m;
	uint32_t i, *to;

	copies++;
	for (m = f->maps; m; m = m->next)
		assert_true(m->removed);
	for (s = op->segments; s < op->segments + op->count; s++) {
		assert_int_equal(s->flags, GNTCOPY_source_gref);
		assert_int_equal(s->source.foreign.domid, 5);
		assert_int_equal(s->source.foreign.offset, 0);
		assert_int_equal(s->len, PAGE);
		to = s->dest.virt;
		s->status = s->source.foreign.ref == BAD_REF ?
			    GNTST_bad_gntref : GNTST_okay;
		for (i = 0; i < PAGE / sizeof(*to) && !s->status; i++)
			to[i] = s->source.foreign.ref;
	}
	return 0;
}

int be_sys_ioctl(int fd, unsigned long req, void *arg)
{
	struct ioctl_gntdev_unmap_grant_ref *un = arg;
	struct fake_file *f = file_of(fd);
	struct fake_map **p;

	if (req == IOCTL_GNTDEV_MAP_GRANT_REF)
		return map_add(f, arg);
	if (req == IOCTL_GNTDEV_GRANT_COPY)
		return grant_copy(f, arg);
	assert_int_equal(req, IOCTL_GNTDEV_UNMAP_GRANT_REF);
	p = map_find(f, un->index, un->count);
	if (!*p || fail_unmap) {
		errno = ENOENT;
		return -1;
	}
	(*p)->removed = true;
	maps_sweep(f);
	return 0;
}

void *be_sys_mmap(void *a, size_t len, int prot, int fl, int fd,
		       off_t off)
{
	struct fake_map *m;
	char *addr;

	mmaps++;
	if (fl & MAP_ANONYMOUS)
		return mmap(a, len, prot, fl, fd, off);
	m = *map_find(file_of(fd), (uint64_t)off, (uint32_t)(len / PAGE));
	if (!m || m->addr || m->ref == BAD_REF || off < 0) {
		errno = EINVAL;
		return MAP_FAILED;
	}
	addr = mmap(a, len, PROT_NONE, (fl & (MAP_FIXED | MAP_FIXED_NOREPLACE)) |
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (addr == MAP_FAILED)
		return addr;
	assert_true(!a || addr == a);
	m->addr = addr;
	m->prot = prot;
	return addr;
}

int be_sys_munmap(void *a, size_t len)
{
	struct fake_map *m;
	char *from = a;
	unsigned int i;

	if (!munmaps) {
		errno = ENOMEM;
		return -1;
	}
	munmaps -= munmaps > 0;
	for (i = 0; i < FILES; i++) {
		if (!file[i].used)
			continue;
		for (m = file[i].maps; m; m = m->next)
			if (m->addr >= from && m->addr < from + len) {
				/* others wait meanwhile */
				assert_true(len <= (size_t)PIECE * PAGE);
				m->addr = NULL;
			}
		maps_sweep(&file[i]);
		file_put(&file[i]);
	}
	return munmap(a, len);
}

static struct fake_map *map_at(const char *addr)
{
	struct fake_map *m;
	unsigned int i;

	for (i = 0; i < FILES; i++)
		for (m = file[i].used ? file[i].maps : NULL; m; m = m->next)
			if (m->addr == addr)
				return m;
	return NULL;
}

/* First reference of the map that begins at addr, 0: none. */
static uint32_t mapped_at(const char *addr)
{
	struct fake_map *m = map_at(addr);

	return m ? m->ref : 0;
}

static int setup(void **state)
{
	uint32_t i;

	(void)state;
	max_open = 0;
	munmaps = -1;
	refs = malloc(GIB * sizeof(*refs));
	for (i = 0; i < GIB; i++)
		refs[i] = i + 1000;
	memset(&gnt, 0, sizeof(gnt));
	opens = copies = 0;
	return be_gntdev_open(&gnt, 5);
}

static int teardown(void **state)
{
	(void)state;
	assert_int_equal(be_gntdev_close(&gnt), 0);
	assert_int_equal(live, 0);
	assert_int_equal(files(), 0);
	free(refs);
	return 0;
}

/* Four regions of 1 GiB, each of pieces in their order. */
static void maps_more_than_an_int_holds(void **state)
{
	char *addr[4];
	uint32_t i, j;

	(void)state;
	for (i = 0; i < 4; i++) {
		addr[i] = be_gntdev_map(&gnt, refs, GIB, false, NULL);
		assert_non_null(addr[i]);
		for (j = 0; j < GIB; j += PIECE)
			assert_int_equal(mapped_at(addr[i] + (size_t)j * PAGE),
					 refs[j]);
	}
	assert_int_equal(live, 4 * GIB);
	for (i = 0; i < 4; i++)
		assert_int_equal(be_gntdev_unmap(&gnt, addr[i], GIB), 0);
	assert_int_equal(live, 0);
}

/* What cannot be unmapped counts as mapped, and goes before anything is mapped. */
static void what_stays_mapped_goes_later(void **state)
{
	char *large, *small;

	(void)state;
	large = be_gntdev_map(&gnt, refs, 3 * PIECE, false, NULL);
	small = be_gntdev_map(&gnt, refs, 1, false, NULL);
	assert_true(large && small);
	munmaps = 1;
	assert_int_equal(be_gntdev_unmap(&gnt, large, 3 * PIECE), 0);
	assert_int_equal(be_gntdev_unmap(&gnt, large, 3 * PIECE), -EINVAL);
	assert_int_equal(live, 2 * PIECE + 1);
	assert_int_equal(be_gntdev_pages(&gnt), 2 * PIECE + 1);
	assert_null(be_gntdev_map(&gnt, refs, 1, false, NULL));
	assert_int_equal(errno, ENOMEM);
	munmaps = -1;
	assert_int_equal(be_gntdev_unmap(&gnt, small, 1), 0);
	assert_int_equal(live, 0);
	/* So do the first pieces of what could not be mapped. */
	refs[2 * PIECE] = BAD_REF;
	munmaps = 1;			/* what was reserved behind them */
	assert_null(be_gntdev_map(&gnt, refs, 4 * PIECE, false, NULL));
	assert_int_equal(be_gntdev_pages(&gnt), 2 * PIECE);
	munmaps = -1;
	small = be_gntdev_map(&gnt, refs, 1, false, NULL);
	assert_non_null(small);
	assert_int_equal(live, 1);
	assert_int_equal(be_gntdev_unmap(&gnt, small, 1), 0);
}

/* Regions of one size come and go; their holes fit exactly. */
static void uses_no_offset_up(void **state)
{
	char *addr[96] = {};
	uint32_t i, at, seed = 1;

	(void)state;
	for (i = 0; i < 4000; i++) {
		seed = seed * 1103515245 + 12345;
		at = (seed >> 16) % 96;
		if (addr[at])
			be_gntdev_unmap(&gnt, addr[at], 4096);
		addr[at] = be_gntdev_map(&gnt, refs, 4096, false, NULL);
		assert_non_null(addr[at]);
		assert_true(live <= 96 * 4096);
	}
	for (i = 0; i < 96; i++)
		be_gntdev_unmap(&gnt, addr[i], 4096);
}

/* Maps are no open files: max-mr may be more than the process can open. */
static void keeps_no_file_open(void **state)
{
	char *addr[200];
	unsigned int i, before = opens;

	(void)state;
	for (i = 0; i < 200; i++) {
		addr[i] = be_gntdev_map(&gnt, refs, 1, false, NULL);
		assert_non_null(addr[i]);
	}
	assert_int_equal(files(), 1);
	assert_int_equal(opens, before);
	for (i = 0; i < 200; i++)
		be_gntdev_unmap(&gnt, addr[i], 1);
}

static char *map_placed(uint64_t like, uint8_t bits, uint32_t n)
{
	const struct be_place place = { like, bits };
	char *addr = be_gntdev_map(&gnt, refs, n, false, &place);

	if (addr)
		assert_int_equal(((uintptr_t)addr ^ like) & ((1ull << bits) - 1), 0);
	return addr;
}

/* Places of several kinds need one call each, a place that is taken one more. */
static void maps_at_a_place(void **state)
{
	static const struct { uint64_t like; uint32_t n; } at[] = {
		{ 0x7f1234567000, 1 }, { 0x7f1234568000, 1 }, { 0x55550000, 1 },
		{ 0x7f1234567000, 1 }, { 0, 3 * PIECE + 1 },
		{ 0x7ffff000, 2 }, { 0, 1 }, { ~4095ull, 1 },
		{ 0x40000000, GIB },
	};
	char *addr[sizeof(at) / sizeof(at[0])];
	unsigned int before;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(at) / sizeof(at[0]); i++) {
		before = mmaps;
		addr[i] = map_placed(at[i].like, 31, at[i].n);
		assert_non_null(addr[i]);
		if (at[i].n == 1)
			assert_in_range(mmaps - before, 1, 3);
	}
	assert_ptr_equal(addr[1], addr[0] + PAGE);	/* in one window */
	assert_ptr_equal(addr[3], addr[0] + (1ull << 31));
	for (i = 0; i < sizeof(at) / sizeof(at[0]); i++)
		assert_int_equal(be_gntdev_unmap(&gnt, addr[i], at[i].n), 0);
}

/* A program may have its buffer registered any number of times. */
static void finds_many_places(void **state)
{
	static char *addr[2000];
	unsigned int i, before = mmaps;

	(void)state;
	for (i = 0; i < 2000; i++) {
		addr[i] = map_placed(0x12345000, 31, 1);
		assert_non_null(addr[i]);
	}
	assert_int_equal(mmaps - before, 2 * 2000 - 1);
	for (i = 0; i < 2000; i++)
		assert_int_equal(be_gntdev_unmap(&gnt, addr[i], 1), 0);
}

static void has_no_place(void **state)
{
	const uint64_t end = (1ull << 44) - PAGE;
	unsigned int i;
	char *addr[3];

	(void)state;
	assert_null(map_placed(0, 46, 1));	/* no window has that size */
	assert_int_equal(errno, ENOMEM);
	for (i = 0; i < 3; i++) {		/* three have this one */
		addr[i] = map_placed(end, 44, 1);
		assert_non_null(addr[i]);
	}
	assert_null(map_placed(end, 44, 1));
	assert_int_equal(errno, ENOMEM);
	assert_null(map_placed(end, 44, PIECE + 1));
	assert_int_equal(errno, ENOMEM);
	assert_int_equal(be_gntdev_unmap(&gnt, addr[2], 1), 0);
	assert_null(map_placed(end, 44, 2));	/* over the end of all */
	assert_int_equal(errno, ENOMEM);
	assert_int_equal(live, 2);
	assert_int_equal(be_gntdev_unmap(&gnt, addr[0], 1), 0);
	assert_int_equal(be_gntdev_unmap(&gnt, addr[1], 1), 0);
	refs[0] = BAD_REF;
	assert_null(map_placed(0, 31, 1));
	assert_int_equal(errno, EINVAL);
	assert_int_equal(live, 0);
}

/* The guest's errors are not the end of its device: the caller answers them. */
static void refuses_all_or_nothing(void **state)
{
	(void)state;
	refs[2 * PIECE] = BAD_REF;
	assert_null(be_gntdev_map(&gnt, refs, GIB, false, NULL));
	assert_int_equal(errno, EINVAL);
	assert_int_equal(live, 0);
	assert_null(be_gntdev_map(&gnt, refs, 0, false, NULL));
	assert_int_equal(errno, EINVAL);
	refs[0] = BAD_REF;
	assert_null(be_gntdev_map(&gnt, refs, 1, false, NULL));
	assert_int_equal(errno, EINVAL);
	assert_int_equal(live, 0);
	fail_unmap = true;
	assert_null(be_gntdev_map(&gnt, refs + 1, 1, false, NULL));
	assert_int_equal(errno, ENOENT);
	fail_unmap = false;
	assert_int_equal(gnt.pages, 0);
}

/* The lists of 512 MiB: no file more, nothing mapped, 64 pages a call. */
static void copies_without_maps(void **state)
{
	const uint32_t n = 128, words = PAGE / sizeof(uint32_t);
	uint32_t *to = aligned_alloc(PAGE, (size_t)n * PAGE), i;

	(void)state;
	assert_int_equal(be_gntdev_copy(&gnt, refs, n, to), 0);
	assert_int_equal(copies, 2);
	assert_int_equal(opens, 1);
	assert_int_equal(live, 0);
	for (i = 0; i < n * words; i++)
		assert_int_equal(to[i], refs[i / words]);
	refs[100] = BAD_REF;
	assert_int_equal(be_gntdev_copy(&gnt, refs, n, to), -EINVAL);
	assert_int_equal(be_gntdev_copy(&gnt, refs, 100, to), 0);
	free(to);
}

/* The probe of the start fails as a copy would. */
static void tells_that_there_is_no_file(void **state)
{
	struct be_gntdev g = {};

	(void)state;
	max_open = files();
	assert_int_equal(be_gntdev_open(&g, 5), -ENOMEM);
	assert_int_equal(be_gntdev_close(&g), 0);
}

/* gntdev asks the hypervisor for what the mapping has. */
static void maps_each_piece_with_its_right(void **state)
{
	char *ro = be_gntdev_map(&gnt, refs, PIECE + 1, true, NULL);
	char *rw = be_gntdev_map(&gnt, refs, 1, false, NULL);

	(void)state;
	assert_non_null(ro);
	assert_non_null(rw);
	assert_int_equal(map_at(ro)->prot, PROT_READ);
	assert_int_equal(map_at(ro + (size_t)PIECE * PAGE)->prot, PROT_READ);
	assert_int_equal(map_at(rw)->prot, PROT_READ | PROT_WRITE);
	be_gntdev_unmap(&gnt, ro, PIECE + 1);
	be_gntdev_unmap(&gnt, rw, 1);
}

static void unmaps_what_is_left(void **state)
{
	char *addr = be_gntdev_map(&gnt, refs, PIECE + 1, false, NULL);

	(void)state;
	assert_non_null(addr);
	assert_int_equal(be_gntdev_unmap(&gnt, addr, PIECE), -EINVAL);
	assert_int_equal(be_gntdev_unmap(&gnt, addr + PAGE, 1), -EINVAL);
	assert_int_equal(live, PIECE + 1);
	assert_int_equal(be_gntdev_close(&gnt), PIECE + 1);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	static const struct CMUnitTest tests[] = {
		T(maps_more_than_an_int_holds),
		T(uses_no_offset_up),
		T(what_stays_mapped_goes_later),
		T(keeps_no_file_open),
		T(maps_at_a_place),
		T(finds_many_places),
		T(has_no_place),
		T(refuses_all_or_nothing),
		T(maps_each_piece_with_its_right),
		T(unmaps_what_is_left),
		T(copies_without_maps),
		T(tells_that_there_is_no_file),
	};
#undef T

	return cmocka_run_group_tests(tests, NULL, NULL);
}
