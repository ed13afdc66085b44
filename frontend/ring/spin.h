/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Whether a process polls for the answer to its command before it sleeps. Each
 * operation has its own record, because some take microseconds and others
 * milliseconds.
 */
#ifndef VHCA_SPIN_H
#define VHCA_SPIN_H

#include <linux/types.h>

/* All zero: nothing is known. Written without a lock: it is only a guess. */
struct vhca_spin {
	s16 misses;			/* that hits have not made good */
	u16 skipped;			/* since it was tried last */
};

/* May one be tried? */
bool vhca_spin_try(struct vhca_spin *s);
/* One turn. False: too long since @begin (ktime), or others want the processor. */
bool vhca_spin_continue(u64 begin);
/* Was the answer there in time? */
void vhca_spin_record(struct vhca_spin *s, bool found);

#endif
