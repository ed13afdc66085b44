// SPDX-License-Identifier: GPL-2.0
/* Copyright (C) 2026 The vhca authors */
/*
 * Probes of the device, its port and its PD: what it says about itself, field
 * by field, and how it answers questions about things that it does not have.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "probe.h"

struct field {
	const char *name;
	size_t off;
	size_t size;
};

#define F(type, member) \
	{ #member, offsetof(type, member), sizeof(((type *)0)->member) }
#define D(member) F(struct ibv_device_attr, member)
#define X(member) F(struct ibv_device_attr_ex, member)
#define P(member) F(struct ibv_port_attr, member)

static const struct field dev_fields[] = {
	D(max_mr_size), D(page_size_cap), D(vendor_id), D(vendor_part_id),
	D(hw_ver), D(max_qp), D(max_qp_wr), D(device_cap_flags), D(max_sge),
	D(max_sge_rd), D(max_cq), D(max_cqe), D(max_mr), D(max_pd),
	D(max_qp_rd_atom), D(max_ee_rd_atom), D(max_res_rd_atom),
	D(max_qp_init_rd_atom), D(max_ee_init_rd_atom), D(atomic_cap),
	D(max_ee), D(max_rdd), D(max_mw), D(max_raw_ipv6_qp),
	D(max_raw_ethy_qp), D(max_mcast_grp), D(max_mcast_qp_attach),
	D(max_total_mcast_qp_attach), D(max_ah), D(max_fmr),
	D(max_map_per_fmr), D(max_srq), D(max_srq_wr), D(max_srq_sge),
	D(max_pkeys), D(local_ca_ack_delay), D(phys_port_cnt),
};

static const struct field ex_fields[] = {
	X(comp_mask), X(odp_caps.general_caps),
	X(odp_caps.per_transport_caps.rc_odp_caps),
	X(odp_caps.per_transport_caps.uc_odp_caps),
	X(odp_caps.per_transport_caps.ud_odp_caps),
	X(completion_timestamp_mask), X(hca_core_clock),
	X(device_cap_flags_ex), X(tso_caps.max_tso),
	X(tso_caps.supported_qpts), X(rss_caps.supported_qpts),
	X(rss_caps.max_rwq_indirection_tables),
	X(rss_caps.max_rwq_indirection_table_size),
	X(rss_caps.rx_hash_fields_mask), X(rss_caps.rx_hash_function),
	X(max_wq_type_rq), X(packet_pacing_caps.qp_rate_limit_min),
	X(packet_pacing_caps.qp_rate_limit_max),
	X(packet_pacing_caps.supported_qpts), X(raw_packet_caps),
	X(tm_caps.max_rndv_hdr_size), X(tm_caps.max_num_tags),
	X(tm_caps.flags), X(tm_caps.max_ops), X(tm_caps.max_sge),
	X(cq_mod_caps.max_cq_count), X(cq_mod_caps.max_cq_period),
	X(max_dm_size), X(pci_atomic_caps.fetch_add),
	X(pci_atomic_caps.swap), X(pci_atomic_caps.compare_swap),
	X(xrc_odp_caps), X(phys_port_cnt_ex),
};

static const struct field port_fields[] = {
	P(state), P(max_mtu), P(active_mtu), P(gid_tbl_len),
	P(port_cap_flags), P(max_msg_sz), P(bad_pkey_cntr),
	P(qkey_viol_cntr), P(pkey_tbl_len), P(lid), P(sm_lid), P(lmc),
	P(max_vl_num), P(sm_sl), P(subnet_timeout), P(init_type_reply),
	P(active_width), P(active_speed), P(phys_state), P(link_layer),
	P(flags), P(port_cap_flags2),
};

static void print_fields(const char *prefix, const void *base,
			 const struct field *f, size_t n)
{
	const uint8_t *b = base;
	size_t i;

	for (i = 0; i < n; i++) {
		unsigned long long v = 0;

		/* Little endian: the low bytes come first. */
		memcpy(&v, b + f[i].off, f[i].size);
		prd(nm("%s.%s", prefix, f[i].name), 0, "%llu", v);
	}
}

static void probe_open(struct probe *p)
{
	struct ibv_device *d = p->ctx->device;
	struct ibv_context *again;

	prd("device.node_type", 0, "%s", ibv_node_type_str(d->node_type));
	prd("device.transport_type", 0, "%d", d->transport_type);
	prd("device.guid", 0, "%s", ibv_get_device_guid(d) ? "set" : "zero");
	prd("device.index", 0, "%s",
	   ibv_get_device_index(d) >= 0 ? "known" : "unknown");
	prd("device.num_comp_vectors", 0, "%d", p->ctx->num_comp_vectors);
	again = ibv_open_device(d);
	pr("open_device.second", ep(again));
	if (again)
		pr("close_device.second", ibv_close_device(again));
	/* Its own file: an import takes it, also one that fails. */
	again = ibv_import_device(dup(p->ctx->cmd_fd));
	pr("import_device", ep(again));
	if (again)
		ibv_close_device(again);
}

void probe_device(struct probe *p)
{
	struct ibv_query_device_ex_input in = { .comp_mask = 1 };
	struct ibv_values_ex val = { .comp_mask = IBV_VALUES_MASK_RAW_CLOCK };
	struct ibv_device_attr_ex ex;
	struct ibv_device_attr a;
	int err;

	probe_open(p);
	err = ibv_query_device(p->ctx, &a);
	prd("query_device", err, "fw %s", err ? "" : a.fw_ver);
	print_fields("query_device", &a, dev_fields,
		     VT_ARRAY_SIZE(dev_fields));
	memset(&ex, 0, sizeof(ex));
	err = ibv_query_device_ex(p->ctx, NULL, &ex);
	pr("query_device_ex", err);
	print_fields("query_device_ex", &ex, ex_fields,
		     VT_ARRAY_SIZE(ex_fields));
	pr("query_device_ex.bad_comp_mask",
	   ibv_query_device_ex(p->ctx, &in, &ex));
	pr("query_rt_values_ex", ibv_query_rt_values_ex(p->ctx, &val));
	prd("is_fork_initialized", 0, "%d", ibv_is_fork_initialized());
}

