// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Multicast attachments of QPs. They have no handle on the wire; each is an
 * object here so that it is counted and ended with its context. The command
 * thread runs this.
 *
 * On Ethernet a group is its GID; the LID means nothing. The kernel (6.1) and
 * its Soft-RoCE count an attachment of one GID with two LIDs differently, and
 * the QP could then never be destroyed. So the kernel sees each GID of a QP
 * once, with LID 0, as long as the guest has any attachment to it.
 */
#include <errno.h>
#include <string.h>

#include "object.h"
#include "ucontext.h"

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

/* Has the guest another attachment that is the same to the kernel? */
static bool mcast_shared(const struct be_dev *dev, const struct be_uc *uc,
			 const struct be_mcast *m)
{
	const struct be_mcast *i;
	const struct be_obj *o;

	for (o = uc->objs[BE_MCAST]; dev->ethernet && o; o = o->next) {
		i = (const struct be_mcast *)o;
		if (i != m && i->qp == m->qp &&
		    !memcmp(i->gid, m->gid, sizeof(m->gid)))
			return true;
	}
	return false;
}

static uint16_t host_lid(const struct be_dev *dev, const struct be_mcast *m)
{
	return dev->ethernet ? 0 : m->mlid;
}

/* Ends the physical attachment unless another one needs it. */
static int mcast_end(struct be_dev *dev, struct be_obj *o)
{
	const struct be_mcast *m = (const struct be_mcast *)o;

	if (mcast_shared(dev, o->uc, m))
		return 0;
	return uv_detach_mcast(o->uc->file->fd, m->qp->o.host, m->gid,
			       host_lid(dev, m));
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
	m = be_obj_new(c, BE_MCAST, sizeof(*m), &err);
	if (!m)
		return err;
	m->qp = qp;
	m->mlid = r->mlid;
	memcpy(m->gid, r->gid, sizeof(m->gid));
	if (!mcast_shared(c->dev, c->uc, m))
		err = uv_attach_mcast(c->uc->file->fd, qp->o.host, m->gid,
				      host_lid(c->dev, m));
	return be_obj_made(c, NULL, &m->o, BE_MCAST, 0, err);
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
