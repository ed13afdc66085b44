/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * A guest for unit tests: a struct be_dev over the loopback transport and the
 * fake kernel, and shorthands for the commands that most tests begin with.
 * Commands go through be_dispatch(), as in the worker; every answer's header
 * is checked on the way.
 */
#ifndef GUEST_H
#define GUEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "fake_uverbs.h"
#include "core/sys.h"
#include "verbs/object.h"
#include "context/context.h"
#include "verbs/ucontext.h"
#include "worker/device.h"
#include "worker/dispatch.h"
#include "worker/kick.h"
#include "ring_loop.h"

#define GUEST_PAGES	4096u

struct guest {
	struct be_dev dev;
	struct loop *loop;
	uint16_t next_id;
	struct xenvhca_request req;	/* next command; zeroed by guest_cmd */
	struct xenvhca_response rsp;
	uint32_t uc, pd, cq, qp;	/* made by guest_open() */
	bool mlx5;			/* the HCA, else Soft-RoCE */
	uint32_t tag;			/* of programs: fake_mlx5_open() */
	uint32_t page;			/* next free one for queues */
};

/* cmocka setup and teardown. Teardown fails if anything is left alive,
 * mapped, granted, charged, or if the fake kernel saw a violation. */
int guest_setup(void **state);
int guest_setup_mlx5(void **state);
int guest_setup_umad(void **state);	/* with umad=query */
int guest_teardown(void **state);
/* Files stay open, each with a doorbell page: the process is to end. */
int guest_teardown_exit(void **state);

/* Executes g->req as op in ucontext g->uc; the answer is in g->rsp. Returns
 * the wire status: 0 or a negative errno. */
int guest_cmd(struct guest *g, uint16_t op);
/* One command that carries a handle only. */
int guest_handle(struct guest *g, uint16_t op, uint32_t handle);
/* A ucontext with a PD, a CQ and an RC QP. */
void guest_open(struct guest *g);
/* Everything that guest_open() and the test made. */
void guest_close(struct guest *g);

/* A program of that kind opens the HCA; the status. */
int guest_program(struct guest *g, uint32_t tag);
uint32_t guest_alloc_uc(struct guest *g);
/* One opens, has a doorbell page as in a PV guest, and ends. */
void guest_park(struct guest *g, uint32_t tag);
uint32_t guest_alloc_pd(struct guest *g);
uint32_t guest_create_cq(struct guest *g, uint32_t cqe);
uint32_t guest_create_qp(struct guest *g, uint8_t type);
/* mmap offset and size in a response's udata */
struct guest_key { uint64_t offset; uint32_t size; } guest_key(struct guest *g,
							       unsigned int at);
/* Maps a whole key; returns the status, grant references in g->rsp. */
int guest_mmap(struct guest *g, struct guest_key key);
/* A doorbell page at a place of the guest's, 0: none as in a PV guest. */
int guest_doorbell(struct guest *g, uint64_t offset, uint64_t gfn);
/* mlx5: n octets of queue memory of the guest in a page list, at the address
 * in its process that is returned. */
uint64_t guest_queue(struct guest *g, struct xenvhca_pages *p, uint32_t n);
/* Page list of pages first .. first + n - 1; directories go to pages from
 * dir on. */
void guest_pages(struct guest *g, struct xenvhca_pages *p, uint32_t first,
		 uint32_t n, uint8_t level, uint32_t dir);
/* Fills g->req.u.reg_mr for n pages from page first on. */
void guest_mr(struct guest *g, uint32_t first, uint32_t n);
/* REREG_MR of the rights alone; its status. */
int guest_rereg_access(struct guest *g, uint32_t mr, uint32_t access);

#endif
