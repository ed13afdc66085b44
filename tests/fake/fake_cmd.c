// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Commands of the fake kernel: what Soft-RoCE would do to objects, without a
 * data path.
 */
#include <errno.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/mlx4-abi.h>
#include <rdma/rdma_user_rxe.h>
#include <string.h>
#include <sys/mman.h>

#include "fake_priv.h"

static int ring_new(const struct call *c, uint32_t slots, uint32_t elem,
		    struct mminfo *mi)
{
	uint32_t size = 384 + slots * elem;
	struct rxe_queue_buf *q;

	memset(mi, 0, sizeof(*mi));
	mi->offset = fake_key_new(c->f->fd, &size);
	if (!mi->offset)
		return -ENOMEM;
	mi->size = size;
	q = fake_ring(mi->offset);
	q->log2_elem_size = (uint32_t)__builtin_ctz(elem);
	q->index_mask = slots - 1;
	return 0;
}

uint32_t fake_slots(uint32_t n)
{
	uint32_t s = 1;

	while (s && s <= n)
		s *= 2;
	return s && s < 1u << 20 ? s : 1u << 20;	/* no room for those */
}

/* mlx4 copies all of its answer, whatever room there is. */
static int mlx4_answer(const struct call *c)
{
	const struct mlx4_ib_alloc_ucontext_resp r = {
		.qp_tab_size = fake_hca.max_qp, .cqe_size = fake_hca.cqe_size,
		.bf_reg_size = 512, .bf_regs_per_page = 8,
	};
	const struct mlx4_ib_alloc_ucontext_resp_v3 old = {
		.qp_tab_size = r.qp_tab_size, .bf_reg_size = r.bf_reg_size,
		.bf_regs_per_page = r.bf_regs_per_page,
	};
	bool is_old = fake_hca.abi == MLX4_IB_UVERBS_NO_DEV_CAPS_ABI_VERSION;
	size_t len = is_old ? sizeof(old) : sizeof(r);

	if (fake_hca.driver_id != RDMA_DRIVER_MLX4)
		return 0;
	if (c->out_len < len)
		return -EFAULT;
	memcpy(c->out, is_old ? (const void *)&old : &r, len);
	return 0;
}

int fake_get_context(const struct call *c)
{
	struct ib_uverbs_get_context_resp *r = (void *)c->resp;
	int fd = -1;

	if (mlx4_answer(c))
		return -EFAULT;
	if (c->f->context)
		return -EINVAL;
	if (fake_async_open(c->f, &fd))
		return -EMFILE;
	c->f->context = true;
	fake.opened++;
	r->async_fd = (uint32_t)fd;
	r->num_comp_vectors = 2;
	return 0;
}

static int do_create_comp_channel(const struct call *c)
{
	struct ib_uverbs_create_comp_channel_resp *r = (void *)c->resp;
	int fd = -1;

	if (fake_comp_open(c->f, &fd))
		return -EMFILE;
	r->fd = (uint32_t)fd;
	return 0;
}

/* What a ConnectX-6 Dx announces of verbs that the backend does not serve. */
#define NOT_SERVED							\
	(IB_UVERBS_DEVICE_RAW_MULTI | IB_UVERBS_DEVICE_UD_IP_CSUM |	\
	 IB_UVERBS_DEVICE_RAW_IP_CSUM | IB_UVERBS_DEVICE_RAW_SCATTER_FCS | \
	 IB_UVERBS_DEVICE_MANAGED_FLOW_STEERING |			\
	 IB_UVERBS_DEVICE_PCI_WRITE_END_PADDING)

