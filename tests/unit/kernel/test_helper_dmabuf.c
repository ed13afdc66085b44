// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * backend/helper/dmabuf.c over a hypervisor with some grants: all or nothing is mapped,
 * an HCA gets an entry for each page, and the last reference to a dma-buf, not the
 * file descriptor, unmaps. docs/results/performance.md has what it costs.
 */
#include "kernel.h"
#include "../promised.h"

/* ---- what dmabuf.c uses beyond kernel.h ---- */
#define VH_IMPORT_DMA_BUF	struct unused
#define DOMID_FIRST_RESERVED	0x7ff0
#define O_RDWR			2
#define O_CLOEXEC		02000000
#define module_param_named(...)	struct unused
#undef MODULE_PARM_DESC
#define MODULE_PARM_DESC(...)	struct unused
#define copy_from_user(to, from, n) ((from) ? (memcpy(to, from, n), 0) : (n))
#define struct_size(p, member, n) (sizeof(*(p)) + (n) * sizeof(*(p)->member))
#define atomic_add_return(n, a)	((a)->v += (long)(n))
#undef atomic_sub
#define atomic_sub(n, a)	((a)->v -= (long)(n))
#define pr_err_ratelimited	pr_warn
#define GNTMAP_device_map	1
#define GNTMAP_host_map		2
#define GNTST_okay		0
#define GNTST_general_error	-1
#define GNTST_bad_gntref	-3
#define GNTST_no_space		-13
#define GNTTABOP_unmap_grant_ref 1

struct gnttab_map_grant_ref {
	u64 host_addr;
	u32 flags;
	grant_ref_t ref;
	domid_t dom;
	s16 status;
	u32 handle;
	u64 dev_bus_addr;
};

struct gnttab_unmap_grant_ref {
	u64 host_addr, dev_bus_addr;
	u32 handle;
	s16 status;
};

/* Each allocation that is over a budget fails. */
static int allocs = INT_MAX, live;

static void *alloc(size_t n, size_t size)
{
	if (!allocs)
		return NULL;
	allocs--;
	live++;
	return calloc(n, size);
}

static void release(void *p)
{
	live -= !!p;
	free(p);
}

#undef kzalloc
#undef kvmalloc_array
#undef kfree
#undef kvfree
#define kzalloc(size, gfp)	alloc(1, size)
#define kvzalloc(size, gfp)	alloc(1, size)
#define kvcalloc(n, size, gfp)	alloc(n, size)
#define kvmalloc_array(n, size, gfp) alloc(n, size)
#define kfree			release
#define kvfree			release

/* ---- the hypervisor ---- */
#define REFS		16400u
#define FRAMES		0x100000u	/* numbers of machine frames of the grants */
#define NO_ROOM		16398u		/* references that it refuses */
#define BAD		16399u
#define UNMAP_BATCH	32u		/* GNTTAB_UNMAP_BATCH_SIZE: then it flushes */
#define BIG		16384u		/* pages of 64 MiB */

struct grant { u64 host, bus; u32 flags; bool mapped; };
static struct grant grants[REFS];
static unsigned int map_ops, unmap_ops, hypercalls, flushes, mapped;
static unsigned int flushes_patched;	/* of a Xen with gnttab/0001 */
static bool stuck;			/* nothing is unmapped */
static bool refused;			/* nor is the hypercall executed */
static int map_err;			/* of gnttab_map_refs() as a whole, */
static bool map_late;			/* after the hypercall */

static void gnttab_set_map_op(struct gnttab_map_grant_ref *op, u64 addr,
			      u32 flags, grant_ref_t ref, domid_t dom)
{
	op->host_addr = addr;		/* and no more, as Linux does */
	op->flags = flags;
	op->ref = ref;
	op->dom = dom;
}

static void gnttab_set_unmap_op(struct gnttab_unmap_grant_ref *op, u64 addr,
				u32 flags, u32 handle)
{
	*op = (struct gnttab_unmap_grant_ref){ addr, 0, handle, op->status };
}

