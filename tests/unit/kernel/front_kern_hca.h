/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Two HCA models with a connected pair, for tests of frontend/kernel/. Its headers and
 * those of the kernel have structs of the same names, so this interface has none of
 * either.
 */
#ifndef FRONT_KERN_HCA_H
#define FRONT_KERN_HCA_H

#include <stdbool.h>
#include <stdint.h>

#define HCA_POOL	(1ull << 32)	/* where the region of each side begins */
#define HCA_POOL_MB	1
#define HCA_LOG_CQ	8
#define HCA_LOG_SQ	6
#define HCA_LOG_RQ	6
#define HCA_RECV_SGE	4
#define HCA_LOG_SRQ	4

struct hca_cq { uint32_t cqn; void *buf, *db; };

struct hca_side {
	void *pool;
	uint32_t pool_key, lid, qpn, srqn;
	struct hca_cq scq, rcq;
	void *queues, *db, *srq, *srq_db;
};

enum hca_kind { HCA_RC, HCA_UD, HCA_SRQ };

struct hca_side *hca_side(unsigned int i);		/* 0, 1 */
void hca_open(enum hca_kind kind);
void hca_close(void);
/* Until nothing is left to do. */
void hca_run(void);
void hca_store(unsigned int i, uint64_t reg, const void *value);
/* The key of a new window of type 2. */
uint32_t hca_window(unsigned int i);
/* Arms the event queue of receive completions; how many events have come since. */
void hca_arm_events(unsigned int i);
unsigned int hca_events(unsigned int i);
/* Moves the queue pair to ERR, as the backend does. */
void hca_stop(unsigned int i);
uint32_t hca_qkey(void);

#endif
