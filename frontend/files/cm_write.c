// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * A command of the connection manager, from the write() of a process to the backend and
 * back, with the checks of ucma.c of Linux, in the same order and with the same errors.
 * The numbers of the process and those of the backend are not trusted. All runs in the
 * process that called.
 */
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <rdma/ib.h>

#include "cm.h"

static u64 u64_at(const u8 *p, u16 at)
{
	u64 v;

	memcpy(&v, p + at, sizeof(v));
	return v;
}

static void put_u32(u8 *p, u16 at, u32 v)
{
	memcpy(p + at, &v, sizeof(v));
}

static void put_u64(u8 *p, u16 at, u64 v)
{
	memcpy(p + at, &v, sizeof(v));
}

static u32 call_id(const struct vhca_cm_call *c)
{
	return c->op->at_id == VHCA_CM_NONE ? 0 : vhca_cm_u32(c->in, c->op->at_id);
}

/* ---- from the process ---- */

/* The value of the option follows the struct in the request. */
static int load_option(struct vhca_cm_call *c)
{
	u16 at = offsetof(struct rdma_ucm_set_option, optval);
	u32 len = vhca_cm_u32(c->in, offsetof(struct rdma_ucm_set_option, optlen));
	void __user *val = u64_to_user_ptr(u64_at(c->in, at));

	if (c->cmd != RDMA_USER_CM_CMD_SET_OPTION)
		return 0;
	put_u64(c->in, at, 0);
	if (len > sizeof(c->in) - c->op->in)
		return -EINVAL;
	c->in_len += len;
	return copy_from_user(c->in + c->op->in, val, len) ? -EFAULT : 0;
}

/* @user: response address of the process */
static int load(struct vhca_cm_call *c, const struct rdma_ucm_cmd_hdr *hdr,
		const char __user *buf, void __user **user)
{
	u16 at = c->op->at_response;

	if (hdr->in < c->op->in_min && c->op->in_min != c->op->in)
		return -EINVAL;
	if (hdr->out < c->op->out_min)
		return -ENOSPC;
	c->in_len = c->op->in;
	c->room = min_t(u16, hdr->out, c->op->out);
	if (copy_from_user(c->in, buf, c->op->in_min != c->op->in ?
			   min_t(u16, hdr->in, c->op->in) : c->op->in))
		return -EFAULT;
	*user = NULL;
	if (at != VHCA_CM_NONE) {
		*user = u64_to_user_ptr(u64_at(c->in, at));
		put_u64(c->in, at, 0);
	}
	return load_option(c);
}

/* ---- commands of an id ---- */

static int create_id(struct vhca_cm *cm, struct vhca_cm_call *c)
{
	struct vhca_cm_id *id;
	struct vhca_cm_end *end;

	id = vhca_cm_id_new(cm, u64_at(c->in, c->op->at_uid), NULL);
	if (!id)
		return -ENOMEM;
	memcpy(&id->create, c->in, sizeof(id->create));
	end = vhca_cm_somewhere(id);
	if (IS_ERR(end)) {
		vhca_cm_id_free(id);
		return PTR_ERR(end);
	}
	put_u32(c->out, 0, id->id);
	c->out_len = sizeof(id->id);
	return 0;
}

/* A group that an id joins has the uid; after an error there is no group. */
static int join(struct vhca_cm_id *id, struct vhca_cm_call *c)
{
	struct vhca_cm_end *end = vhca_cm_somewhere(id), *there = NULL;
	struct vhca_cm_id *group;
	u64 uid = u64_at(c->in, c->op->at_uid);
	int rc = -ENOMEM;

	if (IS_ERR(end))
		return PTR_ERR(end);
	group = vhca_cm_id_new(id->cm, uid, id);
	if (group)
		there = vhca_cm_end_new(group, end->part, 0);
	if (there) {
		put_u64(c->in, c->op->at_uid, uid ? group->id : 0);
		rc = vhca_cm_send_to(end, c);
	}
	if (!rc && c->out_len < sizeof(there->id))
		rc = -EIO;
	if (rc) {
		if (group)
			vhca_cm_id_free(group);
		return rc;
	}
	there->id = vhca_cm_u32(c->out, 0);
	put_u32(c->out, 0, group->id);
	return 0;
}

