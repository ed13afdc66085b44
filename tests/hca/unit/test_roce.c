// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * RoCE: the address table, connections and datagrams of both versions, what a
 * completion tells of the headers, who is not meant, and a wire that loses frames.
 */
#include <stdlib.h>

#include "pair.h"
#include "drv_eth.h"

static const uint8_t mac_a[6] = { 0x00, 0x02, 0xc9, 0x00, 0x0a, 0x01 };
static const uint8_t mac_b[6] = { 0x00, 0x02, 0xc9, 0x00, 0x0b, 0x02 };
static const uint8_t link_a[16] = { 0xfe, 0x80, [15] = 0xa };
static const uint8_t link_b[16] = { 0xfe, 0x80, [15] = 0xb };
static const uint8_t ipv4_a[16] = { [10] = 0xff, 0xff, 10, 0, 0, 1 };
static const uint8_t ipv4_b[16] = { [10] = 0xff, 0xff, 10, 0, 0, 2 };
static const uint8_t group[16] = { 0xff, 0x12, [15] = 0x42 };
static const uint8_t group_mac[6] = { 0x33, 0x33, 0, 0, 0, 0x42 };

/* Indexes of both tables: a version, and a VLAN. */
enum { V1, V2, V2_IPV4, VLAN };

static void addresses(struct drv *v, const uint8_t *mac, const uint8_t *link,
		      const uint8_t *ipv4)
{
	ok(drv_roce(v, true));
	ok(drv_roce_addr(v, V1, 1, link, mac, 0));
	ok(drv_roce_addr(v, V2, 2, link, mac, 0));
	ok(drv_roce_addr(v, V2_IPV4, 2, ipv4, mac, 0));
	ok(drv_roce_addr(v, VLAN, 2, ipv4, mac, DRV_VLAN | 7));
}

static int setup(void **state)
{
	struct pair *p;

	pair_setup_eth(state);
	p = *state;
	addresses(&p->a.drv, mac_a, link_a, ipv4_a);
	addresses(&p->b.drv, mac_b, link_b, ipv4_b);
	return 0;
}

static const uint8_t *gid_of(unsigned int index, bool b)
{
	if (index == V1 || index == V2)
		return b ? link_b : link_a;
	return b ? ipv4_b : ipv4_a;
}

static void connect_with(struct pair *p, enum drv_type type,
			 unsigned int index, uint8_t retry)
{
	struct drv_path path = pair_path();

	pair_make(p, type);
	path.retry = retry;
	path.sgid_index = index;
	path.sport = 0xc123;
	path.dgid = gid_of(index, true);
	path.dmac = mac_b;
	path.qpn = p->b.qp.qpn;
	ok(drv_qp_up(&p->a.qp, &path));
	path.dgid = gid_of(index, false);
	path.dmac = mac_a;
	path.qpn = p->a.qp.qpn;
	ok(drv_qp_up(&p->b.qp, &path));
}

static void connect(struct pair *p, enum drv_type type, unsigned int index)
{
	connect_with(p, type, index, 3);
}

static void send_and_write(struct pair *p, uint32_t len)
{
	struct drv_wc wc;

	fill(p->a.mem, len, len);
	memset(p->b.mem, 0xee, 2 * len);
	drv_recv(&p->b.qp, &p->b.mr, 0, len);
	drv_send(&p->a.qp, &p->a.mr, 0, len);
	wc = get_wc(&p->b, &p->b.rcq, MLX5_CQE_RESP_SEND);
	assert_int_equal(wc.slid, 0);
	assert_true(filled(p->b.mem, len, len));
	get_wc(&p->a, &p->a.scq, MLX5_CQE_REQ);
	drv_rdma(&p->a.qp, MLX5_OPCODE_RDMA_WRITE, &p->a.mr, 0, len,
		 p->b.mr.va + len, p->b.mr.key);
	get_wc(&p->a, &p->a.scq, MLX5_CQE_REQ);
	assert_true(filled(p->b.mem + len, len, len));
}

