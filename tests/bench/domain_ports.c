// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Prints the event channels of a domain, one in a line, as Xen has them: lsevtchn of
 * Xen's tools, which exists on x86 only. In the control domain.
 *
 * Usage: domain-ports DOMID
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xenctrl.h>

static const char *const kinds[] = {
	[EVTCHNSTAT_unbound] = "waits for a domain",
	[EVTCHNSTAT_interdomain] = "interdomain",
	[EVTCHNSTAT_pirq] = "Physical IRQ",
	[EVTCHNSTAT_virq] = "virtual IRQ",
	[EVTCHNSTAT_ipi] = "between its processors",
};

int main(int argc, char **argv)
{
	xc_interface *xch = xc_interface_open(NULL, NULL, 0);
	xc_evtchn_status_t status;
	evtchn_port_t port;

	if (argc != 2 || !xch) {
		fprintf(stderr, "domain-ports: %s\n", argc != 2 ?
			"usage: domain-ports DOMID" : strerror(errno));
		return 2;
	}
	for (port = 0; ; port++) {
		status = (xc_evtchn_status_t) { .dom = (domid_t)atoi(argv[1]), .port = port };
		if (xc_evtchn_status(xch, &status))
			break;
		if (status.status == EVTCHNSTAT_closed)
			continue;
		printf("%u: %s", port, kinds[status.status]);
		if (status.status == EVTCHNSTAT_interdomain)
			printf(", port %u of domain %u", status.u.interdomain.port,
			       status.u.interdomain.dom);
		printf("\n");
	}
	xc_interface_close(xch);
	if (!port)
		fprintf(stderr, "domain-ports: domain %s: %s\n", argv[1], strerror(errno));
	return port ? 0 : 1;
}
