// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * xen-vhca-doorbelld: options, the handles that need privilege, dropping of other
 * privileges, and the loop. It runs as root in the control domain, in one thread
 * (and libxenstore's reader). Its only hypercalls query a domain, or are the two of
 * struct dba_ops.
 */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xenctrl.h>
#include "agent.h"
#include "caps.h"
#include "clock.h"
#include "host/arch.h"
#include "host/paths.h"
#include "lock.h"
#include "notify.h"
#include "number.h"
#include "state.h"

#define RUN_DIR_MAX	200

static const char usage[] =
"usage: xen-vhca-doorbelld [options]\n"
"Maps doorbell pages of RDMA HCAs into guests, for the backend domains that\n"
"own the HCAs. Runs in the control domain, as root.\n"
"  -f, --foreground      stay in the foreground (default: become a daemon)\n"
"  -l, --log-level LEVEL error, warning, info (default) or debug\n"
"  -n, --dry-run         only log what would be decided\n"
"  -r, --run-dir DIR     lock and state file (default " HOST_RUN_DOORBELLD ")\n"
"      --rate N          requests per second and guest, 1..100000 (default 500)\n"
"      --reuse           let pages of a PV guest go to others before it ends\n"
"  -h, --help            this text\n"
"  -V, --version         version\n";

struct options {
	bool fg, dry_run, reuse;
	unsigned int rate;
	char run_dir[RUN_DIR_MAX];
};

/* The context of all callbacks. */
struct host {
	xc_interface *xc;
	char state[PATH_MAX];
};

/* ---- options ---- */
static int parse_level(const char *s)
{
	static const struct { const char *name; int level; } levels[] = {
		{ "error", LOG_ERR }, { "warning", LOG_WARNING },
		{ "info", LOG_INFO }, { "debug", LOG_DEBUG },
	};
	size_t i;

	for (i = 0; i < sizeof(levels) / sizeof(levels[0]); i++)
		if (!strcmp(s, levels[i].name)) {
			dba_log_level = levels[i].level;
			return 0;
		}
	fprintf(stderr, "xen-vhca-doorbelld: log level '%s': use error, warning, info or debug\n",
		s);
	return -EINVAL;
}

static int parse_run_dir(struct options *o, const char *s)
{
	if (*s == '/' && strlen(s) < sizeof(o->run_dir)) {
		strcpy(o->run_dir, s);
		return 0;
	}
	fprintf(stderr, "xen-vhca-doorbelld: run directory '%s': must be an absolute path of at most %zu characters\n",
		s, sizeof(o->run_dir) - 1);
	return -EINVAL;
}

static int parse_rate(struct options *o, const char *s)
{
	uint64_t v = 0;

	if (vl_parse_u64(s, 1, 100000, &v)) {
		fprintf(stderr, "xen-vhca-doorbelld: rate '%s': a number from 1 to 100000 is needed\n",
			s);
		return -EINVAL;
	}
	o->rate = (unsigned int)v;
	return 0;
}

static const struct option longopts[] = {
	{ "foreground", no_argument, NULL, 'f' },
	{ "log-level", required_argument, NULL, 'l' },
	{ "dry-run", no_argument, NULL, 'n' },
	{ "run-dir", required_argument, NULL, 'r' },
	{ "rate", required_argument, NULL, 'R' },
	{ "reuse", no_argument, NULL, 'u' },
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, 'V' },
	{ NULL, 0, NULL, 0 },
};

/* 0: go on, 1: done, -EINVAL. */
static int parse(struct options *o, int argc, char **argv)
{
	int c, rc = 0;

	while (!rc && (c = getopt_long(argc, argv, "fl:nr:hV", longopts,
				       NULL)) != -1) {
		if (c == 'f')
			o->fg = true;
		else if (c == 'l')
			rc = parse_level(optarg);
		else if (c == 'n')
			o->dry_run = true;
		else if (c == 'r')
			rc = parse_run_dir(o, optarg);
		else if (c == 'R')
			rc = parse_rate(o, optarg);
		else if (c == 'u')
			o->reuse = true;
		else if (c == 'h')
			return fputs(usage, stdout) < 0 ? -EIO : 1;
		else if (c == 'V')
			return puts("xen-vhca-doorbelld " PACKAGE_VERSION) < 0 ?
			       -EIO : 1;
		else
			rc = -EINVAL;
	}
	if (rc || optind == argc)
		return rc;
	fprintf(stderr, "xen-vhca-doorbelld: unknown argument '%s'\n",
		argv[optind]);
	return -EINVAL;
}

