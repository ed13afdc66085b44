/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * hostile-backend (tests/hostile/) as the backend of a unit test's device: its connection
 * manager and its completions, without Xen.
 */
#ifndef HOSTILE_H
#define HOSTILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum hostile_lie { HOSTILE_HONEST, HOSTILE_ORDERS, HOSTILE_REQUESTS, HOSTILE_DATA, HOSTILE_QUIET,
		   HOSTILE_COMPLETIONS, HOSTILE_LIES };

struct hostile_cm {		/* a command of rdma_cm, and its answer */
	uint32_t cmd;
	const void *in;
	size_t in_len, room, out_len;
	void *out;
	bool events;
};

void hostile_begin(enum hostile_lie lie);
/* 0, or -EIO: the frontend refuses an answer of such a form. */
int hostile_cm(struct hostile_cm *c);
/* As the backend's loop. Return: whether it has said that there are events. */
bool hostile_tick(void);
unsigned int hostile_lies(void);
/* Objects at their memory, and a queue pair that stops. */
void hostile_cq(uint32_t handle, uint32_t nent, void *buf, void *db);
void hostile_qp(uint32_t handle, uint32_t qpn, uint32_t send_cq, uint32_t recv_cq, void *db);
void hostile_stop(uint32_t handle);

#endif
