// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * What a ConnectX-6 Dx announces beside what the model does: the values that public
 * outputs of ibv_devinfo and of the driver show, for a port without SR-IOV. The driver
 * and the provider see a rich card, but most of the commands behind these fields fail,
 * as on a firmware that has none of them.
 *
 * Left out is what the driver uses in its probe, on each region or on each frame, and
 * which the model does not do: an eswitch (PCAM, MCAM and QCAM beside it), loopback
 * switches, UMR of its network queues (so striding queues and multi-packet requests are
 * for processes alone), VXLAN ports, inner headers, UMR offsets beyond 16 bits (and so
 * implicit ODP), monitor counters, and TLS.
 */
#include "cx_cap.h"
#include "cx_cmd.h"

#define TS_BOTH		2u	/* MLX5_TIMESTAMP_FORMAT_CAP_FREE_RUNNING_AND_REAL_TIME */
#define ATOMIC_ALL	0xfu	/* compare, add, and both of longer operands */
#define OBJ_CHANGE	0x27u	/* MLX5_EVENT_TYPE_OBJECT_CHANGE */
#define OBJ_KEYS	BIT(12)	/* general object: keys of encryption */
#define MEMIC_BYTES	0x20000u

static const struct cap general[] = {
	/* Objects, of which the model runs out earlier. */
	CAP(log_max_cq, 24),
	CAP(log_max_mkey, 24),
	CAP(log_max_pd, 23),
	CAP(log_max_srq, 23),
	CAP(log_max_mcg, 21),
	CAP(log_max_rq, 23),
	CAP(log_max_rqt_size, 11),

	/* Contexts and objects of processes (DEVX). */
	CAP(log_max_uctx, CX_LOG_UCTX),
	CAP(log_max_umem, 16),
	CAP(umem_uid_0, 1),
	{ CX_OFF(cmd_hca_cap, general_obj_types) + 32, 32, OBJ_KEYS },
	CAP(event_cap, 1),
	CAP(hca_cap_2, 1),
	CAP(steering_format_version, 1),

	/* Memory. */
	CAP(pg, 1),
	CAP(device_memory, 1),
	CAP(dump_fill_mkey, 1),
	CAP(null_mkey, 1),
	CAP(fixed_buffer_size, 1),
	CAP(relaxed_ordering_write, 1),
	CAP(relaxed_ordering_read, 1),
	CAP(relaxed_ordering_write_umr, 1),
	CAP(relaxed_ordering_read_umr, 1),
	CAP(umr_ptr_rlky, 1),
	CAP(sho, 1),
	CAP(end_pad, 1),

	/* Queue pairs. */
	CAP(dct, 1),
	CAP(dc_req_scat_data_cqe, 1),
	CAP(log_max_ra_req_dc, 6),
	CAP(log_max_ra_res_dc, 4),
	CAP(max_wqe_sz_sq_dc, 1024),
	CAP(log_max_dci_stream_channels, 8),
	CAP(log_max_dci_errored_streams, 8),
	CAP(ece_support, 1),
	CAP(drain_sigerr, 1),
	CAP(qp_packet_based, 1),
	CAP(sctr_data_cqe, 1),
	CAP(wq_signature, 1),
	CAP(cd, 1),
	CAP(apm, 1),
	CAP(sq_ts_format, TS_BOTH),
	CAP(rq_ts_format, TS_BOTH),
	CAP(init2_lag_tx_port_affinity, 1),
	CAP(roce_accl, 1),

	/* Completions. */
	CAP(cqe_compression, 1),
	CAP(cqe_compression_128, 1),
	CAP(cqe_compression_timeout, 0x80),
	CAP(cqe_compression_max_num, 64),
	CAP(mini_cqe_resp_stride_index, 1),
	CAP(cqe_128_always, 1),

	/* Raw packets. */
	CAP(qos, 1),
	CAP(striding_rq, 1),
	CAP(ext_stride_num_range, 1),
	CAP(rq_delay_drop, 1),
	CAP(general_notification_event, 1),
	CAP(roce_rw_supported, 1),
	CAP(log_max_flow_counter_bulk, 15),
	CAP(max_flow_counter_15_0, 0xffff),
	CAP(max_flow_counter_31_16, 0xff),

	/* The second port. */
	CAP(lag_master, 1),
	CAP(num_lag_ports, 2),
	CAP(lag_tx_port_affinity, 1),
	CAP(port_selection_cap, 1),
};

