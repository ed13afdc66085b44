// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * What connections of this guest's kernel do, step by step. iw_cm takes an event that comes
 * at the wrong time for a bug of the driver, and stops the kernel. So an event of the
 * backend counts only if the state of its connection waits for it, and iw_cm hears of a
 * connection, in this order:
 *
 *	active: CONNECT_REPLY once; after a good one DISCONNECT, CLOSE once
 *	passive: CONNECT_REQUEST; once accepted: ESTABLISHED, DISCONNECT, CLOSE once each
 *
 * iw_cm makes consumers wait, even for the end of a connection, until what they accepted
 * is ESTABLISHED. So that is when the backend has accepted, whatever the peer says.
 *
 * Whatever ends a connection says what is left of that.
 */
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/slab.h>
#include <net/ipv6.h>
#include <rdma/ib_cm.h>

#include "iw.h"

/* ---- what iw_cm is told ---- */

/*
 * iw_cm copies as many octets as the length says. Consumers read as many as the messages
 * of the CM have, whatever the length, or look at the pointer alone.
 */
static void data_put(struct iw_cm_event *ev, const struct rdma_ucm_conn_param *p)
{
	if (!p->private_data_len)
		return;
	ev->private_data = (void *)p->private_data;
	ev->private_data_len = max_t(u8, p->private_data_len, IB_CM_REP_PRIVATE_DATA_SIZE);
}

/* 0, or -ENOMEM for private data: then iw_cm has not heard of it. */
static int tell(struct vhca_conn *conn, enum iw_cm_event_type type, int status,
		const struct rdma_ucm_conn_param *p)
{
	struct iw_cm_event ev = {
		.event = type, .status = status,
		.local_addr = conn->iw->m_local_addr,
		.remote_addr = conn->iw->m_remote_addr,
	};

	if (p) {
		data_put(&ev, p);
		/* iw_cm's are the peer's, those of the backend are ours. */
		ev.ird = p->initiator_depth;
		ev.ord = p->responder_resources;
	}
	return conn->iw->event_handler(conn->iw, &ev);
}

static void tell_failed(struct vhca_conn *conn, int status,
			const struct rdma_ucm_conn_param *p)
{
	if (tell(conn, IW_CM_EVENT_CONNECT_REPLY, status, p))
		tell(conn, IW_CM_EVENT_CONNECT_REPLY, status, NULL);
}

static void tell_closed(struct vhca_conn *conn)
{
	tell(conn, IW_CM_EVENT_DISCONNECT, 0, NULL);
	tell(conn, IW_CM_EVENT_CLOSE, 0, NULL);
}

/* What iw_cm has not heard yet. */
static void tell_rest(struct vhca_conn *conn, int status,
		      const struct rdma_ucm_conn_param *p)
{
	switch (conn->state) {
	case VHCA_CONN_OPEN:
	case VHCA_CONN_ADDR:
	case VHCA_CONN_ROUTE:
	case VHCA_CONN_REPLY:
		tell_failed(conn, status, p);
		break;
	case VHCA_CONN_ACCEPT:
		if (!tell(conn, IW_CM_EVENT_ESTABLISHED, 0, NULL))
			tell_closed(conn);
		break;
	case VHCA_CONN_UP:
		tell_closed(conn);
		break;
	default:
		break;
	}
}

/* ---- life ---- */

struct vhca_conn *vhca_conn_new(struct vhca_iw *m, enum vhca_conn_state state,
				struct iw_cm_id *iw)
{
	struct vhca_conn *conn = kzalloc(sizeof(*conn), GFP_KERNEL);

	if (!conn)
		return NULL;
	conn->m = m;
	conn->state = state;
	INIT_LIST_HEAD(&conn->todo);
	if (xa_alloc_cyclic(&m->conns, &conn->cookie, NULL, XA_LIMIT(1, INT_MAX),
			    &m->next, GFP_KERNEL) < 0) {
		kfree(conn);
		return NULL;
	}
	if (iw)
		iw->add_ref(iw);
	conn->iw = iw;
	return conn;
}

void vhca_conn_show(struct vhca_conn *conn)
{
	/* It has its place, so this needs no memory. */
	xa_store(&conn->m->conns, conn->cookie, conn, GFP_ATOMIC);
}

