/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * What the model needs of its surroundings, for tests and fuzzers: a machine
 * with bus memory, interrupts, a clock that stands still and a log. Nothing
 * happens behind the caller's back but what rig_run() and rig_sleep() do.
 *
 * Neighbouring pages of memory are not neighbours on the bus, and a page that
 * was not allocated, or was revoked, cannot be reached: a model that runs
 * over the end of a page is found out.
 */
#ifndef RIG_H
#define RIG_H

#include "tests/hca/model/cx.h"

#define RIG_BUS		(1ULL << 32)	/* the first bus address */
#define RIG_PAGES	49152u		/* scattered ones, then contiguous */
#define RIG_SCATTERED	32768u
#define RIG_DEVS	4

struct rig;

struct rig_dev {
	struct rig *rig;
	struct cx_dev *cx;
	uint64_t deadline;
	unsigned int irqs[CX_VECTORS];
	/* The other end of a cable, and what is under way to it. */
	struct rig_dev *peer;
	uint8_t *wire;
	size_t wire_len, wire_room;
	bool refused;		/* link_tx() said -EAGAIN */
};

struct rig {
	struct cx_hub *hub;
	struct rig_dev dev[RIG_DEVS];
	unsigned int nr;
	uint8_t *mem;
	uint8_t used[RIG_PAGES];
	uint32_t next, next_contiguous, top, top_contiguous;
	uint64_t now;
	bool kicked;
	size_t budget;		/* of each cx_hub_run() */
	unsigned int runs;	/* how often it was called */
	unsigned int faults;	/* accesses to what is not there */
	unsigned int broken;	/* promises of cx.h that were broken */
	/* A fuzzer's hand on all cables from here. */
	void (*tamper)(struct rig_dev *from, uint8_t *data, size_t len);
	void *tamper_arg;
	char log[4096];		/* the last lines */
	size_t log_len;
	bool verbose;
	bool no_tags;		/* devices are plugged without tag matching */
	bool umr_lists;		/* ... with page lists by UMR */
	bool odp;		/* ... with on-demand paging */
	bool eth;		/* ... with Ethernet ports, without LIDs */
	bool cx6dx;		/* ... and capabilities of a ConnectX-6 Dx */
	uint32_t bar_mb;	/* ... with so many MiB of registers */
	bool cx3;		/* ... are of a ConnectX-3 */
	bool infinihost;	/* ... or of an InfiniHost */
	bool uar_any;		/* ... do not compare UAR pages */
	bool cqe64, blueflame;	/* ... of a ConnectX-3 have these */
};

/* NULL without memory. A machine of its own, with a hub. */
struct rig *rig_new(void);
void rig_free(struct rig *r);
/* Forgets all devices and memory, for the next input. */
void rig_clear(struct rig *r);

/* A device on the machine's hub; with a cable if joined later on. */
struct rig_dev *rig_plug(struct rig *r, uint64_t guid, uint16_t lid,
			 bool cable);
/* Connects two devices' cables; room: bytes under way in each direction. */
void rig_join(struct rig_dev *a, struct rig_dev *b, size_t room);

/* Both see the cable go, and what was under way is lost. */
void rig_cut(struct rig_dev *d);

/* Zeroed whole pages: scattered on the bus, or aligned and contiguous. */
void *rig_alloc(struct rig *r, size_t bytes);
void *rig_alloc_contiguous(struct rig *r, size_t bytes, size_t align);
uint64_t rig_bus(const struct rig *r, const void *p);
/* The device cannot reach these whole pages any more. */
void rig_revoke(struct rig *r, const void *p, size_t bytes);

/* Runs the hub, and cables, until nothing is left; false: no end in sight. */
bool rig_run(struct rig *r);
/* Time passes; deadlines are met on the way. */
void rig_sleep(struct rig *r, uint64_t ns);
/* The next deadline of any device, 0 for none. */
uint64_t rig_deadline(const struct rig *r);
/* Whether the log has such a line. */
bool rig_logged(const struct rig *r, const char *text);

/* Registers, as a driver stores them: big endian. */
uint32_t rig_read32(struct rig_dev *d, uint64_t offset);
void rig_write32(struct rig_dev *d, uint64_t offset, uint32_t value);
/* Two words as they lie in memory. */
void rig_store64(struct rig_dev *d, uint64_t offset, const void *p);

#endif
