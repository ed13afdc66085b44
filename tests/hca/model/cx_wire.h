/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * What travels between devices: frames, the hub and the cable that carry them,
 * multicast groups. cx_priv.h includes this.
 */
#ifndef CX_WIRE_H
#define CX_WIRE_H

#include "cx.h"

struct cx_frame;
struct cx_qp;

/* The wire to a device that is not perfect. */
struct cx_loss {
	uint64_t random;
	struct cx_frame *late;	/* those delayed, in no order */
	uint32_t nr;
};

#define CX_FRAME_DATA	65536u	/* bytes of a message that travel as one */

enum cx_frame_kind {
	CX_F_SEND, CX_F_WRITE, CX_F_READ, CX_F_READ_DATA, CX_F_CMP_SWAP,
	CX_F_FETCH_ADD, CX_F_ATOMIC_DATA, CX_F_ACK, CX_F_NAK, CX_F_DATAGRAM,
	CX_F_ETHER,		/* data: all octets but the FCS */
	CX_F_KINDS,
};

enum cx_nak { CX_NAK_PSN, CX_NAK_INVALID, CX_NAK_ACCESS, CX_NAK_OPERATION,
	      CX_NAK_RNR };

/*
 * A piece of a message: up to CX_FRAME_DATA bytes travel as one frame and
 * count as many PSNs as packets of the path's MTU would.
 */
struct cx_frame {
	struct cx_frame *next;
	uint64_t due;		/* of one that the wire delays */
	uint8_t kind;		/* enum cx_frame_kind */
	uint8_t st;		/* transport: RC, UC, UD, XRC */
	bool first, last, imm, inv, solicited, grh, ack_req;
	uint8_t sl, tclass, hop;
	uint8_t nak, timer;	/* of a NAK; RNR timer code */
	uint16_t slid, dlid, pkey;
	uint32_t sqpn, dqpn, xrc_srqn, qkey, flow;
	uint32_t psn, npsn;
	uint32_t imm_data;	/* or the key to invalidate */
	uint32_t rkey, dma_len;
	uint64_t va, swap_add, compare;
	uint8_t sgid[16], dgid[16];
	/* Of an Ethernet port's frames; of CX_F_ETHER, net alone. */
	uint8_t net;		/* enum cx_net */
	bool loops;		/* to its sender, too */
	uint8_t smac[6], dmac[6];
	uint32_t vlan;		/* tag with CX_VLAN_VALID, or 0 */
	uint16_t sport;		/* of UDP */
	uint32_t len;
	uint32_t room;		/* bytes of data[], at least; cx_frame_new()'s */
	uint8_t data[];		/* room for CX_FRAME_DATA, or as allocated */
};

/*
 * room: bytes of data, at most CX_FRAME_DATA; data[] is not zeroed, the rest
 * is. NULL without memory.
 */
struct cx_frame *cx_frame_new(uint32_t room);
void cx_frame_free(struct cx_frame *f);
/* NULL without memory. */
struct cx_frame *cx_frame_copy(const struct cx_frame *f);
/*
 * Sends and takes ownership; slid is filled in (path bits within the LMC are
 * kept). By LID to one, also to itself; a multicast LID with a GRH to every
 * device with a QP attached to dgid, itself too (the receiver looks at
 * block_lb_mc); LID 0xffff to the other end of the link. A port that is not
 * ACTIVE sends only what goes to QP 0. Frames of an Ethernet port go by their
 * destination's MAC address to devices with such ports; CX_F_ETHER to all
 * others, and to the sender if it loops.
 * What cannot be delivered is dropped: 0, as for a wire. Acknowledgements,
 * NAKs and atomic responses always pass.
 * -EAGAIN: the receiver or the cable is full, f is still the caller's, whose
 * QP stays scheduled: cx_qp_run() comes again when there is room.
 */
