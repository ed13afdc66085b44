// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The command ring. The process that called a verb sends the request, and polls for its
 * answer for a short time (spin.c). Then it sleeps, and the upcall of the event channel
 * receives the answer. Both take all answers off the ring. The backend is asked to
 * notify only while a process sleeps.
 *
 * An answer is copied once into private memory, checked there and used from there. Its
 * id must be that of a command in flight, so the backend can answer neither twice nor
 * for another command.
 *
 * Slots are fair among processes: each has an eighth of them at most, and an eighth for
 * destroy commands. Commands without a slot wait in the order of arrival, and are sent
 * when answers have freed slots. The backend counts as silent when it has answered no
 * command for cmd_timeout: the time until it answers one command depends on the
 * commands before it.
 *
 * The rings break when the backend died, is silent, or wrote an impossible value. Every
 * command then ends with -EIO, and the owner of the rings is told.
 */
#include <linux/interrupt.h>
#include <linux/ktime.h>
#include <linux/moduleparam.h>
#include <linux/rcupdate.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <xen/events.h>
#include <xen/page.h>

#include "check.h"
#include "vhca.h"

#define VHCA_SOON	(10 * HZ)
#define VHCA_MOST	5	/* times cmd_timeout, for one command */
#define VHCA_SHARE	8	/* of the slots, for one process */

static unsigned int cmd_timeout = 60;
module_param(cmd_timeout, uint, 0644);
MODULE_PARM_DESC(cmd_timeout,
		 "seconds without any answer of the backend until it counts as silent (1..3600, default 60)");

unsigned long vhca_ring_timeout(void)
{
	return clamp(READ_ONCE(cmd_timeout), 1u, 3600u) * HZ;
}

struct vhca_cmd *vhca_cmd_alloc(u16 op, u32 ucontext)
{
	struct vhca_cmd *cmd = kzalloc(sizeof(*cmd), GFP_KERNEL);

	if (!cmd)
		return NULL;
	cmd->req.op = op;
	cmd->req.ucontext = ucontext;
	init_completion(&cmd->done);
	INIT_LIST_HEAD(&cmd->wait);
	return cmd;
}

/* Ends the command @id, whose rsp the caller has filled. Under ring->lock. */
static void ring_finish(struct vhca_ring *ring, unsigned int id)
{
	struct vhca_cmd *cmd = ring->pending[id];

	ring->pending[id] = NULL;
	__clear_bit(id, ring->ids);
	ring->asleep -= !cmd->polled;
	if (cmd->abandoned)
		kfree(cmd);
	else
		complete(&cmd->done);
}

/* ---- the end of the rings ---- */

/* Commands in flight, and commands that wait for a slot. */
static void fail_commands(struct vhca_ring *ring)
{
	struct vhca_cmd *cmd, *next;
	unsigned long flags;
	unsigned int id;

	spin_lock_irqsave(&ring->lock, flags);
	WRITE_ONCE(ring->state, VHCA_RING_BROKEN);
	for_each_set_bit(id, ring->ids, XENVHCA_MAX_ID) {
		ring->pending[id]->rsp.status = -EIO;
		ring_finish(ring, id);
	}
	list_for_each_entry_safe(cmd, next, &ring->waiters, wait) {
		list_del_init(&cmd->wait);
		cmd->rsp.status = -EIO;
		complete(&cmd->done);
		complete(&cmd->sent);
	}
	spin_unlock_irqrestore(&ring->lock, flags);
}

void vhca_ring_fail(struct vhca_dev *dev)
{
	fail_commands(&dev->ring);
	wake_up_all(&dev->ring.kick_wait);
}

void vhca_break(struct vhca_dev *dev, const char *reason)
{
	struct vhca_ring *ring = &dev->ring;

	if (cmpxchg(&ring->reason, NULL, reason))
		return;
	dev_err(dev->store->dev, "giving the device up: %s\n", reason);
	vhca_ring_fail(dev);
	ring->ops->broken(dev);
}

