/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * frontend/kernel/iw*.c in user space, between an iw_cm that has the states and the BUG_ON()s
 * of Linux' iwcm.c, and a backend whose answers and events the test chooses.
 */
#ifndef FRONT_IW_H
#define FRONT_IW_H

#include "kernel.h"

#include <linux/types.h>
#include <netinet/in.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_user_cm.h>

/* ---- Linux ---- */
typedef u64 dma_addr_t, phys_addr_t;
typedef struct { int n; } refcount_t;
#define refcount_set(r, v)	((r)->n = (v))
#define U8_MAX			0xff
#define list_first_entry_or_null(head, type, m)				\
	(list_empty(head) ? NULL : container_of((head)->next, type, m))
#define list_empty_careful	list_empty
#define ipv6_addr_any(a)	IN6_IS_ADDR_UNSPECIFIED(a)
#define schedule_timeout_interruptible(j) 					\
	(might_sleep(), (void)pauses++, kernel_advance(j))
#define wait_event_interruptible(wq, cond) ({ might_sleep(); assert_true(cond); })
#define kthread_should_stop()	stopping
#define kthread_run(fn, arg, ...) ((void *)(arg))
#define kthread_stop(thread)	(stopping = true, iw_thread(thread), stopping = false)
#define wait_for_completion(c)						\
	do {								\
		might_sleep();						\
		thread_runs();						\
		iws_work();						\
		assert_true((c)->done);					\
	} while (0)
static bool stopping, in_op;
static unsigned int pauses;
static void thread_runs(void);
static void iws_work(void);
struct device_dma_parameters { int unused; };
struct mlx5_av { int unused; };
struct ib_cq_init_attr { int unused; };
#define mlx5_write64(val, reg)
enum ib_mr_type { IB_MR_TYPE_MEM_REG };
enum ib_cq_notify_flags { IB_CQ_NEXT_COMP };
#include "srqs.h"

static void refcount_inc(refcount_t *r)
{
	assert_true(r->n > 0);
	r->n++;
}

static bool refcount_dec_and_test(refcount_t *r)
{
	assert_true(r->n > 0);
	return !--r->n;
}

/* With numbers that are taken and hold nothing yet. */
struct numbers { void *at[2048]; };
#define xarray			numbers
#define TAKEN			((void *)1)
#define XA_FLAGS_ALLOC1		0
#define XA_LIMIT(a, b)		0
#define xa_init_flags(xa, f)	memset(xa, 0, sizeof(*(xa)))
#define xa_init(xa)		memset(xa, 0, sizeof(*(xa)))
#define xa_destroy(xa)		assert_true(xa_empty(xa))

static void *xa_load(struct numbers *xa, unsigned long i)
{
	return i < ARRAY_SIZE(xa->at) && xa->at[i] != TAKEN ? xa->at[i] : NULL;
}

#define xa_erase(xa, i)		((xa)->at[i] = NULL)
#define xa_for_each(xa, i, p)						\
	for ((i) = 0; (i) < ARRAY_SIZE((xa)->at); (i)++)		\
		if (((p) = xa_load(xa, i)))

static bool xa_empty(struct numbers *xa)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(xa->at); i++)
		if (xa->at[i])
			return false;
	return true;
}

static int xa_alloc_cyclic(struct numbers *xa, u32 *id, void *p, int limit, u32 *next,
			   int gfp)
{
	unsigned int n;

	for (n = 1; n < ARRAY_SIZE(xa->at); n++) {
		*next = *next % (ARRAY_SIZE(xa->at) - 1) + 1;
		if (xa->at[*next])
			continue;
		xa->at[*next] = p ? p : TAKEN;
		*id = *next;
		return 0;
	}
	return -EBUSY;
}

static void *xa_store(struct numbers *xa, unsigned long i, void *p, int gfp)
{
	assert_ptr_equal(xa->at[i], TAKEN);	/* or it could need memory */
	return xa->at[i] = p;
}

/* ---- verbs ---- */
enum { IB_QPT_RC = 2 };
enum ib_qp_state { IB_QPS_RESET, IB_QPS_INIT, IB_QPS_RTR, IB_QPS_RTS, IB_QPS_SQD,
		   IB_QPS_SQE, IB_QPS_ERR };
