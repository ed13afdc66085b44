// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The connection manager of the guest's programs is that of this domain's kernel: an
 * open rdma_cm file of a guest's process is one here, and each command is repeated
 * on it. A request comes from a hostile guest: its lengths are checked here, as well
 * as the file and id that it names; the kernel checks the rest, as it does for any
 * process of this domain. What command may wait for whom is in cm.h.
 */
#include <errno.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/rdma_user_cm.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "clock.h"
#include "cm.h"
#include "core/ib_core.h"
#include "object.h"
#include "tables.h"
#include "vhca-keys.h"

/* ---- the file ---- */

static int cm_end(struct be_dev *dev, struct be_obj *obj)
{
	struct be_cm *cm = (struct be_cm *)obj;

	if (!be_file_close(&cm->f))
		return 0;
	pthread_mutex_lock(&dev->cm_lock);
	be_cm_id_del(dev, cm, NULL);
	pthread_mutex_unlock(&dev->cm_lock);
	return 0;
}

const struct be_kind be_kind_cm = { .end = cm_end, .release = be_file_release };

int be_alloc_cm(const struct be_cmd *c)
{
	static const struct be_ready ready = { .type = XENVHCA_EVT_CM };

	if (!(c->dev->info.flags & XENVHCA_INFO_CM))
		return -EOPNOTSUPP;
	return be_file_alloc(c, BE_CM, sizeof(struct be_cm), UV_CM_PATH, &ready);
}

/* 0; -ENOENT; BE_LATER, it is not to be used now. */
static int find_free(const struct be_cmd *c, struct be_cm **cm)
{
	*cm = be_file_of(c, BE_CM);
	if (!*cm || (*cm)->closing)
		return -ENOENT;
	return (*cm)->held ? BE_LATER : 0;
}

/* A command on its way, behind those before it of the file. */
struct cm_job {
	struct be_job job;
	struct be_cm *cm, *from;
	struct xenvhca_request req;
	struct xenvhca_response rsp;
};

static struct cm_job *job_new(struct be_cm *cm, const struct xenvhca_request *req)
{
	struct cm_job *j = calloc(1, sizeof(*j));

	if (j) {
		j->job.line = &cm->line;
		j->cm = cm;
		j->req = *req;
	}
	return j;
}

static int cm_close(struct be_dev *dev, struct be_job *job)
{
	return cm_end(dev, &((struct cm_job *)job)->cm->f.o);
}

static int cm_closed(const struct be_cmd *c, struct be_job *job)
{
	struct be_cm *cm = ((struct cm_job *)job)->cm;

	free(job);
	return be_obj_destroy(c->dev, &cm->f.o);
}

int be_dealloc_cm(const struct be_cmd *c)
{
	struct cm_job *j;
	struct be_cm *cm;
	int err = find_free(c, &cm);

	if (err)
		return err;
	j = job_new(cm, c->req);
	if (!j)
		return -ENOMEM;
	j->job.run = cm_close;
	j->job.end = cm_closed;
	cm->closing = true;
	return be_job_do(c, &j->job, true);
}

/* ---- a command ---- */

/* The option's octets follow its struct, which says how many they are. */
static int option_check(const struct be_cm_call *c)
{
	uint32_t len = 0;

	if (c->uv.cmd == RDMA_USER_CM_CMD_SET_OPTION)
		len = vhca_cm_u32(c->uv.in, offsetof(struct rdma_ucm_set_option,
						optlen));
	if (len != (uint32_t)c->uv.in_len - c->uv.op->in)
		return -EINVAL;
	return 0;
}

