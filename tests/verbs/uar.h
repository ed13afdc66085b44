/* SPDX-License-Identifier: GPL-2.0 */
/* Copyright (C) 2026 The vhca authors */
/*
 * vhca-uar: what a process can do with doorbell (UAR) pages of an mlx5 or mlx4 HCA,
 * its own and, it hopes, those of others. Work requests are written by hand,
 * so that filling a queue and ringing for it are two steps.
 */
#ifndef VHCA_TESTS_UAR_H
#define VHCA_TESTS_UAR_H

#include <endian.h>

#include "vt.h"

#define UAR_PAGE	4096u
#define UAR_TARGET	64	/* word of the memory: a line of its own */
#define UAR_WAIT_MS	3000	/* for what the HCA does at once */

struct uar_obj;

/* What the driver of an HCA has by itself: the form of requests and doorbells. */
struct uar_kind {
	/* Fills in what is below of uar_obj: 0, EOPNOTSUPP: another HCA, or an errno. */
	int (*init)(struct uar_obj *u);
	/* A request in qp[0]: RDMA write of eight octets, to UAR_TARGET of mem. */
	void (*post)(struct uar_obj *u);
	/* A doorbell at @reg for the request @index of a send queue; and at @arm for the
	 * next completion of a CQ, by a request with number @sn, modulo 4. */
	void (*send)(void *reg, uint32_t qpn, uint16_t index);
	void (*notify)(void *arm, uint32_t cqn, unsigned int sn);
};

extern const struct uar_kind uar_mlx4, uar_mlx5;

/* Two queue pairs of a context, connected to each other, and one CQ. */
struct uar_obj {
	struct vt_dev dev;
	struct ibv_comp_channel *chan;
	struct ibv_cq *cq;
	struct ibv_qp *qp[2];
	struct ibv_mr *mr;
	uint64_t *mem;		/* one page: source, target */
	unsigned int events;	/* taken from the channel, not yet acked */
	uint16_t posted;	/* requests of qp[0] */
	const struct uar_kind *kind;
	uint8_t *sq;		/* of qp[0], with so many slots of that many octets */
	uint32_t slots, stride;
	uint32_t *record;	/* how far it is posted; NULL: it has none */
	void *reg, *arm;	/* doorbells of qp[0] and of the CQ */
	uint64_t mmap_offset;	/* of that page */
	uint32_t cqn;
};

struct uar_quiet {
	struct vt_opt opt;
	const char *host;	/* NULL: serve */
	const char *gate;	/* file; NULL: do not wait for anybody */
	int tcp_port;
	int rounds;
	bool native;		/* there are no counters of a vhca */
};

/* uar_dv.c */
int uar_open(struct uar_obj *u, const struct vt_opt *o, char *why);
void uar_close(struct uar_obj *u);
void uar_post(struct uar_obj *u, uint64_t value);
void uar_fence(void);
void uar_ring(void *reg, uint32_t first, uint32_t second);
void uar_ring_own(const struct uar_obj *u, void *reg);
bool uar_arrived(const struct uar_obj *u, uint64_t value, int ms);
int uar_works(struct uar_obj *u, void *reg, char *why);
int uar_event(struct uar_obj *u, int ms);
void *uar_page(void *reg);

/* uar_mmap.c */
int uar_mmap(const struct vt_opt *o, bool native);

/* uar_quiet.c, uar_trace.c */
int uar_quiet(struct uar_quiet *q);

/* What the kernel did for this process between start and stop. */
struct uar_trace {
	int on;			/* descriptor of tracing_on, -1: no tracing */
	char dir[128];		/* our instance of tracefs */
	bool notify;		/* event channel notifications are seen */
	bool fault_probe;	/* no trace point shows page faults */
};

int uar_trace_open(struct uar_trace *t, char *why);
void uar_trace_start(const struct uar_trace *t);
void uar_trace_stop(const struct uar_trace *t);
int uar_trace_judge(const struct uar_trace *t, const char *irqs, char *why);
void uar_trace_close(struct uar_trace *t);

#endif
