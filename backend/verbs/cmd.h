/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * One request as the handlers see it, and the handlers, one per opcode: they
 * return 0 or -errno, with rsp->u filled in. MMAP returns BE_LATER while it waits
 * for the doorbell agent: it is executed again, and others meanwhile.
 */
#ifndef BE_CMD_H
#define BE_CMD_H

#include <stdbool.h>
#include <stddef.h>
#include <xen/io/vhcaif.h>

struct be_dev;
struct be_uc;

#define BE_LATER	1
#define BE_PASSED	2		/* another thread executes it */

/* One request on its way through the handlers. */
struct be_cmd {
	struct be_dev *dev;
	struct be_uc *uc;		/* NULL if the request names none */
	const struct xenvhca_request *req;	/* private copy */
	struct xenvhca_response *rsp;	/* zeroed, id and op set */
};

/* Of a request, octets without a meaning must be 0: those from @from to @to. */
static inline bool be_zero(const uint8_t *p, size_t from, size_t to)
{
	while (from < to)
		if (p[from++])
			return false;
	return true;
}

int be_get_info(const struct be_cmd *c);
int be_query_device(const struct be_cmd *c);
int be_query_port(const struct be_cmd *c);
int be_query_gid_table(const struct be_cmd *c);
int be_query_pkey_table(const struct be_cmd *c);
int be_query_counter_names(const struct be_cmd *c);
int be_query_counters(const struct be_cmd *c);
int be_alloc_ucontext(const struct be_cmd *c);
int be_dealloc_ucontext(const struct be_cmd *c);
int be_mmap(const struct be_cmd *c);
int be_munmap(const struct be_cmd *c);
int be_alloc_pd(const struct be_cmd *c);
int be_alloc_xrcd(const struct be_cmd *c);
int be_dealloc_xrcd(const struct be_cmd *c);
int be_reg_mr(const struct be_cmd *c);
int be_rereg_mr(const struct be_cmd *c);
int be_dereg_mr(const struct be_cmd *c);
int be_alloc_mw(const struct be_cmd *c);
int be_create_cq(const struct be_cmd *c);
int be_resize_cq(const struct be_cmd *c);
int be_modify_cq(const struct be_cmd *c);
int be_create_qp(const struct be_cmd *c);
int be_modify_qp(const struct be_cmd *c);
int be_query_qp(const struct be_cmd *c);
int be_destroy_qp(const struct be_cmd *c);
int be_create_srq(const struct be_cmd *c);
int be_modify_srq(const struct be_cmd *c);
int be_query_srq(const struct be_cmd *c);
int be_create_ah(const struct be_cmd *c);
int be_attach_mcast(const struct be_cmd *c);
int be_detach_mcast(const struct be_cmd *c);
int be_alloc_cm(const struct be_cmd *c);
int be_dealloc_cm(const struct be_cmd *c);
int be_cm_command(const struct be_cmd *c);
int be_alloc_umad(const struct be_cmd *c);
int be_dealloc_umad(const struct be_cmd *c);
int be_register_umad(const struct be_cmd *c);
int be_unregister_umad(const struct be_cmd *c);
int be_send_umad(const struct be_cmd *c);
int be_recv_umad(const struct be_cmd *c);

#endif
