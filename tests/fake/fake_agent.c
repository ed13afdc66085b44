// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The control domain of tests of the doorbell agent (fake_agent.h).
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>
#include "clock.h"
#include "fake_agent.h"
#include "fake_xs.h"
#include "vhca-agent.h"
#include <xen/io/vhcaif.h>

static char root[] = "doorbell-agent-XXXXXX";
struct host host;

/* Which number a slot's last request had. */
static struct {
	char dir[80];
	unsigned int slot, n;
} asks[256];
static unsigned int n_asks, number;
static bool listed;			/* what is asked now belongs to the list before */

static void asks_reset(void)
{
	n_asks = number = 0;
	listed = false;
}

static bool on_file(uint64_t mfn)
{
	unsigned int i = 0;

	while (i < host.file.n && host.file.mfn[i] != mfn)
		i++;
	return i < host.file.n;
}

static bool is_guest(unsigned int domid)
{
	return domid >= 5 && domid < 5 + HOST_GUESTS;
}

static int fake_iomem(void *ctx, unsigned int domid, uint64_t mfn, uint64_t nr,
		      bool allow)
{
	(void)ctx;
	assert_true(is_guest(domid) && nr == 1);
	assert_true(!allow || on_file(mfn));
	host.calls++;
	if (domid != 5)
		host.mapped6 += allow ? 1 : -1;
	else
		host.mapped += host.pv ? allow ? 1 : -1 : 0;
	return 0;
}

static int fake_mapping(void *ctx, unsigned int domid, uint64_t gfn,
			uint64_t mfn, uint64_t nr, bool add)
{
	(void)ctx;
	(void)mfn;
	assert_true(domid == 5 && nr == 1 && gfn >= 0x100000 && !host.pv);
	host.calls++;
	host.mapped += add ? 1 : -1;
	return 0;
}

static int fake_domain(void *ctx, unsigned int domid, struct dba_domain *dom)
{
	(void)ctx;
	host.about++;
	if (host.late && ++host.asked == host.late)
		host.come();
	*dom = (struct dba_domain){ .alive = !host.dead && is_guest(domid),
				    .translated = !host.pv && domid == 5,
				    .uuid = { host.uuid } };
	return 0;
}

