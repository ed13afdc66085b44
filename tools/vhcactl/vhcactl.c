// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * vhcactl: the operator's command for paravirtual RDMA devices. Here are the
 * table of commands and the options. Runs as root in the
 * control domain; list, show and stats also in a backend domain.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "ctl.h"

#define RUN_DIR "/run/xen-vhcad"

static const struct command {
	const char *name;
	int (*fn)(struct ctl *c);
	const char *opts;		/* short options that it takes */
	const char *args;
	int min_args, max_args;		/* max_args -1: any number */
	const char *help;
} commands[] = {
	{ "attach", ctl_attach, "jw:", "DOMAIN hca=NAME[,KEY=VALUE...]", 2, 2,
	  "give a running guest a device" },
	{ "create", ctl_create, "w:", "FILE [XL-CREATE-ARGUMENT...]", 1, -1,
	  "xl create, with the vhca = [ ... ] devices of the file" },
	{ "detach", ctl_detach, "fw:", "DOMAIN DEVID|all", 2, 2,
	  "take it away" },
	{ "list", ctl_list, "j", "[DOMAIN]", 0, 1,
	  "list devices and their states" },
	{ "show", ctl_show, "j", "DOMAIN DEVID", 2, 2,
	  "show configuration, limits and errors of a device" },
	{ "stats", ctl_stats, "jr:", "DOMAIN DEVID", 2, 2,
	  "show counters of a device (in its backend domain)" },
};

#define NR_COMMANDS (sizeof(commands) / sizeof(commands[0]))

static const struct option long_options[] = {
	{ "json", no_argument, NULL, 'j' },
	{ "force", no_argument, NULL, 'f' },
	{ "wait", required_argument, NULL, 'w' },
	{ "run-dir", required_argument, NULL, 'r' },
	{ "help", no_argument, NULL, 'h' },
	{ NULL, 0, NULL, 0 }
};

static int usage(FILE *out)
{
	size_t i;

	fputs("Usage: vhcactl COMMAND [OPTION...] [ARGUMENT...]\n", out);
	for (i = 0; i < NR_COMMANDS; i++)
		fprintf(out, "  %-7s %-34s %s\n", commands[i].name,
			commands[i].args, commands[i].help);
	fputs("Options:\n"
	      "  -j, --json          print JSON (attach, list, show, stats)\n"
	      "  -w, --wait SECONDS  how long to wait for the other side (attach, create,\n"
	      "                      detach); 0: not at all\n"
	      "  -f, --force         detach: remove a device that does not close\n"
	      "  -r, --run-dir DIR   stats: where xen-vhcad keeps its files (" RUN_DIR ")\n"
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

static int parse_option(struct ctl *c, const struct command *cmd, int opt)
{
	uint64_t v = 0;

	if (opt == '?')
		return CTL_USAGE;	/* getopt has said why */
	if (!strchr(cmd->opts, opt))
		return ctl_error(CTL_USAGE, "%s takes no option -%c", cmd->name,
				 opt);
	switch (opt) {
	case 'j':
		c->json = true;
		break;
	case 'f':
		c->force = true;
		break;
	case 'r':
		c->run_dir = optarg;
		break;
	case 'w':
		if (xn_parse_u64(optarg, 0, 86400, &v))
			return ctl_error(CTL_USAGE,
					 "-w %s: seconds, 0..86400, are needed",
					 optarg);
		c->wait = (int)v;
		break;
	}
	return CTL_OK;
}

/* argv[0] is the name of the command. */
static int parse_args(struct ctl *c, const struct command *cmd, int argc,
		      char **argv)
{
	/* What follows the file of create belongs to xl. */
	const char *opts = cmd->max_args < 0 ? "+jfhw:r:" : "jfhw:r:";
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

int main(int argc, char **argv)
{
	struct ctl c = { .wait = -1, .run_dir = RUN_DIR, .root = "" };
	const struct command *cmd;
	int rc;

	if (argc < 2)
		return usage(stderr);
	if (!strcmp(argv[1], "-h") || !strcmp(argv[1], "--help") ||
	    !strcmp(argv[1], "help"))
		return usage(stdout);
	cmd = command_find(argv[1]);
	if (!cmd) {
		ctl_error(CTL_USAGE, "unknown command \"%s\"", argv[1]);
		return usage(stderr);
	}
	rc = parse_args(&c, cmd, argc - 1, argv + 1);
	if (rc)
		return rc;
	c.xs = xs_open(0);
	if (!c.xs)
		return ctl_error(CTL_FAILED,
				 "xenstore: %m (is this a Xen domain, are you root, is xenstored running?)");
	rc = cmd->fn(&c);
	xs_close(c.xs);
	return rc;
}
