// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * System calls on the guest's files for management datagrams, as of user_mad.c of Linux
 * (Documentation/infiniband/user_mad.rst): the same lengths and errors, but a process
 * sends one datagram at a time and no parts of a longer message. Agents, transactions,
 * time-outs and long answers are those of the backend's domain. Arguments of the
 * process and answers of the backend are not trusted.
 */
#include <linux/delay.h>
#include <linux/fs.h>
#include <linux/poll.h>
#include <linux/sched/signal.h>
#include <linux/uaccess.h>

#include "umad.h"
#include "verbs/verbs.h"

#define HEAD		sizeof(struct ib_user_mad_hdr)
#define RMPP_HEAD	36u	/* least of a datagram that a process sends */
/* The backend limits the rate: a process that is faster waits. */
#define AGAIN_MS	20u
#define AGAIN_MOST	100u

/* Octets of the header that the process knows: without a P_Key index, or with. */
static size_t head(const struct vhca_umad *umad)
{
	return READ_ONCE(umad->pkey_index) ? HEAD :
	       sizeof(struct ib_user_mad_hdr_old);
}

/* ---- agents ---- */

/* Calls of two threads take effect in either order. */
static int enable_pkey(struct vhca_umad *umad)
{
	if (READ_ONCE(umad->used))
		return -EINVAL;
	WRITE_ONCE(umad->pkey_index, true);
	return 0;
}

/* @arg: the process' struct, which begins with the number. @known: the new header. */
static int agent_new(struct vhca_umad *umad, u32 __user *arg,
		     const struct ib_user_mad_reg_req2 *r, bool known)
{
	u32 id;
	int rc = vhca_cmd_register_umad(umad, r, &id);

	if (rc)
		return rc;
	if (put_user(id, arg)) {
		/* If the device is gone, so is the agent. */
		vhca_cmd_unregister_umad(umad, id);
		return -EFAULT;
	}
	if (known)			/* fails if there was an agent before */
		enable_pkey(umad);
	WRITE_ONCE(umad->used, true);
	return 0;
}

static int reg_agent(struct vhca_umad *umad, void __user *arg)
{
	struct ib_user_mad_reg_req2 r2 = {};
	struct ib_user_mad_reg_req r;

	if (copy_from_user(&r, arg, sizeof(r)))
		return -EFAULT;
	if (r.qpn > 1)
		return -EINVAL;
	r2.qpn = r.qpn;
	r2.mgmt_class = r.mgmt_class;
	r2.mgmt_class_version = r.mgmt_class_version;
	r2.rmpp_version = r.rmpp_version;
	r2.oui = r.oui[0] << 16 | r.oui[1] << 8 | r.oui[2];
	memcpy(r2.method_mask, r.method_mask, sizeof(r2.method_mask));
	return agent_new(umad, arg, &r2, false);
}

static int reg_agent2(struct vhca_umad *umad, void __user *arg)
{
	struct ib_user_mad_reg_req2 __user *user = arg;
	struct ib_user_mad_reg_req2 r;

	if (copy_from_user(&r, arg, sizeof(r)))
		return -EFAULT;
	if (r.qpn > 1)
		return -EINVAL;
	if (r.flags)			/* no flag is known */
		return put_user(0, &user->flags) ? -EFAULT : -EINVAL;
	if (r.mgmt_class && r.oui >> 24)
		return -EINVAL;
	return agent_new(umad, arg, &r, true);
}

static int unreg_agent(struct vhca_umad *umad, u32 __user *arg)
{
	u32 id;

	return get_user(id, arg) ? -EFAULT : vhca_cmd_unregister_umad(umad, id);
}

long vhca_umad_ioctl(struct file *filp, unsigned int cmd, unsigned long arg)
{
	struct vhca_umad *umad = filp->private_data;
	void __user *user = (void __user *)arg;

	switch (cmd) {
	case IB_USER_MAD_REGISTER_AGENT:
		return reg_agent(umad, user);
	case IB_USER_MAD_REGISTER_AGENT2:
		return reg_agent2(umad, user);
	case IB_USER_MAD_UNREGISTER_AGENT:
		return unreg_agent(umad, user);
	case IB_USER_MAD_ENABLE_PKEY:
		return enable_pkey(umad);
	default:
		return -ENOIOCTLCMD;
	}
}

/* ---- write() ---- */

