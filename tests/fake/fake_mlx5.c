// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The fake kernel's HCA as a ConnectX (fake_be_mlx5): contexts with udata,
 * queues in user memory, doorbell pages at fixed offsets. What the backend
 * must never pass on from a guest is a violation: private doorbell pages,
 * other registers, memory that is not mapped.
 */
#include <errno.h>
#include <fcntl.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/mlx5-abi.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "fake_priv.h"
#include "uverbs/uverbs.h"
#include "context/context.h"
#include "verbs/ucontext.h"
#include "worker/dispatch.h"

#define MLX5_DRIVER	1
#define MAX_BFREGS	512

void fake_be_mlx5(void)
{
	fake_hca.driver_id = MLX5_DRIVER;
	fake_hca.abi = 1;
}

bool fake_is_mlx5(void)
{
	return fake_hca.driver_id == MLX5_DRIVER;
}

void fake_mlx5_open(uint8_t udata[FAKE_MLX5_IN], uint32_t tag)
{
	struct mlx5_ib_alloc_ucontext_req_v2 q = {
		.total_num_bfregs = 16, .num_low_latency_bfregs = tag,
		.max_cqe_version = 1, .lib_caps = MLX5_LIB_CAP_4K_UAR,
	};

	_Static_assert(sizeof(q) == FAKE_MLX5_IN, "udata of GET_CONTEXT");
	memcpy(udata, &q, sizeof(q));
}

void fake_mlx5_open_bfregs(uint8_t udata[FAKE_MLX5_IN], uint32_t bfregs)
{
	fake_mlx5_open(udata, 4);
	memcpy(udata + offsetof(struct mlx5_ib_alloc_ucontext_req_v2,
				total_num_bfregs), &bfregs, sizeof(bfregs));
}

/* Only the daemon itself asks without static doorbell pages. */
static bool context_is_good(const struct call *c,
			    const struct mlx5_ib_alloc_ucontext_req_v2 *q)
{
	uint64_t caps = MLX5_LIB_CAP_4K_UAR;

	if (!c->out_len)
		caps |= MLX5_LIB_CAP_DYN_UAR;
	return !q->flags && !(q->lib_caps & ~caps);
}

static int mlx5_get_context(const struct call *c)
{
	struct mlx5_ib_alloc_ucontext_resp r = {
		.comp_mask = 0x3f, .cmds_supp_uhw = 3, .cqe_version = 1,
		.clock_info_versions = 1, .num_ports = 1,
		.hca_core_clock_offset = 8,
	};
	struct mlx5_ib_alloc_ucontext_req_v2 q;
	int err;

	if (c->in_len != sizeof(q) ||
	    (c->out_len && c->out_len < FAKE_MLX5_OUT))
		return -EINVAL;
	memcpy(&q, c->in, sizeof(q));
	if (!context_is_good(c, &q))
		fake.violations++;
	if (!q.total_num_bfregs && !(q.lib_caps & MLX5_LIB_CAP_DYN_UAR))
		return -EINVAL;
	if (q.total_num_bfregs > MAX_BFREGS)
		return -ENOMEM;
	if (fake_uars_numbered() &&
	    q.num_low_latency_bfregs > q.total_num_bfregs - 1) {
		fake.violations++;
		return -EINVAL;
	}
	err = fake_get_context(c);
	if (!err)
		c->f->uars = (q.total_num_bfregs + 1) / 2;
	if (!err && !fake_uars_take(c->f, c->f->uars))
		err = -ENOMEM;
	r.qp_tab_size = 1024 + fake_hca.moody * fake.opened;
	r.tot_bfregs = q.total_num_bfregs;
	r.response_length = (uint32_t)c->out_len;
	memcpy(c->out, &r, c->out_len < sizeof(r) ? c->out_len : sizeof(r));
	return err;
}

/* The backend has to see to it that all of it is mapped. */
static int memory(struct fake_obj *o, uint64_t buf, uint64_t len, uint64_t db)
{
	if (!buf != !len || (len && !fake_mapped(buf, len)) ||
	    !fake_mapped(db, 8)) {
		fake.violations++;
		fake_obj_del(o);
		return -EFAULT;
	}
	o->start = buf;
	o->length = len;
	o->db = db;
	return 0;
}

