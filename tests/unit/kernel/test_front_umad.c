// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * frontend/files/umad_file.c and cmd_umad.c: to the process they are the kernel's user_mad.c,
 * with both forms of its header; of the backend every length is checked.
 */
#include "kernel.h"

#include <rdma/ib_user_mad.h>

typedef long loff_t;
typedef unsigned int __poll_t;
struct poll_table_struct;
struct file { void *private_data; int f_flags; };
#define __force
#define O_NONBLOCK		04000
#define ERESTARTSYS		512
#define ENOIOCTLCMD		515
#define EPOLLIN			0x01
#define EPOLLOUT		0x04
#define EPOLLERR		0x08
#define EPOLLRDNORM		0x40
#define EPOLLWRNORM		0x100
#define poll_wait(f, wq, w)
#define signal_pending(t)	(signals ? signals--, true : false)
#define wait_event_interruptible(wq, cond) (might_sleep(), (cond) ? 0 : -ERESTARTSYS)
#define DEFINE_MUTEX(m)		struct mutex m
#define list_del_init(l)	(list_del(l), INIT_LIST_HEAD(l))
#define list_first_entry_or_null(head, type, m)				\
	(list_empty(head) ? NULL : container_of((head)->next, type, m))
#define kref_init(r)		((r)->n = 1)
#define kref_get(r)		((r)->n++)
#define kref_put(r, release)	(--(r)->n ? 0 : (release(r), 1))
#define down_killable(s)	((s)->n--, 0)
#define up(s)			((s)->n++)
/* A process may keep who touches its memory waiting for as long as it likes. */
#define get_user(v, p)		(unlocked(), (v) = *(p), 0)
#define put_user(v, p)		(unlocked(), fault ? -EFAULT : (*(p) = (v), 0))
#define copy_from_user(to, from, n) (unlocked(), memcpy(to, from, n), 0)
#undef copy_to_user
#define copy_to_user(to, from, n) (unlocked(), memcpy(to, from, n), 0)
#define kvmalloc(size, gfp)	((size) > most ? NULL : (kept++, malloc(size)))
#undef kvfree
#define kvfree(p)		((p) ? (void)kept-- : (void)0, free(p))
#define schedule_timeout_killable(j) (slept += jiffies_to_msecs(j))

static bool fault;
static long kept;
static unsigned int slept, signals;
static size_t most;		/* octets that an allocation may have */
static void unlocked(void);

#include "copy/file.c"
#include "copy/cmd_umad.c"
#include "copy/umad_file.c"

#define HDR		sizeof(struct ib_user_mad_hdr)
#define OLD		sizeof(struct ib_user_mad_hdr_old)

static struct vhca_dev dev;
static struct vhca_umad umad;
static void unlocked(void)
{
	assert_false(umad.f.lock.held);
}
static struct file filp;
static u8 packet[XENVHCA_UMAD_RECV_MAX];
static u8 buf[XENVHCA_UMAD_RECV_MAX];

/* What the backend got last, and what it answers. */
static struct {
	struct xenvhca_request got;
	int status;
	unsigned int n, again;
	u32 id, len;			/* of the packet that it has */
	u32 say;			/* instead of that, at the second part */
	int more;			/* octets in an answer too many */
	bool events;
	u16 seq;
} be;

#include "cmd_alloc.h"
#include "file_rest.h"

static void recv_answer(const struct xenvhca_request *req,
			struct xenvhca_response *rsp)
{
	struct xenvhca_recv_umad_rsp *r = &rsp->u.recv_umad;
	u32 at = req->u.recv_umad.offset, n, first;

	r->seq = ++be.seq;
	r->len = at && be.say ? be.say : be.len;
	r->events = be.events;
	if (at >= be.len)
		return;
	n = min(be.len - at, (u32)VHCA_UMAD_SLOT);
	first = min(n, (u32)XENVHCA_UMAD_BODY);
	memcpy(r->packet, packet + at, first);
	memcpy(rsp->udata, packet + at + first, n - first);
	rsp->out_len = n - first + be.more;
	if (at + n == be.len)
		r->events = be.events = false;
}

