// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Shared by the hostile programs, see peer.h.
 */
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "peer.h"

#define KEEP 4

struct xs_handle *xs;
int nr_bad;

void die(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
	fflush(stdout);
	_exit(2);
}

void say(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
	fflush(stdout);
}

void bad(const char *fmt, ...)
{
	va_list ap;

	nr_bad++;
	printf("BAD ");
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
	fflush(stdout);
}

void store_open(void)
{
	xs = xs_open(0);
	if (!xs)
		die("xenstore: %s", strerror(errno));
}

static void path_of(char *path, const char *dir, const char *node)
{
	if (snprintf(path, PATH, "%s/%s", dir, node) >= PATH)
		die("%s/%s is too long", dir, node);
}

const char *store_get(const char *dir, const char *node)
{
	static char kept[KEEP][PATH];
	static unsigned int next;
	char path[PATH], *text = kept[next++ % KEEP], *v;
	unsigned int len;

	path_of(path, dir, node);
	v = xs_read(xs, XBT_NULL, path, &len);
	snprintf(text, PATH, "%s", v ? v : "");
	free(v);
	return text;
}

void store_put(const char *dir, const char *node, const char *fmt, ...)
{
	char path[PATH], value[PATH];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(value, sizeof(value), fmt, ap);
	va_end(ap);
	path_of(path, dir, node);
	if (!xs_write(xs, XBT_NULL, path, value, (unsigned int)strlen(value)))
		die("write %s: %s", path, strerror(errno));
}

void store_rm(const char *dir, const char *node)
{
	char path[PATH];

	path_of(path, dir, node);
	xs_rm(xs, XBT_NULL, path);
}

enum xenbus_state store_state(const char *dir)
{
	return (enum xenbus_state)strtoul(store_get(dir, "state"), NULL, 10);
}

bool store_wait(const char *dir, enum xenbus_state want, unsigned int ms)
{
	unsigned int t;

	for (t = 0; t <= ms; t += 20) {
		if (store_state(dir) == want)
			return true;
		pause_ms(20);
	}
	return false;
}

void pause_ms(unsigned int ms)
{
	struct timespec ts = { ms / 1000, (long)(ms % 1000) * 1000000 };

	nanosleep(&ts, NULL);
}

uint32_t rnd(void)
{
	static uint64_t s = 88172645463325252ull;

	s ^= s << 13;
	s ^= s >> 7;
	s ^= s << 17;
	return (uint32_t)(s >> 16);
}

void port_wait(xenevtchn_handle *h, int ms)
{
	struct pollfd p = { .fd = xenevtchn_fd(h), .events = POLLIN };

	poll(&p, 1, ms);
}

void port_clear(xenevtchn_handle *h)
{
	struct pollfd p = { .fd = xenevtchn_fd(h), .events = POLLIN };
	int port;

	while (poll(&p, 1, 0) > 0) {
		port = xenevtchn_pending(h);
		if (port < 0 || xenevtchn_unmask(h, (evtchn_port_t)port))
			return;
	}
}
