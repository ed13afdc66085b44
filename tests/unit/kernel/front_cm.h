/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Two backends of the connection manager, and a process with two files, for tests of
 * frontend/files/cm*.c.
 */
#ifndef FRONT_CM_H
#define FRONT_CM_H

#include "kernel.h"

#include <netinet/in.h>
#include <rdma/rdma_user_cm.h>

typedef long loff_t;
typedef unsigned int __poll_t;
typedef unsigned short umode_t;
struct inode;
struct net { int unused; };
struct poll_table_struct;
struct file { void *private_data; int f_flags; const void *f_op; };
struct fd { struct file *file; };
struct file_operations {
	void *owner;
	int (*open)(struct inode *inode, struct file *filp);
	int (*release)(struct inode *inode, struct file *filp);
	ssize_t (*write)(struct file *filp, const char *buf, size_t len,
			 loff_t *pos);
	__poll_t (*poll)(struct file *filp, struct poll_table_struct *wait);
};
#define VHCA_NO_LLSEEK
#define O_NONBLOCK		04000
#define ERESTARTSYS		512
#define EPOLLIN			0x01
#define EPOLLRDNORM		0x40
#define fd_file(f)		((f).file)
#define fdput(f)
#define stream_open(inode, filp) 0
#define poll_wait(f, wq, w)
#define SINGLE_DEPTH_NESTING	1
#define mutex_lock_killable_nested(m, n) mutex_lock_killable(m)
#define DEFINE_MUTEX(m)		struct mutex m
#define down_killable(s)	((s)->n--, 0)
#define up(s)			((s)->n++)
#define signal_pending(t)	signals	/* or it would wait for ever */
static bool signals;
#define wait_event_interruptible(wq, cond) (might_sleep(), (cond) ? 0 : -ERESTARTSYS)
#define ib_safe_file_access(f)	true
#define copy_from_user(to, from, n) (memcpy(to, from, n), 0)
#define list_del_init(l)	(list_del(l), INIT_LIST_HEAD(l))
#define list_first_entry_or_null(head, type, m)				\
	(list_empty(head) ? NULL : container_of((head)->next, type, m))
#define list_first_entry(head, type, m) container_of((head)->next, type, m)
#define list_move_tail(l, head)	(list_del(l), list_add_tail(l, head))
#define kref_init(r)		((r)->n = 1)
#define kref_get(r)		((r)->n++)
#define kref_put(r, release)	(--(r)->n ? 0 : (release(r), 1))
#define U32_MAX			UINT32_MAX
#define get_net(n)		(n)
#define put_net(n)
/* Works run when the test says so. */
static struct work_struct *queued;
static void *system_unbound_wq;
#define INIT_WORK(w, f)		((w)->fn = (f))
#define queue_work(wq, w)	(queued = (w))
#define cancel_work_sync(w)	(queued = queued == (w) ? NULL : queued)
static struct net here, elsewhere, *dev_net;
#define rdma_dev_access_netns(ibdev, n) (!dev_net || dev_net == (n))
static struct nsproxy { struct net *net_ns; } proxy = { &here };
static struct { struct nsproxy *nsproxy; } task = { &proxy };
#define current			(&task)
/* The device in /dev: others show that. */
struct device_attribute { int attr; };
struct attribute;
struct attribute_group { int unused; };
struct miscdevice {
	int minor;
	const char *name, *nodename;
	umode_t mode;
	const struct file_operations *fops;
	const struct attribute_group **groups;
	struct device *this_device;
};
struct ib_client_nl_info { int abi; struct device *cdev; };
struct ib_client {
	const char *name;
	int (*get_global_nl_info)(struct ib_client_nl_info *res);
	int no_kverbs_req;
};
#define MISC_DYNAMIC_MINOR	255
#define DEVICE_ATTR_RO(n)	struct device_attribute dev_attr_##n
#define ATTRIBUTE_GROUPS(n)	static const struct attribute_group *n##_groups[1]
#define MODULE_ALIAS(n)
#define sysfs_emit(buf, ...)	sprintf(buf, __VA_ARGS__)
#define misc_register(m)	1	/* so that the name is free */
#define misc_deregister(m)
#define ib_register_client(c)	0
#define ib_unregister_client(c)
#define class_find_device_by_name(c, n) NULL

