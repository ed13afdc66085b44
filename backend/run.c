// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Files of the run directory (run.h), which only root can write.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "be.h"
#include "file.h"
#include "run.h"

void be_run_path(char *path, const struct be_options *opt, unsigned int domid,
		 unsigned int devid, const char *ext)
{
	snprintf(path, PATH_MAX, "%s/%u-%u.%s", opt->run_dir, domid, devid,
		 ext);
}

/* Best effort: zeroes where the process that had the lock last said nothing. */
static void run_read(const char *path, unsigned int *uars, int64_t *tokens_ns,
		     uint64_t *last_ns)
{
	int fd = vl_file_open(path, O_RDONLY);
	char text[96] = "";

	*uars = 0;
	*tokens_ns = 0;
	*last_ns = 0;
	if (fd < 0)
		return;
	if (pread(fd, text, sizeof(text) - 1, 0) > 0)
		sscanf(text, "%*d %u %" SCNd64 " %" SCNu64, uars, tokens_ns,
		       last_ns);
	close(fd);
}

/* A file from before the machine started is no harm: last_ns is then too far on,
 * which fills the bucket. */
int be_run_take(const char *path, struct vl_bucket *fail)
{
	unsigned int uars;
	int64_t tokens_ns;
	uint64_t last_ns;
	int fd;

	run_read(path, &uars, &tokens_ns, &last_ns);
	fd = vl_lock_take(path);
	if (fd >= 0 && last_ns) {
		/* A worker that a guest took over may have written it. */
		if (tokens_ns < -VL_BUCKET_DEBT_NS)
			tokens_ns = -VL_BUCKET_DEBT_NS;
		if (tokens_ns > (int64_t)fail->depth_ns)
			tokens_ns = (int64_t)fail->depth_ns;
		fail->tokens_ns = tokens_ns;
		fail->last_ns = last_ns;
	}
	return fd;
}

void be_run_leave(int fd, unsigned int uars, const struct vl_bucket *fail)
{
	char text[96];
	int n = snprintf(text, sizeof(text), "%d\n%u\n%" PRId64 " %" PRIu64 "\n",
			 (int)getpid(), uars, fail->tokens_ns, fail->last_ns);

	if (pwrite(fd, text, (size_t)n, 0) != n)
		be_log(NULL, BE_WARN, "lock file: %s", strerror(errno));
}

unsigned int be_run_left(const char *path)
{
	unsigned int uars;
	int64_t tokens_ns;
	uint64_t last_ns;

	run_read(path, &uars, &tokens_ns, &last_ns);
	return uars;
}
