/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * What all devices of this domain share, and a device's part of it.
 */
#ifndef BE_SHARE_H
#define BE_SHARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "core/devices.h"
#include "core/options.h"

/**
 * be_share_check() - does a device fit beside the others?
 * @want: what the toolstack wrote for it
 * @mb: what all others may map
 * @uars: doorbell pages of its HCA that others may take or have left
 * @why: a message for the operator, if it does not
 * Return: true if it fits.
 */
bool be_share_check(const struct be_options *opt, const struct be_share *want,
		    uint64_t mb, uint64_t uars, char *why, size_t size);

#define BE_SPINNERS	2	/* threads of a worker that may poll: commands, kicks */

/**
 * be_share_spinners() - how many threads of one more worker may poll at once
 * @cpus: processors of this domain; with one, polling keeps the guest's answer away
 * @others: of all other workers, that may
 * Return: with those of the others, fewer than there are processors.
 */
unsigned int be_share_spinners(long cpus, unsigned int others);

#endif
