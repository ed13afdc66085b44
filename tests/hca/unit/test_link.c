// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Two machines, each with a hub of its own, joined by a cable: the same
 * traffic as on one hub, and what a cable can do besides.
 */
#include <stdlib.h>

#include "tags.h"
#include "drv_eth.h"

static struct pair *cabled(void **state, size_t room, bool eth)
{
	struct pair *p = calloc(1, sizeof(*p));

	assert_non_null(p);
	p->rig = rig_new();
	p->rig_b = rig_new();
	assert_true(p->rig && p->rig_b);
	p->rig->verbose = p->rig_b->verbose = getenv("CX_VERBOSE");
	p->rig->eth = p->rig_b->eth = eth;
	side_open(&p->a, p->rig, GUID_A, 1, true);
	side_open(&p->b, p->rig_b, GUID_B, 2, true);
	assert_int_equal(cx_port_state(p->a.drv.dev->cx), 1);
	rig_join(p->a.drv.dev, p->b.drv.dev, room);
	*state = p;
	return p;
}

static void joined(void **state, enum drv_type type, size_t room)
{
	struct drv_path path = pair_path();
	struct pair *p = cabled(state, room, false);

	assert_int_equal(cx_port_state(p->a.drv.dev->cx), 4);
	pair_make(p, type);
	pair_connect(p, &path);
}

static int setup_rc(void **state)
{
	joined(state, DRV_RC, 1 << 20);
	return 0;
}

/* Little more than one frame: the sender has to wait again and again. */
static int setup_narrow(void **state)
{
	joined(state, DRV_RC, 66000);
	return 0;
}

static int setup_ud(void **state)
{
	joined(state, DRV_UD, 1 << 20);
	return 0;
}

static void all_operations(void **state)
{
	struct pair *p = *state;
	uint32_t len = 300000;
	struct drv_sge sge = { p->a.mr.va, 8, p->a.mr.key };
	struct drv_wr wr = { .opcode = MLX5_OPCODE_ATOMIC_FA, .sge = &sge,
			     .flags = DRV_SIGNALED, .nr_sge = 1,
			     .raddr = p->b.mr.va, .rkey = p->b.mr.key,
			     .swap_add = 5 };
	int i;

	for (i = 0; i < 4; i++) {
		fill(p->a.mem, len, i);
		drv_recv(&p->b.qp, &p->b.mr, 0, len);
		drv_send(&p->a.qp, &p->a.mr, 0, len);
		get_wc(&p->b, &p->b.rcq, MLX5_CQE_RESP_SEND);
		get_wc(&p->a, &p->a.scq, MLX5_CQE_REQ);
		assert_true(filled(p->b.mem, len, i));
		drv_rdma(&p->a.qp, MLX5_OPCODE_RDMA_WRITE, &p->a.mr, 0, len,
			 p->b.mr.va + 4099, p->b.mr.key);
		get_wc(&p->a, &p->a.scq, MLX5_CQE_REQ);
		assert_true(filled(p->b.mem + 4099, len, i));
		memset(p->a.mem, 0, len);
		drv_rdma(&p->a.qp, MLX5_OPCODE_RDMA_READ, &p->a.mr, 0, len,
			 p->b.mr.va + 4099, p->b.mr.key);
		get_wc(&p->a, &p->a.scq, MLX5_CQE_REQ);
		assert_true(filled(p->a.mem, len, i));
	}
	memset(p->b.mem, 0, 8);
	drv_post(&p->a.qp, &wr);
	get_wc(&p->a, &p->a.scq, MLX5_CQE_REQ);
	assert_int_equal(p->b.mem[0], 5);
}

static void both_directions(void **state)
{
	struct pair *p = *state;
	int i;

	for (i = 0; i < 20; i++) {
		drv_rdma(&p->a.qp, MLX5_OPCODE_RDMA_WRITE, &p->a.mr, 0, 200000,
			 p->b.mr.va + PAIR_MR / 2, p->b.mr.key);
		drv_rdma(&p->b.qp, MLX5_OPCODE_RDMA_READ, &p->b.mr, 0, 200000,
			 p->a.mr.va, p->a.mr.key);
	}
	for (i = 0; i < 20; i++) {
		get_wc(&p->a, &p->a.scq, MLX5_CQE_REQ);
		get_wc(&p->b, &p->b.scq, MLX5_CQE_REQ);
	}
}

