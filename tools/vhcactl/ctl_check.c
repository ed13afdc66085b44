// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * vhcactl check reports whether this domain can be the backend of vhca devices. It
 * changes nothing. This file has the report and the readers; the checks are in
 * check_*.c.
 */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "check.h"
#include "file.h"

#define INFO_SIZE	16384
#define TEXT_SIZE	1024
#define WITHOUT_XEN	3	/* the first checks make sense anywhere */

void check_say(struct check *k, enum check_verdict v, const char *name,
	       const char *mend, const char *fmt, ...)
{
	static const char *const word[] = { "ok", "warn", "FAIL" };
	struct json_object *o;
	char text[TEXT_SIZE];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (v > k->worst)
		k->worst = v;
	if (!k->list) {
		ctl_say("%-4s %s: %s%s%s", word[v], name, text,
			mend ? "; " : "", mend ? mend : "");
		return;
	}
	o = json_object_new_object();
	ctl_json_text(o, "check", name);
	ctl_json_text(o, "verdict", v == CHECK_FAIL ? "fail" : word[v]);
	ctl_json_text(o, "text", text);
	if (mend)
		ctl_json_text(o, "mend", mend);
	json_object_array_add(k->list, o);
}

int check_read(const struct check *k, char *buf, size_t size, const char *path)
{
	return vl_file_line(buf, size, "%s%s", k->c->root, path);
}

bool check_exists(const struct check *k, const char *path)
{
	char full[PATH_MAX];

	snprintf(full, sizeof(full), "%s%s", k->c->root, path);
	return !access(full, F_OK);
}

bool check_info(const char *info, const char *key, char *buf, size_t size)
{
	size_t len = strlen(key);
	const char *p = info;

	for (; p && *p; p = strchr(p, '\n'), p += p != NULL) {
		if (strncmp(p, key, len) || (p[len] != ' ' && p[len] != ':'))
			continue;
		p += len + strspn(p + len, " ");
		if (*p != ':')
			continue;
		p += 1 + strspn(p + 1, " ");
		snprintf(buf, size, "%.*s", (int)strcspn(p, "\n"), p);
		return true;
	}
	return false;
}

/* Behind the last " WORD=", which Xen uses; or NULL. */
static const char *option(const char *cmdline, const char *word)
{
	size_t len = strlen(word);
	const char *p = cmdline, *found = NULL;

	for (; *p; p += strcspn(p, " ")) {
		p += strspn(p, " ");
		if (!strncmp(p, word, len) && p[len] == '=')
			found = p + len + 1;
	}
	return found;
}

uint32_t check_param(const char *cmdline, const char *word, uint32_t def)
{
	const char *p = option(cmdline, word);
	unsigned long v;
	char *end;

	if (!p || !isdigit((unsigned char)*p))
		return def;
	v = strtoul(p, &end, 0);
	return (*end && *end != ' ') || v > UINT32_MAX ? def : (uint32_t)v;
}

bool check_dom0_mem_fixed(const char *cmdline)
{
	const char *p = option(cmdline, "dom0_mem");
	size_t len = p ? strcspn(p, " ") : 0;

	for (; len; p++, len--)
		if (!strncmp(p, "max:", 4) && len > 4)
			return true;
	return false;
}

static int output_of(const char *command, char *buf, size_t size)
{
	FILE *f = popen(command, "re");

	if (!f)
		return -EIO;
	buf[fread(buf, 1, size - 1, f)] = '\0';
	return pclose(f) ? -EIO : 0;
}

/* Not by libxl, whose ABI changes with every Xen: any xl will do. */
int ctl_xl_info(char *buf, size_t size)
{
	return output_of("exec xl info 2>/dev/null", buf, size);
}

int ctl_nft_tables(char *buf, size_t size)
{
	return output_of("exec nft list tables 2>/dev/null", buf, size);
}

bool check_mine(const struct check *k, const struct ctl_dev *d)
{
	return d->backend == (unsigned int)k->own;
}

static void facts(struct check *k, char *info, size_t size)
{
	char text[64];

	k->own = k->c->no_xs ? -ENOENT : xn_own_domid(k->c->xs);
	k->n_devs = k->own < 0 ? 0 : ctl_devs(k->c, -1, &k->devs);
	if (k->n_devs < 0)
		k->n_devs = 0;
	check_read(k, text, sizeof(text), "/proc/xen/capabilities");
	k->control = strstr(text, "control_d");
	check_read(k, text, sizeof(text), "/sys/hypervisor/guest_type");
	k->pv = !strcmp(text, "PV");
	if (k->control && k->c->xl_info && !k->c->xl_info(info, size))
		k->info = info;
}

int ctl_check(struct ctl *c)
{
	static void (*const checks[])(struct check *k) = {
		check_xen, check_versions, check_hcas, check_modules,
		check_daemon, check_agent, check_gntdev, check_grant_tables,
		check_utility, check_memory, check_addresses, check_segment_cap, check_dma,
		check_doorbells, check_iommu,
	};
	static const int exits[] = { CTL_OK, CTL_WARNED, CTL_FAILED };
	struct check k = { .c = c };
	char *info = calloc(1, INFO_SIZE);
	size_t i;

	if (!info)
		return ctl_error(CTL_FAILED, "out of memory");
	if (c->json)
		k.list = json_object_new_array();
	facts(&k, info, INFO_SIZE);
	for (i = 0; i < sizeof(checks) / sizeof(checks[0]); i++)
		if (k.xen || i < WITHOUT_XEN)
			checks[i](&k);
	if (k.list)
		ctl_print_json(k.list);
	free(k.devs);
	free(info);
	return exits[k.worst];
}
