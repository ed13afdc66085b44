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
#define VALUE		3072

static struct { char path[PATH], value[VALUE]; } nodes[MAX_NODES];
static struct watch { char path[PATH], token[32]; struct xs_handle *h; }
	watches[MAX_WATCHES], events[MAX_EVENTS];
static int n_nodes, n_watches, n_events, next_event, broken;
static unsigned int commits, outside, no_start, requests;
static bool unprivileged, connections;
static unsigned int opened;
static struct {
	char dir[PATH];
	unsigned int nodes, size, used, most;
} quota;

static void full(const char *what)
{
	fprintf(stderr, "fake_xs: too many %s\n", what);
	abort();
}

void fake_xs_reset(void)
{
	n_nodes = n_watches = n_events = next_event = broken = 0;
	commits = outside = no_start = requests = 0;
	unprivileged = connections = false;
	opened = 0;
	memset(&quota, 0, sizeof(quota));
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

/* One of w, at that path. */
static void event(const char *path, const struct watch *w)
{
	if (n_events == MAX_EVENTS)
		full("events");
	events[n_events] = *w;
	snprintf(events[n_events++].path, PATH, "%s", path);
}

static void fire(const char *path)
{
	int i;

	for (i = 0; i < n_watches; i++)
		if (below(path, watches[i].path))
			event(path, &watches[i]);
}

static int find(const char *path)
{
	int i;

	for (i = 0; i < n_nodes; i++)
		if (!strcmp(nodes[i].path, path))
			return i;
	return -1;
}

unsigned int fake_xs_nodes(void)
{
	unsigned int n = 0;
	int i;

	for (i = 0; i < n_nodes; i++)
		n += strstr(nodes[i].path, "/backend/") != NULL;
	return n;
}

/* ---- the quota ---- */
void fake_xs_quota(const char *dir, unsigned int n, unsigned int size)
{
	snprintf(quota.dir, PATH, "%s", dir);
	quota.nodes = n;
	quota.size = size;
}

unsigned int fake_xs_most(void)
{
	return quota.most;
}

/* Is there a node at path or below, among the first n? */
static bool there(const char *path, int n)
{
	int i = 0;

	while (i < n && !below(nodes[i].path, path))
		i++;
	return i < n;
}

/* How many nodes path needs that the first n do not: itself, and directories. */
static unsigned int needs(const char *path, int n)
{
	char dir[PATH], *end;
	unsigned int more = 0;

	snprintf(dir, sizeof(dir), "%s", path);
	while (quota.dir[0] && below(dir, quota.dir) && !there(dir, n)) {
		more++;
		end = strrchr(dir, '/');
		*end = '\0';
	}
	return more;
}

static void count_again(void)
{
	int i;

	quota.used = 0;
	for (i = 0; i < n_nodes && quota.dir[0]; i++)
		quota.used += needs(nodes[i].path, i);
}

/* Octets of the names in the directory of path, with their NULs. */
static size_t names_beside(const char *path)
{
	size_t len = (size_t)(strrchr(path, '/') - path), size = 0, n;
	int i, k;

	for (i = 0; i < n_nodes; i++) {
		if (strncmp(nodes[i].path, path, len + 1))
			continue;
		n = strcspn(nodes[i].path + len + 1, "/") + len + 1;
		for (k = 0; k < i && strncmp(nodes[k].path, nodes[i].path, n);)
			k++;
		if (k == i)
			size += n - len;
	}
	return size;
}

/* May a value of that length be written? */
static bool allowed(const char *path, unsigned int len)
{
	if (!quota.nodes || !below(path, quota.dir))
		return true;
	errno = ENOSPC;
	return len < quota.size && names_beside(path) < quota.size &&
	       quota.used + needs(path, n_nodes) <= quota.nodes;
}

void fake_xs_set(const char *path, const char *value)
{
	int i = find(path);

	if (i < 0) {
		quota.used += needs(path, n_nodes);
		if (quota.used > quota.most)
			quota.most = quota.used;
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
	count_again();
	fire(path);
	/* Watches of what was below see that, too. */
	for (i = 0; i < n_watches; i++)
		if (below(watches[i].path, path) &&
		    strcmp(watches[i].path, path))
			event(watches[i].path, &watches[i]);
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
	if (connections)
		opened++;
	return works() ? (struct xs_handle *)&nodes[opened] : NULL;
}

void fake_xs_connections(void)
{
	connections = true;
}

static void forget(struct watch *w, int *n, int from, const struct xs_handle *h)
{
	int i, left = from;

	for (i = from; i < *n; i++)
		if (w[i].h != h)
			w[left++] = w[i];
	*n = left;
}

void xs_close(struct xs_handle *h)
{
	if (!connections)
		return;
	forget(watches, &n_watches, 0, h);
	forget(events, &n_events, next_event, h);
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
	if (!request())
		return false;
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
	if (!change(t) || !allowed(path, len))
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
	if (!request())
		return false;
	if (n_watches == MAX_WATCHES)
		full("watches");
	watches[n_watches].h = h;
	snprintf(watches[n_watches].path, PATH, "%s", path);
	snprintf(watches[n_watches].token, 32, "%s", token);
	event(path, &watches[n_watches++]);
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

/* The next event of the handle; without connections all are of everybody. */
static int next_of(const struct xs_handle *h)
{
	int i = next_event;

	while (connections && i < n_events && events[i].h != h)
		i++;
	return i;
}

static void event_done(int i)
{
	if (i == next_event)
		next_event++;
	else
		memmove(&events[i], &events[i + 1],
			(size_t)(--n_events - i) * sizeof(events[0]));
	if (next_event == n_events)
		next_event = n_events = 0;
}

char **xs_check_watch(struct xs_handle *h)
{
	int i = next_of(h);
	char **v;

	if (!works())
		return NULL;
	if (i == n_events) {
		errno = EAGAIN;
		return NULL;
	}
	v = calloc(1, 2 * sizeof(*v) + PATH + 32);
	if (!v)
		abort();
	v[XS_WATCH_PATH] = (char *)(v + 2);
	v[XS_WATCH_TOKEN] = v[XS_WATCH_PATH] + PATH;
	strcpy(v[XS_WATCH_PATH], events[i].path);
	strcpy(v[XS_WATCH_TOKEN], events[i].token);
	event_done(i);
	return v;
}
