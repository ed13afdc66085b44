// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Requests and answers (request.h).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "request.h"
#include "vhca-agent.h"

void dba_log_refused(struct dba_dev *d, unsigned int slot, enum dba_reason r,
		     int err, const char *request)
{
	char name[16] = "(none)";

	if (vl_bucket_take(&d->log, vl_now_ns())) {
		d->log_dropped++;
		return;
	}
	if (d->log_dropped)
		dba_log(LOG_WARNING, "d%u/%u: %u lines left out", d->guest,
			d->devid, d->log_dropped);
	d->log_dropped = 0;
	if (slot == DBA_ALL)
		strcpy(name, XENVHCA_DOORBELL_ALL);
	else if (slot != DBA_NO_SLOT)
		snprintf(name, sizeof(name), "%u", slot);
	dba_log(LOG_WARNING, "d%u/%u of backend d%u: slot %s: refused \"%s\": %s%s%s",
		d->guest, d->devid, d->backend, name, request,
		dba_reason_text(r), err ? ": " : "", err ? strerror(-err) : "");
}

static void read_known(struct dba_agent *a, const struct dba_dev *d,
		       struct dba_known *k)
{
	k->read = true;
	if (dba_read_backend(a->xs, d->guest, d->devid) != (int)d->backend) {
		k->r = DBA_DEVICE;
		return;
	}
	k->err = a->domain(a->ctx, d->guest, &k->dom);
	if (k->err || !k->dom.alive) {
		k->r = k->err ? DBA_HYPERCALL : DBA_DEAD;
		return;
	}
	dba_read_hca(a->xs, a->sysfs, a->own, d->guest, d->devid, &k->hca);
	if (k->dom.translated)
		dba_read_window(a->xs, d->guest, d->devid, &k->window_gfn,
				&k->window_nr);
}

static enum dba_reason check_map(struct dba_agent *a, const struct dba_dev *d,
				 const struct dba_req *req,
				 const struct dba_known *k)
{
	struct dba_facts f = { .guest = d->guest, .backend = d->backend,
			       .translated = k->dom.translated,
			       .window_gfn = k->window_gfn,
			       .window_nr = k->window_nr, .hca = &k->hca };
	struct dba_live *live = dba_map_live(&a->table, d->guest, req,
					     &f.n_live);
	enum dba_reason r;

	if (!live)
		return DBA_MEMORY;
	f.live = live;
	r = dba_frame_check(&f, req);
	free(live);
	return r;
}

/* Noted requests are executed when they are in the state file. */
static enum dba_reason note_map(struct dba_agent *a, struct dba_batch *b,
				struct dba_entry *e, const struct dba_req *req)
{
	const struct dba_dev *d = b->d;
	const struct dba_map *m = dba_map_find(&a->table, d->guest, d->devid,
					       d->backend, e->slot);
	struct dba_known *k = &b->known;
	struct dba_map *noted;
	struct dba_map want = { .guest = d->guest, .devid = d->devid,
				.backend = d->backend, .slot = e->slot,
				.mfn = req->mfn, .gfn = req->gfn,
				.nr = req->nr };
	enum dba_reason r;

	/* Executed, but the answer was not written. */
	if (m && !m->transit && m->mfn == req->mfn && m->gfn == req->gfn &&
	    m->nr == req->nr)
		return DBA_OK;
	if (m)
		return DBA_SLOT_BUSY;
	if (!k->read)
		read_known(a, d, k);
	e->err = k->err;
	if (k->r)
		return k->r;
	want.translated = k->dom.translated;
	memcpy(want.uuid, k->dom.uuid, DBA_UUID);
	r = check_map(a, d, req, k);
	if (!r)
		r = dba_map_note(&a->table, &want, &noted);
	e->noted = !r;
	e->mfn = req->mfn;
	return r;
}

/* Unmaps at once: on file the frame may be the guest's a little longer. */
static enum dba_reason do_request(struct dba_agent *a, struct dba_batch *b,
				  struct dba_entry *e)
{
	struct dba_dev *d = b->d;
	struct dba_request req;
	enum dba_reason r;

	if (dba_parse_request(e->request, &req))
		return DBA_SYNTAX;
	if (e->slot == DBA_NO_SLOT)
		return DBA_SLOT;
	e->map = req.map;
	if (e->slot == DBA_ALL) {
		if (req.map)
			return DBA_SYNTAX;
		e->err = dba_unmap_all(a, d, "its backend starts anew");
		return e->err ? DBA_HYPERCALL : DBA_OK;
	}
	if (req.map)
		return note_map(a, b, e, &req.req);
	r = dba_map_del(&a->table, d->guest, d->devid, d->backend, e->slot, &e->err);
	return r == DBA_NOT_MAPPED ? DBA_OK : r;	/* as asked for */
}

static void answer(struct dba_dev *d, struct dba_entry *e)
{
	if (e->r) {
		dba_log_refused(d, e->slot, e->r, e->err, e->request);
		snprintf(e->own, sizeof(e->own), XENVHCA_DOORBELL_REFUSED " %s",
			 dba_reason_text(e->r));
	} else {
		snprintf(e->own, sizeof(e->own), "%s", e->map ?
			 XENVHCA_DOORBELL_MAPPED : XENVHCA_DOORBELL_UNMAPPED);
		dba_log(LOG_DEBUG, "d%u/%u: slot %u: \"%s\": %s", d->guest,
			d->devid, e->slot, e->request, e->own);
	}
	e->answer = e->own;
}

void dba_request_entry(struct dba_agent *a, struct dba_batch *b, struct dba_entry *e)
{
	e->begun = true;
	e->r = do_request(a, b, e);
}

/* Executes a noted request. @err: of the write of the state file. */
static void do_noted(struct dba_agent *a, const struct dba_dev *d, struct dba_entry *e,
		     int err)
{
	struct dba_map *m = dba_map_find(&a->table, d->guest, d->devid, d->backend,
					 e->slot);

	if (!m || !m->noted || m->mfn != e->mfn) {
		e->r = DBA_NOT_MAPPED;	/* a later request of this pass ended it */
	} else if (!err) {
		e->r = dba_map_do(&a->table, m, &e->err);
	} else {
		dba_map_drop(&a->table, m);
		e->r = DBA_STATE_FILE;
		e->err = err;
	}
}

void dba_requests_end(struct dba_agent *a)
{
	int err = dba_map_save(&a->table);
	struct dba_batch *b;
	unsigned int i;

	for (b = a->batches; b; b = b->next)
		for (i = 0; i < b->n; i++)
			if (b->e[i].noted)
				do_noted(a, b->d, &b->e[i], err);
	/* At worst the file has a mapping as in transit: a restart undoes it. */
	dba_map_save(&a->table);
	for (b = a->batches; b; b = b->next)
		for (i = 0; i < b->n; i++)
			if (b->e[i].begun)
				answer(b->d, &b->e[i]);
	dba_batches_end(a);
}
