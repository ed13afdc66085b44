// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Command thread: takes requests off the ring and executes them. Over
 * max-cmd-rate a request waits here, in order; a destroy command never waits,
 * not even behind others, so that a guest's process can always exit. The
 * frontend cannot fill the queue: a request here has not been answered, and
 * the ring has fewer slots than the queue.
 */
#include "cmdq.h"
#include "util.h"

#define BE_CMD_BATCH	32
#define BE_CMD_PASS_NS	(100 * BE_MSEC_NS)	/* slow ones: xenstore waits */

static void be_cmd_exec(struct be_dev *dev, const struct xenvhca_request *req)
{
	struct xenvhca_response rsp = {};

	be_kick_flush(dev);
	be_dispatch(dev, req, &rsp);
	if (dev->t->ops->put_response(dev->t, &rsp))
		be_fault(dev, "no room for the response of request %u",
			 req->id);
}

static bool be_cmd_token(struct be_dev *dev, struct be_cmdq *q)
{
	q->wait_ns = be_bucket_take(&dev->quota.cmd, be_coarse_ns());
	return !q->wait_ns;
}

static void be_cmd_queue(struct be_dev *dev, struct be_cmdq *q,
			 const struct xenvhca_request *req)
{
	if (q->n == XENVHCA_MAX_ID) {
		be_fault(dev, "too many unanswered requests");
		return;
	}
	q->q[(q->head + q->n) % XENVHCA_MAX_ID] = *req;
	q->n++;
	BE_STAT_ADD(dev, rate_waits, 1);
}

/* One pass takes a number of commands, or a time if they are slow. */
static bool be_cmd_pass(const struct be_dev *dev, int n, uint64_t begin)
{
	return n < BE_CMD_BATCH && !dev->fault &&
	       (!n || be_coarse_ns() - begin < BE_CMD_PASS_NS);
}

static void be_cmdq_waiting(struct be_dev *dev, struct be_cmdq *q,
			    uint64_t begin)
{
	int i;

	for (i = 0; q->n && be_cmd_pass(dev, i, begin); i++) {
		if (!be_cmd_token(dev, q))
			return;
		be_cmd_exec(dev, &q->q[q->head]);
		q->head = (q->head + 1) % XENVHCA_MAX_ID;
		q->n--;
	}
}

/* Sets q->more if the batch ended before the ring did. */
static void be_cmdq_ring(struct be_dev *dev, struct be_cmdq *q, uint64_t begin)
{
	struct xenvhca_request req;
	int i, r;

	q->more = true;
	for (i = 0; be_cmd_pass(dev, i, begin); i++) {
		r = dev->t->ops->get_request(dev->t, &req);
		if (r < 0) {
			be_fault(dev, "frontend violated the command ring");
			return;
		}
		if (!r) {
			q->more = false;
			return;
		}
		q->worked = true;
		if (be_op_destroys(req.op) ||
		    (!q->n && be_cmd_token(dev, q)))
			be_cmd_exec(dev, &req);
		else
			be_cmd_queue(dev, q, &req);
	}
}

int be_cmdq_run(struct be_dev *dev, struct be_cmdq *q, bool notified)
{
	uint64_t begin = be_coarse_ns();

	if (notified && !q->notified) {
		q->notified = true;
		q->worked = false;
	}
	be_cmdq_ring(dev, q, begin);
	be_cmdq_waiting(dev, q, begin);
	if (q->more)
		return 0;
	/* Only now: the ring is empty and armed, see be_kick_sleep(). */
	if (q->notified) {
		dev->t->ops->cmd_ack(dev->t, q->worked);
		q->notified = false;
	}
	return q->n ? (int)(q->wait_ns / BE_MSEC_NS) + 1 : -1;
}
