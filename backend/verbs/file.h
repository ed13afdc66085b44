/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Open files of this domain's kernel, one for each file of a guest's process: of the
 * connection manager (cm.h), or for management datagrams (umad.h). The command thread
 * makes a file and frees it.
 */
#ifndef BE_FILE_H
#define BE_FILE_H

#include "core/be.h"
#include "cmd.h"
#include "core/ready.h"

/* First member of its kind. */
struct be_file {
	struct be_obj o;		/* in dev->ctl */
	struct be_dev *dev;
	struct be_ready ready;		/* fd -1: closed */
};

/* @ready: its type and, or NULL, its has(). @size: of the kind's struct, zeroed. */
int be_file_alloc(const struct be_cmd *c, enum be_type type, size_t size,
		  const char *path, const struct be_ready *ready);
/* Waits for what is in the kernel's file to end. False: it was closed before. */
bool be_file_close(struct be_file *f);
/* Of be_kind. */
void be_file_release(struct be_dev *dev, struct be_obj *obj);
/* The file of a request, whose body begins with the handle; NULL: there is none. */
void *be_file_of(const struct be_cmd *c, enum be_type type);

#endif
