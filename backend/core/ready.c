// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * See ready.h. The event thread and whoever executes the commands of the file run
 * this.
 */
#include <poll.h>

#include "be.h"
#include "event.h"
#include "ready.h"

void be_ready_init(struct be_ready *t, uint8_t type, int fd, uint32_t handle)
{
	*t = (struct be_ready){ .fd = fd, .handle = handle, .type = type };
	pthread_mutex_init(&t->lock, NULL);
}

void be_ready_fini(struct be_ready *t)
{
	pthread_mutex_destroy(&t->lock);
}

static bool has_events(struct be_ready *t)
{
	struct pollfd p = { .fd = t->fd, .events = POLLIN };

	return t->has ? t->has(t) : poll(&p, 1, 0) > 0;
}

void be_ready_event(struct be_dev *dev, struct be_ready *t)
{
	struct xenvhca_event ev = {
		.type = t->type, .handle = t->handle,
	};

	pthread_mutex_lock(&t->lock);
	if (has_events(t) && !t->told) {
		t->told = true;
		ev.seq = ++t->seq;
		be_event_put(dev, &ev);
	}
	pthread_mutex_unlock(&t->lock);
}

bool be_ready_answer(struct be_ready *t, uint16_t *seq)
{
	bool has;

	pthread_mutex_lock(&t->lock);
	has = has_events(t);
	t->told = has;
	*seq = ++t->seq;
	pthread_mutex_unlock(&t->lock);
	return has;
}
