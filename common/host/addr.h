/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Addresses and P_Keys as an operator writes them: "192.0.2.7/24 2001:db8::7",
 * "0xffff 0x8001". vhcactl refuses what is wrong before it is in xenstore, the
 * worker reads it there again.
 */
#ifndef HOST_ADDR_H
#define HOST_ADDR_H

#include <stdint.h>
#include <sys/socket.h>
#include <xen/io/vhcaif.h>

struct host_addr {
	sa_family_t family;	/* AF_INET, AF_INET6 */
	uint8_t prefix;		/* bits of it that are the network's */
	uint8_t gid[16];	/* as RoCE has it: IPv4 as ::ffff:a.b.c.d */
};

/**
 * host_addrs_parse() - addresses, separated by blanks
 * @text: each with /PREFIX, or without: a network of one address
 *
 * Return: how many; -EINVAL: one is none, none that a guest can have (multicast,
 * loopback, 0.0.0.0), or there twice; -E2BIG.
 */
int host_addrs_parse(const char *text,
		     struct host_addr addr[XENVHCA_MAX_IPS]);

/**
 * host_pkeys_parse() - P_Keys, hexadecimal with 0x, separated by blanks
 *
 * Return: how many; -EINVAL: one is none (bits 0..14 are 0), or there twice;
 * -E2BIG.
 */
int host_pkeys_parse(const char *text, uint16_t pkey[XENVHCA_MAX_PKEYS]);

#endif
