// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Completion queues: creation, resize, arming, the look into the ring.
 */
#include <errno.h>

#include "tests/fake/guest.h"

#define CREATE_CQ	18	/* IB_USER_VERBS_CMD_* */
#define PRODUCER	(128 / 4)

static int events(struct guest *g)
{
	struct xenvhca_event ev;
	int n = 0;

	while (loop_get_event(g->loop, &ev)) {
		assert_int_equal(ev.type, XENVHCA_EVT_COMP);
		assert_int_equal(ev.handle, g->cq);
		n++;
	}
	return n;
}

static void arm(struct guest *g, uint8_t flags)
{
	struct xenvhca_kick k = {
		.type = XENVHCA_KICK_ARM, .flags = flags, .handle = g->cq,
	};

	be_kick(&g->dev, &k);
}

static void creates(void **state)
{
	struct guest *g = *state;
	struct guest_key key;

	g->uc = guest_alloc_uc(g);
	g->cq = guest_create_cq(g, 100);
	assert_int_equal(g->rsp.u.cq.cqe, 127);
	assert_int_equal(g->rsp.out_len, 16);
	key = guest_key(g, 0);
	assert_int_equal(key.size, 12288);
	assert_int_equal(fake_nth(FAKE_CQ, 0)->user_handle, g->cq);
	assert_int_equal(guest_handle(g, XENVHCA_OP_DESTROY_CQ, g->cq), 0);
	assert_int_equal(guest_mmap(g, key), -EINVAL);	/* gone with it */
}

static void refuses_what_the_kernel_refuses(void **state)
{
	struct guest *g = *state;

	g->uc = guest_alloc_uc(g);
	g->req.out_len = 16;
	assert_int_equal(guest_cmd(g, XENVHCA_OP_CREATE_CQ), -EINVAL);
	g->req.out_len = 16;
	g->req.u.create_cq.cqe = 10;
	g->req.u.create_cq.comp_vector = 2;
	assert_int_equal(guest_cmd(g, XENVHCA_OP_CREATE_CQ), -EINVAL);
	g->req.out_len = 16;
	g->req.u.create_cq.cqe = 10;
	g->req.u.create_cq.flags = 1;
	assert_int_equal(guest_cmd(g, XENVHCA_OP_CREATE_CQ), -EOPNOTSUPP);
	g->req.out_len = 16;
	g->req.u.create_cq.cqe = 10;
	g->req.u.create_cq.reserved = 1;
	assert_int_equal(guest_cmd(g, XENVHCA_OP_CREATE_CQ), -EINVAL);
	g->req.out_len = 16;
	g->req.u.create_cq.cqe = 10;	/* rxe keeps the queue itself */
	guest_pages(g, &g->req.u.create_cq.buf, 0, 1, 0, 0);
	assert_int_equal(guest_cmd(g, XENVHCA_OP_CREATE_CQ), -EINVAL);
	fake_fail(CREATE_CQ, 1, ENOMEM);
	g->req.out_len = 16;
	g->req.u.create_cq.cqe = 10;
	assert_int_equal(guest_cmd(g, XENVHCA_OP_CREATE_CQ), -ENOMEM);
	assert_int_equal(g->dev.quota.used[BE_CQ], 0);
}

static uint32_t *map_ring(struct guest *g)
{
	struct guest_key key = guest_key(g, 0);

	assert_int_equal(guest_mmap(g, key), 0);
	return fake_ring(key.offset);
}

static void an_arm_only_arms(void **state)
{
	struct guest *g = *state;
	uint32_t *ring;

	g->uc = guest_alloc_uc(g);
	g->cq = guest_create_cq(g, 15);
	ring = map_ring(g);
	ring[PRODUCER] = 1;		/* as natively: came before, no event */
	arm(g, 0);
	assert_int_equal(events(g), 0);
	assert_false(fake_nth(FAKE_CQ, 0)->solicited);
	arm(g, XENVHCA_KICK_SOLICITED);
	assert_int_equal(events(g), 0);
	assert_true(fake_nth(FAKE_CQ, 0)->solicited);
	assert_int_equal(fake_nth(FAKE_CQ, 0)->arms, 2);
}

