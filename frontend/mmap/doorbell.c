// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Doorbell (UAR) pages of the HCA in a process: a store of the process goes to the HCA
 * without any software between. A page belongs to a ucontext from its first mmap until
 * DEALLOC_UCONTEXT is answered; ib_uverbs closes a context after its VMAs are gone or
 * were zapped.
 *
 * - PVH, HVM, Arm: the page appears at a guest frame that the frontend chose from the
 *   device's window, an address range that is otherwise empty. ib_core maps it and takes
 *   it away, as it does natively.
 * - Without a control domain Xen has mapped the pages already (devicetree.c). The backend
 *   names one of them.
 * - PV: the page is mapped by its machine frame number, which the backend sends. Xen checks
 *   it with DOMID_IO, so only registers that this domain may use can be mapped, never
 *   memory, and a failure is an error instead of a failed page table update. The first
 *   access makes the entry: by then the zap can find the VMA.
 */
#include <linux/io.h>
#include <linux/ioport.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <rdma/uverbs_ioctl.h>
#include <asm/xen/hypercall.h>
#include <xen/page.h>
#include <xen/xen.h>
#include <xen/xen-ops.h>

#include "ring/check.h"
#include "doorbell.h"
#include "map.h"
#include "vhca.h"
#include "vhca-provider.h"

/*
 * Most pages of a ucontext: as many as doorbell registers of a context of mlx5, and a
 * small part of the window.
 */
#define VHCA_UC_DOORBELLS	256

struct vhca_window {
	struct resource res;
	char name[16];			/* may outlive the module */
	struct mutex lock;
	DECLARE_BITMAP(used, XENVHCA_DOORBELL_SLOTS);
};

/* One page. The list holds a reference, on PV each VMA as well: VMAs may outlive it. */
struct vhca_doorbell {
	struct list_head list;		/* uc->doorbells, under uc->lock */
	struct kref ref;
	u64 offset;			/* as the provider passed it to mmap() */
	u64 gfn;			/* where it may be; PV, in the tree: 0 */
	u64 frame;			/* to be mapped: gfn, or PV: mfn, or in the tree */
	u8 prot;			/* XENVHCA_PROT_*; 0: not there */
	bool unsure;			/* an answer was lost: it may be there */

	/* PV only */
	struct mutex lock;		/* dead, against page faults */
	bool dead;			/* zapped: VMAs show dummy */
	struct page *dummy;
	struct address_space *mapping;	/* of the uverbs file, for the zap */
};

/* ---- the window of a translated guest ---- */

/*
 * The window is above 4 GiB, because addresses below belong to firmware and devices. As
 * a resource it excludes memory of balloon and hotplug.
 */
struct vhca_window *vhca_window_new(void)
{
	const resource_size_t size = XENVHCA_DOORBELL_SLOTS * PAGE_SIZE;
	struct vhca_window *w;
	int err;

	if (xen_pv_domain())
		return NULL;
	w = kzalloc(sizeof(*w), GFP_KERNEL);
	if (!w)
		return ERR_PTR(-ENOMEM);
	mutex_init(&w->lock);
	strscpy(w->name, "vhca doorbells", sizeof(w->name));
	w->res.name = w->name;
	w->res.flags = IORESOURCE_MEM | IORESOURCE_BUSY;
	err = allocate_resource(&iomem_resource, &w->res, size,
				SZ_4G, iomem_resource.end, size, NULL, NULL);
	if (err) {
		kfree(w);
		return ERR_PTR(err);
	}
	return w;
}

u64 vhca_window_gfn(const struct vhca_window *w)
{
	return w->res.start >> PAGE_SHIFT;
}

/* A frame that may still show a page of the HCA must not get another use. */
void vhca_window_free(struct vhca_window *w)
{
	if (!w)
		return;
	if (!bitmap_empty(w->used, XENVHCA_DOORBELL_SLOTS)) {
		pr_warn("xen-vhcafront: doorbell pages were not taken back, their guest frames stay reserved\n");
		return;
	}
	release_resource(&w->res);
	mutex_destroy(&w->lock);
	kfree(w);
}

