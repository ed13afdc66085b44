/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The processor's counter: a clock that is no system call anywhere. Its frequency is
 * unknown, and a host may change it at any time.
 */
#ifndef VL_TICKS_H
#define VL_TICKS_H

#include <stdint.h>

#ifdef __x86_64__
static inline void vl_relax(void)
{
	__builtin_ia32_pause();
}

static inline uint64_t vl_ticks(void)
{
	return __builtin_ia32_rdtsc();
}
#else
static inline void vl_relax(void)
{
	__asm__ __volatile__("yield" ::: "memory");
}

static inline uint64_t vl_ticks(void)
{
	uint64_t t;

	__asm__ __volatile__("mrs %0, cntvct_el0" : "=r" (t));
	return t;
}
#endif

#endif