static const struct cap ethernet[] = {
	ETH(scatter_fcs, 1),
	ETH(multi_pkt_send_wqe, 1),
	ETH(swp, 1),
	ETH(swp_csum, 1),
	ETH(swp_lso, 1),
	ETH(tunnel_stateless_gre, 1),
	ETH(tunnel_stateless_geneve_rx, 1),
	ETH(tunnel_stateless_mpls_over_gre, 1),
	ETH(tunnel_stateless_mpls_over_udp, 1),
};

#define PAGED(transport, what) \
	{ CX_ODP_##transport + CX_OFF(odp_per_transport_service_cap, what), 1, 1 }
static const struct cap odp[] = {
	PAGED(RC, send), PAGED(RC, receive), PAGED(RC, write),
	PAGED(RC, read), PAGED(RC, srq_receive),
	PAGED(UD, send), PAGED(UD, srq_receive),
	PAGED(XRC, send), PAGED(XRC, write), PAGED(XRC, read),
	PAGED(XRC, srq_receive),
	PAGED(DC, send), PAGED(DC, write), PAGED(DC, read),
	PAGED(DC, srq_receive),
};

static const struct cap atomic[] = {
	CAP_OF(atomic_caps, atomic_operations, ATOMIC_ALL),
	CAP_OF(atomic_caps, atomic_size_dc, 0xf << 2),
};

static const struct cap roce[] = {
	ROCE(sw_r_roce_src_udp_port, 1),
	ROCE(qp_ts_format, TS_BOTH),
};

static const struct cap flow_table[] = {
	FT(flow_counter, 1),
	FT(sw_owner_v2, 1),
	FT(log_max_flow_counter, 24),
};

#define QOS(field, value) CAP_OF(qos_cap, field, value)
static const struct cap qos[] = {
	QOS(packet_pacing, 1),
	QOS(packet_pacing_burst_bound, 1),
	QOS(packet_pacing_typical_size, 1),
	QOS(packet_pacing_uid, 1),
	QOS(packet_pacing_min_rate, 1),
	QOS(packet_pacing_max_rate, 100000000),	/* kbit/s */
	QOS(packet_pacing_rate_table_size, 128),
};

#define DEV_MEM(field, value) CAP_OF(device_mem_cap, field, value)
static const struct cap dev_mem[] = {
	DEV_MEM(memic, 1),
	DEV_MEM(max_memic_size, MEMIC_BYTES),
	DEV_MEM(memic_bar_size, MEMIC_BYTES / CX_PAGE),
	DEV_MEM(log_min_memic_alloc_size, 6),
	DEV_MEM(log_max_memic_addr_alignment, 6),
};

static const struct cap dev_event[] = {
	{ CX_OFF(device_event_cap, user_affiliated_events) + 63 - OBJ_CHANGE, 1, 1 },
};

static const struct cap general_2[] = {
	CAP_OF(cmd_hca_cap_2, max_reformat_insert_size, 32),
};

static const struct cap port_selection[] = {
	CAP_OF(port_selection_cap, port_select_flow_table, 1),
};

#define LIST(type, list) { type, list, sizeof(list) / sizeof((list)[0]) }
static const struct {
	uint16_t type;
	const struct cap *list;
	size_t nr;
} lists[] = {
	LIST(CAP_GENERAL, general),
	LIST(CAP_ETHERNET, ethernet),
	LIST(CAP_ODP, odp),
	LIST(CAP_ATOMIC, atomic),
	LIST(CAP_ROCE, roce),
	LIST(CAP_FLOW_TABLE, flow_table),
	LIST(CAP_QOS, qos),
	LIST(CAP_DEV_MEM, dev_mem),
	LIST(CAP_DEV_EVENT, dev_event),
	LIST(CAP_GENERAL_2, general_2),
	LIST(CAP_PORT_SELECTION, port_selection),
};

bool cx_caps_cx6dx(uint16_t type, uint8_t *caps)
{
	size_t i;

	for (i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		if (lists[i].type != type)
			continue;
		cx_caps_fill(caps, lists[i].list, lists[i].nr);
		return true;
	}
	return false;
}
