// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Quotas are exact for every kind of object: the last one that fits is made,
 * the next is refused, and what is given back can be taken again. What a
 * guest may repeat without owning more does not grow the daemon either.
 */
#include "wire.h"

struct kind {
	enum be_type type;
	uint16_t make, end;
};

static const struct kind kinds[] = {
	{ BE_PD, XENVHCA_OP_ALLOC_PD, XENVHCA_OP_DEALLOC_PD },
	{ BE_CQ, XENVHCA_OP_CREATE_CQ, XENVHCA_OP_DESTROY_CQ },
	{ BE_QP, XENVHCA_OP_CREATE_QP, XENVHCA_OP_DESTROY_QP },
	{ BE_SRQ, XENVHCA_OP_CREATE_SRQ, XENVHCA_OP_DESTROY_SRQ },
	{ BE_AH, XENVHCA_OP_CREATE_AH, XENVHCA_OP_DESTROY_AH },
	{ BE_MR, XENVHCA_OP_REG_MR, XENVHCA_OP_DEREG_MR },
	{ BE_MW, XENVHCA_OP_ALLOC_MW, XENVHCA_OP_DEALLOC_MW },
};

static int make(struct world *w, const struct kind *k)
{
	struct xenvhca_request req;

	wire_good(&w->c, k->make, &req);
	return wire_call(&w->a, &req);
}

static void end(struct world *w, const struct kind *k, uint32_t handle)
{
	struct xenvhca_request req = wire_req(k->end, w->c.uc);

	req.u.handle.handle = handle;
	assert_int_equal(wire_call(&w->a, &req), 0);
}

static void objects(void **state)
{
	struct world *w = *state;
	struct be_quota *q = &w->a.dev.quota;
	uint32_t handle[3];
	size_t i, j;

	for (i = 0; i < COUNT(kinds); i++) {
		q->max[kinds[i].type] = q->used[kinds[i].type] + 3;
		for (j = 0; j < 3; j++) {
			assert_int_equal(make(w, &kinds[i]), 0);
			memcpy(&handle[j], w->a.rsp.u.raw, sizeof(handle[j]));
		}
		assert_int_equal(make(w, &kinds[i]), -12);
		end(w, &kinds[i], handle[1]);
		assert_int_equal(make(w, &kinds[i]), 0);
		assert_int_equal(make(w, &kinds[i]), -12);
		assert_int_equal(q->used[kinds[i].type],
				 q->max[kinds[i].type]);
	}
}

static void contexts(void **state)
{
	struct world *w = *state;
	struct be_quota *q = &w->a.dev.quota;
	struct xenvhca_request req;
	struct snap s;

	q->max[BE_UCONTEXT] = q->used[BE_UCONTEXT] + 1;
	wire_good(&w->c, XENVHCA_OP_ALLOC_UCONTEXT, &req);
	assert_int_equal(wire_call(&w->a, &req), 0);
	world_snap(w, &s);
	assert_int_equal(wire_call(&w->a, &req), -12);
	world_same(w, &s, "context over the quota");
	req = wire_req(XENVHCA_OP_DEALLOC_UCONTEXT,
		       w->a.rsp.u.alloc_ucontext.ucontext);
	assert_int_equal(wire_call(&w->a, &req), -2);	/* was an error */
	req.ucontext = w->c.uc;
	assert_int_equal(wire_call(&w->a, &req), 0);
	wire_good(&w->c, XENVHCA_OP_ALLOC_UCONTEXT, &req);
	assert_int_equal(wire_call(&w->a, &req), 0);
}

static void attachments(void **state)
{
	struct world *w = *state;
	struct xenvhca_request req;
	int i;

	w->a.dev.quota.max[BE_MCAST] = 3;
	wire_good(&w->c, XENVHCA_OP_ATTACH_MCAST, &req);
	for (i = 0; i < 3; i++) {
		req.u.mcast.gid[15] = (uint8_t)i;
		assert_int_equal(wire_call(&w->a, &req), 0);
		assert_int_equal(wire_call(&w->a, &req), 0);	/* no new one */
	}
	req.u.mcast.gid[15] = 3;
	assert_int_equal(wire_call(&w->a, &req), -12);
	req.op = XENVHCA_OP_DETACH_MCAST;
	assert_int_equal(wire_call(&w->a, &req), -22);
	req.u.mcast.gid[15] = 1;
	assert_int_equal(wire_call(&w->a, &req), 0);
	req.op = XENVHCA_OP_ATTACH_MCAST;
	req.u.mcast.gid[15] = 3;
	assert_int_equal(wire_call(&w->a, &req), 0);
	assert_int_equal(w->a.dev.quota.used[BE_MCAST], 3);
}

