// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The daemon's only way to say something: one line on stderr, which systemd
 * puts into the journal (the "<n>" prefix is its priority, left out on a
 * terminal). Any thread. What a guest can cause goes through be_log_peer().
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "be.h"
#include "util.h"

#define BE_LOG_LINE	512
#define BE_PEER_RATE	10	/* lines per second and device */

enum be_log_level be_log_level = BE_INFO;
static pthread_mutex_t peer_lock = PTHREAD_MUTEX_INITIALIZER;

/* The peer's strings reach the log: keep them on one line and printable. */
static void be_log_clean(char *s)
{
	for (; *s; s++)
		if (*s < 0x20 || *s > 0x7e)
			*s = '?';
}

/* A terminal gets no syslog priorities. */
static const char *be_log_prio(enum be_log_level level)
{
	static const char *const prio[] = { "<3>", "<4>", "<6>", "<7>" };
	static int tty = -1;	/* asked once; threads find the same */

	if (__atomic_load_n(&tty, __ATOMIC_RELAXED) < 0)
		__atomic_store_n(&tty, isatty(STDERR_FILENO), __ATOMIC_RELAXED);
	return __atomic_load_n(&tty, __ATOMIC_RELAXED) ? "" : prio[level];
}

static void be_vlog(const struct be_dev *dev, enum be_log_level level,
		    const char *fmt, va_list ap)
{
	char text[BE_LOG_LINE], line[BE_LOG_LINE + 64];
	int n;

	vsnprintf(text, sizeof(text), fmt, ap);
	be_log_clean(text);
	if (dev)
		n = snprintf(line, sizeof(line), "%sd%d/%d: %s\n",
			     be_log_prio(level), dev->domid, dev->devid, text);
	else
		n = snprintf(line, sizeof(line), "%s%s\n",
			     be_log_prio(level), text);
	/* One write per line, so that threads do not mix; nobody to tell. */
	if (write(STDERR_FILENO, line, (size_t)n) < 0)
		return;
}

void be_log(const struct be_dev *dev, enum be_log_level level,
	    const char *fmt, ...)
{
	va_list ap;

	if (level > be_log_level)
		return;
	va_start(ap, fmt);
	be_vlog(dev, level, fmt, ap);
	va_end(ap);
}

void be_log_peer(struct be_dev *dev, const char *fmt, ...)
{
	uint32_t dropped = 0;
	bool say;
	va_list ap;

	pthread_mutex_lock(&peer_lock);
	if (!dev->log_bucket.rate)
		dev->log_bucket.rate = BE_PEER_RATE;
	say = !be_bucket_take(&dev->log_bucket, be_coarse_ns());
	if (say) {
		dropped = dev->log_dropped;
		dev->log_dropped = 0;
	} else {
		dev->log_dropped++;
	}
	pthread_mutex_unlock(&peer_lock);
	if (!say)
		return;
	if (dropped)
		be_log(dev, BE_WARN, "%u lines about this guest left out",
		       dropped);
	va_start(ap, fmt);
	be_vlog(dev, BE_WARN, fmt, ap);
	va_end(ap);
}
