// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * One process' doorbells against another's objects: every doorbell names the
 * object by number, and the UAR page it was stored to must be the object's.
 */
#include <stdlib.h>

#include "pair.h"

static uint64_t refused(struct pair *p)
{
	return cx_stats(p->a.drv.dev->cx)->doorbells_refused;
}

static void queue_pair(void **state)
{
	struct pair *p = *state;
	struct drv_sge sge = { p->a.mr.va, 8, p->a.mr.key };
	struct drv_wr wr = { .opcode = MLX5_OPCODE_SEND, .sge = &sge,
			     .nr_sge = 1, .flags = DRV_SIGNALED | DRV_QUIET };
	uint64_t before = refused(p);
	uint32_t other;

	ok(drv_uar(&p->a.drv, &other));
	drv_recv(&p->b.qp, &p->b.mr, 0, 64);
	drv_post(&p->a.qp, &wr);
	drv_ring(&p->a.qp, p->a.qp.sq, other);
	no_wc(&p->a, &p->a.scq);
	no_wc(&p->b, &p->b.rcq);
	assert_int_equal(refused(p), before + 1);
	drv_ring(&p->a.qp, p->a.qp.sq, p->a.qp.uar);
	get_wc(&p->a, &p->a.scq, MLX5_CQE_REQ);
	assert_int_equal(refused(p), before + 1);
	ok(drv_simple(&p->a.drv, MLX5_CMD_OP_DEALLOC_UAR, other, NULL));
}

static void completion_queue(void **state)
{
	struct pair *p = *state;
	struct drv_cq cq = p->a.scq;
	uint64_t before = refused(p);
	const struct drv_eqe *e;

	ok(drv_uar(&p->a.drv, &cq.uar));
	drv_arm(&p->a.drv, &cq, false);
	assert_int_equal(refused(p), before + 1);
	drv_recv(&p->b.qp, &p->b.mr, 0, 64);
	drv_send(&p->a.qp, &p->a.mr, 0, 8);
	get_wc(&p->a, &p->a.scq, MLX5_CQE_REQ);
	e = drv_event(&p->a.drv, p->a.scq.eq, CX_EV_COMP, NULL);
	assert_null(e);
	ok(drv_simple(&p->a.drv, MLX5_CMD_OP_DEALLOC_UAR, cq.uar, NULL));
}

/* Nobody but the kernel may tell how far an event queue was read. */
static void event_queue(void **state)
{
	struct pair *p = *state;
	struct drv_eq eq = p->a.drv.comp_eq[0];
	uint64_t before = refused(p);

	ok(drv_uar(&p->a.drv, &eq.uar));
	eq.ci += 100;
	drv_eq_update(&p->a.drv, &eq, true);
	drv_eq_update(&p->a.drv, &eq, false);
	assert_int_equal(refused(p), before + 2);
	drv_arm(&p->a.drv, &p->a.scq, false);
	drv_recv(&p->b.qp, &p->b.mr, 0, 64);
	drv_send(&p->a.qp, &p->a.mr, 0, 8);
	get_wc(&p->a, &p->a.scq, MLX5_CQE_REQ);
	assert_non_null(drv_event(&p->a.drv, p->a.scq.eq, CX_EV_COMP, NULL));
	ok(drv_simple(&p->a.drv, MLX5_CMD_OP_DEALLOC_UAR, eq.uar, NULL));
}

/* Pages that were never given, or not any more. */
static void pages_of_nobody(void **state)
{
	struct pair *p = *state;
	struct drv_cq cq = p->a.scq;
	uint64_t before = refused(p);
	uint32_t uar;

	ok(drv_uar(&p->a.drv, &uar));
	ok(drv_simple(&p->a.drv, MLX5_CMD_OP_DEALLOC_UAR, uar, NULL));
	cq.uar = uar;
	drv_arm(&p->a.drv, &cq, false);
	cq.uar = CX_UAR_END - 1;
	drv_arm(&p->a.drv, &cq, false);
	drv_ring(&p->a.qp, p->a.qp.sq, CX_UAR_END - 1);
	rig_run(p->rig);
	assert_true(refused(p) > before);
	assert_null(drv_event(&p->a.drv, p->a.scq.eq, CX_EV_COMP, NULL));
}

/* All numbers on all registers of a page that has nothing of its own. */
static void every_number(void **state)
{
	struct pair *p = *state;
	uint64_t before = refused(p), rung = 0;
	uint32_t uar, word[2], n;

	ok(drv_uar(&p->a.drv, &uar));
	for (n = 0; n < 3000; n++) {
		word[0] = 0;
		word[1] = htobe32(n << 8 | 1);
		rig_store64(p->a.drv.dev, uar * 4096ULL + 0x800, word);
		word[1] = htobe32(n);
		rig_store64(p->a.drv.dev, uar * 4096ULL + 0x20, word);
		rig_write32(p->a.drv.dev, uar * 4096ULL + 0x40, n << 24);
		rung += 3;
	}
	assert_int_equal(refused(p), before + rung);
	no_wc(&p->a, &p->a.scq);
	ok(drv_simple(&p->a.drv, MLX5_CMD_OP_DEALLOC_UAR, uar, NULL));
}

