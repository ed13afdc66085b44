// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * frontend/udata.c takes and refuses what a native driver takes and refuses.
 */
#include <rdma/mlx5-abi.h>
#include "kernel.h"
#include "copy/udata.c"

static struct vhca_dev dev;
static struct vhca_ucontext uc;
static struct vhca_cmd cmd;

/* ---- the rest of the module; no queue memory here ---- */
struct vhca_ucontext *vhca_udata_uc(struct ib_udata *udata)
{
	(void)udata;
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
	(void)d;
	(void)addr;
	(void)length;
	(void)access;
	return ERR_PTR(-EFAULT);
}

void vhca_mem_put(struct vhca_mem *mem)
{
	(void)mem;
}

static int load(u16 op, const void *in, size_t inlen, size_t outlen)
{
	struct ib_udata udata = {
		.inbuf = in, .inlen = inlen, .outlen = outlen,
	};

	memset(&cmd, 0, sizeof(cmd));
	cmd.req.op = op;
	return vhca_udata_load(&dev, &cmd, &udata, false);
}

static int setup(void **state)
{
	(void)state;
	dev.provider = &vhca_provider_mlx5;
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

#define T(f) cmocka_unit_test_setup(f, setup)
int main(void)
{
	const struct CMUnitTest tests[] = {
		T(takes_zeros_past_the_end),
		T(refuses_what_it_does_not_know),
		T(refuses_devx_here),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
