// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The table of vhca-cm.h, repeated from Linux' drivers/infiniband/core/ucma.c. The
 * number of a command comes from a process of the guest, or from a guest.
 */
#ifdef __KERNEL__
#include <linux/errno.h>
#include <linux/nospec.h>
#include <linux/stddef.h>
#else
#include <errno.h>
#include <stddef.h>
#define array_index_nospec(index, size) (index)
#endif

#include <rdma/rdma_user_cm.h>
#include <xen/io/vhcaif.h>

#include "vhca-cm.h"

#define AT(type, field)	offsetof(struct rdma_ucm_##type, field)
#define SIZE(type)	sizeof(struct rdma_ucm_##type)
#define END(type, field) \
	(AT(type, field) + sizeof(((struct rdma_ucm_##type *)0)->field))
#define IN(type)	.in = SIZE(type), .in_min = SIZE(type)
#define OUT(type)	.out = SIZE(type), .out_min = SIZE(type)
#define RESPONSE(type)	.at_response = AT(type, response)
#define ID(type)	.at_id = AT(type, id)
#define UID(type)	.at_uid = AT(type, uid)
#define NO_RESPONSE	.at_response = VHCA_CM_NONE
#define NO_ID		.at_id = VHCA_CM_NONE
#define NO_UID		.at_uid = VHCA_CM_NONE
#define ROW(CMD, ...) \
	[RDMA_USER_CM_CMD_##CMD] = { __VA_ARGS__ }
/* A response of Linux' first versions: its last fields came later. */
#define OUT_FROM(type, field) .out = SIZE(type), .out_min = AT(type, field)

static const struct vhca_cm_op ops[] = {
	ROW(CREATE_ID, IN(create_id), OUT(create_id_resp),
	    RESPONSE(create_id), NO_ID, UID(create_id)),
	ROW(DESTROY_ID, IN(destroy_id), OUT(destroy_id_resp),
	    RESPONSE(destroy_id), ID(destroy_id), NO_UID),
	ROW(BIND_IP, IN(bind_ip), NO_RESPONSE, ID(bind_ip), NO_UID,
	    .at_src = AT(bind_ip, addr)),
	ROW(RESOLVE_IP, IN(resolve_ip), NO_RESPONSE, ID(resolve_ip), NO_UID,
	    .at_src = AT(resolve_ip, src_addr),
	    .at_dst = AT(resolve_ip, dst_addr)),
	ROW(RESOLVE_ROUTE, IN(resolve_route), NO_RESPONSE, ID(resolve_route),
	    NO_UID),
	ROW(QUERY_ROUTE, IN(query), OUT_FROM(query_route_resp, ibdev_index),
	    RESPONSE(query), ID(query), NO_UID),
	ROW(CONNECT, .in = SIZE(connect), .in_min = END(connect, reserved),
	    NO_RESPONSE, ID(connect), NO_UID),
	ROW(LISTEN, IN(listen), NO_RESPONSE, ID(listen), NO_UID),
	ROW(ACCEPT, .in = SIZE(accept), .in_min = END(accept, reserved),
	    NO_RESPONSE, ID(accept), UID(accept)),
	ROW(REJECT, IN(reject), NO_RESPONSE, ID(reject), NO_UID),
	ROW(DISCONNECT, IN(disconnect), NO_RESPONSE, ID(disconnect), NO_UID),
	ROW(INIT_QP_ATTR, IN(init_qp_attr),
	    .out = sizeof(struct ib_uverbs_qp_attr),
	    .out_min = sizeof(struct ib_uverbs_qp_attr),
	    RESPONSE(init_qp_attr), ID(init_qp_attr), NO_UID),
	ROW(GET_EVENT, IN(get_event), OUT_FROM(event_resp, reserved),
	    RESPONSE(get_event), NO_ID, NO_UID),
	ROW(SET_OPTION, IN(set_option), NO_RESPONSE, ID(set_option), NO_UID),
	ROW(NOTIFY, IN(notify), NO_RESPONSE, ID(notify), NO_UID),
	ROW(JOIN_IP_MCAST, IN(join_ip_mcast), OUT(create_id_resp),
	    RESPONSE(join_ip_mcast), ID(join_ip_mcast), UID(join_ip_mcast)),
	ROW(LEAVE_MCAST, IN(destroy_id), OUT(destroy_id_resp),
	    RESPONSE(destroy_id), ID(destroy_id), NO_UID),
	ROW(MIGRATE_ID, IN(migrate_id), OUT(migrate_resp),
	    RESPONSE(migrate_id), ID(migrate_id), NO_UID),
	/* Of the address, of the GIDs, or of up to six paths. */
	ROW(QUERY, IN(query), .out = SIZE(query_path_resp) +
	    6 * sizeof(struct ib_path_rec_data),
	    .out_min = SIZE(query_path_resp),
	    RESPONSE(query), ID(query), NO_UID),
	ROW(BIND, IN(bind), NO_RESPONSE, ID(bind), NO_UID,
	    .at_src = AT(bind, addr), .at_src_len = AT(bind, addr_size)),
	ROW(RESOLVE_ADDR, IN(resolve_addr), NO_RESPONSE, ID(resolve_addr),
	    NO_UID, .at_src = AT(resolve_addr, src_addr),
	    .at_src_len = AT(resolve_addr, src_size),
	    .at_dst = AT(resolve_addr, dst_addr),
	    .at_dst_len = AT(resolve_addr, dst_size)),
	ROW(JOIN_MCAST, IN(join_mcast), OUT(create_id_resp),
	    RESPONSE(join_mcast), ID(join_mcast), UID(join_mcast)),
};

const struct vhca_cm_op *vhca_cm_op(uint32_t cmd, int *err)
{
	const struct vhca_cm_op *op;

	*err = -EINVAL;
	if (cmd >= sizeof(ops) / sizeof(ops[0]))
		return NULL;
	op = &ops[array_index_nospec(cmd, sizeof(ops) / sizeof(ops[0]))];
	*err = op->in ? 0 : -ENOSYS;
	return op->in ? op : NULL;
}