static int do_query_device(const struct call *c)
{
	struct ib_uverbs_ex_query_device_resp *r = (void *)c->resp;
	uint32_t big = 1u << 16;

	if (c->in_len || c->out_len)
		return -EINVAL;
	r->base.node_guid = 0x1122334455667788ull;
	r->base.max_mr_size = fake_hca.max_mr_size;
	r->base.max_qp = fake_hca.max_qp;
	r->base.max_cq = r->base.max_mr = r->base.max_pd = big;
	r->base.max_mw = r->base.max_ah = r->base.max_srq = r->base.max_qp_wr = big;
	r->base.max_sge = 32;
	r->base.max_mcast_qp_attach = 56;
	r->base.max_pkeys = 64;		/* as rxe, whose ports have one */
	r->base.max_cqe = 32767;
	r->base.phys_port_cnt = fake_hca.ports;
	/* The last three: flush and atomic write, newer than the protocol. */
	r->device_cap_flags_ex = 7ull << 38 | IB_UVERBS_DEVICE_XRC |
				 IB_UVERBS_DEVICE_MEM_WINDOW | NOT_SERVED;
	if (fake_hca.av_port)
		r->device_cap_flags_ex |= IB_UVERBS_DEVICE_UD_AV_PORT_ENFORCE;
	if (fake_is_mlx5())
		fake_mlx5_caps(r);
	r->response_length = sizeof(*r);
	return 0;
}

static int do_query_port(const struct call *c)
{
	const struct ib_uverbs_query_port *q = (const void *)c->core;
	struct ib_uverbs_query_port_resp *r = (void *)c->resp;

	if (!q->port_num || q->port_num > fake_hca.ports)
		return -EINVAL;
	r->state = 4;
	r->gid_tbl_len = FAKE_GIDS;
	r->pkey_tbl_len = fake_hca.pkeys;
	r->link_layer = fake_hca.infiniband ? 1 : 2;
	r->port_cap_flags = 1u << 16;
	if (!fake_hca.infiniband)	/* the kernel takes it from PortInfo */
		r->port_cap_flags |= IB_UVERBS_PCF_IP_BASED_GIDS;
	return 0;
}

static int do_alloc_pd(const struct call *c)
{
	struct ib_uverbs_alloc_pd_resp *r = (void *)c->resp;
	struct fake_obj *o = fake_obj_new(c, FAKE_PD);

	if (!o)
		return -ENOMEM;
	r->pd_handle = o->handle;
	return 0;
}

static int do_reg_mr(const struct call *c)
{
	const struct ib_uverbs_reg_mr *q = (const void *)c->core;
	struct ib_uverbs_reg_mr_resp *r = (void *)c->resp;
	struct fake_obj *pd = fake_obj_find(c, FAKE_PD, q->pd_handle), *o;

	if ((q->start ^ q->hca_va) & 4095)
		return -EINVAL;
	if (q->access_flags & 0xa && !(q->access_flags & 1))
		return -EINVAL;
	if (!pd)
		return -ENOENT;
	if (!fake_mapped(q->start, q->length))
		return -EFAULT;
	o = fake_obj_new(c, FAKE_MR);
	if (!o)
		return -ENOMEM;
	fake_obj_uses(o, 0, pd);
	o->start = q->start;
	o->length = q->length;
	o->iova = q->hca_va;
	o->access = q->access_flags;
	r->mr_handle = o->handle;
	r->lkey = r->rkey = o->num << 8;
	return 0;
}

static int do_rereg_mr(const struct call *c)
{
	const struct ib_uverbs_rereg_mr *q = (const void *)c->core;
	struct ib_uverbs_rereg_mr_resp *r = (void *)c->resp;
	struct fake_obj *o = fake_obj_find(c, FAKE_MR, q->mr_handle);

	if (!o)
		return -ENOENT;
	if (q->flags & 1) {
		fake_dmabuf_drop(o);
		o->start = q->start;
		o->length = q->length;
		o->iova = q->hca_va;
	} else {		/* mlx5 has used them all the same */
		fake.violations += q->start || q->length || q->hca_va;
	}
	if (q->flags & 4)
		o->access = q->access_flags;
	r->lkey = r->rkey = (o->num << 8) + 1;
	return 0;
}

