// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Reads the file with the counters of a device that its worker of xen-vhcad
 * replaces about once a second. Root of this domain writes it; missing counters are 0,
 * so that an older or newer xen-vhcad does no harm. A worker that a guest took over can
 * neither block the reader nor exceed a size.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "ctl.h"
#include "file.h"

#define PAGES_PER_MB	(1024u * 1024u / XENVHCA_PAGE_SIZE)
#define SIZE_MAX_STATS	65536

/* 0 or -errno; the object may be NULL in both cases. */
static int load(const char *path, struct json_object **obj, struct stat *st)
{
	int fd = vl_file_open(path, O_RDONLY), rc = 0;

	if (fd < 0)
		return fd;
	*obj = NULL;
	if (fstat(fd, st))
		rc = -errno;
	else if (st->st_size > SIZE_MAX_STATS)
		rc = -EFBIG;
	else
		*obj = json_object_from_fd(fd);
	close(fd);
	return rc;
}

int ctl_stats_load(struct ctl *c, const struct ctl_dev *d,
		   struct json_object **obj, int64_t *mtime_ms, char *err)
{
	char path[XN_PATH_MAX];
	struct stat st;
	int rc;

	if (snprintf(path, sizeof(path), "%s/%u-%u.stats", c->run_dir,
		     d->domid, d->devid) >= (int)sizeof(path)) {
		snprintf(err, CTL_ERR_MAX, "-r %.64s...: too long", c->run_dir);
		return -ENAMETOOLONG;
	}
	rc = load(path, obj, &st);
	if (rc) {
		snprintf(err, CTL_ERR_MAX, "%s: %s", path, vl_file_why(-rc));
		return rc;
	}
	if (!json_object_is_type(*obj, json_type_object)) {
		json_object_put(*obj);
		*obj = NULL;
		snprintf(err, CTL_ERR_MAX, "%s: no JSON object", path);
		return -EINVAL;
	}
	if (mtime_ms)
		*mtime_ms = st.st_mtim.tv_sec * (int64_t)1000 +
			    st.st_mtim.tv_nsec / 1000000;
	return 0;
}

struct json_object *ctl_stats_get(struct json_object *obj, const char *key)
{
	struct json_object *val = NULL;

	if (json_object_is_type(obj, json_type_object))
		json_object_object_get_ex(obj, key, &val);
	return val;
}

uint64_t ctl_stats_num(struct json_object *obj, const char *dir,
		       const char *key)
{
	struct json_object *val;

	val = ctl_stats_get(dir ? ctl_stats_get(obj, dir) : obj, key);
	return val ? json_object_get_uint64(val) : 0;
}

uint64_t ctl_mb_of_pages(uint64_t pages)
{
	return pages / PAGES_PER_MB + (pages % PAGES_PER_MB != 0);
}
