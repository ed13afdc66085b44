// SPDX-License-Identifier: GPL-2.0
/* Copyright (C) 2026 The vhca authors */
/*
 * vhca-signals: the connection manager and management datagrams by hand, as a library
 * might hide an error. A listener, a client of it and a member of a group are at the
 * first IPv4 address of the device's port; without one, the commands are refused.
 *
 * Files are read without waiting, and looked at again: a wait for an event is interrupted
 * by right.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <rdma/ib_user_mad.h>
#include <rdma/rdma_user_cm.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "signals.h"

#define WAIT_NS		(10 * 1000000000ull)
#define RESOLVE_MS	5000u
#define NOBODYS		0xc0000201u	/* 192.0.2.1 */
#define GROUP		0xef010118u	/* 239.1.1.24 */
#define MAD		256
#define CLASS_PERF	4
#define GET		1

/* enum rdma_cm_event_type of librdmacm */
enum {
	ADDR_RESOLVED = 0, ROUTE_RESOLVED = 2, CONNECT_REQUEST = 4,
	CONNECT_RESPONSE = 5, ESTABLISHED = 9, DISCONNECTED = 10,
	MULTICAST_JOIN = 12,
};

/* ---- the connection manager ---- */

static struct sockaddr_in own_address(struct all *a)
{
	struct sockaddr_in in = {
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(NOBODYS),
	};
	union ibv_gid gid;
	int i;

	for (i = 0; i < a->dev.port.gid_tbl_len; i++) {
		if (ibv_query_gid(a->dev.ctx, VT_PORT, i, &gid) ||
		    !IN6_IS_ADDR_V4MAPPED((const struct in6_addr *)gid.raw))
			continue;
		memcpy(&in.sin_addr, gid.raw + 12, sizeof(in.sin_addr));
		break;
	}
	return in;
}

int cm_open(struct all *a)
{
	a->own = own_address(a);
	a->cm = open("/dev/infiniband/rdma_cm", O_RDWR | O_NONBLOCK | O_CLOEXEC);
	return a->cm < 0 ? errno : 0;
}

static int cm_command(struct all *a, uint32_t cmd, const void *body, size_t len,
		      size_t out)
{
	uint8_t msg[512];
	struct rdma_ucm_cmd_hdr hdr = { cmd, (uint16_t)len, (uint16_t)out };

	if (a->cm < 0)
		return 0;
	memcpy(msg, &hdr, sizeof(hdr));
	memcpy(msg + sizeof(hdr), body, len);
	return write(a->cm, msg, sizeof(hdr) + len) < 0 ? errno : 0;
}

/* The kernel tells no events of an id that has no uid. */
static int create(struct all *a, int which, uint16_t ps, uint8_t qp_type)
{
	struct rdma_ucm_create_id_resp rsp = { };
	struct rdma_ucm_create_id cmd = {
		.uid = 1, .response = (uintptr_t)&rsp, .ps = ps,
		.qp_type = qp_type,
	};
	int err = cm_command(a, RDMA_USER_CM_CMD_CREATE_ID, &cmd, sizeof(cmd),
			     sizeof(rsp));

	a->cm_ids[which] = err ? -1 : (int64_t)rsp.id;
	return err;
}

int cm_create(struct all *a)
{
	return create(a, CM_LISTENER, RDMA_PS_TCP, IBV_QPT_RC);
}

static int bind_own(struct all *a, int which)
{
	struct rdma_ucm_bind cmd = {
		.id = (uint32_t)a->cm_ids[which],
		.addr_size = sizeof(a->own),
	};

	memcpy(&cmd.addr, &a->own, sizeof(a->own));
	return cm_command(a, RDMA_USER_CM_CMD_BIND, &cmd, sizeof(cmd), 0);
}

/* The port that the listener got. */
static int query_port(struct all *a)
{
	struct rdma_ucm_query_addr_resp rsp = { };
	struct rdma_ucm_query cmd = {
		.response = (uintptr_t)&rsp,
		.id = (uint32_t)a->cm_ids[CM_LISTENER],
		.option = RDMA_USER_CM_QUERY_ADDR,
	};
	struct sockaddr_in in;
	int err = cm_command(a, RDMA_USER_CM_CMD_QUERY, &cmd, sizeof(cmd),
			     sizeof(rsp));

	memcpy(&in, &rsp.src_addr, sizeof(in));
	a->own.sin_port = in.sin_port;
	return err;
}

