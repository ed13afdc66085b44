// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The kick ring's page is input, then its producer index, then what the CQ's
 * ring says about itself; and the request ring's producer index.
 */
#include "fuzz.h"

static void take_kicks(struct fuzz *f)
{
	struct xenvhca_kick kick[32];
	int i, n, total = 0;

	do {
		n = f->dev.t->ops->get_kicks(f->dev.t, kick, 32);
		for (i = 0; i < n; i++)
			be_kick(&f->dev, &kick[i]);
		total += n > 0 ? n : 0;
	} while (n > 0);
	PROMISE(total <= XENVHCA_KICK_ENTRIES);
	f->dev.t->ops->kicks_done(f->dev.t, (unsigned int)total);
	f->dev.t->ops->arm_kicks(f->dev.t);
}

static void map_cq(struct fuzz *f, struct input *in)
{
	struct xenvhca_request req;
	const struct fake_obj *cq;

	wire_good(&f->c, XENVHCA_OP_MMAP, &req);
	PROMISE(!fuzz_call(f, &req));
	cq = fake_nth(FAKE_CQ, 0);
	in_bytes(in, fake_ring(cq->ring), 384);
}

static void take_requests(struct fuzz *f, struct input *in)
{
	struct xenvhca_request req;
	int n;

	loop_sring(f->loop)->req_prod = in_u32(in);
	for (n = 0; f->dev.t->ops->get_request(f->dev.t, &req) == 1; n++) {
		PROMISE(n < 8);		/* slots of a ring of one page */
		fuzz_call(f, &req);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };
	struct xenvhca_kick_page *page;
	struct fuzz f;
	unsigned int i, n;

	fuzz_open(&f, true);
	map_cq(&f, &in);
	take_requests(&f, &in);
	page = loop_kick(f.loop);
	n = in_u8(&in) % 32;
	for (i = 0; i < n; i++) {
		in_bytes(&in, &page->kick[i], 4);
		page->kick[i].handle = in_u8(&in) % 4 ?
			f.handle[in_u8(&in) % FUZZ_HANDLES] : in_u32(&in);
	}
	page->prod = in_u8(&in) % 4 ? n : in_u32(&in);
	take_kicks(&f);
	fuzz_close(&f);
	return 0;
}
