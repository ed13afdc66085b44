// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The doorbell agent over a xenstore in memory: what a backend gets for its
 * requests, and that pages go back when a guest, a device or the ownership of
 * the HCA ends, also across a restart of the agent.
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
#include <xen/io/vhcaif.h>
#include "clock.h"
#include "tests/fake/fake_xs.h"
#include "tools/doorbelld/agent.h"

#define BE	"/local/domain/1/backend/vhca/5/0"
#define DB	BE "/doorbell"
#define FE	"/local/domain/5/device/vhca/0"
#define LIBXL	"/libxl/5/device/vhca/0"
#define BE6	"/local/domain/1/backend/vhca/6/3"
#define DB6	BE6 "/doorbell"
#define LIBXL6	"/libxl/6/device/vhca/3"
#define PCI	"/local/domain/0/backend/pci/1/0"
#define BDF	"0000:00:05.0"
#define NONE	"0x0 0x0 0x0\n"

static char root[] = "doorbell-agent-XXXXXX";
static struct dba_agent a;
static int mapped, calls;		/* frames of guest 5; hypercalls */
static int mapped6;			/* frames of guest 6 */
static bool dead, pv;
static uint8_t uuid;
static struct {
	int calls, fail;
	unsigned int answered;		/* slots that had one then */
	uint64_t mfn[64];
	unsigned int n, in_transit;
} file;

static bool on_file(uint64_t mfn)
{
	unsigned int i = 0;

	while (i < file.n && file.mfn[i] != mfn)
		i++;
	return i < file.n;
}

static int fake_iomem(void *ctx, unsigned int domid, uint64_t mfn, uint64_t nr,
		      bool allow)
{
	(void)ctx;
	assert_true((domid == 5 || domid == 6) && nr == 1);
	assert_true(!allow || on_file(mfn));
	calls++;
	if (domid == 6)
		mapped6 += allow ? 1 : -1;
	else
		mapped += pv ? allow ? 1 : -1 : 0;
	return 0;
}

static int fake_mapping(void *ctx, unsigned int domid, uint64_t gfn,
			uint64_t mfn, uint64_t nr, bool add)
{
	(void)ctx;
	(void)mfn;
	assert_true(domid == 5 && nr == 1 && gfn >= 0x100000 && !pv);
	calls++;
	mapped += add ? 1 : -1;
	return 0;
}

static unsigned int asked;		/* about a domain: once a request */
static unsigned int late;		/* when the second guest asks, 0: never */

static int fake_domain(void *ctx, unsigned int domid, struct dba_domain *dom)
{
	(void)ctx;
	if (late && ++asked == late)
		fake_xs_set(DB6 "/0/request", "map 0xe0100 0x0 0x1");
	*dom = (struct dba_domain){ .alive = !dead && (domid == 5 ||
						       domid == 6),
				    .translated = !pv && domid == 5,
				    .uuid = { uuid } };
	return 0;
}

static const char *answer(unsigned int slot);

static int fake_save(void *ctx, const struct dba_map *maps)
{
	unsigned int slot;

	(void)ctx;
	file.calls++;
	if (file.fail)
		return file.fail;
	file.n = file.in_transit = file.answered = 0;
	for (; maps; maps = maps->next) {
		file.in_transit += maps->transit;
		if (file.n < 64)
			file.mfn[file.n++] = maps->mfn;
	}
	for (slot = 0; slot < 64; slot++)
		file.answered += answer(slot)[0] != '\0';
	return 0;
}

static const struct dba_ops ops = {
	.iomem = fake_iomem, .mapping = fake_mapping, .save = fake_save,
};

static void put(const char *name, const void *data, size_t len)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s/" BDF "/%s", root, name);
	f = fopen(path, "w");
	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, len, f), len);
	assert_int_equal(fclose(f), 0);
}

static const char *const files[] = { "vendor", "device", "resource", "config" };

