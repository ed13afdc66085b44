// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The checks of vhcactl check for a utility domain, which has no rights of a
 * toolstack: checks that only the control domain can do, xenstored's quota of this
 * domain, and the options of the daemon.
 */
#include <ctype.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "check.h"
#include "file.h"
#include "host/maptrack.h"

#define FRAMES		"--maptrack-frames"

/* docs/guide/utility-domain.md; the defaults of xenstored and oxenstored, the lower one. */
#define QUOTA_NODES	1000
#define QUOTA_WATCHES	100
#define NODES_DEVICE	15	/* 3 of them for doorbell pages, whatever their number */
#define WATCHES_DEVICE	4
#define WATCHES_DAEMON	3	/* of its supervisor */

/* Words of a process, with blanks between them; "" if there is no such process. */
static void words_of(const struct check *k, unsigned long pid, char *buf,
		     size_t size)
{
	char path[PATH_MAX];
	size_t i, n = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s/proc/%lu/cmdline", k->c->root, pid);
	f = fopen(path, "re");
	if (f) {
		n = fread(buf, 1, size - 1, f);
		fclose(f);
	}
	for (i = 0; i < n; i++)
		if (!buf[i])
			buf[i] = ' ';
	buf[n] = '\0';
}

static const char *last_word(const char *words, const char *word)
{
	const char *p, *found = NULL;

	for (p = strstr(words, word); p; p = strstr(p, word)) {
		p += strlen(word);
		found = p;
	}
	return found;
}

uint32_t check_told_frames(const struct check *k)
{
	char path[PATH_MAX], pid[32] = "", words[1024];
	const char *p;
	int fd;

	snprintf(path, sizeof(path), "%s/supervisor.lock", k->c->run_dir);
	fd = vl_file_open(path, O_RDONLY);
	if (fd < 0)
		return HOST_MAPTRACK_FRAMES;
	if (read(fd, pid, sizeof(pid) - 1) < 0)
		pid[0] = '\0';
	close(fd);
	words_of(k, strtoul(pid, NULL, 10), words, sizeof(words));
	p = last_word(words, " " FRAMES);
	if (!p)
		p = last_word(words, " -m");
	if (!p)
		return HOST_MAPTRACK_FRAMES;
	p += *p == '=' || *p == ' ';
	return isdigit((unsigned char)*p) ? (uint32_t)strtoul(p, NULL, 0) :
		HOST_MAPTRACK_FRAMES;
}

/* No domain can read its quota of xenstored. The quota of watches is used up first. */
static void quota(struct check *k, unsigned int devices)
{
	static const char name[] = "xenstore-quota";
	unsigned int watches = devices * WATCHES_DEVICE;

	if (watches + WATCHES_DAEMON > QUOTA_WATCHES)
		check_say(k, CHECK_WARN, name,
			  "a larger quota of watches (quota-maxwatch, --watch-nb)",
			  "%u devices take %u watches, and xen-vhcad %u; xenstored allows a domain %u by default",
			  devices, watches, WATCHES_DAEMON, QUOTA_WATCHES);
	else
		check_ok(k, name,
			 "%u devices take %u watches and at most %u nodes of the %u and %u that xenstored allows a domain by default",
			 devices, watches, devices * NODES_DEVICE, QUOTA_WATCHES,
			 QUOTA_NODES);
}

void check_utility(struct check *k)
{
	const struct ctl_dev *d;
	unsigned int devices = 0;

	if (k->control || k->own < 0)
		return;
	for (d = k->devs; d < k->devs + k->n_devs; d++)
		devices += check_mine(k, d);
	if (ctl_sees_all(k->c)) {
		check_ok(k, "utility-domain",
			 "it is the backend of %u devices and may read all of xenstore, as where there is no control domain",
			 devices);
		return;
	}
	check_ok(k, "utility-domain",
		 "it is the backend of %u devices and has no rights of a toolstack: attach, detach, quota and reattach are commands of the control domain",
		 devices);
	quota(k, devices);
}
