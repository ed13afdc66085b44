/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * When a granted page may be used again if the other domain may be dying. Xen ends the
 * grants of a dying domain first (domain_teardown(), gnttab_release_mappings() in
 * xen/common/grant_table.c), so the grant table shows no mapping. If that domain is PV,
 * Xen destroys its page tables later, and they count as writers until then: Xen refuses
 * to make such a page a page table (a WARNING in xen_mc_flush()), and the process that
 * needs the page table cannot go on.
 */
#ifndef VHCA_DYING_H
#define VHCA_DYING_H

#include <linux/jiffies.h>
#include <xen/interface/event_channel.h>
#include <xen/xen.h>
#include <asm/xen/hypercall.h>

/*
 * Xen does not report the end of a domain while another domain maps a page of it. It
 * takes a second to destroy page tables of some gigabytes.
 */
#define VHCA_DYING_WAIT		(20 * HZ)

/*
 * Has Xen removed the domain? Its page tables, and then its memory, are free in that case.
 * If the domain exists, binding its port 0, which is never offered, fails with another
 * error.
 */
static inline bool vhca_domain_gone(domid_t domid)
{
	struct evtchn_bind_interdomain bind = { .remote_dom = domid };

	return HYPERVISOR_event_channel_op(EVTCHNOP_bind_interdomain,
					   &bind) == -ESRCH;
}

/*
 * May page tables of domain @domid, which may be dying, still contain a page whose grant
 * ended at @since (jiffies)? Domain 0 does not die before this domain.
 */
static inline bool vhca_dying_maps(domid_t domid, unsigned long since)
{
	return xen_pv_domain() && domid &&
	       time_before(jiffies, since + VHCA_DYING_WAIT) &&
	       !vhca_domain_gone(domid);
}

#endif
