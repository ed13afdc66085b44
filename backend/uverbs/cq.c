// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * uverbs commands of completion queues. The command thread calls them, except
 * uv_req_notify_cq(), which the kick thread calls.
 */
#include "uverbs.h"

#define CQ_MODERATE	1u		/* IB_CQ_MODERATE of Linux, in no header for user space */

/* The original command knows no flags; drivers see the same either way. */
static int uv_create_cq_ex(int fd, const struct ib_uverbs_ex_create_cq *cq,
			   const struct uv_udata *ud,
			   struct ib_uverbs_create_cq_resp *resp)
{
	struct ib_uverbs_ex_create_cq_resp ex = {};
	int err = uv_write_ex(fd, IB_USER_VERBS_EX_CMD_CREATE_CQ, cq,
			      sizeof(*cq), &ex, sizeof(ex), ud);

	if (!err)
		*resp = ex.base;
	return err;
}

int uv_create_cq(int fd, const struct ib_uverbs_ex_create_cq *cq,
		 const struct uv_udata *ud,
		 struct ib_uverbs_create_cq_resp *resp)
{
	struct ib_uverbs_create_cq cmd = {
		.user_handle = cq->user_handle,
		.cqe = cq->cqe,
		.comp_vector = cq->comp_vector,
		.comp_channel = cq->comp_channel,
	};

	if (cq->flags)
		return uv_create_cq_ex(fd, cq, ud, resp);
	return UV_CALL(fd, CREATE_CQ, &cmd, resp, ud);
}

int uv_resize_cq(int fd, uint32_t cq, uint32_t cqe, const struct uv_udata *ud,
		 uint32_t *cqe_out)
{
	struct ib_uverbs_resize_cq cmd = { .cq_handle = cq, .cqe = cqe };
	struct ib_uverbs_resize_cq_resp resp = {};
	int err = UV_CALL(fd, RESIZE_CQ, &cmd, &resp, ud);

	if (!err)
		*cqe_out = resp.cqe;
	return err;
}

int uv_modify_cq(int fd, uint32_t cq, uint16_t count, uint16_t period)
{
	struct ib_uverbs_ex_modify_cq cmd = {
		.cq_handle = cq, .attr_mask = CQ_MODERATE,
		.attr = { .cq_count = count, .cq_period = period },
	};

	return uv_write_ex(fd, IB_USER_VERBS_EX_CMD_MODIFY_CQ, &cmd,
			   sizeof(cmd), NULL, 0, NULL);
}

int uv_destroy_cq(int fd, uint32_t cq)
{
	struct ib_uverbs_destroy_cq cmd = { .cq_handle = cq };
	struct ib_uverbs_destroy_cq_resp resp = {};

	return UV_CALL(fd, DESTROY_CQ, &cmd, &resp, NULL);
}

int uv_req_notify_cq(int fd, uint32_t cq, int solicited_only)
{
	struct ib_uverbs_req_notify_cq cmd = {
		.cq_handle = cq,
		.solicited_only = !!solicited_only,
	};

	return UV_SEND(fd, REQ_NOTIFY_CQ, &cmd);
}