static void conn_release(struct vhca_conn *conn)
{
	if (conn->iw)
		conn->iw->rem_ref(conn->iw);
	kfree(conn);
}

void vhca_conn_free(struct vhca_conn *conn)
{
	xa_erase(&conn->m->conns, conn->cookie);
	conn_release(conn);
}

void vhca_conn_ask(struct vhca_conn *conn)
{
	if (list_empty(&conn->todo))
		list_add_tail(&conn->todo, &conn->m->todo);
	wake_up_interruptible(&conn->m->wait);
}

/* A request that the consumer has not answered ends with its listener. */
static void requests_end(struct vhca_conn *listener)
{
	struct vhca_iw *m = listener->m;
	struct vhca_conn *conn;
	unsigned long i;

	xa_for_each(&m->conns, i, conn) {
		if (conn->state != VHCA_CONN_REQUEST || conn->listener != listener->cookie)
			continue;
		conn->ends = true;
		vhca_conn_ask(conn);
	}
}

/* Nobody else finds it when this returns. */
static void conn_hide(struct vhca_conn *conn)
{
	struct vhca_iw *m = conn->m;

	spin_lock(&m->lock);
	xa_erase(&m->conns, conn->cookie);
	list_del_init(&conn->todo);
	if (conn->state == VHCA_CONN_REQUEST)
		m->requests--;
	if (conn->state == VHCA_CONN_LISTEN)
		requests_end(conn);
	if (conn->qp)
		conn->qp->iw.conn = NULL;
	spin_unlock(&m->lock);
}

/* @status: why, for a task or a consumer that waits; @p: what the peer says to that. */
static void conn_end(struct vhca_conn *conn, int status,
		     const struct rdma_ucm_conn_param *p)
{
	conn_hide(conn);
	vhca_conn_qp_stop(conn);
	vhca_conn_destroy(conn);
	if (conn->iw)
		tell_rest(conn, status, p);
	if (conn->qp)
		vhca_iw_qp_put(&conn->qp->iw);
	if (conn->wait) {
		conn->wait->rc = status;
		complete(&conn->wait->done);
	}
	conn_release(conn);
}

/* An error of a command, whatever the backend calls it. */
static void conn_fail(struct vhca_conn *conn, int rc)
{
	conn_end(conn, rc < 0 ? rc : -EIO, NULL);
}

void vhca_conns_end(struct vhca_iw *m, bool stays)
{
	struct vhca_conn *conn;
	unsigned long i;

	xa_for_each(&m->conns, i, conn) {
		if (stays && (conn->state == VHCA_CONN_LISTEN || conn->state == VHCA_CONN_BIND))
			conn->there = false;	/* it ends with the file */
		else
			conn_fail(conn, -EIO);
	}
}

void vhca_conns_listen(struct vhca_iw *m)
{
	struct vhca_conn *conn;
	unsigned long i;

	spin_lock(&m->lock);
	xa_for_each(&m->conns, i, conn)
		if (conn->state == VHCA_CONN_LISTEN)
			vhca_conn_ask(conn);
	spin_unlock(&m->lock);
}

/* ---- what was asked for ---- */

static void conn_turn(struct vhca_conn *conn, enum vhca_conn_state state)
{
	spin_lock(&conn->m->lock);
	conn->state = state;
	spin_unlock(&conn->m->lock);
}

static bool has_family(const struct vhca_nets *nets, sa_family_t family)
{
	static const u8 ipv4[16] = { [10] = 0xff, [11] = 0xff };
	bool is_ipv4 = family == AF_INET;
	unsigned int i;

	for (i = 0; i < nets->nr; i++)
		if (vhca_same_net(nets->net[i].addr, ipv4, 96) == is_ipv4)
			return true;
	return false;
}

/* IPv6's wildcard is that of IPv4, too, unless its listener says otherwise. */
static bool is_wildcard(const struct iw_cm_id *iw)
{
	const struct sockaddr_in6 *in6 = (const void *)&iw->m_local_addr;
	const struct sockaddr_in *in = (const void *)&iw->m_local_addr;

	return in->sin_family == AF_INET ? !in->sin_addr.s_addr :
					   vhca_iw_afonly(iw) && ipv6_addr_any(&in6->sin6_addr);
}

