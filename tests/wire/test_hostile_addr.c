// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * A guest with addresses and P_Keys of its own: entries of the port's tables that
 * are another's, in every command that carries an index, and while the tables
 * change. Nothing of it reaches the kernel.
 */
#include <errno.h>
#include <netinet/in.h>
#include <rdma/ib_user_verbs.h>

#include "wire.h"
#include "core/ib_core.h"
#include "verbs/tables.h"

#define OWN	6		/* index of the guest's GID for RoCE v2, */
#define OWN_V1	4		/* of the same one for RoCE v1, and */
#define OTHERS	8		/* of one that is not */
#define EMPTY	9
#define LEN	24

static const uint8_t own[16] = { [10] = 0xff, 0xff, 192, 0, 2, 7 },
		     others[16] = { [10] = 0xff, 0xff, 192, 0, 2, 8 };

/* As worker/conf.c does; what the HCA tells of flags is read anew. */
static void own_things(struct wire *w, const char *ip, const char *pkeys)
{
	struct be_addr *a = &w->dev.addr;
	int n;

	memset(a, 0, sizeof(*a));
	n = ip ? host_addrs_parse(ip, a->ip) : 0;
	assert_true(n >= 0);
	a->n_ips = (unsigned int)n;
	n = pkeys ? host_pkeys_parse(pkeys, a->pkey) : 0;
	assert_true(n >= 0);
	a->n_pkeys = (unsigned int)n;
}

static int addr_setup(void **state)
{
	struct world *w;

	if (world_setup(state))
		return -1;
	w = *state;
	own_things(&w->a, "192.0.2.7/24", NULL);
	fake_gid(OWN, own);
	fake_gid(OTHERS, others);
	return 0;
}

static int addr_teardown(void **state)
{
	static const uint8_t first[16] = { 0xfe, 0x80, [8] = 2, [15] = 1 };

	fake_before(0, NULL);
	fake_gid(OWN, first);
	fake_gid(OWN_V1, first);
	fake_gid(OTHERS, first);
	fake_gid(EMPTY, NULL);
	return world_teardown(state);
}

static int create_ah(struct world *w, uint8_t index, bool global)
{
	struct xenvhca_request r;

	assert_true(wire_good(&w->c, XENVHCA_OP_CREATE_AH, &r));
	r.u.create_ah.attr.sgid_index = index;
	r.u.create_ah.attr.is_global = global;
	return wire_call(&w->a, &r);
}

/* Primary and alternate path, each with its own index. */
static int modify(struct world *w, uint8_t index, uint8_t alt)
{
	struct xenvhca_request r;

	assert_true(wire_good(&w->c, XENVHCA_OP_MODIFY_QP, &r));
	r.u.modify_qp.attr.mask |= IB_QP_ALT_PATH;
	r.u.modify_qp.attr.alt_port_num = 1;
	r.u.modify_qp.attr.ah.sgid_index = index;
	r.u.modify_qp.attr.alt_ah = r.u.modify_qp.attr.ah;
	r.u.modify_qp.attr.alt_ah.sgid_index = alt;
	return wire_call(&w->a, &r);
}

static void only_own_gids_are_in_the_table(void **state)
{
	struct world *w = *state;
	struct xenvhca_request r = wire_req(XENVHCA_OP_QUERY_GID_TABLE, 0);
	struct xenvhca_query_gid_table_rsp *t =
		&w->a.rsp.u.query_gid_table;
	unsigned int i;

	assert_int_equal(wire_call(&w->a, &r), 0);
	assert_int_equal(t->count, 2);
	assert_int_equal(t->next, 0);
	assert_int_equal(t->gid[0].index, 0);	/* which programs use by default */
	assert_int_equal(t->gid[1].index, OWN);
	for (i = 0; i < 2; i++) {
		assert_int_equal(t->gid[i].type, 2);
		assert_memory_equal(t->gid[i].gid, own, 16);
	}
	/* The other guest was given nothing of its own: it sees all. */
	r = wire_req(XENVHCA_OP_QUERY_GID_TABLE, 0);
	assert_int_equal(wire_call(&w->b, &r), 0);
	assert_int_equal(w->b.rsp.u.query_gid_table.count, 8);
	assert_true(w->b.rsp.u.query_gid_table.next);
}

