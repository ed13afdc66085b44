// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * xen-vhcad: options, and which of the two processes this one is: the
 * supervisor, or a worker that the supervisor executed. Both learn here where
 * devices are configured.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "core/be.h"
#include "carrier/open_files.h"
#include "carrier/open_xen.h"
#include "carrier/open_xenstore.h"
#include "host/maptrack.h"
#include "host/paths.h"
#include "core/options.h"
#include "number.h"
#include "supervise/supervisor.h"
#include "worker/worker.h"
#include "xenstore/scan.h"

static const char usage[] =
"usage: xen-vhcad [options]\n"
"Backend of the paravirtual RDMA HCA: serves the vhca devices of this domain.\n"
"  -f, --foreground      stay in the foreground (default: become a daemon)\n"
"  -l, --log-level LEVEL error, warning, info (default) or debug\n"
"  -d, --devices DIR     devices are directories of files there, guests are reached\n"
"                        without xenstore (vhcactl dom0less makes them)\n"
"  -r, --run-dir DIR     locks and statistics (default " HOST_RUN_VHCAD ")\n"
"  -m, --maptrack-frames N\n"
"                        that Xen allows this domain (default 1024)\n"
"  -h, --help            this text\n"
"  -V, --version         version\n";

static int parse_level(const char *s)
{
	static const char *const name[] = { "error", "warning", "info",
					    "debug" };
	int i;

	for (i = BE_ERR; i <= BE_DEBUG; i++)
		if (!strcmp(s, name[i])) {
			be_log_level = (enum be_log_level)i;
			return 0;
		}
	fprintf(stderr, "xen-vhcad: log level '%s': use error, warning, info or debug\n",
		s);
	return -EINVAL;
}

/* An absolute path: what for, and where to. */
static int parse_dir(const char *what, char dir[BE_RUN_MAX], const char *s)
{
	if (*s == '/' && strlen(s) < BE_RUN_MAX) {
		strcpy(dir, s);
		return 0;
	}
	fprintf(stderr, "xen-vhcad: %s '%s': must be an absolute path of at most %d characters\n",
		what, s, BE_RUN_MAX - 1);
	return -EINVAL;
}

static int parse_maptrack(struct be_options *opt, const char *s)
{
	uint64_t n = 0;

	if (vl_parse_u64(s, 1, HOST_MAPTRACK_MAX, &n)) {
		fprintf(stderr, "xen-vhcad: maptrack frames '%s': a number 1..%u, that of gnttab_max_maptrack_frames\n",
			s, HOST_MAPTRACK_MAX);
		return -EINVAL;
	}
	opt->maptrack_frames = (uint32_t)n;
	return 0;
}

/* --worker DOMID DEVID LEFT-UARS SPINNERS [FD]: by the supervisor, not for people. */
static int parse_worker(struct be_options *opt, int n, char *const arg[])
{
	uint64_t domid = 0, devid = 0, left = 0, spinners = 0, fd = 0;

	if (n < 4 || n > 5 ||
	    vl_parse_u64(arg[0], 0, XN_FIRST_RESERVED_DOMID - 1, &domid) ||
	    vl_parse_u64(arg[1], 0, XN_MAX_DEVID, &devid) ||
	    vl_parse_u64(arg[2], 0, UINT32_MAX, &left) ||
	    vl_parse_u64(arg[3], 0, UINT32_MAX, &spinners))
		return -EINVAL;
	if (n == 5) {
		if (vl_parse_u64(arg[4], 3, 65535, &fd))
			return -EINVAL;
		opt->helper_fd = (int)fd;
	}
	opt->domid = (unsigned int)domid;
	opt->devid = (unsigned int)devid;
	opt->left_uars = (unsigned int)left;
	opt->spinners = (unsigned int)spinners;
	return 0;
}

/* 0: go on, 1: done, -EINVAL. */
static int parse(struct be_options *opt, bool *fg, int argc, char **argv)
{
	static const struct option longopts[] = {
		{ "foreground", no_argument, NULL, 'f' },
		{ "log-level", required_argument, NULL, 'l' },
		{ "devices", required_argument, NULL, 'd' },
		{ "run-dir", required_argument, NULL, 'r' },
		{ "maptrack-frames", required_argument, NULL, 'm' },
		{ "worker", no_argument, NULL, 'w' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{ NULL, 0, NULL, 0 },
	};
	int c, rc = 0;

	while (!rc && (c = getopt_long(argc, argv, "d:fl:m:r:hV", longopts,
				       NULL)) != -1) {
		if (c == 'f')
			*fg = true;
		else if (c == 'l')
			rc = parse_level(optarg);
		else if (c == 'r')
			rc = parse_dir("run directory", opt->run_dir, optarg);
		else if (c == 'd')
			rc = parse_dir("devices", opt->devices, optarg);
		else if (c == 'm')
			rc = parse_maptrack(opt, optarg);
		else if (c == 'w')
			opt->worker = true;
		else if (c == 'h')
			return fputs(usage, stdout) < 0 ? -EIO : 1;
		else if (c == 'V')
			return puts("xen-vhcad " PACKAGE_VERSION) < 0 ? -EIO : 1;
		else
			rc = -EINVAL;
	}
	if (rc)
		return rc;
	if (opt->worker)
		return parse_worker(opt, argc - optind, argv + optind);
	if (optind == argc)
		return 0;
	fprintf(stderr, "xen-vhcad: unknown argument '%s'\n", argv[optind]);
	return -EINVAL;
}

static int make_run_dir(const struct be_options *opt)
{
	if (!mkdir(opt->run_dir, 0750) || errno == EEXIST)
		return 0;
	be_log(NULL, BE_ERR, "cannot create %s: %s", opt->run_dir,
	       strerror(errno));
	return -errno;
}

int main(int argc, char **argv)
{
	struct be_options opt = {
		.run_dir = HOST_RUN_VHCAD, .maptrack_frames = HOST_MAPTRACK_FRAMES,
		.helper_fd = -1, .root = "",
		.script = VHCA_SCRIPTS "/vhca-address",
	};
	bool fg = false, files;
	int rc;

	rc = parse(&opt, &fg, argc, argv);
	if (rc < 0)
		fputs("Try xen-vhcad --help\n", stderr);
	if (rc)
		return rc < 0 ? BE_EXIT_USAGE : BE_EXIT_OK;
	if (make_run_dir(&opt))
		return BE_EXIT_SYSTEM;
	files = opt.devices[0];
	be_files_at(opt.devices);
	if (opt.worker)
		return be_worker_main(&opt, files ? be_store_page : be_store_xenstore,
				      be_xen_open);
	/* stderr stays: it is the log. */
	if (!fg && daemon(0, 1) < 0) {
		be_log(NULL, BE_ERR, "daemon: %s", strerror(errno));
		return BE_EXIT_SYSTEM;
	}
	return be_supervisor_main(&opt, files ? be_devices_files :
				  be_devices_xenstore);
}
