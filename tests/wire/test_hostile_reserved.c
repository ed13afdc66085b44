// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Every field of every request out of its range, one at a time; reserved
 * fields first. None of it changes what the device owns.
 */
#include "wire.h"

struct spoil {
	uint16_t op;
	uint8_t size;
	uint16_t off;
	uint64_t value;
	int status;			/* 0: any error */
};

#define S(OP, member, v, err) {						\
	.op = XENVHCA_OP_##OP,						\
	.size = sizeof(((struct xenvhca_request *)0)->member),		\
	.off = offsetof(struct xenvhca_request, member),		\
	.value = (v), .status = (err) }
#define H(OP, member)							\
	S(OP, member, 0, -2), S(OP, member, NO_HANDLE, -2),		\
	S(OP, member, 0xffffffff, -2), S(OP, member, 1, -2)
#define RES(OP, member) S(OP, member, 1, -22)
#define PAGES(OP, member)						\
	S(OP, member.nr_pages, 1, -22), S(OP, member.level, 1, -22),	\
	S(OP, member.reserved[0], 1, -22), S(OP, member.gref[7], 9, -22), \
	S(OP, member.flags, XENVHCA_PAGES_READONLY, -22)

static const struct spoil reserved[] = {
	RES(QUERY_GID_TABLE, u.query_gid_table.reserved),
	RES(QUERY_PKEY_TABLE, u.query_pkey_table.reserved),
	RES(MMAP, u.mmap.reserved),
	RES(DEALLOC_PD, u.handle.reserved), RES(DEREG_MR, u.handle.reserved),
	RES(DEALLOC_MW, u.handle.reserved), RES(DESTROY_CQ, u.handle.reserved),
	RES(DESTROY_QP, u.handle.reserved), RES(QUERY_SRQ, u.handle.reserved),
	RES(DESTROY_SRQ, u.handle.reserved), RES(DESTROY_AH, u.handle.reserved),
	RES(REG_MR, u.reg_mr.reserved),
	RES(REG_MR, u.reg_mr.pages.flags),
	S(REG_MR, u.reg_mr.pages.flags, 2, -22),
	RES(REG_MR, u.reg_mr.pages.reserved[0]),
	RES(REG_MR, u.reg_mr.pages.reserved[1]),
	RES(REREG_MR, u.rereg_mr.mr.reserved),
	RES(REREG_MR, u.rereg_mr.mr.pages.reserved[1]),
	RES(CREATE_CQ, u.create_cq.reserved),
	RES(CREATE_QP, u.create_qp.reserved),
	RES(CREATE_QP, u.create_qp.reserved1),
	RES(CREATE_SRQ, u.create_srq.max_tags),
	RES(CREATE_QP, u.create_qp.cap.reserved),
	RES(MODIFY_QP, u.modify_qp.reserved),
	RES(MODIFY_QP, u.modify_qp.attr.reserved),
	RES(MODIFY_QP, u.modify_qp.attr.ah.reserved[0]),
	RES(MODIFY_QP, u.modify_qp.attr.ah.reserved[9]),
	RES(CREATE_AH, u.create_ah.reserved),
	RES(CREATE_AH, u.create_ah.attr.reserved[0]),
	RES(CREATE_AH, u.create_ah.attr.reserved[9]),
	RES(ATTACH_MCAST, u.mcast.reserved),
	RES(DETACH_MCAST, u.mcast.reserved),
};