/* ---- requests ---- */

/* Slots that only destroy commands may use; a one-page ring has few in all. */
static unsigned int ring_reserve(const struct vhca_ring *ring)
{
	return min_t(unsigned int, XENVHCA_DESTROY_SLOTS,
		     RING_SIZE(&ring->cmd) / 2);
}

/* Number of slots that the command has to leave free. */
static unsigned int ring_spare(const struct vhca_ring *ring, unsigned int flags)
{
	if (flags & VHCA_CMD_NOWAIT)
		return RING_SIZE(&ring->cmd) / 2;
	return flags & VHCA_CMD_RESERVED ? 0 : ring_reserve(ring);
}

/* Do both commands count for the same share of slots? */
static bool ring_same(const struct vhca_cmd *a, const struct vhca_cmd *b)
{
	const unsigned int kinds = VHCA_CMD_RESERVED | VHCA_CMD_NOWAIT |
				   VHCA_CMD_APART;

	return a->process == b->process && !((a->flags ^ b->flags) & kinds);
}

/* May @cmd have a slot now? Under ring->lock. */
static bool ring_room(const struct vhca_ring *ring, const struct vhca_cmd *cmd)
{
	unsigned int id, has = 0;

	if (RING_FREE_REQUESTS(&ring->cmd) <= ring_spare(ring, cmd->flags))
		return false;
	if (cmd->flags & (VHCA_CMD_NOWAIT | VHCA_CMD_APART))
		return true;
	for_each_set_bit(id, ring->ids, XENVHCA_MAX_ID)
		has += ring_same(ring->pending[id], cmd);
	return has < max_t(unsigned int, 1, RING_SIZE(&ring->cmd) / VHCA_SHARE);
}

/* A free id, the longest unused first, or -EAGAIN. Under ring->lock. */
static int ring_id(struct vhca_ring *ring)
{
	unsigned int id;

	id = find_next_zero_bit(ring->ids, XENVHCA_MAX_ID, ring->next_id);
	if (id >= XENVHCA_MAX_ID)
		id = find_first_zero_bit(ring->ids, XENVHCA_MAX_ID);
	if (id >= XENVHCA_MAX_ID)
		return -EAGAIN;
	__set_bit(id, ring->ids);
	ring->next_id = (id + 1) % XENVHCA_MAX_ID;
	return id;
}

/* Puts the request on the ring. False: there is no slot for it. Under ring->lock. */
static bool ring_push(struct vhca_dev *dev, struct vhca_cmd *cmd)
{
	struct xenvhca_front_ring *r = &dev->ring.cmd;
	int id = ring_room(&dev->ring, cmd) ? ring_id(&dev->ring) : -EAGAIN;
	int notify;

	if (id < 0)
		return false;
	cmd->req.id = id;
	dev->ring.pending[id] = cmd;
	dev->ring.asleep += !cmd->polled;
	*RING_GET_REQUEST(r, r->req_prod_pvt) = cmd->req;
	r->req_prod_pvt++;
	RING_PUSH_REQUESTS_AND_CHECK_NOTIFY(r, notify);
	dev->ring.notify |= notify;
	atomic64_inc(&dev->stats.cmds);
	return true;
}

/*
 * Slots may be free: sends the commands that wait for one, the longest first. A command
 * that exceeds the share of its process does not delay other processes. Under
 * ring->lock.
 */
static void ring_admit(struct vhca_dev *dev)
{
	struct vhca_cmd *cmd, *next, *refused = NULL;

	list_for_each_entry_safe(cmd, next, &dev->ring.waiters, wait) {
		if (refused && ring_same(refused, cmd))
			continue;
		if (!ring_push(dev, cmd)) {
			refused = cmd;
			continue;
		}
		list_del_init(&cmd->wait);
		complete(&cmd->sent);
	}
}

