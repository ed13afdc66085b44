/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The wire: frames and their memory, which device a frame is for, queues of
 * frames with back-pressure, multicast groups. A receiver takes whatever lies
 * in its queue, without waiting for anything, and what it answers at once is
 * never refused: so full queues always drain, also those of two devices that
 * send to each other. Addresses of frames are the guest's or the peer's, and
 * nothing is believed: who is not found gets nothing.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "cx_priv.h"

#define QUEUE_MAX	(2u << 20)	/* bytes of frames for one device */
#define LID_PERMISSIVE	0xffffu
#define LID_MULTICAST	0xc000u

/* ---- frames ---- */
/*
 * Frames of a few sizes are kept for the next message: none of the data path
 * asks the allocator. The sanitizer is to see every use of a freed frame.
 */
#ifdef __SANITIZE_ADDRESS__
#define KEEP(nr) 0u
#else
#define KEEP(nr) (nr)
#endif

static struct cx_pool {
	const uint32_t room;
	const unsigned int keep;
	unsigned int nr;
	struct cx_frame *first;
} pools[] = {
	{ .room = 256, .keep = KEEP(256) },
	{ .room = 4096, .keep = KEEP(64) },
	{ .room = CX_FRAME_DATA, .keep = KEEP(64) },
};

/* Hubs may be run by different threads. */
static pthread_mutex_t pools_lock = PTHREAD_MUTEX_INITIALIZER;

static struct cx_pool *pool_of(uint32_t room)
{
	size_t i;

	for (i = 0; i < sizeof(pools) / sizeof(pools[0]); i++)
		if (room <= pools[i].room)
			return &pools[i];
	return NULL;
}

struct cx_frame *cx_frame_new(uint32_t room)
{
	struct cx_pool *p = pool_of(room);
	struct cx_frame *f;

	if (!p)
		return NULL;
	pthread_mutex_lock(&pools_lock);
	f = p->first;
	if (f) {
		p->first = f->next;
		p->nr--;
	}
	pthread_mutex_unlock(&pools_lock);
	if (!f)
		f = malloc(sizeof(*f) + p->room);
	if (!f)
		return NULL;
	memset(f, 0, sizeof(*f));
	f->room = p->room;
	return f;
}

void cx_frame_free(struct cx_frame *f)
{
	struct cx_pool *p;

	if (!f)
		return;
	p = pool_of(f->room);
	pthread_mutex_lock(&pools_lock);
	if (p->nr < p->keep) {
		f->next = p->first;
		p->first = f;
		p->nr++;
		f = NULL;
	}
	pthread_mutex_unlock(&pools_lock);
	free(f);
}

bool cx_frame_is_ack(const struct cx_frame *f)
{
	return f->kind == CX_F_ACK || f->kind == CX_F_NAK ||
	       f->kind == CX_F_ATOMIC_DATA;
}

struct cx_frame *cx_frame_copy(const struct cx_frame *f)
{
	struct cx_frame *copy = cx_frame_new(f->len);
	uint32_t room;

	if (!copy)
		return NULL;
	room = copy->room;
	memcpy(copy, f, sizeof(*f));
	copy->next = NULL;
	copy->room = room;
	memcpy(copy->data, f->data, f->len);
	return copy;
}

/* ---- who may talk ---- */
/* Subnet management: works from INIT on, between QPs 0 alone. */
static bool is_smp(const struct cx_frame *f)
{
	return f->kind == CX_F_DATAGRAM && !f->dqpn && !f->sqpn;
}

static bool is_multicast(uint16_t lid)
{
	return lid >= LID_MULTICAST && lid != LID_PERMISSIVE;
}

bool cx_frame_is_multicast(const struct cx_frame *f)
{
	return f->net ? f->dmac[0] & 1 : is_multicast(f->dlid);
}

bool cx_frame_is_own(const struct cx_dev *d, const struct cx_frame *f)
{
	if (d->config.eth)
		return f->kind != CX_F_ETHER && cx_roce_owns(d, f->smac);
	return !((f->slid ^ d->port.lid) >> d->port.lmc);
}

/* A frame without a source, or for what is no QP of RoCE. */
static bool is_forged_eth(const struct cx_frame *f)
{
	if (f->net == CX_NET_ETHER || f->kind == CX_F_ETHER)
		return f->net != CX_NET_ETHER || f->kind != CX_F_ETHER;
	return f->net == CX_NET_IB || !f->dqpn ||
	       (f->kind == CX_F_DATAGRAM && !f->sqpn);
}

