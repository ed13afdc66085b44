/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The three rings that a device shares with its backend. ring.c makes and ends
 * them, ring_cmd.c, ring_event.c and ring_kick.c use one each; nothing else
 * touches shared memory.
 */
#ifndef VHCA_RING_H
#define VHCA_RING_H

#include <linux/completion.h>
#include <linux/interrupt.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <xen/grant_table.h>
#include <xen/interface/event_channel.h>
#include <xen/io/vhcaif.h>

struct vhca_dev;
struct vhca_udata_op;

#define VHCA_RING_PAGES		BIT(XENVHCA_MAX_RING_ORDER)

/* A command on its way. */
struct vhca_cmd {
	struct xenvhca_request req;
	const struct vhca_udata_op *row; /* of its udata; verbs/cmd.c */
	struct xenvhca_response rsp;	/* private copy, checked header */
	struct completion done;
	struct completion sent;		/* if it had to wait for a slot */
	struct list_head wait;		/* in waiters, until it has a slot */
	unsigned int flags;		/* VHCA_CMD_* */
	pid_t process;			/* of the caller; a name, no reference */
	bool abandoned;			/* no process waits: ring_cmd.c frees it */
	bool polled;			/* its process polls for the answer */
};

/*
 * Whether polling pays, for one operation: some take microseconds, some milliseconds.
 * All zero: nothing is known. Written without a lock: it is only a guess.
 */
struct vhca_spin {
	s16 misses;			/* that hits have not made good */
	u16 skipped;			/* commands since the last poll */
};

enum vhca_ring_state { VHCA_RING_UP, VHCA_RING_BROKEN };

/* Reports of the rings to their owner, in any context, also in upcalls. */
struct vhca_ring_ops {
	/* After vhca_break(), once: ring->reason says why. */
	void (*broken)(struct vhca_dev *dev);
	/* An event; some events were lost. False: ib_core was told nothing. Upcall. */
	bool (*event)(struct vhca_dev *dev, const struct xenvhca_event *ev);
	bool (*overflow)(struct vhca_dev *dev);
};

/* Command, event and kick rings of one connection; for the ring files alone. */
struct vhca_ring {
	const struct vhca_ring_ops *ops;
	struct xenvhca_front_ring cmd;
	struct xenvhca_evt_page *evt;
	struct xenvhca_kick_page *kick;
	grant_ref_t cmd_ref[VHCA_RING_PAGES];
	grant_ref_t evt_ref;
	grant_ref_t kick_ref;
	unsigned int order;
	evtchn_port_t cmd_port, evt_port, kick_port;
	int cmd_irq, evt_irq, kick_irq;

	spinlock_t lock;		/* cmd ring, pending ids, state */
	struct vhca_cmd *pending[XENVHCA_MAX_ID];
	DECLARE_BITMAP(ids, XENVHCA_MAX_ID);
	unsigned int next_id;
	struct xenvhca_response scratch; /* the one copy of a response */
	enum vhca_ring_state state;
	const char *reason;		/* of vhca_break(); a constant */
	bool closed;			/* the backend said so, in order; front.c */
	unsigned int asleep;		/* pending commands without a polling process */
	bool taken;			/* answers, by polling, since the last upcall */
	struct vhca_spin spin[XENVHCA_OP_MAX];
	struct list_head waiters;	/* struct vhca_cmd, for a slot or an id */
	unsigned long heard;		/* jiffies of the last answer */
	bool notify;			/* ring_unlock() tells the backend */
	atomic_t ended;			/* destroy commands answered, front.c */

	spinlock_t kick_lock;		/* producer side of the kick ring */
	u32 kick_prod;			/* private copy */
	u32 kick_done;			/* done at the last upcall */
	u32 kick_seen;			/* done as it was read last, checked */
	u16 kick_what[XENVHCA_KICK_ENTRIES]; /* type, flags: private copy */
	wait_queue_head_t kick_wait;	/* waiters for done or room */
	u32 evt_cons;			/* private copy */
};

static inline bool vhca_ring_up(const struct vhca_ring *ring)
{
	return READ_ONCE(ring->state) == VHCA_RING_UP;
}

/* Allocate and grant the three rings and their event channels. Sleeps. */
int vhca_ring_init(struct vhca_dev *dev, unsigned int order,
		   const struct vhca_ring_ops *ops);
