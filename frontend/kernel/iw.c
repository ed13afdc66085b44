// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Connections of this guest's kernel: what iw_cm asks for, the thread that does it, and
 * their part in the life of a queue pair. iw_cm calls the operations from processes and from
 * its own work, for some of them under a lock; none but that for a listener waits.
 */
#include <linux/kthread.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "iw.h"
#include "verbs/verbs.h"

static struct vhca_iw *to_iw(struct ib_device *ibdev)
{
	return to_kern(ibdev)->iw;
}

/* ---- the thread ---- */

static struct vhca_conn *todo_next(struct vhca_iw *m, bool *ends)
{
	struct vhca_conn *conn;

	spin_lock(&m->lock);
	conn = list_first_entry_or_null(&m->todo, struct vhca_conn, todo);
	if (conn) {
		list_del_init(&conn->todo);
		*ends = conn->ends;
	}
	spin_unlock(&m->lock);
	return conn;
}

static bool backend_gone(struct vhca_iw *m)
{
	return READ_ONCE(m->f.gone) || vhca_iw_is_away(m) ||
	       !vhca_ring_up(&m->kern->dev->ring);
}

/* Is the phase for the thread to change? */
static bool phase_turns(struct vhca_iw *m)
{
	enum vhca_iw_phase phase = READ_ONCE(m->phase);

	return phase == VHCA_IW_LEAVES || phase == VHCA_IW_RETURNS;
}

static bool woken(struct vhca_iw *m)
{
	return kthread_should_stop() || !list_empty_careful(&m->todo) ||
	       READ_ONCE(m->f.events) || phase_turns(m) ||
	       (READ_ONCE(m->f.gone) && !xa_empty(&m->conns));
}

/* A backend that has nothing to say is asked once in a while, whatever it says. */
static void take_event(struct vhca_iw *m)
{
	if (!vhca_iw_fetch(m) && vhca_conn_event(m))
		return;
	if (READ_ONCE(m->f.events))
		schedule_timeout_interruptible(1);
}

/* No command of this connection of the ring follows: the backend ends the file, and all in it. */
static void leave(struct vhca_iw *m)
{
	WRITE_ONCE(m->phase, VHCA_IW_AWAY);
	vhca_conns_end(m, true);
	complete(&m->left);
}

static void take_one(struct vhca_iw *m)
{
	struct vhca_conn *conn;
	bool ends;

	if (READ_ONCE(m->phase) == VHCA_IW_LEAVES)
		leave(m);
	/* Between two steps, so that each listener is one, or has not begun. */
	else if (cmpxchg(&m->phase, VHCA_IW_RETURNS, VHCA_IW_UP) == VHCA_IW_RETURNS)
		vhca_conns_listen(m);
	conn = todo_next(m, &ends);
	if (conn) {
		vhca_conn_step(conn, ends);
	} else if (backend_gone(m)) {
		WRITE_ONCE(m->f.events, false);
		vhca_conns_end(m, !READ_ONCE(m->f.gone));
	} else if (READ_ONCE(m->f.events)) {
		take_event(m);
	}
}

static int iw_thread(void *arg)
{
	struct vhca_iw *m = arg;

	memalloc_noio_save();	/* a disk may wait for it */
	while (!kthread_should_stop()) {
		wait_event_interruptible(m->wait, woken(m));
		take_one(m);
	}
	vhca_conns_end(m, false);
	return 0;
}

/* ---- queue pairs ---- */

/* Its consumer, who connects it, keeps it meanwhile. */
static struct ib_qp *get_qp(struct ib_device *ibdev, int qpn)
{
	struct vhca_kqp *qp = xa_load(&to_kern(ibdev)->qps, qpn);

	return qp ? &qp->qp.ibqp : NULL;
}

static void add_ref(struct ib_qp *ibqp)
{
	refcount_inc(&to_kqp(ibqp)->iw.refs);
}

static void rem_ref(struct ib_qp *ibqp)
{
	vhca_iw_qp_put(&to_kqp(ibqp)->iw);
}

/* Under m->lock. A queue pair has one connection; that of another backend has none. */
static int conn_has_qp(struct vhca_conn *conn, struct ib_qp *ibqp)
{
	struct vhca_kqp *qp = to_kqp(ibqp);

	if (qp->qp.gen != READ_ONCE(to_vdev(ibqp->device)->gen))
		return -ENOTCONN;
	if (qp->iw.conn)
		return -EISCONN;
	add_ref(ibqp);
	qp->iw.conn = conn;
	conn->qp = qp;
	return 0;
}

static void qp_disconnect(struct vhca_kqp *qp)
{
	struct vhca_iw *m = to_iw(qp->qp.ibqp.device);

	spin_lock(&m->lock);
	if (qp->iw.conn) {
		qp->iw.conn->ends = true;
		vhca_conn_ask(qp->iw.conn);
	}
	spin_unlock(&m->lock);
}

