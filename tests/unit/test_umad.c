// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Management datagrams: what a guest may send with umad=query and all, transaction ids
 * as the guest has them, lengths, and long answers in parts.
 */
#include "test_umad.h"

static void without_the_key_there_is_none(void **state)
{
	guest_setup(state);
	g = *state;
	assert_false(g->dev.info.flags & XENVHCA_INFO_UMAD);
	assert_int_equal(guest_cmd(g, XENVHCA_OP_ALLOC_UMAD), -EOPNOTSUPP);
	guest_teardown(state);
}

static void a_guest_asks_and_hears_the_answer(void **state)
{
	struct fake_mad sent;

	(void)state;
	assert_true(g->dev.info.flags & XENVHCA_INFO_UMAD);
	assert_int_equal(sends(SA, GET_TABLE, 0x1122334455667788), 0);
	sent = fake_umad_sent(0);
	assert_int_equal(sent.len, BE_MAD_SIZE);
	assert_memory_equal(sent.mad + 12, mad + 12, BE_MAD_SIZE - 12);
	assert_int_equal(fetch(), 0);
	assert_true(fake_umad_answer(&sent, BE_MAD_SIZE));
	assert_int_equal(fetch(), XENVHCA_UMAD_SEND_MAX);
	assert_int_equal(mad[3], GET_TABLE | 0x80);
	assert_int_equal(hdr.id, agent);
	assert_int_equal(hdr.status, 0);
	assert_false(g->rsp.u.recv_umad.events);
	assert_int_equal(fetch(), 0);
}

/* The kernel's number of an agent is on the wire, and nowhere else. */

static void a_transaction_id_comes_back_as_it_was(void **state)
{
	uint64_t tid = 0x1122334455667788;
	struct fake_mad sent;

	(void)state;
	assert_int_equal(sends(SA, GET, tid), 0);
	sent = fake_umad_sent(0);
	assert_true(tid_of(sent.mad) != tid);
	assert_int_equal((uint32_t)tid_of(sent.mad), 0x55667788);
	assert_true(fake_umad_answer(&sent, BE_MAD_SIZE));
	assert_true(fetch() != 0);
	assert_true(tid_of(mad) == tid);
	assert_int_equal(sends(SA, GET, tid), 0);
	sent = fake_umad_sent(0);
	assert_true(fake_umad_timeout(&sent));
	assert_int_equal(fetch(), BE_UMAD_HEAD + BE_MAD_HEAD);
	assert_int_equal(hdr.status, ETIMEDOUT);
	assert_true(tid_of(mad) == tid);
}

static void one_transaction_id_twice_never_meets(void **state)
{
	uint32_t first = umad, second_agent = new_agent();
	struct fake_mad sent[3];

	(void)state;
	assert_int_equal(sends(SA, GET, 0xa00000007), 0);
	sent[0] = fake_umad_sent(0);
	assert_int_equal(sends(SA, GET, 0xb00000007), -EINVAL);
	prepare(SA, GET, 0xc00000007);
	hdr.id = second_agent;
	assert_int_equal(send_it(), 0);
	sent[1] = fake_umad_sent(0);
	umad = file();
	agent = new_agent();
	assert_int_equal(sends(SA, GET, 0xd00000007), 0);
	sent[2] = fake_umad_sent(0);
	assert_true(fake_umad_answer(&sent[2], BE_MAD_SIZE));
	assert_true(fake_umad_answer(&sent[1], BE_MAD_SIZE));
	assert_true(fake_umad_answer(&sent[0], BE_MAD_SIZE));
	assert_true(fetch() != 0);
	assert_true(tid_of(mad) == 0xd00000007);
	assert_int_equal(fetch(), 0);
	umad = first;
	assert_true(fetch() != 0);
	assert_true(tid_of(mad) == 0xc00000007);
	assert_int_equal(hdr.id, second_agent);
	assert_true(fetch() != 0);
	assert_true(tid_of(mad) == 0xa00000007);
}

