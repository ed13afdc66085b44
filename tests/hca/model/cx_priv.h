/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The model's own structures; those of memory and of the wire are in
 * headers of their own, that this one includes. Who owns what:
 *   cx_dev.c	power-on, stores to registers, identifiers
 *   cx_mlx5.c	registers and doorbells of a ConnectX-4 (cx_family.h), its send
 *   		queues (cx_mlx5_wqe.c) and completion entries (cx_mlx5_cqe.c)
 *   cx_cmd.c	its command queue, mailboxes, the table of commands
 *   cx_cmd_*.c	commands: parse, check, create, modify, destroy (cx_cmd.h)
 *   cx_hx*.c, cx_m4*.c, cx_mt*.c	all that of a ConnectX-3 and an InfiniHost (cx_hx.h)
 *   cx_mem.c	DMA, queue buffers, MKEY translation and checks (cx_mem.h)
 *   cx_eq.c, cx_cq.c, cx_srq.c	event, completion, shared receive queues
 *   cx_tm.c	tag matching: lists of tagged buffers, messages for them; cx_rndv.c:
 *   		rendezvous
 *   cx_qp.c	QP states, run queue, deadlines (cx_eng.h)
 *   cx_wqe.c	send WQEs: their data
 *   cx_flush.c	receive queues, completions of QPs, flushing
 *   cx_req.c	requester: send WQEs to frames; cx_req_rx.c: answers, retries
 *   cx_resp.c	responder: frames to memory; cx_resp_run.c: its answers
 *   cx_ud.c	datagrams, also of the management QPs
 *   cx_eth_tx.c, cx_eth_rx.c	frames of Ethernet; cx_steer.c: flow tables (cx_eth.h)
 *   cx_roce.c	RoCE: the address table, addresses of frames
 *   cx_umr.c	UMR and invalidation: memory windows, registration by a kernel's QPs
 *   cx_hub.c	devices of a wire, whose turn it is, deadlines
 *   cx_wire.c	frames: addressing, queues, multicast (cx_wire.h)
 *   cx_loss.c	a wire that loses frames; cx_link.c: the cable to another process
 *   cx_port.c	the port: link, state, LIDs, GIDs, events
 *   cx_mad.c	subnet management agent; cx_pma.c: performance
 * Everything that the driver or a process of the guest writes is untrusted:
 * registers, commands, WQEs, doorbell records. So are frames of a cable.
 */
#ifndef CX_PRIV_H
#define CX_PRIV_H

#include "cx.h"
#include "cx_eth.h"
#include "cx_family.h"
#include "cx_hx_prm.h"
#include "cx_mem.h"
#include "cx_prm.h"
#include "cx_wire.h"

struct cx_qp;

#define CX_PAGE		4096u
#define CX_MAX_MSG	(1u << 30)
#define CX_MAX_WQE	1024u	/* bytes of a send WQE: 16 basic blocks */
#define CX_BB		64u	/* a basic block of a send queue */
#define CX_NONE		(~0u)

/* Sizes that the capabilities announce (log2). */
#define CX_LOG_QP	16	/* objects of a device ... */
#define CX_LOG_CQ	16
#define CX_LOG_SRQ	14
#define CX_LOG_MKEY	18
#define CX_LOG_PD	14
#define CX_LOG_QP_SZ	15	/* ... and entries of a queue */
#define CX_LOG_CQ_SZ	22
#define CX_LOG_EQ_SZ	20
#define CX_LOG_MCG	10	/* multicast groups, and ... */
#define CX_MCG_QPS	240u	/* ... QPs in each */

/* ---- identifiers ---- */
/*
 * Numbers base .. base + max - 1; each names an object. Grows on demand.
 * cx_ids_add() gives none below low.
 *
 * Where the driver chooses numbers, those bits of them that are not in mask say
 * which slot it is: one object at a time, which answers to its whole number.
 */
struct cx_ids {
	struct cx_id {
		void *obj;
		uint32_t n;
	} *slot;
	uint32_t base, max, size, next, used, low;
	uint32_t mask;
};

