// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The three rings of a connection: commands, events, kicks. The only file
 * that touches memory shared with the backend. Senders run in the process that
 * called a verb, receivers in the upcall of an event channel.
 *
 * The backend is not trusted: an answer is copied once into private memory,
 * checked there and used from there; an index that cannot be is the end of the
 * connection (vhca_break()), never of the guest. Everything in the rings'
 * pages was put there by the protocol: they are whole and zeroed.
 */
#include <linux/moduleparam.h>
#include <linux/interrupt.h>
#include <linux/slab.h>
#include <xen/events.h>
#include <xen/page.h>

#include "check.h"
#include "vhca.h"

static unsigned int cmd_timeout = 60;
module_param(cmd_timeout, uint, 0644);
MODULE_PARM_DESC(cmd_timeout,
		 "seconds to wait for the backend's answer (1..3600, default 60)");

static unsigned long vhca_ring_timeout(void)
{
	return clamp(READ_ONCE(cmd_timeout), 1u, 3600u) * HZ;
}

static bool vhca_ring_up(const struct vhca_ring *ring)
{
	return READ_ONCE(ring->state) == VHCA_RING_UP;
}

/* ---- command ring ---- */

struct vhca_cmd *vhca_cmd_alloc(u16 op, u32 ucontext)
{
	struct vhca_cmd *cmd = kzalloc(sizeof(*cmd), GFP_KERNEL);

	if (!cmd)
		return NULL;
	cmd->req.op = op;
	cmd->req.ucontext = ucontext;
	init_completion(&cmd->done);
	return cmd;
}

void vhca_cmd_free(struct vhca_cmd *cmd)
{
	kfree(cmd);
}

/* Slots that only destroy commands may use; a one-page ring has few in all. */
static unsigned int vhca_ring_reserve(const struct vhca_ring *ring)
{
	return min_t(unsigned int, XENVHCA_DESTROY_SLOTS,
		     RING_SIZE(&ring->cmd) / 2);
}

/* A free id, the longest unused first. -EAGAIN: none. Under ring->lock. */
static int vhca_ring_id(struct vhca_ring *ring)
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

/* Copies the request out and publishes it. Under ring->lock. */
static bool vhca_ring_push(struct vhca_ring *ring, struct vhca_cmd *cmd, u16 id)
{
	struct xenvhca_front_ring *r = &ring->cmd;
	int notify;

	cmd->req.id = id;
	ring->pending[id] = cmd;
	*RING_GET_REQUEST(r, r->req_prod_pvt) = cmd->req;
	r->req_prod_pvt++;
	RING_PUSH_REQUESTS_AND_CHECK_NOTIFY(r, notify);
	return notify;
}

/* 0: on its way; -EAGAIN: no slot for this kind of command; -EIO: broken. */
static int vhca_ring_queue(struct vhca_dev *dev, struct vhca_cmd *cmd,
			   unsigned int flags)
{
	struct vhca_ring *ring = &dev->ring;
	bool notify = false;
	unsigned int spare;
	unsigned long irq;
	int id = -EAGAIN;

	spare = flags & VHCA_CMD_DESTROY ? 0 : vhca_ring_reserve(ring);
	spin_lock_irqsave(&ring->lock, irq);
	if (!vhca_ring_up(ring))
		id = -EIO;
	else if (RING_FREE_REQUESTS(&ring->cmd) > spare)
		id = vhca_ring_id(ring);
	if (id >= 0)
		notify = vhca_ring_push(ring, cmd, id);
	spin_unlock_irqrestore(&ring->lock, irq);

	if (id < 0)
		return id;
	atomic64_inc(&dev->stats.cmds);
	if (notify)
		notify_remote_via_irq(ring->cmd_irq);
	return 0;
}

/* Waits for a slot: bounded, and killable unless it is a destroy command. */
static int vhca_ring_enter(struct vhca_dev *dev, struct vhca_cmd *cmd,
			   unsigned int flags)
{
	struct vhca_ring *ring = &dev->ring;
	long left;
	int err;

	if (flags & VHCA_CMD_DESTROY)
		left = wait_event_timeout(ring->slots,
			(err = vhca_ring_queue(dev, cmd, flags)) != -EAGAIN,
			vhca_ring_timeout());
	else
		left = wait_event_killable_timeout(ring->slots,
			(err = vhca_ring_queue(dev, cmd, flags)) != -EAGAIN,
			vhca_ring_timeout());
	if (left < 0)
		return -EINTR;
	return left ? err : -ETIMEDOUT;
}

