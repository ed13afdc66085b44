/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * ioctls of /dev/xen/vhca-helper (xen-vhca-helper.ko), used by xen-vhcad in
 * the domain that owns the HCA. What user space cannot do there: grant queue
 * pages that the HCA's driver allocated, and keep a dying worker's memory
 * mapped until its verbs files are closed. Root only; one open file per
 * worker process.
 */
#ifndef _UAPI_VHCA_HELPER_H
#define _UAPI_VHCA_HELPER_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define VHCA_HELPER_DEV		"/dev/xen/vhca-helper"
#define VHCA_HELPER_MAX_PAGES	65536

/**
 * struct vhca_helper_grant - pin and grant mapped queue memory
 * @addr: in, page aligned address in the caller's mapping of a uverbs file
 * @refs: in, user address of an array of @nr_pages __u32, filled with the
 *	grant references
 * @nr_pages: in, 1..VHCA_HELPER_MAX_PAGES
 * @domid: in, domain that may map the pages, read-write
 * @id: out, names the range for VHCA_HELPER_UNGRANT
 * @reserved: 0
 *
 * Errors: EFAULT not mapped or not a uverbs mapping, EINVAL bad argument,
 * ENOSPC out of grant references (raise max_grant_frames of this domain),
 * EBUSY the domain still maps too many pages that were ungranted.
 */
struct vhca_helper_grant {
	__u64 addr;
	__u64 refs;
	__u32 nr_pages;
	__u16 domid;
	__u16 reserved;
	__u32 id;
	__u32 reserved1;
};

/**
 * struct vhca_helper_ungrant - end the grants of a range
 * @id: in, from VHCA_HELPER_GRANT
 * @reserved: 0
 *
 * Ends what the other domain has unmapped at once. References still mapped
 * are taken over by the module, which retries until they are free; the pages
 * stay allocated so long. Errors: ENOENT unknown id. Returns the number of
 * references that are still mapped (0: all done).
 */
struct vhca_helper_ungrant {
	__u32 id;
	__u32 reserved;
};

#define VHCA_HELPER_GRANT	_IOWR('V', 1, struct vhca_helper_grant)
#define VHCA_HELPER_UNGRANT	_IOW('V', 2, struct vhca_helper_ungrant)
/*
 * Keep the caller's address space until all threads of the caller are dead
 * and the verbs files it had open are released; only then grant mappings in
 * it are torn down. Once per open file, before the first MR is registered.
 */
#define VHCA_HELPER_KEEP_MM	_IO('V', 3)

#endif
