/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The life of a device, for a link: each device has one struct vhca_front,
 * which outlives the connections to backends.
 */
#ifndef VHCA_FRONT_H
#define VHCA_FRONT_H

#include <xen/interface/io/xenbus.h>

struct vhca_front;
struct vhca_link;

/* Enters Initialising. ERR_PTR(-ENOMEM), or what the link refused with. */
struct vhca_front *vhca_front_new(struct vhca_link *link);
/* The backend's state may have changed. Process context; does not sleep. */
void vhca_front_changed(struct vhca_front *front, enum xenbus_state theirs);
/* The domain is about to be suspended. Sleeps, bounded. */
void vhca_front_suspend(struct vhca_front *front);
/* Ends device and front. No change is told any more. Sleeps, bounded. */
void vhca_front_remove(struct vhca_front *front);

#endif
