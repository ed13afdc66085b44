// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The Ethernet port: capabilities, the link as the driver switches it, what its
 * commands refuse, and frames through the flow tables of a network driver.
 */
#include <stdlib.h>

#include "pair.h"
#include "drv_eth.h"

#define CS_L3 0x40
#define CS_L4 0x80

static void capabilities(void **state)
{
	struct pair *p = *state;
	uint8_t c[4096];

	ok(drv_caps(&p->a.drv, 1, c));
	assert_int_equal(CX_GET(cmd_hca_cap, c, port_type), 1);
	assert_int_equal(CX_GET(cmd_hca_cap, c, roce), 1);
	assert_int_equal(CX_GET(cmd_hca_cap, c, eth_net_offloads), 1);
	assert_int_equal(CX_GET(cmd_hca_cap, c, nic_flow_table), 1);
	assert_int_equal(CX_GET(cmd_hca_cap, c, vport_group_manager), 0);
	assert_true(CX_GET(cmd_hca_cap, c, log_max_rqt_size) >= 8);
	ok(drv_caps(&p->a.drv, 1 << 1 | 1, c));
	assert_int_equal(CX_GET(per_protocol_networking_offload_caps, c,
				csum_cap), 1);
	assert_int_equal(CX_GET(per_protocol_networking_offload_caps, c,
				wqe_inline_mode), 0);
	ok(drv_caps(&p->a.drv, 4 << 1 | 1, c));
	assert_int_equal(CX_GET(roce_cap, c, roce_version), 5);
	assert_int_equal(CX_GET(roce_cap, c, r_roce_dest_udp_port), 4791);
	ok(drv_caps(&p->a.drv, 7 << 1 | 1, c));
	/* Without it processes have no tables. */
	assert_int_equal(CX_GET(flow_table_nic_cap, c,
		flow_table_properties_nic_receive.flow_table_modify), 1);
	/* With 64 mlx5_core of Linux 6.12 does not load. */
	assert_int_equal(CX_GET(flow_table_nic_cap, c,
		flow_table_properties_nic_receive.max_ft_level), 128);
	assert_int_equal(cx_stats(p->a.drv.dev->cx)->cmd_failed, 0);
}

static void not_on_infiniband(void **state)
{
	struct pair *p = *state;
	const struct cx_stats *s = cx_stats(p->a.drv.dev->cx);
	uint8_t c[4096];

	assert_int_equal(drv_caps(&p->a.drv, 1 << 1 | 1, c), CX_BAD_PARAM);
	assert_int_equal(drv_roce(&p->a.drv, true), CX_BAD_OP);
	assert_int_equal(s->cmd_unknown, 1);
	assert_int_equal(drv_admin(&p->a.drv, false), CX_BAD_PARAM);
}

static void the_driver_switches_the_link(void **state)
{
	struct pair *p = *state;
	struct drv *v = &p->a.drv;
	unsigned int n;

	assert_true(drv_carrier(v));
	drv_event(v, &v->async_eq, CX_EV_PORT_CHANGE, &n);
	ok(drv_admin(v, false));
	assert_false(drv_carrier(v));
	assert_int_equal(drv_event(v, &v->async_eq, CX_EV_PORT_CHANGE,
				   &n)->sub_type, CX_PORT_DOWN);
	assert_int_equal(cx_port_state(v->dev->cx), CX_PORT_DOWN);
	ok(drv_admin(v, true));
	assert_true(drv_carrier(v));
	assert_int_equal(drv_event(v, &v->async_eq, CX_EV_PORT_CHANGE,
				   &n)->sub_type, CX_PORT_ACTIVE);
	cx_cable(v->dev->cx, false);
	assert_false(drv_carrier(v));
	cx_cable(v->dev->cx, true);
	assert_true(drv_carrier(v));
}

static void registers(void **state)
{
	struct pair *p = *state;
	uint8_t reg[CX_BYTES(ppcnt_reg)] = { 0 };

	CX_SET(pmtu_reg, reg, local_port, 1);
	CX_SET(pmtu_reg, reg, admin_mtu, 1522);
	ok(drv_reg(&p->a.drv, 0x5003, true, reg, CX_BYTES(pmtu_reg)));
	ok(drv_reg(&p->a.drv, 0x5003, false, reg, CX_BYTES(pmtu_reg)));
	assert_int_equal(CX_GET(pmtu_reg, reg, oper_mtu), 1522);
	CX_SET(pmtu_reg, reg, admin_mtu, 20000);
	assert_int_equal(drv_reg(&p->a.drv, 0x5003, true, reg,
				 CX_BYTES(pmtu_reg)), CX_BAD_PARAM);
	memset(reg, 0, sizeof(reg));
	CX_SET(ptys_reg, reg, local_port, 1);
	CX_SET(ptys_reg, reg, proto_mask, 4);
	ok(drv_reg(&p->a.drv, 0x5004, false, reg, CX_BYTES(ptys_reg)));
	assert_int_equal(CX_GET(ptys_reg, reg, eth_proto_oper), 1 << 23);
	CX_SET(ptys_reg, reg, eth_proto_admin, 1 << 6);
	ok(drv_reg(&p->a.drv, 0x5004, true, reg, CX_BYTES(ptys_reg)));
	ok(drv_reg(&p->a.drv, 0x5004, false, reg, CX_BYTES(ptys_reg)));
	assert_int_equal(CX_GET(ptys_reg, reg, eth_proto_oper), 1 << 6);
	CX_SET(ptys_reg, reg, proto_mask, 1);
	assert_int_equal(drv_reg(&p->a.drv, 0x5004, false, reg,
				 CX_BYTES(ptys_reg)), CX_BAD_PARAM);
}