/* A process with a UD QP is not a subnet manager: QP 0 is for QP 0. */
static bool is_forged(const struct cx_dev *d, const struct cx_frame *f)
{
	if (d->config.eth)
		return is_forged_eth(f);
	if (is_smp(f))
		return is_multicast(f->dlid);
	if (f->dlid == LID_PERMISSIVE || !f->dlid || !f->dqpn)
		return true;
	return f->kind == CX_F_DATAGRAM && !f->sqpn;
}

static bool may_send(const struct cx_dev *d, const struct cx_frame *f)
{
	if (is_forged(d, f) ||
	    (d->config.eth && f->kind != CX_F_ETHER && !d->nic.roce))
		return false;
	return d->port.state == CX_PORT_S_ACTIVE ||
	       (is_smp(f) && d->port.phys_state == CX_PHYS_LINK_UP);
}

static bool owns_lid(const struct cx_dev *d, uint16_t lid)
{
	const struct cx_port *p = &d->port;

	return p->lid && lid >> p->lmc == p->lid >> p->lmc;
}

/*
 * The first data after ARM says that the other end is ACTIVE: so is this one
 * then, without the subnet manager's word.
 */
static bool may_receive(struct cx_dev *d, const struct cx_frame *f)
{
	if (d->config.eth != (f->net != CX_NET_IB))
		return false;
	if (is_smp(f))
		return d->port.phys_state == CX_PHYS_LINK_UP;
	if (d->port.state == CX_PORT_S_ARMED) {
		d->port.state = CX_PORT_S_ACTIVE;
		cx_port_event(d, CX_PORT_ACTIVE);
	}
	return d->port.state == CX_PORT_S_ACTIVE;
}

/* ---- queues ---- */
static void drop(struct cx_dev *d, struct cx_frame *f)
{
	d->stats.frames_dropped++;
	cx_frame_free(f);
}

static uint32_t cost(const struct cx_frame *f)
{
	return f->room + sizeof(*f);
}

static void push(struct cx_dev *d, struct cx_frame *f)
{
	f->next = NULL;
	if (d->rx_last)
		d->rx_last->next = f;
	else
		d->rx_first = f;
	d->rx_last = f;
	d->rx_len += cost(f);
}

struct cx_frame *cx_wire_pop(struct cx_dev *d)
{
	struct cx_frame *f = d->rx_first;

	if (!f)
		return NULL;
	d->rx_first = f->next;
	if (!d->rx_first)
		d->rx_last = NULL;
	d->rx_len -= cost(f);
	return f;
}

bool cx_wire_pending(const struct cx_dev *d)
{
	return d->rx_first;
}

void cx_wire_flush(struct cx_dev *d)
{
	struct cx_frame *f;

	while ((f = cx_wire_pop(d)))
		drop(d, f);
	cx_loss_flush(d);
}

static bool is_full(const struct cx_dev *to, const struct cx_frame *f)
{
	return to->rx_len >= QUEUE_MAX && !cx_frame_is_ack(f);
}

void cx_wire_arrive(struct cx_dev *to, struct cx_frame *f)
{
	if (may_receive(to, f))
		push(to, f);
	else
		drop(to, f);
}

/* Takes f. */
static void enqueue(struct cx_dev *to, struct cx_frame *f)
{
	if (!cx_loss_take(to, f))
		cx_wire_arrive(to, f);
}

/* ---- sending ---- */
static bool is_for(const struct cx_dev *d, const struct cx_frame *f)
{
	return f->net ? cx_roce_owns(d, f->dmac) : owns_lid(d, f->dlid);
}

/* The device that a frame is for: the sender, if it is one of those. */
static struct cx_dev *owner(struct cx_dev *d, const struct cx_frame *f)
{
	struct cx_dev *o;

	if (is_for(d, f))
		return d;
	for (o = cx_hub_first(d->hub); o; o = o->hub_next)
		if (is_for(o, f))
			return o;
	return NULL;
}

/* The only other device of the hub; without a switch there is but one. */
static struct cx_dev *other_end(struct cx_dev *d)
{
	struct cx_dev *o, *found = NULL;

	for (o = cx_hub_first(d->hub); o; o = o->hub_next) {
		if (o == d)
			continue;
		if (found)
			return NULL;
		found = o;
	}
	return found;
}

