// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The doorbell agent's table: what is mapped is known at every moment, a
 * failing step undoes those before it, and what cannot be undone stays refused
 * to others. The hypervisor is a set of permissions here.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "tools/doorbelld/state.h"

#define MFN	0xe0100ull
#define GFN	0x100000ull

/* What the hypervisor knows of one frame, and what it was asked, in order. */
static struct {
	bool permitted, mapped;
	int fail_allow, fail_deny, fail_add, fail_remove, fail_save;
	char calls[32];		/* a: allow, d: deny, m: map, u: unmap, s */
	bool saved_first;	/* the frame was on file before any call */
	unsigned int saves;
} xen;

static struct dba_table table;

static void called(char c)
{
	size_t n = strlen(xen.calls);

	assert_true(n < sizeof(xen.calls) - 1);
	xen.calls[n] = c;
}

static int fake_iomem(void *ctx, unsigned int domid, uint64_t mfn, uint64_t nr,
		      bool allow)
{
	(void)ctx;
	assert_int_equal(domid, 5);
	assert_true(mfn == MFN && nr == 1);
	called(allow ? 'a' : 'd');
	if (allow ? xen.fail_allow : xen.fail_deny)
		return allow ? xen.fail_allow : xen.fail_deny;
	xen.permitted = allow;
	return 0;
}

static int fake_mapping(void *ctx, unsigned int domid, uint64_t gfn,
			uint64_t mfn, uint64_t nr, bool add)
{
	(void)ctx;
	assert_int_equal(domid, 5);
	assert_true(gfn == GFN && mfn == MFN && nr == 1);
	called(add ? 'm' : 'u');
	if (add ? xen.fail_add : xen.fail_remove)
		return add ? xen.fail_add : xen.fail_remove;
	if (!xen.permitted)
		return -EPERM;
	if (!add && !xen.mapped)
		return -EINVAL;
	xen.mapped = add;
	return 0;
}

static int fake_save(void *ctx, struct dba_map *maps)
{
	(void)ctx;
	xen.saves++;
	if (!xen.calls[0] && maps && maps->mfn == MFN)
		xen.saved_first = true;
	return xen.fail_save;
}

static const struct dba_ops ops = {
	.iomem = fake_iomem, .mapping = fake_mapping, .save = fake_save,
};

static struct dba_map want(bool translated)
{
	struct dba_map m = { .guest = 5, .devid = 2, .backend = 1, .slot = 7,
			     .mfn = MFN, .gfn = translated ? GFN : 0, .nr = 1,
			     .translated = translated, .uuid = { 1, 2, 0xff } };

	return m;
}

/* As the agent does it, for one. */
static enum dba_reason add(bool translated, int *err)
{
	struct dba_map m = want(translated), *noted;
	enum dba_reason r = dba_map_note(&table, &m, &noted);

	*err = 0;
	if (r)
		return r;
	*err = dba_map_save(&table);
	if (!*err)
		return dba_map_do(&table, noted, err);
	dba_map_drop(&table, noted);
	return DBA_STATE_FILE;
}

static enum dba_reason del(int *err)
{
	return dba_map_del(&table, 5, 2, 1, 7, err);
}

static int setup(void **state)
{
	(void)state;
	dba_map_free(&table);
	table = (struct dba_table){ .ops = &ops };
	memset(&xen, 0, sizeof(xen));
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	dba_map_free(&table);
	return 0;
}

static void translated_guest_gets_both(void **state)
{
	int err;

	(void)state;
	assert_int_equal(add(true, &err), DBA_OK);
	assert_string_equal(xen.calls, "am");
	assert_true(xen.saved_first && xen.mapped);
	assert_int_equal(del(&err), DBA_OK);
	assert_string_equal(xen.calls, "amaud");
	assert_true(!xen.mapped && !xen.permitted && !table.n);
}