static const struct spoil headers[] = {
	S(GET_INFO, flags, XENVHCA_REQ_RANGES, -22),
	S(REG_MR, flags, XENVHCA_REQ_RANGES, -22), S(MMAP, flags, ~0u, -22),
	S(CREATE_CQ, flags, 2, -22), S(CREATE_QP, flags, ~0u, -22),
	S(GET_INFO, ucontext, NO_HANDLE, -22),
	S(QUERY_DEVICE, ucontext, NO_HANDLE, -2),
	S(QUERY_PORT, ucontext, 1, -22),
	S(QUERY_GID_TABLE, ucontext, 1, -22),
	S(QUERY_PKEY_TABLE, ucontext, 1, -22),
	S(ALLOC_UCONTEXT, ucontext, 1, -22),
	H(DEALLOC_UCONTEXT, ucontext), H(MMAP, ucontext), H(MUNMAP, ucontext),
	H(ALLOC_PD, ucontext), H(DEALLOC_PD, ucontext), H(REG_MR, ucontext),
	H(REREG_MR, ucontext), H(DEREG_MR, ucontext), H(ALLOC_MW, ucontext),
	H(DEALLOC_MW, ucontext), H(CREATE_CQ, ucontext), H(RESIZE_CQ, ucontext),
	H(DESTROY_CQ, ucontext), H(CREATE_QP, ucontext), H(MODIFY_QP, ucontext),
	H(QUERY_QP, ucontext), H(DESTROY_QP, ucontext), H(CREATE_SRQ, ucontext),
	H(MODIFY_SRQ, ucontext), H(QUERY_SRQ, ucontext),
	H(DESTROY_SRQ, ucontext), H(CREATE_AH, ucontext),
	H(DESTROY_AH, ucontext), H(ATTACH_MCAST, ucontext),
	H(DETACH_MCAST, ucontext),
};

static const struct spoil handles[] = {
	H(DEALLOC_PD, u.handle.handle), H(DEREG_MR, u.handle.handle),
	H(DEALLOC_MW, u.handle.handle), H(DESTROY_CQ, u.handle.handle),
	H(DESTROY_QP, u.handle.handle), H(QUERY_SRQ, u.handle.handle),
	H(DESTROY_SRQ, u.handle.handle), H(DESTROY_AH, u.handle.handle),
	H(REG_MR, u.reg_mr.pd), H(REREG_MR, u.rereg_mr.handle),
	H(REREG_MR, u.rereg_mr.mr.pd), H(ALLOC_MW, u.alloc_mw.pd),
	H(RESIZE_CQ, u.resize_cq.handle), H(CREATE_QP, u.create_qp.pd),
	H(CREATE_QP, u.create_qp.send_cq), H(CREATE_QP, u.create_qp.recv_cq),
	S(CREATE_QP, u.create_qp.srq, NO_HANDLE, -2),
	H(MODIFY_QP, u.modify_qp.handle), H(QUERY_QP, u.query_qp.handle),
	H(CREATE_SRQ, u.create_srq.pd), H(MODIFY_SRQ, u.modify_srq.handle),
	H(CREATE_AH, u.create_ah.pd), H(ATTACH_MCAST, u.mcast.qp),
	H(DETACH_MCAST, u.mcast.qp),
};

static const struct spoil memory[] = {
	S(MMAP, u.mmap.offset, 0, -22), S(MMAP, u.mmap.offset, ~0ull, -22),
	S(MMAP, u.mmap.offset, 1ull << 40, -22),
	S(MMAP, u.mmap.length, 0, -22), S(MMAP, u.mmap.length, 1, -22),
	S(MMAP, u.mmap.length, 1ull << 30, -22),
	S(MMAP, u.mmap.length, ~0ull & ~4095ull, -22),
	S(MMAP, u.mmap.first, 1, -22), S(MMAP, u.mmap.first, ~0u, -22),
	S(MMAP, u.mmap.gfn, 1, -22), S(MMAP, u.mmap.gfn, ~0ull, -22),
	S(MUNMAP, u.munmap.offset[0], 1ull << 40, -2),
	S(MUNMAP, u.munmap.offset[0], ~0ull, -2),
	S(MUNMAP, u.munmap.offset[1], ~0ull, -2),
	S(MUNMAP, u.munmap.offset[2], 1, -22),		/* behind the end */
	S(MUNMAP, u.munmap.offset[29], ~0ull, -22),
	S(REG_MR, u.reg_mr.access, 1u << 6, -95),	/* on demand */
	S(REG_MR, u.reg_mr.access, 1u << 7, -95),	/* huge pages */
	S(REG_MR, u.reg_mr.access, 1u << 9, -22),
	S(REG_MR, u.reg_mr.access, 1u << 31, -22),
	S(REG_MR, u.reg_mr.iova, 0x7f0000001011ull, -22),
	S(REG_MR, u.reg_mr.iova, ~0ull << 12 | 0x10, -22),
	S(REG_MR, u.reg_mr.length, 0, -22),
	S(REG_MR, u.reg_mr.length, XENVHCA_PAGE_SIZE, -22),
	S(REG_MR, u.reg_mr.length, 3 * XENVHCA_PAGE_SIZE, -22),
	S(REG_MR, u.reg_mr.length, ~0ull, -22),
	S(REG_MR, u.reg_mr.length, 1ull << 44, -22),
	S(REG_MR, u.reg_mr.page_offset, 0x11, -22),
	S(REG_MR, u.reg_mr.page_offset, 0x1010, -22),
	S(REG_MR, u.reg_mr.page_offset, 0xfffff010, -22),
	S(REREG_MR, u.rereg_mr.flags, 0, -22),
	S(REREG_MR, u.rereg_mr.flags, 8, -95),
	S(REREG_MR, u.rereg_mr.flags, 2, -22),	/* a list without TRANS */
	S(REREG_MR, u.rereg_mr.mr.access, 1u << 31, -22),
	S(REREG_MR, u.rereg_mr.mr.length, ~0ull, -22),
	S(REREG_MR, u.rereg_mr.mr.iova, 0, -22),
	S(ALLOC_MW, u.alloc_mw.type, 0, -22),
	S(ALLOC_MW, u.alloc_mw.type, 3, -22),
	S(ALLOC_MW, u.alloc_mw.type, 0x101, -22),
};

