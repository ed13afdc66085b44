// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Reads the domain's name and its devices, vhca = [ "hca=...", ... ], from an xl
 * configuration file, for an xl that does not know vhca devices. The
 * syntax is xl.cfg(5): KEY = VALUE, VALUE a quoted string, a number or a list
 * in brackets over several lines; # begins a comment. libxlutil is not used,
 * because it binds a program to one version of Xen; a unit test compares with
 * it. The text is the operator's own; mistakes in other keys are left to xl.
 */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "ctl.h"

struct parse {
	const char *start, *p;
	struct ctl_cfg *cfg;
	const char *key;	/* of the value that is read now */
	char *err;
};

static int line_of(const struct parse *s, const char *where)
{
	const char *p;
	int n = 1;

	for (p = s->start; p < where; p++)
		n += *p == '\n';
	return n;
}

__attribute__((format(printf, 3, 4)))
static int fail(const struct parse *s, const char *where, const char *fmt, ...)
{
	va_list ap;
	int n;

	n = snprintf(s->err, CTL_ERR_MAX, "%d: %s: ", line_of(s, where),
		     s->key);
	va_start(ap, fmt);
	vsnprintf(s->err + n, CTL_ERR_MAX - (size_t)n, fmt, ap);
	va_end(ap);
	return -EINVAL;
}

/* Blanks and comments; with lines also ends of lines and semicolons. */
static void skip_blank(struct parse *s, bool lines)
{
	for (;; s->p++) {
		if (*s->p == '#')
			s->p += strcspn(s->p, "\n");
		if (*s->p == ' ' || *s->p == '\t' || *s->p == '\r' ||
		    (lines && (*s->p == '\n' || *s->p == ';')))
			continue;
		return;
	}
}

/*
 * The meaning of a backslash and c; '\0': none. Numbers of characters are refused,
 * because libxlutil converts them differently.
 */
static char escaped(char c)
{
	static const char from[] = "abfnrtv'\"\\", to[] = "\a\b\f\n\r\t\v'\"\\";
	const char *at = c ? strchr(from, c) : NULL;

	return at ? to[at - from] : '\0';
}

/* A quoted string or a plain word at p, which ends behind it. */
static int take_word(struct parse *s, char *dst, size_t size)
{
	const char *from = s->p;
	char quote = *s->p == '"' || *s->p == '\'' ? *s->p : '\0', c;
	size_t len = 0;

	s->p += quote != '\0';
	for (;;) {
		if (quote ? *s->p == quote : !!strchr(" \t\r\n#;,[]", *s->p))
			break;
		if (!*s->p || *s->p == '\n')
			return fail(s, from, "the string has no closing %c",
				    quote);
		c = *s->p++;
		if (c == '\\' && quote && *s->p && *s->p != '\n')
			c = escaped(*s->p++);
		if (!c)
			return fail(s, from, "\\%c in a string means nothing",
				    s->p[-1]);
		if (len + 1 >= size)
			return fail(s, from, "\"%.20s...\" is too long",
				    from + (quote != '\0'));
		dst[len++] = c;
	}
	dst[len] = '\0';
	s->p += quote != '\0';
	return 0;
}

static int take_spec(struct parse *s)
{
	struct ctl_cfg *cfg = s->cfg;

	if (cfg->nr == CTL_CFG_MAX)
		return fail(s, s->p, "at most %d devices", CTL_CFG_MAX);
	cfg->line[cfg->nr] = line_of(s, s->p);
	return take_word(s, cfg->spec[cfg->nr++], sizeof(cfg->spec[0]));
}

/* The items of vhca = [ ... ], from behind the bracket. */
static int take_list(struct parse *s)
{
	const char *from = s->p;
	int rc = 0;

	for (skip_blank(s, true); *s->p != ']' && !rc; skip_blank(s, true)) {
		if (!*s->p)
			return fail(s, from, "the list has no ]");
		if (*s->p == '[')
			return fail(s, s->p, "a list in the list; strings \"hca=NAME,...\" are needed");
		if (*s->p == ',')
			s->p++;
		else
			rc = take_spec(s);
	}
	s->p += !rc;
	return rc;
}

/* Skips a value of another key, over strings and lists. */
static void skip_value(struct parse *s)
{
	int depth = 0;
	char quote;

	for (; *s->p; s->p++) {
		if (*s->p == '"' || *s->p == '\'') {
			quote = *s->p;
			while (*++s->p && *s->p != quote && *s->p != '\n')
				s->p += *s->p == '\\' && s->p[1];
			if (*s->p != quote)
				return;
		} else if (*s->p == '#') {
			s->p += strcspn(s->p, "\n") - 1;
		} else if (*s->p == '[') {
			depth++;
		} else if (*s->p == ']') {
			depth -= depth > 0;
		} else if (!depth && (*s->p == '\n' || *s->p == ';')) {
			return;
		}
	}
}

static int take_value(struct parse *s, bool append)
{
	if (!strcmp(s->key, "name") && *s->p != '[')
		return take_word(s, s->cfg->name, sizeof(s->cfg->name));
	if (strcmp(s->key, "vhca")) {
		skip_value(s);
		return 0;
	}
	if (*s->p != '[')
		return fail(s, s->p, "a list is needed: vhca = [ \"hca=NAME,...\" ]");
	if (!append)
		s->cfg->nr = 0;		/* the last one counts */
	s->p++;
	return take_list(s);
}

int ctl_cfg_parse(const char *text, struct ctl_cfg *cfg, char *err)
{
	struct parse s = { .start = text, .p = text, .cfg = cfg, .err = err };
	char key[32];
	bool append;
	size_t len;
	int rc = 0;

	memset(cfg, 0, sizeof(*cfg));
	for (skip_blank(&s, true); *s.p && !rc; skip_blank(&s, true)) {
		for (len = 0; isalnum((unsigned char)s.p[len]) ||
		     s.p[len] == '_'; len++)
			;
		snprintf(key, sizeof(key), "%.*s", (int)len, s.p);
		s.key = key;
		s.p += len;
		skip_blank(&s, false);
		append = *s.p == '+';
		s.p += append;
		if (!len || *s.p != '=') {
			skip_value(&s);
			continue;
		}
		s.p++;
		skip_blank(&s, false);
		rc = take_value(&s, append);
	}
	return rc;
}