int vhca_ring_submit(struct vhca_dev *d, struct vhca_cmd **cmdp,
		     unsigned int flags)
{
	struct vhca_cmd *cmd = *cmdp;

	be.n++;
	be.got = cmd->req;
	memset(&cmd->rsp, 0, sizeof(cmd->rsp));
	if (be.again) {
		be.again--;
		return -EAGAIN;
	}
	if (be.status)
		return be.status;
	if (cmd->req.op == XENVHCA_OP_REGISTER_UMAD)
		cmd->rsp.u.register_umad.id = be.id;
	if (cmd->req.op == XENVHCA_OP_RECV_UMAD)
		recv_answer(&cmd->req, &cmd->rsp);
	return 0;
}

static int setup(void **state)
{
	(void)state;
	memset(&be, 0, sizeof(be));
	memset(&umad, 0, sizeof(umad));
	umad.f.dev = &dev;
	umad.f.handle = 5;
	filp = (struct file){ &umad, O_NONBLOCK };
	fault = false;
	slept = signals = 0;
	most = ~0ul;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	kvfree(umad.packet);
	assert_int_equal(kept, 0);
	assert_false(umad.f.lock.held || umad.reader.held);
	return 0;
}

/* A packet of so many octets behind the header waits at the backend. */
static void arrives(u32 len)
{
	struct ib_user_mad_hdr hdr = {
		.id = 3, .length = 1, .pkey_index = 0x1234,
	};
	u32 i;

	be.len = HDR + len;
	be.events = true;
	for (i = 0; i < be.len; i++)
		packet[i] = i * 5 + len;
	memcpy(packet, &hdr, HDR);
	vhca_file_notify(&umad.f, ++be.seq, true);
}

static ssize_t read_it(size_t count)
{
	memset(buf, 0xee, sizeof(buf));
	return vhca_umad_read(&filp, (char *)buf, count, NULL);
}

static long reg(u8 class)
{
	struct ib_user_mad_reg_req req = {
		.qpn = 1, .mgmt_class = class, .mgmt_class_version = 2,
		.method_mask = { 0x1122334455667788, 1 },
		.oui = { 0, 0x14, 5 }, .rmpp_version = 1,
	};
	long rc = vhca_umad_ioctl(&filp, IB_USER_MAD_REGISTER_AGENT,
				  (unsigned long)&req);

	return rc ? rc : req.id;
}

static long reg2(struct ib_user_mad_reg_req2 *req)
{
	return vhca_umad_ioctl(&filp, IB_USER_MAD_REGISTER_AGENT2,
			       (unsigned long)req);
}

static long enable(void)
{
	return vhca_umad_ioctl(&filp, IB_USER_MAD_ENABLE_PKEY, 0);
}

static void an_agent_is_registered(void **state)
{
	const struct xenvhca_register_umad_req *r = &be.got.u.register_umad;

	(void)state;
	be.id = 7;
	assert_int_equal(reg(0x32), 7);
	assert_int_equal(r->umad, 5);
	assert_int_equal(r->qpn, 1);
	assert_int_equal(r->mgmt_class, 0x32);
	assert_int_equal(r->mgmt_class_version, 2);
	assert_int_equal(r->rmpp_version, 1);
	assert_int_equal(r->oui, 0x001405);
	assert_true(r->method_mask[0] == 0x1122334455667788);
	assert_true(r->method_mask[1] == 1);
	/* Without a class the rest says nothing. */
	assert_int_equal(reg(0), 7);
	assert_true(!r->oui && !r->method_mask[0] && !r->method_mask[1]);
	be.id = 32;
	assert_int_equal(reg(3), -EIO);
	be.id = ~0u;
	assert_int_equal(reg(3), -EIO);
	be.status = -EPERM;
	assert_int_equal(reg(3), -EPERM);
}