/* ---- the hypervisor ---- */
static int xc_rc(int r)
{
	return r >= 0 ? 0 : errno ? -errno : -EIO;
}

static int host_iomem(void *ctx, unsigned int domid, uint64_t mfn, uint64_t nr,
		      bool allow)
{
	struct host *h = ctx;

	errno = 0;
	return xc_rc(xc_domain_iomem_permission(h->xc, domid, mfn, nr, allow));
}

static int host_mapping(void *ctx, unsigned int domid, uint64_t gfn,
			uint64_t mfn, uint64_t nr, bool add)
{
	struct host *h = ctx;

	errno = 0;
	return xc_rc(xc_domain_memory_mapping(h->xc, domid, gfn, mfn, nr, add ?
					      DPCI_ADD_MAPPING :
					      DPCI_REMOVE_MAPPING));
}

static int host_save(void *ctx, struct dba_map *maps)
{
	struct host *h = ctx;
	int rc = dba_state_save(h->state, maps);

	if (rc)
		dba_log(LOG_ERR, "cannot write %s: %s", h->state,
			strerror(-rc));
	return rc;
}

static int host_domain(void *ctx, unsigned int domid, struct dba_domain *dom)
{
	struct host *h = ctx;
	xc_domaininfo_t info;
	int r;

	memset(dom, 0, sizeof(*dom));
	errno = 0;
	/* The first domain from domid on: another one if it is gone. */
	r = xc_domain_getinfolist(h->xc, domid, 1, &info);
	if (r < 0)
		return errno == ESRCH ? 0 : xc_rc(r);
	dom->alive = r == 1 && info.domain == domid &&
		     !(info.flags & XEN_DOMINF_dying);
	dom->translated = host_is_arm() || info.flags & XEN_DOMINF_hvm_guest;
	memcpy(dom->uuid, info.handle, DBA_UUID);
	return 0;
}

static const struct dba_ops host_ops = {
	.iomem = host_iomem, .mapping = host_mapping, .save = host_save,
};

static int dry_iomem(void *ctx, unsigned int domid, uint64_t mfn, uint64_t nr,
		     bool allow)
{
	(void)ctx;
	dba_log(LOG_INFO, "dry run: iomem_permission d%u %#llx +%llu %s",
		domid, (unsigned long long)mfn, (unsigned long long)nr,
		allow ? "allow" : "deny");
	return 0;
}

static int dry_mapping(void *ctx, unsigned int domid, uint64_t gfn,
		       uint64_t mfn, uint64_t nr, bool add)
{
	(void)ctx;
	dba_log(LOG_INFO, "dry run: memory_mapping d%u gfn %#llx %#llx +%llu %s",
		domid, (unsigned long long)gfn, (unsigned long long)mfn,
		(unsigned long long)nr, add ? "add" : "remove");
	return 0;
}

static const struct dba_ops dry_ops = {
	.iomem = dry_iomem, .mapping = dry_mapping,
};

/* ---- start and loop ---- */
/* One agent only: a second one would not know the mappings of the first one. */
static int take_lock(const struct options *o)
{
	char path[PATH_MAX];
	int fd;

	if (mkdir(o->run_dir, 0700) && errno != EEXIST) {
		dba_log(LOG_ERR, "cannot create %s: %s", o->run_dir,
			strerror(errno));
		return -1;
	}
	snprintf(path, sizeof(path), "%s/lock", o->run_dir);
	fd = vl_lock_take(path);
	if (fd < 0)
		dba_log(LOG_ERR, "%s: %s", path, fd == -EWOULDBLOCK ?
			"another xen-vhca-doorbelld is running" : strerror(-fd));
	return fd;
}

static int load_state(struct dba_agent *a, const struct host *h)
{
	int rc = dba_state_load(h->state, &a->table);

	if (!rc) {
		if (a->table.n)
			dba_log(LOG_INFO, "took over %zu mappings", a->table.n);
		return 0;
	}
	dba_log(LOG_ERR, "%s: %s; it says which doorbell pages guests have: remove it only when no guest has a device",
		h->state, rc == -EINVAL ? "damaged" : strerror(-rc));
	return rc;
}