static u16 any_pkey(struct vhca_dev *dev)
{
	u16 i;

	for (i = 0; i < dev->port.pkey_tbl_len - 1; i++)
		if (!vhca_pkey_usable(dev, i))
			break;
	return i;
}

bool vhca_iw_modify(struct vhca_kqp *qp, struct ib_qp_attr *attr, int *mask)
{
	struct vhca_dev *dev = to_vdev(qp->qp.ibqp.device);

	if (!to_iw(&dev->ibdev) || !(*mask & IB_QP_STATE))
		return false;
	switch (attr->qp_state) {
	case IB_QPS_INIT:
		/* So that receives can be posted; the connection's own one follows. */
		if (!(*mask & IB_QP_PKEY_INDEX))
			attr->pkey_index = any_pkey(dev);
		*mask |= IB_QP_PKEY_INDEX;
		return false;
	case IB_QPS_RTR:
		return !(*mask & IB_QP_AV);
	case IB_QPS_SQD:
		qp_disconnect(qp);
		return true;
	case IB_QPS_ERR:
	case IB_QPS_RESET:
		qp_disconnect(qp);
		return false;
	default:
		return false;
	}
}

void vhca_iw_qp_end(struct vhca_kqp *qp)
{
	if (!to_iw(qp->qp.ibqp.device))
		return;
	qp_disconnect(qp);
	vhca_iw_qp_put(&qp->iw);
	wait_for_completion(&qp->iw.free);
}

/* ---- connections ---- */

static int param_take(struct vhca_conn *conn, const struct iw_cm_conn_param *from)
{
	const struct ib_device_attr *a = &conn->m->kern->dev->attr;
	struct rdma_ucm_conn_param *p = &conn->param;

	if (from->private_data_len > U8_MAX)
		return -EINVAL;
	p->qp_num = from->qpn;
	p->responder_resources = min_t(u32, from->ird, min_t(u32, a->max_qp_rd_atom, U8_MAX));
	p->initiator_depth = min_t(u32, from->ord, min_t(u32, a->max_qp_init_rd_atom, U8_MAX));
	p->private_data_len = from->private_data_len;
	if (p->private_data_len)
		memcpy(p->private_data, from->private_data, p->private_data_len);
	return 0;
}

/* Under m->lock: what iw_cm calls by that pointer, and has not answered. */
static struct vhca_conn *request_of(struct vhca_iw *m, struct iw_cm_id *iw)
{
	struct vhca_conn *conn = xa_load(&m->conns, (unsigned long)iw->provider_data);

	return conn && conn->state == VHCA_CONN_REQUEST && !conn->ends ? conn : NULL;
}

static void request_turn(struct vhca_conn *conn, enum vhca_conn_state state)
{
	conn->state = state;
	conn->m->requests--;
	vhca_conn_ask(conn);
}

static int iw_connect(struct iw_cm_id *iw, struct iw_cm_conn_param *param)
{
	struct ib_qp *ibqp = get_qp(iw->device, param->qpn);
	struct vhca_iw *m = to_iw(iw->device);
	struct vhca_conn *conn;
	int rc;

	if (!ibqp)
		return -EINVAL;
	conn = vhca_conn_new(m, VHCA_CONN_OPEN, iw);
	if (!conn)
		return -ENOMEM;
	rc = param_take(conn, param);
	spin_lock(&m->lock);
	if (READ_ONCE(m->kern->dev->leaving))
		rc = -ENODEV;
	if (!rc)
		rc = conn_has_qp(conn, ibqp);
	if (!rc) {
		vhca_conn_show(conn);
		vhca_conn_ask(conn);
	}
	spin_unlock(&m->lock);
	if (rc)
		vhca_conn_free(conn);
	return rc;
}

/* After an error iw_cm does not ask again, so the request ends. Under m->lock. */
static int request_accept(struct vhca_conn *conn, struct iw_cm_id *iw,
			  const struct iw_cm_conn_param *param)
{
	struct ib_qp *ibqp = get_qp(iw->device, param->qpn);
	int rc = ibqp ? param_take(conn, param) : -EINVAL;

	if (!rc)
		rc = conn_has_qp(conn, ibqp);
	if (rc) {
		conn->ends = true;
		vhca_conn_ask(conn);
		return rc;
	}
	iw->add_ref(iw);
	conn->iw = iw;
	request_turn(conn, VHCA_CONN_ACCEPT);
	return 0;
}

static int iw_accept(struct iw_cm_id *iw, struct iw_cm_conn_param *param)
{
	struct vhca_iw *m = to_iw(iw->device);
	struct vhca_conn *conn;
	int rc = -ENOTCONN;

	spin_lock(&m->lock);
	conn = request_of(m, iw);
	if (conn)
		rc = request_accept(conn, iw, param);
	spin_unlock(&m->lock);
	return rc;
}

