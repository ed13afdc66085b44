// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Which addresses a guest may use with the connection manager. All guests of a
 * port share its addresses, so a guest may name any that the kernel knows; but
 * what it gets has to be on the port that it was given, as this domain may have
 * other HCAs. One thread at a time runs this, see cm.h.
 */
#include <errno.h>
#include <rdma/rdma_user_cm.h>
#include <string.h>

#include "cm.h"

int be_cm_addr_check(const struct be_cm_call *c)
{
	switch (c->uv.cmd) {
	case RDMA_USER_CM_CMD_BIND_IP:
	case RDMA_USER_CM_CMD_BIND:
	case RDMA_USER_CM_CMD_RESOLVE_IP:
	case RDMA_USER_CM_CMD_RESOLVE_ADDR:
	case RDMA_USER_CM_CMD_LISTEN:
	case RDMA_USER_CM_CMD_JOIN_IP_MCAST:
	case RDMA_USER_CM_CMD_JOIN_MCAST:
	case RDMA_USER_CM_CMD_SET_OPTION:
		return 0;		/* of the port: shared */
	default:
		return 0;		/* names none */
	}
}

int be_cm_addr_bound(const struct be_cm_call *c, struct be_cm_id *id)
{
	struct rdma_ucm_query query = {
		.id = id->id, .option = RDMA_USER_CM_QUERY_ADDR,
	};
	struct rdma_ucm_query_addr_resp rsp;
	struct uv_cm uv = {
		.cmd = RDMA_USER_CM_CMD_QUERY, .in_len = sizeof(query),
		.out_len = sizeof(rsp),
	};
	int err;

	uv.op = vhca_cm_op(uv.cmd, &err);
	memcpy(uv.in, &query, sizeof(query));
	if (!err)
		err = uv_cm_command(c->cm->fd, &uv);
	if (err)
		return err;
	memcpy(&rsp, uv.out, sizeof(rsp));
	id->foreign = rsp.node_guid &&
		(rsp.node_guid != c->dev->info.node_guid ||
		 rsp.port_num != c->dev->port ||
		 rsp.ibdev_index != c->dev->ibdev_index);
	return id->foreign ? -ENODEV : 0;
}
