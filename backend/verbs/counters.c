// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Counters of the physical port. They are those of all its users, so a guest has
 * them only if the toolstack says so. Names are read when the HCA is opened,
 * values on every query, from sysfs; the kernel of this domain is trusted. The
 * command thread runs this.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/be.h"
#include "clock.h"
#include "cmd.h"
#include "counters.h"
#include "uverbs/sysfs.h"

struct group {
	uint32_t n;
	char name[XENVHCA_MAX_COUNTERS][XENVHCA_COUNTER_NAME];
};

struct be_counters {
	struct group group[XENVHCA_COUNTER_GROUPS];
};

static const char *const folder[XENVHCA_COUNTER_GROUPS] = {
	[XENVHCA_COUNTERS_PORT] = "counters",
	[XENVHCA_COUNTERS_HW] = "hw_counters",
};

int be_counters_open(struct be_dev *dev)
{
	struct group *g;
	unsigned int i;

	if (!dev->counters_shown)
		return 0;
	dev->counters = calloc(1, sizeof(*dev->counters));
	if (!dev->counters)
		return -ENOMEM;
	for (i = 0; i < XENVHCA_COUNTER_GROUPS; i++) {
		g = &dev->counters->group[i];
		g->n = be_sysfs_counters(dev->hca, dev->port, folder[i], g->name);
	}
	return 0;
}

void be_counters_close(struct be_dev *dev)
{
	free(dev->counters);
	dev->counters = NULL;
}

static const struct group *group_get(const struct be_cmd *c, int *err)
{
	const struct xenvhca_counters_req *r = &c->req->u.counters;
	const struct group *g;

	*err = -EOPNOTSUPP;
	if (!c->dev->counters)
		return NULL;
	*err = -EINVAL;
	if (r->group >= XENVHCA_COUNTER_GROUPS)
		return NULL;
	g = &c->dev->counters->group[r->group];
	return r->first && r->first >= g->n ? NULL : g;
}

int be_query_counter_names(const struct be_cmd *c)
{
	struct xenvhca_query_counter_names_rsp *rsp =
		&c->rsp->u.query_counter_names;
	uint32_t i = c->req->u.counters.first;
	const struct group *g;
	int err;

	g = group_get(c, &err);
	if (!g)
		return err;
	rsp->total = g->n;
	for (; i < g->n && rsp->count < XENVHCA_NAMES_PER_RSP; i++)
		memcpy(rsp->name[rsp->count++], g->name[i], sizeof(g->name[i]));
	return 0;
}

/* Linux tells some only to say that they are not there ("N/A"). */
static bool value_read(const struct be_dev *dev, uint32_t group,
		       const char *name, uint64_t *value)
{
	char text[32], *end;

	if (be_sysfs_read(dev->hca, text, sizeof(text), "ports/%u/%s/%s",
			  dev->port, folder[group], name))
		return false;
	*value = strtoull(text, &end, 10);
	if (end != text && !*end)
		return true;
	*value = 0;
	return false;
}

int be_query_counters(const struct be_cmd *c)
{
	const struct xenvhca_counters_req *r = &c->req->u.counters;
	struct xenvhca_query_counters_rsp *rsp = &c->rsp->u.query_counters;
	const struct group *g;
	uint32_t i;
	int err;

	g = group_get(c, &err);
	if (!g)
		return err;
	for (i = r->first; i < g->n && rsp->count < XENVHCA_COUNTERS_PER_RSP; i++) {
		if (value_read(c->dev, r->group, g->name[i],
			       &rsp->value[rsp->count]))
			rsp->valid |= 1u << rsp->count;
		rsp->count++;
	}
	/* Each was a file: as much work as a command. */
	vl_bucket_charge(&c->dev->quota.cmd, vl_coarse_ns(), rsp->count);
	return 0;
}
