// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Management datagrams of the guest's programs: an open umad file of a guest's process
 * is one here, and what it sends is sent by its agent in this domain's kernel, which
 * puts long answers together, repeats and times out. A request comes from a hostile
 * guest: its lengths are checked here, who may send what is umad_filter.c's decision,
 * and no agent is registered that the kernel would complain of in its log.
 *
 * The command thread runs this. No command waits for a peer; the end of an agent
 * waits for what the port's work queue has.
 */
#include <errno.h>
#include <string.h>

#include "clock.h"
#include "object.h"
#include "tables.h"
#include "umad.h"

#define PACKET_MIN	(BE_UMAD_HEAD + BE_MAD_HEAD)

_Static_assert(BE_UMAD_HEAD + BE_MAD_SIZE == XENVHCA_UMAD_SEND_MAX,
	       "one datagram");

/* ---- the file ---- */

static int umad_end(struct be_dev *dev, struct be_obj *obj)
{
	struct be_umad *umad = (struct be_umad *)obj;

	(void)dev;
	if (!be_file_close(&umad->f))
		return 0;
	be_umad_forget(umad, UINT32_MAX);
	pthread_mutex_lock(&umad->f.ready.lock);
	while (umad->first)
		be_umad_pop(umad);
	pthread_mutex_unlock(&umad->f.ready.lock);
	return 0;
}

const struct be_kind be_kind_umad = {
	.end = umad_end, .release = be_file_release,
};

int be_alloc_umad(const struct be_cmd *c)
{
	static const struct be_ready ready = {
		.type = XENVHCA_EVT_UMAD, .has = be_umad_fill,
	};

	if (!(c->dev->info.flags & XENVHCA_INFO_UMAD))
		return -EOPNOTSUPP;
	return be_file_alloc(c, BE_UMAD, sizeof(struct be_umad),
			     c->dev->umad_path, &ready);
}

int be_dealloc_umad(const struct be_cmd *c)
{
	struct be_umad *umad = be_file_of(c, BE_UMAD);

	return umad ? be_obj_destroy(c->dev, &umad->f.o) : -ENOENT;
}

/* ---- agents ---- */

/* Who wants to hear what nobody asked for needs umad=all. */
static int agent_check(const struct be_dev *dev,
		       const struct xenvhca_register_umad_req *r)
{
	if (r->reserved || r->qpn > 1 || r->oui >> 24)
		return -EINVAL;
	if (dev->umad != BE_UMAD_ALL &&
	    (r->method_mask[0] || r->method_mask[1]))
		return -EPERM;
	return 0;
}

int be_register_umad(const struct be_cmd *c)
{
	const struct xenvhca_register_umad_req *r = &c->req->u.register_umad;
	struct ib_user_mad_reg_req2 req = {
		.qpn = r->qpn, .mgmt_class = r->mgmt_class,
		.mgmt_class_version = r->mgmt_class_version,
		.method_mask = { r->method_mask[0], r->method_mask[1] },
		.oui = r->oui, .rmpp_version = r->rmpp_version,
	};
	struct be_umad *umad = be_file_of(c, BE_UMAD);
	int err;

	if (!umad)
		return -ENOENT;
	err = agent_check(c->dev, r);
	if (!err && umad->agents == UINT32_MAX)
		err = -ENOMEM;
	if (!err)
		err = uv_register_umad(umad->f.ready.fd, &req);
	if (!err && req.id >= XENVHCA_UMAD_AGENTS)
		err = -EIO;
	if (err)
		return err;
	umad->agents |= 1u << req.id;
	if (!r->qpn)
		umad->qp0 |= 1u << req.id;
	c->rsp->u.register_umad.id = req.id;
	return 0;
}

/* An answer that the kernel has still is the agent's: another may get its number. */
int be_unregister_umad(const struct be_cmd *c)
{
	uint32_t id = c->req->u.unregister_umad.id;
	struct be_umad *umad = be_file_of(c, BE_UMAD);
	int err;

	if (!umad)
		return -ENOENT;
	if (id >= XENVHCA_UMAD_AGENTS || !(umad->agents >> id & 1))
		return -EINVAL;
	err = uv_unregister_umad(umad->f.ready.fd, id);
	if (err)
		return err;
	umad->agents &= ~(1u << id);
	umad->qp0 &= ~(1u << id);
	pthread_mutex_lock(&umad->f.ready.lock);
	be_umad_fill(&umad->f.ready);
	pthread_mutex_unlock(&umad->f.ready.lock);
	be_umad_forget(umad, 1u << id);
	return 0;
}

/* ---- to the fabric ---- */

/* A packet, and zeros behind it. */
static int packet_load(const struct xenvhca_request *req,
		       uint8_t packet[XENVHCA_UMAD_SEND_MAX],
		       struct ib_user_mad_hdr *hdr)
{
	const struct xenvhca_send_umad_req *r = &req->u.send_umad;

