/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Xen below a whole worker (backend/carrier/ring_xen.c): gntdev over the memory
 * of one guest, event channels, the helper module; no doorbell agent. Whoever links
 * it has the linker wrap what it defines as __wrap_*.
 */
#ifndef FAKE_XEN_H
#define FAKE_XEN_H

#include <stdbool.h>
#include <stdint.h>

#define FAKE_XEN_PAGES	24576u		/* of the guest */
#define FAKE_XEN_DOMID	5		/* which it is */
#define FAKE_XEN_HELPER	"/dev/null"

struct fake_calls {
	/* Of all threads, as Linux' gntdev and the helper make them in a PV domain. */
	unsigned int grant_hypercalls;
	/* Of the thread that is counted. */
	unsigned int sleeps;
	unsigned int notifies;
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

/* The calling thread is the one that is counted. */
void fake_calls_here(void);
/* Waits until it sleeps in poll(); what was called until then. */
struct fake_calls fake_calls_asleep(void);
/* The same at once: somebody has to know that it makes no call now. */
struct fake_calls fake_calls_now(void);

#endif
