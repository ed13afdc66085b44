// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The capabilities of a ConnectX-6 Dx: what a driver reads comes beside what the model
 * does, its bring-up meets no failure, and what is announced alone fails as a command
 * that the firmware does not know.
 */
#include "pair.h"

#define ODP	2u		/* enum mlx5_cap_type */
#define ATOMIC	3u
#define ROCE	4u
#define FLOW	7u
#define QOS	0xcu
#define DEV_MEM	0xfu
#define EVENTS	0x14u
#define CURRENT(type) ((uint16_t)((type) << 1 | 1))
#define MAXIMUM(type) ((uint16_t)((type) << 1))

static struct drv *card(struct drv *v, bool cx6dx)
{
	struct rig *r = rig_new();

	assert_non_null(r);
	r->eth = true;
	r->umr_lists = true;
	r->cx6dx = cx6dx;
	memset(v, 0, sizeof(*v));
	ok(drv_open(v, rig_plug(r, GUID_A, 0, false)));
	return v;
}

#define IS(type, caps, field, value) \
	assert_int_equal(CX_GET(type, caps, field), value)

static void comes_beside_what_the_model_does(void **state)
{
	uint8_t caps[4096], max[4096];
	struct drv v;

	(void)state;
	ok(drv_caps(card(&v, true), CURRENT(0), caps));
	IS(cmd_hca_cap, caps, port_type, 1);
	IS(cmd_hca_cap, caps, xrc, 1);
	IS(cmd_hca_cap, caps, log_max_msg, 30);
	IS(cmd_hca_cap, caps, dct, 1);
	IS(cmd_hca_cap, caps, pg, 1);
	IS(cmd_hca_cap, caps, qos, 1);
	IS(cmd_hca_cap, caps, striding_rq, 1);
	IS(cmd_hca_cap, caps, device_memory, 1);
	IS(cmd_hca_cap, caps, tag_matching, 1);	/* of the rig */
	assert_true(CX_GET(cmd_hca_cap, caps, log_max_uctx) > 0);
	/* What a driver may choose is chosen among what is announced. */
	ok(drv_caps(&v, MAXIMUM(0), max));
	IS(cmd_hca_cap, max, dct, 1);
	ok(drv_caps(&v, CURRENT(ATOMIC), caps));
	IS(atomic_caps, caps, atomic_operations, 0xf);
	IS(atomic_caps, caps, atomic_size_qp,
	   MLX5_ATOMIC_CAPS_ATOMIC_SIZE_QP_8_BYTES);
	ok(drv_caps(&v, CURRENT(ROCE), caps));
	IS(roce_cap, caps, r_roce_dest_udp_port, 4791);
	IS(roce_cap, caps, qp_ts_format, 2);
	ok(drv_caps(&v, CURRENT(FLOW), caps));
	IS(flow_table_nic_cap, caps,
	   flow_table_properties_nic_receive.ft_support, 1);
	IS(flow_table_nic_cap, caps,
	   flow_table_properties_nic_receive.flow_modify_en, 1);
	rig_free(v.rig);
}

static void has_types_of_its_own(void **state)
{
	static const uint16_t type[] = { ODP, QOS, DEV_MEM, EVENTS, 0x20, 0x25 };
	uint8_t caps[4096], none[4096] = { 0 };
	struct drv v;
	size_t i;

	(void)state;
	card(&v, true);
	for (i = 0; i < sizeof(type) / sizeof(type[0]); i++) {
		ok(drv_caps(&v, CURRENT(type[i]), caps));
		assert_memory_not_equal(caps, none, sizeof(none));
	}
	assert_int_equal(drv_caps(&v, CURRENT(0x11), caps), CX_BAD_PARAM);
	ok(drv_caps(&v, CURRENT(QOS), caps));
	IS(qos_cap, caps, packet_pacing_max_rate, 100000000);
	ok(drv_caps(&v, CURRENT(DEV_MEM), caps));
	IS(device_mem_cap, caps, max_memic_size, 131072);
	ok(drv_caps(&v, CURRENT(ODP), caps));
	IS(odp_per_transport_service_cap, caps + CX_ODP_RC / 8, write, 1);
	IS(odp_per_transport_service_cap, caps + CX_ODP_UC / 8, send, 0);
	/* The event of a changed object, as gather_user_async_events() reads it. */
	ok(drv_caps(&v, CURRENT(EVENTS), caps));
	assert_true(cx_be64_get(caps) == 1ull << 0x27);
	rig_free(v.rig);
}

static void an_ordinary_one_has_none_of_it(void **state)
{
	uint8_t caps[4096];
	struct drv v;

	(void)state;
	ok(drv_caps(card(&v, false), CURRENT(0), caps));
	IS(cmd_hca_cap, caps, dct, 0);
	IS(cmd_hca_cap, caps, log_max_uctx, 0);
	assert_int_equal(drv_caps(&v, CURRENT(ODP), caps), CX_BAD_PARAM);
	assert_int_equal(drv_caps(&v, CURRENT(QOS), caps), CX_BAD_PARAM);
	rig_free(v.rig);
}

