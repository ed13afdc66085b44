// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The doorbell agent refuses every frame that is not a doorbell page of the
 * HCA which the toolstack named and the backend owns; and the parsers of what
 * it believes take nothing but the one right form.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>
#include "number.h"
#include "tools/doorbelld/facts.h"
#include <xen/io/vhcaif.h>

#define BAR	0xe0000000ull		/* 32 MiB */
#define BAR_MFN	(BAR >> DBA_PAGE_SHIFT)
#define PAGES	8192u
#define UAR	(BAR_MFN + 300)
#define ALL	UINT64_MAX
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static struct dba_hca hca;
static struct dba_live live[2];
static struct dba_facts facts;

/* Guest 5, PVH, of backend 1, which owns a ConnectX-4. */
static int good(void **state)
{
	(void)state;
	memset(live, 0, sizeof(live));
	hca = (struct dba_hca){
		.named = true, .present = true, .owner = 1, .vendor = 0x15b3,
		.device = 0x1013, .msix_known = true,
		.bar = { { BAR, PAGES * DBA_PAGE_SIZE },
			 [2] = { 0xf0000000, 0x800 },
			 [4] = { 0xf1000000, 0x10000 } },
		.msix = { { BAR + 0x400000, 0x400 }, { BAR + 0x401ff8, 16 } },
	};
	facts = (struct dba_facts){
		.guest = 5, .backend = 1, .translated = true,
		.window_gfn = 0x100000, .window_nr = 64, .hca = &hca,
		.live = live,
	};
	return 0;
}

static enum dba_reason check(uint64_t mfn, uint64_t gfn, uint64_t nr)
{
	struct dba_req req = { .mfn = mfn, .gfn = gfn, .nr = nr };

	return dba_frame_check(&facts, &req);
}

static enum dba_reason check_mfn(uint64_t mfn)
{
	return check(mfn, 0x100000, 1);
}

static void a_doorbell_page_is_allowed(void **state)
{
	(void)state;
	assert_int_equal(check_mfn(UAR), DBA_OK);
	assert_int_equal(check_mfn(BAR_MFN + 3), DBA_OK);
	assert_int_equal(check_mfn(BAR_MFN + PAGES - 1), DBA_OK);
	assert_int_equal(check(UAR, 0x10003f, 1), DBA_OK);
	facts.translated = false;
	assert_int_equal(check(UAR, 0, 1), DBA_OK);
}

static void other_frames_are_refused(void **state)
{
	(void)state;
	/* RAM, and another device's BAR right before and behind */
	assert_int_equal(check_mfn(0x1000), DBA_OUTSIDE);
	assert_int_equal(check_mfn(0), DBA_OUTSIDE);
	assert_int_equal(check_mfn(BAR_MFN - 1), DBA_OUTSIDE);
	assert_int_equal(check_mfn(BAR_MFN + PAGES), DBA_OUTSIDE);
	/* the HCA's, but no doorbells: init segment, other BARs */
	assert_int_equal(check_mfn(BAR_MFN), DBA_NOT_DOORBELL);
	assert_int_equal(check_mfn(BAR_MFN + 1), DBA_NOT_DOORBELL);
	assert_int_equal(check_mfn(BAR_MFN + 2), DBA_NOT_DOORBELL);
	assert_int_equal(check_mfn(0xf0000), DBA_NOT_DOORBELL);
	assert_int_equal(check_mfn(0xf1005), DBA_NOT_DOORBELL);
	/* MSI-X: table, pending bits that straddle two pages */
	assert_int_equal(check_mfn(BAR_MFN + 0x400), DBA_MSIX);
	assert_int_equal(check_mfn(BAR_MFN + 0x401), DBA_MSIX);
	assert_int_equal(check_mfn(BAR_MFN + 0x402), DBA_MSIX);
	assert_int_equal(check_mfn(BAR_MFN + 0x3ff), DBA_OK);
	assert_int_equal(check_mfn(BAR_MFN + 0x403), DBA_OK);
	hca.msix_known = false;
	assert_int_equal(check_mfn(UAR), DBA_NO_MSIX);
}

