// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * vhcactl top shows the rates of devices repeatedly. It has one thread, which waits in
 * poll() for the next round or a key. It uses plain ANSI sequences, and restores the
 * terminal at every end except by SIGKILL.
 */
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>
#include "host/xenbus.h"
#include "line.h"
#include "top.h"
#include "vhca-keys.h"

#define DELAY		2	/* seconds */
#define LINE_SIZE	1024
#define NOTE		"      "
#define HOME		"\033[H"
#define LINE_END	"\033[K\n"
#define CLEAR_BELOW	"\033[J"

struct top {
	struct top_row *row, *old;
	int n, n_old;
	bool live;		/* stdout is a terminal: redraw it */
	struct termios saved;
	int lines, columns;	/* of the terminal */
};

static volatile sig_atomic_t stop;

static void on_signal(int sig)
{
	(void)sig;
	stop = 1;
}

static int64_t clock_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return ts.tv_sec * (int64_t)1000 + ts.tv_nsec / 1000000;
}

static const struct top_row *old_row(const struct top *t,
				     const struct ctl_dev *d)
{
	int i;

	for (i = 0; i < t->n_old; i++)
		if (t->old[i].dev.domid == d->domid &&
		    t->old[i].dev.devid == d->devid &&
		    t->old[i].dev.backend == d->backend)
			return &t->old[i];
	return NULL;
}

static void fill(struct ctl *c, const struct top *t, struct top_row *r)
{
	const struct top_row *old = old_row(t, &r->dev);
	int own = xn_own_domid(c->xs);
	char err[CTL_ERR_MAX];
	struct ctl_facts f;
	int64_t mtime = 0;

	ctl_domain_name(c, r->dev.domid, r->name);
	ctl_dev_hca(c, &r->dev, r->hca);
	ctl_facts(c, &r->dev, &f);
	ctl_hint(&f, r->hint, sizeof(r->hint));
	r->state = host_state_name(f.be);
	/* A device of another backend domain may have the same two numbers. */
	if ((own >= 0 && (unsigned int)own != r->dev.backend) ||
	    ctl_stats_load(c, &r->dev, &r->stats, &mtime, err))
		r->stats = NULL;
	top_sample_fill(&r->sample, r->stats, mtime, clock_ms());
	if (old)
		top_rate(&old->sample, &r->sample);
}

static void drop(struct top_row *rows, int n)
{
	int i;

	for (i = 0; i < n; i++)
		json_object_put(rows[i].stats);
	free(rows);
}

static int look(struct ctl *c, struct top *t, int domid)
{
	struct ctl_dev *devs;
	int n = ctl_devs(c, domid, &devs);

	drop(t->old, t->n_old);
	t->old = t->row;
	t->n_old = t->n;
	t->row = calloc((size_t)(n > 0 ? n : 1), sizeof(*t->row));
	for (t->n = 0; t->row && t->n < n; t->n++) {
		t->row[t->n].dev = devs[t->n];
		fill(c, t, &t->row[t->n]);
	}
	free(devs);
	if (n >= 0 && !t->row)
		ctl_error(CTL_FAILED, "out of memory");
	return n < 0 || !t->row ? CTL_FAILED : CTL_OK;
}

/* One JSON object a line: a reader needs no end of the list. */
static void print_json(const struct top *t)
{
	struct json_object *o = json_object_new_object();
	struct json_object *list = json_object_new_array();
	int i;

	for (i = 0; i < t->n; i++)
		json_object_array_add(list, top_json(&t->row[i]));
	ctl_json_int(o, "time_ms", clock_ms());
	json_object_object_add(o, "devices", list);
	ctl_put_json(o, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE);
}

static void print_line(const struct top *t, char *line)
{
	vl_clean(line);
	if (!t->live) {
		puts(line);
		return;
	}
	if (t->columns > 0 && strlen(line) > (size_t)t->columns)
		line[t->columns] = '\0';
	fputs(line, stdout);
	fputs(LINE_END, stdout);
}