static struct numbers { void *at[64]; } *tables;
#define DEFINE_XARRAY_ALLOC1(name) struct numbers name
#define xa_limit_32b		0
#define xa_lock(xa)
#define xa_unlock(xa)
#define xa_load(xa, i)		((i) < ARRAY_SIZE((xa)->at) ? (xa)->at[i] : NULL)
#define xa_erase(xa, i)		((xa)->at[i] = NULL)
/* Numbers that no backend has. */
static int xa_alloc_cyclic(struct numbers *xa, u32 *id, void *p, int limit,
			   u32 *next, int gfp)
{
	*id = *next = max(*next + 1, 20u);
	assert_true(*id < ARRAY_SIZE(xa->at));
	xa->at[*id] = p;
	tables = xa;
	return 0;
}

static struct fd fdget(unsigned int fd);

#include "copy/file.c"
#include "copy/cm_id.c"
#include "copy/cm_place.c"
#include "copy/cm_event.c"
#undef misc_register
static bool offered;
struct miscdevice;
static int misc_register(struct miscdevice *m)
{
	if (!strcmp(m->name, "vhca_probe"))
		return -EBUSY;
	offered = true;
	return 0;
}
#include "copy/cm_write.c"
#include "copy/cm_part.c"
#include "copy/cm.c"

/* Two backends, and what each got last and answers. */
struct backend {
	struct vhca_dev dev;
	struct vhca_store store;
	u32 address;			/* of its own; 0: it takes any */
	u32 next_id, ids;		/* ids: alive */
	u32 bound, listens, n;
	u16 seq, out_len;
	int status, bind_status;
	bool events;
	struct vhca_cm_call got;
	u32 file;
	struct rdma_ucm_event_resp event;
};
static struct backend be[2];
static struct file filp, other_filp;

static struct fd fdget(unsigned int fd)
{
	return (struct fd){ fd == 5 ? &other_filp : fd == 6 ? &filp : NULL };
}

static u32 v4(const u8 *sa)
{
	struct sockaddr_in in;

	memcpy(&in, sa, sizeof(in));
	return in.sin_family == AF_INET ? ntohl(in.sin_addr.s_addr) :
	       in.sin_family;
}

static int takes(const struct backend *b, const u8 *sa)
{
	u32 a = v4(sa);

	return !a || !b->address || a == b->address ? b->bind_status :
	       -EADDRNOTAVAIL;
}

static int answer(struct backend *b, struct vhca_cm_call *c)
{
	struct rdma_ucm_query_addr_resp *addr = (void *)c->out;

	switch (c->cmd) {
	case RDMA_USER_CM_CMD_CREATE_ID:
		b->ids++;
		/* fall through */
	case RDMA_USER_CM_CMD_JOIN_MCAST:
		b->next_id++;
		memcpy(c->out, &b->next_id, sizeof(b->next_id));
		return 0;
	case RDMA_USER_CM_CMD_DESTROY_ID:
		b->ids--;
		memset(c->out, 0xff, 4);	/* not what was reported */
		return 0;
	case RDMA_USER_CM_CMD_BIND_IP:
		b->bound++;
		return takes(b, c->in + offsetof(struct rdma_ucm_bind_ip, addr));
	case RDMA_USER_CM_CMD_BIND:
		b->bound++;
		return takes(b, c->in + offsetof(struct rdma_ucm_bind, addr));
	case RDMA_USER_CM_CMD_RESOLVE_IP:
		return takes(b, c->in);
	case RDMA_USER_CM_CMD_LISTEN:
		b->listens++;
		return 0;
	case RDMA_USER_CM_CMD_QUERY:
		memset(c->out, 0xee, c->out_len);
		((struct sockaddr_in *)&addr->src_addr)->sin_port = htons(4711);
		return 0;
	case RDMA_USER_CM_CMD_GET_EVENT:
		memcpy(c->out, &b->event, sizeof(b->event));
		return 0;
	default:
		return 0;
	}
}