/* The packet as the backend wants it; its length, or -errno. */
static int load(const struct vhca_umad *umad, const char __user *buf,
		size_t count, u8 packet[XENVHCA_UMAD_SEND_MAX])
{
	struct ib_user_mad_hdr hdr = {};
	size_t len = head(umad);

	if (count < len + RMPP_HEAD)
		return -EINVAL;
	if (count > len + VHCA_MAD_SIZE)
		return -EMSGSIZE;
	if (copy_from_user(&hdr, buf, len) ||
	    copy_from_user(packet + HEAD, buf + len, count - len))
		return -EFAULT;
	if (hdr.id >= XENVHCA_UMAD_AGENTS)
		return -EINVAL;
	hdr.status = 0;
	hdr.length = 0;
	memset(hdr.reserved, 0, sizeof(hdr.reserved));
	memcpy(packet, &hdr, HEAD);
	return HEAD + count - len;
}

/* Natively there is no limit of the rate, so this waits also with O_NONBLOCK. */
ssize_t vhca_umad_write(struct file *filp, const char __user *buf, size_t count,
			loff_t *pos)
{
	struct vhca_umad *umad = filp->private_data;
	u8 packet[XENVHCA_UMAD_SEND_MAX];
	unsigned int again = AGAIN_MOST;
	int rc, len = load(umad, buf, count, packet);

	if (len < 0)
		return len;
	for (;;) {
		rc = vhca_cmd_send_umad(umad, packet, len);
		if (rc != -EAGAIN || !again--)
			return rc ? rc : count;
		schedule_timeout_killable(msecs_to_jiffies(AGAIN_MS));
		if (fatal_signal_pending(current))
			return -EINTR;
	}
}

/* ---- read() ---- */

static bool readable(const struct vhca_umad *umad)
{
	return READ_ONCE(umad->full) || READ_ONCE(umad->f.events) ||
	       READ_ONCE(umad->f.gone);
}

/* As natively, no signal interrupts the read() of a packet, except a fatal one. */
static int fetch(struct vhca_umad *umad)
{
	int rc = 0;

	while (!rc) {
		rc = vhca_cmd_recv_umad(umad);
		if (rc || umad->at == umad->len)
			break;
		if (fatal_signal_pending(current))
			return -EINTR;
	}
	if (rc)
		vhca_umad_drop(umad);
	else
		WRITE_ONCE(umad->full, true);
	return rc;
}

/*
 * Copies the packet to the process. Without room for a long one: its first datagram and
 * -ENOSPC, as natively, and the packet stays.
 */
static ssize_t give(struct vhca_umad *umad, char __user *buf, size_t count)
{
	u32 len = umad->len - HEAD, first = min_t(u32, len, VHCA_MAD_SIZE);
	struct ib_user_mad_hdr hdr;
	size_t n = head(umad);

	if (count < n + first)
		return -EINVAL;
	memcpy(&hdr, umad->packet, HEAD);
	hdr.length = n + len;
	if (count < n + len)
		len = first;
	if (copy_to_user(buf, &hdr, n) ||
	    copy_to_user(buf + n, umad->packet + HEAD, len))
		return -EFAULT;
	if (len < umad->len - HEAD)
		return -ENOSPC;
	vhca_umad_drop(umad);
	return n + len;
}

static ssize_t recv_once(struct vhca_umad *umad, char __user *buf, size_t count)
{
	ssize_t rc = 0;

	if (mutex_lock_killable(&umad->reader))
		return -EINTR;
	if (READ_ONCE(umad->f.gone))
		rc = -EIO;
	else if (count < head(umad))
		rc = -EINVAL;
	else if (!umad->full)
		rc = fetch(umad);
	if (!rc)
		rc = give(umad, buf, count);
	mutex_unlock(&umad->reader);
	return rc;
}

ssize_t vhca_umad_read(struct file *filp, char __user *buf, size_t count,
		       loff_t *pos)
{
	struct vhca_umad *umad = filp->private_data;
	ssize_t rc;

	if (count < sizeof(struct ib_user_mad_hdr_old))
		return -EINVAL;
	for (;;) {
		if (!readable(umad) && filp->f_flags & O_NONBLOCK)
			return -EAGAIN;
		if (wait_event_interruptible(umad->wait, readable(umad)))
			return -ERESTARTSYS;
		rc = recv_once(umad, buf, count);
		/* The backend may announce a datagram and have none, for ever. */
		if (rc != -EAGAIN || filp->f_flags & O_NONBLOCK)
			return rc;
		if (signal_pending(current))
			return -ERESTARTSYS;
	}
}

__poll_t vhca_umad_poll(struct file *filp, struct poll_table_struct *wait)
{
	struct vhca_umad *umad = filp->private_data;
	__poll_t mask = EPOLLOUT | EPOLLWRNORM;

	poll_wait(filp, &umad->wait, wait);
	if (READ_ONCE(umad->f.gone))
		return EPOLLERR;
	return readable(umad) ? mask | EPOLLIN | EPOLLRDNORM : mask;
}
