/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Internals of xen-vhca-helper.ko: helper.c is the device, grant.c grants queue
 * pages, dmabuf.c maps grants for the HCA alone, keep.c keeps the memory of dead
 * workers, frame.c reports frames of doorbell pages, segment.c limits the HCA's DMA
 * segments, hca.c finds the HCA.
 */
#ifndef VHCA_HELPER_H
#define VHCA_HELPER_H

#include <linux/mm_types.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <uapi/vhca-helper.h>

struct device;
struct file;
struct ib_device;
struct vh_cap;
struct vh_keep;
struct vh_range;

/* One open file: one worker of xen-vhcad. */
struct vh_file {
	struct xarray ranges;		/* id -> vh_range; has its own lock */
	u32 domain;			/* of all grants, and 1; 0: none yet */
	struct vh_keep *keep;		/* under keep.c's lock */
	struct vh_cap *cap;		/* under segment.c's lock */
};

extern struct workqueue_struct *vh_wq;
extern atomic_t vh_grants, vh_zombies, vh_kept, vh_capped, vh_mapped; /* for debugfs */

/* helper.c: device, or NULL, and mappings of /dev/infiniband/uverbsN. */
struct device *vh_uverbs(const struct file *file);
bool vh_is_uverbs(const struct vm_area_struct *vma);

/* grant.c: the two ioctls; end of all of a closed file; module exit. */
long vh_grant(struct vh_file *vf, struct vhca_helper_grant __user *arg);
long vh_ungrant(struct vh_file *vf, struct vhca_helper_ungrant __user *arg);
void vh_grant_release(struct vh_file *vf);
void vh_grant_stop(void);		/* before vh_wq is destroyed */

/* dmabuf.c: the ioctl; a dma-buf holds the module, not the file. */
long vh_map(struct vhca_helper_map __user *arg);

/* keep.c: the ioctl; a copy of the file is closed; the last one is. */
long vh_keep_mm(struct vh_file *vf);
void vh_keep_flush(struct vh_keep *k);
void vh_keep_release(struct vh_keep *k);

/* frame.c: the ioctl. */
long vh_frames(struct vhca_helper_frames __user *arg);

/* segment.c: the ioctl; a closed file. */
long vh_cap_dma(struct vh_file *vf, struct vhca_helper_cap_dma __user *arg);
void vh_cap_release(struct vh_file *vf);

/* hca.c: an HCA with a registration lock (ib_device_put()), or NULL; module's life. */
struct ib_device *vh_hca_get(const char *name);
int vh_hca_start(void);
void vh_hca_stop(void);

#endif