void vhca_window_clear(struct vhca_window *w)
{
	if (w)
		bitmap_zero(w->used, XENVHCA_DOORBELL_SLOTS);
}

/* Does the backend name pages of the guest's device tree? */
static bool in_tree(const struct vhca_dev *dev)
{
	return dev->info.flags & XENVHCA_INFO_STATIC_DOORBELLS;
}

/* *gfn is 0 for a PV guest, which needs no frame. */
static int gfn_get(struct vhca_window *w, u64 *gfn)
{
	unsigned long i;

	*gfn = 0;
	if (!w)
		return xen_pv_domain() ? 0 : -ENOMEM;
	mutex_lock(&w->lock);
	i = find_first_zero_bit(w->used, XENVHCA_DOORBELL_SLOTS);
	if (i < XENVHCA_DOORBELL_SLOTS) {
		__set_bit(i, w->used);
		*gfn = vhca_window_gfn(w) + i;
	}
	mutex_unlock(&w->lock);
	return *gfn ? 0 : -ENOSPC;
}

static void gfn_put(struct vhca_window *w, u64 gfn)
{
	if (!w || !gfn)
		return;
	mutex_lock(&w->lock);
	__clear_bit(gfn - vhca_window_gfn(w), w->used);
	mutex_unlock(&w->lock);
}

/* ---- pages of a ucontext; uc->lock is held ---- */

static void doorbell_release(struct kref *ref)
{
	struct vhca_doorbell *db = container_of(ref, struct vhca_doorbell, ref);

	if (db->dummy)
		__free_page(db->dummy);
	mutex_destroy(&db->lock);
	kfree(db);
	module_put(THIS_MODULE);
}

static struct vhca_doorbell *doorbell_find(struct vhca_ucontext *uc,
					   u64 offset)
{
	struct vhca_doorbell *db;

	list_for_each_entry(db, &uc->doorbells, list)
		if (db->offset == offset)
			return db;
	return NULL;
}

/* Drops a page that no process maps and that the backend has not mapped. */
static void doorbell_forget(struct vhca_ucontext *uc,
			    struct vhca_doorbell *db)
{
	gfn_put(to_vdev(uc->ibuc.device)->window, db->gfn);
	list_del(&db->list);
	uc->nr_doorbells--;
	kref_put(&db->ref, doorbell_release);
}

static bool doorbell_good(const struct vhca_dev *dev,
			  const struct vhca_mmap *row,
			  const struct xenvhca_mmap_rsp *rsp)
{
	return vhca_check_mmio(rsp) &&
	       vhca_provider_mmap_prot(row, rsp->prot) &&
	       (!in_tree(dev) || vhca_devicetree_has(rsp->frame));
}

/*
 * Asks the backend for a page. If it is unknown whether the page is at its gfn, the gfn
 * stays in use until the ucontext is gone.
 */
static int doorbell_ask(struct vhca_ucontext *uc,
			const struct vhca_mmap *row,
			struct vhca_doorbell *db)
{
	struct vhca_dev *dev = to_vdev(uc->ibuc.device);
	struct xenvhca_mmap_req req = {
		.offset = db->offset, .length = PAGE_SIZE, .gfn = db->gfn,
	};
	struct xenvhca_mmap_rsp rsp;
	int rc;

	rc = vhca_cmd_mmap(uc, &req, VHCA_CMD_SOON, &rsp);
	/* Every other error means that the backend has not mapped the page. */
	db->unsure |= rc == -EINTR || rc == -ETIMEDOUT || rc == -EIO;
	if (rc)
		return rc;
	if (!doorbell_good(dev, row, &rsp)) {
		ibdev_warn_ratelimited(&dev->ibdev,
				       "mmap %#llx: backend answered with no doorbell page of this guest (kind %u, attribute %u, frame %#llx)\n",
				       db->offset, rsp.kind, rsp.prot,
				       rsp.frame);
		db->unsure = true;
		return -EIO;
	}
	db->frame = db->gfn ? db->gfn : rsp.frame;
	db->prot = rsp.prot;
	atomic64_inc(&dev->stats.doorbells);
	return 0;
}

