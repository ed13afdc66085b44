// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The device of the fuzz targets, see fuzz.h.
 */
#include <stdlib.h>

#include "fuzz.h"
#include "tests/fake/fake_priv.h"
#include "context/context.h"
#include "verbs/ucontext.h"

static void kernel(void)
{
	static bool installed;

	if (installed)
		return;
	PROMISE(!fake_install());
	atexit(fake_remove);
	installed = true;
}

struct xenvhca_request wire_req(uint16_t op, uint32_t uc)
{
	struct xenvhca_request req;

	memset(&req, 0, sizeof(req));
	req.op = op;
	req.ucontext = uc;
	return req;
}

int fuzz_call(struct fuzz *f, const struct xenvhca_request *req)
{
	const struct xenvhca_response *rsp = &f->rsp;
	uint32_t handle;

	memset(&f->rsp, 0xa5, sizeof(f->rsp));
	be_dispatch(&f->dev, req, &f->rsp);
	PROMISE(rsp->id == req->id && rsp->op == req->op);
	PROMISE(!rsp->reserved && !rsp->reserved1);
	PROMISE(rsp->status <= 0 && rsp->status >= -133);
	PROMISE(rsp->out_len <= XENVHCA_UDATA_SIZE);
	PROMISE(!rsp->status || !rsp->out_len);
	memcpy(&handle, rsp->u.raw, sizeof(handle));
	if (!rsp->status && req->op >= XENVHCA_OP_ALLOC_UCONTEXT)
		f->handle[f->nr_handles++ % FUZZ_HANDLES] = handle;
	return rsp->status;
}

static uint32_t make(struct fuzz *f, uint16_t op)
{
	struct xenvhca_request req;
	uint32_t handle;

	PROMISE(wire_good(&f->c, op, &req));
	PROMISE(!fuzz_call(f, &req));
	memcpy(&handle, f->rsp.u.raw, sizeof(handle));
	return handle;
}

static void make_objects(struct fuzz *f)
{
	struct xenvhca_request req;

	f->c.cq = make(f, XENVHCA_OP_CREATE_CQ);
	memcpy(&f->c.cq_offset, f->rsp.udata, sizeof(f->c.cq_offset));
	memcpy(&f->c.cq_size, f->rsp.udata + 8, sizeof(f->c.cq_size));
	f->c.srq = make(f, XENVHCA_OP_CREATE_SRQ);
	f->c.qp = make(f, XENVHCA_OP_CREATE_QP);
	wire_good(&f->c, XENVHCA_OP_CREATE_QP, &req);
	req.u.create_qp.qp_type = 4;
	PROMISE(!fuzz_call(f, &req));
	f->c.ud = f->rsp.u.create_qp.handle;
	f->c.mr = make(f, XENVHCA_OP_REG_MR);
	f->c.mw = make(f, XENVHCA_OP_ALLOC_MW);
	f->c.ah = make(f, XENVHCA_OP_CREATE_AH);
	if (f->c.mlx5)
		f->c.xrcd = make(f, XENVHCA_OP_ALLOC_XRCD);
}

/* It has what is at the even indices, but for one; and P_Key index 0. */
static void own(struct be_dev *dev)
{
	static const uint8_t gid[16] = { 0xfe, 0x80, [8] = 2, [15] = 1 },
			     other[16] = { 0xfe, 0x80, [8] = 2, [15] = 2 };

	fake_gid(FUZZ_FOREIGN, other);
	memcpy(dev->addr.ip[0].gid, gid, sizeof(gid));
	dev->addr.n_ips = dev->addr.n_pkeys = 1;
	dev->addr.pkey[0] = 0xffff;
}

static void device(struct fuzz *f, bool mlx5)
{
	kernel();
	if (mlx5)
		fake_be_mlx5();
	else
		fake_be_rxe();
	memset(f, 0, sizeof(*f));
	f->c.mlx5 = mlx5;
	be_log_level = BE_ERR;
	fake.next_ring = 4096;		/* no ring of an earlier input lives */
	fake_fail(0, 0, 0);
	f->loop = loop_new(WIRE_PAGES, 0);
	PROMISE(f->loop && !be_dev_init(&f->dev, 1, 0));
	strcpy(f->dev.hca, "rxe0");
	f->dev.trusted = true;		/* memory windows are to be had */
	f->dev.counters_shown = true;
	f->dev.umad = BE_UMAD_QUERY;
	f->dev.t = loop_transport(f->loop);
	/* one line per input would be most of the work */
	f->dev.log_bucket.rate = 1;
	f->dev.log_bucket.last_ns = UINT64_MAX / 2;
	PROMISE(!be_dev_open(&f->dev));
	f->dev.quota.max_pages = 8192;
	own(&f->dev);
}

static void context(struct fuzz *f, bool objects)
{
	f->c.uc = make(f, XENVHCA_OP_ALLOC_UCONTEXT);
	f->c.pd = make(f, XENVHCA_OP_ALLOC_PD);
	if (objects)
		make_objects(f);
}

void fuzz_open(struct fuzz *f, bool objects)
{
	device(f, false);
	context(f, objects);
}

void fuzz_open_mlx5(struct fuzz *f)
{
	device(f, true);
	/* the fake kernel has 64 files */
	f->dev.quota.max[BE_UCONTEXT] = 8;
	context(f, true);
}

void fuzz_close(struct fuzz *f)
{
	unsigned int t;

	loop_fail_doorbell(f->loop, 0, 0, false);
	loop_fail_undoorbell(f->loop, 0, 0);
	be_dev_tick(&f->dev);
	fake_settle(&f->dev);
	be_dev_close(&f->dev);
	f->dev.t->ops->close(f->dev.t);
	PROMISE(!loop_mapped(f->loop) && !loop_granted(f->loop));
	PROMISE(!loop_doorbells(f->loop) && !f->dev.unsettled);
	PROMISE(!loop_errors(f->loop));
	PROMISE(!fake_live_all() && !fake_files() && !fake_vmas());
	PROMISE(!fake_violations() && !fake_umad_files());
	PROMISE(!f->dev.quota.used_pages && !f->dev.quota.queue_pages);
	PROMISE(!f->dev.fault);
	for (t = 0; t < BE_TYPES; t++)
		PROMISE(!f->dev.quota.used[t]);
	be_dev_fini(&f->dev);
	loop_free(f->loop);
}
