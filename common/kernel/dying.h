/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * When a page that was granted may be used again although the other domain may be
 * about to die. Xen ends the grants of a dying domain first (domain_teardown(),
 * gnttab_release_mappings() in xen/common/grant_table.c), and the grant table says
 * then that nobody maps the page. If that domain is PV, its page tables go later, and
 * until then count as writers: a PV kernel that makes the page a page table meanwhile
 * is refused by Xen (a WARNING in xen_mc_flush()), and its process cannot go on.
 */
#ifndef VHCA_DYING_H
#define VHCA_DYING_H

#include <linux/jiffies.h>
#include <xen/interface/event_channel.h>
#include <xen/xen.h>
#include <asm/xen/hypercall.h>

/*
 * Nobody tells when Xen is done with a domain of which another one still maps a page:
 * it stays known. Page tables of some gigabytes take a second.
 */
#define VHCA_DYING_WAIT		(20 * HZ)

/*
 * Does Xen know the domain no more? Its memory is free then, page tables first. A
 * channel to port 0, which no domain has, is refused with another error.
 */
static inline bool vhca_domain_gone(domid_t domid)
{
	struct evtchn_bind_interdomain bind = { .remote_dom = domid };

	return HYPERVISOR_event_channel_op(EVTCHNOP_bind_interdomain,
					   &bind) == -ESRCH;
}

/*
 * May page tables of domain @domid, which may be dying, still have a page in them whose
 * grant ended at @since (jiffies)? Domain 0 does not die without this one.
 */
static inline bool vhca_dying_maps(domid_t domid, unsigned long since)
{
	return xen_pv_domain() && domid &&
	       time_before(jiffies, since + VHCA_DYING_WAIT) &&
	       !vhca_domain_gone(domid);
}

#endif
