// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The connection manager of hostile-backend, see kern.h: every peer answers, and each
 * listener hears of some. An id that ends is still in the table, for lies.
 */
#include <netinet/in.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_user_cm.h>
#include <stdlib.h>

#include "kern.h"

#define IDS		128
#define EVENTS		64
#define KINDS		18		/* of events, and two that are none */
#define REQUESTS	3		/* that a listener hears of */
#define ESTABLISHED	9
#define CONNECT_REQUEST	4

/* Of enum rdma_cm_event_type: what follows a command. */
enum { ADDR_RESOLVED, ROUTE_RESOLVED = 2, CONNECT_RESPONSE = 5 };

struct cm_id {
	uint64_t uid;
	uint32_t id;
	bool listens;
};

static struct cm_id ids[IDS];		/* the last ones, also those that ended */
static struct rdma_ucm_event_resp events[EVENTS];
static unsigned int nr_ids, first_event, nr_events;
static uint16_t seq;
static bool told, quiet;

static struct cm_id *id_new(uint64_t uid)
{
	struct cm_id *id = &ids[nr_ids % IDS];

	*id = (struct cm_id){ .uid = uid, .id = nr_ids++ };
	return id;
}

static struct cm_id *id_of(uint32_t number)
{
	unsigned int i;

	for (i = 0; i < IDS && i < nr_ids; i++)
		if (ids[i].id == number)
			return &ids[i];
	return NULL;
}

static struct rdma_ucm_event_resp *event_put(uint64_t uid, uint32_t id, uint32_t event)
{
	struct rdma_ucm_event_resp *ev;

	if (nr_events == EVENTS)
		return NULL;
	ev = &events[(first_event + nr_events++) % EVENTS];
	memset(ev, 0, sizeof(*ev));
	ev->uid = uid;
	ev->id = id;
	ev->event = event;
	ev->param.conn.responder_resources = 1;
	ev->param.conn.initiator_depth = 1;
	return ev;
}

static void request_put(const struct cm_id *listener)
{
	event_put(listener->uid, id_new(0)->id, CONNECT_REQUEST);
}

void kern_cm_end(void)
{
	nr_ids = 0;
	nr_events = 0;
	told = false;
}

void kern_cm_tell(struct peer *b)
{
	struct xenvhca_event ev = { XENVHCA_EVT_CM, 0, 0, b->file[0] };

	if (!nr_events || told || quiet || !b->file[0])
		return;
	ev.seq = ++seq;
	told = peer_pour_one(b, &ev);
	if (told)
		peer_poured(b);
}

/* ---- commands ---- */

static void put(const struct xenvhca_request *req, struct xenvhca_response *rsp,
		const void *from, size_t len)
{
	struct xenvhca_cm_command_rsp *c = &rsp->u.cm_command;

	if (len > req->u.cm_command.out_len)
		len = req->u.cm_command.out_len;
	c->out_len = (uint16_t)len;
	rsp->out_len = (uint16_t)(len > XENVHCA_CM_OUT ? len - XENVHCA_CM_OUT : 0);
	memcpy(c->out, from, len - rsp->out_len);
	memcpy(rsp->udata, (const uint8_t *)from + XENVHCA_CM_OUT, rsp->out_len);
}

static void route(const struct xenvhca_request *req, struct xenvhca_response *rsp)
{
	struct rdma_ucm_query_route_resp r = { .num_paths = 0 };
	struct sockaddr_in *in = (struct sockaddr_in *)&r.src_addr;

	in->sin_family = AF_INET;
	in->sin_addr.s_addr = htonl(0x0a080047);
	in = (struct sockaddr_in *)&r.dst_addr;
	in->sin_family = AF_INET;
	in->sin_addr.s_addr = htonl(0x0a080048);
	put(req, rsp, &r, sizeof(r));
}

