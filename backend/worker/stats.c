// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Writes <run-dir>/<domid>-<devid>.stats, replaced as a whole so that a reader
 * never sees half of it. The command thread runs this; it reads the counters of
 * the other threads without a lock, and each of them is exact.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "clock.h"
#include "run.h"
#include "stats.h"

void be_stats_init(struct be_stats_file *f, const struct be_options *opt)
{
	memset(f, 0, sizeof(*f));
	be_run_path(f->path, opt, opt->domid, opt->devid, "stats");
	be_run_path(f->tmp, opt, opt->domid, opt->devid, "stats.new");
	f->start_ns = vl_coarse_ns();
}

static void stats_counters(FILE *out, const struct be_stats *s)
{
	fprintf(out, "\"counters\":{\"cmds\":%llu,\"cmd_errors\":%llu,",
		(unsigned long long)s->cmds,
		(unsigned long long)s->cmd_errors);
	fprintf(out, "\"kicks\":%llu,\"kick_spins\":%llu,\"kick_sleeps\":%llu,",
		(unsigned long long)s->kicks,
		(unsigned long long)s->kick_spins,
		(unsigned long long)s->kick_sleeps);
	fprintf(out, "\"events\":%llu,\"events_dropped\":%llu,",
		(unsigned long long)s->events,
		(unsigned long long)s->events_dropped);
	fprintf(out, "\"map_pages\":%llu,\"map_ns\":%llu,\"unmap_ns\":%llu,",
		(unsigned long long)s->map_pages,
		(unsigned long long)s->map_ns,
		(unsigned long long)s->unmap_ns);
	fprintf(out, "\"wqes\":%llu,\"wqes_refused\":%llu,\"recv_polls\":%llu,",
		(unsigned long long)s->wqes,
		(unsigned long long)s->wqes_refused,
		(unsigned long long)s->recv_polls);
	fprintf(out, "\"faults\":%llu,\"rate_waits\":%llu},",
		(unsigned long long)s->faults,
		(unsigned long long)s->rate_waits);
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
	int fd = open(f->tmp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	FILE *out;

	if (fd < 0)
		return -errno;
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
	return fclose(out) ? -errno : 0;
}

void be_stats_write(struct be_stats_file *f, const struct be_dev *dev,
		    const char *state, bool force)
{
	uint64_t now = vl_coarse_ns();
	struct be_stats s = dev->stats;

	if (!force) {
		if (now - f->written_ns < VL_SEC_NS)
			return;
		if (f->state == state && !memcmp(&s, &f->last, sizeof(s)) &&
		    !memcmp(dev->quota.used, f->quota.used,
			    sizeof(f->quota.used)) &&
		    dev->quota.used_pages == f->quota.used_pages)
			return;
	}
	f->last = s;
	f->quota = dev->quota;
	f->state = state;
	f->written_ns = now;
	if (stats_print(f, dev, now) || rename(f->tmp, f->path) < 0)
		be_log(dev, BE_DEBUG, "%s: %s", f->path, strerror(errno));
}

void be_stats_remove(struct be_stats_file *f)
{
	unlink(f->path);
	unlink(f->tmp);
}
