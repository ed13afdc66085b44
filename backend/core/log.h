/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Lines on stderr, which systemd logs: "d<dom>/<dev> <op> <id>: text".
 */
#ifndef BE_LOG_H
#define BE_LOG_H

enum be_log_level { BE_ERR, BE_WARN, BE_INFO, BE_DEBUG };
extern enum be_log_level be_log_level;
struct be_dev;
void be_log(const struct be_dev *dev, enum be_log_level level,
	    const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* As be_log, at most 10 lines per second and device; then a count. */
void be_log_peer(struct be_dev *dev, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

#endif
