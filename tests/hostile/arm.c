// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * A backend of an mlx5 that arms the guest's CQ itself. By the word that a process
 * writes before it arms, the frontend knows whether the last event was read; the page
 * is granted to the backend, which can write there, too.
 */
#include <errno.h>
#include <sys/mman.h>

#include "lies.h"

#define ARM	1	/* the second word of the record, which starts the page */
#define TURNS	4096

static void let_go(struct peer *b)
{
	if (b->record)
		xengnttab_unmap(b->gnt, b->record, 1);
	b->record = NULL;
}

/* Let go before it is answered that the CQ is gone: this lie breaks no rule of grants. */
bool arm_hold(struct peer *b, const struct xenvhca_request *req,
	      struct xenvhca_response *rsp)
{
	const struct xenvhca_pages *db = &req->u.create_cq.db;

	(void)rsp;
	if (req->op == XENVHCA_OP_DESTROY_CQ)
		let_go(b);
	if (req->op != XENVHCA_OP_CREATE_CQ || db->nr_pages != 1 || db->level)
		return true;
	let_go(b);
	b->record = xengnttab_map_grant_ref(b->gnt, b->domid, db->gref[0],
					    PROT_READ | PROT_WRITE);
	if (!b->record)
		die("cannot map a doorbell record: %s", strerror(errno));
	return true;
}

/* The word changes all the time while the frontend takes the events. */
void arm_flood(struct peer *b)
{
	const struct xenvhca_event ev = { XENVHCA_EVT_COMP, 0, 0, b->cq };
	unsigned int i;

	if (!b->record)
		return;
	peer_pour(b, &ev);
	for (i = 0; i < TURNS; i++) {
		__atomic_add_fetch(&b->record[ARM], 1, __ATOMIC_RELAXED);
		if (__atomic_load_n(&b->evt->cons, __ATOMIC_ACQUIRE) == b->evt_prod)
			break;
	}
}
