// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * frontend/verbs/mr.c: what is granted read-only is not written to because a region
 * gets other rights. The backend here does whatever it is asked for.
 */
#include "kernel.h"
#include "copy/mr.c"

#define ADDR	0x7000
#define IOVA	0x1000

static struct vhca_dev dev = { .attr.max_mr_size = 1 << 20 };
static struct vhca_ucontext uc;
static struct vhca_pd pd;
static struct ib_udata udata;
static int regs, reregs, mems;
static int dereg_rc, released_rc;
static int left_count;
static struct ib_uobject uobject;

/* ---- the rest of the module ---- */
struct vhca_ucontext *vhca_udata_uc(struct ib_udata *u)
{
	(void)u;
	return &uc;
}

struct vhca_ucontext *vhca_pd_uc(struct ib_pd *ibpd)
{
	(void)ibpd;
	return &uc;
}

void vhca_uc_adopt(struct vhca_ucontext *u, struct vhca_mem *mem)
{
	(void)u;
	(void)mem;
}

struct vhca_mem *vhca_mem_get(struct vhca_dev *d, u64 addr, u64 length,
			      int access)
{
	struct vhca_mem *mem = calloc(1, sizeof(*mem));

	(void)addr;
	mem->pages.nr_pages = length / PAGE_SIZE;
	if (!ib_access_writable(access) && d->info.flags)
		mem->pages.flags = XENVHCA_PAGES_READONLY;
	mems++;
	return mem;
}

void vhca_mem_drop_dirs(struct vhca_mem *mem)
{
	(void)mem;
}

void vhca_mem_put(struct vhca_mem *mem)
{
	if (!mem)
		return;
	free(mem);
	mems--;
}

int vhca_cmd_reg_mr(struct vhca_ucontext *u,
		    const struct xenvhca_reg_mr_req *req,
		    struct ib_udata *ud, struct xenvhca_mr_rsp *rsp)
{
	(void)u;
	(void)ud;
	(void)req;
	regs++;
	*rsp = (struct xenvhca_mr_rsp){ .handle = regs, .lkey = regs << 8,
					.rkey = regs << 8 };
	return 0;
}

int vhca_cmd_rereg_mr(struct vhca_ucontext *u,
		      const struct xenvhca_rereg_mr_req *req,
		      struct ib_udata *ud, struct xenvhca_mr_rsp *rsp)
{
	(void)u;
	(void)ud;
	reregs++;
	*rsp = (struct xenvhca_mr_rsp){ .handle = req->handle };
	return 0;
}

int vhca_cmd_destroy(struct vhca_ucontext *u, u16 op, u32 handle)
{
	assert_int_equal(op, XENVHCA_OP_DEREG_MR);
	(void)u;
	(void)handle;
	return dereg_rc;
}

void vhca_release(struct vhca_ucontext *u, const char *what, u32 handle, int rc,
		  struct vhca_mem *mem)
{
	(void)u;
	(void)what;
	(void)handle;
	released_rc = rc;
	vhca_mem_put(mem);
}

void vhca_leave_count(struct vhca_ucontext *u, int nr)
{
	(void)u;
	left_count += nr;
}

/* ---- tests ---- */
static int setup(void **state)
{
	(void)state;
	dev.info.flags = XENVHCA_INFO_READONLY;
	dev.ring.state = VHCA_RING_UP;
	pd.ibpd.device = &dev.ibdev;
	regs = reregs = dereg_rc = released_rc = 0;
	atomic64_set(&uc.nr_pages, 0);
	left_count = 0;
	atomic_set(&pd.mws, 0);
	INIT_LIST_HEAD(&uobject.list);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	return mems;
}

static struct ib_mr *reg(int access)
{
	struct ib_mr *mr = vhca_reg_mr(&pd.ibpd, ADDR, PAGE_SIZE, IOVA,
				       access, &udata);

	assert_false(IS_ERR(mr));
	mr->device = &dev.ibdev;
	mr->pd = &pd.ibpd;
	mr->uobject = &uobject;
	return mr;
}

static struct ib_mr *rereg(struct ib_mr *mr, int flags, int access)
{
	return vhca_rereg_mr(mr, flags, 2 * ADDR, PAGE_SIZE, 2 * IOVA,
			     access, &pd.ibpd, &udata);
}

static void end(struct ib_mr *mr)
{
	mr->device = &dev.ibdev;
	mr->pd = &pd.ibpd;
	assert_int_equal(vhca_dereg_mr(mr, NULL), 0);
}

/* The backend is not asked: it would refuse, or its kernel, or nobody. */
static void a_right_to_write_is_refused(void **state)
{
	static const int writes[] = {
		IB_ACCESS_LOCAL_WRITE, IB_ACCESS_REMOTE_ATOMIC,
		IB_ACCESS_MW_BIND, IB_ACCESS_REMOTE_READ | 1,
	};
	struct ib_mr *mr = reg(0);
	unsigned int i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(writes); i++)
		assert_int_equal(PTR_ERR(rereg(mr, IB_MR_REREG_ACCESS,
					       writes[i])), -EACCES);
	assert_int_equal(reregs, 0);
	assert_int_equal(to_vmr(mr)->access, 0);
	end(mr);
}

