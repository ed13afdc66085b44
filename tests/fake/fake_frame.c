// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Calls of the fake kernel: commands framed as the kernel verifies them, and the
 * ioctl()s that are used.
 */
#include <errno.h>
#include <pthread.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <string.h>

#include "fake_priv.h"

/* Below: which command waits, for whom it does not, and what came of it. */
static pthread_mutex_t gate_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t gate_open = PTHREAD_COND_INITIALIZER;
static uint32_t gate;
static pthread_t gate_keeper;
static unsigned int waiting, passed;

/* Two threads may have commands executed. */
static pthread_mutex_t call_lock = PTHREAD_MUTEX_INITIALIZER;

void fake_block(uint32_t cmd)
{
	pthread_mutex_lock(&gate_lock);
	gate = cmd;
	gate_keeper = pthread_self();
	if (cmd)
		passed = 0;
	pthread_cond_broadcast(&gate_open);
	pthread_mutex_unlock(&gate_lock);
}

unsigned int fake_blocked(unsigned int *by_keeper)
{
	unsigned int n;

	pthread_mutex_lock(&gate_lock);
	n = waiting;
	*by_keeper = passed;
	pthread_mutex_unlock(&gate_lock);
	return n;
}

static void gate_pass(uint32_t cmd)
{
	pthread_mutex_lock(&gate_lock);
	if (gate && gate == cmd &&
	    pthread_equal(gate_keeper, pthread_self())) {
		passed++;
	} else if (gate && gate == cmd) {
		waiting++;
		while (gate == cmd)
			pthread_cond_wait(&gate_open, &gate_lock);
		waiting--;
	}
	pthread_mutex_unlock(&gate_lock);
}

void fake_lock(void)
{
	pthread_mutex_lock(&call_lock);
}

void fake_unlock(void)
{
	pthread_mutex_unlock(&call_lock);
}

/* As verify_hdr() of the kernel, but a surplus of core octets is an error. */
static int frame(struct call *c, const struct fake_method *m, const uint8_t *p,
		 size_t len)
{
	struct ib_uverbs_cmd_hdr h;
	uint64_t response = 0;

	memcpy(&h, p, sizeof(h));
	if (h.in_words * 4u != len || len < sizeof(h) + m->req ||
	    h.out_words * 4u < m->resp)
		return -ENOSPC;
	c->core = p + sizeof(h);
	c->in = c->core + m->req;
	c->in_len = len - sizeof(h) - m->req;
	c->out_len = h.out_words * 4u - m->resp;
	if (!m->udata && (c->in_len || c->out_len))
		return -ENOSPC;
	if (m->resp)
		memcpy(&response, c->core, sizeof(response));
	if (!m->resp)
		return 0;
	c->resp = (uint8_t *)(uintptr_t)response;
	c->out = c->resp + m->resp;
	return response ? 0 : -EFAULT;
}

static int frame_ex(struct call *c, const struct fake_method *m, const uint8_t *p,
		    size_t len)
{
	struct ib_uverbs_cmd_hdr h;
	struct ib_uverbs_ex_cmd_hdr ex;

	memcpy(&h, p, sizeof(h));
	memcpy(&ex, p + sizeof(h), sizeof(ex));
	len -= sizeof(h) + sizeof(ex);
	if ((h.in_words + ex.provider_in_words) * 8u != len ||
	    h.in_words * 8u != m->req || h.out_words * 8u != m->resp ||
	    !ex.response != !(h.out_words || ex.provider_out_words))
		return -ENOSPC;
	c->core = p + sizeof(h) + sizeof(ex);
	c->in = c->core + m->req;
	c->in_len = ex.provider_in_words * 8u;
	c->resp = (uint8_t *)(uintptr_t)ex.response;
	c->out = c->resp ? c->resp + m->resp : NULL;
	c->out_len = ex.provider_out_words * 8u;
	return 0;
}

const void *fake_last_in(size_t *len)
{
	*len = fake.last_in_len;
	return fake.last_in;
}

static int fake_call(int fd, const uint8_t *p, size_t len)
{
	struct call c = { .f = fake_file_find(fd) };
	const struct fake_method *m;
	fake_run *run;
	uint32_t cmd;
	bool ex;
	int err;

	if (!c.f || len < sizeof(struct ib_uverbs_cmd_hdr))
		return -EINVAL;
	memcpy(&cmd, p, sizeof(cmd));
	ex = cmd & IB_USER_VERBS_CMD_FLAG_EXTENDED;
	cmd &= 63;
	m = ex ? &fake_ex_methods[cmd] : &fake_methods[cmd];
	run = m->run;
	if (!ex && fake_is_mlx5() && fake_mlx5_run(cmd))
		run = fake_mlx5_run(cmd);
	if (!run)		/* Soft-RoCE has no XRC */
		return -EOPNOTSUPP;
	err = ex ? frame_ex(&c, m, p, len) : frame(&c, m, p, len);
	if (err) {
		fake.violations++;
		return err;
	}
	memcpy(fake.last_in, c.in, c.in_len);
	fake.last_in_len = c.in_len;
	if (!c.f->context && m->run != fake_get_context)
		return -EINVAL;
	if (fake.before && fake.before_cmd == cmd)
		fake.before();
	if (fake.fail_n && fake.fail_cmd == cmd &&
	    (fake.fail_n == FAKE_EACH || !--fake.fail_n))
		return -fake.fail_err;
	return run(&c);
}

ssize_t fake_write(int fd, const void *buf, size_t len)
{
	uint32_t cmd = 0;
	int err;

	memcpy(&cmd, buf, len < sizeof(cmd) ? len : sizeof(cmd));
	gate_pass(cmd);
	fake_lock();
	err = fake.refuse ? -fake.refuse : fake_call(fd, buf, len);
	fake_unlock();
	if (!err)
		return (ssize_t)len;
	errno = -err;
	return -1;
}

unsigned int fake_ioctls(void)
{
	return fake.ioctls;
}

/* What no careful caller does is a violation; 0 or what the method says. */
static int ioctl_check(const struct fake_file *f,
		       const struct ib_uverbs_ioctl_hdr *h, unsigned long req)
{
	if (!f || req != RDMA_VERBS_IOCTL)
		return -ENOTTY;
	if (h->length != sizeof(*h) + h->num_attrs * sizeof(h->attrs[0]) ||
	    h->reserved1 || h->reserved2)
		return -EINVAL;
	if (h->driver_id != fake_hca.driver_id || !f->context)
		return -EINVAL;
	return h->object_id == UVERBS_OBJECT_DEVICE ||
	       h->object_id == UVERBS_OBJECT_MR ? 0 : -EPROTONOSUPPORT;
}

int fake_ioctl(int fd, unsigned long req, void *arg)
{
	struct ib_uverbs_ioctl_hdr *h = arg;
	struct fake_file *f = fake_file_find(fd);
	int err = ioctl_check(f, h, req);
	bool careless = err;

	fake.ioctls++;
	if (!err && h->object_id == UVERBS_OBJECT_DEVICE) {
		err = fake_gid_query(h);
		careless = err && err != -ENODATA;
	} else if (!err) {
		err = fake.refuse ? -fake.refuse : fake_dmabuf_reg(f, h);
		careless = err == -EPROTONOSUPPORT;
	}
	fake.violations += careless;
	if (!err)
		return 0;
	errno = -err;
	return -1;
}
