/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Counters of the physical port, for a guest that may see them.
 */
#ifndef BE_COUNTERS_H
#define BE_COUNTERS_H

struct be_dev;

/* Their names, if the toolstack shows them: once. 0 or -ENOMEM. */
int be_counters_open(struct be_dev *dev);
void be_counters_close(struct be_dev *dev);

#endif