#include "cmd_alloc.h"
#include "file_rest.h"

int vhca_ring_submit(struct vhca_dev *d, struct vhca_cmd **cmdp,
		     unsigned int flags)
{
	struct backend *b = container_of(d, struct backend, dev);
	struct xenvhca_cm_command_req *r = &(*cmdp)->req.u.cm_command;
	struct xenvhca_cm_command_rsp *s = &(*cmdp)->rsp.u.cm_command;
	struct vhca_cm_call c;
	int rc;

	assert_int_equal((*cmdp)->req.op, XENVHCA_OP_CM_COMMAND);
	assert_true(flags & VHCA_CMD_APART);
	/* Without its answer nobody knows in which file the id is. */
	assert_int_equal(!!(flags & VHCA_CMD_CERTAIN),
			 r->cmd == RDMA_USER_CM_CMD_MIGRATE_ID);
	assert_int_equal(d->cm_slots.n, -1);
	assert_int_equal((*cmdp)->req.in_len,
			 vhca_slot_more(r->in_len, XENVHCA_CM_IN));
	assert_int_equal((*cmdp)->req.out_len,
			 vhca_slot_more(r->out_len, XENVHCA_CM_OUT));
	c = (struct vhca_cm_call){
		.cmd = r->cmd, .op = vhca_cm_op(r->cmd, &rc),
		.in_len = r->in_len, .room = r->out_len,
		.out_len = r->out_len, .from = r->from,
	};
	vhca_slot_take(c.in, c.in_len, r->in, sizeof(r->in),
		       (*cmdp)->req.udata);
	b->n++;
	b->file = r->cm;
	b->got = c;
	if (b->status)
		return b->status;
	rc = answer(b, &c);
	s->out_len = min(b->out_len, c.out_len);
	s->seq = ++b->seq;
	s->events = b->events;
	(*cmdp)->rsp.out_len = vhca_slot_put(s->out, sizeof(s->out),
					     (*cmdp)->rsp.udata, c.out,
					     s->out_len);
	return rc;
}

static void work_runs(void)
{
	struct work_struct *w = queued;

	queued = NULL;
	if (w)
		w->fn(w);
}

static struct vhca_cm_part *part_of(struct file *f, unsigned int n)
{
	struct vhca_cm *cm = f->private_data;
	struct vhca_cm_part *part;

	list_for_each_entry(part, &cm->parts, list)
		if (part->f.dev == &be[n].dev || !part->f.dev)
			return part;
	return NULL;
}

static void comes(unsigned int n)
{
	struct backend *b = &be[n];

	memset(b, 0, sizeof(*b));
	b->out_len = VHCA_CM_MAX_OUT;
	b->dev.store = &b->store;
	b->store.number = n;
	b->dev.ibdev.index = 77 + n;
	b->dev.info.flags = XENVHCA_INFO_CM;
	INIT_LIST_HEAD(&b->dev.cm_list);
	INIT_LIST_HEAD(&b->dev.files);
	vhca_cm_add(&b->dev);
}

static void has_address(unsigned int n, u32 address, u8 prefix)
{
	struct vhca_net *net = &be[n].dev.nets.net[0];
	u32 a = htonl(address);

	be[n].address = address;
	be[n].dev.nets.nr = 1;
	memset(net->addr, 0, sizeof(net->addr));
	net->addr[10] = net->addr[11] = 0xff;
	memcpy(net->addr + 12, &a, 4);
	net->prefix = 96 + prefix;
}

static void goes(struct file *f, unsigned int n)
{
	struct vhca_cm_part *part = part_of(f, n);

	vhca_cm_remove(&be[n].dev);
	part->f.dev = NULL;
	list_del_init(&part->f.list);
	part->f.gone = true;
	part->f.ops->gone(&part->f);
}

static void opened(struct file *f)
{
	assert_int_equal(vhca_cm_fops.open(NULL, f), 0);
	f->f_flags = O_NONBLOCK;
	f->f_op = &vhca_cm_fops;
}

