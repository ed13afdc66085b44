/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The process that starts and watches the workers.
 */
#ifndef BE_SUPERVISOR_H
#define BE_SUPERVISOR_H

#include "core/devices.h"
#include "core/options.h"

/**
 * be_supervisor_main() - run one worker per device until SIGTERM or SIGINT
 * @devices_open: how the devices of this domain are opened
 *
 * Takes the supervisor's lock. Returns an exit code (core/options.h).
 */
int be_supervisor_main(const struct be_options *opt,
		       be_devices_open_fn *devices_open);

#endif
