// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Address handles. The kernel of this domain, which has the HCA's network,
 * finds the Ethernet address of a RoCE peer. It waits a second for one that nobody
 * has, so a job thread asks for it (jobs.h); the command thread runs the rest.
 */
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "jobs.h"
#include "object.h"
#include "shadow.h"
#include "tables.h"
#include "ucontext.h"
#include "udata.h"

static bool is_sound(const struct xenvhca_ah_attr *ah)
{
	static const uint8_t zero[sizeof(ah->reserved)];

	return !memcmp(ah->reserved, zero, sizeof(zero)) && ah->port_num == 1 &&
	       ah->is_global <= 1;
}

int be_ah_check(const struct be_dev *dev, const struct xenvhca_ah_attr *ah)
{
	if (!is_sound(ah))
		return -EINVAL;
	return ah->is_global ? be_gid_check(dev, ah->sgid_index) : 0;
}

int be_ah_to_host(const struct be_dev *dev, struct xenvhca_ah_attr *ah)
{
	if (!is_sound(ah))
		return -EINVAL;
	return ah->is_global ? be_gid_to_host(dev, &ah->sgid_index) : 0;
}

/* A datagram of an mlx5 carries the index that the process wrote, whatever the handle has. */
static int handle_to_host(const struct be_dev *dev, struct xenvhca_ah_attr *ah)
{
	return dev->prov->trusts ? be_ah_to_host(dev, ah) : be_ah_check(dev, ah);
}

/* An IPv4 address is in the last octets. */
static bool is_multicast(const uint8_t gid[16])
{
	struct in6_addr a;

	memcpy(&a, gid, sizeof(a));
	return IN6_IS_ADDR_MULTICAST(&a) ||
	       (IN6_IS_ADDR_V4MAPPED(&a) &&
		IN_MULTICAST(ntohl(a.s6_addr32[3])));
}

bool be_ah_waits(const struct be_dev *dev, const struct xenvhca_ah_attr *ah)
{
	return dev->ethernet && ah->is_global && !is_multicast(ah->dgid);
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

/* A handle on its way. */
struct ah_job {
	struct be_job job;
	struct be_ah *ah;
	struct be_pd *pd;
	struct xenvhca_ah_attr attr;
	struct be_udata u;
	uint32_t host;
};

static int ah_create(struct be_dev *dev, struct be_job *job)
{
	struct ah_job *j = (struct ah_job *)job;
	struct ib_uverbs_ah_attr attr = ah_to_host(dev, &j->attr);

	return uv_create_ah(job->uc->file->fd, j->pd->o.host, j->ah->o.handle, &attr,
			    &j->u.uv, &j->host);
}

static int ah_enter(const struct be_cmd *c, struct ah_job *j)
{
	struct be_ah *ah = j->ah;
	int err = be_obj_made(c, &j->u, &ah->o, BE_AH, j->host, j->job.err);

	if (err)
		return err;
	c->rsp->u.handle.handle = ah->o.handle;
	err = be_ah_check(c->dev, &j->attr);
	if (err) {	/* the entry has become another's meanwhile */
		be_obj_destroy(c->dev, &ah->o);
		return err;
	}
	ah->num = j->u.ah_num;
	ah->pd = j->pd->o.handle;
	if (ah->num)
		be_ah_number_add(c->dev, ah);
	return 0;
}

static int ah_created(const struct be_cmd *c, struct be_job *job)
{
	struct ah_job *j = (struct ah_job *)job;
	int err;

	j->pd->jobs--;
	err = ah_enter(c, j);
	free(j);
	return err;
}

int be_create_ah(const struct be_cmd *c)
{
	const struct xenvhca_create_ah_req *r = &c->req->u.create_ah;
	struct xenvhca_ah_attr attr = r->attr;
	struct ah_job *j;
	int err = r->reserved ? -EINVAL : handle_to_host(c->dev, &attr);

	if (err)
		return err;
	j = calloc(1, sizeof(*j));
	if (!j)
		return -ENOMEM;
	j->attr = attr;
	j->pd = be_handle_get(c->dev->handles, r->pd, BE_PD, c->uc);
	err = j->pd ? be_udata_begin(&j->u, c, NULL, NULL) : -ENOENT;
	if (!err)
		j->ah = be_obj_new(c, BE_AH, sizeof(*j->ah), &err);
	if (err) {
		free(j);
		return err;
	}
	j->job.line = &c->uc->line;
	j->job.drops = true;
	j->job.run = ah_create;
	j->job.end = ah_created;
	j->pd->jobs++;
	return be_job_do(c, &j->job, be_ah_waits(c->dev, &r->attr));
}

/*
 * Of each queue pair with a queued request that names the handle the driver
 * will print lines, as for a command that it refuses.
 */
static int ah_end(struct be_dev *dev, struct be_obj *obj)
{
	struct be_ah *ah = (struct be_ah *)obj;
	int err;

	be_ah_number_del(dev, ah);
	if (ah->num)
		be_quota_failed(&dev->quota, be_shadow_names_ah(dev, ah->num));
	err = uv_destroy_ah(obj->uc->file->fd, obj->host);
	if (err && ah->num)
		be_ah_number_add(dev, ah);
	return err;
}

static void ah_release(struct be_dev *dev, struct be_obj *obj)
{
	be_ah_number_del(dev, (struct be_ah *)obj);
}

const struct be_kind be_kind_ah = { .end = ah_end, .release = ah_release };
