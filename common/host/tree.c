// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Devices as files (tree.h). Writers are processes of root: the tool, the supervisor,
 * a worker. Each replaces a node as a whole.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "file.h"
#include "number.h"
#include "tree.h"

#define NODE_MODE	0600

static int fit(int n)
{
	return n < 0 || n >= PATH_MAX ? -ENAMETOOLONG : 0;
}

void host_tree_guest(char *path, const char *root, unsigned int domid)
{
	snprintf(path, PATH_MAX, "%s/%u", root, domid);
}

void host_tree_dir(char *path, const char *root, unsigned int domid,
		   unsigned int devid)
{
	snprintf(path, PATH_MAX, "%s/%u/%u", root, domid, devid);
}

static int node_path(char *path, const char *dir, const char *node)
{
	return fit(snprintf(path, PATH_MAX, "%s/%s", dir, node));
}

static bool is_text(const char *s)
{
	while (*s >= ' ' && *s <= '~')
		s++;
	return !*s;
}

int host_tree_read(const char *dir, const char *node, char *value, size_t size)
{
	char path[PATH_MAX];
	int fd, rc = node_path(path, dir, node);
	ssize_t n;

	if (rc)
		return rc;
	fd = vl_file_open(path, O_RDONLY);
	if (fd < 0)
		return fd;
	n = read(fd, value, size);
	rc = n < 0 ? -errno : (size_t)n == size && value[n - 1] != '\n' ? -E2BIG : 0;
	close(fd);
	if (rc)
		return rc;
	if (n && value[n - 1] == '\n')
		n--;
	value[n] = '\0';
	return strlen(value) == (size_t)n && is_text(value) ? 0 : -EINVAL;
}

static int write_whole(const char *path, const char *value)
{
	int fd = vl_file_new(path, NODE_MODE);
	size_t len = strlen(value);
	int rc = 0;

	if (fd < 0)
		return fd;
	if (write(fd, value, len) != (ssize_t)len)
		rc = -EIO;
	close(fd);
	return rc;
}

int host_tree_write(const char *dir, const char *node, const char *value)
{
	char path[PATH_MAX], tmp[PATH_MAX];
	int rc = node_path(path, dir, node);

	if (rc)
		return rc;
	if (!value)
		return unlink(path) && errno != ENOENT ? -errno : 0;
	rc = fit(snprintf(tmp, sizeof(tmp), "%s/.%s.%d", dir, node, (int)getpid()));
	if (rc)
		return rc;
	rc = write_whole(tmp, value);
	if (!rc && rename(tmp, path))
		rc = -errno;
	if (rc)
		unlink(tmp);
	return rc;
}

unsigned int host_tree_number(const char *dir, const char *node, unsigned int min,
			      unsigned int max, unsigned int def)
{
	uint64_t v = def;
	char text[24];

	if (!host_tree_read(dir, node, text, sizeof(text)))
		vl_parse_u64(text, min, max, &v);
	return (unsigned int)v;
}

bool host_tree_none(int err)
{
	return err == ENOENT || err == ENOTDIR || err == ELOOP;
}

int host_tree_each(const char *dir, unsigned int max,
		   int (*fn)(unsigned int number, void *arg), void *arg)
{
	DIR *d = opendir(dir);
	uint64_t number = 0;
	struct dirent *e;
	int rc = 0;

	if (!d)
		return host_tree_none(errno) ? 0 : -errno;
	while (!rc && (e = readdir(d)))
		if (!vl_parse_u64(e->d_name, 0, max, &number) &&
		    (e->d_name[0] != '0' || !e->d_name[1]))	/* "07" is not 7 */
			rc = fn((unsigned int)number, arg);
	closedir(d);
	return rc;
}

/* Remove all files of a directory without subdirectories. */
static int empty(const char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	int rc = 0;

	if (!d)
		return errno == ENOENT ? 0 : -errno;
	while (!rc && (e = readdir(d)))
		if (strcmp(e->d_name, ".") && strcmp(e->d_name, "..") &&
		    unlinkat(dirfd(d), e->d_name, 0) && errno != ENOENT)
			rc = -errno;
	closedir(d);
	return rc;
}

int host_tree_remove(const char *root, unsigned int domid, unsigned int devid)
{
	char path[PATH_MAX];
	int rc;

	host_tree_dir(path, root, domid, devid);
	/* First, because without a state there is no device. */
	rc = host_tree_write(path, HOST_TREE_NODE_STATE, NULL);
	if (!rc)
		rc = empty(path);
	if (!rc && rmdir(path) && errno != ENOENT)
		rc = -errno;
	host_tree_guest(path, root, domid);
	rmdir(path);		/* unless it has another device */
	return rc;
}
