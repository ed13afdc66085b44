// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Birth and end of a struct be_dev, and how it gives up. Whatever a guest does,
 * the result is an error to the guest or be_fault(), which closes this one
 * device; it is never exit() or assert().
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include "be.h"
#include "vhca-keys.h"
#include "wake.h"

static pthread_mutex_t fault_lock = PTHREAD_MUTEX_INITIALIZER;

int be_dev_init(struct be_dev *dev, int domid, int devid)
{
	int r;

	memset(dev, 0, sizeof(*dev));
	dev->domid = domid;
	dev->devid = devid;
	dev->port = XENVHCA_DEF_PORT;
	dev->ctl_fd = dev->ctl_async_fd = -1;
	be_quota_defaults(&dev->quota);
	dev->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (dev->wake_fd < 0)
		return -errno;
	r = pthread_rwlock_init(&dev->lock, NULL);
	if (!r)
		r = pthread_mutex_init(&dev->evt_lock, NULL);
	if (!r)
		r = pthread_mutex_init(&dev->cm_lock, NULL);
	if (!r)
		r = pthread_mutex_init(&dev->kick_lock.mutex, NULL);
	return -r;
}

void be_dev_fini(struct be_dev *dev)
{
	if (dev->wake_fd < 0)
		return;
	pthread_mutex_destroy(&dev->kick_lock.mutex);
	pthread_mutex_destroy(&dev->cm_lock);
	pthread_mutex_destroy(&dev->evt_lock);
	pthread_rwlock_destroy(&dev->lock);
	close(dev->wake_fd);
	dev->wake_fd = -1;
}

/* The first reason counts; it is complete before the flag can be seen. */
static bool fault_claim(struct be_dev *dev, const char *fmt, va_list ap)
{
	bool first;

	pthread_mutex_lock(&fault_lock);
	first = !dev->fault;
	if (first) {
		vsnprintf(dev->fault_reason, sizeof(dev->fault_reason), fmt,
			  ap);
		__atomic_store_n(&dev->fault, true, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&fault_lock);
	return first;
}

void be_fault(struct be_dev *dev, const char *fmt, ...)
{
	va_list ap;
	bool first;

	va_start(ap, fmt);
	first = fault_claim(dev, fmt, ap);
	va_end(ap);
	if (!first)
		return;
	BE_STAT_ADD(dev, faults, 1);
	be_log(dev, BE_ERR, "closing the device: %s", dev->fault_reason);
	if (dev->wake_fd > 0)
		be_wake(dev->wake_fd);
}
