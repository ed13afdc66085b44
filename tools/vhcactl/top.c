// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Rates and lines of vhcactl top (top.h), without terminal, xenstore and clock: all
 * input is in arguments.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "top.h"

#define FILE_MS		1000	/* a busy worker writes that often */
#define STALE_MS	2500	/* without a write nothing happened */
#define NAME	14	/* columns */
#define HCA	12
#define NAMES	"%5s %-14s %5s %-12s %-12s"	/* with the rates: 80 columns */

const char *const top_keys[TOP_RATES] = {
	[TOP_CMDS] = "cmds",
	[TOP_ERRORS] = "cmd_errors",
	[TOP_KICKS] = "kicks",
	[TOP_EVENTS] = "events",
};

void top_sample_fill(struct top_sample *s, struct json_object *stats,
		     int64_t mtime_ms, int64_t at_ms)
{
	int i;

	memset(s, 0, sizeof(*s));
	s->at_ms = at_ms;
	if (!stats)
		return;
	s->have = true;
	s->mtime_ms = mtime_ms;
	s->pid = ctl_stats_num(stats, NULL, "pid");
	for (i = 0; i < TOP_RATES; i++)
		s->count[i] = ctl_stats_num(stats, "counters", top_keys[i]);
}

void top_rate(const struct top_sample *old, struct top_sample *now)
{
	int64_t ms, most = now->at_ms - old->at_ms + FILE_MS;
	int i;

	now->rated = false;
	if (!old->have || !now->have || old->pid != now->pid)
		return;
	ms = now->mtime_ms - old->mtime_ms;
	if (ms <= 0) {
		now->rated = true;
		if (now->at_ms - now->mtime_ms < STALE_MS && old->rated)
			memcpy(now->rate, old->rate, sizeof(now->rate));
		return;
	}
	if (ms > most && most > 0)
		ms = most;
	for (i = 0; i < TOP_RATES; i++) {
		if (now->count[i] < old->count[i])
			return;
		now->rate[i] = (double)(now->count[i] - old->count[i]) *
			       1000.0 / (double)ms;
	}
	now->rated = true;
}

static int more(char *buf, size_t size, int len, const char *text)
{
	int n;

	if (len < 0 || (size_t)len >= size)
		return len;
	n = snprintf(buf + len, size - (size_t)len, "%s", text);
	return n < 0 ? len : len + n;
}

/* At most 6 characters: "12345", "123.4k", "12.3M". */
static void rate_text(const struct top_sample *s, enum top_rate k, char *text,
		      size_t size)
{
	double r = s->rate[k];

	if (!s->rated)
		snprintf(text, size, "%6s", "-");
	else if (r < 99999.5)
		snprintf(text, size, "%6.0f", r);
	else if (r < 999950.0)
		snprintf(text, size, "%5.1fk", r / 1e3);
	else
		snprintf(text, size, "%5.1fM", r / 1e6);
}

int top_head(char *buf, size_t size)
{
	return snprintf(buf, size, NAMES " %6s %6s %6s %6s", "DOMID", "NAME", "DEVID",
			"HCA", "BE-STATE", "CMD/s", "ERR/s", "KICK/s", "EVT/s");
}

struct uses {
	char *buf;
	size_t size;
	int len;
	bool full;
};

static void add_use(struct uses *u, const char *kind, uint64_t used, uint64_t max,
		    const char *unit)
{
	char text[96];

	if (!used)
		return;
	snprintf(text, sizeof(text), "%s%.16s %" PRIu64 "/%" PRIu64 "%s%s",
		 u->len ? ", " : "in use: ", kind, used, max, unit,
		 used < max ? "" : " (full)");
	u->len = more(u->buf, u->size, u->len, text);
	u->full |= used >= max;
}

void top_uses(const struct top_row *r, char *buf, size_t size)
{
	struct json_object *objects = ctl_stats_get(r->stats, "objects");
	struct uses u = { .buf = buf, .size = size };
	char text[80];

	buf[0] = '\0';
	add_use(&u, "memory", ctl_mb_of_pages(ctl_stats_num(r->stats, "pages", "used")),
		ctl_mb_of_pages(ctl_stats_num(r->stats, "pages", "max")), " MB");
	if (json_object_is_type(objects, json_type_object)) {
		json_object_object_foreach(objects, kind, val)
			add_use(&u, kind, ctl_stats_num(val, NULL, "used"),
				ctl_stats_num(val, NULL, "max"), "");
	}
	if (!u.full)
		return;
	snprintf(text, sizeof(text), "; raise a limit (vhcactl quota %u %u KEY=NUMBER)", r->dev.domid,
		 r->dev.devid);
	more(buf, size, u.len, text);
}

int top_line(const struct top_row *r, char *buf, size_t size)
{
	char domid[12], devid[12], text[64], name[NAME + 1], hca[HCA + 1];
	enum top_rate k;
	int len;

	snprintf(domid, sizeof(domid), "%u", r->dev.domid);
	snprintf(devid, sizeof(devid), "%u", r->dev.devid);
	len = snprintf(buf, size, NAMES, domid, ctl_cut(name, r->name[0] ? r->name : "-", NAME),
		       devid, ctl_cut(hca, r->hca, HCA), r->state);
	for (k = 0; k < TOP_RATES; k++) {
		len = more(buf, size, len, " ");
		rate_text(&r->sample, k, text, sizeof(text));
		len = more(buf, size, len, text);
	}
	return len;
}

struct json_object *top_json(const struct top_row *r)
{
	struct json_object *o = json_object_new_object(), *objects;
	char key[32];
	enum top_rate k;

	ctl_json_int(o, "domid", r->dev.domid);
	ctl_json_text(o, "name", r->name);
	ctl_json_int(o, "devid", r->dev.devid);
	ctl_json_text(o, "hca", r->hca);
	ctl_json_text(o, "backend_state", r->state);
	if (r->hint[0])
		ctl_json_text(o, "hint", r->hint);
	for (k = 0; k < TOP_RATES && r->sample.rated; k++) {
		snprintf(key, sizeof(key), "%s_per_s", top_keys[k]);
		json_object_object_add(o, key,
				       json_object_new_double(r->sample.rate[k]));
	}
	if (!r->stats)
		return o;
	ctl_json_int(o, "pinned_mb", (int64_t)ctl_mb_of_pages(
			ctl_stats_num(r->stats, "pages", "used")));
	ctl_json_int(o, "max_pinned_mb", (int64_t)ctl_mb_of_pages(
			ctl_stats_num(r->stats, "pages", "max")));
	objects = ctl_stats_get(r->stats, "objects");
	if (objects)
		json_object_object_add(o, "objects", json_object_get(objects));
	return o;
}