static void reliable(struct pair *p, unsigned int index)
{
	connect(p, DRV_RC, index);
	send_and_write(p, 1);
	send_and_write(p, 200000);
	drv_rdma(&p->a.qp, MLX5_OPCODE_RDMA_READ, &p->a.mr, 0, 5000,
		 p->b.mr.va, p->b.mr.key);
	get_wc(&p->a, &p->a.scq, MLX5_CQE_REQ);
	assert_int_equal(cx_stats(p->a.drv.dev->cx)->retries, 0);
	assert_int_equal(cx_stats(p->b.drv.dev->cx)->frames_dropped, 0);
}

static void version_1(void **state)
{
	reliable(*state, V1);
}

static void version_2(void **state)
{
	reliable(*state, V2);
}

static void version_2_over_ipv4(void **state)
{
	reliable(*state, V2_IPV4);
}

static void on_a_vlan(void **state)
{
	reliable(*state, VLAN);
}

static void unreliable(void **state)
{
	struct pair *p = *state;

	connect(p, DRV_UC, V2_IPV4);
	send_and_write(p, 3000);
}

static void with_itself(void **state)
{
	struct drv_path path = pair_path();
	struct pair *p = *state;

	pair_make(p, DRV_RC);
	path.sgid_index = V2;
	path.dgid = link_a;
	path.dmac = mac_a;
	path.qpn = p->a.qp.qpn;
	ok(drv_qp_up(&p->a.qp, &path));
	drv_recv(&p->a.qp, &p->a.mr, 4096, 64);
	drv_send(&p->a.qp, &p->a.mr, 0, 64);
	get_wc(&p->a, &p->a.rcq, MLX5_CQE_RESP_SEND);
	get_wc(&p->a, &p->a.scq, MLX5_CQE_REQ);
}

/* ---- who is not meant ---- */
static void never_answered(struct pair *p)
{
	drv_recv(&p->b.qp, &p->b.mr, 0, 64);
	drv_send(&p->a.qp, &p->a.mr, 0, 64);
	rig_sleep(p->rig, 2000 * MS);
	get_err(&p->a, &p->a.scq, MLX5_CQE_SYNDROME_TRANSPORT_RETRY_EXC_ERR);
	no_wc(&p->b, &p->b.rcq);
}

static void a_deleted_address_is_deaf(void **state)
{
	struct pair *p = *state;

	connect(p, DRV_RC, V1);
	ok(drv_roce_addr(&p->b.drv, V1, 1, NULL, NULL, 0));
	never_answered(p);
}

static void a_deleted_address_is_dumb(void **state)
{
	struct pair *p = *state;

	connect(p, DRV_RC, V1);
	ok(drv_roce_addr(&p->a.drv, V1, 1, NULL, NULL, 0));
	never_answered(p);
}

static void another_version_is_not_heard(void **state)
{
	struct pair *p = *state;

	/* The entry of version 1 with the same GID stays. */
	connect(p, DRV_RC, V2);
	ok(drv_roce_addr(&p->b.drv, V2, 1, NULL, NULL, 0));
	never_answered(p);
}

static void another_vlan_is_not_heard(void **state)
{
	struct pair *p = *state;

	connect(p, DRV_RC, VLAN);
	ok(drv_roce_addr(&p->b.drv, VLAN, 2, ipv4_b, mac_b,
			 DRV_VLAN | 8));
	never_answered(p);
}

/* The connection's peer is who has the GID that it was told. */
static void another_source_is_not_the_peer(void **state)
{
	static const uint8_t other[16] = { 0xfe, 0x80, [15] = 0x77 };
	struct pair *p = *state;

	connect(p, DRV_RC, V1);
	ok(drv_roce_addr(&p->a.drv, V1, 1, other, mac_a, 0));
	never_answered(p);
}

static void nothing_without_roce_enabled(void **state)
{
	struct pair *p = *state;

	connect(p, DRV_RC, V1);
	ok(drv_roce(&p->b.drv, false));
	never_answered(p);
}