/* Takes the request over, with what is in udata. */
static int call_load(struct be_cm_call *c, const struct xenvhca_request *req)
{
	const struct xenvhca_cm_command_req *r = &req->u.cm_command;
	uint16_t more = vhca_slot_more(r->in_len, sizeof(r->in));
	struct uv_cm *uv = &c->uv;
	int err;

	uv->cmd = r->cmd;
	uv->op = vhca_cm_op(r->cmd, &err);
	if (!uv->op)
		return err;
	uv->in_len = r->in_len;
	uv->out_len = r->out_len;
	if (more > XENVHCA_UDATA_SIZE || r->in_len < uv->op->in ||
	    req->in_len != more || r->out_len < uv->op->out_min ||
	    r->out_len > uv->op->out ||
	    req->out_len != vhca_slot_more(r->out_len, XENVHCA_CM_OUT) ||
	    !be_zero(r->in, r->in_len, sizeof(r->in)) ||
	    (r->from && !c->from))
		return -EINVAL;
	vhca_slot_take(uv->in, r->in_len, r->in, sizeof(r->in), req->udata);
	if (uv->op->at_response != VHCA_CM_NONE &&
	    !be_zero(uv->in, uv->op->at_response,
		     uv->op->at_response + sizeof(uint64_t)))
		return -EINVAL;
	return option_check(c);
}

static int call_id(struct be_cm_call *c)
{
	bool group = c->uv.cmd == RDMA_USER_CM_CMD_LEAVE_MCAST;
	uint32_t id;
	int err;

	if (c->uv.op->at_id == VHCA_CM_NONE)
		return 0;
	id = vhca_cm_u32(c->uv.in, c->uv.op->at_id);
	c->id = be_cm_id_get(c, c->from ? c->from : c->cm, id, group, &err);
	if (!c->id)
		return err;
	if (c->id->foreign && c->uv.cmd != RDMA_USER_CM_CMD_DESTROY_ID)
		return -ENODEV;
	return 0;
}

static void migrate_prepare(struct be_cm_call *c)
{
	uint32_t fd = (uint32_t)c->from->f.ready.fd;

	memcpy(c->uv.in + offsetof(struct rdma_ucm_migrate_id, fd), &fd,
	       sizeof(fd));
}

static void listen_prepare(struct be_cm_call *c)
{
	struct rdma_ucm_listen listen;

	memcpy(&listen, c->uv.in, sizeof(listen));
	listen.backlog = be_cm_id_backlog(c->dev, c->id, listen.backlog);
	memcpy(c->uv.in, &listen, sizeof(listen));
}

static int room_check(const struct be_cm_call *c, bool group)
{
	if (!be_cm_id_check(c->dev, group))
		return 0;
	if (!be_cm_id_check(c->dev, false))
		be_log_peer(c->dev, "no more than %u groups of the connection manager (max-mcast)",
			    c->dev->quota.max[BE_MCAST]);
	else
		be_log_peer(c->dev, "no more than %u ids of the connection manager (%s)",
			    c->dev->quota.max_cm_ids, XENVHCA_NODE_MAX_CM_ID);
	return -EDQUOT;
}

/*
 * On InfiniBand the subnet manager is asked, which answers all. A program does not
 * expect to be refused, so it waits here, a few milliseconds.
 */
static void sm_wait(struct be_dev *dev, uint32_t asks)
{
	struct vl_bucket *rate = &dev->quota.cm;
	struct timespec nap = {};
	uint64_t wait;

	if (dev->ethernet)
		return;
	while ((wait = vl_bucket_take(rate, vl_now_ns()))) {
		nap.tv_nsec = (long)(wait % VL_SEC_NS);
		nap.tv_sec = (time_t)(wait / VL_SEC_NS);
		pthread_mutex_unlock(&dev->cm_lock);
		nanosleep(&nap, NULL);
		pthread_mutex_lock(&dev->cm_lock);
	}
	vl_bucket_charge(rate, vl_now_ns(), asks - 1);
}

/* The address that a join names. */
static void group_of(const struct be_cm_call *c, struct sockaddr_storage *group)
{
	struct rdma_ucm_join_ip_mcast ip;
	struct rdma_ucm_join_mcast any;

	memset(group, 0, sizeof(*group));
	if (c->uv.cmd == RDMA_USER_CM_CMD_JOIN_IP_MCAST) {
		memcpy(&ip, c->uv.in, sizeof(ip));
		memcpy(group, &ip.addr, sizeof(ip.addr));
	} else {
		memcpy(&any, c->uv.in, sizeof(any));
		memcpy(group, &any.addr, sizeof(any.addr));
	}
}