static void other_changes_keep_the_region(void **state)
{
	struct ib_mr *mr = reg(0);

	(void)state;
	assert_null(rereg(mr, IB_MR_REREG_ACCESS, IB_ACCESS_REMOTE_READ));
	assert_null(rereg(mr, IB_MR_REREG_PD, 0));
	/* With other memory it is pinned for its new rights. */
	assert_null(rereg(mr, IB_MR_REREG_ACCESS | IB_MR_REREG_TRANS,
			  IB_ACCESS_LOCAL_WRITE));
	assert_false(vhca_mem_readonly(to_vmr(mr)->mem));
	assert_null(rereg(mr, IB_MR_REREG_ACCESS, 0));
	assert_null(rereg(mr, IB_MR_REREG_ACCESS, IB_ACCESS_LOCAL_WRITE));
	assert_int_equal(regs, 1);
	assert_int_equal(reregs, 5);
	end(mr);
}

static void other_memory_can_be_read_only_later(void **state)
{
	struct ib_mr *mr = reg(IB_ACCESS_LOCAL_WRITE);

	(void)state;
	assert_null(rereg(mr, IB_MR_REREG_ACCESS | IB_MR_REREG_TRANS, 0));
	assert_true(vhca_mem_readonly(to_vmr(mr)->mem));
	assert_int_equal(PTR_ERR(rereg(mr, IB_MR_REREG_ACCESS,
				       IB_ACCESS_LOCAL_WRITE)), -EACCES);
	end(mr);
}

/* As many pages as are there are left to the end of the context, not more. */
static void pages_of_a_context_are_counted(void **state)
{
	struct ib_mr *mr = vhca_reg_mr(&pd.ibpd, ADDR, 3 * PAGE_SIZE, IOVA, 0,
				       &udata);

	(void)state;
	assert_int_equal(uc.nr_pages.v, 3);
	mr->device = &dev.ibdev;
	assert_null(vhca_rereg_mr(mr, IB_MR_REREG_TRANS, ADDR, 5 * PAGE_SIZE,
				  IOVA, 0, &pd.ibpd, &udata));
	assert_int_equal(uc.nr_pages.v, 5);
	assert_null(rereg(mr, IB_MR_REREG_PD, 0));
	assert_int_equal(uc.nr_pages.v, 5);
	end(mr);
	assert_int_equal(uc.nr_pages.v, 0);
}

static void an_old_backend_keeps_the_region(void **state)
{
	struct ib_mr *mr;

	(void)state;
	dev.info.flags = 0;
	mr = reg(0);
	assert_null(rereg(mr, IB_MR_REREG_ACCESS, IB_ACCESS_LOCAL_WRITE));
	assert_int_equal(regs, 1);
	end(mr);
}

/* Refused @rc, with a window in the PD or not; committed or on its way back. */
static int refused(int rc, int mws, bool committed)
{
	struct list_head objects;
	struct ib_mr *mr = reg(0);

	INIT_LIST_HEAD(&objects);
	INIT_LIST_HEAD(&uobject.list);
	if (committed)
		list_add(&uobject.list, &objects);
	atomic_set(&pd.mws, mws);
	dereg_rc = rc;
	rc = vhca_dereg_mr(mr, NULL);
	if (rc) {
		dereg_rc = 0;
		end(mr);
	}
	return rc;
}

static void a_window_holds_its_region(void **state)
{
	(void)state;
	assert_int_equal(refused(-EINVAL, 1, true), -EINVAL);
	assert_int_equal(refused(-EBUSY, 1, true), -EBUSY);
	assert_int_equal(refused(-ENOMEM, 1, true), 0);
	assert_int_equal(refused(-EBUSY, 0, true), 0);
	assert_int_equal(released_rc, -EBUSY);
	dev.ring.state = VHCA_RING_BROKEN;
	assert_int_equal(refused(-EBUSY, 1, true), 0);
}

/* ib_uverbs could not tell the process of it: that must not fail. */
static void a_region_that_nobody_got_goes(void **state)
{
	(void)state;
	assert_int_equal(refused(-EINVAL, 1, false), 0);
	assert_int_equal(released_rc, -EINVAL);
	assert_int_equal(refused(-EBUSY, 1, false), 0);
	assert_int_equal(released_rc, -EBUSY);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_right_to_write_is_refused),
		T(other_changes_keep_the_region),
		T(other_memory_can_be_read_only_later),
		T(pages_of_a_context_are_counted),
		T(an_old_backend_keeps_the_region),
		T(a_window_holds_its_region),
		T(a_region_that_nobody_got_goes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