/* Unlocks, and notifies the backend if commands were sent under the lock. */
static void ring_unlock(struct vhca_dev *dev, unsigned long irq)
	__releases(&dev->ring.lock)
{
	bool notify = dev->ring.notify;

	dev->ring.notify = false;
	spin_unlock_irqrestore(&dev->ring.lock, irq);
	if (!notify)
		return;
	atomic64_inc(&dev->stats.cmd_notifies);
	notify_remote_via_irq(dev->ring.cmd_irq);
}

/* ---- answers ---- */

/* Checks ring->scratch. Returns a reason to break the rings, or NULL. */
static const char *ring_answer(struct vhca_ring *ring)
{
	const struct xenvhca_response *rsp = &ring->scratch;
	const char *bad = vhca_check_rsp_id(rsp);
	struct vhca_cmd *cmd;

	if (bad)
		return bad;
	cmd = ring->pending[rsp->id];
	bad = vhca_check_rsp(rsp, cmd ? &cmd->req : NULL);
	if (bad)
		return bad;
	cmd->rsp = *rsp;
	ring_finish(ring, rsp->id);
	return NULL;
}

/*
 * Takes all answers off the ring, and asks for the next upcall if a process sleeps.
 * Bounded, whatever the backend does: every answer needs the id of a command that was
 * pending before. Under ring->lock.
 */
static const char *ring_answers(struct vhca_dev *dev, bool *work)
{
	struct vhca_ring *ring = &dev->ring;
	struct xenvhca_front_ring *r = &ring->cmd;
	const char *bad = NULL;
	RING_IDX prod;
	int more;

	do {
		prod = READ_ONCE(r->sring->rsp_prod);
		virt_rmb();	/* responses after rsp_prod */
		bad = vhca_check_rsp_prod(prod, r->rsp_cons, r->req_prod_pvt);
		if (bad)
			return bad;
		while (!bad && r->rsp_cons != prod) {
			RING_COPY_RESPONSE(r, r->rsp_cons, &ring->scratch);
			bad = ring_answer(ring);
			WRITE_ONCE(r->rsp_cons, r->rsp_cons + 1); /* ring_any() */
			WRITE_ONCE(ring->heard, jiffies);
			*work = true;
		}
		if (*work && !bad)
			ring_admit(dev);
		more = 0;
		if (ring->asleep)
			RING_FINAL_CHECK_FOR_RESPONSES(r, more);
	} while (more && !bad);
	return bad;
}

/*
 * Takes answers without an upcall. @sleeper: the command whose process stops polling;
 * from now on the backend notifies.
 */
static void ring_take(struct vhca_dev *dev, struct vhca_cmd *sleeper)
{
	struct vhca_ring *ring = &dev->ring;
	const char *bad = NULL;
	unsigned long flags;
	bool work = false;

	spin_lock_irqsave(&ring->lock, flags);
	if (sleeper && !completion_done(&sleeper->done)) {
		sleeper->polled = false;
		ring->asleep++;
	}
	if (vhca_ring_up(ring))
		bad = ring_answers(dev, &work);
	ring->taken |= work;
	ring_unlock(dev, flags);
	if (bad)
		vhca_break(dev, bad);
}

/* ---- a process ---- */

/* 0: sent; -EAGAIN: it waits for a slot, or was not to wait for one; -EIO: broken. */
static int ring_queue(struct vhca_dev *dev, struct vhca_cmd *cmd)
{
	struct vhca_ring *ring = &dev->ring;
	unsigned long irq;
	int err = -EAGAIN;
	bool first;

	spin_lock_irqsave(&ring->lock, irq);
	first = !cmd->polled && !ring->asleep;
	if (!vhca_ring_up(ring)) {
		err = -EIO;
	} else if (ring_push(dev, cmd)) {
		err = 0;
	} else if (!(cmd->flags & VHCA_CMD_NOWAIT)) {
		cmd->polled = false;
		init_completion(&cmd->sent);
		list_add_tail(&cmd->wait, &ring->waiters);
	}
	ring_unlock(dev, irq);

	if (!err && first)
		ring_take(dev, NULL);	/* asks for upcalls */
	return err;
}

