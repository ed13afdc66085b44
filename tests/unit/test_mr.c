// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Memory regions and windows.
 */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>
#include <rdma/ib_user_ioctl_verbs.h>

#include "tests/fake/guest.h"
#include "uverbs/sysfs.h"

#define REG_MR		9	/* IB_USER_VERBS_CMD_* */
#define REREG_MR	11
#define DEREG_MR	13

static int reg(struct guest *g, uint32_t first, uint32_t n)
{
	guest_mr(g, first, n);
	return guest_cmd(g, XENVHCA_OP_REG_MR);
}

static void registers_guest_memory(void **state)
{
	struct guest *g = *state;
	struct fake_obj *mr;

	guest_open(g);
	strcpy((char *)loop_page(g->loop, 51) + 100, "hello");
	guest_mr(g, 50, 2);
	g->req.u.reg_mr.page_offset = 0x123;
	g->req.u.reg_mr.iova = 0x7f1234567123;
	g->req.u.reg_mr.length = 5000;
	assert_int_equal(guest_cmd(g, XENVHCA_OP_REG_MR), 0);
	mr = fake_nth(FAKE_MR, 0);
	assert_int_equal(mr->iova, 0x7f1234567123);
	assert_int_equal(mr->length, 5000);
	assert_int_equal(mr->start & 4095, 0x123);
	assert_string_equal((char *)(mr->start - 0x123 + 4096 + 100), "hello");
	assert_int_equal(g->rsp.u.mr.lkey, mr->num << 8);
	assert_int_equal(loop_mapped(g->loop), 2);
	assert_int_equal(guest_handle(g, XENVHCA_OP_DEREG_MR,
				      g->rsp.u.mr.handle), 0);
	assert_int_equal(loop_mapped(g->loop), 0);
	assert_int_equal(fake_live(FAKE_MR), 0);
}

static void registers_many_pages(void **state)
{
	struct guest *g = *state;

	guest_open(g);
	assert_int_equal(reg(g, 0, 2500), 0);
	assert_int_equal(loop_mapped(g->loop), 2500);
	assert_int_equal(g->dev.quota.used_pages, 2500);
}

static void refuse(struct guest *g, int err)
{
	assert_int_equal(guest_cmd(g, XENVHCA_OP_REG_MR), err);
	assert_int_equal(loop_mapped(g->loop), 0);
	assert_int_equal(g->dev.quota.used[BE_MR], 0);
}

static void refuses_nonsense(void **state)
{
	struct guest *g = *state;

	guest_open(g);
	guest_mr(g, 0, 2);
	g->req.u.reg_mr.pd = g->cq;
	refuse(g, -ENOENT);
	guest_mr(g, 0, 2);
	g->req.u.reg_mr.reserved = 1;
	refuse(g, -EINVAL);
	guest_mr(g, 0, 2);
	g->req.u.reg_mr.page_offset = 1;	/* iova disagrees */
	refuse(g, -EINVAL);
	guest_mr(g, 0, 2);
	g->req.u.reg_mr.length = 4096;		/* one page too many */
	refuse(g, -EINVAL);
	guest_mr(g, 0, 2);
	g->req.u.reg_mr.length = 0;
	refuse(g, -EINVAL);
	guest_mr(g, 0, 2);
	g->req.u.reg_mr.iova = ~4095ull;	/* wraps */
	refuse(g, -EINVAL);
	guest_mr(g, 0, 2);
	g->req.u.reg_mr.access = 1 << 6;	/* on demand */
	refuse(g, -EOPNOTSUPP);
	guest_mr(g, 0, 2);
	g->req.u.reg_mr.access = 1 << 7;	/* huge pages */
	refuse(g, -EOPNOTSUPP);
	guest_mr(g, 0, 2);
	g->req.u.reg_mr.access = 1u << 31;
	refuse(g, -EINVAL);
	guest_mr(g, 0, 2);
	g->req.u.reg_mr.access = 2;		/* the kernel refuses */
	refuse(g, -EINVAL);
}

static void unmaps_when_the_kernel_refuses(void **state)
{
	struct guest *g = *state;

	guest_open(g);
	fake_fail(REG_MR, 1, ENOMEM);
	guest_mr(g, 0, 20);
	refuse(g, -ENOMEM);
}

