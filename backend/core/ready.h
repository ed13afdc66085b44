/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * What the guest was told about a file that may have events (core/ready.c): it
 * hears of the first one, and then no more until an answer says that there are
 * none. Two threads tell it, over two rings, so what they say has a number.
 */
#ifndef BE_READY_H
#define BE_READY_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct be_dev;

struct be_ready {
	pthread_mutex_t lock;		/* all below */
	int fd;				/* readable: there are events */
	uint32_t handle;		/* the guest's name of the file */
	uint8_t type;			/* XENVHCA_EVT_* */
	/* Are there some? Under the lock. NULL: if the file is readable. */
	bool (*has)(struct be_ready *t);
	uint16_t seq;
	bool told;			/* that it has some */
};

void be_ready_init(struct be_ready *t, uint8_t type, int fd, uint32_t handle);
void be_ready_fini(struct be_ready *t);
/* The file is readable: an event of the ring, if it is news. Event thread. */
void be_ready_event(struct be_dev *dev, struct be_ready *t);
/* For an answer: has it events now? And the number of this statement. */
bool be_ready_answer(struct be_ready *t, uint16_t *seq);

#endif
