// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Multicast attachments: by GID and LID to the guest, by GID to the HCA.
 */
#include <errno.h>

#include "tests/fake/guest.h"

#define LID	0xc001

/* Its other port has Ethernet: ib_core takes any LID for a QP that has no port yet. */
static int setup_infiniband(void **state)
{
	struct guest *g;
	int r = guest_setup(state);

	g = *state;
	be_dev_close(&g->dev);
	fake_hca.infiniband = 1;
	fake_hca.ports = 2;
	return r ? r : be_dev_open(&g->dev);
}

static int mcast(struct guest *g, uint16_t op, uint32_t qp, uint16_t lid, uint8_t last)
{
	g->req.u.mcast = (struct xenvhca_mcast_req){
		.qp = qp, .mlid = lid, .gid = { [0] = 0xff, [15] = last },
	};
	return guest_cmd(g, op);
}

static int attach(struct guest *g, uint32_t qp, uint16_t lid, uint8_t last)
{
	return mcast(g, XENVHCA_OP_ATTACH_MCAST, qp, lid, last);
}

static int detach(struct guest *g, uint32_t qp, uint16_t lid, uint8_t last)
{
	return mcast(g, XENVHCA_OP_DETACH_MCAST, qp, lid, last);
}

static void attaches_multicast(void **state)
{
	struct guest *g = *state;
	uint32_t ud;

	guest_open(g);
	g->dev.quota.max[BE_MCAST] = 2;
	ud = guest_create_qp(g, 4);
	assert_int_equal(attach(g, g->qp, LID, 1), -EINVAL);
	assert_int_equal(attach(g, ud, LID, 1), 0);
	assert_int_equal(attach(g, ud, LID, 1), 0);
	assert_int_equal(attach(g, ud, LID, 2), 0);
	assert_int_equal(attach(g, ud, LID, 3), -ENOMEM);
	assert_int_equal(guest_handle(g, XENVHCA_OP_DESTROY_QP, ud), -EBUSY);
	assert_int_equal(detach(g, ud, LID, 1), 0);
	assert_int_equal(detach(g, ud, LID, 1), -EINVAL);
	assert_int_equal(detach(g, ud, LID, 2), 0);
	assert_int_equal(guest_handle(g, XENVHCA_OP_DESTROY_QP, ud), 0);
	ud = guest_create_qp(g, 4);	/* left to the end of the context */
	assert_int_equal(attach(g, ud, LID, 9), 0);
}

/*
 * The drivers attach one GID with two LIDs once, and ib_core counts two: the queue pair
 * could never be destroyed.
 */
static void a_group_is_its_gid(void **state)
{
	struct guest *g = *state;
	const struct fake_obj *qp;
	uint32_t ud;

	guest_open(g);
	ud = guest_create_qp(g, 4);
	qp = fake_nth(FAKE_QP, 1);
	assert_int_equal(attach(g, ud, LID, 1), 0);
	assert_int_equal(attach(g, ud, LID + 1, 1), 0);
	assert_int_equal(qp->mcast, 1);
	assert_int_equal(g->dev.quota.used[BE_MCAST], 2);
	assert_int_equal(detach(g, ud, LID + 2, 1), -EINVAL);
	assert_int_equal(detach(g, ud, LID, 1), 0);
	assert_int_equal(detach(g, ud, LID, 1), -EINVAL);
	assert_int_equal(qp->mcast, 1);
	assert_int_equal(attach(g, ud, LID + 3, 1), 0);	/* the kernel's is LID still */
	assert_int_equal(detach(g, ud, LID + 1, 1), 0);
	assert_int_equal(qp->mcast, 1);
	assert_int_equal(detach(g, ud, LID + 3, 1), 0);
	assert_int_equal(qp->mcast, 0);
	assert_int_equal(g->dev.quota.used[BE_MCAST], 0);
	assert_int_equal(attach(g, ud, LID + 3, 1), 0);
	assert_int_equal(detach(g, ud, LID + 3, 1), 0);
	assert_int_equal(guest_handle(g, XENVHCA_OP_DESTROY_QP, ud), 0);
}

