// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * GID and P_Key tables of the physical port, read from sysfs on every query,
 * as they change with the network. Indices are the physical ones, so that a
 * source GID index needs no translation. Command thread.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "obj.h"
#include "sysfs.h"

#define GID_TYPE_IB	0
#define GID_TYPE_ROCE_1	1
#define GID_TYPE_ROCE_2	2

/* "fe80:0000:...:0001", always eight groups of four digits */
static bool gid_parse(const char *text, uint8_t gid[16])
{
	static const uint8_t zero[16];
	unsigned int g[8], i;

	if (sscanf(text, "%4x:%4x:%4x:%4x:%4x:%4x:%4x:%4x", &g[0], &g[1],
		   &g[2], &g[3], &g[4], &g[5], &g[6], &g[7]) != 8)
		return false;
	for (i = 0; i < 8; i++) {
		gid[2 * i] = (uint8_t)(g[i] >> 8);
		gid[2 * i + 1] = (uint8_t)g[i];
	}
	return memcmp(gid, zero, sizeof(zero)) != 0;
}

static bool gid_read(const struct be_dev *dev, uint32_t index,
		     struct xenvhca_gid *out)
{
	char text[64];

	if (be_sysfs_read(dev->hca, text, sizeof(text), "ports/%u/gids/%u",
			  dev->port, index))
		return false;
	if (!gid_parse(text, out->gid))
		return false;
	out->index = (uint16_t)index;
	out->type = GID_TYPE_IB;
	if (!dev->ethernet)
		return true;
	if (be_sysfs_read(dev->hca, text, sizeof(text),
			  "ports/%u/gid_attrs/types/%u", dev->port, index))
		return false;		/* empty slot */
	out->type = strstr(text, "v2") ? GID_TYPE_ROCE_2 : GID_TYPE_ROCE_1;
	return true;
}

int be_query_gid_table(const struct be_cmd *c)
{
	const struct xenvhca_query_gid_table_req *r =
		&c->req->u.query_gid_table;
	struct xenvhca_query_gid_table_rsp *rsp = &c->rsp->u.query_gid_table;
	struct xenvhca_gid gid;
	uint32_t i;

	if (r->reserved || (r->first && r->first >= c->dev->gid_tbl_len))
		return -EINVAL;
	for (i = r->first; i < c->dev->gid_tbl_len && i <= UINT16_MAX; i++) {
		gid = (struct xenvhca_gid){};
		if (!gid_read(c->dev, i, &gid))
			continue;
		if (rsp->count == XENVHCA_GIDS_PER_RSP) {
			rsp->next = i;
			break;
		}
		rsp->gid[rsp->count++] = gid;
	}
	return 0;
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
	for (i = r->first; i < len; i++) {
		if (rsp->count == XENVHCA_PKEYS_PER_RSP) {
			rsp->next = i;
			break;
		}
		err = be_sysfs_read(c->dev->hca, text, sizeof(text),
				    "ports/%u/pkeys/%u", c->dev->port, i);
		if (err)
			return err;
		rsp->pkey[rsp->count++] = (uint16_t)strtoul(text, NULL, 16);
	}
	return 0;
}