static void mac_address_is_of_the_guid(void **state)
{
	static const uint8_t a[6] = { 0x00, 0x02, 0xc9, 0x00, 0x0a, 0x01 };
	struct pair *p = *state;
	uint8_t mac[6];

	ok(drv_mac(&p->a.drv, mac));
	assert_memory_equal(mac, a, 6);
}

static void vport_lists_come_back(void **state)
{
	struct pair *p = *state;
	const size_t head = CX_BYTES(modify_nic_vport_context_in);
	uint8_t in[CX_BYTES(modify_nic_vport_context_in) + 16] = { 0 };
	uint8_t q[CX_BYTES(query_nic_vport_context_in)] = { 0 };
	uint8_t out[CX_BYTES(query_nic_vport_context_out) + 16];
	uint8_t none[CX_BYTES(modify_nic_vport_context_out)];

	CX_SET(modify_nic_vport_context_in, in, opcode,
	       MLX5_CMD_OP_MODIFY_NIC_VPORT_CONTEXT);
	CX_SET(modify_nic_vport_context_in, in, field_select.addresses_list, 1);
	CX_SET(modify_nic_vport_context_in, in,
	       nic_vport_context.allowed_list_type, 1);
	CX_SET(modify_nic_vport_context_in, in,
	       nic_vport_context.allowed_list_size, 2);
	memcpy(in + head + 10, "\x33\x33\0\0\0\1", 6);
	ok(drv_exec(&p->a.drv, in, sizeof(in), none, sizeof(none)));
	CX_SET(query_nic_vport_context_in, q, opcode,
	       MLX5_CMD_OP_QUERY_NIC_VPORT_CONTEXT);
	CX_SET(query_nic_vport_context_in, q, allowed_list_type, 1);
	ok(drv_exec(&p->a.drv, q, sizeof(q), out, sizeof(out)));
	assert_int_equal(CX_GET(query_nic_vport_context_out, out,
				nic_vport_context.allowed_list_size), 2);
	assert_memory_equal(out + sizeof(out) - 6, "\x33\x33\0\0\0\1", 6);
	/* More entries than the command has octets for, and than announced. */
	CX_SET(modify_nic_vport_context_in, in,
	       nic_vport_context.allowed_list_size, 3);
	assert_int_equal(drv_exec(&p->a.drv, in, sizeof(in), none,
				  sizeof(none)), CX_BAD_INP_LEN);
	CX_SET(modify_nic_vport_context_in, in,
	       nic_vport_context.allowed_list_size, 4000);
	assert_int_equal(drv_exec(&p->a.drv, in, sizeof(in), none,
				  sizeof(none)), CX_BAD_PARAM);
}

/* ---- objects ---- */
static void a_network_driver_comes_and_goes(void **state)
{
	struct pair *p = *state;
	const struct cx_stats *s = cx_stats(p->a.drv.dev->cx);
	struct drv_nic nic;
	int i;

	for (i = 0; i < 5; i++) {
		ok(drv_nic_open(&p->a.drv, &nic));
		ok(drv_nic_close(&nic));
	}
	assert_int_equal(s->cmd_failed, 0);
	assert_int_equal(s->cmd_unknown, 0);
}

