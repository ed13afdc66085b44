/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * What an Ethernet port has (struct cx_config.eth): the vport's context, the
 * RoCE address table, the objects that a network driver makes (TIS, TIR, RQT,
 * flow tables; SQ and RQ are queue pairs with one half), and the frames that
 * they send and receive. cx_priv.h includes this.
 */
#ifndef CX_ETH_H
#define CX_ETH_H

#include "cx.h"

struct cx_av;
struct cx_frame;
struct cx_qp;

#define CX_LOG_NIC	10	/* TIRs, TISs, RQTs of a device */
#define CX_LOG_RQT	8	/* entries of an RQT */
#define CX_LOG_MACS	7	/* addresses of a vport's list */
#define CX_LOG_VLANS	12
#define CX_LOG_FT	10	/* flow tables, and ... */
#define CX_LOG_FT_SZ	16	/* ... entries of one, by number ... */
#define CX_MAX_FTE	65536u	/* ... and entries and groups in all */
#define CX_FT_LEVELS	128u	/* Linux 6.12 makes more than 64 of processes' tables */
#define CX_ETH_MTU	10000u	/* octets of a frame with its FCS, at most */
#define CX_LSO_MAX	(1u << 18)	/* octets of one WQE */
#define CX_ROCE_ADDRS	256u
#define CX_ROCE_PORT	4791u	/* UDP, of RoCE v2 */
#define CX_ROCE_SPORT	0xc000u	/* the first source port */
#define CX_MATCH	64u	/* octets of fte_match_set_lyr_2_4 */
#define CX_VLAN_VALID	0x10000u	/* beside a tag, if there is one */
#define CX_ETH_SPEEDS	0x00f000c0u	/* PTYS: 40 and 100 Gbit/s */

/* What a frame is, for its wire. */
enum cx_net { CX_NET_IB, CX_NET_ETHER, CX_NET_ROCE_V1, CX_NET_ROCE_V2 };

/* An entry of the RoCE address table: what SET_ROCE_ADDRESS wrote. */
struct cx_roce_addr {
	bool used;
	enum cx_net net;
	bool ipv4;
	uint32_t vlan;		/* or CX_VLAN_VALID with the number */
	uint8_t gid[16], mac[6];
};

/* Lists of a vport (allowed_list_type): MAC addresses, VLANs. */
enum cx_nic_list { CX_LIST_UC, CX_LIST_MC, CX_LIST_VLAN, CX_LISTS };

struct cx_traffic {
	uint64_t frames, octets;
};

enum cx_cast { CX_UNICAST, CX_MULTICAST, CX_BROADCAST, CX_CASTS };

#define CX_PRIOS	8u
#define CX_SIZES	10u	/* classes of frames' lengths, of RFC 2819 and on */

/* What is counted of one direction. */
struct cx_side {
	/* Of Ethernet alone; RoCE is counted as InfiniBand is, in the port. */
	struct cx_traffic cast[CX_CASTS];
	uint64_t sizes[CX_SIZES];
	struct cx_traffic prio[CX_PRIOS];	/* of the tag; RoCE too */
};

struct cx_nic {
	uint8_t mac[6];		/* permanent; made of the GUID */
	uint16_t mtu;		/* of the vport, as the driver set it */
	uint16_t port_mtu;
	uint32_t speeds;	/* PTYS: enabled by the driver */
	bool admin_down;	/* PAOS */
	bool roce;
	uint8_t promisc;	/* bits of NIC_VPORT_CONTEXT: uc, mc, all */
	struct {
		uint32_t nr;
		uint8_t (*entry)[8];
	} list[CX_LISTS];
	struct cx_roce_addr addr[CX_ROCE_ADDRS];
	struct cx_side tx, rx;
	uint32_t root;		/* flow table, or CX_NONE */
	uint32_t ftes;		/* flow entries and groups */
};

/* After a reset, or when the driver has gone: no addresses, no RoCE. */
void cx_nic_init(struct cx_dev *d);
void cx_nic_clear(struct cx_dev *d);

/* ---- objects ---- */
struct cx_tis {
	uint32_t users, td;
	uint8_t prio;
};

struct cx_rqt {
	uint32_t users;		/* TIRs */
	uint32_t max, nr;
	uint32_t rqn[1u << CX_LOG_RQT];
};

