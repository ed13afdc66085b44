// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Work requests of Soft-RoCE. rdma_rxe executes what it finds in a process's
 * queue: the opcode indexes a table (rxe_loc.h, wr_opcode_mask), the progress
 * of a transfer (dma.cur_sge, sge_offset, resid) is read and written in place
 * (rxe_mr.c, copy_data; rxe_req.c, finish_packet), REG_MR takes a kernel's
 * pointer (rxe_mr.c, rxe_reg_fast_mr). So a request is built anew from what the
 * guest wrote: the fields that its opcode has, and nothing else.
 *
 * Windows: LOCAL_INV and a peer's SEND_WITH_INV of a window that is not bound
 * crash the kernel (rxe_mw.c, rxe_do_invalidate_mw), and BIND_MW takes any
 * domain's region. Only a trusted guest has windows.
 */
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/ib_user_verbs.h>
#include <string.h>

#include "core/ib_core.h"
#include "object.h"
#include "shadow.h"

#define RC	IB_UVERBS_QPT_RC
#define UC	IB_UVERBS_QPT_UC
#define UD	IB_UVERBS_QPT_UD
#define ON(type)	(1u << (type))

#define MAX_LENGTH	(1u << 31)	/* of a message (InfiniBand vol. 1) */

#define SEND_FLAGS	(IB_SEND_FENCE | IB_SEND_SIGNALED | IB_SEND_SOLICITED | \
			 IB_SEND_INLINE)

enum form { NONE, PLAIN, RDMA, ATOMIC, WINDOW };

static const struct opcode {
	uint8_t types;			/* of queue pairs */
	uint8_t form;			/* which part of wr.wr it has */
	bool sends;			/* data: may be inline */
	bool trusted;
} opcodes[] = {
	[IB_UVERBS_WR_RDMA_WRITE] = { ON(RC) | ON(UC), RDMA, true, false },
	[IB_UVERBS_WR_RDMA_WRITE_WITH_IMM] = {
		ON(RC) | ON(UC), RDMA, true, false },
	[IB_UVERBS_WR_SEND] = {
		ON(RC) | ON(UC) | ON(UD), PLAIN, true, false },
	[IB_UVERBS_WR_SEND_WITH_IMM] = {
		ON(RC) | ON(UC) | ON(UD), PLAIN, true, false },
	[IB_UVERBS_WR_RDMA_READ] = { ON(RC), RDMA, false, false },
	[IB_UVERBS_WR_ATOMIC_CMP_AND_SWP] = { ON(RC), ATOMIC, false, false },
	[IB_UVERBS_WR_ATOMIC_FETCH_AND_ADD] = { ON(RC), ATOMIC, false, false },
	[IB_UVERBS_WR_LOCAL_INV] = { ON(RC), PLAIN, false, true },
	[IB_UVERBS_WR_BIND_MW] = { ON(RC) | ON(UC), WINDOW, false, true },
	[IB_UVERBS_WR_SEND_WITH_INV] = { ON(RC), PLAIN, true, true },
};

uint32_t be_rxe_room(enum vhca_queue kind, uint32_t element)
{
	uint32_t fixed = kind == VHCA_QUEUE_SEND ? sizeof(struct rxe_send_wqe) :
						   sizeof(struct rxe_recv_wqe);

	return element < fixed ? 0 : element - fixed;
}

/*
 * A request names an address handle by the driver's number. Of a number that is no handle
 * of the queue pair's domain the driver prints two lines and ends the queue pair
 * (rxe_av.c, rxe_get_av), so each number is looked up.
 */
static bool ah_known(const struct be_dev *dev, uint32_t num, uint32_t pd)
{
	const struct be_ah *ah = dev->ahs[num % BE_AH_HEADS];

	while (ah && ah->num != num)
		ah = ah->next;
	return ah && ah->pd == pd;
}

void be_ah_number_add(struct be_dev *dev, struct be_ah *ah)
{
	struct be_ah **head = &dev->ahs[ah->num % BE_AH_HEADS];

	pthread_rwlock_wrlock(&dev->lock);
	ah->next = *head;
	ah->prev = head;
	if (ah->next)
		ah->next->prev = &ah->next;
	*head = ah;
	pthread_rwlock_unlock(&dev->lock);
}

void be_ah_number_del(struct be_dev *dev, struct be_ah *ah)
{
	if (!ah->prev)
		return;
	pthread_rwlock_wrlock(&dev->lock);
	*ah->prev = ah->next;
	if (ah->next)
		ah->next->prev = ah->prev;
	ah->prev = NULL;
	pthread_rwlock_unlock(&dev->lock);
}

