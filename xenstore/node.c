// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Typed access to xenstore nodes (node.h). This runs in whichever thread owns
 * the xenstore handle. Values come from other domains and are not trusted.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "node.h"
#include "number.h"

#define XN_MAX_CONFLICTS 50
#define XN_MAX_FULL	100	/* how often to wait, XN_FULL_US each */
#define XN_FULL_US	20000

static int own_errno(void)
{
	return errno ? -errno : -EIO;
}

int xn_path(char *path, const char *dir, const char *node)
{
	int n = snprintf(path, XN_PATH_MAX, "%s/%s", dir, node);

	return n < 0 || n >= XN_PATH_MAX ? -ENAMETOOLONG : 0;
}

/* Copy a raw value of len bytes to text; a trailing NUL is tolerated. */
static int copy_text(char *buf, size_t size, const char *raw,
		     unsigned int len)
{
	unsigned int i;

	if (len && raw[len - 1] == '\0')
		len--;
	if (len >= size)
		return -E2BIG;
	for (i = 0; i < len; i++)
		if (raw[i] < 0x20 || raw[i] > 0x7e)
			return -EINVAL;
	memcpy(buf, raw, len);
	buf[len] = '\0';
	return 0;
}

int xn_read_str(struct xs_handle *xs, xs_transaction_t t, const char *dir,
		const char *node, char *buf, size_t size)
{
	char path[XN_PATH_MAX];
	unsigned int len = 0;
	char *raw;
	int rc;

	rc = xn_path(path, dir, node);
	if (rc)
		return rc;
	raw = xs_read(xs, t, path, &len);
	if (!raw)
		return own_errno();
	rc = copy_text(buf, size, raw, len);
	free(raw);
	return rc;
}

int xn_read_u64(struct xs_handle *xs, xs_transaction_t t, const char *dir,
		const char *node, uint64_t min, uint64_t max, uint64_t *val)
{
	char buf[24];
	int rc = xn_read_str(xs, t, dir, node, buf, sizeof(buf));

	if (rc)
		return rc == -E2BIG ? -EINVAL : rc;
	return vl_parse_u64(buf, min, max, val);
}

int xn_read_u32(struct xs_handle *xs, xs_transaction_t t, const char *dir,
		const char *node, uint32_t min, uint32_t max, uint32_t *val)
{
	uint64_t v = 0;
	int rc = xn_read_u64(xs, t, dir, node, min, max, &v);

	if (!rc)
		*val = (uint32_t)v;
	return rc;
}

int xn_read_u32_def(struct xs_handle *xs, xs_transaction_t t, const char *dir,
		    const char *node, uint32_t min, uint32_t max,
		    uint32_t def, uint32_t *val)
{
	int rc = xn_read_u32(xs, t, dir, node, min, max, val);

	if (rc != -ENOENT)
		return rc;
	*val = def;
	return 0;
}

int xn_write_str(struct xs_handle *xs, xs_transaction_t t, const char *dir,
		 const char *node, const char *val)
{
	char path[XN_PATH_MAX];
	int rc = xn_path(path, dir, node);

	if (rc)
		return rc;
	if (!xs_write(xs, t, path, val, (unsigned int)strlen(val)))
		return own_errno();
	return 0;
}

int xn_write_u32(struct xs_handle *xs, xs_transaction_t t, const char *dir,
		 const char *node, uint32_t val)
{
	char buf[16];

	snprintf(buf, sizeof(buf), "%u", val);
	return xn_write_str(xs, t, dir, node, buf);
}

int xn_rm(struct xs_handle *xs, xs_transaction_t t, const char *dir,
	  const char *node)
{
	char path[XN_PATH_MAX];
	int rc;

	if (node) {
		rc = xn_path(path, dir, node);
		if (rc)
			return rc;
		dir = path;
	}
	if (xs_rm(xs, t, dir) || errno == ENOENT)
		return 0;
	return own_errno();
}

bool xn_exists(struct xs_handle *xs, xs_transaction_t t, const char *dir,
	       const char *node)
{
	char path[XN_PATH_MAX];
	void *raw;

	if (xn_path(path, dir, node))
		return false;
	raw = xs_read(xs, t, path, NULL);
	free(raw);
	return raw;
}

int xn_mkdir(struct xs_handle *xs, xs_transaction_t t, const char *path,
	     unsigned int owner, unsigned int reader)
{
	struct xs_permissions perm[2] = {
		{ .id = owner, .perms = XS_PERM_NONE },
		{ .id = reader, .perms = XS_PERM_READ },
	};

	if (!xs_mkdir(xs, t, path))
		return own_errno();
	if (!xs_set_permissions(xs, t, path, perm, owner == reader ? 1 : 2))
		return own_errno();
	return 0;
}

int xn_list(struct xs_handle *xs, xs_transaction_t t, const char *dir,
	    char ***names)
{
	unsigned int n = 0;

	*names = xs_directory(xs, t, dir, &n);
	if (!*names)
		return errno == ENOENT ? 0 : own_errno();
	return (int)n;
}

/*
 * xenstored allows some ten concurrent transactions to an unprivileged domain, and
 * refuses more with ENOSPC.
 */
static xs_transaction_t start(struct xs_handle *xs)
{
	xs_transaction_t t;
	int i;

	for (i = 0; ; i++) {
		errno = 0;
		t = xs_transaction_start(xs);
		if (t != XBT_NULL || errno != ENOSPC || i == XN_MAX_FULL)
			return t;
		usleep(XN_FULL_US);
	}
}

int xn_transact(struct xs_handle *xs,
		int (*fn)(struct xs_handle *xs, xs_transaction_t t, void *arg),
		void *arg)
{
	xs_transaction_t t;
	int i, rc;

	for (i = 0; i < XN_MAX_CONFLICTS; i++) {
		t = start(xs);
		if (t == XBT_NULL)
			return own_errno();
		rc = fn(xs, t, arg);
		if (xs_transaction_end(xs, t, rc != 0))
			return rc;
		if (rc)
			return rc;
		if (errno != EAGAIN)
			return own_errno();
	}
	return -EAGAIN;
}

void xn_names_forget(struct xn_names *names)
{
	free(names->name);
	*names = (struct xn_names){};
}

void xn_names_list(struct xs_handle *xs, const char *dir, struct xn_names *names)
{
	xn_names_forget(names);
	names->n = xn_list(xs, XBT_NULL, dir, &names->name);
	names->known = names->n >= 0;
}

bool xn_names_have(const struct xn_names *names, const char *node)
{
	int i = 0;

	while (i < names->n && strcmp(names->name[i], node))
		i++;
	return i < names->n || !names->known;
}
