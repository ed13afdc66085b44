// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * frontend/verbs/udata.c takes and refuses what a native driver takes and refuses.
 */
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/mlx4-abi.h>
#include <rdma/mlx5-abi.h>
#include "kernel.h"

#define list_del_init(l)	(list_del(l), INIT_LIST_HEAD(l))

#include "copy/udata.c"
#include "copy/check.h"
#include "tests/hostile/mlx5.h"

static struct vhca_dev dev;
static struct vhca_ucontext uc;
static struct vhca_cmd cmd;

/* ---- the rest of the module; queue memory is a number of octets ---- */
static u64 pinned[8];
static int nr_pinned;
static struct vhca_mem mems[8];
static struct ib_umem umems[8];
static int nr_put, nr_adopted;

struct vhca_ucontext *vhca_udata_uc(struct ib_udata *udata)
{
	(void)udata;
	return &uc;
}

void vhca_uc_adopt(struct vhca_ucontext *u, struct vhca_mem *mem)
{
	(void)u;
	nr_adopted += !!mem;
}

struct vhca_mem *vhca_mem_get(struct vhca_dev *d, u64 addr, u64 length,
			      int access)
{
	(void)d;
	(void)access;
	assert_int_not_equal(nr_pinned, ARRAY_SIZE(mems));
	pinned[nr_pinned] = length;
	umems[nr_pinned] = (struct ib_umem){
		.address = addr, .owning_mm = current->mm,
	};
	mems[nr_pinned] = (struct vhca_mem){ .umem = &umems[nr_pinned] };
	return &mems[nr_pinned++];
}

struct vhca_mem *vhca_mem_new(struct vhca_dev *d, u32 nr)
{
	(void)d;
	pinned[nr_pinned] = nr;		/* of the kernel: pages */
	mems[nr_pinned] = (struct vhca_mem){ .va = &mems[nr_pinned] };
	return &mems[nr_pinned++];
}

void vhca_mem_put(struct vhca_mem *mem)
{
	nr_put += !!mem;
}

static int load(u16 op, const void *in, size_t inlen, size_t outlen)
{
	struct ib_udata udata = {
		.inbuf = in, .inlen = inlen, .outlen = outlen,
	};

	memset(&cmd, 0, sizeof(cmd));
	cmd.req.op = op;
	cmd.row = vhca_provider_op(dev.provider, op);
	return vhca_udata_load(&dev, &cmd, &udata, false);
}

static int setup(void **state)
{
	(void)state;
	dev.provider = &vhca_provider_mlx5;
	dev.own_uc = NULL;
	uc.ibuc.device = &dev.ibdev;
	INIT_LIST_HEAD(&uc.dbpages);
	current->mm = NULL;
	nr_pinned = nr_put = nr_adopted = 0;
	return 0;
}

static void takes_zeros_past_the_end(void **state)
{
	const size_t len = sizeof(struct mlx5_ib_alloc_ucontext_req_v2);
	u8 in[300] = { 16 };		/* total_num_bfregs */

	(void)state;
	assert_int_equal(load(XENVHCA_OP_ALLOC_UCONTEXT, in, len, 72), 0);
	assert_int_equal(load(XENVHCA_OP_ALLOC_UCONTEXT, in, len + 8, 72), 0);
	assert_int_equal(cmd.req.in_len, len);
	assert_int_equal(load(XENVHCA_OP_ALLOC_UCONTEXT, in, sizeof(in), 72),
			 0);
	assert_int_equal(cmd.req.in_len, len);
	assert_memory_equal(cmd.req.udata, in, len);
	/* An operation without udata of its own. */
	assert_int_equal(load(XENVHCA_OP_ALLOC_MW, in + 1, 8, 0), 0);
	assert_int_equal(cmd.req.in_len, 0);
}

static void refuses_what_it_does_not_know(void **state)
{
	const size_t len = sizeof(struct mlx5_ib_alloc_ucontext_req_v2);
	u8 in[300] = { 16 };

	(void)state;
	assert_int_equal(load(XENVHCA_OP_ALLOC_UCONTEXT, in, len - 8, 72),
			 -EINVAL);
	in[len + 7] = 1;
	assert_int_equal(load(XENVHCA_OP_ALLOC_UCONTEXT, in, len + 7, 72), 0);
	assert_int_equal(load(XENVHCA_OP_ALLOC_UCONTEXT, in, len + 8, 72),
			 -EINVAL);
	assert_int_equal(load(XENVHCA_OP_ALLOC_UCONTEXT, in, sizeof(in), 72),
			 -EINVAL);
	assert_int_equal(load(XENVHCA_OP_ALLOC_MW, in, 8, 0), -EINVAL);
}

