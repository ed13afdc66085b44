/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * ioctls of /dev/xen/vhca-helper (xen-vhca-helper.ko), which xen-vhcad in the
 * backend domain uses for tasks that user space cannot do: grant queue pages that
 * the HCA's driver allocated, keep a dying worker's memory mapped until its
 * verbs files are closed, report the frames of mapped doorbell pages, limit the
 * HCA's DMA segments to one page, and map grants for the HCA alone. Only root
 * may open it; each worker process has one open file.
 *
 * ENOTTY means that the loaded module is older than this header and has no such
 * ioctl. Requests keep their numbers and layouts, also for 32 bit programs.
 */
#ifndef _UAPI_VHCA_HELPER_H
#define _UAPI_VHCA_HELPER_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define VHCA_HELPER_DEV		"/dev/xen/vhca-helper"
#define VHCA_HELPER_MAX_PAGES	65536
#define VHCA_HELPER_MAX_FRAMES	64
#define VHCA_HELPER_MAX_MAP	1048576	/* pages of a dma-buf: 4 GiB */
#define VHCA_HELPER_HCA_NAME	64	/* bytes with the final NUL */

/* Cache attribute of a mapping: the guest has to map the page with the same one. */
#define VHCA_HELPER_CACHE_NC	1	/* uncached */
#define VHCA_HELPER_CACHE_WC	2	/* write-combining */
#define VHCA_HELPER_CACHE_DEV	3	/* Arm: device memory, nGnRE */

/* Results of VHCA_HELPER_CAP_DMA. */
#define VHCA_HELPER_CAP_DONE	1	/* in force until the file is closed */
#define VHCA_HELPER_CAP_NEEDLESS 2	/* pages are not merged here */

/**
 * struct vhca_helper_grant - pin and grant mapped queue memory
 * @addr: in, page aligned address in the caller's mapping of a uverbs file, or
 *	of shared memory
 * @refs: in, user address of an array of @nr_pages __u32, filled with the
 *	grant references
 * @nr_pages: in, 1..VHCA_HELPER_MAX_PAGES
 * @domid: in, domain that may map the pages, read-write: the same in all calls by
 *	one open file
 * @id: out, names the range for VHCA_HELPER_UNGRANT
 * @reserved: 0
 *
 * Errors: EFAULT not mapped or no such mapping, EINVAL bad argument, EPERM this file
 * grants to another domain, ENOSPC out of grant references (raise max_grant_frames of
 * this domain), or of those that all domains may have (module parameter
 * granted_pages), EBUSY too many pages are granted to the domain, or ungranted and
 * still mapped by it (module parameter domain_pages).
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
 * @flags: in, VHCA_HELPER_MAY_DIE: the other domain did not ask for it, and may
 *	be dying. Xen ends the grants of a domain that dies before its page
 *	tables, so the pages stay allocated for some time after their grants.
 *	So do the pages of all ranges when the file is closed.
 *
 * Ends what the other domain has unmapped at once. References still mapped
 * are taken over by the module, which retries until they are free; the pages
 * stay allocated so long. Errors: ENOENT unknown id, EINVAL unknown flags.
 * Returns the number of references that are still mapped (0: all done).
 */
#define VHCA_HELPER_MAY_DIE	1
struct vhca_helper_ungrant {
	__u32 id;
	__u32 flags;
};

/**
 * struct vhca_helper_frames - report the frames of mapped doorbell pages
 * @addr: in, page aligned address in the caller's shared mapping of device
 *	registers through a uverbs file
 * @frames: in, user address of an array of @nr_pages __u64, filled with the
 *	page frame numbers by which this domain addresses the pages: machine
 *	frames in a PV domain and in dom0, else those of its address space
 * @nr_pages: in, 1..VHCA_HELPER_MAX_FRAMES, all in one mapping
 * @cache: out, VHCA_HELPER_CACHE_*, the same for all pages; 0 before the call
 *
 * Memory of any kind is refused. The part that maps a frame into a guest has to
 * check that the frame belongs to the HCA's registers.
 * Errors: EFAULT not mapped, or not by a uverbs file, EINVAL bad argument or
 * pages that differ in their attribute, EPERM the pages are memory (queue
 * pages: see VHCA_HELPER_GRANT) or cached. On errors nothing is written, except
 * with EFAULT for an address in @frames.
 */
