// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The checks of vhcactl check of the host: Xen, kernel, modules, daemons, grant
 * tables, memory. They read sysfs, /proc and the output of xl info; a driver domain
 * does not see all of them.
 */
#include <glob.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "check.h"
#include "host/maptrack.h"
#include "host/paths.h"
#include "vhca-keys.h"

#define GNTDEV		"/dev/xen/gntdev"
#define EVTCHN		"/dev/xen/evtchn"
#define GNTDEV_LOW	1024	/* pages; less makes many small mappings */
#define DEF_FRAMES	64	/* Xen's defaults */
/* A guest's module leaves an eighth of 512 to other devices (frontend/ring/grant.c). */
#define GRANTS_PER_FRAME 448
/* Lists of references of the largest region take 19; the rest is for rings. */
#define SPARE_FRAMES	32
#define HELPER_GRANTS	"/sys/kernel/debug/xen-vhca-helper/grants"
#define BALLOON_KB	1024	/* less is no ballooning */
#define TABLES_SIZE	4096	/* names of nft's tables */

void check_xen(struct check *k)
{
	char type[16], domain[16], major[16], minor[16];
	unsigned long ma, mi;

	if (check_read(k, type, sizeof(type), "/sys/hypervisor/type") ||
	    strcmp(type, "xen")) {
		check_say(k, CHECK_FAIL, "xen",
			  "boot this system on Xen 4.17 or later",
			  "this is no Xen domain");
		return;
	}
	k->xen = true;
	check_read(k, domain, sizeof(domain), "/sys/hypervisor/guest_type");
	check_read(k, major, sizeof(major), "/sys/hypervisor/version/major");
	check_read(k, minor, sizeof(minor), "/sys/hypervisor/version/minor");
	ma = strtoul(major, NULL, 10);
	mi = strtoul(minor, NULL, 10);
	check_say(k, ma > 4 || mi >= 17 ? CHECK_OK : CHECK_WARN, "xen",
		  ma > 4 || mi >= 17 ? NULL : "use Xen 4.17 or later",
		  "Xen %lu.%lu, %s %s domain", ma, mi, domain,
		  k->control ? "control" : "driver");
	if (k->own >= 0)
		check_ok(k, "xenstore", "domain %d", k->own);
	else
		check_say(k, CHECK_FAIL, "xenstore", k->control ?
			  "systemctl start xenstored, and run this as root" :
			  "modprobe xenfs, and run this as root",
			  "cannot be reached");
}

/* libibverbs.so.1.14.44.0 is of rdma-core 44; the newest one, 0 for none. */
static unsigned long rdma_core(const struct check *k)
{
	static const char *const dirs[] = { "/usr/lib/*", "/usr/lib64",
					    "/usr/lib", "/lib/*" };
	unsigned long v, newest = 0;
	char pattern[PATH_MAX];
	glob_t g;
	size_t i, n;

	for (i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++) {
		snprintf(pattern, sizeof(pattern),
			 "%s%s/libibverbs.so.1.*.*.*", k->c->root, dirs[i]);
		if (glob(pattern, 0, NULL, &g))
			continue;
		for (n = 0; n < g.gl_pathc; n++)
			if (sscanf(strstr(g.gl_pathv[n], ".so.1."),
				   ".so.1.%*u.%lu.", &v) == 1 && v > newest)
				newest = v;
		globfree(&g);
	}
	return newest;
}

void check_versions(struct check *k)
{
	unsigned int major = 0, minor = 0;
	unsigned long v = rdma_core(k);
	char text[128];
	bool good;

	check_read(k, text, sizeof(text), "/proc/sys/kernel/osrelease");
	good = sscanf(text, "%u.%u", &major, &minor) == 2 &&
	       (major > 6 || (major == 6 && minor >= 1));
	check_say(k, good ? CHECK_OK : CHECK_WARN, "kernel",
		  good ? NULL : "use Linux 6.1 or later", "Linux %s", text);
	if (v)
		check_ok(k, "rdma-core", "version %lu", v);
	else
		check_ok(k, "rdma-core", "not installed; only guests need it");
}