static void numbers_cannot_wrap(void **state)
{
	(void)state;
	assert_int_equal(check(UAR, 0x100000, 0), DBA_NR_ZERO);
	assert_int_equal(check(UAR, 0x100000, 2), DBA_NR_HUGE);
	assert_int_equal(check(UAR, 0x100000, ALL), DBA_NR_HUGE);
	assert_int_equal(check(UAR, 0x100000, ALL - UAR + 2), DBA_NR_HUGE);
	assert_int_equal(check_mfn(ALL), DBA_OVERFLOW);
	assert_int_equal(check_mfn(DBA_MAX_FRAME), DBA_OVERFLOW);
	assert_int_equal(check_mfn(DBA_MAX_FRAME - 1), DBA_OUTSIDE);
	/* what a shift to bytes would lose */
	assert_int_equal(check_mfn(UAR | 1ull << 52), DBA_OVERFLOW);
	assert_int_equal(check(UAR, ALL, 1), DBA_OVERFLOW);
	assert_int_equal(check(UAR, 0x100000 | 1ull << 52, 1), DBA_OVERFLOW);
}

static void overlaps_are_seen(void **state)
{
	(void)state;
	assert_true(dba_overlap(5, 1, 5, 1));
	assert_true(dba_overlap(5, 3, 7, 1));
	assert_true(dba_overlap(7, 1, 5, 3));
	assert_false(dba_overlap(5, 2, 7, 1));
	assert_false(dba_overlap(7, 1, 5, 2));
	assert_false(dba_overlap(5, 0, 5, 1));
	assert_true(dba_overlap(ALL - 1, 1, 0, ALL));
}

static void the_hca_must_be_the_backends(void **state)
{
	(void)state;
	hca.owner = 2;
	assert_int_equal(check_mfn(UAR), DBA_NOT_OWNED);
	hca.owner = 0;
	assert_int_equal(check_mfn(UAR), DBA_NOT_OWNED);
	hca.owner = -1;
	assert_int_equal(check_mfn(UAR), DBA_NOT_OWNED);
	facts.backend = UINT32_MAX;	/* is not -1 either */
	assert_int_equal(check_mfn(UAR), DBA_NOT_OWNED);
	good(NULL);
	hca.present = false;
	assert_int_equal(check_mfn(UAR), DBA_NO_HCA);
	hca.named = false;
	assert_int_equal(check_mfn(UAR), DBA_NOT_NAMED);
	good(NULL);
	hca.error = -EIO;
	assert_int_equal(check_mfn(UAR), DBA_NO_FACTS);
	good(NULL);
	facts.guest = facts.backend;
	assert_int_equal(check_mfn(UAR), DBA_SAME_DOMAIN);
}

static void bars_must_be_whole_pages(void **state)
{
	(void)state;
	hca.bar[0].start += 0x800;
	assert_int_equal(check_mfn(UAR), DBA_BAR_ALIGN);
	good(NULL);
	hca.bar[0].len -= 1;
	assert_int_equal(check_mfn(UAR), DBA_BAR_ALIGN);
	good(NULL);
	hca.bar[0].len = 0x800;
	assert_int_equal(check_mfn(BAR_MFN), DBA_BAR_ALIGN);
	good(NULL);
	hca.bar[0].len = 0;
	assert_int_equal(check_mfn(UAR), DBA_NO_BAR);
	good(NULL);
	hca.bar[0].start = 0;
	assert_int_equal(check_mfn(5), DBA_NO_BAR);
	good(NULL);
	hca.bar[0].len = -(BAR & ~0xfffull);
	assert_int_equal(check_mfn(UAR), DBA_NO_BAR);
	good(NULL);
	hca.device = 0x1004;	/* a function of a ConnectX-3 */
	assert_int_equal(check_mfn(UAR), DBA_NO_RULE);
	hca.vendor = 0x8086;
	hca.device = 0x1013;
	assert_int_equal(check_mfn(UAR), DBA_NO_RULE);
}