static void datagrams(void **state)
{
	static const uint8_t group[16] = { 0xff, 0x12, [15] = 0x42 };
	struct pair *p = *state;
	struct drv_sge sge = { p->a.mr.va, 100, p->a.mr.key };
	struct drv_wr wr = { .opcode = MLX5_OPCODE_SEND, .sge = &sge,
			     .nr_sge = 1, .flags = DRV_SIGNALED,
			     .ud = { 2, p->b.qp.qpn, QKEY, NULL } };
	struct drv_wc wc;

	fill(p->a.mem, 100, 1);
	ok(drv_mcg(&p->b.qp, group, true));
	drv_recv(&p->b.qp, &p->b.mr, 0, 200);
	drv_recv(&p->b.qp, &p->b.mr, 200, 200);
	drv_post(&p->a.qp, &wr);
	wc = get_wc(&p->b, &p->b.rcq, MLX5_CQE_RESP_SEND);
	assert_int_equal(wc.slid, 1);
	assert_int_equal(wc.src_qpn, p->a.qp.qpn);
	assert_true(filled(p->b.mem + 40, 100, 1));
	wr.ud.dlid = 0xc002;
	wr.ud.qpn = 0xffffff;
	wr.ud.dgid = group;
	drv_post(&p->a.qp, &wr);
	wc = get_wc(&p->b, &p->b.rcq, MLX5_CQE_RESP_SEND);
	assert_true(wc.grh);
	assert_true(filled(p->b.mem + 240, 100, 1));
	ok(drv_mcg(&p->b.qp, group, false));
}

static void the_peer_goes(void **state)
{
	struct pair *p = *state;
	struct drv *v = &p->a.drv;
	const struct drv_eqe *e;

	drv_event(v, &v->async_eq, CX_EV_PORT_CHANGE, NULL);
	rig_cut(v->dev);
	e = drv_event(v, &v->async_eq, CX_EV_PORT_CHANGE, NULL);
	assert_non_null(e);
	assert_int_equal(e->sub_type, CX_PORT_DOWN);
	assert_int_equal(cx_port_state(v->dev->cx), 1);
	drv_send(&p->a.qp, &p->a.mr, 0, 8);
	rig_sleep(p->rig, 10000 * MS);
	get_err(&p->a, &p->a.scq, MLX5_CQE_SYNDROME_TRANSPORT_RETRY_EXC_ERR);
	cx_link_state(v->dev->cx, true);
	cx_link_state(p->b.drv.dev->cx, true);
	rig_run(p->rig);
	assert_int_equal(cx_port_state(v->dev->cx), 4);
}

/* What is no message of the cable ends the link, whatever it is. */
static void rubbish_on_the_cable(void **state)
{
	struct pair *p = *state;
	uint8_t junk[512];
	int i, ret = 0;

	fill(junk, sizeof(junk), 1);
	for (i = 0; i < 200 && !ret; i++)
		ret = cx_link_rx(p->a.drv.dev->cx, junk, sizeof(junk));
	assert_int_not_equal(ret, 0);
	rig_run(p->rig);
}

/* ---- Ethernet ---- */
static int setup_eth(void **state)
{
	cabled(state, 1 << 20, true);
	return 0;
}

static const uint8_t macs[2][6] = { { 0, 2, 0xc9, 0, 0x0a, 1 },
				    { 0, 2, 0xc9, 0, 0x0b, 2 } };
static const uint8_t gids[2][16] = { { 0xfe, 0x80, [15] = 0xa },
				     { 0xfe, 0x80, [15] = 0xb } };

static void roce(void **state)
{
	struct drv_path path = pair_path();
	struct pair *p = *state;

	assert_int_equal(cx_port_state(p->a.drv.dev->cx), 4);
	ok(drv_roce(&p->a.drv, true));
	ok(drv_roce(&p->b.drv, true));
	ok(drv_roce_addr(&p->a.drv, 0, 2, gids[0], macs[0], DRV_VLAN | 9));
	ok(drv_roce_addr(&p->b.drv, 0, 2, gids[1], macs[1], DRV_VLAN | 9));
	pair_make(p, DRV_RC);
	path.dgid = gids[1];
	path.dmac = macs[1];
	path.qpn = p->b.qp.qpn;
	ok(drv_qp_up(&p->a.qp, &path));
	path.dgid = gids[0];
	path.dmac = macs[0];
	path.qpn = p->a.qp.qpn;
	ok(drv_qp_up(&p->b.qp, &path));
	all_operations(state);
}

