// SPDX-License-Identifier: GPL-2.0
/* Copyright (C) 2026 The vhca authors */
/*
 * What a process gets by mmap() on its context: its own doorbell pages, each
 * of which must work, and nothing else. What is refused is refused by the
 * HCA's own driver too, but for rows marked GUEST: there a guest gets less.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "uar.h"

/* Commands of the mlx5 ABI: mmap offset = command << 8 | index, in pages. */
enum { REGULAR = 0, CONTIGUOUS = 1, WC = 2, NC = 3, UNUSED = 4, CORE_CLOCK = 5,
       ALLOC_WC = 6, CLOCK_INFO = 7, DEVICE_MEM = 8, ENTRIES = 9,
       LAST_ENTRY = 255 };

#define PGOFF(command, index)	((uint64_t)(command) << 8 | (index))
#define RD	PROT_READ
#define WR	PROT_WRITE
#define RW	(PROT_READ | PROT_WRITE)
#define MAX_PAGES	256u	/* indices of a command */
#define GUEST	true

struct row {
	const char *name;
	uint64_t pgoff;
	uint64_t len;
	int prot, flags;
	bool guest;		/* natively it may be there */
};

/* Of mlx4: page 0 is the UAR, page 1 its BlueFlame page, which no guest has, 3 the clock. */
static const struct row rows_mlx4[] = {
	{ "BlueFlame page", 1, 4096, WR, MAP_SHARED, GUEST },
	{ "page 2", 2, 4096, WR, MAP_SHARED, false },
	{ "clock", 3, 4096, RD, MAP_SHARED, GUEST },
	{ "clock, to be written", 3, 4096, RW, MAP_SHARED, GUEST },
	{ "page 4", 4, 4096, WR, MAP_SHARED, false },
	{ "page 128", 128, 4096, WR, MAP_SHARED, false },
	{ "page 1024", 1024, 4096, WR, MAP_SHARED, false },
	{ "two pages", 0, 8192, WR, MAP_SHARED, false },
	{ "8 MiB", 0, 8 << 20, WR, MAP_SHARED, false },
	{ "two BlueFlame pages", 1, 8192, WR, MAP_SHARED, false },
	{ "private", 0, 4096, RW, MAP_PRIVATE, false },
	{ "offset of 2^40", 1ull << 28, 4096, WR, MAP_SHARED, false },
	{ "offset of 2^62", 1ull << 50, 4096, WR, MAP_SHARED, false },
};

static const struct row rows[] = {
	{ "core clock", PGOFF(CORE_CLOCK, 0), 4096, RD, MAP_SHARED, GUEST },
	{ "core clock, to be written", PGOFF(CORE_CLOCK, 0), 4096, RW,
	  MAP_SHARED, false },
	{ "clock info", PGOFF(CLOCK_INFO, 0), 4096, RD, MAP_SHARED, GUEST },
	{ "clock info, to be written", PGOFF(CLOCK_INFO, 0), 4096, RW,
	  MAP_SHARED, false },
	{ "device memory", PGOFF(DEVICE_MEM, 0), 4096, RW, MAP_SHARED, false },
	{ "contiguous pages", PGOFF(CONTIGUOUS, 0), 4096, RW, MAP_SHARED,
	  false },
	{ "command 4", PGOFF(UNUSED, 0), 4096, WR, MAP_SHARED, false },
	{ "command 9", PGOFF(ENTRIES, 0), 4096, WR, MAP_SHARED, false },
	{ "command 255", PGOFF(LAST_ENTRY, 255), 4096, WR, MAP_SHARED, false },
	{ "dynamic page, last index", PGOFF(ALLOC_WC, 255) | 0xff0000, 4096,
	  WR, MAP_SHARED, false },
	{ "two pages", PGOFF(REGULAR, 0), 8192, WR, MAP_SHARED, false },
	{ "16 MiB", PGOFF(REGULAR, 0), 16 << 20, WR, MAP_SHARED, false },
	{ "two uncached pages", PGOFF(NC, 0), 8192, WR, MAP_SHARED, false },
	{ "private", PGOFF(REGULAR, 0), 4096, RW, MAP_PRIVATE, false },
	{ "private, read only", PGOFF(REGULAR, 0), 4096, RD, MAP_PRIVATE,
	  false },
	{ "executable", PGOFF(REGULAR, 0), 4096, RW | PROT_EXEC, MAP_SHARED,
	  GUEST },
	{ "index with higher bits", PGOFF(REGULAR, 0) | 0x10000, 4096, WR,
	  MAP_SHARED, GUEST },
	{ "offset of 2^40", 1ull << 28, 4096, WR, MAP_SHARED, GUEST },
	{ "offset of 2^62", 1ull << 50, 4096, WR, MAP_SHARED, GUEST },
};