enum { IB_QP_STATE = 1, IB_QP_ACCESS_FLAGS = 8, IB_QP_PKEY_INDEX = 16, IB_QP_PORT = 32,
       IB_QP_AV = 128, IB_QP_PATH_MTU = 256, IB_QP_TIMEOUT = 512, IB_QP_RETRY_CNT = 1024,
       IB_QP_RNR_RETRY = 2048, IB_QP_RQ_PSN = 4096, IB_QP_MAX_QP_RD_ATOMIC = 8192,
       IB_QP_ALT_PATH = 1 << 14, IB_QP_MIN_RNR_TIMER = 1 << 15, IB_QP_SQ_PSN = 1 << 16,
       IB_QP_MAX_DEST_RD_ATOMIC = 1 << 17, IB_QP_PATH_MIG_STATE = 1 << 18,
       IB_QP_DEST_QPN = 1 << 20 };
enum { RDMA_AH_ATTR_TYPE_IB = 1 };
union ib_gid { u8 raw[16]; };
struct ib_global_route {
	union ib_gid dgid;
	u32 flow_label;
	u8 sgid_index, hop_limit, traffic_class;
};
struct rdma_ah_attr {
	struct ib_global_route grh;
	u32 dlid, port;
	u8 type, sl, rate, path_bits, is_global;
};
#define rdma_ah_set_port_num(a, v)	((a)->port = (v))
#define rdma_ah_set_sl(a, v)		((a)->sl = (v))
#define rdma_ah_set_static_rate(a, v)	((a)->rate = (v))
#define rdma_ah_set_path_bits(a, v)	((a)->path_bits = (v))
#define rdma_ah_set_dlid(a, v)						\
	do {								\
		assert_int_equal((a)->type, RDMA_AH_ATTR_TYPE_IB);	\
		(a)->dlid = (v);					\
	} while (0)
#define rdma_ah_set_grh(a, gid, fl, i, hop, tc)				\
	((a)->is_global = 1, (a)->grh.sgid_index = (i), (a)->grh.hop_limit = (hop))
struct ib_qp_attr {
	enum ib_qp_state qp_state;
	u32 rq_psn, sq_psn, dest_qp_num, path_mtu;
	int qp_access_flags;
	struct rdma_ah_attr ah_attr;
	u16 pkey_index;
	u8 port_num, max_rd_atomic, max_dest_rd_atomic, min_rnr_timer, timeout, retry_cnt,
	   rnr_retry;
};
struct port_attr { u16 pkey_tbl_len; };
#define ib_port_attr port_attr

/* ---- rdma_cm.h, iw_cm.h ---- */
enum rdma_cm_event_type {
	RDMA_CM_EVENT_ADDR_RESOLVED, RDMA_CM_EVENT_ADDR_ERROR, RDMA_CM_EVENT_ROUTE_RESOLVED,
	RDMA_CM_EVENT_ROUTE_ERROR, RDMA_CM_EVENT_CONNECT_REQUEST,
	RDMA_CM_EVENT_CONNECT_RESPONSE, RDMA_CM_EVENT_CONNECT_ERROR,
	RDMA_CM_EVENT_UNREACHABLE, RDMA_CM_EVENT_REJECTED, RDMA_CM_EVENT_ESTABLISHED,
	RDMA_CM_EVENT_DISCONNECTED, RDMA_CM_EVENT_DEVICE_REMOVAL,
	RDMA_CM_EVENT_MULTICAST_JOIN, RDMA_CM_EVENT_MULTICAST_ERROR,
	RDMA_CM_EVENT_ADDR_CHANGE, RDMA_CM_EVENT_TIMEWAIT_EXIT
};
enum iw_cm_event_type {
	IW_CM_EVENT_CONNECT_REQUEST = 1, IW_CM_EVENT_CONNECT_REPLY, IW_CM_EVENT_ESTABLISHED,
	IW_CM_EVENT_DISCONNECT, IW_CM_EVENT_CLOSE
};
enum { IB_CM_REP_PRIVATE_DATA_SIZE = 196, IB_CM_REJ_CONSUMER_DEFINED = 28 };
struct iw_cm_event {
	enum iw_cm_event_type event;
	int status;
	struct sockaddr_storage local_addr, remote_addr;
	void *private_data, *provider_data;
	u8 private_data_len, ord, ird;
};
struct iw_cm_id {
	struct ib_device *device;
	struct sockaddr_storage m_local_addr, m_remote_addr;
	void *provider_data;
	bool afonly;
	int (*event_handler)(struct iw_cm_id *iw, struct iw_cm_event *ev);
	void (*add_ref)(struct iw_cm_id *iw);
	void (*rem_ref)(struct iw_cm_id *iw);
};
struct iw_cm_conn_param {
	const void *private_data;
	u16 private_data_len;
	u32 ord, ird, qpn;
};
struct ib_device_ops {
	int (*iw_accept)(struct iw_cm_id *iw, struct iw_cm_conn_param *param);
	void (*iw_add_ref)(struct ib_qp *ibqp);
	int (*iw_connect)(struct iw_cm_id *iw, struct iw_cm_conn_param *param);
	int (*iw_create_listen)(struct iw_cm_id *iw, int backlog);
	int (*iw_destroy_listen)(struct iw_cm_id *iw);
	struct ib_qp *(*iw_get_qp)(struct ib_device *ibdev, int qpn);
	int (*iw_reject)(struct iw_cm_id *iw, const void *data, u8 len);
	void (*iw_rem_ref)(struct ib_qp *ibqp);
};