static const char *gid_class(const union ibv_gid *g)
{
	static char text[INET_ADDRSTRLEN + 8];
	char v4[INET_ADDRSTRLEN];

	if (vt_all(g->raw, 16, 0))
		return "zero";
	if (vt_all(g->raw, 10, 0) && g->raw[10] == 0xff) {
		inet_ntop(AF_INET, g->raw + 12, v4, sizeof(v4));
		snprintf(text, sizeof(text), "ipv4 %s", v4);
		return text;
	}
	return g->raw[0] == 0xfe && g->raw[1] == 0x80 ? "link-local" : "ipv6";
}

static void probe_gids(struct probe *p)
{
	int i, n, err, len = p->dev.port.gid_tbl_len;
	struct ibv_gid_entry e, tbl[32];
	union ibv_gid g;

	for (i = 0; i < 4; i++) {
		err = ibv_query_gid(p->ctx, VT_PORT, i, &g);
		prd(nm("query_gid.%d", i), er(err), "%s",
		   err ? "" : gid_class(&g));
		memset(&e, 0, sizeof(e));
		err = ibv_query_gid_ex(p->ctx, VT_PORT, i, &e, 0);
		prd(nm("query_gid_ex.%d", i), err, "%s type %u ndev %s",
		   gid_class(&e.gid), e.gid_type,
		   e.ndev_ifindex ? "set" : "none");
	}
	pr("query_gid.past_table",
	   er(ibv_query_gid(p->ctx, VT_PORT, len, &g)));
	pr("query_gid.bad_port", er(ibv_query_gid(p->ctx, 9, 0, &g)));
	pr("query_gid_ex.past_table",
	   ibv_query_gid_ex(p->ctx, VT_PORT, len, &e, 0));
	pr("query_gid_ex.bad_port", ibv_query_gid_ex(p->ctx, 9, 0, &e, 0));
	pr("query_gid_ex.bad_flags",
	   ibv_query_gid_ex(p->ctx, VT_PORT, 0, &e, 1));
	memset(tbl, 0, sizeof(tbl));
	n = ibv_query_gid_table(p->ctx, tbl, VT_ARRAY_SIZE(tbl), 0);
	prd("query_gid_table", n < 0 ? n : 0, "%d entries", n < 0 ? 0 : n);
	for (i = 0; i < n; i++)
		prd(nm("query_gid_table.%d", i), 0, "port %u index %u type %u "
		   "%s", tbl[i].port_num, tbl[i].gid_index, tbl[i].gid_type,
		   gid_class(&tbl[i].gid));
	n = ibv_query_gid_table(p->ctx, tbl, 1, 0);
	prd("query_gid_table.short", n < 0 ? n : 0, "%d entries",
	   n < 0 ? 0 : n);
}

void probe_port(struct probe *p)
{
	struct ibv_port_attr a;
	__be16 pkey = 0;
	int err, i;

	memset(&a, 0, sizeof(a));
	err = ibv_query_port(p->ctx, VT_PORT, &a);
	pr("query_port", err);
	print_fields("query_port", &a, port_fields,
		     VT_ARRAY_SIZE(port_fields));
	pr("query_port.0", ibv_query_port(p->ctx, 0, &a));
	pr("query_port.2", ibv_query_port(p->ctx, 2, &a));
	pr("query_port.255", ibv_query_port(p->ctx, 255, &a));
	for (i = 0; i < 2; i++) {
		err = ibv_query_pkey(p->ctx, VT_PORT, i, &pkey);
		prd(nm("query_pkey.%d", i), er(err), "%#x",
		   err ? 0 : ntohs(pkey));
	}
	i = ibv_get_pkey_index(p->ctx, VT_PORT, htons(0xffff));
	prd("get_pkey_index", er(i < 0), "%d", i);
	probe_gids(p);
}

void probe_pd(struct probe *p)
{
	struct ibv_td_init_attr ta = { 0 };
	struct ibv_parent_domain_init_attr pa = { .pd = p->pd };
	struct ibv_pd *pd, *many[64];
	struct ibv_td *td;
	int i, n, err = 0;

	pd = ibv_alloc_pd(p->ctx);
	pr("alloc_pd", ep(pd));
	if (pd)
		pr("dealloc_pd", ibv_dealloc_pd(pd));
	for (n = 0; n < (int)VT_ARRAY_SIZE(many); n++) {
		many[n] = ibv_alloc_pd(p->ctx);
		if (!many[n])
			break;
	}
	prd("alloc_pd.many", n < (int)VT_ARRAY_SIZE(many) ? errno : 0, "%d", n);
	for (i = 0; i < n; i++)
		err = err ? err : ibv_dealloc_pd(many[i]);
	pr("dealloc_pd.many", err);
	td = ibv_alloc_td(p->ctx, &ta);
	pr("alloc_td", ep(td));
	pa.td = td;
	pd = ibv_alloc_parent_domain(p->ctx, &pa);
	pr("alloc_parent_domain", ep(pd));
	if (pd)
		pr("dealloc_parent_domain", ibv_dealloc_pd(pd));
	if (td)
		pr("dealloc_td", ibv_dealloc_td(td));
	pd = ibv_import_pd(p->ctx, 0);
	pr("import_pd", ep(pd));
	if (pd)
		ibv_unimport_pd(pd);
}