static void module(struct check *k, const char *name, const char *sys,
		   const char *other)
{
	char mend[64];

	if (check_exists(k, sys) || check_exists(k, other)) {
		check_ok(k, name, "loaded");
		return;
	}
	if (!k->n_hca) {
		check_ok(k, name, "not loaded, and not needed without an RDMA device here");
		return;
	}
	snprintf(mend, sizeof(mend), "modprobe %s", name);
	check_say(k, CHECK_FAIL, name, mend, "the kernel module is not loaded");
}

void check_modules(struct check *k)
{
	module(k, "ib_uverbs", "/sys/module/ib_uverbs",
	       "/sys/class/infiniband_verbs");
	module(k, "xen-gntdev", "/sys/module/xen_gntdev", GNTDEV);
	module(k, "xen-evtchn", "/sys/module/xen_evtchn", EVTCHN);
	module(k, "xen-vhca-helper", "/sys/module/xen_vhca_helper",
	       "/dev/xen/vhca-helper");
}

void check_daemon(struct check *k)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/supervisor.lock", k->c->run_dir);
	if (ctl_locked(k->c, path))
		check_ok(k, "xen-vhcad", "running");
	else if (!k->n_hca)
		check_ok(k, "xen-vhcad", "not running, and not needed without an RDMA device here");
	else
		check_say(k, CHECK_FAIL, "xen-vhcad",
			  "systemctl enable --now xen-vhcad, journalctl -u xen-vhcad",
			  "not running: no device of this domain connects");
}

void check_agent(struct check *k)
{
	static const char name[] = "xen-vhca-doorbelld";
	const struct ctl_dev *d;
	char path[PATH_MAX], bdf[CTL_BDF];
	bool needed = k->n_hw;

	if (!k->control) {
		check_ok(k, name, "runs in the control domain: vhcactl check there");
		return;
	}
	for (d = k->devs; d < k->devs + k->n_devs; d++)
		needed |= ctl_pci_recorded(k->c, d, bdf);
	snprintf(path, sizeof(path), "%s/lock", k->c->agent_dir);
	if (ctl_locked(k->c, path))
		check_ok(k, name, "running");
	else if (needed)
		check_say(k, CHECK_FAIL, name,
			  "systemctl enable --now xen-vhca-doorbelld",
			  "not running: guests of hardware HCAs get no doorbells");
	else
		check_ok(k, name, "not running, and not needed without a hardware HCA");
}

void check_gntdev(struct check *k)
{
	char text[32];
	unsigned long v;

	if (check_read(k, text, sizeof(text), HOST_GNTDEV_LIMIT)) {
		check_ok(k, "gntdev-limit", "not visible");
		return;
	}
	v = strtoul(text, NULL, 10);
	if (v >= GNTDEV_LOW)
		check_ok(k, "gntdev-limit",
			 "%lu pages in one mapping (longer ones are made in pieces)", v);
	else
		check_say(k, CHECK_WARN, "gntdev-limit",
			  "echo 65536 > " HOST_GNTDEV_LIMIT,
			  "%lu pages in one mapping: registrations are slow",
			  v);
}

/* Memory that the devices of this domain may pin, and the largest of one device. */
static void pinned(const struct check *k, uint64_t *sum_mb, uint64_t *most_mb)
{
	const struct ctl_key *key = &ctl_keys[CTL_MAX_PINNED_MB];
	const struct ctl_dev *d;
	uint32_t v;

	*sum_mb = *most_mb = 0;
	for (d = k->devs; d < k->devs + k->n_devs; d++) {
		v = key->def;
		xn_read_u32_def(k->c->xs, XBT_NULL, d->be, key->name, key->min, key->max,
				key->def, &v);
		*sum_mb += check_mine(k, d) ? v : 0;
		*most_mb = v > *most_mb ? v : *most_mb;
	}
}

/* Xen's limit of a domain's maptrack table, wherever it is set. */
struct maptrack {
	const char *name, *where, *note;
	uint32_t frames;
};

