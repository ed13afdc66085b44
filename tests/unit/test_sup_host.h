/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * What tests of the supervisor share: the real one over a xenstore in memory, in
 * domain 1, whose workers are the test program itself: main() calls sup_worker() if
 * it has arguments.
 */
#ifndef TEST_SUP_HOST_H
#define TEST_SUP_HOST_H

#include <stdbool.h>
#include "core/run.h"

#define BACK	"/local/domain/1/backend/vhca"
#define VIFS	"/local/domain/1/backend/vif"

extern struct be_options sup_opt;

int sup_setup(void **state);
int sup_teardown(void **state);
/* Leaves a file, and a line in the log, and waits. */
int sup_worker(int argc, char **argv);
/* Did a worker run for DOMID/0? Asks once for each. */
bool sup_served(unsigned int domid);
/* What a worker of DOMID-DEVID.ran was told, how many files it had open, its pid. */
struct sup_told { unsigned int left, spinners, files; int pid; } sup_told(const char *ran);
/* How many ran that nobody asked for. */
unsigned int sup_workers(void);
/*
 * In a child of the process that supervises: waits until so many workers ran, so many
 * lines are in the log, and supervisor, scripts and workers all sleep. The test fails if
 * they are not there in two minutes; that they sleep is waited for a minute at most, for a
 * machine that has no time for them.
 */
void sup_until(unsigned int workers, unsigned int lines);
/* The supervisor, until that; then it is stopped as systemd does it. */
void sup_supervise(unsigned int workers, unsigned int lines);
/* Is there such a file in the run directory? */
bool sup_there(const char *name);
/* A node of DOMID/0. */
void sup_set(unsigned int domid, const char *node, const char *value);
const char *sup_get(unsigned int domid, const char *node);
/* mb NULL: the default. */
void sup_attach(unsigned int domid, const char *mb);

#endif
