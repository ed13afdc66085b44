// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Address handles. The kernel of this domain, which has the HCA's network,
 * finds the Ethernet address of a RoCE peer. The command thread runs this.
 */
#include <errno.h>
#include <string.h>

#include "object.h"
#include "pd.h"
#include "ucontext.h"
#include "udata.h"

int be_ah_check(const struct be_dev *dev, const struct xenvhca_ah_attr *ah)
{
	static const uint8_t zero[sizeof(ah->reserved)];

	if (memcmp(ah->reserved, zero, sizeof(zero)))
		return -EINVAL;
	if (ah->port_num != 1 || ah->is_global > 1)
		return -EINVAL;
	if (ah->is_global && ah->sgid_index >= dev->gid_tbl_len)
		return -EINVAL;
	return 0;
}

static struct ib_uverbs_ah_attr ah_to_host(const struct be_dev *dev,
					   const struct xenvhca_ah_attr *ah)
{
	struct ib_uverbs_ah_attr a = {
		.grh = {
			.flow_label = ah->flow_label,
			.sgid_index = ah->sgid_index,
			.hop_limit = ah->hop_limit,
			.traffic_class = ah->traffic_class,
		},
		.dlid = ah->dlid, .sl = ah->sl,
		.src_path_bits = ah->src_path_bits,
		.static_rate = ah->static_rate, .is_global = ah->is_global,
		.port_num = dev->port,
	};

	memcpy(a.grh.dgid, ah->dgid, sizeof(a.grh.dgid));
	return a;
}

int be_create_ah(const struct be_cmd *c)
{
	const struct xenvhca_create_ah_req *r = &c->req->u.create_ah;
	struct ib_uverbs_ah_attr attr;
	struct be_udata u;
	struct be_obj *pd;
	struct be_ah *ah;
	uint32_t host;
	int err = r->reserved ? -EINVAL : be_ah_check(c->dev, &r->attr);

	if (err)
		return err;
	pd = be_obj_get(c, r->pd, BE_PD, &err);
	if (!pd)
		return err;
	ah = be_obj_new(c->dev, BE_AH, sizeof(*ah), &err);
	if (!ah)
		return err;
	attr = ah_to_host(c->dev, &r->attr);
	err = be_udata_begin(&u, c, NULL, NULL);
	if (!err)
		err = uv_create_ah(c->uc->fd, pd->host, ah->o.handle, &attr,
				   &u.uv, &host);
	if (err) {
		be_obj_free(c->dev, &ah->o, BE_AH);
		return err;
	}
	be_obj_publish(c->dev, &ah->o, BE_AH, c->uc, host);
	c->rsp->u.handle.handle = ah->o.handle;
	err = be_udata_end(&u, c, ah->o.handle);
	if (err)
		be_obj_destroy(c->dev, &ah->o);
	return err;
}

static int ah_end(const struct be_dev *dev, const struct be_obj *ah)
{
	(void)dev;
	return uv_destroy_ah(ah->uc->fd, ah->host);
}

const struct be_kind be_kind_ah = { .end = ah_end };

int be_destroy_ah(const struct be_cmd *c)
{
	return be_destroy(c, BE_AH);
}
