/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The state file of xen-vhca-doorbelld: the mappings, for the next agent.
 * Answers in xenstore do not suffice, because backend domains can write them.
 * Each mapping has one line, written to a new file that replaces the old one.
 */
#ifndef DBA_STATE_H
#define DBA_STATE_H

#include "map.h"

/* Write all of maps to path. 0 or -errno; the old file stays on failure. */
int dba_state_save(const char *path, struct dba_map *maps);

/**
 * dba_state_load() - fill an empty table from a file
 *
 * An absent file is an empty one. -EINVAL: not a state file; the caller must not
 * continue with the table.
 */
int dba_state_load(const char *path, struct dba_table *t);

#endif