static int do_alloc_mw(const struct call *c)
{
	const struct ib_uverbs_alloc_mw *q = (const void *)c->core;
	struct ib_uverbs_alloc_mw_resp *r = (void *)c->resp;
	struct fake_obj *pd = fake_obj_find(c, FAKE_PD, q->pd_handle), *o;

	if (!pd)
		return -ENOENT;
	o = fake_obj_new(c, FAKE_MW);
	if (!o)
		return -ENOMEM;
	fake_obj_uses(o, 0, pd);
	r->mw_handle = o->handle;
	r->rkey = o->num << 8;
	return 0;
}

int fake_cq_new(const struct call *c, uint32_t slots, struct fake_obj **out)
{
	const struct ib_uverbs_create_cq *q = (const void *)c->core;
	struct ib_uverbs_create_cq_resp *r = (void *)c->resp;
	struct fake_obj *o;

	if (!q->cqe || q->cqe > 32767 || q->comp_vector >= 2 ||
	    q->comp_channel != c->f->comp_fd)
		return -EINVAL;
	o = fake_obj_new(c, FAKE_CQ);
	if (!o)
		return -ENOMEM;
	o->user_handle = q->user_handle;
	o->num = slots - 1;
	r->cq_handle = o->handle;
	r->cqe = o->num;
	*out = o;
	return 0;
}

static int do_create_cq(const struct call *c)
{
	const struct ib_uverbs_create_cq *q = (const void *)c->core;
	struct rxe_create_cq_resp *u = (void *)c->out;
	uint32_t slots = fake_slots(q->cqe);
	struct fake_obj *o;
	int err;

	if (c->out_len < sizeof(*u))
		return -EINVAL;
	err = fake_cq_new(c, slots, &o);
	if (err)
		return err;
	if (ring_new(c, slots, 64, &u->mi)) {
		fake_obj_del(o);
		return -ENOMEM;
	}
	o->ring = u->mi.offset;
	return 0;
}

static int do_create_cq_ex(const struct call *c)
{
	/* only used with flags; rxe has none */
	return fake_is_mlx5() ? fake_mlx5_create_cq_ex(c) : -EOPNOTSUPP;
}

static int do_resize_cq(const struct call *c)
{
	const struct ib_uverbs_resize_cq *q = (const void *)c->core;
	struct ib_uverbs_resize_cq_resp *r = (void *)c->resp;
	struct rxe_resize_cq_resp *u = (void *)c->out;
	struct fake_obj *o = fake_obj_find(c, FAKE_CQ, q->cq_handle);
	uint32_t slots = fake_slots(q->cqe);

	if (!o)
		return -ENOENT;
	if (c->out_len < sizeof(*u) || !q->cqe)
		return -EINVAL;
	if (ring_new(c, slots, 64, &u->mi))
		return -ENOMEM;
	fake_key_drop(o->ring);
	o->ring = u->mi.offset;
	o->num = r->cqe = slots - 1;
	return 0;
}

static int do_req_notify_cq(const struct call *c)
{
	const struct ib_uverbs_req_notify_cq *q = (const void *)c->core;
	struct fake_obj *o = fake_obj_find(c, FAKE_CQ, q->cq_handle);

	if (!o)
		return -ENOENT;
	o->arms++;
	o->solicited = q->solicited_only;
	return 0;
}

static int qp_rings(const struct call *c, struct fake_obj *o)
{
	const struct ib_uverbs_ex_create_qp *q = (const void *)c->core;
	struct rxe_create_qp_resp *u = (void *)c->out;

	if (ring_new(c, fake_slots(q->max_send_wr), 256, &u->sq_mi))
		return -ENOMEM;
	o->ring = u->sq_mi.offset;
	if (q->is_srq)
		return 0;
	if (ring_new(c, fake_slots(q->max_recv_wr), 64, &u->rq_mi))
		return -ENOMEM;
	o->rq_ring = u->rq_mi.offset;
	return 0;
}