static int mlx5_create_cq(const struct call *c)
{
	const struct ib_uverbs_create_cq *q = (const void *)c->core;
	uint32_t slots = fake_slots(q->cqe);
	struct mlx5_ib_create_cq u;
	struct fake_obj *o;
	int err;

	if (c->in_len != sizeof(u) || c->out_len < 8)
		return -EINVAL;
	memcpy(&u, c->in, sizeof(u));
	if (u.flags & MLX5_IB_CREATE_CQ_FLAGS_UAR_PAGE_INDEX || u.cqe_comp_en)
		fake.violations++;
	if (u.cqe_size != 64 && u.cqe_size != 128)
		return -EINVAL;
	err = fake_cq_new(c, slots, &o);
	if (err)
		return err;
	memcpy(c->out, &o->num, sizeof(o->num));
	return memory(o, u.buf_addr, (uint64_t)slots * u.cqe_size, u.db_addr);
}

/* The same in other words, and with flags. */
int fake_mlx5_create_cq_ex(const struct call *c)
{
	const struct ib_uverbs_ex_create_cq *q = (const void *)c->core;
	const struct ib_uverbs_create_cq plain = {
		.user_handle = q->user_handle, .cqe = q->cqe,
		.comp_vector = q->comp_vector, .comp_channel = q->comp_channel,
	};
	struct ib_uverbs_ex_create_cq_resp *r = (void *)c->resp;
	struct call call = *c;
	int err;

	if (q->flags & ~(IB_UVERBS_CQ_FLAGS_TIMESTAMP_COMPLETION |
			 IB_UVERBS_CQ_FLAGS_IGNORE_OVERRUN))
		return -EOPNOTSUPP;
	call.core = (const uint8_t *)&plain;
	err = mlx5_create_cq(&call);
	if (!err)
		fake_obj_find(c, FAKE_CQ, r->base.cq_handle)->cq_flags =
			q->flags;
	return err;
}

/* A queue that has the size already is left alone. */
static int mlx5_resize_cq(const struct call *c)
{
	const struct ib_uverbs_resize_cq *q = (const void *)c->core;
	struct ib_uverbs_resize_cq_resp *r = (void *)c->resp;
	struct fake_obj *o = fake_obj_find(c, FAKE_CQ, q->cq_handle);
	uint32_t slots = fake_slots(q->cqe);
	struct mlx5_ib_resize_cq u;
	uint64_t len;

	if (!o)
		return -ENOENT;
	if (c->in_len != sizeof(u) || !q->cqe || q->cqe > 32767)
		return -EINVAL;
	memcpy(&u, c->in, sizeof(u));
	r->cqe = slots - 1;
	if (slots == o->num + 1)
		return 0;
	len = (uint64_t)slots * u.cqe_size;
	if (!u.buf_addr || !fake_mapped(u.buf_addr, len) ||
	    !fake_mapped(o->start, o->length)) {
		fake.violations++;
		return -EFAULT;
	}
	o->start = u.buf_addr;
	o->length = len;
	o->num = slots - 1;
	return 0;
}

void fake_mlx5_caps(struct ib_uverbs_ex_query_device_resp *r)
{
	r->base.max_cqe = (1u << 22) - 1;
	r->odp_caps.general_caps = !fake_hca.no_odp;
	r->timestamp_mask = FAKE_MLX5_TICKS;
	r->hca_core_clock = FAKE_MLX5_KHZ;
	r->cq_moderation_caps.max_cq_moderation_count = UINT16_MAX;
	r->cq_moderation_caps.max_cq_moderation_period = FAKE_MLX5_PERIOD;
	r->tm_caps.max_num_tags = FAKE_MLX5_TAGS;
	r->tm_caps.max_ops = 32768;
	r->tm_caps.max_sge = 1;
	r->tm_caps.flags = ~0u;
	r->tm_caps.max_rndv_hdr_size = 64;
}

