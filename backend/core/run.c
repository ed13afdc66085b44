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
#include "clock.h"
#include "file.h"
#include "run.h"

void be_run_path(char *path, const struct be_options *opt, unsigned int domid,
		 unsigned int devid, const char *ext)
{
	snprintf(path, PATH_MAX, "%s/%u-%u.%s", opt->run_dir, domid, devid,
		 ext);
}

#define BUCKETS		2	/* of refused commands, of lines in the log */

struct left {
	unsigned int uars;
	struct { int64_t tokens_ns; uint64_t last_ns; } bucket[BUCKETS];
};

/* Best effort: zeroes where the process that had the lock last said nothing. */
static struct left run_read(const char *path)
{
	int fd = vl_file_open(path, O_RDONLY);
	struct left l = {};
	char text[160] = "";

	if (fd < 0)
		return l;
	if (pread(fd, text, sizeof(text) - 1, 0) > 0)
		sscanf(text, "%*d %u %" SCNd64 " %" SCNu64 " %" SCNd64 " %" SCNu64,
		       &l.uars, &l.bucket[0].tokens_ns, &l.bucket[0].last_ns,
		       &l.bucket[1].tokens_ns, &l.bucket[1].last_ns);
	close(fd);
	return l;
}

/*
 * A worker that a guest took over may have written it. A file from before the machine
 * started is no harm: last_ns is then too far on, which fills the bucket.
 */
static void run_refill(struct vl_bucket *b, int64_t tokens_ns, uint64_t last_ns)
{
	int64_t depth = (int64_t)(b->depth_ns ? b->depth_ns : VL_SEC_NS);

	if (!last_ns)
		return;
	if (tokens_ns < -VL_BUCKET_DEBT_NS)
		tokens_ns = -VL_BUCKET_DEBT_NS;
	b->tokens_ns = tokens_ns < depth ? tokens_ns : depth;
	b->last_ns = last_ns;
}

int be_run_take(const char *path, struct vl_bucket *fail, struct vl_bucket *log)
{
	const struct left l = run_read(path);
	int fd = vl_lock_take(path);

	if (fd < 0)
		return fd;
	run_refill(fail, l.bucket[0].tokens_ns, l.bucket[0].last_ns);
	run_refill(log, l.bucket[1].tokens_ns, l.bucket[1].last_ns);
	return fd;
}

void be_run_leave(int fd, unsigned int uars, const struct vl_bucket *fail,
		  const struct vl_bucket *log)
{
	char text[160];
	int n = snprintf(text, sizeof(text), "%d\n%u\n%" PRId64 " %" PRIu64 "\n%" PRId64 " %" PRIu64 "\n",
			 (int)getpid(), uars, fail->tokens_ns, fail->last_ns,
			 log->tokens_ns, log->last_ns);

	if (pwrite(fd, text, (size_t)n, 0) != n)
		be_log(NULL, BE_WARN, "lock file: %s", strerror(errno));
}

unsigned int be_run_left(const char *path)
{
	return run_read(path).uars;
}
