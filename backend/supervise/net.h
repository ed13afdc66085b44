/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * What the supervisor knows of a device's addresses on the HCA's network.
 */
#ifndef BE_NET_H
#define BE_NET_H

#include <stdbool.h>
#include <stdint.h>
#include "core/devices.h"
#include "process.h"

struct sup_dev;

struct be_net {
	struct be_network want;		/* as of the last time that it was put up */
	bool on;			/* something may be there */
	bool current;			/* and it is all that want says */
	bool told;			/* why it is not */
	bool followed;			/* the script knows what happened to the vif */
	bool vif;			/* it knows one, or nobody knows what it knows */
	bool vif_told;			/* why the vif is not followed */
	uint64_t next_ns;		/* not before, after a failure */
};

/* What the script does: VIF is what ADD does with the vif, alone. */
enum be_net_verb { NET_ADD, NET_REMOVE, NET_VIF };

/* The script that runs; one at a time, so that no two disagree. */
struct be_net_job {
	struct be_process p;
	struct sup_dev *dev;
	enum be_net_verb verb;
	int out;			/* what it says */
	uint64_t end_ns;		/* when it is killed */
};

#endif
