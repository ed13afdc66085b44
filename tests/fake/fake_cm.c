// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * See fake_cm.h. Ids are numbers of places, reused at once, as the kernel's are.
 */
#include <endian.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <rdma/rdma_user_cm.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "fake_cm.h"
#include "fake_priv.h"
#include "fake_uverbs.h"
#include "core/ib_core.h"

#define FILES		128u
#define IDS		8192u
#define EVENTS		256u
#define GUID		0x1122334455667788ull	/* fake_cmd.c */
#define PORT		1

static struct cm_file {
	bool used;
	int fd;
} files[FILES];

static struct cm_id {
	bool used, group, listening, bound, ipoib;
	uint32_t reported;		/* events */
	int fd;
	uint32_t of;
	uint64_t uid;
	struct sockaddr_storage addr;	/* of a group */
} ids[IDS];

static struct cm_event {
	int fd;
	uint32_t of;			/* the id that it counts for */
	struct rdma_ucm_event_resp resp;
} events[EVENTS];
static unsigned int nr_events, commands, fail_n;
static int fail_err;
static uint32_t backlog;
static uint8_t option;
static bool other_device, other_port;
static uint16_t pkey_index, alt_pkey_index, partition = 0xffff;
static uint32_t broadcast_qkey = 0xb1b;
static struct { bool seen; uint8_t in[256]; } last[32];
static pthread_mutex_t block = PTHREAD_MUTEX_INITIALIZER;
static uint32_t block_cmd;		/* the only one that waits; 0: all */

static struct cm_file *file_find(int fd)
{
	unsigned int i;

	for (i = 0; i < FILES; i++)
		if (files[i].used && files[i].fd == fd)
			return &files[i];
	return NULL;
}

bool fake_cm_has(int fd)
{
	return file_find(fd);
}

int fake_cm_open(void)
{
	unsigned int i;

	for (i = 0; i < FILES && files[i].used; i++)
		;
	if (i == FILES) {
		errno = EMFILE;
		return -1;
	}
	files[i] = (struct cm_file){
		true, eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK | EFD_SEMAPHORE),
	};
	return files[i].fd;
}

static void event_drop(unsigned int i)
{
	uint64_t n;

	if (read(events[i].fd, &n, sizeof(n)) < 0)
		return;
	memmove(&events[i], &events[i + 1],
		(--nr_events - i) * sizeof(events[0]));
}

static void id_del(uint32_t id)
{
	unsigned int i;

	ids[id].used = false;
	for (i = nr_events; i-- > 0;)
		if (events[i].resp.id == id)
			event_drop(i);
	for (i = 0; i < IDS; i++)
		if (ids[i].used && ids[i].group && ids[i].of == id)
			ids[i].used = false;
}

int fake_cm_close(int fd)
{
	unsigned int i;

	for (i = 0; i < IDS; i++)
		if (ids[i].used && ids[i].fd == fd)
			id_del(i);
	file_find(fd)->used = false;
	return close(fd);
}

static int id_new(int fd, uint64_t uid)
{
	unsigned int i;

	for (i = 1; i < IDS && ids[i].used; i++)
		;
	if (i == IDS)
		return -ENOMEM;
	ids[i] = (struct cm_id){ .used = true, .fd = fd, .uid = uid };
	return (int)i;
}

static struct cm_id *id_get(int fd, uint32_t id, bool group, int *err)
{
	struct cm_id *i = id < IDS ? &ids[id] : NULL;

	*err = !i || !i->used || i->group != group ? -ENOENT :
	       i->fd != fd ? -EINVAL : 0;
	return *err ? NULL : i;
}

static void event_push(uint32_t of, uint32_t id, uint32_t event)
{
	uint64_t one = 1;

	if (nr_events == EVENTS || write(ids[of].fd, &one, sizeof(one)) < 0)
		return;
	events[nr_events++] = (struct cm_event){
		.fd = ids[of].fd, .of = of,
		.resp = { .uid = ids[of].uid, .id = id, .event = event },
	};
}

void fake_cm_event(uint32_t id, uint32_t event)
{
	event_push(id, id, event);
}

void fake_cm_event_port(uint32_t id, uint32_t event, uint8_t port)
{
	unsigned int before = nr_events;

	fake_cm_event(id, event);
	if (nr_events != before)
		events[nr_events - 1].resp.param.ud.ah_attr.port_num = port;
}

void fake_cm_bind(uint32_t id)
{
	ids[id].bound = true;
}

uint32_t fake_cm_request(uint32_t listener)
{
	int id = id_new(ids[listener].fd, 0);

	if (id < 0)
		return 0;
	ids[id].bound = true;
	event_push(listener, (uint32_t)id, 4);
	return (uint32_t)id;
}