/* What a QP uses, by its type: 0 or -ENOENT. */
static int qp_parts(const struct call *c, struct fake_obj *part[4])
{
	const struct ib_uverbs_ex_create_qp *q = (const void *)c->core;
	unsigned int i, n = q->qp_type == IB_UVERBS_QPT_XRC_INI ? 2 : 3;

	if (q->qp_type == IB_UVERBS_QPT_XRC_TGT) {
		part[0] = fake_obj_find(c, FAKE_XRCD, q->pd_handle);
		return part[0] ? 0 : -ENOENT;
	}
	part[0] = fake_obj_find(c, FAKE_PD, q->pd_handle);
	part[1] = fake_obj_find(c, FAKE_CQ, q->send_cq_handle);
	if (n == 3)
		part[2] = fake_obj_find(c, FAKE_CQ, q->recv_cq_handle);
	if (q->is_srq)
		part[n++] = fake_obj_find(c, FAKE_SRQ, q->srq_handle);
	for (i = 0; i < n; i++)
		if (!part[i])
			return -ENOENT;
	return 0;
}

int fake_qp_new(const struct call *c, struct fake_obj **out)
{
	const struct ib_uverbs_ex_create_qp *q = (const void *)c->core;
	struct ib_uverbs_create_qp_resp *r = (void *)c->resp;
	struct fake_obj *part[4] = { 0 }, *o;
	unsigned int i;

	if (qp_parts(c, part))
		return -ENOENT;
	if (q->max_send_wr > 16384)
		return -EINVAL;
	if (q->qp_type == IB_UVERBS_QPT_XRC_TGT)	/* mlx4 would make queues */
		fake.violations += q->max_send_wr || q->max_recv_wr ||
				   q->max_send_sge || q->max_recv_sge ||
				   q->max_inline_data;
	o = fake_obj_new(c, FAKE_QP);
	if (!o)
		return -ENOMEM;
	for (i = 0; i < 4; i++)
		if (part[i])
			fake_obj_uses(o, i, part[i]);
	o->user_handle = q->user_handle;
	o->qp_type = q->qp_type;
	r->qp_handle = o->handle;
	r->qpn = o->num;
	r->max_send_wr = fake_slots(q->max_send_wr) - 1;
	r->max_send_sge = q->max_send_sge;
	r->max_recv_sge = q->max_recv_sge;
	r->max_inline_data = q->max_inline_data;
	*out = o;
	return 0;
}

int fake_rxe_create_qp(const struct call *c)
{
	struct fake_obj *o;
	int err = -EINVAL;

	if (!c->in_len && c->out_len >= sizeof(struct rxe_create_qp_resp))
		err = fake_qp_new(c, &o);
	if (!err && qp_rings(c, o)) {
		fake_obj_del(o);
		err = -ENOMEM;
	}
	return err;
}

static int do_modify_qp(const struct call *c)
{
	const struct ib_uverbs_modify_qp *q = (const void *)c->core;
	struct fake_obj *o = fake_obj_find(c, FAKE_QP, q->qp_handle);

	if (!o)
		return -ENOENT;
	if (q->attr_mask & 1u << 5 && q->port_num > fake_hca.ports)
		return -EINVAL;
	if (q->attr_mask & 1u << 5)
		o->port = q->port_num;
	if (q->attr_mask & 1u << 7 && q->dest.port_num != o->port)
		return -EINVAL;
	o->qp_mask = q->attr_mask;
	o->qp_state = q->attr_mask & 1 ? q->qp_state : o->qp_state;
	if (q->attr_mask & 1u << 4)
		o->pkey_index = q->pkey_index;
	if (q->attr_mask & 1u << 7)
		o->sgid_index = q->dest.sgid_index;
	if (q->attr_mask & 1u << 14) {
		o->alt_pkey_index = q->alt_pkey_index;
		o->alt_sgid_index = q->alt_dest.sgid_index;
	}
	return 0;
}

static int do_query_qp(const struct call *c)
{
	const struct ib_uverbs_query_qp *q = (const void *)c->core;
	struct ib_uverbs_query_qp_resp *r = (void *)c->resp;
	struct fake_obj *o = fake_obj_find(c, FAKE_QP, q->qp_handle);

	if (!o)
		return -ENOENT;
	r->qp_state = o->qp_state;
	r->port_num = o->port;
	r->pkey_index = o->pkey_index;
	return 0;
}