void cx_ids_init(struct cx_ids *ids, uint32_t base, uint32_t max);
/* 1 << log slots for numbers of any size. */
void cx_ids_init_masked(struct cx_ids *ids, uint32_t log);
/* All objects must have been deleted or may be forgotten. */
void cx_ids_free(struct cx_ids *ids);
/* A number not given lately, for obj (not NULL); CX_NONE if all are used. */
uint32_t cx_ids_add(struct cx_ids *ids, void *obj);
/* That number: false if it is in use, or without memory. */
bool cx_ids_put(struct cx_ids *ids, uint32_t n, void *obj);
/* The object, or NULL; any n is fine. */
void *cx_ids_get(const struct cx_ids *ids, uint32_t n);
/* The same, by slot. */
void *cx_ids_at(const struct cx_ids *ids, uint32_t slot);
void cx_ids_del(struct cx_ids *ids, uint32_t n);
/* Iterates over the slots: the number of the first that is in use, or CX_NONE. */
uint32_t cx_ids_first(const struct cx_ids *ids);
/* ... and of the next behind that number's. */
uint32_t cx_ids_next(const struct cx_ids *ids, uint32_t n);
/* For each object and its number; the current one may be deleted. */
#define CX_EACH(ids, n, obj) \
	for ((n) = cx_ids_first(ids); \
	     (n) != CX_NONE && ((obj) = cx_ids_get(ids, n)); \
	     (n) = cx_ids_next(ids, n))

/* ---- event and completion queues ---- */
struct cx_eq {
	uint32_t eqn;
	struct cx_buf buf;
	uint8_t log_size;
	uint32_t pi, ci;
	bool armed, full;
	uint32_t uar;
	uint8_t vector;
	uint64_t mask;		/* events of EQC that are not completions */
	uint32_t users;		/* CQs */
};

struct cx_cq {
	uint32_t cqn;
	struct cx_buf buf;
	uint8_t log_size, log_cqe;	/* cqe: 6 or 7 */
	uint32_t pi;
	uint32_t ci;		/* as last read from the doorbell record */
	uint32_t sol_pi;	/* behind the last solicited entry */
	uint64_t dbr;
	uint32_t uar, eqn;
	uint16_t period, max_count;	/* moderation: accepted, not modelled */
	uint8_t arm;		/* 0 not, 1 solicited, 2 any */
	uint32_t arm_ci;
	uint8_t arm_sn;		/* of the doorbell that armed it */
	uint8_t next_sn;	/* that the first doorbell after an event has */
	bool oi;		/* overrun is ignored */
	bool failed;
	uint32_t users;		/* QPs, SRQs */
};

/* An event for one EQ; data: up to 28 bytes of the EQE, or NULL. */
void cx_eq_post(struct cx_dev *d, struct cx_eq *eq, enum cx_event type,
		uint8_t subtype, const void *data, size_t len);
/* An event for every EQ that asked for its type. */
void cx_event(struct cx_dev *d, enum cx_event type, uint8_t subtype,
	      const void *data, size_t len);
/* The EQ that asked for completions of commands, or NULL. */
struct cx_eq *cx_command_eq(const struct cx_dev *d);
/* Events with the number of a QP or SRQ (0xRREEE as the driver expects). */
void cx_event_qp(struct cx_dev *d, enum cx_event type, uint32_t qpn);
void cx_event_srq(struct cx_dev *d, enum cx_event type, uint32_t srqn);
/* A doorbell: the driver has read all before ci; and wants an interrupt. */
void cx_eq_doorbell(struct cx_dev *d, struct cx_eq *eq, uint32_t ci, bool arm);
/* Whether a doorbell in the page rings a queue of that UAR page. */
bool cx_uar_rings(const struct cx_dev *d, uint32_t page, uint32_t uar);
/* A doorbell for nothing that is there. */
void cx_refuse(struct cx_dev *d, const char *what, uint32_t n, uint32_t uar);

/* Without room, CQs that wait are asked again when there is some. */
bool cx_eq_room(const struct cx_dev *d, struct cx_eq *eq);
/* Posts the completion event if the CQ is armed for what it holds. */
void cx_cq_notify(struct cx_dev *d, struct cx_cq *cq);
/*
 * Writes an entry of the family's (without owner), and the event if it is
 * armed for it (errors count as solicited). On overrun the CQ fails.
 */
void cx_cq_post(struct cx_dev *d, struct cx_cq *cq, void *cqe, bool solicited);
/* What a doorbell asks for: an event for what comes behind ci. */
struct cx_arm {
	uint32_t cqn, ci;
	uint8_t sn;		/* of the request, modulo 4 */
	bool solicited;		/* nothing but solicited ones */
};
void cx_cq_doorbell(struct cx_dev *d, uint32_t uar, const struct cx_arm *arm);
/*
 * No more entries; with its event. Its QPs are scheduled: cx_qp_run() calls
 * cx_qp_fail() for a QP of which a CQ has failed (not from here: the caller
 * may be in the middle of that QP).
 */
