/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Log messages of a daemon: one line on stderr, which systemd puts into the journal.
 * Any thread may call this.
 */
#ifndef VL_LINE_H
#define VL_LINE_H

#include <stdarg.h>

/* Replaces characters that are not printable ASCII by '?': texts of other domains. */
void vl_clean(char *text);
/**
 * vl_line() - write one line
 * @prio: of syslog (LOG_ERR to LOG_DEBUG); a terminal does not see it
 * @about: the subject, put before the text, or ""
 * @fmt: the text, which vl_clean() cleans; cut at 511 characters
 */
void vl_line(int prio, const char *about, const char *fmt, va_list ap)
	__attribute__((format(printf, 3, 0)));

#endif