static void arms_a_resized_cq(void **state)
{
	struct guest *g = *state;
	struct guest_key old;

	g->uc = guest_alloc_uc(g);
	g->cq = guest_create_cq(g, 15);
	old = guest_key(g, 0);
	map_ring(g);
	g->req.u.resize_cq.handle = g->cq;
	g->req.u.resize_cq.cqe = 200;
	g->req.out_len = 16;
	assert_int_equal(guest_cmd(g, XENVHCA_OP_RESIZE_CQ), 0);
	assert_int_equal(g->rsp.u.cq.cqe, 255);
	map_ring(g);
	g->req.u.munmap.offset[0] = old.offset;	/* of the first ring */
	assert_int_equal(guest_cmd(g, XENVHCA_OP_MUNMAP), 0);
	arm(g, 0);
	assert_int_equal(fake_nth(FAKE_CQ, 0)->arms, 1);
}

/* Queue memory of the guest: 64 octets a completion. */
static int resize(struct guest *g, uint32_t cqe, uint32_t entries)
{
	struct xenvhca_resize_cq_req *r = &g->req.u.resize_cq;
	uint64_t buf = guest_queue(g, &r->buf, entries * 64);
	uint16_t size = 64;

	r->handle = g->cq;
	r->cqe = cqe;
	g->req.in_len = 16;
	memcpy(g->req.udata, &buf, sizeof(buf));
	memcpy(g->req.udata + 8, &size, sizeof(size));
	return guest_cmd(g, XENVHCA_OP_RESIZE_CQ);
}

static void resizes_in_user_memory(void **state)
{
	struct guest *g = *state;
	const struct fake_obj *cq;
	uint64_t at;

	g->uc = guest_alloc_uc(g);
	g->cq = guest_create_cq(g, 100);	/* two pages and a record */
	cq = fake_nth(FAKE_CQ, 0);
	at = cq->start;
	assert_int_equal(loop_mapped(g->loop), 3);
	/* the same size: the driver goes on with the old memory */
	assert_int_equal(resize(g, 90, 128), 0);
	assert_int_equal(g->rsp.u.cq.cqe, 127);
	assert_true(cq->start == at);
	assert_int_equal(loop_mapped(g->loop), 3);
	assert_int_equal(g->dev.quota.used_pages, 3);
	/* another size: only the new memory, and the record */
	assert_int_equal(resize(g, 200, 256), 0);
	assert_int_equal(g->rsp.u.cq.cqe, 255);
	assert_false(cq->start == at);
	assert_int_equal(loop_mapped(g->loop), 5);
	at = cq->start;
	fake_fail(19 /* RESIZE_CQ */, 1, EINVAL);
	assert_int_equal(resize(g, 500, 512), -EINVAL);
	assert_int_equal(resize(g, 500, 256), -EINVAL);	/* too short */
	assert_true(cq->start == at);
	assert_int_equal(loop_mapped(g->loop), 5);
	assert_int_equal(resize(g, 255, 256), 0);
	assert_int_equal(resize(g, 10, 128), -EINVAL);	/* too long */
	assert_int_equal(resize(g, 10, 16), 0);
	assert_int_equal(loop_mapped(g->loop), 2);
	assert_int_equal(guest_handle(g, XENVHCA_OP_DESTROY_CQ, g->cq), 0);
	assert_int_equal(loop_mapped(g->loop), 0);
	assert_int_equal(fake_violations(), 0);
}

static int modify(struct guest *g, uint32_t cq, uint16_t count, uint16_t period)
{
	g->req.u.modify_cq = (struct xenvhca_modify_cq_req){
		.handle = cq, .count = count, .period = period,
	};
	return guest_cmd(g, XENVHCA_OP_MODIFY_CQ);
}

