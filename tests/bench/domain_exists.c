// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Is there a domain of that number? Asks Xen, not xenstored: for one of its event
 * channels, which no domain offers to this one. Status 0: there is, 1: there is not,
 * 2: it could not be asked.
 *
 * Usage: domain-exists DOMID
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xenevtchn.h>

#define NO_PORT 1000		/* below the limit of any domain, and not in use */

int main(int argc, char **argv)
{
	xenevtchn_handle *xce = xenevtchn_open(NULL, 0);

	if (argc != 2 || !xce) {
		fprintf(stderr, "domain-exists: %s\n", argc != 2 ?
			"usage: domain-exists DOMID" : strerror(errno));
		return 2;
	}
	if (xenevtchn_bind_interdomain(xce, (uint32_t)atoi(argv[1]), NO_PORT) >= 0)
		return 0;
	if (errno == ESRCH)
		return 1;
	if (errno == EINVAL)
		return 0;
	fprintf(stderr, "domain-exists: %s\n", strerror(errno));
	return 2;
}
