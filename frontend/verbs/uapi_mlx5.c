// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Methods of mlx5_ib that the frontend answers itself: mlx5dv_query_port() asks which
 * port of an embedded switch this is; the port of a vhca is in no such switch, as that
 * of an HCA without representors. This runs in the process that asks, and costs no
 * command.
 */
#include <rdma/mlx5_user_ioctl_cmds.h>
#include <rdma/mlx5_user_ioctl_verbs.h>
#include <rdma/uverbs_ioctl.h>

#define UVERBS_MODULE_NAME vhca
#include <rdma/uverbs_named_ioctl.h>

#include "verbs.h"

static int UVERBS_HANDLER(MLX5_IB_METHOD_QUERY_PORT)(struct uverbs_attr_bundle *attrs)
{
	struct mlx5_ib_uapi_query_port info = {};	/* no flags: no such switch */
	struct ib_ucontext *ibuc;
	u32 port;

	if (uverbs_copy_from(&port, attrs, MLX5_IB_ATTR_QUERY_PORT_PORT_NUM))
		return -EFAULT;
	ibuc = ib_uverbs_get_ucontext(attrs);
	if (IS_ERR(ibuc))
		return PTR_ERR(ibuc);
	if (!rdma_is_port_valid(ibuc->device, port))
		return -EINVAL;
	return uverbs_copy_to_struct_or_zero(attrs, MLX5_IB_ATTR_QUERY_PORT,
					     &info, sizeof(info));
}

DECLARE_UVERBS_NAMED_METHOD(
	MLX5_IB_METHOD_QUERY_PORT,
	UVERBS_ATTR_PTR_IN(MLX5_IB_ATTR_QUERY_PORT_PORT_NUM,
			   UVERBS_ATTR_TYPE(u32), UA_MANDATORY),
	UVERBS_ATTR_PTR_OUT(MLX5_IB_ATTR_QUERY_PORT,
			    UVERBS_ATTR_STRUCT(struct mlx5_ib_uapi_query_port,
					       reg_c0),
			    UA_MANDATORY));

ADD_UVERBS_METHODS(vhca_mlx5_device, UVERBS_OBJECT_DEVICE,
		   &UVERBS_METHOD(MLX5_IB_METHOD_QUERY_PORT));

static const struct uapi_definition defs[] = {
	UAPI_DEF_CHAIN_OBJ_TREE(UVERBS_OBJECT_DEVICE, &vhca_mlx5_device),
	{},
};

const struct uapi_definition * const vhca_mlx5_uapi = defs;