struct cx_tir {
	uint32_t users;		/* flow entries */
	uint32_t td;
	uint32_t rqn, rqtn;	/* one of them is CX_NONE */
	uint8_t hash_fn;	/* MLX5_RX_HASH_FN_* */
	uint32_t fields;	/* bits of selected_fields */
	uint8_t key[40];	/* of the Toeplitz hash */
};

struct cx_fg {			/* a flow group */
	struct cx_fg *next;
	uint32_t id, first, last;	/* of entries */
	uint32_t users;		/* entries */
	uint8_t criteria[CX_MATCH];
};

enum cx_flow_dest { CX_DEST_NONE, CX_DEST_FT, CX_DEST_TIR };

struct cx_fte {			/* a flow entry */
	struct cx_fte *next;	/* by index */
	struct cx_fg *group;
	uint32_t index, tag;
	enum cx_flow_dest dest;
	uint32_t id;		/* of its table or TIR */
	uint8_t value[CX_MATCH];
};

struct cx_ft {			/* a flow table */
	uint32_t users;		/* entries and tables that go on with it */
	uint8_t level, log_size;
	uint32_t miss;		/* table, or CX_NONE */
	uint32_t next_group;
	struct cx_fg *groups;
	struct cx_fte *entries;
};

/* All of them: before the RQs that they refer to, and after the SQs. */
void cx_nic_objects_free(struct cx_dev *d);
void cx_tises_free(struct cx_dev *d);
void cx_flow_free(struct cx_dev *d);

/* ---- cx_roce.c ---- */
/* The entry, or NULL; any index is fine. */
const struct cx_roce_addr *cx_roce_addr(const struct cx_dev *d,
					unsigned int index);
/* Fills in the addresses of a frame; without a valid source it has none. */
void cx_roce_route(const struct cx_dev *d, const struct cx_av *av,
		   struct cx_frame *f);
/* Whether the device has that address in its table. */
bool cx_roce_owns(const struct cx_dev *d, const uint8_t mac[6]);
/* Whether it takes a RoCE frame: destination, version, and VLAN are its own. */
bool cx_roce_accepts(const struct cx_dev *d, const struct cx_frame *f);
/*
 * The 40 octets before a datagram: a GRH, also of InfiniBand, an IPv6 or an
 * IPv4 header.
 */
void cx_network_header(const struct cx_frame *f, uint8_t grh[40]);
/* MLX5_CQE_ROCE_L3_HEADER_TYPE_* */
uint8_t cx_roce_header_type(const struct cx_frame *f);

/* ---- cx_eth_tx.c, cx_eth_rx.c ---- */
struct cx_swqe;

/* Sends the frames of a WQE: 0, or as cx_wqe_gather(); -EINVAL, -ENOMEM. */
int cx_eth_send(struct cx_dev *d, struct cx_qp *qp, const struct cx_swqe *w);
void cx_eth_rx(struct cx_dev *d, const struct cx_frame *f);
void cx_eth_count(struct cx_side *side, const struct cx_frame *f);

/* ---- cx_steer.c ---- */
/* What the steering and the completion know of a frame. */
struct cx_packet {
	uint8_t match[CX_MATCH];	/* fte_match_set_lyr_2_4 */
	uint32_t vlan;		/* C-tag, or 0: none, with CX_VLAN_VALID */
	uint32_t l3, l4;	/* offsets; 0: none that is known */
	uint32_t end;		/* of the IP packet */
	uint8_t ip;		/* 4, 6, or 0 */
	uint8_t proto;		/* of l4 */
	bool fragment;
};

void cx_packet_parse(struct cx_packet *p, const uint8_t *data, uint32_t len);
/* The TIR that a received packet goes to, and its flow tag; NULL: none. */
const struct cx_tir *cx_steer(const struct cx_dev *d,
			      const struct cx_packet *p, uint32_t *tag);

/* Of TCP or UDP with the pseudo header; folded, all ones if it is right. */
uint64_t cx_packet_sum(const struct cx_packet *p, const uint8_t *data);
/* One's complement sum of 16-bit words, and folded. */
uint64_t cx_sum(const uint8_t *data, uint32_t len, uint64_t sum);
uint16_t cx_sum_fold(uint64_t sum);

#endif