/* BAR 2: 1024 UARs, 128 of them for event queues, and BlueFlame pages that nobody gets. */
static void pages_of_an_mlx4(void **state)
{
	static const struct { uint32_t page; enum dba_reason r; } at[] = {
		{ 0, DBA_NOT_DOORBELL }, { 127, DBA_NOT_DOORBELL },
		{ 128, DBA_OK }, { 1023, DBA_OK },
		{ 1024, DBA_NOT_DOORBELL }, { 1024 + 127, DBA_NOT_DOORBELL },
		{ 1024 + 128, DBA_NOT_DOORBELL }, { 2047, DBA_NOT_DOORBELL },
		{ 2048, DBA_OUTSIDE },
	};
	static const uint16_t device[] = { 0x1003, 0x1007 };
	static const uint16_t other[] = { 0x1002, 0x1004, 0x1008, 0x1010, 0x673c };
	size_t i, j;

	(void)state;
	hca.bar[0] = (struct dba_bytes){ 0xf0000000, 1 << 20 };
	hca.bar[2] = (struct dba_bytes){ BAR, 2048 * DBA_PAGE_SIZE };
	hca.msix[0] = (struct dba_bytes){ 0xf007c000, 0x400 };
	hca.msix[1] = (struct dba_bytes){ 0xf007d000, 8 };
	for (j = 0; j < COUNT(device); j++) {
		hca.device = device[j];
		for (i = 0; i < COUNT(at); i++)
			assert_int_equal(check_mfn(BAR_MFN + at[i].page), at[i].r);
		/* registers, and the command register among them */
		for (i = 0; i < 256; i++)
			assert_int_equal(check_mfn(0xf0000 + i), DBA_NOT_DOORBELL);
	}
	hca.bar[2].len -= DBA_PAGE_SIZE;	/* no halves */
	assert_int_equal(check_mfn(BAR_MFN + 1022), DBA_OK);
	assert_int_equal(check_mfn(BAR_MFN + 1023), DBA_NOT_DOORBELL);
	hca.bar[2].len = DBA_PAGE_SIZE;
	assert_int_equal(check_mfn(BAR_MFN), DBA_NOT_DOORBELL);
	hca.bar[2].len = 256 * DBA_PAGE_SIZE;	/* all of them for events */
	for (i = 0; i < 256; i++)
		assert_int_equal(check_mfn(BAR_MFN + i), DBA_NOT_DOORBELL);
	hca.bar[2].len = 2048 * DBA_PAGE_SIZE;
	for (j = 0; j < COUNT(other); j++) {
		hca.device = other[j];
		assert_int_equal(check_mfn(BAR_MFN + 200), DBA_NO_RULE);
	}
}

static void a_page_is_one_guests(void **state)
{
	(void)state;
	live[1] = (struct dba_live){ .domid = 6, .mfn = UAR, .nr = 1 };
	facts.n_live = 2;
	assert_int_equal(check_mfn(UAR), DBA_OTHER_GUEST);
	assert_int_equal(check_mfn(UAR + 1), DBA_OK);
	assert_int_equal(check_mfn(UAR - 1), DBA_OK);
	live[1].held = true;
	assert_int_equal(check_mfn(UAR), DBA_HELD);
	live[1].domid = 5;
	assert_int_equal(check_mfn(UAR), DBA_OK);
	live[1].held = false;
	assert_int_equal(check_mfn(UAR), DBA_DOUBLE);
}

