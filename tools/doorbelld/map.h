/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The mappings of xen-vhca-doorbelld, and the two hypercalls for them. One thread
 * calls this. The hypercalls and the state file are behind pointers, so that
 * unit tests and --dry-run need neither.
 *
 * A PV guest's page table entries outlive the permission that allowed them, until
 * the end of the guest. After an unmap its frame is
 * therefore held: only the same guest may get it again. Frames of any guest on
 * Arm are held, too: with the permission it can map the frame elsewhere
 * (XENMAPSPACE_dev_mmio).
 */
#ifndef DBA_MAP_H
#define DBA_MAP_H

#include "frame.h"

#define DBA_UUID	16	/* bytes of a domain's handle */
#define DBA_LINE	160	/* and of a line of the state file */
#define DBA_MAX_MAPS	65536	/* of all guests */
#define DBA_GUEST_MAPS	2048	/* of one, mapped and held; or its configured limit */
#define DBA_DOMAINS	0x7ff0	/* numbers of domains */
#define DBA_HEADS	4096	/* of a hash, see map.c */

/* A mapping in the state file (state.c). */
struct dba_line {
	uint16_t len, flags;	/* 0: not made yet; where the last two flags are */
	char text[DBA_LINE];
};

/* What mappings are looked up by, each with a hash of its own. */
enum { DBA_BY_SLOT, DBA_BY_FRAME, DBA_BY_GFN, DBA_CHAINS };

struct dba_map {
	struct dba_map *next, *prev;
	struct dba_map *chain[DBA_CHAINS];	/* next with the same hash */
	unsigned int guest, devid, backend, slot;
	uint64_t mfn, gfn, nr;
	bool translated;	/* also mapped at gfn, not only permitted */
	bool transit;		/* hypercalls in progress, or one failed */
	bool noted;		/* and none was made yet */
	bool held;		/* unmapped, see above; slot means nothing */
	uint8_t uuid[DBA_UUID];	/* of the guest: numbers are used again */
	struct dba_line line;
};

/* 0 or -errno each; ctx is that of the table. */
struct dba_ops {
	int (*iomem)(void *ctx, unsigned int domid, uint64_t mfn, uint64_t nr,
		     bool allow);
	int (*mapping)(void *ctx, unsigned int domid, uint64_t gfn,
		       uint64_t mfn, uint64_t nr, bool add);
	int (*save)(void *ctx, struct dba_map *maps);
};

struct dba_table {
	const struct dba_ops *ops;
	void *ctx;
	struct dba_map *maps;
	struct dba_map *heads[DBA_CHAINS][DBA_HEADS];
	size_t n;
	uint32_t of_guest[DBA_DOMAINS];	/* how many of n are that guest's */
	uint32_t allowed[DBA_DOMAINS];	/* if that is more than DBA_GUEST_MAPS */
	bool changed;		/* and not on file yet */
	unsigned int own;	/* the control domain, where this runs */
	bool hold_translated;	/* Arm: see above */
	bool reuse;		/* hold nothing */
};

/* The mapping of a slot, NULL if it has none. A backend's slots are its own. */
struct dba_map *dba_map_find(const struct dba_table *t, unsigned int guest,
			     unsigned int devid, unsigned int backend,
			     unsigned int slot);

/**
 * dba_map_note() - the first step of a mapping: only the table changes
 * @want: frames that dba_frame_check() passed; next, transit, held are ignored
 * @m: receives the entry, whose frames are refused to others from now on. An unmap
 *	before dba_map_do() makes it go
 *
 * DBA_SLOT_BUSY, DBA_GUEST_FULL, DBA_MEMORY.
 */
enum dba_reason dba_map_note(struct dba_table *t, const struct dba_map *want,
			     struct dba_map **m);

/* Write the state file, if anything changed: once after all requests of a pass were
 * noted and before the first is executed, once before answers are sent. 0 or -errno. */
int dba_map_save(struct dba_table *t);

/**
 * dba_map_do() - permit and map a noted and saved entry
 * @err: receives the -errno of a failed hypercall, else 0
 *
 * When one fails the others are undone; m is removed, or stays if that fails, too.
 * DBA_HYPERCALL.
 */
enum dba_reason dba_map_do(struct dba_table *t, struct dba_map *m, int *err);

/* Remove an entry before any hypercall for it. */
void dba_map_drop(struct dba_table *t, struct dba_map *m);

/**
 * dba_map_del() - unmap and withdraw the permission
 *
 * When the mapping cannot be removed it stays in the table, and its frames
 * stay refused to others. In the file it may stay longer; then it is
 * removed once more. DBA_NOT_MAPPED, DBA_HYPERCALL.
 */
enum dba_reason dba_map_del(struct dba_table *t, unsigned int guest,
			    unsigned int devid, unsigned int backend,
			    unsigned int slot, int *err);

/* As dba_map_del() for a mapping of the table. */
enum dba_reason dba_map_undo(struct dba_table *t, struct dba_map *m, int *err);

/* The guest is gone, and Xen has ended its mappings: remove the entries. Returns
 * their number. */
size_t dba_map_forget(struct dba_table *t, unsigned int guest);

/* After a restart: undo mappings that the last agent did not finish. */
void dba_map_recover(struct dba_table *t);

/* Put a copy of m into the table, no hypercall; NULL: no memory or too many. */
struct dba_map *dba_map_insert(struct dba_table *t, const struct dba_map *m);
/* Release the table, not the mappings. */
void dba_map_free(struct dba_table *t);

/**
 * dba_map_live() - the entries that concern a request, as the frame check wants them
 * @n: receives how many
 *
 * Those of the same machine frame, and the guest's own of the same guest frame.
 * free() it; NULL: no memory.
 */
struct dba_live *dba_map_live(const struct dba_table *t, unsigned int guest,
			      const struct dba_req *req, size_t *n);

#endif