/* Soft-RoCE has no such verb. */
int fake_mlx5_modify_cq(const struct call *c)
{
	const struct ib_uverbs_ex_modify_cq *q = (const void *)c->core;
	struct fake_obj *o = fake_obj_find(c, FAKE_CQ, q->cq_handle);

	if (!fake_is_mlx5() || q->attr_mask != 1)
		return -EOPNOTSUPP;
	if (!o)
		return -ENOENT;
	if (q->attr.cq_period > FAKE_MLX5_PERIOD)
		return -EINVAL;
	o->cq_count = q->attr.cq_count;
	o->cq_period = q->attr.cq_period;
	return 0;
}

static int mlx5_create_qp(const struct call *c)
{
	const struct ib_uverbs_ex_create_qp *q = (const void *)c->core;
	struct mlx5_ib_create_qp u = { 0 };
	struct fake_obj *o;
	uint64_t len;
	int err;

	if (q->create_flags & ~IB_UVERBS_QP_CREATE_BLOCK_MULTICAST_LOOPBACK)
		return -EOPNOTSUPP;
	if (c->in_len < 48 || c->in_len > sizeof(u) || c->out_len < 8)
		return -EINVAL;
	memcpy(&u, c->in, c->in_len);
	if (u.sq_buf_addr)
		fake.violations++;
	err = fake_qp_new(c, &o);
	if (err)
		return err;
	len = ((uint64_t)u.rq_wqe_count << (u.rq_wqe_shift & 31)) +
	      ((uint64_t)u.sq_wqe_count << 6);
	o->qp_flags = q->create_flags;
	if (len || q->is_srq)
		return memory(o, u.buf_addr, len, u.db_addr);
	fake_obj_del(o);
	return -EINVAL;
}

/* Soft-RoCE has no flags. */
int fake_create_qp(const struct call *c)
{
	const struct ib_uverbs_ex_create_qp *q = (const void *)c->core;
	struct fake_obj *o;

	/* made by the kernel: it passes no udata to the driver */
	if (q->qp_type == IB_UVERBS_QPT_XRC_TGT && !q->create_flags)
		return fake_qp_new(c, &o);
	if (fake_is_mlx5())
		return mlx5_create_qp(c);
	return q->create_flags ? -EOPNOTSUPP : fake_rxe_create_qp(c);
}

void fake_xsrq(const struct call *c, struct ib_uverbs_create_xsrq *x)
{
	const struct ib_uverbs_create_srq *q = (const void *)c->core;

	*x = (struct ib_uverbs_create_xsrq){
		.user_handle = q->user_handle, .pd_handle = q->pd_handle,
		.max_wr = q->max_wr, .max_sge = q->max_sge,
		.srq_limit = q->srq_limit,
	};
}

/* ---- XRC: a domain is known by an inode ---- */

struct fake_obj *fake_xrcd_of(const struct fake_obj *o)
{
	struct fake_obj *d;
	unsigned int i;

	for (i = 0; i < 4; i++) {
		d = o->dep[i] ? &fake.obj[o->dep[i] - 1] : NULL;
		if (d && d->type == FAKE_XRCD)
			return d;
	}
	return NULL;
}

static bool xrcd_exists(uint64_t inode)
{
	unsigned int i;

	for (i = 0; i < FAKE_OBJS; i++)
		if (fake.obj[i].used && fake.obj[i].type == FAKE_XRCD &&
		    fake.obj[i].inode == inode)
			return true;
	return false;
}

/* Of mlx4, too. */
int fake_open_xrcd(const struct call *c)
{
	const struct ib_uverbs_open_xrcd *q = (const void *)c->core;
	struct ib_uverbs_open_xrcd_resp *r = (void *)c->resp;
	struct fake_obj *o;
	struct stat st;

	if (fake_hca.driver_id == RDMA_DRIVER_RXE)
		return -EOPNOTSUPP;
	if (c->in_len || c->out_len)
		return -EINVAL;
	if (fstat((int)q->fd, &st))
		return -EBADF;
	if (!xrcd_exists(st.st_ino) && !(q->oflags & O_CREAT))
		return -EAGAIN;
	o = fake_obj_new(c, FAKE_XRCD);
	if (!o)
		return -ENOMEM;
	o->inode = st.st_ino;
	r->xrcd_handle = o->handle;
	return 0;
}