/*
 * The kernel leaves a group by its address. If an id had joined one twice, it would end the
 * membership of the second join and free that of the first (rdma_leave_multicast(),
 * ucma_leave_multicast()).
 */
static int join_check(const struct be_cm_call *c)
{
	struct sockaddr_storage group;

	group_of(c, &group);
	return be_cm_id_joined(c->dev, c->id, &group) ? -EINVAL : room_check(c, true);
}

/*
 * The kernel takes the Q_Key of such an id from the broadcast group of an IPoIB interface. It does
 * not ask whether the port has any: of an Ethernet port it uses a table that nobody made
 * (cma_set_default_qkey(), mcast_add_one()).
 */
static int create_check(const struct be_cm_call *c)
{
	struct rdma_ucm_create_id create;

	memcpy(&create, c->uv.in, sizeof(create));
	if (c->dev->ethernet && create.ps == RDMA_PS_IPOIB)
		return -EINVAL;
	return room_check(c, false);
}

/*
 * While the interface joins its broadcast group, that has a Q_Key of 0, and an id with this one
 * gets no event of a join but a warning in the kernel's log (cma_ib_mc_handler()). The error is
 * the kernel's without the group. An id keeps its Q_Key until the next INIT_QP_ATTR.
 */
static int join_key(const struct be_cm_call *c)
{
	struct rdma_ucm_init_qp_attr init = { .id = c->id->id };
	struct ib_uverbs_qp_attr attr;
	struct uv_cm uv;
	int err;

	if (c->dev->ethernet)
		return 0;
	err = be_cm_own(c->dev, c->cm, &uv, RDMA_USER_CM_CMD_INIT_QP_ATTR, &init, sizeof(init),
			sizeof(attr));
	if (err)
		return err;
	memcpy(&attr, uv.out, sizeof(attr));
	return attr.qp_attr_mask & IB_QP_QKEY && !attr.qkey ? -EADDRNOTAVAIL : 0;
}

static int join_prepare(const struct be_cm_call *c)
{
	int err = join_check(c);

	if (err)
		return err;
	sm_wait(c->dev, 2);	/* and is told of the end */
	return join_key(c);
}

static int call_prepare(struct be_cm_call *c)
{
	int err = be_cm_addr_check(c);

	if (err)
		return err;
	switch (c->uv.cmd) {
	case RDMA_USER_CM_CMD_CREATE_ID:
		return create_check(c);
	case RDMA_USER_CM_CMD_JOIN_IP_MCAST:
	case RDMA_USER_CM_CMD_JOIN_MCAST:
		return join_prepare(c);
	case RDMA_USER_CM_CMD_RESOLVE_ROUTE:
		sm_wait(c->dev, 1);
		break;
	case RDMA_USER_CM_CMD_LISTEN:
		listen_prepare(c);
		break;
	case RDMA_USER_CM_CMD_MIGRATE_ID:
		migrate_prepare(c);
		break;
	}
	return err;
}

/* ---- its answer ---- */

static bool is_ud(const struct rdma_ucm_create_id *create)
{
	return create->ps == RDMA_PS_UDP || create->ps == RDMA_PS_IPOIB ||
	       (create->ps == RDMA_PS_IB && create->qp_type == IB_UVERBS_QPT_UD);
}

/* What the kernel made and cannot be charged is ended again. */
static int made(struct be_cm_call *c)
{
	struct rdma_ucm_destroy_id destroy = { .id = vhca_cm_u32(c->uv.out, 0) };
	bool group = c->uv.cmd != RDMA_USER_CM_CMD_CREATE_ID;
	struct rdma_ucm_create_id create;
	struct be_cm_id *new;
	struct uv_cm uv;

	new = be_cm_id_add(c->dev, c->cm, destroy.id, group ? c->id : NULL);
	if (new) {
		memcpy(&create, c->uv.in, sizeof(create));
		new->ud = !group && is_ud(&create);
		new->uid = group ? 0 : create.uid;
		if (group)
			group_of(c, &new->group);
		return 0;
	}
	be_cm_own(c->dev, c->cm, &uv, group ? RDMA_USER_CM_CMD_LEAVE_MCAST :
		  RDMA_USER_CM_CMD_DESTROY_ID, &destroy, sizeof(destroy),
		  sizeof(struct rdma_ucm_destroy_id_resp));
	return -ENOMEM;
}

