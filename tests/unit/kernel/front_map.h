/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * What of Linux and Xen the files of frontend/mmap/ use that map pages into a process of a
 * PV guest; of a translated one, what both have.
 */
#ifndef FRONT_MAP_H
#define FRONT_MAP_H

#define VM_SHARED		BIT(0)
#define VM_WRITE		BIT(1)
#define VM_EXEC			BIT(2)
#define VM_MAYEXEC		BIT(3)
#define VM_PFNMAP		BIT(4)
#define VM_MIXEDMAP		BIT(5)
#define VM_DONTCOPY		BIT(6)
#define VM_MAP			0
#define VM_DONTEXPAND		0
#define VM_DONTDUMP		0
#define VM_IO			0
#define VM_FAULT_OOM		1
#define VM_FAULT_SIGBUS		2
#define VM_FAULT_NOPAGE		0x100
#define ERESTARTNOINTR		513
#define SIGKILL			9
#define SIG_SETMASK		2
#define GNTST_okay		0
#define GNTMAP_host_map		2
#define GNTMAP_application_map	4
#define GNTMAP_contains_pte	16
#define GNTMAP_readonly		32
#define _GNTMAP_guest_avail0	16
#define GNTTABOP_unmap_grant_ref 1
#define INVALID_GRANT_HANDLE	(~0u)
#define XENFEAT_auto_translated_physmap 2
#define WQ_UNBOUND		0
#define xen_feature(f)		(!kernel_pv)
#define DECLARE_WAIT_QUEUE_HEAD(w) wait_queue_head_t w
#define wait_event(wq, cond)	assert_true(cond)
#define kvcalloc		kcalloc
#define alloc_page(gfp)		calloc(1, sizeof(struct page))
#define atomic_xchg(a, n)	__sync_lock_test_and_set(&(a)->v, n)
#define pr_warn_ratelimited	pr_warn
#define vm_flags_set(vma, f)	((vma)->vm_flags |= (f))
#define vma_pages(vma)		(((vma)->vm_end - (vma)->vm_start) / PAGE_SIZE)
#define igrab(inode)		(++(inode)->refs, (inode))
#define iput(inode)		((inode)->refs--)
#define kref_init(r)		((r)->n = 1)
#define kref_get(r)		((r)->n++)
#define kref_put(r, release)	(--(r)->n ? 0 : (release(r), 1))
#define INIT_WORK(w, f)		((w)->fn = (f))
#define queue_work(wq, w)	((w)->fn(w))
#define mmu_notifier_range_blockable(r) true
#define mmu_interval_set_seq(mn, seq)
#define mmu_interval_read_begin(mn)
#define mmu_interval_notifier_remove(mn) (notified = false)
#define mmu_interval_notifier_insert_locked(...) kernel_notify()
#define sigmask(sig)		(1ul << ((sig) - 1))
#define siginitsetinv(set, mask) (*(set) = ~(mask))
#define synchronize_rcu_tasks()	(in_module = false)
/* Of a doorbell: one page. */
#define apply_to_page_range(mm, at, len, fn, data) \
	(insert_rc || (len) != PAGE_SIZE ? insert_rc : (fn)(NULL, at, data))
#define arbitrary_virt_to_machine(p) ((struct maddr){ 0 })
#define gnttab_batch_map(op, n)
#undef HYPERVISOR_grant_table_op
#define HYPERVISOR_grant_table_op(...) 0
#define unmap_mapping_range(mapping, start, len, even) kernel_zap(mapping, start)
#define vm_area_struct		map_vma
#define gnttab_set_map_op(op, a, f, r, d) ((op)->ref = (r), (op)->dom = (d))
#define gnttab_set_unmap_op(op, a, f, h) ((op)->handle = (h))

