// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Look-up in the udata tables of the HCAs (provider_<name>.c). Plain C, built
 * into the frontend module and into xen-vhcad, so that both sides agree on
 * which lengths pass. The lengths checked here come from a guest process.
 */
#include "vhca-provider.h"

#ifdef __KERNEL__
#include <linux/errno.h>
#else
#include <errno.h>
#endif

static const struct vhca_provider *const providers[] = {
	&vhca_provider_rxe,
};

const struct vhca_provider *vhca_provider_find(uint32_t driver_id,
					       uint32_t abi)
{
	const struct vhca_provider *p;
	unsigned int i;

	for (i = 0; i < sizeof(providers) / sizeof(providers[0]); i++) {
		p = providers[i];
		if (p->driver_id == driver_id && abi >= p->abi_min &&
		    abi <= p->abi_max)
			return p;
	}
	return NULL;
}

const struct vhca_udata_op *vhca_provider_op(const struct vhca_provider *p,
					     uint8_t op)
{
	const struct vhca_udata_op *row;

	for (row = p->ops; row->op; row++)
		if (row->op == op)
			return row;
	return NULL;
}

uint32_t vhca_provider_outptr(const struct vhca_udata_op *row)
{
	uint32_t sum = 0;
	unsigned int i;

	if (!row)
		return 0;
	for (i = 0; i < VHCA_MAX_FIELDS && row->req[i].kind != VHCA_END; i++)
		if (row->req[i].kind == VHCA_OUTPTR)
			sum += (uint32_t)row->req[i].arg;
	return sum;
}

int vhca_provider_check(const struct vhca_provider *p, uint8_t op,
			uint32_t in_len, uint32_t out_len)
{
	const struct vhca_udata_op *row = vhca_provider_op(p, op);

	if (!row)
		return in_len || out_len ? -EINVAL : 0;
	if (in_len < row->in_min || in_len > row->in_max)
		return -EINVAL;
	if (out_len < row->out_min || out_len > row->out_max)
		return -EINVAL;
	return 0;
}
