// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "promised.h"

/* "| ROW | before | now | ..." of the table: now, or NULL. */
static const char *now_of(char *line, const char *row)
{
	size_t len = strlen(row);
	char *cell;

	if (strncmp(line, "| ", 2) || strncmp(line + 2, row, len) ||
	    strncmp(line + 2 + len, " |", 2))
		return NULL;
	cell = strchr(line + 2 + len + 2, '|');
	return cell ? cell + 1 : NULL;
}

static unsigned int table(const char *row)
{
	FILE *f = fopen(PROMISES, "re");
	const char *cell = NULL;
	unsigned int now = 0;
	char line[512];

	if (!f)
		fail_msg("cannot read " PROMISES);
	while (!cell && fgets(line, sizeof(line), f))
		cell = now_of(line, row);
	if (!cell || sscanf(cell, " %u |", &now) != 1)
		fail_msg("no row '%s' in " PROMISES, row);
	fclose(f);
	return now;
}

static void report(const char *row, unsigned int value)
{
	const char *dir = getenv("VHCA_COUNTS");
	char path[512];
	FILE *f;

	print_message("count: %s: %u\n", row, value);
	if (!dir)
		return;
	snprintf(path, sizeof(path), "%s/counts.txt", dir);
	f = fopen(path, "ae");
	if (!f)
		fail_msg("cannot write %s", path);
	fprintf(f, "%s: %u\n", row, value);
	fclose(f);
}

void promised(const char *row, unsigned int value)
{
	unsigned int now = table(row);

	report(row, value);
	if (value > now)
		fail_msg("%s: %u, %s promises %u", row, value, PROMISES, now);
}
