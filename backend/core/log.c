// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * All messages of the daemon. Any thread may call this. What a guest can cause
 * goes through be_log_peer().
 */
#include <stdarg.h>
#include <stdio.h>
#include <syslog.h>
#include "be.h"
#include "clock.h"
#include "line.h"

#define BE_PEER_RATE	10	/* lines per second and device */

enum be_log_level be_log_level = BE_INFO;
static pthread_mutex_t peer_lock = PTHREAD_MUTEX_INITIALIZER;

static void vlog(const struct be_dev *dev, enum be_log_level level,
		 const char *fmt, va_list ap)
{
	static const int prio[] = {
		LOG_ERR, LOG_WARNING, LOG_INFO, LOG_DEBUG,
	};
	char about[32] = "";

	if (dev)
		snprintf(about, sizeof(about), "d%d/%d: ", dev->domid,
			 dev->devid);
	vl_line(prio[level], about, fmt, ap);
}

void be_log(const struct be_dev *dev, enum be_log_level level,
	    const char *fmt, ...)
{
	va_list ap;

	if (level > be_log_level)
		return;
	va_start(ap, fmt);
	vlog(dev, level, fmt, ap);
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
	say = !vl_bucket_take(&dev->log_bucket, vl_coarse_ns());
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
	vlog(dev, BE_WARN, fmt, ap);
	va_end(ap);
}