int cx_wire_send(struct cx_dev *d, struct cx_frame *f);
/* A frame for this device. The caller frees it. */
void cx_rx(struct cx_dev *d, struct cx_frame *f);
/* Its parts in cx_req.c and cx_resp.c. */
void cx_req_rx(struct cx_dev *d, struct cx_qp *qp, struct cx_frame *f);
void cx_resp_rx(struct cx_dev *d, struct cx_qp *qp, struct cx_frame *f);
/* A frame at its device: to its queue, unless the port is down. Takes f. */
void cx_wire_arrive(struct cx_dev *to, struct cx_frame *f);
/*
 * Whether the wire to the device loses a frame, or delivers it later on
 * (cx_wire_loss()): it is taken then.
 */
bool cx_loss_take(struct cx_dev *d, struct cx_frame *f);
/* Delivers what was delayed until now; returns the next deadline, 0 for none. */
uint64_t cx_loss_timer(struct cx_dev *d, uint64_t now);
/* Drops what is delayed. */
void cx_loss_flush(struct cx_dev *d);
/* Frames waiting for this device. */
bool cx_wire_pending(const struct cx_dev *d);
/* The next of them, or NULL; and all of them dropped. */
struct cx_frame *cx_wire_pop(struct cx_dev *d);
void cx_wire_flush(struct cx_dev *d);
/* For more than one receiver. */
bool cx_frame_is_multicast(const struct cx_frame *f);
/* The device sent it itself. */
bool cx_frame_is_own(const struct cx_dev *d, const struct cx_frame *f);
/* A frame that is answered by nothing: it is never refused. */
bool cx_frame_is_ack(const struct cx_frame *f);
/*
 * cx_new() puts a device on the wire when all else is initialised (this does
 * cx_port_init() too), cx_free() takes it off first, cx_reset() forgets
 * frames, groups and the port's state when the objects are gone.
 */
void cx_hub_join(struct cx_hub *hub, struct cx_dev *d);
void cx_hub_leave(struct cx_dev *d);
void cx_wire_reset(struct cx_dev *d);
/* Data is being moved: registers must not be written now (DMA to a BAR). */
bool cx_hub_running(const struct cx_hub *hub);
/* All devices of a wire: the first; then hub_next. */
struct cx_dev *cx_hub_first(const struct cx_hub *hub);
/* The cable: cx_link.c serialises; 0, -EAGAIN, or -ENOTCONN. */
int cx_link_send(struct cx_dev *d, const struct cx_frame *f);
/* A frame could not be sent, the cable has no room yet: no cx_qp_run(). */
bool cx_link_blocked(const struct cx_dev *d);
/* Whether a peer that said hello could raise the link. */
bool cx_link_peer_up(const struct cx_dev *d);
/* Tells the peer of a change of the port. */
void cx_link_hello(struct cx_dev *d);
/* Deadlines of the cable; returns the next, 0 for none. */
uint64_t cx_link_timer(struct cx_dev *d, uint64_t now);
void cx_link_free(struct cx_dev *d);
/* A frame that came by the cable, checked: to d's queue. */
void cx_wire_deliver(struct cx_dev *d, struct cx_frame *f);
/*
 * Work is left: cx_hub_run() will be called. Not needed below
 * cx_mmio_write(), cx_timer() and cx_rx(): cx_hub_run() follows those.
 */
void cx_kick(struct cx_dev *d);
/* A deadline of d came nearer. */
void cx_timer_set(struct cx_dev *d, uint64_t deadline);

/* Multicast: QPs of d attached to a group. 0, -EINVAL, -ENOMEM, -ENOENT. */
int cx_mcg_attach(struct cx_dev *d, struct cx_qp *qp, const uint8_t gid[16]);
int cx_mcg_detach(struct cx_dev *d, struct cx_qp *qp, const uint8_t gid[16]);
/* Takes qp out of every group. */
void cx_mcg_forget(struct cx_dev *d, struct cx_qp *qp);
/* Forgets the groups, for when the QPs are gone. */
void cx_mcg_clear(struct cx_dev *d);
/* Calls fn for each QP attached to that group. */
void cx_mcg_each(struct cx_dev *d, const uint8_t gid[16],
		 void (*fn)(struct cx_dev *d, struct cx_qp *qp,
			    struct cx_frame *f), struct cx_frame *f);

#endif
