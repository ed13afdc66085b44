// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The cable: traffic of two machines with bytes changed on the way, and input
 * as it is.
 */
#include "hfuzz.h"

static struct end a, b;
static struct drv_nic nic_a, nic_b;	/* of Ethernet ports */
static bool eth;

/* Changes up to 3 words, most of them in headers. */
static void tamper(struct rig_dev *from, uint8_t *data, size_t len)
{
	struct input *in = from->rig->tamper_arg;
	uint8_t n = in_u8(in), how;
	uint32_t value;
	uint16_t off;

	for (n = n > 3 ? 0 : n; n; n--) {
		how = in_u8(in);
		off = how & 1 ? in_u16(in) : in_u8(in) % 128;
		value = in_u32(in);
		if (off < len)
			memcpy(data + off, &value,
			       len - off < 4 || how & 2 ? 1 : 4);
	}
}

static void post(struct input *in)
{
	hfuzz_post(&a, &b, in, 0);
}

static void post_b(struct input *in)
{
	hfuzz_post(&b, &a, in, 0);
}

static void frame(struct input *in)
{
	uint8_t data[2048] = { 0 };
	uint16_t len = in_u16(in) % sizeof(data);

	in_bytes(in, data, len);
	if (!eth)
		return;
	drv_nic_fill(&nic_b, 0, 1);
	drv_nic_send(&nic_a, data, len, len < 18 ? len : 18, 0, 0);
}

static void run(struct input *in)
{
	PROMISE(rig_run(a.drv.rig));
	(void)in;
}

static void as_it_is(struct input *in)
{
	uint8_t bytes[256], n = in_u8(in);

	in_bytes(in, bytes, n);
	if (cx_link_rx(b.drv.dev->cx, bytes, n)) {
		cx_link_state(b.drv.dev->cx, false);
		cx_link_state(b.drv.dev->cx, true);
	}
}

static void state(struct input *in)
{
	uint8_t how = in_u8(in);

	cx_link_state(how & 1 ? a.drv.dev->cx : b.drv.dev->cx, how & 2);
	if (how & 4)
		cx_link_ready(a.drv.dev->cx);
}

static void pass_time(struct input *in)
{
	uint64_t ns = in_u16(in) * 100000ULL;

	rig_sleep(a.drv.rig, ns);
	rig_sleep(b.drv.rig, ns);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const step[])(struct input *) = {
		post, post, post_b, run, run, as_it_is, state, pass_time, frame,
	};
	struct input in = { data, size };
	struct rig *r = hfuzz_rig(0), *far = hfuzz_rig(1);
	unsigned int i;

	eth = in_u8(&in) & 1;
	r->eth = far->eth = eth;
	hfuzz_open(&a, r, 1, true);
	hfuzz_open(&b, far, 2, true);
	rig_join(a.drv.dev, b.drv.dev, 300000);
	if (eth) {
		hfuzz_addresses(&a, 1);
		hfuzz_addresses(&b, 2);
		PROMISE(!drv_nic_open(&a.drv, &nic_a));
		PROMISE(!drv_nic_open(&b.drv, &nic_b));
	}
	hfuzz_connect(&a, &b);
	PROMISE(rig_run(r));
	r->tamper = tamper;
	r->tamper_arg = &in;
	for (i = 0; i < 64 && in.left; i++)
		step[in_step(&in) % (sizeof(step) / sizeof(step[0]))](&in);
	rig_sleep(r, 1000000000);
	rig_sleep(far, 1000000000);
	hfuzz_check(r);
	hfuzz_check(far);
	r->tamper = NULL;
	rig_clear(r);
	rig_clear(far);
	return 0;
}
