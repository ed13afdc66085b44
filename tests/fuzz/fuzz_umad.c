// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * A stream of commands on a few files for management datagrams: good ones, spoilt ones,
 * and octets; meanwhile answers of any length, time-outs and requests come, and the
 * kernel refuses sends. Nothing but queries leaves a guest with umad=query.
 */
#include "fuzz.h"
#include "verbs/umad.h"

#define MAX_COMMANDS	64
#define FILES		4

static uint32_t file[FILES], agent[FILES];

static void open_file(struct fuzz *f, unsigned int i)
{
	struct xenvhca_request req = wire_req(XENVHCA_OP_ALLOC_UMAD, 0);

	if (fuzz_call(f, &req))
		return;
	f->c.umad = file[i] = f->rsp.u.handle.handle;
	wire_good(&f->c, XENVHCA_OP_REGISTER_UMAD, &req);
	if (!fuzz_call(f, &req))
		agent[i] = f->rsp.u.register_umad.id;
}

static void spoil(struct input *in, struct xenvhca_request *req)
{
	uint16_t off = in_u16(in) % (sizeof(*req) - 4);
	uint32_t value = in_u32(in);

	if (value % 4 == 0)
		value = file[value / 4 % FILES];
	else if (value % 4 == 1)
		value = value / 4 % 64;
	memcpy((uint8_t *)req + off, &value, 1 + in_u8(in) % 4);
}

/* What is to come back: a class, a method, a transaction. */
static void vary(struct input *in, struct xenvhca_request *req)
{
	uint8_t *packet = req->u.send_umad.packet;

	packet[BE_UMAD_HEAD + 1] = in_u8(in);
	packet[BE_UMAD_HEAD + 3] = in_u8(in);
	packet[BE_UMAD_HEAD + 15] = in_u8(in) % 8;
	packet[9] = in_u8(in);		/* time-out */
}

static void check_sent(const struct fuzz *f)
{
	struct fake_mad sent = fake_umad_sent(0);

	PROMISE(sent.hdr.retries <= BE_UMAD_RETRIES &&
		sent.hdr.timeout_ms <= BE_UMAD_MS);
	if (f->dev.umad == BE_UMAD_QUERY)
		PROMISE(!be_umad_filter(&sent.hdr, sent.mad));
}

static void command(struct fuzz *f, struct input *in)
{
	uint16_t op = XENVHCA_OP_ALLOC_UMAD + in_u8(in) % 6;
	unsigned int n = in_u8(in), sends = fake_umad_sends();
	struct xenvhca_request req;

	f->c.umad = file[n % FILES];
	f->c.agent = agent[n % FILES];
	wire_good(&f->c, op, &req);
	if (op == XENVHCA_OP_SEND_UMAD)
		vary(in, &req);
	for (n = in_u8(in) % 4; n; n--)
		spoil(in, &req);
	if (!fuzz_call(f, &req) && req.op == XENVHCA_OP_RECV_UMAD)
		PROMISE(f->rsp.u.recv_umad.len <= XENVHCA_UMAD_RECV_MAX &&
			f->rsp.u.recv_umad.events <= 1);
	if (fake_umad_sends() != sends)
		check_sent(f);
}

static void mood(struct fuzz *f, struct input *in)
{
	uint8_t n = in_u8(in);
	struct fake_mad some = fake_umad_sent(n / 8);

	switch (n % 8) {
	case 0:
		open_file(f, n / 8 % FILES);
		break;
	case 1:
		fake_umad_timeout(&some);
		break;
	case 2:
		fake_umad_fail(n / 8);
		break;
	case 3:
		fake_umad_request(&some, n / 8);
		break;
	case 4:
		f->dev.umad = n & 8 ? BE_UMAD_ALL : BE_UMAD_QUERY;
		break;
	default:
		fake_umad_answer(&some, 24 + in_u16(in) * 20u);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };
	struct fuzz f;
	int i;

	fuzz_open(&f, false);
	fake_umad_reset();
	f.dev.quota.max[BE_UMAD] = FILES + 2;
	f.dev.quota.umad.rate = 0;
	for (i = 0; i < FILES; i++)
		open_file(&f, i);
	for (i = 0; i < MAX_COMMANDS && in.left; i++) {
		if (in_u8(&in) % 4)
			command(&f, &in);
		else
			mood(&f, &in);
		PROMISE(fake_umad_files() <= FILES + 2);
	}
	/* The kernel has nothing to print, and no agent too many. */
	PROMISE(!fake_umad_noise());
	fuzz_close(&f);
	PROMISE(!fake_umad_agents());
	return 0;
}
