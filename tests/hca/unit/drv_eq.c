// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Event queues of the small driver: owner bit and doorbells as in
 * mlx5_core's lib/eq.h. See drv.h.
 */
#include <stdlib.h>
#include <string.h>

#include "drv.h"

int drv_eq_create(struct drv *v, struct drv_eq *eq, uint8_t log_size,
		  uint8_t vector, uint64_t mask)
{
	size_t bytes = 64UL << log_size, nr = (bytes + 4095) / 4096, i;
	uint8_t out[CX_BYTES(create_eq_out)], *in, *eqc;
	int ret = DRV_LOST;

	memset(eq, 0, sizeof(*eq));
	eq->log_size = log_size;
	eq->vector = vector;
	eq->uar = v->uar;
	eq->e = rig_alloc(v->rig, bytes);
	in = calloc(1, CX_BYTES(create_eq_in) + 8 * nr);
	if (!in || !eq->e)
		goto out;
	for (i = 0; i < 1U << log_size; i++)
		eq->e[i].owner = 1;
	CX_SET(create_eq_in, in, opcode, MLX5_CMD_OP_CREATE_EQ);
	CX_SET64(create_eq_in, in, event_bitmask, mask);
	eqc = CX_ADDR(create_eq_in, in, eq_context_entry);
	CX_SET(eqc, eqc, log_eq_size, log_size);
	CX_SET(eqc, eqc, uar_page, eq->uar);
	CX_SET(eqc, eqc, intr, vector);
	drv_pas(v, CX_ADDR(create_eq_in, in, pas), eq->e, bytes);
	ret = drv_exec(v, in, CX_BYTES(create_eq_in) + 8 * nr, out,
		       sizeof(out));
	eq->eqn = CX_GET(create_eq_out, out, eq_number);
	if (!ret)
		drv_eq_update(v, eq, true);
out:
	free(in);
	return ret;
}

int drv_eq_destroy(struct drv *v, struct drv_eq *eq)
{
	return drv_simple(v, MLX5_CMD_OP_DESTROY_EQ, eq->eqn, NULL);
}

const struct drv_eqe *drv_eq_next(struct drv_eq *eq)
{
	const struct drv_eqe *e;

	if (!eq->e)
		return NULL;
	e = &eq->e[eq->ci & ((1U << eq->log_size) - 1)];
	if ((e->owner ^ eq->ci >> eq->log_size) & 1)
		return NULL;
	eq->ci++;
	return e;
}

void drv_eq_update(struct drv *v, struct drv_eq *eq, bool arm)
{
	rig_write32(v->dev, (uint64_t)eq->uar * 4096 + (arm ? 0x40 : 0x48),
		    (eq->ci & 0xffffff) | eq->eqn << 24);
}

const struct drv_eqe *drv_event(struct drv *v, struct drv_eq *eq, uint8_t type,
				unsigned int *n)
{
	const struct drv_eqe *e, *last = NULL;
	unsigned int nr = 0;

	while ((e = drv_eq_next(eq)))
		if (e->type == type) {
			last = e;
			nr++;
		}
	drv_eq_update(v, eq, true);
	if (n)
		*n = nr;
	return last;
}

uint32_t drv_event_qpn(const struct drv_eqe *e)
{
	/* struct mlx5_eqe_qp_srq */
	return e ? e->data[25] << 16 | e->data[26] << 8 | e->data[27] : 0;
}