/*
 * Jiffies until the backend is late with a command that waits since @begin: it has
 * answered no command for the time limit, or not this one for several.
 */
static long ring_patience(const struct vhca_ring *ring, unsigned int flags,
			  unsigned long begin)
{
	unsigned long wait = vhca_ring_timeout();
	unsigned long heard = READ_ONCE(ring->heard);

	if (flags & VHCA_CMD_SOON)
		return begin + min_t(unsigned long, wait, VHCA_SOON) - jiffies;
	if (time_before(heard, begin))
		heard = begin;
	if (time_before(begin + (VHCA_MOST - 1) * wait, heard))
		heard = begin + (VHCA_MOST - 1) * wait;
	return heard + wait - jiffies;
}

/* 0, -EINTR (if @killable), -ETIMEDOUT. */
static int ring_sleep(struct vhca_dev *dev, struct completion *done,
		      unsigned int flags, unsigned long begin, bool killable)
{
	long left;

	while ((left = ring_patience(&dev->ring, flags, begin)) > 0) {
		if (killable)
			left = wait_for_completion_killable_timeout(done, left);
		else
			left = wait_for_completion_timeout(done, left);
		if (left)
			return left < 0 ? -EINTR : 0;
	}
	return -ETIMEDOUT;
}

/* Waits for a slot: bounded, and killable unless it is a destroy command. */
static int ring_enter(struct vhca_dev *dev, struct vhca_cmd *cmd,
		      unsigned long begin)
{
	int err = ring_queue(dev, cmd);
	unsigned long irq;
	bool waits;

	if (err != -EAGAIN)
		return err;
	err = ring_sleep(dev, &cmd->sent, cmd->flags, begin,
			 !(cmd->flags & VHCA_CMD_RESERVED));
	if (!err)
		return 0;
	spin_lock_irqsave(&dev->ring.lock, irq);
	waits = !list_empty(&cmd->wait);
	list_del_init(&cmd->wait);
	spin_unlock_irqrestore(&dev->ring.lock, irq);
	return waits ? err : 0;
}

/*
 * The process gives up. False if the answer came in this moment. Else the command now
 * belongs to the ring: its id and its slot stay in use until the late answer is here,
 * so that the answer cannot be taken for that of another command.
 */
static bool ring_abandon(struct vhca_ring *ring, struct vhca_cmd *cmd)
{
	unsigned long irq;
	bool late;

	spin_lock_irqsave(&ring->lock, irq);
	late = !completion_done(&cmd->done);
	if (late)
		cmd->abandoned = true;
	spin_unlock_irqrestore(&ring->lock, irq);
	return late;
}

/* Are there answers? Without the lock; ring.c frees the page after a grace period. */
static bool ring_any(const struct vhca_ring *ring)
{
	bool any;

	rcu_read_lock();
	any = vhca_ring_up(ring) && READ_ONCE(ring->cmd.sring->rsp_prod) !=
				    READ_ONCE(ring->cmd.rsp_cons);
	rcu_read_unlock();
	return any;
}

/* A process that polls takes the answers of all processes. */
static void ring_poll(struct vhca_dev *dev, struct vhca_cmd *cmd, bool killable)
{
	u64 begin = ktime_get_ns();
	bool found;

	do {
		if (ring_any(&dev->ring))
			ring_take(dev, NULL);
		found = completion_done(&cmd->done);
	} while (!found && !(killable && fatal_signal_pending(current)) &&
		 vhca_spin_continue(begin));
	vhca_spin_record(&dev->ring.spin[cmd->req.op], found);
	if (found)
		atomic64_inc(&dev->stats.cmd_spins);
	else
		ring_take(dev, cmd);
}