/* Without parameters the uid stays. */
static int accept_id(struct vhca_cm_id *id, struct vhca_cm_call *c)
{
	struct vhca_cm_end *end = vhca_cm_somewhere(id);
	u64 uid = u64_at(c->in, c->op->at_uid);
	int rc;

	if (IS_ERR(end))
		return PTR_ERR(end);
	put_u64(c->in, c->op->at_uid, uid ? id->id : 0);
	rc = vhca_cm_send_to(end, c);
	if (!rc && c->in[offsetof(struct rdma_ucm_accept, conn_param.valid)])
		id->uid = uid;
	return rc;
}

/*
 * The id ends also if its device is gone, or the backend does not know it. librdmacm
 * waits until the process has handled as many events as the answer says: those that it
 * got, whatever the backend says.
 */
static int end_id(struct vhca_cm_id *id, struct vhca_cm_call *c)
{
	struct vhca_cm_end *end, *next;
	int rc;

	list_for_each_entry_safe(end, next, &id->ends, list) {
		rc = vhca_cm_send_to(end, c);
		if (rc && rc != -EIO && rc != -ENOENT)
			return rc;
		vhca_cm_end_free(end);
	}
	put_u32(c->out, 0, id->events);
	c->out_len = sizeof(id->events);
	vhca_cm_id_free(id);
	return 0;
}

static void show_address(const struct vhca_cm_id *id, struct vhca_cm_call *c,
			 u16 at, u16 len)
{
	if (c->out_len < at + len)
		return;
	memset(c->out + at, 0, len);
	memcpy(c->out + at, &id->family, sizeof(id->family));
	memcpy(c->out + at + 2, &id->port, sizeof(id->port));
}

static bool asks(const struct vhca_cm_call *c, u32 option)
{
	return c->cmd == RDMA_USER_CM_CMD_QUERY &&
	       vhca_cm_u32(c->in, offsetof(struct rdma_ucm_query, option)) ==
	       option;
}

/* An id at the wildcard is at no device, as natively. */
static void show_any(const struct vhca_cm_id *id, struct vhca_cm_call *c)
{
	bool query = c->cmd == RDMA_USER_CM_CMD_QUERY;

	put_u64(c->out, 0, 0);		/* node_guid, of both */
	if (query) {
		c->out[offsetof(struct rdma_ucm_query_addr_resp, port_num)] = 0;
	} else {
		c->out[offsetof(struct rdma_ucm_query_route_resp, port_num)] = 0;
		show_address(id, c, offsetof(struct rdma_ucm_query_route_resp,
					     src_addr),
			     sizeof(struct sockaddr_in6));
	}
	if (asks(c, RDMA_USER_CM_QUERY_ADDR))
		show_address(id, c, offsetof(struct rdma_ucm_query_addr_resp,
					     src_addr),
			     sizeof(struct __kernel_sockaddr_storage));
}

/* libibverbs knows the device by the number that it has in this guest. */
static void show_device(const struct vhca_cm_id *id, u32 index,
			struct vhca_cm_call *c)
{
	u16 at = offsetof(struct rdma_ucm_query_route_resp, ibdev_index);

	if (asks(c, RDMA_USER_CM_QUERY_PATH))
		return;
	if (c->cmd == RDMA_USER_CM_CMD_QUERY)
		at = offsetof(struct rdma_ucm_query_addr_resp, ibdev_index);
	if (id->any) {
		show_any(id, c);
		index = 0;
	}
	if (c->out_len >= at + sizeof(index))
		memcpy(c->out + at, &index, sizeof(index));
}

static int query(struct vhca_cm_id *id, struct vhca_cm_call *c)
{
	struct vhca_cm_end *end = vhca_cm_somewhere(id);
	u32 option = vhca_cm_u32(c->in, offsetof(struct rdma_ucm_query, option));
	int rc;

	if (c->cmd == RDMA_USER_CM_CMD_QUERY &&
	    option != RDMA_USER_CM_QUERY_PATH) {
		/* Longer than the least of a path, and never as long as its most. */
		if (option <= RDMA_USER_CM_QUERY_GID && c->room <
		    offsetof(struct rdma_ucm_query_addr_resp, ibdev_index))
			return -ENOSPC;
		c->room = min_t(u16, c->room,
				sizeof(struct rdma_ucm_query_addr_resp));
	}
	if (IS_ERR(end))
		return PTR_ERR(end);
	rc = vhca_cm_send_to(end, c);
	if (!rc)
		show_device(id, end->part->index, c);
	return rc;
}

