// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * A verbs context of the guest is one open uverbs file here, with one
 * completion channel. The command thread runs this.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "context.h"
#include "verbs/object.h"
#include "verbs/ucontext.h"

/* Has the kernel removed the HCA, and so taken its pages from everybody? */
static bool hca_gone(const struct be_dev *dev)
{
	struct ib_uverbs_query_port_resp p;

	return uv_query_port(dev->ctl_fd, dev->port, &p) == -EIO;
}

/* Steps 3 and 4. A file whose pages the agent reserves is parked instead. */
static int files_end(struct be_dev *dev, struct be_uc *uc)
{
	int err;

	if (be_doorbells_held(uc->file)) {
		err = be_park(dev, uc);
		if (err != -EBUSY || !hca_gone(dev))
			return err;
	}
	err = be_doorbells_end(dev, uc->file);
	if (!err && !be_spoil(dev, uc))
		be_vfile_close(dev, uc->file);
	return err;
}

/*
 * Closing the context. The order is the proof that neither the HCA nor the
 * guest touches memory after it is gone:
 *  1. multicast, QP, SRQ, AH, MW, MR, CQ, PD (XENVHCA_KINDS backwards): the HCA
 *     stops using them; each object's own memory is unmapped when its
 *     destruction succeeded;
 *  2. queue memory: grants are ended (or handed to the helper, which holds the
 *     pages), then it is unmapped, because a mapping holds the uverbs file open;
 *  3. doorbell pages: the agent confirms that the guest has lost them;
 *  4. the files are closed, so the kernel destroys what refused in step 1, and
 *     may give the doorbell pages to somebody else; where the agent holds them
 *     the files are parked instead, once step 1 has left nothing;
 *  5. only now the guest memory of those leftovers is unmapped.
 */
int be_ucontext_close(struct be_dev *dev, struct be_uc *uc)
{
	int err;

	be_objs_destroy(dev, uc, BE_OBJS_ALL);
	while (uc->objs[BE_MMAP])
		be_mmap_release(dev, (struct be_mmap *)uc->objs[BE_MMAP]);
	err = files_end(dev, uc);
	if (err && uc->file->state != BE_VFILE_CLOSING) {	/* not at every try */
		be_log(dev, BE_ERR, err == -EBUSY ?
		       "the kernel does not destroy an object (%s): its context stays open" :
		       "a doorbell page cannot be taken from the guest (%s): its context stays open",
		       strerror(-err));
		be_vfile_to(dev, uc->file, BE_VFILE_CLOSING);
	}
	if (err)
		return err;
	be_objs_release(dev, uc);
	be_offsets_drop_all(dev, uc);
	be_vfile_free(uc->file);
	be_obj_free(dev, &uc->o, BE_UCONTEXT);
	return 0;
}

void be_dev_tick(struct be_dev *dev)
{
	struct be_obj *o, *next;

	for (o = dev->ucontexts; o; o = next) {
		next = o->next;
		/* A silent agent costs time with each: one is enough. */
		if (((struct be_uc *)o)->file->state == BE_VFILE_CLOSING &&
		    be_ucontext_close(dev, (struct be_uc *)o) == -ETIMEDOUT)
			return;
	}
}

/* Counts the doorbell pages that the HCA's driver allocates with the context. */
static uint32_t uars_wanted(const struct be_cmd *c)
{
	const struct vhca_field *f = vhca_provider_uars(c->dev->prov);
	uint32_t n;

	if (!f)
		return c->dev->prov->mmaps ? 1 : 0;
	n = vhca_len_num(c->req, f->off, f->len);
	return n / (uint32_t)f->arg + !!(n % (uint32_t)f->arg);
}

static int open_file(const struct be_cmd *c, struct be_udata *u)
{
	struct be_vfile *f = be_vfile_new(c->dev);
	int err;

	if (!f)
		return -ENOMEM;
	c->uc->file = f;
	err = be_udata_begin(u, c, NULL, NULL);
	if (!err)
		err = be_uars_take(c->dev, f, uars_wanted(c));
	if (!err)
		err = be_vfile_open(c->dev, f, &u->uv, f->uars);
	if (!err)
		err = be_vfile_listen(c->dev, c->uc);
	return err;
}

int be_alloc_ucontext(const struct be_cmd *cmd)
{
	struct be_cmd c = *cmd;
	struct be_udata u;
	bool old;
	int err;

	c.uc = be_obj_new(&c, BE_UCONTEXT, sizeof(*c.uc), &err);
	if (!c.uc)
		return err;
	err = be_unpark(&c);
	old = err > 0;
	if (old)
		err = be_vfile_listen(c.dev, c.uc);
	else if (!err)
		err = open_file(&c, &u);
	if (err && !old) {
		be_vfile_drop(c.dev, c.uc->file);
		be_obj_free(c.dev, &c.uc->o, BE_UCONTEXT);
		return err;
	}
	be_obj_publish(c.dev, &c.uc->o, BE_UCONTEXT, 0);
	if (!err && !old)
		err = be_udata_end(&u, &c, c.uc->o.handle);
	if (!err && !old)
		err = be_opening_keep(&c, &u, c.uc);
	if (err) {
		be_ucontext_close(c.dev, c.uc);
		return err;
	}
	c.rsp->u.alloc_ucontext.ucontext = c.uc->o.handle;
	return 0;
}

/*
 * The context ends when the job threads have let go of it. Its large regions go there once
 * nothing uses them any more.
 */
static int uc_leave(const struct be_cmd *c, struct be_job *leave)
{
	struct be_uc *uc = leave->uc;

	if (!uc->jobs && c->dev->jobs && be_mrs_slow(uc)) {
		be_objs_destroy(c->dev, uc, BE_MR + 1);
		be_mrs_leave(c->dev, uc);
	}
	if (uc->jobs)
		return BE_PASSED;
	return be_ucontext_close(c->dev, uc);
}

int be_dealloc_ucontext(const struct be_cmd *c)
{
	c->uc->leave = (struct be_job){
		.uc = c->uc, .op = c->req->op, .id = c->req->id,
		.end = uc_leave,
	};
	be_vfile_to(c->dev, c->uc->file, BE_VFILE_LEAVING);
	be_jobs_drop(c->dev, c->uc);
	return uc_leave(c, &c->uc->leave);
}
