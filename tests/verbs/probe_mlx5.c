// SPDX-License-Identifier: GPL-2.0
/* Copyright (C) 2026 The vhca authors */
/*
 * vhca-probe, verbs of the mlx5 provider alone: private methods of the driver
 * and what is read from pages of the device. A guest has none of them; it must
 * be told so by the error of a kernel that has none either, which is what
 * programs look for. Prints nothing for other HCAs.
 */
#include <errno.h>
#include <infiniband/mlx5dv.h>
#include <stdio.h>

#include "probe.h"

#define BAD_PORT	9

/* Contexts whose processes may make objects of the firmware's. */
static void probe_devx(struct probe *p)
{
	struct mlx5dv_context_attr a = { .flags = MLX5DV_CONTEXT_FLAGS_DEVX };
	struct ibv_context *ctx;

	ctx = mlx5dv_open_device(p->ctx->device, &a);
	pr("mlx5.open_device.devx", ep(ctx));
	if (ctx)
		ibv_close_device(ctx);
	a.flags = 0;
	ctx = mlx5dv_open_device(p->ctx->device, &a);
	pr("mlx5.open_device", ep(ctx));
	if (ctx)
		ibv_close_device(ctx);
	a.comp_mask = 1;
	ctx = mlx5dv_open_device(p->ctx->device, &a);
	pr("mlx5.open_device.bad_mask", ep(ctx));
	if (ctx)
		ibv_close_device(ctx);
}

static void probe_query(struct probe *p)
{
	struct mlx5dv_port port = { .flags = 0 };
	int err = mlx5dv_query_port(p->ctx, VT_PORT, &port);

	prd("mlx5.query_port", err, "flags %#llx",
	    (unsigned long long)port.flags);
	pr("mlx5.query_port.bad_port",
	   mlx5dv_query_port(p->ctx, BAD_PORT, &port));
}

static void alloc_uar(struct probe *p, const char *name, uint32_t type)
{
	struct mlx5dv_devx_uar *uar = mlx5dv_devx_alloc_uar(p->ctx, type);

	pr(nm("mlx5.alloc_uar.%s", name), ep(uar));
	if (uar)
		mlx5dv_devx_free_uar(uar);
}

static void probe_clock(struct probe *p)
{
	const uint64_t core = MLX5DV_CONTEXT_MASK_HCA_CORE_CLOCK;
	const uint64_t info = MLX5DV_CONTEXT_MASK_CLOCK_INFO_UPDATE;
	struct mlx5dv_context c = { .comp_mask = core | info };
	struct mlx5dv_clock_info ci = { .shift = 0 };
	int err = mlx5dv_query_device(p->ctx, &c);

	prd("mlx5.query_device.clock", err, "register %s, page %s",
	    c.comp_mask & core ? "yes" : "no",
	    c.comp_mask & info ? "yes" : "no");
	prd("mlx5.query_device.real_time", err, "%s",
	    c.flags & MLX5DV_CONTEXT_FLAGS_REAL_TIME_TS ? "yes" : "no");
	pr("mlx5.get_clock_info", mlx5dv_get_clock_info(p->ctx, &ci));
}

void probe_mlx5(struct probe *p)
{
	if (!mlx5dv_is_supported(p->ctx->device))
		return;
	probe_devx(p);
	probe_query(p);
	alloc_uar(p, "combining", MLX5DV_UAR_ALLOC_TYPE_BF);
	alloc_uar(p, "uncached", MLX5DV_UAR_ALLOC_TYPE_NC);
	probe_clock(p);
}