void cx_cq_fail(struct cx_dev *d, struct cx_cq *cq, uint8_t syndrome);
bool cx_cq_failed(const struct cx_dev *d, const struct cx_qp *qp);
/*
 * Goes on in another buffer, behind a RESIZE entry in the old one. Takes over
 * *to if 0 is returned; -EINVAL: too small, or failed; -ENOSPC: the old one
 * is full; -EFAULT.
 */
int cx_cq_resize(struct cx_dev *d, struct cx_cq *cq, struct cx_buf *to,
		 uint8_t log_size, uint8_t log_cqe);

/* ---- shared receive queues ---- */
enum cx_srq_kind { CX_SRQ_PLAIN, CX_SRQ_XRC, CX_SRQ_RMP, CX_SRQ_TM };

struct cx_tm;			/* cx_tm.c */

struct cx_srq {
	uint32_t srqn;
	enum cx_srq_kind kind;
	struct cx_buf buf;
	uint8_t log_size, log_stride;	/* entries, bytes */
	uint64_t dbr;
	uint32_t pd, xrcd, cqn, user_index;
	bool user_index_valid;
	uint32_t lwm;		/* limit; 0: no event */
	uint16_t head;		/* entry that is taken next: a linked list */
	uint32_t taken;		/* entries so far; modulo 2^16 it counts */
	bool failed;
	uint32_t users;		/* QPs */
	struct cx_tm *tm;	/* of CX_SRQ_TM */
};

/* Shapes that complete to a CQ of their own, whatever the QP's is. */
static inline bool cx_srq_has_cq(const struct cx_srq *srq)
{
	return srq->kind == CX_SRQ_XRC || srq->kind == CX_SRQ_TM;
}

/* Whether that CQ takes nothing any more: the queue is of no use then. */
bool cx_srq_deaf(const struct cx_dev *d, const struct cx_srq *srq);

/* ---- tag matching ---- */
#define CX_LOG_TAGS	7	/* entries of a matching list, as announced */

/* The list of a queue, empty; NULL without memory. */
struct cx_tm *cx_tm_new(uint8_t log_size);
void cx_tm_free(struct cx_tm *tm);
/* Fills what QUERY_XRQ tells of it (tag_matching_topology_context). */
void cx_tm_query(const struct cx_tm *tm, void *context);

/* ---- queue pairs ---- */
enum cx_qp_state {
	CX_RST = 0, CX_INIT = 1, CX_RTR = 2, CX_RTS = 3, CX_SQER = 4,
	CX_SQD = 5, CX_QPERR = 6,
};

enum cx_st {			/* MLX5_QP_ST_*, linux/mlx5/qp.h */
	CX_ST_RC = 0, CX_ST_UC = 1, CX_ST_UD = 2, CX_ST_XRC = 3,
	CX_ST_QP0 = 7, CX_ST_QP1 = 8, CX_ST_UMR = 12,
	CX_ST_SQ = 0x100, CX_ST_RQ,	/* no QPs, but queues of a network driver */
};

/* Where a QP sends to: of MODIFY_QP, or of a UD WQE. */
struct cx_av {
	uint16_t dlid, slid_bits;	/* source path bits */
	uint8_t sl, tclass, hop;
	bool grh;
	uint8_t sgid_index;
	uint32_t flow;
	uint8_t dgid[16];
	/* RoCE */
	uint8_t dmac[6], eth_prio;
	uint16_t sport;
};

/* One receive WQE, taken. */
struct cx_rwqe {
	uint16_t index;		/* wqe_counter of the completion */
	uint8_t nr;
	uint32_t bytes;		/* room in all */
	struct { uint64_t addr; uint32_t key, len; } sge[32];
};

/* What a sent and not yet acknowledged send WQE needs. */
struct cx_flight {
	uint16_t wqe;		/* its first basic block */
	uint16_t bbs;
	uint8_t opcode;		/* enum cx_op */
	uint8_t synd;		/* it fails so when it is the oldest, or 0 */
	bool signaled, done;
	uint32_t psn, npsn;
	uint32_t bytes;
	uint32_t got;		/* of a READ */
};

struct cx_req;			/* cx_req.c */
struct cx_resp;			/* cx_resp.c */

