// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * uverbs commands of queue pairs. The command thread calls them, except
 * uv_post_send(), which the kick thread calls.
 */
#include <string.h>

#include "uverbs.h"

/* The original command knows no flags; drivers see the same either way. */
static int uv_create_qp_ex(int fd, const struct ib_uverbs_create_qp *qp,
			   uint32_t flags, const struct uv_udata *ud,
			   struct ib_uverbs_create_qp_resp *resp)
{
	struct ib_uverbs_ex_create_qp cmd = {
		.user_handle = qp->user_handle,
		.pd_handle = qp->pd_handle,
		.send_cq_handle = qp->send_cq_handle,
		.recv_cq_handle = qp->recv_cq_handle,
		.srq_handle = qp->srq_handle,
		.max_send_wr = qp->max_send_wr,
		.max_recv_wr = qp->max_recv_wr,
		.max_send_sge = qp->max_send_sge,
		.max_recv_sge = qp->max_recv_sge,
		.max_inline_data = qp->max_inline_data,
		.sq_sig_all = qp->sq_sig_all, .qp_type = qp->qp_type,
		.is_srq = qp->is_srq, .create_flags = flags,
	};
	struct ib_uverbs_ex_create_qp_resp ex = {};
	int err = uv_write_ex(fd, IB_USER_VERBS_EX_CMD_CREATE_QP, &cmd,
			      sizeof(cmd), &ex, sizeof(ex), ud);

	if (!err)
		*resp = ex.base;
	return err;
}

int uv_create_qp(int fd, const struct ib_uverbs_create_qp *qp, uint32_t flags,
		 const struct uv_udata *ud,
		 struct ib_uverbs_create_qp_resp *resp)
{
	if (flags)
		return uv_create_qp_ex(fd, qp, flags, ud, resp);
	return uv_write(fd, IB_USER_VERBS_CMD_CREATE_QP, qp, sizeof(*qp), resp,
			sizeof(*resp), ud);
}

/* The original command knows neither a rate limit nor driver data. */
int uv_modify_qp(int fd, const struct ib_uverbs_ex_modify_qp *qp,
		 const struct uv_udata *ud)
{
	struct ib_uverbs_ex_modify_qp_resp resp = {};

	if (!qp->rate_limit && !(ud && (ud->in_len || ud->out_len)))
		return uv_write(fd, IB_USER_VERBS_CMD_MODIFY_QP, &qp->base,
				sizeof(qp->base), NULL, 0, NULL);
	return uv_write_ex(fd, IB_USER_VERBS_EX_CMD_MODIFY_QP, qp, sizeof(*qp),
			   &resp, sizeof(resp), ud);
}

int uv_query_qp(int fd, uint32_t qp, uint32_t mask,
		struct ib_uverbs_query_qp_resp *resp)
{
	struct ib_uverbs_query_qp cmd = { .qp_handle = qp, .attr_mask = mask };

	return uv_write(fd, IB_USER_VERBS_CMD_QUERY_QP, &cmd, sizeof(cmd),
			resp, sizeof(*resp), NULL);
}

int uv_destroy_qp(int fd, uint32_t qp)
{
	struct ib_uverbs_destroy_qp cmd = { .qp_handle = qp };
	struct ib_uverbs_destroy_qp_resp resp = {};

	return uv_write(fd, IB_USER_VERBS_CMD_DESTROY_QP, &cmd, sizeof(cmd),
			&resp, sizeof(resp), NULL);
}

int uv_post_send(int fd, uint32_t qp)
{
	struct ib_uverbs_post_send cmd = {
		.qp_handle = qp,
		.wqe_size = sizeof(struct ib_uverbs_send_wr),
	};
	struct ib_uverbs_post_send_resp resp = {};

	return uv_write(fd, IB_USER_VERBS_CMD_POST_SEND, &cmd, sizeof(cmd),
			&resp, sizeof(resp), NULL);
}

int uv_attach_mcast(int fd, uint32_t qp, const uint8_t gid[16], uint16_t mlid)
{
	struct ib_uverbs_attach_mcast cmd = { .qp_handle = qp, .mlid = mlid };

	memcpy(cmd.gid, gid, sizeof(cmd.gid));
	return uv_write(fd, IB_USER_VERBS_CMD_ATTACH_MCAST, &cmd, sizeof(cmd),
			NULL, 0, NULL);
}

int uv_detach_mcast(int fd, uint32_t qp, const uint8_t gid[16], uint16_t mlid)
{
	struct ib_uverbs_detach_mcast cmd = { .qp_handle = qp, .mlid = mlid };

	memcpy(cmd.gid, gid, sizeof(cmd.gid));
	return uv_write(fd, IB_USER_VERBS_CMD_DETACH_MCAST, &cmd, sizeof(cmd),
			NULL, 0, NULL);
}