static void the_table_is_checked(void **state)
{
	struct pair *p = *state;
	uint8_t in[CX_BYTES(set_roce_address_in)] = { 0 };
	uint8_t out[CX_BYTES(set_roce_address_out)];

	assert_int_equal(drv_roce_addr(&p->a.drv, 256, 1, link_a, mac_a, 0),
			 CX_BAD_PARAM);
	CX_SET(set_roce_address_in, in, opcode, MLX5_CMD_OP_SET_ROCE_ADDRESS);
	CX_SET(set_roce_address_in, in, roce_address.roce_version, 1);
	assert_int_equal(drv_exec(&p->a.drv, in, sizeof(in), out, sizeof(out)),
			 CX_BAD_PARAM);
}

/* ---- datagrams ---- */
#define TCLASS	0xba	/* DSCP 46, and an ECN that says it can be marked */

static void post(struct pair *p, unsigned int index, const uint8_t *dgid,
		 const uint8_t *dmac, uint32_t qpn, uint32_t len)
{
	struct drv_sge sge = { p->a.mr.va, len, p->a.mr.key };
	struct drv_wr wr = { .opcode = MLX5_OPCODE_SEND, .sge = &sge,
			     .nr_sge = 1, .flags = DRV_SIGNALED,
			     .ud = { .qpn = qpn, .qkey = QKEY, .dgid = dgid },
			     .roce = { .dmac = dmac, .sgid_index = index,
				       .tclass = TCLASS } };

	fill(p->a.mem, len, len);
	drv_post(&p->a.qp, &wr);
}

static void make_ud(struct pair *p)
{
	struct drv_path path = pair_path();

	pair_make(p, DRV_UD);
	ok(drv_qp_up(&p->a.qp, &path));
	ok(drv_qp_up(&p->b.qp, &path));
}

static uint32_t header_type(const struct drv_wc *wc)
{
	return be32toh(wc->cqe.flags_rqpn) >> 24 & 3;
}

static void datagrams(void **state)
{
	struct pair *p = *state;
	unsigned int index;
	struct drv_wc wc;

	make_ud(p);
	for (index = V1; index <= VLAN; index++) {
		memset(p->b.mem, 0xee, 200);
		drv_recv(&p->b.qp, &p->b.mr, 0, 200);
		post(p, index, gid_of(index, true), mac_b, p->b.qp.qpn, 100);
		get_wc(&p->a, &p->a.scq, MLX5_CQE_REQ);
		wc = get_wc(&p->b, &p->b.rcq, MLX5_CQE_RESP_SEND);
		assert_int_equal(wc.len, 140);
		assert_int_equal(wc.src_qpn, p->a.qp.qpn);
		assert_true(wc.grh);
		assert_true(filled(p->b.mem + 40, 100, 100));
		assert_int_equal(header_type(&wc), index == V1 ? 0 :
				 index == V2 ? 1 : 2);
		assert_int_equal(wc.cqe.l4_hdr_type_etc & 1, index == VLAN);
		if (index == VLAN)
			assert_int_equal(be16toh(wc.cqe.vlan_info) & 0xfff, 7);
		if (index >= V2_IPV4) {
			assert_int_equal(p->b.mem[20], 0x45);
			assert_int_equal(p->b.mem[21], TCLASS);
			assert_int_equal(p->b.mem[29], 17);
			assert_memory_equal(p->b.mem + 32, ipv4_a + 12, 4);
			assert_memory_equal(p->b.mem + 36, ipv4_b + 12, 4);
			continue;
		}
		assert_int_equal(p->b.mem[0] >> 4, 6);
		assert_int_equal(cx_be32_get(p->b.mem) >> 20 & 0xff, TCLASS);
		assert_int_equal(p->b.mem[6], index == V1 ? 0x1b : 17);
		assert_memory_equal(p->b.mem + 8, link_a, 16);
		assert_memory_equal(p->b.mem + 24, link_b, 16);
	}
}

/*
 * A process names the index: a card looks at the function's table alone, and
 * so does the model. Only one that is not there is an error.
 */
