/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * A hostile frontend for unit tests: the daemon's code from the command ring
 * to the uverbs calls runs over the loopback transport and the fake kernel.
 * A world has two devices; what is done to the first must not be seen by the
 * second. Every world ends with a ledger: nothing alive, mapped or granted.
 */
#ifndef WIRE_H
#define WIRE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "worker/cmdq.h"
#include "core/sys.h"
#include "verbs/object.h"
#include "context/context.h"
#include "verbs/ucontext.h"
#include "worker/device.h"
#include "worker/dispatch.h"
#include "worker/kick.h"
#include "tests/fake/ring_loop.h"
#include "tests/fake/fake_cm.h"
#include "tests/fake/fake_umad.h"
#include "tests/fake/fake_uverbs.h"

#define WIRE_PAGES	64u
#define NO_HANDLE	0xdeadbeefu
#define COUNT(a)	(sizeof(a) / sizeof((a)[0]))

/* One device and its frontend. */
struct wire {
	struct loop *loop;
	struct be_dev dev;
	struct be_cmdq q;
	uint16_t next_id;
	struct xenvhca_response rsp;	/* of the last wire_call() */
};

void wire_open(struct wire *w, int devid, uint32_t pages, unsigned int order);
void wire_close(struct wire *w);
/* Runs the command thread's loop until it has nothing to do. */
void wire_run(struct wire *w);
/* Sends it under a new id, runs the backend, returns the status (0, -XEN_E*).
 * Checks that there is exactly one answer, that it echoes id and op, and that
 * an error carries no data. */
int wire_call(struct wire *w, struct xenvhca_request *req);

/* Objects of one verbs context. */
struct ctx {
	uint32_t uc, pd, cq, srq, qp, ud, mr, mw, ah;
	uint32_t xrcd;			/* of the device; 0: Soft-RoCE */
	uint32_t cm, cm_id;		/* of the device; an id in it */
	uint32_t umad, agent;		/* likewise */
	uint64_t cq_offset;		/* mmap offset of the CQ */
	uint32_t cq_size;
	bool mlx5;			/* a ConnectX, else Soft-RoCE */
};

struct world {
	struct wire a, b;		/* b is the bystander */
	struct ctx c, other;		/* two contexts of a */
	struct ctx mine;		/* of b */
};

struct snap {
	unsigned int live, files, vmas, doorbells;
	uint64_t mapped, granted, pages, queue_pages;
	uint32_t used[BE_TYPES], uars;
	unsigned int cm_files, cm_ids, umad_files, umad_agents;
};

/* For cmocka: the fake kernel for a group, a world for a test. */
int wire_group_setup(void **state);
int wire_group_teardown(void **state);
int world_setup(void **state);
int world_setup_mlx5(void **state);
int world_teardown(void **state);

void world_snap(const struct world *w, struct snap *s);
/* The device goes on, owns what it owned, and b works. */
void world_same(struct world *w, const struct snap *s, const char *what);
/* b answers and its objects are there. */
void world_bystander(struct world *w);

struct xenvhca_request wire_req(uint16_t op, uint32_t uc);
/* Creates every kind of object. */
void ctx_make(struct wire *w, struct ctx *c);
/* A request of this op that succeeds. false: there is no such op. */
bool wire_good(const struct ctx *c, uint16_t op, struct xenvhca_request *req);
/* CREATE_ID, or what another command of the connection manager is like. */
void wire_good_cm(const struct ctx *c, uint32_t cmd, struct xenvhca_request *r);
/* Get(PortCounters), as perfquery sends it; no answer is waited for. */
void wire_good_mad(uint8_t packet[XENVHCA_UMAD_SEND_MAX]);
void wire_good_mlx5(const struct ctx *c, struct xenvhca_request *r);
extern const char *const wire_op_name[XENVHCA_OP_MAX];

#endif
