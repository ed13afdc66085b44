/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * A small network driver over drv.h: what mlx5e makes of an Ethernet port, and
 * RoCE addresses as mlx5_ib sets them.
 */
#ifndef DRV_ETH_H
#define DRV_ETH_H

#include "drv.h"

#define NIC_LOG_WQ	6	/* entries of SQ and RQ */
#define NIC_BUF		2048u	/* octets of a receive buffer */
#define NIC_TTC_LEVEL	9u
#define NIC_RQS		2u
#define DRV_VLAN	0x10000u	/* beside the number of a VLAN */

struct drv_wq {
	uint32_t n;
	uint8_t *buf;
	uint32_t *db;
	uint16_t pi;
};

struct drv_nic {
	struct drv *drv;
	uint8_t mac[6];
	uint32_t tis, rqt, tir, l2, ttc;
	struct drv_cq scq, rcq[NIC_RQS];
	struct drv_wq sq, rq[NIC_RQS];
	struct drv_mr mr;	/* receive buffers, then what is sent */
	uint8_t *mem;
};

/* A register: data goes there (write) and comes back. */
int drv_reg(struct drv *v, uint16_t id, bool write, uint8_t *data, size_t len);
/* The port on or off (PAOS). */
int drv_admin(struct drv *v, bool up);
bool drv_carrier(struct drv *v);
int drv_roce(struct drv *v, bool on);
/* version: 1 or 2; gid NULL: deletes. vlan: 0, or with DRV_VLAN. */
int drv_roce_addr(struct drv *v, uint16_t index, uint8_t version,
		  const uint8_t *gid, const uint8_t mac[6], uint32_t vlan);
int drv_mac(struct drv *v, uint8_t mac[6]);

/* Queues, TIR and tables: the station's address and broadcasts go to the TIR. */
int drv_nic_open(struct drv *v, struct drv_nic *nic);
int drv_nic_close(struct drv_nic *nic);
int drv_wq_move(struct drv *v, uint16_t opcode, uint32_t n, uint8_t from,
		uint8_t to);
/* An entry that matches the first octets of fte_match_set_lyr_2_4. */
int drv_fte(struct drv *v, uint32_t table, uint32_t group, uint32_t index,
	    const uint8_t value[64], uint8_t dest, uint32_t id);
int drv_fte_del(struct drv *v, uint32_t table, uint32_t index);
int drv_ft(struct drv *v, uint8_t level, uint32_t miss, uint32_t *table);
int drv_fg(struct drv *v, uint32_t table, uint32_t first, uint32_t last,
	   const uint8_t criteria[64], uint32_t *group);
int drv_table_op(struct drv *v, uint16_t opcode, uint16_t op_mod,
		 uint32_t table, uint32_t group);

/* Receive buffers 0 .. nr - 1 of a queue. */
void drv_nic_fill(struct drv_nic *nic, unsigned int rq, unsigned int nr);
/* A frame whose first hdr octets lie in the WQE; mss not 0: LSO. */
void drv_nic_send(struct drv_nic *nic, const uint8_t *frame, uint32_t len,
		  uint32_t hdr, uint8_t flags, uint16_t mss);
void drv_nic_nop(struct drv_nic *nic);
/* Where a completion's frame lies. */
const uint8_t *drv_nic_frame(const struct drv_nic *nic, unsigned int rq,
			     const struct drv_wc *wc);

#endif
