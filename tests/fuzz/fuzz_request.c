// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * A stream of requests. Each begins as the good request of an op, into which
 * words of the input, or handles that were handed out, are written; some are
 * raw input altogether. On a ConnectX contexts and doorbell pages come and go
 * besides, and the doorbell agent has moods.
 */
#include "fuzz.h"
#include "context/context.h"
#include "verbs/ucontext.h"

#define MAX_REQUESTS 24

static void spoil(const struct fuzz *f, struct input *in,
		  struct xenvhca_request *req)
{
	uint8_t kind = in_u8(in);
	uint16_t off = in_u16(in) % (sizeof(*req) - 8);
	uint64_t value = in_u32(in);

	if (kind & 1)
		value = f->handle[value % FUZZ_HANDLES];
	else if (kind & 2)
		value = LOOP_REF(value % WIRE_PAGES);
	else if (kind & 4)
		value |= (uint64_t)in_u32(in) << 32;
	if (kind & 8)
		off &= 0x7c;		/* header and body, aligned */
	memcpy((uint8_t *)req + off, &value, kind & 4 ? 8 :
	       kind & 16 ? 1 : kind & 32 ? 2 : 4);
}

static void request(struct fuzz *f, struct input *in)
{
	struct xenvhca_request req;
	uint8_t op = in_u8(in), n = in_u8(in) % 8;

	if (op & 0x80 || !wire_good(&f->c, op & 0x3f, &req)) {
		in_bytes(in, &req, sizeof(req));
		req.op = op & 0x7f;
	}
	while (n--)
		spoil(f, in, &req);
	fuzz_call(f, &req);
}

/* ---- on a ConnectX ---- */
static uint32_t some_context(const struct fuzz *f, struct input *in)
{
	uint8_t i = in_u8(in);

	return i % 2 ? f->handle[i / 2 % FUZZ_HANDLES] : f->c.uc;
}

static void doorbell(struct fuzz *f, struct input *in)
{
	struct xenvhca_request req = wire_req(XENVHCA_OP_MMAP,
					      some_context(f, in));
	struct xenvhca_mmap_rsp *r = &f->rsp.u.mmap;
	uint8_t place = in_u8(in), n = in_u8(in);

	req.u.mmap.offset = ((uint64_t)(n >> 4) << 8 | n % 16) *
			    XENVHCA_PAGE_SIZE;
	req.u.mmap.length = XENVHCA_PAGE_SIZE;
	req.u.mmap.gfn = place & 1 ? 0 : 0x100000 + place / 2;
	if (fuzz_call(f, &req))
		return;
	PROMISE(r->kind == XENVHCA_MMAP_MMIO && r->nr_pages == 1);
	PROMISE(!r->count && !r->frame == !!req.u.mmap.gfn);
	PROMISE(r->prot && r->prot <= XENVHCA_PROT_WC);
	PROMISE(n >> 4 != 3 || r->prot == XENVHCA_PROT_NC);
}

static void program(struct fuzz *f, struct input *in)
{
	struct xenvhca_request req;
	uint8_t tag = in_u8(in);

	if (tag % 4) {
		wire_good(&f->c, XENVHCA_OP_ALLOC_UCONTEXT, &req);
		fake_mlx5_open(req.udata, 1 + tag / 4 % 8);
	} else {
		req = wire_req(XENVHCA_OP_DEALLOC_UCONTEXT,
			       some_context(f, in));
	}
	fuzz_call(f, &req);
}

static void mood(struct fuzz *f, struct input *in)
{
	uint8_t n = in_u8(in);

	switch (n % 8) {
	case 0:
		loop_fail_doorbell(f->loop, n / 8, -1, false);
		break;
	case 1:
		loop_fail_doorbell(f->loop, n / 64, -110, true);
		break;
	case 2:
		loop_fail_undoorbell(f->loop, n / 64, -110);
		break;
	case 3:
		loop_doorbell_prot(f->loop, n / 8 % 4);
		break;
	case 4:
		fake_hca.moody = n / 8 % 2;
		break;
	default:
		be_dev_tick(&f->dev);
	}
}

/* SRQs, targets and initiators in a domain; sometimes malformed. */
static void xrc(struct fuzz *f, struct input *in)
{
	struct xenvhca_request req;
	uint8_t n = in_u8(in);
	uint32_t handle = f->handle[n / 8 % FUZZ_HANDLES];

	if (n % 4 == 0) {
		wire_good(&f->c, XENVHCA_OP_CREATE_SRQ, &req);
		req.u.create_srq.srq_type = 1;
		req.u.create_srq.xrcd = f->c.xrcd;
		req.u.create_srq.cq = f->c.cq;
	} else if (n % 4 == 1) {
		req = wire_req(XENVHCA_OP_CREATE_QP, 0);
		req.u.create_qp.qp_type = 10;
		req.u.create_qp.xrcd = f->c.xrcd;
	} else if (n % 4 == 2) {
		wire_good(&f->c, XENVHCA_OP_CREATE_QP, &req);
		req.u.create_qp.qp_type = 9;
		req.u.create_qp.recv_cq = req.u.create_qp.srq = 0;
	} else {
		req = wire_req(in_u8(in) & 1 ? XENVHCA_OP_DEALLOC_XRCD :
					       XENVHCA_OP_DESTROY_QP, 0);
		req.u.handle.handle = handle;
	}
	if (n & 4)
		spoil(f, in, &req);
	fuzz_call(f, &req);
}

static void mlx5(struct fuzz *f, struct input *in)
{
	static void (*const act[])(struct fuzz *f, struct input *in) = {
		request, doorbell, program, mood, xrc,
	};

	act[in_u8(in) % COUNT(act)](f, in);
	PROMISE(f->dev.n_vfiles[BE_VFILE_PARKED] + f->dev.quota.used[BE_UCONTEXT] <= 8);
	PROMISE(f->dev.n_vfiles[BE_VFILE_SPOILT] <= 32);
}

/* Nothing of another guest's has reached the kernel. */
static void own_only(void)
{
	const struct fake_obj *qp;
	unsigned int i;

	for (i = 0; (qp = fake_nth(FAKE_QP, i)); i++) {
		PROMISE(qp->sgid_index % 2 == 0 && qp->alt_sgid_index % 2 == 0);
		PROMISE(qp->sgid_index != FUZZ_FOREIGN &&
			qp->alt_sgid_index != FUZZ_FOREIGN);
		PROMISE(!qp->pkey_index && !qp->alt_pkey_index);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };
	bool hardware = in_u8(&in) & 1;
	struct fuzz f;
	int i;

	if (hardware)
		fuzz_open_mlx5(&f);
	else
		fuzz_open(&f, true);
	/* directories for page lists */
	in_bytes(&in, loop_page(f.loop, 20), in_u8(&in));
	for (i = 0; i < MAX_REQUESTS && in.left; i++) {
		if (hardware)
			mlx5(&f, &in);
		else
			request(&f, &in);
		own_only();
	}
	fuzz_close(&f);
	return 0;
}
