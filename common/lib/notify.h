/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * What a daemon tells its service manager. Without a service manager nothing is
 * sent.
 */
#ifndef VL_NOTIFY_H
#define VL_NOTIFY_H

/**
 * vl_notify() - one word to the manager that $NOTIFY_SOCKET names
 * @text: lines of NAME=VALUE, as sd_notify(3) lists them
 * @fd: a file to go beside it, or -1
 *
 * Returns 0, also without a manager, or -errno.
 */
int vl_notify(const char *text, int fd);

/*
 * The service is up: whoever waits for it, as "systemctl start" does and units
 * with After=, goes on (systemd.service(5), Type=notify).
 */
#define VL_NOTIFY_READY	"READY=1\n"

#endif