static void query_changes_nothing(void **state)
{
	static const struct { uint8_t class, method; int rc; } row[] = {
		{ SA, GET, 0 }, { SA, GET_TABLE, 0 }, { SA, SET, -EPERM },
		{ SA, DELETE, -EPERM }, { SA, 0x14, -EPERM },
		{ SA, 0x13, -EPERM }, { SA, GET | 0x80, -EPERM },
		{ SA, 7, -EPERM }, { SA, TRAP, -EPERM }, { SA, 0, -EPERM },
		{ PERF, GET, 0 }, { PERF, SET, -EPERM },
		{ PERF, GET_TABLE, -EPERM }, { PING, GET, 0 },
		{ PING, SET, -EPERM }, { PING, GET | 0x80, -EPERM },
		{ 0x01, GET, -EPERM }, { 0x81, GET, -EPERM },
		{ 0x01, SET, -EPERM }, { 0x05, GET, -EPERM },
		{ 0x06, GET, -EPERM }, { 0x07, 3, -EPERM },
		{ 0x08, GET, -EPERM }, { 0x09, GET, -EPERM },
		{ 0x30, GET, -EPERM }, { 0x0a, GET, -EPERM }, { 0, GET, -EPERM },
	};
	unsigned int i, n = 0;

	(void)state;
	for (i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		assert_int_equal(sends(row[i].class, row[i].method, i),
				 row[i].rc);
		n += !row[i].rc;
	}
	assert_int_equal(fake_umad_sends(), n);
	g->dev.umad = BE_UMAD_ALL;
	for (i = 0; i < sizeof(row) / sizeof(row[0]); i++)
		assert_int_equal(sends(row[i].class, row[i].method, 100 + i),
				 0);
}

static int with(size_t at, uint8_t value, uint8_t class)
{
	prepare(class, GET, at);
	mad[at] = value;
	return send_it();
}

static void query_reaches_managers_only(void **state)
{
	unsigned int i;

	(void)state;
	for (i = 36; i < 44; i++)
		assert_int_equal(with(i, 1, SA), -EPERM);	/* SM_Key */
	assert_int_equal(with(44, 1, SA), 0);
	assert_int_equal(with(26, 1, SA), -EPERM);	/* part of something */
	assert_int_equal(with(25, 1, SA), -EPERM);
	assert_int_equal(with(26, 1, PERF), 0);		/* no such header */
	assert_int_equal(with(0, 0x80, SA), -EPERM);
	assert_int_equal(with(38, 0x15, PING), -EPERM);	/* another vendor */
	prepare(SA, GET, 1);
	hdr.qpn = htonl(0x17);
	assert_int_equal(send_it(), -EPERM);
	prepare(SA, GET, 1);
	hdr.qkey = htonl(0x11111111);
	assert_int_equal(send_it(), -EPERM);
	/* A key that is not sent is none. */
	prepare(SA, GET, 1);
	memset(mad + 36, 0xff, 8);
	load(BE_UMAD_HEAD + 36);
	assert_int_equal(guest_cmd(g, XENVHCA_OP_SEND_UMAD), 0);
	assert_int_equal(fake_umad_sent(0).len, 36);
}

static void nobody_listens_without_all(void **state)
{
	struct fake_mad sent;

	(void)state;
	assert_int_equal(registers(1, PING, 2), -EPERM);
	g->req.u.register_umad.method_mask[1] = 1;
	g->req.u.register_umad.umad = umad;
	assert_int_equal(guest_cmd(g, XENVHCA_OP_REGISTER_UMAD), -EPERM);
	g->dev.umad = BE_UMAD_ALL;
	assert_int_equal(registers(1, PING, 2), 0);
	agent = g->rsp.u.register_umad.id;
	assert_int_equal(sends(PING, GET | 0x80, 5), 0);
	sent = fake_umad_sent(0);
	assert_true(tid_of(sent.mad) == 5);	/* the asker's */
	fake_umad_request(&sent, 0);
	assert_true(fetch() != 0);
	assert_int_equal(mad[3], GET);
	assert_true(tid_of(mad) == 5);
}

