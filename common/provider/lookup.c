// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Look-up in the udata tables of the HCAs (<name>.c). This is plain C, built
 * into the frontend module and into xen-vhcad, so that both sides agree on
 * which lengths pass. The numbers checked here come from a guest process.
 */
#include "vhca-provider.h"

#ifdef __KERNEL__
#include <linux/errno.h>
#include <linux/string.h>
#else
#include <errno.h>
#include <string.h>
#endif

#include <rdma/ib_user_ioctl_verbs.h>
#include <xen/io/vhcaif.h>

#define ROW(name) &vhca_provider_##name,
static const struct vhca_provider *const providers[] = {
	VHCA_PROVIDERS(ROW)
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

const struct vhca_field *vhca_provider_uars(const struct vhca_provider *p)
{
	const struct vhca_udata_op *row;
	unsigned int i;

	row = vhca_provider_op(p, XENVHCA_OP_ALLOC_UCONTEXT);
	for (i = 0; row && i < VHCA_MAX_FIELDS; i++)
		if (row->req[i].kind == VHCA_UARS)
			return &row->req[i];
	return NULL;
}

/* Beside entries: a head for each queue, a doorbell record, parts of pages. */
#define SPARE_PAGES	4

uint32_t vhca_provider_entries(uint32_t max, uint32_t len, uint64_t pages)
{
	uint64_t room = pages > SPARE_PAGES ?
			(pages - SPARE_PAGES) * XENVHCA_PAGE_SIZE : 0;
	uint64_t slots = 2;	/* a power of two, one of which stays empty */

	while (slots <= max && 2 * slots * len <= room)
		slots *= 2;
	return slots > max ? max : (uint32_t)slots - 1;
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
	if (row->or_none && !in_len && !out_len)
		return 0;
	if (in_len < row->in_min || in_len > row->in_max)
		return -EINVAL;
	if (out_len < row->out_min || out_len > row->out_max)
		return -EINVAL;
	return 0;
}

int vhca_provider_check_req(const struct vhca_provider *p,
			    const struct xenvhca_request *req)
{
	if (req->op == XENVHCA_OP_CREATE_QP &&
	    req->u.create_qp.qp_type == IB_UVERBS_QPT_XRC_TGT)
		return req->in_len || req->out_len ? -EINVAL : 0;
	return vhca_provider_check(p, req->op, req->in_len, req->out_len);
}

int vhca_provider_check_zero(const struct vhca_udata_op *row,
			     const struct xenvhca_request *req)
{
	const struct vhca_field *f;
	unsigned int i;

	for (i = 0; row && i < VHCA_MAX_FIELDS; i++) {
		f = &row->req[i];
		if (f->kind == VHCA_ZERO && f->off + f->len <= req->in_len &&
		    vhca_len_num(req, f->off, f->len) & f->arg)
			return -EINVAL;
	}
	return 0;
}

static uint32_t number(const uint8_t *at, uint8_t size)
{
	uint32_t v = 0;

	memcpy(&v, at, size);	/* little-endian */
	return v;
}

const struct vhca_field *vhca_provider_differs(const struct vhca_udata_op *row,
					       const uint8_t *answer, uint32_t len)
{
	const struct vhca_field *f;
	unsigned int i;

	for (i = 0; row && i < VHCA_MAX_FIELDS; i++) {
		f = &row->rsp[i];
		if (f->kind == VHCA_IS && (f->off + f->len > len ||
					   number(answer + f->off, f->len) != f->arg))
			return f;
	}
	return NULL;
}

/* ---- length of queue memory ---- */

uint32_t vhca_len_num(const struct xenvhca_request *req, uint16_t off,
		      uint8_t size)
{
	return number(req->udata + off, size);
}

uint64_t vhca_len_pow2(uint64_t v)
{
	uint64_t p = 1;

	while (p < v)
		p <<= 1;
	return p;
}

int vhca_len_mul(uint64_t count, uint64_t size, uint64_t *len)
{
	/* Below 2^31 each, so the product fits. */
	if (count > VHCA_BUF_LIMIT || size > VHCA_BUF_LIMIT ||
	    count * size > VHCA_BUF_LIMIT)
		return -EINVAL;
	*len = count * size;
	return 0;
}

int vhca_len_shl(uint64_t count, uint32_t shift, uint64_t *len)
{
	return shift > 30 ? -EINVAL : vhca_len_mul(count, 1ull << shift, len);
}

int vhca_len_add(uint64_t more, uint64_t *len)
{
	if (more > VHCA_BUF_LIMIT || *len > VHCA_BUF_LIMIT - more)
		return -EINVAL;
	*len += more;
	return 0;
}

/* ---- mmap offsets ---- */

const struct vhca_mmap *vhca_provider_mmap(const struct vhca_provider *p,
					   uint64_t offset)
{
	const struct vhca_mmap *m = p->mmaps;
	uint64_t pgoff = offset / XENVHCA_PAGE_SIZE;

	if (offset % XENVHCA_PAGE_SIZE)
		return NULL;
	for (; m && m->kind != VHCA_MMAP_END; m++)
		if ((pgoff & ~(uint64_t)m->index) == m->pgoff)
			return m;
	return NULL;
}

int vhca_provider_mmap_check(const struct vhca_mmap *m, uint64_t length)
{
	if (m->kind != VHCA_MMAP_MMIO)
		return -EOPNOTSUPP;
	return length == XENVHCA_PAGE_SIZE ? 0 : -EINVAL;
}

bool vhca_provider_mmap_prot(const struct vhca_mmap *m, uint8_t prot)
{
	return prot == m->prot || prot == XENVHCA_PROT_NC;
}