struct file_operations;
struct net;
#include "copy/iw_cmd.c"
/* What happens in the middle of a step: when it has failed, and asks why. */
static void (*meanwhile)(void);

static bool ring_asked(const struct vhca_ring *ring)
{
	void (*fn)(void) = meanwhile;

	meanwhile = NULL;
	if (fn)
		fn();
	return vhca_ring_up(ring);
}

#define vhca_ring_up		ring_asked
#include "copy/iw_step.c"
#undef vhca_ring_up
#include "copy/iw.c"

/* ---- the rest of the module, and the backend ---- */
#ifndef QPS
#define QPS		4
#endif
static struct vhca_store iw_store;
static struct vhca_dev iw_dev;
static struct vhca_kern iw_kern;
static struct vhca_kqp *iw_qp[QPS];	/* each in memory of its own */

/* What the backend does: of each command its result, and how much of the answer it lacks. */
static struct {
	int fail[32], lacks[32];
	int ids;			/* that it has */
	u32 id, last;			/* id: of a new one; last: that a command named */
	char said[128];			/* a letter for each command */
	struct rdma_ucm_event_resp event;
	bool silent;			/* it has no event */
	struct rdma_ucm_query_route_resp route;
	struct rdma_ucm_conn_param param;	/* of CONNECT, ACCEPT, REJECT */
	u16 attr_mask;
	u8 qp_steps[8];
	u32 qp_masks[8];
	unsigned int nr_steps;
} be;

static void (*meanwhile)(void);	/* what tasks do during a command, or NULL */

/* In its place, or NULL. 0: the answer is in @c. */
static int (*iw_backend)(struct vhca_cm_call *c, struct vhca_file *file);

static void say(char what)
{
	size_t n = strlen(be.said);

	if (n < sizeof(be.said) - 1)
		be.said[n] = what;
}

static void answer_put(struct vhca_cm_call *c, const void *from, size_t len)
{
	assert_true(len <= sizeof(c->out));
	memcpy(c->out, from, len);
}

static void be_does(struct vhca_cm_call *c)
{
	struct ib_uverbs_qp_attr attr = {
		.qp_attr_mask = IB_QP_STATE | IB_QP_ALT_PATH | IB_QP_PATH_MIG_STATE |
				IB_QP_PKEY_INDEX | be.attr_mask,
		.pkey_index = 3, .ah_attr = { .dlid = 9, .is_global = 1 },
	};
	struct rdma_ucm_connect *connect = (void *)c->in;
	struct rdma_ucm_accept *accept = (void *)c->in;
	struct rdma_ucm_reject *reject = (void *)c->in;

	switch (c->cmd) {
	case RDMA_USER_CM_CMD_CREATE_ID:
		say('C');
		be.ids++;
		answer_put(c, &be.id, sizeof(be.id));
		break;
	case RDMA_USER_CM_CMD_DESTROY_ID: say('D'); be.ids--; break;
	case RDMA_USER_CM_CMD_BIND: say('b'); break;
	case RDMA_USER_CM_CMD_LISTEN: say('l'); break;
	case RDMA_USER_CM_CMD_RESOLVE_ADDR: say('a'); break;
	case RDMA_USER_CM_CMD_RESOLVE_ROUTE: say('r'); break;
	case RDMA_USER_CM_CMD_CONNECT: say('c'); be.param = connect->conn_param; break;
	case RDMA_USER_CM_CMD_ACCEPT: say('A'); be.param = accept->conn_param; break;
	case RDMA_USER_CM_CMD_REJECT:
		say('R');
		memcpy(be.param.private_data, reject->private_data, 255);
		be.param.private_data_len = reject->private_data_len;
		break;
	case RDMA_USER_CM_CMD_INIT_QP_ATTR:
		say('q');
		answer_put(c, &attr, sizeof(attr));
		break;
	case RDMA_USER_CM_CMD_QUERY_ROUTE:
		say('Q');
		answer_put(c, &be.route, sizeof(be.route));
		break;
	case RDMA_USER_CM_CMD_GET_EVENT:
		answer_put(c, &be.event, sizeof(be.event));
		break;
	default:
		fail_msg("command %u", c->cmd);
	}
}

