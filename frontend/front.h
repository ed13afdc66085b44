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
/*
 * The device is removed: no change is told any more. A work ends it, which may take as
 * long as a process stands in a verb; nobody waits here. Then vhca_front_put().
 */
void vhca_front_end(struct vhca_front *front);
/* Waits for that, as long as the backend takes part in it. Has it ended? Sleeps. */
bool vhca_front_ended(struct vhca_front *front);
/*
 * Whoever removed the device is done with the link, whose ops do nothing any more but
 * remove(). @front, and the link by its free(), are gone when the device has ended, too.
 */
void vhca_front_put(struct vhca_front *front);

int vhca_front_init(void);
/* Waits for all that are not gone yet. */
void vhca_front_exit(void);

#endif
