/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The kick thread passes entries of the kick ring to the HCA's driver (kick.c).
 */
#ifndef BE_KICK_H
#define BE_KICK_H

#include <stdbool.h>

struct be_dev;
struct xenvhca_kick;

/* Execute one kick; takes the read lock itself. Return: the send queue has more than
 * the driver's has room for. */
bool be_kick(struct be_dev *dev, const struct xenvhca_kick *k);
/* Execute the kicks that were in the ring when this was called: a command
 * must not overtake the posts made before it. Command thread; bounded. */
void be_kick_flush(struct be_dev *dev);
/* Starts the receive thread, too. */
int be_kick_start(struct be_dev *dev);
void be_kick_stop(struct be_dev *dev);

#endif