static void what_is_used_stays(void **state)
{
	struct pair *p = *state;
	struct drv *v = &p->a.drv;
	struct drv_nic nic;

	ok(drv_nic_open(v, &nic));
	assert_int_equal(drv_simple(v, MLX5_CMD_OP_DESTROY_TIS, nic.tis, NULL),
			 CX_BAD_RES_STATE);
	assert_int_equal(drv_simple(v, MLX5_CMD_OP_DESTROY_RQ, nic.rq[0].n,
				    NULL), CX_BAD_RES_STATE);
	assert_int_equal(drv_simple(v, MLX5_CMD_OP_DESTROY_RQT, nic.rqt, NULL),
			 CX_BAD_RES_STATE);
	assert_int_equal(drv_simple(v, MLX5_CMD_OP_DESTROY_TIR, nic.tir, NULL),
			 CX_BAD_RES_STATE);
	assert_int_equal(drv_table_op(v, MLX5_CMD_OP_DESTROY_FLOW_TABLE, 0,
				      nic.ttc, 0), CX_BAD_RES_STATE);
	assert_int_equal(drv_table_op(v, MLX5_CMD_OP_DESTROY_FLOW_GROUP, 0,
				      nic.l2, 0), CX_BAD_RES_STATE);
	assert_int_equal(drv_simple(v, MLX5_CMD_OP_DEALLOC_TRANSPORT_DOMAIN,
				    v->td, NULL), CX_BAD_RES_STATE);
	ok(drv_nic_close(&nic));
}

/* Their numbers are among those of queue pairs, which they are not. */
static void a_queue_is_no_queue_pair(void **state)
{
	struct pair *p = *state;
	struct drv_nic nic;
	struct drv *v = &p->a.drv;

	ok(drv_nic_open(v, &nic));
	assert_int_equal(drv_simple(v, MLX5_CMD_OP_DESTROY_QP, nic.sq.n, NULL),
			 CX_BAD_RES);
	assert_int_equal(drv_simple(v, MLX5_CMD_OP_2ERR_QP, nic.rq[0].n, NULL),
			 CX_BAD_RES);
	assert_int_equal(drv_simple(v, MLX5_CMD_OP_DESTROY_SQ, nic.rq[0].n,
				    NULL), CX_BAD_RES);
	assert_int_equal(drv_wq_move(v, MLX5_CMD_OP_MODIFY_SQ, nic.sq.n, 0, 1),
			 CX_BAD_RES_STATE);
	assert_int_equal(drv_wq_move(v, MLX5_CMD_OP_MODIFY_SQ, nic.sq.n, 1, 2),
			 CX_BAD_RES_STATE);
	ok(drv_nic_close(&nic));
}

static void tables_lead_upwards_only(void **state)
{
	struct pair *p = *state;
	struct drv *v = &p->a.drv;
	uint32_t low, high, group, none;

	ok(drv_ft(v, 5, 0, &high));
	ok(drv_ft(v, 3, high, &low));
	assert_int_equal(drv_ft(v, 6, low, &none), CX_BAD_PARAM);
	ok(drv_ft(v, 127, 0, &none));
	assert_int_equal(drv_ft(v, 128, 0, &none), CX_BAD_PARAM);
	ok(drv_fg(v, high, 0, 3, NULL, &group));
	assert_int_equal(drv_fg(v, high, 3, 4, NULL, &none), CX_BAD_PARAM);
	assert_int_equal(drv_fg(v, high, 4, 128, NULL, &none), CX_BAD_PARAM);
	assert_int_equal(drv_fte(v, high, group, 0, NULL, 1, low),
			 CX_BAD_PARAM);
	assert_int_equal(drv_fte(v, high, group, 0, NULL, 2, 99), CX_BAD_RES);
	assert_int_equal(drv_fte(v, high, group, 4, NULL, 2, 99),
			 CX_BAD_PARAM);
	assert_int_equal(drv_table_op(v, MLX5_CMD_OP_DESTROY_FLOW_TABLE, 0,
				      high, 0), CX_BAD_RES_STATE);
	/* The rest goes with the function. */
}

/* ---- frames ---- */
static const uint8_t ipv4_udp[] = {
	0x00, 0x02, 0xc9, 0x00, 0x0b, 0x02, 0x00, 0x02, 0xc9, 0x00, 0x0a, 0x01,
	0x08, 0x00,
	0x45, 0x00, 0x00, 0x00, 0x12, 0x34, 0x40, 0x00, 0x40, 17, 0x00, 0x00,
	10, 0, 0, 1, 10, 0, 0, 2,
	0x30, 0x39, 0x00, 0x07, 0x00, 0x00, 0x00, 0x00,
};

static uint16_t be16(const uint8_t *p)
{
	return p[0] << 8 | p[1];
}

/* A UDP packet with so much data; the checksums are left to the card. */
static uint32_t udp(uint8_t *frame, uint32_t data, uint16_t port)
{
	uint32_t len = sizeof(ipv4_udp) + data;

	memcpy(frame, ipv4_udp, sizeof(ipv4_udp));
	cx_be16_set(frame + 16, len - 14);
	cx_be16_set(frame + 34, port);
	cx_be16_set(frame + 38, len - 34);
	fill(frame + sizeof(ipv4_udp), data, data);
	return len;
}

/* Both ends' network drivers, with buffers to receive into. */
struct nics {
	struct pair *pair;
	struct drv_nic a, b;
};