static const struct spoil queues[] = {
	S(QUERY_GID_TABLE, u.query_gid_table.first, 24, -22),
	S(QUERY_GID_TABLE, u.query_gid_table.first, ~0u, -22),
	S(QUERY_PKEY_TABLE, u.query_pkey_table.first, ~0u, -22),
	S(CREATE_CQ, u.create_cq.cqe, 0, -22),
	S(CREATE_CQ, u.create_cq.cqe, ~0u, 0),
	S(CREATE_CQ, u.create_cq.comp_vector, 2, -22),
	S(CREATE_CQ, u.create_cq.comp_vector, ~0u, -22),
	S(CREATE_CQ, u.create_cq.flags, ~0u, 0),
	PAGES(CREATE_CQ, u.create_cq.buf), PAGES(CREATE_CQ, u.create_cq.db),
	S(RESIZE_CQ, u.resize_cq.cqe, 0, -22),
	PAGES(RESIZE_CQ, u.resize_cq.buf),
	S(CREATE_QP, u.create_qp.qp_type, 0, -22),
	S(CREATE_QP, u.create_qp.qp_type, 1, -22),
	S(CREATE_QP, u.create_qp.qp_type, 8, -95),
	S(CREATE_QP, u.create_qp.qp_type, 9, -95),
	S(CREATE_QP, u.create_qp.qp_type, 10, -22),	/* has no udata */
	S(CREATE_QP, u.create_qp.xrcd, 1, -22),
	S(CREATE_QP, u.create_qp.qp_type, 255, -95),
	S(CREATE_QP, u.create_qp.sq_sig_all, 2, -22),
	S(CREATE_QP, u.create_qp.create_flags, 1, -95),
	S(CREATE_QP, u.create_qp.create_flags, 1u << 31, -95),
	S(CREATE_QP, u.create_qp.cap.max_send_wr, ~0u, 0),
	PAGES(CREATE_QP, u.create_qp.buf), PAGES(CREATE_QP, u.create_qp.sq_buf),
	PAGES(CREATE_QP, u.create_qp.db),
	S(MODIFY_QP, u.modify_qp.attr.mask, 1u << 21 | 1, -95),
	S(MODIFY_QP, u.modify_qp.attr.mask, 1u << 31, -95),
	S(MODIFY_QP, u.modify_qp.attr.port_num, 0, -22),
	S(MODIFY_QP, u.modify_qp.attr.port_num, 2, -22),
	S(MODIFY_QP, u.modify_qp.attr.port_num, 255, -22),
	S(MODIFY_QP, u.modify_qp.attr.ah.port_num, 0, -22),
	S(MODIFY_QP, u.modify_qp.attr.ah.port_num, 2, -22),
	S(MODIFY_QP, u.modify_qp.attr.ah.is_global, 2, -22),
	S(MODIFY_QP, u.modify_qp.attr.ah.sgid_index, 24, -22),
	S(MODIFY_QP, u.modify_qp.attr.ah.sgid_index, 255, -22),
	S(CREATE_SRQ, u.create_srq.max_wr, 0, -22),
	S(CREATE_SRQ, u.create_srq.max_wr, ~0u, 0),
	S(CREATE_SRQ, u.create_srq.srq_type, 1, -95),
	S(CREATE_SRQ, u.create_srq.srq_type, 2, -95),
	S(CREATE_SRQ, u.create_srq.srq_type, 3, -22),
	S(CREATE_SRQ, u.create_srq.srq_type, ~0u, -22),
	S(CREATE_SRQ, u.create_srq.xrcd, 1, -22),
	S(CREATE_SRQ, u.create_srq.cq, 1, -22),
	PAGES(CREATE_SRQ, u.create_srq.buf), PAGES(CREATE_SRQ, u.create_srq.db),
	S(MODIFY_SRQ, u.modify_srq.mask, 4, -22),
	S(MODIFY_SRQ, u.modify_srq.mask, 1u << 31, -22),
	S(MODIFY_SRQ, u.modify_srq.max_wr, ~0u, 0),
	PAGES(MODIFY_SRQ, u.modify_srq.buf),
	S(CREATE_AH, u.create_ah.attr.port_num, 0, -22),
	S(CREATE_AH, u.create_ah.attr.port_num, 2, -22),
	S(CREATE_AH, u.create_ah.attr.is_global, 2, -22),
	S(CREATE_AH, u.create_ah.attr.sgid_index, 24, -22),
	S(CREATE_AH, u.create_ah.attr.sgid_index, 255, -22),
};