static void maptrack(struct check *k, const struct maptrack *t, uint64_t sum_mb)
{
	uint64_t mb = host_maptrack_mb(t->frames, k->pv);
	uint64_t need = host_maptrack_need(sum_mb, k->pv);
	char mend[128];

	snprintf(mend, sizeof(mend),
		 "%s=%" PRIu64 " %s, --maptrack-frames=%" PRIu64 " of xen-vhcad",
		 t->name, need, t->where, need);
	if (sum_mb > mb)
		check_say(k, CHECK_WARN, t->name, mend,
			  "%" PRIu32 ": devices of this domain may map %" PRIu64 " MiB of guests, max-pinned-mb of all is %" PRIu64 ": xen-vhcad refuses some",
			  t->frames, mb, sum_mb);
	else
		check_ok(k, t->name,
			 "%" PRIu32 ": devices of this domain may map %" PRIu64 " MiB of guests, max-pinned-mb of all is %" PRIu64 "%s",
			 t->frames, mb, sum_mb, t->note);
}

/* The default of max-pinned-mb is no request of the operator for so much memory. */
static void grant_frames(struct check *k, uint32_t frames, uint64_t most_mb)
{
	uint64_t mb = (uint64_t)frames * GRANTS_PER_FRAME / HOST_PAGES_PER_MB;
	uint64_t pages = most_mb * HOST_PAGES_PER_MB;
	uint64_t need = (pages + GRANTS_PER_FRAME - 1) / GRANTS_PER_FRAME +
			SPARE_FRAMES;
	char mend[160];

	snprintf(mend, sizeof(mend),
		 "gnttab_max_frames=%" PRIu64 " on Xen's command line and max_grant_frames in the guest's configuration",
		 need);
	if (most_mb > mb && most_mb > ctl_keys[CTL_MAX_PINNED_MB].def)
		check_say(k, CHECK_WARN, "gnttab_max_frames", mend,
			  "%" PRIu32 ": a guest can register %" PRIu64 " MiB at most, a device may use %" PRIu64 " MiB",
			  frames, mb, most_mb);
	else
		check_ok(k, "gnttab_max_frames",
			 "%" PRIu32 ": a guest can register %" PRIu64 " MiB at most (its max_grant_frames may be lower)",
			 frames, mb);
}

/* The domain's own limit is not visible in it, only the daemon's option. */
static void utility_grants(struct check *k, uint64_t sum_mb)
{
	struct maptrack t = {
		.name = "max_maptrack_frames",
		.where = "in this domain's configuration",
		.note = " (as xen-vhcad was told; this domain's configuration must have it too)",
		.frames = check_told_frames(k),
	};
	char pages[32];

	maptrack(k, &t, sum_mb);
	if (k->n_hca == k->n_hw)
		return;
	if (check_read(k, pages, sizeof(pages), HELPER_GRANTS))
		snprintf(pages, sizeof(pages), "unknown how many");
	check_ok(k, "max_grant_frames",
		 "pages of Soft-RoCE's queues that guests have now: %s; max_grant_frames in this domain's configuration, which is not visible here, allows 384 for each frame, unless granted_pages of xen-vhca-helper does",
		 pages);
}

void check_grant_tables(struct check *k)
{
	struct maptrack t = {
		.name = "gnttab_max_maptrack_frames",
		.where = "on Xen's command line",
	};
	uint64_t sum_mb, most_mb;
	char cmdline[1024];

	pinned(k, &sum_mb, &most_mb);
	if (!k->control) {
		utility_grants(k, sum_mb);
		return;
	}
	if (!k->info || !check_info(k->info, "xen_commandline", cmdline,
				    sizeof(cmdline))) {
		check_say(k, CHECK_WARN, "grant-tables",
			  "xl info, xen_commandline",
			  "cannot ask xl for Xen's command line");
		return;
	}
	t.frames = check_param(cmdline, t.name, HOST_MAPTRACK_FRAMES);
	t.note = t.frames == HOST_MAPTRACK_FRAMES ? "" :
		 " (tell xen-vhcad: --maptrack-frames)";
	maptrack(k, &t, sum_mb);
	grant_frames(k, check_param(cmdline, "gnttab_max_frames", DEF_FRAMES), most_mb);
}

