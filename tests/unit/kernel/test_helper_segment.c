// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * backend/helper/segment.c: which domains may use a hardware HCA at all, and in which of
 * them its DMA segments are capped. The architecture is chosen by the test.
 * backend/helper/hca.c: the HCA of a name.
 */
#include "kernel.h"

/* ---- what segment.c and hca.c use beyond kernel.h ---- */
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

#define IB_DEVICE_NAME_MAX	64
#define strscpy(to, from, n)	snprintf(to, n, "%s", from)
#define dev_name(d)		((d)->name)
#define ib_device_try_get(d)	((d)->registered)
#define ib_set_client_data(d, c, v) ((d)->data = (v))
#define ib_client		helper_ib_client

struct device { struct device *parent; void *dma_parms; unsigned int seg; const char *name; };
struct ib_device { struct device dev, *dma_device; bool registered; void *data; };
struct ib_client {
	const char *name;
	int (*add)(struct ib_device *ibdev);
	void (*remove)(struct ib_device *ibdev, void *data);
	void (*rename)(struct ib_device *ibdev, void *data);
	int no_kverbs_req;
};
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
#define ib_device_put(d)
#undef mutex_lock
#undef mutex_unlock
#define mutex_lock(l)
#define mutex_unlock(l)

static struct ib_client *registered;

/* A client is told of the HCAs that are there. */
static int ib_register_client(struct ib_client *client)
{
	registered = client;
	return the_hca.registered ? client->add(&the_hca) : 0;
}

static void ib_unregister_client(struct ib_client *client)
{
	if (the_hca.registered)
		client->remove(&the_hca, the_hca.data);
	registered = NULL;
}

#include "helper/segment.c"
#include "helper/hca.c"

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
	the_hca.dev.name = "mlx5_0";
	the_hca.dma_device = &bus;
	the_hca.registered = true;
	return registered ? 0 : vh_hca_start();
}

static int teardown(void **state)
{
	(void)state;
	vh_hca_stop();
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

static void an_hca_is_found_by_its_name(void **state)
{
	struct vh_file vf = { 0 };
	u32 result;

	(void)state;
	x86 = true;
	assert_int_equal(cap(&vf, &result), 0);
	the_hca.dev.name = "ibp0s5";
	registered->rename(&the_hca, the_hca.data);
	assert_int_equal(cap(&vf, &result), -ENODEV);
	assert_ptr_equal(vh_hca_get("ibp0s5"), &the_hca);
	/* On its way out: it takes no more references. */
	the_hca.registered = false;
	assert_ptr_equal(vh_hca_get("ibp0s5"), NULL);
	registered->remove(&the_hca, the_hca.data);
	assert_ptr_equal(vh_hca_get("ibp0s5"), NULL);
	assert_true(list_empty(&vh_hca_list));
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
int main(void)
{
	const struct CMUnitTest tests[] = {
		T(who_may_use_a_hardware_hca),
		T(a_software_hca_needs_nothing),
		T(an_hca_is_found_by_its_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