static void any_index_may_be_named(void **state)
{
	struct pair *p = *state;

	make_ud(p);
	drv_recv(&p->b.qp, &p->b.mr, 0, 200);
	post(p, V2_IPV4, ipv4_b, mac_b, p->b.qp.qpn, 10);
	get_wc(&p->a, &p->a.scq, MLX5_CQE_REQ);
	get_wc(&p->b, &p->b.rcq, MLX5_CQE_RESP_SEND);
	post(p, 200, ipv4_b, mac_b, p->b.qp.qpn, 10);
	get_err(&p->a, &p->a.scq, MLX5_CQE_SYNDROME_LOCAL_PROT_ERR);
}

static void multicast_of(struct pair *p, unsigned int index,
			 const uint8_t *gid, const uint8_t *mac)
{
	make_ud(p);
	ok(drv_mcg(&p->a.qp, gid, true));
	ok(drv_mcg(&p->b.qp, gid, true));
	drv_recv(&p->a.qp, &p->a.mr, 4096, 200);
	drv_recv(&p->b.qp, &p->b.mr, 0, 200);
	post(p, index, gid, mac, 0xffffff, 100);
	get_wc(&p->b, &p->b.rcq, MLX5_CQE_RESP_SEND);
	no_wc(&p->a, &p->a.rcq);	/* block_lb_mc: not its own */
	ok(drv_mcg(&p->b.qp, gid, false));
	drv_recv(&p->b.qp, &p->b.mr, 0, 200);
	post(p, index, gid, mac, 0xffffff, 100);
	no_wc(&p->b, &p->b.rcq);
}

static void multicast(void **state)
{
	multicast_of(*state, V2, group, group_mac);
}

/* 230.1.0.1, as rdma_join_multicast() makes a GID of it. */
static void multicast_of_ipv4(void **state)
{
	static const uint8_t gid[16] = { [10] = 0xff, 0xff, 230, 1, 0, 1 };
	static const uint8_t mac[6] = { 0x01, 0x00, 0x5e, 1, 0, 1 };
	struct pair *p = *state;

	multicast_of(p, V2_IPV4, gid, mac);
	assert_int_equal(drv_mcg(&p->b.qp, ipv4_b, true), CX_BAD_PARAM);
}

/* A driver that comes anew finds an empty table. */
static void reset_forgets_the_table(void **state)
{
	struct rig *r = rig_new();
	uint8_t in[CX_BYTES(query_roce_address_in)] = { 0 };
	uint8_t out[CX_BYTES(query_roce_address_out)];
	struct drv v;

	(void)state;
	assert_non_null(r);
	r->eth = true;
	assert_non_null(rig_plug(r, GUID_A, 0, false));
	ok(drv_open(&v, &r->dev[0]));
	CX_SET(query_roce_address_in, in, opcode,
	       MLX5_CMD_OP_QUERY_ROCE_ADDRESS);
	CX_SET(query_roce_address_in, in, roce_address_index, V1);
	ok(drv_roce_addr(&v, V1, 1, link_a, mac_a, 0));
	ok(drv_exec(&v, in, sizeof(in), out, sizeof(out)));
	assert_memory_equal(out + 16, link_a, 16);
	cx_reset(r->dev[0].cx);
	ok(drv_open(&v, &r->dev[0]));
	ok(drv_exec(&v, in, sizeof(in), out, sizeof(out)));
	assert_int_equal(out[16], 0);
	rig_free(r);
}

/* ---- a wire that is not perfect ---- */
#define LOSS 100u

static void lossy(struct pair *p, uint32_t loss)
{
	cx_wire_loss(p->a.drv.dev->cx, loss);
	cx_wire_loss(p->b.drv.dev->cx, loss);
}

static uint64_t lost(const struct pair *p)
{
	return cx_stats(p->a.drv.dev->cx)->frames_lost +
	       cx_stats(p->b.drv.dev->cx)->frames_lost;
}

