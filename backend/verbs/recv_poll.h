/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The receive thread moves receives of Soft-RoCE into the driver's queues
 * (verbs/recv_poll.c).
 */
#ifndef BE_RECV_POLL_H
#define BE_RECV_POLL_H

struct be_dev;

#define BE_RECV_POLL_NICE	(-10)
/* Move receives that the guest has posted into the driver's queues. Any thread,
 * without dev->lock; nothing to do before be_recv_poll_start(). */
void be_recv_poll_now(struct be_dev *dev);
int be_recv_poll_start(struct be_dev *dev);
void be_recv_poll_stop(struct be_dev *dev);

#endif