static void ranges(void **state)
{
	struct world *w = *state;
	struct xenvhca_request req, map;
	uint32_t size;
	int i;

	w->a.dev.quota.max[BE_MMAP] = 2;
	for (i = 0; i < 3; i++) {
		wire_good(&w->c, XENVHCA_OP_CREATE_CQ, &req);
		assert_int_equal(wire_call(&w->a, &req), 0);
		wire_good(&w->c, XENVHCA_OP_MMAP, &map);
		memcpy(&map.u.mmap.offset, w->a.rsp.udata, 8);
		memcpy(&size, w->a.rsp.udata + 8, sizeof(size));
		map.u.mmap.length = size;
		assert_int_equal(wire_call(&w->a, &map), i < 2 ? 0 : -12);
	}
	assert_int_equal(w->a.dev.quota.used[BE_MMAP], 2);
}

/* Failing for want of a file, of memory or of a grant costs no quota. */
static void failures(void **state)
{
	struct world *w = *state;
	struct xenvhca_request req;
	struct snap s;

	world_snap(w, &s);
	fake_fail_open(24);
	wire_good(&w->c, XENVHCA_OP_ALLOC_UCONTEXT, &req);
	assert_int_equal(wire_call(&w->a, &req), -24);
	fake_fail(IB_USER_VERBS_CMD_GET_CONTEXT, 1, 12);
	assert_int_equal(wire_call(&w->a, &req), -12);
	fake_fail(IB_USER_VERBS_CMD_CREATE_COMP_CHANNEL, 1, 24);
	assert_int_equal(wire_call(&w->a, &req), -24);
	fake_fail(IB_USER_VERBS_CMD_CREATE_QP, 1, 12);
	wire_good(&w->c, XENVHCA_OP_CREATE_QP, &req);
	assert_int_equal(wire_call(&w->a, &req), -12);
	world_same(w, &s, "failures");
	wire_good(&w->c, XENVHCA_OP_MMAP, &req);
	loop_fail_grant(w->a.loop, -28);
	assert_int_equal(wire_call(&w->a, &req), -28);
	world_same(w, &s, "a grant that fails");
}

static unsigned int keys(const struct world *w)
{
	const struct be_uc *uc = (const struct be_uc *)
		be_handle_get(w->a.dev.handles, w->c.uc, BE_UCONTEXT, NULL);

	return uc->n_offsets;
}

/* Pages that a CQ has at most. */
static uint64_t cq_pages(const struct world *w, const struct xenvhca_request *req)
{
	const struct vhca_udata_op *row;
	uint64_t len;

	row = vhca_provider_op(w->a.dev.prov, XENVHCA_OP_CREATE_CQ);
	assert_int_equal(row->rsp[0].length(req, &len), 0);
	return len / XENVHCA_PAGE_SIZE + 1;
}

/*
 * Queue memory is charged once, to the queue or to the range, to the end; there is room
 * for it before it is allocated.
 */
static void queue_memory(void **state)
{
	struct world *w = *state;
	struct be_quota *q = &w->a.dev.quota;
	struct xenvhca_request req;
	uint64_t cq = w->c.cq_size / XENVHCA_PAGE_SIZE, all = q->queue_pages;
	struct snap s;

	assert_true(cq && all > cq);
	wire_good(&w->c, XENVHCA_OP_CREATE_CQ, &req);
	q->max_pages = all + cq_pages(w, &req) - 1;
	assert_int_equal(wire_call(&w->a, &req), -12);
	q->max_pages++;
	assert_int_equal(wire_call(&w->a, &req), 0);
	assert_true(q->queue_pages <= q->max_pages);
	world_snap(w, &s);
	assert_int_equal(wire_call(&w->a, &req), -12);
	wire_good(&w->c, XENVHCA_OP_CREATE_QP, &req);
	assert_int_equal(wire_call(&w->a, &req), -12);
	wire_good(&w->c, XENVHCA_OP_RESIZE_CQ, &req);
	assert_int_equal(wire_call(&w->a, &req), -12);
	world_same(w, &s, "queue memory over the quota");

	all = q->queue_pages;
	wire_good(&w->c, XENVHCA_OP_MMAP, &req);
	assert_int_equal(wire_call(&w->a, &req), 0);
	assert_int_equal(q->queue_pages, all);
	wire_good(&w->c, XENVHCA_OP_MUNMAP, &req);
	assert_int_equal(wire_call(&w->a, &req), 0);
	assert_int_equal(q->queue_pages, all);	/* the CQ is still there */
	wire_good(&w->c, XENVHCA_OP_DESTROY_QP, &req);
	assert_int_equal(wire_call(&w->a, &req), 0);
	req.u.handle.handle = w->c.ud;
	assert_int_equal(wire_call(&w->a, &req), 0);
	all = q->queue_pages;
	wire_good(&w->c, XENVHCA_OP_DESTROY_CQ, &req);
	assert_int_equal(wire_call(&w->a, &req), 0);
	assert_int_equal(q->queue_pages, all - cq);
}

