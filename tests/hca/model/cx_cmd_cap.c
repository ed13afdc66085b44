// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Capabilities: what QUERY_HCA_CAP announces and SET_HCA_CAP may choose. They
 * decide which paths mlx5_core, mlx5_ib and the provider take; a feature that
 * is not in this list must not be announced.
 */
#include <string.h>

#include "cx_cap.h"
#include "cx_cmd.h"

#define CAP_UMR_FENCE_NONE	2u
#define OPS_CMP_SWAP_FETCH_ADD	3u

static const struct cap general[] = {
	/* One InfiniBand port, seen through MAD_IFC (no ib_virt). */
	CAP(port_type, 0),
	CAP(num_ports, 1),
	CAP(native_port_num, 1),
	CAP(gid_table_size, 1),		/* CX_GIDS: 8 << 1 */
	CAP(pkey_table_size, 0),	/* CX_PKEYS: 128 << 0 */
	CAP(local_ca_ack_delay, 16),
	CAP(log_max_msg, 30),
	CAP(qkv, 1),
	CAP(pkv, 1),

	CAP(rc, 1),
	CAP(uc, 1),
	CAP(ud, 1),
	CAP(xrc, 1),
	CAP(atomic, 1),
	CAP(log_max_qp_sz, CX_LOG_QP_SZ),
	CAP(max_wqe_sz_sq, CX_MAX_WQE),
	CAP(max_wqe_sz_rq, 1u << CX_LOG_RQ_STRIDE),
	CAP(log_max_ra_req_qp, CX_LOG_READS),
	CAP(log_max_ra_res_qp, CX_LOG_READS),
	CAP(max_sgl_for_optimized_performance, 30),
	CAP(block_lb_mc, 1),
	CAP(log_max_mcg, CX_LOG_MCG),
	CAP(max_qp_mcg, CX_MCG_QPS),

	CAP(log_max_srq, CX_LOG_SRQ),
	CAP(log_max_srq_sz, CX_LOG_QP_SZ),
	CAP(log_max_rmp, CX_LOG_SRQ),
	CAP(log_max_xrcd, CX_LOG_PD),
	CAP(log_max_pd, CX_LOG_PD),
	CAP(log_max_transport_domain, CX_LOG_PD),

	CAP(log_max_cq, CX_LOG_CQ),
	CAP(log_max_cq_sz, CX_LOG_CQ_SZ),
	CAP(cqe_version, 1),
	CAP(cq_moderation, 1),
	CAP(cq_resize, 1),
	CAP(cq_oi, 1),
	CAP(log_max_eq, 7),
	CAP(max_num_eqs, CX_MAX_EQ),
	CAP(log_max_eq_sz, CX_LOG_EQ_SZ),

	/* Regions come with their pages, but for config.umr_lists. */
	CAP(log_max_mkey, CX_LOG_MKEY),
	CAP(log_max_mrw_sz, 40),
	CAP(log_max_klm_list_size, CX_LOG_KLMS),
	CAP(log_pg_sz, 12),
	CAP(imaicl, 1),
	CAP(max_indirection, 1),
	CAP(umr_modify_entity_size_disabled, 1),
	CAP(umr_fence, CAP_UMR_FENCE_NONE),

	CAP(max_qp_cnt, CX_MAX_COUNTERS),
	CAP(out_of_seq_cnt, 1),
	CAP(retransmission_q_counters, 1),
	CAP(enhanced_error_q_counters, 1),
	CAP(rts2rts_qp_counters_set_id, 1),

	CAP(num_of_uars_per_page, 1),
	CAP(bf, 1),
	CAP(log_bf_reg_size, 9),
	CAP(device_frequency_mhz, CX_KHZ / 1000),
	CAP(device_frequency_khz, CX_KHZ),
	CAP(driver_version, 1),
	CAP(fast_teardown, 1),
	CAP(force_teardown, 1),
};