static void qp_attr(const struct xenvhca_request *req, struct xenvhca_response *rsp)
{
	const struct ib_uverbs_qp_attr a = { .path_mtu = 3, .ah_attr.dlid = 1 };

	put(req, rsp, &a, sizeof(a));
}

static void event_take(const struct xenvhca_request *req, struct xenvhca_response *rsp)
{
	if (!nr_events || quiet)
		return;
	put(req, rsp, &events[first_event++ % EVENTS], sizeof(events[0]));
	nr_events--;
}

static void accepted(const struct rdma_ucm_accept *in)
{
	struct cm_id *id = id_of(in->id);

	if (!id || id->uid)		/* of a peer that has accepted */
		return;
	id->uid = in->uid;
	event_put(id->uid, id->id, ESTABLISHED);
}

static void listens(struct cm_id *id)
{
	unsigned int i;

	id->listens = true;
	for (i = 0; i < REQUESTS; i++)
		request_put(id);
}

static void answer_id(struct cm_id *id, uint32_t cmd)
{
	if (cmd == RDMA_USER_CM_CMD_RESOLVE_ADDR)
		event_put(id->uid, id->id, ADDR_RESOLVED);
	if (cmd == RDMA_USER_CM_CMD_RESOLVE_ROUTE)
		event_put(id->uid, id->id, ROUTE_RESOLVED);
	if (cmd == RDMA_USER_CM_CMD_CONNECT)
		event_put(id->uid, id->id, CONNECT_RESPONSE);
	if (cmd == RDMA_USER_CM_CMD_LISTEN)
		listens(id);
	if (cmd == RDMA_USER_CM_CMD_DESTROY_ID)
		id->listens = false;
}

/* The id of a command's struct; ~0: it has none, or this needs none. */
static uint32_t id_at(uint32_t cmd, const uint8_t *in)
{
	uint32_t id;
	size_t at;

	switch (cmd) {
	case RDMA_USER_CM_CMD_RESOLVE_ADDR: at = offsetof(struct rdma_ucm_resolve_addr, id); break;
	case RDMA_USER_CM_CMD_RESOLVE_ROUTE: at = offsetof(struct rdma_ucm_resolve_route, id); break;
	case RDMA_USER_CM_CMD_CONNECT: at = offsetof(struct rdma_ucm_connect, id); break;
	case RDMA_USER_CM_CMD_LISTEN: at = offsetof(struct rdma_ucm_listen, id); break;
	case RDMA_USER_CM_CMD_DESTROY_ID: at = offsetof(struct rdma_ucm_destroy_id, id); break;
	default: return ~0u;
	}
	memcpy(&id, in + at, sizeof(id));
	return id;
}

/* The whole struct of a command: behind XENVHCA_CM_IN it is udata. */
static void command_in(const struct xenvhca_request *req, uint8_t *in, size_t room)
{
	const struct xenvhca_cm_command_req *c = &req->u.cm_command;
	size_t n = c->in_len < room ? c->in_len : room;
	size_t here = n < XENVHCA_CM_IN ? n : XENVHCA_CM_IN;

	memcpy(in, c->in, here);
	memcpy(in + here, req->udata, n - here);
}

void kern_cm_answer(struct peer *b, const struct xenvhca_request *req,
		    struct xenvhca_response *rsp)
{
	union {
		uint8_t octets[XENVHCA_CM_IN + XENVHCA_UDATA_SIZE];
		struct rdma_ucm_create_id create;
		struct rdma_ucm_accept accept;
	} in = { .octets = { 0 } };
	uint32_t cmd = req->u.cm_command.cmd;
	struct cm_id *id;

