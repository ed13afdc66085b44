/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * hostile-backend for a guest's kernel (kernel=1): it maps CQs and doorbell records of the
 * consumers, as an HCA would, and has a connection manager that nobody is behind. What
 * consumers post is flushed when a queue pair stops, so that they can end.
 */
#ifndef KERN_H
#define KERN_H

#include "lies.h"

/* The guest's address and network; its peers have others of that network. */
#define KERN_IP		"10.8.0.71/24"

/* Nodes of the device, and what Xen lets the guest map as a doorbell page. */
void kern_begin(struct peer *b);
/* Of the queues of consumers. */
void kern_let_go(struct peer *b);
/* The guest has let go of the device. */
void kern_end(struct peer *b);
/* After model_answer(), and before a lie: what a kernel's device has beyond a process's. */
void kern_answer(struct peer *b, const struct xenvhca_request *req,
		 struct xenvhca_response *rsp);
/* Called all the time: queue pairs that stop, events of connections. */
void kern_idle(struct peer *b);

/* ---- lies: each an idle of lies.c, or a spoil ---- */
/* Completions, of which each field is wrong at times. */
void kern_completions(struct peer *b);
/* Events of connections: in any order, of ids that end, ended, or never were. */
void kern_orders(struct peer *b);
/* Requests of peers without end. */
void kern_requests(struct peer *b);
/* Both of the first, events that nobody asked for, and as many of each as there is room for. */
void kern_flood(struct peer *b);
/* Of the connection manager: lengths, numbers and addresses. */
bool kern_cm_data(struct peer *b, const struct xenvhca_request *req,
		  struct xenvhca_response *rsp);
/* It answers, and never has an event. */
bool kern_cm_quiet(struct peer *b, const struct xenvhca_request *req,
		   struct xenvhca_response *rsp);

/* ---- kern_cm.c, for kern.c ---- */
void kern_cm_answer(struct peer *b, const struct xenvhca_request *req,
		    struct xenvhca_response *rsp);
/* Says that there are events, if there are. */
void kern_cm_tell(struct peer *b);
/* The file is closed. */
void kern_cm_end(void);

#endif
