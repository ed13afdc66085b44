// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * GID and P_Key tables of the physical port. The kernel is asked on every
 * query, because they change with the network: one system call returns all
 * GIDs, P_Keys come from sysfs. The command thread runs this.
 *
 * Of an Ethernet port a vhca with addresses of its own has their GIDs only, at
 * the physical indices: a work request of some HCAs carries a source GID index,
 * so none can be translated. Only index 0, which programs use by default, has the
 * first GID as well, for the commands that name an index. GIDs of an InfiniBand port
 * are the port's. P_Keys of its own are at indices of its own, so that index 0 works.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/be.h"
#include "clock.h"
#include "cmd.h"
#include "tables.h"
#include "uverbs/sysfs.h"
#include "uverbs/uverbs.h"
#include "vhca-provider.h"

#define PKEY_MEMBER	0x8000		/* full membership */

bool be_gids_own(const struct be_dev *dev)
{
	return dev->ethernet && be_addr_given(dev);
}

bool be_pkeys_own(const struct be_dev *dev)
{
	return dev->addr.n_pkeys != 0;
}

uint32_t be_pkey_count(const struct be_dev *dev)
{
	return be_pkeys_own(dev) ? dev->addr.n_pkeys : dev->pkey_tbl_len;
}

int be_gid_check(const struct be_dev *dev, uint32_t index)
{
	struct ib_uverbs_gid_entry gid = {};
	int err;

	if (index >= dev->gid_tbl_len)
		return -EINVAL;
	if (!be_gids_own(dev))
		return 0;
	err = uv_query_gid_entry(dev->ctl_fd, dev->prov->driver_id, dev->port,
				 index, &gid);
	if (err)
		return err;
	return be_addr_gid(dev, gid.gid) ? 0 : -ENODATA;
}

/* Is it an entry of the guest's table? */
static bool gid_shown(const struct be_dev *dev,
		      const struct ib_uverbs_gid_entry *gid)
{
	return gid->port_num == dev->port && gid->gid_index < dev->gid_tbl_len &&
	       gid->gid_index <= UINT16_MAX &&
	       (!be_gids_own(dev) || be_addr_gid(dev, gid->gid));
}

int be_gid_to_host(const struct be_dev *dev, uint8_t *index)
{
	struct ib_uverbs_gid_entry *gid;
	uint64_t n = 0, i;
	int err = be_gid_check(dev, *index);

	if (err != -ENODATA || *index)
		return err;
	gid = calloc(UV_GIDS, sizeof(*gid));
	if (!gid)
		return -ENOMEM;
	err = uv_query_gid_table(dev->ctl_fd, dev->prov->driver_id, gid, &n);
	for (i = 0; i < n && !gid_shown(dev, &gid[i]); i++)
		;
	if (!err && (i == n || gid[i].gid_index > UINT8_MAX))
		err = -ENODATA;
	if (!err)
		*index = (uint8_t)gid[i].gid_index;
	free(gid);
	return err;
}

static void gid_add(struct xenvhca_query_gid_table_rsp *rsp, uint32_t index,
		    const struct ib_uverbs_gid_entry *gid)
{
	struct xenvhca_gid *out = &rsp->gid[rsp->count++];

	memcpy(out->gid, gid->gid, sizeof(out->gid));
	out->index = (uint16_t)index;
	out->type = (uint8_t)gid->gid_type;
}