static uint32_t counter_at(struct side *s, uint32_t bit)
{
	uint8_t in[CX_BYTES(query_q_counter_in)] = { 0 };
	uint8_t out[CX_BYTES(query_q_counter_out)];

	CX_SET(query_q_counter_in, in, opcode, MLX5_CMD_OP_QUERY_Q_COUNTER);
	CX_SET(query_q_counter_in, in, counter_set_id, s->drv.counter);
	ok(drv_exec(&s->drv, in, sizeof(in), out, sizeof(out)));
	return cx_bits_get(out, bit, 32);
}

#define COUNTER(side, field) \
	counter_at(side, CX_OFF(query_q_counter_out, field))

static bool late_wc(struct side *s, struct drv_cq *cq, struct drv_wc *wc)
{
	unsigned int i;

	for (i = 0; i < 100; i++) {
		if (drv_poll(cq, wc))
			return true;
		rig_sleep(s->drv.rig, 10 * MS);
	}
	return false;
}

static void get_late(struct side *s, struct drv_cq *cq, uint8_t opcode)
{
	struct drv_wc wc;

	assert_true(late_wc(s, cq, &wc));
	assert_int_equal(wc.opcode, opcode);
}

/* So many messages of so many octets, all posted at once. */
static void send_many(struct pair *p, uint32_t nr, uint32_t len)
{
	uint32_t i;

	fill(p->a.mem, nr * len, len);
	memset(p->b.mem, 0xee, nr * len);
	for (i = 0; i < nr; i++)
		drv_recv(&p->b.qp, &p->b.mr, i * len, len);
	for (i = 0; i < nr; i++)
		drv_send(&p->a.qp, &p->a.mr, i * len, len);
	for (i = 0; i < nr; i++) {
		get_late(&p->b, &p->b.rcq, MLX5_CQE_RESP_SEND);
		get_late(&p->a, &p->a.scq, MLX5_CQE_REQ);
	}
	assert_true(filled(p->b.mem, nr * len, len));
	rig_sleep(p->rig, 100 * MS);
	no_wc(&p->b, &p->b.rcq);
	no_wc(&p->a, &p->a.scq);
}

static void what_is_lost_is_sent_again(void **state)
{
	struct pair *p = *state;
	uint32_t i;

	connect_with(p, DRV_RC, V2_IPV4, 7);
	lossy(p, LOSS);
	for (i = 0; i < 20; i++) {
		send_many(p, 40, 1 + i * 10);
		send_many(p, 3, 66000 + i * 13000);
	}
	assert_true(lost(p) > 100);
	assert_true(COUNTER(&p->a, local_ack_timeout_err));
	assert_true(COUNTER(&p->a, packet_seq_err));
	assert_true(COUNTER(&p->b, out_of_sequence));
	assert_true(COUNTER(&p->b, duplicate_request));
}

static void writes_survive_loss(void **state)
{
	struct pair *p = *state;
	uint32_t i, len;

	connect_with(p, DRV_RC, V1, 7);
	lossy(p, LOSS);
	for (i = 0; i < 40; i++) {
		len = 1 + i * 10007;
		fill(p->a.mem, len, i);
		memset(p->b.mem, 0xee, len);
		drv_rdma(&p->a.qp, MLX5_OPCODE_RDMA_WRITE, &p->a.mr, 0, len,
			 p->b.mr.va, p->b.mr.key);
		get_late(&p->a, &p->a.scq, MLX5_CQE_REQ);
		assert_true(filled(p->b.mem, len, i));
	}
	assert_true(lost(p) > 10);
}

static void reads(struct pair *p, uint32_t nr, uint32_t len)
{
	uint32_t i;

	fill(p->b.mem, nr * len, len);
	memset(p->a.mem, 0xee, nr * len);
	for (i = 0; i < nr; i++)
		drv_rdma(&p->a.qp, MLX5_OPCODE_RDMA_READ, &p->a.mr, i * len,
			 len, p->b.mr.va + i * len, p->b.mr.key);
	for (i = 0; i < nr; i++)
		get_late(&p->a, &p->a.scq, MLX5_CQE_REQ);
	assert_true(filled(p->a.mem, nr * len, len));
}