struct cx_qp {
	/* Set by commands (cx_cmd_qp.c). */
	uint32_t qpn;
	enum cx_st st;
	enum cx_qp_state state;
	uint32_t pd, xrcd, cqn_snd, cqn_rcv, srqn;	/* CX_NONE: no SRQ */
	uint32_t uar, user_index;
	uint64_t dbr;
	struct cx_buf buf;	/* both queues */
	bool has_sq, has_rq;
	bool rndv;		/* the send queue is the device's, for rendezvous */
	uint8_t log_rq, log_rq_stride;	/* entries; bytes */
	uint8_t rq_skip;		/* segments of a WQE that are no data */
	uint8_t log_sq;			/* basic blocks, or WQEs of ... */
	uint8_t log_sq_stride;		/* ... so many octets (hx) */
	uint64_t sq_off, rq_off;	/* bytes in buf */
	uint64_t sq_dbr;		/* its send queue's record, where that is another */
	uint8_t mtu;			/* log2 bytes, 8 .. 12 */
	bool rre, rwe, rae;
	uint8_t log_sra_max, log_rra_max;
	uint8_t ack_timeout, retry_count, rnr_retry, min_rnr_nak;
	uint16_t pkey_index;
	uint32_t qkey, remote_qpn;
	uint32_t next_send_psn, next_rcv_psn;	/* as set; engines go on */
	struct cx_av av;
	bool block_lb_mc;	/* wants no multicast of its own */
	uint8_t counter_set;
	union {				/* as QUERY_QP returns, refreshed */
		uint8_t qpc[CX_BYTES(qpc)];
		uint8_t hx_qpc[HX_QPC_BYTES];
	};
	uint32_t mcgs;			/* groups it is attached to */
	uint32_t tis;			/* of an SQ, or CX_NONE */
	uint32_t users;			/* of an RQ: RQTs, TIRs */
	bool keep_vlan;			/* of an RQ: tags stay in frames */
	/* The engines' (cx_qp.c and on). */
	uint16_t sq_pi;		/* as far as it is posted: basic blocks */
	uint16_t sq_head;	/* next to send */
	uint16_t sq_tail;	/* oldest not completed */
	uint16_t rq_head;	/* next to take */
	bool scheduled;		/* in the device's run queue */
	struct cx_qp *run_next;
	struct cx_req *req;
	struct cx_resp *resp;
};

/*
 * Takes the next receive WQE of a queue or shared queue, whatever the driver
 * wrote there. 0; -ENOENT: none posted; -EFAULT, -EINVAL: unreadable.
 * cx_srq_take() raises the limit event.
 */
int cx_rq_take(struct cx_dev *d, struct cx_qp *qp, struct cx_rwqe *w);
/* Its scatter list: up to nr data segments. */
void cx_rwqe_parse(struct cx_rwqe *w, const void *segs, unsigned int nr);
int cx_srq_take(struct cx_dev *d, struct cx_srq *srq, struct cx_rwqe *w);
/* The next of a WQE as mlx4 and mlx5 have it. */
uint16_t cx_srq_next_index(const struct cx_srq *srq, const void *head);
/* Sets the limit (0: none); the event comes at once if it is reached. */
void cx_srq_arm(struct cx_dev *d, struct cx_srq *srq, uint32_t lwm);
/*
 * A UMR WQE of this QP (all of it, from the control segment) and SEND_INV of a
 * key: 0, or as cx_mkey_check() refuses; -EINVAL: malformed, or the key is not
 * in the state that the WQE expects; -EFAULT: the list is not where the data
 * segment says; -ENOMEM.
 */
int cx_umr(struct cx_dev *d, struct cx_qp *qp, const void *wqe, size_t len);
int cx_invalidate(struct cx_dev *d, struct cx_qp *qp, uint32_t key);

/* The engines' part of a new QP; -ENOMEM. */
int cx_qp_start(struct cx_dev *d, struct cx_qp *qp);
/* Before it is freed: nothing refers to it any more. */
void cx_qp_stop(struct cx_dev *d, struct cx_qp *qp);
/*
 * After a command has set fields and state: RST forgets everything queued,
 * RTR and RTS start the engines, ERR flushes both queues with completions.
 */