/*
 * The waiter gives up. False if the answer came in this moment. Else the
 * command now belongs to the ring: its id and its slot stay taken until the
 * late answer is here, so that this answer cannot be mistaken for another's.
 */
static bool vhca_ring_abandon(struct vhca_ring *ring, struct vhca_cmd *cmd)
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

static int vhca_ring_wait(struct vhca_dev *dev, struct vhca_cmd **cmdp,
			  unsigned int flags)
{
	struct vhca_cmd *cmd = *cmdp;
	long left;

	if (flags & (VHCA_CMD_DESTROY | VHCA_CMD_OWNERLESS))
		left = wait_for_completion_timeout(&cmd->done,
						   vhca_ring_timeout());
	else
		left = wait_for_completion_killable_timeout(&cmd->done,
							vhca_ring_timeout());
	if (left > 0 || !vhca_ring_abandon(&dev->ring, cmd))
		return 0;
	*cmdp = NULL;
	atomic64_inc(&dev->stats.cmd_timeouts);
	return left < 0 ? -EINTR : -ETIMEDOUT;
}

int vhca_ring_submit(struct vhca_dev *dev, struct vhca_cmd **cmdp,
		     unsigned int flags)
{
	u16 op = (*cmdp)->req.op;
	int err;

	might_sleep();
	err = vhca_ring_enter(dev, *cmdp, flags);
	if (!err)
		err = vhca_ring_wait(dev, cmdp, flags);
	if (err == -ETIMEDOUT) {
		dev_err_ratelimited(&dev->xbdev->dev,
			"no answer to command %#x in %u s; check the backend\n",
			op, jiffies_to_msecs(vhca_ring_timeout()) / 1000);
		if (flags & VHCA_CMD_DESTROY)
			vhca_break(dev, "backend does not answer a destroy command");
		else if (flags & VHCA_CMD_OWNERLESS && !*cmdp)
			vhca_break(dev, "backend does not answer a command that only it can undo");
	}
	if (err)
		return err;
	if (flags & VHCA_CMD_DESTROY)
		atomic_inc(&dev->ring.ended);
	err = vhca_check_status((*cmdp)->rsp.status);
	if (err)
		atomic64_inc(&dev->stats.cmd_errors);
	return err;
}

/* Ends a command; the caller has filled rsp. Under ring->lock. */
static void vhca_ring_finish(struct vhca_ring *ring, unsigned int id)
{
	struct vhca_cmd *cmd = ring->pending[id];

	ring->pending[id] = NULL;
	__clear_bit(id, ring->ids);
	if (cmd->abandoned)
		vhca_cmd_free(cmd);
	else
		complete(&cmd->done);
}

/* Checks ring->scratch. Returns why the backend cannot go on, or NULL. */
static const char *vhca_ring_answer(struct vhca_ring *ring)
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
	vhca_ring_finish(ring, rsp->id);
	return NULL;
}

/*
 * Takes all answers off the ring. Ends although the backend may go on
 * answering: every answer needs a pending id. Under ring->lock.
 */
static const char *vhca_ring_answers(struct vhca_ring *ring, bool *work)
{
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
			bad = vhca_ring_answer(ring);
			r->rsp_cons++;
			*work = true;
		}
		RING_FINAL_CHECK_FOR_RESPONSES(r, more);
	} while (more && !bad);
	return bad;
}

static irqreturn_t vhca_ring_cmd_irq(int irq, void *arg)
{
	struct vhca_dev *dev = arg;
	struct vhca_ring *ring = &dev->ring;
	const char *bad = NULL;
	unsigned long flags;
	bool work = false;

	atomic64_inc(&dev->stats.irqs);
	spin_lock_irqsave(&ring->lock, flags);
	if (vhca_ring_up(ring))
		bad = vhca_ring_answers(ring, &work);
	spin_unlock_irqrestore(&ring->lock, flags);

	if (work)
		wake_up_all(&ring->slots);
	else
		atomic64_inc(&dev->stats.spurious);
	if (bad)
		vhca_break(dev, bad);
	/* A broken ring keeps its channel masked: no EOI. */
	if (vhca_ring_up(ring))
		xen_irq_lateeoi(irq, work ? 0 : XEN_EOI_FLAG_SPURIOUS);
	return IRQ_HANDLED;
}

/* ---- event ring ---- */

