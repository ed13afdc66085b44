/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * What xen-vhca-doorbelld mapped, and the two hypercalls that do it. One
 * thread. The hypercalls and the state file stand behind pointers, so that
 * unit tests and --dry-run need neither.
 *
 * A PV guest's page table entries outlive the permission that allowed them,
 * and nothing but its end proves that they are gone. After an unmap its frame
 * is therefore held: only the same guest may get it again. So are frames of
 * any guest on Arm, which with the permission can map the frame elsewhere
 * (XENMAPSPACE_dev_mmio).
 */
#ifndef DBA_MAP_H
#define DBA_MAP_H

#include "frame.h"

#define DBA_UUID	16	/* bytes of a domain's handle */
#define DBA_MAX_MAPS	65536	/* of all guests */

struct dba_map {
	struct dba_map *next;
	unsigned int guest, devid, backend, slot;
	uint64_t mfn, gfn, nr;
	bool translated;	/* also mapped at gfn, not only permitted */
	bool transit;		/* hypercalls under way, or one failed */
	bool held;		/* unmapped, see above; slot means nothing */
	uint8_t uuid[DBA_UUID];	/* of the guest: numbers are used again */
};

/* 0 or -errno each; ctx is that of the table. */
struct dba_ops {
	int (*iomem)(void *ctx, unsigned int domid, uint64_t mfn, uint64_t nr,
		     bool allow);
	int (*mapping)(void *ctx, unsigned int domid, uint64_t gfn,
		       uint64_t mfn, uint64_t nr, bool add);
	int (*save)(void *ctx, const struct dba_map *maps);
};

struct dba_table {
	const struct dba_ops *ops;
	void *ctx;
	struct dba_map *maps;
	size_t n;
	unsigned int own;	/* the control domain, where this runs */
	bool hold_translated;	/* Arm: see above */
	bool reuse;		/* hold nothing */
};

/* The mapping of a slot, NULL if it has none. */
struct dba_map *dba_map_find(const struct dba_table *t, unsigned int guest,
			     unsigned int devid, unsigned int slot);

/**
 * dba_map_add() - let a guest reach frames that dba_frame_check() passed
 * @want: copied; next, transit and held are ignored
 * @err: receives the -errno of a failed hypercall or file, else 0
 *
 * It is in the state file before the first hypercall is made. When one fails
 * the others are undone. DBA_SLOT_BUSY, DBA_MEMORY, DBA_STATE_FILE,
 * DBA_HYPERCALL.
 */
enum dba_reason dba_map_add(struct dba_table *t, const struct dba_map *want,
			    int *err);

/**
 * dba_map_del() - take them away again, in reverse order
 *
 * When the mapping cannot be removed it stays in the table, and its frames
 * stay refused to others. DBA_NOT_MAPPED, DBA_HYPERCALL.
 */
enum dba_reason dba_map_del(struct dba_table *t, unsigned int guest,
			    unsigned int devid, unsigned int slot, int *err);

/* As dba_map_del() for a mapping of the table. */
enum dba_reason dba_map_undo(struct dba_table *t, struct dba_map *m, int *err);

/* The guest is gone and Xen took everything back: only forget. Returns how
 * many there were. */
size_t dba_map_forget(struct dba_table *t, unsigned int guest);

/* After a restart: undo what the last agent left half done. */
void dba_map_recover(struct dba_table *t);

/* Put a copy of m into the table, no hypercall; NULL: no memory or too many. */
struct dba_map *dba_map_insert(struct dba_table *t, const struct dba_map *m);
/* Release the table, not the mappings. */
void dba_map_free(struct dba_table *t);

/* All entries as the frame check wants them, free() it; NULL: no memory. */
struct dba_live *dba_map_live(const struct dba_table *t);

#endif
