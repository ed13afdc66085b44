// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * vhcactl create, for an xl that does not know vhca devices: it starts the
 * domain paused with xl create, writes the nodes of its devices, and unpauses
 * it. If a device cannot be created, the domain is destroyed again. With an xl
 * that knows vhca devices it is xl create and, with -w, the wait for the
 * devices.
 */
#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include "ctl.h"

#define CFG_FILE_MAX (256 * 1024)

extern char **environ;

/* Runs xl VERB ARGUMENT...; 0 or an exit code of ours. */
static int xl(const char *verb, char *const args[], int n)
{
	const char **argv = calloc((size_t)n + 4, sizeof(*argv));
	int i, at = 0, status = 0, rc;
	pid_t pid;

	if (!argv)
		return ctl_error(CTL_FAILED, "out of memory");
	argv[at++] = "xl";
	argv[at++] = verb;
	if (!strcmp(verb, "create"))
		argv[at++] = "-p";	/* paused */
	for (i = 0; i < n; i++)
		argv[at++] = args[i];
	rc = posix_spawnp(&pid, "xl", NULL, NULL, (char *const *)argv, environ);
	free(argv);
	if (rc)
		return ctl_error(CTL_FAILED, "cannot run xl: %s", strerror(rc));
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return ctl_error(CTL_FAILED, "xl: %m");
	if (WIFEXITED(status) && !WEXITSTATUS(status))
		return CTL_OK;
	return ctl_error(CTL_FAILED, "xl %s failed", verb);
}

char *ctl_read_file(const char *file)
{
	char *text = calloc(1, CFG_FILE_MAX);
	FILE *f = fopen(file, "re");
	size_t n;

	if (!f || !text) {
		ctl_error(CTL_USAGE, "%s: %s", file, strerror(errno));
	} else {
		n = fread(text, 1, CFG_FILE_MAX, f);
		if (n && n < CFG_FILE_MAX && strlen(text) == n) {
			fclose(f);
			return text;
		}
		ctl_error(CTL_USAGE, "%s: %s", file, !n ?
			  "empty or unreadable" : n < CFG_FILE_MAX ?
			  "no text file" : "too long for a configuration");
	}
	if (f)
		fclose(f);
	free(text);
	return NULL;
}

/*
 * The file, and behind it KEY=VALUE of the command line, as in xl. An error's line
 * number behind the file's end is that of such a KEY=VALUE.
 */
static char *cfg_text(struct ctl *c)
{
	char *text = ctl_read_file(c->argv[0]), *more;
	int i;

	for (i = 1; text && i < c->argc; i++) {
		if (c->argv[i][0] == '-' || !strchr(c->argv[i], '='))
			continue;
		if (asprintf(&more, "%s\n%s", text, c->argv[i]) < 0) {
			ctl_error(CTL_FAILED, "out of memory");
			more = NULL;
		}
		free(text);
		text = more;
	}
	return text;
}

int ctl_create_cfg(struct ctl *c, struct ctl_cfg *cfg)
{
	char err[CTL_ERR_MAX], *text = cfg_text(c);
	const char *file = c->argv[0];
	struct ctl_conf conf;
	int i, rc;

	if (!text)
		return CTL_USAGE;
	rc = ctl_cfg_parse(text, cfg, err);
	free(text);
	if (rc)
		return ctl_error(CTL_USAGE, "%s:%s", file, err);
	if (!cfg->name[0])
		return ctl_error(CTL_USAGE, "%s: name = \"...\" is missing",
				 file);
	/* Reports mistakes before the domain exists. */
	for (i = 0; i < cfg->nr; i++)
		if (ctl_conf_parse(cfg->spec[i], &conf, err))
			return ctl_error(CTL_USAGE, "%s:%d: vhca[%d]: %s", file,
					 cfg->line[i], i, err);
	return CTL_OK;
}

/*
 * Number of devices that xl created, if it knows vhca devices, so that they are not
 * created twice; from /libxl, where no other domain writes. -1 with a message.
 */
static int made_by_xl(struct ctl *c, unsigned int domid, struct ctl_dev *devs)
{
	char path[XN_PATH_MAX], **ids = NULL;
	int i, n;

	snprintf(path, sizeof(path), "/libxl/%u/device/" XN_KIND, domid);
	n = xn_list(c->xs, XBT_NULL, path, &ids);
	for (i = 0; i < n && i < CTL_CFG_MAX; i++)
		if (ctl_dev_find(c, domid, ids[i], &devs[i]))
			break;
	if (i < n)
		n = -1;
	else if (n < 0)
		n = 0;
	free(ids);
	return n;
}

static int add_devices(struct ctl *c, const struct ctl_cfg *cfg,
		       struct ctl_dev *devs)
{
	unsigned int domid = 0;
	int i, n, rc;

	rc = ctl_domain(c, cfg->name, &domid);
	if (rc)
		return rc;
	n = made_by_xl(c, domid, devs);
	if (n && n == cfg->nr)
		return CTL_OK;
	if (n)
		return ctl_error(CTL_FAILED,
				 "%s: xl made other devices than the %d of the file",
				 cfg->name, cfg->nr);
	for (i = 0; i < cfg->nr && !rc; i++)
		rc = ctl_attach_spec(c, domid, cfg->spec[i], &devs[i]);
	return rc;
}

int ctl_create(struct ctl *c)
{
	struct ctl_dev devs[CTL_CFG_MAX];
	struct ctl_cfg cfg;
	char *name = cfg.name;
	int i, rc;

	rc = ctl_create_cfg(c, &cfg);
	if (!rc)
		rc = xl("create", c->argv, c->argc);
	if (rc)
		return rc;
	rc = add_devices(c, &cfg, devs);
	if (rc) {
		xl("destroy", &name, 1);
		return rc;
	}
	rc = xl("unpause", &name, 1);
	/* By default it does not wait, because the guest has to boot first. */
	for (i = 0; i < cfg.nr && !rc && c->wait > 0; i++)
		rc = ctl_attach_wait(c, &devs[i], c->wait);
	return rc;
}
