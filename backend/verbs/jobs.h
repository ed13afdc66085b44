/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Commands that take long or may wait for the network, so that those of other processes
 * need not wait for them (verbs/jobs.c). Such a command has three parts: the command
 * thread checks, charges and reserves; another thread, a job thread, does what takes long and
 * touches no table; the command thread enters the result and answers.
 */
#ifndef BE_JOBS_H
#define BE_JOBS_H

#include <stdbool.h>
#include <stdint.h>

struct be_cmd;
struct be_dev;
struct be_uc;

/*
 * More pages than these are left to a job thread. To map or unmap so many takes as
 * long as a fast command does, some 100 us; two hand-overs take 10 to 20 us.
 */
#define BE_JOB_PAGES	64u

/*
 * Jobs that run in the order in which they came, one at a time: those of one context, or
 * of one file of the connection manager. All zero at first.
 */
struct be_line {
	uint64_t turn;			/* since when the next one waits */
	unsigned int n;			/* that wait, or run */
	bool busy;			/* a job thread runs one */
};

/* A command on its way; first member of what it needs. */
struct be_job {
	struct be_job *next;
	struct be_uc *uc;
	struct be_line *line;		/* it may wait; NULL: it takes long, of a region */
	uint16_t op, id;		/* of the request; op 0: nobody waits */
	bool ends;			/* of a region, which goes before what makes one */
	bool drops;			/* it need not run when the context ends */
	/* Any thread. 0 or -errno. */
	int (*run)(struct be_dev *dev, struct be_job *job);
	/* Command thread, whether it ran or not; frees it. The answer: 0 or
	 * -errno, that of run() if it failed. BE_PASSED: none yet, not freed. */
	int (*end)(const struct be_cmd *c, struct be_job *job);
	int err;			/* of run(); -ENOENT: it did not run */
	uint64_t refused;		/* uv_errors of run() */
};

int be_jobs_start(struct be_dev *dev);
/*
 * Waits for the jobs that are executed, and ends them and all others without an
 * answer. No limit: while the kernel has a command, its file does not go either.
 */
void be_jobs_stop(struct be_dev *dev);

/* Every function below: command thread. */
/**
 * be_jobs_put() - leave a job to the job threads
 *
 * False: there are none, or as many jobs wait as a guest has requests. One that cannot
 * be dropped always has room: objects bound them, or who puts it.
 */
bool be_jobs_put(struct be_dev *dev, struct be_job *job);
/**
 * be_job_do() - execute a command in its three parts
 * @job: taken over
 * @slow: by a job thread, if there is room; what may wait fails with -EBUSY if there is none
 *
 * Return: 0 or -errno, or BE_PASSED.
 */
int be_job_do(const struct be_cmd *c, struct be_job *job, bool slow);
/* Jobs of a context that ends, which were not begun and need not be. */
void be_jobs_drop(struct be_dev *dev, const struct be_uc *uc);
/* The next job whose end() is due, or NULL; be_job_end() calls it. */
struct be_job *be_jobs_next(struct be_dev *dev);
int be_job_end(const struct be_cmd *c, struct be_job *job);
/* Is there one? Costs nothing, to poll for it. */
bool be_jobs_any(struct be_dev *dev);

#endif
