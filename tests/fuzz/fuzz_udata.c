// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * udata by a provider's table: those of hardware HCAs, and a made-up one that
 * has every kind of field. The table, lengths, data, attributes and page lists
 * are input; so is the answer of the kernel.
 */
#include "fuzz.h"

#define OUT_OCTETS 16

/* Of both queues: a number in the udata. */
static int made_up_length(const struct xenvhca_request *req, uint64_t *len)
{
	return vhca_len_mul(vhca_len_num(req, 28, 4), 1, len);
}

static const struct vhca_udata_op ops[] = {
	{
		.op = XENVHCA_OP_CREATE_QP, .in_min = 24, .in_max = 64,
		.out_min = 0, .out_max = 64,
		.req = {
			{ .kind = VHCA_BUF, .len = 8, .off = 0,
			  .length = made_up_length },
			{ .kind = VHCA_DBPAGE, .len = 8, .off = 8, .arg = 8 },
			{ .kind = VHCA_BUF, .len = 8, .off = 16,
			  .length = made_up_length },
			{ .kind = VHCA_MASK, .len = 4, .off = 24,
			  .arg = 0xff00ff00 },
			{ .kind = VHCA_COOKIE, .len = 8, .off = 32 },
			{ .kind = VHCA_ZERO, .len = 4, .off = 40,
			  .arg = 0xff },
		},
		.rsp = {
			{ .kind = VHCA_KEY, .len = 16, .off = 0,
			  .length = made_up_length },
			{ .kind = VHCA_MASK, .len = 8, .off = 16, .arg = 1 },
			{ .kind = VHCA_KEY, .len = 16, .off = 32,
			  .length = made_up_length },
		},
	}, {
		.op = XENVHCA_OP_MODIFY_SRQ, .in_min = 8, .in_max = 255,
		.out_min = 0, .out_max = 255,
		.req = {
			{ .kind = VHCA_OUTPTR, .len = 8, .off = 0,
			  .arg = OUT_OCTETS },
			{ .kind = VHCA_MASK, .len = 1, .off = 254, .arg = 1 },
		},
		.rsp = {
			{ .kind = VHCA_KEY, .len = 16, .off = 200,
			  .length = made_up_length },
		},
	},
	{ .op = 0 },
};

static const struct vhca_provider made_up = {
	.name = "made-up", .ops = ops,
};

#define ROW(name) &vhca_provider_##name,
static const struct vhca_provider *const tables[] = {
	&made_up, VHCA_PROVIDERS(ROW)
};

static uint64_t address(const uint8_t *data, const struct vhca_field *f)
{
	uint64_t va = 0;

	memcpy(&va, data + f->off, f->len < sizeof(va) ? f->len : sizeof(va));
	return va;
}

/* Mostly: hardly a list would be as long as a queue otherwise. */
static void small_numbers(struct input *in, uint8_t *data, size_t size)
{
	uint8_t mask = in_u8(in);
	size_t i;

	for (i = 0; mask & 3 && i < size; i++)
		data[i] &= i % 4 ? 0 : mask;
}

/* Pages of the queue of a field, for a guest that is honest. */
static uint32_t pages(const struct be_cmd *c, unsigned int field)
{
	const struct vhca_udata_op *row = vhca_provider_op(c->dev->prov,
							   (uint8_t)c->req->op);
	const struct vhca_field *f = &row->req[field];
	uint64_t va = address(c->req->udata, f) % XENVHCA_PAGE_SIZE, len;

	if (f->kind != VHCA_BUF || f->length(c->req, &len) || !len)
		return 0;
	return (uint32_t)((va + len + XENVHCA_PAGE_SIZE - 1) /
			  XENVHCA_PAGE_SIZE);
}

static void list(struct input *in, uint32_t honest, struct xenvhca_pages *p)
{
	uint32_t i;

	memset(p, 0, sizeof(*p));
	p->nr_pages = in_u8(in) % 10;
	if (p->nr_pages < 7)
		p->nr_pages = honest;
	for (i = 0; i < p->nr_pages && i < XENVHCA_MAX_GREFS_INLINE; i++)
		p->gref[i] = LOOP_REF(in_u8(in) % (WIRE_PAGES + 1));
}

/* Does [va, va + len) lie in what is mapped for the object? */
static bool is_mapped(const struct be_gmap *g, uint64_t va, uint64_t len)
{
	uint64_t first = (uintptr_t)g->addr;

	return g->addr && va >= first &&
	       va - first + len <= (uint64_t)g->nr_pages * XENVHCA_PAGE_SIZE;
}

/*
 * Every address that the kernel would use is 0 or leads to mapped pages, all
 * the way that the HCA's driver would pin.
 */
