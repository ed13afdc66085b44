/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * A worker that is started before anybody knows for which device. To fork, to execute
 * the program and to link it is a quarter of what an attach takes, and is done by then.
 * One that dies is replaced after the next attach, which is served without it.
 */
#ifndef BE_AHEAD_H
#define BE_AHEAD_H

#include "process.h"

/* The process, and our end of the socket by which it hears; all zero: there is none. */
struct be_ahead {
	struct be_process p;
	int fd;
};

/* The supervisor, if there is none. 0 or -errno. */
int be_ahead_start(struct be_ahead *a, const struct be_options *opt);
/**
 * be_ahead_use() - have it serve a device, as be_process_start() would
 * @p: the process from now on
 *
 * Return: 0; -errno: there is none, or it ended; there is none then.
 */
int be_ahead_use(struct be_ahead *a, struct be_process *p, unsigned int domid,
		 unsigned int devid, unsigned int left_uars,
		 const struct be_guard *guard);
/* Ends it, if there is one. */
void be_ahead_stop(struct be_ahead *a);

/**
 * be_ahead_wait() - in such a worker: until the supervisor names a device
 * @fd: of the socket; closed
 * @opt: domid, devid, left_uars and helper_fd are filled in
 *
 * Return: 0; -errno: there is no supervisor any more, nor will there be a device.
 */
int be_ahead_wait(int fd, struct be_options *opt);

#endif
