// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * A stream of requests. Each begins as the good request of an op, into which
 * words of the input, or handles that were handed out, are written; some are
 * raw input altogether.
 */
#include "fuzz.h"

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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };
	struct fuzz f;
	int i;

	fuzz_open(&f, true);
	/* directories for page lists */
	in_bytes(&in, loop_page(f.loop, 20), in_u8(&in));
	for (i = 0; i < MAX_REQUESTS && in.left; i++)
		request(&f, &in);
	fuzz_close(&f);
	return 0;
}
