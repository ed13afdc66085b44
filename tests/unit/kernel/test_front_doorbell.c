// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * frontend/mmap/doorbell.c in a translated guest: guest frames of the window that a
 * process takes, and which of them are free again after which answer; frames of the
 * guest's device tree, which a backend names.
 */
#include "kernel.h"
#include "vhca-provider.h"

#define VM_SHARED		BIT(0)
#define VM_EXEC			BIT(1)
#define VM_MAYEXEC		BIT(2)
#define IORESOURCE_MEM		1
#define IORESOURCE_BUSY		2
#define SZ_4G			(1ull << 32)
#define strscpy(to, from, n)	strncpy(to, from, n)
#define vm_flags_clear(vma, f)	((vma)->vm_flags &= ~(f))
#define xen_pv_domain()		false
#define pgprot_writecombine(p)	XENVHCA_PROT_WC
#define pgprot_noncached(p)	XENVHCA_PROT_NC
#define unmap_mapping_range(mapping, start, len, even) ((void)(mapping))
#define kvcalloc		kcalloc
#define ioremap(addr, size)	((void *)(addr))
#define ioremap_wc(addr, size)	((void *)((addr) + 1))	/* tells the two apart */
#define iounmap(va)		(unmapped++)
#define vunmap(va)
#define vma_pages(vma)		(((vma)->vm_end - (vma)->vm_start) / PAGE_SIZE)
#define rdma_udata_to_drv_context(udata, type, member) ((void *)(udata))
#define bitmap_zero(bits, n)	memset(bits, 0, sizeof(bits))
#define bitmap_empty(bits, n)	(used_of(bits, n) == 0)

typedef u64 resource_size_t;
typedef int pgprot_t;
struct address_space;
struct resource { const char *name; int flags; u64 start, end; };

#define kref_init(r)		((r)->n = 1)
#define kref_put(r, release)	(--(r)->n ? 0 : (release(r), 1))

static struct resource iomem_resource = { .end = ~0ull };

static int allocate_resource(struct resource *root, struct resource *new,
			     u64 size, u64 min, u64 max, u64 align, void *fn,
			     void *arg)
{
	new->start = min;
	new->end = min + size - 1;
	return 0;
}

static int release_resource(struct resource *res)
{
	return 0;
}

static unsigned int used_of(const unsigned long *bits, unsigned int n)
{
	unsigned int i, used = 0;

	for (i = 0; i < n; i++)
		used += test_bit(i, bits);
	return used;
}

static int rdma_user_mmap_io(struct ib_ucontext *uc, struct vm_area_struct *vma,
			     unsigned long pfn, unsigned long size,
			     pgprot_t prot, void *entry);
static unsigned int unmapped;

#include "copy/doorbell.c"
#include "copy/ucontext.c"

static const struct vhca_mmap row = {
	.kind = VHCA_MMAP_MMIO, .prot = XENVHCA_PROT_WC,
};
static struct vhca_dev dev;
static struct vhca_ucontext uc;
static int answer, asked;
static struct xenvhca_mmap_rsp page;
static unsigned long mapped;
static int second;		/* page that another thread maps meanwhile */
static int second_rc;
static int map(unsigned long pgoff);
static struct vhca_mem mem;
static int tasks_put;		/* and its address stands for a task */

/* ---- the rest of the module ---- */
static int rdma_user_mmap_io(struct ib_ucontext *u, struct vm_area_struct *vma,
			     unsigned long pfn, unsigned long size,
			     pgprot_t prot, void *entry)
{
	mapped = pfn;
	return 0;
}

/* The device tree: pages TREE .. TREE + tree_pages - 1. */
#define TREE			0x8000140ull
static unsigned int tree_pages;

bool vhca_devicetree_any(void)
{
	return tree_pages;
}

bool vhca_devicetree_has(u64 frame)
{
	return frame >= TREE && frame - TREE < tree_pages;
}

static u64 gfn_asked;

void put_page(struct page *p)
{
	free(p);
}

int vhca_cmd_mmap(struct vhca_ucontext *u, const struct xenvhca_mmap_req *req,
		  unsigned int flags, struct xenvhca_mmap_rsp *rsp)
{
	assert_int_equal(flags, VHCA_CMD_SOON);	/* with the mmap_lock */
	asked++;
	gfn_asked = req->gfn;
	if (second) {
		second_rc = map(second);
		second = 0;
		list_add(&mem.list, &u->orphans);	/* of a REG_MR that was killed */
	}
	*rsp = page;
	return answer;
}

int vhca_cmd_alloc_ucontext(struct vhca_dev *d, struct ib_udata *udata,
			    u32 *handle)
{
	return answer;
}

void put_task_struct(struct task_struct *task)
{
	assert_ptr_equal(task, &tasks_put);
	tasks_put++;
}

int vhca_cmd_dealloc_ucontext(struct vhca_dev *d, u32 handle)
{
	return 0;
}

int vhca_range_mmap(struct vhca_ucontext *u, struct vm_area_struct *vma)
{
	return -EIO;
}