static void map_one(struct gnttab_map_grant_ref *op)
{
	u32 ref = op->ref;

	map_ops++;
	assert_int_equal(op->dom, 7);
	op->status = ref == NO_ROOM ? GNTST_no_space :
		     ref >= BAD ? GNTST_bad_gntref : GNTST_okay;
	if (op->status)
		return;
	/* Xen has the first for PV domains only, and they need no address. */
	assert_int_equal(op->flags, kernel_pv ? GNTMAP_device_map : GNTMAP_host_map);
	assert_int_equal(!op->host_addr, kernel_pv);
	grants[ref] = (struct grant){ op->host_addr, (u64)(FRAMES - ref) << 12,
				      op->flags, true };
	mapped++;
	op->handle = ref + 100;
	op->dev_bus_addr = grants[ref].bus;
}

static void gnttab_batch_map(struct gnttab_map_grant_ref *op, u32 n)
{
	hypercalls++;
	while (n--)
		map_one(op++);
}

/* That Xen flushes for a batch only if an operation of it has an address. */
static void flushes_of(const struct gnttab_unmap_grant_ref *op, u32 n)
{
	bool any = false;
	u32 i;

	for (i = 0; i < n; i++) {
		any |= op[i].host_addr;
		if ((i + 1) % UNMAP_BATCH && i + 1 < n)
			continue;
		flushes++;
		flushes_patched += any;
		any = false;
	}
}

#undef HYPERVISOR_grant_table_op
static int HYPERVISOR_grant_table_op(int cmd, struct gnttab_unmap_grant_ref *op,
				     u32 n)
{
	assert_int_equal(cmd, GNTTABOP_unmap_grant_ref);
	if (refused)
		return -EFAULT;
	hypercalls++;
	flushes_of(op, n);
	for (; n--; op++) {
		struct grant *g = &grants[op->handle - 100];

		unmap_ops++;
		assert_true(g->mapped);
		assert_int_equal(op->host_addr, g->host);
		assert_int_equal(op->dev_bus_addr, kernel_pv ? g->bus : 0);
		op->status = stuck ? -1 : GNTST_okay;
		g->mapped = stuck;
		mapped -= !stuck;
	}
	return 0;
}

/* ---- pages that another domain's are mapped at ---- */
static struct page pool[REFS];
static int pages;
static bool no_pages;

static int gnttab_alloc_pages(u32 n, struct page **page)
{
	u32 i;

	if (no_pages)
		return -ENOMEM;
	for (i = 0; i < n; i++, pages++)
		page[i] = &pool[pages];
	return 0;
}

static void gnttab_free_pages(u32 n, struct page **page)
{
	pages -= n;
}

static int gnttab_map_refs(struct gnttab_map_grant_ref *op, void *kop,
			   struct page **page, u32 n)
{
	u32 i;

	for (i = 0; i < n; i++)
		assert_int_equal(op[i].host_addr, (u64)page_address(page[i]));
	if (!map_err || map_late)
		gnttab_batch_map(op, n);
	return map_err;
}

static int gnttab_unmap_refs(struct gnttab_unmap_grant_ref *op, void *kop,
			     struct page **page, u32 n)
{
	u32 i;

	for (i = 0; i < n; i++)
		assert_int_equal(op[i].host_addr, (u64)page_address(page[i]));
	return HYPERVISOR_grant_table_op(GNTTABOP_unmap_grant_ref, op, n);
}

/* ---- the bus ---- */
#define device			helper_device
#define sg_table		helper_sg_table
#define dma_get_mask(d)		(*(d)->dma_mask)
#define for_each_sgtable_sg(t, sg, i)					\
	for (i = 0, sg = (t)->sgl; i < (t)->n; i++, sg++)
#define sg_set_page(sg, p, n, off) ((sg)->page = (p), (sg)->len = (n))
#define sg_dma_address(sg)	((sg)->bus)
#define sg_dma_len(sg)		((sg)->bus_len)

enum dma_data_direction { DMA_BIDIRECTIONAL };
struct device { u64 *dma_mask; };
struct scatterlist { struct page *page; u32 len, bus_len; u64 bus; };
struct sg_table { struct scatterlist *sgl; unsigned int n; };

