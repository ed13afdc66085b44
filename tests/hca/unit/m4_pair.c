// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Two ConnectX-3 with a driver each, see m4_pair.h.
 */
#include "m4_pair.h"

void m4_side_open(struct m4_side *s, struct rig *r, uint64_t guid, uint16_t lid)
{
	struct rig_dev *d;

	r->cx3 = true;
	d = rig_plug(r, guid, lid, false);
	r->cx3 = false;
	assert_non_null(d);
	ok(m4_open(&s->v, d));
	ok(m4_cq(&s->v, &s->scq, 8, &s->v.comp[0]));
	ok(m4_cq(&s->v, &s->rcq, 8, &s->v.comp[1]));
	s->mem = rig_alloc(r, M4_MR_BYTES);
	assert_non_null(s->mem);
	ok(m4_mr(&s->v, &s->mr, s->mem, M4_MR_BYTES, M4_ALL));
}

void m4_side_close(struct m4_side *s)
{
	ok(m4_mr_free(&s->v, &s->mr));
	ok(m4_cq_free(&s->v, &s->rcq));
	ok(m4_cq_free(&s->v, &s->scq));
	ok(m4_close(&s->v));
	assert_int_equal(cx_pages_held(s->v.dev->cx), 0);
}

static int begin(void **state, uint16_t lid)
{
	struct m4_pair *p = calloc(1, sizeof(*p));

	assert_non_null(p);
	p->rig = rig_new();
	assert_non_null(p->rig);
	p->rig->verbose = getenv("CX_VERBOSE");
	m4_side_open(&p->a, p->rig, M4_GUID_A, lid);
	m4_side_open(&p->b, p->rig, M4_GUID_B, lid ? lid + 1 : 0);
	*state = p;
	return 0;
}

int m4_setup(void **state)
{
	return begin(state, 1);
}

int m4_setup_bare(void **state)
{
	return begin(state, 0);
}

void m4_make(struct m4_pair *p, const struct m4_qp_init *init)
{
	struct m4_qp_init i = *init;

	i.scq = &p->a.scq;
	i.rcq = &p->a.rcq;
	ok(m4_qp(&p->a.v, &p->a.qp, &i));
	i.scq = &p->b.scq;
	i.rcq = &p->b.rcq;
	ok(m4_qp(&p->b.v, &p->b.qp, &i));
	p->qps = true;
}

struct m4_path m4_path(void)
{
	struct m4_path path = { .qkey = M4_QKEY, .psn = 0x1234, .timeout = 10,
				.retry = 3, .rnr_retry = 7, .min_rnr = 12,
				.rd = true };

	return path;
}

void m4_connect(struct m4_pair *p, const struct m4_path *path)
{
	struct m4_path a = *path, b = *path;

	a.dlid = 2;
	a.qpn = p->b.qp.qpn;
	b.dlid = 1;
	b.qpn = p->a.qp.qpn;
	ok(m4_qp_up(&p->a.qp, &a));
	ok(m4_qp_up(&p->b.qp, &b));
}

static int setup(void **state, uint8_t st)
{
	struct m4_path path = m4_path();
	struct m4_qp_init init = { .st = st };

	m4_setup(state);
	path.rd = st == M4_RC;
	m4_make(*state, &init);
	m4_connect(*state, &path);
	return 0;
}

int m4_setup_rc(void **state)
{
	return setup(state, M4_RC);
}

int m4_setup_uc(void **state)
{
	return setup(state, M4_UC);
}

int m4_setup_ud(void **state)
{
	return setup(state, M4_UD);
}

int m4_teardown(void **state)
{
	struct m4_pair *p = *state;

	if (p->qps) {
		ok(m4_qp_to_rst(&p->a.qp));
		ok(m4_qp_to_rst(&p->b.qp));
	}
	m4_side_close(&p->a);
	m4_side_close(&p->b);
	assert_int_equal(p->rig->broken, 0);
	rig_free(p->rig);
	free(p);
	return 0;
}

void m4_fill(uint8_t *p, size_t len, unsigned int seed)
{
	while (len--)
		p[len] = len * 7 + (len >> 8) * 13 + (len >> 16) + seed;
}

bool m4_filled(const uint8_t *p, size_t len, unsigned int seed)
{
	while (len--)
		if (p[len] != (uint8_t)(len * 7 + (len >> 8) * 13 +
					(len >> 16) + seed))
			return false;
	return true;
}

struct m4_wc m4_good(struct m4_side *s, struct m4_cq *cq, uint8_t opcode)
{
	struct m4_wc wc;

	assert_true(m4_wait(&s->v, cq, &wc));
	if (wc.error)
		print_message("syndrome %#x\n", wc.syndrome);
	assert_int_equal(wc.opcode, opcode);
	return wc;
}

struct m4_wc m4_bad(struct m4_side *s, struct m4_cq *cq, uint8_t syndrome)
{
	struct m4_wc wc;

	assert_true(m4_wait(&s->v, cq, &wc));
	assert_true(wc.error);
	assert_int_equal(wc.syndrome, syndrome);
	return wc;
}

void m4_none(struct m4_side *s, struct m4_cq *cq)
{
	struct m4_wc wc;

	assert_false(m4_wait(&s->v, cq, &wc));
}
