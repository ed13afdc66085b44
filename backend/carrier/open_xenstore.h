/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Where a toolstack configures devices: the directories of xenstore below
 * backend/vhca. main.c hands these to the supervisor and to the workers, which
 * know only what they open.
 */
#ifndef BE_OPEN_XENSTORE_H
#define BE_OPEN_XENSTORE_H

#include "core/devices.h"
#include "core/store.h"

be_devices_open_fn be_devices_xenstore;
be_store_open_fn be_store_xenstore;

#endif
