/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Where there is no xenstore: devices are directories of files (host/tree.h), their
 * guests are reached by pages (vhcaif.h). main.c hands these to the supervisor and to
 * the workers, which know only what they open.
 */
#ifndef BE_OPEN_FILES_H
#define BE_OPEN_FILES_H

#include "core/devices.h"
#include "core/store.h"

/* The root of the directories, which must stay there. Before anything is opened. */
void be_files_at(const char *root);
const char *be_files_root(void);

be_devices_open_fn be_devices_files;
be_store_open_fn be_store_page;

/* inotify: what changes a device's directory. */
#define BE_FILES_CHANGES \
	(IN_MOVED_TO | IN_CLOSE_WRITE | IN_CREATE | IN_DELETE | IN_DELETE_SELF | \
	 IN_ONLYDIR)

#endif