int vhca_cmd_cm_command(struct vhca_file *file, struct vhca_cm_call *c)
{
	assert_ptr_equal(file, &iw_kern.iw->f);
	assert_int_equal(c->in_len, c->op->in);
	assert_int_equal(c->room, c->op->out);
	if (c->op->at_id != VHCA_CM_NONE)
		be.last = vhca_cm_u32(c->in, c->op->at_id);
	if (!vhca_ring_up(&iw_dev.ring) || file->gone)
		return -EIO;
	if (iw_backend)
		return iw_backend(c, file);
	if (be.fail[c->cmd])
		return be.fail[c->cmd];
	be_does(c);
	if (meanwhile)
		meanwhile();
	c->out_len = c->room - min(be.lacks[c->cmd], (int)c->room);
	if (c->cmd == RDMA_USER_CM_CMD_GET_EVENT && be.silent)
		c->out_len = 0;
	memset(c->out + c->out_len, 0, sizeof(c->out) - c->out_len);
	return 0;
}

void vhca_file_init(struct vhca_file *file, const struct vhca_file_ops *ops,
		    wait_queue_head_t *wait)
{
	file->ops = ops;
}

void vhca_file_join(struct vhca_file *file, struct vhca_dev *dev)
{
}

static unsigned int files_shut;

void vhca_file_away(struct vhca_file *file)
{
	files_shut++;
	be.ids = 0;
}

void vhca_file_release(struct vhca_file *file)
{
	file->ops->free(file);
}

int vhca_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		   struct ib_udata *udata)
{
	assert_true(mask & IB_QP_STATE);
	assert_false(mask & (IB_QP_ALT_PATH | IB_QP_PATH_MIG_STATE));
	if (!vhca_ring_up(&iw_dev.ring))
		return -EIO;
	be.qp_steps[be.nr_steps % 8] = attr->qp_state;
	be.qp_masks[be.nr_steps++ % 8] = mask;
	to_vqp(ibqp)->state = attr->qp_state;
	return 0;
}

int vhca_pkey_usable(struct vhca_dev *dev, u32 index)
{
	return index == 2 ? 0 : -EINVAL;
}

/* The thread does what it has to, to the end. */
static void thread_runs(void)
{
	unsigned int n = 0;
	bool waits = in_op;

	in_op = false;
	while (woken(iw_kern.iw) && n++ < 10000)
		take_one(iw_kern.iw);
	in_op = waits;
}

/*
 * ---- iw_cm: events are handled at once, or with iw_later by iws_work(), as its workqueue
 * would. It takes so many of an id before that.
 * ----
 */
#define IW_WORKS	4
/* An operation calls no handler, unless the thread does while it waits. */
#define OP(call)							\
({									\
	int __rc;							\
	in_op = true;							\
	__rc = (call);							\
	in_op = false;							\
	__rc;								\
})
/* References are taken and given under a spin lock. */
#define REF(call)		(kernel_atomic++, (call), (void)kernel_atomic--)
enum iw_state { IW_IDLE, IW_LISTENING, IW_CONN_RECV, IW_CONN_SENT, IW_ESTABLISHED,
		IW_CLOSING, IW_DESTROYING };
#define IWS		2048

