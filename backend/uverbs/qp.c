// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * uverbs commands of queue pairs. The command thread calls them, except
 * uv_post_send(), which the kick thread calls.
 */
#include <string.h>

#include "uverbs.h"

int uv_create_qp(int fd, const struct ib_uverbs_ex_create_qp *qp,
		 const struct uv_udata *ud,
		 struct ib_uverbs_create_qp_resp *resp)
{
	struct ib_uverbs_ex_create_qp_resp ex = {};
	int err = uv_write_ex(fd, IB_USER_VERBS_EX_CMD_CREATE_QP, qp,
			      sizeof(*qp), &ex, sizeof(ex), ud);

	if (!err)
		*resp = ex.base;
	return err;
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

	return UV_CALL(fd, QUERY_QP, &cmd, resp, NULL);
}

int uv_destroy_qp(int fd, uint32_t qp)
{
	struct ib_uverbs_destroy_qp cmd = { .qp_handle = qp };
	struct ib_uverbs_destroy_qp_resp resp = {};

	return UV_CALL(fd, DESTROY_QP, &cmd, &resp, NULL);
}

int uv_post_send(int fd, uint32_t qp)
{
	struct ib_uverbs_post_send cmd = {
		.qp_handle = qp,
		.wqe_size = sizeof(struct ib_uverbs_send_wr),
	};
	struct ib_uverbs_post_send_resp resp = {};

	return UV_CALL(fd, POST_SEND, &cmd, &resp, NULL);
}

int uv_attach_mcast(int fd, uint32_t qp, const uint8_t gid[16], uint16_t mlid)
{
	struct ib_uverbs_attach_mcast cmd = { .qp_handle = qp, .mlid = mlid };

	memcpy(cmd.gid, gid, sizeof(cmd.gid));
	return UV_SEND(fd, ATTACH_MCAST, &cmd);
}

int uv_detach_mcast(int fd, uint32_t qp, const uint8_t gid[16], uint16_t mlid)
{
	struct ib_uverbs_detach_mcast cmd = { .qp_handle = qp, .mlid = mlid };

	memcpy(cmd.gid, gid, sizeof(cmd.gid));
	return UV_SEND(fd, DETACH_MCAST, &cmd);
}
