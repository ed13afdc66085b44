// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The honest half of hostile-backend: answers that look like those of a
 * Soft-RoCE HCA or of an mlx5 (mlx5.c), without anything behind them.
 */
#include "lies.h"
#include "mlx5.h"

#define RXE_DRIVER_ID	14
#define RXE_ABI		2
#define QUEUE_SIZE	8192u

void peer_notify(struct peer *b, enum port p)
{
	xenevtchn_notify(b->ev, b->port[p]);
}

void peer_put(struct peer *b, const struct xenvhca_response *rsp)
{
	int notify;

	*RING_GET_RESPONSE(&b->ring, b->ring.rsp_prod_pvt) = *rsp;
	b->ring.rsp_prod_pvt++;
	RING_PUSH_RESPONSES_AND_CHECK_NOTIFY(&b->ring, notify);
	if (notify)
		peer_notify(b, CMD);
}

void peer_event(struct peer *b, const struct xenvhca_event *ev)
{
	b->evt->event[b->evt_prod % XENVHCA_EVT_ENTRIES] = *ev;
	b->evt_prod++;
	__atomic_store_n(&b->evt->prod, b->evt_prod, __ATOMIC_RELEASE);
	peer_notify(b, EVT);
}

bool peer_rests(struct peer *b)
{
	b->busy = time(NULL) % 3;
	return !b->busy;
}

bool peer_pour_one(struct peer *b, const struct xenvhca_event *ev)
{
	if (b->evt_prod - __atomic_load_n(&b->evt->cons, __ATOMIC_ACQUIRE) >=
	    XENVHCA_EVT_ENTRIES)
		return false;
	b->evt->event[b->evt_prod++ % XENVHCA_EVT_ENTRIES] = *ev;
	b->flood++;
	return true;
}

void peer_poured(struct peer *b)
{
	__atomic_store_n(&b->evt->prod, b->evt_prod, __ATOMIC_RELEASE);
	peer_notify(b, EVT);
}

void peer_pour(struct peer *b, const struct xenvhca_event *ev)
{
	unsigned int i = 0;

	b->busy = true;
	while (i++ < XENVHCA_EVT_ENTRIES && peer_pour_one(b, ev))
		;
	peer_poured(b);
}

static void info(const struct peer *b, struct xenvhca_get_info_rsp *r)
{
	r->driver_id = RXE_DRIVER_ID;
	r->uverbs_abi_ver = RXE_ABI;
	r->node_guid = 0x1122334455667788ull;
	r->num_comp_vectors = 2;
	r->node_type = 1;
	r->kicks = XENVHCA_INFO_KICK_SEND | XENVHCA_INFO_KICK_ARM;
	r->flags = XENVHCA_INFO_COUNTERS;
	r->max_pages = 1u << 16;
	strcpy(r->hca, "model0");
	strcpy(r->fw, "1.0");
	if (b->mlx5)
		mlx5_info(r);
	if (b->files)
		r->flags |= XENVHCA_INFO_CM | XENVHCA_INFO_UMAD;
	if (b->kernel)
		r->flags |= XENVHCA_INFO_CM;
}

static void device(const struct peer *b, struct xenvhca_query_device_rsp *r)
{
	r->max_mr_size = 1ull << 28;
	r->page_size_cap = 0xfffff000;
	r->max_qp = r->max_cq = r->max_mr = r->max_pd = 1024;
	r->max_ah = r->max_srq = r->max_mw = 1024;
	r->max_qp_wr = r->max_srq_wr = 16384;
	r->max_cqe = b->mlx5 ? 1u << 22 : 16384;
	r->max_send_sge = r->max_recv_sge = r->max_srq_sge = 32;
	r->max_qp_rd_atom = r->max_qp_init_rd_atom = 16;
	r->max_pkeys = 1;
}

