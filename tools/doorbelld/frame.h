/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The frame check of xen-vhca-doorbelld decides whether these machine frames
 * may be mapped into that guest. It consists of pure functions over facts that
 * the caller collected from sources which neither guest nor backend can write.
 * The request itself is not trusted.
 */
#ifndef DBA_FRAME_H
#define DBA_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DBA_PAGE_SHIFT	12
#define DBA_PAGE_SIZE	(1ull << DBA_PAGE_SHIFT)
#define DBA_MAX_FRAME	(1ull << 40)	/* frames of 52 address bits */
#define DBA_BARS	6
#define DBA_MAX_NR	1	/* pages of a request: one UAR page */

/* Every reason for which the agent refuses a request. */
enum dba_reason {
	DBA_OK,
	DBA_SYNTAX, DBA_SLOT, DBA_DEVICE, DBA_DEAD,
	DBA_NR_ZERO, DBA_NR_HUGE, DBA_OVERFLOW,
	DBA_SAME_DOMAIN, DBA_NO_FACTS, DBA_NOT_NAMED, DBA_NO_HCA, DBA_NOT_OWNED,
	DBA_NO_RULE, DBA_NO_BAR, DBA_BAR_ALIGN, DBA_NO_MSIX,
	DBA_OUTSIDE, DBA_NOT_DOORBELL, DBA_MSIX,
	DBA_OTHER_GUEST, DBA_HELD, DBA_DOUBLE,
	DBA_PV_GFN, DBA_NO_WINDOW, DBA_GFN_WINDOW, DBA_GFN_TAKEN,
	DBA_SLOT_BUSY, DBA_NOT_MAPPED, DBA_STATE_FILE, DBA_HYPERCALL,
	DBA_MEMORY, DBA_GUEST_FULL,
	DBA_NR_REASONS
};

/* Bytes of the physical address space; len 0: none. */
struct dba_bytes {
	uint64_t start, len;
};

struct dba_hca {
	bool named;			/* the toolstack wrote a PCI address */
	bool present;			/* and the control domain has it */
	int owner;			/* domain it is assigned to; -1: unclear */
	int error;			/* -errno: the rest says nothing */
	uint16_t vendor, device;
	struct dba_bytes bar[DBA_BARS];	/* memory BARs */
	bool msix_known;		/* configuration space was read */
	struct dba_bytes msix[2];	/* table, pending bits */
};

/* Frames of a guest: mapped now, or held for it (see map.h). */
struct dba_live {
	unsigned int domid;
	uint64_t mfn, gfn, nr;
	bool held;
	bool translated;
};

struct dba_facts {
	unsigned int guest, backend;
	bool translated;		/* PVH, HVM, Arm: frames are not gfns */
	uint64_t window_gfn, window_nr;	/* from the guest; nr 0: none */
	const struct dba_hca *hca;
	const struct dba_live *live;	/* of all guests */
	size_t n_live;
};

struct dba_req {
	uint64_t mfn, gfn, nr;		/* gfn 0 for a PV guest */
};

/* Text of a reason, for the answer node and the log. */
const char *dba_reason_text(enum dba_reason r);

/* Do [a, a + na) and [b, b + nb) overlap? Neither may wrap. */
bool dba_overlap(uint64_t a, uint64_t na, uint64_t b, uint64_t nb);

/**
 * dba_frame_check() - may the frames of req be mapped into f->guest?
 *
 * DBA_OK only if every frame is a doorbell page of the BAR that f->hca's kind
 * of HCA has for them, f->hca is named for this device and assigned to
 * f->backend, no other guest has or had access to it that cannot be revoked,
 * and the gfns lie in the guest's own window.
 */
enum dba_reason dba_frame_check(const struct dba_facts *f,
				const struct dba_req *req);

/* Is the HCA still named, present and f->backend's? Checked for mapped pages. */
enum dba_reason dba_owner_check(const struct dba_hca *hca,
				unsigned int backend);

#endif
