// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Round trip of an event channel between processes of two domains: what a
 * command of the ring costs at least. One side waits:
 *
 *   evtchn-rtt serve DOMID        prints the port, answers until it is killed
 *   evtchn-rtt measure DOMID PORT [N]
 *
 * The second prints one line of JSON, as vhca-bench does. It trusts its peer
 * to answer; a peer that does not ends it after ten seconds.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <xenevtchn.h>

#define MAX_RUNS 10000

static double now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e6 + t.tv_nsec / 1e3;
}

/* Waits for one event and unmasks the port again. 0 or -1. */
static int wait_event(xenevtchn_handle *x, int timeout_ms)
{
	struct pollfd p = { .fd = xenevtchn_fd(x), .events = POLLIN };
	xenevtchn_port_or_error_t port;

	if (poll(&p, 1, timeout_ms) != 1)
		return -1;
	port = xenevtchn_pending(x);
	return port < 0 ? -1 : xenevtchn_unmask(x, port);
}

static int serve(xenevtchn_handle *x, uint32_t domid)
{
	xenevtchn_port_or_error_t port = xenevtchn_bind_unbound_port(x, domid);

	if (port < 0) {
		perror("evtchn-rtt: bind");
		return 1;
	}
	printf("%d\n", port);
	fflush(stdout);
	while (!wait_event(x, -1))
		xenevtchn_notify(x, port);
	return 1;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static int measure(xenevtchn_handle *x, uint32_t domid, uint32_t remote, int n)
{
	static double us[MAX_RUNS];
	xenevtchn_port_or_error_t port;
	double t;
	int i;

	port = xenevtchn_bind_interdomain(x, domid, remote);
	/* Binding raises one event of its own. */
	if (port < 0 || wait_event(x, 10000)) {
		perror("evtchn-rtt: bind");
		return 1;
	}
	for (i = 0; i < n; i++) {
		t = now_us();
		if (xenevtchn_notify(x, port) || wait_event(x, 10000)) {
			fprintf(stderr, "evtchn-rtt: no answer in 10 s\n");
			return 1;
		}
		us[i] = now_us() - t;
	}
	qsort(us, n, sizeof(us[0]), by_value);
	printf("{\"name\":\"evtchn_round_trip\",\"unit\":\"us\",\"value\":%.2f,"
	       "\"n\":%d,\"p99\":%.2f}\n", us[n / 2], n, us[(n * 99) / 100]);
	return 0;
}

int main(int argc, char **argv)
{
	int n = argc > 4 ? atoi(argv[4]) : 1000;
	xenevtchn_handle *x;

	if (argc < 3 || n < 1 || n > MAX_RUNS ||
	    (strcmp(argv[1], "serve") && (strcmp(argv[1], "measure") ||
					  argc < 4))) {
		fprintf(stderr,
			"usage: evtchn-rtt serve DOMID | measure DOMID PORT [N]\n");
		return 2;
	}
	x = xenevtchn_open(NULL, 0);
	if (!x) {
		perror("evtchn-rtt: /dev/xen/evtchn");
		return 1;
	}
	if (!strcmp(argv[1], "serve"))
		return serve(x, atoi(argv[2]));
	return measure(x, atoi(argv[2]), atoi(argv[3]), n);
}