/* Unbind, end grants (deferred as in grant.h), free. Idempotent. */
void vhca_ring_free(struct vhca_dev *dev);
/*
 * The backend misbehaved or died: fails all commands with -EIO, also later ones, and tells
 * the owner of the rings, which leaves @reason where an operator finds it and unregisters
 * the device. Any context, also one that may not sleep.
 */
void vhca_break(struct vhca_dev *dev, const char *reason);
/* The same for the owner: fails the commands only. */
void vhca_ring_fail(struct vhca_dev *dev);
/* A backend that has done nothing for so many jiffies is silent. */
unsigned long vhca_ring_timeout(void);
/* For kfree(), or NULL. */
struct vhca_cmd *vhca_cmd_alloc(u16 op, u32 ucontext);

/* May use the slots reserved for destroys; the wait for a slot is not killable. */
#define VHCA_CMD_RESERVED	BIT(0)
/* The wait for the answer is not killable; a time-out breaks the device. */
#define VHCA_CMD_CERTAIN	BIT(1)
#define VHCA_CMD_DESTROY	(VHCA_CMD_RESERVED | VHCA_CMD_CERTAIN)
/*
 * Does not wait for the answer: -EINPROGRESS and *cmdp = NULL once it is sent. Where
 * more than half of the slots are in use the flag has no effect.
 */
#define VHCA_CMD_NOWAIT		BIT(2)
/* A process's mmap_lock is held: slot and answer together take ten seconds at most. */
#define VHCA_CMD_SOON		BIT(3)
/* The callers bound the number of these commands: no share of a process counts. */
#define VHCA_CMD_APART		BIT(4)
/* Makes an object that is in no ucontext: only the answer tells how to undo it. */
#define VHCA_CMD_OWNERLESS	VHCA_CMD_CERTAIN
/*
 * Sends one command and waits for its answer, which is in (*cmdp)->rsp then, with a
 * checked header. If the wait was given up *cmdp is NULL: the command belongs to the ring,
 * its id is in quarantine until the late answer comes.
 *
 * A process has an eighth of the slots, and an eighth for destroy commands; its other
 * commands wait in the order of arrival, for a slot and then for the answer: until the
 * backend has answered no command for vhca_ring_timeout(), or not this one for five times
 * as long.
 *
 * Return: 0; the negative errno of the answer; -EIO if the device is broken; -EINTR (fatal
 * signal) or -ETIMEDOUT with *cmdp = NULL: whether the command was or will be executed is
 * unknown. -ETIMEDOUT has broken the device if the command was VHCA_CMD_CERTAIN and was
 * sent, or if it was VHCA_CMD_RESERVED.
 */
int vhca_ring_submit(struct vhca_dev *dev, struct vhca_cmd **cmdp,
		     unsigned int flags);
/* An entry of the kick ring. */
struct vhca_kick {
	u8 type;			/* XENVHCA_KICK_* */
	u8 flags;
	bool valid;			/* index was set */
	u32 handle;
	u32 index;			/* of the last entry, ring_kick.c */
};

/*
 * Puts an entry into the kick ring, unless the entry at the index of @kick is equal and the
 * backend has not copied it yet. Return: 0, -EIO: broken, -EINTR, -ETIMEDOUT: the ring
 * stayed full.
 */
int vhca_ring_kick(struct vhca_dev *dev, struct vhca_kick *kick);
/* Waits also until the backend has executed it: killable, bounded. */
int vhca_ring_kick_wait(struct vhca_dev *dev, struct vhca_kick *kick);

/* ---- among the files of the rings ---- */
/* May the process of a command poll for its answer? */
bool vhca_spin_try(struct vhca_spin *s);
/* One turn. False: @begin (ktime) is too long ago, or another task wants the processor. */
bool vhca_spin_continue(u64 begin);
/* Did the poll find the answer in time? */
void vhca_spin_record(struct vhca_spin *s, bool found);

/* Upcalls, of struct vhca_dev. */
irqreturn_t vhca_ring_cmd_irq(int irq, void *arg);
irqreturn_t vhca_ring_evt_irq(int irq, void *arg);
irqreturn_t vhca_ring_kick_irq(int irq, void *arg);

#endif