static u64 mask = ~0ull;
static struct device hca = { &mask }, software;
static int bus_mapped;

static int sg_alloc_table(struct sg_table *t, u32 n, int gfp)
{
	t->sgl = alloc(n, sizeof(*t->sgl));
	t->n = n;
	return t->sgl ? 0 : -ENOMEM;
}

static void sg_free_table(struct sg_table *t)
{
	release(t->sgl);
}

static int dma_map_sgtable(struct device *dev, struct sg_table *t, int dir,
			   int attrs)
{
	unsigned int i;

	for (i = 0; i < t->n; i++) {
		t->sgl[i].bus = (u64)page_address(t->sgl[i].page);
		t->sgl[i].bus_len = t->sgl[i].len;
	}
	bus_mapped++;
	return 0;
}

static void dma_unmap_sgtable(struct device *dev, struct sg_table *t, int dir,
			      int attrs)
{
	bus_mapped--;
}

/* ---- dma-bufs, of which the test is the importer ---- */
struct dma_buf_attachment { struct dma_buf *dmabuf; struct device *dev; };
struct dma_buf_ops {
	int (*attach)(struct dma_buf *, struct dma_buf_attachment *);
	void (*detach)(struct dma_buf *, struct dma_buf_attachment *);
	struct sg_table *(*map_dma_buf)(struct dma_buf_attachment *,
					enum dma_data_direction);
	void (*unmap_dma_buf)(struct dma_buf_attachment *, struct sg_table *,
			      enum dma_data_direction);
	void (*release)(struct dma_buf *);
};
struct dma_buf {
	void *priv;
	const struct dma_buf_ops *ops;
	size_t size;
	int users;
};
struct dma_buf_export_info {
	const struct dma_buf_ops *ops;
	size_t size;
	int flags;
	void *priv;
};
#define DEFINE_DMA_BUF_EXPORT_INFO(info) struct dma_buf_export_info info = { 0 }

static int export_err, fd_err;
static struct dma_buf *open_file;	/* what the descriptor 5 is */

static struct dma_buf *dma_buf_export(const struct dma_buf_export_info *info)
{
	struct dma_buf *b;

	if (export_err)
		return ERR_PTR(export_err);
	b = calloc(1, sizeof(*b));
	*b = (struct dma_buf){ info->priv, info->ops, info->size, 1 };
	assert_true(info->flags & O_CLOEXEC);
	return b;
}

static int dma_buf_fd(struct dma_buf *b, int flags)
{
	assert_true(flags & O_CLOEXEC);
	if (fd_err)
		return fd_err;
	open_file = b;
	return 5;
}

static void dma_buf_put(struct dma_buf *b)
{
	if (--b->users)
		return;
	b->ops->release(b);
	free(b);
}

#include "helper/dmabuf.c"

atomic_t vh_mapped;

/* ---- a region, as mlx5_ib makes and ends it ---- */
struct region { struct dma_buf_attachment a; struct sg_table *sgt; };

static int region_make(struct region *r, struct device *dev)
{
	int err;

	r->a = (struct dma_buf_attachment){ open_file, dev };
	open_file->users++;
	err = open_file->ops->attach(open_file, &r->a);
	if (!err) {
		r->sgt = open_file->ops->map_dma_buf(&r->a, DMA_BIDIRECTIONAL);
		err = IS_ERR(r->sgt) ? (int)PTR_ERR(r->sgt) : 0;
		if (err)
			open_file->ops->detach(open_file, &r->a);
	}
	if (err)
		dma_buf_put(open_file);
	return err;
}

static void region_end(struct region *r)
{
	r->a.dmabuf->ops->unmap_dma_buf(&r->a, r->sgt, DMA_BIDIRECTIONAL);
	r->a.dmabuf->ops->detach(r->a.dmabuf, &r->a);
	dma_buf_put(r->a.dmabuf);
}

static void file_close(void)
{
	dma_buf_put(open_file);
	open_file = NULL;
}

static long map(const u32 *refs, u32 n)
{
	struct vhca_helper_map m = {
		.refs = (uintptr_t)refs, .nr_pages = n, .domid = 7,
	};

	return vh_map(&m);
}

