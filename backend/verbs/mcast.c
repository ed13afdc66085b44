// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Multicast attachments of QPs. They have no handle on the wire; each is an
 * object here so that it is counted and ended with its context. The command
 * thread runs this.
 *
 * The drivers know a group by its GID alone, whatever the link. ib_uverbs and ib_core
 * count an attachment for each LID, too: of one GID with two LIDs the driver attaches
 * one, refuses the second detach, and the QP could never be destroyed. So the kernel
 * sees each GID of a QP once, with the LID of the first attachment, as long as the guest
 * has any attachment to it.
 */
#include <errno.h>
#include <string.h>

#include "object.h"
#include "ucontext.h"

#define MULTICAST_LID	0xc000	/* the first */
#define PERMISSIVE_LID	0xffff

static struct be_mcast *mcast_find(const struct be_cmd *c,
				   const struct be_qp *qp)
{
	const struct xenvhca_mcast_req *r = &c->req->u.mcast;
	struct be_mcast *m;
	struct be_obj *o;

	for (o = c->uc->objs[BE_MCAST]; o; o = o->next) {
		m = (struct be_mcast *)o;
		if (m->qp == qp && m->mlid == r->mlid &&
		    !memcmp(m->gid, r->gid, sizeof(m->gid)))
			return m;
	}
	return NULL;
}

/* Another attachment that is the same to the kernel, or NULL. */
static const struct be_mcast *mcast_shared(const struct be_uc *uc,
					   const struct be_mcast *m)
{
	const struct be_mcast *i;
	const struct be_obj *o;

	for (o = uc->objs[BE_MCAST]; o; o = o->next) {
		i = (const struct be_mcast *)o;
		if (i != m && i->qp == m->qp &&
		    !memcmp(i->gid, m->gid, sizeof(m->gid)))
			return i;
	}
	return NULL;
}

/* What ib_core demands on InfiniBand: it would not look where the HCA has both links. */
static bool lid_valid(const struct be_dev *dev, uint16_t lid)
{
	return dev->ethernet || (lid >= MULTICAST_LID && lid != PERMISSIVE_LID);
}

/* Has the device all attachments to the group that it may have? */
static bool group_full(struct be_dev *dev, const uint8_t *gid)
{
	const struct be_obj *u, *o;
	unsigned int n = 0;

	for (u = dev->ucontexts; u; u = u->next)
		for (o = ((const struct be_uc *)u)->objs[BE_MCAST]; o; o = o->next)
			n += !memcmp(((const struct be_mcast *)o)->gid, gid, 16);
	if (n < BE_GROUP_QPS)
		return false;
	be_log_peer(dev, "no more than %u attachments to one multicast group",
		    BE_GROUP_QPS);
	return true;
}

static int mcast_attach(const struct be_cmd *c, struct be_mcast *m)
{
	const struct be_mcast *other = mcast_shared(c->uc, m);

	m->host_lid = other ? other->host_lid : m->mlid;
	return other ? 0 : uv_attach_mcast(c->uc->file->fd, m->qp->o.host,
					   m->gid, m->host_lid);
}

/* Ends the physical attachment unless another one needs it. */
static int mcast_end(struct be_dev *dev, struct be_obj *o)
{
	const struct be_mcast *m = (const struct be_mcast *)o;

	(void)dev;
	if (mcast_shared(o->uc, m))
		return 0;
	return uv_detach_mcast(o->uc->file->fd, m->qp->o.host, m->gid,
			       m->host_lid);
}

const struct be_kind be_kind_mcast = { .end = mcast_end };

int be_attach_mcast(const struct be_cmd *c)
{
	const struct xenvhca_mcast_req *r = &c->req->u.mcast;
	struct be_mcast *m;
	struct be_qp *qp;
	int err;

	if (r->reserved)
		return -EINVAL;
	qp = be_handle_get(c->dev->handles, r->qp, BE_QP, c->uc);
	if (!qp)
		return -ENOENT;
	if (mcast_find(c, qp))		/* no error natively */
		return 0;
	if (!lid_valid(c->dev, r->mlid))
		return -EINVAL;
	if (group_full(c->dev, r->gid))
		return -EDQUOT;
	m = be_obj_new(c, BE_MCAST, sizeof(*m), &err);
	if (!m)
		return err;
	m->qp = qp;
	m->mlid = r->mlid;
	memcpy(m->gid, r->gid, sizeof(m->gid));
	return be_obj_made(c, NULL, &m->o, BE_MCAST, 0, mcast_attach(c, m));
}

int be_detach_mcast(const struct be_cmd *c)
{
	const struct xenvhca_mcast_req *r = &c->req->u.mcast;
	struct be_mcast *m;
	struct be_qp *qp;

	if (r->reserved)
		return -EINVAL;
	qp = be_handle_get(c->dev->handles, r->qp, BE_QP, c->uc);
	if (!qp)
		return -ENOENT;
	m = mcast_find(c, qp);
	return m ? be_obj_destroy(c->dev, &m->o) : -EINVAL;
}