/* Pages stay mapped while the HCA holds them, whatever the guest wants. */
static void keeps_pages_while_dereg_fails(void **state)
{
	struct guest *g = *state;
	uint32_t mr;

	guest_open(g);
	assert_int_equal(reg(g, 0, 3), 0);
	mr = g->rsp.u.mr.handle;
	fake_fail(DEREG_MR, 1, EINVAL);		/* a window is bound */
	assert_int_equal(guest_handle(g, XENVHCA_OP_DEREG_MR, mr), -EINVAL);
	assert_int_equal(loop_mapped(g->loop), 3);
	fake_fail(DEREG_MR, 1, EINVAL);		/* also at the end */
	guest_close(g);
	assert_int_equal(loop_mapped(g->loop), 0);
	assert_int_equal(fake_violations(), 0);
}

static void rereg(struct guest *g, uint32_t mr, uint32_t flags,
		  uint32_t first, uint32_t n)
{
	guest_mr(g, first, n);
	memmove(&g->req.u.rereg_mr.mr, &g->req.u.reg_mr,
		sizeof(g->req.u.reg_mr));
	g->req.u.rereg_mr.handle = mr;
	g->req.u.rereg_mr.flags = flags;
}

static void replaces_pages_only_on_success(void **state)
{
	struct guest *g = *state;
	uint32_t mr;

	guest_open(g);
	assert_int_equal(reg(g, 0, 3), 0);
	mr = g->rsp.u.mr.handle;
	fake_fail(REREG_MR, 1, EOPNOTSUPP);	/* as rxe of 6.1 answers */
	rereg(g, mr, 1, 10, 5);
	assert_int_equal(guest_cmd(g, XENVHCA_OP_REREG_MR), -EOPNOTSUPP);
	assert_int_equal(loop_mapped(g->loop), 3);
	rereg(g, mr, 1, 10, 5);
	assert_int_equal(guest_cmd(g, XENVHCA_OP_REREG_MR), 0);
	assert_int_equal(g->rsp.u.mr.handle, mr);
	assert_int_equal(loop_mapped(g->loop), 5);
	assert_int_equal(g->dev.quota.used_pages, 5);
	rereg(g, mr, 4, 0, 1);			/* a list without TRANS */
	assert_int_equal(guest_cmd(g, XENVHCA_OP_REREG_MR), -EINVAL);
	rereg(g, mr, 8, 0, 1);
	assert_int_equal(guest_cmd(g, XENVHCA_OP_REREG_MR), -EOPNOTSUPP);
	rereg(g, mr, 0, 0, 1);
	assert_int_equal(guest_cmd(g, XENVHCA_OP_REREG_MR), -EINVAL);
	g->req.u.rereg_mr.handle = mr;
	g->req.u.rereg_mr.flags = 2 | 4;
	g->req.u.rereg_mr.mr.pd = g->pd;
	g->req.u.rereg_mr.mr.access = 1;
	assert_int_equal(guest_cmd(g, XENVHCA_OP_REREG_MR), 0);
	assert_int_equal(fake_nth(FAKE_MR, 0)->access, 1);
	assert_int_equal(loop_mapped(g->loop), 5);
}

/* A bound one keeps the old region, which the kernel does not tell. */
static void keeps_pages_while_there_are_windows(void **state)
{
	struct guest *g = *state;
	uint32_t mr, mw;

	guest_open(g);
	g->dev.trusted = true;
	assert_int_equal(reg(g, 0, 3), 0);
	mr = g->rsp.u.mr.handle;
	g->req.u.alloc_mw = (struct xenvhca_alloc_mw_req){ g->pd, 2 };
	assert_int_equal(guest_cmd(g, XENVHCA_OP_ALLOC_MW), 0);
	mw = g->rsp.u.mr.handle;
	rereg(g, mr, 1, 10, 5);
	assert_int_equal(guest_cmd(g, XENVHCA_OP_REREG_MR), -EBUSY);
	assert_int_equal(loop_mapped(g->loop), 3);
	g->req.u.rereg_mr.handle = mr;
	g->req.u.rereg_mr.flags = 4;		/* the pages stay */
	assert_int_equal(guest_cmd(g, XENVHCA_OP_REREG_MR), 0);
	assert_int_equal(guest_handle(g, XENVHCA_OP_DEALLOC_MW, mw), 0);
	rereg(g, mr, 1, 10, 5);
	assert_int_equal(guest_cmd(g, XENVHCA_OP_REREG_MR), 0);
	assert_int_equal(loop_mapped(g->loop), 5);
}