/*
 * rdma_cm has a wildcard at each device. So it is one also where the device has no address
 * of that family, which the backend would refuse: nobody can connect there.
 */
static int listen_begin(struct vhca_conn *conn)
{
	if (is_wildcard(conn->iw) &&
	    !has_family(&conn->m->kern->dev->nets, conn->iw->m_local_addr.ss_family))
		return 0;
	return vhca_conn_create(conn) ?: vhca_conn_listen(conn);
}

/* Without a backend it waits for one: rdma_cm would take a refusal for that of all devices. */
static int step_listen(struct vhca_conn *conn)
{
	int rc = listen_begin(conn);

	if (rc && vhca_ring_up(&conn->m->kern->dev->ring) && !vhca_iw_is_away(conn->m))
		return rc;
	conn_turn(conn, VHCA_CONN_LISTEN);
	conn->wait->rc = 0;
	complete(&conn->wait->done);
	conn->wait = NULL;
	return 0;
}

/* iw_cm has no event for a listener that ends, so this one stays, and hears nothing. */
static void step_listen_again(struct vhca_conn *conn)
{
	struct vhca_dev *dev = conn->m->kern->dev;
	int rc = conn->there ? 0 : listen_begin(conn);

	if (!rc)
		return;
	vhca_conn_destroy(conn);
	if (vhca_ring_up(&dev->ring))
		dev_warn(dev->store->dev,
			 "a listener of the kernel does not listen any more (%d)\n", rc);
}

static int step_open(struct vhca_conn *conn)
{
	int rc = vhca_conn_create(conn) ?: vhca_conn_resolve_addr(conn);

	if (!rc)
		conn_turn(conn, VHCA_CONN_ADDR);
	return rc;
}

static int step_accept(struct vhca_conn *conn)
{
	int rc = vhca_conn_qp_up(conn) ?: vhca_conn_accept(conn, true);

	if (!rc)
		rc = tell(conn, IW_CM_EVENT_ESTABLISHED, 0, NULL);
	if (!rc)
		conn_turn(conn, VHCA_CONN_UP);
	return rc;
}

void vhca_conn_step(struct vhca_conn *conn, bool ends)
{
	int rc = ends ? -ECONNRESET : 0;

	if (!rc && conn->state == VHCA_CONN_BIND)
		rc = step_listen(conn);
	else if (!rc && conn->state == VHCA_CONN_LISTEN)
		step_listen_again(conn);
	else if (!rc && conn->state == VHCA_CONN_OPEN)
		rc = step_open(conn);
	else if (!rc && conn->state == VHCA_CONN_ACCEPT)
		rc = step_accept(conn);
	else if (!rc && conn->state == VHCA_CONN_REJECT)
		rc = vhca_conn_reject(conn) ?: -ECONNREFUSED;
	if (rc)
		conn_fail(conn, rc);
}

/* ---- events of the backend ---- */

static int step_route(struct vhca_conn *conn)
{
	int rc = vhca_conn_resolve_route(conn);

	if (!rc)
		conn_turn(conn, VHCA_CONN_ROUTE);
	return rc;
}

static int step_connect(struct vhca_conn *conn)
{
	int rc = vhca_conn_connect(conn);

	if (!rc)
		conn_turn(conn, VHCA_CONN_REPLY);
	return rc;
}

static int step_reply(struct vhca_conn *conn)
{
	int rc = vhca_conn_qp_up(conn) ?: vhca_conn_accept(conn, false);

	if (!rc)
		rc = tell(conn, IW_CM_EVENT_CONNECT_REPLY, 0, &conn->m->ev.param.conn);
	if (!rc)
		conn_turn(conn, VHCA_CONN_UP);
	return rc;
}

/* The peer has taken the reply. */
static int step_up(struct vhca_conn *conn)
{
	return 0;
}

static int tell_request(struct vhca_conn *conn, struct iw_cm_id *iw)
{
	const struct rdma_ucm_conn_param *p = &conn->m->ev.param.conn;
	struct iw_cm_event ev = {
		.event = IW_CM_EVENT_CONNECT_REQUEST,
		.provider_data = (void *)(unsigned long)conn->cookie,
		.ird = p->initiator_depth, .ord = p->responder_resources,
	};

	data_put(&ev, p);
	return vhca_conn_addresses(conn, &ev) ?: iw->event_handler(iw, &ev);
}