/* Another queue pair's attachment of the same GID is the HCA's own. */
static void two_queue_pairs_share_nothing(void **state)
{
	struct guest *g = *state;
	uint32_t a, b;

	guest_open(g);
	a = guest_create_qp(g, 4);
	b = guest_create_qp(g, 4);
	assert_int_equal(attach(g, a, LID, 1), 0);
	assert_int_equal(attach(g, b, LID + 1, 1), 0);
	assert_int_equal(fake_nth(FAKE_QP, 1)->mcast, 1);
	assert_int_equal(fake_nth(FAKE_QP, 2)->mcast, 1);
	assert_int_equal(detach(g, a, LID, 1), 0);
	assert_int_equal(fake_nth(FAKE_QP, 2)->mcast, 1);
	assert_int_equal(detach(g, b, LID + 1, 1), 0);
}

/* A group's places are few, and all guests' and the backend domain's. */
static void a_device_has_few_places_of_a_group(void **state)
{
	uint32_t ud[BE_GROUP_QPS + 1];
	struct guest *g = *state;
	unsigned int i;

	guest_open(g);
	for (i = 0; i <= BE_GROUP_QPS; i++)
		ud[i] = guest_create_qp(g, 4);
	for (i = 0; i < BE_GROUP_QPS; i++)
		assert_int_equal(attach(g, ud[i], LID, 1), 0);
	assert_int_equal(attach(g, ud[i], LID, 1), -ENOMEM);
	assert_int_equal(attach(g, ud[0], LID + 1, 1), -ENOMEM);
	assert_int_equal(attach(g, ud[0], LID, 1), 0);		/* it has this one */
	assert_int_equal(attach(g, ud[i], LID, 2), 0);		/* another group */
	assert_int_equal(detach(g, ud[0], LID, 1), 0);
	assert_int_equal(attach(g, ud[i], LID, 1), 0);
	assert_int_equal(guest_cmd(g, XENVHCA_OP_QUERY_DEVICE), 0);
	assert_int_equal(g->rsp.u.query_device.max_mcast_qp_attach, BE_GROUP_QPS);
}

/* What the guest leaves, the end of the context detaches: teardown finds no violation. */
static void two_lids_are_left_to_the_end(void **state)
{
	struct guest *g = *state;
	uint32_t ud;

	guest_open(g);
	ud = guest_create_qp(g, 4);
	assert_int_equal(attach(g, ud, LID, 1), 0);
	assert_int_equal(attach(g, ud, LID + 1, 1), 0);
	guest_close(g);
	assert_int_equal(fake_live(FAKE_QP), 0);
}

static void a_lid_is_of_multicast(void **state)
{
	static const uint16_t bad[] = { 0, 1, 0xbfff, 0xffff };
	struct guest *g = *state;
	uint32_t ud;
	size_t i;

	guest_open(g);
	ud = guest_create_qp(g, 4);
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(attach(g, ud, bad[i], 1), -EINVAL);
		assert_int_equal(detach(g, ud, bad[i], 1), -EINVAL);
	}
	assert_int_equal(attach(g, ud, 0xc000, 1), 0);
	assert_int_equal(attach(g, ud, 0xfffe, 2), 0);
	assert_int_equal(attach(g, ud, 0xffff, 2), -EINVAL);
	assert_int_equal(detach(g, ud, 0xc000, 1), 0);
	assert_int_equal(detach(g, ud, 0xfffe, 2), 0);
}

static void ethernet_takes_any_lid(void **state)
{
	struct guest *g = *state;
	uint32_t ud;

	guest_open(g);
	ud = guest_create_qp(g, 4);
	assert_int_equal(attach(g, ud, 0, 1), 0);
	assert_int_equal(attach(g, ud, 0xffff, 1), 0);
	assert_int_equal(detach(g, ud, 0, 1), 0);
	assert_int_equal(detach(g, ud, 0xffff, 1), 0);
}

int main(void)
{
#define ON(setup, f) cmocka_unit_test_setup_teardown(f, setup, guest_teardown)
	const struct CMUnitTest tests[] = {
		ON(guest_setup, attaches_multicast),
		ON(setup_infiniband, attaches_multicast),
		ON(guest_setup, a_group_is_its_gid),
		ON(setup_infiniband, a_group_is_its_gid),
		ON(setup_infiniband, two_queue_pairs_share_nothing),
		ON(guest_setup, a_device_has_few_places_of_a_group),
		ON(setup_infiniband, a_device_has_few_places_of_a_group),
		ON(guest_setup, two_lids_are_left_to_the_end),
		ON(setup_infiniband, two_lids_are_left_to_the_end),
		ON(setup_infiniband, a_lid_is_of_multicast),
		ON(guest_setup, ethernet_takes_any_lid),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