static void pv_guest_gets_permission_only(void **state)
{
	const struct dba_req req = { .mfn = MFN, .nr = 1 };
	struct dba_live *live;
	size_t n;
	int err;

	(void)state;
	assert_int_equal(add(false, &err), DBA_OK);
	assert_string_equal(xen.calls, "a");
	assert_int_equal(del(&err), DBA_OK);
	assert_string_equal(xen.calls, "ad");
	/* its page tables are unknown: held, for itself only */
	assert_int_equal(table.n, 1);
	live = dba_map_live(&table, 5, &req, &n);
	assert_true(n == 1 && live[0].held && live[0].domid == 5 && live[0].mfn == MFN);
	free(live);
	assert_null(dba_map_find(&table, 5, 2, 1, 7));
	assert_int_equal(add(false, &err), DBA_OK);
	assert_int_equal(table.n, 1);
	assert_int_equal(del(&err), DBA_OK);
	assert_int_equal(dba_map_forget(&table, 5), 1);
	assert_int_equal(table.n, 0);
}

static void holding_follows_the_options(void **state)
{
	int err;

	(void)state;
	table.reuse = true;
	assert_int_equal(add(false, &err), DBA_OK);
	assert_int_equal(del(&err), DBA_OK);
	assert_int_equal(table.n, 0);
	table.reuse = false;
	table.hold_translated = true;
	assert_int_equal(add(true, &err), DBA_OK);
	assert_int_equal(del(&err), DBA_OK);
	assert_true(table.n == 1 && table.maps->held && !xen.mapped);
}

/* A utility domain serves dom0, too; the HCA must be dom0's to give away. */
static void control_domain_keeps_its_right(void **state)
{
	int err;

	(void)state;
	table.own = 5;
	xen.permitted = true;
	assert_int_equal(add(false, &err), DBA_OK);
	assert_int_equal(del(&err), DBA_OK);
	assert_string_equal(xen.calls, "");
	assert_true(xen.permitted && table.n == 0);
	assert_int_equal(add(true, &err), DBA_OK);
	assert_int_equal(del(&err), DBA_OK);
	assert_string_equal(xen.calls, "mu");
	assert_true(xen.permitted && table.n == 0);
}

static void slots_are_used_once(void **state)
{
	int err;

	(void)state;
	assert_int_equal(del(&err), DBA_NOT_MAPPED);
	assert_string_equal(xen.calls, "");
	assert_int_equal(add(true, &err), DBA_OK);
	assert_int_equal(add(true, &err), DBA_SLOT_BUSY);
	assert_string_equal(xen.calls, "am");
	assert_int_equal(dba_map_del(&table, 5, 2, 1, 8, &err), DBA_NOT_MAPPED);
	assert_int_equal(dba_map_del(&table, 5, 1, 1, 7, &err), DBA_NOT_MAPPED);
	assert_int_equal(dba_map_del(&table, 6, 2, 1, 7, &err), DBA_NOT_MAPPED);
	assert_int_equal(dba_map_del(&table, 5, 2, 3, 7, &err), DBA_NOT_MAPPED);
	assert_int_equal(del(&err), DBA_OK);
	assert_int_equal(del(&err), DBA_NOT_MAPPED);
}

static void failures_are_rolled_back(void **state)
{
	int err;

	(void)state;
	xen.fail_save = -ENOSPC;
	assert_int_equal(add(true, &err), DBA_STATE_FILE);
	assert_int_equal(err, -ENOSPC);
	assert_true(!xen.calls[0] && !table.n);
	setup(NULL);
	xen.fail_allow = -EPERM;
	assert_int_equal(add(true, &err), DBA_HYPERCALL);
	assert_int_equal(err, -EPERM);
	assert_true(!table.n && !xen.permitted);
	setup(NULL);
	xen.fail_add = -ENOMEM;
	assert_int_equal(add(true, &err), DBA_HYPERCALL);
	assert_int_equal(err, -ENOMEM);
	assert_string_equal(xen.calls, "amd");
	assert_true(!table.n && !xen.permitted);
}

static void what_cannot_be_undone_stays_known(void **state)
{
	const struct dba_req req = { .mfn = MFN, .nr = 1 };
	struct dba_live *live;
	size_t n;
	int err;

	(void)state;
	xen.fail_add = -ENOMEM;
	xen.fail_deny = -EIO;
	assert_int_equal(add(true, &err), DBA_HYPERCALL);
	assert_int_equal(table.n, 1);
	live = dba_map_live(&table, 5, &req, &n);
	assert_true(n == 1 && !live[0].held && live[0].mfn == MFN);
	free(live);
	xen.fail_deny = 0;	/* later it works; it never was mapped */
	assert_int_equal(del(&err), DBA_OK);
	assert_true(!table.n && !xen.permitted);
	setup(NULL);
	assert_int_equal(add(true, &err), DBA_OK);
	xen.fail_remove = -EBUSY;
	assert_int_equal(del(&err), DBA_HYPERCALL);
	assert_int_equal(del(&err), DBA_HYPERCALL);
	assert_true(table.n == 1 && xen.permitted && xen.mapped);
	xen.fail_remove = 0;
	xen.fail_deny = -EIO;
	assert_int_equal(del(&err), DBA_HYPERCALL);
	assert_true(table.n == 1 && !xen.mapped);
	xen.fail_deny = 0;
	assert_int_equal(del(&err), DBA_OK);
	assert_true(!table.n && !xen.permitted);
}

