// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * What one kick does: the system call that a native process would have made.
 * The kick thread runs this, with be_dev.lock held for reading from the look-up
 * of the handle to the end of the call, so that the fd is not closed meanwhile.
 * The handle comes from the guest.
 */
#include "kick.h"
#include "verbs/queue.h"
#include "verbs/shadow.h"
#include "verbs/ucontext.h"

static struct be_obj *kick_find(struct be_dev *dev,
				const struct xenvhca_kick *k,
				enum be_type type)
{
	return be_handle_get(dev->handles, k->handle, type, NULL);
}

static int kick_send(struct be_dev *dev, const struct xenvhca_kick *k, bool *more)
{
	const struct be_obj *qp = kick_find(dev, k, BE_QP);
	struct be_shadow *sq;

	if (!qp)
		return -1;
	sq = ((const struct be_qp *)qp)->sq;
	if (sq)
		be_shadow_take(dev, sq);
	*more = sq && sq->behind;
	/* An error is the QP's state; the guest sees it in its completions. */
	uv_post_send(qp->uc->file->fd, qp->host);
	return 0;
}

/* The frontend waits for this: the arm is in force when the verb returns */
static int kick_arm(struct be_dev *dev, const struct xenvhca_kick *k)
{
	const struct be_obj *o = kick_find(dev, k, BE_CQ);
	bool solicited = k->flags & XENVHCA_KICK_SOLICITED;

	if (!o || k->flags & ~XENVHCA_KICK_SOLICITED)
		return -1;
	/* An error is the CQ's, as with a native arm. */
	uv_req_notify_cq(o->uc->file->fd, o->host, solicited);
	return 0;
}

bool be_kick(struct be_dev *dev, const struct xenvhca_kick *k)
{
	bool more = false;
	int err = -1;

	pthread_rwlock_rdlock(&dev->lock);
	if (k->type == XENVHCA_KICK_SEND && !k->flags && !k->reserved)
		err = kick_send(dev, k, &more);
	else if (k->type == XENVHCA_KICK_ARM && !k->reserved)
		err = kick_arm(dev, k);
	pthread_rwlock_unlock(&dev->lock);
	if (err) {
		BE_STAT_ADD(dev, faults, 1);
		be_log_peer(dev, "kick ignored: type %u, flags %#x, handle %#x",
			    k->type, k->flags, k->handle);
	}
	return more;
}
