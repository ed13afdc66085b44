// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * A hypervisor for check.py: preloaded into xl, it answers the hypercalls of
 * libxenctrl that xl makes before and after it touches xenstore. Only domains
 * 0, 5 and 7 run. Nothing here is trusted or reached by a guest.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <xenctrl.h>

#define NR_DOMAINS 3

static const uint32_t domain[NR_DOMAINS] = { 0, 5, 7 };
static long handle[1024];	/* never looked into, but not NULL */

xc_interface *xc_interface_open(xentoollog_logger *l, xentoollog_logger *d,
				unsigned int flags)
{
	(void)l;
	(void)d;
	(void)flags;
	return (xc_interface *)handle;
}

int xc_interface_close(xc_interface *xch)
{
	(void)xch;
	return 0;
}

int xc_domain_getinfolist(xc_interface *xch, uint32_t first, unsigned int max,
			  xc_domaininfo_t *info)
{
	unsigned int i, n = 0;

	(void)xch;
	for (i = 0; i < NR_DOMAINS && n < max; i++) {
		if (domain[i] < first)
			continue;
		memset(&info[n], 0, sizeof(*info));
		info[n].domain = (uint16_t)domain[i];
		info[n].flags = XEN_DOMINF_running | XEN_DOMINF_hap;
		/* The UUID is part of the name of the domain's JSON file. */
		memset(info[n++].handle, 0x10 + (int)domain[i],
		       sizeof(info->handle));
	}
	return (int)n;
}

/* Not in Xen 4.17, but newer libraries call it. */
int xc_domain_getinfo_single(xc_interface *xch, uint32_t domid,
			     xc_domaininfo_t *info);
int xc_domain_getinfo_single(xc_interface *xch, uint32_t domid,
			     xc_domaininfo_t *info)
{
	xc_domaininfo_t one;

	if (xc_domain_getinfolist(xch, domid, 1, &one) != 1 ||
	    one.domain != domid) {
		errno = ESRCH;
		return -1;
	}
	if (info)
		*info = one;
	return 0;
}

int xc_physinfo(xc_interface *xch, xc_physinfo_t *info)
{
	(void)xch;
	memset(info, 0, sizeof(*info));
	info->cpu_khz = 1000;
	info->capabilities = XEN_SYSCTL_PHYSCAP_hvm | XEN_SYSCTL_PHYSCAP_pv |
			     XEN_SYSCTL_PHYSCAP_hap;
	return 0;
}

long xc_sharing_freed_pages(xc_interface *xch)
{
	(void)xch;
	return 0;
}

long xc_sharing_used_frames(xc_interface *xch)
{
	(void)xch;
	return 0;
}

int xc_flask_sid_to_context(xc_interface *xch, int sid, char *buf,
			    uint32_t size)
{
	(void)xch;
	(void)sid;
	(void)buf;
	(void)size;
	errno = ENOSYS;
	return -1;
}

int xc_sched_id(xc_interface *xch, int *id)
{
	(void)xch;
	*id = XEN_SCHEDULER_CREDIT;
	return 0;
}

int xc_sched_credit_domain_get(xc_interface *xch, uint32_t domid,
			       struct xen_domctl_sched_credit *sdom)
{
	(void)xch;
	(void)domid;
	sdom->weight = 256;
	sdom->cap = 0;
	return 0;
}

int xc_get_max_cpus(xc_interface *xch)
{
	(void)xch;
	return 4;
}

xc_cpupoolinfo_t *xc_cpupool_getinfo(xc_interface *xch, uint32_t poolid)
{
	xc_cpupoolinfo_t *info = poolid ? NULL : calloc(1, sizeof(*info));

	(void)xch;
	if (!info)
		return NULL;
	info->sched_id = XEN_SCHEDULER_CREDIT;
	info->cpumap = calloc(1, 64);
	return info;
}

void xc_cpupool_infofree(xc_interface *xch, xc_cpupoolinfo_t *info)
{
	(void)xch;
	free(info->cpumap);
	free(info);
}