static int nics_setup(void **state)
{
	struct nics *n = calloc(1, sizeof(*n));
	unsigned int i;

	assert_non_null(n);
	pair_setup_eth((void **)&n->pair);
	ok(drv_nic_open(&n->pair->a.drv, &n->a));
	ok(drv_nic_open(&n->pair->b.drv, &n->b));
	for (i = 0; i < NIC_RQS; i++) {
		drv_nic_fill(&n->a, i, 32);
		drv_nic_fill(&n->b, i, 32);
	}
	*state = n;
	return 0;
}

static int nics_teardown(void **state)
{
	struct nics *n = *state;

	ok(drv_nic_close(&n->a));
	ok(drv_nic_close(&n->b));
	*state = n->pair;
	free(n);
	return pair_teardown(state);
}

/* The one completion of either receive queue. */
static struct drv_wc received(struct drv_nic *nic, unsigned int *rq)
{
	struct drv_wc wc;

	for (*rq = 0; *rq < NIC_RQS; ++*rq)
		if (drv_poll(&nic->rcq[*rq], &wc))
			break;
	assert_true(*rq < NIC_RQS);
	assert_int_equal(wc.opcode, MLX5_CQE_RESP_SEND);
	return wc;
}

/* The next frame that came. */
static const uint8_t *next_frame(struct drv_nic *nic, struct drv_wc *wc)
{
	unsigned int rq;

	*wc = received(nic, &rq);
	return drv_nic_frame(nic, rq, wc);
}

/* A frame from the first to the second, and what came of it. */
static const uint8_t *pass(struct nics *n, const uint8_t *frame, uint32_t len,
			   uint32_t header, uint8_t flags, struct drv_wc *wc)
{
	drv_nic_send(&n->a, frame, len, header, flags, 0);
	return next_frame(&n->b, wc);
}

static bool nothing(struct drv_nic *nic)
{
	struct drv_wc wc;

	return !drv_poll(&nic->rcq[0], &wc) && !drv_poll(&nic->rcq[1], &wc);
}

/* Without it ip link up of mlx5e waits 20 s for its first completion. */
static void a_nop_completes(void **state)
{
	struct nics *n = *state;
	struct drv_wc wc;

	drv_nic_nop(&n->a);
	assert_true(drv_poll(&n->a.scq, &wc));
	assert_int_equal(wc.opcode, MLX5_CQE_REQ);
	assert_int_equal(wc.qpn, n->a.sq.n);
}

static void a_frame_arrives(void **state)
{
	struct nics *n = *state;
	uint8_t frame[1514];
	uint32_t len = udp(frame, 600, 0x3039);
	const uint8_t *got;
	struct drv_wc wc;

	got = pass(n, frame, len, 18, CS_L3 | CS_L4, &wc);
	assert_int_equal(wc.len, len);
	assert_memory_equal(got, frame, 24);
	assert_true(filled(got + 42, 600, 600));
	/* Both checksums are right, and the receiver says so. */
	assert_int_not_equal(be16(got + 24), 0);
	assert_int_not_equal(be16(got + 40), 0);
	assert_int_equal(wc.cqe.hds_ip_ext, 7);
	assert_int_equal(be32toh(wc.cqe.sop_drop_qpn), 0);
	assert_true(drv_poll(&n->a.scq, &wc));
	assert_int_equal(wc.opcode, MLX5_CQE_REQ);
	assert_true(nothing(&n->b));
	assert_true(nothing(&n->a));
}

/* The sum over all octets behind the Ethernet header, as CHECKSUM_COMPLETE. */
static void the_sum_covers_the_packet(void **state)
{
	struct nics *n = *state;
	uint8_t frame[1514];
	uint32_t len = udp(frame, 101, 0x3039), i, sum = 0;
	const uint8_t *got;
	struct drv_wc wc;

	got = pass(n, frame, len, 18, CS_L3 | CS_L4, &wc);
	for (i = 14; i < len; i++)
		sum += (uint32_t)got[i] << (i % 2 ? 0 : 8);
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	assert_int_equal(be16((uint8_t *)&wc.cqe + 20), sum);
}

static void other_stations_frames_do_not(void **state)
{
	struct nics *n = *state;
	uint64_t dropped = cx_stats(n->pair->b.drv.dev->cx)->frames_dropped;
	uint8_t frame[1514];
	uint32_t len = udp(frame, 100, 1);

	frame[5] ^= 1;
	drv_nic_send(&n->a, frame, len, 18, 0, 0);
	assert_true(nothing(&n->b));
	assert_int_equal(cx_stats(n->pair->b.drv.dev->cx)->frames_dropped,
			 dropped + 1);
	memset(frame, 0xff, 6);
	drv_nic_send(&n->a, frame, len, 18, 0, 0);
	assert_false(nothing(&n->b));
	/* Its own broadcast does not come back. */
	assert_true(nothing(&n->a));
}