static void a_page_that_the_guest_replaced_is_gone(void **state)
{
	int err;

	(void)state;
	assert_int_equal(add(true, &err), DBA_OK);
	xen.mapped = false;
	assert_int_equal(del(&err), DBA_OK);
	assert_true(!table.n && !xen.permitted);
}

static void a_restart_knows_everything(void **state)
{
	char path[] = "doorbell-state-XXXXXX";
	struct dba_map m = want(true), *found;
	int fd, err;

	(void)state;
	fd = mkstemp(path);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(add(true, &err), DBA_OK);
	m.guest = 9;
	m.held = true;
	assert_non_null(dba_map_insert(&table, &m));
	assert_int_equal(dba_state_save(path, table.maps), 0);
	dba_map_free(&table);
	assert_int_equal(dba_state_load(path, &table), 0);
	assert_int_equal(table.n, 2);
	found = dba_map_find(&table, 5, 2, 1, 7);
	assert_non_null(found);
	m = want(true);
	assert_true(found->mfn == m.mfn && found->gfn == m.gfn &&
		    found->nr == 1 && found->backend == 1 &&
		    found->translated && !found->transit && !found->held);
	assert_memory_equal(found->uuid, m.uuid, DBA_UUID);
	assert_null(dba_map_find(&table, 9, 2, 1, 7));	/* held */
	dba_map_recover(&table);
	assert_true(table.n == 2 && xen.mapped);
	/* killed half way: undone, whichever call it was */
	found->transit = true;
	dba_map_recover(&table);
	assert_true(table.n == 1 && !xen.mapped && !xen.permitted);
	unlink(path);
	dba_map_free(&table);
	assert_int_equal(dba_state_load(path, &table), 0);	/* absent */
	assert_int_equal(table.n, 0);
}

/* A line is made once, and has its flags as they are each time. */
static void a_later_file_has_what_changed(void **state)
{
	static const bool flags[][2] = { { true, false }, { false, true },
					 { false, false }, { true, true } };
	char path[] = "doorbell-state-XXXXXX", text[256], has[16];
	struct dba_map m = want(true), *in;
	unsigned int i;
	FILE *f;
	int fd;

	(void)state;
	fd = mkstemp(path);
	assert_true(fd >= 0);
	close(fd);
	m.guest = 0x7fef;
	m.backend = 0x7fef;
	m.slot = UINT32_MAX;
	m.mfn = m.gfn = DBA_MAX_FRAME - 1;
	memset(m.uuid, 0xa5, sizeof(m.uuid));
	in = dba_map_insert(&table, &m);
	assert_non_null(in);
	for (i = 0; i < 4; i++) {
		size_t n;

		in->transit = flags[i][0];
		in->held = flags[i][1];
		assert_int_equal(dba_state_save(path, table.maps), 0);
		f = fopen(path, "re");
		assert_non_null(f);
		n = fread(text, 1, sizeof(text) - 1, f);
		fclose(f);
		text[n] = '\0';
		snprintf(has, sizeof(has), " 1%d%d a5a5", flags[i][0],
			 flags[i][1]);
		assert_non_null(strstr(text, has));
		dba_map_free(&table);
		assert_int_equal(dba_state_load(path, &table), 0);
		in = table.maps;
		assert_true(table.n == 1 && in->transit == flags[i][0] &&
			    in->held == flags[i][1] && in->slot == m.slot &&
			    in->mfn == m.mfn && in->gfn == m.gfn);
		assert_memory_equal(in->uuid, m.uuid, DBA_UUID);
		assert_int_equal(dba_state_save(path, table.maps), 0);
	}
	unlink(path);
	dba_map_free(&table);
}

