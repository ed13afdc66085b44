// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Queues that a guest writes in place of the driver's (shadow.h). The command
 * thread makes and ends them with dev->lock held for writing. Whoever drains
 * the kick ring moves sends; whoever looks (recv_poll.c) moves receives.
 *
 * The guest's consumer index says what was copied, not what was executed: the
 * process sees room as soon as its request is copied. So it may have twice as
 * many requests as the queue has entries; what the driver has no room for stays
 * in the guest's queue.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "chunk.h"
#include "core/ib_core.h"
#include "object.h"
#include "shadow.h"
#include "ucontext.h"

static struct be_shadow **shadow_of(struct be_obj *owner, enum vhca_queue kind)
{
	if (owner->type == BE_SRQ)
		return &((struct be_srq *)owner)->rq;
	return kind == VHCA_QUEUE_SEND ? &((struct be_qp *)owner)->sq :
					 &((struct be_qp *)owner)->rq;
}

/* The driver wrote these fields, and no guest can. */
static int form_check(const struct be_shadow *s)
{
	uint32_t element, slots = s->mask + 1;

	if (s->length < sizeof(*s->real) || s->shift > BE_WQE_SHIFT ||
	    !slots || slots & s->mask)
		return -EIO;
	element = 1u << s->shift;
	if ((s->length - sizeof(*s->real)) / element < slots)
		return -EIO;
	return be_rxe_room(s->kind, element) ? 0 : -EIO;
}

