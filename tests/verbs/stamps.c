// SPDX-License-Identifier: GPL-2.0
/* Copyright (C) 2026 The vhca authors */
/*
 * vhca-stamps: is memory that a peer writes by RDMA complete when the HCA is taken
 * away, as a suspend or a migration does? The peer writes LEN octets again and again,
 * each time with another stamp in all of their words, and counts those that were
 * acknowledged. What the target finds afterwards must be the last acknowledged stamp
 * or the one after it, and the newer one must be in front, because a message is
 * written in order.
 *
 * Target: vhca-stamps [-d DEVICE] GID-INDEX FILE. It prints "ready", waits for the end of its
 *     device ("fatal"), then for FILE, and prints "found MIN MAX ordered|mixed".
 * Peer: vhca-stamps [-d DEVICE] GID-INDEX --to HOST. It prints "acked STAMP" when a write fails.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "vt.h"

#define LEN	(2u << 20)
#define WORDS	(LEN / sizeof(uint64_t))
#define PORT	18515
#define WAIT_NS	(900 * 1000000000ull)

static void show(const char *text)
{
	puts(text);
	fflush(stdout);
}

static int ep_open(struct vt_side *s, struct vt_ep *ep)
{
	struct vt_ep_attr a;

	vt_ep_defaults(&a, IBV_QPT_RC, LEN);
	if (vt_ep_open(s, ep, &a))
		return -1;
	memset(ep->data, 0, LEN);
	return vt_ep_connect(ep);
}

/* ---- target ---- */

static int wait_fatal(struct vt_side *s)
{
	uint64_t end = vt_now_ns() + WAIT_NS;

	while (!vt_async_fatal(s->dev)) {
		if (vt_now_ns() > end)
			return vt_fail(s, "the device is still there");
		usleep(10000);
	}
	return 0;
}

static int wait_file(struct vt_side *s, const char *file)
{
	uint64_t end = vt_now_ns() + WAIT_NS;

	while (access(file, F_OK)) {
		if (vt_now_ns() > end)
			return vt_fail(s, "nobody made %s", file);
		usleep(50000);
	}
	return 0;
}

static void survey(const uint8_t *data)
{
	uint64_t v, last = UINT64_MAX, min = UINT64_MAX, max = 0;
	bool ordered = true;
	size_t i;

	for (i = 0; i < WORDS; i++) {
		memcpy(&v, data + i * sizeof(v), sizeof(v));
		ordered &= v <= last;
		last = v;
		min = v < min ? v : min;
		max = v > max ? v : max;
	}
	printf("found %llu %llu %s\n", (unsigned long long)min,
	       (unsigned long long)max, ordered ? "ordered" : "mixed");
	fflush(stdout);
}

static int target(struct vt_side *s, const char *file)
{
	int lfd = vt_oob_listen(PORT, s->why);
	struct vt_ep ep = {};
	int rc;

	if (lfd < 0)
		return -1;
	show("listens");
	rc = vt_oob_accept(lfd, &s->oob, s->opt->timeout_ms, s->why);
	close(lfd);
	if (!rc)
		rc = ep_open(s, &ep);
	if (!rc) {
		show("ready");
		rc = wait_fatal(s);
	}
	if (!rc) {
		show("fatal");
		rc = wait_file(s, file);
	}
	if (!rc)
		survey(ep.data);
	vt_ep_close(&ep);
	return rc;
}

/* ---- peer ---- */

static void stamp(uint8_t *data, uint64_t v)
{
	size_t i;

	for (i = 0; i < WORDS; i++)
		memcpy(data + i * sizeof(v), &v, sizeof(v));
}

/* True: acknowledged. */
static bool write_all(struct vt_ep *ep, uint64_t v)
{
	const struct vt_wr w = {
		.id = v, .op = IBV_WR_RDMA_WRITE, .len = LEN,
	};
	struct ibv_wc wc;

	stamp(ep->data, v);
	return !vt_post(ep, &w) && !vt_wait(ep, &wc, 0) &&
	       wc.status == IBV_WC_SUCCESS;
}

static int peer(struct vt_side *s, const char *host)
{
	struct vt_ep ep = {};
	uint64_t v = 0;
	int rc;

	s->init = true;
	rc = vt_oob_connect(&s->oob, host, PORT, s->opt->timeout_ms, s->why);
	if (!rc)
		rc = ep_open(s, &ep);
	if (!rc) {
		while (write_all(&ep, v + 1))
			v++;
		printf("acked %llu\n", (unsigned long long)v);
		s->why[0] = 0;
	}
	vt_ep_close(&ep);
	return rc;
}

int main(int argc, char **argv)
{
	struct vt_opt opt = { .timeout_ms = 60000 };
	struct vt_dev dev;
	struct vt_side s = { .dev = &dev, .opt = &opt, .oob.fd = -1 };
	bool to;
	int rc;

	if (argc > 2 && !strcmp(argv[1], "-d")) {
		opt.dev = argv[2];
		argv += 2;
		argc -= 2;
	}
	to = argc == 4 && !strcmp(argv[2], "--to");
	if (argc != 3 && !to) {
		fprintf(stderr,
			"usage: vhca-stamps [-d DEVICE] GID-INDEX FILE | --to HOST\n");
		return 2;
	}
	opt.gid_index = atoi(argv[1]);
	rc = vt_open(&dev, &opt, s.why);
	if (!rc) {
		rc = to ? peer(&s, argv[3]) : target(&s, argv[2]);
		vt_oob_close(&s.oob);
		vt_close(&dev);
	}
	if (rc)
		fprintf(stderr, "vhca-stamps: %s\n", s.why);
	return rc ? 1 : 0;
}