/* To the cable, or nowhere. */
static int send_link(struct cx_dev *d, struct cx_frame *f)
{
	int rc = d->port.peer ? cx_link_send(d, f) : -ENOTCONN;

	if (rc == -EAGAIN)
		return rc;
	cx_port_count(d, f, true);
	if (rc)
		drop(d, f);
	else
		cx_frame_free(f);
	return 0;
}

static bool has_group(const struct cx_dev *d, const uint8_t gid[16]);

/*
 * One sender is not held up by each of many receivers: who has no room gets
 * no copy. The cable alone can refuse, before anyone has one.
 */
static int send_multicast(struct cx_dev *d, struct cx_frame *f)
{
	struct cx_frame *copy;
	struct cx_dev *o;
	int rc = 0;

	if (!f->grh || f->kind != CX_F_DATAGRAM) {
		drop(d, f);
		return 0;
	}
	if (d->port.peer)
		rc = cx_link_send(d, f);
	if (rc == -EAGAIN)
		return rc;
	for (o = cx_hub_first(d->hub); o; o = o->hub_next) {
		if (!has_group(o, f->dgid))
			continue;
		copy = is_full(o, f) ? NULL : cx_frame_copy(f);
		if (copy)
			enqueue(o, copy);
		else
			o->stats.frames_dropped++;
	}
	cx_port_count(d, f, true);
	cx_frame_free(f);
	return 0;
}

static int send_unicast(struct cx_dev *d, struct cx_frame *f)
{
	bool permissive = !f->net && f->dlid == LID_PERMISSIVE;
	struct cx_dev *to = permissive ? other_end(d) : owner(d, f);

	if (!to)
		return send_link(d, f);
	if (is_full(to, f))
		return -EAGAIN;
	if (to != d)
		cx_port_count(d, f, true);
	enqueue(to, f);
	return 0;
}

/*
 * As a switch that knows no addresses: to all but the sender, whose own frames
 * come back if its steering says so. Who has no room gets no copy.
 */
static int send_ether(struct cx_dev *d, struct cx_frame *f)
{
	struct cx_frame *copy;
	struct cx_dev *o;

	cx_eth_count(&d->nic.tx, f);
	if (d->port.peer && cx_link_send(d, f))
		d->stats.frames_dropped++;
	for (o = cx_hub_first(d->hub); o; o = o->hub_next) {
		if (o == d && !f->loops)
			continue;
		copy = is_full(o, f) ? NULL : cx_frame_copy(f);
		if (copy)
			enqueue(o, copy);
		else
			o->stats.frames_dropped++;
	}
	cx_frame_free(f);
	return 0;
}

static int send_by_lid(struct cx_dev *d, struct cx_frame *f)
{
	uint16_t bits = (1u << d->port.lmc) - 1;

	f->slid = d->port.lid ? d->port.lid | (f->slid & bits) :
				LID_PERMISSIVE;
	return is_multicast(f->dlid) ? send_multicast(d, f) :
				       send_unicast(d, f);
}

int cx_wire_send(struct cx_dev *d, struct cx_frame *f)
{
	int rc;

	if (!d->hub || !may_send(d, f)) {
		d->port.xmit_discards++;
		drop(d, f);
		return 0;
	}
	if (f->kind == CX_F_ETHER)
		rc = send_ether(d, f);
	else if (!d->config.eth)
		rc = send_by_lid(d, f);
	else
		rc = cx_frame_is_multicast(f) ? send_multicast(d, f) :
						send_unicast(d, f);
	if (!rc)
		d->stats.frames_tx++;
	return rc;
}

/*
 * The peer does not wait for room, so there is none to promise: what it sent
 * is worked on now, and dropped if that gave no room (its frames for a QP are
 * then sent again; ours, and acknowledgements above all, are not held up).
 */
void cx_wire_deliver(struct cx_dev *d, struct cx_frame *f)
{
	bool ok = !is_forged(d, f);

	if (f->kind == CX_F_ETHER)
		;
	else if (cx_frame_is_multicast(f))
		ok = ok && f->grh && f->kind == CX_F_DATAGRAM &&
		     has_group(d, f->dgid);
	else if (f->net || f->dlid != LID_PERMISSIVE)
		ok = ok && is_for(d, f);
	if (ok && cx_loss_take(d, f))
		return;
	if (ok && d->rx_len >= QUEUE_MAX)
		cx_hub_run(d->hub, QUEUE_MAX);
	if (ok && may_receive(d, f) && d->rx_len < QUEUE_MAX) {
		push(d, f);
		return;
	}
	d->port.vl15_dropped += is_smp(f);
	drop(d, f);
}

