// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The command thread takes requests off the ring and executes them. A destroy
 * command is executed as soon as it is read, so that a guest's process can
 * always exit. The others wait here, in order, for the time that slow ones
 * take, for max-cmd-rate, and after too many that the HCA's driver refused,
 * because it may print a line for each. Overtaking is harmless: whoever
 * destroys an object has the answers of all commands that made or used it, and
 * a command that nobody waits for any more does not find its context or object.
 *
 * What a destroy command ends was made by one that had its token. The answer of one
 * that ended nothing waits here for a token, and keeps its slot of the ring until
 * then: a guest cannot ask for nothing more often than for something.
 *
 * A command that waits for somebody else (the doorbell agent, or a job thread that uses what
 * the command is for) is executed again after those behind it, until it has an answer.
 * What takes long of commands, or may wait for the network, is left to the job threads (jobs.c).
 *
 * Once there is nothing to do the thread may poll the ring for a short time before
 * it sleeps (spin.h): the next command of a process often comes at once. Only who is
 * about to sleep asks for a notification, so until then the guest sends none.
 *
 * The frontend cannot fill the queue: a request here has not been answered, and
 * the ring has fewer slots than the queue has entries.
 */
#include "clock.h"
#include "cmdq.h"
#include "dispatch.h"
#include "kick.h"
#include "verbs/jobs.h"
#include "uverbs/uverbs.h"

#define BE_CMD_BATCH	32
#define BE_CMD_AGAIN_NS	(50 * VL_MSEC_NS)	/* those that wait, if nobody wakes us */
#define BE_CMD_PASS_NS	(100 * VL_MSEC_NS)	/* a slow one waits for the agent */

static enum be_done cmd_exec(struct be_dev *dev, const struct xenvhca_request *req,
			     struct xenvhca_response *rsp)
{
	uint64_t errors = uv_errors;
	enum be_done done;

	be_kick_flush(dev);
	done = be_dispatch(dev, req, rsp);
	if (done != BE_AGAIN && uv_errors != errors)
		be_quota_failed(&dev->quota, 1);
	return done;
}

/* May the first one that waits be executed? */
static bool cmd_token(struct be_dev *dev, struct be_cmdq *q)
{
	uint64_t now = vl_coarse_ns();

	q->wait_ns = vl_bucket_wait(&dev->quota.fail, now);
	if (!q->wait_ns && !q->q[q->head].again)
		q->wait_ns = vl_bucket_take(&dev->quota.cmd, now);
	if (q->wait_ns && !q->counted)
		BE_STAT_ADD(dev, rate_waits, 1);
	q->counted = q->wait_ns;
	return !q->wait_ns;
}

static void cmd_queue(struct be_dev *dev, struct be_cmdq *q,
		      const struct be_queued *cmd)
{
	if (q->n == XENVHCA_MAX_ID) {
		be_fault(dev, "too many unanswered requests");
		return;
	}
	q->q[(q->head + q->n) % XENVHCA_MAX_ID] = *cmd;
	q->n++;
	if (!cmd->again)
		q->passed = 0;
}

/* One that was just read. */
static void cmd_read(struct be_dev *dev, struct be_cmdq *q, struct be_queued *cmd)
{
	struct xenvhca_response rsp;
	enum be_done done;

	cmd->status = 0;
	cmd->again = false;
	if (be_op_destroys(cmd->req.op)) {
		done = cmd_exec(dev, &cmd->req, &rsp);
		if (done == BE_ANSWERED && !rsp.status)
			be_reply(dev, &rsp);
		if (done == BE_ELSEWHERE || (done == BE_ANSWERED && !rsp.status))
			return;
		cmd->again = done == BE_AGAIN;
		cmd->status = rsp.status;
	}
	cmd_queue(dev, q, cmd);
}

/* One that has its token. False: it is to be executed again, and has no answer yet. */
static bool cmd_paid(struct be_dev *dev, const struct be_queued *cmd)
{
	struct xenvhca_response rsp = {
		.id = cmd->req.id, .op = cmd->req.op, .status = cmd->status,
	};
	enum be_done done = BE_ANSWERED;

	if (!cmd->status)
		done = cmd_exec(dev, &cmd->req, &rsp);
	/* A destroy that had to wait: too late for a token, so it is a debt. */
	if (cmd->again && rsp.status && be_op_destroys(cmd->req.op))
		vl_bucket_charge(&dev->quota.cmd, vl_coarse_ns(), 1);
	if (done == BE_ANSWERED)
		be_reply(dev, &rsp);
	return done != BE_AGAIN;
}