/* A request that the backend has taken back is as good as rejected. */
static int iw_reject(struct iw_cm_id *iw, const void *data, u8 len)
{
	struct vhca_iw *m = to_iw(iw->device);
	struct vhca_conn *conn;

	spin_lock(&m->lock);
	conn = request_of(m, iw);
	if (conn) {
		conn->param.private_data_len = len;
		if (len)
			memcpy(conn->param.private_data, data, len);
		request_turn(conn, VHCA_CONN_REJECT);
	}
	spin_unlock(&m->lock);
	return 0;
}

static int iw_create_listen(struct iw_cm_id *iw, int backlog)
{
	struct vhca_iw *m = to_iw(iw->device);
	struct vhca_conn_wait wait = {};
	struct vhca_conn *conn = vhca_conn_new(m, VHCA_CONN_BIND, iw);

	if (!conn)
		return -ENOMEM;
	init_completion(&wait.done);
	conn->backlog = backlog;
	conn->wait = &wait;
	iw->provider_data = (void *)(unsigned long)conn->cookie;
	spin_lock(&m->lock);
	vhca_conn_show(conn);
	vhca_conn_ask(conn);
	spin_unlock(&m->lock);
	/* For the commands of what was asked for before, each of which has a time limit. */
	wait_for_completion(&wait.done);
	return wait.rc;
}

/* iw_cm drops what the listener still says. */
static int iw_destroy_listen(struct iw_cm_id *iw)
{
	struct vhca_iw *m = to_iw(iw->device);
	struct vhca_conn *conn;

	spin_lock(&m->lock);
	conn = xa_load(&m->conns, (unsigned long)iw->provider_data);
	if (conn) {
		conn->ends = true;
		vhca_conn_ask(conn);
	}
	spin_unlock(&m->lock);
	return 0;
}

const struct ib_device_ops vhca_iw_ops = {
	.iw_accept = iw_accept,
	.iw_add_ref = add_ref,
	.iw_connect = iw_connect,
	.iw_create_listen = iw_create_listen,
	.iw_destroy_listen = iw_destroy_listen,
	.iw_get_qp = get_qp,
	.iw_reject = iw_reject,
	.iw_rem_ref = rem_ref,
};

/* ---- life ---- */

static void iw_free(struct vhca_file *file)
{
	struct vhca_iw *m = container_of(file, struct vhca_iw, f);

	xa_destroy(&m->conns);
	kfree(m);
}

static const struct vhca_file_ops iw_file_ops = {
	.what = "rdma_cm file of the kernel",
	.event = XENVHCA_EVT_CM,
	.alloc = XENVHCA_OP_ALLOC_CM,
	.dealloc = XENVHCA_OP_DEALLOC_CM,
	.free = iw_free,
};

int vhca_iw_begin(struct vhca_kern *kern)
{
	struct vhca_iw *m = kzalloc(sizeof(*m), GFP_KERNEL);
	int rc;

	if (!m)
		return -ENOMEM;
	m->kern = kern;
	init_waitqueue_head(&m->wait);
	init_completion(&m->left);
	spin_lock_init(&m->lock);
	xa_init_flags(&m->conns, XA_FLAGS_ALLOC1);
	INIT_LIST_HEAD(&m->todo);
	vhca_file_init(&m->f, &iw_file_ops, &m->wait);
	vhca_file_join(&m->f, kern->dev);
	m->thread = kthread_run(iw_thread, m, "vhca-cm-%d", kern->dev->store->number);
	if (IS_ERR(m->thread)) {
		rc = PTR_ERR(m->thread);
		vhca_file_release(&m->f);
		return rc;
	}
	kern->iw = m;
	return 0;
}

void vhca_iw_away(struct vhca_kern *kern)
{
	struct vhca_iw *m = kern->iw;

	if (!m)
		return;
	reinit_completion(&m->left);
	WRITE_ONCE(m->phase, VHCA_IW_LEAVES);
	wake_up_interruptible(&m->wait);
	wait_for_completion(&m->left);
	vhca_file_away(&m->f);
}

void vhca_iw_back(struct vhca_kern *kern)
{
	struct vhca_iw *m = kern->iw;

	if (!m)
		return;
	WRITE_ONCE(m->phase, VHCA_IW_RETURNS);
	wake_up_interruptible(&m->wait);
}

void vhca_iw_leave(struct vhca_kern *kern)
{
	struct vhca_iw *m = kern->iw;
	struct vhca_conn *conn;
	unsigned long i;

	if (!m)
		return;
	spin_lock(&m->lock);
	xa_for_each(&m->conns, i, conn) {
		if (conn->state < VHCA_CONN_OPEN || conn->state > VHCA_CONN_REPLY)
			continue;
		conn->ends = true;
		vhca_conn_ask(conn);
	}
	spin_unlock(&m->lock);
}

void vhca_iw_end(struct vhca_kern *kern)
{
	struct vhca_iw *m = kern->iw;

	if (!m)
		return;
	kthread_stop(m->thread);
	kern->iw = NULL;
	vhca_file_release(&m->f);
}