static int do_post_send(const struct call *c)
{
	const struct ib_uverbs_post_send *q = (const void *)c->core;
	struct fake_obj *o = fake_obj_find(c, FAKE_QP, q->qp_handle);

	if (q->wr_count || q->sge_count ||
	    q->wqe_size < sizeof(struct ib_uverbs_send_wr))
		return -EINVAL;
	if (!o)
		return -ENOENT;
	o->posts++;
	return 0;
}

/* Before INIT the QP has no port, and an HCA with both links takes any LID. */
static bool mcast_valid(const struct fake_obj *o,
			const struct ib_uverbs_attach_mcast *q)
{
	if (o->qp_type != 4 || q->gid[0] != 0xff)
		return false;
	if (!fake_hca.infiniband || (!o->qp_state && fake_hca.ports > 1))
		return true;
	return q->mlid >= 0xc000 && q->mlid != 0xffff;
}

/* The pair in use; with @lid < 0, the GID that the driver has attached. */
static struct fake_mcast *mcast_at(struct fake_obj *o, const uint8_t *gid, int lid)
{
	struct fake_mcast *m;

	for (m = o->group; m < o->group + FAKE_GROUPS; m++)
		if (!memcmp(m->gid, gid, sizeof(m->gid)) &&
		    (lid < 0 ? m->member : m->used && m->lid == lid))
			return m;
	return NULL;
}

static struct fake_mcast *mcast_free(struct fake_obj *o)
{
	struct fake_mcast *m = o->group;

	while (m < o->group + FAKE_GROUPS && (m->used || m->member))
		m++;
	return m < o->group + FAKE_GROUPS ? m : NULL;
}

static int do_attach_mcast(const struct call *c)
{
	const struct ib_uverbs_attach_mcast *q = (const void *)c->core;
	struct fake_obj *o = fake_obj_find(c, FAKE_QP, q->qp_handle);
	struct fake_mcast *m;

	if (!o)
		return -ENOENT;
	if (mcast_at(o, q->gid, q->mlid))
		return 0;
	if (!mcast_valid(o, q))
		return -EINVAL;
	m = mcast_free(o);
	if (!m)
		return -ENOMEM;
	/* "already a member" is no error of the driver */
	m->member = !mcast_at(o, q->gid, -1);
	m->used = true;
	m->lid = q->mlid;
	memcpy(m->gid, q->gid, sizeof(m->gid));
	o->mcast++;
	return 0;
}

static int do_detach_mcast(const struct call *c)
{
	const struct ib_uverbs_detach_mcast *q = (const void *)c->core;
	struct fake_obj *o = fake_obj_find(c, FAKE_QP, q->qp_handle);
	struct fake_mcast *m = o ? mcast_at(o, q->gid, q->mlid) : NULL;

	if (!o)
		return -ENOENT;
	if (!m)
		return -EINVAL;
	m->used = false;
	m = mcast_at(o, q->gid, -1);
	if (!m || !mcast_valid(o, (const void *)q))	/* ib_core counts it still */
		return -EINVAL;
	m->member = false;
	o->mcast--;
	return 0;
}

int fake_srq_new(const struct call *c, const struct ib_uverbs_create_xsrq *q,
		 struct fake_obj **out)
{
	struct ib_uverbs_create_srq_resp *r = (void *)c->resp;
	struct fake_obj *pd = fake_obj_find(c, FAKE_PD, q->pd_handle), *o;
	bool xrc = q->srq_type == IB_UVERBS_SRQT_XRC;
	struct fake_obj *xrcd = NULL, *cq = NULL;

