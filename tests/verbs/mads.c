// SPDX-License-Identifier: GPL-2.0
/* Copyright (C) 2026 The vhca authors */
/*
 * vhca-mads: questions to the performance manager of a port, with transaction ids that
 * the caller chooses, so that programs at several places can use the same ones at
 * once. libibumad would choose them. Each answer has to be to this program's own
 * question: its attribute modifier comes back.
 *
 *   vhca-mads [-d umad0] [-u] LID MARK COUNT
 *   vhca-mads [-d umad0] -w LID     waits for an answer until the device goes
 *   vhca-mads [-d umad0] -s LID     a Set, and a subnet management Get: errno of each
 *
 * -u: the upper half of the ids comes back, too (natively it is the kernel's)
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <rdma/ib_user_mad.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define MAD		256
#define BATCH		16u
#define CLASS_SMP	0x01
#define CLASS_PERF	0x04
#define GET		0x01
#define SET		0x02
#define HIGH		0xa5a50000u
#define WAIT_MS		2000u
#define NEVER		0xbffe		/* a LID that nobody has */

struct packet {
	struct ib_user_mad_hdr hdr;
	uint8_t mad[MAD];
};

static int fd;

static void put32(uint8_t *p, uint32_t v)
{
	v = htonl(v);
	memcpy(p, &v, sizeof(v));
}

static uint32_t get32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return ntohl(v);
}

static int agent(uint8_t class, uint32_t qpn)
{
	struct ib_user_mad_reg_req2 req = {
		.qpn = qpn, .mgmt_class = class, .mgmt_class_version = 1,
	};

	if (ioctl(fd, IB_USER_MAD_REGISTER_AGENT2, &req)) {
		perror("register");
		exit(1);
	}
	return (int)req.id;
}

static int ask(int id, uint16_t lid, uint8_t class, uint8_t method, uint32_t n,
	       uint32_t mark)
{
	struct packet p = {
		.hdr = {
			.id = (uint32_t)id, .timeout_ms = WAIT_MS,
			.retries = 2, .qpn = htonl(class != CLASS_SMP),
			.qkey = htonl(class == CLASS_SMP ? 0 : 0x80010000),
			.lid = htons(lid),
		},
		.mad = { 1, class, 1, method },
	};

	put32(p.mad + 8, HIGH);
	put32(p.mad + 12, n);
	p.mad[17] = class == CLASS_SMP ? 0x11 : 0x01; /* NodeInfo, ClassPortInfo */
	put32(p.mad + 20, mark);
	return write(fd, &p, sizeof(p)) == (ssize_t)sizeof(p) ? 0 : errno;
}

/* True: it is an answer to what this program asked. */
static bool answer(uint32_t from, uint32_t to, uint32_t mark, bool upper)
{
	struct packet p;
	ssize_t r = read(fd, &p, sizeof(p));

	if (r != (ssize_t)sizeof(p)) {
		printf("read: %zd, %s\n", r, r < 0 ? strerror(errno) :
		       p.hdr.status ? strerror((int)p.hdr.status) : "short");
		return false;
	}
	if (p.hdr.status || p.mad[3] != (GET | 0x80) ||
	    get32(p.mad + 12) < from || get32(p.mad + 12) >= to ||
	    get32(p.mad + 20) != mark ||
	    (upper && get32(p.mad + 8) != HIGH)) {
		printf("status %u, method 0x%02x, id %08x%08x, mark %u\n",
		       p.hdr.status, p.mad[3], get32(p.mad + 8),
		       get32(p.mad + 12), get32(p.mad + 20));
		return false;
	}
	return true;
}

/* A batch at a time, then their answers in any order. */
static int questions(uint16_t lid, uint32_t mark, uint32_t count, bool upper)
{
	int id = agent(CLASS_PERF, 1), rc;
	uint32_t n, i, batch;

	for (n = 0; n < count; n += batch) {
		batch = count - n < BATCH ? count - n : BATCH;
		for (i = 0; i < batch; i++) {
			rc = ask(id, lid, CLASS_PERF, GET, n + i, mark);
			if (rc) {
				printf("write: %s\n", strerror(rc));
				return 1;
			}
		}
		for (i = 0; i < batch; i++)
			if (!answer(n, n + batch, mark, upper))
				return 1;
	}
	printf("%u answers\n", count);
	return 0;
}

/* Its end is an error of read(); before, the send times out again and again. */
static int wait_for_end(void)
{
	int id = agent(CLASS_PERF, 1);
	struct packet p;
	uint32_t n = 0;

	for (;;) {
		if (ask(id, NEVER, CLASS_PERF, GET, ++n, 0))
			break;
		printf("waits\n");
		fflush(stdout);
		if (read(fd, &p, sizeof(p)) < 0)
			break;
	}
	printf("%s\n", strerror(errno));
	return errno == EIO ? 0 : 1;
}

static int refusals(uint16_t lid)
{
	int perf = agent(CLASS_PERF, 1), smp = agent(CLASS_SMP, 0);

	printf("Set: %s\n", strerror(ask(perf, lid, CLASS_PERF, SET, 1, 0)));
	printf("SMP: %s\n", strerror(ask(smp, lid, CLASS_SMP, GET, 2, 0)));
	return 0;
}

static int usage(void)
{
	fprintf(stderr, "usage: vhca-mads [-d umad0] [-u] LID MARK COUNT | -w LID | -s LID\n");
	return 99;
}

int main(int argc, char **argv)
{
	bool upper = false, end = false, set = false;
	const char *dev = "umad0";
	char path[64];
	uint16_t lid;
	int opt;

	while ((opt = getopt(argc, argv, "d:usw")) != -1) {
		if (opt == '?')
			return usage();
		if (opt == 'd')
			dev = optarg;
		upper |= opt == 'u';
		set |= opt == 's';
		end |= opt == 'w';
	}
	argv += optind;
	if (argc - optind != (set || end ? 1 : 3))
		return usage();
	lid = (uint16_t)strtoul(argv[0], NULL, 0);
	snprintf(path, sizeof(path), "/dev/infiniband/%s", dev);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0) {
		perror(path);
		return 1;
	}
	if (end)
		return wait_for_end();
	if (set)
		return refusals(lid);
	return questions(lid, (uint32_t)strtoul(argv[1], NULL, 0),
			 (uint32_t)strtoul(argv[2], NULL, 0), upper);
}