/* A new connection; the listener goes on, whatever becomes of it. */
static int step_request(struct vhca_conn *listener)
{
	struct vhca_iw *m = listener->m;
	struct vhca_conn *conn = vhca_conn_new(m, VHCA_CONN_REQUEST, NULL);
	bool many;

	if (!conn) {
		vhca_iw_destroy_id(m, m->ev.id);
		return 0;
	}
	conn->id = m->ev.id;
	conn->there = true;
	spin_lock(&m->lock);
	conn->listener = listener->cookie;
	vhca_conn_show(conn);
	many = ++m->requests > VHCA_IW_REQUESTS;
	spin_unlock(&m->lock);
	if (many || tell_request(conn, listener->iw))
		conn_fail(conn, -ECONNREFUSED);
	return 0;
}

#define GONE		BIT(RDMA_CM_EVENT_DEVICE_REMOVAL)
#define CM_ENDS		(BIT(RDMA_CM_EVENT_CONNECT_ERROR) | GONE |		\
			 BIT(RDMA_CM_EVENT_UNREACHABLE) |			\
			 BIT(RDMA_CM_EVENT_REJECTED) | BIT(RDMA_CM_EVENT_DISCONNECTED))

/* What a state waits for; events that end it. Other states wait for nothing. */
static const struct {
	u32 event;
	int (*step)(struct vhca_conn *conn);
	unsigned long ends;
} waits[VHCA_CONN_STATES] = {
	[VHCA_CONN_LISTEN] = { RDMA_CM_EVENT_CONNECT_REQUEST, step_request, 0 },
	[VHCA_CONN_ADDR] = { RDMA_CM_EVENT_ADDR_RESOLVED, step_route,
			     BIT(RDMA_CM_EVENT_ADDR_ERROR) | GONE },
	[VHCA_CONN_ROUTE] = { RDMA_CM_EVENT_ROUTE_RESOLVED, step_connect,
			      BIT(RDMA_CM_EVENT_ROUTE_ERROR) | GONE },
	[VHCA_CONN_REPLY] = { RDMA_CM_EVENT_CONNECT_RESPONSE, step_reply, CM_ENDS },
	[VHCA_CONN_UP] = { RDMA_CM_EVENT_ESTABLISHED, step_up, CM_ENDS },
};

/*
 * Whatever status the backend gives: 0 would be success. Of -ECONNREFUSED consumers read
 * data, as that of the peer's consumer.
 */
static int why(const struct rdma_ucm_event_resp *ev)
{
	switch (ev->event) {
	case RDMA_CM_EVENT_ADDR_ERROR:
	case RDMA_CM_EVENT_ROUTE_ERROR:
		return -EHOSTUNREACH;
	case RDMA_CM_EVENT_UNREACHABLE:
		return -ETIMEDOUT;
	case RDMA_CM_EVENT_REJECTED:
		return ev->status == IB_CM_REJ_CONSUMER_DEFINED ? -ECONNREFUSED :
								  -ECONNRESET;
	case RDMA_CM_EVENT_DISCONNECTED:
		return -ECONNRESET;
	default:
		return -ECONNABORTED;
	}
}

bool vhca_conn_event(struct vhca_iw *m)
{
	const struct rdma_ucm_event_resp *ev = &m->ev;
	enum vhca_conn_state state;
	struct vhca_conn *conn;
	int rc;

	conn = ev->uid <= INT_MAX ? xa_load(&m->conns, ev->uid) : NULL;
	if (!conn || ev->event > RDMA_CM_EVENT_TIMEWAIT_EXIT)
		return false;
	/* Other tasks change a state that waits for nothing, to another such one. */
	state = READ_ONCE(conn->state);
	if (waits[state].step && waits[state].event == ev->event) {
		rc = waits[state].step(conn);
		if (rc)
			conn_fail(conn, rc);
		return true;
	}
	if (!(waits[state].ends & BIT(ev->event)))
		return false;
	conn_end(conn, why(ev), &ev->param.conn);
	return true;
}
