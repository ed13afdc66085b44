/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Messages of a daemon to its service manager. Without one nothing is sent.
 */
#ifndef VL_NOTIFY_H
#define VL_NOTIFY_H

/**
 * vl_notify() - send a message to the manager that $NOTIFY_SOCKET names
 * @text: lines of NAME=VALUE, as sd_notify(3) lists them
 * @fd: a file to send with it, or -1
 *
 * Returns 0, also without a manager, or -errno.
 */
int vl_notify(const char *text, int fd);

/*
 * The service is up: "systemctl start" and units with After= stop waiting
 * (systemd.service(5), Type=notify).
 */
#define VL_NOTIFY_READY	"READY=1\n"

#endif