/* Queue pair 0 is the subnet manager's: what it sends goes before all others. */
static void queue_pair_0_sends_nothing(void **state)
{
	uint32_t other = agent;

	(void)state;
	assert_int_equal(registers(0, 0x01, 0), 0);	/* programs open one */
	agent = g->rsp.u.register_umad.id;
	assert_int_equal(sends(SA, GET, 5), -EPERM);
	assert_int_equal(sends(PERF, GET, 6), -EPERM);
	assert_int_equal(fake_umad_sends(), 0);
	assert_int_equal(unregister(agent), 0);
	agent = new_agent();			/* the kernel reuses numbers */
	assert_int_equal(sends(SA, GET, 7), 0);
	assert_int_equal(registers(0, 0x01, 0), 0);
	agent = g->rsp.u.register_umad.id;
	g->dev.umad = BE_UMAD_ALL;
	assert_int_equal(sends(SA, GET, 8), 0);
	agent = other;
}

static int hostile(size_t at, uint32_t value, size_t n)
{
	prepare(SA, GET, 99);
	load(XENVHCA_UMAD_SEND_MAX);
	memcpy((uint8_t *)&g->req + at, &value, n);
	return guest_cmd(g, XENVHCA_OP_SEND_UMAD);
}

#define FIELD(f) offsetof(struct xenvhca_request, f)

