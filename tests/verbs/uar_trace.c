// SPDX-License-Identifier: GPL-2.0
/* Copyright (C) 2026 The vhca authors */
/*
 * What the kernel did for this process: its system calls and page faults, by
 * trace points, and every notification of an event channel in the domain, by
 * a probe. A hypercall for the vhca is made by a system call of a process that
 * uses it, by a fault on its memory, or by an interrupt of the vhca, so where
 * none of these is there was none; the notifications, which are hypercalls,
 * are seen directly. Not seen: work that Xen itself does, without the guest.
 *
 * An instance of tracefs is ours alone; the probe belongs to the whole kernel
 * and has our process id in its name. Needs root.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "uar.h"

#define PROBE		"notify_remote_via_irq"
#define FAULT		"page_fault_user"
#define MAX_OTHERS	16	/* notifications of network and console */

static const char *const roots[] = {
	"/sys/kernel/tracing", "/sys/kernel/debug/tracing",
};

static int put(const char *dir, const char *name, int flags, const char *text)
{
	char path[256];
	int fd, rc = 0;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_WRONLY | O_CLOEXEC | flags);
	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) < 0)
		rc = -errno;
	close(fd);
	return rc;
}

static int enable(const struct uar_trace *t, const char *event, bool mine)
{
	char path[128], filter[64];
	int rc = 0;

	if (mine) {
		snprintf(path, sizeof(path), "events/%s/filter", event);
		snprintf(filter, sizeof(filter), "common_pid == %d", getpid());
		rc = put(t->dir, path, 0, filter);
	}
	snprintf(path, sizeof(path), "events/%s/enable", event);
	return rc ? rc : put(t->dir, path, 0, "1");
}

static const char *root_of(const struct uar_trace *t)
{
	size_t i;

	for (i = 0; i < VT_ARRAY_SIZE(roots) - 1; i++)
		if (!strncmp(t->dir, roots[i], strlen(roots[i])))
			break;
	return roots[i];
}

static int make_instance(struct uar_trace *t)
{
	int rc = -ENOENT;
	size_t i;

	for (i = 0; i < VT_ARRAY_SIZE(roots); i++) {
		snprintf(t->dir, sizeof(t->dir), "%s/instances/vhca-uar-%d",
			 roots[i], getpid());
		if (!mkdir(t->dir, 0700))
			return 0;
		rc = -errno;
	}
	t->dir[0] = 0;
	return rc;
}

/* A probe at a function of the kernel, with what of its arguments is wanted. */
static int probe(const struct uar_trace *t, const char *name, const char *where,
		 bool mine)
{
	char text[128], event[64];
	int rc;

	snprintf(text, sizeof(text), "p:vhca_uar_%d/%s %s", getpid(), name, where);
	snprintf(event, sizeof(event), "vhca_uar_%d/%s", getpid(), name);
	rc = put(root_of(t), "kprobe_events", O_APPEND, text);
	return rc ? rc : enable(t, event, mine);
}

static void probe_end(const struct uar_trace *t, const char *name)
{
	char text[64];

	snprintf(text, sizeof(text), "events/vhca_uar_%d/%s/enable", getpid(),
		 name);
	put(t->dir, text, 0, "0");
	snprintf(text, sizeof(text), "-:vhca_uar_%d/%s", getpid(), name);
	put(root_of(t), "kprobe_events", O_APPEND, text);
}

/* x86 alone has a trace point for them. */
static int enable_faults(struct uar_trace *t)
{
#ifdef __x86_64__
	return enable(t, "exceptions/page_fault_user", true);
#else
	t->fault_probe = true;
	return probe(t, FAULT, "handle_mm_fault", true);
#endif
}

/**
 * uar_trace_open() - prepare tracing; uar_trace_close() in any case
 * @why: VT_WHY bytes for the explanation of a failure
 *
 * Return: 0, or -1: nothing will be traced (on is -1).
 */