/* An Ethernet port has these besides; no eswitch, so no VFs and no MPFS. */
static const struct cap general_eth[] = {
	CAP(port_type, 1),
	CAP(eth_net_offloads, 1),
	CAP(nic_flow_table, 1),
	CAP(roce, 1),
	CAP(log_max_rq, CX_LOG_QP),
	CAP(log_max_sq, CX_LOG_QP),
	CAP(log_max_tir, CX_LOG_NIC),
	CAP(log_max_tis, CX_LOG_NIC),
	CAP(log_max_rqt, CX_LOG_NIC),
	CAP(log_max_rqt_size, CX_LOG_RQT),
	CAP(log_max_wq_sz, CX_LOG_QP_SZ),
	CAP(log_min_stride_sz_rq, 4),
	CAP(log_max_stride_sz_rq, CX_LOG_RQ_STRIDE),
	CAP(log_min_stride_sz_sq, 6),
	CAP(log_max_stride_sz_sq, 6),
	CAP(log_max_current_uc_list, CX_LOG_MACS),
	CAP(log_max_current_mc_list, CX_LOG_MACS),
	CAP(log_max_vlan_list, CX_LOG_VLANS),
};

/* wqe_inline_mode 0: the Ethernet header lies in the WQE. */
static const struct cap ethernet[] = {
	ETH(csum_cap, 1),
	ETH(vlan_cap, 1),
	ETH(self_lb_en_modifiable, 1),
	ETH(max_lso_cap, 18),
	ETH(rss_ind_tbl_cap, CX_LOG_RQT),
	ETH(cqe_checksum_full, 1),
};

#define L3_IPV4		(1u << 1)
#define L3_IPV6		(1u << 2)
#define VERSION_1	(1u << 0)
#define VERSION_2	(1u << 2)

static const struct cap roce[] = {
	ROCE(l3_type, L3_IPV4 | L3_IPV6),
	ROCE(roce_version, VERSION_1 | VERSION_2),
	ROCE(r_roce_dest_udp_port, CX_ROCE_PORT),
	ROCE(r_roce_min_src_udp_port, CX_ROCE_SPORT),
	ROCE(r_roce_max_src_udp_port, 0xffff),
	ROCE(roce_address_table_size, CX_ROCE_ADDRS),
};