/* An HCA with both versions of RoCE has two entries for each address. */
static void an_address_has_an_entry_for_each_version(void **state)
{
	struct world *w = *state;
	struct xenvhca_request r = wire_req(XENVHCA_OP_QUERY_GID_TABLE, 0);
	struct xenvhca_query_gid_table_rsp *t =
		&w->a.rsp.u.query_gid_table;
	unsigned int i;

	fake_gid(OWN_V1, own);
	assert_int_equal(wire_call(&w->a, &r), 0);
	assert_int_equal(t->count, 3);
	assert_int_equal(t->gid[0].index, 0);
	for (i = 0; i < 2; i++) {
		assert_int_equal(t->gid[1 + i].index, i ? OWN : OWN_V1);
		assert_int_equal(t->gid[1 + i].type, 1 + i);
		assert_memory_equal(t->gid[1 + i].gid, own, 16);
	}
	for (i = OWN_V1; i <= OWN; i += OWN - OWN_V1) {
		assert_int_equal(create_ah(w, (uint8_t)i, true), 0);
		assert_int_equal(modify(w, (uint8_t)i, OWN), 0);
		assert_int_equal(fake_nth(FAKE_QP, 0)->sgid_index, i);
	}
	assert_true(be_gids_changed(&w->a.dev));
	fake_gid(OWN_V1, NULL);			/* of one version only */
	assert_true(be_gids_changed(&w->a.dev));
	assert_int_equal(create_ah(w, OWN_V1, true), -ENODATA);
}

static void what_changes_of_others_is_not_told(void **state)
{
	struct world *w = *state;
	struct be_dev *dev = &w->a.dev;

	assert_true(be_gids_changed(dev));	/* nobody knew */
	assert_false(be_gids_changed(dev));
	fake_gid(OTHERS, NULL);
	fake_gid(EMPTY, others);
	assert_false(be_gids_changed(dev));
	fake_gid(OWN, NULL);
	assert_true(be_gids_changed(dev));
	assert_false(be_gids_changed(dev));
	fake_gid(OTHERS, own);			/* back at another index */
	assert_true(be_gids_changed(dev));
	assert_false(be_gids_changed(dev));
	fake_unplug(true);
	assert_true(be_gids_changed(dev));
	fake_unplug(false);
	assert_true(be_gids_changed(&w->b.dev));
	assert_true(be_gids_changed(&w->b.dev));
}

static void an_address_vector_has_an_own_gid(void **state)
{
	struct world *w = *state;
	unsigned int i, ahs = fake_live(FAKE_AH);
	int want;

	assert_int_equal(create_ah(w, OWN, true), 0);
	assert_int_equal(modify(w, OWN, OWN), 0);
	for (i = 1; i < 256; i++) {
		if (i == OWN)
			continue;
		want = i < LEN ? -ENODATA : -EINVAL;
		assert_int_equal(create_ah(w, (uint8_t)i, true), want);
		assert_int_equal(modify(w, (uint8_t)i, OWN), want);
		assert_int_equal(modify(w, OWN, (uint8_t)i), want);
	}
	assert_int_equal(fake_live(FAKE_AH), ahs + 1);
	assert_int_equal(fake_nth(FAKE_QP, 0)->sgid_index, OWN);
	assert_int_equal(fake_nth(FAKE_QP, 0)->alt_sgid_index, OWN);
	assert_int_equal(fake_nth(FAKE_QP, 0)->qp_state, 1);
	world_bystander(w);
}