static void addresses_are_ours(const struct be_udata *u, const struct be_cmd *c,
			       const struct be_bufs *bufs)
{
	const struct vhca_field *f;
	uint64_t va, len;
	unsigned int i;

	for (i = 0; u->row && i < VHCA_MAX_FIELDS; i++) {
		f = &u->row->req[i];
		if (f->off + f->len > c->req->in_len)
			continue;
		va = address(u->in, f);
		if (f->kind == VHCA_ZERO)
			PROMISE(!(va & f->arg));
		if (f->kind == VHCA_DBPAGE)
			PROMISE(!va || bufs->db);
		if (f->kind != VHCA_BUF || !va)
			continue;
		PROMISE(!f->length(c->req, &len));
		PROMISE(len <= VHCA_BUF_LIMIT);
		PROMISE(is_mapped(&bufs->buf[0], va, len) ||
			is_mapped(&bufs->buf[1], va, len));
	}
}

/* An offset that passes is one page, and in the row that it was found in. */
static void offset(const struct vhca_provider *p, struct input *in)
{
	uint64_t off = (uint64_t)in_u16(in) << 12 | (uint64_t)in_u8(in) << 28;
	uint64_t len = in_u8(in) % 4 * 4096u;
	uint8_t prot = in_u8(in) % 4;
	const struct vhca_mmap *m = vhca_provider_mmap(p, off);

	if (!m || vhca_provider_mmap_check(m, len))
		return;
	PROMISE(m->kind == VHCA_MMAP_MMIO && len == XENVHCA_PAGE_SIZE);
	PROMISE(!vhca_provider_mmap_prot(m, prot) || prot == m->prot ||
		prot == XENVHCA_PROT_NC);
}

/* Do requests of this kind carry lists at all? */
static bool has_lists(const struct be_cmd *c)
{
	const struct vhca_udata_op *row = vhca_provider_op(c->dev->prov,
							   (uint8_t)c->req->op);
	unsigned int i;

	for (i = 0; i < VHCA_MAX_FIELDS; i++)
		if (row->req[i].kind == VHCA_BUF ||
		    row->req[i].kind == VHCA_DBPAGE)
			return true;
	return false;
}

static void run(struct fuzz *f, struct input *in, const struct be_cmd *c)
{
	struct xenvhca_pages list1, list2, db;
	struct be_lists lists = { { &list1, &list2 }, &db };
	struct be_bufs bufs = {};
	uint64_t mapped = loop_mapped(f->loop);
	struct be_udata u;
	int err;

	list(in, pages(c, 0), &list1);
	list(in, pages(c, 2), &list2);
	list(in, in_u8(in) % 8 != 0, &db);
	if (has_lists(c))
		err = be_udata_begin(&u, c, &lists, &bufs);
	else
		err = be_udata_begin(&u, c, NULL, NULL);
	if (err) {
		PROMISE(loop_mapped(f->loop) == mapped);
		return;
	}
	PROMISE(u.uv.in_len == c->req->in_len);
	PROMISE(u.uv.out_len + u.extra == c->req->out_len);
	addresses_are_ours(&u, c, &bufs);
	/* what the kernel would do */
	in_bytes(in, u.out, u.uv.out_len);
	small_numbers(in, u.out, u.uv.out_len);
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
	const struct vhca_udata_op *row;
	unsigned int n;

	memset(&req, 0, sizeof(req));
	memset(&rsp, 0, sizeof(rsp));
	be_dev_provider(&f->dev, tables[in_u8(in) % (sizeof(tables) / sizeof(tables[0]))]);
	offset(f->dev.prov, in);
	n = in_u8(in);
	for (row = f->dev.prov->ops; n-- && row[1].op; row++)
		;
	req.op = row->op;
	/* inside the row's lengths, but for some that must be refused */
	req.in_len = row->in_max;
	req.out_len = row->out_max;
	if (in_u8(in) % 4 == 0) {
		req.in_len = row->in_min + in_u8(in) %
			     (row->in_max - row->in_min + 2u);
		req.out_len = row->out_min + in_u8(in) %
			      (row->out_max - row->out_min + 2u);
	}
	if (vhca_provider_check(f->dev.prov, (uint8_t)req.op, req.in_len,
				req.out_len))
		return;
	in_bytes(in, req.udata, req.in_len);
	in_bytes(in, req.u.raw, 64);
	small_numbers(in, req.udata, sizeof(req.udata));
	small_numbers(in, req.u.raw, 64);
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
	for (i = 0; i < 16 && in.left; i++)
		command(&f, &in);
	fuzz_close(&f);
	return 0;
}