void fake_cm_broadcast(uint32_t qkey)
{
	broadcast_qkey = qkey;
}

/* A warning in the kernel's log, by which some hosts stop, or worse. */
static void complain(bool bad, const char *why)
{
	if (!bad)
		return;
	fprintf(stderr, "%s\n", why);
	abort();
}

/* ---- commands: 0 or -errno ---- */

struct cm_call {
	int fd;
	uint32_t cmd;
	const uint8_t *in;
	uint16_t in_len, out_len;
};

static int answer(const struct cm_call *c, const void *out, size_t len)
{
	uint64_t at;

	/* ACCEPT and CREATE_ID alone have something before it. */
	memcpy(&at, c->in + (c->cmd == RDMA_USER_CM_CMD_CREATE_ID ? 8 : 0),
	       sizeof(at));
	if (!at)
		return -EFAULT;
	memcpy((void *)(uintptr_t)at, out, len < c->out_len ? len : c->out_len);
	return 0;
}

static int get_event(const struct cm_call *c)
{
	struct rdma_ucm_event_resp resp;
	unsigned int i;

	for (i = 0; i < nr_events && events[i].fd != c->fd; i++)
		;
	if (i == nr_events)
		return -EAGAIN;
	resp = events[i].resp;
	ids[events[i].of].reported++;
	event_drop(i);
	return answer(c, &resp, sizeof(resp));
}

static int query(const struct cm_call *c, const struct cm_id *id)
{
	struct rdma_ucm_query_addr_resp addr = {
		.node_guid = id->bound ? GUID + other_device : 0,
		.port_num = id->bound ? PORT + other_port : 0,
		.pkey = htobe16(partition),
	};
	struct rdma_ucm_query_route_resp route = {
		.node_guid = addr.node_guid, .port_num = addr.port_num,
	};
	const struct rdma_ucm_query_path_resp path = {};
	struct rdma_ucm_query q;

	memcpy(&q, c->in, sizeof(q));
	if (c->cmd == RDMA_USER_CM_CMD_QUERY_ROUTE)
		return answer(c, &route, sizeof(route));
	if (q.option > RDMA_USER_CM_QUERY_GID)
		return -ENOSYS;
	if (q.option == RDMA_USER_CM_QUERY_PATH)
		return answer(c, &path, sizeof(path));
	return answer(c, &addr, sizeof(addr));
}

static int create(const struct cm_call *c)
{
	struct rdma_ucm_create_id_resp resp;
	struct rdma_ucm_create_id cmd;
	int id;

	memcpy(&cmd, c->in, sizeof(cmd));
	if (cmd.ps != RDMA_PS_TCP && cmd.ps != RDMA_PS_UDP &&
	    cmd.ps != RDMA_PS_IPOIB && cmd.ps != RDMA_PS_IB)
		return -EINVAL;
	/* It would ask the port's table of groups, which there is none of. */
	complain(cmd.ps == RDMA_PS_IPOIB && !fake_hca.infiniband, "IPoIB's id on Ethernet");
	id = id_new(c->fd, cmd.uid);
	if (id < 0)
		return id;
	ids[id].ipoib = cmd.ps == RDMA_PS_IPOIB;
	resp.id = (uint32_t)id;
	return answer(c, &resp, sizeof(resp));
}

static int join(const struct cm_call *c, uint32_t of)
{
	struct rdma_ucm_create_id_resp resp;
	uint64_t uid;
	int id;

	/* cma_ib_mc_handler() */
	complain(ids[of].ipoib && !broadcast_qkey, "an id without a Q_Key joins");
	memcpy(&uid, c->in + 8, sizeof(uid));
	id = id_new(c->fd, uid);
	if (id < 0)
		return id;
	ids[id].group = true;
	ids[id].of = of;
	memset(&ids[id].addr, 0, sizeof(ids[id].addr));
	if (c->cmd == RDMA_USER_CM_CMD_JOIN_MCAST)
		memcpy(&ids[id].addr, c->in + offsetof(struct rdma_ucm_join_mcast, addr),
		       sizeof(ids[id].addr));
	else
		memcpy(&ids[id].addr, c->in + offsetof(struct rdma_ucm_join_ip_mcast, addr),
		       sizeof(struct sockaddr_in6));
	resp.id = (uint32_t)id;
	return answer(c, &resp, sizeof(resp));
}

static int set_listen(const struct cm_call *c, struct cm_id *id)
{
	struct rdma_ucm_listen cmd;

	memcpy(&cmd, c->in, sizeof(cmd));
	backlog = cmd.backlog;
	id->listening = true;
	return 0;
}

static int set_option(const struct cm_call *c)
{
	struct rdma_ucm_set_option cmd;
	const uint8_t *val;

	memcpy(&cmd, c->in, sizeof(cmd));
	val = (const uint8_t *)(uintptr_t)cmd.optval;
	if (cmd.optlen)
		option = val[cmd.optlen - 1];
	return 0;
}

