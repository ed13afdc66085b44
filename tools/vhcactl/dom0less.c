// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The file of vhcactl dom0less.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "dom0less.h"
#include "number.h"
#include "xenstore/scan.h"

#define LINE_SIZE	1024
#define MEMORY_MAX	(1u << 24)	/* MiB */
#define BLANKS		" \t\r"

/* A domain's number, which must be unique. */
static int parse_domid(const struct dom0less *all, const char *word,
		       unsigned int *domid, char *err)
{
	uint64_t id = 0;
	int i;

	if (!word || vl_parse_u64(word, 1, XN_FIRST_RESERVED_DOMID - 1, &id)) {
		snprintf(err, CTL_ERR_MAX,
			 "\"%s\": the number of a domain is needed: its place in the device tree, from 1 on",
			 word ? word : "");
		return -EINVAL;
	}
	for (i = 0; i < all->nr; i++)
		if (all->guest[i].domid == id)
			break;
	if (i < all->nr || all->own == id) {
		snprintf(err, CTL_ERR_MAX, "domain %u stands there twice",
			 (unsigned int)id);
		return -EINVAL;
	}
	*domid = (unsigned int)id;
	return 0;
}

static int parse_own(struct dom0less *all, char **rest, char *err)
{
	if (all->own) {
		snprintf(err, CTL_ERR_MAX, "a second own-domain");
		return -EINVAL;
	}
	return parse_domid(all, strtok_r(NULL, BLANKS, rest), &all->own, err);
}

static int parse_mib(const char *what, unsigned int *val, char **rest, char *err)
{
	const char *word = strtok_r(NULL, BLANKS, rest);
	uint64_t mib = 0;

	if (!word || vl_parse_u64(word, 1, MEMORY_MAX, &mib)) {
		snprintf(err, CTL_ERR_MAX, "%s \"%s\": MiB are needed, 1..%u", what,
			 word ? word : "", MEMORY_MAX);
		return -EINVAL;
	}
	*val = (unsigned int)mib;
	return 0;
}

static int parse_spec(struct dom0less_guest *g, const char *spec, char *err)
{
	struct ctl_conf conf;
	size_t n = strlen(spec);

	while (n && strchr(BLANKS, spec[n - 1]))
		n--;
	if (n >= sizeof(g->spec)) {
		snprintf(err, CTL_ERR_MAX, "its device is longer than %zu characters",
			 sizeof(g->spec) - 1);
		return -EINVAL;
	}
	memcpy(g->spec, spec, n);
	g->spec[n] = '\0';
	if (ctl_conf_parse(g->spec, &conf, err))
		return -EINVAL;
	if (conf.backend[0]) {
		snprintf(err, CTL_ERR_MAX, "backend=%s: it is own-domain, leave it out",
			 conf.backend);
		return -EINVAL;
	}
	return 0;
}

static int parse_guest(struct dom0less *all, char **rest, char *err)
{
	struct dom0less_guest *g = &all->guest[all->nr];
	const char *name, *spec;

	if (all->nr == DOM0LESS_GUESTS) {
		snprintf(err, CTL_ERR_MAX, "more than %d guests", DOM0LESS_GUESTS);
		return -EINVAL;
	}
	if (parse_domid(all, strtok_r(NULL, BLANKS, rest), &g->domid, err))
		return -EINVAL;
	name = strtok_r(NULL, BLANKS, rest);
	if (!name || strchr(name, '=') || strchr(name, '/') ||
	    strlen(name) >= sizeof(g->name)) {
		snprintf(err, CTL_ERR_MAX,
			 "\"%s\": guest NUMBER NAME [hca=HCA,...]: a name of less than %zu characters without = and /",
			 name ? name : "", sizeof(g->name));
		return -EINVAL;
	}
	snprintf(g->name, sizeof(g->name), "%s", name);
	all->nr++;
	spec = *rest + strspn(*rest, BLANKS);
	return *spec ? parse_spec(g, spec, err) : 0;
}

static int parse_line(struct dom0less *all, char *line, char *err)
{
	char *rest = NULL, *word = strtok_r(line, BLANKS, &rest);

	if (!word)
		return 0;
	if (!strcmp(word, "own-domain"))
		return parse_own(all, &rest, err);
	if (!strcmp(word, "no-xenstore")) {
		all->no_xenstore = true;
		return 0;
	}
	if (!strcmp(word, "memory"))
		return parse_mib(word, &all->memory, &rest, err);
	if (!strcmp(word, "guest-reserve"))
		return parse_mib(word, &all->guest_reserve, &rest, err);
	if (!strcmp(word, "guest"))
		return parse_guest(all, &rest, err);
	snprintf(err, CTL_ERR_MAX,
		 "\"%s\": own-domain, no-xenstore, memory, guest-reserve or guest is needed", word);
	return -EINVAL;
}

int ctl_dom0less_parse(const char *text, struct dom0less *all, char *err)
{
	char line[LINE_SIZE], why[CTL_ERR_MAX];
	unsigned int nr = 0;
	size_t n;

	memset(all, 0, sizeof(*all));
	for (; *text; text += n + (text[n] == '\n')) {
		nr++;
		n = strcspn(text, "\n");
		snprintf(why, sizeof(why), "longer than %zu characters",
			 sizeof(line) - 1);
		if (n < sizeof(line)) {
			memcpy(line, text, n);
			line[n] = '\0';
			line[strcspn(line, "#")] = '\0';
			if (!parse_line(all, line, why))
				continue;
		}
		snprintf(err, CTL_ERR_MAX, "line %u: %.*s", nr, CTL_ERR_MAX - 32, why);
		return -EINVAL;
	}
	if (all->own)
		return 0;
	snprintf(err, CTL_ERR_MAX,
		 "own-domain is missing: the number of the domain that has xenstored and the HCA");
	return -EINVAL;
}