/* As the driver of processes: tables of its own before those of mlx5e. */
static void a_frame_of_another_domain_comes_back(void **state)
{
	struct nics *n = *state;
	struct drv *v = &n->pair->a.drv;
	uint32_t td = v->td;
	struct drv_nic user;
	uint8_t frame[1514];
	uint32_t len = udp(frame, 100, 1);
	struct drv_wc wc;

	ok(drv_simple(v, MLX5_CMD_OP_ALLOC_TRANSPORT_DOMAIN, 0, &v->td));
	ok(drv_nic_open(v, &user));
	drv_nic_fill(&user, 0, 8);
	drv_nic_fill(&user, 1, 8);
	memcpy(frame, user.mac, 6);
	drv_nic_send(&n->a, frame, len, 18, CS_L3 | CS_L4, 0);
	assert_memory_equal(next_frame(&user, &wc), frame, 24);
	assert_int_equal(wc.len, len);
	assert_true(nothing(&n->a));
	/* Of its own domain not, nor what no table knows. */
	drv_nic_send(&user, frame, len, 18, 0, 0);
	frame[5] ^= 1;
	drv_nic_send(&n->a, frame, len, 18, 0, 0);
	assert_true(nothing(&user));
	ok(drv_nic_close(&user));
	ok(drv_simple(v, MLX5_CMD_OP_DEALLOC_TRANSPORT_DOMAIN, v->td, NULL));
	v->td = td;
}

static void a_tag_is_stripped(void **state)
{
	struct nics *n = *state;
	uint8_t frame[1514];
	uint32_t len = udp(frame, 100, 1);
	const uint8_t *got;
	struct drv_wc wc;

	memmove(frame + 16, frame + 12, len - 12);
	memcpy(frame + 12, "\x81\0\x60\x05", 4);
	got = pass(n, frame, len + 4, 22, CS_L3 | CS_L4, &wc);
	assert_int_equal(wc.len, len);
	assert_int_equal(wc.cqe.l4_hdr_type_etc & 1, 1);
	assert_int_equal(be16toh(wc.cqe.vlan_info), 0x6005);
	assert_int_equal(be16(got + 12), 0x0800);
	assert_int_equal(wc.cqe.hds_ip_ext, 7);
}

static void short_frames_are_padded(void **state)
{
	struct nics *n = *state;
	uint8_t frame[64];
	struct drv_wc wc;

	udp(frame, 2, 1);
	pass(n, frame, sizeof(ipv4_udp) + 2, 18, CS_L4, &wc);
	assert_int_equal(wc.len, 60);
}

static void flows_spread_over_the_queues(void **state)
{
	struct nics *n = *state;
	uint8_t frame[1514];
	uint32_t got[NIC_RQS] = { 0 }, len, i, first = 0;
	unsigned int rq;

	for (i = 0; i < 32; i++) {
		len = udp(frame, 100, 1000 + i / 2);
		drv_nic_send(&n->a, frame, len, 18, 0, 0);
		received(&n->b, &rq);
		got[rq]++;
		/* A flow stays where it is. */
		if (i % 2)
			assert_int_equal(rq, first);
		first = rq;
	}
	assert_true(got[0] && got[1]);
}

static void large_sends_are_cut(void **state)
{
	struct nics *n = *state;
	uint8_t frame[4200];
	uint32_t len = udp(frame, 4000, 1), at = 0, piece;
	const uint8_t *got;
	struct drv_wc wc;
	unsigned int i;

	drv_nic_send(&n->a, frame, len, 42, CS_L3 | CS_L4, 1472);
	assert_true(drv_poll(&n->a.scq, &wc));
	for (i = 0; i < 3; i++) {
		got = next_frame(&n->b, &wc);
		piece = wc.len - 42;
		assert_int_equal(piece, i < 2 ? 1472 : 4000 - 2 * 1472);
		assert_int_equal(be16(got + 16), 28 + piece);
		assert_int_equal(be16(got + 18), 0x1234 + i);
		assert_int_equal(be16(got + 38), 8 + piece);
		assert_int_equal(wc.cqe.hds_ip_ext, 7);
		assert_memory_equal(got + 42, frame + 42 + at, piece);
		at += piece;
	}
	assert_true(nothing(&n->b));
}

/* What is behind the Ethernet header of a large send of TCP, by IPv4 and by IPv6. */
static const uint8_t ipv4_tcp[] = {
	0x45, 0x00, 0x00, 0x00, 0x12, 0x34, 0x40, 0x00, 0x40, 6, 0x00, 0x00,
	10, 0, 0, 1, 10, 0, 0, 2,
};
static const uint8_t ipv6_tcp[] = {
	0x60, 0x00, 0x00, 0x00, 0x00, 0x00, 6, 0x40,
	0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xa,
	0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xb,
};
#define TCP_HEADER	20
#define TCP_SEQ		0xfffffa00u	/* it wraps */
#define TCP_FIN		0x01
#define TCP_PSH		0x08
#define TCP_CWR		0x80