void cx_qp_changed(struct cx_dev *d, struct cx_qp *qp, enum cx_qp_state old);
/* The engines found an error: state ERR (SQER for UD), flush, event or 0. */
void cx_qp_fail(struct cx_dev *d, struct cx_qp *qp, enum cx_event event);
/* A doorbell: something may have been posted. */
void cx_sq_doorbell(struct cx_dev *d, uint32_t uar, uint32_t qpn);
/* More to do for this QP, by cx_hub_run(). */
void cx_qp_schedule(struct cx_dev *d, struct cx_qp *qp);
/* Sends and receives of all QPs for up to budget bytes; true: more is left. */
bool cx_qp_run(struct cx_dev *d, size_t *budget);
/* Deadlines of QPs (retries, RNR); returns the next, 0 for none. */
uint64_t cx_qp_timers(struct cx_dev *d, uint64_t now);

/* ---- the port ---- */
#define CX_PKEYS 128u
#define CX_GIDS 16u		/* entry 0 is prefix and GUID */

enum cx_portinfo_state {
	CX_PORT_S_DOWN = 1, CX_PORT_S_INIT, CX_PORT_S_ARMED, CX_PORT_S_ACTIVE,
};

enum cx_portinfo_phys {
	CX_PHYS_SLEEP = 1, CX_PHYS_POLLING, CX_PHYS_DISABLED,
	CX_PHYS_LINK_UP = 5,
};

struct cx_port {
	uint16_t lid, sm_lid;
	uint8_t lmc, sm_sl, subnet_timeout;
	uint8_t state, phys_state;	/* IB PortInfo: 1..4; 5 is LinkUp */
	uint32_t cap_mask;
	uint64_t prefix, mkey, guid;
	uint16_t mkey_lease;
	uint8_t mkey_prot;
	uint16_t pkey[CX_PKEYS];
	uint64_t guids[CX_GIDS];	/* entry 0 read only */
	char description[64];
	bool plugged, peer;		/* the cable; a process behind it */
	bool neighbour;			/* another device on the hub */
	bool disabled;			/* by the subnet manager */
	/* PMA counters: octets and packets; of unicasts, multicasts */
	uint64_t xmit_data, rcv_data, xmit_pkts, rcv_pkts;
	uint64_t mc_xmit_data, mc_rcv_data, mc_xmit_pkts, mc_rcv_pkts;
	uint32_t link_downed, xmit_discards, vl15_dropped;
	uint16_t mkey_viol, pkey_viol, qkey_viol;	/* saturate */
	uint64_t mkey_expires;		/* lease; nanoseconds, 0: none runs */
	uint8_t sl2vl[16];
	uint8_t vlarb[2][16];		/* low, high: VL, weight */
	uint8_t width_en, speed_en, ext_speed_en, down_default, mtu;
	uint8_t width, speed, ext_speed;	/* as trained */
	uint8_t vl_limit, op_vls, err_thresholds;
	uint64_t trap_tid;
};

/* Power-on state; keeps what is plugged in. */
void cx_port_init(struct cx_dev *d);
/*
 * The link's state may have changed: PortInfo and the events, also of the
 * neighbours. To be called when hca_up has changed: a port that waits for a
 * subnet manager trains only while both ends' drivers are up.
 */
void cx_port_link(struct cx_dev *d);
/* An event with the port's number: enum cx_port_event. */
void cx_port_event(struct cx_dev *d, enum cx_port_event event);
/* The driver's (PCAP, NODE_DESC registers); the subnet manager is told. */
void cx_port_set_caps(struct cx_dev *d, uint32_t cap_mask);
void cx_port_describe(struct cx_dev *d, const char description[64]);
/* A frame was sent or came by a wire, for the PMA counters. */
void cx_port_count(struct cx_dev *d, const struct cx_frame *f, bool sent);
/* Set(PortInfo) of the subnet manager: false if a field is invalid. */
bool cx_port_set_info(struct cx_dev *d, const uint8_t info[64]);
void cx_port_get_info(struct cx_dev *d, uint8_t info[64]);
/* Whether an SM may find a link partner behind this port. */
bool cx_port_ready(const struct cx_dev *d);
/*
 * MAD_IFC: answers a MAD (256 bytes) as the port's agents do.
 * @wc_slid: of the sender; @reply zeroed by the callee
 * Return: false if the MAD is to be dropped, as for a wrong M_Key: the command
 * fails with CX_BAD_PKT.
 */
bool cx_mad(struct cx_dev *d, bool ignore_mkey, bool ignore_bkey,
	    uint16_t wc_slid, const uint8_t in[256], uint8_t reply[256]);
/* Performance management: the part of cx_mad() in cx_pma.c. */
uint16_t cx_pma(struct cx_dev *d, uint8_t mad[256]);
void cx_gid(const struct cx_dev *d, unsigned int index, uint8_t gid[16]);