/* What the HCA takes is told with its limits; both are the driver's to check. */
static void moderates(void **state)
{
	struct guest *g = *state;
	const struct fake_obj *cq;

	assert_int_equal(guest_cmd(g, XENVHCA_OP_QUERY_DEVICE), 0);
	assert_int_equal(g->rsp.u.query_device.max_cq_count, UINT16_MAX);
	assert_int_equal(g->rsp.u.query_device.max_cq_period,
			 FAKE_MLX5_PERIOD);
	g->uc = guest_alloc_uc(g);
	g->cq = guest_create_cq(g, 100);
	cq = fake_nth(FAKE_CQ, 0);
	assert_int_equal(modify(g, g->cq, 16, 100), 0);
	assert_int_equal(cq->cq_count, 16);
	assert_int_equal(cq->cq_period, 100);
	assert_int_equal(modify(g, g->cq, 1, FAKE_MLX5_PERIOD + 1), -EINVAL);
	assert_int_equal(modify(g, g->cq + 1, 1, 1), -ENOENT);
	assert_int_equal(modify(g, g->uc, 1, 1), -ENOENT);	/* no CQ */
	assert_int_equal(cq->cq_count, 16);
}

static void moderates_nothing_on_soft_roce(void **state)
{
	struct guest *g = *state;

	assert_int_equal(guest_cmd(g, XENVHCA_OP_QUERY_DEVICE), 0);
	assert_int_equal(g->rsp.u.query_device.max_cq_count, 0);
	g->uc = guest_alloc_uc(g);
	g->cq = guest_create_cq(g, 100);
	assert_int_equal(modify(g, g->cq, 16, 100), -EOPNOTSUPP);
}

static void ignores_bad_kicks(void **state)
{
	struct guest *g = *state;
	struct xenvhca_kick k = { .type = XENVHCA_KICK_ARM };
	uint64_t before = g->dev.stats.faults;

	guest_open(g);
	k.handle = g->qp;		/* no CQ */
	be_kick(&g->dev, &k);
	k.handle = 0;
	be_kick(&g->dev, &k);
	k.handle = g->cq;
	k.flags = 2;
	be_kick(&g->dev, &k);
	k.type = 77;
	be_kick(&g->dev, &k);
	k.type = XENVHCA_KICK_SEND;
	k.flags = 0;
	be_kick(&g->dev, &k);		/* a CQ is no QP */
	k.handle = g->qp;
	k.reserved = 1;
	be_kick(&g->dev, &k);
	k.type = XENVHCA_KICK_ARM;
	k.handle = g->cq;
	be_kick(&g->dev, &k);
	assert_int_equal(g->dev.stats.faults, before + 7);
	assert_int_equal(fake_nth(FAKE_CQ, 0)->arms, 0);
	assert_int_equal(fake_nth(FAKE_QP, 0)->posts, 0);
	k = (struct xenvhca_kick){ .type = XENVHCA_KICK_SEND, .handle = g->qp };
	be_kick(&g->dev, &k);
	assert_int_equal(fake_nth(FAKE_QP, 0)->posts, 1);
}

static void a_busy_cq_stays(void **state)
{
	struct guest *g = *state;

	guest_open(g);
	assert_int_equal(guest_handle(g, XENVHCA_OP_DESTROY_CQ, g->cq),
			 -EBUSY);
	arm(g, 0);
	assert_int_equal(fake_nth(FAKE_CQ, 0)->arms, 1);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, guest_setup, guest_teardown)
	const struct CMUnitTest tests[] = {
		T(creates),
		T(refuses_what_the_kernel_refuses),
		T(an_arm_only_arms),
		T(arms_a_resized_cq),
		cmocka_unit_test_setup_teardown(resizes_in_user_memory,
						guest_setup_mlx5,
						guest_teardown),
		cmocka_unit_test_setup_teardown(moderates, guest_setup_mlx5,
						guest_teardown),
		T(moderates_nothing_on_soft_roce),
		T(ignores_bad_kicks),
		T(a_busy_cq_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
