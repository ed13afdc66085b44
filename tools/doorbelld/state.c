// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The state file (state.h). Only root can write it. A damaged file is refused as a
 * whole, so that no frame counts as free by mistake.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "state.h"
#include "xenstore/scan.h"

#define STATE_HEAD	"xen-vhca-doorbelld 1\n"
#define STATE_TAIL	"end\n"		/* a torn file has none */
#define STATE_LINE	256
#define STATE_BUFFER	65536	/* octets of a write() */

/* Its line, in which only the last two flags change while it is in the table. */
static void make_line(struct dba_map *m)
{
	struct dba_line *l = &m->line;
	int i, n;

	/* 144 octets at most, with the largest numbers. */
	n = snprintf(l->text, sizeof(l->text),
		     "map %u %u %u %u %#" PRIx64 " %#" PRIx64 " %" PRIu64 " %d",
		     m->guest, m->devid, m->backend, m->slot, m->mfn, m->gfn,
		     m->nr, m->translated);
	l->flags = (uint16_t)n;
	n += snprintf(l->text + n, sizeof(l->text) - (size_t)n, "00 ");
	for (i = 0; i < DBA_UUID; i++)
		n += snprintf(l->text + n, sizeof(l->text) - (size_t)n, "%02x",
			      m->uuid[i]);
	l->text[n++] = '\n';
	l->len = (uint16_t)n;
}

/*
 * Thousands of lines are written for each pass, so each is formatted once only; with
 * 8,192 mappings formatting took two thirds of a processor (92-many-contexts).
 */
static int write_map(FILE *f, struct dba_map *m)
{
	struct dba_line *l = &m->line;

	if (!l->len)
		make_line(m);
	l->text[l->flags] = m->transit ? '1' : '0';
	l->text[l->flags + 1] = m->held ? '1' : '0';
	return fwrite(l->text, 1, l->len, f) == l->len ? 0 : -EIO;
}

int dba_state_save(const char *path, struct dba_map *maps)
{
	static char buffer[STATE_BUFFER];
	char tmp[4096];
	FILE *f;
	int n, rc = 0;

	n = snprintf(tmp, sizeof(tmp), "%s.new", path);
	if (n < 0 || (size_t)n >= sizeof(tmp))
		return -ENAMETOOLONG;
	f = fopen(tmp, "we");
	if (!f)
		return -errno;
	setvbuf(f, buffer, _IOFBF, sizeof(buffer));
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