static int setup(void **state)
{
	(void)state;
	handles = 0;
	signals = true;
	dev_net = NULL;
	proxy.net_ns = &here;
	comes(0);
	opened(&filp);
	opened(&other_filp);
	return 0;
}

/* Two devices, with addresses of their own; the second comes first. */
static int setup_two(void **state)
{
	(void)state;
	handles = 0;
	signals = true;
	dev_net = NULL;
	proxy.net_ns = &here;
	comes(1);
	comes(0);
	has_address(0, 0x0a090047, 24);
	has_address(1, 0x0a090147, 24);
	opened(&filp);
	opened(&other_filp);
	return 0;
}

static int teardown(void **state)
{
	unsigned int i;

	(void)state;
	vhca_cm_fops.release(NULL, &filp);
	vhca_cm_fops.release(NULL, &other_filp);
	for (i = 0; i < 2; i++)
		if (be[i].dev.store)
			vhca_cm_remove(&be[i].dev);
	for (i = 0; tables && i < ARRAY_SIZE(tables->at); i++)
		assert_null(tables->at[i]);
	memset(be, 0, sizeof(be));
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

static u32 create(u64 uid)
{
	struct rdma_ucm_create_id_resp resp = {};
	struct rdma_ucm_create_id in = {
		.uid = uid, .response = (uintptr_t)&resp, .ps = RDMA_PS_TCP,
	};

	assert_int_equal(command(&filp, CREATE_ID, &in, sizeof(resp)), GOOD(&in));
	return resp.id;
}

static long destroy(struct file *f, u32 id, u32 *events)
{
	struct rdma_ucm_destroy_id_resp resp = { .events_reported = 99 };
	struct rdma_ucm_destroy_id in = {
		.id = id, .response = (uintptr_t)&resp,
	};
	long rc = command(f, DESTROY_ID, &in, sizeof(resp));

	*events = resp.events_reported;
	return rc;
}

static long bind_to(u32 id, u32 address, u16 port)
{
	struct rdma_ucm_bind in = { .id = id, .addr_size = 16 };
	struct sockaddr_in sa = {
		.sin_family = AF_INET, .sin_port = htons(port),
		.sin_addr.s_addr = htonl(address),
	};

	memcpy(&in.addr, &sa, sizeof(sa));
	return command(&filp, BIND, &in, 0);
}

static long resolve(u32 id, u32 src, u32 dst)
{
	struct rdma_ucm_resolve_ip in = { .id = id };
	struct sockaddr_in sa = { .sin_family = AF_INET };

	sa.sin_addr.s_addr = htonl(dst);
	memcpy(&in.dst_addr, &sa, sizeof(sa));
	sa.sin_addr.s_addr = htonl(src);
	if (src)
		memcpy(&in.src_addr, &sa, sizeof(sa));
	return command(&filp, RESOLVE_IP, &in, 0);
}

static long listens(u32 id)
{
	struct rdma_ucm_listen in = { .id = id, .backlog = 3 };

	return command(&filp, LISTEN, &in, 0);
}

#define GOOD_BIND	((long)(8 + sizeof(struct rdma_ucm_bind)))
#define GOOD_RESOLVE	((long)(8 + sizeof(struct rdma_ucm_resolve_ip)))
#define GOOD_LISTEN	((long)(8 + sizeof(struct rdma_ucm_listen)))

/* Backend @n says this. */
static long event_at(struct file *f, unsigned int n, u64 cookie, u32 id, u32 what,
		     struct rdma_ucm_event_resp *ev)
{
	struct rdma_ucm_get_event in = { .response = (uintptr_t)ev };
	long rc;

	be[n].event = (struct rdma_ucm_event_resp){
		.uid = cookie, .id = id, .event = what,
	};
	part_of(f, n)->f.events = true;
	memset(ev, 0, sizeof(*ev));
	rc = command(f, GET_EVENT, &in, sizeof(*ev));
	return rc == -EAGAIN ? NONE : rc;
}

#define event(f, cookie, id, ev) event_at(f, 0, cookie, id, 9, ev)

#endif
