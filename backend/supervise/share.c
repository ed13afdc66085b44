// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * All devices together could fill the maptrack table, which other backends of
 * this domain need as well, or take all doorbell pages of an HCA, so that one
 * guest could prevent others from opening a context. So a device is served only if its
 * bounds fit beside those of the others.
 */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "file.h"
#include "host/bar.h"
#include "host/maptrack.h"
#include "host/paths.h"
#include "share.h"

/* A page takes two entries unless this domain is known not to be PV. */
static bool is_pv(void)
{
	char type[16];

	vl_file_line(type, sizeof(type), "/sys/hypervisor/guest_type");
	return !type[0] || !strcmp(type, "PV");
}

/* 0: none, as of Soft-RoCE. */
static uint64_t hca_uars(const struct be_options *opt, const char *hca)
{
	char dir[PATH_MAX];

	if (!hca[0] || strchr(hca, '/'))
		return 0;
	snprintf(dir, sizeof(dir), "%s" HOST_IB_CLASS "/%s/device", opt->root,
		 hca);
	return host_bar_uars(dir);
}

static bool memory_fits(const struct be_options *opt, uint32_t want,
			uint64_t others, char *why, size_t size)
{
	bool pv = is_pv();
	uint64_t max = host_maptrack_mb(opt->maptrack_frames, pv);

	if (others + want <= max)
		return true;
	snprintf(why, size, "max-pinned-mb %u beside %" PRIu64 " of other devices is more than the %" PRIu64 " MiB that this %sdomain can map: lower them, or raise Xen's gnttab_max_maptrack_frames and xen-vhcad's --maptrack-frames (%u)",
		 want, others, max, pv ? "PV " : "", opt->maptrack_frames);
	return false;
}

static bool uars_fit(const struct be_options *opt, const struct be_share *want,
		     uint64_t others, char *why, size_t size)
{
	uint64_t uars = (uint64_t)want->ucontexts * XENVHCA_UCONTEXT_UARS;
	uint64_t have = hca_uars(opt, want->hca);

	if (!have || others + uars <= have)
		return true;
	snprintf(why, size, "max-ucontext %u takes %" PRIu64 " doorbell pages, beside %" PRIu64 " that other devices may take or guests have left: HCA %s has %" PRIu64 " for guests: lower max-ucontext",
		 want->ucontexts, uars, others, want->hca, have);
	return false;
}

bool be_share_check(const struct be_options *opt, const struct be_share *want,
		    uint64_t mb, uint64_t uars, char *why, size_t size)
{
	return memory_fits(opt, want->pinned_mb, mb, why, size) &&
	       uars_fit(opt, want, uars, why, size);
}

unsigned int be_share_spinners(long cpus, unsigned int others)
{
	long left = cpus - 1 - (long)others;

	if (left < 0)
		return 0;
	return left < BE_SPINNERS ? (unsigned int)left : BE_SPINNERS;
}
