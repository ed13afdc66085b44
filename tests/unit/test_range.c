// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Queue memory that comes with the answer to a create command, and commands that
 * give back many ranges.
 */
#include <errno.h>

#include "tests/fake/guest.h"

#define PAGE	XENVHCA_PAGE_SIZE

static uint32_t make_cq(struct guest *g, uint32_t cqe)
{
	g->req.flags = XENVHCA_REQ_RANGES;
	return guest_create_cq(g, cqe);
}

static int munmap_all(struct guest *g, const uint64_t *offset, unsigned int n)
{
	memcpy(g->req.u.munmap.offset, offset, n * sizeof(*offset));
	return guest_cmd(g, XENVHCA_OP_MUNMAP);
}

static void an_answer_has_the_references(void **state)
{
	struct guest *g = *state;
	struct guest_key key;
	uint32_t ref;

	g->uc = guest_alloc_uc(g);
	make_cq(g, 100);
	key = guest_key(g, 0);
	assert_int_equal(g->rsp.u.made.count[0], 3);
	assert_int_equal(g->rsp.u.made.count[1], 0);
	ref = g->rsp.u.made.gref[2];
	strcpy((char *)fake_ring(key.offset) + 2 * PAGE, "ring");
	assert_string_equal((char *)loop_gmap(g->loop, ref), "ring");
	loop_gunmap(g->loop, ref);
	assert_int_equal(guest_mmap(g, key), -EINVAL);	/* it is mapped */
	assert_int_equal(munmap_all(g, &key.offset, 1), 0);
	assert_int_equal(loop_granted(g->loop), 0);
}

/* Both queues of a QP, one behind the other. */
static void of_each_range(void **state)
{
	struct guest *g = *state;
	const struct xenvhca_made_rsp *made = &g->rsp.u.made;
	struct guest_key rq, sq;
	uint32_t i;

	guest_open(g);
	g->req.flags = XENVHCA_REQ_RANGES;
	guest_create_qp(g, 2);
	rq = guest_key(g, 0);
	sq = guest_key(g, 16);
	assert_int_equal(made->count[0], rq.size / PAGE);
	assert_int_equal(made->count[1], sq.size / PAGE);
	assert_int_not_equal(g->rsp.u.create_qp.qpn, 0);
	for (i = 0; i < made->count[0] + made->count[1]; i++) {
		assert_non_null(loop_gmap(g->loop, made->gref[i]));
		loop_gunmap(g->loop, made->gref[i]);
	}
}

static void a_long_one_in_part(void **state)
{
	struct guest *g = *state;
	struct guest_key key;

	g->uc = guest_alloc_uc(g);
	make_cq(g, 8191);
	key = guest_key(g, 0);
	assert_true(key.size / PAGE > XENVHCA_MMAP_GREFS);
	assert_int_equal(g->rsp.u.made.count[0], XENVHCA_MMAP_GREFS);
	g->req.u.mmap.offset = key.offset;
	g->req.u.mmap.length = key.size;
	g->req.u.mmap.first = XENVHCA_MMAP_GREFS;
	assert_int_equal(guest_cmd(g, XENVHCA_OP_MMAP), 0);
	assert_int_equal(g->rsp.u.mmap.nr_pages, key.size / PAGE);
}

/* The object is made all the same; MMAP says why its memory is not there. */
static void what_fails_is_left_to_mmap(void **state)
{
	struct guest *g = *state;
	struct guest_key key;

	g->uc = guest_alloc_uc(g);
	loop_fail_grant(g->loop, -ENOSPC);
	make_cq(g, 100);
	assert_int_equal(g->rsp.u.made.count[0], 0);
	g->dev.quota.max[BE_MMAP] = 0;
	make_cq(g, 100);
	key = guest_key(g, 0);
	assert_int_equal(g->rsp.u.made.count[0], 0);
	assert_int_equal(guest_mmap(g, key), -ENOMEM);
	assert_int_equal(fake_vmas(), 0);
}

