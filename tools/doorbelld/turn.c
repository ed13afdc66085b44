// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Requests and answers (turn.h). The agent reads a request together with the
 * absence of an answer, and answers it only while it is the same, each in a
 * transaction.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "turn.h"

/* A line that another domain can cause. */
static void log_refused(struct dba_dev *d, unsigned int slot,
			enum dba_reason r, int err, const char *request)
{
	if (vl_bucket_take(&d->log, vl_now_ns())) {
		d->log_dropped++;
		return;
	}
	if (d->log_dropped)
		dba_log(LOG_WARNING, "d%u/%u: %u lines left out", d->guest,
			d->devid, d->log_dropped);
	d->log_dropped = 0;
	dba_log(LOG_WARNING, "d%u/%u of backend d%u: slot %u: refused \"%s\": %s%s%s",
		d->guest, d->devid, d->backend, slot, request,
		dba_reason_text(r), err ? ": " : "", err ? strerror(-err) : "");
}

struct slot_io {
	struct dba_dev *d;
	char dir[XN_PATH_MAX];
	char request[XN_VALUE_MAX];	/* "" if unreadable */
	int rc;				/* of reading it */
	const char *answer;
};

/* A request of this pass. It is answered when its result is on file. */
struct dba_turn {
	struct dba_turn *next;
	struct slot_io io;
	unsigned int slot;
	bool map;
	struct dba_map *noted;		/* to be done, NULL: nothing */
	enum dba_reason r;
	int err;
};

static int read_fn(struct xs_handle *xs, xs_transaction_t t, void *arg)
{
	struct slot_io *io = arg;

	io->request[0] = '\0';
	io->rc = xn_read_str(xs, t, io->dir, XENVHCA_NODE_DOORBELL_REQUEST,
			     io->request, sizeof(io->request));
	if (!io->rc && xn_exists(xs, t, io->dir, XENVHCA_NODE_DOORBELL_ANSWER))
		io->rc = -EALREADY;
	return 0;
}

/* The answer belongs to the request that was read: not if it changed. */
static int answer_fn(struct xs_handle *xs, xs_transaction_t t, void *arg)
{
	struct slot_io *io = arg, now = *io;

	read_fn(xs, t, &now);
	if (now.rc != io->rc || strcmp(now.request, io->request))
		return -ESTALE;
	return xn_write_str(xs, t, io->dir, XENVHCA_NODE_DOORBELL_ANSWER,
			    io->answer);
}

static enum dba_reason check_map(struct dba_agent *a, struct dba_dev *d,
				 const struct dba_req *req,
				 const struct dba_domain *dom)
{
	struct dba_facts f = { .guest = d->guest, .backend = d->backend,
			       .translated = dom->translated };
	struct dba_live *live = dba_map_live(&a->table);
	struct dba_hca hca;
	enum dba_reason r;

	if (!live)
		return DBA_MEMORY;
	dba_read_hca(a->xs, a->sysfs, a->own, d->guest, d->devid, &hca);
	if (dom->translated)
		dba_read_window(a->xs, d->guest, d->devid, &f.window_gfn,
				&f.window_nr);
	f.hca = &hca;
	f.live = live;
	f.n_live = a->table.n;
	r = dba_frame_check(&f, req);
	free(live);
	return r;
}

/* *noted is done once it is on file; NULL: there is nothing to do. */
static enum dba_reason note_map(struct dba_agent *a, struct dba_dev *d,
				unsigned int slot, const struct dba_req *req,
				struct dba_map **noted, int *err)
{
	const struct dba_map *m = dba_map_find(&a->table, d->guest, d->devid,
					       d->backend, slot);
	struct dba_map want = { .guest = d->guest, .devid = d->devid,
				.backend = d->backend, .slot = slot,
				.mfn = req->mfn, .gfn = req->gfn,
				.nr = req->nr };
	struct dba_domain dom = { 0 };
	enum dba_reason r;

	/* Done, but the answer did not get through. */
	if (m && !m->transit && m->mfn == req->mfn && m->gfn == req->gfn &&
	    m->nr == req->nr)
		return DBA_OK;
	if (m)
		return DBA_SLOT_BUSY;
	if (dba_read_backend(a->xs, d->guest, d->devid) != (int)d->backend)
		return DBA_DEVICE;
	*err = a->domain(a->ctx, d->guest, &dom);
	if (*err)
		return DBA_HYPERCALL;
	if (!dom.alive)
		return DBA_DEAD;
	want.translated = dom.translated;
	memcpy(want.uuid, dom.uuid, DBA_UUID);
	r = check_map(a, d, req, &dom);
	return r ? r : dba_map_note(&a->table, &want, noted);
}