/* Whoever ends an id waits until it has dealt with as many events. */
static void answer_events(struct be_cm_call *c)
{
	uint32_t n = vhca_cm_u32(c->uv.out, 0) - c->id->unseen;

	memcpy(c->uv.out, &n, sizeof(n));
}

/* Device and port as the guest knows them. */
static void answer_device(struct be_cm_call *c, size_t at_port, size_t at_index)
{
	if (c->uv.out[at_port])
		c->uv.out[at_port] = XENVHCA_CM_PORT;
	memset(c->uv.out + at_index, 0, sizeof(uint32_t));
}

static void answer_query(struct be_cm_call *c)
{
	uint32_t n = vhca_cm_u32(c->uv.out, 0), room = c->uv.out_len;
	size_t len = sizeof(struct rdma_ucm_query_path_resp);

	if (vhca_cm_u32(c->uv.in, offsetof(struct rdma_ucm_query, option)) !=
	    RDMA_USER_CM_QUERY_PATH) {
		answer_device(c, offsetof(struct rdma_ucm_query_addr_resp,
					  port_num),
			      offsetof(struct rdma_ucm_query_addr_resp,
				       ibdev_index));
		len = sizeof(struct rdma_ucm_query_addr_resp);
	} else if (room > len) {
		room = (room - len) / sizeof(struct ib_path_rec_data);
		len += (n < room ? n : room) * sizeof(struct ib_path_rec_data);
	}
	if (len < c->uv.out_len)
		c->uv.out_len = (uint16_t)len;
}

/*
 * The kernel found the P_Key of the path at an index of the port's. Of a partition that
 * the guest is no member of, it gets what the kernel says when the port is none.
 */
static int answer_pkeys(const struct be_dev *dev, struct ib_uverbs_qp_attr *attr)
{
	int err = 0;

	if (attr->qp_attr_mask & IB_QP_PKEY_INDEX)
		err = be_pkey_find(dev, attr->pkey_index, &attr->pkey_index);
	if (!err && attr->qp_attr_mask & IB_QP_ALT_PATH)
		err = be_pkey_find(dev, attr->alt_pkey_index,
				   &attr->alt_pkey_index);
	return err;
}

static int answer_qp(struct be_cm_call *c)
{
	struct ib_uverbs_qp_attr attr;
	uint8_t *port[] = {
		&attr.port_num, &attr.alt_port_num, &attr.ah_attr.port_num,
		&attr.alt_ah_attr.port_num,
	};
	size_t i;
	int err;

	memcpy(&attr, c->uv.out, sizeof(attr));
	for (i = 0; i < sizeof(port) / sizeof(port[0]); i++)
		if (*port[i])
			*port[i] = XENVHCA_CM_PORT;
	err = answer_pkeys(c->dev, &attr);
	memcpy(c->uv.out, &attr, sizeof(attr));
	return err;
}

/* After the command: what it told of was bound before. */
static int judge(const struct be_cm_call *c)
{
	int r = be_cm_judge(c, c->id);

	return r < 0 ? r : 0;
}