struct iw {
	struct iw_cm_id id;
	enum iw_state state;
	int refs;
	bool waits;		/* CONNECT_WAIT: for an event */
	bool drops;
	struct ib_qp *qp;
	char heard[16];		/* "R": refused, "U": up by a reply, E, D, C */
	int status;
	u8 data[255], data_len, ird, ord;
	bool has_data;		/* a pointer, which consumers look at */
	struct { struct iw_cm_event ev; u8 data[255]; } work[IW_WORKS];
	unsigned int works;
};

static struct iw iws[IWS];
static unsigned int iw_nr, iw_no_memory;	/* how many events it cannot store */
static bool iw_later;

static struct iw *to_iw_id(struct iw_cm_id *id)
{
	return container_of(id, struct iw, id);
}

static void iw_add(struct iw_cm_id *id)
{
	assert_true(to_iw_id(id)->refs > 0);
	to_iw_id(id)->refs++;
}

static void iw_rem(struct iw_cm_id *id)
{
	assert_true(to_iw_id(id)->refs > 0);
	to_iw_id(id)->refs--;
}

static int iw_handler(struct iw_cm_id *id, struct iw_cm_event *ev);

static struct iw *iw_new(enum iw_state state)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(4420) };
	struct iw *iw = &iws[iw_nr++];

	assert_true(iw_nr <= IWS);
	memset(iw, 0, sizeof(*iw));
	iw->id = (struct iw_cm_id){
		.device = &iw_dev.ibdev, .event_handler = iw_handler, .add_ref = iw_add,
		.rem_ref = iw_rem,
	};
	memcpy(&iw->id.m_local_addr, &in, sizeof(in));
	memcpy(&iw->id.m_remote_addr, &in, sizeof(in));
	iw->state = state;
	iw->refs = 1;
	return iw;
}

static void iw_lets_qp_go(struct iw *iw)
{
	if (iw->qp)
		REF(vhca_iw_ops.iw_rem_ref(iw->qp));
	iw->qp = NULL;
}

static void heard(struct iw *iw, char what)
{
	assert_true(strlen(iw->heard) < sizeof(iw->heard) - 1);
	iw->heard[strlen(iw->heard)] = what;
}

static void iw_request(struct iw *listener, const struct iw_cm_event *ev)
{
	struct iw *iw;

	assert_int_equal(ev->status, 0);		/* BUG_ON */
	assert_int_equal(ev->local_addr.ss_family, ev->remote_addr.ss_family);
	iw = iw_new(IW_CONN_RECV);
	iw->id.provider_data = ev->provider_data;
	if (listener->state != IW_LISTENING) {
		iw->state = IW_IDLE;
		OP(vhca_iw_ops.iw_reject(&iw->id, NULL, 0));
		return;
	}
	iw->has_data = ev->private_data;
	iw->data_len = ev->private_data_len;
	iw->ird = ev->ird;
	iw->ord = ev->ord;
}

static void iw_reply(struct iw *iw, const struct iw_cm_event *ev)
{
	assert_int_equal(iw->state, IW_CONN_SENT);	/* BUG_ON */
	iw->waits = false;
	iw->status = ev->status;
	heard(iw, ev->status ? 'R' : 'U');
	iw->state = ev->status ? IW_IDLE : IW_ESTABLISHED;
	assert_true(ev->status <= 0);
	if (ev->status)
		iw_lets_qp_go(iw);
}

static void iw_established(struct iw *iw)
{
	assert_int_equal(iw->state, IW_CONN_RECV);	/* BUG_ON */
	assert_true(iw->waits);				/* for what was accepted */
	iw->waits = false;
	iw->state = IW_ESTABLISHED;
	heard(iw, 'E');
}

static void iw_close(struct iw *iw)
{
	assert_true(iw->state == IW_ESTABLISHED || iw->state == IW_CLOSING);	/* BUG() */
	iw->state = IW_IDLE;
	iw_lets_qp_go(iw);
	heard(iw, 'C');
}

static void iw_does(struct iw *iw, const struct iw_cm_event *ev)
{
	iw->data_len = ev->private_data_len;
	iw->has_data = ev->private_data;
	if (ev->private_data_len)
		memcpy(iw->data, ev->private_data, ev->private_data_len);
	iw->ird = ev->ird;
	iw->ord = ev->ord;
	if (iw->drops)
		return;
	switch (ev->event) {
	case IW_CM_EVENT_CONNECT_REQUEST: iw_request(iw, ev); break;
	case IW_CM_EVENT_CONNECT_REPLY: iw_reply(iw, ev); break;
	case IW_CM_EVENT_ESTABLISHED: iw_established(iw); break;
	case IW_CM_EVENT_DISCONNECT:
		heard(iw, 'D');
		if (iw->state == IW_ESTABLISHED)
			iw->state = IW_CLOSING;
		break;
	case IW_CM_EVENT_CLOSE: iw_close(iw); break;
	default: fail_msg("event %u", ev->event);	/* BUG() */
	}
}

