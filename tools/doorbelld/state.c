// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The state file (state.h). Only root can write it, but a damaged one must
 * not make the agent believe that a frame is free: it is refused as a whole.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "state.h"
#include "xenstore/scan.h"

#define STATE_HEAD	"xen-vhca-doorbelld 1\n"
#define STATE_TAIL	"end\n"		/* a torn file has none */
#define STATE_LINE	256

static int write_map(FILE *f, const struct dba_map *m)
{
	int i;

	fprintf(f, "map %u %u %u %u %#" PRIx64 " %#" PRIx64 " %" PRIu64
		" %d%d%d ", m->guest, m->devid, m->backend, m->slot, m->mfn,
		m->gfn, m->nr, m->translated, m->transit, m->held);
	for (i = 0; i < DBA_UUID; i++)
		fprintf(f, "%02x", m->uuid[i]);
	return fputc('\n', f) == EOF ? -EIO : 0;
}

int dba_state_save(const char *path, const struct dba_map *maps)
{
	char tmp[4096];
	FILE *f;
	int n, rc = 0;

	n = snprintf(tmp, sizeof(tmp), "%s.new", path);
	if (n < 0 || (size_t)n >= sizeof(tmp))
		return -ENAMETOOLONG;
	f = fopen(tmp, "we");
	if (!f)
		return -errno;
	fputs(STATE_HEAD, f);
	for (; maps && !rc; maps = maps->next)
		rc = write_map(f, maps);
	fputs(STATE_TAIL, f);
	if (fflush(f) || ferror(f))
		rc = -EIO;
	if (fclose(f) && !rc)
		rc = -EIO;
	if (!rc && rename(tmp, path))
		rc = -errno;
	if (rc)
		unlink(tmp);
	return rc;
}

static int parse_uuid(const char *s, uint8_t *uuid)
{
	static const char digits[] = "0123456789abcdef";
	const char *hi, *lo;
	int i;

	for (i = 0; i < DBA_UUID; i++) {
		hi = s[2 * i] ? strchr(digits, s[2 * i]) : NULL;
		lo = hi && s[2 * i + 1] ? strchr(digits, s[2 * i + 1]) : NULL;
		if (!lo)
			return -EINVAL;
		uuid[i] = (uint8_t)((hi - digits) << 4 | (lo - digits));
	}
	return s[2 * DBA_UUID] ? -EINVAL : 0;
}

static int parse_map(const char *line, struct dba_map *m)
{
	char flags[4], uuid[2 * DBA_UUID + 1], nl;

	memset(m, 0, sizeof(*m));
	if (sscanf(line, "map %u %u %u %u 0x%" SCNx64 " %" SCNx64 " %" SCNu64
		   " %3[01] %32[0-9a-f]%c", &m->guest, &m->devid, &m->backend,
		   &m->slot, &m->mfn, &m->gfn, &m->nr, flags, uuid,
		   &nl) != 10 || nl != '\n' || strlen(flags) != 3)
		return -EINVAL;
	m->translated = flags[0] == '1';
	m->transit = flags[1] == '1';
	m->held = flags[2] == '1';
	if (m->guest >= XN_FIRST_RESERVED_DOMID || m->devid > XN_MAX_DEVID ||
	    m->backend >= XN_FIRST_RESERVED_DOMID || !m->nr ||
	    m->nr > DBA_MAX_NR || m->mfn >= DBA_MAX_FRAME ||
	    m->gfn >= DBA_MAX_FRAME)
		return -EINVAL;
	return parse_uuid(uuid, m->uuid);
}

static int read_maps(FILE *f, struct dba_table *t)
{
	char line[STATE_LINE];
	struct dba_map m;

	if (!fgets(line, sizeof(line), f) || strcmp(line, STATE_HEAD))
		return -EINVAL;
	while (fgets(line, sizeof(line), f)) {
		if (!strcmp(line, STATE_TAIL))
			return fgetc(f) == EOF ? 0 : -EINVAL;
		if (parse_map(line, &m))
			return -EINVAL;
		if (!dba_map_insert(t, &m))
			return -ENOMEM;
	}
	return -EINVAL;
}

int dba_state_load(const char *path, struct dba_table *t)
{
	FILE *f = fopen(path, "re");
	int rc;

	if (!f)
		return errno == ENOENT ? 0 : -errno;
	rc = read_maps(f, t);
	fclose(f);
	if (rc)
		dba_map_free(t);
	return rc;
}
