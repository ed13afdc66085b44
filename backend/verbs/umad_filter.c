// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Which management datagrams a guest with umad=query may send: the decision alone,
 * about a copy of what a hostile guest wrote. What is not named here is refused.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "umad.h"

enum {
	CLASS_SA = 0x03, CLASS_PERF = 0x04, CLASS_BM = 0x05, CLASS_PING = 0x32
};
enum {
	METHOD_GET = 0x01, METHOD_REPRESS = 0x07, METHOD_GET_TABLE = 0x12,
	METHOD_RESPONSE = 0x80
};

/* Octets of a datagram. */
enum {
	AT_BASE = 0, AT_CLASS = 1, AT_METHOD = 3, AT_MODIFIER = 20,
	AT_RMPP_TYPE = 25, AT_RMPP_FLAGS = 26, AT_SM_KEY = 36, AT_OUI = 37
};

#define RMPP_FLAGS	7
#define RMPP_ACTIVE	1
#define CLASS_HEAD	64	/* the longest header of a class */
#define SM_KEY_LEN	8
#define GSI_QPN		1
#define GSI_QKEY	0x80010000u

bool be_mad_response(const uint8_t *mad)
{
	return mad[AT_METHOD] & METHOD_RESPONSE ||
	       mad[AT_METHOD] == METHOD_REPRESS ||
	       (mad[AT_CLASS] == CLASS_BM &&
		be_mad_u32(mad, AT_MODIFIER) & 1);
}

bool be_mad_cut(const uint8_t *mad, size_t len)
{
	return mad[AT_RMPP_FLAGS] & RMPP_ACTIVE && len < CLASS_HEAD;
}

/* One datagram, no part of a longer message. */
static bool whole(const uint8_t *mad)
{
	return !mad[AT_RMPP_TYPE] && !(mad[AT_RMPP_FLAGS] & RMPP_FLAGS);
}

/* With the SM_Key somebody is trusted who is not otherwise; nobody may guess it. */
static bool query_sa(const uint8_t *mad)
{
	static const uint8_t none[SM_KEY_LEN];

	return (mad[AT_METHOD] == METHOD_GET ||
		mad[AT_METHOD] == METHOD_GET_TABLE) && whole(mad) &&
	       !memcmp(mad + AT_SM_KEY, none, SM_KEY_LEN);
}

static bool query_ping(const uint8_t *mad)
{
	static const uint8_t oui[] = { 0x00, 0x14, 0x05 };

	return mad[AT_METHOD] == METHOD_GET && whole(mad) &&
	       !memcmp(mad + AT_OUI, oui, sizeof(oui));
}

static bool query(const uint8_t *mad)
{
	switch (mad[AT_CLASS]) {
	case CLASS_SA:
		return query_sa(mad);
	case CLASS_PERF:
		return mad[AT_METHOD] == METHOD_GET;
	case CLASS_PING:
		return query_ping(mad);
	default:
		return false;
	}
}

int be_umad_filter(const struct ib_user_mad_hdr *hdr, const uint8_t *mad)
{
	if (ntohl(hdr->qpn) != GSI_QPN || ntohl(hdr->qkey) != GSI_QKEY ||
	    mad[AT_BASE] != 1 || !query(mad))
		return -EPERM;
	return 0;
}