/* ---- the device ---- */
struct cx_page {		/* memory the driver gave (MANAGE_PAGES) */
	uint64_t addr;
};

struct cx_cmdq;			/* cx_cmd.c */

/* What QUERY_Q_COUNTER tells; the engines count. */
struct cx_counter {
	uint32_t rx_write_requests, rx_read_requests, rx_atomic_requests;
	uint32_t out_of_buffer;		/* no receive WQE: RNR, or dropped */
	uint32_t out_of_sequence, packet_seq_err, duplicate_request;
	uint32_t implied_nak_seq_err;
	uint32_t rnr_nak_retry_err, local_ack_timeout_err;
	uint32_t resp_local_length_error, resp_cqe_error, req_cqe_error;
	uint32_t req_remote_invalid_request, req_remote_access_errors;
	uint32_t resp_remote_access_errors;
	uint32_t resp_cqe_flush_error, req_cqe_flush_error;
};

struct cx_dev {
	const struct cx_family *family;
	struct cx_hub *hub;
	struct cx_dev *hub_next;
	struct cx_config config;
	const struct cx_host *host;
	void *opaque;
	struct cx_stats stats;
	bool hca_enabled, hca_up, teardown;
	uint32_t nic_interface;		/* of the initialization segment */
	uint64_t cmdq_addr;
	uint32_t health_counter;
	uint64_t born;			/* for the free-running timer */
	uint64_t deadline;		/* set at the host */
	struct cx_cmdq *cmdq;		/* of the family mlx5 */
	struct cx_hx *hx;		/* of the family hx */
	struct cx_page *pages;
	uint32_t nr_pages, room_pages;
	struct cx_ids pds, xrcds, tds, uctxs, uars, eqs, cqs, srqs, qps, mkeys,
		      counters, tises, tirs, rqts, fts;
	struct cx_port port;
	struct cx_nic nic;		/* of an Ethernet port */
	struct cx_qp *run_first, *run_last;
	struct cx_qp *timed;		/* QPs with deadlines */
	struct cx_frame *rx_first, *rx_last;
	uint32_t rx_len;
	struct cx_mcg *mcgs;
	struct cx_link *link;
	struct cx_loss loss;
	struct cx_qp *qp0, *qp1;	/* also QPNs 0 and 1 of qps */
	struct cx_counter no_counter;	/* of QPs without a counter set */
	uint64_t entries;		/* of page lists and translations */
	/* What SET_ISSI and SET_HCA_CAP chose. */
	uint8_t issi, log_max_qp;
	bool uar_4k, atomic_host;
	uint64_t latched;		/* a doorbell's first half: offset, */
	uint32_t latch;			/* and word; latched 0: none */
};

/* The counters of a QP's set, never NULL. */
struct cx_counter *cx_counter(struct cx_dev *d, const struct cx_qp *qp);

/* Commands: what a handler in cx_cmd_*.c gets and gives. */
struct cx_cmd {
	uint16_t opcode, op_mod;
	uint32_t in_len, out_len;	/* bytes; in[] and out[] hold as many */
	uint8_t *in;
	uint8_t *out;			/* zeroed; status is filled in */
	uint32_t syndrome;
};

typedef enum cx_status (*cx_cmd_fn)(struct cx_dev *d, struct cx_cmd *c);

struct cx_cmd_desc {
	uint16_t opcode;
	const char *name;		/* "CREATE_QP" */
	cx_cmd_fn fn;
	uint32_t in_min, out_min;	/* bytes, checked before fn */
};

/* Each ends with an entry without a name. */
extern const struct cx_cmd_desc cx_cmds_hca[], cx_cmds_obj[], cx_cmds_qp[];
/* Of an Ethernet port. */
extern const struct cx_cmd_desc cx_cmds_nic[], cx_cmds_eth[], cx_cmds_flow[];
/* Handles what lies in the queue: bits of the doorbell vector. */
void cx_cmdq_doorbell(struct cx_dev *d, uint32_t vector);
int cx_cmdq_init(struct cx_dev *d);
void cx_cmdq_free(struct cx_dev *d);
/* Between a register, big endian, and the value a little endian CPU sees. */
static inline uint32_t cx_swap(uint32_t v)
{
	return __builtin_bswap32(v);
}
/* Frees every object, as TEARDOWN_HCA, FLR and cx_free() do. */
void cx_objects_free(struct cx_dev *d);
/* A line for host->log, with the device's GUID before it. */
void cx_log(struct cx_dev *d, enum cx_log_level level, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif
