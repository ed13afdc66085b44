// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Two InfiniHosts with a driver each, see mt_pair.h.
 */
#include "mt_pair.h"

void mt_side_open(struct mt_side *s, struct rig *r, uint64_t guid, uint16_t lid)
{
	struct rig_dev *d;

	r->infinihost = true;
	d = rig_plug(r, guid, lid, false);
	r->infinihost = false;
	assert_non_null(d);
	ok(mt_open(&s->m, d));
	ok(mt_cq(&s->m, &s->scq, 8));
	ok(mt_cq(&s->m, &s->rcq, 8));
	s->mem = rig_alloc(r, M4_MR_BYTES);
	assert_non_null(s->mem);
	ok(mt_mr(&s->m, &s->mr, s->mem, M4_MR_BYTES, M4_ALL));
}

void mt_side_close(struct mt_side *s)
{
	ok(mt_mr_free(&s->m, &s->mr));
	ok(mt_cq_free(&s->m, &s->rcq));
	ok(mt_cq_free(&s->m, &s->scq));
	ok(mt_close(&s->m));
	assert_int_equal(cx_pages_held(s->m.v.dev->cx), 0);
}

int mt_setup(void **state)
{
	struct mt_pair *p = calloc(1, sizeof(*p));

	assert_non_null(p);
	p->rig = rig_new();
	assert_non_null(p->rig);
	p->rig->verbose = getenv("CX_VERBOSE");
	mt_side_open(&p->a, p->rig, M4_GUID_A, 1);
	mt_side_open(&p->b, p->rig, M4_GUID_B, 2);
	*state = p;
	return 0;
}

void mt_make(struct mt_pair *p, const struct mt_qp_init *init)
{
	struct mt_qp_init i = *init;

	i.scq = &p->a.scq;
	i.rcq = &p->a.rcq;
	ok(mt_qp(&p->a.m, &p->a.qp, &i));
	i.scq = &p->b.scq;
	i.rcq = &p->b.rcq;
	ok(mt_qp(&p->b.m, &p->b.qp, &i));
	p->qps = true;
}

void mt_connect(struct mt_pair *p, const struct m4_path *path)
{
	struct m4_path a = *path, b = *path;

	a.dlid = 2;
	a.qpn = p->b.qp.qpn;
	b.dlid = 1;
	b.qpn = p->a.qp.qpn;
	ok(mt_qp_up(&p->a.qp, &a));
	ok(mt_qp_up(&p->b.qp, &b));
}

void mt_unmake(struct mt_pair *p)
{
	ok(mt_qp_to_rst(&p->a.qp));
	ok(mt_qp_to_rst(&p->b.qp));
	ok(mt_mr_free(&p->a.m, &p->a.qp.buf.mr));
	ok(mt_mr_free(&p->b.m, &p->b.qp.buf.mr));
	p->qps = false;
}

static int setup(void **state, uint8_t st)
{
	struct mt_qp_init init = { .st = st };
	struct m4_path path = m4_path();

	mt_setup(state);
	path.rd = st == M4_RC;
	mt_make(*state, &init);
	mt_connect(*state, &path);
	return 0;
}

int mt_setup_rc(void **state)
{
	return setup(state, M4_RC);
}

int mt_setup_uc(void **state)
{
	return setup(state, M4_UC);
}

int mt_setup_ud(void **state)
{
	return setup(state, M4_UD);
}

int mt_teardown(void **state)
{
	struct mt_pair *p = *state;

	if (p->qps)
		mt_unmake(p);
	mt_side_close(&p->a);
	mt_side_close(&p->b);
	assert_int_equal(p->rig->broken, 0);
	rig_free(p->rig);
	free(p);
	return 0;
}

struct m4_wc mt_good(struct mt_side *s, struct mt_cq *cq, uint8_t opcode)
{
	struct m4_wc wc;

	assert_true(mt_wait(&s->m, cq, &wc));
	if (wc.error)
		print_message("syndrome %#x\n", wc.syndrome);
	assert_int_equal(wc.opcode, opcode);
	return wc;
}

struct m4_wc mt_bad(struct mt_side *s, struct mt_cq *cq, uint8_t syndrome)
{
	struct m4_wc wc;

	assert_true(mt_wait(&s->m, cq, &wc));
	assert_true(wc.error);
	assert_int_equal(wc.syndrome, syndrome);
	return wc;
}

void mt_none(struct mt_side *s, struct mt_cq *cq)
{
	struct m4_wc wc;

	assert_false(mt_wait(&s->m, cq, &wc));
}
