/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Xen below a whole worker (backend/carrier/ring_xen.c): gntdev over the memory
 * of one guest, event channels, the helper module; no doorbell agent. It counts
 * the system calls of threads. Whoever links it has the linker wrap what
 * fake_xen.mk lists.
 */
#ifndef FAKE_XEN_H
#define FAKE_XEN_H

#include <stdbool.h>
#include <stdint.h>

#define FAKE_XEN_PAGES	24576u		/* of the guest */
#define FAKE_XEN_DOMID	5		/* which it is */
#define FAKE_XEN_HELPER	"/dev/null"

/* X(name): system calls that are told apart. clock: in a PV domain it is one. */
#define FAKE_XEN_CALLS(X) \
	X(poll) X(clock) X(read) X(write) X(open) X(close) X(ioctl) X(mmap) \
	X(munmap) X(madvise) X(fcntl) X(kill) X(sleep)

struct fake_calls {
#define FAKE_XEN_CALL(name) unsigned int name;
	FAKE_XEN_CALLS(FAKE_XEN_CALL)
#undef FAKE_XEN_CALL
	/* As Linux' gntdev and the helper make them in a PV domain. */
	unsigned int grant_hypercalls;
	unsigned int sleeps;		/* of the polls and reads */
	unsigned int notifies;		/* of the ioctls */
};

/* 0 or -1. A reference is LOOP_REF(number of the page). */
int fake_xen_install(void);
void fake_xen_remove(void);
void *fake_xen_page(uint32_t i);
/* What stands in for the helper's file; the worker closes it. */
int fake_xen_helper(void);
/* The guest notifies; @port: of the guest, 1 .. 3. */
void fake_xen_notify(unsigned int port);

/* The coarse clock stands until this is called with false. */
void fake_xen_time_stands(bool on);

/* The calling thread is one that is counted; only one of them polls. */
void fake_calls_here(void);
/* Waits until that one sleeps in poll() or read(); what they called until then. */
struct fake_calls fake_calls_asleep(void);
/* The same at once: somebody has to know that they make no call now. */
struct fake_calls fake_calls_now(void);
unsigned int fake_calls_sum(const struct fake_calls *c);

#endif
