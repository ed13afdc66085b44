/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Management datagrams of the fake kernel: /dev/infiniband/umad0 with its agents, what
 * they have sent, and what a test lets them receive. Transaction ids are treated as
 * the kernel does. Thread safe.
 */
#ifndef FAKE_UMAD_H
#define FAKE_UMAD_H

#include <rdma/ib_user_mad.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define FAKE_MAD	256u

struct fake_mad {
	int fd;
	struct ib_user_mad_hdr hdr;
	uint8_t mad[FAKE_MAD];		/* as on the wire */
	size_t len;			/* of the datagram */
};

void fake_umad_reset(void);		/* what was sent, what is counted */
unsigned int fake_umad_files(void);	/* open now */
unsigned int fake_umad_agents(void);
unsigned int fake_umad_sends(void);	/* so far */
unsigned int fake_umad_waiting(void);	/* packets that nobody has read */
/* Requests for which the kernel prints a line. */
unsigned int fake_umad_noise(void);
/* What was sent @back sends ago; 0: the last. */
struct fake_mad fake_umad_sent(unsigned int back);
/* It is answered, by @len octets; false: its agent does not wait for that. */
bool fake_umad_answer(const struct fake_mad *sent, size_t len);
bool fake_umad_timeout(const struct fake_mad *sent);
/* A datagram that nobody asked for, to an agent of the file of @sent. */
void fake_umad_request(const struct fake_mad *sent, uint16_t pkey_index);
void fake_umad_fail(int err);		/* the next send */

/* ---- for fake_uverbs.c ---- */
bool fake_umad_has(int fd);
int fake_umad_open(void);
int fake_umad_close(int fd);
int fake_umad_ioctl(int fd, unsigned long req, void *arg);
ssize_t fake_umad_write(int fd, const void *buf, size_t len);
ssize_t fake_umad_read(int fd, void *buf, size_t len);

#endif
