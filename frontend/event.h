/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Events of the backend, on their way to ib_core: how many may come, and which.
 */
#ifndef VHCA_EVENT_H
#define VHCA_EVENT_H

#include <xen/io/vhcaif.h>

#include "vhca.h"

/* evt_lock and the work for what is held back; it ends after the last upcall. */
void vhca_event_init(struct vhca_dev *dev);
void vhca_event_exit(struct vhca_dev *dev);
/* False: nobody was told; only such ones count as a spurious notification. */
bool vhca_event(struct vhca_dev *dev, const struct xenvhca_event *ev);
bool vhca_event_overflow(struct vhca_dev *dev);

#endif
