/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * vhcactl top without the terminal: samples of counters, their rates and lines.
 */
#ifndef CTL_TOP_H
#define CTL_TOP_H

#include "ctl.h"

enum top_rate { TOP_CMDS, TOP_ERRORS, TOP_KICKS, TOP_EVENTS, TOP_RATES };

extern const char *const top_keys[TOP_RATES];	/* in the statistics */

struct top_sample {
	bool have;			/* there are counters at all */
	bool rated;			/* rate[] is known */
	int64_t at_ms;			/* time of the sample */
	int64_t mtime_ms;		/* when the file was written */
	uint64_t pid;			/* of the worker: counters start at 0 */
	uint64_t count[TOP_RATES];
	double rate[TOP_RATES];		/* per second */
};

struct top_row {
	struct ctl_dev dev;
	char name[CTL_NAME_MAX];
	char hca[XENVHCA_NAME_LEN];
	const char *state;		/* of the backend */
	char hint[CTL_HINT_MAX];
	struct top_sample sample;
	struct json_object *stats;	/* NULL: none */
};

/**
 * top_rate() - rates of now, from an earlier sample of the same device
 *
 * The file is written after a change, but at most once a second, so the time between
 * two files counts, not that between two rounds. The first file after a pause has the
 * changes since the last round.
 */
void top_rate(const struct top_sample *old, struct top_sample *now);
/* Fill sample but for its rates. @at_ms: CLOCK_REALTIME, as mtime_ms */
void top_sample_fill(struct top_sample *s, struct json_object *stats,
		     int64_t mtime_ms, int64_t at_ms);
/* The columns' names, and one line without newline. Return its length. */
int top_head(char *buf, size_t size);
int top_line(const struct top_row *r, char *buf, size_t size);
/* What the device uses, and which quotas are full; "": nothing. */
void top_uses(const struct top_row *r, char *buf, size_t size);
/* The same and the hint as an object. */
struct json_object *top_json(const struct top_row *r);

#endif
