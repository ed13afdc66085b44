// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * vhcactl: the operator's command for paravirtual RDMA devices. This file has
 * the table of commands and the options. It runs as root in the control domain;
 * commands that only show something also run in a backend domain.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "ctl.h"
#include "host/arch.h"
#include "host/paths.h"
#include "number.h"

static const struct command {
	const char *name;
	int (*fn)(struct ctl *c);
	const char *opts;		/* short options that it takes */
	const char *args;
	int min_args, max_args;		/* max_args -1: any number */
	const char *help;
	int (*without)(struct ctl *c);	/* the same without xenstore; NULL: impossible */
} commands[] = {
	{ "attach", ctl_attach, "jw:", "DOMAIN hca=NAME[,KEY=VALUE...]", 2, 2,
	  "give a running guest a device", NULL },
	{ "check", ctl_check, "jr:", "", 0, 0,
	  "is this domain fit as a backend?", ctl_check },
	{ "create", ctl_create, "w:", "FILE [XL-CREATE-ARGUMENT...]", 1, -1,
	  "xl create, with devices of FILE", NULL },
	{ "detach", ctl_detach, "fjw:", "DOMAIN DEVID|all", 2, 2,
	  "take it away", ctl_files_detach },
	{ "dom0less", ctl_dom0less, "w:", "FILE", 1, 1,
	  "serve the guests of FILE", ctl_dom0less },
	{ "list", ctl_list, "j", "[DOMAIN]", 0, 1,
	  "list devices and their states", ctl_files_list },
	{ "quota", ctl_quota, "jr:", "DOMAIN DEVID [KEY=VALUE...]", 2,
	  2 + CTL_KEYS,
	  "show or change a device's limits", NULL },
	{ "reattach", ctl_reattach, "jw:", "[DOMAIN|all [BACKEND]]", 0, 2,
	  "after a backend domain's restart", NULL },
	{ "show", ctl_show, "j", "DOMAIN DEVID", 2, 2,
	  "configuration, limits, errors", NULL },
	{ "stats", ctl_stats, "jor:", "[DOMAIN [DEVID]]", 0, 2,
	  "counters, in the backend domain", NULL },
	{ "top", ctl_top, "bd:jn:r:", "[DOMAIN]", 0, 1,
	  "what devices do now, repeatedly", NULL },
};

#define NR_COMMANDS (sizeof(commands) / sizeof(commands[0]))
#define OPTIONS "bd:fhjn:or:w:"

static const struct option long_options[] = {
	{ "batch", no_argument, NULL, 'b' },
	{ "delay", required_argument, NULL, 'd' },
	{ "force", no_argument, NULL, 'f' },
	{ "help", no_argument, NULL, 'h' },
	{ "json", no_argument, NULL, 'j' },
	{ "iterations", required_argument, NULL, 'n' },
	{ "openmetrics", no_argument, NULL, 'o' },
	{ "run-dir", required_argument, NULL, 'r' },
	{ "wait", required_argument, NULL, 'w' },
	{ NULL, 0, NULL, 0 }
};

static int usage(FILE *out)
{
	size_t i;

	fputs("Usage: vhcactl COMMAND [OPTION...] [ARGUMENT...]\n", out);
	for (i = 0; i < NR_COMMANDS; i++)
		fprintf(out, "  %-8s %-34s %s\n", commands[i].name,
			commands[i].args, commands[i].help);
	fputs("Options:\n"
	      "  -j, --json          print JSON (all but create)\n"
	      "  -w, --wait SECONDS  how long to wait for the other side (attach, create,\n"
	      "                      detach, dom0less, reattach); 0: not at all\n"
	      "  -f, --force         detach: remove a device that does not close\n"
	      "  -o, --openmetrics   stats: print for Prometheus\n"
	      "  -d, --delay SECONDS top: time between two rounds\n"
	      "  -n, --iterations N  top: end after N rounds\n"
	      "  -b, --batch         top: plain lines, no terminal\n"
	      "  -r, --run-dir DIR   check, quota, stats, top: where xen-vhcad keeps its\n"
	      "                      files (" HOST_RUN_VHCAD ")\n"
	      "  -h, --help          this text; -V, --version: version\n"
	      "DOMAIN is a name or a number. See vhcactl(8).\n", out);
	return out == stdout ? CTL_OK : CTL_USAGE;
}