/* A list of pages that the guest granted read-only. */
static void read_only(struct guest *g, struct xenvhca_pages *p, uint32_t first,
		      uint32_t n)
{
	uint32_t i;

	for (i = first; i < first + n; i++)
		loop_readonly(g->loop, i);
	p->flags = XENVHCA_PAGES_READONLY;
}

static int reg_read_only(struct guest *g, uint32_t access)
{
	guest_mr(g, 20, 2);
	g->req.u.reg_mr.access = access;
	read_only(g, &g->req.u.reg_mr.pages, 20, 2);
	return guest_cmd(g, XENVHCA_OP_REG_MR);
}

/* read() is told by the kernel, where a store would be the test's end. */
static bool writable(uint64_t addr)
{
	int fd = open("/dev/zero", O_RDONLY);
	ssize_t r = read(fd, (void *)(uintptr_t)addr, 1);

	assert_true(fd >= 0);
	assert_true(r == 1 || errno == EFAULT);
	close(fd);
	return r == 1;
}

static void maps_read_only_what_is_granted_so(void **state)
{
	struct guest *g = *state;

	guest_open(g);
	g->dev.info.flags = XENVHCA_INFO_READONLY;
	strcpy((char *)loop_page(g->loop, 20), "hello");
	assert_int_equal(reg_read_only(g, 4), 0);	/* remote read */
	assert_string_equal((char *)fake_nth(FAKE_MR, 0)->start, "hello");
	assert_false(writable(fake_nth(FAKE_MR, 0)->start));
	assert_int_equal(reg(g, 0, 2), 0);
	assert_true(writable(fake_nth(FAKE_MR, 1)->start));
}

static void refuses_to_write_to_what_is_read_only(void **state)
{
	static const uint32_t writes[] = { 1, 2 | 1, 8 | 1, 16, 8, 1 | 4 };
	struct guest *g = *state;
	unsigned int i;

	guest_open(g);
	g->dev.info.flags = 0;			/* not offered */
	assert_int_equal(reg_read_only(g, 0), -EINVAL);
	g->dev.info.flags = XENVHCA_INFO_READONLY;
	for (i = 0; i < sizeof(writes) / sizeof(writes[0]); i++)
		assert_int_equal(reg_read_only(g, writes[i]), -EINVAL);
	assert_int_equal(loop_mapped(g->loop), 0);
	assert_int_equal(g->dev.quota.used[BE_MR], 0);
}

/* The kernel would not look: it pinned the pages when they were read-only. */
static void other_rights_do_not_make_pages_writable(void **state)
{
	struct guest *g = *state;
	uint32_t mr;

	guest_open(g);
	g->dev.info.flags = XENVHCA_INFO_READONLY;
	assert_int_equal(reg_read_only(g, 0), 0);
	mr = g->rsp.u.mr.handle;
	assert_int_equal(guest_rereg_access(g, mr, 1), -EACCES);
	assert_int_equal(guest_rereg_access(g, mr, 8), -EACCES);
	assert_int_equal(fake_nth(FAKE_MR, 0)->access, 0);
	assert_int_equal(guest_rereg_access(g, mr, 4), 0);
	rereg(g, mr, 1, 10, 5);			/* writable pages, */
	assert_int_equal(guest_cmd(g, XENVHCA_OP_REREG_MR), 0);
	assert_int_equal(guest_rereg_access(g, mr, 1), 0);
	rereg(g, mr, 1, 30, 1);			/* and not again */
	read_only(g, &g->req.u.rereg_mr.mr.pages, 30, 1);
	assert_int_equal(guest_cmd(g, XENVHCA_OP_REREG_MR), -EINVAL);
	rereg(g, mr, 1 | 4, 30, 1);
	g->req.u.rereg_mr.mr.access = 0;
	read_only(g, &g->req.u.rereg_mr.mr.pages, 30, 1);
	assert_int_equal(guest_cmd(g, XENVHCA_OP_REREG_MR), 0);
	assert_false(writable(fake_nth(FAKE_MR, 0)->start));
	assert_int_equal(guest_rereg_access(g, mr, 1), -EACCES);
}