static irqreturn_t vhca_ring_evt_irq(int irq, void *arg)
{
	struct vhca_dev *dev = arg;
	struct vhca_ring *ring = &dev->ring;
	struct xenvhca_evt_page *page = ring->evt;
	struct xenvhca_event ev;
	bool work = false;
	const char *bad;
	u32 prod;

	atomic64_inc(&dev->stats.irqs);
	if (!vhca_ring_up(ring))
		return IRQ_HANDLED;
	prod = READ_ONCE(page->prod);
	virt_rmb();	/* entries after prod; pairs with the backend's wmb */
	bad = vhca_check_evt_prod(prod, ring->evt_cons);
	if (bad) {
		vhca_break(dev, bad);
		return IRQ_HANDLED;
	}
	while (ring->evt_cons != prod) {
		ev = *(volatile struct xenvhca_event *)
			&page->event[ring->evt_cons % XENVHCA_EVT_ENTRIES];
		virt_mb();	/* copy before the slot is given back */
		WRITE_ONCE(page->cons, ++ring->evt_cons);
		atomic64_inc(&dev->stats.events);
		work |= vhca_event(dev, &ev);
	}
	if (READ_ONCE(page->overflow)) {
		WRITE_ONCE(page->overflow, 0);
		virt_mb();	/* clear before looking at the queues */
		work |= vhca_event_overflow(dev);
	}
	if (!work)
		atomic64_inc(&dev->stats.spurious);
	xen_irq_lateeoi(irq, work ? 0 : XEN_EOI_FLAG_SPURIOUS);
	return IRQ_HANDLED;
}

/* ---- kick ring ---- */

/*
 * Is the entry at @last still to be copied out, and of the same kind? Then the
 * backend will look at the queue after this point in time, and no new entry is
 * needed. Under kick_lock.
 */
static bool vhca_kick_queued(const struct vhca_ring *ring, u16 what, u32 last,
			     u32 cons)
{
	u32 age = ring->kick_prod - last;	/* 1: the newest entry */

	return age && age <= ring->kick_prod - cons &&
	       ring->kick_what[last % XENVHCA_KICK_ENTRIES] == what;
}

static bool vhca_kick_push(struct vhca_ring *ring, u8 type, u8 flags,
			   u32 handle)
{
	struct xenvhca_kick_page *page = ring->kick;
	u32 slot = ring->kick_prod % XENVHCA_KICK_ENTRIES;
	struct xenvhca_kick kick = {
		.type = type, .flags = flags, .handle = handle,
	};

	page->kick[slot] = kick;
	ring->kick_what[slot] = type << 8 | flags;
	virt_wmb();	/* entry before prod; pairs with the backend's rmb */
	WRITE_ONCE(page->prod, ++ring->kick_prod);
	virt_mb();	/* prod before prod_event; the backend: vice versa */
	return READ_ONCE(page->prod_event) == ring->kick_prod;
}

/* 0: queued or merged, *last is its index; -EAGAIN: full; -EIO: broken. */
static int vhca_kick_queue(struct vhca_dev *dev, u8 type, u8 flags, u32 handle,
			   u32 *last, bool *valid)
{
	struct vhca_ring *ring = &dev->ring;
	u16 what = type << 8 | flags;
	const char *bad = NULL;
	bool notify = false;
	unsigned long irq;
	int err = 0;
	u32 used, cons;

	spin_lock_irqsave(&ring->kick_lock, irq);
	virt_mb();	/* the caller's work before cons; the backend: v. v. */
	cons = READ_ONCE(ring->kick->cons);
	used = ring->kick_prod - cons;
	bad = vhca_check_kick_cons(cons, ring->kick_prod);
	if (!vhca_ring_up(ring) || bad) {
		err = -EIO;
	} else if (*valid && vhca_kick_queued(ring, what, *last, cons)) {
		atomic64_inc(&dev->stats.kicks_merged);
	} else if (used == XENVHCA_KICK_ENTRIES) {
		err = -EAGAIN;
	} else {
		*last = ring->kick_prod;
		*valid = true;
		notify = vhca_kick_push(ring, type, flags, handle);
		atomic64_inc(&dev->stats.kicks);
	}
	spin_unlock_irqrestore(&ring->kick_lock, irq);

	if (bad)
		vhca_break(dev, bad);
	if (notify) {
		atomic64_inc(&dev->stats.kick_notifies);
		notify_remote_via_irq(ring->kick_irq);
	}
	return err;
}