/* ---- multicast groups ---- */
struct cx_mcg {
	struct cx_mcg *next;
	uint8_t gid[16];
	uint32_t nr, room;
	struct cx_qp **qp;
};

static struct cx_mcg **mcg_find(struct cx_dev *d, const uint8_t gid[16])
{
	struct cx_mcg **p;

	for (p = &d->mcgs; *p; p = &(*p)->next)
		if (!memcmp((*p)->gid, gid, 16))
			break;
	return p;
}

static bool has_group(const struct cx_dev *d, const uint8_t gid[16])
{
	const struct cx_mcg *g;

	for (g = d->mcgs; g; g = g->next)
		if (!memcmp(g->gid, gid, 16))
			return true;
	return false;
}

static int mcg_add(struct cx_mcg *g, struct cx_qp *qp)
{
	struct cx_qp **grown;
	uint32_t i;

	for (i = 0; i < g->nr; i++)
		if (g->qp[i] == qp)
			return 0;
	if (g->nr == CX_MCG_QPS)
		return -ENOMEM;
	if (g->nr == g->room) {
		grown = realloc(g->qp, (g->room + 8) * sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		g->qp = grown;
		g->room += 8;
	}
	g->qp[g->nr++] = qp;
	qp->mcgs++;
	return 0;
}

static void mcg_drop_if_empty(struct cx_mcg **p)
{
	struct cx_mcg *g = *p;

	if (g->nr)
		return;
	*p = g->next;
	free(g->qp);
	free(g);
}

static bool mcg_del(struct cx_mcg *g, struct cx_qp *qp)
{
	uint32_t i;

	for (i = 0; i < g->nr && g->qp[i] != qp; i++)
		;
	if (i == g->nr)
		return false;
	g->qp[i] = g->qp[--g->nr];
	qp->mcgs--;
	return true;
}

/* Groups of IPv4 have the mapped address, on an Ethernet port alone. */
static bool is_group(const struct cx_dev *d, const uint8_t gid[16])
{
	static const uint8_t mapped[12] = { [10] = 0xff, 0xff };

	return gid[0] == 0xff || (d->config.eth && gid[12] >> 4 == 0xe &&
				  !memcmp(gid, mapped, 12));
}

int cx_mcg_attach(struct cx_dev *d, struct cx_qp *qp, const uint8_t gid[16])
{
	struct cx_mcg *g, **p;
	uint32_t nr = 0;
	int rc;

	if (!is_group(d, gid))
		return -EINVAL;
	p = mcg_find(d, gid);
	if (!*p) {
		for (g = d->mcgs; g; g = g->next)
			nr++;
		g = nr < 1u << CX_LOG_MCG ? calloc(1, sizeof(*g)) : NULL;
		if (!g)
			return -ENOMEM;
		memcpy(g->gid, gid, 16);
		*p = g;
	}
	rc = mcg_add(*p, qp);
	mcg_drop_if_empty(p);
	return rc;
}

int cx_mcg_detach(struct cx_dev *d, struct cx_qp *qp, const uint8_t gid[16])
{
	struct cx_mcg **p = mcg_find(d, gid);

	if (!*p || !mcg_del(*p, qp))
		return -ENOENT;
	mcg_drop_if_empty(p);
	return 0;
}

void cx_mcg_forget(struct cx_dev *d, struct cx_qp *qp)
{
	struct cx_mcg *g, **p = &d->mcgs;

	while ((g = *p) && qp->mcgs) {
		mcg_del(g, qp);
		if (g->nr)
			p = &g->next;
		else
			mcg_drop_if_empty(p);
	}
}

void cx_mcg_each(struct cx_dev *d, const uint8_t gid[16],
		 void (*fn)(struct cx_dev *d, struct cx_qp *qp,
			    struct cx_frame *f), struct cx_frame *f)
{
	struct cx_mcg *g = *mcg_find(d, gid);
	uint32_t i;

	for (i = 0; g && i < g->nr; i++)
		fn(d, g->qp[i], f);
}

/* The objects are gone: their QPs are not looked at any more. */
void cx_mcg_clear(struct cx_dev *d)
{
	struct cx_mcg *g;

	while ((g = d->mcgs)) {
		d->mcgs = g->next;
		free(g->qp);
		free(g);
	}
}
