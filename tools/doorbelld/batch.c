// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Lists of requests and answers as text (batch.h).
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "batch.h"
#include "number.h"
#include "vhca-agent.h"

/* A number of 19 digits, a blank, an answer, ";" for each: all fit. */
_Static_assert(XENVHCA_DOORBELL_BATCH * (19 + 1 + DBA_ANSWER) <=
	       XENVHCA_DOORBELL_TEXT, "answers do not fit into a node");

/* The word at *s; advances *s behind it. NULL: there is nothing behind it. */
static char *word(char **s)
{
	char *w = strsep(s, " ");

	return *s ? w : NULL;
}

static int parse_number(const char *s, uint64_t *n)
{
	return s ? vl_parse_u64(s, 0, UINT64_MAX, n) : -EINVAL;
}

static int parse_entry(char *s, uint64_t after, struct dba_entry *e)
{
	const char *slot;

	memset(e, 0, sizeof(*e));
	if (parse_number(word(&s), &e->n) || e->n <= after)
		return -EINVAL;
	slot = word(&s);
	if (!slot)
		return -EINVAL;
	if (!strcmp(slot, XENVHCA_DOORBELL_ALL))
		e->slot = DBA_ALL;
	else if (dba_parse_slot(slot, &e->slot))
		e->slot = DBA_NO_SLOT;
	e->request = s;
	return 0;
}

int dba_batch_parse(struct dba_batch *b)
{
	char *rest = b->requests[0] ? b->requests : NULL, *s;
	uint64_t after = 0;

	b->n = 0;
	while ((s = strsep(&rest, ";"))) {
		if (b->n == XENVHCA_DOORBELL_BATCH ||
		    parse_entry(s, after, &b->e[b->n])) {
			b->n = 0;
			return -EINVAL;
		}
		after = b->e[b->n++].n;
	}
	return 0;
}

void dba_batch_match(struct dba_batch *b)
{
	char *rest = b->answers, *s;
	unsigned int i;
	uint64_t n;

	while ((s = strsep(&rest, ";"))) {
		if (parse_number(word(&s), &n) || strlen(s) >= DBA_ANSWER)
			continue;
		for (i = 0; i < b->n; i++)
			if (b->e[i].n == n)
				b->e[i].answer = s;
	}
}

void dba_batch_text(const struct dba_batch *b,
		    char text[XENVHCA_DOORBELL_TEXT + 1])
{
	const size_t size = XENVHCA_DOORBELL_TEXT + 1;
	unsigned int i;
	size_t len = 0;

	text[0] = '\0';
	if (b->refused)
		snprintf(text, size, "0 " XENVHCA_DOORBELL_REFUSED " %s",
			 dba_reason_text(DBA_SYNTAX));
	for (i = 0; i < b->n; i++) {
		if (!b->e[i].answer)
			continue;
		len += (size_t)snprintf(text + len, size - len,
					"%s%" PRIu64 " %s", len ? ";" : "",
					b->e[i].n, b->e[i].answer);
	}
}