	if (q->srq_type)
		cq = fake_obj_find(c, FAKE_CQ, q->cq_handle);
	if (xrc)
		xrcd = fake_obj_find(c, FAKE_XRCD, q->xrcd_handle);
	if (!pd || (q->srq_type && !cq) || (xrc && !xrcd))
		return -ENOENT;
	if (!q->max_wr)
		return -EINVAL;
	o = fake_obj_new(c, FAKE_SRQ);
	if (!o)
		return -ENOMEM;
	fake_obj_uses(o, 0, pd);
	fake_obj_uses(o, 1, xrcd);
	fake_obj_uses(o, 2, cq);
	r->srqn = xrc ? o->num : 0;
	o->max_tags = q->max_num_tags;
	o->user_handle = q->user_handle;
	r->srq_handle = o->handle;
	r->max_wr = fake_slots(q->max_wr) - 1;
	r->max_sge = q->max_sge;
	*out = o;
	return 0;
}

static int do_create_srq(const struct call *c)
{
	const struct ib_uverbs_create_srq *q = (const void *)c->core;
	struct ib_uverbs_create_xsrq x;
	struct rxe_create_srq_resp *u = (void *)c->out;
	struct fake_obj *o;
	int err;

	if (c->out_len < sizeof(*u))
		return -EINVAL;
	fake_xsrq(c, &x);
	err = fake_srq_new(c, &x, &o);
	if (err)
		return err;
	if (ring_new(c, fake_slots(q->max_wr), 64, &u->mi)) {
		fake_obj_del(o);
		return -ENOMEM;
	}
	o->ring = u->mi.offset;
	u->srq_num = o->num;
	return 0;
}

static int do_modify_srq(const struct call *c)
{
	const struct ib_uverbs_modify_srq *q = (const void *)c->core;
	struct fake_obj *o = fake_obj_find(c, FAKE_SRQ, q->srq_handle);
	struct rxe_modify_srq_cmd u;
	struct mminfo mi;

	if (!o)
		return -ENOENT;
	if (c->in_len < sizeof(u))
		return -EINVAL;
	memcpy(&u, c->in, sizeof(u));
	if (!(q->attr_mask & 1))
		return 0;
	if (ring_new(c, fake_slots(q->max_wr), 64, &mi))
		return -ENOMEM;
	fake_key_drop(o->ring);
	o->ring = mi.offset;
	memcpy((void *)(uintptr_t)u.mmap_info_addr, &mi, sizeof(mi));
	return 0;
}

static int do_query_srq(const struct call *c)
{
	const struct ib_uverbs_query_srq *q = (const void *)c->core;
	struct ib_uverbs_query_srq_resp *r = (void *)c->resp;

	if (!fake_obj_find(c, FAKE_SRQ, q->srq_handle))
		return -ENOENT;
	r->max_wr = 7;
	return 0;
}

static int do_create_ah(const struct call *c)
{
	const struct ib_uverbs_create_ah *q = (const void *)c->core;
	struct ib_uverbs_create_ah_resp *r = (void *)c->resp;
	struct fake_obj *pd = fake_obj_find(c, FAKE_PD, q->pd_handle), *o;

	if (!pd)
		return -ENOENT;
	if (!q->attr.port_num || q->attr.port_num > fake_hca.ports)
		return -EINVAL;
	if (fake_is_mlx5() && fake_mlx5_mac(c, q->attr.grh.dgid))
		return -EINVAL;
	o = fake_obj_new(c, FAKE_AH);
	if (!o)
		return -ENOMEM;
	fake_obj_uses(o, 0, pd);
	o->sgid_index = q->attr.grh.sgid_index;
	r->ah_handle = o->handle;
	if (!fake_is_mlx5() && c->out_len >= 8)
		memcpy(c->out, &o->num, sizeof(o->num));
	return 0;
}