void vhca_ranges_init(struct vhca_ucontext *u)
{
}

void vhca_ranges_free(struct vhca_ucontext *u)
{
}

void vhca_map_zap(struct vhca_ucontext *u)
{
}

void vhca_map_flush(struct vhca_ucontext *u)
{
}

void vhca_mem_put(struct vhca_mem *m)
{
}

void vhca_dbpages_free(struct vhca_ucontext *u)
{
}

bool vhca_gone(struct vhca_dev *d, const char *what, u32 handle, int rc)
{
	return !rc;
}

/* ---- tests ---- */
static int setup(void **state)
{
	dev.window = vhca_window_new();
	uc = (struct vhca_ucontext){ .ibuc.device = &dev.ibdev };
	INIT_LIST_HEAD(&uc.doorbells);
	INIT_LIST_HEAD(&uc.orphans);
	second = second_rc = 0;
	answer = asked = tasks_put = 0;
	tree_pages = 0;
	gfn_asked = 0;
	dev.info.flags = 0;
	mapped = 0;
	page = (struct xenvhca_mmap_rsp){
		.kind = XENVHCA_MMAP_MMIO, .prot = XENVHCA_PROT_WC,
		.nr_pages = 1,
	};
	return 0;
}

static unsigned int slots(void)
{
	return used_of(dev.window->used, XENVHCA_DOORBELL_SLOTS);
}

/* The ucontext is gone, and with it what nobody was sure of. */
static int teardown(void **state)
{
	vhca_doorbell_drop(&uc, false);
	if (slots() || uc.nr_doorbells)
		return -1;
	vhca_window_free(dev.window);
	return 0;
}

static int map(unsigned long pgoff)
{
	struct vm_area_struct vma = {
		.vm_start = PAGE_SIZE, .vm_end = 2 * PAGE_SIZE,
		.vm_pgoff = pgoff, .vm_flags = VM_SHARED,
	};

	return vhca_doorbell_mmap(&uc, &vma, &row);
}

static void a_page_is_at_a_frame_of_the_window(void **state)
{
	assert_int_equal(map(1), 0);
	assert_int_equal(mapped, vhca_window_gfn(dev.window));
	assert_int_equal(map(2), 0);
	assert_int_equal(mapped, vhca_window_gfn(dev.window) + 1);
	assert_int_equal(map(1), 0);	/* it is there already */
	assert_int_equal(asked, 2);
	assert_int_equal(slots(), 2);
}

/* Offset 0x700000 is memory of the HCA's driver. */
static void the_kernel_maps_a_page_for_itself(void **state)
{
	void *va;

	dev.provider = &vhca_provider_mlx5;
	va = vhca_doorbell_kernel(&uc, 0);
	assert_int_equal((u64)va, (vhca_window_gfn(dev.window) << PAGE_SHIFT) + 1);
	assert_int_equal(asked, 1);
	assert_int_equal(PTR_ERR(vhca_doorbell_kernel(&uc, 0x700ull << PAGE_SHIFT)),
			 -EOPNOTSUPP);
	answer = -EPERM;
	assert_int_equal(PTR_ERR(vhca_doorbell_kernel(&uc, PAGE_SIZE)), -EPERM);
	assert_int_equal(asked, 2);
	assert_int_equal(slots(), 1);
	vhca_doorbell_kernel_end(va);
	vhca_doorbell_kernel_end(NULL);
	assert_int_equal(unmapped, 1);
}

/* Else one process takes the window from all others, by offsets of no page. */
static void a_refused_offset_takes_nothing(void **state)
{
	static const int no[] = { -EPERM, -EINVAL, -ENOMEM, -EDQUOT, -ENOENT };
	unsigned int i;

	for (i = 0; i < 5 * XENVHCA_DOORBELL_SLOTS; i++) {
		answer = no[i % ARRAY_SIZE(no)];
		assert_int_equal(map(i), answer);
	}
	assert_int_equal(slots(), 0);
	assert_int_equal(uc.nr_doorbells, 0);
}

/* A page may be there: nobody else gets the frame before the context is gone. */
static void a_frame_is_kept_where_nobody_knows(void **state)
{
	static const int lost[] = { -EINTR, -ETIMEDOUT, -EIO };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(lost); i++) {
		answer = lost[i];
		assert_int_equal(map(i), answer);
		assert_int_equal(slots(), i + 1);
	}
	/* Asked again, the backend says no: the first answer is still unknown. */
	answer = -EPERM;
	assert_int_equal(map(0), -EPERM);
	assert_int_equal(slots(), ARRAY_SIZE(lost));
	answer = 0;
	assert_int_equal(map(1), 0);
	assert_int_equal(slots(), ARRAY_SIZE(lost));
}

static void a_lie_keeps_the_frame(void **state)
{
	page.nr_pages = 2;
	assert_int_equal(map(0), -EIO);
	page.nr_pages = 1;
	page.prot = XENVHCA_PROT_DEV;
	assert_int_equal(map(1), -EIO);
	assert_int_equal(slots(), 2);
	assert_int_equal(mapped, 0);
}