static void large_sends_of_tcp(struct nics *n, const uint8_t *ip, uint32_t ip_len)
{
	uint8_t frame[4200], *tcp = frame + 14 + ip_len;
	uint32_t header = 14 + ip_len + TCP_HEADER, at = 0, piece, i;
	const uint8_t *got;
	struct drv_wc wc;

	memset(frame, 0, header);
	memcpy(frame, ipv4_udp, 12);
	memcpy(frame + 12, ip_len == 20 ? "\x08\0" : "\x86\xdd", 2);
	memcpy(frame + 14, ip, ip_len);
	cx_be32_set(tcp + 4, TCP_SEQ);
	tcp[12] = TCP_HEADER / 4 << 4;
	tcp[13] = TCP_CWR | TCP_PSH | TCP_FIN;
	fill(frame + header, 4000, 4000);
	drv_nic_send(&n->a, frame, header + 4000, header, CS_L3 | CS_L4, 1400);
	assert_true(drv_poll(&n->a.scq, &wc));
	for (i = 0; i < 3; i++) {
		got = next_frame(&n->b, &wc);
		piece = wc.len - header;
		assert_int_equal(piece, i < 2 ? 1400 : 4000 - 2 * 1400);
		if (ip_len == 20) {
			assert_int_equal(be16(got + 16), wc.len - 14);
			assert_int_equal(be16(got + 18), 0x1234 + i);
		} else {
			assert_int_equal(be16(got + 18), TCP_HEADER + piece);
		}
		got += 14 + ip_len;
		assert_int_equal((uint32_t)be16(got + 4) << 16 | be16(got + 6),
				 TCP_SEQ + at);
		/* The window was reduced before the first, and ends with the last. */
		assert_int_equal(got[13], (i ? 0 : TCP_CWR) |
				 (i < 2 ? 0 : TCP_PSH | TCP_FIN));
		assert_memory_equal(got + TCP_HEADER, frame + header + at, piece);
		/* Both checksums are right, and the receiver says so. */
		assert_int_equal(wc.cqe.hds_ip_ext, 7);
		at += piece;
	}
	assert_true(nothing(&n->b));
}

static void large_sends_of_tcp_are_cut(void **state)
{
	large_sends_of_tcp(*state, ipv4_tcp, sizeof(ipv4_tcp));
	large_sends_of_tcp(*state, ipv6_tcp, sizeof(ipv6_tcp));
}

/* Of one WQE; QEMU's main loop would not come to anything else. */
static void pieces_are_bounded(void **state)
{
	struct nics *n = *state;
	uint8_t frame[9042];
	uint32_t len = udp(frame, 9000, 1);
	struct drv_wc wc;

	drv_nic_send(&n->a, frame, len, 42, CS_L4, 1);
	assert_true(drv_poll(&n->a.scq, &wc));
	assert_int_equal(wc.opcode, MLX5_CQE_REQ_ERR);
	assert_true(nothing(&n->b));
}

static void nothing_to_receive_into(void **state)
{
	struct pair *p = *state;
	uint8_t frame[1514];
	uint32_t len = udp(frame, 100, 1);
	struct drv_nic a, b;
	struct drv_wc wc;

	ok(drv_nic_open(&p->a.drv, &a));
	ok(drv_nic_open(&p->b.drv, &b));
	drv_nic_send(&a, frame, len, 18, 0, 0);
	assert_true(drv_poll(&a.scq, &wc));
	assert_true(nothing(&b));
	drv_nic_fill(&b, 0, 1);
	drv_nic_fill(&b, 1, 1);
	assert_true(nothing(&b));
	drv_nic_send(&a, frame, len, 18, 0, 0);
	assert_false(nothing(&b));
	ok(drv_nic_close(&a));
	ok(drv_nic_close(&b));
}

static void malformed_wqes_end_the_queue(void **state)
{
	struct nics *n = *state;
	struct drv *v = &n->pair->a.drv;
	uint8_t frame[1514];
	uint32_t len = udp(frame, 100, 1);
	struct drv_wc wc;

	/* A piece of no octets. */
	n->a.sq.pi = 0;
	drv_nic_send(&n->a, frame, len, 0, 0, 100);
	assert_true(drv_poll(&n->a.scq, &wc));
	assert_int_equal(wc.opcode, MLX5_CQE_REQ_ERR);
	assert_true(nothing(&n->b));
	/* Back to life as mlx5e's recovery does it. */
	ok(drv_wq_move(v, MLX5_CMD_OP_MODIFY_SQ, n->a.sq.n, 3, 0));
	ok(drv_wq_move(v, MLX5_CMD_OP_MODIFY_SQ, n->a.sq.n, 0, 1));
	n->a.sq.pi = 0;
	drv_nic_send(&n->a, frame, len, 18, 0, 0);
	assert_false(nothing(&n->b));
}

