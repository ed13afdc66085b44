// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Names of the states of both ends of a device (xenbus.h).
 */
#include "xenbus.h"

const char *host_state_name(enum xenbus_state s)
{
	static const char *const name[] = {
		[XenbusStateUnknown] = "Unknown",
		[XenbusStateInitialising] = "Initialising",
		[XenbusStateInitWait] = "InitWait",
		[XenbusStateInitialised] = "Initialised",
		[XenbusStateConnected] = "Connected",
		[XenbusStateClosing] = "Closing",
		[XenbusStateClosed] = "Closed",
	};

	return (unsigned int)s <= XenbusStateClosed ? name[s] : "Unknown";
}