/* One pass takes a number of commands, or a time if they are slow. */
static bool cmd_pass(const struct be_dev *dev, int n, uint64_t begin)
{
	return n < BE_CMD_BATCH && !dev->fault &&
	       (!n || vl_coarse_ns() - begin < BE_CMD_PASS_NS);
}

/* Sets q->more if the batch ended before the ring did. */
static void cmdq_ring(struct be_dev *dev, struct be_cmdq *q, uint64_t begin)
{
	struct be_queued cmd;
	int i, r;

	q->more = true;
	for (i = 0; cmd_pass(dev, i, begin); i++) {
		r = dev->t->ops->get_request(dev->t, &cmd.req);
		if (r < 0) {
			be_fault(dev, "frontend violated the command ring");
			return;
		}
		if (!r) {
			q->more = false;
			return;
		}
		q->worked = q->fresh = q->awake = true;
		cmd_read(dev, q, &cmd);
	}
}

/*
 * Executes the first request that waits, if it may be. Tells whether it did. All of them
 * may wait for somebody else, whose answer wakes this thread.
 */
static bool cmdq_next(struct be_dev *dev, struct be_cmdq *q)
{
	struct be_queued cmd;

	q->wait_ns = 0;
	if (q->n && q->passed >= q->n)
		q->wait_ns = BE_CMD_AGAIN_NS;
	if (!q->n || q->wait_ns || !cmd_token(dev, q))
		return false;
	cmd = q->q[q->head];
	q->head = (q->head + 1) % XENVHCA_MAX_ID;
	q->n--;
	q->passed++;
	if (cmd_paid(dev, &cmd)) {
		q->passed = 0;
		return true;
	}
	cmd.again = true;
	cmd_queue(dev, q, &cmd);	/* others pass it */
	return true;
}

/*
 * Tells whether a request came while the thread polled for it, or an answer of the
 * job thread. After a request or such an answer only, so that what wakes the thread for
 * another reason, or a frontend that only moves its index, makes it poll once at
 * most. That it pays is said of requests.
 */
static bool cmdq_spin(struct be_dev *dev, struct be_cmdq *q)
{
	bool found;

	if (!q->fresh || q->n || !be_spin_begin(&q->spin))
		return false;
	q->fresh = false;
	do {
		found = dev->t->ops->any_request(dev->t);
	} while (!found && !be_jobs_any(dev) && be_spin_turn(&q->spin));
	be_spin_end(&q->spin, found);
	q->more = found;
	if (found)
		BE_STAT_ADD(dev, cmd_spins, 1);
	return found || be_jobs_any(dev);
}

/*
 * Before it sleeps: asks for a notification of the next request, and takes those
 * that came before the frontend could see that. True: there were any.
 */
static bool cmdq_arm(struct be_dev *dev, struct be_cmdq *q)
{
	q->fresh = false;
	if (dev->t->ops->arm_requests(dev->t))
		cmdq_ring(dev, q, vl_coarse_ns());
	if (q->fresh)
		return true;
	if (q->awake)
		BE_STAT_ADD(dev, cmd_sleeps, 1);
	q->awake = false;
	return false;
}

int be_cmdq_run(struct be_dev *dev, struct be_cmdq *q, bool notified)
{
	uint64_t begin = vl_coarse_ns();
	bool idle = false;
	int i;

	q->notified |= notified;
	/* Before each one that waits: what was sent meanwhile may overtake. */
	for (i = 0; !idle && cmd_pass(dev, i, begin); i++) {
		q->fresh |= be_reply_elsewhere(dev);
		cmdq_ring(dev, q, begin);
		idle = !cmdq_next(dev, q) && !cmdq_spin(dev, q);
	}
	if (!idle || q->more || be_jobs_any(dev) || cmdq_arm(dev, q))
		return 0;
	/* Only now: the ring is empty and armed, see kick_sleep(). */
	if (q->notified) {
		dev->t->ops->cmd_ack(dev->t, q->worked);
		q->notified = q->worked = false;
	}
	q->passed = 0;
	if (!q->n)
		return -1;
	return q->wait_ns ? (int)(q->wait_ns / VL_MSEC_NS) + 1 : 0;
}