/*
 * Ask for an upcall when done moves. Bounded, because the backend could move
 * it for ever. Returns true if done moved past @index in the meantime.
 */
static bool vhca_kick_executed(struct vhca_ring *ring, u32 index)
{
	struct xenvhca_kick_page *page = ring->kick;
	u32 done = READ_ONCE(page->done);
	u32 before;
	int i;

	for (i = 0; i < XENVHCA_KICK_ENTRIES; i++) {
		if ((s32)(done - index) > 0)
			return true;
		WRITE_ONCE(page->done_event, done + 1);
		virt_mb();	/* done_event before done; backend: v. v. */
		before = done;
		done = READ_ONCE(page->done);
		if (done == before)
			return false;
	}
	return false;
}

/* Full ring: ask for the upcall that wakes us, then look again. */
static int vhca_kick_retry(struct vhca_dev *dev, u8 type, u8 flags, u32 handle,
			   u32 *last, bool *valid)
{
	int err = vhca_kick_queue(dev, type, flags, handle, last, valid);

	if (err != -EAGAIN)
		return err;
	vhca_kick_executed(&dev->ring, READ_ONCE(dev->ring.kick->done));
	return vhca_kick_queue(dev, type, flags, handle, last, valid);
}

int vhca_ring_kick(struct vhca_dev *dev, u8 type, u8 flags, u32 handle,
		   u32 *last, bool *valid, bool wait)
{
	struct vhca_ring *ring = &dev->ring;
	long left;
	int err;

	err = vhca_kick_queue(dev, type, flags, handle, last, valid);
	if (err == -EAGAIN) {
		left = wait_event_killable_timeout(ring->kick_wait,
			(err = vhca_kick_retry(dev, type, flags, handle, last,
					       valid)) != -EAGAIN,
			vhca_ring_timeout());
		if (left <= 0)
			return left ? -EINTR : -ETIMEDOUT;
	}
	if (err || !wait)
		return err;

	left = wait_event_killable_timeout(ring->kick_wait,
			vhca_kick_executed(ring, *last) || !vhca_ring_up(ring),
			vhca_ring_timeout());
	if (left <= 0)
		return left ? -EINTR : -ETIMEDOUT;
	return vhca_ring_up(ring) ? 0 : -EIO;
}

static irqreturn_t vhca_ring_kick_irq(int irq, void *arg)
{
	struct vhca_dev *dev = arg;
	struct vhca_ring *ring = &dev->ring;
	u32 done = READ_ONCE(ring->kick->done);
	bool work = done != ring->kick_done;

	atomic64_inc(&dev->stats.irqs);
	if (!vhca_ring_up(ring))
		return IRQ_HANDLED;
	ring->kick_done = done;
	if (work)
		wake_up_all(&ring->kick_wait);
	else
		atomic64_inc(&dev->stats.spurious);
	xen_irq_lateeoi(irq, work ? 0 : XEN_EOI_FLAG_SPURIOUS);
	return IRQ_HANDLED;
}

/* ---- set-up and end ---- */

void vhca_ring_break(struct vhca_dev *dev)
{
	struct vhca_ring *ring = &dev->ring;
	unsigned long flags;
	unsigned int id;

	spin_lock_irqsave(&ring->lock, flags);
	WRITE_ONCE(ring->state, VHCA_RING_BROKEN);
	for_each_set_bit(id, ring->ids, XENVHCA_MAX_ID) {
		ring->pending[id]->rsp.status = -EIO;
		vhca_ring_finish(ring, id);
	}
	spin_unlock_irqrestore(&ring->lock, flags);
	wake_up_all(&ring->slots);
	wake_up_all(&ring->kick_wait);
}

/* End the grants of a ring; pages that are still mapped become zombies. */
static void vhca_ring_unshare(void *mem, unsigned int nr, grant_ref_t *ref)
{
	unsigned int i;

	for (i = 0; mem && i < nr; i++) {
		void *page = mem + i * XEN_PAGE_SIZE;

		if (ref[i] == INVALID_GRANT_REF)
			free_page((unsigned long)page);
		else
			vhca_grant_end_page(ref[i], virt_to_page(page));
		ref[i] = INVALID_GRANT_REF;
	}
}

