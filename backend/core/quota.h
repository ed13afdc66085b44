/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * How many objects one device may own, and how fast it may ask
 * (core/quota.c).
 */
#ifndef BE_QUOTA_H
#define BE_QUOTA_H

#include <stdint.h>
#include <xen/io/vhcaif.h>
#include "bucket.h"
#include "vhca-keys.h"

#define BE_KIND_(KIND, word, def) BE_##KIND,
enum be_type {			/* also handle types */
	BE_NONE,
	XENVHCA_KINDS(BE_KIND_)
	BE_TYPES
};
#undef BE_KIND_
struct be_quota {
	uint32_t max[BE_TYPES], used[BE_TYPES];
	uint32_t max_cm_ids;
	uint64_t max_pages, used_pages;		/* guest pages mapped */
	uint64_t queue_pages;	/* queue memory of the HCA's driver */
	uint32_t uars;		/* doorbell pages of the HCA, mapped or not */
	uint32_t left_uars;	/* the same, that earlier connections left */
	uint32_t context_uars;	/* for each of max-ucontext */
	uint32_t window_uars;	/* pages that the guest has for life; 0: no such */
	uint16_t *groups;	/* queue pairs in each group of numbers, or NULL: no such */
	uint16_t group_pages;	/* of used_pages, for each group */
	uint8_t group_bits;
	struct vl_bucket cmd, evt;
	struct vl_bucket fail;	/* commands that the HCA's driver refuses */
	struct vl_bucket kick;	/* under be_dev.kick_lock */
	struct vl_bucket umad;	/* datagrams sent */
	struct vl_bucket cm;	/* questions of the connection manager to the subnet's */
	uint32_t spin_us;
};
/* The HCA's driver refused @n commands, or will print as many lines, or they were
 * needed beside the one that was asked for. */
void be_quota_failed(struct be_quota *q, uint32_t n);
void be_quota_defaults(struct be_quota *q);
int be_quota_take(struct be_quota *q, enum be_type t);	/* 0 or -EDQUOT->wire ENOMEM */
void be_quota_give(struct be_quota *q, enum be_type t);
int be_quota_take_pages(struct be_quota *q, uint64_t n);
void be_quota_give_pages(struct be_quota *q, uint64_t n);
/*
 * Contexts of queue pairs that the HCA's driver keeps in memory of this domain, in pieces
 * for a group of numbers (mlx4: ICM). A guest that keeps one number of each group holds
 * all of that memory, so it is charged for groups as for pages that it registers.
 */
int be_quota_groups(struct be_quota *q, uint8_t bits, uint16_t pages);	/* 0 or -ENOMEM */
void be_quota_groups_end(struct be_quota *q);
int be_quota_take_qpn(struct be_quota *q, uint32_t qpn);	/* 0 or -EDQUOT */
void be_quota_give_qpn(struct be_quota *q, uint32_t qpn);
/* Is there room for so many more pages of queue memory? What the HCA's driver really
 * allocated is charged afterwards, and is not more. 0 or -EDQUOT. */
int be_quota_room(const struct be_quota *q, uint64_t n);
void be_quota_charge_queue(struct be_quota *q, uint64_t n);
void be_quota_give_queue(struct be_quota *q, uint64_t n);
/* Attachments of one device to one multicast group, which has few places (mlx4: 248). */
#define BE_GROUP_QPS	16u
#define BE_GUEST_UARS	2048u
/*
 * Doorbell pages that the HCA's driver allocates: 0; -EDQUOT; -ENOMEM: not even if
 * it had no others. A device has its own bound by max-ucontext; a guest has
 * BE_GUEST_UARS, or the bound of the device if that is more, and what its earlier
 * connections left counts. Neither is more than a guest has for life.
 */
int be_quota_take_uars(struct be_quota *q, uint32_t n);
void be_quota_give_uars(struct be_quota *q, uint32_t n);
extern const char *const be_type_name[BE_TYPES];

#endif