static void frames(void **state)
{
	uint8_t frame[200] = { [12] = 0x88, 0xb5 };
	struct pair *p = *state;
	struct drv_nic a, b;
	struct drv_wc wc;

	ok(drv_nic_open(&p->a.drv, &a));
	ok(drv_nic_open(&p->b.drv, &b));
	drv_nic_fill(&b, 0, 4);
	drv_nic_fill(&b, 1, 4);
	memcpy(frame, macs[1], 6);
	memcpy(frame + 6, macs[0], 6);
	drv_nic_send(&a, frame, sizeof(frame), 18, 0, 0);
	assert_true(drv_poll(&b.rcq[0], &wc) || drv_poll(&b.rcq[1], &wc));
	assert_int_equal(wc.len, sizeof(frame));
	ok(drv_nic_close(&a));
	ok(drv_nic_close(&b));
}

static void a_port_of_infiniband_is_refused(void **state)
{
	uint8_t hello[28] = { 'C', 'X', 'L', 'K', 2, 1, [11] = 16 };
	struct pair *p = *state;

	cx_be64_set(hello + 12, GUID_B);
	hello[22] = 3;
	assert_int_equal(cx_link_rx(p->a.drv.dev->cx, hello, sizeof(hello)),
			 0);
	hello[22] = 1;
	assert_int_not_equal(cx_link_rx(p->a.drv.dev->cx, hello,
					sizeof(hello)), 0);
	assert_int_equal(cx_port_state(p->a.drv.dev->cx), 1);
}

static int setup_bare(void **state)
{
	cabled(state, 1 << 20, false);
	return 0;
}

/* Clears a frame's request for an acknowledgement, which a sender need not make. */
static void unasked(struct rig_dev *from, uint8_t *data, size_t len)
{
	if (len > 14 && data[5] == 2)
		data[14] &= ~0x40;
	(void)from;
}

/* What a rendezvous request names is read all the same, and at once. */
static void rendezvous_without_an_acknowledgement(void **state)
{
	struct tags *t = tags_begin(state);
	uint16_t index = tags_add(t, 1, ALL);
	struct {
		struct ibv_tmh tmh;
		struct ibv_rvh rvh;
	} r = { { .opcode = IBV_TMH_RNDV, .tag = htobe64(1) },
		{ htobe64(t->p->a.mr.va), htobe32(t->p->a.mr.key), htobe32(300) } };
	struct drv_wr wr = { .opcode = MLX5_OPCODE_SEND, .inl = &r,
			     .inl_len = sizeof(r), .flags = DRV_INLINE | DRV_SIGNALED };

	fill(t->p->a.mem, 300, 1);
	drv_recv(&t->tx[0], &t->p->a.mr, 0x1000, sizeof(r));
	t->p->rig->tamper = unasked;
	drv_post(&t->tx[0], &wr);
	get_wc(&t->p->a, &t->p->a.rcq, MLX5_CQE_RESP_SEND);
	t->p->rig->tamper = NULL;
	tags_told(t, MLX5_CQE_NO_PACKET, CONSUMED);
	tags_told(t, MLX5_CQE_RESP_SEND, EXPECTED);
	assert_true(filled(tags_buf(t, index), 300, 1));
	no_wc(&t->p->a, &t->p->a.scq);
	rig_sleep(t->p->rig, 100 * MS);
	get_wc(&t->p->a, &t->p->a.scq, MLX5_CQE_REQ);
	tags_end(t);
}

int main(void)
{
#define ON(setup, f) cmocka_unit_test_setup_teardown(f, setup, pair_teardown)
	const struct CMUnitTest tests[] = {
		ON(setup_rc, all_operations),
		ON(setup_rc, both_directions),
		ON(setup_narrow, all_operations),
		ON(setup_narrow, both_directions),
		ON(setup_ud, datagrams),
		ON(setup_rc, the_peer_goes),
		ON(setup_rc, rubbish_on_the_cable),
		ON(setup_bare, rendezvous_without_an_acknowledgement),
		ON(setup_eth, roce),
		ON(setup_eth, frames),
		ON(setup_eth, a_port_of_infiniband_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
