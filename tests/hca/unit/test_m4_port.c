// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The ConnectX-3's port: commands, MADs by MAD_IFC and by the management QPs,
 * from INIT to ACTIVE as a subnet manager leads it, events.
 */
#include "m4_pair.h"

enum { GET = 1, SET = 2, RESP = 0x81 };
enum { SM_LID = 0x01, SM_DIRECT = 0x81 };
enum { NODE_DESCRIPTION = 0x10, NODE_INFO = 0x11, PORT_INFO = 0x15 };
enum { INIT_PORT = 0x9, CLOSE_PORT = 0xa, MAD_IFC = 0x24, SET_NODE = 0x5a };
enum { DOWN = 1, INIT = 2, ARMED = 3, ACTIVE = 4 };
#define GSI_QKEY	0x80010000u
#define EV_PORT		0x09
#define EV_CMD		0x0a
/* Registers of the command interface; commands that may be under way. */
enum { HCR_TOKEN = 0x80694, HCR_STATUS = 0x80698, HCR_GO_EVENT = 3 << 22, NOP = 0x31,
       CMDS = 16 };

static void request(uint8_t mad[256], uint8_t class, uint8_t method,
		    uint16_t attr, uint32_t mod)
{
	memset(mad, 0, 256);
	mad[0] = 1;
	mad[1] = class;
	mad[2] = 1;
	mad[3] = method;
	mad[15] = 0x77;			/* transaction */
	m4_put16(mad, 16, attr);
	m4_put32(mad, 20, mod);
}

static void ask(struct m4_side *s, uint8_t method, uint16_t attr, uint8_t mad[256],
		const uint8_t *data)
{
	request(mad, SM_LID, method, attr, 1);
	if (data)
		memcpy(mad + 64, data, 64);
	ok(m4_mad_ifc(&s->v, mad, mad));
	assert_int_equal(mad[3], RESP);
	assert_int_equal(m4_get32(mad, 4) >> 16, 0);
}

static void node(void **state)
{
	struct m4_pair *p = *state;
	char description[64] = "the node of a test";
	uint8_t mad[256];

	ask(&p->a, GET, NODE_INFO, mad, NULL);
	assert_true(m4_get64(mad, 64 + 12) == M4_GUID_A);
	assert_int_equal(m4_get32(mad, 64 + 28) & 0xffff, 0x1003);
	ok(m4_box(&p->a.v, SET_NODE, 0, 1, description, 64, NULL, 0));
	ask(&p->a, GET, NODE_DESCRIPTION, mad, NULL);
	assert_memory_equal(mad + 64, description, 64);
}

static void capabilities_are_set(void **state)
{
	struct m4_pair *p = *state;
	uint8_t mad[256], port[8] = { 0 };

	m4_put32(port, 4, 0x02514868);
	ok(m4_box(&p->a.v, 0xc, 0, 1, port, sizeof(port), NULL, 0));
	ask(&p->a, GET, PORT_INFO, mad, NULL);
	assert_int_equal(m4_get32(mad, 64 + 20), 0x02514868);
	assert_int_equal(m4_box(&p->a.v, 0xc, 0, 2, port, 8, NULL, 0), 0xa);
}

/* Trained when both ends are up, down with either. */
static void training(void **state)
{
	struct m4_pair *p = *state;

	assert_int_equal(cx_port_state(p->a.v.dev->cx), INIT);
	m4_async(&p->a.v, EV_PORT);
	ok(m4_cmd(&p->b.v, CLOSE_PORT, 0, 1, 0, NULL));
	assert_int_equal(cx_port_state(p->a.v.dev->cx), DOWN);
	assert_int_equal(m4_async(&p->a.v, EV_PORT)->subtype,
			 1);
	ok(m4_cmd(&p->b.v, INIT_PORT, 0, 1, 0, NULL));
	assert_int_equal(cx_port_state(p->a.v.dev->cx), INIT);
	assert_int_equal(m4_cmd(&p->b.v, INIT_PORT, 0, 2, 0, NULL), 0xa);
	/* No event for what the driver sees in MADs. */
	assert_null(m4_async(&p->a.v, EV_PORT));
}

/* As a subnet manager does: a LID, ARMED, ACTIVE, by Set(PortInfo). */
static void lead(struct m4_side *s, uint16_t lid)
{
	uint8_t mad[256], info[64];
	const struct m4_eqe *e;

	ask(s, GET, PORT_INFO, mad, NULL);
	memcpy(info, mad + 64, 64);
	m4_put16(info, 16, lid);
	m4_put16(info, 18, 1);			/* the manager's */
	info[32] = ARMED;
	info[33] &= 0xf;
	ask(s, SET, PORT_INFO, mad, info);
	info[32] = ACTIVE;
	m4_async(&s->v, EV_PORT);
	ask(s, SET, PORT_INFO, mad, info);
	assert_int_equal(cx_port_state(s->v.dev->cx), ACTIVE);
	e = m4_async(&s->v, EV_PORT);
	assert_non_null(e);
	assert_int_equal(e->subtype, 4);
	assert_int_equal(e->data[8] >> 4, 1);
}

static void becomes_active(void **state)
{
	struct m4_pair *p = *state;

	lead(&p->a, 1);
	lead(&p->b, 2);
}

/*
 * Events that nobody reads leave room for that of a command: NOP, by event. With
 * it the queue is full, and all of it can be read.
 */
