// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * GID and P_Key tables of the physical port. The kernel is asked on every
 * query, because they change with the network: one system call returns all
 * GIDs, P_Keys come from sysfs. Indices are the physical ones, so that a source
 * GID index needs no translation. The command thread runs this.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "be.h"
#include "clock.h"
#include "cmd.h"
#include "uverbs/sysfs.h"
#include "uverbs/uverbs.h"
#include "vhca-provider.h"

static void gids_answer(const struct be_cmd *c,
			const struct ib_uverbs_gid_entry *gid, uint64_t n)
{
	struct xenvhca_query_gid_table_rsp *rsp = &c->rsp->u.query_gid_table;
	uint32_t first = c->req->u.query_gid_table.first;
	struct xenvhca_gid *out;

	for (; n; n--, gid++) {
		if (gid->port_num != c->dev->port || gid->gid_index < first ||
		    gid->gid_index >= c->dev->gid_tbl_len ||
		    gid->gid_index > UINT16_MAX)
			continue;
		if (rsp->count == XENVHCA_GIDS_PER_RSP) {
			rsp->next = gid->gid_index;
			break;
		}
		out = &rsp->gid[rsp->count++];
		memcpy(out->gid, gid->gid, sizeof(out->gid));
		out->index = (uint16_t)gid->gid_index;
		out->type = (uint8_t)gid->gid_type;
	}
}

int be_query_gid_table(const struct be_cmd *c)
{
	const struct xenvhca_query_gid_table_req *r =
		&c->req->u.query_gid_table;
	struct ib_uverbs_gid_entry *gid;
	uint64_t n = 0;
	int err;

	if (r->reserved || (r->first && r->first >= c->dev->gid_tbl_len))
		return -EINVAL;
	gid = calloc(UV_GIDS, sizeof(*gid));
	if (!gid)
		return -ENOMEM;
	err = uv_query_gid_table(c->dev->ctl_fd, c->dev->prov->driver_id, gid,
				 &n);
	if (!err)
		gids_answer(c, gid, n);
	free(gid);
	return err;
}

int be_query_pkey_table(const struct be_cmd *c)
{
	const struct xenvhca_query_pkey_table_req *r =
		&c->req->u.query_pkey_table;
	struct xenvhca_query_pkey_table_rsp *rsp =
		&c->rsp->u.query_pkey_table;
	uint32_t i, len = c->dev->pkey_tbl_len;
	char text[32];
	int err;

	if (r->reserved || (r->first && r->first >= len))
		return -EINVAL;
	for (i = r->first; i < len && rsp->count < XENVHCA_PKEYS_PER_RSP; i++) {
		err = be_sysfs_read(c->dev->hca, text, sizeof(text),
				    "ports/%u/pkeys/%u", c->dev->port, i);
		if (err)
			return err;
		rsp->pkey[rsp->count++] = (uint16_t)strtoul(text, NULL, 16);
	}
	/* Each was a file: as much work as a command. */
	vl_bucket_charge(&c->dev->quota.cmd, vl_coarse_ns(), rsp->count);
	return 0;
}