static int make_sysfs(void **state)
{
	static const char bars[] = "0xe0000000 0xe1ffffff 0x200\n" NONE NONE
				   NONE NONE NONE;
	uint8_t cfg[256] = { 0 };
	char path[128];

	(void)state;
	if (!mkdtemp(root))
		return -1;
	snprintf(path, sizeof(path), "%s/" BDF, root);
	if (mkdir(path, 0700))
		return -1;
	put("vendor", "0x15b3\n", 7);
	put("device", "0x1013\n", 7);
	put("resource", bars, sizeof(bars) - 1);
	put("config", cfg, sizeof(cfg));
	return 0;
}

static int remove_sysfs(void **state)
{
	char path[128];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		snprintf(path, sizeof(path), "%s/" BDF "/%s", root, files[i]);
		unlink(path);
	}
	snprintf(path, sizeof(path), "%s/" BDF, root);
	return rmdir(path) || rmdir(root);
}

static void turn(void)
{
	int i = 0;

	do {
		assert_int_equal(dba_agent_events(&a), 0);
		dba_agent_work(&a);
	} while (++i < 2 || (a.wake_ns && a.wake_ns <= vl_now_ns()));
}

/* Guest 5, PVH, has a vhca of backend 1, which the HCA is passed through to. */
static int setup(void **state)
{
	(void)state;
	fake_xs_reset();
	fake_xs_set("/local/domain/1/name", "hcadom");
	fake_xs_set("/local/domain/2/name", "other");
	fake_xs_set(LIBXL "/backend", BE);
	fake_xs_set(LIBXL "/pci", BDF);
	fake_xs_set(PCI "/dev-0", BDF);
	fake_xs_set(FE "/doorbell-window", "0x100000 0x400");
	a = (struct dba_agent){ .sysfs = root, .rate = 100000,
				.domain = fake_domain,
				.table = { .ops = &ops } };
	dead = pv = false;
	uuid = 1;
	mapped = mapped6 = calls = 0;
	memset(&file, 0, sizeof(file));
	dba_log_level = LOG_EMERG;
	assert_int_equal(dba_agent_start(&a), 0);
	turn();
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	dba_agent_stop(&a);
	dba_map_free(&a.table);
	return 0;
}

/* Guest 6, PV: the same backend, the same HCA. */
static void second_guest(void)
{
	fake_xs_set(LIBXL6 "/backend", BE6);
	fake_xs_set(LIBXL6 "/pci", BDF);
	turn();
}

static void request_in(const char *dir, unsigned int slot, const char *text)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%u/answer", dir, slot);
	fake_xs_rm(path);
	snprintf(path, sizeof(path), "%s/%u/request", dir, slot);
	fake_xs_set(path, text);
}

static const char *answer_in(const char *dir, unsigned int slot)
{
	char path[128];
	const char *s;

	snprintf(path, sizeof(path), "%s/%u/answer", dir, slot);
	s = fake_xs_get(path);
	return s ? s : "";
}

static const char *ask_in(const char *dir, unsigned int slot, const char *text)
{
	request_in(dir, slot, text);
	turn();
	return answer_in(dir, slot);
}

static void request(unsigned int slot, const char *text)
{
	request_in(DB, slot, text);
}

static const char *answer(unsigned int slot)
{
	return answer_in(DB, slot);
}

static const char *ask(unsigned int slot, const char *text)
{
	return ask_in(DB, slot, text);
}

static void map_and_unmap_are_answered(void **state)
{
	(void)state;
	assert_string_equal(ask(3, "map 0xe0100 0x100000 0x1"), "mapped");
	assert_int_equal(mapped, 1);
	assert_string_equal(ask(3, "unmap"), "unmapped");
	assert_int_equal(mapped, 0);
	assert_string_equal(ask(3, "unmap"), "unmapped");	/* as wanted */
	assert_string_equal(ask(1023, "map 0xe0100 0x100000 0x1"), "mapped");
	assert_string_equal(ask(1024, "map 0xe0101 0x100001 0x1"), "");
	assert_string_equal(ask(4, "hello"), "refused request not understood");
	assert_string_equal(ask(4, "map 0x1000 0x100001 0x1"),
			    "refused not in a BAR of the HCA");
	assert_string_equal(ask(4, "map 0xe0100 0x100001 0x1"),
			    "refused mapped into this guest already");
	assert_int_equal(mapped, 1);
}

