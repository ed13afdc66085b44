/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The event thread: from the verbs files of contexts to the event ring
 * (core/event.c).
 */
#ifndef BE_EVENT_H
#define BE_EVENT_H

#include <stdbool.h>
#include <stdint.h>

struct be_dev;
struct be_obj;
struct be_ready;
struct xenvhca_event;

/* Register / forget the verbs fds (comp channel, async) of a ucontext;
 * called by ucontext.c. Switches the fd to O_NONBLOCK. Call be_event_del()
 * before the fd is closed. Before be_event_start() there is nobody to listen:
 * 0. The descriptors name wire handles, so the thread takes no other lock. */
int be_event_add(struct be_dev *dev, int fd, struct be_obj *uc, bool async);
void be_event_del(struct be_dev *dev, int fd);
/* The same for a file of which the guest is told by be_ready_event() that it has
 * events, but not which. */
int be_event_add_ready(struct be_dev *dev, struct be_ready *ready);
int be_event_start(struct be_dev *dev);
void be_event_stop(struct be_dev *dev);

/* ---- event_put.c: any thread ---- */
/* @over: though the rate does not allow it. 0, or of put_event(). */
int be_event_try(struct be_dev *dev, const struct xenvhca_event *ev, bool over);
/* Queue an event to the guest (quota, overflow). */
void be_event_push(struct be_dev *dev, uint8_t type, uint8_t event,
		   uint32_t handle);
void be_event_put(struct be_dev *dev, const struct xenvhca_event *ev);

#endif
