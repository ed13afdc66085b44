/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The transport of guests of Xen: grants and event channels (ring_xen.c). main.c hands
 * it to the workers, which know only what they open.
 */
#ifndef BE_OPEN_XEN_H
#define BE_OPEN_XEN_H

#include "core/transport.h"

be_transport_open_fn be_xen_open;

#endif