static void knows_which_kernels_register_read_only(void **state)
{
	(void)state;
	assert_false(be_pins_readonly("6.1.0-56-amd64"));
	assert_false(be_pins_readonly("6.2.16"));
	assert_false(be_pins_readonly("5.14.0"));
	assert_false(be_pins_readonly("unknown"));
	assert_true(be_pins_readonly("6.3.0"));
	assert_true(be_pins_readonly("6.12.95+deb13-amd64"));
	assert_true(be_pins_readonly("7.0-rc1"));
}

static void knows_which_kernels_warn_of_large_regions(void **state)
{
	(void)state;
	assert_int_equal(be_region_pages(RDMA_DRIVER_RXE, "6.12.118+deb13-amd64"), 262144);
	assert_int_equal(be_region_pages(RDMA_DRIVER_RXE, "6.1.0-56-amd64"), UINT32_MAX);
	assert_int_equal(be_region_pages(RDMA_DRIVER_MLX5, "6.12.118+deb13-amd64"), UINT32_MAX);
}

/* Whatever the quota: what the device was told, a hostile frontend too. */
static void a_list_has_no_more_pages_than_was_said(void **state)
{
	struct guest *g = *state;

	guest_open(g);
	g->dev.info.max_pages = 29;
	assert_int_equal(reg(g, 0, 30), -ENOMEM);
	assert_int_equal(g->dev.quota.used_pages, 0);
	g->dev.info.max_pages = 30;
	assert_int_equal(reg(g, 0, 30), 0);
}

static void allocates_windows(void **state)
{
	struct guest *g = *state;

	guest_open(g);
	g->dev.trusted = true;
	g->req.u.alloc_mw = (struct xenvhca_alloc_mw_req){ g->pd, 3 };
	assert_int_equal(guest_cmd(g, XENVHCA_OP_ALLOC_MW), -EINVAL);
	g->req.u.alloc_mw = (struct xenvhca_alloc_mw_req){ g->pd, 2 };
	assert_int_equal(guest_cmd(g, XENVHCA_OP_ALLOC_MW), 0);
	assert_int_equal(g->rsp.u.mr.lkey, 0);
	assert_int_not_equal(g->rsp.u.mr.rkey, 0);
	assert_int_equal(guest_handle(g, XENVHCA_OP_DEREG_MR,
				      g->rsp.u.mr.handle), -ENOENT);
	g->req.u.alloc_mw = (struct xenvhca_alloc_mw_req){ g->pd, 1 };
	assert_int_equal(guest_cmd(g, XENVHCA_OP_ALLOC_MW), 0);
	assert_int_equal(guest_handle(g, XENVHCA_OP_DEALLOC_MW,
				      g->rsp.u.mr.handle), 0);
	assert_int_equal(fake_live(FAKE_MW), 1);
}

static void a_busy_pd_stays(void **state)
{
	struct guest *g = *state;

	guest_open(g);
	assert_int_equal(guest_handle(g, XENVHCA_OP_DEALLOC_PD, g->pd),
			 -EBUSY);
	assert_int_equal(guest_handle(g, XENVHCA_OP_DESTROY_QP, g->qp), 0);
	assert_int_equal(guest_handle(g, XENVHCA_OP_DEALLOC_PD, g->pd), 0);
	assert_int_equal(guest_handle(g, XENVHCA_OP_DEALLOC_PD, g->pd),
			 -ENOENT);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, guest_setup, guest_teardown)
	const struct CMUnitTest tests[] = {
		T(registers_guest_memory),
		T(registers_many_pages),
		T(refuses_nonsense),
		T(unmaps_when_the_kernel_refuses),
		T(keeps_pages_while_dereg_fails),
		T(replaces_pages_only_on_success),
		T(keeps_pages_while_there_are_windows),
		T(maps_read_only_what_is_granted_so),
		T(refuses_to_write_to_what_is_read_only),
		T(other_rights_do_not_make_pages_writable),
		cmocka_unit_test(knows_which_kernels_register_read_only),
		cmocka_unit_test(knows_which_kernels_warn_of_large_regions),
		T(a_list_has_no_more_pages_than_was_said),
		T(allocates_windows),
		T(a_busy_pd_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
