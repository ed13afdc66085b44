// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * All devices together could fill the maptrack table, which other backends of
 * this domain need as well, or take all doorbell pages of an HCA, so that one
 * guest could prevent others from opening a context. So a device is served only if its
 * bounds fit beside those of the others. Both sums are made anew for each device that is
 * to be served.
 */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/log.h"
#include "file.h"
#include "host/bar.h"
#include "host/kernel.h"
#include "host/maptrack.h"
#include "host/paths.h"
#include "sup.h"
#include "vhca-keys.h"
#include "vhca-provider.h"

/* A page takes two entries unless this domain is known not to be PV. */
static bool is_pv(void)
{
	char type[16];

	vl_file_line(type, sizeof(type), "/sys/hypervisor/guest_type");
	return !type[0] || !strcmp(type, "PV");
}

/* False: none that are known, as of Soft-RoCE. */
static bool hca_uars(const struct be_options *opt, const char *hca, struct host_uars *u)
{
	char dir[PATH_MAX];

	if (!hca[0] || strchr(hca, '/'))
		return false;
	snprintf(dir, sizeof(dir), "%s" HOST_IB_CLASS "/%s/device", opt->root,
		 hca);
	return !host_uars(dir, u);
}

uint64_t be_sup_uars(const struct be_options *opt, const struct be_share *share)
{
	struct host_uars u;

	return (uint64_t)share->ucontexts *
	       (hca_uars(opt, share->hca, &u) ? u.hca->context : XENVHCA_UCONTEXT_UARS);
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
	uint64_t uars = be_sup_uars(opt, want);
	struct host_uars u;

	if (!hca_uars(opt, want->hca, &u) || others + uars <= u.guests)
		return true;
	snprintf(why, size, "max-ucontext %u takes %" PRIu64 " doorbell pages, beside %" PRIu64 " that other devices may take or guests have left: HCA %s has %" PRIu64 " for guests: lower max-ucontext",
		 want->ucontexts, uars, others, want->hca, u.guests);
	return false;
}

void be_sup_no_share(struct sup_dev *d)
{
	memset(&d->share, 0, sizeof(d->share));
}

/* Is it the first device of its guest on its HCA? */
static bool first_of_guest(const struct sup *s, const struct sup_dev *d)
{
	const struct sup_dev *o;

	for (o = s->devs; o != d; o = o->next)
		if (o->domid == d->domid && !strcmp(o->share.hca, d->share.hca))
			return false;
	return true;
}

/* Doorbell pages of an HCA that other devices may take, or that guests have left. */
static uint64_t others_uars(const struct sup *s, const struct sup_dev *d,
				const char *hca)
{
	uint64_t uars = be_guard_uars(s->guards, d->domid);
	const struct sup_dev *o;

	for (o = s->devs; o; o = o->next) {
		if (o == d || !o->seen || strcmp(o->share.hca, hca))
			continue;
		uars += be_sup_uars(s->opt, &o->share);
		if (s->guards && o->domid != d->domid && first_of_guest(s, o))
			uars += be_guard_uars(s->guards, o->domid);
	}
	return uars;
}

/* Of supported HCAs, only Soft-RoCE has this file, which names its network interface. */
static bool is_soft(const struct sup *s, const char *hca)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s" HOST_IB_CLASS "/%s/parent",
		 s->opt->root, hca);
	return !strchr(hca, '/') && !access(path, F_OK);
}

static void tell_kernel(const struct sup *s, const struct sup_dev *d,
			const char *hca)
{
	char version[HOST_VERSION_LEN], number[32];

	host_kernel(version);
	if (!host_rxe_mended(version, number, sizeof(number)) && is_soft(s, hca))
		be_log(NULL, BE_WARN, "d%u/%u: hca \"%s\": rdma_rxe of Linux %s has faults by which guests can end this domain's kernel; "
		       HOST_RXE_MEND, d->domid, d->devid, hca, number);
}

bool be_sup_over(struct sup *s, struct sup_dev *d)
{
	struct be_share want;
	uint64_t mb = 0;
	char why[256];
	struct sup_dev *o;

	be_devices_share(s->all, d->domid, d->devid, &want);
	for (o = s->devs; o; o = o->next)
		mb += o == d || !o->seen ? 0 : o->share.pinned_mb;
	if (memory_fits(s->opt, want.pinned_mb, mb, why, sizeof(why)) &&
	    uars_fit(s->opt, &want, others_uars(s, d, want.hca), why, sizeof(why))) {
		if (strcmp(d->share.hca, want.hca))	/* once for each */
			tell_kernel(s, d, want.hca);
		d->share = want;
		d->refused = false;
		return false;
	}
	be_sup_no_share(d);
	be_sup_refuse(s, d, why);
	/* The toolstack waits for this state, as for a worker's refusal. */
	be_sup_write_closed(s, d);
	return true;
}

unsigned int be_share_spinners(long cpus, unsigned int others)
{
	long left = cpus - 1 - (long)others;

	if (left < 0)
		return 0;
	return left < BE_SPINNERS ? (unsigned int)left : BE_SPINNERS;
}

unsigned int be_sup_spinners(const struct sup *s)
{
	unsigned int others = 0;
	const struct sup_dev *d;

	for (d = s->devs; d; d = d->next)
		others += d->worker.pid ? d->spinners : 0;
	return be_share_spinners(sysconf(_SC_NPROCESSORS_ONLN), others);
}
