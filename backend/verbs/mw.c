// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Memory windows; binding is a work request and needs no command. The command
 * thread runs this.
 */
#include <errno.h>

#include "object.h"
#include "ucontext.h"
#include "udata.h"

bool be_windows(const struct be_dev *dev)
{
	return !dev->prov->no_windows || dev->trusted;
}

int be_alloc_mw(const struct be_cmd *c)
{
	const struct xenvhca_alloc_mw_req *r = &c->req->u.alloc_mw;
	struct ib_uverbs_alloc_mw_resp resp = {};
	struct be_udata u;
	struct be_pd *pd;
	struct be_mw *mw;
	int err;

	if (r->type != 1 && r->type != 2)
		return -EINVAL;
	if (!be_windows(c->dev))
		return -EOPNOTSUPP;
	pd = be_handle_get(c->dev->handles, r->pd, BE_PD, c->uc);
	if (!pd)
		return -ENOENT;
	mw = be_obj_new(c, BE_MW, sizeof(*mw), &err);
	if (!mw)
		return err;
	err = be_udata_begin(&u, c, NULL, NULL);
	if (!err)
		err = uv_alloc_mw(c->uc->file->fd, pd->o.host, r->type, &u.uv, &resp);
	c->rsp->u.mr.handle = mw->o.handle;
	c->rsp->u.mr.rkey = resp.rkey;
	return be_obj_made(c, &u, &mw->o, BE_MW, resp.mw_handle, err);
}

const struct be_kind be_kind_mw = { .host_end = uv_dealloc_mw };
