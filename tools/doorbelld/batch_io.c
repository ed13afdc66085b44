// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Batches in xenstore (request.h). The backend writes the list of requests, the agent the
 * list of answers, and numbers match them, so reading needs no transaction. The node of
 * answers is their only record: if a backend changes it, its own requests are executed
 * twice, which has no effect.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "request.h"
#include "vhca-agent.h"

static void later(struct dba_agent *a, struct dba_dev *d)
{
	d->asked = true;
	dba_timer(a, vl_now_ns() + DBA_RETRY_NS);
}

/* Does the result depend on the backend's text, not on a failure of xenstored? */
static bool backends_fault(int rc)
{
	return rc == -EINVAL || rc == -E2BIG;
}

static int read_batch(struct dba_agent *a, struct dba_dev *d,
		      struct dba_batch *b)
{
	int rc = xn_read_str(a->xs, XBT_NULL, d->path,
			     XENVHCA_NODE_DOORBELL_REQUESTS, b->requests,
			     sizeof(b->requests));

	if (!rc)
		rc = dba_batch_parse(b);
	b->refused = backends_fault(rc);
	if (rc || !b->n)
		return b->refused ? 0 : rc;
	rc = xn_read_str(a->xs, XBT_NULL, d->path,
			 XENVHCA_NODE_DOORBELL_ANSWERS, b->answers,
			 sizeof(b->answers));
	if (!rc)
		dba_batch_match(b);
	return rc == -ENOENT || backends_fault(rc) ? 0 : rc;
}

struct dba_batch *dba_batch_begin(struct dba_agent *a, struct dba_dev *d)
{
	struct dba_batch *b = calloc(1, sizeof(*b)), **end = &a->batches;
	int rc = b ? read_batch(a, d, b) : -ENOMEM;

	if (rc == -ENOENT)
		rc = dba_unmap_all(a, d, "its requests were removed");
	else if (!rc) {
		if (b->refused)
			dba_log_refused(d, DBA_NO_SLOT, DBA_SYNTAX, 0, "...");
		b->d = d;
		while (*end)
			end = &(*end)->next;
		*end = b;
		return b;
	}
	free(b);
	if (rc)
		later(a, d);
	return NULL;
}

struct write_io {
	struct dba_dev *d;
	char text[XENVHCA_DOORBELL_TEXT + 1];
};

/* A device that was removed must not be created by this. */
static int write_fn(struct xs_handle *xs, xs_transaction_t t, void *arg)
{
	struct write_io *io = arg;

	if (!xn_exists(xs, t, io->d->path, XENVHCA_NODE_DOORBELL_REQUESTS))
		return -ESTALE;
	return xn_write_str(xs, t, io->d->path, XENVHCA_NODE_DOORBELL_ANSWERS,
			    io->text);
}

static void write_answers(struct dba_agent *a, const struct dba_batch *b)
{
	struct write_io io = { .d = b->d };
	int rc;

	dba_batch_text(b, io.text);
	if (a->dry_run) {
		dba_log(LOG_INFO, "d%u/%u: would answer \"%s\"", b->d->guest,
			b->d->devid, io.text);
		return;
	}
	rc = xn_transact(a->xs, write_fn, &io);
	if (!rc || rc == -ESTALE)
		return;
	dba_log(LOG_WARNING, "d%u/%u: cannot answer: %s", b->d->guest,
		b->d->devid, strerror(-rc));
	later(a, b->d);
}

void dba_batches_end(struct dba_agent *a)
{
	struct dba_batch *b;
	unsigned int i;
	bool news;

	while ((b = a->batches)) {
		a->batches = b->next;
		news = b->refused;
		for (i = 0; i < b->n; i++)
			news |= b->e[i].answer == b->e[i].own;
		if (news)
			write_answers(a, b);
		free(b);
	}
}
