// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * What tests of the supervisor share (test_sup_host.h).
 */
#include <glob.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>
#include "tests/fake/fake_xs.h"
#include "host/maptrack.h"
#include "test_sup_host.h"

struct be_options sup_opt;

/* What sup_exec() executes: argv ends with "--worker DOMID DEVID LEFT-UARS". */
int sup_worker(int argc, char **argv)
{
	char path[300];
	FILE *f;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	snprintf(path, sizeof(path), "%s/%s-%s.ran", argv[2], argv[argc - 3],
		 argv[argc - 2]);
	f = fopen(path, "w");
	if (f) {
		fputs(argv[argc - 1], f);
		fclose(f);
	}
	if (!strcmp(argv[5], "--devices")) {
		snprintf(path, sizeof(path), "%s/told", argv[2]);
		symlink(argv[6], path);
	}
	/* To the script's: which was first? */
	snprintf(path, sizeof(path), "%s/log", argv[2]);
	f = fopen(path, "a");
	if (f) {
		fprintf(f, "worker %s\n", argv[argc - 3]);
		fclose(f);
	}
	pause();
	return 0;
}

bool sup_served(unsigned int domid)
{
	char path[300];

	snprintf(path, sizeof(path), "%s/%u-0.ran", sup_opt.run_dir, domid);
	return !unlink(path);
}

void sup_set(unsigned int domid, const char *node, const char *value)
{
	char path[128];

	snprintf(path, sizeof(path), BACK "/%u/0/%s", domid, node);
	fake_xs_set(path, value);
}

const char *sup_get(unsigned int domid, const char *node)
{
	char path[128];

	snprintf(path, sizeof(path), BACK "/%u/0/%s", domid, node);
	return fake_xs_get(path);
}

/* mb NULL: the default. */
void sup_attach(unsigned int domid, const char *mb)
{
	char path[64];

	snprintf(path, sizeof(path), "/local/domain/%u/name", domid);
	fake_xs_set(path, "guest");
	sup_set(domid, "online", "1");
	sup_set(domid, "state", "1");
	if (mb)
		sup_set(domid, "max-pinned-mb", mb);
}

unsigned int sup_workers(void)
{
	char pattern[300];
	unsigned int n;
	glob_t g;

	snprintf(pattern, sizeof(pattern), "%s/*.ran", sup_opt.run_dir);
	n = glob(pattern, 0, NULL, &g) ? 0 : (unsigned int)g.gl_pathc;
	globfree(&g);
	return n;
}

int sup_setup(void **state)
{
	(void)state;
	fake_xs_reset();
	fake_xs_set("domid", "1");
	sup_opt = (struct be_options){
		.run_dir = "/tmp/vhca-unit-XXXXXX", .helper_fd = -1,
		.maptrack_frames = HOST_MAPTRACK_FRAMES, .root = "",
	};
	return mkdtemp(sup_opt.run_dir) ? 0 : -1;
}

int sup_teardown(void **state)
{
	char cmd[300];

	(void)state;
	snprintf(cmd, sizeof(cmd), "rm -rf '%s'", sup_opt.run_dir);
	return system(cmd);
}
