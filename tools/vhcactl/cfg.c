// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Reads from an xl configuration file what xl itself ignores when it does
 * not know vhca devices: vhca = [ "hca=...", ... ], and the domain's name.
 * The syntax is xl.cfg(5): KEY = VALUE, VALUE a quoted string, a number or a
 * list in brackets over several lines; # begins a comment. The text is the
 * operator's own; mistakes in other keys are left to xl.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "ctl.h"

/* Blanks and comments; with lines also ends of lines and semicolons. */
static const char *skip_blank(const char *p, bool lines)
{
	for (;;) {
		if (*p == '#')
			p += strcspn(p, "\n");
		else if (*p == ' ' || *p == '\t' || *p == '\r' ||
			 (lines && (*p == '\n' || *p == ';')))
			p++;
		else
			return p;
	}
}

/* Behind a string or a plain word; *text and *len are what is in it. */
static const char *take_word(const char *p, const char **text, size_t *len)
{
	char quote[2] = { *p, '\0' };

	if (*p != '"' && *p != '\'') {
		*text = p;
		*len = strcspn(p, " \t\r\n#;,[]");
		return p + *len;
	}
	*text = p + 1;
	*len = strcspn(p + 1, quote);
	return p[1 + *len] ? p + *len + 2 : p + *len + 1;
}

static int take_text(const char *key, char *dst, size_t size, const char *text,
		     size_t len, char *err)
{
	if (len >= size) {
		snprintf(err, CTL_ERR_MAX, "%s: \"%.20s...\" is too long", key,
			 text);
		return -EINVAL;
	}
	memcpy(dst, text, len);
	dst[len] = '\0';
	return 0;
}

static int take_spec(struct ctl_cfg *cfg, const char *text, size_t len,
		     char *err)
{
	if (cfg->nr == CTL_CFG_MAX) {
		snprintf(err, CTL_ERR_MAX, "vhca: at most %d devices",
			 CTL_CFG_MAX);
		return -EINVAL;
	}
	return take_text("vhca", cfg->spec[cfg->nr++], sizeof(cfg->spec[0]),
			 text, len, err);
}

/* A value of key; cfg is NULL where the value does not matter. */
static int take_value(const char **pos, const char *key, struct ctl_cfg *cfg,
		      char *err)
{
	const char *p = *pos, *text;
	bool vhca = cfg && !strcmp(key, "vhca"), list = *p == '[';
	size_t len;
	int rc = 0;

	if (list)
		p = skip_blank(p + 1, true);
	while (*p && *p != ']' && !rc) {
		if (*p == ',' || *p == '[') {
			p = skip_blank(p + 1, list);
			continue;
		}
		p = take_word(p, &text, &len);
		if (vhca)
			rc = take_spec(cfg, text, len, err);
		else if (cfg && !list)
			rc = take_text(key, cfg->name, sizeof(cfg->name), text,
				       len, err);
		p = skip_blank(p, list);
		if (!list)
			break;
	}
	if (vhca && list && *p != ']' && !rc) {
		snprintf(err, CTL_ERR_MAX, "vhca: the list has no ]");
		rc = -EINVAL;
	}
	*pos = p + (list && *p == ']');
	return rc;
}

static size_t key_length(const char *p)
{
	size_t len = 0;

	while (isalnum((unsigned char)p[len]) || p[len] == '_')
		len++;
	return len;
}

int ctl_cfg_parse(const char *text, struct ctl_cfg *cfg, char *err)
{
	const char *p = text;
	char key[32];
	size_t len;
	int rc;

	memset(cfg, 0, sizeof(*cfg));
	for (p = skip_blank(p, true); *p; p = skip_blank(p, true)) {
		len = key_length(p);
		snprintf(key, sizeof(key), "%.*s", (int)len, p);
		p = skip_blank(p + len, false);
		p += *p == '+';
		if (!len || *p != '=') {
			p += *p ? strcspn(p, "\n") : 0;
			continue;
		}
		if (!strcmp(key, "vhca"))
			cfg->nr = p[-1] == '+' ? cfg->nr : 0;
		p = skip_blank(p + 1, false);
		rc = take_value(&p, key, !strcmp(key, "vhca") ||
				!strcmp(key, "name") ? cfg : NULL, err);
		if (rc)
			return rc;
	}
	return 0;
}
