// SPDX-License-Identifier: GPL-2.0
/* Copyright (C) 2026 The vhca authors */
#include <stdio.h>
#include <unistd.h>
#include "line.h"

#define TEXT	512

void vl_clean(char *s)
{
	for (; *s; s++)
		if (*s < 0x20 || *s > 0x7e)
			*s = '?';
}

static int on_terminal(void)
{
	static int tty = -1;	/* read once; all threads read the same */

	if (__atomic_load_n(&tty, __ATOMIC_RELAXED) < 0)
		__atomic_store_n(&tty, isatty(STDERR_FILENO), __ATOMIC_RELAXED);
	return __atomic_load_n(&tty, __ATOMIC_RELAXED);
}

void vl_line(int prio, const char *about, const char *fmt, va_list ap)
{
	char text[TEXT], line[TEXT + 96], head[8] = "";
	int n;

	vsnprintf(text, sizeof(text), fmt, ap);
	vl_clean(text);
	if (!on_terminal())
		snprintf(head, sizeof(head), "<%d>", prio & 7);
	n = snprintf(line, sizeof(line), "%s%.64s%s\n", head, about, text);
	/* One write per line, so that threads do not mix; errors cannot be reported. */
	if (write(STDERR_FILENO, line, (size_t)n) < 0)
		return;
}
