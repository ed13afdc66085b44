// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The frame check (frame.h): only this file decides. It has no I/O, no state
 * and no allocation. Values of the request are compared only after their sums
 * were shown not to wrap.
 */
#include <xen/io/vhcaif.h>
#include "frame.h"
#include "host/bar.h"
#include "vhca-agent.h"

static const char *const reason_text[DBA_NR_REASONS] = {
	[DBA_OK] = "no reason",
	[DBA_SYNTAX] = "request not understood",
	[DBA_SLOT] = "no such slot",
	[DBA_DEVICE] = "the toolstack has no such device of this backend",
	[DBA_DEAD] = "the guest is gone",
	[DBA_NR_ZERO] = "no pages asked for",
	[DBA_NR_HUGE] = "too many pages in one request",
	[DBA_OVERFLOW] = "frame number out of range",
	[DBA_SAME_DOMAIN] = "guest and backend are one domain",
	[DBA_NO_FACTS] = "agent cannot read the toolstack's nodes",
	[DBA_NOT_NAMED] = "the toolstack named no PCI device for this vhca",
	[DBA_NO_HCA] = "no such PCI device in the control domain",
	[DBA_NOT_OWNED] = "the HCA is not assigned to this backend domain",
	[DBA_NO_RULE] = "doorbell pages of this kind of HCA are not known",
	[DBA_NO_BAR] = "the HCA has no doorbell BAR",
	[DBA_BAR_ALIGN] = "the doorbell BAR is not page aligned",
	[DBA_NO_MSIX] = "cannot tell where the HCA's MSI-X table is",
	[DBA_OUTSIDE] = "not in a BAR of the HCA",
	[DBA_NOT_DOORBELL] = "not a doorbell page of the HCA",
	[DBA_MSIX] = "page holds the HCA's MSI-X table",
	[DBA_OTHER_GUEST] = XENVHCA_DOORBELL_REASON_OTHER,
	[DBA_HELD] = XENVHCA_DOORBELL_REASON_HELD,
	[DBA_DOUBLE] = "mapped into this guest already",
	[DBA_PV_GFN] = "a PV guest has no guest frame (gfn must be 0x0)",
	[DBA_NO_WINDOW] = "the guest published no window for doorbells",
	[DBA_GFN_WINDOW] = "guest frame outside of the guest's window",
	[DBA_GFN_TAKEN] = "guest frame has another doorbell page",
	[DBA_SLOT_BUSY] = "slot is in use, unmap first",
	[DBA_NOT_MAPPED] = "slot has no mapping",
	[DBA_STATE_FILE] = "agent cannot write its state file",
	[DBA_HYPERCALL] = "hypercall failed",
	[DBA_MEMORY] = "agent has no memory",
	[DBA_GUEST_FULL] = "the guest has all pages that one may have, mapped or held until it ends",
};

const char *dba_reason_text(enum dba_reason r)
{
	return (unsigned int)r < DBA_NR_REASONS ? reason_text[r] : "unknown";
}

bool dba_overlap(uint64_t a, uint64_t na, uint64_t b, uint64_t nb)
{
	return na && nb && (a < b ? b - a < na : a - b < nb);
}

/* Frames [first, first + nr) are numbers that a machine can have. */
static bool frames_sane(uint64_t first, uint64_t nr)
{
	return nr <= DBA_MAX_FRAME && first <= DBA_MAX_FRAME - nr;
}

/* [first, first + nr) within [in, in + n); none of them wraps. */
static bool frames_within(uint64_t first, uint64_t nr, uint64_t in, uint64_t n)
{
	return nr <= n && first >= in && first - in <= n - nr;
}

enum dba_reason dba_owner_check(const struct dba_hca *hca, unsigned int backend)
{
	if (hca->error)
		return DBA_NO_FACTS;
	if (!hca->named)
		return DBA_NOT_NAMED;
	if (!hca->present)
		return DBA_NO_HCA;
	if (hca->owner < 0 || (unsigned int)hca->owner != backend)
		return DBA_NOT_OWNED;
	return DBA_OK;
}

