// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Lies of hostile-backend about queue memory that the driver of its HCA has: where it
 * is and how much there is of it.
 */
#include "lies.h"

#define GIB	(1u << 30)

/* Grant references that are none, or of the wrong number. */
bool ranges_grefs(struct peer *b, const struct xenvhca_request *req,
		  struct xenvhca_response *rsp)
{
	struct xenvhca_mmap_rsp *m = &rsp->u.mmap;
	uint32_t i, n = (uint32_t)(req->u.mmap.length / PAGE);

	rsp->status = 0;
	m->kind = XENVHCA_MMAP_GRANT;
	m->nr_pages = n;
	m->count = (uint16_t)(n < XENVHCA_MMAP_GREFS ? n : XENVHCA_MMAP_GREFS);
	for (i = 0; i < m->count; i++)
		m->gref[i] = b->told % 2 ? ~0u - i : i;
	switch (b->told % 6) {
	case 2:
		m->count = 0;
		break;
	case 3:
		m->count = 0xffff;
		break;
	case 4:
		m->nr_pages = ~0u;
		break;
	case 5:
		m->kind = 0xff;
		break;
	}
	return true;
}

/* The same in the answer that makes the queue; its length is asked for by MMAP. */
bool ranges_made(struct peer *b, const struct xenvhca_request *req,
		 struct xenvhca_response *rsp)
{
	static const uint16_t count[] = { 1, XENVHCA_MMAP_GREFS, 0xffff, 2 };
	struct xenvhca_made_rsp *m = &rsp->u.made;
	uint32_t i;

	if (!(req->flags & XENVHCA_REQ_RANGES))
		return true;
	m->count[0] = count[b->told % 4];
	m->count[1] = b->told % 3 ? 0 : 0xffff;
	for (i = 0; i < XENVHCA_MMAP_GREFS; i++)
		m->gref[i] = b->told % 2 ? ~0u - i : i;
	return true;
}

/*
 * Each CQ has a queue of 1 GiB, of which every page is answered for: thousands of
 * commands, and a megabyte of references, for each time that the guest believes it.
 */
bool ranges_huge(struct peer *b, const struct xenvhca_request *req,
		 struct xenvhca_response *rsp)
{
	struct xenvhca_mmap_rsp *m = &rsp->u.mmap;
	uint32_t size = GIB, left;

	(void)b;
	if (req->op == XENVHCA_OP_CREATE_CQ)	/* offset and size */
		memcpy(rsp->udata + sizeof(uint64_t), &size, sizeof(size));
	if (req->op != XENVHCA_OP_MMAP)
		return true;
	rsp->status = 0;
	m->kind = XENVHCA_MMAP_GRANT;
	m->nr_pages = (uint32_t)(req->u.mmap.length / PAGE);
	left = m->nr_pages - req->u.mmap.first;
	m->count = (uint16_t)(left < XENVHCA_MMAP_GREFS ? left :
							  XENVHCA_MMAP_GREFS);
	return true;
}