static void gids_answer(const struct be_cmd *c,
			const struct ib_uverbs_gid_entry *gid, uint64_t n)
{
	struct xenvhca_query_gid_table_rsp *rsp = &c->rsp->u.query_gid_table;
	uint32_t first = c->req->u.query_gid_table.first;

	for (; n; n--, gid++) {
		if (gid->gid_index < first || !gid_shown(c->dev, gid))
			continue;
		if (rsp->count == XENVHCA_GIDS_PER_RSP) {
			rsp->next = gid->gid_index;
			break;
		}
		if (!first && !rsp->count && gid->gid_index &&
		    be_gids_own(c->dev))
			gid_add(rsp, 0, gid);
		gid_add(rsp, gid->gid_index, gid);
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

/* FNV-1a, of what is the guest's. */
static uint64_t gids_sum(const struct be_dev *dev,
			 const struct ib_uverbs_gid_entry *gid, uint64_t n)
{
	uint64_t sum = 0xcbf29ce484222325ull;
	const uint8_t *p;

	for (; n; n--, gid++) {
		if (gid->port_num != dev->port || !be_addr_gid(dev, gid->gid))
			continue;
		for (p = (const void *)gid; p < (const uint8_t *)(gid + 1); p++)
			sum = (sum ^ *p) * 0x100000001b3ull;
	}
	return sum;
}

bool be_gids_changed(struct be_dev *dev)
{
	struct ib_uverbs_gid_entry *gid;
	uint64_t n = 0, sum = 0;

	if (!be_gids_own(dev))
		return true;
	gid = calloc(UV_GIDS, sizeof(*gid));
	if (gid && !uv_query_gid_table(dev->ctl_fd, dev->prov->driver_id, gid,
				       &n))
		sum = gids_sum(dev, gid, n);
	free(gid);
	if (sum && sum == dev->addr.gids_seen)
		return false;
	dev->addr.gids_seen = sum;
	return true;
}

static int pkey_read(const struct be_dev *dev, uint32_t host, uint16_t *pkey)
{
	char text[32];
	int err = be_sysfs_read(dev->hca, text, sizeof(text),
				"ports/%u/pkeys/%u", dev->port, host);

	*pkey = err ? 0 : (uint16_t)strtoul(text, NULL, 16);
	return err;
}

/* Is it what the guest has at that index of its own? */
static bool pkey_is(const struct be_dev *dev, uint32_t index, uint16_t pkey)
{
	uint16_t any = dev->addr.default_pkey ? PKEY_MEMBER : 0;

	return pkey && (pkey | any) == (dev->addr.pkey[index] | any);
}

/*
 * The subnet manager seldom moves a P_Key: where it was is read first. To search
 * the table is as much work as a command for each entry that is read.
 */
static int pkey_find(struct be_dev *dev, uint32_t index, uint16_t *host,
		     uint16_t *pkey)
{
	uint16_t *at = &dev->addr.pkey_at[index];
	uint32_t i;

	if (!pkey_read(dev, *at, pkey) && pkey_is(dev, index, *pkey)) {
		*host = *at;
		return 0;
	}
	for (i = 0; i < dev->pkey_tbl_len; i++)
		if (!pkey_read(dev, i, pkey) && pkey_is(dev, index, *pkey))
			break;
	vl_bucket_charge(&dev->quota.cmd, vl_coarse_ns(), i);
	if (i == dev->pkey_tbl_len) {
		*pkey = 0;
		return -EINVAL;
	}
	*host = *at = (uint16_t)i;
	return 0;
}

int be_pkey_to_host(struct be_dev *dev, uint16_t index, uint16_t *host)
{
	uint16_t pkey;

	*host = index;
	if (!be_pkeys_own(dev))
		return 0;
	if (index >= dev->addr.n_pkeys)
		return -EINVAL;
	return pkey_find(dev, index, host, &pkey);
}

int be_pkey_find(const struct be_dev *dev, uint16_t host, uint16_t *index)
{
	uint16_t pkey, i;

	*index = host;
	if (!be_pkeys_own(dev))
		return 0;
	pkey_read(dev, host, &pkey);
	for (i = 0; i < dev->addr.n_pkeys; i++) {
		*index = i;
		if (pkey_is(dev, i, pkey))
			return 0;
	}
	return -ENOENT;
}

/* Has the port that P_Key? */
static bool pkey_there(const struct be_dev *dev, uint16_t pkey)
{
	uint16_t is;
	uint32_t i;

	for (i = 0; i < dev->pkey_tbl_len; i++)
		if (!pkey_read(dev, i, &is) && is == pkey)
			return true;
	return false;
}

bool be_pkey_member(const struct be_dev *dev, uint16_t pkey)
{
	uint16_t full = pkey | PKEY_MEMBER, i;

	if (!be_pkeys_own(dev))
		return true;
	for (i = 0; i < dev->addr.n_pkeys; i++)
		if (pkey_is(dev, i, full))
			return true;
	for (i = 0; i < dev->addr.n_pkeys; i++)
		if (pkey_is(dev, i, pkey & ~PKEY_MEMBER))
			return !pkey_there(dev, full);
	return false;
}

uint16_t be_pkey_from_host(const struct be_dev *dev, uint16_t host)
{
	uint16_t index;

	return be_pkey_find(dev, host, &index) ? 0 : index;
}

int be_query_pkey_table(const struct be_cmd *c)
{
	const struct xenvhca_query_pkey_table_req *r =
		&c->req->u.query_pkey_table;
	struct xenvhca_query_pkey_table_rsp *rsp =
		&c->rsp->u.query_pkey_table;
	uint32_t i, len = be_pkey_count(c->dev);
	uint16_t host;
	int err = 0;

	if (r->reserved || (r->first && r->first >= len))
		return -EINVAL;
	for (i = r->first; i < len && rsp->count < XENVHCA_PKEYS_PER_RSP; i++) {
		if (be_pkeys_own(c->dev))
			pkey_find(c->dev, i, &host, &rsp->pkey[rsp->count]);
		else
			err = pkey_read(c->dev, i, &rsp->pkey[rsp->count]);
		if (err)
			return err;
		rsp->count++;
	}
	/* Each was a file: as much work as a command. */
	vl_bucket_charge(&c->dev->quota.cmd, vl_coarse_ns(), rsp->count);
	return 0;
}
