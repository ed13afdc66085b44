// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Writes <run-dir>/<domid>-<devid>.stats, replaced as a whole so that a reader
 * never sees half of it. The command thread runs this; it reads the counters of
 * the other threads without a lock, and each of them is exact.
 */
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "clock.h"
#include "file.h"
#include "core/run.h"
#include "stats.h"

void be_stats_init(struct be_stats_file *f, const struct be_options *opt)
{
	memset(f, 0, sizeof(*f));
	be_run_path(f->path, opt, opt->domid, opt->devid, "stats");
	be_run_path(f->tmp, opt, opt->domid, opt->devid, "stats.new");
	f->start_ns = vl_coarse_ns();
}

#define COUNTER(name) { #name, offsetof(struct be_stats, name) },
static const struct {
	const char *name;
	size_t at;
} counters[] = { BE_COUNTERS(COUNTER) };

static void stats_counters(FILE *out, const struct be_stats *s)
{
	const char *sep = "";
	uint64_t value;
	size_t i;

	fputs("\"counters\":{", out);
	for (i = 0; i < sizeof(counters) / sizeof(counters[0]); i++) {
		memcpy(&value, (const char *)s + counters[i].at, sizeof(value));
		fprintf(out, "%s\"%s\":%" PRIu64, sep, counters[i].name, value);
		sep = ",";
	}
	fputs("},", out);
}

static void stats_objects(FILE *out, const struct be_quota *q)
{
	int t;

	fputs("\"objects\":{", out);
	for (t = BE_NONE + 1; t < BE_TYPES; t++)
		fprintf(out, "%s\"%s\":{\"used\":%u,\"max\":%u}",
			t == BE_NONE + 1 ? "" : ",", be_type_name[t],
			q->used[t], q->max[t]);
	fprintf(out, "},\"pages\":{\"used\":%llu,\"max\":%llu}",
		(unsigned long long)q->used_pages,
		(unsigned long long)q->max_pages);
}

/* Every string here is ours or was checked: nothing needs escaping. */
static int stats_print(const struct be_stats_file *f,
		       const struct be_dev *dev, uint64_t now)
{
	int fd = vl_file_new(f->tmp, 0644);
	FILE *out;

	if (fd < 0)
		return fd;
	out = fdopen(fd, "w");
	if (!out) {
		close(fd);
		return -ENOMEM;
	}
	fprintf(out, "{\"domid\":%d,\"devid\":%d,\"pid\":%d,\"state\":\"%s\",",
		dev->domid, dev->devid, (int)getpid(), f->state);
	fprintf(out, "\"hca\":\"%s\",\"port\":%u,\"uptime_ms\":%llu,",
		dev->hca, dev->port,
		(unsigned long long)((now - f->start_ns) / VL_MSEC_NS));
	stats_counters(out, &f->last);
	stats_objects(out, &f->quota);
	fputs("}\n", out);
	return fclose(out) || rename(f->tmp, f->path) ? -errno : 0;
}

void be_stats_write(struct be_stats_file *f, const struct be_dev *dev,
		    const char *state, bool force)
{
	struct be_stats s = dev->stats;
	int rc;

	if (!force && f->state == state && !memcmp(&s, &f->last, sizeof(s)) &&
	    !memcmp(dev->quota.used, f->quota.used, sizeof(f->quota.used)) &&
	    dev->quota.used_pages == f->quota.used_pages)
		return;
	f->last = s;
	f->quota = dev->quota;
	f->state = state;
	rc = stats_print(f, dev, vl_coarse_ns());
	if (rc)
		be_log(dev, BE_DEBUG, "%s: %s", f->path, vl_file_why(-rc));
}

void be_stats_remove(struct be_stats_file *f)
{
	unlink(f->path);
	unlink(f->tmp);
}