/* b's objects may have the same numbers: they are b's nevertheless. */
static void another_device(void **state)
{
	struct pair *p = *state;
	uint64_t b = cx_stats(p->b.drv.dev->cx)->doorbells_sq;
	uint32_t word[2] = { 0, htobe32(p->b.qp.qpn << 8 | 1) };

	rig_store64(p->a.drv.dev, p->a.drv.uar * 4096ULL + 0x800, word);
	rig_run(p->rig);
	assert_int_equal(cx_stats(p->b.drv.dev->cx)->doorbells_sq, b);
	no_wc(&p->b, &p->b.scq);
}

/*
 * A page can go before the queues that it rang for (programs close their
 * context so): then nothing rings for them. One with event queues stays.
 */
static void pages_in_use(void **state)
{
	struct pair *p = *state;
	const struct cx_stats *s = cx_stats(p->a.drv.dev->cx);
	struct drv_qp_init init = { .type = DRV_RC, .scq = &p->a.scq,
				    .rcq = &p->a.rcq };
	uint64_t refused;
	uint32_t word[2];
	struct drv_qp qp;

	ok(drv_uar(&p->a.drv, &init.uar));
	ok(drv_qp(&p->a.drv, &qp, &init));
	ok(drv_simple(&p->a.drv, MLX5_CMD_OP_DEALLOC_UAR, init.uar, NULL));
	assert_int_not_equal(drv_simple(&p->a.drv, MLX5_CMD_OP_DEALLOC_UAR,
					init.uar, NULL), 0);
	refused = s->doorbells_refused;
	word[0] = 0;
	word[1] = htobe32(qp.qpn << 8 | 1);
	rig_store64(p->a.drv.dev, init.uar * 4096ULL + 0x800, word);
	rig_store64(p->a.drv.dev, p->a.drv.uar * 4096ULL + 0x800, word);
	assert_int_equal(s->doorbells_refused, refused + 2);
	ok(drv_qp_destroy(&qp));
	assert_int_not_equal(drv_simple(&p->a.drv, MLX5_CMD_OP_DEALLOC_UAR,
					p->a.drv.uar, NULL), 0);
	drv_send(&p->a.qp, &p->a.mr, 0, 8);
	assert_int_equal(s->doorbells_refused, refused + 2);
}

/* uar-check=off: any page rings for all of the device. */
static void without_the_check(void **state)
{
	struct pair *p = *state;
	struct drv_sge sge = { .len = 8 };
	struct drv_wr wr = { .opcode = MLX5_OPCODE_SEND, .sge = &sge,
			     .nr_sge = 1, .flags = DRV_SIGNALED | DRV_QUIET };
	struct drv_qp_init init = { .type = DRV_RC };
	struct drv_path path = pair_path();
	struct side c = { 0 };
	uint32_t other;

	p->rig->uar_any = true;
	side_open(&c, p->rig, GUID_B + 1, 3, false);
	init.scq = &c.scq;
	init.rcq = &c.rcq;
	ok(drv_qp(&c.drv, &c.qp, &init));
	path.dlid = 3;
	path.qpn = c.qp.qpn;
	ok(drv_qp_up(&c.qp, &path));
	ok(drv_uar(&c.drv, &other));
	sge.addr = c.mr.va;
	sge.key = c.mr.key;
	c.scq.uar = other;
	drv_arm(&c.drv, &c.scq, false);
	drv_recv(&c.qp, &c.mr, 64, 64);
	drv_post(&c.qp, &wr);
	drv_ring(&c.qp, c.qp.sq, other);
	get_wc(&c, &c.scq, MLX5_CQE_REQ);
	get_wc(&c, &c.rcq, MLX5_CQE_RESP_SEND);
	assert_non_null(drv_event(&c.drv, c.scq.eq, CX_EV_COMP, NULL));
	assert_int_equal(cx_stats(c.drv.dev->cx)->doorbells_refused, 0);
	ok(drv_simple(&c.drv, MLX5_CMD_OP_DEALLOC_UAR, other, NULL));
	ok(drv_qp_destroy(&c.qp));
	side_close(&c);
}

/* A 32-bit processor stores doorbells in two halves; others in any mess. */
static void halves(void **state)
{
	struct pair *p = *state;
	struct drv_sge sge = { p->a.mr.va, 8, p->a.mr.key };
	struct drv_wr wr = { .opcode = MLX5_OPCODE_SEND, .sge = &sge,
			     .nr_sge = 1, .flags = DRV_SIGNALED | DRV_QUIET };
	uint64_t at = p->a.qp.uar * 4096ULL + 0x800;
	uint32_t word[2];

	drv_recv(&p->b.qp, &p->b.mr, 0, 64);
	drv_post(&p->a.qp, &wr);
	memcpy(word, p->a.qp.sq, 8);
	p->a.qp.db[1] = htobe32(p->a.qp.sq_pi);
	cx_mmio_write(p->a.drv.dev->cx, at, word[0], 4);
	cx_mmio_write(p->a.drv.dev->cx, at + 4, word[1], 4);
	get_wc(&p->a, &p->a.scq, MLX5_CQE_REQ);
	get_wc(&p->b, &p->b.rcq, MLX5_CQE_RESP_SEND);
}

int main(void)
{
#define RC(f) cmocka_unit_test_setup_teardown(f, pair_setup_rc, pair_teardown)
	const struct CMUnitTest tests[] = {
		RC(queue_pair),
		RC(completion_queue),
		RC(event_queue),
		RC(pages_of_nobody),
		RC(every_number),
		RC(another_device),
		RC(pages_in_use),
		RC(without_the_check),
		RC(halves),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