/* The handle is the first member, or follows the response address. */
#define DESTROY(stem, TYPE, off)					\
static int do_##stem(const struct call *c)				\
{									\
	uint32_t handle;						\
									\
	memcpy(&handle, c->core + (off), sizeof(handle));		\
	return fake_obj_destroy(c, FAKE_##TYPE, handle);			\
}
DESTROY(dealloc_pd, PD, 0)
DESTROY(close_xrcd, XRCD, 0)
DESTROY(dereg_mr, MR, 0)
DESTROY(dealloc_mw, MW, 0)
DESTROY(destroy_ah, AH, 0)
DESTROY(destroy_cq, CQ, 8)
DESTROY(destroy_qp, QP, 8)
DESTROY(destroy_srq, SRQ, 8)

#define IO(CMD, stem, ud)						\
	[IB_USER_VERBS_CMD_##CMD] = {					\
		do_##stem, sizeof(struct ib_uverbs_##stem),		\
		sizeof(struct ib_uverbs_##stem##_resp), ud }
#define I(CMD, stem, ud)						\
	[IB_USER_VERBS_CMD_##CMD] = {					\
		do_##stem, sizeof(struct ib_uverbs_##stem), 0, ud }

const struct fake_method fake_methods[64] = {
	[IB_USER_VERBS_CMD_GET_CONTEXT] = {
		fake_get_context, sizeof(struct ib_uverbs_get_context),
		sizeof(struct ib_uverbs_get_context_resp), true },
	IO(QUERY_PORT, query_port, false),
	IO(ALLOC_PD, alloc_pd, true), I(DEALLOC_PD, dealloc_pd, false),
	[IB_USER_VERBS_CMD_OPEN_XRCD] = {
		fake_open_xrcd, sizeof(struct ib_uverbs_open_xrcd),
		sizeof(struct ib_uverbs_open_xrcd_resp), true },
	I(CLOSE_XRCD, close_xrcd, false),
	IO(REG_MR, reg_mr, true), IO(REREG_MR, rereg_mr, true),
	I(DEREG_MR, dereg_mr, false),
	IO(ALLOC_MW, alloc_mw, true), I(DEALLOC_MW, dealloc_mw, false),
	IO(CREATE_COMP_CHANNEL, create_comp_channel, false),
	IO(CREATE_CQ, create_cq, true), IO(RESIZE_CQ, resize_cq, true),
	IO(DESTROY_CQ, destroy_cq, false), I(REQ_NOTIFY_CQ, req_notify_cq, false),
	I(MODIFY_QP, modify_qp, false),
	IO(QUERY_QP, query_qp, false), IO(DESTROY_QP, destroy_qp, false),
	IO(POST_SEND, post_send, false),
	I(ATTACH_MCAST, attach_mcast, false), I(DETACH_MCAST, detach_mcast, false),
	[IB_USER_VERBS_CMD_CREATE_XSRQ] = {
		NULL, sizeof(struct ib_uverbs_create_xsrq),
		sizeof(struct ib_uverbs_create_srq_resp), true },
	IO(CREATE_SRQ, create_srq, true), I(MODIFY_SRQ, modify_srq, true),
	IO(QUERY_SRQ, query_srq, false), IO(DESTROY_SRQ, destroy_srq, false),
	IO(CREATE_AH, create_ah, true), I(DESTROY_AH, destroy_ah, false),
};

const struct fake_method fake_ex_methods[64] = {
	[IB_USER_VERBS_EX_CMD_QUERY_DEVICE] = {
		do_query_device, sizeof(struct ib_uverbs_ex_query_device),
		sizeof(struct ib_uverbs_ex_query_device_resp), true },
	[IB_USER_VERBS_EX_CMD_CREATE_CQ] = {
		do_create_cq_ex, sizeof(struct ib_uverbs_ex_create_cq),
		sizeof(struct ib_uverbs_ex_create_cq_resp), true },
	[IB_USER_VERBS_EX_CMD_CREATE_QP] = {
		fake_create_qp, sizeof(struct ib_uverbs_ex_create_qp),
		sizeof(struct ib_uverbs_ex_create_qp_resp), true },
	[IB_USER_VERBS_EX_CMD_MODIFY_CQ] = {
		fake_mlx5_modify_cq, sizeof(struct ib_uverbs_ex_modify_cq) },
};
