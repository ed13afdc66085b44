/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Statistics of a worker for vhcactl: one JSON object in a file.
 */
#ifndef BE_STATS_H
#define BE_STATS_H

#include "core/be.h"
#include "core/options.h"

struct be_stats_file {
	char path[PATH_MAX], tmp[PATH_MAX];
	struct be_stats last;		/* what the file says */
	struct be_quota quota;
	const char *state;
	uint64_t start_ns;
};

void be_stats_init(struct be_stats_file *f, const struct be_options *opt);
/* Write if something changed, or if force. state: name of our xenbus state, a
 * string constant. */
void be_stats_write(struct be_stats_file *f, const struct be_dev *dev,
		    const char *state, bool force);
void be_stats_remove(struct be_stats_file *f);

#endif
