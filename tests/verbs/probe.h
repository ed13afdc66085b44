/* SPDX-License-Identifier: GPL-2.0 */
/* Copyright (C) 2026 The vhca authors */
/*
 * vhca-probe: one line per probe, `name<TAB>ok|ERRNO<TAB>detail`, the same on
 * every run, so that a guest's output can be compared with the bare HCA's.
 * Each group of probes runs in a process and on a device context of its own.
 */
#ifndef VHCA_TESTS_PROBE_H
#define VHCA_TESTS_PROBE_H

#include "vt.h"

struct probe {
	struct vt_dev dev;
	struct vt_opt opt;
	struct ibv_context *ctx;	/* = dev.ctx */
	struct ibv_pd *pd;		/* = dev.pd */
};

/* A QP of this process connected to itself, with its CQ and memory. */
struct lo {
	struct probe *p;
	struct ibv_comp_channel *chan;
	struct ibv_cq *cq;
	struct ibv_srq *srq;		/* set before lo_open(): used, not owned */
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	struct ibv_ah *ah;
	uint8_t *buf;			/* LO_LEN bytes */
	enum ibv_qp_type type;
};

#define LO_LEN 8192

/* probe.c */
void pr(const char *name, int err);
void prd(const char *name, int err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
int er(int ret);
int ep(const void *object);
const char *nm(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* probe_lo.c */
int lo_open(struct lo *l, struct probe *p, enum ibv_qp_type type);
int lo_reg(struct lo *l, struct probe *p);
void lo_close(struct lo *l);
int lo_modify(struct ibv_qp *qp, struct probe *p, enum ibv_qp_type type,
	      enum ibv_qp_state to);
int lo_walk(struct ibv_qp *qp, struct probe *p, enum ibv_qp_type type,
	    enum ibv_qp_state to);
void lo_attr(struct probe *p, struct ibv_qp *qp, enum ibv_qp_type type,
	     enum ibv_qp_state to, struct ibv_qp_attr *a, int *mask);
void lo_ah_attr(struct probe *p, struct ibv_ah_attr *ah);
int lo_send(struct lo *l, uint32_t len, unsigned int flags);
int lo_recv(struct lo *l, uint32_t len);
int lo_poll(struct lo *l, struct ibv_wc *wc, int ms);
const char *lo_status(struct lo *l, int want, int ms);
const char *lo_event(struct probe *p, int ms);
const char *qpt_name(enum ibv_qp_type type);
const char *state_name(enum ibv_qp_state s);

/* groups */
void probe_device(struct probe *p);
void probe_port(struct probe *p);
void probe_pd(struct probe *p);
void probe_mr(struct probe *p);
void probe_mw(struct probe *p);
void probe_cq(struct probe *p);
void probe_cq_ex(struct probe *p);
void probe_cq_event(struct probe *p);
void probe_qp(struct probe *p);
void probe_qp_modify(struct probe *p);
void probe_qp_bad(struct probe *p);
void probe_qp_query(struct probe *p);
void probe_qp_run(struct probe *p);
void probe_srq(struct probe *p);
void probe_xrc(struct probe *p);
void probe_mlx5(struct probe *p);
void probe_rich(struct probe *p);
void probe_ah(struct probe *p);
void probe_mcast(struct probe *p);
void probe_misc(struct probe *p);
void probe_busy(struct probe *p);
void probe_async(struct probe *p);
void probe_write_abi(struct probe *p);
void probe_ioctl_abi(struct probe *p);
void probe_mmap(struct probe *p);

#endif