/* In the order in which they came. */
static void iw_works(struct iw *iw)
{
	unsigned int i;

	for (i = 0; i < iw->works; i++) {
		iw_does(iw, &iw->work[i].ev);
		iw_rem(&iw->id);
	}
	iw->works = 0;
}

static void iws_work(void)
{
	unsigned int i;

	for (i = 0; i < iw_nr; i++)
		iw_works(&iws[i]);
}

static int iw_handler(struct iw_cm_id *id, struct iw_cm_event *ev)
{
	struct iw *iw = to_iw_id(id);
	unsigned int i = iw->works;

	assert_true(iw->refs > 0);
	assert_false(in_op);
	might_sleep();
	if (i == IW_WORKS)
		return -ENOMEM;
	if (ev->private_data_len && iw_no_memory) {
		iw_no_memory--;
		return -ENOMEM;
	}
	iw->work[i].ev = *ev;
	if (ev->private_data_len) {
		memcpy(iw->work[i].data, ev->private_data, ev->private_data_len);
		iw->work[i].ev.private_data = iw->work[i].data;
	}
	iw->works++;
	iw_add(id);
	if (!iw_later)
		iw_works(iw);
	return 0;
}

/* ---- what consumers do; the thread has not run yet ---- */

static int iw_connects(struct iw *iw, u32 qpn, u16 len)
{
	static const u8 data[300] = "connects";
	struct iw_cm_conn_param p = {
		.private_data = data, .private_data_len = len, .ord = 1000, .ird = 5,
		.qpn = qpn,
	};
	int rc;

	iw->qp = vhca_iw_ops.iw_get_qp(iw->id.device, qpn);
	if (!iw->qp)
		return -EINVAL;
	REF(vhca_iw_ops.iw_add_ref(iw->qp));
	iw->state = IW_CONN_SENT;
	iw->waits = true;
	rc = OP(vhca_iw_ops.iw_connect(&iw->id, &p));
	if (!rc)
		return 0;
	iw->state = IW_IDLE;
	iw->waits = false;
	iw_lets_qp_go(iw);
	return rc;
}

static int iw_accepts(struct iw *iw, u32 qpn, u16 len)
{
	static const u8 data[300] = "accepts";
	struct iw_cm_conn_param p = {
		.private_data = data, .private_data_len = len, .ord = 2, .ird = 3, .qpn = qpn,
	};
	int rc;

	if (iw->state != IW_CONN_RECV || iw->waits)
		return -EINVAL;
	iw->qp = vhca_iw_ops.iw_get_qp(iw->id.device, qpn);
	if (!iw->qp)
		return -EINVAL;
	REF(vhca_iw_ops.iw_add_ref(iw->qp));
	iw->waits = true;
	rc = OP(vhca_iw_ops.iw_accept(&iw->id, &p));
	if (!rc)
		return 0;
	iw->waits = false;
	assert_int_equal(iw->state, IW_CONN_RECV);	/* BUG_ON */
	iw->state = IW_IDLE;
	iw_lets_qp_go(iw);
	return rc;
}

static void iw_rejects(struct iw *iw, u8 len)
{
	static const u8 data[256] = "rejects";

	if (iw->state != IW_CONN_RECV || iw->waits)
		return;
	iw->state = IW_IDLE;
	OP(vhca_iw_ops.iw_reject(&iw->id, data, len));
}

static int iw_listens(struct iw *iw)
{
	int rc;

	iw->state = IW_LISTENING;
	rc = OP(vhca_iw_ops.iw_create_listen(&iw->id, 16));
	if (rc)
		iw->state = IW_IDLE;
	return rc;
}

static void qp_to(struct vhca_kqp *qp, enum ib_qp_state state)
{
	struct ib_qp_attr attr = { .qp_state = state };
	int mask = IB_QP_STATE;

	if (!OP(vhca_iw_modify(qp, &attr, &mask)))
		vhca_modify_qp(&qp->qp.ibqp, &attr, mask, NULL);
}