#define FT_MATCH(field) FT(ft_field_support.outer_##field, 1), \
	FT(ft_field_bitmask_support.outer_##field, 1)
/* By the first five the driver makes tables for processes, too. */
static const struct cap flow_table[] = {
	FT(ft_support, 1),
	FT(modify_root, 1),
	FT(flow_modify_en, 1),
	FT(identified_miss_table_mode, 1),
	FT(flow_table_modify, 1),
	FT(max_ft_level, CX_FT_LEVELS),
	FT(log_max_ft_size, CX_LOG_FT_SZ),
	FT(log_max_ft_num, CX_LOG_FT),
	FT(log_max_flow, 16),
	FT_MATCH(dmac),
	FT_MATCH(smac),
	FT_MATCH(ether_type),
	FT_MATCH(ip_version),
	FT_MATCH(first_prio),
	FT_MATCH(first_cfi),
	FT_MATCH(first_vid),
	FT_MATCH(sip),
	FT_MATCH(dip),
	FT_MATCH(frag),
	FT_MATCH(ip_protocol),
	FT_MATCH(ip_ecn),
	FT_MATCH(ip_dscp),
	FT_MATCH(udp_sport),
	FT_MATCH(udp_dport),
	FT_MATCH(tcp_sport),
	FT_MATCH(tcp_dport),
	FT_MATCH(tcp_flags),
};

/*
 * The driver has one flag for both: without rndv_offload_rc no program uses
 * tags on RC.
 */
static void get_tag_matching(uint8_t *caps)
{
	CX_SET(cmd_hca_cap, caps, tag_matching, 1);
	CX_SET(cmd_hca_cap, caps, rndv_offload_rc, 1);
	CX_SET(cmd_hca_cap, caps, log_tag_matching_list_sz, CX_LOG_TAGS);
	CX_SET(cmd_hca_cap, caps, log_max_xrq, CX_LOG_SRQ);
}

static void get_general(struct cx_dev *d, uint8_t *caps, bool max)
{
	FILL(caps, general);
	if (d->config.eth)
		FILL(caps, general_eth);
	CX_SET(cmd_hca_cap, caps, log_max_qp, max ? CX_LOG_QP : d->log_max_qp);
	CX_SET(cmd_hca_cap, caps, uar_4k, max || d->uar_4k);
	/* Of the BAR: 1 MiB << that. */
	CX_SET(cmd_hca_cap, caps, uar_sz,
	       (uint32_t)__builtin_ctz(cx_bar_size(&d->config) >> 20));
	CX_SET(cmd_hca_cap, caps, cqe_128_always, d->config.cqe128);
	if (d->config.tag_matching)
		get_tag_matching(caps);
	if (d->config.umr_lists)
		CX_SET(cmd_hca_cap, caps, umr_modify_entity_size_disabled, 0);
	CX_SET(cmd_hca_cap, caps, pg, d->config.odp);
}

/* 8 bytes on the wire are big endian; in memory, the host's if it likes. */
static void get_atomic(struct cx_dev *d, uint8_t *caps, bool max)
{
	CX_SET(atomic_caps, caps, supported_atomic_req_8B_endianness_mode_1, 1);
	CX_SET(atomic_caps, caps, atomic_req_8B_endianness_mode,
	       max || d->atomic_host);
	CX_SET(atomic_caps, caps, atomic_operations, OPS_CMP_SWAP_FETCH_ADD);
	CX_SET(atomic_caps, caps, atomic_size_qp,
	       MLX5_ATOMIC_CAPS_ATOMIC_SIZE_QP_8_BYTES);
}

/* What an Ethernet port has, as it is: none of it can be chosen. */
static enum cx_status get_eth(const struct cx_dev *d, uint16_t type,
			      uint8_t *caps)
{
	if (!d->config.eth)
		return CX_BAD_PARAM;
	switch (type) {
	case CAP_ETHERNET:
		FILL(caps, ethernet);
		return CX_OK;
	case CAP_ROCE:
		FILL(caps, roce);
		return CX_OK;
	case CAP_FLOW_TABLE:
		FILL(caps, flow_table);
		return CX_OK;
	default:
		return CX_BAD_PARAM;
	}
}

/* What the model does. */
static enum cx_status get_caps(struct cx_dev *d, uint16_t type, uint8_t *caps,
			       bool max)
{
	switch (type) {
	case CAP_GENERAL:
		get_general(d, caps, max);
		return CX_OK;
	case CAP_ATOMIC:
		get_atomic(d, caps, max);
		return CX_OK;
	case CAP_ODP:			/* on no transport: all 0 */
		return d->config.odp ? CX_OK : CX_BAD_PARAM;
	default:
		return get_eth(d, type, caps);
	}
}

enum cx_status cx_query_hca_cap(struct cx_dev *d, struct cx_cmd *c)
{
	uint8_t *caps = CX_ADDR(query_hca_cap_out, c->out, capability);
	enum cx_status status;

	if (CX_GET(query_hca_cap_in, c->in, other_function))
		return CX_BAD_PARAM;
	status = get_caps(d, c->op_mod >> 1, caps, !(c->op_mod & 1));
	if (d->config.cx6dx && cx_caps_cx6dx(c->op_mod >> 1, caps))
		status = CX_OK;
	return status;
}

/* What cannot be chosen is ignored, as far as nothing depends on it. */
static enum cx_status set_general(struct cx_dev *d, const uint8_t *caps)
{
	uint32_t log_qp = CX_GET(cmd_hca_cap, caps, log_max_qp);

	if (log_qp > CX_LOG_QP ||
	    CX_GET(cmd_hca_cap, caps, pkey_table_size) ||
	    CX_GET(cmd_hca_cap, caps, log_uar_page_sz) ||
	    CX_GET(cmd_hca_cap, caps, cmdif_checksum) ||
	    CX_GET(cmd_hca_cap, caps, port_type) != d->config.eth)
		return CX_BAD_PARAM;
	d->log_max_qp = log_qp;
	d->uar_4k = CX_GET(cmd_hca_cap, caps, uar_4k);
	return CX_OK;
}

enum cx_status cx_set_hca_cap(struct cx_dev *d, struct cx_cmd *c)
{
	const uint8_t *caps = CX_ADDR(set_hca_cap_in, c->in, capability);
	uint32_t mode;

	if (CX_GET(set_hca_cap_in, c->in, other_function))
		return CX_BAD_PARAM;
	if (d->hca_up)
		return CX_BAD_SYS_STATE;
	switch (c->op_mod >> 1) {
	case CAP_GENERAL:
		return set_general(d, caps);
	case CAP_ATOMIC:
		mode = CX_GET(atomic_caps, caps, atomic_req_8B_endianness_mode);
		if (mode > 1)
			return CX_BAD_PARAM;
		d->atomic_host = mode;
		return CX_OK;
	case CAP_ODP:			/* all that is announced is on */
		return d->config.cx6dx ? CX_OK : CX_BAD_PARAM;
	default:
		return CX_BAD_PARAM;
	}
}