static void guest_frames_must_be_in_the_guests_window(void **state)
{
	(void)state;
	assert_int_equal(check(UAR, 0xfffff, 1), DBA_GFN_WINDOW);
	assert_int_equal(check(UAR, 0x100040, 1), DBA_GFN_WINDOW);
	assert_int_equal(check(UAR, 0, 1), DBA_GFN_WINDOW);
	assert_int_equal(check(UAR, 0x1000, 1), DBA_GFN_WINDOW); /* memory */
	live[0] = (struct dba_live){ .domid = 5, .mfn = UAR + 9, .nr = 1,
				     .gfn = 0x100007, .translated = true };
	facts.n_live = 1;
	assert_int_equal(check(UAR, 0x100007, 1), DBA_GFN_TAKEN);
	assert_int_equal(check(UAR, 0x100008, 1), DBA_OK);
	live[0].domid = 6;	/* another guest's frame numbers are its own */
	assert_int_equal(check(UAR, 0x100007, 1), DBA_OK);
	facts.window_nr = 0;
	assert_int_equal(check(UAR, 0x100007, 1), DBA_NO_WINDOW);
	facts.window_nr = ALL;
	assert_int_equal(check(UAR, 0x100007, 1), DBA_NO_WINDOW);
	facts.window_gfn = 0;
	facts.window_nr = 64;
	assert_int_equal(check(UAR, 7, 1), DBA_NO_WINDOW);
	facts.translated = false;
	assert_int_equal(check(UAR, 7, 1), DBA_PV_GFN);
}

static void every_reason_has_a_text(void **state)
{
	const char *s;
	int i;

	(void)state;
	for (i = 0; i < DBA_NR_REASONS; i++) {
		s = dba_reason_text((enum dba_reason)i);
		assert_non_null(s);
		assert_true(strlen(s) > 5 && strlen(s) < 100);
	}
	assert_string_equal(dba_reason_text(DBA_NR_REASONS), "unknown");
}

static void requests_have_one_form(void **state)
{
	static const char *const bad[] = {
		"", "map", "map ", "map 0x1", "map 0x1 0x2", "map 0x1 0x2 ",
		"map 0x1 0x2 0x3 ", "map 0x1 0x2 0x3 0x4", "map 1 2 3",
		"map  0x1 0x2 0x3", "map 0x 0x2 0x3", "map 0x1 0x2 3",
		"map -0x1 0x2 0x3", "map 0x10000000000000000 0x2 0x3",
		"map 0x1,0x2,0x3", "Map 0x1 0x2 0x3", "map 0X1 0x2 0x3",
		"unmap ", "unmap 0x1", "unmapped", "map 0xg 0x2 0x3",
		"map\t0x1 0x2 0x3", "map 0x1 0x2 0x3\n", "map0x1 0x2 0x3",
	};
	struct dba_request r;
	size_t i;

	(void)state;
	for (i = 0; i < COUNT(bad); i++)
		assert_int_equal(dba_parse_request(bad[i], &r), -EINVAL);
	assert_int_equal(dba_parse_request("map 0xFfffffffffffffff 0x0 0x1a",
					   &r), 0);
	assert_true(r.map && r.req.mfn == ALL && !r.req.gfn &&
		    r.req.nr == 0x1a);
	assert_int_equal(dba_parse_request("unmap", &r), 0);
	assert_false(r.map);
}

static void names_have_one_form(void **state)
{
	static const char *const bad_bdf[] = {
		"", "00:05.0", "0000:00:05", "0000:00:05.8", "0000:00:05.0 ",
		"0000:00:05,0", "g000:00:05.0", "../../../etc", "0000/00/05.0",
		"0000:00:05.0/../x", "000:000:05.0",
	};
	static const char *const bad_slot[] = {
		"", "-1", "01", "00", "8192", "1 ", " 1", "0x1", "99999999999",
		"1/answer", "slot",
	};
	uint64_t first, nr;
	char bdf[VL_BDF];
	unsigned int slot;
	size_t i;

	(void)state;
	for (i = 0; i < COUNT(bad_bdf); i++)
		assert_int_equal(vl_parse_bdf(bad_bdf[i], bdf), -EINVAL);
	assert_int_equal(vl_parse_bdf("0000:0A:1f.7", bdf), 0);
	assert_string_equal(bdf, "0000:0a:1f.7");
	for (i = 0; i < COUNT(bad_slot); i++)
		assert_int_equal(dba_parse_slot(bad_slot[i], &slot), -EINVAL);
	assert_int_equal(dba_parse_slot("0", &slot), 0);
	assert_int_equal(dba_parse_slot("8191", &slot), 0);
	assert_int_equal(slot, XENVHCA_DOORBELL_SLOTS - 1);
	assert_int_equal(dba_parse_window("0x10 0x20", &first, &nr), 0);
	assert_true(first == 0x10 && nr == 0x20);
	assert_int_equal(dba_parse_window("0x10", &first, &nr), -EINVAL);
	assert_int_equal(dba_parse_window("0x10 0x20 0x30", &first, &nr),
			 -EINVAL);
}