static void the_second_form_has_no_flags(void **state)
{
	struct ib_user_mad_reg_req2 req = {
		.qpn = 1, .mgmt_class = 4, .oui = 0x001405, .id = 99,
		.flags = IB_USER_MAD_USER_RMPP,
	};

	(void)state;
	assert_int_equal(reg2(&req), -EINVAL);
	assert_int_equal(req.flags, 0);		/* as many as there are */
	req.qpn = 2;
	assert_int_equal(reg2(&req), -EINVAL);
	req.qpn = 0;
	req.oui = 1 << 24;
	assert_int_equal(reg2(&req), -EINVAL);
	assert_int_equal(be.n, 0);
	req.oui = 0x001405;
	be.id = 1;
	assert_int_equal(reg2(&req), 0);
	assert_int_equal(req.id, 1);
	assert_int_equal(be.got.u.register_umad.oui, 0x001405);
	assert_true(umad.pkey_index);		/* it knows the new header */
	assert_int_equal(enable(), -EINVAL);	/* too late */
}

static void an_agent_that_cannot_be_told_goes(void **state)
{
	u32 id = 3;

	(void)state;
	be.id = 3;
	fault = true;
	assert_int_equal(reg(3), -EFAULT);
	assert_int_equal(be.got.op, XENVHCA_OP_UNREGISTER_UMAD);
	assert_int_equal(be.got.u.unregister_umad.id, 3);
	assert_false(umad.used);
	be.n = 0;
	assert_int_equal(vhca_umad_ioctl(&filp, IB_USER_MAD_UNREGISTER_AGENT,
					 (unsigned long)&id), 0);
	assert_int_equal(be.n, 1);
	id = 32;
	assert_int_equal(vhca_umad_ioctl(&filp, IB_USER_MAD_UNREGISTER_AGENT,
					 (unsigned long)&id), -EINVAL);
	assert_int_equal(be.n, 1);
	assert_int_equal(vhca_umad_ioctl(&filp, 77, 0), -ENOIOCTLCMD);
}

static ssize_t write_it(size_t count)
{
	return vhca_umad_write(&filp, (char *)buf, count, NULL);
}

static void a_datagram_goes_whole(void **state)
{
	const struct xenvhca_send_umad_req *r = &be.got.u.send_umad;
	struct ib_user_mad_hdr hdr = {
		.id = 9, .status = 5, .length = 6, .timeout_ms = 1000,
		.pkey_index = 3, .reserved = { 1 },
	}, sent;
	unsigned int i;

	(void)state;
	assert_int_equal(enable(), 0);
	for (i = 0; i < sizeof(buf); i++)
		buf[i] = i;
	memcpy(buf, &hdr, HDR);
	assert_int_equal(write_it(HDR + 256), HDR + 256);
	assert_int_equal(r->len, XENVHCA_UMAD_SEND_MAX);
	assert_int_equal(be.got.in_len, XENVHCA_UMAD_SEND_MAX -
			 XENVHCA_UMAD_BODY);
	memcpy(&sent, r->packet, HDR);
	assert_int_equal(sent.pkey_index, 3);
	assert_int_equal(sent.timeout_ms, 1000);
	assert_true(!sent.status && !sent.length && !sent.reserved[0]);
	assert_memory_equal(r->packet + HDR, buf + HDR, XENVHCA_UMAD_BODY - HDR);
	assert_memory_equal(be.got.udata, buf + XENVHCA_UMAD_BODY,
			    be.got.in_len);
	assert_int_equal(write_it(HDR + 36), HDR + 36);
	assert_int_equal(r->len, HDR + 36);
	assert_int_equal(be.got.in_len, 0);
	i = be.n;
	assert_int_equal(write_it(HDR + 35), -EINVAL);
	assert_int_equal(write_it(0), -EINVAL);
	assert_int_equal(write_it(HDR + 257), -EMSGSIZE);
	assert_int_equal(write_it(~0ul >> 1), -EMSGSIZE);
	hdr.id = 32;
	memcpy(buf, &hdr, HDR);
	assert_int_equal(write_it(HDR + 256), -EINVAL);
	assert_int_equal(be.n, i);
}

