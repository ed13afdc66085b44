/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * A process, as its supervisor has it: its own child, or a worker that an earlier
 * supervisor started. The supervisor's thread calls this.
 */
#ifndef BE_PROCESS_H
#define BE_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "guard.h"
#include "core/options.h"

struct be_process {
	pid_t pid;			/* 0: there is none */
	int pidfd;			/* -1: a child without; poll by time */
	bool child;			/* ours to reap; else adopted */
	uint64_t start_ns;		/* as far as this supervisor knows */
};

#define BE_PROCESS_NONE	((struct be_process){ .pidfd = -1 })

/**
 * be_process_start() - this program once more, as the worker of a device
 * @opt: of the worker: the supervisor's, and what is its own
 * @guard: passed on to it; may be NULL
 * Return: 0 or -errno.
 */
int be_process_start(struct be_process *p, const struct be_options *opt,
		     const struct be_guard *guard);
/**
 * be_process_run() - another program
 * @argv: path first
 * @env: all of it; ends with NULL
 * @out: the end of a pipe to read, without waiting, what it says on stderr
 * Return: 0 or -errno.
 */
int be_process_run(struct be_process *p, char *const argv[], char *const env[],
		   int *out);
/* The process that holds a lock file. False: there is none that can be watched. */
bool be_process_adopt(struct be_process *p, const char *lock);
/* Is it dead? Reaps it. status: as waitpid(), 0 for an adopted one. */
bool be_process_dead(struct be_process *p, int *status);
void be_process_signal(const struct be_process *p, int sig);
/* Forget it; it may live on. */
void be_process_forget(struct be_process *p);

#endif