static int setup(void **state)
{
	kernel_pv = *(bool *)*state;
	return 0;
}

/* Nothing is left, whatever failed. */
static int teardown(void **state)
{
	assert_int_equal(mapped, 0);
	assert_int_equal(vh_mapped.v, 0);
	assert_int_equal(live, 0);
	assert_int_equal(pages, 0);
	assert_int_equal(bus_mapped, 0);
	allocs = INT_MAX;
	export_err = fd_err = 0;
	no_pages = false;
	vh_map_pages = REFS;
	map_ops = unmap_ops = hypercalls = flushes = flushes_patched = 0;
	return 0;
}

/* Neighbours on the bus and here: each page is an entry all the same. */
static void an_entry_for_each_page(void **state)
{
	const u32 refs[] = { 9, 8, 7, 30, 3 };
	struct scatterlist *sg;
	struct region r;
	unsigned int i;

	assert_int_equal(map(refs, 5), 5);
	assert_int_equal(mapped, 5);
	assert_int_equal(vh_mapped.v, 5);
	assert_int_equal(open_file->size, 5 * PAGE_SIZE);
	assert_int_equal(region_make(&r, &hca), 0);
	for_each_sgtable_sg(r.sgt, sg, i) {
		assert_int_equal(sg_dma_len(sg), PAGE_SIZE);
		assert_int_equal(sg_dma_address(sg), kernel_pv ?
				 grants[refs[i]].bus : grants[refs[i]].host);
	}
	assert_int_equal(i, 5);
	region_end(&r);
	file_close();
}

static void what_64_mib_cost(void **state)
{
	static u32 refs[BIG];
	struct region r;
	u32 i;

	for (i = 0; i < BIG; i++)
		refs[i] = i;
	assert_int_equal(map(refs, BIG), 5);
	assert_int_equal(region_make(&r, &hca), 0);
	file_close();
	region_end(&r);
	assert_int_equal(hypercalls, 2);
	if (!kernel_pv)
		return;
	promised("map and unmap operations for each page (mlx5, PV)",
		 (map_ops + unmap_ops) / BIG);
	promised("TLB flushes of dereg_mr 64 MiB (mlx5, PV)", flushes);
	promised("TLB flushes of dereg_mr 64 MiB (mlx5, PV, a Xen with the patch)",
		 flushes_patched);
}

/* The region holds it, and only one, as the list of a second one is not charged. */
static void the_last_reference_unmaps(void **state)
{
	const u32 refs[] = { 1, 2, 3 };
	struct region one, two;

	assert_int_equal(map(refs, 3), 5);
	assert_int_equal(region_make(&one, &hca), 0);
	assert_int_equal(region_make(&two, &hca), -EBUSY);
	region_end(&one);
	assert_int_equal(region_make(&two, &hca), 0);
	file_close();
	assert_int_equal(mapped, 3);
	assert_int_equal(unmap_ops, 0);
	region_end(&two);
	assert_int_equal(mapped, 0);
	/* A descriptor alone, that is closed without a region. */
	assert_int_equal(map(refs, 3), 5);
	file_close();
}

static void all_or_nothing(void **state)
{
	const u32 bad[] = { 1, 2, BAD, 4, 5 }, room[] = { 1, NO_ROOM };
	const u32 first[] = { BAD, 1, 2 };

	assert_int_equal(map(bad, 5), -EINVAL);
	assert_int_equal(unmap_ops, 4);
	assert_int_equal(map(room, 2), -ENOSPC);
	assert_int_equal(map(first, 3), -EINVAL);
	assert_int_equal(map(NULL, 3), -EFAULT);
}

