// SPDX-License-Identifier: GPL-2.0
/* Copyright (C) 2026 The vhca authors */
/*
 * Queue pairs whose numbers are far from each other: of an HCA whose driver gives numbers
 * out in turn, one in each so many is kept and the others are destroyed. An mlx4's driver
 * keeps memory for all numbers beside one that is used.
 */
#include <errno.h>
#include <stdio.h>

#include "many.h"

#define GROUP_BITS	9	/* of a number: what one keeps the memory of */
#define GROUP		(1u << GROUP_BITS)

static struct ibv_qp *make(struct many *m)
{
	struct ibv_qp_init_attr a = {
		.send_cq = m->cq, .recv_cq = m->cq, .qp_type = IBV_QPT_UC,
		.cap = { 1, 1, 1, 1, 0 },
	};

	return ibv_create_qp(m->dev.pd, &a);
}

int many_spread(struct many *m, int seconds)
{
	uint32_t last = 0;
	struct ibv_qp *qp;
	long kept = 0, made = 0;
	int err = 0;

	m->cq = ibv_create_cq(m->dev.ctx, 1, NULL, NULL, 0);
	if (!m->cq)
		return many_failed("create_cq", errno);
	while (kept < m->n && made < (m->n + 1) * GROUP && !many_over) {
		qp = make(m);
		if (!qp) {
			err = errno;
			break;
		}
		made++;
		if (!kept || qp->qp_num >> GROUP_BITS != last >> GROUP_BITS) {
			last = qp->qp_num;
			kept++;
		} else if (ibv_destroy_qp(qp)) {
			return many_failed("destroy_qp", errno);
		}
	}
	printf("spread kept %ld of %ld made %ld: %s\n", kept, m->n, made, vt_errno(err));
	fflush(stdout);
	if (seconds)
		many_hold(seconds);
	return 0;		/* the kernel destroys what there is */
}