/* iw_destroy_cm_id(): it would wait for an event that the consumer waits for. */
static void iw_destroys(struct iw *iw)
{
	struct ib_qp *qp = iw->qp;
	enum iw_state state = iw->state;

	if (iw->waits)
		return;
	assert_true(state != IW_CONN_SENT && state != IW_DESTROYING);	/* BUG() */
	iw->drops = true;
	iw->qp = NULL;
	iw->state = IW_DESTROYING;
	if (state == IW_LISTENING)
		OP(vhca_iw_ops.iw_destroy_listen(&iw->id));
	if (state == IW_ESTABLISHED)
		qp_to(to_kqp(qp), IB_QPS_ERR);
	if (state == IW_CONN_RECV)
		OP(vhca_iw_ops.iw_reject(&iw->id, NULL, 0));
	if (qp)
		REF(vhca_iw_ops.iw_rem_ref(qp));
}

/* ---- begin and end ---- */

static void qp_begins(unsigned int i)
{
	struct vhca_kqp *qp = calloc(1, sizeof(*qp));

	qp->qp.ibqp.device = &iw_dev.ibdev;
	qp->qp.ibqp.qp_num = 100 + i;
	qp->qp.state = IB_QPS_INIT;
	qp->qp.gen = iw_dev.gen;
	vhca_iw_qp_init(&qp->iw);
	iw_kern.qps.at[100 + i] = qp;
	iw_qp[i] = qp;
}

/* As vhca_kern_destroy_qp(), and ib_core after it; another one takes the number. */
static void qp_renewed(unsigned int i)
{
	xa_erase(&iw_kern.qps, 100 + i);
	OP((vhca_iw_qp_end(iw_qp[i]), 0));
	assert_int_equal(iw_qp[i]->iw.refs.n, 0);
	assert_null(iw_qp[i]->iw.conn);
	free(iw_qp[i]);
	qp_begins(i);
}

static const u8 v4_address[16] = { [10] = 0xff, [11] = 0xff, 10, 8, 0, 71 };

static void iw_begins(void)
{
	struct sockaddr_in6 in = { .sin6_family = AF_INET, .sin6_port = htons(4420) };
	unsigned int i;

	memset(&be, 0, sizeof(be));
	memset(&iw_dev, 0, sizeof(iw_dev));
	memset(&iw_kern, 0, sizeof(iw_kern));
	iw_nr = iw_no_memory = pauses = 0;
	iw_later = false;
	be.id = 0;			/* as the first one of the kernel */
	be.route.src_addr = in;
	be.route.dst_addr = in;
	iw_dev.store = &iw_store;
	iw_dev.own_uc = &iw_kern.uc;
	iw_dev.ring.state = VHCA_RING_UP;
	iw_dev.nets.nr = 1;
	memcpy(iw_dev.nets.net[0].addr, v4_address, sizeof(v4_address));
	iw_dev.port.pkey_tbl_len = 4;
	iw_dev.attr.max_qp_rd_atom = 16;
	iw_dev.attr.max_qp_init_rd_atom = 16;
	iw_kern.dev = &iw_dev;
	for (i = 0; i < QPS; i++)
		qp_begins(i);
	assert_int_equal(vhca_iw_begin(&iw_kern), 0);
}

/* The device ends with whatever there is; nothing is left but what the consumers have. */
static void iw_ends(void)
{
	unsigned int i;

	vhca_iw_end(&iw_kern);
	vhca_iw_end(&iw_kern);
	iws_work();
	for (i = 0; i < iw_nr; i++) {
		assert_int_equal(iws[i].refs, 1);
		assert_false(iws[i].waits);
		iw_lets_qp_go(&iws[i]);
	}
	for (i = 0; i < QPS; i++) {
		assert_int_equal(iw_qp[i]->iw.refs.n, 1);
		assert_null(iw_qp[i]->iw.conn);
		free(iw_qp[i]);
	}
}

/* The backend says this of a connection, and the thread takes it. */
static void be_says(u32 cookie, u32 what)
{
	be.event.uid = cookie;
	be.event.event = what;
	iw_kern.iw->f.events = true;
	take_one(iw_kern.iw);
	iw_kern.iw->f.events = false;
}

#endif
