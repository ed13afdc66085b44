// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The udata tables against the kernel's own headers.
 */
#include <errno.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/rdma_user_rxe.h>

#include "guest.h"

static const struct vhca_udata_op *row(uint8_t op)
{
	const struct vhca_udata_op *r = vhca_provider_op(&vhca_provider_rxe,
							 op);

	assert_non_null(r);
	return r;
}

static void out_is(uint8_t op, size_t size)
{
	assert_int_equal(row(op)->out_max, size);
	assert_int_equal(vhca_provider_check(&vhca_provider_rxe, op, 0,
					     (uint32_t)size), 0);
	assert_int_equal(vhca_provider_check(&vhca_provider_rxe, op, 0,
					     (uint32_t)size + 1), -EINVAL);
}

static void key_at(uint8_t op, unsigned int i, size_t off)
{
	const struct vhca_field *f = &row(op)->rsp[i];

	assert_int_equal(f->kind, VHCA_KEY);
	assert_int_equal(f->off, off);
	assert_int_equal(f->len, sizeof(struct mminfo));
	assert_int_equal(offsetof(struct mminfo, offset), 0);
	assert_int_equal(offsetof(struct mminfo, size), 8);
}

static void rxe_agrees_with_its_header(void **state)
{
	const struct vhca_udata_op *r;

	(void)state;
	assert_int_equal(vhca_provider_rxe.driver_id, RDMA_DRIVER_RXE);
	out_is(XENVHCA_OP_CREATE_CQ, sizeof(struct rxe_create_cq_resp));
	key_at(XENVHCA_OP_CREATE_CQ, 0,
	       offsetof(struct rxe_create_cq_resp, mi));
	out_is(XENVHCA_OP_RESIZE_CQ, sizeof(struct rxe_resize_cq_resp));
	key_at(XENVHCA_OP_RESIZE_CQ, 0,
	       offsetof(struct rxe_resize_cq_resp, mi));
	out_is(XENVHCA_OP_CREATE_QP, sizeof(struct rxe_create_qp_resp));
	key_at(XENVHCA_OP_CREATE_QP, 0,
	       offsetof(struct rxe_create_qp_resp, rq_mi));
	key_at(XENVHCA_OP_CREATE_QP, 1,
	       offsetof(struct rxe_create_qp_resp, sq_mi));
	out_is(XENVHCA_OP_CREATE_SRQ, sizeof(struct rxe_create_srq_resp));
	key_at(XENVHCA_OP_CREATE_SRQ, 0,
	       offsetof(struct rxe_create_srq_resp, mi));
	out_is(XENVHCA_OP_CREATE_AH, sizeof(struct rxe_create_ah_resp));
	r = row(XENVHCA_OP_MODIFY_SRQ);
	assert_int_equal(r->in_max, sizeof(struct rxe_modify_srq_cmd));
	assert_int_equal(r->req[0].kind, VHCA_OUTPTR);
	assert_int_equal(r->req[0].off, offsetof(struct rxe_modify_srq_cmd,
						 mmap_info_addr));
	assert_int_equal(vhca_provider_outptr(r), sizeof(struct mminfo));
}

/* No field may reach over the payload, or the code that reads it would. */
static void fields_lie_inside(void **state)
{
	const struct vhca_udata_op *r;
	unsigned int i;

	(void)state;
	for (r = vhca_provider_rxe.ops; r->op; r++) {
		for (i = 0; i < VHCA_MAX_FIELDS; i++) {
			assert_true(r->req[i].off + r->req[i].len <=
				    r->in_max);
			assert_true(r->rsp[i].off + r->rsp[i].len <=
				    r->out_max);
			if (r->rsp[i].kind == VHCA_KEY)
				assert_true(r->rsp[i].len >= 12);
		}
	}
}

static void finds_only_known_drivers(void **state)
{
	(void)state;
	assert_ptr_equal(vhca_provider_find(RDMA_DRIVER_RXE, 2),
			 &vhca_provider_rxe);
	assert_null(vhca_provider_find(RDMA_DRIVER_RXE, 1));
	assert_null(vhca_provider_find(RDMA_DRIVER_RXE, 3));
	assert_null(vhca_provider_find(RDMA_DRIVER_UNKNOWN, 2));
	assert_null(vhca_provider_op(&vhca_provider_rxe,
				     XENVHCA_OP_ALLOC_PD));
	assert_int_equal(vhca_provider_check(&vhca_provider_rxe,
					     XENVHCA_OP_ALLOC_PD, 0, 4),
			 -EINVAL);
	assert_int_equal(vhca_provider_outptr(NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rxe_agrees_with_its_header),
		cmocka_unit_test(fields_lie_inside),
		cmocka_unit_test(finds_only_known_drivers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
