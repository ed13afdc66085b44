// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Concurrent commands write to xenstore one at a time. Each adds or removes a name in
 * directories that all share; of such transactions xenstored commits one, and all others
 * start again. Of 64 concurrent attaches, as when a host starts its guests, some would
 * conflict until xn_transact() fails.
 */
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <unistd.h>
#include "file.h"
#include "ctl.h"

#define LOCK_SECONDS	30

static void wake(int sig)
{
	(void)sig;
}

/*
 * The lock only avoids conflicts, so the wait for it is bounded. Returns the fd, which
 * frees the lock when it is closed; < 0: no lock.
 */
static int lock(const char *path)
{
	struct sigaction to_wake = { .sa_handler = wake }, old;
	int fd = vl_file_open(path, O_RDWR | O_CREAT);

	if (fd < 0)
		return fd;
	/* Without SA_RESTART the signal interrupts flock(). */
	sigaction(SIGALRM, &to_wake, &old);
	alarm(LOCK_SECONDS);
	flock(fd, LOCK_EX);
	alarm(0);
	sigaction(SIGALRM, &old, NULL);
	return fd;
}

int ctl_transact(struct ctl *c,
		 int (*fn)(struct xs_handle *xs, xs_transaction_t t, void *arg),
		 void *arg)
{
	int fd = c->lock ? lock(c->lock) : -1;
	int rc = xn_transact(c->xs, fn, arg);

	if (fd >= 0)
		close(fd);
	return rc;
}