static void lengths_are_checked(void **state)
{
	static const uint16_t bad[] = {
		0, 1, 64, 87, 319, 321, 488, 0x7fff, 0xffff
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(hostile(FIELD(u.send_umad.len), bad[i], 2),
				 -EINVAL);
	assert_int_equal(hostile(FIELD(in_len), 89, 2), -EINVAL);
	assert_int_equal(hostile(FIELD(in_len), 87, 2), -EINVAL);
	assert_int_equal(hostile(FIELD(out_len), 1, 2), -EINVAL);
	assert_int_equal(hostile(FIELD(u.send_umad.reserved), 1, 2), -EINVAL);
	assert_int_equal(hostile(FIELD(u.send_umad.packet[4]), 1, 4), -EINVAL);
	assert_int_equal(hostile(FIELD(u.send_umad.packet[16]), 1, 4),
			 -EINVAL);
	assert_int_equal(hostile(FIELD(u.send_umad.packet[58]), 1, 1),
			 -EINVAL);
	assert_int_equal(hostile(FIELD(u.send_umad.packet[0]), 1, 4), -EIO);
	assert_int_equal(hostile(FIELD(u.send_umad.packet[0]), 32, 4), -EIO);
	assert_int_equal(hostile(FIELD(u.send_umad.packet[0]), ~0u, 4), -EIO);
	assert_int_equal(hostile(FIELD(u.send_umad.umad), 7, 4), -ENOENT);
	/* Zeros behind a short one. */
	prepare(SA, GET, 99);
	load(BE_UMAD_HEAD + BE_MAD_HEAD);
	g->req.u.send_umad.packet[BE_UMAD_HEAD + BE_MAD_HEAD] = 1;
	assert_int_equal(guest_cmd(g, XENVHCA_OP_SEND_UMAD), -EINVAL);
	assert_int_equal(fake_umad_sends(), 0);
	g->req.u.recv_umad.umad = umad;
	assert_int_equal(guest_cmd(g, XENVHCA_OP_RECV_UMAD), -EINVAL);
	assert_int_equal(part(1), -EINVAL);
	assert_int_equal(part(~0u), -EINVAL);
}

/* The kernel would write in front of what it allocated for it. */
static void no_part_ends_within_its_header(void **state)
{
	uint16_t len;

	(void)state;
	g->dev.umad = BE_UMAD_ALL;
	for (len = BE_MAD_HEAD + 12; len < 64; len++) {
		prepare(SA, GET, len);
		mad[26] = 1;
		load(BE_UMAD_HEAD + len);
		assert_int_equal(guest_cmd(g, XENVHCA_OP_SEND_UMAD), -EINVAL);
	}
	assert_int_equal(fake_umad_sends(), 0);
	prepare(SA, GET, len);
	mad[26] = 1;
	load(BE_UMAD_HEAD + len);
	assert_int_equal(guest_cmd(g, XENVHCA_OP_SEND_UMAD), 0);
}

static void long_answers_come_in_parts(void **state)
{
	static const size_t len[] = {
		257, SLOT - 64, SLOT - 63, 2 * SLOT - 64, 100000,
		XENVHCA_UMAD_RECV_MAX - BE_UMAD_HEAD
	};
	struct fake_mad sent;
	size_t i, j;

	(void)state;
	for (i = 0; i < sizeof(len) / sizeof(len[0]); i++) {
		assert_int_equal(sends(SA, GET_TABLE, i << 32 | 5), 0);
		sent = fake_umad_sent(0);
		assert_true(fake_umad_answer(&sent, len[i]));
		if (len[i] > 2 * SLOT)		/* in any order */
			assert_int_equal(part(SLOT / 2), 0);
		assert_int_equal(part((uint32_t)(len[i] + BE_UMAD_HEAD)),
				 -EINVAL);
		assert_int_equal(fetch(), len[i] + BE_UMAD_HEAD);
		assert_true(tid_of(mad) == (i << 32 | 5));
		for (j = BE_MAD_SIZE; j < len[i]; j++)
			assert_int_equal(got[BE_UMAD_HEAD + j],
					 (uint8_t)(j * 7));
		assert_int_equal(fetch(), 0);
	}
}

/* Whatever waits: an answer that did not come, or one that was not fetched. */

static void partitions_are_the_guests(void **state)
{
	struct fake_mad sent;

	(void)state;
	fake_sysfs_put(FAKE_HCA "ports/1/pkeys/1", "0x8001");
	g->dev.pkey_tbl_len = 2;
	g->dev.addr.n_pkeys = 1;
	g->dev.addr.pkey[0] = 0x8001;
	prepare(SA, GET, 1);
	assert_int_equal(send_it(), 0);
	sent = fake_umad_sent(0);
	assert_int_equal(sent.hdr.pkey_index, 1);
	assert_true(fake_umad_answer(&sent, BE_MAD_SIZE));
	assert_true(fetch() != 0);
	assert_int_equal(hdr.pkey_index, 0);
	prepare(SA, GET, 1);
	hdr.pkey_index = 1;
	assert_int_equal(send_it(), -EINVAL);
	prepare(SA, GET, 1);
	hdr.grh_present = 1;
	hdr.gid_index = 255;
	g->dev.gid_tbl_len = 8;
	g->dev.ethernet = false;
	assert_int_equal(send_it(), -EINVAL);
}

/* The kernel would resolve it, for a second, in the thread of all commands. */
static void nobody_is_looked_for_on_ethernet(void **state)
{
	(void)state;
	assert_true(g->dev.ethernet);
	g->dev.gid_tbl_len = 8;
	prepare(SA, GET, 1);
	hdr.grh_present = 1;
	assert_int_equal(send_it(), -EOPNOTSUPP);
	g->dev.ethernet = false;
	assert_int_equal(send_it(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_the_key_there_is_none),
		TEST(a_guest_asks_and_hears_the_answer),
		TEST(a_transaction_id_comes_back_as_it_was),
		TEST(one_transaction_id_twice_never_meets),
		TEST(query_changes_nothing),
		TEST(query_reaches_managers_only),
		TEST(nobody_listens_without_all),
		TEST(queue_pair_0_sends_nothing),
		TEST(lengths_are_checked),
		TEST(no_part_ends_within_its_header),
		TEST(long_answers_come_in_parts),
		TEST(partitions_are_the_guests),
		TEST(nobody_is_looked_for_on_ethernet),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
