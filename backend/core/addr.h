/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The addresses of a vhca, as the toolstack configured them (worker/conf.c):
 * nothing changes them while a worker lives. Any thread may ask.
 */
#ifndef BE_ADDR_H
#define BE_ADDR_H

#include <stdbool.h>
#include <sys/socket.h>
#include "host/addr.h"

struct be_dev;

struct be_addr {
	struct host_addr ip[XENVHCA_MAX_IPS];
	unsigned int n_ips;		/* 0: those of the port are shared */
	uint16_t pkey[XENVHCA_MAX_PKEYS];
	unsigned int n_pkeys;		/* 0: likewise */
	bool default_pkey;		/* pkey[0] is that, in either membership */
	uint16_t pkey_at[XENVHCA_MAX_PKEYS];	/* physical index, a guess */
	uint64_t gids_seen;		/* be_gids_changed(), event thread */
};

/* Does the vhca have addresses of its own? Else it shares the port's. */
bool be_addr_given(const struct be_dev *dev);
/**
 * be_addr_own() - is it an address of this vhca?
 * @sa: AF_INET, or AF_INET6, there also ::ffff:a.b.c.d; port and scope do not
 *	matter. The wildcard is no address: see be_addr_any().
 * @len: octets of it that are there
 *
 * Return: false for all others; without addresses of its own, for every one.
 */
bool be_addr_own(const struct be_dev *dev, const struct sockaddr *sa,
		 socklen_t len);
/**
 * be_addr_any() - what the wildcard of a family means
 * @family: AF_INET or AF_INET6
 * @sa: the first address of that family that was configured, port 0
 *
 * Return: its length; 0: the vhca has none.
 */
socklen_t be_addr_any(const struct be_dev *dev, sa_family_t family,
		      struct sockaddr_storage *sa);
/* Is it (16 octets) the GID of an address of this vhca? */
bool be_addr_gid(const struct be_dev *dev, const void *gid);

#endif