/* ---- doorbell pages ---- */
#define CONFIG_XEN_PV		1
#define DOMID_IO		0x7ff1
#define IORESOURCE_MEM		1
#define IORESOURCE_BUSY		2
#define SZ_4G			(1ull << 32)
#define PG_LEVEL_4K		1
#define PAGE_KERNEL		0
#define MMUEXT_INVLPG_ALL	0
#define MMU_NORMAL_PT_UPDATE	0
#define strscpy(to, from, n)	strncpy(to, from, n)
#define allocate_resource(...)	0
#define release_resource(r)	0
#define bitmap_zero(bits, n)	memset(bits, 0, sizeof(bits))
#define bitmap_empty(bits, n)	true
#define vm_flags_clear(vma, f)	((vma)->vm_flags &= ~(f))
#define vm_get_page_prot(flags)	((pgprot_t)((flags) & VM_WRITE))
#define pgprot_writecombine(p)	(p)
#define pgprot_noncached(p)	(p)
#define rdma_user_mmap_io(...)	0
#define lookup_address(va, level) ((pte_t *)(*(level) = 0, NULL))
#define mfn_pte(mfn, prot)	((pte_t)((mfn) << PAGE_SHIFT | (prot)))
#define pte_mkspecial(pte)	(pte)
#define pte_val_ma(pte)		(pte)
#define HYPERVISOR_mmu_update(u, n, done, domid) kernel_mmu_update(u, domid)
#define HYPERVISOR_mmuext_op(...) 0
#define vmap(...)		NULL
#define vunmap(va)		((void)(va))
#define ioremap(addr, size)	NULL
#define ioremap_wc(addr, size)	NULL
#define iounmap(va)

typedef u64 resource_size_t;
typedef int pgprot_t;
struct resource { const char *name; int flags; u64 start, end; };
struct mmuext_op { int cmd; struct { u64 linear_addr; } arg1; };
struct mmu_update { u64 ptr, val; };
int kernel_mmu_update(const struct mmu_update *u, unsigned int domid);

/* ---- a process's memory ---- */
typedef int64_t loff_t;
typedef int vm_fault_t;
typedef u64 pte_t;
#define sigset_t		u64
struct maddr { u64 maddr; };
struct inode { int refs; };
struct address_space { struct inode *host; };
struct file { struct address_space *f_mapping; };
struct vm_fault { struct map_vma *vma; struct page *page; unsigned long address; };
struct mmu_notifier_range { unsigned long start, end; };
struct mmu_interval_notifier { int unused; };
struct mmu_interval_notifier_ops {
	bool (*invalidate)(struct mmu_interval_notifier *mn,
			   const struct mmu_notifier_range *range,
			   unsigned long seq);
};
struct vm_operations_struct {
	void (*open)(struct map_vma *vma);
	void (*close)(struct map_vma *vma);
	int (*may_split)(struct map_vma *vma, unsigned long addr);
	vm_fault_t (*fault)(struct vm_fault *vmf);
	struct page *(*find_normal_page)(struct map_vma *vma,
					  unsigned long addr);
	int (*mprotect)(struct map_vma *vma, unsigned long start,
			unsigned long end, unsigned long newflags);
};
struct map_vma {
	unsigned long vm_start, vm_end, vm_pgoff, vm_flags;
	int vm_page_prot;
	struct file *vm_file;
	void *vm_mm, *vm_private_data;
	const struct vm_operations_struct *vm_ops;
};
struct gnttab_map_grant_ref { u32 ref, flags, handle; int dom, status; };
struct gnttab_unmap_grant_ref { u32 handle; int status; };
struct gntab_unmap_queue_data {
	struct gnttab_unmap_grant_ref *unmap_ops, *kunmap_ops;
	struct page **pages;
	unsigned int count;
	void (*done)(int result, struct gntab_unmap_queue_data *data);
	void *data;
};

int gnttab_alloc_pages(int nr, struct page **pages);
void gnttab_free_pages(int nr, struct page **pages);
int gnttab_map_refs(struct gnttab_map_grant_ref *op, void *kop,
		    struct page **pages, unsigned int n);
int gnttab_unmap_refs(struct gnttab_unmap_grant_ref *op, void *kop,
		      struct page **pages, unsigned int n);
void gnttab_unmap_refs_async(struct gntab_unmap_queue_data *d);
int vm_insert_pages(struct map_vma *vma, unsigned long addr, struct page **pages,
		    unsigned long *n);
void kernel_zap(struct address_space *mapping, loff_t start);
int sigprocmask(int how, sigset_t *set, sigset_t *old);

#endif