static void errors_leave_nothing(void **state)
{
	const u32 refs[] = { 1, 2, 3 };
	struct region r;
	int i;

	for (i = 0; i < (kernel_pv ? 3 : 4); i++) {
		allocs = i;
		assert_int_equal(map(refs, 3), -ENOMEM);
	}
	allocs = INT_MAX;
	no_pages = true;
	assert_int_equal(map(refs, 3), kernel_pv ? 5 : -ENOMEM);
	if (kernel_pv)
		file_close();
	no_pages = false;
	export_err = -ENFILE;
	assert_int_equal(map(refs, 3), -ENFILE);
	export_err = 0;
	fd_err = -EMFILE;
	assert_int_equal(map(refs, 3), -EMFILE);
	fd_err = 0;
	assert_int_equal(map(refs, 3), 5);
	for (i = 0; i < 2; i++) {
		allocs = i;
		assert_int_equal(region_make(&r, &hca), -ENOMEM);
	}
	allocs = INT_MAX;
	file_close();
}

/* Nothing was mapped, or all, and Linux has no room to note it. */
static void a_call_that_fails_leaves_nothing(void **state)
{
	const u32 refs[] = { 1, 2, 3 };
	unsigned int before = unmap_ops;

	kernel_pv = false;		/* there it is BUG(), or succeeds */
	map_err = -ENOSYS;
	assert_int_equal(map(refs, 3), -ENOSYS);
	assert_int_equal(unmap_ops, before);
	map_err = -ENOMEM;
	map_late = true;
	assert_int_equal(map(refs, 3), -ENOMEM);
	assert_int_equal(unmap_ops, before + 3);
	assert_int_equal(mapped, 0);
	map_err = 0;
	map_late = false;
}

static void who_may_attach(void **state)
{
	const u32 refs[] = { 1 };
	struct region r;

	assert_int_equal(map(refs, 1), 5);
	assert_int_equal(region_make(&r, &software), -EOPNOTSUPP);
	mask = 0xffffff;		/* it does not reach so far */
	if (kernel_pv)
		assert_int_equal(region_make(&r, &hca), -EIO);
	mask = ~0ull;
	file_close();
}

static void bounds(void **state)
{
	const u32 refs[] = { 1, 2, 3, 4 };
	struct vhca_helper_map m = {
		.refs = (uintptr_t)refs, .nr_pages = 1,
		.domid = DOMID_FIRST_RESERVED,
	};

	assert_int_equal(vh_map(&m), -EINVAL);
	m.domid = 7;
	m.reserved = 1;
	assert_int_equal(vh_map(&m), -EINVAL);
	assert_int_equal(vh_map(NULL), -EFAULT);
	assert_int_equal(map(refs, 0), -EINVAL);
	assert_int_equal(map(refs, VHCA_HELPER_MAX_MAP + 1), -EINVAL);
	vh_map_pages = 3;
	assert_int_equal(map(refs, 4), -EBUSY);
	assert_int_equal(map(refs, 3), 5);
	assert_int_equal(map(refs + 3, 1), -EBUSY);
	file_close();
	vh_map_pages = 0;
	assert_int_equal(map(refs, 1), -EOPNOTSUPP);
	assert_int_equal(map_ops, 3);
}

/* A page at which another's may still be is not used again, and stays charged. */
static void what_stays_mapped_is_not_reused(void **state)
{
	const u32 refs[] = { 1, 2 };
	bool *why[] = { &stuck, &refused };
	unsigned int i;

	for (i = 0; i < 2; i++) {
		assert_int_equal(map(refs, 2), 5);
		*why[i] = true;
		file_close();
		*why[i] = false;
		assert_int_equal(pages, kernel_pv ? 0 : 2);
		assert_int_equal(mapped, 2);
		assert_int_equal(vh_mapped.v, 2);
		pages = mapped = 0;
		vh_mapped.v = 0;
		memset(grants, 0, sizeof(grants));
	}
}

int main(void)
{
	static bool pv = true, hvm;
#define T(f) { #f " (PV)", f, setup, teardown, &pv }, { #f, f, setup, teardown, &hvm }
	const struct CMUnitTest tests[] = {
		T(an_entry_for_each_page),
		T(what_64_mib_cost),
		T(the_last_reference_unmaps),
		T(all_or_nothing),
		T(errors_leave_nothing), T(a_call_that_fails_leaves_nothing),
		T(who_may_attach),
		T(bounds),
		T(what_stays_mapped_is_not_reused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