static int mlx5_srq(const struct call *c, const struct ib_uverbs_create_xsrq *q)
{
	struct mlx5_ib_create_srq u;
	struct fake_obj *o;
	uint64_t size = 32;
	int err;

	if (c->in_len != sizeof(u) || c->out_len < 8 || q->max_sge > 1024)
		return -EINVAL;
	memcpy(&u, c->in, sizeof(u));
	err = fake_srq_new(c, q, &o);
	if (err)
		return err;
	while (size < 16 * (1 + (uint64_t)q->max_sge))
		size *= 2;
	memcpy(c->out, &o->num, sizeof(o->num));
	return memory(o, u.buf_addr, fake_slots(q->max_wr) * size, u.db_addr);
}

static int mlx5_create_srq(const struct call *c)
{
	struct ib_uverbs_create_xsrq x;

	fake_xsrq(c, &x);
	return mlx5_srq(c, &x);
}

static int mlx5_create_xsrq(const struct call *c)
{
	return mlx5_srq(c, (const void *)c->core);
}

/* Cannot be resized. */
static int mlx5_modify_srq(const struct call *c)
{
	const struct ib_uverbs_modify_srq *q = (const void *)c->core;

	if (!fake_obj_find(c, FAKE_SRQ, q->srq_handle))
		return -ENOENT;
	return q->attr_mask & 1 || c->in_len ? -EINVAL : 0;
}

/*
 * Of an Ethernet port: the driver copies no more than the peer's MAC address, which the
 * fake network has made of the last octets of its GID.
 */
int fake_mlx5_mac(const struct call *c, const uint8_t dgid[16])
{
	struct mlx5_ib_create_ah_resp r = {
		.response_length = offsetof(struct mlx5_ib_create_ah_resp, reserved),
	};

	if (c->out_len < r.response_length)
		return -EINVAL;
	memcpy(r.dmac, dgid + 10, sizeof(r.dmac));
	memcpy(c->out, &r, r.response_length);
	return 0;
}

fake_run *fake_mlx5_run(uint32_t cmd)
{
	switch (cmd) {
	case IB_USER_VERBS_CMD_GET_CONTEXT:
		return mlx5_get_context;
	case IB_USER_VERBS_CMD_CREATE_CQ:
		return mlx5_create_cq;
	case IB_USER_VERBS_CMD_RESIZE_CQ:
		return mlx5_resize_cq;
	case IB_USER_VERBS_CMD_CREATE_SRQ:
		return mlx5_create_srq;
	case IB_USER_VERBS_CMD_CREATE_XSRQ:
		return mlx5_create_xsrq;
	case IB_USER_VERBS_CMD_MODIFY_SRQ:
		return mlx5_modify_srq;
	default:
		return NULL;
	}
}

/* Static doorbell pages, plain, combining, uncached, and allocated ones. */
bool fake_mlx5_page(struct fake_file *f, size_t len, uint64_t offset)
{
	uint64_t cmd = offset >> 20 & 0xff;
	bool good = len == 4096 && !(offset % 4096);

	if (cmd == 6)
		good = good && !(offset >> 36);
	else
		good = good && !(offset >> 28) &&
		       (!cmd || cmd == 2 || cmd == 3);
	if (!good)
		fake.violations++;
	f->uars += cmd == 6;
	return good;
}

/* be_dev_close() would keep it. */
static uint32_t context_to_keep(const struct be_dev *dev)
{
	const struct be_obj *o;
	const struct be_uc *uc;

	for (o = dev->ucontexts; o; o = o->next) {
		uc = (const struct be_uc *)o;
		if (be_doorbells_held(uc->file) &&
		    uc->file->state != BE_VFILE_CLOSING)
			return o->handle;
	}
	return 0;
}

void fake_settle(struct be_dev *dev)
{
	struct xenvhca_request req = { .op = XENVHCA_OP_DEALLOC_UCONTEXT };
	struct xenvhca_response rsp = { .status = 0 };
	struct be_vfile *f;

	while (!rsp.status && (req.ucontext = context_to_keep(dev)))
		be_dispatch(dev, &req, &rsp);
	while ((f = dev->vfiles[BE_VFILE_PARKED])) {
		be_doorbells_end(dev, f);
		be_vfile_drop(dev, f);
	}
}