static void index_0_is_the_first_gid(void **state)
{
	struct world *w = *state;
	const struct vhca_provider *rxe = w->a.dev.prov;
	struct vhca_provider hca = *rxe;

	fake_gid(OWN + 1, own);
	assert_int_equal(create_ah(w, 0, true), 0);
	assert_int_equal(fake_nth(FAKE_AH, fake_live(FAKE_AH) - 1)->sgid_index, OWN);
	assert_int_equal(modify(w, 0, OWN + 1), 0);
	assert_int_equal(fake_nth(FAKE_QP, 0)->sgid_index, OWN);
	assert_int_equal(fake_nth(FAKE_QP, 0)->alt_sgid_index, OWN + 1);
	/* A datagram of another HCA would carry index 0 itself. */
	hca.trusts = 0;
	w->a.dev.prov = &hca;
	assert_int_equal(create_ah(w, 0, true), -ENODATA);
	w->a.dev.prov = rxe;
	fake_gid(OWN, NULL);
	assert_int_equal(modify(w, OWN + 1, 0), 0);
	assert_int_equal(fake_nth(FAKE_QP, 0)->alt_sgid_index, OWN + 1);
	fake_gid(OWN + 1, NULL);
	assert_int_equal(modify(w, 0, 0), -ENODATA);
	assert_int_equal(create_ah(w, 0, true), -ENODATA);
	world_bystander(w);
}

static void the_address_moves_away(void)
{
	fake_gid(OWN, others);
}

static void the_address_moves_away_to(void)
{
	fake_gid(OWN, NULL);
	fake_gid(EMPTY, own);
}

/* The entry becomes another's between the check and the kernel's look at it. */
static void a_race_leaves_nothing_that_sends(void **state)
{
	struct world *w = *state;
	unsigned int ahs = fake_live(FAKE_AH);

	fake_before(IB_USER_VERBS_CMD_CREATE_AH, the_address_moves_away);
	assert_int_equal(create_ah(w, OWN, true), -ENODATA);
	assert_int_equal(fake_live(FAKE_AH), ahs);
	fake_gid(OWN, own);
	fake_before(IB_USER_VERBS_CMD_MODIFY_QP, the_address_moves_away);
	assert_int_equal(modify(w, OWN, OWN), -ENODATA);
	assert_int_equal(fake_nth(FAKE_QP, 0)->qp_state, IB_QPS_ERR);
	fake_gid(OWN, own);
	fake_before(IB_USER_VERBS_CMD_MODIFY_QP, the_address_moves_away_to);
	assert_int_equal(modify(w, OWN, OWN), -ENODATA);
	fake_before(0, NULL);
	assert_int_equal(modify(w, EMPTY, EMPTY), 0);
	assert_false(w->a.dev.fault);
	world_bystander(w);
}

/* Then the device is closed, which ends the queue pair, too. */
static void error_refuses(void)
{
	static int n;

	the_address_moves_away();
	if (n++)
		fake_fail(IB_USER_VERBS_CMD_MODIFY_QP, 1, 22);
}

static void a_queue_pair_that_cannot_be_stopped_ends(void **state)
{
	struct world *w = *state;
	struct xenvhca_request r;

	fake_before(IB_USER_VERBS_CMD_MODIFY_QP, error_refuses);
	assert_true(wire_good(&w->c, XENVHCA_OP_MODIFY_QP, &r));
	r.u.modify_qp.attr.ah.sgid_index = OWN;
	r.id = w->a.next_id++;
	assert_int_equal(loop_put_request(w->a.loop, &r), 0);
	wire_run(&w->a);
	assert_true(w->a.dev.fault);
	fake_before(0, NULL);
	world_bystander(w);
}

static int set_pkey(struct world *w, uint16_t index, uint16_t alt)
{
	struct xenvhca_request r;

	assert_true(wire_good(&w->c, XENVHCA_OP_MODIFY_QP, &r));
	r.u.modify_qp.attr.mask = IB_QP_PKEY_INDEX | IB_QP_ALT_PATH;
	r.u.modify_qp.attr.pkey_index = index;
	r.u.modify_qp.attr.alt_pkey_index = alt;
	r.u.modify_qp.attr.alt_port_num = 1;
	r.u.modify_qp.attr.alt_ah = r.u.modify_qp.attr.ah;
	r.u.modify_qp.attr.alt_ah.sgid_index = OWN;
	return wire_call(&w->a, &r);
}

