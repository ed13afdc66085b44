/* SPDX-License-Identifier: GPL-2.0 */
/* Copyright (C) 2026 The vhca authors */
/*
 * vhca-signals: what a process has, and its calls of the connection manager and of
 * management datagrams. Each returns 0 or an errno, by which runs are compared, and does
 * nothing where the file cannot be opened.
 */
#ifndef VHCA_TESTS_SIGNALS_H
#define VHCA_TESTS_SIGNALS_H

#include <netinet/in.h>

#include "vt.h"

enum { CM_LISTENER, CM_CLIENT, CM_SERVER, CM_GROUP, CM_IDS };

struct all {
	const struct vt_opt *o;
	struct vt_dev dev;
	struct ibv_comp_channel *chan;
	struct ibv_cq *cq;
	struct ibv_srq *srq, *xrc_srq, *tag_srq;
	struct ibv_qp *qp, *xrc_send, *xrc_recv;
	struct ibv_xrcd *xrcd;
	struct ibv_mr *mr;
	struct ibv_mw *mw;
	struct ibv_ah *ah;
	union ibv_gid group;
	int cm, umad;
	int64_t cm_ids[CM_IDS];		/* -1: none */
	struct sockaddr_in own;		/* of the port, or nobody's */
	uint32_t agent;
	void *mem;
};

/* ---- signals_cm.c ---- */
int cm_open(struct all *a);
int cm_create(struct all *a);
int cm_listen(struct all *a);
int cm_event(struct all *a);		/* there is none */
int cm_resolve_addr(struct all *a);
int cm_resolve_route(struct all *a);
int cm_connect(struct all *a);
int cm_accept(struct all *a);
int cm_disconnect(struct all *a);
int cm_join(struct all *a);
int cm_destroy(struct all *a);
int cm_close(struct all *a);

int umad_open(struct all *a);
int umad_register(struct all *a);
int umad_read(struct all *a);
int umad_send(struct all *a);
int umad_close(struct all *a);

#endif