/* Whole zeroed pages, contiguous in our address space. NULL: out of memory. */
static void *vhca_ring_share(struct vhca_dev *dev, unsigned int nr,
			     grant_ref_t *ref)
{
	unsigned int i;
	void *mem;
	int gref;

	mem = alloc_pages_exact(nr * XEN_PAGE_SIZE, GFP_KERNEL | __GFP_ZERO);
	for (i = 0; i < nr; i++)
		ref[i] = INVALID_GRANT_REF;
	for (i = 0; mem && i < nr; i++) {
		struct page *page = virt_to_page(mem + i * XEN_PAGE_SIZE);

		gref = gnttab_grant_foreign_access(dev->backend,
						   xen_page_to_gfn(page), 0);
		if (gref < 0) {
			vhca_ring_unshare(mem, nr, ref);
			return NULL;
		}
		ref[i] = gref;
	}
	return mem;
}

static int vhca_ring_bind(struct vhca_dev *dev, evtchn_port_t *port, int *irq,
			  irq_handler_t fn, const char *name)
{
	int err = xenbus_alloc_evtchn(dev->xbdev, port);

	if (err)
		return err;
	err = bind_evtchn_to_irqhandler_lateeoi(*port, fn, 0, name, dev);
	if (err < 0) {
		xenbus_free_evtchn(dev->xbdev, *port);
		return err;
	}
	*irq = err;
	return 0;
}

static int vhca_ring_alloc(struct vhca_dev *dev)
{
	struct vhca_ring *ring = &dev->ring;
	unsigned int nr = 1u << ring->order;
	void *sring;

	sring = vhca_ring_share(dev, nr, ring->cmd_ref);
	if (!sring)
		return -ENOMEM;
	XEN_FRONT_RING_INIT(&ring->cmd, (struct xenvhca_sring *)sring,
			    nr * XEN_PAGE_SIZE);
	ring->evt = vhca_ring_share(dev, 1, &ring->evt_ref);
	ring->kick = vhca_ring_share(dev, 1, &ring->kick_ref);
	return ring->evt && ring->kick ? 0 : -ENOMEM;
}

int vhca_ring_init(struct vhca_dev *dev, unsigned int order)
{
	struct vhca_ring *ring = &dev->ring;
	int err;

	BUILD_BUG_ON(sizeof(struct xenvhca_evt_page) != XENVHCA_PAGE_SIZE);
	BUILD_BUG_ON(sizeof(struct xenvhca_kick_page) != XENVHCA_PAGE_SIZE);
	BUILD_BUG_ON(sizeof(struct xenvhca_request) != XENVHCA_SLOT_SIZE);
	BUILD_BUG_ON(sizeof(struct xenvhca_response) != XENVHCA_SLOT_SIZE);

	spin_lock_init(&ring->lock);
	spin_lock_init(&ring->kick_lock);
	init_waitqueue_head(&ring->slots);
	init_waitqueue_head(&ring->kick_wait);
	ring->order = order;
	ring->state = VHCA_RING_UP;

	err = vhca_ring_alloc(dev);
	if (!err)
		err = vhca_ring_bind(dev, &ring->cmd_port, &ring->cmd_irq,
				     vhca_ring_cmd_irq, "vhca-cmd");
	if (!err)
		err = vhca_ring_bind(dev, &ring->evt_port, &ring->evt_irq,
				     vhca_ring_evt_irq, "vhca-evt");
	if (!err)
		err = vhca_ring_bind(dev, &ring->kick_port, &ring->kick_irq,
				     vhca_ring_kick_irq, "vhca-kick");
	if (err)
		vhca_ring_free(dev);
	return err;
}

static void vhca_ring_unbind(struct vhca_dev *dev, int *irq)
{
	if (*irq > 0)
		unbind_from_irqhandler(*irq, dev);	/* closes the port */
	*irq = 0;
}

void vhca_ring_free(struct vhca_dev *dev)
{
	struct vhca_ring *ring = &dev->ring;

	/* Order: no upcall, no waiter, no grant, no page. */
	vhca_ring_unbind(dev, &ring->cmd_irq);
	vhca_ring_unbind(dev, &ring->evt_irq);
	vhca_ring_unbind(dev, &ring->kick_irq);
	if (ring->cmd.sring)
		vhca_ring_break(dev);
	vhca_ring_unshare(ring->cmd.sring, 1u << ring->order, ring->cmd_ref);
	vhca_ring_unshare(ring->evt, 1, &ring->evt_ref);
	vhca_ring_unshare(ring->kick, 1, &ring->kick_ref);
	ring->cmd.sring = NULL;
	ring->evt = NULL;
	ring->kick = NULL;
}