static int migrate(const struct cm_call *c)
{
	struct rdma_ucm_migrate_resp resp;
	struct rdma_ucm_migrate_id cmd;
	struct cm_id *id;
	int err;

	memcpy(&cmd, c->in, sizeof(cmd));
	if (!file_find((int)cmd.fd))
		return -EINVAL;
	id = id_get((int)cmd.fd, cmd.id, false, &err);
	if (!id)
		return err;
	id->fd = c->fd;
	resp.events_reported = id->reported;
	return answer(c, &resp, sizeof(resp));
}

/* rdma_leave_multicast() would take the other one, whose events then name freed memory. */
static void leave_one(const struct cm_id *id)
{
	const struct cm_id *other;

	for (other = ids; other < ids + IDS; other++)
		complain(other != id && other->used && other->group && other->of == id->of &&
			 id->addr.ss_family &&
			 !memcmp(&other->addr, &id->addr, id->addr.ss_family == AF_INET ?
				 sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6)),
			 "two groups of one address are joined by one id");
}

/* Commands of one id, found. */
static int of_id(const struct cm_call *c, struct cm_id *id)
{
	struct ib_uverbs_qp_attr attr = {
		.port_num = PORT, .ah_attr.port_num = PORT,
		.qp_attr_mask = IB_QP_PKEY_INDEX | IB_QP_ALT_PATH,
		.pkey_index = pkey_index, .alt_pkey_index = alt_pkey_index,
	};

	if (id->ipoib) {
		attr.qp_attr_mask |= IB_QP_QKEY;
		attr.qkey = broadcast_qkey;
	}
	switch (c->cmd) {
	case RDMA_USER_CM_CMD_LEAVE_MCAST:
		leave_one(id);
		/* fall through */
	case RDMA_USER_CM_CMD_DESTROY_ID:
		id_del((uint32_t)(id - ids));
		return answer(c, &id->reported, sizeof(id->reported));
	case RDMA_USER_CM_CMD_QUERY:
	case RDMA_USER_CM_CMD_QUERY_ROUTE:
		return query(c, id);
	case RDMA_USER_CM_CMD_INIT_QP_ATTR:
		return answer(c, &attr, sizeof(attr));
	case RDMA_USER_CM_CMD_LISTEN:
		return set_listen(c, id);
	case RDMA_USER_CM_CMD_SET_OPTION:
		return set_option(c);
	case RDMA_USER_CM_CMD_JOIN_MCAST:
	case RDMA_USER_CM_CMD_JOIN_IP_MCAST:
		return join(c, (uint32_t)(id - ids));
	case RDMA_USER_CM_CMD_ACCEPT:
		memcpy(&id->uid, c->in, sizeof(id->uid));
		return 0;
	default:
		id->bound |= c->cmd == RDMA_USER_CM_CMD_BIND ||
			     c->cmd == RDMA_USER_CM_CMD_BIND_IP ||
			     c->cmd == RDMA_USER_CM_CMD_RESOLVE_IP ||
			     c->cmd == RDMA_USER_CM_CMD_RESOLVE_ADDR;
		return 0;
	}
}

/* The kernel's own view of where the id is: not what is under test. */
static const struct { uint16_t in, out, id; } layout[] = {
	[RDMA_USER_CM_CMD_CREATE_ID] = { 24, 4, 0 },
	[RDMA_USER_CM_CMD_DESTROY_ID] = { 16, 4, 8 },
	[RDMA_USER_CM_CMD_BIND_IP] = { 40, 0, 36 },
	[RDMA_USER_CM_CMD_RESOLVE_IP] = { 64, 0, 56 },
	[RDMA_USER_CM_CMD_RESOLVE_ROUTE] = { 8, 0, 0 },
	[RDMA_USER_CM_CMD_QUERY_ROUTE] = { 16, 200, 8 },
	[RDMA_USER_CM_CMD_CONNECT] = { 280, 0, 272 },
	[RDMA_USER_CM_CMD_LISTEN] = { 8, 0, 0 },
	[RDMA_USER_CM_CMD_ACCEPT] = { 288, 0, 280 },
	[RDMA_USER_CM_CMD_REJECT] = { 264, 0, 0 },
	[RDMA_USER_CM_CMD_DISCONNECT] = { 4, 0, 0 },
	[RDMA_USER_CM_CMD_INIT_QP_ATTR] = { 16, 144, 8 },
	[RDMA_USER_CM_CMD_GET_EVENT] = { 8, 324, 0 },
	[RDMA_USER_CM_CMD_SET_OPTION] = { 24, 0, 8 },
	[RDMA_USER_CM_CMD_NOTIFY] = { 8, 0, 0 },
	[RDMA_USER_CM_CMD_JOIN_IP_MCAST] = { 48, 4, 44 },
	[RDMA_USER_CM_CMD_LEAVE_MCAST] = { 16, 4, 8 },
	[RDMA_USER_CM_CMD_MIGRATE_ID] = { 16, 4, 0 },
	[RDMA_USER_CM_CMD_QUERY] = { 16, 8, 8 },
	[RDMA_USER_CM_CMD_BIND] = { 136, 0, 0 },
	[RDMA_USER_CM_CMD_RESOLVE_ADDR] = { 272, 0, 0 },
	[RDMA_USER_CM_CMD_JOIN_MCAST] = { 152, 4, 16 },
};

