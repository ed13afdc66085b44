// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * xenstore in memory (fake_xs.h). Linked before libxenstore, so that code
 * under test calls these. A full table ends the test.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xenstore.h>
#include "fake_xs.h"

#define MAX_NODES	4096
#define MAX_WATCHES	128
#define MAX_EVENTS	4096
#define PATH		128
#define VALUE		512

static struct { char path[PATH], value[VALUE]; } nodes[MAX_NODES];
static struct { char path[PATH], token[32]; } watches[MAX_WATCHES];
static struct { char path[PATH], token[32]; } events[MAX_EVENTS];
static int n_nodes, n_watches, n_events, next_event, broken;
static unsigned int commits, outside, no_start, requests;
static bool unprivileged;

static void full(const char *what)
{
	fprintf(stderr, "fake_xs: too many %s\n", what);
	abort();
}

void fake_xs_reset(void)
{
	n_nodes = n_watches = n_events = next_event = broken = 0;
	commits = outside = no_start = requests = 0;
	unprivileged = false;
}

void fake_xs_break(int err)
{
	broken = err;
}

void fake_xs_unprivileged(bool yes)
{
	unprivileged = yes;
}

void fake_xs_full(unsigned int n)
{
	no_start = n;
}

unsigned int fake_xs_commits(void)
{
	return commits;
}

unsigned int fake_xs_outside(void)
{
	return outside;
}

unsigned int fake_xs_requests(void)
{
	return requests;
}

static bool below(const char *path, const char *dir)
{
	size_t len = strlen(dir);

	return !strncmp(path, dir, len) && (!path[len] || path[len] == '/');
}

static void event(const char *path, const char *token)
{
	if (n_events == MAX_EVENTS)
		full("events");
	snprintf(events[n_events].path, PATH, "%s", path);
	snprintf(events[n_events++].token, 32, "%s", token);
}

static void fire(const char *path)
{
	int i;

	for (i = 0; i < n_watches; i++)
		if (below(path, watches[i].path))
			event(path, watches[i].token);
}

static int find(const char *path)
{
	int i;

	for (i = 0; i < n_nodes; i++)
		if (!strcmp(nodes[i].path, path))
			return i;
	return -1;
}

void fake_xs_set(const char *path, const char *value)
{
	int i = find(path);

	if (i < 0) {
		if (n_nodes == MAX_NODES)
			full("nodes");
		i = n_nodes++;
	}
	snprintf(nodes[i].path, PATH, "%s", path);
	snprintf(nodes[i].value, VALUE, "%s", value);
	fire(path);
}

void fake_xs_rm(const char *path)
{
	int i;

	for (i = 0; i < n_nodes;)
		if (below(nodes[i].path, path))
			nodes[i] = nodes[--n_nodes];
		else
			i++;
	fire(path);
	/* Watches of what was below see that, too. */
	for (i = 0; i < n_watches; i++)
		if (below(watches[i].path, path) &&
		    strcmp(watches[i].path, path))
			event(watches[i].path, watches[i].token);
}

const char *fake_xs_get(const char *path)
{
	int i = find(path);

	return i < 0 ? NULL : nodes[i].value;
}

/* ---- what libxenstore has ---- */
static bool works(void)
{
	errno = broken;
	return !broken;
}

static bool request(void)
{
	requests++;
	return works();
}

/* Is the connection there? Counts what no transaction holds together. */
static bool change(xs_transaction_t t)
{
	outside += t == XBT_NULL;
	return request();
}

struct xs_handle *xs_open(unsigned long flags)
{
	(void)flags;
	return works() ? (struct xs_handle *)nodes : NULL;
}

void xs_close(struct xs_handle *h)
{
	(void)h;
}

/* poll() takes no notice of it. */
int xs_fileno(struct xs_handle *h)
{
	(void)h;
	return -1;
}

bool xs_is_domain_introduced(struct xs_handle *h, unsigned int domid)
{
	char path[64];

	(void)h;
	requests++;
	if (unprivileged) {
		errno = EACCES;
		return false;
	}
	snprintf(path, sizeof(path), "/local/domain/%u/name", domid);
	return fake_xs_get(path);
}