	(void)b;
	memset(&rsp->u.cm_command, 0, sizeof(rsp->u.cm_command));
	rsp->out_len = 0;
	command_in(req, in.octets, sizeof(in.octets));
	id = id_of(id_at(cmd, in.octets));
	if (id)
		answer_id(id, cmd);
	if (cmd == RDMA_USER_CM_CMD_CREATE_ID)
		put(req, rsp, &id_new(in.create.uid)->id, sizeof(uint32_t));
	else if (cmd == RDMA_USER_CM_CMD_ACCEPT)
		accepted(&in.accept);
	else if (cmd == RDMA_USER_CM_CMD_INIT_QP_ATTR)
		qp_attr(req, rsp);
	else if (cmd == RDMA_USER_CM_CMD_QUERY_ROUTE)
		route(req, rsp);
	else if (cmd == RDMA_USER_CM_CMD_GET_EVENT)
		event_take(req, rsp);
	else if (cmd == RDMA_USER_CM_CMD_DESTROY_ID)
		put(req, rsp, &(uint32_t){ 0 }, sizeof(uint32_t));
	told = nr_events && !quiet;
	rsp->u.cm_command.events = told;
	rsp->u.cm_command.seq = ++seq;
}

/* ---- lies ---- */

void kern_orders(struct peer *b)
{
	const struct cm_id *id = &ids[rnd() % (nr_ids < IDS && nr_ids ? nr_ids : IDS)];
	struct rdma_ucm_event_resp *ev;

	if (!nr_ids)
		return;
	ev = event_put(rnd() % 8 ? id->uid : rnd() % 4 ? rnd() % 64 : (uint64_t)rnd() << 32,
		       rnd() % 4 ? id->id : rnd(), rnd() % 16 ? rnd() % KINDS : rnd());
	if (!ev)
		return;
	b->told++;
	ev->status = rnd() % 2 ? 0 : rnd() % 64 - 16;
	memset(ev->param.conn.private_data, 0x5a, sizeof(ev->param.conn.private_data));
	ev->param.conn.private_data_len = (uint8_t)rnd();
	ev->param.conn.responder_resources = (uint8_t)rnd();
	ev->param.conn.initiator_depth = (uint8_t)rnd();
	ev->param.conn.qp_num = rnd();
}

void kern_requests(struct peer *b)
{
	unsigned int i;

	b->busy = nr_events < EVENTS;
	for (i = 0; i < IDS && nr_events < EVENTS; i++)
		if (ids[i].listens) {
			b->told++;
			request_put(&ids[i]);
		}
}

bool kern_cm_data(struct peer *b, const struct xenvhca_request *req,
		  struct xenvhca_response *rsp)
{
	struct xenvhca_cm_command_rsp *c = &rsp->u.cm_command;
	size_t len = offsetof(struct rdma_ucm_event_resp, param.conn.private_data_len);

	switch (b->told % 8 ? req->u.cm_command.cmd : ~0u) {
	case RDMA_USER_CM_CMD_GET_EVENT:
		if (c->out_len > XENVHCA_CM_OUT)
			rsp->udata[len - XENVHCA_CM_OUT] = b->told % 2 ? 0xff : 1;
		break;
	case RDMA_USER_CM_CMD_INIT_QP_ATTR:
		memset(c->out, b->told % 3 ? 0xff : (int)(rnd() % 256), sizeof(c->out));
		break;
	case RDMA_USER_CM_CMD_QUERY_ROUTE:
		if (rnd() % 2)
			break;
		memset(c->out, (int)(rnd() % 4), sizeof(c->out));
		memset(rsp->udata, (int)(rnd() % 4), rsp->out_len);
		break;
	case RDMA_USER_CM_CMD_CREATE_ID:
		if (!(rnd() % 4))
			memset(c->out, b->told % 2 ? 0xff : 0, sizeof(uint32_t));
		break;
	default:
		if (!(rnd() % 8) && c->out_len && c->out_len <= XENVHCA_CM_OUT)
			c->out_len--;
	}
	return true;
}

bool kern_cm_quiet(struct peer *b, const struct xenvhca_request *req,
		   struct xenvhca_response *rsp)
{
	(void)b;
	(void)req;
	quiet = true;
	rsp->u.cm_command.events = 0;
	return true;
}