/* Below a device, indented. Returns the number of lines; only counts them if not show. */
static int print_note(const struct top *t, const char *text, bool show)
{
	char line[LINE_SIZE];
	int lines = 0;
	size_t n;

	while ((n = ctl_wrap(&text, CTL_COLUMNS - sizeof(NOTE) + 1))) {
		snprintf(line, sizeof(line), NOTE "%.*s", (int)n, text - n);
		if (show)
			print_line(t, line);
		lines++;
	}
	return lines;
}

static int print_row(const struct top *t, const struct top_row *r, bool show)
{
	char line[LINE_SIZE];
	int lines;

	top_line(r, line, sizeof(line));
	if (show)
		print_line(t, line);
	lines = 1 + print_note(t, r->hint, show);
	top_uses(r, line, sizeof(line));
	return lines + print_note(t, line, show);
}

static void print_text(const struct top *t, bool first)
{
	int i, left = t->live && t->lines > 3 ? t->lines - 3 : INT_MAX;
	char line[LINE_SIZE];

	if (t->live)
		fputs(HOME, stdout);
	else if (!first)
		putchar('\n');
	top_head(line, sizeof(line));
	print_line(t, line);
	for (i = 0; i < t->n; i++) {
		left -= print_row(t, &t->row[i], false);
		if (left < 0)
			break;
		print_row(t, &t->row[i], true);
	}
	if (i < t->n || !t->n) {
		snprintf(line, sizeof(line), t->n ? "(%d more)" : "no device",
			 t->n - i);
		print_line(t, line);
	}
	if (t->live)
		fputs(CLEAR_BELOW, stdout);
}

static void terminal_size(struct top *t)
{
	struct winsize w = { .ws_row = 0 };

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &w))
		return;
	t->lines = w.ws_row;
	t->columns = w.ws_col;
}

/* Keys come at once and are not shown. */
static void terminal_start(struct top *t)
{
	struct termios raw;

	raw = t->saved;
	raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	tcsetattr(STDIN_FILENO, TCSANOW, &raw);
	fputs(HOME CLEAR_BELOW, stdout);
}

static void terminal_end(const struct top *t)
{
	fflush(stdout);
	tcsetattr(STDIN_FILENO, TCSANOW, &t->saved);
}

/* Until the next round; a blank makes it come now, q is the end. */
static void pause_for(const struct top *t, int seconds)
{
	struct pollfd p = { .fd = t->live ? STDIN_FILENO : -1,
			    .events = POLLIN };
	char key = 0;

	if (poll(&p, 1, seconds * 1000) <= 0)
		return;
	if (read(STDIN_FILENO, &key, 1) != 1 || key == 'q' || key == 'Q')
		stop = 1;
}

static int rounds(struct ctl *c, struct top *t, int domid)
{
	int i, rc = CTL_OK, delay = c->delay ? c->delay : DELAY;

	for (i = 0; !stop && (!c->count || i < c->count); i++) {
		if (i)
			pause_for(t, delay);
		if (stop)
			break;
		if (t->live)
			terminal_size(t);
		rc = look(c, t, domid);
		if (rc)
			break;
		if (c->json)
			print_json(t);
		else
			print_text(t, !i);
		/* The reader of a pipe went away. */
		if (fflush(stdout))
			break;
	}
	return rc;
}

int ctl_top(struct ctl *c)
{
	struct sigaction sa = { .sa_handler = on_signal };
	struct top t = { .n = 0 };
	int domid, rc = ctl_domain_given(c, &domid);

	if (rc)
		return rc;
	t.live = !c->batch && !c->json && isatty(STDIN_FILENO) &&
		 isatty(STDOUT_FILENO) && !tcgetattr(STDIN_FILENO, &t.saved);
	stop = 0;
	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	if (t.live)
		terminal_start(&t);
	rc = rounds(c, &t, domid);
	if (t.live)
		terminal_end(&t);
	drop(t.old, t.n_old);
	drop(t.row, t.n);
	return rc;
}