static void an_answered_request_is_done(void **state)
{
	int before;

	(void)state;
	assert_string_equal(ask(0, "map 0xe0100 0x100000 0x1"), "mapped");
	before = calls;
	fake_xs_set(DB "/0/request", "unmap");	/* answer still there */
	turn();
	assert_int_equal(calls, before);
	/* the answer got lost: said again, not done again */
	request(0, "map 0xe0100 0x100000 0x1");
	turn();
	assert_string_equal(answer(0), "mapped");
	assert_int_equal(calls, before);
	assert_string_equal(ask(0, "map 0xe0101 0x100000 0x1"),
			    "refused slot is in use, unmap first");
}

static void the_toolstack_has_the_say(void **state)
{
	(void)state;
	/* a domain asks that has no such device */
	fake_xs_set("/local/domain/2/backend/vhca/5/0/doorbell/0/request",
		    "map 0xe0100 0x100000 0x1");
	turn();
	assert_null(fake_xs_get("/local/domain/2/backend/vhca/5/0/doorbell/0/answer"));
	fake_xs_rm(PCI);	/* now dom0's own */
	assert_string_equal(ask(0, "map 0xe0100 0x100000 0x1"),
			    "refused the HCA is not assigned to this backend domain");
	fake_xs_set("/local/domain/0/backend/pci/2/0/dev-3", BDF);
	assert_string_equal(ask(0, "map 0xe0100 0x100000 0x1"),
			    "refused the HCA is not assigned to this backend domain");
	fake_xs_set(PCI "/dev-0", BDF);		/* two have it: unclear */
	assert_string_equal(ask(0, "map 0xe0100 0x100000 0x1"),
			    "refused the HCA is not assigned to this backend domain");
	fake_xs_rm(LIBXL "/pci");
	assert_string_equal(ask(0, "map 0xe0100 0x100000 0x1"),
			    "refused the toolstack named no PCI device for this vhca");
	fake_xs_set(LIBXL "/pci", "../../../../etc/x");
	assert_string_equal(ask(0, "map 0xe0100 0x100000 0x1"),
			    "refused the toolstack named no PCI device for this vhca");
	assert_int_equal(calls, 0);
}

/* libxl may leave the nodes of a utility domain that was destroyed. */
static void dead_owners_do_not_count(void **state)
{
	(void)state;
	fake_xs_set("/local/domain/0/backend/pci/2/0/dev-3", BDF);
	fake_xs_rm("/local/domain/2");
	assert_string_equal(ask(0, "map 0xe0100 0x100000 0x1"), "mapped");
	fake_xs_rm("/local/domain/1/name");
	assert_string_equal(ask(1, "map 0xe0101 0x100001 0x1"),
			    "refused the HCA is not assigned to this backend domain");
}

static void the_guest_has_the_say_about_its_memory(void **state)
{
	(void)state;
	assert_string_equal(ask(0, "map 0xe0100 0x1000 0x1"),
			    "refused guest frame outside of the guest's window");
	fake_xs_rm(FE "/doorbell-window");
	assert_string_equal(ask(0, "map 0xe0100 0x100000 0x1"),
			    "refused the guest published no window for doorbells");
	pv = true;
	assert_string_equal(ask(0, "map 0xe0100 0x100000 0x1"),
			    "refused a PV guest has no guest frame (gfn must be 0x0)");
	assert_string_equal(ask(0, "map 0xe0100 0x0 0x1"), "mapped");
	assert_int_equal(mapped, 1);
}