int uar_trace_open(struct uar_trace *t, char *why)
{
	char path[160];
	int rc;

	memset(t, 0, sizeof(*t));
	t->on = -1;
	rc = make_instance(t);
	if (!rc)
		rc = put(t->dir, "tracing_on", 0, "0");
	if (!rc)
		rc = enable(t, "raw_syscalls/sys_enter", true);
	if (!rc)
		rc = enable_faults(t);
	if (!rc) {
		/* Where there is no Xen there is nothing to be notified. */
		t->notify = !probe(t, "notify", PROBE " irq=$arg1:s32", false);
		snprintf(path, sizeof(path), "%s/tracing_on", t->dir);
		t->on = open(path, O_WRONLY | O_CLOEXEC);
		rc = t->on < 0 ? -errno : 0;
	}
	if (rc)
		snprintf(why, VT_WHY, "tracefs: %s", vt_errno(rc));
	return rc ? -1 : 0;
}

static void tracing(const struct uar_trace *t, const char *on)
{
	/* A failure leaves its traces: see uar_trace_judge(). */
	if (t->on >= 0 && write(t->on, on, 1) != 1)
		fprintf(stderr, "vhca-uar: tracing_on: %s\n", vt_errno(errno));
}

void uar_trace_start(const struct uar_trace *t)
{
	tracing(t, "1");
}

void uar_trace_stop(const struct uar_trace *t)
{
	tracing(t, "0");
}

struct seen {
	int calls, faults, ours, others;
	bool whole;		/* nothing was overwritten */
	char first[160];	/* call or fault; the call that ends is last */
};

static bool is_ours(const char *line, const char *irqs)
{
	const char *irq = strstr(line, "irq=");
	char word[32];

	snprintf(word, sizeof(word), " %d ", irq ? atoi(irq + 4) : -1);
	return strstr(irqs, word) != NULL;
}

static void take_line(struct seen *s, const char *line, const char *irqs)
{
	unsigned long in, written;

	if (sscanf(line, "# entries-in-buffer/entries-written: %lu/%lu", &in,
		   &written) == 2)
		s->whole = in == written;
	if (line[0] == '#')
		return;
	if (strstr(line, "sys_enter:"))
		s->calls++;
	else if (strstr(line, FAULT ":"))
		s->faults++;
	else if (!strstr(line, "notify:"))
		return;
	else if (is_ours(line, irqs))
		s->ours++;
	else
		s->others++;
	if (!s->first[0] && !strstr(line, "notify:"))
		snprintf(s->first, sizeof(s->first), "%.*s",
			 (int)strcspn(line, "\n"), line);
}

/**
 * uar_trace_judge() - was there nothing between start and stop?
 * @irqs: numbers of the vhca's interrupts, each between blanks
 * @why: VT_WHY bytes for the explanation of a failure
 *
 * Exactly one system call is seen, the one that stops the tracing: none would
 * mean that nothing was traced. Return: 0 or -1.
 */
int uar_trace_judge(const struct uar_trace *t, const char *irqs, char *why)
{
	char path[160], line[512];
	struct seen s = { 0 };
	FILE *f;

	snprintf(path, sizeof(path), "%s/trace", t->dir);
	f = fopen(path, "r");
	if (!f) {
		snprintf(why, VT_WHY, "%s: %s", path, vt_errno(errno));
		return -1;
	}
	while (fgets(line, sizeof(line), f))
		take_line(&s, line, irqs);
	fclose(f);
	printf("traced: %d system calls but the one that ends it, %d page faults; ",
	       s.calls - 1, s.faults);
	if (t->notify)
		printf("event channel notifications: %d of the vhca, %d of others\n",
		       s.ours, s.others);
	else
		printf("event channel notifications cannot be traced\n");
	if (s.whole && s.calls == 1 && !s.faults && !s.ours &&
	    s.others <= MAX_OTHERS)
		return 0;
	snprintf(why, VT_WHY, "the kernel was busy for us%s: %.160s",
		 s.whole ? "" : " (trace not whole)", s.first);
	return -1;
}

void uar_trace_close(struct uar_trace *t)
{
	if (t->on >= 0)
		close(t->on);
	if (t->notify)
		probe_end(t, "notify");
	if (t->fault_probe)
		probe_end(t, FAULT);
	if (t->dir[0])
		rmdir(t->dir);
	t->on = -1;
}
