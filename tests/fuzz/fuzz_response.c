// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The frontend's checks of what a backend sends: what passes must be safe to
 * use as the frontend uses it.
 */
#include <stdlib.h>

#include "frontend/ring/check.h"
#include "fuzz.h"

static void use_response(const struct xenvhca_response *rsp, struct input *in)
{
	struct xenvhca_request req = { .op = rsp->op };
	uint8_t udata[XENVHCA_UDATA_SIZE];

	if (vhca_check_rsp_id(rsp))
		return;
	PROMISE(rsp->id < XENVHCA_MAX_ID);
	req.out_len = in_u16(in) % (XENVHCA_UDATA_SIZE + 1);
	if (!vhca_check_rsp(rsp, in_u8(in) % 4 ? &req : NULL)) {
		PROMISE(rsp->out_len <= req.out_len);
		memcpy(udata, rsp->udata, rsp->out_len);
	}
	PROMISE(vhca_check_status(rsp->op, rsp->status) <= 0);
	PROMISE(vhca_check_status(rsp->op, rsp->status) > -512);
}

static void use_lists(struct xenvhca_response *rsp, struct input *in)
{
	uint32_t first = in_u16(in), n = in_u16(in), end = 0, i, sum = 0;
	bool *seen = calloc(1u << 16, 1);

	PROMISE(seen);
	if (vhca_check_mmap(&rsp->u.mmap, first, n))
		for (i = 0; i < rsp->u.mmap.count; i++) {
			PROMISE(first + i < n);
			sum += rsp->u.mmap.gref[i];
		}
	if (vhca_check_made(&rsp->u.made, first % XENVHCA_MADE_RANGES, n, &end)) {
		PROMISE(rsp->u.made.count[first % XENVHCA_MADE_RANGES] <= n);
		for (i = 0; i < rsp->u.made.count[first % XENVHCA_MADE_RANGES];
		     i++)
			sum += rsp->u.made.gref[end + i];
	}
	if (vhca_check_mmio(&rsp->u.mmap)) {
		/* the frontend makes an address and a page table entry of it */
		PROMISE(rsp->u.mmap.frame <= (~0ull >> 12 & ~0ull >> 24));
		PROMISE(!vhca_check_mmap(&rsp->u.mmap, first, n));
	}
	if (vhca_check_gids(&rsp->u.query_gid_table, first, 1024, &end))
		for (i = 0; i < rsp->u.query_gid_table.count; i++) {
			struct xenvhca_gid *g = &rsp->u.query_gid_table.gid[i];

			PROMISE(g->index >= first && g->index < end &&
				end <= 1024 && !seen[g->index]);
			seen[g->index] = true;
		}
	if (vhca_check_pkeys(&rsp->u.query_pkey_table))
		for (i = 0; i < rsp->u.query_pkey_table.count; i++)
			sum += rsp->u.query_pkey_table.pkey[i];
	free(seen);
	PROMISE(sum || !sum);
}

static void use_info(struct xenvhca_get_info_rsp *info)
{
	if (!vhca_check_info(info))
		return;
	PROMISE(strlen(info->hca) < XENVHCA_NAME_LEN);
	PROMISE(strlen(info->fw) < sizeof(info->fw));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };
	struct xenvhca_response rsp;
	struct xenvhca_event ev;
	uint32_t prod, cons, sent;

	prod = in_u32(&in);
	cons = in_u32(&in);
	sent = cons + in_u16(&in) % 129;
	if (!vhca_check_rsp_prod(prod, cons, sent))
		PROMISE(prod - cons <= 128);
	if (!vhca_check_evt_prod(prod, cons))
		PROMISE(prod - cons <= XENVHCA_EVT_ENTRIES);
	if (!vhca_check_kick_cons(cons, prod))
		PROMISE(prod - cons <= XENVHCA_KICK_ENTRIES);
	in_bytes(&in, &ev, sizeof(ev));
	if (vhca_check_event(&ev))
		PROMISE(ev.type && ev.type <= XENVHCA_EVT_UMAD &&
			ev.event < 19);
	in_bytes(&in, &rsp, sizeof(rsp));
	use_response(&rsp, &in);
	use_lists(&rsp, &in);
	use_info(&rsp.u.get_info);
	if (vhca_check_cqe(prod, sent))
		PROMISE((int32_t)prod >= 0 && prod >= sent);
	if (vhca_check_qp(&rsp.u.query_qp.attr))
		PROMISE(rsp.u.query_qp.attr.qp_state <= 6);
	return 0;
}
