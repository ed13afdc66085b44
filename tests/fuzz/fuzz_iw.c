// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Connections of the guest's kernel and a hostile backend: the input is what consumers wish,
 * which events the backend sends, and how it answers. iw_cm, with the BUG_ON()s of Linux,
 * hears of each connection what it has to, once and in order; nothing is left.
 */
#pragma clang diagnostic ignored "-Weverything"
#include "promise.h"
#undef assert_in_range
#include "tests/unit/kernel/front_iw.h"

#define STEPS		1024

static struct input in;

static struct iw *any_iw(void)
{
	return iw_nr ? &iws[in_u8(&in) % iw_nr] : NULL;
}

static void consumer(u8 what)
{
	u8 nr = in_u8(&in) % QPS;
	struct vhca_kqp *qp = iw_qp[nr];
	u32 qpn = qp->qp.ibqp.qp_num;
	struct iw *iw = any_iw();

	switch (what) {
	case 0:
		iw_connects(iw_new(IW_IDLE), qpn, in_u8(&in) * 2);
		break;
	case 1:
		iw_listens(iw_new(IW_IDLE));
		break;
	case 2:
		if (iw)
			iw_accepts(iw, qpn, in_u8(&in) * 2);
		break;
	case 3:
		if (iw)
			iw_rejects(iw, in_u8(&in));
		break;
	case 4:
		if (iw && !iw->drops)
			iw_destroys(iw);
		break;
	case 5:
		qp_to(qp, in_u8(&in) % 2 ? IB_QPS_SQD : IB_QPS_ERR);
		break;
	default:
		/* As a consumer that still has its iw_cm_id, or has destroyed it. */
		qp_renewed(nr);
	}
}

/* Tasks that wait for nothing: the thread is busy. */
static void consumers_meanwhile(void)
{
	static const u8 what[] = { 0, 2, 3, 4, 5 };
	u8 i = in_u8(&in) % 16;

	if (i >= 1 && i <= ARRAY_SIZE(what) && iw_nr < IWS - 2)
		consumer(what[i - 1]);
}

static void backend_says(void)
{
	u8 how = in_u8(&in);

	in_bytes(&in, &be.event, in_u8(&in));
	be.event.id = in_u8(&in);
	be_says(how & 0x80 ? in_u32(&in) : in_u8(&in) % 32, how & 0x40 ? in_u32(&in) : how % 16);
}

static void backend_lies(void)
{
	u8 cmd = in_u8(&in) % ARRAY_SIZE(be.fail), how = in_u8(&in);

	be.fail[cmd] = how % 4 ? 0 : -(int)(1 + how / 4);
	be.lacks[cmd] = how % 4 == 1 ? in_u16(&in) : 0;
	be.attr_mask = in_u16(&in);
	be.route.src_addr.sin6_family = how & 0x40 ? in_u8(&in) : AF_INET;
	be.route.dst_addr.sin6_family = how & 0x20 ? in_u8(&in) : AF_INET;
	be.silent = !(how % 16);
	be.id = in_u32(&in);
	meanwhile = in_u8(&in) % 2 ? consumers_meanwhile : NULL;
}

/* The device outlives it. */
static void backend_is_another_one(void)
{
	vhca_iw_away(&iw_kern);
	iw_dev.gen++;
	iw_dev.ring.state = VHCA_RING_UP;
	vhca_iw_back(&iw_kern);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned int i;
	u8 what;

	in = (struct input){ data, size };
	iw_begins();
	iw_later = in_u8(&in) % 2;
	for (i = 0; i < STEPS && in.left && iw_nr < IWS - 2; i++) {
		what = in_step(&in) % 25;
		if (what < 7)
			consumer(what);
		else if (what < 16)
			backend_says();
		else if (what < 18)
			backend_lies();
		else if (what < 22)
			thread_runs();
		else if (what == 22)
			iw_no_memory = in_u8(&in) % 2;
		else if (what == 23)
			iws_work();
		else if (!(in_u8(&in) % 16))
			iw_dev.ring.state = VHCA_RING_BROKEN;
		else if (!(in_u8(&in) % 4))
			backend_is_another_one();
		else if (!(in_u8(&in) % 16))
			iw_kern.iw->f.gone = true;
	}
	meanwhile = NULL;
	iw_ends();
	return 0;
}