static void a_damaged_file_is_refused(void **state)
{
#define HEAD	"xen-vhca-doorbelld 1\n"
#define ID	"00112233445566778899aabbccddeeff"
#define MAP	"map 5 2 1 7 0xe0100 0x100000 1 100 "
	static const char *const bad[] = {
		"", HEAD, "end\n", "xen-vhca-doorbelld 2\nend\n",
		HEAD MAP ID "\n", HEAD MAP ID "end\n", HEAD "junk\nend\n",
		HEAD MAP "0011\nend\n", HEAD MAP ID "00\nend\n",
		HEAD "map 5 2 1 7 0xe0100 0x100000 0 100 " ID "\nend\n",
		HEAD "map 5 2 1 7 0xe0100 0x100000 9 100 " ID "\nend\n",
		HEAD "map 40000 2 1 7 0xe0100 0x100000 1 100 " ID "\nend\n",
		HEAD "map 5 2 1 7 0xe0100 0x100000 1 10 " ID "\nend\n",
		HEAD MAP ID "\nend\nend\n",
	};
	char path[] = "doorbell-state-XXXXXX";
	FILE *f;
	size_t i;
	int fd;

	(void)state;
	fd = mkstemp(path);
	assert_true(fd >= 0);
	close(fd);
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		f = fopen(path, "w");
		assert_non_null(f);
		fputs(bad[i], f);
		fclose(f);
		assert_int_equal(dba_state_load(path, &table), -EINVAL);
		assert_int_equal(table.n, 0);
	}
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(HEAD MAP ID "\nend\n", f);
	fclose(f);
	assert_int_equal(dba_state_load(path, &table), 0);
	assert_int_equal(table.n, 1);
	unlink(path);
}

static void the_table_is_bounded(void **state)
{
	struct dba_map m = want(true);
	int err;

	(void)state;
	table.n = DBA_MAX_MAPS;
	assert_null(dba_map_insert(&table, &m));
	assert_int_equal(add(true, &err), DBA_MEMORY);
	table.n = 0;
}

/* What is held for a guest grows each time that it connects anew. */
static void a_guest_is_bounded(void **state)
{
	struct dba_map m = want(false), *noted;
	unsigned int i;
	int err;

	(void)state;
	m.held = true;
	for (i = 0; i < DBA_GUEST_MAPS; i++) {
		assert_non_null(dba_map_insert(&table, &m));
		m.mfn++;
	}
	assert_int_equal(add(false, &err), DBA_OK);	/* it gets one back */
	assert_int_equal(table.n, DBA_GUEST_MAPS);
	assert_int_equal(del(&err), DBA_OK);
	m = want(false);
	m.mfn += DBA_GUEST_MAPS;
	assert_int_equal(dba_map_note(&table, &m, &noted),
			 DBA_GUEST_FULL);
	assert_null(noted);
	m.guest = 6;					/* not this one's */
	assert_int_equal(dba_map_note(&table, &m, &noted), DBA_OK);
	assert_true(noted->transit && !noted->held);
}

static void the_file_is_written_for_a_change(void **state)
{
	int err;

	(void)state;
	assert_int_equal(dba_map_save(&table), 0);
	assert_int_equal(xen.saves, 0);
	assert_int_equal(add(true, &err), DBA_OK);
	assert_int_equal(xen.saves, 1);
	xen.fail_save = -ENOSPC;
	assert_int_equal(dba_map_save(&table), -ENOSPC);
	xen.fail_save = 0;
	assert_int_equal(dba_map_save(&table), 0);	/* again */
	assert_int_equal(dba_map_save(&table), 0);
	assert_int_equal(xen.saves, 3);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(translated_guest_gets_both),
		TEST(pv_guest_gets_permission_only),
		TEST(holding_follows_the_options),
		TEST(control_domain_keeps_its_right),
		TEST(slots_are_used_once),
		TEST(failures_are_rolled_back),
		TEST(what_cannot_be_undone_stays_known),
		TEST(a_page_that_the_guest_replaced_is_gone),
		TEST(a_restart_knows_everything),
		TEST(a_later_file_has_what_changed),
		TEST(a_damaged_file_is_refused),
		TEST(the_table_is_bounded),
		TEST(a_guest_is_bounded),
		TEST(the_file_is_written_for_a_change),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
