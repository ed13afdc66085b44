/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * What the fuzz targets of the HCA model share: machines that are cleared
 * for every input, devices with a driver, and every kind of object on them.
 */
#ifndef HFUZZ_H
#define HFUZZ_H

#include "tests/fuzz/input.h"
#include "tests/hca/unit/drv_eth.h"

#define HFUZZ_MEM (256u << 10)

struct end {
	struct drv drv;
	struct drv_cq scq, rcq;
	struct drv_srq srq, xrc_srq, tag_srq;
	struct drv_qp rc, uc, ud, xrc, target, shared, tags, kernel;
	struct drv_qp rndv;	/* for the peer's tags: its send queue is the device's */
	struct drv_mr mr;
	uint32_t mw, dma;
	uint32_t fast[2];	/* that are registered with pages, with pieces */
	uint8_t *mem;
	uint8_t *list[2];	/* of those */
};

/* The rig number n (0, 1) without devices. */
struct rig *hfuzz_rig(unsigned int n);
/* A device with everything but connections; LID 1 or 2. */
void hfuzz_open(struct end *e, struct rig *r, uint16_t lid, bool cable);
/* Addresses by which hfuzz_connect() connects ends with Ethernet ports. */
void hfuzz_addresses(struct end *e, uint16_t lid);
/* Connects the queue pairs of two ends. */
void hfuzz_connect(struct end *a, struct end *b);
#define HFUZZ_QPS 7
/* One of an end's queue pairs. */
struct drv_qp *hfuzz_qp(struct end *e, uint8_t n);
/* Posts a receive or send work request that the input chose. */
void hfuzz_post(struct end *e, struct end *peer, struct input *in, int flags);
/* Nothing that cx.h promises was broken, and the model came to rest. */
void hfuzz_check(struct rig *r);

#endif
