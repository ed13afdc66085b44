// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * backend/helper/segment.c: which domains may use a hardware HCA at all, and in which of
 * them its DMA segments are capped. The architecture is chosen by the test.
 */
#include "kernel.h"

/* ---- what segment.c uses beyond kernel.h ---- */
#define __user
#define CONFIG_X86		x86
#define IS_ENABLED(option)	(option)
#define RDMA_DRIVER_UNKNOWN	0
#define PAGE_BYTES		4096u
#define atomic_dec(a)		((a)->v--)
#define DEFINE_MUTEX(l)		struct mutex l
#undef LIST_HEAD
#define LIST_HEAD(l)		struct list_head l = { &l, &l }
#define module_param_named(...)	struct unused
#define MODULE_PARM_DESC(...)	struct unused
#define copy_from_user(to, from, n) (memcpy(to, from, n), 0)
#undef put_user
#define put_user(v, p)		(*(p) = (v), 0)
#define xen_pv_domain()		pv
#define xen_initial_domain()	initial
#define xen_feature(f)		(features & 1u << (f))
#define XENFEAT_not_direct_mapped 16
#define XENFEAT_direct_mapped	17
#define device			helper_device
#define ib_device		helper_ib_device
#define file			helper_file

struct device { struct device *parent; void *dma_parms; unsigned int seg; };
struct ib_device { struct device dev, *dma_device; };
struct file { int unused; };

static bool x86, pv, initial;
static unsigned int features;
static struct device bus, uverbs = { .parent = &bus };
static struct ib_device the_hca;
static struct file open_file;

#define dma_get_max_seg_size(d)	((d)->seg)
#define dma_set_max_seg_size(d, n) ((d)->seg = (n))
#define get_device(d)		(d)
#define put_device(d)
#define fget(fd)		(&open_file)
#define fput(f)
#define ib_device_get_by_name(name, id) (&the_hca)
#define ib_device_put(d)
#undef mutex_lock
#undef mutex_unlock
#define mutex_lock(l)
#define mutex_unlock(l)

#include "helper/segment.c"

atomic_t vh_capped;

struct device *vh_uverbs(const struct file *f)
{
	(void)f;
	return &uverbs;
}

static long cap(struct vh_file *vf, u32 *result)
{
	struct vhca_helper_cap_dma arg = { .hca = "mlx5_0", .fd = 3 };
	long err = vh_cap_dma(vf, &arg);

	*result = arg.result;
	return err;
}

static int setup(void **state)
{
	(void)state;
	x86 = pv = initial = vh_behind_iommu = false;
	features = 0;
	bus.dma_parms = &bus;
	bus.seg = 1 << 20;
	the_hca.dev.parent = &bus;
	the_hca.dma_device = &bus;
	return 0;
}

/* What a domain is, and what becomes of a hardware HCA in it. */
static void who_may_use_a_hardware_hca(void **state)
{
	static const struct {
		bool x86, pv, initial, iommu;
		unsigned int features;
		long err;
		u32 result;
	} row[] = {
		{ .x86 = true, .result = VHCA_HELPER_CAP_NEEDLESS },
		{ .x86 = true, .pv = true, .result = VHCA_HELPER_CAP_DONE },
		{ .err = -EXDEV },
		{ .features = 1u << XENFEAT_not_direct_mapped, .err = -EXDEV },
		{ .initial = true, .features = 1u << XENFEAT_not_direct_mapped,
		  .err = -EXDEV },
		{ .features = 1u << XENFEAT_not_direct_mapped, .iommu = true,
		  .result = VHCA_HELPER_CAP_DONE },
		{ .features = 1u << XENFEAT_direct_mapped,
		  .result = VHCA_HELPER_CAP_DONE },
		{ .initial = true, .result = VHCA_HELPER_CAP_DONE },
	};
	struct vh_file vf;
	size_t i;
	u32 result;

	for (i = 0; i < ARRAY_SIZE(row); i++) {
		setup(state);
		memset(&vf, 0, sizeof(vf));
		x86 = row[i].x86;
		pv = row[i].pv;
		initial = row[i].initial;
		vh_behind_iommu = row[i].iommu;
		features = row[i].features;
		assert_int_equal(cap(&vf, &result), row[i].err);
		if (!row[i].err)
			assert_int_equal(result, row[i].result);
		assert_int_equal(bus.seg == PAGE_BYTES,
				 row[i].result == VHCA_HELPER_CAP_DONE && !row[i].err);
		vh_cap_release(&vf);
		assert_int_equal(bus.seg, 1 << 20);
	}
}

static void a_software_hca_needs_nothing(void **state)
{
	struct vh_file vf = { 0 };
	u32 result;

	(void)state;
	the_hca.dma_device = NULL;
	assert_int_equal(cap(&vf, &result), 0);
	assert_int_equal(result, VHCA_HELPER_CAP_NEEDLESS);
	assert_int_equal(bus.seg, 1 << 20);
}

#define T(f) cmocka_unit_test_setup(f, setup)
int main(void)
{
	const struct CMUnitTest tests[] = {
		T(who_may_use_a_hardware_hca),
		T(a_software_hca_needs_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
