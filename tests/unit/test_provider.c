// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The udata tables against the kernel's own headers.
 */
#include <errno.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/rdma_user_rxe.h>

#include "tests/fake/guest.h"

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

/* The worker has an array of the rows by op, other code the first row of an op. */
static void each_op_has_one_row(void **state)
{
	static const struct vhca_provider *const all[] = {
		&vhca_provider_rxe, &vhca_provider_mlx5, &vhca_provider_mlx4,
		&vhca_provider_mlx4_v3,
	};
	const struct vhca_udata_op *r;
	unsigned int i;

	(void)state;
	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		for (r = all[i]->ops; r->op; r++) {
			assert_true(r->op < XENVHCA_OP_MAX);
			assert_ptr_equal(vhca_provider_op(all[i], r->op), r);
		}
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

/* A queue of that row; what the driver allocates beside its head. */
static uint64_t queue_len(const struct xenvhca_request *req, unsigned int i)
{
	const struct vhca_field *f = &row((uint8_t)req->op)->rsp[i];
	uint64_t len = ~0ull;

	assert_int_equal(f->length(req, &len), 0);
	return len;
}

static void rxe_queues_are_as_long_as_its_driver_makes_them(void **state)
{
	struct xenvhca_request req = { .op = XENVHCA_OP_CREATE_QP };
	struct xenvhca_qp_cap *cap = &req.u.create_qp.cap;
	uint64_t len;

	(void)state;
	*cap = (struct xenvhca_qp_cap){
		.max_send_wr = 64, .max_send_sge = 4, .max_inline_data = 40,
		.max_recv_wr = 63, .max_recv_sge = 1,
	};
	assert_int_equal(queue_len(&req, 1), 128 * 512);
	assert_true(sizeof(struct rxe_send_wqe) + 4 * sizeof(struct rxe_sge) > 256);
	cap->max_send_sge = 1;
	assert_int_equal(queue_len(&req, 1), 128 * 256);
	cap->max_inline_data = (uint32_t)(256 - sizeof(struct rxe_send_wqe));
	assert_int_equal(queue_len(&req, 1), 128 * 256);
	cap->max_inline_data++;
	assert_int_equal(queue_len(&req, 1), 128 * 512);
	assert_int_equal(queue_len(&req, 0), 64 * 64);
	cap->max_recv_sge = (uint32_t)((512 - sizeof(struct rxe_recv_wqe)) /
				       sizeof(struct rxe_sge));
	assert_int_equal(queue_len(&req, 0), 64 * 512);
	cap->max_recv_sge++;
	assert_int_equal(queue_len(&req, 0), 64 * 1024);
	cap->max_recv_sge = 32;
	cap->max_recv_wr = UINT32_MAX;
	assert_int_equal(row(XENVHCA_OP_CREATE_QP)->rsp[0].length(&req, &len),
			 -EINVAL);
	req.u.create_qp.srq = 1;
	assert_int_equal(queue_len(&req, 0), 0);
	req = (struct xenvhca_request){ .op = XENVHCA_OP_CREATE_SRQ };
	req.u.create_srq.max_wr = 100;
	req.u.create_srq.max_sge = 27;
	assert_int_equal(queue_len(&req, 0), 128 * 512);
	req = (struct xenvhca_request){ .op = XENVHCA_OP_MODIFY_SRQ };
	req.u.modify_srq.max_wr = 100;
	assert_int_equal(queue_len(&req, 0), 0);
	req.u.modify_srq.mask = 1;
	assert_int_equal(queue_len(&req, 0), 128 * 512);
	req = (struct xenvhca_request){ .op = XENVHCA_OP_CREATE_CQ };
	req.u.create_cq.cqe = 1000;
	assert_int_equal(queue_len(&req, 0), 1024 * 128);
}

/* A limit that is announced can be reached, whatever else the process asks for. */
static void limits_are_what_fits(void **state)
{
	(void)state;
	assert_int_equal(vhca_provider_entries(4194303, 128, 32768), 524287);
	assert_int_equal(vhca_provider_entries(4194303, 128, 65536 + 4), 2097151);
	assert_int_equal(vhca_provider_entries(4194303, 128, 65536 + 3), 1048575);
	assert_int_equal(vhca_provider_entries(32767, 128, 32768), 32767);
	assert_int_equal(vhca_provider_entries(32768, 576, 32768), 32768);
	assert_int_equal(vhca_provider_entries(1 << 20, 2048, 16384), 16383);
	assert_int_equal(vhca_provider_entries(1 << 20, 2048, 1), 1);
	assert_int_equal(vhca_provider_entries(0, 2048, 1), 0);
	assert_int_equal(vhca_provider_entries(UINT32_MAX, 64, UINT64_MAX / 4096),
			 UINT32_MAX);
}

#define ROW(name) &vhca_provider_##name,
static const struct vhca_provider *const all[] = { VHCA_PROVIDERS(ROW) };
#undef ROW

/*
 * What the backend writes to must be there whole, whatever length the guest
 * chose: half an address, or half a mask, would pass as the guest wrote it.
 */
static bool is_rewritten(uint8_t kind)
{
	return kind == VHCA_BUF || kind == VHCA_DBPAGE || kind == VHCA_MASK ||
	       kind == VHCA_ZERO || kind == VHCA_OUTPTR || kind == VHCA_UARS ||
	       kind == VHCA_IS;
}

static void field_is_good(const struct vhca_field *f, uint8_t min, uint8_t max)
{
	assert_true(f->off + f->len <= max);
	if (is_rewritten(f->kind)) {
		assert_true(f->len && f->len <= 8);
		assert_true(f->off + f->len <= min);
	}
	if (f->kind == VHCA_KEY)
		assert_true(f->len >= 12);
	if (f->kind == VHCA_UARS) {
		assert_int_equal(f->len, 4);
		assert_true(f->arg && f->arg <= UINT32_MAX);
	}
	if (f->kind == VHCA_BUF || f->kind == VHCA_DBPAGE)
		assert_int_equal(f->len, 8);
	/* a record lies in one page, as one page of it is mapped */
	if (f->kind == VHCA_DBPAGE)
		assert_true(f->arg && f->arg <= XENVHCA_PAGE_SIZE &&
			    !(f->arg & (f->arg - 1)));
	/* a table for a real HCA must tell how much its driver pins */
	if (f->kind != VHCA_DBPAGE)
		assert_int_equal(f->kind == VHCA_BUF || f->kind == VHCA_KEY,
				 !!f->length);
	if (f->kind == VHCA_IS)
		assert_true(f->len <= 4);
}

/* No field may reach over the payload, or the code that reads it would. */
static void fields_lie_inside(void **state)
{
	const struct vhca_udata_op *r;
	unsigned int i, p;

	(void)state;
	for (p = 0; p < sizeof(all) / sizeof(all[0]); p++) {
		for (r = all[p]->ops; r->op; r++) {
			assert_ptr_equal(vhca_provider_op(all[p], r->op), r);
			for (i = 0; i < VHCA_MAX_FIELDS; i++) {
				field_is_good(&r->req[i], r->in_min,
					      r->in_max);
				field_is_good(&r->rsp[i], r->out_min,
					      r->out_max);
			}
		}
	}
}

/* Only what was run on an HCA, or on what is one, has a table. */
static void knows_only_what_was_run(void **state)
{
	unsigned int p;
	uint32_t id, abi;

	(void)state;
	for (p = 0; p < sizeof(all) / sizeof(all[0]); p++) {
		assert_ptr_equal(vhca_provider_find(all[p]->driver_id,
						    all[p]->abi_min), all[p]);
		assert_true(all[p]->mr_bits <= 44);	/* what gntdev.c has */
		assert_int_equal(!!all[p]->context_uars, !!all[p]->mmaps);
	}
	for (id = 0; id < 256; id++)
		for (abi = 0; abi < 16; abi++)
			assert_int_equal(!!vhca_provider_find(id, abi),
					 (id == RDMA_DRIVER_RXE && abi == 2) ||
					 (id == RDMA_DRIVER_MLX5 && abi == 1) ||
					 (id == RDMA_DRIVER_MLX4 &&
					  (abi == 3 || abi == 4)));
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
		cmocka_unit_test(each_op_has_one_row),
		cmocka_unit_test(rxe_agrees_with_its_header),
		cmocka_unit_test(rxe_queues_are_as_long_as_its_driver_makes_them),
		cmocka_unit_test(limits_are_what_fits),
		cmocka_unit_test(fields_lie_inside),
		cmocka_unit_test(knows_only_what_was_run),
		cmocka_unit_test(finds_only_known_drivers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