static void lost_data_of_a_read_is_asked_for_again(void **state)
{
	struct pair *p = *state;
	uint32_t i;

	connect_with(p, DRV_RC, V2, 7);
	lossy(p, LOSS);
	for (i = 0; i < 20; i++) {
		reads(p, 30, 1000 + i);
		reads(p, 1, 1000000 - i);
	}
	/* By what came instead of it, and otherwise by the timeout. */
	assert_true(COUNTER(&p->a, implied_nak_seq_err));
	assert_true(COUNTER(&p->a, local_ack_timeout_err));
	assert_true(COUNTER(&p->b, duplicate_request));
}

static void an_atomic_is_carried_out_once(void **state)
{
	struct drv_sge sge = { .len = 8 };
	struct drv_wr wr = { .opcode = MLX5_OPCODE_ATOMIC_FA, .sge = &sge,
			     .flags = DRV_SIGNALED, .nr_sge = 1,
			     .swap_add = 1 };
	struct pair *p = *state;
	uint64_t *sum = (uint64_t *)p->b.mem, *was = (uint64_t *)p->a.mem;
	uint32_t i, round;

	connect_with(p, DRV_RC, V2, 7);
	lossy(p, LOSS);
	sge.key = p->a.mr.key;
	wr.raddr = p->b.mr.va;
	wr.rkey = p->b.mr.key;
	*sum = 0;
	for (round = 0; round < 20; round++) {
		for (i = 0; i < 40; i++) {
			sge.addr = p->a.mr.va + i * 8;
			drv_post(&p->a.qp, &wr);
		}
		for (i = 0; i < 40; i++)
			get_late(&p->a, &p->a.scq, MLX5_CQE_REQ);
		for (i = 0; i < 40; i++)
			assert_int_equal(was[i], round * 40 + i);
	}
	assert_int_equal(*sum, 800);
	assert_true(COUNTER(&p->b, duplicate_request));
}

/* However many of its answers are lost meanwhile: it is there. */
static void a_receiver_that_is_late_is_waited_for(void **state)
{
	struct pair *p = *state;
	uint32_t i;

	connect_with(p, DRV_RC, V2, 7);
	lossy(p, LOSS);
	fill(p->a.mem, 3000, 3);
	for (i = 0; i < 3; i++)
		drv_send(&p->a.qp, &p->a.mr, i * 1000, 1000);
	rig_sleep(p->rig, 5000 * MS);
	no_wc(&p->a, &p->a.scq);
	for (i = 0; i < 3; i++)
		drv_recv(&p->b.qp, &p->b.mr, i * 1000, 1000);
	for (i = 0; i < 3; i++) {
		get_late(&p->a, &p->a.scq, MLX5_CQE_REQ);
		get_late(&p->b, &p->b.rcq, MLX5_CQE_RESP_SEND);
	}
	assert_true(filled(p->b.mem, 3000, 3));
}

static void too_much_loss_ends_a_connection(void **state)
{
	struct pair *p = *state;
	uint32_t i, done = 0;
	struct drv_wc wc;

	connect_with(p, DRV_RC, V2, 0);
	lossy(p, CX_LOSS_MOST);
	for (i = 0; i < 40; i++)
		drv_recv(&p->b.qp, &p->b.mr, 0, 64);
	for (i = 0; i < 40; i++)
		drv_send(&p->a.qp, &p->a.mr, 0, 64);
	while (late_wc(&p->a, &p->a.scq, &wc) && wc.opcode == MLX5_CQE_REQ)
		done++;
	assert_int_equal(wc.opcode, MLX5_CQE_REQ_ERR);
	assert_int_equal(wc.syndrome,
			 MLX5_CQE_SYNDROME_TRANSPORT_RETRY_EXC_ERR);
	for (i = done + 1; i < 40; i++)
		get_err(&p->a, &p->a.scq, MLX5_CQE_SYNDROME_WR_FLUSH_ERR);
}