static uint16_t shown_pkey(struct world *w)
{
	struct xenvhca_request r;

	assert_true(wire_good(&w->c, XENVHCA_OP_QUERY_QP, &r));
	assert_int_equal(wire_call(&w->a, &r), 0);
	return w->a.rsp.u.query_qp.attr.pkey_index;
}

static void pkeys_have_indices_of_their_own(void **state)
{
	struct world *w = *state;
	struct xenvhca_request r = wire_req(XENVHCA_OP_QUERY_PKEY_TABLE, 0);
	const uint16_t *pkey = w->a.rsp.u.query_pkey_table.pkey;
	const struct fake_obj *qp = fake_nth(FAKE_QP, 0);
	uint32_t i;

	w->a.dev.pkey_tbl_len = 5;
	fake_pkey(1, 0x8001);
	fake_pkey(2, 0x0001);
	fake_pkey(3, 0x8002);
	fake_pkey(4, 0);
	own_things(&w->a, NULL, "0x8002 0x0001 0x8003");
	w->a.dev.addr.pkey[3] = 0x8001;		/* behind the end */
	assert_int_equal(wire_call(&w->a, &r), 0);
	assert_int_equal(w->a.rsp.u.query_pkey_table.count, 3);
	assert_int_equal(pkey[0], 0x8002);
	assert_int_equal(pkey[1], 0x0001);
	assert_int_equal(pkey[2], 0);		/* the port has no such one */

	assert_int_equal(set_pkey(w, 0, 1), 0);
	assert_int_equal(qp->pkey_index, 3);
	assert_int_equal(qp->alt_pkey_index, 2);
	assert_int_equal(shown_pkey(w), 0);
	for (i = 2; i < 65536; i += i < 8 ? 1 : 1021) {
		assert_int_equal(set_pkey(w, (uint16_t)i, 1), -EINVAL);
		assert_int_equal(set_pkey(w, 1, (uint16_t)i), -EINVAL);
	}
	assert_int_equal(qp->pkey_index, 3);
	/* The subnet manager moved them. */
	fake_pkey(3, 0x8001);
	fake_pkey(1, 0x8002);
	assert_int_equal(set_pkey(w, 0, 0), 0);
	assert_int_equal(qp->pkey_index, 1);
	fake_pkey(1, 0x8001);
	assert_int_equal(set_pkey(w, 0, 0), -EINVAL);
}

/* A P_Key that the port does not have is searched in the whole table. */
static void a_search_is_charged(void **state)
{
	struct world *w = *state;
	struct xenvhca_request r = wire_req(XENVHCA_OP_QUERY_PKEY_TABLE, 0);
	struct vl_bucket *cmd = &w->a.dev.quota.cmd;
	const int64_t s = 1000000000, full = 1000 * s;

	w->a.dev.pkey_tbl_len = 100;
	own_things(&w->a, NULL, "0x8002 0x8003");
	*cmd = (struct vl_bucket){ .rate = 1, .depth_ns = (uint64_t)full };
	assert_int_equal(wire_call(&w->a, &r), 0);
	assert_true(cmd->tokens_ns < full - 200 * s);
	assert_int_equal(set_pkey(w, 1, 1), -EINVAL);
	assert_true(cmd->tokens_ns < full - 300 * s);
	*cmd = (struct vl_bucket){};
}