/* struct mlx5_eqe_qp_srq: else the driver looks for a queue pair. */
static void an_event_says_that_it_is_of_a_send_queue(void **state)
{
	struct nics *n = *state;
	struct drv *v = &n->pair->a.drv;
	const struct drv_eqe *e;

	/* A doorbell record that is further than the queue is long. */
	n->a.sq.pi += 1000;
	drv_nic_nop(&n->a);
	e = drv_event(v, &v->async_eq, CX_EV_WQ_CATAS, NULL);
	assert_non_null(e);
	assert_int_equal(drv_event_qpn(e), n->a.sq.n);
	assert_int_equal(e->data[20], 2);
}

static void no_frame_without_a_link(void **state)
{
	struct nics *n = *state;
	uint8_t frame[1514];
	uint32_t len = udp(frame, 100, 1);
	struct drv_wc wc;

	ok(drv_admin(&n->pair->b.drv, false));
	drv_nic_send(&n->a, frame, len, 18, 0, 0);
	assert_true(drv_poll(&n->a.scq, &wc));
	assert_true(nothing(&n->b));
	ok(drv_admin(&n->pair->b.drv, true));
	drv_nic_send(&n->a, frame, len, 18, 0, 0);
	assert_false(nothing(&n->b));
}

/* ---- the port's counters ---- */
static void ppcnt(struct nics *n, bool b, uint8_t grp, uint8_t prio,
		  uint8_t reg[CX_BYTES(ppcnt_reg)])
{
	memset(reg, 0, CX_BYTES(ppcnt_reg));
	CX_SET(ppcnt_reg, reg, local_port, 1);
	CX_SET(ppcnt_reg, reg, grp, grp);
	CX_SET(ppcnt_reg, reg, prio_tc, prio);
	ok(drv_reg(b ? &n->pair->b.drv : &n->pair->a.drv, 0x5008, false, reg,
		   CX_BYTES(ppcnt_reg)));
}