static void an_old_frontend_asks_for_nothing(void **state)
{
	struct guest *g = *state;
	struct xenvhca_response zero = {};

	g->uc = guest_alloc_uc(g);
	guest_create_cq(g, 100);
	assert_memory_equal(g->rsp.u.raw + sizeof(struct xenvhca_cq_rsp),
			    zero.u.raw, XENVHCA_BODY_SIZE -
			    sizeof(struct xenvhca_cq_rsp));
	assert_int_equal(loop_granted(g->loop), 0);
}

static void flags_belong_to_few_commands(void **state)
{
	struct guest *g = *state;
	uint32_t bit, op;

	guest_open(g);
	for (op = XENVHCA_OP_GET_INFO; op < XENVHCA_OP_MAX; op++) {
		for (bit = 0; bit < 32; bit++) {
			if (!bit && (op == XENVHCA_OP_CREATE_CQ ||
				     op == XENVHCA_OP_RESIZE_CQ ||
				     op == XENVHCA_OP_CREATE_QP ||
				     op == XENVHCA_OP_CREATE_SRQ))
				continue;
			g->req.flags = 1u << bit;
			assert_in_range(-guest_cmd(g, (uint16_t)op), EINVAL,
					EOPNOTSUPP);
		}
	}
}

static void many_end_by_one_command(void **state)
{
	uint64_t offset[XENVHCA_MUNMAP_RANGES];
	struct guest *g = *state;
	unsigned int i;

	g->uc = guest_alloc_uc(g);
	for (i = 0; i < XENVHCA_MUNMAP_RANGES; i++) {
		make_cq(g, 15);
		offset[i] = guest_key(g, 0).offset;
	}
	assert_int_equal(loop_granted(g->loop), XENVHCA_MUNMAP_RANGES);
	offset[3] ^= 1ull << 40;		/* the others end all the same */
	assert_int_equal(munmap_all(g, offset, XENVHCA_MUNMAP_RANGES), -ENOENT);
	assert_int_equal(loop_granted(g->loop), 1);
	offset[3] ^= 1ull << 40;
	assert_int_equal(munmap_all(g, offset + 3, 1), 0);
	assert_int_equal(loop_granted(g->loop), 0);
}

static void a_list_has_no_holes(void **state)
{
	struct guest *g = *state;
	uint64_t offset[4] = {};

	g->uc = guest_alloc_uc(g);
	make_cq(g, 15);
	offset[0] = guest_key(g, 0).offset;
	offset[3] = 1;
	assert_int_equal(munmap_all(g, offset, 4), -EINVAL);
	assert_int_equal(loop_granted(g->loop), 1);
	/* and a range ends once */
	offset[3] = 0;
	offset[1] = offset[0];
	assert_int_equal(munmap_all(g, offset, 4), -ENOENT);
	assert_int_equal(loop_granted(g->loop), 0);
}

/* The helper keeps the pages of a guest that does not ask: it may be dying. */
static void a_guest_that_dies_does_not_ask(void **state)
{
	struct guest *g = *state;
	struct guest_key key;

	g->uc = guest_alloc_uc(g);
	make_cq(g, 100);
	key = guest_key(g, 0);
	assert_int_equal(munmap_all(g, &key.offset, 1), 0);
	assert_int_equal(loop_unasked(g->loop), 0);
	make_cq(g, 100);
	be_dev_close(&g->dev);
	assert_int_equal(loop_unasked(g->loop), 3);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, guest_setup, guest_teardown)
	const struct CMUnitTest tests[] = {
		T(an_answer_has_the_references),
		T(of_each_range),
		T(a_long_one_in_part),
		T(what_fails_is_left_to_mmap),
		T(an_old_frontend_asks_for_nothing),
		T(flags_belong_to_few_commands),
		T(many_end_by_one_command),
		T(a_list_has_no_holes),
		T(a_guest_that_dies_does_not_ask),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
