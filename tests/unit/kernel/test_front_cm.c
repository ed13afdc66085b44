// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * frontend/cm_*.c: what a process writes and what a backend may answer. Lengths and
 * errors are those of the kernel's own ucma.c; what comes back to the process as uid is
 * one of its own, whatever the backend sends; statements about events are taken in
 * their order.
 */
#include "kernel.h"

#include <rdma/rdma_user_cm.h>

typedef long loff_t;
struct vhca_cm;
struct file { void *private_data; int f_flags; const void *f_op; };
struct fd { struct file *file; };
#define O_NONBLOCK		04000
#define ERESTARTSYS		512
#define fd_file(f)		((f).file)
#define fdput(f)
#define SINGLE_DEPTH_NESTING	1
#define mutex_lock_killable_nested(m, n) mutex_lock_killable(m)
#define spin_lock_irq(l)
#define spin_unlock_irq(l)
#define signal_pending(t)	signals	/* or it would wait for ever */
#define wait_event_interruptible(wq, cond) ((cond) ? 0 : -ERESTARTSYS)
#define ib_safe_file_access(f)	true
#define copy_from_user(to, from, n) (memcpy(to, from, n), 0)
#define file_operations	cm_fops
#define xa_init(xa)		memset(xa, 0, sizeof(*(xa)))
#define xa_destroy(xa)
#define xa_load(xa, i)		((i) < ARRAY_SIZE((xa)->at) ? (xa)->at[i] : NULL)
#define xa_for_each(xa, i, p)						\
	for (i = 0; i < ARRAY_SIZE((xa)->at); i++)			\
		if ((p = (xa)->at[i]))

#define U32_MAX			UINT32_MAX

struct cm_fops { int unused; };
static bool signals;
static long counter;
#define atomic_inc_return(a)	((u32)++counter)

static int xa_insert(struct xarray *xa, unsigned long i, void *p, int gfp)
{
	assert_true(i < ARRAY_SIZE(xa->at));
	if (xa->at[i])
		return -EBUSY;
	xa->at[i] = p;
	return 0;
}

static void *xa_erase(struct xarray *xa, unsigned long i)
{
	void *p = xa->at[i];

	xa->at[i] = NULL;
	return p;
}

static struct fd fdget(unsigned int fd);

#include "copy/file_event.c"
#include "copy/cm_uid.c"
#include "copy/cm_write.c"

const struct cm_fops vhca_cm_fops;
static struct vhca_dev dev;
static struct vhca_cm cm, other;
static struct file filp, other_filp;

/* What the backend got last, and what it answers. */
static struct {
	u32 file;
	struct vhca_cm_call got;
	int status;
	u16 out_len, seq;
	bool events;
	u8 out[VHCA_CM_MAX_OUT];
	unsigned int n;
} be;

static struct fd fdget(unsigned int fd)
{
	return (struct fd){ fd == 5 ? &other_filp : fd == 6 ? &filp : NULL };
}

int vhca_cmd_cm_command(struct vhca_dev *d, u32 file, struct vhca_cm_call *c)
{
	be.n++;
	be.file = file;
	be.got = *c;
	if (be.status)
		return be.status;
	if (be.out_len < c->out_len)
		c->out_len = be.out_len;
	memcpy(c->out, be.out, c->out_len);
	c->seq = ++be.seq;
	c->events = be.events;
	return 0;
}

int vhca_file_lock(struct vhca_file *c)
{
	mutex_lock(&c->lock);
	return 0;
}

int vhca_file_ready(struct vhca_file *c)
{
	return 0;
}

void vhca_file_unlock(struct vhca_file *c)
{
	mutex_unlock(&c->lock);
}

static void file_init(struct vhca_cm *c, struct file *f, u32 handle)
{
	memset(c, 0, sizeof(*c));
	c->f.dev = &dev;
	c->f.handle = handle;
	f->private_data = c;
	f->f_flags = O_NONBLOCK;
	f->f_op = &vhca_cm_fops;
}

static int setup(void **state)
{
	(void)state;
	memset(&be, 0, sizeof(be));
	be.out_len = VHCA_CM_MAX_OUT;
	signals = true;
	counter = 0;
	dev.ibdev.index = 77;
	file_init(&cm, &filp, 1);
	file_init(&other, &other_filp, 2);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	vhca_cm_uid_exit(&cm);
	vhca_cm_uid_exit(&other);
	return 0;
}