static void pages_go_back(void **state)
{
	(void)state;
	assert_string_equal(ask(0, "map 0xe0100 0x100000 0x1"), "mapped");
	fake_xs_rm(DB "/0");
	turn();
	assert_int_equal(mapped, 0);
	assert_string_equal(ask(0, "map 0xe0100 0x100000 0x1"), "mapped");
	fake_xs_rm(BE);
	turn();
	assert_int_equal(mapped, 0);
	assert_string_equal(ask(0, "map 0xe0100 0x100000 0x1"), "mapped");
	fake_xs_rm(PCI);		/* the HCA is taken from the backend */
	turn();
	assert_int_equal(mapped, 0);
	fake_xs_set(PCI "/dev-0", BDF);
	assert_string_equal(ask(0, "map 0xe0100 0x100000 0x1"), "mapped");
	fake_xs_rm(LIBXL);		/* detach */
	turn();
	assert_int_equal(mapped, 0);
	assert_int_equal(a.table.n, 0);
	assert_null(a.devs);
}

static void a_dead_guest_is_forgotten(void **state)
{
	int before;

	(void)state;
	assert_string_equal(ask(0, "map 0xe0100 0x100000 0x1"), "mapped");
	before = calls;
	dead = true;
	fake_xs_set("@releaseDomain", "");
	turn();
	assert_int_equal(a.table.n, 0);
	assert_int_equal(calls, before);	/* Xen did it */
	assert_string_equal(ask(1, "map 0xe0100 0x100000 0x1"),
			    "refused the guest is gone");
	dead = false;
	assert_string_equal(ask(1, "map 0xe0100 0x100000 0x1"), "mapped");
	uuid = 2;				/* the number is used again */
	fake_xs_set("@releaseDomain", "");
	turn();
	assert_int_equal(a.table.n, 0);
}

static void a_restarted_agent_goes_on(void **state)
{
	int before;

	(void)state;
	assert_string_equal(ask(0, "map 0xe0100 0x100000 0x1"), "mapped");
	before = calls;
	dba_agent_stop(&a);
	a.devs = NULL;
	/* meanwhile: one request more, and the answer of the first is lost */
	request(0, "map 0xe0100 0x100000 0x1");
	request(1, "map 0xe0101 0x100001 0x1");
	assert_int_equal(dba_agent_start(&a), 0);
	turn();
	assert_string_equal(answer(0), "mapped");
	assert_string_equal(answer(1), "mapped");
	assert_int_equal(calls, before + 2);
	assert_int_equal(mapped, 2);
	/* a mapping whose device went while no agent ran */
	dba_agent_stop(&a);
	fake_xs_rm(LIBXL);
	assert_int_equal(dba_agent_start(&a), 0);
	turn();
	assert_int_equal(mapped, 0);
}

static void a_page_is_one_guests(void **state)
{
	(void)state;
	second_guest();
	assert_string_equal(ask(0, "map 0xe0100 0x100000 0x1"), "mapped");
	assert_string_equal(ask_in(DB6, 0, "map 0xe0100 0x0 0x1"),
			    "refused mapped into another guest");
	assert_string_equal(ask_in(DB6, 0, "map 0xe0101 0x0 0x1"), "mapped");
	assert_string_equal(ask(1, "map 0xe0101 0x100001 0x1"),
			    "refused mapped into another guest");
	/* its page tables may have it after an unmap, too */
	assert_string_equal(ask_in(DB6, 0, "unmap"), "unmapped");
	assert_string_equal(ask(1, "map 0xe0101 0x100001 0x1"),
			    "refused was mapped into another guest that still runs");
	assert_string_equal(ask_in(DB6, 1, "map 0xe0101 0x0 0x1"), "mapped");
	/* not so those of a guest whose frames Xen translates */
	assert_string_equal(ask(0, "unmap"), "unmapped");
	assert_string_equal(ask_in(DB6, 2, "map 0xe0100 0x0 0x1"), "mapped");
	assert_true(mapped == 0 && mapped6 == 2);
}

