// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * A command of the connection manager, from the write() of a process to the backend
 * and back. It looks to the process as ucma.c of Linux does: the same checks in the
 * same order, the same errors. The numbers of the process and those of the backend
 * are not trusted. All runs in the process that called.
 */
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <rdma/ib.h>

#include "cm.h"
#include "cmd.h"
#include "verbs.h"

static u32 u32_at(const u8 *p, u16 at)
{
	u32 v;

	memcpy(&v, p + at, sizeof(v));
	return v;
}

static u64 u64_at(const u8 *p, u16 at)
{
	u64 v;

	memcpy(&v, p + at, sizeof(v));
	return v;
}

static void put_u64(u8 *p, u16 at, u64 v)
{
	memcpy(p + at, &v, sizeof(v));
}

static u32 call_id(const struct vhca_cm_call *c)
{
	return c->op->at_id == VHCA_CM_NONE ? 0 : u32_at(c->in, c->op->at_id);
}

/* ---- from the process ---- */

/* What the option is set to follows the struct in its place of the request. */
static int load_option(struct vhca_cm_call *c)
{
	u16 at = offsetof(struct rdma_ucm_set_option, optval);
	u32 len = u32_at(c->in, offsetof(struct rdma_ucm_set_option, optlen));
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
	c->out_len = min_t(u16, hdr->out, c->op->out);
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

/* ---- the backend, one command ---- */

/* Under cm->f.lock. */
static int vhca_cm_command(struct vhca_cm *cm, struct vhca_cm_call *c)
{
	int rc;

	vhca_file_ask(&cm->f);
	rc = vhca_cmd_cm_command(cm->f.dev, cm->f.handle, c);
	if (!rc)
		vhca_file_told(&cm->f, c->seq, c->events);
	return rc;
}

/* A command by which the process gives an id, or a group, its uid. */
static int command_uid(struct vhca_cm *cm, struct vhca_cm_call *c)
{
	bool accept = c->cmd == RDMA_USER_CM_CMD_ACCEPT;
	bool group = c->cmd == RDMA_USER_CM_CMD_JOIN_IP_MCAST ||
		     c->cmd == RDMA_USER_CM_CMD_JOIN_MCAST;
	u32 id = call_id(c), cookie;
	int rc;

	rc = vhca_cm_uid_new(cm, u64_at(c->in, c->op->at_uid), &cookie);
	if (rc)
		return rc;
	put_u64(c->in, c->op->at_uid, cookie);
	rc = vhca_cm_command(cm, c);
	/* An accept without parameters leaves the uid as it is. */
	if (rc || (accept && !c->in[offsetof(struct rdma_ucm_accept,
					      conn_param.valid)]))
		vhca_cm_uid_drop(cm, cookie);
	else
		vhca_cm_uid_of(cm, cookie, accept ? id : u32_at(c->out, 0),
			       group, id);
	return rc;
}

static int command_end(struct vhca_cm *cm, struct vhca_cm_call *c)
{
	int rc = vhca_cm_command(cm, c);

	if (!rc)
		vhca_cm_uid_end(cm, call_id(c),
				c->cmd == RDMA_USER_CM_CMD_LEAVE_MCAST);
	return rc;
}

/* libibverbs knows the device by the number that it has in this guest. */
static void show_device(struct vhca_cm *cm, struct vhca_cm_call *c)
{
	u16 at = offsetof(struct rdma_ucm_query_route_resp, ibdev_index);
	u32 index = cm->f.dev->ibdev.index;

	if (c->cmd == RDMA_USER_CM_CMD_QUERY) {
		at = offsetof(struct rdma_ucm_query_addr_resp, ibdev_index);
		if (u32_at(c->in, offsetof(struct rdma_ucm_query, option)) ==
		    RDMA_USER_CM_QUERY_PATH)
			return;
	}
	if (c->out_len >= at + sizeof(index))
		memcpy(c->out + at, &index, sizeof(index));
}

static int command_query(struct vhca_cm *cm, struct vhca_cm_call *c)
{
	u32 option = u32_at(c->in, offsetof(struct rdma_ucm_query, option));
	int rc;

	if (c->cmd == RDMA_USER_CM_CMD_QUERY &&
	    option != RDMA_USER_CM_QUERY_PATH) {
		/* Longer than a path's least, and never as long as its most. */
		if (option <= RDMA_USER_CM_QUERY_GID && c->out_len <
		    offsetof(struct rdma_ucm_query_addr_resp, ibdev_index))
			return -ENOSPC;
		c->out_len = min_t(u16, c->out_len,
				   sizeof(struct rdma_ucm_query_addr_resp));
	}
	rc = vhca_cm_command(cm, c);
	if (!rc)
		show_device(cm, c);
	return rc;
}

static int execute(struct vhca_cm *cm, struct vhca_cm_call *c)
{
	switch (c->cmd) {
	case RDMA_USER_CM_CMD_CREATE_ID:
	case RDMA_USER_CM_CMD_ACCEPT:
	case RDMA_USER_CM_CMD_JOIN_IP_MCAST:
	case RDMA_USER_CM_CMD_JOIN_MCAST:
		return command_uid(cm, c);
	case RDMA_USER_CM_CMD_DESTROY_ID:
	case RDMA_USER_CM_CMD_LEAVE_MCAST:
		return command_end(cm, c);
	case RDMA_USER_CM_CMD_QUERY_ROUTE:
	case RDMA_USER_CM_CMD_QUERY:
		return command_query(cm, c);
	default:
		return vhca_cm_command(cm, c);
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
	int rc = vhca_file_lock(&cm->f);

	if (rc)
		return rc;
	rc = execute(cm, c);
	vhca_file_unlock(&cm->f);
	return rc ? rc : store(c, user);
}

/* ---- commands that are more ---- */

#define VHCA_CM_STALE	1
#define VHCA_CM_STALES	64		/* events of one call that does not wait */

static bool has_events(struct vhca_cm *cm)
{
	return READ_ONCE(cm->f.events) || READ_ONCE(cm->f.gone);
}

/*
 * Fetches one event: 0; -EAGAIN: there is none; VHCA_CM_STALE: it is of an id that the
 * process does not have any more. Whoever ends an id holds the same lock.
 */
static int fetch(struct vhca_cm *cm, struct vhca_cm_call *c)
{
	u16 at = offsetof(struct rdma_ucm_event_resp, uid);
	u64 uid;
	int rc = vhca_file_lock(&cm->f);

	if (rc)
		return rc;
	rc = vhca_cm_command(cm, c);
	if (!rc && (c->out_len < c->op->out_min ||
		    !vhca_cm_uid_get(cm, u64_at(c->out, at), &uid)))
		rc = VHCA_CM_STALE;
	if (!rc)
		put_u64(c->out, at, uid);
	vhca_file_unlock(&cm->f);
	return rc;
}

static int get_event(struct file *filp, struct vhca_cm_call *c,
		     void __user *user)
{
	struct vhca_cm *cm = filp->private_data;
	bool waits = !(filp->f_flags & O_NONBLOCK);
	unsigned int stale = 0;
	u16 room = c->out_len;
	int rc;

	for (;;) {
		if (!waits && !has_events(cm))
			return -EAGAIN;
		rc = wait_event_interruptible(cm->f.wait, has_events(cm));
		if (rc)
			return rc;
		c->out_len = room;
		rc = fetch(cm, c);
		if (!rc)
			return store(c, user);
		if (rc != -EAGAIN && rc != VHCA_CM_STALE)
			return rc;
		/* The backend may say that there are events and have none, for ever. */
		if (!waits && (rc == -EAGAIN || stale++ == VHCA_CM_STALES))
			return -EAGAIN;
		if (signal_pending(current))
			return -ERESTARTSYS;
	}
}

/* Both files, in the order of their addresses. */
static int lock_both(struct vhca_cm *a, struct vhca_cm *b)
{
	int rc;

	if (a > b)
		swap(a, b);
	rc = vhca_file_lock(&a->f);
	if (rc || a == b)
		return rc;
	rc = -EINTR;
	if (mutex_lock_killable_nested(&b->f.lock, SINGLE_DEPTH_NESTING))
		goto unlock_a;
	rc = vhca_file_ready(&b->f);
	if (!rc)
		return 0;
	vhca_file_unlock(&b->f);
unlock_a:
	vhca_file_unlock(&a->f);
	return rc;
}

static int migrate_locked(struct vhca_cm *from, struct vhca_cm *to,
			  struct vhca_cm_call *c)
{
	u32 id = call_id(c);
	int rc;

	if (from->f.dev != to->f.dev)
		return -EINVAL;
	c->from = from->f.handle;
	rc = vhca_cm_uid_move(from, to, id);
	if (!rc)
		rc = vhca_cm_command(to, c);
	/* Room was there a moment ago. */
	if (rc && vhca_cm_uid_move(to, from, id))
		vhca_cm_uid_end(to, id, false);
	return rc;
}

static int migrate(struct vhca_cm *cm, struct vhca_cm_call *c,
		   void __user *user)
{
	u16 at = offsetof(struct rdma_ucm_migrate_id, fd);
	struct fd f = fdget(u32_at(c->in, at));
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
	vhca_file_unlock(&cm->f);
	if (from != cm)
		vhca_file_unlock(&from->f);
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