static int call_finish(struct be_cm_call *c)
{
	switch (c->uv.cmd) {
	case RDMA_USER_CM_CMD_CREATE_ID:
	case RDMA_USER_CM_CMD_JOIN_IP_MCAST:
	case RDMA_USER_CM_CMD_JOIN_MCAST:
		return made(c);
	case RDMA_USER_CM_CMD_DESTROY_ID:
	case RDMA_USER_CM_CMD_LEAVE_MCAST:
		answer_events(c);
		be_cm_id_del(c->dev, c->cm, c->id);
		break;
	case RDMA_USER_CM_CMD_MIGRATE_ID:
		answer_events(c);
		be_cm_id_move(c->dev, c->id, c->cm);
		break;
	case RDMA_USER_CM_CMD_BIND_IP:
	case RDMA_USER_CM_CMD_BIND:
		return judge(c);
	case RDMA_USER_CM_CMD_QUERY_ROUTE:
		answer_device(c, offsetof(struct rdma_ucm_query_route_resp,
					  port_num),
			      offsetof(struct rdma_ucm_query_route_resp,
				       ibdev_index));
		return judge(c);
	case RDMA_USER_CM_CMD_QUERY:
		answer_query(c);
		return judge(c);
	case RDMA_USER_CM_CMD_INIT_QP_ATTR:
		return answer_qp(c);
	}
	return 0;
}

static void call_store(struct be_cm_call *c, struct xenvhca_response *rsp)
{
	struct xenvhca_cm_command_rsp *r = &rsp->u.cm_command;

	r->out_len = c->uv.out_len;
	rsp->out_len = vhca_slot_put(r->out, sizeof(r->out), rsp->udata,
				     c->uv.out, c->uv.out_len);
	r->events = be_ready_answer(&c->cm->f.ready, &r->seq);
}

/* With the lock. */
static int call_execute(struct be_cm_call *c, const struct xenvhca_request *req)
{
	int err = call_load(c, req);

	if (!err)
		err = call_id(c);
	if (!err)
		err = call_prepare(c);
	if (err)
		return err;
	if (c->uv.cmd == RDMA_USER_CM_CMD_GET_EVENT)
		return be_cm_event(c);
	err = be_cm_kernel(c->dev, c->cm, &c->uv);
	return err ? err : call_finish(c);
}

static int cm_execute(struct be_dev *dev, struct be_job *job)
{
	struct cm_job *j = (struct cm_job *)job;
	struct be_cm_call c = { .dev = dev, .cm = j->cm, .from = j->from };
	int err;

	pthread_mutex_lock(&dev->cm_lock);
	err = call_execute(&c, &j->req);
	pthread_mutex_unlock(&dev->cm_lock);
	if (!err)
		call_store(&c, &j->rsp);
	return err;
}

static int cm_executed(const struct be_cmd *c, struct be_job *job)
{
	struct cm_job *j = (struct cm_job *)job;
	int err = job->err;

	j->cm->jobs--;
	c->dev->cm_jobs--;
	if (j->from)
		j->from->held = false;
	if (!err)
		*c->rsp = j->rsp;
	free(j);
	return err;
}

/* The file that an id comes from is nobody else's until the id has gone. */
static int hold_from(const struct be_cmd *c, const struct be_cm *cm,
		     struct be_cm **from)
{
	const struct xenvhca_cm_command_req *r = &c->req->u.cm_command;

	*from = NULL;
	if (r->cmd != RDMA_USER_CM_CMD_MIGRATE_ID)
		return 0;
	*from = (struct be_cm *)be_handle_get(c->dev->handles, r->from, BE_CM,
					      c->dev->ctl);
	if (!*from || (*from)->closing)
		return -ENOENT;
	if (*from == cm)
		return 0;
	if ((*from)->jobs || (*from)->held)
		return BE_LATER;
	(*from)->held = true;
	return 0;
}

int be_cm_command(const struct be_cmd *c)
{
	struct be_cm *cm;
	struct cm_job *j;
	int err = find_free(c, &cm);

	if (err)
		return err;
	if (c->dev->cm_jobs >= XENVHCA_CM_SLOTS)
		return -EBUSY;
	j = job_new(cm, c->req);
	if (!j)
		return -ENOMEM;
	err = hold_from(c, cm, &j->from);
	if (err) {
		free(j);
		return err;
	}
	j->job.run = cm_execute;
	j->job.end = cm_executed;
	cm->jobs++;
	c->dev->cm_jobs++;
	return be_job_do(c, &j->job, true);
}
