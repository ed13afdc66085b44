// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Two devices with a driver each, see pair.h.
 */
#include <stdlib.h>

#include "pair.h"

void side_open(struct side *s, struct rig *r, uint64_t guid, uint16_t lid,
	       bool cable)
{
	struct rig_dev *d = rig_plug(r, guid, lid, cable);

	assert_non_null(d);
	ok(drv_open(&s->drv, d));
	ok(drv_cq(&s->drv, &s->scq, 8));
	ok(drv_cq_on(&s->drv, &s->rcq, 8, &s->drv.comp_eq[1], s->drv.uar,
		     false));
	s->mem = rig_alloc(r, PAIR_MR);
	assert_non_null(s->mem);
	ok(drv_mr(&s->drv, &s->mr, s->mem, PAIR_MR, DRV_ALL));
}

void side_close(struct side *s)
{
	ok(drv_mkey_destroy(&s->drv, s->mr.key));
	ok(drv_cq_destroy(&s->drv, &s->rcq));
	ok(drv_cq_destroy(&s->drv, &s->scq));
	ok(drv_close(&s->drv));
	assert_int_equal(cx_pages_held(s->drv.dev->cx), 0);
}

static int pair_open(void **state, bool umr_lists, bool eth)
{
	struct pair *p = calloc(1, sizeof(*p));

	assert_non_null(p);
	p->rig = p->rig_b = rig_new();
	assert_non_null(p->rig);
	p->rig->verbose = getenv("CX_VERBOSE");
	p->rig->umr_lists = umr_lists;
	p->rig->eth = eth;
	side_open(&p->a, p->rig, GUID_A, 1, false);
	side_open(&p->b, p->rig, GUID_B, 2, false);
	*state = p;
	return 0;
}

int pair_setup(void **state)
{
	return pair_open(state, false, false);
}

int pair_setup_eth(void **state)
{
	return pair_open(state, false, true);
}

void pair_make(struct pair *p, enum drv_type type)
{
	struct drv_qp_init init = { .type = type };

	init.scq = &p->a.scq;
	init.rcq = &p->a.rcq;
	ok(drv_qp(&p->a.drv, &p->a.qp, &init));
	init.scq = &p->b.scq;
	init.rcq = &p->b.rcq;
	ok(drv_qp(&p->b.drv, &p->b.qp, &init));
	p->qps = true;
}

struct drv_path pair_path(void)
{
	struct drv_path path = {
		.qkey = QKEY, .psn = 0x1234, .timeout = 10, .retry = 3,
		.rnr_retry = 7, .min_rnr = 12, .access = DRV_ALL, .log_rd = 3,
	};

	return path;
}

void pair_connect(struct pair *p, const struct drv_path *path)
{
	ok(drv_connect(&p->a.qp, 1, &p->b.qp, 2, path));
}

static int setup(void **state, enum drv_type type, bool umr_lists)
{
	struct drv_path path = pair_path();
	struct pair *p;

	pair_open(state, umr_lists, false);
	p = *state;
	pair_make(p, type);
	pair_connect(p, &path);
	return 0;
}

int pair_setup_rc(void **state)
{
	return setup(state, DRV_RC, false);
}

int pair_setup_umr(void **state)
{
	return setup(state, DRV_RC, true);
}

int pair_setup_uc(void **state)
{
	return setup(state, DRV_UC, false);
}

int pair_setup_ud(void **state)
{
	return setup(state, DRV_UD, false);
}

int pair_teardown(void **state)
{
	struct pair *p = *state;

	if (p->qps) {
		ok(drv_qp_destroy(&p->a.qp));
		ok(drv_qp_destroy(&p->b.qp));
	}
	side_close(&p->a);
	side_close(&p->b);
	assert_int_equal(p->rig->broken | p->rig_b->broken, 0);
	if (p->rig_b != p->rig)
		rig_free(p->rig_b);
	rig_free(p->rig);
	free(p);
	return 0;
}

void fill(uint8_t *p, size_t len, unsigned int seed)
{
	size_t i;

	for (i = 0; i < len; i++)
		p[i] = i * 7 + (i >> 8) * 13 + (i >> 16) + seed;
}

bool filled(const uint8_t *p, size_t len, unsigned int seed)
{
	size_t i;

	for (i = 0; i < len; i++)
		if (p[i] != (uint8_t)(i * 7 + (i >> 8) * 13 + (i >> 16) +
				      seed)) {
			print_message("differs at byte %zu of %zu\n", i, len);
			return false;
		}
	return true;
}

struct drv_wc get_wc(struct side *s, struct drv_cq *cq, uint8_t opcode)
{
	struct drv_wc wc;

	assert_true(drv_wait(cq, &wc, &s->drv));
	if (wc.opcode != opcode)
		print_message("syndrome %#x, vendor %#x\n", wc.syndrome,
			      wc.vendor);
	assert_int_equal(wc.opcode, opcode);
	return wc;
}

struct drv_wc get_err(struct side *s, struct drv_cq *cq, uint8_t syndrome)
{
	struct drv_wc wc;

	assert_true(drv_wait(cq, &wc, &s->drv));
	assert_true(wc.opcode == MLX5_CQE_REQ_ERR ||
		    wc.opcode == MLX5_CQE_RESP_ERR);
	assert_int_equal(wc.syndrome, syndrome);
	return wc;
}

void no_wc(struct side *s, struct drv_cq *cq)
{
	struct drv_wc wc;

	assert_false(drv_wait(cq, &wc, &s->drv));
}
