// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The output of vhcactl: messages on stderr, answers on stdout as JSON or as lines
 * "name.name value". Other domains, and workers that a guest took over, write some of
 * it, which may contain control sequences of terminals. So only this file, ctl_top.c
 * and openmetrics.c print, as printable ASCII.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "ctl.h"
#include "line.h"

static void put_line(FILE *f, const char *fmt, va_list ap)
{
	char *text = NULL;

	if (vasprintf(&text, fmt, ap) < 0)
		return;
	vl_clean(text);
	fprintf(f, "%s\n", text);
	free(text);
}

int ctl_error(enum ctl_exit rc, const char *fmt, ...)
{
	va_list ap;

	fflush(stdout);
	fputs("vhcactl: ", stderr);
	va_start(ap, fmt);
	put_line(stderr, fmt, ap);
	va_end(ap);
	return rc;
}

void ctl_say(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	put_line(stdout, fmt, ap);
	va_end(ap);
}

/* The last blank of the first width + 1 letters; whole: outside of parentheses. 0: none. */
static size_t last_blank(const char *p, size_t width, bool whole)
{
	size_t i, last = 0;
	int depth = 0;

	for (i = 0; i <= width; i++) {
		depth += (p[i] == '(') - (p[i] == ')');
		if (p[i] == ' ' && (!whole || depth <= 0))
			last = i;
	}
	return last;
}

size_t ctl_wrap(const char **text, size_t width)
{
	const char *p = *text + strspn(*text, " ");
	size_t len = strlen(p), end = len;

	if (len > width)
		end = last_blank(p, width, true);
	if (!end && len)
		end = last_blank(p, width, false);
	if (!end && len)
		end = width;
	*text = p + end;
	return end;
}

void ctl_say_wrapped(const char *head, const char *text)
{
	int at = (int)strlen(head), first = 1;
	size_t width = at < CTL_COLUMNS / 2 ? (size_t)(CTL_COLUMNS - at) : CTL_COLUMNS / 2;
	const char *p = text;
	size_t n;

	while ((n = ctl_wrap(&p, width)) || first) {
		ctl_say("%*s%.*s", at, first ? head : "", (int)n, p - n);
		first = 0;
	}
}

char *ctl_cut(char *buf, const char *text, size_t width)
{
	if (snprintf(buf, width + 1, "%s", text) > (int)width)
		buf[width - 1] = '+';
	return buf;
}

/* Newlines are the library's, which escapes those of a text. */
void ctl_put_json(struct json_object *obj, int flags)
{
	char *text, *line, *next;

	text = next = strdup(json_object_to_json_string_ext(obj, flags));
	while ((line = strsep(&next, "\n"))) {
		vl_clean(line);
		puts(line);
	}
	free(text);
	json_object_put(obj);
}

void ctl_print_json(struct json_object *obj)
{
	ctl_put_json(obj, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED |
			  JSON_C_TO_STRING_NOSLASHESCAPE);
}

/* prefix: "" or "name.name." */
static void print_object(struct json_object *obj, const char *prefix)
{
	char name[XN_PATH_MAX], head[XN_PATH_MAX];

	json_object_object_foreach(obj, key, val) {
		if (snprintf(name, sizeof(name), "%s%s.", prefix, key) >=
		    (int)sizeof(name))
			continue;
		if (json_object_is_type(val, json_type_object)) {
			print_object(val, name);
			continue;
		}
		name[strlen(name) - 1] = '\0';
		snprintf(head, sizeof(head), "%-28s ", name);
		ctl_say_wrapped(head, val ? json_object_get_string(val) : "null");
	}
}

void ctl_print_flat(struct json_object *obj)
{
	print_object(obj, "");
	json_object_put(obj);
}

void ctl_json_int(struct json_object *o, const char *key, int64_t val)
{
	json_object_object_add(o, key, json_object_new_int64(val));
}

struct json_object *ctl_json_dev(const struct ctl_dev *d)
{
	struct json_object *o = json_object_new_object();

	ctl_json_int(o, "domid", d->domid);
	ctl_json_int(o, "devid", d->devid);
	ctl_json_int(o, "backend", d->backend);
	return o;
}

void ctl_json_text(struct json_object *o, const char *key, const char *val)
{
	json_object_object_add(o, key, json_object_new_string(val));
}
