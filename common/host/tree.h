/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Devices as files, where there is no xenstore: ROOT/DOMID/DEVID/ has a file for each
 * node, with its value and perhaps a newline. Only root can write there, so
 * values are an operator's or our own: they may be wrong, but not hostile.
 */
#ifndef HOST_TREE_H
#define HOST_TREE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#define HOST_TREE_NODE_REF	"grant-ref"	/* of the page, vhcaif.h */
#define HOST_TREE_NODE_STATE	"state"		/* of the backend */
#define HOST_TREE_NODE_ONLINE	"online"
#define HOST_TREE_NODE_FRONT	"frontend-state"
#define HOST_TREE_NODE_NAME	"name"		/* of the guest */

/* Directories of a guest and of a device; path: PATH_MAX bytes, far more than any root has. */
void host_tree_guest(char *path, const char *root, unsigned int domid);
void host_tree_dir(char *path, const char *root, unsigned int domid,
		   unsigned int devid);

/**
 * host_tree_read() - value of a node as text
 * @size: bytes of @value
 *
 * 0; -ENOENT: absent, -EINVAL: control characters, -E2BIG: longer; another -errno.
 */
int host_tree_read(const char *dir, const char *node, char *value, size_t size);

/**
 * host_tree_write() - set a node's value atomically
 * @value: NULL: remove the node
 *
 * Creates no directory. 0, also if a node to be removed is absent; -ENOENT: there is
 * no directory; another -errno.
 */
int host_tree_write(const char *dir, const char *node, const char *value);

/* A number in a node, min..max; def if it is absent or no such number. */
unsigned int host_tree_number(const char *dir, const char *node, unsigned int min,
			      unsigned int max, unsigned int def);

/* Does errno say that there is no such directory? A file or a link does not count. */
bool host_tree_none(int err);

/**
 * host_tree_each() - call fn for every directory in dir whose name is a number
 * @max: of the numbers
 * @fn: 0 to go on, else its value is returned
 *
 * 0, also if there is no dir; or -errno.
 */
int host_tree_each(const char *dir, unsigned int max,
		   int (*fn)(unsigned int number, void *arg), void *arg);

/* Remove a device, and its guest's directory with the last one. 0 or -errno. */
int host_tree_remove(const char *root, unsigned int domid, unsigned int devid);

#endif