static const struct command *command_find(const char *name)
{
	size_t i;

	for (i = 0; i < NR_COMMANDS; i++)
		if (!strcmp(name, commands[i].name))
			return &commands[i];
	return NULL;
}

/* Parses the number of an option; false: with a message. */
static bool option_number(int opt, const char *what, uint64_t min, uint64_t max,
			  int *val)
{
	uint64_t v = 0;

	if (vl_parse_u64(optarg, min, max, &v)) {
		ctl_error(CTL_USAGE, "-%c %s: %s, %u..%u, are needed", opt,
			  optarg, what, (unsigned int)min, (unsigned int)max);
		return false;
	}
	*val = (int)v;
	return true;
}

static int parse_option(struct ctl *c, const struct command *cmd, int opt)
{
	bool good = true;

	if (opt == '?')
		return CTL_USAGE;	/* getopt has said why */
	if (!strchr(cmd->opts, opt))
		return ctl_error(CTL_USAGE, "%s takes no option -%c", cmd->name,
				 opt);
	switch (opt) {
	case 'b':
		c->batch = true;
		break;
	case 'd':
		good = option_number(opt, "seconds", 1, 3600, &c->delay);
		break;
	case 'f':
		c->force = true;
		break;
	case 'j':
		c->json = true;
		break;
	case 'n':
		good = option_number(opt, "rounds", 1, 1000000000, &c->count);
		break;
	case 'o':
		c->openmetrics = true;
		break;
	case 'r':
		c->run_dir = optarg;
		break;
	case 'w':
		good = option_number(opt, "seconds", 0, 86400, &c->wait);
		break;
	}
	return good ? CTL_OK : CTL_USAGE;
}

/* argv[0] is the name of the command. */
static int parse_args(struct ctl *c, const struct command *cmd, int argc,
		      char **argv)
{
	/* What follows the file of create belongs to xl. */
	const char *opts = cmd->max_args < 0 ? "+" OPTIONS : OPTIONS;
	int opt, rc;

	while ((opt = getopt_long(argc, argv, opts, long_options, NULL)) != -1) {
		if (opt == 'h')
			exit(usage(stdout));
		rc = parse_option(c, cmd, opt);
		if (rc)
			return rc;
	}
	c->argc = argc - optind;
	c->argv = argv + optind;
	if (c->argc < cmd->min_args ||
	    (cmd->max_args >= 0 && c->argc > cmd->max_args))
		return ctl_error(CTL_USAGE, "usage: vhcactl %s %s", cmd->name,
				 cmd->args);
	return CTL_OK;
}

static int run(struct ctl *c, const struct command *cmd)
{
	int rc;

	c->xs = xs_open(0);
	c->no_xs = !c->xs;
	if (c->no_xs && !cmd->without)
		return ctl_error(CTL_FAILED,
				 "xenstore: %m (is this a Xen domain, are you root, is xenstored running?)");
	rc = c->xs ? cmd->fn(c) : cmd->without(c);
	if (c->xs)
		xs_close(c->xs);
	return rc;
}

int main(int argc, char **argv)
{
	struct ctl c = { .wait = -1, .run_dir = HOST_RUN_VHCAD,
			 .agent_dir = HOST_RUN_DOORBELLD, .root = "",
			 .devices = HOST_RUN_DEVICES, .lock = HOST_RUN_LOCK,
			 .arm = host_is_arm(), .xl_info = ctl_xl_info,
			 .nft_tables = ctl_nft_tables };
	const struct command *cmd;
	int rc;

	if (argc < 2)
		return usage(stderr);
	if (!strcmp(argv[1], "-h") || !strcmp(argv[1], "--help") ||
	    !strcmp(argv[1], "help"))
		return usage(stdout);
	if (!strcmp(argv[1], "-V") || !strcmp(argv[1], "--version")) {
		puts("vhcactl " PACKAGE_VERSION);
		return CTL_OK;
	}
	cmd = command_find(argv[1]);
	if (!cmd) {
		ctl_error(CTL_USAGE, "unknown command \"%s\"", argv[1]);
		return usage(stderr);
	}
	rc = parse_args(&c, cmd, argc - 1, argv + 1);
	return rc ? rc : run(&c, cmd);
}