static void a_device_is_one_guests(void **state)
{
	(void)state;
	second_guest();
	/* the id of the other guest's device, on either side */
	assert_string_equal(ask_in("/local/domain/1/backend/vhca/5/3/doorbell",
				   0, "map 0xe0100 0x100000 0x1"), "");
	assert_string_equal(ask_in("/local/domain/1/backend/vhca/6/0/doorbell",
				   0, "map 0xe0100 0x0 0x1"), "");
	/* the toolstack's node of one names the other's backend nodes */
	fake_xs_set(LIBXL6 "/backend", BE);
	turn();
	assert_string_equal(ask_in(DB6, 0, "map 0xe0100 0x0 0x1"), "");
	assert_int_equal(calls, 0);
	assert_string_equal(ask(0, "map 0xe0100 0x100000 0x1"), "mapped");
}

static void long_requests_are_not_understood(void **state)
{
	char text[3000];

	(void)state;
	memset(text, '0', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	memcpy(text, "map 0xe0100 0x100000 0x1", 24);
	assert_string_equal(ask(0, text), "refused request not understood");
	assert_string_equal(ask(1, ""), "refused request not understood");
	assert_string_equal(ask(2, "map \001\033[2J 0x0 0x1"),
			    "refused request not understood");
	assert_int_equal(calls, 0);
}

/* The agent anew, which lets through a burst and then one request a second. */
static void slow_agent(void)
{
	dba_agent_stop(&a);
	a.rate = 1;
	assert_int_equal(dba_agent_start(&a), 0);
	turn();
}

static void a_flood_is_the_floods_own(void **state)
{
	unsigned int slot, i;

	(void)state;
	second_guest();
	slow_agent();
	for (i = 0; i < 3; i++) {
		for (slot = 0; slot < 1000; slot++)
			request(slot, "map 0x1000 0x100000 0x1");
		turn();
		assert_string_equal(ask_in(DB6, i, "unmap"), "unmapped");
	}
	assert_string_equal(ask_in(DB6, 3, "map 0xe0100 0x0 0x1"), "mapped");
	assert_string_equal(answer(999), "");
	assert_int_equal(mapped6, 1);
}

static void a_flood_waits(void **state)
{
	unsigned int slot, answered = 0;

	(void)state;
	slow_agent();
	for (slot = 0; slot < 2 * DBA_BURST; slot++)
		request(slot, "unmap");
	turn();
	for (slot = 0; slot < 2 * DBA_BURST; slot++)
		answered += answer(slot)[0] != '\0';
	assert_true(answered > DBA_BURST / 2 && answered <= DBA_BURST);
	assert_true(a.wake_ns > vl_now_ns());
}

/* On file before the first hypercall (fake_iomem() looks), and nobody is told
 * before the result is there, too. */
static void a_pass_is_written_as_a_whole(void **state)
{
	unsigned int slot, i;
	char text[64];

	(void)state;
	for (i = 0; i < 2; i++) {
		for (slot = 0; slot < 10; slot++) {
			snprintf(text, sizeof(text), "map 0x%x 0x%x 0x1",
				 0xe0100 + slot, 0x100000 + slot);
			request(slot, i ? "unmap" : text);
		}
		file.calls = 0;
		turn();
		assert_in_range(file.calls, 1, 2);
		assert_int_equal(file.answered, 0);
		assert_int_equal(file.in_transit, 0);
		assert_int_equal(file.n, i ? 0 : 10);
		for (slot = 0; slot < 10; slot++)
			assert_string_equal(answer(slot),
					    i ? "unmapped" : "mapped");
	}
	file.calls = 0;
	turn();
	assert_int_equal(file.calls, 0);
}

/* A device with many pages goes. */
static void pages_go_back_in_one_write(void **state)
{
	unsigned int slot;
	char text[64];

	(void)state;
	for (slot = 0; slot < 10; slot++) {
		snprintf(text, sizeof(text), "map 0x%x 0x%x 0x1",
			 0xe0100 + slot, 0x100000 + slot);
		assert_string_equal(ask(slot, text), "mapped");
	}
	file.calls = 0;
	fake_xs_rm(LIBXL);
	turn();
	assert_int_equal(mapped, 0);
	assert_true(file.calls == 1 && !file.n);
}

static void what_is_not_on_file_is_not_done(void **state)
{
	(void)state;
	file.fail = -ENOSPC;
	request(1, "map 0xe0101 0x100001 0x1");
	assert_string_equal(ask(0, "map 0xe0100 0x100000 0x1"),
			    "refused agent cannot write its state file");
	assert_string_equal(answer(1),
			    "refused agent cannot write its state file");
	assert_true(!calls && !a.table.n);
	file.fail = 0;
	assert_string_equal(ask(0, "map 0xe0100 0x100000 0x1"), "mapped");
}

/* Reconnects of a PV guest hold more and more. */
static void a_guest_has_so_many_pages(void **state)
{
	struct dba_map held = { .guest = 6, .devid = 3, .backend = 1, .nr = 1,
				.mfn = 0xe0800, .held = true, .uuid = { 1 } };

	(void)state;
	second_guest();
	for (; held.mfn < 0xe0800 + 2048; held.mfn++)
		assert_non_null(dba_map_insert(&a.table, &held));
	assert_string_equal(ask_in(DB6, 0, "map 0xe0100 0x0 0x1"),
			    "refused the guest has all pages that one may have, mapped or held until it ends");
	assert_string_equal(ask_in(DB6, 1, "map 0xe0800 0x0 0x1"), "mapped");
	assert_string_equal(ask(0, "map 0xe0100 0x100000 0x1"), "mapped");
}

static void devices_take_turns(void **state)
{
	unsigned int slot, answered = 0;

	(void)state;
	second_guest();
	for (slot = 0; slot < 200; slot++)
		request(slot, "unmap");
	request_in(DB6, 0, "map 0xe0100 0x0 0x1");
	assert_int_equal(dba_agent_events(&a), 0);
	dba_agent_work(&a);
	assert_string_equal(answer_in(DB6, 0), "mapped");
	for (slot = 0; slot < 200; slot++)
		answered += answer(slot)[0] != '\0';
	assert_in_range(answered, 1, 32);
	turn();
	assert_string_equal(answer(199), "unmapped");
}

/* A request that comes while another device has its turn ends that. */
static void a_turn_ends_when_others_come(void **state)
{
	unsigned int slot, answered = 0;

	(void)state;
	second_guest();
	turn();
	for (slot = 0; slot < 14; slot++)
		request(slot, "map 0x1000 0x100000 0x1");
	assert_int_equal(dba_agent_events(&a), 0);
	asked = 0;
	late = 3;
	dba_agent_work(&a);
	late = 0;
	for (slot = 0; slot < 14; slot++)
		answered += answer(slot)[0] != '\0';
	assert_int_equal(answered, 3);
	dba_agent_work(&a);
	assert_string_equal(answer_in(DB6, 0), "mapped");
	turn();
	assert_string_equal(answer(13), "refused not in a BAR of the HCA");
}

static void a_dry_run_answers_nothing(void **state)
{
	(void)state;
	a.dry_run = true;
	assert_string_equal(ask(0, "map 0xe0100 0x100000 0x1"), "");
	assert_string_equal(ask(1, "map 0x1 0x100000 0x1"), "");
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(map_and_unmap_are_answered),
		TEST(an_answered_request_is_done),
		TEST(the_toolstack_has_the_say),
		TEST(dead_owners_do_not_count),
		TEST(the_guest_has_the_say_about_its_memory),
		TEST(pages_go_back),
		TEST(a_dead_guest_is_forgotten),
		TEST(a_restarted_agent_goes_on),
		TEST(a_page_is_one_guests),
		TEST(a_device_is_one_guests),
		TEST(long_requests_are_not_understood),
		TEST(a_flood_is_the_floods_own),
		TEST(a_flood_waits),
		TEST(a_pass_is_written_as_a_whole),
		TEST(pages_go_back_in_one_write),
		TEST(what_is_not_on_file_is_not_done),
		TEST(a_guest_has_so_many_pages),
		TEST(devices_take_turns),
		TEST(a_turn_ends_when_others_come),
		TEST(a_dry_run_answers_nothing),
	};

	return cmocka_run_group_tests(tests, make_sysfs, remove_sysfs);
}
