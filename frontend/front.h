/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The life of a device, for a store: each device has one struct vhca_front,
 * which outlives the connections to backends.
 */
#ifndef VHCA_FRONT_H
#define VHCA_FRONT_H

#include <xen/interface/io/xenbus.h>

struct vhca_front;
struct vhca_store;

/* Enters Initialising. ERR_PTR(-ENOMEM), or the error of the store. */
struct vhca_front *vhca_front_new(struct vhca_store *store);
/* The backend's state may have changed. Process context; does not sleep. */
void vhca_front_changed(struct vhca_front *front, enum xenbus_state theirs);
/* The domain is about to be suspended. Sleeps, bounded. */
void vhca_front_suspend(struct vhca_front *front);
/*
 * The device is removed: no notices come any more. A work ends it, which may take as
 * long as a process is in a verb; this does not wait. Then vhca_front_put().
 */
void vhca_front_end(struct vhca_front *front);
/* Waits for that work unless the connection breaks. Has it ended? Sleeps. */
bool vhca_front_ended(struct vhca_front *front);
/*
 * The store is not used any more: of its ops only remove() has an effect. @front, and
 * the store by its free(), are freed when the device has ended, too.
 */
void vhca_front_put(struct vhca_front *front);

int vhca_front_init(void);
/* Waits for all works that end devices. */
void vhca_front_exit(void);

#endif