struct tally {
	int fd;
	bool native;
	unsigned int own, other; /* command of the provider, and the other */
	int bad;
};

static void good(const char *name, const char *what)
{
	printf("ok   %s: %s\n", name, what);
}

static void bad(struct tally *t, const char *name, const char *what)
{
	printf("FAIL %s: %s\n", name, what);
	t->bad++;
}

/* The verdict about an attempt that has to fail; m is what it gave. */
static bool refused(struct tally *t, const char *name, bool guest,
		    const void *m)
{
	int err = errno;

	if (m == MAP_FAILED)
		good(name, vt_errno(err));
	else if (guest && t->native)
		printf("note %s: there natively\n", name);
	else
		bad(t, name, "mapped, and must not be");
	return m == MAP_FAILED;
}

static void *map(const struct tally *t, uint64_t pgoff, uint64_t len, int prot,
		 int flags)
{
	return mmap(NULL, len, prot, flags, t->fd, (off_t)(pgoff << 12));
}

static void try_rows(struct tally *t, const struct row *from, size_t n)
{
	const struct row *r;
	void *m;

	for (r = from; r < from + n; r++) {
		m = map(t, r->pgoff, r->len, r->prot, r->flags);
		if (!refused(t, r->name, r->guest, m))
			munmap(m, r->len);
	}
	m = mmap(NULL, UAR_PAGE, WR, MAP_SHARED, t->fd, 0x800);
	refused(t, "offset within a page", false, m);
}

/* Pages of the context are numbered from 0; behind the last there is none. */
static void try_indices(struct tally *t)
{
	unsigned int n, i;
	char name[64];
	void *m;

	for (n = 0; n < MAX_PAGES; n++) {
		m = map(t, PGOFF(t->own, n), UAR_PAGE, WR, MAP_SHARED);
		if (m == MAP_FAILED)
			break;
		munmap(m, UAR_PAGE);
	}
	snprintf(name, sizeof(name), "%u pages of the context", n);
	if (n && n < MAX_PAGES)
		good(name, "can be mapped");
	else
		bad(t, name, n ? "every index gives a page" : "none");
	for (i = n; n && i < MAX_PAGES; i = 2 * i + 1) {
		snprintf(name, sizeof(name), "page %u", i);
		refused(t, name, false, map(t, PGOFF(t->own, i), UAR_PAGE,
					    WR, MAP_SHARED));
		snprintf(name, sizeof(name), "page %u by command %u", i,
			 t->other);
		refused(t, name, false, map(t, PGOFF(t->other, i), UAR_PAGE,
					    WR, MAP_SHARED));
	}
}

/* What a mapping of the own page must not become. */
static void try_changes(struct tally *t, void *m)
{
	void *more = mremap(m, UAR_PAGE, 2 * UAR_PAGE, MREMAP_MAYMOVE);

	if (!refused(t, "a mapping that grows", false, more))
		return;
	if (mprotect(m, UAR_PAGE, RW | PROT_EXEC))
		good("a mapping made executable", vt_errno(errno));
	else if (t->native)
		printf("note a mapping made executable: so natively\n");
	else
		bad(t, "a mapping made executable", "is possible");
}

/*
 * What takes the entry of a page away, or its right to write: the kernel has to give it back.
 * Return: whether it was done.
 */
static bool advised(uint8_t **m)
{
	return !madvise(*m, UAR_PAGE, MADV_DONTNEED) || errno == EINVAL;
}