static int doorbell_new(struct vhca_ucontext *uc, u64 offset,
			struct vhca_doorbell **out)
{
	struct vhca_dev *dev = to_vdev(uc->ibuc.device);
	struct vhca_doorbell *db;
	int rc;

	if (uc->nr_doorbells == VHCA_UC_DOORBELLS)
		return -ENOMEM;
	if (in_tree(dev) && !vhca_devicetree_any()) {
		ibdev_warn_ratelimited(&dev->ibdev,
				       "no doorbell pages: the device tree of this guest has no node %s\n",
				       XENVHCA_TREE_DOORBELLS);
		return -ENXIO;
	}
	/* For vm_ops, until the release; not if the module is on its way out. */
	if (!try_module_get(THIS_MODULE))
		return -ENODEV;
	db = kzalloc(sizeof(*db), GFP_KERNEL);
	if (!db) {
		module_put(THIS_MODULE);
		return -ENOMEM;
	}
	kref_init(&db->ref);
	mutex_init(&db->lock);
	db->offset = offset;
	rc = in_tree(dev) ? 0 : gfn_get(dev->window, &db->gfn);
	if (rc) {
		kref_put(&db->ref, doorbell_release);
		return rc;
	}
	list_add(&db->list, &uc->doorbells);
	uc->nr_doorbells++;
	*out = db;
	return 0;
}

/* Finds the page of @offset; asks the backend for it unless it is there. */
static int doorbell_get(struct vhca_ucontext *uc,
			const struct vhca_mmap *row, u64 offset,
			struct vhca_doorbell **out)
{
	int rc;

	*out = doorbell_find(uc, offset);
	if (!*out) {
		rc = doorbell_new(uc, offset, out);
		if (rc)
			return rc;
	}
	if ((*out)->prot)
		return 0;
	rc = doorbell_ask(uc, row, *out);
	if (rc && !(*out)->unsure)
		doorbell_forget(uc, *out);
	return rc;
}

void vhca_doorbell_drop(struct vhca_ucontext *uc, bool unknown)
{
	struct vhca_dev *dev = to_vdev(uc->ibuc.device);
	struct vhca_doorbell *db, *next;

	list_for_each_entry_safe(db, next, &uc->doorbells, list) {
		if (!unknown)
			gfn_put(dev->window, db->gfn);
		list_del(&db->list);
		uc->nr_doorbells--;
		if (db->prot)
			atomic64_dec(&dev->stats.doorbells);
		kref_put(&db->ref, doorbell_release);
	}
}

static pgprot_t doorbell_prot(pgprot_t prot, u8 kind)
{
	switch (kind) {
	case XENVHCA_PROT_WC:
		return pgprot_writecombine(prot);
#ifdef CONFIG_ARM64
	case XENVHCA_PROT_DEV:
		return pgprot_device(prot);
#endif
	default:
		return pgprot_noncached(prot);
	}
}

/* ---- PV: the process's page table entry ---- */

#ifdef CONFIG_XEN_PV
/*
 * By Xen, which says whether this domain may use the frame. Xen checks entries of pinned page
 * tables only. Linux pins those of a child at the end of fork(), before a page fault can occur.
 * vm_page_prot may be read-only, where Linux wants to know the first write.
 */
static int doorbell_set_pte(pte_t *pte, unsigned long addr, void *data)
{
	const struct vm_area_struct *vma = data;
	const struct vhca_doorbell *db = vma->vm_private_data;
	pgprot_t prot = doorbell_prot(vm_get_page_prot(vma->vm_flags), db->prot);
	struct mmu_update u = {
		.ptr = arbitrary_virt_to_machine(pte).maddr | MMU_NORMAL_PT_UPDATE,
		.val = pte_val_ma(pte_mkspecial(mfn_pte(db->frame, prot))),
	};

	return HYPERVISOR_mmu_update(&u, 1, NULL, DOMID_IO) ? -EIO : 0;
}