static int ring_wait(struct vhca_dev *dev, struct vhca_cmd **cmdp,
		     unsigned long begin)
{
	struct vhca_cmd *cmd = *cmdp;
	bool killable = !(cmd->flags & VHCA_CMD_CERTAIN);
	int err;

	if (cmd->polled)
		ring_poll(dev, cmd, killable);
	if (!completion_done(&cmd->done))
		atomic64_inc(&dev->stats.cmd_sleeps);
	err = ring_sleep(dev, &cmd->done, cmd->flags, begin, killable);
	if (!err || !ring_abandon(&dev->ring, cmd))
		return 0;
	*cmdp = NULL;
	atomic64_inc(&dev->stats.cmd_timeouts);
	return err;
}

/* If only the backend knows whether it executed the command, the device breaks. */
static void ring_late(struct vhca_dev *dev, u16 op, unsigned int flags,
		      unsigned long begin, bool sent)
{
	dev_err_ratelimited(dev->store->dev,
			    "no answer to command %#x in %u s; check the backend\n",
			    op, jiffies_to_msecs(jiffies - begin) / 1000);
	if (flags & VHCA_CMD_RESERVED)
		vhca_break(dev, "backend does not answer a destroy command");
	else if (flags & VHCA_CMD_CERTAIN && sent)
		vhca_break(dev, "backend does not answer a command that only it can undo");
}

/* Sends a command that the ring frees when its answer comes. False: no free slot. */
static bool ring_send_off(struct vhca_dev *dev, struct vhca_cmd **cmdp)
{
	struct vhca_cmd *cmd = *cmdp;

	cmd->abandoned = true;
	if (!ring_queue(dev, cmd)) {
		*cmdp = NULL;
		return true;
	}
	cmd->abandoned = false;
	cmd->flags &= ~VHCA_CMD_NOWAIT;
	return false;
}

int vhca_ring_submit(struct vhca_dev *dev, struct vhca_cmd **cmdp,
		     unsigned int flags)
{
	unsigned long begin = jiffies;
	u16 op = (*cmdp)->req.op;
	int err;

	might_sleep();
	(*cmdp)->flags = flags;
	(*cmdp)->process = task_tgid_nr(current);
	if (flags & VHCA_CMD_NOWAIT && ring_send_off(dev, cmdp))
		return -EINPROGRESS;
	(*cmdp)->polled = vhca_spin_try(&dev->ring.spin[op]);
	err = ring_enter(dev, *cmdp, begin);
	if (!err)
		err = ring_wait(dev, cmdp,
				flags & VHCA_CMD_SOON ? begin : jiffies);
	if (err == -ETIMEDOUT)
		ring_late(dev, op, flags, begin, !*cmdp);
	if (err)
		return err;
	if (flags & VHCA_CMD_RESERVED)
		atomic_inc(&dev->ring.ended);
	err = vhca_check_status(op, (*cmdp)->rsp.status);
	if (err)
		atomic64_inc(&dev->stats.cmd_errors);
	return err;
}

irqreturn_t vhca_ring_cmd_irq(int irq, void *arg)
{
	struct vhca_dev *dev = arg;
	struct vhca_ring *ring = &dev->ring;
	const char *bad = NULL;
	unsigned long flags;
	bool work = false;

	atomic64_inc(&dev->stats.irqs);
	spin_lock_irqsave(&ring->lock, flags);
	if (vhca_ring_up(ring))
		bad = ring_answers(dev, &work);
	/* A polling process may have been faster than this upcall. */
	work |= ring->taken;
	ring->taken = false;
	ring_unlock(dev, flags);

	if (!work)
		atomic64_inc(&dev->stats.spurious);
	if (bad)
		vhca_break(dev, bad);
	/* The channel of a broken ring stays masked: no EOI. */
	if (vhca_ring_up(ring))
		xen_irq_lateeoi(irq, work ? 0 : XEN_EOI_FLAG_SPURIOUS);
	return IRQ_HANDLED;
}