/* A write() of a process. */
static long command_len(struct file *f, u32 cmd, const void *in, u16 len,
			u16 out)
{
	struct rdma_ucm_cmd_hdr hdr = { cmd, len, out };
	u8 buf[1024] = {};

	memcpy(buf, &hdr, sizeof(hdr));
	memcpy(buf + sizeof(hdr), in, len);
	return vhca_cm_write(f, (char *)buf, sizeof(hdr) + len, NULL);
}

#define command(f, CMD, in, out) \
	command_len(f, RDMA_USER_CM_CMD_##CMD, in, sizeof(*(in)), out)
#define NONE			(-ERESTARTSYS)	/* it would go on waiting */
#define GOOD(in)		((long)(sizeof(struct rdma_ucm_cmd_hdr) + sizeof(*(in))))

static void create(u64 uid, u32 id)
{
	struct rdma_ucm_create_id_resp resp = {};
	struct rdma_ucm_create_id in = {
		.uid = uid, .response = (uintptr_t)&resp, .ps = RDMA_PS_TCP,
	};

	memcpy(be.out, &id, sizeof(id));
	assert_int_equal(command(&filp, CREATE_ID, &in, sizeof(resp)), GOOD(&in));
	assert_int_equal(resp.id, id);
}

/* What the backend sends back as uid of this id. */
static u64 cookie_of(u32 id)
{
	struct cm_uid *u;
	unsigned long i;

	xa_for_each(&cm.uids, i, u)
		if (u->id == id)
			return i;
	return 0;
}

static long event(struct file *f, u64 cookie, u32 id,
		  struct rdma_ucm_event_resp *ev)
{
	struct rdma_ucm_event_resp out = { .uid = cookie, .id = id };
	struct rdma_ucm_get_event in = { .response = (uintptr_t)ev };
	struct vhca_cm *c = f->private_data;

	c->f.events = true;
	memset(ev, 0, sizeof(*ev));
	memcpy(be.out, &out, sizeof(out));
	return command(f, GET_EVENT, &in, sizeof(*ev));
}

static void no_address_goes_to_the_backend(void **state)
{
	struct rdma_ucm_create_id sent;
	u64 uid = 0x7f0012345678ull;

	(void)state;
	create(uid, 3);
	memcpy(&sent, be.got.in, sizeof(sent));
	assert_true(sent.uid && sent.uid != uid);
	assert_true(sent.response == 0);
	assert_int_equal(be.file, 1);
}

static void an_event_has_a_uid_of_the_process(void **state)
{
	struct rdma_ucm_event_resp ev;

	(void)state;
	create(0x7f0012345678ull, 3);
	assert_true(event(&filp, cookie_of(3), 3, &ev) > 0);
	assert_true(ev.uid == 0x7f0012345678ull);
	/* One that the backend made up, or that is of another file, is none. */
	assert_int_equal(event(&filp, 6, 3, &ev), NONE);
	assert_int_equal(event(&filp, 0x7f0012345678ull, 3, &ev), NONE);
	assert_int_equal(event(&filp, ~0ull, 3, &ev), NONE);
	assert_int_equal(event(&other_filp, cookie_of(3), 3, &ev), NONE);
	assert_true(ev.uid == 0);
	/* Too short to be an event. */
	be.out_len = 100;
	assert_int_equal(event(&filp, cookie_of(3), 3, &ev), NONE);
}

static void a_uid_ends_with_its_id(void **state)
{
	struct rdma_ucm_destroy_id_resp resp;
	struct rdma_ucm_destroy_id in = {
		.id = 3, .response = (uintptr_t)&resp,
	};
	struct rdma_ucm_join_mcast join = {
		.id = 3, .uid = 0x1234, .response = (uintptr_t)&resp,
	};
	struct rdma_ucm_event_resp ev;
	u64 cookie;

	(void)state;
	create(0x7f0012345678ull, 3);
	cookie = cookie_of(3);
	assert_int_equal(command(&filp, JOIN_MCAST, &join, 4), GOOD(&join));
	be.status = -ENOENT;
	assert_int_equal(command(&filp, DESTROY_ID, &in, 4), -ENOENT);
	be.status = 0;
	assert_true(event(&filp, cookie, 3, &ev) > 0);
	assert_int_equal(command(&filp, DESTROY_ID, &in, 4), GOOD(&in));
	assert_int_equal(event(&filp, cookie, 3, &ev), NONE);
	assert_int_equal(event(&filp, cookie + 1, 3, &ev), NONE);
}

static void an_accept_gives_the_uid(void **state)
{
	struct rdma_ucm_accept in = { .id = 9, .uid = 0x55 };
	struct rdma_ucm_event_resp ev;
	u64 cookie;

	(void)state;
	assert_int_equal(command(&filp, ACCEPT, &in, 0), GOOD(&in));
	assert_int_equal(cookie_of(9), 0);	/* not valid: as it was */
	in.conn_param.valid = 1;
	be.status = -EINVAL;
	assert_int_equal(command(&filp, ACCEPT, &in, 0), -EINVAL);
	assert_int_equal(cookie_of(9), 0);
	be.status = 0;
	assert_int_equal(command(&filp, ACCEPT, &in, 0), GOOD(&in));
	cookie = cookie_of(9);
	assert_true(event(&filp, cookie, 9, &ev) > 0);
	assert_true(ev.uid == 0x55);
	/* Without ECE, as old programs send it. */
	assert_int_equal(command_len(&filp, RDMA_USER_CM_CMD_ACCEPT, &in, 288,
				     0), 8 + 288);
	assert_int_equal(command_len(&filp, RDMA_USER_CM_CMD_ACCEPT, &in, 280,
				     0), -EINVAL);
}

static void an_id_moves_with_its_uid(void **state)
{
	struct rdma_ucm_migrate_resp resp;
	struct rdma_ucm_migrate_id in = {
		.id = 3, .fd = 6, .response = (uintptr_t)&resp,
	};
	struct rdma_ucm_event_resp ev;
	u64 cookie;

	(void)state;
	create(0x77, 3);
	cookie = cookie_of(3);
	be.status = -EINVAL;
	assert_int_equal(command(&other_filp, MIGRATE_ID, &in, 4), -EINVAL);
	assert_true(event(&filp, cookie, 3, &ev) == -EINVAL);
	be.status = 0;
	assert_true(event(&filp, cookie, 3, &ev) > 0);
	assert_int_equal(command(&other_filp, MIGRATE_ID, &in, 4), GOOD(&in));
	assert_int_equal(be.got.from, 1);
	assert_int_equal(be.file, 2);
	assert_int_equal(be.got.in[offsetof(struct rdma_ucm_migrate_id, fd)], 0);
	assert_int_equal(event(&filp, cookie, 3, &ev), NONE);
	assert_true(event(&other_filp, cookie, 3, &ev) > 0);
	assert_true(ev.uid == 0x77);
	in.fd = 9;
	assert_int_equal(command(&other_filp, MIGRATE_ID, &in, 4), -ENOENT);
	assert_false(cm.f.lock.held || other.f.lock.held);
}

/* The other file waits for its backend's answer, and this process is killed. */
static void waiting_for_the_other_file_is_killable(void **state)
{
	struct rdma_ucm_migrate_id in = { .id = 3, .fd = 6 };
	struct vhca_cm *second = &cm > &other ? &cm : &other;

	(void)state;
	second->f.lock.held = true;
	assert_int_equal(command(&other_filp, MIGRATE_ID, &in, 4), -EINTR);
	assert_int_equal(be.n, 0);
	second->f.lock.held = false;
	assert_false(cm.f.lock.held || other.f.lock.held);
}

static void lengths_are_those_of_the_kernel(void **state)
{
	struct rdma_ucm_query_addr_resp addr = {};
	struct rdma_ucm_query query = { .response = (uintptr_t)&addr };
	struct rdma_ucm_set_option set = {
		.optval = (uintptr_t)&addr, .optlen = sizeof(addr),
	};
	unsigned int n;

	(void)state;
	assert_int_equal(vhca_cm_write(&filp, (char *)&query, 7, NULL), -EINVAL);
	assert_int_equal(command_len(&filp, 100, &query, 16, 0), -EINVAL);
	assert_int_equal(command_len(&filp, RDMA_USER_CM_CMD_GET_OPTION, &query,
				     16, 0), -ENOSYS);
	assert_int_equal(command(&filp, QUERY, &query, 271), -ENOSPC);
	n = be.n;
	assert_int_equal(n, 0);
	assert_int_equal(command(&filp, QUERY, &query, 65535), GOOD(&query));
	assert_int_equal(be.got.out_len, sizeof(addr));
	assert_int_equal(addr.ibdev_index, 77);
	assert_int_equal(command(&filp, QUERY, &query, 272), GOOD(&query));
	assert_int_equal(command(&filp, SET_OPTION, &set, 0), GOOD(&set));
	assert_int_equal(be.got.in_len, sizeof(set) + sizeof(addr));
	n = be.n;
	set.optlen = 457;
	assert_int_equal(command(&filp, SET_OPTION, &set, 0), -EINVAL);
	set.optlen = ~0u;
	assert_int_equal(command(&filp, SET_OPTION, &set, 0), -EINVAL);
	assert_int_equal(be.n, n);
}

/* A backend that says without end that it has events wakes a process once. */
static void a_flood_is_no_news(void **state)
{
	unsigned int news = 0;
	u16 seq;

	(void)state;
	for (seq = 1; seq < 1000; seq++)
		news += vhca_file_told(&cm.f, seq, true);
	assert_int_equal(news, 1);
	/* The process asks, hears that there is none, and is woken by the next one. */
	assert_false(vhca_file_told(&cm.f, seq++, false));
	assert_true(vhca_file_told(&cm.f, seq, true));
}

/* It says that there are events, and gives none, or those of others. */
static void who_does_not_wait_asks_once(void **state)
{
	struct rdma_ucm_event_resp ev;

	(void)state;
	signals = false;
	create(0x77, 3);
	be.n = 0;
	be.status = -EAGAIN;
	assert_int_equal(event(&filp, cookie_of(3), 3, &ev), -EAGAIN);
	assert_int_equal(be.n, 1);
	be.status = 0;
	be.events = true;
	be.n = 0;
	assert_int_equal(event(&filp, 6, 3, &ev), -EAGAIN);
	assert_in_range(be.n, 1, 100);
}

static void the_latest_statement_holds(void **state)
{
	(void)state;
	assert_true(vhca_file_told(&cm.f, 2, true));
	assert_false(vhca_file_told(&cm.f, 4, false));
	assert_false(cm.f.events);
	assert_false(vhca_file_told(&cm.f, 3, true));	/* it was late */
	assert_false(cm.f.events);
	assert_false(vhca_file_told(&cm.f, 4, true));	/* twice */
	assert_true(vhca_file_told(&cm.f, 5, true));
	assert_true(cm.f.events);
	/* The numbers wrap. */
	cm.f.seq = 0xffff;
	assert_false(vhca_file_told(&cm.f, 0, false));
	assert_false(cm.f.events);
}

static void a_lost_statement_is_asked_for(void **state)
{
	(void)state;
	vhca_file_overflow(&cm.f);
	assert_true(cm.f.events);
	vhca_file_ask(&cm.f);
	vhca_file_told(&cm.f, 1, false);
	assert_false(cm.f.events);
	/* It was lost while a command was under way: that may know nothing. */
	vhca_file_ask(&cm.f);
	vhca_file_overflow(&cm.f);
	vhca_file_told(&cm.f, 2, false);
	assert_true(cm.f.events);
	vhca_file_ask(&cm.f);
	vhca_file_told(&cm.f, 3, false);
	assert_false(cm.f.events);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(no_address_goes_to_the_backend),
		T(an_event_has_a_uid_of_the_process),
		T(a_uid_ends_with_its_id), T(an_accept_gives_the_uid),
		T(an_id_moves_with_its_uid),
		T(waiting_for_the_other_file_is_killable),
		T(lengths_are_those_of_the_kernel),
		T(a_flood_is_no_news), T(who_does_not_wait_asks_once),
		T(the_latest_statement_holds),
		T(a_lost_statement_is_asked_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