/* Unmaps at once: on file the frame may be the guest's a little longer. */
static enum dba_reason do_request(struct dba_agent *a, struct dba_turn *t)
{
	struct dba_dev *d = t->io.d;
	struct dba_request req;
	enum dba_reason r;

	if (t->io.rc || dba_parse_request(t->io.request, &req))
		return DBA_SYNTAX;
	t->map = req.map;
	if (req.map)
		return note_map(a, d, t->slot, &req.req, &t->noted, &t->err);
	r = dba_map_del(&a->table, d->guest, d->devid, d->backend, t->slot,
			&t->err);
	return r == DBA_NOT_MAPPED ? DBA_OK : r;	/* as asked for */
}

static void write_answer(struct dba_agent *a, struct dba_dev *d,
			 unsigned int slot, struct slot_io *io,
			 const char *text)
{
	int rc;

	if (a->dry_run) {
		dba_log(LOG_INFO, "d%u/%u: slot %u: \"%s\": would answer \"%s\"",
			d->guest, d->devid, slot, io->request, text);
		return;
	}
	io->answer = text;
	rc = xn_transact(a->xs, answer_fn, io);
	if (!rc || rc == -ESTALE)
		return;
	dba_log(LOG_WARNING, "d%u/%u: slot %u: cannot answer: %s", d->guest,
		d->devid, slot, strerror(-rc));
	dba_mark(d, slot);
	dba_timer(a, vl_now_ns() + DBA_RETRY_NS);
}

static void answer(struct dba_agent *a, struct dba_turn *t)
{
	struct dba_dev *d = t->io.d;
	char text[XN_VALUE_MAX];

	if (t->r) {
		log_refused(d, t->slot, t->r, t->err, t->io.request);
		snprintf(text, sizeof(text), XENVHCA_DOORBELL_REFUSED " %s",
			 dba_reason_text(t->r));
	} else {
		snprintf(text, sizeof(text), "%s", t->map ?
			 XENVHCA_DOORBELL_MAPPED : XENVHCA_DOORBELL_UNMAPPED);
		dba_log(LOG_DEBUG, "d%u/%u: slot %u: \"%s\": %s", d->guest,
			d->devid, t->slot, t->io.request, text);
	}
	write_answer(a, d, t->slot, &t->io, text);
}

/* True if there is a request to answer. */
static bool read_slot(struct dba_agent *a, struct dba_turn *t)
{
	struct dba_dev *d = t->io.d;
	struct dba_map *m;
	char num[16];

	snprintf(num, sizeof(num), "%u", t->slot);
	if (xn_path(t->io.dir, d->path, num) ||
	    xn_transact(a->xs, read_fn, &t->io) || t->io.rc == -EALREADY)
		return false;
	if (t->io.rc == -ENOENT) {
		m = dba_map_find(&a->table, d->guest, d->devid, d->backend,
				 t->slot);
		if (m)
			dba_unmap(a, m, "its request was removed");
		return false;
	}
	t->r = do_request(a, t);
	return true;
}

int dba_turn_begin(struct dba_agent *a, struct dba_dev *d, unsigned int slot)
{
	struct dba_turn *t = calloc(1, sizeof(*t));

	if (!t) {
		dba_timer(a, vl_now_ns() + DBA_RETRY_NS);
		return -ENOMEM;
	}
	t->io.d = d;
	t->slot = slot;
	if (!read_slot(a, t)) {
		free(t);
		return 0;
	}
	t->next = a->turns;
	a->turns = t;
	return 0;
}

/* Does all that was noted, after one write of the state file. */
static void do_noted(struct dba_agent *a)
{
	int err = dba_map_save(&a->table);
	struct dba_turn *t;

	for (t = a->turns; t; t = t->next) {
		if (!t->noted)
			continue;
		if (!err) {
			t->r = dba_map_do(&a->table, t->noted, &t->err);
			continue;
		}
		dba_map_drop(&a->table, t->noted);
		t->r = DBA_STATE_FILE;
		t->err = err;
	}
}

void dba_turns_end(struct dba_agent *a)
{
	struct dba_turn *t;

	do_noted(a);
	/* A mapping is on file as in transit at worst: a restart undoes it. */
	dba_map_save(&a->table);
	while ((t = a->turns)) {
		a->turns = t->next;
		answer(a, t);
		free(t);
	}
}