/* -ENOMEM: no memory for a page table, or Linux has just freed the table. */
static vm_fault_t doorbell_insert(struct vm_area_struct *vma)
{
	int err = apply_to_page_range(vma->vm_mm, vma->vm_start, PAGE_SIZE,
				      doorbell_set_pte, vma);

	if (!err)
		return VM_FAULT_NOPAGE;
	return err == -ENOMEM ? VM_FAULT_OOM : VM_FAULT_SIGBUS;
}

/*
 * The dummy is mapped with vm_page_prot, which is cached: Xen refuses an entry with another
 * cache mode to a domain that may use no registers, as this one may be by now. The kernel
 * would not notice the refusal, and the process would fault for ever.
 */
static vm_fault_t doorbell_fault(struct vm_fault *vmf)
{
	struct vm_area_struct *vma = vmf->vma;
	struct vhca_doorbell *db = vma->vm_private_data;
	vm_fault_t ret = 0;

	mutex_lock(&db->lock);
	if (db->dead) {
		get_page(db->dummy);
		vmf->page = db->dummy;
	} else {
		ret = doorbell_insert(vma);
	}
	mutex_unlock(&db->lock);
	return ret;
}

/* The entry of a frame has no struct page; that of the dummy is an ordinary one. */
static struct page *doorbell_find_normal_page(struct vm_area_struct *vma,
					      unsigned long addr)
{
	return NULL;
}

static void doorbell_open(struct vm_area_struct *vma)
{
	struct vhca_doorbell *db = vma->vm_private_data;

	kref_get(&db->ref);
}

static void doorbell_close(struct vm_area_struct *vma)
{
	struct vhca_doorbell *db = vma->vm_private_data;

	kref_put(&db->ref, doorbell_release);
}

/* The kernel would compute a page frame number from the entry, which has none. */
static int doorbell_mprotect(struct vm_area_struct *vma,
			     unsigned long start, unsigned long end,
			     unsigned long newflags)
{
	return -EACCES;
}

static const struct vm_operations_struct doorbell_vm_ops = {
	.open = doorbell_open,
	.close = doorbell_close,
	.fault = doorbell_fault,
	VHCA_FIND_NORMAL_PAGE(doorbell_find_normal_page)
	VHCA_NO_MPROTECT(doorbell_mprotect)
};

static int doorbell_map_pv(struct vhca_doorbell *db,
			   struct vm_area_struct *vma)
{
	if (!db->dummy)
		db->dummy = alloc_page(GFP_KERNEL | __GFP_ZERO);
	if (!db->dummy)
		return -ENOMEM;
	db->mapping = vma->vm_file->f_mapping;
	kref_get(&db->ref);
	/*
	 * A child's page table must have no copy of the entry: Xen would refuse to pin it
	 * once the backend has taken the page back. Linux copies no entry that a fault
	 * makes again, which is one without VM_PFNMAP and VM_MIXEDMAP.
	 */
	vm_flags_set(vma, VM_IO | VM_DONTEXPAND | VM_DONTDUMP);
	vhca_refuse_mprotect(vma);
	vma->vm_private_data = db;
	vma->vm_ops = &doorbell_vm_ops;
	return 0;
}
#else
static int doorbell_map_pv(struct vhca_doorbell *db,
			   struct vm_area_struct *vma)
{
	return -EOPNOTSUPP;
}
#endif

/*
 * The device goes; no mmap is under way any more. Offsets are the same in all contexts:
 * entries of other contexts vanish, too, and come back by a page fault unless their
 * page is dead as well.
 */
void vhca_doorbell_zap(struct vhca_ucontext *uc)
{
	struct vhca_doorbell *db;

	list_for_each_entry(db, &uc->doorbells, list) {
		if (!db->mapping)	/* not PV: ib_core did it */
			continue;
		mutex_lock(&db->lock);
		db->dead = true;
		mutex_unlock(&db->lock);
		unmap_mapping_range(db->mapping, db->offset, PAGE_SIZE, 1);
	}
}

/* ---- mmap ---- */