static void a_lost_piece_loses_an_unreliable_message(void **state)
{
	struct pair *p = *state;
	uint32_t i, got = 0;
	struct drv_wc wc;

	connect(p, DRV_UC, V2);
	lossy(p, LOSS);
	for (i = 0; i < 40; i++) {
		fill(p->a.mem, 200000, i);
		drv_recv(&p->b.qp, &p->b.mr, 0, 200000);
		drv_send(&p->a.qp, &p->a.mr, 0, 200000);
		rig_sleep(p->rig, 10 * MS);
		get_wc(&p->a, &p->a.scq, MLX5_CQE_REQ);
		if (!drv_poll(&p->b.rcq, &wc))
			continue;
		assert_int_equal(wc.opcode, MLX5_CQE_RESP_SEND);
		assert_int_equal(wc.len, 200000);
		assert_true(filled(p->b.mem, 200000, i));
		got++;
	}
	assert_true(got > 5 && got < 35);
	assert_int_equal(cx_stats(p->a.drv.dev->cx)->retries, 0);
}

static void datagrams_get_lost_and_come_twice(void **state)
{
	struct pair *p = *state;
	uint32_t i, got = 2, none = 0, twice = 0;
	struct drv_wc wc;

	make_ud(p);
	lossy(p, LOSS);
	for (i = 0; i < 60; i++) {
		while (got--)
			drv_recv(&p->b.qp, &p->b.mr, 0, 200);
		post(p, V2, link_b, mac_b, p->b.qp.qpn, 100 + i);
		rig_sleep(p->rig, 10 * MS);
		get_wc(&p->a, &p->a.scq, MLX5_CQE_REQ);
		for (got = 0; drv_poll(&p->b.rcq, &wc); got++) {
			assert_int_equal(wc.len, 140 + i);
			assert_true(filled(p->b.mem + 40, 100 + i, 100 + i));
		}
		none += !got;
		twice += got == 2;
	}
	assert_true(none && twice && none + twice < 30);
}

static void nothing_is_lost_on_the_way_to_oneself(void **state)
{
	struct pair *p = *state;

	lossy(p, CX_LOSS_MOST);
	with_itself(state);
	assert_int_equal(lost(p), 0);
}

static void a_seed_repeats_the_losses(void **state)
{
	struct pair *p = *state;
	uint64_t first, again;

	connect_with(p, DRV_RC, V2, 7);
	lossy(p, LOSS);
	send_many(p, 60, 1000);
	first = lost(p);
	assert_true(first);
	send_many(p, 60, 1000);
	again = lost(p);
	lossy(p, LOSS);
	send_many(p, 60, 1000);
	assert_int_equal(lost(p) - again, first);
	lossy(p, 0);
	again = lost(p);
	send_many(p, 60, 1000);
	assert_int_equal(lost(p), again);
}

int main(void)
{
#define ROCE(f) cmocka_unit_test_setup_teardown(f, setup, pair_teardown)
	const struct CMUnitTest tests[] = {
		ROCE(version_1),
		ROCE(version_2),
		ROCE(version_2_over_ipv4),
		ROCE(on_a_vlan),
		ROCE(unreliable),
		ROCE(with_itself),
		ROCE(a_deleted_address_is_deaf),
		ROCE(a_deleted_address_is_dumb),
		ROCE(another_version_is_not_heard),
		ROCE(another_vlan_is_not_heard),
		ROCE(another_source_is_not_the_peer),
		ROCE(nothing_without_roce_enabled),
		ROCE(the_table_is_checked),
		ROCE(datagrams),
		ROCE(any_index_may_be_named),
		ROCE(multicast),
		ROCE(multicast_of_ipv4),
		ROCE(what_is_lost_is_sent_again),
		ROCE(writes_survive_loss),
		ROCE(lost_data_of_a_read_is_asked_for_again),
		ROCE(an_atomic_is_carried_out_once),
		ROCE(a_receiver_that_is_late_is_waited_for),
		ROCE(too_much_loss_ends_a_connection),
		ROCE(a_lost_piece_loses_an_unreliable_message),
		ROCE(datagrams_get_lost_and_come_twice),
		ROCE(nothing_is_lost_on_the_way_to_oneself),
		ROCE(a_seed_repeats_the_losses),
		cmocka_unit_test(reset_forgets_the_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
