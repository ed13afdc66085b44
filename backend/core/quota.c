// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * How many objects one device may own, and how fast it may ask. Object and page
 * counts belong to the command thread; each bucket belongs to one thread, or
 * its user has a lock. Nothing is allocated for a guest before it was charged
 * here.
 */
#include <errno.h>
#include <stdlib.h>
#include "be.h"
#include "clock.h"
#include "host/maptrack.h"
#include "vhca-keys.h"
#include "vhca-provider.h"

#define BE_QPN_BITS	23	/* another one says what an mlx4's queue pair is for */
#define BE_FAIL_RATE	10	/* as often as an operator can read */
#define BE_FAIL_DEPTH	1000	/* programs that try what the HCA can do */
#define BE_KICK_RATE	500000	/* a system call each; far above what is used */
#define BE_UMAD_RATE	200	/* of one device: the subnet manager answers all */

#define WORD(KIND, word, def) [BE_##KIND] = #word,
const char *const be_type_name[BE_TYPES] = {
	[BE_NONE] = "none",
	XENVHCA_KINDS(WORD)
};

#define DEFAULT(KIND, word, def) [BE_##KIND] = (def),
void be_quota_defaults(struct be_quota *q)
{
	*q = (struct be_quota){
		.max = { XENVHCA_KINDS(DEFAULT) },
		.max_cm_ids = XENVHCA_DEF_MAX_CM_ID,
		.max_pages = (uint64_t)XENVHCA_DEF_MAX_PINNED_MB *
			     HOST_PAGES_PER_MB,
		.cmd = { .rate = XENVHCA_DEF_MAX_CMD_RATE },
		.evt = { .rate = XENVHCA_DEF_MAX_EVT_RATE },
		.fail = {
			.rate = BE_FAIL_RATE,
			.depth_ns = BE_FAIL_DEPTH / BE_FAIL_RATE * VL_SEC_NS,
			.tokens_ns = BE_FAIL_DEPTH / BE_FAIL_RATE * VL_SEC_NS,
		},
		.kick = { .rate = BE_KICK_RATE },
		.umad = { .rate = BE_UMAD_RATE },
		.cm = { .rate = BE_UMAD_RATE },
		.spin_us = XENVHCA_DEF_SPIN_US,
		.context_uars = XENVHCA_UCONTEXT_UARS,
	};
}

void be_quota_failed(struct be_quota *q, uint32_t n)
{
	vl_bucket_charge(&q->fail, vl_coarse_ns(), n);
}

int be_quota_take(struct be_quota *q, enum be_type t)
{
	if (q->used[t] >= q->max[t])
		return -EDQUOT;
	q->used[t]++;
	return 0;
}

void be_quota_give(struct be_quota *q, enum be_type t)
{
	if (q->used[t])
		q->used[t]--;
}

int be_quota_take_pages(struct be_quota *q, uint64_t n)
{
	if (n > q->max_pages || q->used_pages > q->max_pages - n)
		return -EDQUOT;
	q->used_pages += n;
	return 0;
}

void be_quota_give_pages(struct be_quota *q, uint64_t n)
{
	q->used_pages -= n < q->used_pages ? n : q->used_pages;
}

int be_quota_groups(struct be_quota *q, uint8_t bits, uint16_t pages)
{
	q->groups = calloc(1u << (BE_QPN_BITS - bits), sizeof(q->groups[0]));
	q->group_bits = bits;
	q->group_pages = pages;
	return q->groups ? 0 : -ENOMEM;
}

void be_quota_groups_end(struct be_quota *q)
{
	free(q->groups);
	q->groups = NULL;
}

static uint16_t *group_of(const struct be_quota *q, uint32_t qpn)
{
	return &q->groups[(qpn & ((1u << BE_QPN_BITS) - 1)) >> q->group_bits];
}

int be_quota_take_qpn(struct be_quota *q, uint32_t qpn)
{
	uint16_t *group;
	int err = 0;

	if (!q->groups)
		return 0;
	group = group_of(q, qpn);
	if (!*group)
		err = be_quota_take_pages(q, q->group_pages);
	if (!err)
		++*group;
	return err;
}

void be_quota_give_qpn(struct be_quota *q, uint32_t qpn)
{
	uint16_t *group;

	if (!q->groups)
		return;
	group = group_of(q, qpn);
	if (*group && !--*group)
		be_quota_give_pages(q, q->group_pages);
}

int be_quota_room(const struct be_quota *q, uint64_t n)
{
	return n <= q->max_pages && q->queue_pages <= q->max_pages - n ?
	       0 : -EDQUOT;
}

void be_quota_charge_queue(struct be_quota *q, uint64_t n)
{
	q->queue_pages += n;
}

void be_quota_give_queue(struct be_quota *q, uint64_t n)
{
	q->queue_pages -= n < q->queue_pages ? n : q->queue_pages;
}

static uint32_t uars_max(const struct be_quota *q)
{
	uint32_t own = q->context_uars * q->max[BE_UCONTEXT];
	uint32_t all = own > BE_GUEST_UARS ? own : BE_GUEST_UARS;
	uint32_t room;

	if (q->window_uars && all > q->window_uars)
		all = q->window_uars;
	room = q->left_uars < all ? all - q->left_uars : 0;
	return own < room ? own : room;
}

int be_quota_take_uars(struct be_quota *q, uint32_t n)
{
	uint32_t max = uars_max(q);

	if (n > max)
		return -ENOMEM;
	if (q->uars > max - n)
		return -EDQUOT;
	q->uars += n;
	return 0;
}

void be_quota_give_uars(struct be_quota *q, uint32_t n)
{
	q->uars -= n < q->uars ? n : q->uars;
}
