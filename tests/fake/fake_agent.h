/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The control domain of tests of the doorbell agent: a xenstore in memory, an HCA of
 * backend 1 in sysfs, and two guests that have a vhca of it: 5, PVH or PV, and 6, PV.
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

extern struct host {
	struct dba_agent a;
	int mapped, calls;		/* frames of guest 5; hypercalls */
	int mapped6;			/* frames of guest 6 */
	bool dead, pv;			/* guest 5 */
	uint8_t uuid;
	struct {
		int calls, fail;
		unsigned int answered;	/* slots that had one then */
		uint64_t mfn[64];
		unsigned int n, in_transit;
	} file;				/* of the agent's state */
	unsigned int about;		/* questions about domains */
	unsigned int asked;		/* the same while late is set: once a request */
	unsigned int late;		/* when come() is called, 0: never */
	void (*come)(void);
} host;

int host_make_sysfs(void **state);
int host_remove_sysfs(void **state);
int host_setup(void **state);
int host_teardown(void **state);
/* Until the agent waits for something. */
void host_turn(void);
/* Guest 6 gets its device. */
void host_second_guest(void);
/* dir: DB or DB6; without one it is DB. An answer that is not there is "". */
void host_request_in(const char *dir, unsigned int slot, const char *text);
void host_request(unsigned int slot, const char *text);
const char *host_answer_in(const char *dir, unsigned int slot);
const char *host_answer(unsigned int slot);
/* A request, a turn, the answer. */
const char *host_ask_in(const char *dir, unsigned int slot, const char *text);
const char *host_ask(unsigned int slot, const char *text);

#endif
