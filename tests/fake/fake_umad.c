// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * See fake_umad.h. The numbers of agents are those of places, reused at once, and the
 * upper half of their transaction ids never is, as in the kernel.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "fake_umad.h"

#define FILES		96u
#define AGENTS		32u
#define SENT		256u
#define HEAD		sizeof(struct ib_user_mad_hdr)
#define MAD_HEAD	24u
#define CLASS		1
#define METHOD		3
#define TID		8

struct packet {
	struct packet *next;
	size_t len;
	uint8_t data[];
};

static struct umad_file {
	bool used;
	int fd;
	struct { bool used; uint32_t high; } agent[AGENTS];
	struct packet *first;
} files[FILES];

static struct { bool waits; struct fake_mad m; } sent[SENT];
static unsigned int sends, noise;
static uint32_t next_high = 77;
static int fail_err;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct umad_file *file_find(int fd)
{
	unsigned int i;

	for (i = 0; i < FILES; i++)
		if (files[i].used && files[i].fd == fd)
			return &files[i];
	return NULL;
}

bool fake_umad_has(int fd)
{
	bool has;

	pthread_mutex_lock(&lock);
	has = file_find(fd);
	pthread_mutex_unlock(&lock);
	return has;
}

int fake_umad_open(void)
{
	unsigned int i;
	int fd = -1;

	pthread_mutex_lock(&lock);
	for (i = 0; i < FILES && files[i].used; i++)
		;
	errno = EMFILE;
	if (i < FILES) {
		fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK | EFD_SEMAPHORE);
		files[i] = (struct umad_file){ .used = true, .fd = fd };
	}
	pthread_mutex_unlock(&lock);
	return fd;
}

static void agent_del(struct umad_file *f, uint32_t id)
{
	unsigned int i;

	f->agent[id].used = false;
	for (i = 0; i < SENT; i++)
		if (sent[i].m.fd == f->fd && sent[i].m.hdr.id == id)
			sent[i].waits = false;
}

static void packet_pop(struct umad_file *f)
{
	struct packet *p = f->first;
	uint64_t n;

	f->first = p->next;
	free(p);
	if (read(f->fd, &n, sizeof(n)) < 0)
		noise++;
}

int fake_umad_close(int fd)
{
	struct umad_file *f;
	unsigned int i;

	pthread_mutex_lock(&lock);
	f = file_find(fd);
	for (i = 0; i < AGENTS; i++)
		agent_del(f, i);
	while (f->first)
		packet_pop(f);
	f->used = false;
	pthread_mutex_unlock(&lock);
	return close(fd);
}

static int register_agent(struct umad_file *f, struct ib_user_mad_reg_req2 *req)
{
	uint32_t i;

	for (i = 0; i < AGENTS && f->agent[i].used; i++)
		;
	if (req->qpn > 1 || req->flags || req->oui >> 24 || i == AGENTS) {
		noise++;
		return i == AGENTS ? -ENOMEM : -EINVAL;
	}
	f->agent[i].used = true;
	f->agent[i].high = ++next_high;
	req->id = i;
	return 0;
}

static int unregister_agent(struct umad_file *f, uint32_t id)
{
	if (id >= AGENTS || !f->agent[id].used)
		return -EINVAL;
	agent_del(f, id);
	return 0;
}

int fake_umad_ioctl(int fd, unsigned long req, void *arg)
{
	int err = -ENOTTY;

	pthread_mutex_lock(&lock);
	if (req == IB_USER_MAD_REGISTER_AGENT2)
		err = register_agent(file_find(fd), arg);
	else if (req == IB_USER_MAD_UNREGISTER_AGENT)
		err = unregister_agent(file_find(fd), *(uint32_t *)arg);
	pthread_mutex_unlock(&lock);
	errno = -err;
	return err ? -1 : 0;
}

static bool response(const uint8_t *mad)
{
	return mad[METHOD] & 0x80 || mad[METHOD] == 7;
}

static bool same(const struct fake_mad *a, const struct fake_mad *b)
{
	return a->fd == b->fd && a->hdr.id == b->hdr.id &&
	       a->mad[CLASS] == b->mad[CLASS] &&
	       !memcmp(a->mad + TID, b->mad + TID, 8);
}

static int send_mad(struct umad_file *f, struct fake_mad *m)
{
	uint32_t high;
	unsigned int i;

	if (m->hdr.id >= AGENTS || !f->agent[m->hdr.id].used)
		return -EIO;
	if (fail_err) {
		i = (unsigned int)fail_err;
		fail_err = 0;
		return -(int)i;
	}
	high = __builtin_bswap32(f->agent[m->hdr.id].high);
	if (!response(m->mad))
		memcpy(m->mad + TID, &high, sizeof(high));
	for (i = 0; i < SENT; i++)
		if (sent[i].waits && same(&sent[i].m, m))
			return -EINVAL;
	sent[sends % SENT].m = *m;
	sent[sends++ % SENT].waits = m->hdr.timeout_ms;
	return 0;
}