/* Returns NULL if this guest must not post it on such a queue pair. */
static const struct opcode *opcode_find(const struct be_shadow *s, uint32_t op)
{
	const struct opcode *o;

	if (op >= sizeof(opcodes) / sizeof(opcodes[0]))
		return NULL;
	o = &opcodes[op];
	if (!(o->types & ON(s->qp_type)) || (o->trusted && !s->trusted))
		return NULL;
	return o;
}

/* Writes fresh state and the elements; false if the queue takes fewer of them. */
static bool dma_copy(const struct rxe_dma_info *from, uint32_t max_sge,
		     struct rxe_dma_info *to)
{
	uint64_t length = 0;
	uint32_t i;

	if (from->num_sge > max_sge)
		return false;
	for (i = 0; i < from->num_sge; i++) {
		to->sge[i] = from->sge[i];
		length += from->sge[i].length;
	}
	if (length > MAX_LENGTH)
		return false;
	to->num_sge = from->num_sge;
	to->length = to->resid = (uint32_t)length;
	return true;
}

static bool inline_copy(const struct rxe_dma_info *from, uint32_t max,
			struct rxe_dma_info *to)
{
	if (from->length > max)
		return false;
	memcpy(to->inline_data, from->inline_data, from->length);
	to->length = to->resid = from->length;
	return true;
}

static bool form_copy(const struct be_shadow *s, enum form form,
		      const struct rxe_send_wr *from, struct rxe_send_wqe *wqe)
{
	struct rxe_send_wr *to = &wqe->wr;

	switch (form) {
	case RDMA:
		to->wr.rdma.remote_addr = from->wr.rdma.remote_addr;
		to->wr.rdma.rkey = from->wr.rdma.rkey;
		wqe->iova = from->wr.rdma.remote_addr;
		return true;
	case ATOMIC:
		/* The driver would print a line, and end the peer's QP too. */
		if (from->wr.atomic.remote_addr % sizeof(uint64_t))
			return false;
		to->wr.atomic.remote_addr = from->wr.atomic.remote_addr;
		to->wr.atomic.compare_add = from->wr.atomic.compare_add;
		to->wr.atomic.swap = from->wr.atomic.swap;
		to->wr.atomic.rkey = from->wr.atomic.rkey;
		wqe->iova = from->wr.atomic.remote_addr;
		return true;
	case WINDOW:
		to->wr.mw = from->wr.mw;
		return true;
	default:
		break;
	}
	if (s->qp_type != UD)
		return true;
	/* Without a number the driver would take an address from the queue. */
	if (!ah_known(s->dev, from->wr.ud.ah_num, s->pd) ||
	    from->wr.ud.remote_qkey & IB_QKEY_CONTROLLED)
		return false;
	to->wr.ud.remote_qpn = from->wr.ud.remote_qpn;
	to->wr.ud.remote_qkey = from->wr.ud.remote_qkey;
	to->wr.ud.pkey_index = from->wr.ud.pkey_index;
	to->wr.ud.ah_num = from->wr.ud.ah_num;
	return true;
}

static bool send_copy(struct be_shadow *s, const struct rxe_send_wqe *from,
		      struct rxe_send_wqe *to)
{
	const struct opcode *o = opcode_find(s, from->wr.opcode);

	if (!o || !form_copy(s, o->form, &from->wr, to))
		return false;
	to->wr.opcode = from->wr.opcode;
	to->wr.send_flags = from->wr.send_flags & SEND_FLAGS;
	if (!o->sends)
		to->wr.send_flags &= ~IB_SEND_INLINE;
	to->wr.ex.imm_data = from->wr.ex.imm_data;
	if (to->wr.send_flags & IB_SEND_INLINE)
		return inline_copy(&from->dma, s->max_inline, &to->dma);
	return dma_copy(&from->dma, s->max_sge, &to->dma);
}

bool be_rxe_send(struct be_shadow *s, const void *raw, void *wqe)
{
	const struct rxe_send_wqe *from = raw;
	struct rxe_send_wqe *to = wqe;
	bool ok = send_copy(s, from, to);

	if (!ok) {
		memset(to, 0, sizeof(*to));
		/* In the driver's table, and of no queue pair. */
		to->wr.opcode = IB_UVERBS_WR_TSO;
		to->wr.send_flags = IB_SEND_SIGNALED;
	}
	to->wr.wr_id = from->wr.wr_id;
	to->ssn = s->ssn++;
	return ok;
}

uint32_t be_rxe_ah(const void *wqe)
{
	return ((const struct rxe_send_wqe *)wqe)->wr.wr.ud.ah_num;
}

bool be_rxe_recv(const struct be_shadow *s, const void *raw, void *wqe)
{
	const struct rxe_recv_wqe *from = raw;
	struct rxe_recv_wqe *to = wqe;

	to->wr_id = from->wr_id;
	return dma_copy(&from->dma, s->max_sge, &to->dma);
}
