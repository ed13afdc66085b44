// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Management datagrams by MAD_IFC: a good header with malformed words, and any
 * payload.
 */
#include "hfuzz.h"

static struct end end;

static void one(struct input *in)
{
	static const uint8_t class[] = { 1, 0x81, 4, 7 };
	uint8_t mad[256] = { 1, 0, 1, 0 }, reply[256];
	uint8_t how = in_u8(in);
	uint16_t off;

	mad[1] = class[how & 3];
	mad[3] = how >> 2 & 3;
	mad[17] = in_u8(in);
	mad[23] = in_u8(in);
	if (how & 0x10)
		in_bytes(in, mad, 24);
	if (how & 0x20)
		in_bytes(in, mad + 24, 40);
	if (how & 0x40) {
		off = in_u8(in);
		in_bytes(in, mad + off, 256 - off < 64 ? 256 - off : 64);
	}
	PROMISE(drv_mad_ifc(&end.drv, mad, reply) < DRV_LOST);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };
	struct rig *r = hfuzz_rig(0);
	int i;

	hfuzz_open(&end, r, 1, false);
	for (i = 0; i < 64 && in.left; i++)
		one(&in);
	hfuzz_check(r);
	PROMISE(cx_port_state(end.drv.dev->cx) <= 4);
	rig_clear(r);
	return 0;
}
