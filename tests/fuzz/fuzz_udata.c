// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * udata by a provider's table. The table is a made-up HCA that has every kind
 * of field, so that also what Soft-RoCE does not need is reached; lengths,
 * data and page lists are input.
 */
#include "fuzz.h"

#define OUT_OCTETS 16

static const struct vhca_udata_op ops[] = {
	{
		.op = XENVHCA_OP_CREATE_QP, .in_min = 24, .in_max = 64,
		.out_min = 0, .out_max = 64,
		.req = {
			{ .kind = VHCA_BUF, .len = 8, .off = 0, .arg = 0 },
			{ .kind = VHCA_DBPAGE, .len = 8, .off = 8 },
			{ .kind = VHCA_BUF, .len = 8, .off = 16, .arg = 0 },
			{ .kind = VHCA_MASK, .len = 4, .off = 24,
			  .arg = 0xff00ff00 },
			{ .kind = VHCA_COOKIE, .len = 8, .off = 32 },
		},
		.rsp = {
			{ .kind = VHCA_KEY, .len = 16, .off = 0 },
			{ .kind = VHCA_MASK, .len = 8, .off = 16, .arg = 1 },
			{ .kind = VHCA_KEY, .len = 16, .off = 32 },
		},
	}, {
		.op = XENVHCA_OP_MODIFY_SRQ, .in_min = 8, .in_max = 255,
		.out_min = 0, .out_max = 255,
		.req = {
			{ .kind = VHCA_OUTPTR, .len = 8, .off = 0,
			  .arg = OUT_OCTETS },
			{ .kind = VHCA_MASK, .len = 1, .off = 254, .arg = 1 },
		},
		.rsp = { { .kind = VHCA_KEY, .len = 16, .off = 200 } },
	},
	{ .op = 0 },
};

static const struct vhca_provider made_up = {
	.name = "made-up", .ops = ops, .run = 1,
};

static void list(struct input *in, struct xenvhca_pages *p)
{
	uint32_t i;

	memset(p, 0, sizeof(*p));
	p->nr_pages = in_u8(in) % 10;
	for (i = 0; i < p->nr_pages && i < XENVHCA_MAX_GREFS_INLINE; i++)
		p->gref[i] = LOOP_REF(in_u8(in) % (WIRE_PAGES + 1));
}

static void run(struct fuzz *f, struct input *in, const struct be_cmd *c)
{
	struct xenvhca_pages list1, list2, db;
	struct be_lists lists = { { &list1, &list2 }, &db };
	struct be_bufs bufs = {};
	uint64_t mapped = loop_mapped(f->loop);
	struct be_udata u;
	int err;

	list(in, &list1);
	list(in, &list2);
	list(in, &db);
	err = be_udata_begin(&u, c, &lists, &bufs);
	if (err) {
		PROMISE(loop_mapped(f->loop) == mapped);
		return;
	}
	PROMISE(u.uv.in_len == c->req->in_len);
	PROMISE(u.uv.out_len + u.extra == c->req->out_len);
	/* what the kernel would do */
	in_bytes(in, u.out, u.uv.out_len);
	in_bytes(in, u.ptr_out, OUT_OCTETS);
	if (!be_udata_end(&u, c, in_u8(in)))
		PROMISE(c->rsp->out_len <= c->req->out_len);
	be_bufs_release(&f->dev, c->uc, &bufs);
	PROMISE(loop_mapped(f->loop) == mapped);
}

static void command(struct fuzz *f, struct input *in)
{
	struct xenvhca_response rsp;
	struct xenvhca_request req;
	struct be_cmd c = { .dev = &f->dev, .req = &req, .rsp = &rsp };

	memset(&req, 0, sizeof(req));
	memset(&rsp, 0, sizeof(rsp));
	req.op = in_u8(in) % 2 ? XENVHCA_OP_CREATE_QP : XENVHCA_OP_MODIFY_SRQ;
	req.in_len = in_u16(in) % (XENVHCA_UDATA_SIZE + 1);
	req.out_len = in_u16(in) % (XENVHCA_UDATA_SIZE + 1);
	if (vhca_provider_check(f->dev.prov, (uint8_t)req.op, req.in_len,
				req.out_len))
		return;
	in_bytes(in, req.udata, req.in_len);
	c.uc = (struct be_uc *)be_handle_get(f->dev.handles, f->c.uc,
					     BE_UCONTEXT, NULL);
	run(f, in, &c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };
	struct fuzz f;
	int i;

	fuzz_open(&f, false);
	f.dev.prov = &made_up;
	for (i = 0; i < 16 && in.left; i++)
		command(&f, &in);
	fuzz_close(&f);
	return 0;
}
