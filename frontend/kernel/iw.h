/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * rdma_cm of this guest's kernel. It leaves connections to a device of iWARP, by iw_cm; ours
 * repeats them on a file of the backend domain's rdma_cm, as librdmacm does for a process.
 *
 * One thread sends the commands and takes the events. What iw_cm asks for is left to it, so
 * no task that is killed leaves a command without an answer. From vhca_conn_show() on only
 * the thread frees a connection. Tasks turn a state of VHCA_CONN_REQUEST, and say in any
 * state that the connection ends; all else is the thread's.
 */
#ifndef VHCA_IW_H
#define VHCA_IW_H

#include <linux/completion.h>
#include <linux/wait.h>
#include <rdma/iw_cm.h>
#include <rdma/rdma_cm.h>

#include "files/cm.h"
#include "kern.h"

#define VHCA_IW_REQUESTS	1024u	/* that consumers have not answered */

/* Of the device: has the thread a backend? */
enum vhca_iw_phase {
	VHCA_IW_UP,
	VHCA_IW_LEAVES,			/* ends what is left of its connections */
	VHCA_IW_AWAY,
	VHCA_IW_RETURNS,		/* away until the thread has asked its listeners */
};

/* What a connection does, or waits for. */
enum vhca_conn_state {
	VHCA_CONN_BIND,			/* a listener is to be made */
	VHCA_CONN_LISTEN,
	VHCA_CONN_OPEN,			/* is to be made to a peer */
	VHCA_CONN_ADDR,			/* waits for a device, */
	VHCA_CONN_ROUTE,		/*   a path, */
	VHCA_CONN_REPLY,		/*   the peer */
	VHCA_CONN_REQUEST,		/* of a peer: waits for the consumer */
	VHCA_CONN_ACCEPT,		/* is to be accepted, */
	VHCA_CONN_REJECT,		/*   or rejected */
	VHCA_CONN_UP,
	VHCA_CONN_STATES
};

/* A task waits for a listener. */
struct vhca_conn_wait {
	struct completion done;
	int rc;
};

/* A connection, or a listener. */
struct vhca_conn {
	struct vhca_iw *m;
	enum vhca_conn_state state;	/* under m->lock, as the next three */
	bool ends;			/* is to be ended */
	struct list_head todo;		/* in m->todo */
	u32 listener;			/* cookie, in VHCA_CONN_REQUEST */
	u32 cookie;			/* for the backend's events, and for iw_cm */
	u32 id;				/* of the backend, */
	bool there;			/*   if it has one */
	u32 backlog;			/* of a listener */
	struct vhca_conn_wait *wait;
	struct iw_cm_id *iw;		/* held, or NULL */
	struct vhca_kqp *qp;		/* held, or NULL */
	struct rdma_ucm_conn_param param;	/* of the consumer */
};

struct vhca_iw {
	struct vhca_kern *kern;
	struct vhca_file f;
	wait_queue_head_t wait;		/* of the thread */
	enum vhca_iw_phase phase;	/* LEAVES, RETURNS: the thread's to change */
	struct completion left;
	struct task_struct *thread;
	u32 next;			/* cookie */
	spinlock_t lock;		/* below; outer to the lock of conns */
	struct xarray conns;		/* by cookie */
	struct list_head todo;
	u32 requests;			/* in VHCA_CONN_REQUEST */
	/* Of the thread: */
	struct vhca_cm_call call;
	struct rdma_ucm_event_resp ev;	/* a copy: commands follow */
};

/* No command of the thread reaches a backend. */
static inline bool vhca_iw_is_away(const struct vhca_iw *m)
{
	return READ_ONCE(m->phase) >= VHCA_IW_AWAY;
}

/* ---- iw_cmd.c: commands of the thread; 0 or -errno ---- */
int vhca_conn_create(struct vhca_conn *conn);
/* The backend ends what has this id: a connection; a request, by a reject. */
void vhca_iw_destroy_id(struct vhca_iw *m, u32 id);
void vhca_conn_destroy(struct vhca_conn *conn);
int vhca_conn_listen(struct vhca_conn *conn);
int vhca_conn_resolve_addr(struct vhca_conn *conn);
int vhca_conn_resolve_route(struct vhca_conn *conn);
int vhca_conn_connect(struct vhca_conn *conn);
/* With conn->param, or, for a peer that has accepted, without. */
int vhca_conn_accept(struct vhca_conn *conn, bool param);
int vhca_conn_reject(struct vhca_conn *conn);
/* Addresses of a peer's request. */
int vhca_conn_addresses(struct vhca_conn *conn, struct iw_cm_event *ev);
/* The queue pair's steps to RTS, as the backend's connection manager says. */
int vhca_conn_qp_up(struct vhca_conn *conn);
void vhca_conn_qp_stop(struct vhca_conn *conn);
/* The next event into m->ev. */
int vhca_iw_fetch(struct vhca_iw *m);

/* ---- iw_step.c: states; the thread runs this, tasks what begins a connection ---- */
/* With a cookie; @iw: held, or NULL. NULL: no memory. */
struct vhca_conn *vhca_conn_new(struct vhca_iw *m, enum vhca_conn_state state,
				struct iw_cm_id *iw);
/* The thread finds it from now on. Under m->lock. */
void vhca_conn_show(struct vhca_conn *conn);
/* One that was never shown. */
void vhca_conn_free(struct vhca_conn *conn);
/* The thread takes it up. Under m->lock. */
void vhca_conn_ask(struct vhca_conn *conn);
/* What it was asked for. */
void vhca_conn_step(struct vhca_conn *conn, bool ends);
/* m->ev. Return: whether that was waited for. */
bool vhca_conn_event(struct vhca_iw *m);
/* The backend is gone: ends all; @stays: listeners wait for another one. */
void vhca_conns_end(struct vhca_iw *m, bool stays);
/* Listeners that wait listen again. */
void vhca_conns_listen(struct vhca_iw *m);

#endif