/* No command is sent for the first of the two opens of rdma-core. */
static void refuses_devx_here(void **state)
{
	struct mlx5_ib_alloc_ucontext_req_v2 in = {
		.total_num_bfregs = 16, .flags = MLX5_IB_ALLOC_UCTX_DEVX,
	};

	(void)state;
	assert_int_equal(load(XENVHCA_OP_ALLOC_UCONTEXT, &in, sizeof(in), 72),
			 -EINVAL);
	in.flags = 0;
	assert_int_equal(load(XENVHCA_OP_ALLOC_UCONTEXT, &in, sizeof(in), 72),
			 0);
}

/* ---- what hostile-backend answers, as far as it is honest ---- */

/* A command from @in to the octets that the process has in @out. */
static int answered(u16 op, const void *in, size_t inlen, void *out,
		    size_t outlen)
{
	struct ib_udata udata = { .outbuf = out, .outlen = outlen };
	int rc = load(op, in, inlen, outlen);

	if (rc)
		return rc;
	memset(&cmd.rsp, 0, sizeof(cmd.rsp));
	cmd.rsp.op = op;
	cmd.rsp.out_len = cmd.req.out_len;
	mlx5_udata(77, &cmd.req, &cmd.rsp);
	assert_null(vhca_check_rsp(&cmd.rsp, &cmd.req));
	return vhca_udata_store(&dev, &cmd, &udata, false);
}

static void hostile_is_an_mlx5(void **state)
{
	struct xenvhca_get_info_rsp info = { .kicks = 3 };

	(void)state;
	mlx5_info(&info);
	assert_true(vhca_check_info(&info));
	assert_ptr_equal(vhca_provider_find(info.driver_id,
					    info.uverbs_abi_ver),
			 &vhca_provider_mlx5);
	assert_int_equal(info.kicks, 0);
}

static void hostile_has_contexts(void **state)
{
	const struct mlx5_ib_alloc_ucontext_req_v2 in = {
		.total_num_bfregs = 16, .num_low_latency_bfregs = 4,
		.max_cqe_version = 1, .lib_caps = MLX5_LIB_CAP_4K_UAR,
	};
	struct mlx5_ib_alloc_ucontext_resp out = { };
	struct mlx5_ib_alloc_pd_resp pd = { };

	(void)state;
	assert_int_equal(answered(XENVHCA_OP_ALLOC_UCONTEXT, &in, sizeof(in),
				  &out, sizeof(out)), 0);
	assert_int_equal(out.tot_bfregs, in.total_num_bfregs);
	assert_int_equal(out.response_length, sizeof(out));
	assert_int_equal(out.num_uars_per_page, 1);
	assert_int_equal(out.cqe_version, 1);
	/* Nothing that a guest cannot have. */
	assert_int_equal(out.comp_mask, 0);
	assert_int_equal(out.clock_info_versions, 0);
	assert_int_equal(out.hca_core_clock_offset, 0);
	assert_int_equal(answered(XENVHCA_OP_ALLOC_PD, NULL, 0, &pd,
				  sizeof(pd)), 0);
	assert_int_equal(pd.pdn, 77);
}

static void hostile_has_queues(void **state)
{
	const struct mlx5_ib_create_cq cq_in = {
		.buf_addr = 0x10000, .db_addr = 0x20040, .cqe_size = 64,
	};
	const struct mlx5_ib_create_qp qp_in = {
		.buf_addr = 0x10000, .db_addr = 0x20040, .sq_wqe_count = 8,
		.rq_wqe_count = 8, .rq_wqe_shift = 6,
	};
	struct mlx5_ib_create_cq_resp cq = { };
	struct mlx5_ib_create_qp_resp qp = { };
	struct vhca_bufs bufs;

	(void)state;
	assert_int_equal(answered(XENVHCA_OP_CREATE_CQ, &cq_in, sizeof(cq_in),
				  &cq, sizeof(cq)), 0);
	assert_int_equal(cq.cqn, 77);
	cmd.req.u.create_cq.cqe = 63;
	assert_int_equal(vhca_bufs_get(&uc, &cmd, &bufs), 0);
	assert_int_equal(pinned[0], 64 * 64);
	assert_int_equal(pinned[1], PAGE_SIZE);
	assert_non_null(bufs.buf);
	assert_non_null(bufs.db);
	/* vhca-unread has the octets of a provider before ECE. */
	vhca_bufs_put(&uc, &bufs, false);
	nr_pinned = 0;
	assert_int_equal(answered(XENVHCA_OP_CREATE_QP, &qp_in, 48, &qp, 8),
			 0);
	assert_int_equal(qp.bfreg_index, 77 % 16);
	assert_int_equal(vhca_bufs_get(&uc, &cmd, &bufs), 0);
	assert_int_equal(pinned[0], 16 * 64);
	assert_int_equal(pinned[1], PAGE_SIZE);
}