static int run(const struct cm_call *c)
{
	struct cm_id *i;
	uint32_t id;
	int err;

	if (c->out_len < layout[c->cmd].out)
		return -ENOSPC;
	if (c->cmd == RDMA_USER_CM_CMD_CREATE_ID)
		return create(c);
	if (c->cmd == RDMA_USER_CM_CMD_GET_EVENT)
		return get_event(c);
	if (c->cmd == RDMA_USER_CM_CMD_MIGRATE_ID)
		return migrate(c);
	memcpy(&id, c->in + layout[c->cmd].id, sizeof(id));
	i = id_get(c->fd, id, c->cmd == RDMA_USER_CM_CMD_LEAVE_MCAST, &err);
	return i ? of_id(c, i) : err;
}

ssize_t fake_cm_write(int fd, const void *buf, size_t len)
{
	struct rdma_ucm_cmd_hdr hdr;
	struct cm_call c;
	int err;

	memcpy(&hdr, buf, sizeof(hdr));
	if (!block_cmd || hdr.cmd == block_cmd) {
		pthread_mutex_lock(&block);
		pthread_mutex_unlock(&block);
	}
	fake_lock();
	commands++;
	c = (struct cm_call){
		.fd = fd, .cmd = hdr.cmd, .in = (const uint8_t *)buf + sizeof(hdr),
		.in_len = hdr.in, .out_len = hdr.out,
	};
	if (len != sizeof(hdr) + hdr.in ||
	    hdr.cmd >= sizeof(layout) / sizeof(layout[0]) ||
	    hdr.in < layout[hdr.cmd].in)
		err = -EINVAL;		/* nobody careful sends that */
	else if (fail_n && !--fail_n)
		err = fail_err;
	else
		err = run(&c);
	if (hdr.cmd < sizeof(last) / sizeof(last[0])) {
		last[hdr.cmd].seen = true;
		memcpy(last[hdr.cmd].in, c.in, c.in_len < sizeof(last[0].in) ?
		       c.in_len : sizeof(last[0].in));
	}
	fake_unlock();
	errno = -err;
	return err ? -1 : (ssize_t)len;
}

/* ---- for tests ---- */

unsigned int fake_cm_files(void)
{
	unsigned int i, n = 0;

	for (i = 0; i < FILES; i++)
		n += files[i].used;
	return n;
}

unsigned int fake_cm_ids(void)
{
	unsigned int i, n = 0;

	for (i = 0; i < IDS; i++)
		n += ids[i].used;
	return n;
}

bool fake_cm_alive(uint32_t id)
{
	return id < IDS && ids[id].used;
}

unsigned int fake_cm_listening(void)
{
	unsigned int i, n = 0;

	for (i = 0; i < IDS; i++)
		n += ids[i].used && ids[i].listening;
	return n;
}

unsigned int fake_cm_commands(void)
{
	return commands;
}

uint8_t fake_cm_option(void)
{
	return option;
}

bool fake_cm_last(uint32_t cmd, void *in, size_t len)
{
	bool seen = last[cmd].seen;

	memcpy(in, last[cmd].in, len);
	last[cmd].seen = false;
	return seen;
}

uint32_t fake_cm_backlog(void)
{
	return backlog;
}

void fake_cm_foreign(bool device, bool port)
{
	other_device = device;
	other_port = port;
}

void fake_cm_partition(uint16_t pkey)
{
	partition = pkey;
}

void fake_cm_pkeys(uint16_t index, uint16_t alt)
{
	pkey_index = index;
	alt_pkey_index = alt;
}

void fake_cm_fail(unsigned int n, int err)
{
	fail_n = n;
	fail_err = err;
}

void fake_cm_block_only(uint32_t cmd)
{
	fake_cm_block(true);
	block_cmd = cmd;
}

void fake_cm_block(bool yes)
{
	static bool blocked;

	if (yes == blocked)
		return;
	blocked = yes;
	block_cmd = 0;
	if (yes)
		pthread_mutex_lock(&block);
	else
		pthread_mutex_unlock(&block);
}