static int execute(struct vhca_cm *cm, struct vhca_cm_call *c)
{
	struct vhca_cm_id *id;
	int rc;

	if (c->cmd == RDMA_USER_CM_CMD_CREATE_ID)
		return create_id(cm, c);
	id = vhca_cm_id_get(cm, call_id(c),
			    c->cmd == RDMA_USER_CM_CMD_LEAVE_MCAST, &rc);
	if (!id)
		return rc;
	switch (c->cmd) {
	case RDMA_USER_CM_CMD_DESTROY_ID:
	case RDMA_USER_CM_CMD_LEAVE_MCAST:
		return end_id(id, c);
	case RDMA_USER_CM_CMD_BIND_IP:
	case RDMA_USER_CM_CMD_BIND:
		return vhca_cm_bind(id, c);
	case RDMA_USER_CM_CMD_RESOLVE_IP:
	case RDMA_USER_CM_CMD_RESOLVE_ADDR:
		return vhca_cm_resolve(id, c);
	case RDMA_USER_CM_CMD_LISTEN:
		return vhca_cm_listen(id, c);
	case RDMA_USER_CM_CMD_SET_OPTION:
		return vhca_cm_option(id, c);
	case RDMA_USER_CM_CMD_JOIN_IP_MCAST:
	case RDMA_USER_CM_CMD_JOIN_MCAST:
		return join(id, c);
	case RDMA_USER_CM_CMD_ACCEPT:
		return accept_id(id, c);
	case RDMA_USER_CM_CMD_QUERY_ROUTE:
	case RDMA_USER_CM_CMD_QUERY:
		return query(id, c);
	default:
		return vhca_cm_at_first(id, c);
	}
}

static int store(const struct vhca_cm_call *c, void __user *user)
{
	if (!c->op->out || !c->out_len)
		return 0;
	return copy_to_user(user, c->out, c->out_len) ? -EFAULT : 0;
}

static int one(struct vhca_cm *cm, struct vhca_cm_call *c, void __user *user)
{
	int rc;

	if (mutex_lock_killable(&cm->lock))
		return -EINTR;
	rc = execute(cm, c);
	mutex_unlock(&cm->lock);
	return rc ? rc : store(c, user);
}

/* ---- commands that are more ---- */

#define VHCA_CM_STALES	64		/* events of one call that does not wait */

static int get_event(struct file *filp, struct vhca_cm_call *c,
		     void __user *user)
{
	struct vhca_cm *cm = filp->private_data;
	bool waits = !(filp->f_flags & O_NONBLOCK);
	unsigned int stale = 0;
	int rc;

	for (;;) {
		if (!waits && !vhca_cm_ready(cm))
			return -EAGAIN;
		rc = wait_event_interruptible(cm->wait, vhca_cm_ready(cm));
		if (rc)
			return rc;
		rc = vhca_cm_fetch(cm, c);
		if (!rc)
			return store(c, user);
		if (rc != -EAGAIN && rc != VHCA_CM_STALE)
			return rc;
		/* The backend may announce events and have none, for ever. */
		if (!waits && (rc == -EAGAIN || stale++ == VHCA_CM_STALES))
			return -EAGAIN;
		if (signal_pending(current))
			return -ERESTARTSYS;
	}
}

/* ---- ids that go to another file ---- */

/* Both files, in the order of their addresses. */
static int lock_both(struct vhca_cm *a, struct vhca_cm *b)
{
	if (a > b)
		swap(a, b);
	if (mutex_lock_killable(&a->lock))
		return -EINTR;
	if (a == b ||
	    !mutex_lock_killable_nested(&b->lock, SINGLE_DEPTH_NESTING))
		return 0;
	mutex_unlock(&a->lock);
	return -EINTR;
}

static struct vhca_cm_part *part_at(struct vhca_cm *cm, u32 index)
{
	struct vhca_cm_part *part;

	list_for_each_entry(part, &cm->parts, list)
		if (part->index == index)
			return part;
	return NULL;
}

static int end_move(struct vhca_cm_end *end, struct vhca_cm *to,
		    struct vhca_cm_call *c)
{
	struct vhca_cm_part *from = end->part;
	struct vhca_cm_part *part = part_at(to, from->index);
	int rc;

