// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Commands of the connections of this guest's kernel, as librdmacm sends them. The thread of
 * a device runs this. An answer is in memory of our own, and is as long as it has to be.
 */
#include <linux/in.h>
#include <linux/in6.h>
#include <rdma/ib_user_verbs.h>

#include "iw.h"
#include "verbs/verbs.h"

#define ADDR_MS		5000		/* for an address, */
#define ROUTE_MS	10000		/*   and for a path */
#define RETRIES		7		/* of a request, and of one that finds no receive */

/*
 * @in: the command's struct. 0: the answer, if there is one, is in m->call.out; -EBADMSG:
 * it is too short.
 */
static int command(struct vhca_iw *m, u32 cmd, const void *in)
{
	struct vhca_cm_call *c = &m->call;
	int rc;

	if (vhca_iw_is_away(m))
		return -EIO;
	memset(c, 0, sizeof(*c));
	c->cmd = cmd;
	c->op = vhca_cm_op(cmd, &rc);
	c->in_len = c->op->in;
	c->room = c->op->out;
	memcpy(c->in, in, c->in_len);
	rc = vhca_cmd_cm_command(&m->f, c);
	if (rc)
		return rc;
	return c->out_len < c->op->out_min ? -EBADMSG : 0;
}

#define SEND(m, CMD, in)	command(m, RDMA_USER_CM_CMD_##CMD, in)

int vhca_conn_create(struct vhca_conn *conn)
{
	struct rdma_ucm_create_id in = {
		.uid = conn->cookie, .ps = RDMA_PS_TCP, .qp_type = IB_QPT_RC,
	};
	int rc = SEND(conn->m, CREATE_ID, &in);

	if (rc)
		return rc;
	conn->id = vhca_cm_u32(conn->m->call.out, 0);
	conn->there = true;
	return 0;
}

void vhca_iw_destroy_id(struct vhca_iw *m, u32 id)
{
	struct rdma_ucm_destroy_id in = { .id = id };

	SEND(m, DESTROY_ID, &in);
}

void vhca_conn_destroy(struct vhca_conn *conn)
{
	if (conn->there)
		vhca_iw_destroy_id(conn->m, conn->id);
	conn->there = false;
}

static u16 addr_put(void *to, const struct sockaddr_storage *from)
{
	u16 len = from->ss_family == AF_INET6 ? sizeof(struct sockaddr_in6) :
						sizeof(struct sockaddr_in);

	memcpy(to, from, len);
	return len;
}

int vhca_conn_listen(struct vhca_conn *conn)
{
	struct rdma_ucm_listen in = { .id = conn->id, .backlog = conn->backlog };
	struct rdma_ucm_bind bind = { .id = conn->id };
	int rc;

	bind.addr_size = addr_put(&bind.addr, &conn->iw->m_local_addr);
	rc = SEND(conn->m, BIND, &bind);
	return rc ? rc : SEND(conn->m, LISTEN, &in);
}

/* The port of this side is the backend's to choose. */
int vhca_conn_resolve_addr(struct vhca_conn *conn)
{
	struct rdma_ucm_resolve_addr in = { .id = conn->id, .timeout_ms = ADDR_MS };

	in.src_size = addr_put(&in.src_addr, &conn->iw->m_local_addr);
	in.dst_size = addr_put(&in.dst_addr, &conn->iw->m_remote_addr);
	((struct sockaddr_in *)&in.src_addr)->sin_port = 0;	/* as in sockaddr_in6 */
	return SEND(conn->m, RESOLVE_ADDR, &in);
}

int vhca_conn_resolve_route(struct vhca_conn *conn)
{
	struct rdma_ucm_resolve_route in = { .id = conn->id, .timeout_ms = ROUTE_MS };

	return SEND(conn->m, RESOLVE_ROUTE, &in);
}

/* What iw_cm does not say of a connection. */
static void param_rest(struct rdma_ucm_conn_param *p)
{
	p->flow_control = 1;
	p->retry_count = RETRIES;
	p->rnr_retry_count = RETRIES;
	p->valid = 1;
}

int vhca_conn_connect(struct vhca_conn *conn)
{
	struct rdma_ucm_connect in = { .id = conn->id, .conn_param = conn->param };

	param_rest(&in.conn_param);
	return SEND(conn->m, CONNECT, &in);
}

int vhca_conn_accept(struct vhca_conn *conn, bool param)
{
	struct rdma_ucm_accept in = { .id = conn->id, .uid = conn->cookie };

	if (param) {
		in.conn_param = conn->param;
		param_rest(&in.conn_param);
	}
	return SEND(conn->m, ACCEPT, &in);
}

int vhca_conn_reject(struct vhca_conn *conn)
{
	struct rdma_ucm_reject in = {
		.id = conn->id, .private_data_len = conn->param.private_data_len,
	};

	memcpy(in.private_data, conn->param.private_data, in.private_data_len);
	return SEND(conn->m, REJECT, &in);
}

