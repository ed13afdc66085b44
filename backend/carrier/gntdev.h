/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Maps of guest pages by /dev/xen/gntdev, of any length at one contiguous
 * address. The command thread and the job threads call this, but open and close.
 */
#ifndef BE_GNTDEV_H
#define BE_GNTDEV_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define BE_MAP_BUCKETS	1024

struct be_map;
struct be_place;
struct be_gntdev {
	uint32_t domid;
	uint32_t chunk;			/* most pages per gntdev mapping */
	int fd;				/* of all mappings and copies */
	pthread_mutex_t lock;		/* below */
	struct be_map *bucket[BE_MAP_BUCKETS];
	struct be_map *left;		/* the kernel could not unmap them */
	uint64_t pages;			/* mapped now */
	uint64_t window;		/* atomic: where the last place was found */
};

/* 0 or -errno. */
int be_gntdev_open(struct be_gntdev *g, uint32_t domid);
/* Once, after be_gntdev_open(), which may have failed. Unmaps what is left;
 * returns how many pages that were. */
uint64_t be_gntdev_close(struct be_gntdev *g);

/**
 * be_gntdev_map() - map n grants, all or nothing
 * @readonly: the guest granted them read-only; else read-write
 * @place: NULL: at any address
 *
 * Returns the address, or NULL with errno: EINVAL when the hypervisor refused
 * a reference or had no entry left for it, ENOMEM, also for a place.
 */
void *be_gntdev_map(struct be_gntdev *g, const uint32_t *ref, uint32_t n,
		    bool readonly, const struct be_place *place);

/**
 * be_gntdev_copy() - copy n granted pages, which need not be writable
 * @dst: aligned to a page, of n pages; undefined on error
 *
 * Returns 0; -EINVAL: the hypervisor refused a reference; -errno of the ioctl.
 */
int be_gntdev_copy(const struct be_gntdev *g, const uint32_t *ref, uint32_t n,
		   void *dst);

/*
 * Undo be_gntdev_map(); -EINVAL if there is no such map. To unmap takes memory, too: what
 * the kernel has none for is unmapped with a later call, and before anything is mapped.
 */
int be_gntdev_unmap(struct be_gntdev *g, void *addr, uint32_t n);
/* How many pages are mapped now. */
uint64_t be_gntdev_pages(struct be_gntdev *g);

#endif
