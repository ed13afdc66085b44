/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * A guest with umad=query, a file, and an agent in it: what the tests of management
 * datagrams share.
 */
#ifndef TEST_UMAD_H
#define TEST_UMAD_H

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "tests/fake/fake_priv.h"
#include "tests/fake/fake_umad.h"
#include "tests/fake/guest.h"
#include "verbs/umad.h"

#define SA		0x03
#define PERF		0x04
#define PING		0x32
#define GET		0x01
#define SET		0x02
#define TRAP		0x05
#define GET_TABLE	0x12
#define DELETE		0x15
#define SLOT		(XENVHCA_UMAD_BODY + XENVHCA_UDATA_SIZE)

static struct guest *g;
static uint32_t umad, agent;
static struct ib_user_mad_hdr hdr;
static uint8_t mad[BE_MAD_SIZE];
static uint8_t got[XENVHCA_UMAD_RECV_MAX];

static inline uint32_t file(void)
{
	assert_int_equal(guest_cmd(g, XENVHCA_OP_ALLOC_UMAD), 0);
	return g->rsp.u.handle.handle;
}

static inline int registers(uint32_t qpn, uint8_t class, uint64_t methods)
{
	g->req.u.register_umad = (struct xenvhca_register_umad_req){
		.umad = umad, .qpn = qpn, .mgmt_class = class,
		.mgmt_class_version = 1, .method_mask = { methods },
	};
	return guest_cmd(g, XENVHCA_OP_REGISTER_UMAD);
}

static inline uint32_t new_agent(void)
{
	assert_int_equal(registers(1, SA, 0), 0);
	return g->rsp.u.register_umad.id;
}

static inline int unregister(uint32_t id)
{
	g->req.u.unregister_umad.umad = umad;
	g->req.u.unregister_umad.id = id;
	return guest_cmd(g, XENVHCA_OP_UNREGISTER_UMAD);
}

/* The next datagram to be sent. */
static inline void prepare(uint8_t class, uint8_t method, uint64_t tid)
{
	unsigned int i;

	hdr = (struct ib_user_mad_hdr){
		.id = agent, .timeout_ms = 1000, .qpn = htonl(1),
		.qkey = htonl(0x80010000), .lid = htons(4),
	};
	memset(mad, 0, sizeof(mad));
	mad[0] = 1;
	mad[1] = class;
	mad[3] = method;
	for (i = 0; i < 8; i++)
		mad[15 - i] = (uint8_t)(tid >> 8 * i);
	if (class == PING)
		memcpy(mad + 37, "\0\x14\5", 3);
}

static inline void load(size_t len)
{
	struct xenvhca_send_umad_req *r = &g->req.u.send_umad;
	uint8_t packet[XENVHCA_UMAD_SEND_MAX];

	memcpy(packet, &hdr, sizeof(hdr));
	memcpy(packet + sizeof(hdr), mad, sizeof(mad));
	r->umad = umad;
	r->len = (uint16_t)len;
	memcpy(r->packet, packet, len < sizeof(r->packet) ? len :
	       sizeof(r->packet));
	if (len > sizeof(r->packet)) {
		g->req.in_len = (uint16_t)(len - sizeof(r->packet));
		memcpy(g->req.udata, packet + sizeof(r->packet),
		       g->req.in_len);
	}
}

static inline int send_it(void)
{
	load(XENVHCA_UMAD_SEND_MAX);
	return guest_cmd(g, XENVHCA_OP_SEND_UMAD);
}

static inline int sends(uint8_t class, uint8_t method, uint64_t tid)
{
	prepare(class, method, tid);
	return send_it();
}

static inline int part(uint32_t offset)
{
	g->req.u.recv_umad.umad = umad;
	g->req.u.recv_umad.offset = offset;
	g->req.out_len = XENVHCA_UDATA_SIZE;
	return guest_cmd(g, XENVHCA_OP_RECV_UMAD);
}

/* Fetches a packet; its length, 0: there is none. hdr and mad are what it says. */
static inline uint32_t fetch(void)
{
	const struct xenvhca_recv_umad_rsp *r = &g->rsp.u.recv_umad;
	uint32_t at = 0, len;

	assert_int_equal(part(0), 0);
	len = r->len;
	while (at < len) {
		assert_int_equal(r->len, len);
		memcpy(got + at, r->packet, len - at < sizeof(r->packet) ?
		       len - at : sizeof(r->packet));
		if (len - at > sizeof(r->packet))
			memcpy(got + at + sizeof(r->packet), g->rsp.udata,
			       g->rsp.out_len);
		at += len - at < SLOT ? len - at : SLOT;
		if (at < len)
			assert_int_equal(part(at), 0);
	}
	if (len) {
		memcpy(&hdr, got, sizeof(hdr));
		memcpy(mad, got + sizeof(hdr), len - sizeof(hdr) < sizeof(mad) ?
		       len - sizeof(hdr) : sizeof(mad));
		assert_int_equal(hdr.length, len);
	}
	return len;
}

static inline uint64_t tid_of(const uint8_t *m)
{
	return (uint64_t)be_mad_u32(m, 8) << 32 | be_mad_u32(m, 12);
}

static inline int setup(void **state)
{
	guest_setup_umad(state);
	g = *state;
	fake_umad_reset();
	umad = file();
	agent = new_agent();
	g->dev.quota.umad.rate = 0;
	return 0;
}

static inline int teardown(void **state)
{
	int rc = guest_teardown(state);

	assert_int_equal(fake_umad_files(), 0);
	assert_int_equal(fake_umad_noise(), 0);
	return rc;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

#endif
