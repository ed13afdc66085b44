// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Protection domains: each PD of the guest has its own physical PD, because
 * every key check of the HCA depends on it. The command thread runs this.
 */
#include "object.h"
#include "ucontext.h"
#include "udata.h"

int be_alloc_pd(const struct be_cmd *c)
{
	struct be_udata u;
	struct be_pd *pd;
	uint32_t host = 0;
	int err;

	pd = be_obj_new(c, BE_PD, sizeof(*pd), &err);
	if (!pd)
		return err;
	err = be_udata_begin(&u, c, NULL, NULL);
	if (!err)
		err = uv_alloc_pd(c->uc->file->fd, &u.uv, &host);
	c->rsp->u.handle.handle = pd->o.handle;
	return be_obj_made(c, &u, &pd->o, BE_PD, host, err);
}

/* A region or an address handle of it is on its way, in or out. */
static bool pd_busy(const struct be_obj *pd)
{
	return ((const struct be_pd *)pd)->jobs;
}

const struct be_kind be_kind_pd = { .busy = pd_busy, .host_end = uv_dealloc_pd };