static bool addr_take(struct sockaddr_storage *to, const struct sockaddr_in6 *from)
{
	memcpy(to, from, sizeof(*from));
	return to->ss_family == AF_INET || to->ss_family == AF_INET6;
}

int vhca_conn_addresses(struct vhca_conn *conn, struct iw_cm_event *ev)
{
	const struct rdma_ucm_query_route_resp *r = (const void *)conn->m->call.out;
	struct rdma_ucm_query in = { .id = conn->id };
	int rc = SEND(conn->m, QUERY_ROUTE, &in);

	if (rc)
		return rc;
	if (!addr_take(&ev->local_addr, &r->src_addr) ||
	    !addr_take(&ev->remote_addr, &r->dst_addr) ||
	    ev->local_addr.ss_family != ev->remote_addr.ss_family)
		return -EBADMSG;
	return 0;
}

/* ---- the queue pair ---- */

#define QP_STEPS	(IB_QP_STATE | IB_QP_ACCESS_FLAGS | IB_QP_PKEY_INDEX |	\
			 IB_QP_PORT | IB_QP_AV | IB_QP_PATH_MTU | IB_QP_DEST_QPN |	\
			 IB_QP_RQ_PSN | IB_QP_SQ_PSN | IB_QP_MAX_QP_RD_ATOMIC |	\
			 IB_QP_MAX_DEST_RD_ATOMIC | IB_QP_MIN_RNR_TIMER |		\
			 IB_QP_TIMEOUT | IB_QP_RETRY_CNT | IB_QP_RNR_RETRY)

/* Also of an Ethernet port: dlid is 0, and the backend finds the peer's address. */
static void path_take(struct rdma_ah_attr *a, const struct ib_uverbs_ah_attr *u)
{
	a->type = RDMA_AH_ATTR_TYPE_IB;
	rdma_ah_set_port_num(a, VHCA_PORT);
	rdma_ah_set_sl(a, u->sl);
	rdma_ah_set_static_rate(a, u->static_rate);
	rdma_ah_set_path_bits(a, u->src_path_bits);
	rdma_ah_set_dlid(a, u->dlid);
	if (!u->is_global)
		return;
	rdma_ah_set_grh(a, NULL, u->grh.flow_label, u->grh.sgid_index,
			u->grh.hop_limit, u->grh.traffic_class);
	memcpy(a->grh.dgid.raw, u->grh.dgid, sizeof(u->grh.dgid));
}

static void qp_attr_take(struct ib_qp_attr *a, const struct ib_uverbs_qp_attr *u)
{
	a->qp_access_flags = u->qp_access_flags;
	a->pkey_index = u->pkey_index;
	a->port_num = VHCA_PORT;
	a->path_mtu = u->path_mtu;
	a->dest_qp_num = u->dest_qp_num;
	a->rq_psn = u->rq_psn;
	a->sq_psn = u->sq_psn;
	a->max_rd_atomic = u->max_rd_atomic;
	a->max_dest_rd_atomic = u->max_dest_rd_atomic;
	a->min_rnr_timer = u->min_rnr_timer;
	a->timeout = u->timeout;
	a->retry_cnt = u->retry_cnt;
	a->rnr_retry = u->rnr_retry;
	path_take(&a->ah_attr, &u->ah_attr);
}

/* The numbers are the backend's, whose HCA has the queue pair. */
static int qp_step(struct vhca_conn *conn, enum ib_qp_state state)
{
	const struct ib_uverbs_qp_attr *u = (const void *)conn->m->call.out;
	struct rdma_ucm_init_qp_attr in = { .id = conn->id, .qp_state = state };
	struct ib_qp_attr attr = { .qp_state = state };
	int rc = SEND(conn->m, INIT_QP_ATTR, &in);

	if (rc)
		return rc;
	qp_attr_take(&attr, u);
	return vhca_modify_qp(&conn->qp->qp.ibqp, &attr,
			      (u->qp_attr_mask & QP_STEPS) | IB_QP_STATE, NULL);
}

int vhca_conn_qp_up(struct vhca_conn *conn)
{
	int rc = qp_step(conn, IB_QPS_INIT);

	if (!rc)
		rc = qp_step(conn, IB_QPS_RTR);
	return rc ? rc : qp_step(conn, IB_QPS_RTS);
}

void vhca_conn_qp_stop(struct vhca_conn *conn)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };

	if (conn->qp && !vhca_iw_is_away(conn->m) && READ_ONCE(conn->qp->qp.state) != IB_QPS_ERR)
		vhca_modify_qp(&conn->qp->qp.ibqp, &attr, IB_QP_STATE, NULL);
}

/* ---- events ---- */

int vhca_iw_fetch(struct vhca_iw *m)
{
	struct rdma_ucm_get_event in = {};
	int rc = SEND(m, GET_EVENT, &in);

	if (rc)
		return rc;
	/* What the answer lacks is 0: command() cleared it. */
	memcpy(&m->ev, m->call.out, sizeof(m->ev));
	return 0;
}