ssize_t fake_umad_write(int fd, const void *buf, size_t len)
{
	struct fake_mad m = { .fd = fd };
	int err = -EINVAL;

	pthread_mutex_lock(&lock);
	if (len >= HEAD + MAD_HEAD && len <= HEAD + FAKE_MAD) {
		memcpy(&m.hdr, buf, HEAD);
		m.len = len - HEAD;
		memcpy(m.mad, (const uint8_t *)buf + HEAD, m.len);
		err = send_mad(file_find(fd), &m);
	}
	pthread_mutex_unlock(&lock);
	errno = -err;
	return err ? -1 : (ssize_t)len;
}

ssize_t fake_umad_read(int fd, void *buf, size_t len)
{
	struct umad_file *f;
	ssize_t r = -1;

	pthread_mutex_lock(&lock);
	f = file_find(fd);
	if (!f->first) {
		errno = EAGAIN;
	} else if (len < f->first->len) {
		errno = EINVAL;
		if (len >= HEAD + FAKE_MAD) {
			errno = ENOSPC;		/* with the first part */
			memcpy(buf, f->first->data, HEAD + FAKE_MAD);
		}
	} else {
		r = (ssize_t)f->first->len;
		memcpy(buf, f->first->data, f->first->len);
		packet_pop(f);
	}
	pthread_mutex_unlock(&lock);
	return r;
}

/* ---- for tests ---- */

static void receive(const struct fake_mad *m, size_t len)
{
	struct umad_file *f = file_find(m->fd);
	struct packet *p, **last;
	uint64_t one = 1;
	size_t i;

	if (!f)
		return;
	p = calloc(1, sizeof(*p) + HEAD + len);
	p->len = HEAD + len;
	memcpy(p->data, &m->hdr, HEAD);
	memcpy(p->data + HEAD, m->mad, len < FAKE_MAD ? len : FAKE_MAD);
	for (i = FAKE_MAD; i < len; i++)
		p->data[HEAD + i] = (uint8_t)(i * 7);
	for (last = &f->first; *last; last = &(*last)->next)
		;
	*last = p;
	if (write(f->fd, &one, sizeof(one)) < 0)
		noise++;
}

static bool waited(const struct fake_mad *m)
{
	unsigned int i;

	for (i = 0; i < SENT; i++) {
		if (!sent[i].waits || !same(&sent[i].m, m))
			continue;
		sent[i].waits = false;
		return true;
	}
	return false;
}

bool fake_umad_answer(const struct fake_mad *m, size_t len)
{
	struct fake_mad a = *m;
	bool yes;

	a.mad[METHOD] |= 0x80;
	a.hdr.timeout_ms = a.hdr.retries = 0;
	a.hdr.length = (uint32_t)(HEAD + len);
	pthread_mutex_lock(&lock);
	yes = waited(m);
	if (yes)
		receive(&a, len);
	pthread_mutex_unlock(&lock);
	return yes;
}

bool fake_umad_timeout(const struct fake_mad *m)
{
	struct fake_mad a = *m;
	bool yes;

	a.hdr.status = ETIMEDOUT;
	pthread_mutex_lock(&lock);
	yes = waited(m);
	if (yes)
		receive(&a, MAD_HEAD);
	pthread_mutex_unlock(&lock);
	return yes;
}

void fake_umad_request(const struct fake_mad *m, uint16_t pkey_index)
{
	struct fake_mad a = *m;

	a.mad[METHOD] &= 0x7f;
	a.hdr.pkey_index = pkey_index;
	a.hdr.length = HEAD + FAKE_MAD;
	pthread_mutex_lock(&lock);
	receive(&a, FAKE_MAD);
	pthread_mutex_unlock(&lock);
}

void fake_umad_fail(int err)
{
	fail_err = err;
}

struct fake_mad fake_umad_sent(unsigned int back)
{
	struct fake_mad m;

	pthread_mutex_lock(&lock);
	m = sent[(sends - 1 - back) % SENT].m;
	pthread_mutex_unlock(&lock);
	return m;
}

void fake_umad_reset(void)
{
	pthread_mutex_lock(&lock);
	memset(sent, 0, sizeof(sent));
	sends = noise = 0;
	fail_err = 0;
	pthread_mutex_unlock(&lock);
}

unsigned int fake_umad_files(void)
{
	unsigned int i, n = 0;

	for (i = 0; i < FILES; i++)
		n += files[i].used;
	return n;
}

unsigned int fake_umad_agents(void)
{
	unsigned int i, a, n = 0;

	for (i = 0; i < FILES; i++)
		for (a = 0; files[i].used && a < AGENTS; a++)
			n += files[i].agent[a].used;
	return n;
}

unsigned int fake_umad_waiting(void)
{
	struct packet *p;
	unsigned int i, n = 0;

	pthread_mutex_lock(&lock);
	for (i = 0; i < FILES; i++)
		for (p = files[i].used ? files[i].first : NULL; p; p = p->next)
			n++;
	pthread_mutex_unlock(&lock);
	return n;
}

unsigned int fake_umad_sends(void)
{
	return sends;
}

unsigned int fake_umad_noise(void)
{
	return noise;
}