static void port(struct xenvhca_query_port_rsp *r)
{
	r->state = 4;
	r->max_mtu = 5;
	r->active_mtu = 3;
	r->gid_tbl_len = 16;
	r->pkey_tbl_len = 1;
	r->max_msg_sz = 1u << 23;
	r->link_layer = 2;
	r->active_width = 1;
	r->active_speed = 1;
	r->phys_state = 5;
}

/* Memory of the HCA's driver: Soft-RoCE's. */
static void queue(struct peer *b, struct xenvhca_response *rsp, int at)
{
	uint64_t offset = (uint64_t)b->handle * 65536u + (uint64_t)at * 4096u;
	uint32_t size = QUEUE_SIZE;

	if (b->mlx5)
		return;
	memcpy(rsp->udata + at, &offset, sizeof(offset));
	memcpy(rsp->udata + at + 8, &size, sizeof(size));
}

static void objects(struct peer *b, const struct xenvhca_request *req,
		    struct xenvhca_response *rsp)
{
	rsp->u.handle.handle = ++b->handle;
	switch (req->op) {
	case XENVHCA_OP_REG_MR:
	case XENVHCA_OP_ALLOC_MW:
		rsp->u.mr.lkey = rsp->u.mr.rkey = b->handle << 8;
		break;
	case XENVHCA_OP_CREATE_CQ:
		rsp->u.cq.cqe = req->u.create_cq.cqe;
		queue(b, rsp, 0);
		break;
	case XENVHCA_OP_CREATE_QP:
		rsp->u.create_qp.qpn = b->handle + 16;
		rsp->u.create_qp.cap = req->u.create_qp.cap;
		queue(b, rsp, 0);
		queue(b, rsp, 16);
		break;
	case XENVHCA_OP_CREATE_SRQ:
		rsp->u.create_srq.max_wr = req->u.create_srq.max_wr;
		rsp->u.create_srq.max_sge = req->u.create_srq.max_sge;
		queue(b, rsp, 0);
		break;
	}
	if (b->mlx5)
		mlx5_udata(b->handle, req, rsp);
}

void model_answer(struct peer *b, const struct xenvhca_request *req,
		  struct xenvhca_response *rsp)
{
	memset(rsp, 0, sizeof(*rsp));
	rsp->id = req->id;
	rsp->op = req->op;
	rsp->out_len = req->out_len <= XENVHCA_UDATA_SIZE ? req->out_len : 0;
	switch (req->op) {
	case XENVHCA_OP_GET_INFO:
		info(b, &rsp->u.get_info);
		break;
	case XENVHCA_OP_QUERY_DEVICE:
		device(b, &rsp->u.query_device);
		break;
	case XENVHCA_OP_QUERY_PORT:
		port(&rsp->u.query_port);
		break;
	case XENVHCA_OP_QUERY_GID_TABLE:
		rsp->u.query_gid_table.count = 1;
		rsp->u.query_gid_table.gid[0].gid[0] = 0xfe;
		rsp->u.query_gid_table.gid[0].gid[1] = 0x80;
		break;
	case XENVHCA_OP_QUERY_PKEY_TABLE:
		rsp->u.query_pkey_table.count = 1;
		rsp->u.query_pkey_table.pkey[0] = 0xffff;
		break;
	case XENVHCA_OP_QUERY_COUNTER_NAMES:
		rsp->u.query_counter_names.count = 2;
		rsp->u.query_counter_names.total = 2;
		strcpy(rsp->u.query_counter_names.name[0], "link_downed");
		strcpy(rsp->u.query_counter_names.name[1], "port_xmit_data");
		break;
	case XENVHCA_OP_QUERY_COUNTERS:
		rsp->u.query_counters.count = 2;
		rsp->u.query_counters.valid = 3;
		break;
	case XENVHCA_OP_CM_COMMAND:	/* id 0 */
		rsp->u.cm_command.out_len = sizeof(uint32_t);
		break;
	case XENVHCA_OP_REGISTER_UMAD:
		break;
	case XENVHCA_OP_MMAP:		/* no memory behind it */
		rsp->status = -12;
		break;
	default:
		objects(b, req, rsp);
	}
}