#define COUNTED(layout, field) \
	cx_be64_get(reg + CX_OFF(ppcnt_reg, counter_set.layout.field##_high) / 8)

/* As ethtool -S asks for them. */
static void frames_are_counted_by_kind_size_and_priority(void **state)
{
	struct nics *n = *state;
	uint8_t reg[CX_BYTES(ppcnt_reg)], frame[1514];
	uint32_t len = udp(frame, 600, 1);
	struct drv_wc wc;

	pass(n, frame, len, 18, 0, &wc);
	memset(frame, 0xff, 6);
	pass(n, frame, len, 18, 0, &wc);
	len = udp(frame, 1472, 1);
	memmove(frame + 16, frame + 12, len - 16);
	memcpy(frame + 12, "\x81\0\x60\x05", 4);
	pass(n, frame, len, 22, 0, &wc);
	ppcnt(n, false, 0, 0, reg);
	assert_int_equal(COUNTED(eth_802_3_cntrs_grp_data_layout,
				 a_frames_transmitted_ok), 3);
	assert_int_equal(COUNTED(eth_802_3_cntrs_grp_data_layout,
				 a_broadcast_frames_xmitted_ok), 1);
	assert_int_equal(COUNTED(eth_802_3_cntrs_grp_data_layout,
				 a_octets_transmitted_ok), 2 * 642 + 1514);
	ppcnt(n, true, 1, 0, reg);
	assert_int_equal(COUNTED(eth_2863_cntrs_grp_data_layout,
				 if_in_ucast_pkts), 2);
	assert_int_equal(COUNTED(eth_2863_cntrs_grp_data_layout,
				 if_out_ucast_pkts), 0);
	ppcnt(n, true, 2, 0, reg);
	assert_int_equal(COUNTED(eth_2819_cntrs_grp_data_layout,
				 ether_stats_pkts), 3);
	assert_int_equal(COUNTED(eth_2819_cntrs_grp_data_layout,
				 ether_stats_pkts512to1023octets), 2);
	assert_int_equal(COUNTED(eth_2819_cntrs_grp_data_layout,
				 ether_stats_pkts1024to1518octets), 1);
	ppcnt(n, true, 0x10, 3, reg);
	assert_int_equal(COUNTED(eth_per_prio_grp_data_layout, rx_frames), 1);
	assert_int_equal(COUNTED(eth_per_prio_grp_data_layout, rx_octets),
			 1514);
	ppcnt(n, false, 0x10, 0, reg);
	assert_int_equal(COUNTED(eth_per_prio_grp_data_layout, tx_frames), 2);
}

static void a_link_that_went_down_is_counted(void **state)
{
	struct nics *n = *state;
	uint8_t reg[CX_BYTES(ppcnt_reg)];
	uint32_t before;

#define DOWNED() CX_GET(ppcnt_reg, reg, \
			counter_set.phys_layer_cntrs.link_down_events)
	ppcnt(n, false, 0x12, 0, reg);
	before = DOWNED();
	cx_cable(n->pair->a.drv.dev->cx, false);
	cx_cable(n->pair->a.drv.dev->cx, true);
	ppcnt(n, false, 0x12, 0, reg);
	assert_int_equal(DOWNED(), before + 1);
}

/* A group that only capabilities announce, of which there are none. */
static void other_counters_are_refused(void **state)
{
	struct nics *n = *state;
	uint8_t reg[CX_BYTES(ppcnt_reg)] = { 0 };

	CX_SET(ppcnt_reg, reg, local_port, 1);
	CX_SET(ppcnt_reg, reg, grp, 0x16);
	assert_int_equal(drv_reg(&n->pair->a.drv, 0x5008, false, reg,
				 sizeof(reg)), CX_BAD_PARAM);
}

static uint32_t why_down(struct drv *v)
{
	uint8_t reg[CX_BYTES(pddr_reg)] = { 0 };

	CX_SET(pddr_reg, reg, local_port, 1);
	CX_SET(pddr_reg, reg, page_select, 1);
	ok(drv_reg(v, 0x5031, false, reg, sizeof(reg)));
	return CX_GET(pddr_reg, reg,
		      page_data.pddr_troubleshooting_page.status_opcode
		      .pddr_monitor_opcode.monitor_opcode);
}

static void a_link_that_is_down_has_its_reason(void **state)
{
	struct pair *p = *state;
	struct drv *v = &p->a.drv;

	assert_int_equal(why_down(v), 0);
	ok(drv_admin(v, false));
	assert_int_equal(why_down(v), 1);
	ok(drv_admin(v, true));
	cx_cable(v->dev->cx, false);
	assert_int_equal(why_down(v), 1024);
	cx_cable(v->dev->cx, true);
	assert_int_equal(why_down(v), 0);
}

static void a_wire_loses_frames(void **state)
{
	struct nics *n = *state;
	const struct cx_stats *s = cx_stats(n->pair->b.drv.dev->cx);
	uint8_t frame[1514];
	uint32_t len = udp(frame, 100, 1), i, got = 0;

	cx_wire_loss(n->pair->b.drv.dev->cx, 200);
	for (i = 0; i < 24; i++) {
		drv_nic_send(&n->a, frame, len, 18, 0, 0);
		rig_sleep(n->pair->rig, 2 * MS);
		while (!nothing(&n->b))
			got++;
	}
	assert_true(s->frames_lost && s->frames_lost < 15);
	assert_true(got >= 24 - s->frames_lost);
	assert_int_equal(s->frames_dropped, 0);
}

int main(void)
{
#define NICS(f) cmocka_unit_test_setup_teardown(f, nics_setup, nics_teardown)
#define ETH(f) cmocka_unit_test_setup_teardown(f, pair_setup_eth, \
					       pair_teardown)
	const struct CMUnitTest tests[] = {
		ETH(capabilities),
		cmocka_unit_test_setup_teardown(not_on_infiniband, pair_setup,
						pair_teardown),
		ETH(the_driver_switches_the_link),
		ETH(registers),
		ETH(mac_address_is_of_the_guid),
		ETH(vport_lists_come_back),
		ETH(a_network_driver_comes_and_goes),
		ETH(what_is_used_stays),
		ETH(a_queue_is_no_queue_pair),
		ETH(tables_lead_upwards_only),
		NICS(a_nop_completes),
		NICS(a_frame_arrives),
		NICS(the_sum_covers_the_packet),
		NICS(other_stations_frames_do_not),
		NICS(a_frame_of_another_domain_comes_back),
		NICS(a_tag_is_stripped),
		NICS(short_frames_are_padded),
		NICS(flows_spread_over_the_queues),
		NICS(large_sends_are_cut),
		NICS(large_sends_of_tcp_are_cut),
		NICS(pieces_are_bounded),
		ETH(nothing_to_receive_into),
		NICS(malformed_wqes_end_the_queue),
		NICS(an_event_says_that_it_is_of_a_send_queue),
		NICS(no_frame_without_a_link),
		NICS(frames_are_counted_by_kind_size_and_priority),
		NICS(a_link_that_went_down_is_counted),
		NICS(other_counters_are_refused),
		ETH(a_link_that_is_down_has_its_reason),
		NICS(a_wire_loses_frames),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
