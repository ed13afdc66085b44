/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * How a daemon reports something: one line on stderr, which systemd puts into
 * the journal. Any thread may call this.
 */
#ifndef VL_LINE_H
#define VL_LINE_H

#include <stdarg.h>

/* What is not printable ASCII, as other domains' strings may have, becomes '?'. */
void vl_clean(char *text);
/**
 * vl_line() - write one line
 * @prio: of syslog (LOG_ERR to LOG_DEBUG); a terminal does not see it
 * @about: what it is about, put before the text, or ""
 * @fmt: the text, as vl_clean() leaves it; what is beyond 511 characters is cut off
 */
void vl_line(int prio, const char *about, const char *fmt, va_list ap)
	__attribute__((format(printf, 3, 0)));

#endif
