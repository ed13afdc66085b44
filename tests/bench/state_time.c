// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * How long a device of Xen takes to connect, whatever its kind: from when its backend's
 * state is seen in xenstore to when that is Connected. Devices that are there already
 * do not count as long as their states stay as they are.
 *
 * Usage: state-time DIRECTORY SECONDS	of the backend, of all devices of a guest
 * Prints "ready" when it watches, and then "us N". Status 1: no device connected.
 */
#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <xenstore.h>
#include <xen/io/xenbus.h>

static uint64_t now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

static int failed(const char *what)
{
	fprintf(stderr, "state-time: %s: %s\n", what, strerror(errno));
	return 1;
}

/* Is the path DIRECTORY/DEVID/state? */
static int is_state(const char *path, size_t dir)
{
	const char *end = strchr(path + dir, '/');

	return end && end[1] && !strcmp(strchr(end + 1, '/') ?: "", "/state");
}

/* 0: not there, which is no state. */
static int state_of(struct xs_handle *xs, const char *path)
{
	unsigned int len;
	char *text = xs_read(xs, XBT_NULL, path, &len);
	int state = text ? atoi(text) : 0;

	free(text);
	return state;
}

/* Something happened at a path: when a device is connected, since when it is there. */
static uint64_t look(struct xs_handle *xs, const char *path, size_t dir,
		     uint64_t *first)
{
	int state;

	if (!is_state(path, dir))
		return 0;
	state = state_of(xs, path);
	if (state && !*first)
		*first = now_us();
	return state == XenbusStateConnected ? now_us() : 0;
}

static int watch(struct xs_handle *xs, const char *dir, int ms)
{
	struct pollfd p = { .fd = xs_fileno(xs), .events = POLLIN };
	uint64_t first = 0, connected = 0, until = now_us() + (uint64_t)ms * 1000;
	int told = 0;
	char **event;

	while (!connected && now_us() < until && poll(&p, 1, 100) >= 0) {
		while (!connected && (event = xs_check_watch(xs)) != NULL) {
			/* The first one is for the watch itself. */
			if (told)
				connected = look(xs, event[XS_WATCH_PATH],
						 strlen(dir), &first);
			else
				printf("ready\n");
			told = 1;
			fflush(stdout);
			free(event);
		}
	}
	if (!connected)
		return 1;
	printf("us %llu\n", (unsigned long long)(connected - first));
	return 0;
}

int main(int argc, char **argv)
{
	struct xs_handle *xs = xs_open(0);
	int rc;

	if (argc != 3) {
		fprintf(stderr, "usage: state-time DIRECTORY SECONDS\n");
		return 2;
	}
	if (!xs || !xs_watch(xs, argv[1], "state"))
		return failed(argv[1]);
	rc = watch(xs, argv[1], atoi(argv[2]) * 1000);
	xs_close(xs);
	return rc;
}