static void a_context_has_a_share(void **state)
{
	unsigned int i;

	for (i = 0; i < VHCA_UC_DOORBELLS; i++)
		assert_int_equal(map(i), 0);
	assert_int_equal(map(i), -ENOMEM);
	assert_int_equal(asked, VHCA_UC_DOORBELLS);
	assert_true(VHCA_UC_DOORBELLS <= XENVHCA_DOORBELL_SLOTS / 4);
	assert_int_equal(map(0), 0);	/* one that it has */
}

/* It may show a page of the HCA: never for another use. */
static void a_window_with_a_page_stays(void **state)
{
	struct vhca_window *w = dev.window;

	assert_int_equal(map(0), 0);
	vhca_doorbell_drop(&uc, true);
	assert_int_equal(slots(), 1);
	vhca_window_free(w);
	assert_int_equal(used_of(w->used, XENVHCA_DOORBELL_SLOTS), 1);
	vhca_window_clear(w);
}

static void in_a_tree(unsigned int pages)
{
	tree_pages = pages;
	dev.info.flags = XENVHCA_INFO_STATIC_DOORBELLS;
}

static void the_backend_names_a_page_of_the_tree(void **state)
{
	in_a_tree(2);
	page.frame = TREE;
	assert_int_equal(map(1), 0);
	assert_int_equal(gfn_asked, 0);
	assert_int_equal(mapped, TREE);
	page.frame = TREE + 1;
	assert_int_equal(map(2), 0);
	assert_int_equal(mapped, TREE + 1);
	assert_int_equal(slots(), 0);
	assert_int_equal(uc.nr_doorbells, 2);
}

/* Memory of the guest, registers of others, a page of another guest. */
static void a_page_outside_of_the_tree_is_a_lie(void **state)
{
	static const u64 no[] = {
		0, 1, TREE - 1, TREE + 2, ~0ull, TREE << 12, 1ull << 40,
	};
	unsigned int i;

	in_a_tree(2);
	for (i = 0; i < ARRAY_SIZE(no); i++) {
		page.frame = no[i];
		assert_int_equal(map(i), -EIO);
		assert_int_equal(mapped, 0);
	}
	/* It goes on: who asks again may have a good one. */
	page.frame = TREE;
	assert_int_equal(map(0), 0);
	assert_int_equal(mapped, TREE);
}

static void a_guest_without_a_window_asks_for_nothing(void **state)
{
	in_a_tree(0);
	page.frame = TREE;
	assert_int_equal(map(1), -ENXIO);
	assert_int_equal(asked, 0);
	assert_int_equal(uc.nr_doorbells, 0);
}

/* One with an agent, or that knows nothing of trees: as without a window. */
static void another_backend_finds_nothing_changed(void **state)
{
	in_a_tree(2);
	dev.info.flags = 0;
	page.frame = TREE;
	assert_int_equal(map(1), 0);
	assert_int_equal(gfn_asked, vhca_window_gfn(dev.window));
	assert_int_equal(mapped, gfn_asked);
	assert_int_equal(slots(), 1);
}

/* A backend that takes its time holds nobody who is killed. */
static void who_waits_for_another_can_be_killed(void **state)
{
	second = 2;
	assert_int_equal(map(1), 0);
	assert_int_equal(second_rc, -EINTR);
	assert_int_equal(slots(), 1);
	assert_ptr_equal(uc.orphans.next, &mem.list);
	assert_int_equal(map(2), 0);
}

/* ib_uverbs would free the context together with its reference to the task. */
static void a_context_that_is_not_made_holds_no_task(void **state)
{
	struct task_struct *task = (void *)&tasks_put;

	uc.ibuc.res.task = task;
	assert_int_equal(vhca_alloc_ucontext(&uc.ibuc, NULL), 0);
	assert_int_equal(tasks_put, 0);
	assert_ptr_equal(uc.ibuc.res.task, task);
	answer = -EINVAL;			/* DEVX */
	assert_int_equal(vhca_alloc_ucontext(&uc.ibuc, NULL), -EINVAL);
	assert_int_equal(tasks_put, 1);
	assert_null(uc.ibuc.res.task);
	assert_int_equal(vhca_alloc_ucontext(&uc.ibuc, NULL), -EINVAL);
	assert_int_equal(tasks_put, 1);
	answer = 0;
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	static const struct CMUnitTest tests[] = {
		T(a_page_is_at_a_frame_of_the_window),
		T(the_kernel_maps_a_page_for_itself),
		T(a_refused_offset_takes_nothing),
		T(a_frame_is_kept_where_nobody_knows),
		T(a_lie_keeps_the_frame),
		T(a_context_has_a_share),
		T(a_window_with_a_page_stays),
		T(the_backend_names_a_page_of_the_tree),
		T(a_page_outside_of_the_tree_is_a_lie),
		T(a_guest_without_a_window_asks_for_nothing),
		T(another_backend_finds_nothing_changed),
		T(who_waits_for_another_can_be_killed),
		T(a_context_that_is_not_made_holds_no_task),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