static void spoil(struct world *w, const struct spoil *s)
{
	struct xenvhca_request req;
	struct snap before;
	int status;

	world_snap(w, &before);
	assert_true(wire_good(&w->c, s->op, &req));
	memcpy((uint8_t *)&req + s->off, &s->value, s->size);
	status = wire_call(&w->a, &req);
	if (!status || (s->status && status != s->status))
		fail_msg("%s, octet %u = %#llx: status %d instead of %d",
			 wire_op_name[s->op], s->off,
			 (unsigned long long)s->value, status, s->status);
	world_same(w, &before, wire_op_name[s->op]);
}

#define TABLE(name)							\
static void name##_test(void **state)					\
{									\
	size_t i;							\
									\
	for (i = 0; i < COUNT(name); i++)				\
		spoil(*state, &name[i]);				\
}
TABLE(reserved)
TABLE(headers)
TABLE(handles)
TABLE(memory)
TABLE(queues)

/* Attributes that only count if the mask names them. */
static void qkeys_and_paths(void **state)
{
	struct xenvhca_request req;
	struct world *w = *state;

	wire_good(&w->c, XENVHCA_OP_MODIFY_QP, &req);
	req.u.modify_qp.attr.mask |= 1u << 6;
	req.u.modify_qp.attr.qkey = 0x80010000;	/* of management */
	assert_int_equal(wire_call(&w->a, &req), -1);
	wire_good(&w->c, XENVHCA_OP_MODIFY_QP, &req);
	req.u.modify_qp.attr.mask |= 1u << 14;	/* alternate path: port 0 */
	assert_int_equal(wire_call(&w->a, &req), -22);
	req.u.modify_qp.attr.alt_ah = req.u.modify_qp.attr.ah;
	req.u.modify_qp.attr.alt_port_num = 2;
	assert_int_equal(wire_call(&w->a, &req), -22);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(reserved_test, world_setup,
						world_teardown),
		cmocka_unit_test_setup_teardown(headers_test, world_setup,
						world_teardown),
		cmocka_unit_test_setup_teardown(handles_test, world_setup,
						world_teardown),
		cmocka_unit_test_setup_teardown(memory_test, world_setup,
						world_teardown),
		cmocka_unit_test_setup_teardown(queues_test, world_setup,
						world_teardown),
		cmocka_unit_test_setup_teardown(qkeys_and_paths, world_setup,
						world_teardown),
	};

	return cmocka_run_group_tests(tests, wire_group_setup,
				      wire_group_teardown);
}