void check_memory(struct check *k)
{
	char target[32], now[32], cmdline[1024] = "";
	long long off;
	int rc;

	rc = check_read(k, target, sizeof(target),
			"/sys/devices/system/xen_memory/xen_memory0/target_kb");
	if (!rc)
		rc = check_read(k, now, sizeof(now),
				"/sys/devices/system/xen_memory/xen_memory0/info/current_kb");
	off = rc ? 0 : strtoll(target, NULL, 10) - strtoll(now, NULL, 10);
	if (llabs(off) > BALLOON_KB)
		check_say(k, CHECK_WARN, "memory",
			  "wait for it, or xl mem-set this domain to a fixed size",
			  "this domain is ballooning, %lld KiB to go", off);
	else if (!k->control)
		check_ok(k, "memory",
			 "no ballooning now; memory = maxmem in this domain's configuration keeps it so");
	else if (k->info && check_info(k->info, "xen_commandline", cmdline,
				       sizeof(cmdline)) &&
		 check_dom0_mem_fixed(cmdline))
		check_ok(k, "memory", "fixed by dom0_mem on Xen's command line");
	else
		check_say(k, CHECK_WARN, "memory",
			  "dom0_mem=4096M,max:4096M on Xen's command line, autoballoon=\"off\" in /etc/xen/xl.conf",
			  "not fixed: ballooning can leave no pages to map guests into");
}

/* @name: with a slash before it. */
static bool have_program(const struct check *k, const char *name)
{
	static const char *const dirs[] = { "/usr/sbin", "/usr/bin", "/sbin",
					    "/bin" };
	char path[64];
	size_t i;

	for (i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++) {
		snprintf(path, sizeof(path), "%s%s", dirs[i], name);
		if (check_exists(k, path))
			return true;
	}
	return false;
}

/* Are the tables of vhca-vif there? "nft flush ruleset" deletes them as well. */
static bool have_tables(const struct check *k)
{
	char text[TABLES_SIZE];

	if (!k->c->nft_tables || k->c->nft_tables(text, sizeof(text)))
		return true;	/* nobody can tell */
	return strstr(text, "table netdev vhca\n") &&
	       strstr(text, "table inet vhca\n");
}

/* Requirements of the keys ip and vif in this domain. */
void check_addresses(struct check *k)
{
	static const char script[] = "/etc/xen/scripts/vhca-address";
	unsigned int with = 0, vifs = 0, all = 0;
	const struct ctl_dev *d;

	for (d = k->devs; d < k->devs + k->n_devs; d++) {
		if (!check_mine(k, d))
			continue;
		all++;
		with += xn_exists(k->c->xs, XBT_NULL, d->be, XENVHCA_NODE_IP);
		vifs += xn_exists(k->c->xs, XBT_NULL, d->be, XENVHCA_NODE_VIF);
	}
	if (with && !check_exists(k, script))
		check_say(k, CHECK_FAIL, "addresses", "install it again",
			  "%u devices have addresses of their own, and xen-vhcad's %s is missing",
			  with, script);
	else if (with && (!have_program(k, "/rdma") || !have_program(k, "/ip")))
		check_say(k, CHECK_FAIL, "addresses", "apt-get install iproute2",
			  "%u devices have addresses of their own, which ip and rdma put on the network",
			  with);
	else if (vifs && !have_program(k, "/nft"))
		check_say(k, CHECK_FAIL, "addresses", "apt-get install nftables",
			  "%u devices have their addresses in common with vifs, to which nft passes traffic",
			  vifs);
	else if (vifs && !have_tables(k))
		check_say(k, CHECK_FAIL, "addresses",
			  "/etc/xen/scripts/vhca-vif sync",
			  "%u devices have their addresses in common with vifs, and nft lacks the tables vhca that pass traffic",
			  vifs);
	else
		check_ok(k, "addresses", "%u devices have their own, %u share those of their ports",
			 with, all - with);
}