#define NONE	"0x0000000000000000 0x0000000000000000 0x0000000000000000\n"
#define BAR0	"0x00000000e0000000 0x00000000e1ffffff 0x000000000014220c\n"
#define PORTS	"0x000000000000c000 0x000000000000c01f 0x0000000000040101\n"

static void garbage_is_no_resource_file(void **state)
{
	static const char *const bad[] = {
		"", "\n\n\n\n\n\n", "hello", BAR0, BAR0 NONE NONE NONE NONE,
		/* end before start; 2^64 bytes; four columns; no newline */
		"0x2000 0x1fff 0x200\n" NONE NONE NONE NONE NONE,
		"0x1 0x0 0x200\n" NONE NONE NONE NONE NONE,
		"0x1000 0x1fff 0x200 0x0\n" NONE NONE NONE NONE NONE,
		NONE NONE NONE NONE NONE "0x1000 0x1fff 0x200",
		"0x1000\t0x1fff\t0x200\n" NONE NONE NONE NONE NONE,
		"0x11112222333344445 0x0 0x200\n" NONE NONE NONE NONE NONE,
		"1000 1fff 200\n" NONE NONE NONE NONE NONE,
	};
	struct dba_bytes bar[DBA_BARS];
	size_t i;

	(void)state;
	for (i = 0; i < COUNT(bad); i++)
		assert_int_equal(dba_parse_resource(bad[i], bar), -EINVAL);
	assert_int_equal(dba_parse_resource(BAR0 NONE PORTS NONE NONE NONE
					    NONE, bar), 0);
	assert_true(bar[0].start == BAR && bar[0].len == 32u << 20);
	assert_true(!bar[1].len && !bar[2].len);	/* ports are no memory */
}

static uint8_t cfg[256];

/* 64 vectors, as ConnectX has them: table and pending bits in BAR 0. */
static void good_cfg(void)
{
	static const uint8_t cap[12] = { 0x11, 0, 0x3f, 0x80, 0, 0x20, 0, 0,
					 0, 0x30, 0, 0 };

	memset(cfg, 0, sizeof(cfg));
	cfg[0x06] = 0x10;
	cfg[0x34] = 0x60;
	cfg[0x60] = 0x10;
	cfg[0x61] = 0x9c;
	memcpy(cfg + 0x9c, cap, sizeof(cap));
}

static void the_msix_table_is_found(void **state)
{
	(void)state;
	good_cfg();
	assert_int_equal(dba_parse_msix(cfg, sizeof(cfg), &hca), 0);
	assert_true(hca.msix_known);
	assert_true(hca.msix[0].start == BAR + 0x2000);
	assert_int_equal(hca.msix[0].len, 1024);
	assert_true(hca.msix[1].start == BAR + 0x3000);
	assert_int_equal(hca.msix[1].len, 8);
	assert_int_equal(check_mfn(BAR_MFN + 3), DBA_MSIX);
	assert_int_equal(check_mfn(BAR_MFN + 4), DBA_OK);
	cfg[0x06] = 0;		/* no capabilities at all */
	assert_int_equal(dba_parse_msix(cfg, sizeof(cfg), &hca), 0);
	assert_true(hca.msix_known && !hca.msix[0].len);
}

