/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * A worker process: one connection of one device.
 */
#ifndef BE_WORKER_H
#define BE_WORKER_H

#include "core/store.h"
#include "core/options.h"
#include "core/transport.h"

/**
 * be_worker_main() - serve opt->domid/devid until the connection ends
 * @store_open: how its store is opened
 * @transport_open: how its transport is opened
 *
 * Blocks signals, takes the lock file, runs the state diagram of vhcaif.h
 * once. Returns an exit code (core/options.h); the process must then exit.
 */
int be_worker_main(const struct be_options *opt, be_store_open_fn *store_open,
		   be_transport_open_fn *transport_open);

#endif