static bool tracked(uint8_t **m)
{
	int fd = open("/proc/self/clear_refs", O_WRONLY);
	bool done = fd >= 0 && write(fd, "4", 1) == 1;	/* writes are to be noticed */

	(void)m;
	if (fd >= 0)
		close(fd);
	return done;
}

static bool moved(uint8_t **m)
{
	void *to = mmap(NULL, UAR_PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (to == MAP_FAILED ||
	    mremap(*m, UAR_PAGE, UAR_PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, to) != to)
		return false;
	*m = to;
	return true;
}

static void try_entry(struct tally *t, struct uar_obj *u, uint8_t **m, size_t at)
{
	static const struct {
		const char *name;
		bool (*change)(uint8_t **m);
	} changes[] = {
		{ "after MADV_DONTNEED", advised },
		{ "while writes are tracked", tracked },
		{ "after a move", moved },
	};
	char why[VT_WHY] = "";
	size_t i;

	for (i = 0; i < VT_ARRAY_SIZE(changes); i++) {
		if (!changes[i].change(m))
			bad(t, changes[i].name, vt_errno(errno));
		else if (uar_works(u, *m + at, why))
			bad(t, changes[i].name, why);
		else
			good(changes[i].name, "the page rings");
	}
}

/*
 * The page of the own queue pair, once more, and rung at there. By another
 * command than the provider's it may be refused: a guest has a page once.
 */
static void try_own(struct tally *t, struct uar_obj *u, unsigned int command,
		    const char *name)
{
	uint64_t index = u->mmap_offset >> 12 & 0xff;
	size_t at = (uintptr_t)u->reg & (UAR_PAGE - 1);
	char why[VT_WHY] = "";
	uint8_t *m;

	m = map(t, PGOFF(command, index), UAR_PAGE, WR, MAP_SHARED);
	if (m == MAP_FAILED && command != t->own) {
		printf("note %s: %s\n", name, vt_errno(errno));
	} else if (m == MAP_FAILED) {
		bad(t, name, vt_errno(errno));
	} else if (uar_works(u, m + at, why)) {
		bad(t, name, why);
	} else {
		good(name, "is mapped, and rings");
		try_changes(t, m);
		try_entry(t, u, &m, at);
		munmap(m, UAR_PAGE);
	}
}

static void try_mlx5(struct tally *t, struct uar_obj *u)
{
	/* MLX5_SHUT_UP_BF=1 in the environment: uncached */
	t->own = (unsigned int)(u->mmap_offset >> 20) & 0xff;
	t->other = t->own == NC ? REGULAR : NC;
	try_own(t, u, REGULAR, "the own page");
	try_own(t, u, NC, "the own page, uncached");
	try_own(t, u, WC, "the own page, write-combining");
	try_rows(t, rows, VT_ARRAY_SIZE(rows));
	try_indices(t);
}

static void try_mlx4(struct tally *t, struct uar_obj *u)
{
	try_own(t, u, REGULAR, "the own page");
	try_rows(t, rows_mlx4, VT_ARRAY_SIZE(rows_mlx4));
}

/**
 * uar_mmap() - map what there is and what there must not be
 * @native: rows that only a guest has to refuse are not judged
 *
 * Prints a line for each attempt. Return: 0, or 1 if one of them failed.
 */
int uar_mmap(const struct vt_opt *o, bool native)
{
	char why[VT_WHY] = "";
	struct uar_obj u;
	struct tally t = { .native = native };

	if (uar_open(&u, o, why)) {
		uar_close(&u);
		fprintf(stderr, "vhca-uar: %s\n", why);
		return 1;
	}
	t.fd = u.dev.ctx->cmd_fd;
	if (u.kind == &uar_mlx5)
		try_mlx5(&t, &u);
	else
		try_mlx4(&t, &u);
	if (uar_works(&u, u.reg, why))
		bad(&t, "the provider's mapping afterwards", why);
	else
		good("the provider's mapping afterwards", "rings");
	uar_close(&u);
	printf("%s\n", t.bad ? "FAIL" : "ok");
	return !!t.bad;
}
