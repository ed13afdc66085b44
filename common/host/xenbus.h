/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Names of the states of both ends of a device.
 */
#ifndef HOST_XENBUS_H
#define HOST_XENBUS_H

#include <xen/io/xenbus.h>

/* "InitWait" etc., "Unknown" for anything else. */
const char *host_state_name(enum xenbus_state s);

#endif