int vhca_doorbell_mmap(struct vhca_ucontext *uc, struct vm_area_struct *vma,
		       const struct vhca_mmap *row)
{
	u64 offset = (u64)vma->vm_pgoff << PAGE_SHIFT;
	struct vhca_doorbell *db;
	int rc;

	rc = vhca_provider_mmap_check(row, vma->vm_end - vma->vm_start);
	if (rc)
		return rc;
	if (!(vma->vm_flags & VM_SHARED) || vma->vm_flags & VM_EXEC)
		return -EINVAL;
	vm_flags_clear(vma, VM_MAYEXEC);
	/* The holder may wait for the backend: a killed process must not. */
	if (mutex_lock_killable(&uc->lock))
		return -EINTR;
	rc = doorbell_get(uc, row, offset, &db);
	if (rc)
		goto out;
	if (xen_pv_domain())
		rc = doorbell_map_pv(db, vma);
	else
		rc = rdma_user_mmap_io(&uc->ibuc, vma, db->frame, PAGE_SIZE,
				       doorbell_prot(vma->vm_page_prot, db->prot), NULL);
out:
	mutex_unlock(&uc->lock);
	return rc;
}

/* ---- the kernel's own page table ---- */

#ifdef CONFIG_XEN_PV
/* Puts the frame in the place of the page that is mapped at @va. */
static bool kernel_replace(const struct vhca_doorbell *db, unsigned long va)
{
	struct mmuext_op flush = {
		.cmd = MMUEXT_INVLPG_ALL, .arg1.linear_addr = va,
	};
	unsigned int level;
	pte_t *pte = lookup_address(va, &level);
	struct mmu_update u;

	if (!pte || level != PG_LEVEL_4K)
		return false;
	u.ptr = arbitrary_virt_to_machine(pte).maddr | MMU_NORMAL_PT_UPDATE;
	u.val = pte_val_ma(mfn_pte(db->frame, doorbell_prot(PAGE_KERNEL, db->prot)));
	return HYPERVISOR_mmu_update(&u, 1, NULL, DOMID_IO) >= 0 &&
	       HYPERVISOR_mmuext_op(&flush, 1, NULL, DOMID_SELF) >= 0;
}

/*
 * ioremap() and vmap_pfn() take a machine frame below the end of this guest's memory for
 * one of its own. So a page of ours is mapped first.
 */
static void __iomem *kernel_map_pv(struct vhca_doorbell *db)
{
	void *va;

	if (!db->dummy)
		db->dummy = alloc_page(GFP_KERNEL | __GFP_ZERO);
	va = db->dummy ? vmap(&db->dummy, 1, VM_MAP, PAGE_KERNEL) : NULL;
	if (va && !kernel_replace(db, (unsigned long)va)) {
		vunmap(va);
		va = NULL;
	}
	return (void __iomem __force *)va;
}
#else
static void __iomem *kernel_map_pv(struct vhca_doorbell *db)
{
	return NULL;
}
#endif

static void __iomem *kernel_map(struct vhca_doorbell *db)
{
	if (xen_pv_domain())
		return kernel_map_pv(db);
	return db->prot == XENVHCA_PROT_WC ?
	       ioremap_wc(db->frame << PAGE_SHIFT, PAGE_SIZE) :
	       ioremap(db->frame << PAGE_SHIFT, PAGE_SIZE);
}

void __iomem *vhca_doorbell_kernel(struct vhca_ucontext *uc, u64 offset)
{
	const struct vhca_mmap *row =
		vhca_provider_mmap(to_vdev(uc->ibuc.device)->provider, offset);
	struct vhca_doorbell *db;
	void __iomem *va = NULL;
	int rc;

	if (!row || row->kind != VHCA_MMAP_MMIO)
		return IOMEM_ERR_PTR(-EOPNOTSUPP);
	mutex_lock(&uc->lock);
	rc = doorbell_get(uc, row, offset, &db);
	if (!rc)
		va = kernel_map(db);
	mutex_unlock(&uc->lock);
	if (rc)
		return IOMEM_ERR_PTR(rc);
	return va ? va : IOMEM_ERR_PTR(-ENOMEM);
}

void vhca_doorbell_kernel_end(void __iomem *va)
{
	if (xen_pv_domain())
		vunmap((void __force *)va);
	else if (va)
		iounmap(va);
}