/* A CQ with a buffer, and a record at @db. */
static void make_cq(u64 db, struct vhca_bufs *bufs)
{
	struct mlx5_ib_create_cq in = {
		.buf_addr = 0x10000, .db_addr = db, .cqe_size = 64,
	};

	assert_int_equal(load(XENVHCA_OP_CREATE_CQ, &in, sizeof(in), 8), 0);
	assert_int_equal(vhca_bufs_get(&uc, &cmd, bufs), 0);
}

/* It is the context's: whichever of its objects was the first may go first. */
static void a_page_of_records_has_one_grant(void **state)
{
	struct vhca_bufs a, b, c;

	(void)state;
	make_cq(0x7f000000a040, &a);
	make_cq(0x7f000000a080, &b);
	assert_int_equal(nr_pinned, 3);
	assert_ptr_equal(a.db, b.db);
	assert_int_equal(a.record, 0x40);
	assert_int_equal(b.record, 0x80);
	vhca_bufs_put(&uc, &a, false);
	assert_int_equal(nr_put, 1);		/* the buffer */
	make_cq(0x7f000000a000, &c);
	assert_ptr_equal(b.db, c.db);
	vhca_bufs_put(&uc, &b, false);
	vhca_bufs_put(&uc, &c, false);
	assert_int_equal(nr_pinned, 4);
	assert_int_equal(nr_put, 4);
	/* Nobody knows that page any more. */
	make_cq(0x7f000000a040, &a);
	assert_int_equal(nr_pinned, 6);
	vhca_bufs_put(&uc, &a, false);
	assert_int_equal(nr_put, nr_pinned);
}

static void pages_of_records_are_told_apart(void **state)
{
	struct mm_struct child = { };
	struct vhca_bufs a, b, c;

	(void)state;
	make_cq(0x7f000000a040, &a);
	make_cq(0x7f000000b040, &b);
	current->mm = &child;
	make_cq(0x7f000000a040, &c);
	assert_int_equal(nr_pinned, 6);
	vhca_bufs_put(&uc, &c, false);
	vhca_bufs_put(&uc, &b, false);
	vhca_bufs_put(&uc, &a, false);
	assert_int_equal(nr_put, nr_pinned);
}

/* A queue pair of an mlx4 without receive queue names a record that nobody reads. */
static void a_send_queue_of_mlx4_has_no_record(void **state)
{
	const struct mlx4_ib_create_qp in = {
		.buf_addr = 0x10000, .db_addr = 0x20044, .log_sq_bb_count = 6,
		.log_sq_stride = 6,
	};
	struct vhca_bufs bufs;

	(void)state;
	dev.provider = &vhca_provider_mlx4;
	assert_int_equal(load(XENVHCA_OP_CREATE_QP, &in, sizeof(in), 0), 0);
	cmd.req.u.create_qp.cap.max_recv_wr = 4;
	cmd.req.u.create_qp.cap.max_recv_sge = 1;
	assert_int_equal(vhca_bufs_get(&uc, &cmd, &bufs), 0);
	assert_int_equal(nr_pinned, 2);
	assert_int_equal(pinned[0], 4096 + 4 * 16);
	assert_int_equal(bufs.record, 0x44);
	vhca_bufs_put(&uc, &bufs, false);
	nr_pinned = 0;
	cmd.req.u.create_qp.srq = 1;
	assert_int_equal(vhca_bufs_get(&uc, &cmd, &bufs), 0);
	assert_int_equal(nr_pinned, 1);
	assert_int_equal(pinned[0], 4096);
	assert_null(bufs.db);
	vhca_bufs_put(&uc, &bufs, false);
	/* Its driver copies all of the structure. */
	assert_int_equal(load(XENVHCA_OP_CREATE_QP, &in, sizeof(in) - 1, 0), -EINVAL);
	assert_int_equal(load(XENVHCA_OP_QUERY_DEVICE, NULL, 0, 48), 0);
	assert_int_equal(load(XENVHCA_OP_QUERY_DEVICE, NULL, 0, 40), -EINVAL);
}

