// SPDX-License-Identifier: GPL-2.0
/* Copyright (C) 2026 The vhca authors */
/*
 * Many processes that have the device open and do nothing else: contexts, and on HCAs
 * that have them doorbell pages. The parent forks them, a bounded number at a time, and
 * asks each to close.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "many.h"

/* Of all of them; each opens, waits for SIGUSR1, closes. */
struct opened {
	long opened, refused;
	int news[2];		/* pipe: one has opened, or was refused */
};

/* A provider maps its doorbell pages when it opens, if the HCA has any. */
static int open_and_wait(const struct many *m, struct opened *all)
{
	struct ibv_context *ctx;
	char why[VT_WHY] = "";
	sigset_t go;
	int sig;

	sigemptyset(&go);
	sigaddset(&go, SIGUSR1);
	ctx = vt_open_name(m->opt.dev, why);
	__atomic_fetch_add(ctx ? &all->opened : &all->refused, 1, __ATOMIC_RELEASE);
	if (write(all->news[1], "", 1) != 1)
		return 1;
	if (!ctx) {
		fprintf(stderr, "vhca-many: %s\n", why);
		return 1;
	}
	sigwait(&go, &sig);
	return ibv_close_device(ctx) != 0;
}

static pid_t open_child(const struct many *m, struct opened *all)
{
	pid_t parent = getpid(), pid = fork();

	if (pid)
		return pid;
	/* Who ends all programs of this name means the parent, which asks each. */
	signal(SIGTERM, SIG_IGN);
	prctl(PR_SET_PDEATHSIG, SIGUSR1);
	if (getppid() != parent)
		exit(1);
	exit(open_and_wait(m, all));
}

static long done(struct opened *all)
{
	return __atomic_load_n(&all->opened, __ATOMIC_ACQUIRE) +
	       __atomic_load_n(&all->refused, __ATOMIC_ACQUIRE);
}

/* Asleep: a parent that looks all the time takes the processor of what it waits for. */
static void wait_for_news(const struct opened *all)
{
	struct pollfd p = { .fd = all->news[0], .events = POLLIN };
	char news[64];

	if (poll(&p, 1, 1000) > 0 &&
	    read(all->news[0], news, sizeof(news)) < 0)
		many_over = 1;
}

/* Forks m->n of them; returns how many there are. */
static long open_all(struct many *m, struct opened *all, pid_t *pid)
{
	long i;

	for (i = 0; i < m->n && !many_over; i++) {
		while (i - done(all) >= m->at_once && !many_over)
			wait_for_news(all);
		pid[i] = open_child(m, all);
		if (pid[i] < 0)
			break;
	}
	while (done(all) < i && !many_over)
		wait_for_news(all);
	return i;
}

/* Status 0: each closed in order. */
static int close_all(const struct many *m, const pid_t *pid, long n)
{
	int status, rc = 0;
	long asked, ended;

	for (asked = ended = 0; ended < n; ended++) {
		while (asked < n && asked - ended < m->at_once)
			kill(pid[asked++], SIGUSR1);
		if (wait(&status) < 0)
			return 1;
		rc |= !WIFEXITED(status) || WEXITSTATUS(status);
	}
	return rc;
}

int many_open(struct many *m, int seconds)
{
	pid_t *pid = calloc((size_t)m->n, sizeof(*pid));
	struct opened *all = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
				  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	sigset_t go;
	long n;
	int rc;

	if (!pid || all == MAP_FAILED)
		return many_failed("memory", ENOMEM);
	if (pipe(all->news) < 0)
		return many_failed("pipe", errno);
	sigemptyset(&go);
	sigaddset(&go, SIGUSR1);
	sigprocmask(SIG_BLOCK, &go, NULL);
	many_begin(m);
	n = open_all(m, all, pid);
	m->verbs = n;
	many_end(m, "open");
	printf("opened %ld refused %ld\n", all->opened, all->refused);
	many_hold(n == m->n && !all->refused ? seconds : 0);
	many_begin(m);
	rc = close_all(m, pid, n);
	m->verbs = n;
	many_end(m, "end_open");
	free(pid);
	return rc || n < m->n || all->refused;
}