/* Without an address of its own at the wildcard, which the kernel then binds to. */
int cm_listen(struct all *a)
{
	struct rdma_ucm_listen cmd = {
		.id = (uint32_t)a->cm_ids[CM_LISTENER], .backlog = 1,
	};
	int err, bound = bind_own(a, CM_LISTENER);

	err = cm_command(a, RDMA_USER_CM_CMD_LISTEN, &cmd, sizeof(cmd), 0);
	if (!err)
		err = query_port(a);
	return bound ? bound : err;
}

static int get_event(struct all *a, struct rdma_ucm_event_resp *ev)
{
	struct rdma_ucm_get_event cmd = { .response = (uintptr_t)ev };

	return cm_command(a, RDMA_USER_CM_CMD_GET_EVENT, &cmd, sizeof(cmd),
			  sizeof(*ev));
}

int cm_event(struct all *a)
{
	struct rdma_ucm_event_resp ev;

	return get_event(a, &ev);
}

/* What the command led to; EPROTO: another event, or what went wrong in the network. */
static int led_to(struct all *a, int err, uint32_t want, struct rdma_ucm_event_resp *ev)
{
	uint64_t end = vt_now_ns() + WAIT_NS;
	struct pollfd p = { .fd = a->cm, .events = POLLIN };

	if (err || a->cm < 0)
		return err;
	while ((err = get_event(a, ev)) == EAGAIN && vt_now_ns() < end)
		poll(&p, 1, 10);
	return err ? err : ev->event != want || ev->status ? EPROTO : 0;
}

int cm_resolve_addr(struct all *a)
{
	struct rdma_ucm_resolve_addr cmd = {
		.timeout_ms = RESOLVE_MS, .src_size = sizeof(a->own),
		.dst_size = sizeof(a->own),
	};
	struct sockaddr_in from = a->own;
	struct rdma_ucm_event_resp ev;
	int err = create(a, CM_CLIENT, RDMA_PS_TCP, IBV_QPT_RC);

	from.sin_port = 0;
	memcpy(&cmd.src_addr, &from, sizeof(from));
	memcpy(&cmd.dst_addr, &a->own, sizeof(a->own));
	cmd.id = (uint32_t)a->cm_ids[CM_CLIENT];
	if (!err)
		err = cm_command(a, RDMA_USER_CM_CMD_RESOLVE_ADDR, &cmd,
				 sizeof(cmd), 0);
	return led_to(a, err, ADDR_RESOLVED, &ev);
}

int cm_resolve_route(struct all *a)
{
	struct rdma_ucm_resolve_route cmd = {
		.id = (uint32_t)a->cm_ids[CM_CLIENT], .timeout_ms = RESOLVE_MS,
	};
	struct rdma_ucm_event_resp ev;

	return led_to(a, cm_command(a, RDMA_USER_CM_CMD_RESOLVE_ROUTE, &cmd,
				    sizeof(cmd), 0), ROUTE_RESOLVED, &ev);
}

static struct rdma_ucm_conn_param params(uint32_t qpn)
{
	return (struct rdma_ucm_conn_param){
		.qp_num = qpn, .responder_resources = 1, .initiator_depth = 1,
		.retry_count = 7, .rnr_retry_count = 7, .valid = 1,
	};
}

int cm_connect(struct all *a)
{
	struct rdma_ucm_connect cmd = {
		.conn_param = params(a->qp->qp_num),
		.id = (uint32_t)a->cm_ids[CM_CLIENT],
	};
	struct rdma_ucm_event_resp ev;
	int err = led_to(a, cm_command(a, RDMA_USER_CM_CMD_CONNECT, &cmd,
				       sizeof(cmd), 0), CONNECT_REQUEST, &ev);

	a->cm_ids[CM_SERVER] = err || a->cm < 0 ? -1 : (int64_t)ev.id;
	return err;
}

static int accept_id(struct all *a, int which, struct rdma_ucm_conn_param conn)
{
	struct rdma_ucm_accept cmd = {
		.uid = 1, .conn_param = conn,
		.id = (uint32_t)a->cm_ids[which],
	};

	return cm_command(a, RDMA_USER_CM_CMD_ACCEPT, &cmd, sizeof(cmd), 0);
}