bool xs_introduce_domain(struct xs_handle *h, unsigned int domid,
			 unsigned long mfn, unsigned int port)
{
	char path[64], value[16];

	(void)h;
	(void)mfn;
	snprintf(path, sizeof(path), "/fake/port/%u", domid);
	snprintf(value, sizeof(value), "%u", port);
	errno = EINVAL;
	return fake_xs_get(path) && !strcmp(fake_xs_get(path), value);
}

bool xs_rm(struct xs_handle *h, xs_transaction_t t, const char *path)
{
	(void)h;
	if (!change(t))
		return false;
	fake_xs_rm(path);
	return true;
}

void *xs_read(struct xs_handle *h, xs_transaction_t t, const char *path,
	      unsigned int *len)
{
	const char *value = fake_xs_get(path);

	(void)h;
	(void)t;
	if (!request())
		return NULL;
	errno = ENOENT;
	if (value && len)
		*len = (unsigned int)strlen(value);
	return value ? strdup(value) : NULL;
}

bool xs_write(struct xs_handle *h, xs_transaction_t t, const char *path,
	      const void *data, unsigned int len)
{
	char value[VALUE];

	(void)h;
	if (!change(t))
		return false;
	snprintf(value, sizeof(value), "%.*s", (int)len, (const char *)data);
	fake_xs_set(path, value);
	return true;
}

/* Names directly below path, each once, in one block as libxenstore's. */
char **xs_directory(struct xs_handle *h, xs_transaction_t t, const char *path,
		    unsigned int *num)
{
	char **v = calloc(1, MAX_NODES * (sizeof(*v) + PATH));
	char *text = (char *)(v + MAX_NODES);
	size_t len = strlen(path), n;
	unsigned int i, k, count = 0;
	const char *name;

	(void)h;
	(void)t;
	requests++;
	if (unprivileged && !strcmp(path, "/local/domain")) {
		free(v);
		errno = EACCES;
		return NULL;
	}
	for (i = 0; v && i < (unsigned int)n_nodes; i++) {
		name = nodes[i].path + len + 1;
		if (!below(nodes[i].path, path) || !nodes[i].path[len])
			continue;
		n = strcspn(name, "/");
		for (k = 0; k < count; k++)
			if (strlen(v[k]) == n && !strncmp(v[k], name, n))
				break;
		if (k < count)
			continue;
		v[count] = memcpy(text, name, n);
		text += n + 1;
		count++;
	}
	*num = count;
	errno = ENOENT;
	if (count)
		return v;
	free(v);
	return NULL;
}

xs_transaction_t xs_transaction_start(struct xs_handle *h)
{
	(void)h;
	if (no_start) {
		no_start--;
		errno = ENOSPC;
		return XBT_NULL;
	}
	return request() ? 1 : XBT_NULL;
}

bool xs_transaction_end(struct xs_handle *h, xs_transaction_t t, bool stop)
{
	(void)h;
	(void)t;
	commits += !stop;
	return request();
}

bool xs_watch(struct xs_handle *h, const char *path, const char *token)
{
	(void)h;
	if (!request())
		return false;
	if (n_watches == MAX_WATCHES)
		full("watches");
	snprintf(watches[n_watches].path, PATH, "%s", path);
	snprintf(watches[n_watches++].token, 32, "%s", token);
	event(path, token);
	return true;
}

bool xs_unwatch(struct xs_handle *h, const char *path, const char *token)
{
	int i;

	(void)h;
	requests++;
	for (i = 0; i < n_watches; i++)
		if (!strcmp(watches[i].path, path) &&
		    !strcmp(watches[i].token, token)) {
			watches[i] = watches[--n_watches];
			return true;
		}
	return false;
}

char **xs_check_watch(struct xs_handle *h)
{
	char **v;

	(void)h;
	if (!works())
		return NULL;
	if (next_event == n_events) {
		next_event = n_events = 0;
		errno = EAGAIN;
		return NULL;
	}
	v = calloc(1, 2 * sizeof(*v) + PATH + 32);
	if (!v)
		abort();
	v[XS_WATCH_PATH] = (char *)(v + 2);
	v[XS_WATCH_TOKEN] = v[XS_WATCH_PATH] + PATH;
	strcpy(v[XS_WATCH_PATH], events[next_event].path);
	strcpy(v[XS_WATCH_TOKEN], events[next_event++].token);
	return v;
}