static int fake_save(void *ctx, struct dba_map *maps)
{
	unsigned int slot;

	(void)ctx;
	host.file.calls++;
	if (host.file.fail)
		return host.file.fail;
	host.file.n = host.file.in_transit = host.file.answered = 0;
	for (; maps; maps = maps->next) {
		host.file.in_transit += maps->transit;
		if (host.file.n < HOST_MAPS)
			host.file.mfn[host.file.n++] = maps->mfn;
	}
	for (slot = 0; slot < 16 && !host.file.short_form; slot++)
		host.file.answered += host_answer(slot)[0] != '\0';
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

int host_make_sysfs_of(unsigned int mib)
{
	uint8_t cfg[256] = { 0 };
	char path[128], bars[256];
	int n;

	n = snprintf(bars, sizeof(bars), "0xe0000000 %#x 0x200\n" NONE NONE NONE
		     NONE NONE, 0xe0000000 + (mib << 20) - 1);
	if (!mkdtemp(root))
		return -1;
	snprintf(path, sizeof(path), "%s/" BDF, root);
	if (mkdir(path, 0700))
		return -1;
	put("vendor", "0x15b3\n", 7);
	put("device", "0x1013\n", 7);
	put("resource", bars, (size_t)n);
	put("config", cfg, sizeof(cfg));
	return 0;
}

int host_make_sysfs(void **state)
{
	(void)state;
	return host_make_sysfs_of(32);
}

int host_remove_sysfs(void **state)
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

void host_turn(void)
{
	int i = 0;

	listed = false;
	do {
		assert_int_equal(dba_agent_events(&host.a), 0);
		dba_agent_work(&host.a);
	} while (++i < 2 || (host.a.wake_ns && host.a.wake_ns <= vl_now_ns()));
}

void host_pass(void (*come)(void), unsigned int late)
{
	assert_int_equal(dba_agent_events(&host.a), 0);
	host.asked = 0;
	host.come = come;
	host.late = late;
	dba_agent_work(&host.a);
	host.late = 0;
}

/* Guest 5, PVH, has a vhca of backend 1, which the HCA is passed through to. */
int host_setup(void **state)
{
	(void)state;
	fake_xs_reset();
	asks_reset();
	fake_xs_set("/local/domain/1/name", "hcadom");
	fake_xs_set("/local/domain/2/name", "other");
	fake_xs_set(LIBXL "/backend", BE);
	fake_xs_set(LIBXL "/pci", BDF);
	fake_xs_set(PCI "/dev-0", BDF);
	fake_xs_set(FE "/doorbell-window", "0x100000 0x400");
	/* a rate that no machine reaches: its own test sets another one */
	host.a = (struct dba_agent){ .sysfs = root, .rate = 1000000000,
				.domain = fake_domain,
				.table = { .ops = &ops } };
	host.dead = host.pv = false;
	host.uuid = 1;
	host.mapped = host.mapped6 = host.calls = 0;
	memset(&host.file, 0, sizeof(host.file));
	dba_log_level = LOG_EMERG;
	assert_int_equal(dba_agent_start(&host.a), 0);
	host_turn();
	return 0;
}

int host_teardown(void **state)
{
	(void)state;
	dba_agent_stop(&host.a);
	dba_map_free(&host.a.table);
	return 0;
}

/* PV: the same backend, the same HCA. */
void host_more_guests(unsigned int i)
{
	char path[128], back[128];

	snprintf(back, sizeof(back), "/local/domain/1/backend/vhca/%u/3", 5 + i);
	snprintf(path, sizeof(path), "/libxl/%u/device/vhca/3/backend", 5 + i);
	fake_xs_set(path, back);
	snprintf(path, sizeof(path), "/libxl/%u/device/vhca/3/pci", 5 + i);
	fake_xs_set(path, BDF);
	host_turn();
}

void host_second_guest(void)
{
	host_more_guests(1);
}

static unsigned int *number_of(const char *dir, unsigned int slot)
{
	unsigned int i = 0;

	while (i < n_asks && (asks[i].slot != slot || strcmp(asks[i].dir, dir)))
		i++;
	assert_true(i < sizeof(asks) / sizeof(asks[0]));
	if (i == n_asks) {
		snprintf(asks[i].dir, sizeof(asks[i].dir), "%s", dir);
		asks[i].slot = slot;
		asks[n_asks++].n = 0;
	}
	return &asks[i].n;
}

void host_request_in(const char *dir, unsigned int slot, const char *text)
{
	unsigned int *n = number_of(dir, slot);
	char path[128], list[4096];
	const char *before;

	snprintf(path, sizeof(path), "%s/" XENVHCA_NODE_DOORBELL_REQUESTS, dir);
	before = listed ? fake_xs_get(path) : NULL;
	*n = ++number;
	snprintf(list, sizeof(list), "%s%s%u %u %s", before ? before : "",
		 before ? ";" : "", *n, slot, text);
	fake_xs_set(path, list);
	listed = true;
}

const char *host_answer_in(const char *dir, unsigned int slot)
{
	unsigned int n = *number_of(dir, slot);
	const char *refused = host_listed_in(dir, 0);

	return !n || refused[0] ? refused : host_listed_in(dir, n);
}

const char *host_ask_in(const char *dir, unsigned int slot, const char *text)
{
	host_request_in(dir, slot, text);
	host_turn();
	return host_answer_in(dir, slot);
}

void host_request(unsigned int slot, const char *text)
{
	host_request_in(DB, slot, text);
}

const char *host_answer(unsigned int slot)
{
	return host_answer_in(DB, slot);
}

const char *host_ask(unsigned int slot, const char *text)
{
	return host_ask_in(DB, slot, text);
}

const char *host_list_in(const char *dir, const char *requests)
{
	const char *answers;
	char path[128];

	snprintf(path, sizeof(path), "%s/" XENVHCA_NODE_DOORBELL_REQUESTS, dir);
	fake_xs_set(path, requests);
	host_turn();
	snprintf(path, sizeof(path), "%s/" XENVHCA_NODE_DOORBELL_ANSWERS, dir);
	answers = fake_xs_get(path);
	return answers ? answers : "";
}

const char *host_list(const char *requests)
{
	return host_list_in(DB, requests);
}

const char *host_listed_in(const char *dir, unsigned int n)
{
	static char text[128];
	const char *s;
	char path[128];
	size_t len;

	snprintf(path, sizeof(path), "%s/" XENVHCA_NODE_DOORBELL_ANSWERS, dir);
	len = (size_t)snprintf(text, sizeof(text), "%u ", n);
	for (s = fake_xs_get(path); s; s = strchr(s, ';')) {
		s += *s == ';';
		if (strncmp(s, text, len))
			continue;
		snprintf(text, sizeof(text), "%.*s",
			 (int)(strcspn(s, ";") - len), s + len);
		return text;
	}
	return "";
}
