/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Counts that docs/results/performance.md promises: a row has a name, a number of
 * before, the number of now and the goal.
 */
#ifndef PROMISED_H
#define PROMISED_H

/*
 * Fails if @value is more than "now" of the row. Also writes the count for
 * tests/bench/counts.py, if $VHCA_COUNTS names a folder.
 */
void promised(const char *row, unsigned int value);

#endif
