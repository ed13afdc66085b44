// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Reports the frames behind doorbell pages that the caller mapped through a
 * verbs file: /proc/self/pagemap does not show such mappings.
 *
 * This runs in the worker's system calls and reads the caller's memory only.
 * Frames of memory are never reported: a hostile worker must not be able to map
 * anything except device registers into a guest. The agent decides whether a frame
 * is a doorbell of this HCA.
 */
#include <linux/mm.h>
#include <linux/mmap_lock.h>
#include <linux/sched.h>
#include <linux/uaccess.h>
#include "compat.h"
#include "helper.h"

/*
 * RAM, and device memory with struct pages (which includes the pages of
 * foreign grants). The existence of a struct page does not prove memory: sections
 * of the memory map are larger than the gaps between RAM and registers, but
 * pages of gaps are reserved. On PV, Linux translates a foreign machine frame to
 * frame 0.
 */
static bool vh_is_memory(unsigned long pfn)
{
	struct page *page;

	if (!pfn || page_is_ram(pfn))
		return true;
	if (!pfn_valid(pfn))
		return false;
	page = pfn_to_page(pfn);
	return is_zone_device_page(page) || !PageReserved(page);
}

/*
 * 0: cached. The page table decides, not the mapping: x86 may have replaced an
 * attribute that conflicts with another mapping's. Each of the functions keeps a
 * value that has its attribute already. If two attributes are the same (x86: NC and
 * DEV; WC too without PAT), the first one is reported.
 */
static u32 vh_cache(pgprot_t prot)
{
	if (pgprot_val(pgprot_noncached(prot)) == pgprot_val(prot))
		return VHCA_HELPER_CACHE_NC;
	if (pgprot_val(pgprot_writecombine(prot)) == pgprot_val(prot))
		return VHCA_HELPER_CACHE_WC;
	if (pgprot_val(pgprot_device(prot)) == pgprot_val(prot))
		return VHCA_HELPER_CACHE_DEV;
	return 0;
}

/*
 * Mmap lock held. In a PV domain the kernel translates registers' machine
 * frames to equal PFNs (they lie outside of its RAM), so the PFN is both.
 */
static int vh_look(const struct vhca_helper_frames *f, u64 *frames, u32 *cache)
{
	struct vm_area_struct *vma = vma_lookup(current->mm, f->addr);
	unsigned long pfn;
	pgprot_t prot;
	u32 i;

	if (!vma || !(vma->vm_flags & VM_SHARED) || !vh_is_uverbs(vma) ||
	    (vma->vm_end - f->addr) >> PAGE_SHIFT < f->nr_pages)
		return -EFAULT;
	/* The drivers' queue pages are inserted as pages, without these. */
	if (!(vma->vm_flags & VM_PFNMAP) || !(vma->vm_flags & VM_IO))
		return -EPERM;
	for (i = 0; i < f->nr_pages; i++) {
		if (vh_follow(vma, f->addr + i * PAGE_SIZE, &pfn, &prot))
			return -EFAULT;
		if (vh_is_memory(pfn) || !vh_cache(prot))
			return -EPERM;
		frames[i] = pfn;
		if (i && vh_cache(prot) != *cache)
			return -EINVAL;
		*cache = vh_cache(prot);
	}
	return 0;
}

long vh_frames(struct vhca_helper_frames __user *arg)
{
	u64 frames[VHCA_HELPER_MAX_FRAMES];
	struct vhca_helper_frames f;
	u32 cache;
	int err;

	if (copy_from_user(&f, arg, sizeof(f)))
		return -EFAULT;
	if (!f.nr_pages || f.nr_pages > VHCA_HELPER_MAX_FRAMES || f.cache ||
	    !PAGE_ALIGNED(f.addr) || f.addr >= TASK_SIZE)
		return -EINVAL;
	if (mmap_read_lock_killable(current->mm))
		return -EINTR;
	err = vh_look(&f, frames, &cache);
	mmap_read_unlock(current->mm);
	if (err)
		return err;
	if (copy_to_user(u64_to_user_ptr(f.frames), frames,
			 f.nr_pages * sizeof(*frames)) ||
	    put_user(cache, &arg->cache))
		return -EFAULT;
	return 0;
}
