// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The multicast table: entries that the driver reads and writes whole, in chains
 * that begin where a hash of the GID says. Who is in which group is found anew
 * whenever an entry was written.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cx_hx.h"

struct mgm {
	uint8_t raw[HX_MGM_BYTES];
	uint32_t walk;			/* that was here last */
};

static const uint8_t *member(const struct mgm *m, uint32_t i)
{
	return m->raw + HX_MGM_QPS + 4 * i;
}

static uint32_t members(const struct cx_dev *d, const struct mgm *m)
{
	uint32_t most = (d->family->hx->mgm.bytes - HX_MGM_QPS) / 4, nr = 0;

	if (d->family->hx->mgm.counted)
		nr = hx_get(m->raw, HX_MGM_COUNT);
	else
		while (nr < most && hx_get(member(m, nr), MT_MGM_VALID))
			nr++;
	return nr < most ? nr : most;
}

/* Return: whether the engine had room for the group and all its members. */
static bool join(struct cx_dev *d, const struct mgm *m)
{
	struct cx_qp *qp;
	uint32_t i;

	for (i = 0; i < members(d, m); i++) {
		qp = cx_ids_get(&d->qps, hx_get(member(m, i), HX_MGM_QPN));
		if (!qp || qp->st != CX_ST_UD)
			continue;
		qp->block_lb_mc = d->family->hx->mgm.counted &&
				  hx_get(member(m, i), HX_MGM_NO_LOOP);
		if (cx_mcg_attach(d, qp, m->raw + HX_MGM_GID) == -ENOMEM)
			return false;
	}
	return true;
}

/* Of the table: the second half is there for chains alone. */
static uint32_t heads(const struct cx_dev *d)
{
	return d->hx->log_mcg ? 1u << (d->hx->log_mcg - 1) : 0;
}

/*
 * An entry that no chain leads to counts for nothing, whatever it says. One that several
 * lead to, or a circle, is looked at once.
 */
bool hx_mgms_changed(struct cx_dev *d)
{
	uint32_t n, next, walk = ++d->hx->mgm_walks;
	bool room = true;
	struct cx_qp *qp;
	struct mgm *m;

	CX_EACH(&d->qps, n, qp)
		cx_mcg_forget(d, qp);
	for (n = 0; n < heads(d); n++) {
		m = cx_ids_get(&d->hx->mgms, n);
		while (room && m && m->walk != walk) {
			m->walk = walk;
			room = join(d, m);
			next = hx_get(m->raw, HX_MGM_NEXT);
			m = next ? cx_ids_get(&d->hx->mgms, next) : NULL;
		}
	}
	return room;
}

void hx_mgms_init(struct cx_dev *d)
{
	cx_ids_init(&d->hx->mgms, 0, 1u << d->hx->log_mcg);
}

void hx_mgms_free(struct cx_dev *d)
{
	struct mgm *m;
	uint32_t n;

	CX_EACH(&d->hx->mgms, n, m)
		free(m);
	cx_ids_free(&d->hx->mgms);
}

enum cx_status hx_read_mgm(struct cx_dev *d, struct hx_cmd *c)
{
	const struct mgm *m = cx_ids_get(&d->hx->mgms, c->in_mod);

	if (c->in_mod >> d->hx->log_mcg)
		return CX_IX;
	if (m)
		memcpy(c->out, m->raw, sizeof(m->raw));
	return CX_OK;
}

enum cx_status hx_write_mgm(struct cx_dev *d, struct hx_cmd *c)
{
	struct mgm old, *m = cx_ids_get(&d->hx->mgms, c->in_mod);

	if (c->op_mod || c->in_mod >> d->hx->log_mcg)
		return CX_IX;
	if (!m) {
		m = calloc(1, sizeof(*m));
		if (!m || !cx_ids_put(&d->hx->mgms, c->in_mod, m)) {
			free(m);
			return CX_LIM;
		}
	}
	old = *m;
	memcpy(m->raw, c->in, d->family->hx->mgm.bytes);
	if (hx_mgms_changed(d))
		return CX_OK;
	*m = old;
	hx_mgms_changed(d);
	return CX_LIM;
}

/* Any will do that lies in the table's first half. */
static enum cx_status mgid_hash(struct cx_dev *d, struct hx_cmd *c)
{
	uint32_t hash = 0;
	unsigned int i;

	for (i = 0; i < 16; i++)
		hash = hash * 31 + c->in[i];
	c->out_param = heads(d) ? hash % heads(d) : 0;
	return CX_OK;
}

const struct hx_cmd_desc hx_cmds_mcg[] = {
	{ HX_MGID_HASH, "MGID_HASH", mgid_hash, HX_UP, 16, 0 },
	{ 0 }
};