static void the_old_header_has_no_index(void **state)
{
	const struct xenvhca_send_umad_req *r = &be.got.u.send_umad;
	struct ib_user_mad_hdr sent;

	(void)state;
	memset(buf, 0, OLD);
	memset(buf + OLD, 0xab, 256);
	assert_int_equal(write_it(OLD + 256), OLD + 256);
	assert_int_equal(r->len, HDR + 256);
	memcpy(&sent, r->packet, HDR);
	assert_int_equal(sent.pkey_index, 0);
	assert_int_equal(r->packet[HDR], 0xab);
	assert_int_equal(be.got.udata[be.got.in_len - 1], 0xab);
	arrives(256);
	assert_int_equal(read_it(sizeof(buf)), OLD + 256);
	memcpy(&sent, buf, OLD);
	assert_int_equal(sent.length, OLD + 256);
	assert_memory_equal(buf + OLD, packet + HDR, 256);
	assert_int_equal(buf[OLD + 256], 0xee);
	/* The first agent decides which one it is, as in the kernel. */
	assert_int_equal(reg(3), 0);
	assert_int_equal(enable(), -EINVAL);
	assert_false(umad.pkey_index);
}

static void who_is_too_fast_waits(void **state)
{
	(void)state;
	memset(buf, 0, sizeof(buf));
	be.again = 3;
	assert_int_equal(write_it(OLD + 256), OLD + 256);
	assert_int_equal(slept, 3 * AGAIN_MS);
	be.again = ~0u;
	assert_int_equal(write_it(OLD + 256), -EAGAIN);
	assert_int_equal(slept, (3 + AGAIN_MOST) * AGAIN_MS);
	be.again = 0;
	be.status = -EPERM;
	assert_int_equal(write_it(OLD + 256), -EPERM);
}

static void long_answers_are_read_as_natively(void **state)
{
	static const u32 len[] = { 257, 424, 425, 5000, 1048512 };
	struct ib_user_mad_hdr hdr;
	unsigned int i;

	(void)state;
	enable();
	for (i = 0; i < ARRAY_SIZE(len); i++) {
		arrives(len[i]);
		assert_int_equal(read_it(HDR - 1), -EINVAL);
		assert_int_equal(read_it(HDR + 255), -EINVAL);
		/* The first one, which says how long the rest is. */
		assert_int_equal(read_it(HDR + 256), -ENOSPC);
		assert_memory_equal(buf + HDR, packet + HDR, 256);
		assert_int_equal(buf[HDR + 256], 0xee);
		memcpy(&hdr, buf, HDR);
		assert_int_equal(hdr.length, HDR + len[i]);
		assert_int_equal(hdr.pkey_index, 0x1234);
		assert_int_equal(read_it(HDR + len[i] - 1), -ENOSPC);
		assert_int_equal(vhca_umad_poll(&filp, NULL) & EPOLLIN, EPOLLIN);
		assert_int_equal(read_it(HDR + len[i]), HDR + len[i]);
		assert_memory_equal(buf + HDR, packet + HDR, len[i]);
		assert_int_equal(read_it(sizeof(buf)), -EAGAIN);
	}
	/* One that was not answered: the header alone. */
	arrives(24);
	assert_int_equal(read_it(HDR + 23), -EINVAL);
	assert_int_equal(read_it(HDR + 24), HDR + 24);
}

static void a_hostile_length_is_an_error(void **state)
{
	static const u32 bad[] = {
		1, 64, 87, XENVHCA_UMAD_RECV_MAX + 1, 1u << 31, ~0u
	};
	unsigned int i;

	(void)state;
	enable();
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		arrives(24);
		be.len = bad[i];
		assert_int_equal(read_it(sizeof(buf)), -EIO);
	}
	arrives(256);
	be.more = 1;
	assert_int_equal(read_it(sizeof(buf)), -EIO);
	be.more = -1;
	assert_int_equal(read_it(sizeof(buf)), -EIO);
	be.more = 0;
	arrives(5000);
	be.say = 6000;			/* it changes its mind */
	assert_int_equal(read_it(sizeof(buf)), -EIO);
	be.say = 100;
	assert_int_equal(read_it(sizeof(buf)), -EIO);
	be.say = 0;
	assert_int_equal(kept, 0);
	/* What was left there is there still, from its begin. */
	assert_int_equal(read_it(sizeof(buf)), HDR + 5000);
	/* Told that there is something, and there is nothing: it waits. */
	be.len = 0;
	be.events = true;
	vhca_file_notify(&umad.f, ++be.seq, true);
	filp.f_flags = 0;
	signals = 1;			/* or for ever */
	filp.f_flags = 0;
	assert_int_equal(read_it(sizeof(buf)), -ERESTARTSYS);
}