static int create_uctx(struct drv *v, uint32_t *uid)
{
	uint8_t in[CX_BYTES(create_uctx_in)] = { 0 };
	uint8_t out[CX_BYTES(create_uctx_out)];
	int ret;

	CX_SET(create_uctx_in, in, opcode, MLX5_CMD_OP_CREATE_UCTX);
	ret = drv_exec(v, in, sizeof(in), out, sizeof(out));
	*uid = CX_GET(create_uctx_out, out, uid);
	return ret;
}

static int set_odp(struct drv *v)
{
	uint8_t in[CX_BYTES(set_hca_cap_in)] = { 0 };
	uint8_t out[CX_BYTES(set_hca_cap_out)];

	CX_SET(set_hca_cap_in, in, opcode, MLX5_CMD_OP_SET_HCA_CAP);
	CX_SET(set_hca_cap_in, in, op_mod, ODP << 1);
	return drv_exec(v, in, sizeof(in), out, sizeof(out));
}

/* mlx5_core switches all paging on before INIT_HCA; a process may have a context. */
static void comes_up_without_a_failed_command(void **state)
{
	struct rig *r = rig_new();
	uint32_t uid, other;
	struct drv v;

	(void)state;
	assert_non_null(r);
	r->eth = true;
	r->cx6dx = true;
	ok(drv_enable(&v, rig_plug(r, GUID_A, 0, false)));
	ok(drv_simple(&v, MLX5_CMD_OP_TEARDOWN_HCA, 0, NULL));
	ok(set_odp(&v));
	rig_free(r);

	card(&v, true);
	ok(create_uctx(&v, &uid));
	ok(create_uctx(&v, &other));
	assert_int_not_equal(uid, 0);
	assert_int_not_equal(uid, other);
	ok(drv_simple(&v, MLX5_CMD_OP_DESTROY_UCTX, uid, NULL));
	assert_int_equal(cx_stats(v.dev->cx)->cmd_failed, 0);
	assert_int_equal(cx_stats(v.dev->cx)->cmd_unknown, 0);
	assert_int_equal(drv_simple(&v, MLX5_CMD_OP_DESTROY_UCTX, uid, NULL),
			 CX_BAD_RES);
	ok(drv_close(&v));		/* with a context left */
	rig_free(v.rig);
}

static void what_is_announced_alone_fails(void **state)
{
	static const uint16_t op[] = {
		MLX5_CMD_OP_ALLOC_MEMIC, MLX5_CMD_OP_CREATE_DCT,
		MLX5_CMD_OP_SET_PP_RATE_LIMIT, MLX5_CMD_OP_CREATE_UMEM,
		MLX5_CMD_OP_CREATE_GENERAL_OBJECT, MLX5_CMD_OP_ALLOC_FLOW_COUNTER,
		MLX5_CMD_OP_PAGE_FAULT_RESUME, MLX5_CMD_OP_CREATE_PSV,
	};
	uint32_t uid;
	struct drv v;
	size_t i;

	(void)state;
	card(&v, true);
	for (i = 0; i < sizeof(op) / sizeof(op[0]); i++)
		assert_int_equal(drv_simple(&v, op[i], 0, NULL), CX_BAD_OP);
	assert_int_equal(cx_stats(v.dev->cx)->cmd_unknown, i);
	rig_free(v.rig);
	assert_int_equal(create_uctx(card(&v, false), &uid), CX_BAD_OP);
	rig_free(v.rig);
}

/* Keys of no memory have numbers that no region has, and reach nothing. */
static void special_keys(void **state)
{
	uint8_t in[CX_BYTES(query_special_contexts_in)] = { 0 };
	uint8_t out[CX_BYTES(query_special_contexts_out)];
	uint32_t dump, null;
	struct drv v;

	(void)state;
	card(&v, true);
	CX_SET(query_special_contexts_in, in, opcode,
	       MLX5_CMD_OP_QUERY_SPECIAL_CONTEXTS);
	ok(drv_exec(&v, in, sizeof(in), out, sizeof(out)));
	dump = CX_GET(query_special_contexts_out, out, dump_fill_mkey);
	null = CX_GET(query_special_contexts_out, out, null_mkey);
	assert_int_equal(CX_GET(query_special_contexts_out, out, resd_lkey), 0);
	assert_int_not_equal(dump, null);
	assert_int_equal(drv_simple(&v, MLX5_CMD_OP_DESTROY_MKEY, dump >> 8,
				    NULL), CX_BAD_RES);
	assert_int_equal(drv_simple(&v, MLX5_CMD_OP_DESTROY_MKEY, null >> 8,
				    NULL), CX_BAD_RES);
	rig_free(v.rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(comes_beside_what_the_model_does),
		cmocka_unit_test(has_types_of_its_own),
		cmocka_unit_test(an_ordinary_one_has_none_of_it),
		cmocka_unit_test(comes_up_without_a_failed_command),
		cmocka_unit_test(what_is_announced_alone_fails),
		cmocka_unit_test(special_keys),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