static void bad_configuration_space_is_refused(void **state)
{
	(void)state;
	good_cfg();
	/* what an unprivileged reader gets */
	assert_int_equal(dba_parse_msix(cfg, 64, &hca), -EINVAL);
	assert_false(hca.msix_known);
	assert_int_equal(dba_parse_msix(cfg, 0, &hca), -EINVAL);
	cfg[0x9c] = 0x05;	/* a loop, and none is MSI-X */
	cfg[0x9d] = 0x60;
	assert_int_equal(dba_parse_msix(cfg, sizeof(cfg), &hca), -EINVAL);
	good_cfg();
	cfg[0x34] = 0xfc;	/* would be read beyond the end */
	assert_int_equal(dba_parse_msix(cfg, sizeof(cfg), &hca), -EINVAL);
	cfg[0x34] = 0x04;
	assert_int_equal(dba_parse_msix(cfg, sizeof(cfg), &hca), -EINVAL);
	good_cfg();
	cfg[0xa0] = 0x06;	/* BAR 6, BAR 1 that is none, beyond BAR 0 */
	assert_int_equal(dba_parse_msix(cfg, sizeof(cfg), &hca), -EINVAL);
	cfg[0xa0] = 0x01;
	assert_int_equal(dba_parse_msix(cfg, sizeof(cfg), &hca), -EINVAL);
	cfg[0xa0] = 0x00;
	cfg[0xa3] = 0xff;
	assert_int_equal(dba_parse_msix(cfg, sizeof(cfg), &hca), -EINVAL);
	assert_false(hca.msix_known);
}

static void put(const char *dir, const char *name, const void *data, size_t len)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "w");
	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, len, f), len);
	assert_int_equal(fclose(f), 0);
}

static void put_text(const char *dir, const char *name, const char *text)
{
	put(dir, name, text, strlen(text));
}

static void sysfs_is_read_as_a_whole(void **state)
{
	static const char *const files[] = { "vendor", "device", "resource",
					     "config" };
	char root[] = "doorbell-sysfs-XXXXXX", dir[64], path[128];
	struct dba_hca h = { 0 };
	size_t i;

	(void)state;
	assert_non_null(mkdtemp(root));
	snprintf(dir, sizeof(dir), "%s/0000:00:05.0", root);
	assert_int_equal(mkdir(dir, 0700), 0);
	dba_read_sysfs(root, "0000:00:05.0", &h);
	assert_true(h.named && !h.present);
	good_cfg();
	put_text(dir, "vendor", "0x15b3\n");
	put_text(dir, "device", "0x1013\n");
	put_text(dir, "resource", BAR0 NONE NONE NONE NONE NONE NONE);
	put(dir, "config", cfg, sizeof(cfg));
	dba_read_sysfs(root, "0000:00:05.0", &h);
	assert_true(h.present && h.msix_known);
	assert_int_equal(h.vendor, 0x15b3);
	assert_int_equal(h.device, 0x1013);
	assert_true(h.bar[0].start == BAR);
	put_text(dir, "resource", "garbage");
	memset(&h, 0, sizeof(h));
	dba_read_sysfs(root, "0000:00:05.0", &h);
	assert_false(h.present);
	put_text(dir, "vendor", "0x115b3\n");
	dba_read_sysfs(root, "0000:00:05.0", &h);
	assert_false(h.present);
	for (i = 0; i < COUNT(files); i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, files[i]);
		unlink(path);
	}
	rmdir(dir);
	rmdir(root);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_doorbell_page_is_allowed, good),
		cmocka_unit_test_setup(other_frames_are_refused, good),
		cmocka_unit_test_setup(numbers_cannot_wrap, good),
		cmocka_unit_test(overlaps_are_seen),
		cmocka_unit_test_setup(the_hca_must_be_the_backends, good),
		cmocka_unit_test_setup(bars_must_be_whole_pages, good),
		cmocka_unit_test_setup(pages_of_an_mlx4, good),
		cmocka_unit_test_setup(a_page_is_one_guests, good),
		cmocka_unit_test_setup(guest_frames_must_be_in_the_guests_window,
				       good),
		cmocka_unit_test(every_reason_has_a_text),
		cmocka_unit_test(requests_have_one_form),
		cmocka_unit_test(names_have_one_form),
		cmocka_unit_test(garbage_is_no_resource_file),
		cmocka_unit_test_setup(the_msix_table_is_found, good),
		cmocka_unit_test_setup(bad_configuration_space_is_refused, good),
		cmocka_unit_test(sysfs_is_read_as_a_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