/* Of no queue pair: two of one number at one port were a connection that is old. */
int cm_accept(struct all *a)
{
	const struct rdma_ucm_conn_param none = { };
	struct rdma_ucm_event_resp ev;
	int err = accept_id(a, CM_SERVER, params(a->qp->qp_num ^ 0x800000));

	err = led_to(a, err, CONNECT_RESPONSE, &ev);
	if (!err)
		err = accept_id(a, CM_CLIENT, none);
	return led_to(a, err, ESTABLISHED, &ev);
}

static int disconnect(struct all *a, int which)
{
	struct rdma_ucm_disconnect cmd = { .id = (uint32_t)a->cm_ids[which] };
	struct rdma_ucm_event_resp ev;

	return led_to(a, cm_command(a, RDMA_USER_CM_CMD_DISCONNECT, &cmd,
				    sizeof(cmd), 0), DISCONNECTED, &ev);
}

/* The other end hears of it, and answers. */
int cm_disconnect(struct all *a)
{
	int err = disconnect(a, CM_SERVER);

	return err ? err : disconnect(a, CM_CLIENT);
}

int cm_join(struct all *a)
{
	struct rdma_ucm_create_id_resp rsp;
	struct rdma_ucm_join_mcast cmd = {
		.uid = 1, .response = (uintptr_t)&rsp,
		.addr_size = sizeof(a->own),
	};
	struct sockaddr_in group = {
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(GROUP),
	};
	struct rdma_ucm_event_resp ev;
	int err = create(a, CM_GROUP, RDMA_PS_UDP, IBV_QPT_UD);

	cmd.id = (uint32_t)a->cm_ids[CM_GROUP];
	memcpy(&cmd.addr, &group, sizeof(group));
	a->own.sin_port = 0;
	if (!err)
		err = bind_own(a, CM_GROUP);
	if (!err)
		err = cm_command(a, RDMA_USER_CM_CMD_JOIN_MCAST, &cmd,
				 sizeof(cmd), sizeof(rsp));
	return led_to(a, err, MULTICAST_JOIN, &ev);
}

int cm_destroy(struct all *a)
{
	struct rdma_ucm_destroy_id_resp rsp;
	struct rdma_ucm_destroy_id cmd = { .response = (uintptr_t)&rsp };
	int i, err, first = 0;

	for (i = 0; i < CM_IDS; i++) {
		cmd.id = (uint32_t)a->cm_ids[i];
		err = a->cm_ids[i] < 0 ? 0 :
		      cm_command(a, RDMA_USER_CM_CMD_DESTROY_ID, &cmd,
				 sizeof(cmd), sizeof(rsp));
		a->cm_ids[i] = -1;
		if (!first)
			first = err;
	}
	return first;
}

int cm_close(struct all *a)
{
	return a->cm >= 0 && close(a->cm) ? errno : 0;
}

/* ---- management datagrams ---- */

int umad_open(struct all *a)
{
	a->umad = open("/dev/infiniband/umad0", O_RDWR | O_NONBLOCK | O_CLOEXEC);
	/* Or the kernel has something to say. */
	return a->umad < 0 || ioctl(a->umad, IB_USER_MAD_ENABLE_PKEY) ? errno :
	       0;
}

int umad_register(struct all *a)
{
	struct ib_user_mad_reg_req req = { .qpn = 1 };
	int err = a->umad >= 0 && ioctl(a->umad, IB_USER_MAD_REGISTER_AGENT, &req) ?
		  errno : 0;

	a->agent = req.id;
	return err;
}

int umad_read(struct all *a)
{
	uint8_t packet[512];

	return a->umad >= 0 && read(a->umad, packet, sizeof(packet)) < 0 ?
	       errno : 0;
}

/* To the own port, for its ClassPortInfo; no answer is waited for, so none comes. */
int umad_send(struct all *a)
{
	struct {
		struct ib_user_mad_hdr hdr;
		uint8_t mad[MAD];
	} p = {
		.hdr = {
			.id = a->agent, .qpn = htonl(1), .qkey = htonl(0x80010000),
			.lid = htons(a->dev.port.lid),
		},
		.mad = { 1, CLASS_PERF, 1, GET, [15] = 1, [17] = 1 },
	};

	return a->umad >= 0 && write(a->umad, &p, sizeof(p)) < 0 ? errno : 0;
}

int umad_close(struct all *a)
{
	return a->umad >= 0 && close(a->umad) ? errno : 0;
}