/* Pages that b touches, even partly; a range that wraps touches all. */
static bool touches(const struct dba_bytes *b, uint64_t mfn, uint64_t nr)
{
	uint64_t first = b->start >> DBA_PAGE_SHIFT;

	if (!b->len)
		return false;
	if (b->len - 1 > UINT64_MAX - b->start)
		return true;
	return dba_overlap(mfn, nr, first,
			   ((b->start + (b->len - 1)) >> DBA_PAGE_SHIFT) -
			   first + 1);
}

static enum dba_reason check_bar(const struct dba_hca *hca,
				 const struct dba_req *req)
{
	const struct host_hca *kind = host_hca(hca->vendor, hca->device);
	const struct dba_bytes *bar;
	uint64_t first, pages;
	unsigned int i;

	if (!kind)
		return DBA_NO_RULE;
	bar = &hca->bar[kind->bar];
	if (!bar->start || !bar->len)
		return DBA_NO_BAR;
	if ((bar->start | bar->len) & (DBA_PAGE_SIZE - 1))
		return DBA_BAR_ALIGN;
	first = bar->start >> DBA_PAGE_SHIFT;
	pages = bar->len >> DBA_PAGE_SHIFT;
	if (!frames_sane(first, pages))
		return DBA_NO_BAR;
	if (!frames_within(req->mfn, req->nr, first, pages >> kind->half)) {
		for (i = 0; i < DBA_BARS; i++)
			if (touches(&hca->bar[i], req->mfn, req->nr))
				return DBA_NOT_DOORBELL;
		return DBA_OUTSIDE;
	}
	if (req->mfn - first < kind->skip)
		return DBA_NOT_DOORBELL;
	if (!hca->msix_known)
		return DBA_NO_MSIX;
	for (i = 0; i < 2; i++)
		if (touches(&hca->msix[i], req->mfn, req->nr))
			return DBA_MSIX;
	return DBA_OK;
}

static enum dba_reason check_live(const struct dba_facts *f,
				  const struct dba_req *req)
{
	const struct dba_live *l;
	size_t i;

	for (i = 0; i < f->n_live; i++) {
		l = &f->live[i];
		if (dba_overlap(req->mfn, req->nr, l->mfn, l->nr)) {
			if (l->domid != f->guest)
				return l->held ? DBA_HELD : DBA_OTHER_GUEST;
			if (!l->held)
				return DBA_DOUBLE;
		}
		if (f->translated && l->translated && !l->held &&
		    l->domid == f->guest &&
		    dba_overlap(req->gfn, req->nr, l->gfn, l->nr))
			return DBA_GFN_TAKEN;
	}
	return DBA_OK;
}

/*
 * The gfn comes from the backend and could be one of the guest's memory: it must
 * lie in the window that the guest's frontend published.
 */
static enum dba_reason check_gfn(const struct dba_facts *f,
				 const struct dba_req *req)
{
	if (!f->translated)
		return req->gfn ? DBA_PV_GFN : DBA_OK;
	if (!frames_sane(req->gfn, req->nr))
		return DBA_OVERFLOW;
	if (!f->window_nr || !f->window_gfn ||
	    !frames_sane(f->window_gfn, f->window_nr))
		return DBA_NO_WINDOW;
	if (!frames_within(req->gfn, req->nr, f->window_gfn, f->window_nr))
		return DBA_GFN_WINDOW;
	return DBA_OK;
}

enum dba_reason dba_frame_check(const struct dba_facts *f,
				const struct dba_req *req)
{
	enum dba_reason r;

	if (!req->nr)
		return DBA_NR_ZERO;
	if (req->nr > DBA_MAX_NR)
		return DBA_NR_HUGE;
	if (!frames_sane(req->mfn, req->nr))
		return DBA_OVERFLOW;
	if (f->guest == f->backend)
		return DBA_SAME_DOMAIN;
	r = dba_owner_check(f->hca, f->backend);
	if (!r)
		r = check_bar(f->hca, req);
	if (!r)
		r = check_gfn(f, req);
	if (!r)
		r = check_live(f, req);
	return r;
}
