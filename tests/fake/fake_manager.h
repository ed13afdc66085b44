/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * A service manager: the socket that $NOTIFY_SOCKET names.
 */
#ifndef FAKE_MANAGER_H
#define FAKE_MANAGER_H

/* Its end of the socket, for the caller to close, or -1. */
int fake_manager(void);

#endif