static int open_handles(struct dba_agent *a, struct host *h)
{
	int own, rc;

	h->xc = xc_interface_open(NULL, NULL, 0);
	if (!h->xc) {
		dba_log(LOG_ERR, "hypervisor: %s; is this the control domain, and root?",
			strerror(errno));
		return -EPERM;
	}
	a->xs = xs_open(0);
	own = a->xs ? xn_own_domid(a->xs) : -errno;
	if (own < 0) {
		dba_log(LOG_ERR, "xenstore: %s; is xenstored running?",
			strerror(-own));
		return own;
	}
	a->own = a->table.own = (unsigned int)own;
	/*
	 * The open handles keep their rights. Only this capability is retained:
	 * without it sysfs shows 64 bytes of a configuration space, and the entry of
	 * the MSI-X table is behind them.
	 */
	rc = vl_caps_retain(1u << CAP_SYS_ADMIN);
	if (rc)
		dba_log(LOG_ERR, "cannot drop privileges: %s", strerror(-rc));
	return rc;
}

static int timeout_ms(const struct dba_agent *a)
{
	uint64_t now = vl_now_ns();

	if (!a->wake_ns)
		return -1;
	return a->wake_ns <= now ? 0 :
	       (int)((a->wake_ns - now) / 1000000) + 1;
}

/* Notifies the service manager that guests get doorbells from now on. */
static void ready(void)
{
	int rc = vl_notify(VL_NOTIFY_READY, -1);

	if (rc)
		dba_log(LOG_WARNING, "the service manager does not hear: %s",
			strerror(-rc));
}

/* Until a signal (0) or the loss of xenstore (-errno). */
static int loop(struct dba_agent *a, int sig_fd)
{
	struct pollfd p[2] = {
		{ .fd = xs_fileno(a->xs), .events = POLLIN },
		{ .fd = sig_fd, .events = POLLIN },
	};
	int rc;

	for (;;) {
		dba_agent_work(a);
		if (poll(p, 2, timeout_ms(a)) < 0 && errno != EINTR)
			return -errno;
		if (p[1].revents)
			return 0;
		rc = dba_agent_events(a);
		if (rc) {
			dba_log(LOG_ERR, "xenstore: %s", strerror(-rc));
			return rc;
		}
	}
}

static int run(const struct options *o)
{
	struct host h = { 0 };
	struct dba_agent a = {
		.sysfs = DBA_SYSFS, .rate = o->rate, .dry_run = o->dry_run,
		.domain = host_domain, .ctx = &h,
		.table = { .ops = o->dry_run ? &dry_ops : &host_ops,
			   .ctx = &h, .reuse = o->reuse,
			   .hold_translated = host_is_arm() },
	};
	sigset_t set;
	int sig_fd, rc;

	snprintf(h.state, sizeof(h.state), "%s/state", o->run_dir);
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	sig_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	rc = sig_fd < 0 ? -errno : open_handles(&a, &h);
	if (!rc && !o->dry_run)
		rc = load_state(&a, &h);
	if (!rc)
		rc = dba_agent_start(&a);
	if (!rc) {
		ready();
		rc = loop(&a, sig_fd);
	}
	/* Mappings stay: guests go on, the next agent takes over. */
	dba_agent_stop(&a);
	dba_map_free(&a.table);
	if (a.xs)
		xs_close(a.xs);
	if (h.xc)
		xc_interface_close(h.xc);
	if (sig_fd >= 0)
		close(sig_fd);
	return rc ? EXIT_FAILURE : EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	struct options o = { .rate = DBA_DEF_RATE, .run_dir = HOST_RUN_DOORBELLD };
	int lock, rc;

	rc = parse(&o, argc, argv);
	if (rc < 0)
		fputs("Try xen-vhca-doorbelld --help\n", stderr);
	if (rc)
		return rc < 0 ? 2 : EXIT_SUCCESS;
	umask(077);
	if (!o.fg && daemon(0, 1) < 0) {	/* stderr stays: it is the log */
		dba_log(LOG_ERR, "daemon: %s", strerror(errno));
		return EXIT_FAILURE;
	}
	lock = o.dry_run ? 0 : take_lock(&o);
	if (lock < 0)
		return EXIT_FAILURE;
	rc = run(&o);
	if (!o.dry_run)
		close(lock);
	return rc;
}
