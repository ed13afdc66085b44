// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * uverbs commands of shared receive queues. The command thread calls them.
 */
#include "uverbs.h"

int uv_create_srq(int fd, const struct ib_uverbs_create_srq *srq,
		  const struct uv_udata *ud,
		  struct ib_uverbs_create_srq_resp *resp)
{
	return UV_CALL(fd, CREATE_SRQ, srq, resp, ud);
}

int uv_create_xsrq(int fd, const struct ib_uverbs_create_xsrq *srq,
		   const struct uv_udata *ud,
		   struct ib_uverbs_create_srq_resp *resp)
{
	return UV_CALL(fd, CREATE_XSRQ, srq, resp, ud);
}

int uv_modify_srq(int fd, const struct ib_uverbs_modify_srq *srq,
		  const struct uv_udata *ud)
{
	return uv_write(fd, IB_USER_VERBS_CMD_MODIFY_SRQ, srq, sizeof(*srq),
			NULL, 0, ud);
}

int uv_query_srq(int fd, uint32_t srq, struct ib_uverbs_query_srq_resp *resp)
{
	struct ib_uverbs_query_srq cmd = { .srq_handle = srq };

	return UV_CALL(fd, QUERY_SRQ, &cmd, resp, NULL);
}

int uv_destroy_srq(int fd, uint32_t srq)
{
	struct ib_uverbs_destroy_srq cmd = { .srq_handle = srq };
	struct ib_uverbs_destroy_srq_resp resp = {};

	return UV_CALL(fd, DESTROY_SRQ, &cmd, &resp, NULL);
}
