// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * See front_kern_hca.h.
 */
#include <stdlib.h>

#include "tests/hca/unit/pair.h"
#include "front_kern_hca.h"

static struct pair *pair;
static struct hca_side sides[2];
static struct drv_mr pools[2];
static struct drv_srq srqs[2];
static uint32_t windows[2][64];
static unsigned int nr_windows[2];

static struct side *side(unsigned int i)
{
	return i ? &pair->b : &pair->a;
}

struct hca_side *hca_side(unsigned int i)
{
	return &sides[i];
}

static struct hca_cq cq_of(const struct drv_cq *cq)
{
	return (struct hca_cq){ cq->cqn, cq->buf, cq->db };
}

static void open_side(unsigned int i, enum hca_kind kind)
{
	struct side *s = side(i);
	struct drv_qp_init init = {
		.type = kind == HCA_UD ? DRV_UD : DRV_RC, .scq = &s->scq, .rcq = &s->rcq,
		.log_sq = HCA_LOG_SQ, .log_rq = HCA_LOG_RQ,
	};

	ok(drv_mr_at(&s->drv, &pools[i], s->mem, HCA_POOL_MB << 20, HCA_POOL, s->drv.pd,
		     DRV_ALL, 12));
	if (kind == HCA_SRQ) {
		ok(drv_srq(&s->drv, &srqs[i], HCA_LOG_SRQ, NULL));
		init.srq = &srqs[i];
	}
	ok(drv_qp(&s->drv, &s->qp, &init));
	sides[i] = (struct hca_side){
		.pool = s->mem, .pool_key = pools[i].key, .lid = 1 + i,
		.qpn = s->qp.qpn, .scq = cq_of(&s->scq), .rcq = cq_of(&s->rcq),
		.queues = s->qp.rq, .db = s->qp.db, .srq = srqs[i].buf,
		.srq_db = srqs[i].db, .srqn = srqs[i].srqn,
	};
}

void hca_open(enum hca_kind kind)
{
	struct drv_path path = pair_path();
	void *state;

	pair_setup(&state);
	pair = state;
	memset(srqs, 0, sizeof(srqs));
	memset(nr_windows, 0, sizeof(nr_windows));
	open_side(0, kind);
	open_side(1, kind);
	pair->qps = true;
	pair_connect(pair, &path);
}

void hca_close(void)
{
	void *state = pair;
	unsigned int i;

	ok(drv_qp_destroy(&pair->a.qp));
	ok(drv_qp_destroy(&pair->b.qp));
	pair->qps = false;
	for (i = 0; i < 2; i++) {
		while (nr_windows[i])
			ok(drv_mkey_destroy(&side(i)->drv, windows[i][--nr_windows[i]]));
		if (srqs[i].buf)
			ok(drv_srq_destroy(&side(i)->drv, &srqs[i]));
		ok(drv_mkey_destroy(&side(i)->drv, pools[i].key));
	}
	pair_teardown(&state);
}

void hca_run(void)
{
	unsigned int i;

	assert_true(rig_run(pair->rig));
	for (i = 0; i < 20 && rig_deadline(pair->rig); i++)
		rig_sleep(pair->rig, 100 * MS);
}

void hca_store(unsigned int i, uint64_t reg, const void *value)
{
	struct drv *v = &side(i)->drv;

	rig_store64(v->dev, v->uar * 4096ull + reg, value);
}

uint32_t hca_window(unsigned int i)
{
	uint32_t key;

	ok(drv_mw(&side(i)->drv, &key, true));
	windows[i][nr_windows[i]++] = key;
	return key;
}

void hca_arm_events(unsigned int i)
{
	struct drv *v = &side(i)->drv;

	drv_eq_update(v, &v->comp_eq[1], true);
}

unsigned int hca_events(unsigned int i)
{
	unsigned int n = 0;

	while (drv_eq_next(&side(i)->drv.comp_eq[1]))
		n++;
	return n;
}

void hca_stop(unsigned int i)
{
	ok(drv_qp_to(&side(i)->qp, MLX5_CMD_OP_2ERR_QP));
}

uint32_t hca_qkey(void)
{
	return QKEY;
}