static void commands_end_in_a_full_queue(void **state)
{
	struct m4_pair *p = *state;
	struct m4 *v = &p->a.v;
	unsigned int i, events = 0, ends = 0;
	const struct m4_eqe *e;

	m4_async(v, EV_PORT);
	for (i = 0; i < 2u << v->async.log_size; i++)
		cx_cable(v->dev->cx, i & 1);
	for (i = 0; i < CMDS; i++) {
		rig_write32(v->dev, HCR_TOKEN, (0x4200 + i) << 16);
		rig_write32(v->dev, HCR_STATUS, HCR_GO_EVENT | NOP);
	}
	for (; (e = m4_event(v, &v->async)); events++)
		if (e->type == EV_CMD)
			assert_int_equal(m4_get32(e->data, 0),
					 0x4200 + ends++);
	assert_int_equal(ends, CMDS);
	assert_int_equal(events, 1u << v->async.log_size);
	cx_cable(v->dev->cx, false);
	cx_cable(v->dev->cx, true);
	assert_non_null(m4_async(v, EV_PORT));
}

static void management_qps(struct m4_pair *p, uint32_t which, uint32_t qkey)
{
	struct m4_path path = { .qkey = qkey };
	struct m4_qp_init init = { .st = M4_MLX, .log_sq_stride = 7,
				   .log_rq_stride = 5,
				   .qpn = p->a.v.sqp + which };

	m4_make(p, &init);
	ok(m4_qp_up(&p->a.qp, &path));
	ok(m4_qp_up(&p->b.qp, &path));
}

/* To the other end of the link, before there are LIDs. */
static void directed_route(void **state)
{
	struct m4_pair *p = *state;
	struct m4_sge mad = { p->a.mr.va, 256, p->a.mr.key };
	struct m4_wc wc;

	management_qps(p, 0, 0);
	m4_fill(p->a.mem, 256, 1);
	m4_recv(&p->b.qp, &p->b.mr, 0, 296);
	m4_post_mad(&p->a.qp, 0, 0xffff, 0, &mad);
	m4_good(&p->a, &p->a.scq, MLX4_OPCODE_SEND);
	wc = m4_good(&p->b, &p->b.rcq, MLX4_RECV_OPCODE_SEND);
	assert_int_equal(wc.len, 296);
	assert_int_equal(wc.src_qpn, 0);
	assert_int_equal(wc.qpn, p->b.qp.qpn);
	assert_true(m4_filled(p->b.mem + 40, 256, 1));
}

static void general_services(void **state)
{
	struct m4_pair *p = *state;
	struct m4_sge mad = { p->a.mr.va, 256, p->a.mr.key };
	struct m4_wc wc;

	management_qps(p, 2, GSI_QKEY);
	m4_fill(p->a.mem, 256, 2);
	m4_recv(&p->b.qp, &p->b.mr, 0, 296);
	m4_post_mad(&p->a.qp, 1, 2, GSI_QKEY, &mad);
	m4_good(&p->a, &p->a.scq, MLX4_OPCODE_SEND);
	wc = m4_good(&p->b, &p->b.rcq, MLX4_RECV_OPCODE_SEND);
	assert_int_equal(wc.len, 296);
	assert_int_equal(wc.src_qpn, 1);
	assert_int_equal(wc.slid, 1);
	assert_int_equal(wc.pkey_index, 0);
	assert_true(m4_filled(p->b.mem + 40, 256, 2));
}

/* Headers that are too short, of another packet, or without an ICRC. */
static void bad_headers(void **state)
{
	struct m4_pair *p = *state;
	struct m4_sge mad = { p->a.mr.va, 256, p->a.mr.key };
	struct m4_path path = { .qkey = GSI_QKEY };
	unsigned int i;
	uint8_t *wqe;

	management_qps(p, 2, GSI_QKEY);
	for (i = 0; i < 4; i++) {
		p->a.qp.uar = 200;		/* nobody hears it */
		m4_post_mad(&p->a.qp, 1, 2, GSI_QKEY, &mad);
		p->a.qp.uar = p->a.v.uar;
		wqe = p->a.qp.sq;
		if (i == 0)
			wqe[7] = 2;		/* not all of the headers */
		else if (i == 1)
			wqe[20 + 8] = 0x04;	/* RC, send only */
		else if (i == 2)
			wqe[7]--;		/* a segment fewer */
		else
			wqe[20 + 1] = 3;	/* a GRH that is none */
		m4_ring(&p->a.v, p->a.v.uar, p->a.qp.qpn);
		m4_bad(&p->a, &p->a.scq, 0x02);
		ok(m4_qp_to_rst(&p->a.qp));
		p->a.qp.sq_head = 0;
		wqe[0] = 0x80;			/* the device's again */
		ok(m4_qp_up(&p->a.qp, &path));
	}
}

static void wrong_keys_are_dropped(void **state)
{
	struct m4_pair *p = *state;
	uint8_t mad[256], info[64];

	ask(&p->a, GET, PORT_INFO, mad, NULL);
	memcpy(info, mad + 64, 64);
	m4_put64(info, 0, 0x1234);		/* an M_Key */
	info[32] &= 0xf0;
	info[33] &= 0xf;
	info[34] |= 3 << 6;			/* protects against all */
	ask(&p->a, SET, PORT_INFO, mad, info);
	request(mad, SM_LID, GET, PORT_INFO, 1);
	assert_int_equal(m4_box(&p->a.v, MAD_IFC, 0, 1, mad, 256, mad, 256),
			 0x30);
}

#define T(f)	cmocka_unit_test_setup_teardown(f, m4_setup, m4_teardown)
#define BARE(f)	cmocka_unit_test_setup_teardown(f, m4_setup_bare, m4_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(node),
		T(capabilities_are_set),
		BARE(training),
		BARE(becomes_active),
		T(commands_end_in_a_full_queue),
		BARE(directed_route),
		T(general_services),
		T(bad_headers),
		T(wrong_keys_are_dropped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
