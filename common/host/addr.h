/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Addresses and P_Keys as an operator writes them: "192.0.2.7/24 2001:db8::7",
 * "0xffff 0x8001". vhcactl refuses wrong values before it writes them to
 * xenstore; the worker parses them again.
 */
#ifndef HOST_ADDR_H
#define HOST_ADDR_H

#include <stdint.h>
#include <sys/socket.h>
#include <xen/io/vhcaif.h>

struct host_addr {
	sa_family_t family;	/* AF_INET, AF_INET6 */
	uint8_t prefix;		/* length of the network prefix */
	uint8_t gid[16];	/* as RoCE writes it: IPv4 as ::ffff:a.b.c.d */
};

/**
 * host_addrs_parse() - addresses, separated by blanks
 * @text: each with /PREFIX, or without: a network of one address
 *
 * Return: their number; -EINVAL: one is malformed, given twice, or one that a guest
 * cannot have (multicast, loopback, 0.0.0.0); -E2BIG: too many.
 */
int host_addrs_parse(const char *text,
		     struct host_addr addr[XENVHCA_MAX_IPS]);

/**
 * host_pkeys_parse() - P_Keys, hexadecimal with 0x, separated by blanks
 *
 * Return: their number; -EINVAL: one is malformed (bits 0..14 are 0) or given twice;
 * -E2BIG: too many.
 */
int host_pkeys_parse(const char *text, uint16_t pkey[XENVHCA_MAX_PKEYS]);

#endif