/* Its queues are made, not pinned; each has a record in a page of its own. */
static void the_kernels_udata_names_no_memory(void **state)
{
	struct mlx5_ib_create_cq in = { .buf_addr = 1, .db_addr = 0x1000, .cqe_size = 64 };
	struct mlx5_ib_create_cq_resp out = { };
	struct vhca_bufs a, b;
	struct ib_udata udata = vhca_own_udata(&in, sizeof(in), &out, sizeof(out));

	(void)state;
	dev.own_uc = &uc;
	make_cq(0x1000, &a);
	make_cq(0x1000, &b);
	assert_int_equal(nr_pinned, 4);
	assert_int_equal(pinned[0], 1);
	assert_int_equal(pinned[1], 1);
	assert_ptr_not_equal(a.db, b.db);
	assert_int_equal(a.record, 0);
	vhca_bufs_put(&uc, &a, false);
	vhca_bufs_put(&uc, &b, true);
	assert_int_equal(nr_put, 2);
	assert_int_equal(nr_adopted, 2);
	/* A page may outlive the context, with its object. */
	assert_true(list_empty(&uc.dbpages));
	assert_int_equal(answered(XENVHCA_OP_CREATE_CQ, &in, sizeof(in), &out,
				  sizeof(out)), 0);
	assert_int_equal(out.cqn, 77);
	assert_int_equal(vhca_udata_load(&dev, &cmd, &udata, false), 0);
}

/* Nobody knows whether the object is there: the page stays as long as it may be. */
static void a_page_of_records_outlives_what_is_unknown(void **state)
{
	struct vhca_bufs a, b;

	(void)state;
	make_cq(0x7f000000a040, &a);
	make_cq(0x7f000000a080, &b);
	vhca_bufs_put(&uc, &a, true);
	vhca_bufs_put(&uc, &b, false);
	assert_int_equal(nr_adopted, 1);
	assert_int_equal(nr_put, 1);
	vhca_dbpages_free(&uc);
	assert_int_equal(nr_put, 2);
	assert_true(list_empty(&uc.dbpages));
}

static void hostile_answers_less_than_asked(void **state)
{
	struct mlx5_ib_create_cq in = { .cqe_size = 64 };
	struct mlx5_ib_create_cq_resp out = { };
	struct ib_udata udata = { .outbuf = (u8 *)&out, .outlen = sizeof(out) };

	(void)state;
	assert_int_equal(answered(XENVHCA_OP_CREATE_CQ, &in, sizeof(in), &out,
				  sizeof(out)), 0);
	cmd.rsp.out_len--;
	assert_int_equal(vhca_udata_store(&dev, &cmd, &udata, false), -EIO);
}

/* Which of its doorbell pages the frontend believes, and Xen has to refuse. */
static void hostile_doorbells(void **state)
{
	const struct vhca_mmap *row =
		vhca_provider_mmap(dev.provider, 0x300ull << XEN_PAGE_SHIFT);
	const struct xenvhca_mmap_rsp *m = &cmd.rsp.u.mmap;
	unsigned int i;

	(void)state;
	for (i = 0; i < MLX5_DOORBELLS; i++) {
		memset(&cmd.rsp, 0xff, sizeof(cmd.rsp));
		mlx5_doorbell(i, &cmd.rsp);
		assert_int_equal(cmd.rsp.status, 0);
		assert_int_equal(vhca_check_mmio(m) &&
				 vhca_provider_mmap_prot(row, m->prot),
				 i < MLX5_WELL_FORMED);
	}
}

#define T(f) cmocka_unit_test_setup(f, setup)
int main(void)
{
	const struct CMUnitTest tests[] = {
		T(the_kernels_udata_names_no_memory),
		T(takes_zeros_past_the_end),
		T(refuses_what_it_does_not_know),
		T(refuses_devx_here),
		T(hostile_is_an_mlx5),
		T(hostile_has_contexts),
		T(hostile_has_queues),
		T(a_page_of_records_has_one_grant),
		T(a_send_queue_of_mlx4_has_no_record),
		T(pages_of_records_are_told_apart),
		T(a_page_of_records_outlives_what_is_unknown),
		T(hostile_answers_less_than_asked),
		T(hostile_doorbells),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