	if (!part)
		return -EINVAL;
	rc = vhca_file_lock(&from->f);
	if (rc)
		return rc;
	c->from = from->f.handle;
	mutex_unlock(&from->f.lock);
	end->part = part;
	rc = vhca_cm_send_to(end, c);
	if (rc)
		end->part = from;
	return rc;
}

static void groups_move(struct vhca_cm_id *id, struct vhca_cm *to)
{
	struct vhca_cm_end *end, *next;
	struct vhca_cm_part *part;
	struct vhca_cm_id *group;

	list_for_each_entry(group, &id->cm->ids, list) {
		if (group->of != id)
			continue;
		list_for_each_entry_safe(end, next, &group->ends, list) {
			part = part_at(to, end->part->index);
			if (part)
				end->part = part;
			else
				vhca_cm_end_free(end);
		}
	}
}

static int migrate_locked(struct vhca_cm *from, struct vhca_cm *to,
			  struct vhca_cm_call *c)
{
	struct vhca_cm_end *end, *next;
	struct vhca_cm_id *id;
	bool some = false;
	int rc;

	id = vhca_cm_id_get(from, call_id(c), false, &rc);
	if (!id)
		return rc;
	vhca_cm_join(to);
	list_for_each_entry_safe(end, next, &id->ends, list) {
		if (from == to)
			break;
		rc = end_move(end, to, c);
		if (rc && !some)
			return rc;
		some = true;
		if (rc)			/* one of several, all alike */
			vhca_cm_end_drop(id, end);
	}
	if (from != to) {
		groups_move(id, to);
		vhca_cm_id_move(id, to);
	}
	put_u32(c->out, 0, id->events);
	c->out_len = sizeof(id->events);
	return 0;
}

static int migrate(struct vhca_cm *cm, struct vhca_cm_call *c,
		   void __user *user)
{
	u16 at = offsetof(struct rdma_ucm_migrate_id, fd);
	struct fd f = fdget(vhca_cm_u32(c->in, at));
	struct vhca_cm *from;
	int rc = -EINVAL;

	if (!fd_file(f))
		return -ENOENT;
	memset(c->in + at, 0, sizeof(u32));
	if (fd_file(f)->f_op != &vhca_cm_fops)
		goto out;
	from = fd_file(f)->private_data;
	rc = lock_both(from, cm);
	if (rc)
		goto out;
	rc = migrate_locked(from, cm, c);
	mutex_unlock(&cm->lock);
	if (from != cm)
		mutex_unlock(&from->lock);
out:
	fdput(f);
	return rc ? rc : store(c, user);
}

/* ---- the system call ---- */

static int run(struct file *filp, const struct rdma_ucm_cmd_hdr *hdr,
	       const char __user *buf)
{
	struct vhca_cm *cm = filp->private_data;
	struct vhca_cm_call *c;
	void __user *user;
	int rc;

	c = kzalloc(sizeof(*c), GFP_KERNEL);
	if (!c)
		return -ENOMEM;
	c->cmd = hdr->cmd;
	c->op = vhca_cm_op(hdr->cmd, &rc);
	if (!rc)
		rc = load(c, hdr, buf, &user);
	if (rc)
		goto out;
	if (c->cmd == RDMA_USER_CM_CMD_GET_EVENT)
		rc = get_event(filp, c, user);
	else if (c->cmd == RDMA_USER_CM_CMD_MIGRATE_ID)
		rc = migrate(cm, c, user);
	else
		rc = one(cm, c, user);
out:
	kfree(c);
	return rc;
}

ssize_t vhca_cm_write(struct file *filp, const char __user *buf, size_t len,
		      loff_t *pos)
{
	struct rdma_ucm_cmd_hdr hdr;
	int rc;

	/* As everywhere in RDMA: the answer goes where the command says. */
	if (!ib_safe_file_access(filp))
		return -EACCES;
	if (len < sizeof(hdr))
		return -EINVAL;
	if (copy_from_user(&hdr, buf, sizeof(hdr)))
		return -EFAULT;
	if (hdr.in > len - sizeof(hdr))
		return -EINVAL;
	rc = run(filp, &hdr, buf + sizeof(hdr));
	return rc ? rc : len;
}