	if (r->reserved || r->len < PACKET_MIN ||
	    r->len > XENVHCA_UMAD_SEND_MAX || req->out_len ||
	    req->in_len != vhca_slot_more(r->len, sizeof(r->packet)) ||
	    !be_zero(r->packet, r->len, sizeof(r->packet)))
		return -EINVAL;
	memset(packet, 0, XENVHCA_UMAD_SEND_MAX);
	vhca_slot_take(packet, r->len, r->packet, sizeof(r->packet),
		       req->udata);
	memcpy(hdr, packet, sizeof(*hdr));
	return hdr->status || hdr->length ||
	       !be_zero(hdr->reserved, 0, sizeof(hdr->reserved)) ?
	       -EINVAL : 0;
}

/* Is it allowed? And in the terms of this domain. */
static int packet_check(struct be_umad *umad, struct ib_user_mad_hdr *hdr,
			const uint8_t *mad, size_t len)
{
	struct be_dev *dev = umad->f.dev;
	int err = 0;

	if (be_mad_cut(mad, len))
		return -EINVAL;
	if (hdr->id >= XENVHCA_UMAD_AGENTS || !(umad->agents >> hdr->id & 1))
		return -EIO;		/* as the kernel says */
	if (dev->umad != BE_UMAD_ALL)
		err = umad->qp0 >> hdr->id & 1 ? -EPERM :
		      be_umad_filter(hdr, mad);
	if (err) {
		be_log_peer(dev, "a management datagram of class 0x%02x, method 0x%02x is refused: that is not umad=query",
			    mad[1], mad[3]);
		return err;
	}
	/* On RoCE the kernel would resolve the peer's address meanwhile (rdma_create_user_ah()). */
	if (hdr->grh_present)
		err = dev->ethernet ? -EOPNOTSUPP : be_gid_check(dev, hdr->gid_index);
	if (!err)
		err = be_pkey_to_host(dev, hdr->pkey_index, &hdr->pkey_index);
	if (hdr->timeout_ms > BE_UMAD_MS)
		hdr->timeout_ms = BE_UMAD_MS;
	if (hdr->retries > BE_UMAD_RETRIES)
		hdr->retries = BE_UMAD_RETRIES;
	return err;
}

static int packet_send(struct be_umad *umad, const struct ib_user_mad_hdr *hdr,
		       uint8_t *packet, size_t len)
{
	const uint8_t *mad = packet + BE_UMAD_HEAD;
	struct vl_bucket *rate = &umad->f.dev->quota.umad;
	struct be_umad_send *send = NULL;
	uint64_t now = vl_coarse_ns();
	int err = 0;

	if (vl_bucket_take(rate, now))
		return -EAGAIN;
	if (hdr->timeout_ms && !be_mad_response(mad))
		err = be_umad_ask(umad, hdr, mad, &send);
	if (err)
		return err;
	vl_bucket_charge(rate, now, hdr->retries);
	memcpy(packet, hdr, sizeof(*hdr));
	err = uv_send_umad(umad->f.ready.fd, packet, len);
	if (err && send)
		be_umad_unask(umad, send);
	return err;
}

int be_send_umad(const struct be_cmd *c)
{
	uint8_t packet[XENVHCA_UMAD_SEND_MAX];
	struct be_umad *umad = be_file_of(c, BE_UMAD);
	struct ib_user_mad_hdr hdr;
	int err;

	if (!umad)
		return -ENOENT;
	err = packet_load(c->req, packet, &hdr);
	if (!err)
		err = packet_check(umad, &hdr, packet + BE_UMAD_HEAD,
				   c->req->u.send_umad.len - BE_UMAD_HEAD);
	if (!err)
		err = packet_send(umad, &hdr, packet,
				  c->req->u.send_umad.len);
	return err;
}

/* ---- from the fabric ---- */

/* A part of the first packet; with its last part the packet goes. */
static int packet_part(struct be_umad *umad, uint32_t offset,
		       struct xenvhca_response *rsp)
{
	struct xenvhca_recv_umad_rsp *r = &rsp->u.recv_umad;
	const struct be_umad_msg *m = umad->first;
	uint32_t n;

	if (!m)
		return offset ? -EINVAL : 0;
	if (offset >= m->len)
		return -EINVAL;
	n = m->len - offset;
	if (n > sizeof(r->packet) + XENVHCA_UDATA_SIZE)
		n = sizeof(r->packet) + XENVHCA_UDATA_SIZE;
	r->len = m->len;
	rsp->out_len = vhca_slot_put(r->packet, sizeof(r->packet), rsp->udata,
				     m->packet + offset, (uint16_t)n);
	if (offset + n == m->len)
		be_umad_pop(umad);
	return 0;
}

int be_recv_umad(const struct be_cmd *c)
{
	struct xenvhca_recv_umad_rsp *r = &c->rsp->u.recv_umad;
	struct be_umad *umad = be_file_of(c, BE_UMAD);
	int err;

	if (!umad)
		return -ENOENT;
	if (c->req->in_len || c->req->out_len != XENVHCA_UDATA_SIZE)
		return -EINVAL;
	pthread_mutex_lock(&umad->f.ready.lock);
	be_umad_fill(&umad->f.ready);
	err = packet_part(umad, c->req->u.recv_umad.offset, c->rsp);
	pthread_mutex_unlock(&umad->f.ready.lock);
	if (!err)
		r->events = be_ready_answer(&umad->f.ready, &r->seq);
	return err;
}