struct vhca_helper_frames {
	__u64 addr;
	__u64 frames;
	__u32 nr_pages;
	__u32 cache;
};

/**
 * struct vhca_helper_cap_dma - limit the HCA's DMA segments to one page
 * @hca: in, name of the HCA with a final NUL, as the file ibdev of the uverbs
 *	device has it in sysfs
 * @fd: in, an open uverbs file of that HCA
 * @result: out, VHCA_HELPER_CAP_*; 0 before the call
 *
 * To be called before memory is registered. Without the limit the HCA gets copies
 * of registered memory in a PV domain, and data is lost silently: do not use a
 * hardware HCA there if this fails. NEEDLESS: software HCAs, and domains whose
 * page numbers are those of the bus.
 *
 * The limit ends with the last open helper file that requested it, so keep the file
 * open while memory is registered. Calling again is harmless.
 * Errors: EBADF @fd is not open, EINVAL bad argument or @fd is no uverbs file
 * of this HCA, ENODEV no such HCA (renamed: read ibdev again), EBUSY this
 * file capped another HCA, EOPNOTSUPP the HCA's bus has no such limit, EXDEV (Arm)
 * the domain is neither mapped directly nor, by the module's parameter behind_iommu,
 * behind an IOMMU: the HCA's DMA would reach other memory.
 */
struct vhca_helper_cap_dma {
	char hca[VHCA_HELPER_HCA_NAME];
	__s32 fd;
	__u32 result;
};

/**
 * struct vhca_helper_map - make a dma-buf of another domain's grants
 * @refs: in, user address of an array of @nr_pages __u32, grant references
 * @nr_pages: in, 1..VHCA_HELPER_MAX_MAP
 * @domid: in, domain that granted the pages
 * @reserved: 0
 *
 * Maps the pages for DMA, all or nothing, for reading and writing; a page that is
 * granted read-only is refused. No process can map the dma-buf, and only one HCA can
 * attach to it. The grants are unmapped with its last reference, which may be that of
 * a memory region: the file descriptor is needed only to register the region.
 *
 * Returns a file descriptor that is closed on exec. Errors: EFAULT no such array,
 * EINVAL bad argument or a reference that the hypervisor refused, ENOSPC it has no
 * room for more mappings (raise gnttab_max_maptrack_frames), EBUSY too many pages
 * are mapped (module parameter map_pages), EOPNOTSUPP that parameter is 0, ENOMEM,
 * EMFILE, ENFILE.
 */
struct vhca_helper_map {
	__u64 refs;
	__u32 nr_pages;
	__u16 domid;
	__u16 reserved;
};

#define VHCA_HELPER_GRANT	_IOWR('V', 1, struct vhca_helper_grant)
#define VHCA_HELPER_UNGRANT	_IOW('V', 2, struct vhca_helper_ungrant)
/*
 * Keep the caller's address space until all threads of the caller are dead and its
 * open verbs files are released; only then are grant mappings in it unmapped. Call it
 * before the first MR is registered. While another process has this file open, the
 * verbs files stay open, and so does the address space if verbs pin memory in it.
 * EBUSY: this file keeps an address space already, or another file keeps this one.
 */
#define VHCA_HELPER_KEEP_MM	_IO('V', 3)
#define VHCA_HELPER_FRAMES	_IOWR('V', 4, struct vhca_helper_frames)
#define VHCA_HELPER_CAP_DMA	_IOWR('V', 5, struct vhca_helper_cap_dma)
#define VHCA_HELPER_MAP		_IOW('V', 6, struct vhca_helper_map)

#endif