/* As natively: what is there is read. */
static void a_signal_does_not_interrupt_a_long_read(void **state)
{
	(void)state;
	enable();
	arrives(5000);
	signals = 1;
	assert_int_equal(read_it(sizeof(buf)), HDR + 5000);
	assert_memory_equal(buf + HDR, packet + HDR, 5000);
	assert_int_equal(signals, 1);
}

static void a_kill_ends_a_long_read_and_loses_nothing(void **state)
{
	(void)state;
	enable();
	arrives(5000);
	kernel_killed = true;
	assert_int_equal(read_it(sizeof(buf)), -EINTR);
	assert_int_equal(be.n, 1);
	kernel_killed = false;
	/* Of another process with this file; half of it is here when the backend errs. */
	be.say = 6000;
	assert_int_equal(read_it(sizeof(buf)), -EIO);
	be.say = 0;
	assert_int_equal(read_it(sizeof(buf)), HDR + 5000);
	assert_memory_equal(buf + HDR, packet + HDR, 5000);
}

static void without_memory_nothing_is_lost(void **state)
{
	(void)state;
	enable();
	arrives(256);
	most = 0;
	assert_int_equal(read_it(sizeof(buf)), -ENOMEM);
	assert_int_equal(be.n, 0);	/* it is the backend's still */
	arrives(5000);
	most = VHCA_UMAD_SLOT;
	assert_int_equal(read_it(sizeof(buf)), -ENOMEM);
	assert_int_equal(be.n, 1);
	most = ~0ul;
	assert_int_equal(read_it(sizeof(buf)), HDR + 5000);
	assert_memory_equal(buf + HDR, packet + HDR, 5000);
}

/* The backend says that there is a datagram, and has none. */
static void who_does_not_wait_asks_once(void **state)
{
	be.events = umad.f.events = true;
	be.n = 0;
	filp.f_flags = O_NONBLOCK;
	assert_int_equal(vhca_umad_read(&filp, (char *)buf, sizeof(buf), NULL),
			 -EAGAIN);
	assert_int_equal(be.n, 1);
}

static void who_waits_for_a_reader_can_be_killed(void **state)
{
	(void)state;
	arrives(256);
	umad.reader.held = true;	/* its memory does not come */
	assert_int_equal(read_it(sizeof(buf)), -EINTR);
	assert_int_equal(enable(), 0);
	assert_int_equal(reg(3), 0);
	umad.reader.held = false;
}

static void the_end_of_a_device_is_an_error(void **state)
{
	(void)state;
	assert_int_equal(vhca_umad_poll(&filp, NULL), EPOLLOUT | EPOLLWRNORM);
	arrives(256);
	assert_int_equal(vhca_umad_poll(&filp, NULL),
			 EPOLLOUT | EPOLLWRNORM | EPOLLIN | EPOLLRDNORM);
	umad.f.gone = true;
	umad.f.dev = NULL;
	assert_int_equal(vhca_umad_poll(&filp, NULL), EPOLLERR);
	assert_int_equal(read_it(sizeof(buf)), -EIO);
	memset(buf, 0, OLD);
	assert_int_equal(write_it(OLD + 256), -EIO);
	assert_int_equal(reg(3), -EIO);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(an_agent_is_registered),
		T(the_second_form_has_no_flags),
		T(an_agent_that_cannot_be_told_goes),
		T(a_datagram_goes_whole),
		T(the_old_header_has_no_index),
		T(who_is_too_fast_waits),
		T(long_answers_are_read_as_natively),
		T(a_hostile_length_is_an_error),
		T(a_signal_does_not_interrupt_a_long_read),
		T(a_kill_ends_a_long_read_and_loses_nothing),
		T(without_memory_nothing_is_lost),
		T(who_does_not_wait_asks_once),
		T(who_waits_for_a_reader_can_be_killed),
		T(the_end_of_a_device_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
