/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Typed access to xenstore nodes, used by the daemon and vhcactl. Values are
 * text that another domain may have written: every read copies to a buffer of
 * the caller, checks length, characters and range, and only then returns.
 * Functions return 0 or -errno; "dir" is a directory, "node" a name in it.
 */
#ifndef XN_NODE_H
#define XN_NODE_H

#include <stdbool.h>
#include <stdint.h>
#include <xenstore.h>

#define XN_PATH_MAX	256	/* longest path of ours, with the NUL */
#define XN_VALUE_MAX	256	/* longest value of ours, with the NUL */

/**
 * xn_path() - join dir and node
 * @path: XN_PATH_MAX bytes
 *
 * -ENAMETOOLONG if it does not fit.
 */
int xn_path(char *path, const char *dir, const char *node);

/**
 * xn_read_str() - read a node as text
 * @buf: receives the value with a NUL
 * @size: bytes of @buf
 *
 * -ENOENT: absent, -EINVAL: control characters, -E2BIG: longer than @size.
 */
int xn_read_str(struct xs_handle *xs, xs_transaction_t t, const char *dir,
		const char *node, char *buf, size_t size);

/**
 * xn_read_u64() - read a decimal number
 * @min: smallest value accepted
 * @max: largest value accepted
 * @val: untouched on failure
 *
 * -ENOENT: absent, -EINVAL: not a plain decimal number, -ERANGE.
 */
int xn_read_u64(struct xs_handle *xs, xs_transaction_t t, const char *dir,
		const char *node, uint64_t min, uint64_t max, uint64_t *val);
int xn_read_u32(struct xs_handle *xs, xs_transaction_t t, const char *dir,
		const char *node, uint32_t min, uint32_t max, uint32_t *val);

/* As xn_read_u32(); an absent node means def and is no error. */
int xn_read_u32_def(struct xs_handle *xs, xs_transaction_t t, const char *dir,
		    const char *node, uint32_t min, uint32_t max,
		    uint32_t def, uint32_t *val);

int xn_write_str(struct xs_handle *xs, xs_transaction_t t, const char *dir,
		 const char *node, const char *val);
int xn_write_u32(struct xs_handle *xs, xs_transaction_t t, const char *dir,
		 const char *node, uint32_t val);

/* Remove a node and what is below it; an absent one is no error. node may be
 * NULL: dir itself. */
int xn_rm(struct xs_handle *xs, xs_transaction_t t, const char *dir,
	  const char *node);
bool xn_exists(struct xs_handle *xs, xs_transaction_t t, const char *dir,
	       const char *node);

/**
 * xn_mkdir() - make a directory that owner may write and reader may read
 * @owner: domain that owns it (others: no access)
 * @reader: domain that may read it; the same as @owner: nobody
 *
 * An existing directory gets the permissions. Nodes that are created
 * below it later inherit them.
 */
int xn_mkdir(struct xs_handle *xs, xs_transaction_t t, const char *path,
	     unsigned int owner, unsigned int reader);

/**
 * xn_list() - names in a directory
 * @names: receives one allocated block; free() it. NULL if empty
 *
 * Returns their number or -errno.
 */
int xn_list(struct xs_handle *xs, xs_transaction_t t, const char *dir,
	    char ***names);

/**
 * xn_transact() - run fn in a transaction, again while it conflicts
 * @fn: may run several times; 0 commits, -errno aborts
 *
 * -EAGAIN after 50 conflicts.
 */
int xn_transact(struct xs_handle *xs,
		int (*fn)(struct xs_handle *xs, xs_transaction_t t, void *arg),
		void *arg);

/* The names in a directory, at one time; all zero: not known. */
struct xn_names {
	bool known;
	char **name;
	int n;
};

/* Lists the directory. On failure nothing is known. */
void xn_names_list(struct xs_handle *xs, const char *dir, struct xn_names *names);
void xn_names_forget(struct xn_names *names);
/* May there be such a node? True if nothing is known. */
bool xn_names_have(const struct xn_names *names, const char *node);

#endif