/* A range that stays mapped after its queue is gone still counts. */
static void queue_outlived(void **state)
{
	struct world *w = *state;
	struct be_quota *q = &w->a.dev.quota;
	struct xenvhca_request req;
	uint64_t before = q->queue_pages, with;

	wire_good(&w->c, XENVHCA_OP_CREATE_CQ, &req);
	assert_int_equal(wire_call(&w->a, &req), 0);
	w->c.cq = w->a.rsp.u.cq.handle;
	memcpy(&w->c.cq_offset, w->a.rsp.udata, 8);
	with = q->queue_pages;
	assert_true(with > before);
	wire_good(&w->c, XENVHCA_OP_MMAP, &req);
	assert_int_equal(wire_call(&w->a, &req), 0);
	wire_good(&w->c, XENVHCA_OP_DESTROY_CQ, &req);
	assert_int_equal(wire_call(&w->a, &req), 0);
	assert_int_equal(q->queue_pages, with);
	wire_good(&w->c, XENVHCA_OP_MUNMAP, &req);
	assert_int_equal(wire_call(&w->a, &req), 0);
	assert_int_equal(q->queue_pages, before);
}

/* Queues that are resized for ever: one offset each, not one per resize. */
static void resized(void **state)
{
	struct world *w = *state;
	struct xenvhca_request req;
	unsigned int before = keys(w), i;

	for (i = 0; i < 50; i++) {
		wire_good(&w->c, XENVHCA_OP_RESIZE_CQ, &req);
		assert_int_equal(wire_call(&w->a, &req), 0);
		wire_good(&w->c, XENVHCA_OP_MODIFY_SRQ, &req);
		assert_int_equal(wire_call(&w->a, &req), 0);
		assert_int_equal(w->a.rsp.out_len, 16);
	}
	assert_int_equal(keys(w), before);
}

/* Only the limit: the provider leaves no room and gets nothing, not even if
 * the quota of queue memory is used up. */
static void srq_limit(void **state)
{
	struct world *w = *state;
	struct xenvhca_request req;

	wire_good(&w->c, XENVHCA_OP_MODIFY_SRQ, &req);
	req.u.modify_srq.mask = 2;
	req.u.modify_srq.max_wr = 0;
	req.u.modify_srq.srq_limit = 3;
	req.out_len = 0;
	w->a.dev.quota.max_pages = 1;
	assert_int_equal(wire_call(&w->a, &req), 0);
	assert_int_equal(w->a.rsp.out_len, 0);
	req.u.modify_srq.mask = 1;
	req.u.modify_srq.max_wr = 64;	/* a queue that nobody would count */
	assert_int_equal(wire_call(&w->a, &req), -22);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(objects, world_setup,
						world_teardown),
		cmocka_unit_test_setup_teardown(contexts, world_setup,
						world_teardown),
		cmocka_unit_test_setup_teardown(attachments, world_setup,
						world_teardown),
		cmocka_unit_test_setup_teardown(ranges, world_setup,
						world_teardown),
		cmocka_unit_test_setup_teardown(failures, world_setup,
						world_teardown),
		cmocka_unit_test_setup_teardown(queue_memory, world_setup,
						world_teardown),
		cmocka_unit_test_setup_teardown(queue_outlived, world_setup,
						world_teardown),
		cmocka_unit_test_setup_teardown(resized, world_setup,
						world_teardown),
		cmocka_unit_test_setup_teardown(srq_limit, world_setup,
						world_teardown),
	};

	return cmocka_run_group_tests(tests, wire_group_setup,
				      wire_group_teardown);
}
