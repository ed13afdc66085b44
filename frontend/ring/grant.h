/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Guest memory granted to the backend: of processes, and of the kernel itself.
 */
#ifndef VHCA_GRANT_H
#define VHCA_GRANT_H

#include <linux/list.h>
#include <rdma/ib_umem.h>
#include <xen/grant_table.h>
#include <xen/io/vhcaif.h>

struct vhca_dev;

struct vhca_mem {
	struct vhca_dev *dev;
	domid_t backend;		/* that it is granted to, */
	u32 gen;			/*   in this connection */
	struct ib_umem *umem;		/* owned; NULL: memory of the kernel */
	void *va;			/* owned, of the kernel */
	struct xenvhca_pages pages;	/* wire description */
	u32 page_offset;		/* first byte in the first page */
	u32 users;			/* objects with a doorbell record here: udata.c */
	struct list_head list;		/* vhca_ucontext.orphans or .dbpages */
	/* private to grant.c below */
	grant_ref_t *ref;		/* nr_pages data references, unless they have ended */
	u32 held;			/* pages that count as granted */
	struct page **dir;		/* directory and root pages */
	grant_ref_t *dir_ref;
	u32 nr_dir;
};

/*
 * Pins @length octets of this process and grants them to the backend, read-only if
 * @access has no write access and the backend takes such pages. Return: ERR_PTR(-ENOMEM)
 * with a log line that names max_grant_frames if grant references are exhausted; errors of
 * ib_umem_get().
 */
struct vhca_mem *vhca_mem_get(struct vhca_dev *dev, u64 addr, u64 length,
			      int access);
/*
 * @nr pages of the kernel, zeroed, in a row at mem->va, granted read-write. Return:
 * ERR_PTR(-ENOMEM).
 */
struct vhca_mem *vhca_mem_new(struct vhca_dev *dev, u32 nr);
static inline bool vhca_mem_readonly(const struct vhca_mem *mem)
{
	return mem->pages.flags & XENVHCA_PAGES_READONLY;
}

/*
 * The 32 bits at @offset of a page of doorbell records as they are now, in the HCA's byte
 * order; 0 if they are not in that page. Any context.
 */
u32 vhca_mem_word(const struct vhca_mem *mem, u32 offset);
/* The request was answered: directory pages are not needed any more. NULL is fine. */
void vhca_mem_drop_dirs(struct vhca_mem *mem);
/*
 * Ends the grants, unpins, frees. A page that is still mapped, or may be as the backend may
 * be dying, becomes a zombie: allocated, charged, counted, retried. Too many pages that a
 * living backend still maps break the device. NULL is fine.
 */
void vhca_mem_put(struct vhca_mem *mem);
/*
 * Ends the grants of memory of the kernel that is not freed. Return: how many pages the
 * backend still maps; to be called again until there are none. NULL is fine.
 */
u32 vhca_mem_withdraw(struct vhca_mem *mem);
/* Then grants it anew, to the backend of now. 0 or -ENOMEM: it is as before. */
int vhca_mem_grant_again(struct vhca_mem *mem);
void vhca_grant_init(void);
void vhca_grant_exit(void);	/* waits (bounded) for zombies */
/* Pages that a backend still maps, or may, as it may be dying. */
u64 vhca_grant_zombies(void);
/* Are there too many zombies, after another try to end their grants? Sleeps. */
bool vhca_grant_overdrawn(void);
/* Counts pages of rings, which ring.c grants and ends: none is refused. */
void vhca_grant_count(int nr);
/* Data pages of the largest region, beside its lists and rings: for max_mr_size. */
u64 vhca_grant_max_region(void);
/* Ends the grant of a page and frees it, now or as a zombie. False: still mapped. */
bool vhca_grant_end_page(struct vhca_dev *dev, grant_ref_t ref,
			 struct page *page);

#endif
