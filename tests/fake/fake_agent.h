/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The control domain of tests of the doorbell agent: a xenstore in memory, an HCA of
 * backend 1 in sysfs, and two guests that have a vhca of it: 5, PVH or PV, and 6, PV,
 * or more PV ones behind them.
 * The agent is the real one. In test_*.c: host_setup() and host_teardown() for each
 * test, host_make_sysfs() and host_remove_sysfs() around all.
 */
#ifndef FAKE_AGENT_H
#define FAKE_AGENT_H

#include <stdbool.h>
#include <stdint.h>
#include "tools/doorbelld/agent.h"

#define BE	"/local/domain/1/backend/vhca/5/0"
#define DB	BE "/doorbell"
#define FE	"/local/domain/5/device/vhca/0"
#define LIBXL	"/libxl/5/device/vhca/0"
#define BE6	"/local/domain/1/backend/vhca/6/3"
#define DB6	BE6 "/doorbell"
#define LIBXL6	"/libxl/6/device/vhca/3"
#define PCI	"/local/domain/0/backend/pci/1/0"
#define BDF	"0000:00:05.0"
#define NONE	"0x0 0x0 0x0\n"
#define HOST_GUESTS	16		/* the first one is 5 */
#define HOST_MAPS	16384		/* in the file that it looks at */

extern struct host {
	struct dba_agent a;
	int mapped, calls;		/* frames of guest 5; hypercalls */
	int mapped6;			/* frames of guest 6 and those behind */
	bool dead, pv;			/* guest 5 */
	uint8_t uuid;
	struct {
		int calls, fail;
		unsigned int answered;	/* slots that had one then */
		uint64_t mfn[HOST_MAPS];
		unsigned int n, in_transit;
		bool short_form;	/* answers are not counted */
	} file;				/* of the agent's state */
	unsigned int about;		/* questions about domains */
	unsigned int asked;		/* the same while late is set: once a request */
	unsigned int late;		/* when come() is called, 0: never */
	void (*come)(void);
} host;

int host_make_sysfs(void **state);
/* Doorbells are in a BAR of that many MiB at frame 0xe0000, not of 32. */
int host_make_sysfs_of(unsigned int mib);
int host_remove_sysfs(void **state);
int host_setup(void **state);
int host_teardown(void **state);
/* Until the agent waits for something. */
void host_turn(void);
/* One pass of the agent, in which come() is called at the question number late. */
void host_pass(void (*come)(void), unsigned int late);
/* Guest 6 gets its device. */
void host_second_guest(void);
/* Guest 5 + i, i > 0, gets device 3. */
void host_more_guests(unsigned int i);
/* dir: DB or DB6; without one it is DB. Those of a slot between two turns are one
 * list. An answer that is not there is ""; if the list is refused, so is each. */
void host_request_in(const char *dir, unsigned int slot, const char *text);
void host_request(unsigned int slot, const char *text);
const char *host_answer_in(const char *dir, unsigned int slot);
const char *host_answer(unsigned int slot);
/* A request, a turn, the answer. */
const char *host_ask_in(const char *dir, unsigned int slot, const char *text);
const char *host_ask(unsigned int slot, const char *text);

/* A list of requests, a turn, the answers: all of them, or the one of a number. */
const char *host_list_in(const char *dir, const char *requests);
const char *host_list(const char *requests);
const char *host_listed_in(const char *dir, unsigned int n);

#endif
