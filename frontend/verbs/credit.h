/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * How many events the backend may still raise for an object. ib_uverbs stores every
 * event until the process reads it. So that a backend cannot fill the guest's memory
 * with them, an object has credit: for completions two per arm (one may be a leftover
 * of the arm before), for others a fixed number between two modify calls. Events
 * without credit are ignored.
 */
#ifndef VHCA_CREDIT_H
#define VHCA_CREDIT_H

#include <linux/atomic.h>

#define VHCA_COMP_CREDIT	4096
#define VHCA_ASYNC_CREDIT	64

/* A CQ is about to be armed. */
static inline void vhca_credit_arm(atomic_t *credit)
{
	if (atomic_read(credit) < VHCA_COMP_CREDIT)
		atomic_add(2, credit);
}

/* An object is made, or modified. */
static inline void vhca_credit_recharge(atomic_t *credit)
{
	atomic_set(credit, VHCA_ASYNC_CREDIT);
}

/* An event came. False: it is to be ignored. */
static inline bool vhca_credit_spend(atomic_t *credit)
{
	return atomic_dec_if_positive(credit) >= 0;
}

#endif