/* What the HCA says is not what its port has, natively neither. */
static void the_device_has_as_many_pkeys_as_the_table(void **state)
{
	struct world *w = *state;
	struct xenvhca_request r = wire_req(XENVHCA_OP_QUERY_DEVICE, 0);

	own_things(&w->a, NULL, "0x8002 0x0001 0x8003");
	assert_int_equal(wire_call(&w->a, &r), 0);
	assert_int_equal(w->a.rsp.u.query_device.max_pkeys, 3);
	r = wire_req(XENVHCA_OP_QUERY_PORT, 0);
	assert_int_equal(wire_call(&w->a, &r), 0);
	assert_int_equal(w->a.rsp.u.query_port.pkey_tbl_len, 3);
	r = wire_req(XENVHCA_OP_QUERY_DEVICE, 0);
	assert_int_equal(wire_call(&w->b, &r), 0);
	assert_int_equal(w->b.rsp.u.query_device.max_pkeys, 64);
}

static void the_default_partition_has_two_kinds_of_members(void **state)
{
	struct world *w = *state;
	const struct fake_obj *qp = fake_nth(FAKE_QP, 0);

	w->a.dev.pkey_tbl_len = 2;
	fake_pkey(0, 0x8001);
	fake_pkey(1, 0x7fff);
	own_things(&w->a, "192.0.2.7", "0xffff");
	assert_int_equal(set_pkey(w, 0, 0), -EINVAL);
	w->a.dev.addr.default_pkey = true;
	assert_int_equal(set_pkey(w, 0, 0), 0);
	assert_int_equal(qp->pkey_index, 1);
	fake_pkey(0, 0xffff);
}

static void the_interface_of_rdma_cm(void **state)
{
	struct world *w = *state;
	struct sockaddr_storage sa;
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = 7 };
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6 };
	struct be_dev *dev = &w->a.dev;

	own_things(&w->a, "192.0.2.7/24 2001:db8::7 192.0.2.9", NULL);
	memcpy(&in.sin_addr, own + 12, 4);
	memcpy(&in6.sin6_addr, own, 16);
	assert_true(be_addr_given(dev) && !be_addr_given(&w->b.dev));
	assert_true(be_addr_own(dev, (void *)&in, sizeof(in)));
	assert_true(be_addr_own(dev, (void *)&in6, sizeof(in6)));
	assert_false(be_addr_own(&w->b.dev, (void *)&in, sizeof(in)));
	assert_false(be_addr_own(dev, (void *)&in, sizeof(in) - 1));
	assert_false(be_addr_own(dev, (void *)&in6, sizeof(in)));
	assert_false(be_addr_own(dev, (void *)&in, 0));
	in.sin_addr.s_addr = 0;
	memset(&in6.sin6_addr, 0, 16);
	assert_false(be_addr_own(dev, (void *)&in, sizeof(in)));
	assert_false(be_addr_own(dev, (void *)&in6, sizeof(in6)));

	assert_int_equal(be_addr_any(dev, AF_INET, &sa), sizeof(in));
	memcpy(&in, &sa, sizeof(in));
	assert_int_equal(in.sin_port, 0);
	assert_memory_equal(&in.sin_addr, own + 12, 4);
	assert_int_equal(be_addr_any(dev, AF_INET6, &sa), sizeof(in6));
	assert_true(be_addr_own(dev, (void *)&sa, sizeof(in6)));
	assert_int_equal(be_addr_any(dev, AF_UNIX, &sa), 0);
	assert_int_equal(be_addr_any(&w->b.dev, AF_INET, &sa), 0);
}

#define T(f) cmocka_unit_test_setup_teardown(f, addr_setup, addr_teardown)
int main(void)
{
	const struct CMUnitTest tests[] = {
		T(only_own_gids_are_in_the_table),
		T(an_address_has_an_entry_for_each_version),
		T(what_changes_of_others_is_not_told),
		T(an_address_vector_has_an_own_gid),
		T(index_0_is_the_first_gid),
		T(a_race_leaves_nothing_that_sends),
		T(a_queue_pair_that_cannot_be_stopped_ends),
		T(pkeys_have_indices_of_their_own),
		T(a_search_is_charged),
		T(the_device_has_as_many_pkeys_as_the_table),
		T(the_default_partition_has_two_kinds_of_members),
		T(the_interface_of_rdma_cm),
	};

	return cmocka_run_group_tests(tests, wire_group_setup,
				      wire_group_teardown);
}