static uint32_t lower(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static void limits(struct be_shadow *s, const struct be_obj *owner)
{
	const struct be_qp *qp = (const struct be_qp *)owner;
	uint32_t room = be_rxe_room(s->kind, 1u << s->shift);
	uint32_t sge = room / sizeof(struct rxe_sge);

	if (owner->type == BE_SRQ) {
		s->max_sge = lower(sge, ((const struct be_srq *)owner)->max_sge);
		return;
	}
	s->qp_type = qp->qp_type;
	s->pd = qp->pd;
	s->max_inline = lower(room, qp->cap.max_inline_data);
	s->max_sge = lower(sge, s->kind == VHCA_QUEUE_SEND ?
			   qp->cap.max_send_sge : qp->cap.max_recv_sge);
}

struct be_shadow *be_shadow_new(struct be_dev *dev, const struct be_mmap *m,
				enum vhca_queue kind, struct be_obj *owner,
				int *err)
{
	struct be_shadow *s = calloc(1, sizeof(*s));

	*err = -ENOMEM;
	if (!s)
		return NULL;
	s->kind = kind;
	s->dev = dev;
	s->owner = owner;
	s->trusted = dev->trusted;
	s->real = m->addr;
	s->length = m->length;
	s->shift = s->real->log2_elem_size;
	s->mask = s->real->index_mask;
	*err = form_check(s);
	if (*err)
		goto err_free;
	limits(s, owner);
	s->prod = s->real->producer_index & s->mask;
	s->guest = be_chunk_get(dev, s->length, &s->chunk);
	if (!s->guest) {
		*err = -errno;
		goto err_free;
	}
	s->guest->log2_elem_size = s->shift;
	s->guest->index_mask = s->mask;
	pthread_rwlock_wrlock(&dev->lock);
	s->next = dev->shadows;
	s->prev = &dev->shadows;
	if (s->next)
		s->next->prev = &s->next;
	dev->shadows = s;
	__atomic_add_fetch(&dev->n_shadows, 1, __ATOMIC_RELAXED);
	*shadow_of(owner, kind) = s;
	pthread_rwlock_unlock(&dev->lock);
	return s;
err_free:
	free(s);
	return NULL;
}

void be_shadow_free(struct be_dev *dev, struct be_shadow *s)
{
	if (!s)
		return;
	pthread_rwlock_wrlock(&dev->lock);
	if (s->owner)
		*shadow_of(s->owner, s->kind) = NULL;
	*s->prev = s->next;
	if (s->next)
		s->next->prev = s->prev;
	__atomic_sub_fetch(&dev->n_shadows, 1, __ATOMIC_RELAXED);
	pthread_rwlock_unlock(&dev->lock);
	be_chunk_put(dev, s->guest, s->length, s->chunk);
	free(s);
}

static void detach(struct be_shadow **s)
{
	if (*s)
		(*s)->owner = NULL;
	*s = NULL;
}

void be_shadow_detach(struct be_dev *dev, struct be_obj *owner)
{
	if (owner->type != BE_QP && owner->type != BE_SRQ)
		return;
	pthread_rwlock_wrlock(&dev->lock);
	detach(shadow_of(owner, VHCA_QUEUE_RECV));
	if (owner->type == BE_QP)
		detach(shadow_of(owner, VHCA_QUEUE_SEND));
	pthread_rwlock_unlock(&dev->lock);
}

void be_shadow_attach(struct be_dev *dev, struct be_shadow *s,
		      struct be_obj *owner)
{
	pthread_rwlock_wrlock(&dev->lock);
	s->owner = owner;
	*shadow_of(owner, s->kind) = s;
	pthread_rwlock_unlock(&dev->lock);
}

uint32_t be_shadow_queued(const struct be_shadow *s)
{
	return (s->prod - __atomic_load_n(&s->real->consumer_index,
					  __ATOMIC_ACQUIRE)) & s->mask;
}

static void *slot(const struct be_shadow *s, struct rxe_queue_buf *q,
		  uint32_t index)
{
	return q->data + ((size_t)index << s->shift);
}

/* Reads one request once, while the guest may write to it. */
static bool move(struct be_shadow *s)
{
	_Alignas(8) uint8_t raw[BE_WQE_MAX], wqe[BE_WQE_MAX];
	size_t element = (size_t)1 << s->shift;
	bool ok;

	memcpy(raw, slot(s, s->guest, s->taken), element);
	__asm__ __volatile__("" ::: "memory");
	memset(wqe, 0, element);
	ok = s->kind == VHCA_QUEUE_SEND ? be_rxe_send(s, raw, wqe) :
					  be_rxe_recv(s, raw, wqe);
	memcpy(slot(s, s->real, s->prod), wqe, element);
	return ok;
}

static unsigned int take(struct be_dev *dev, struct be_shadow *s,
			 unsigned int most)
{
	uint32_t end = __atomic_load_n(&s->guest->producer_index,
				       __ATOMIC_ACQUIRE) & s->mask;
	unsigned int n = 0, refused = 0;
	uint32_t next;

	s->behind = false;
	for (; s->taken != end && n < most; n++) {
		next = (s->prod + 1) & s->mask;
		if (next == (__atomic_load_n(&s->real->consumer_index,
					     __ATOMIC_ACQUIRE) & s->mask)) {
			s->behind = true;
			break;
		}
		refused += !move(s);
		s->prod = next;
		s->taken = (s->taken + 1) & s->mask;
		__atomic_store_n(&s->real->producer_index, next,
				 __ATOMIC_RELEASE);
	}
	if (!n)
		return 0;
	__atomic_store_n(&s->guest->consumer_index, s->taken,
			 __ATOMIC_RELEASE);
	BE_STAT_ADD(dev, wqes, n);
	if (refused) {
		BE_STAT_ADD(dev, wqes_refused, refused);
		be_log_peer(dev, "%u work requests refused: an opcode, a length or a number of elements that the queue must not have",
			    refused);
	}
	return n;
}

unsigned int be_shadow_take(struct be_dev *dev, struct be_shadow *s)
{
	return take(dev, s, UINT_MAX);
}

/* Returns when to look at a receive queue again, or ~0. */
static uint64_t look_again(const struct be_shadow *s)
{
	const struct be_qp *qp = (const struct be_qp *)s->owner;

	if (s->behind || s->owner->type == BE_SRQ)
		return BE_RECV_LOSSY_NS;
	if (qp->state < IB_QPS_RTR || qp->state >= IB_QPS_ERR)
		return ~0ull;
	return qp->qp_type == IB_UVERBS_QPT_RC ? BE_RECV_RC_NS : BE_RECV_LOSSY_NS;
}

/* The queues first .. end - 1, and what be_shadow_receives() says of them. */
static unsigned int receives(struct be_dev *dev, uint32_t first, uint32_t end,
			     unsigned int most, uint64_t *look_ns)
{
	struct be_shadow *s = dev->shadows;
	unsigned int sum = 0;
	uint64_t ns;
	uint32_t i;

	for (i = 0; s && i < end && sum < most; s = s->next, i++) {
		if (i < first || !s->owner || s->kind != VHCA_QUEUE_RECV)
			continue;
		sum += take(dev, s, most - sum);
		ns = sum == most ? BE_RECV_LOSSY_NS : look_again(s);
		if (ns < *look_ns)
			*look_ns = ns;
	}
	dev->recv_from = i;
	return sum;
}

unsigned int be_shadow_receives(struct be_dev *dev, unsigned int most,
				uint64_t *look_ns)
{
	uint32_t from = dev->recv_from;
	uint64_t first = ~0ull;
	unsigned int sum;

	pthread_rwlock_rdlock(&dev->lock);
	sum = receives(dev, from, UINT32_MAX, most, &first);
	if (sum < most)
		sum += receives(dev, 0, from, most - sum, &first);
	pthread_rwlock_unlock(&dev->lock);
	*look_ns = first == ~0ull ? 0 : first;
	return sum;
}

bool be_shadow_sends(struct be_dev *dev)
{
	bool behind = false;
	struct be_shadow *s;

	pthread_rwlock_rdlock(&dev->lock);
	for (s = dev->shadows; s; s = s->next) {
		if (!s->owner || s->kind != VHCA_QUEUE_SEND || !s->behind)
			continue;
		if (be_shadow_take(dev, s))
			uv_post_send(s->owner->uc->file->fd,
				     s->owner->host);
		behind |= s->behind;
	}
	pthread_rwlock_unlock(&dev->lock);
	return behind;
}

static bool names_ah(const struct be_shadow *s, uint32_t num)
{
	uint32_t i = __atomic_load_n(&s->real->consumer_index,
				     __ATOMIC_ACQUIRE) & s->mask;
	uint32_t end = __atomic_load_n(&s->real->producer_index,
				       __ATOMIC_ACQUIRE) & s->mask;

	while (i != end && be_rxe_ah(slot(s, s->real, i)) != num)
		i = (i + 1) & s->mask;
	return i != end;
}

uint32_t be_shadow_names_ah(struct be_dev *dev, uint32_t num)
{
	const struct be_shadow *s;
	uint32_t n = 0;

	pthread_rwlock_rdlock(&dev->lock);
	for (s = dev->shadows; s; s = s->next)
		n += s->owner && s->kind == VHCA_QUEUE_SEND &&
		     s->qp_type == IB_UVERBS_QPT_UD && names_ah(s, num);
	pthread_rwlock_unlock(&dev->lock);
	return n;
}
