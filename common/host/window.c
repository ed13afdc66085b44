// SPDX-License-Identifier: GPL-2.0
/* Copyright (C) 2026 The vhca authors */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "host/window.h"

#define BLANKS		" \t"
#define MOST_FRAMES	(1ull << 40)	/* 52 address bits */
#define MOST_PAGES	(1ull << 20)	/* a BAR of 4 GiB */

/* Returns the next number and advances *text. 0: there is none, or it is malformed. */
static uint64_t frames_next(const char **text)
{
	static const char digits[] = "0123456789abcdefABCDEF";
	uint64_t val;
	size_t len;

	*text += strspn(*text, BLANKS);
	if ((*text)[0] != '0' || (*text)[1] != 'x')
		return 0;
	*text += 2;
	len = strspn(*text, digits);
	if (!len)
		return 0;
	/* strtoull() returns the largest number on overflow, which is refused below. */
	val = strtoull(*text, NULL, 16);
	*text += len;
	return **text && !strchr(BLANKS, **text) ? 0 : val;
}

int host_window_parse(const char *text, struct host_window *w)
{
	uint64_t mfn = frames_next(&text), gfn = mfn ? frames_next(&text) : 0;
	uint64_t nr = gfn ? frames_next(&text) : 0;

	text += strspn(text, BLANKS);
	if (!nr || *text || nr > MOST_PAGES || mfn > MOST_FRAMES - nr ||
	    gfn > MOST_FRAMES - nr)
		return -EINVAL;
	*w = (struct host_window){ .mfn = mfn, .gfn = gfn, .nr = nr };
	return 0;
}
