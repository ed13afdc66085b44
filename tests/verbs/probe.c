// SPDX-License-Identifier: GPL-2.0
/* Copyright (C) 2026 The vhca authors */
/*
 * vhca-probe: runs every user verb that libibverbs offers, in good and in bad
 * ways, and prints what came of it. It judges nothing: compare.sh holds the
 * output of a guest against that of the bare HCA. A group that crashes or hangs
 * is reported as a line of its own and does not stop the others.
 *
 * Build: cc -D_GNU_SOURCE -O2 -o vhca-probe probe*.c vt_dev.c -lmlx5 -libverbs
 */
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "probe.h"

#define GROUP_SECONDS 300

static const struct {
	const char *name;
	void (*run)(struct probe *p);
} groups[] = {
	{ "device", probe_device },
	{ "port", probe_port },
	{ "pd", probe_pd },
	{ "mr", probe_mr },
	{ "mw", probe_mw },
	{ "cq", probe_cq },
	{ "cq_ex", probe_cq_ex },
	{ "cq_event", probe_cq_event },
	{ "qp", probe_qp },
	{ "qp_modify", probe_qp_modify },
	{ "qp_bad", probe_qp_bad },
	{ "qp_query", probe_qp_query },
	{ "qp_run", probe_qp_run },
	{ "srq", probe_srq },
	{ "xrc", probe_xrc },
	{ "mlx5", probe_mlx5 },
	{ "rich", probe_rich },
	{ "ah", probe_ah },
	{ "mcast", probe_mcast },
	{ "misc", probe_misc },
	{ "busy", probe_busy },
	{ "async", probe_async },
	{ "write_abi", probe_write_abi },
	{ "ioctl_abi", probe_ioctl_abi },
	{ "mmap", probe_mmap },
};

/** er() - error of a verb that returns -1, or a number, and sets errno */
int er(int ret)
{
	if (!ret)
		return 0;
	return errno ? errno : EIO;
}

/** ep() - error of a verb that returns an object, or NULL and sets errno */
int ep(const void *object)
{
	return er(!object);
}

/** pr() - print one probe, without detail */
void pr(const char *name, int err)
{
	printf("%s\t%s\t\n", name, vt_errno(err));
	fflush(stdout);
	errno = 0;	/* nothing stale for the next er() */
}

/**
 * prd() - print one probe
 * @err: errno value of either sign, 0 for success
 * @fmt: detail; nothing in it may change from run to run
 */
void prd(const char *name, int err, const char *fmt, ...)
{
	char detail[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(detail, sizeof(detail), fmt, ap);
	va_end(ap);
	printf("%s\t%s\t%s\n", name, vt_errno(err), detail);
	fflush(stdout);
	errno = 0;
}

/** nm() - format a probe's name; good until the fourth call after this one */
const char *nm(const char *fmt, ...)
{
	static char buf[4][128];
	static int next;
	char *b = buf[next++ & 3];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(b, sizeof(buf[0]), fmt, ap);
	va_end(ap);
	return b;
}

/*
 * From here on the kernel may lose allocations of this process (fault-injection.rst):
 * not before, since exec() that has no memory ends a program by SIGSEGV.
 */
static bool lose_memory(void)
{
	int fd = open("/proc/self/make-it-fail", O_WRONLY | O_CLOEXEC);
	bool ok = fd >= 0 && write(fd, "1", 1) == 1;

	if (fd >= 0)
		close(fd);
	return ok;
}

static void child(const struct vt_opt *o, int i, bool lose)
{
	char why[VT_WHY] = "";
	struct probe p = { .opt = *o };

	alarm(GROUP_SECONDS);
	if (vt_open(&p.dev, o, why)) {
		fprintf(stderr, "vhca-probe: %s\n", why);
		exit(2);
	}
	/* Not before, or no provider could be loaded. */
	if (lose && !lose_memory()) {
		fprintf(stderr, "vhca-probe: make-it-fail: %s\n", vt_errno(errno));
		exit(2);
	}
	p.ctx = p.dev.ctx;
	p.pd = p.dev.pd;
	groups[i].run(&p);
	vt_close(&p.dev);
	exit(0);
}

static int run_group(const struct vt_opt *o, int i, bool lose)
{
	int status = 0;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid < 0) {
		fprintf(stderr, "vhca-probe: fork: %s\n", vt_errno(errno));
		return 1;
	}
	if (!pid)
		child(o, i, lose);
	if (waitpid(pid, &status, 0) != pid)
		return 1;
	if (WIFEXITED(status) && !WEXITSTATUS(status))
		return 0;
	if (WIFSIGNALED(status))
		prd(nm("group.%s", groups[i].name), EIO, WTERMSIG(status) ==
		    SIGALRM ? "hangs, signal %d" : "killed by signal %d",
		    WTERMSIG(status));
	else
		prd(nm("group.%s", groups[i].name), EIO, "could not run");
	return 1;
}

static void usage(FILE *f)
{
	fprintf(f,
"usage: vhca-probe [-d DEVICE] [-g GID-INDEX] [-t GROUPS] [-F] [-l]\n"
"  -d NAME   RDMA device (first)\n"
"  -g N      GID index (1)\n"
"  -t LIST   groups to run, comma separated patterns (all)\n"
"  -F        let the kernel lose allocations of the groups (make-it-fail)\n"
"  -l        list the groups\n"
"Prints name, result and detail of each probe, separated by tabs. Exits with 1\n"
"when a group crashed or hung, whatever the verbs answered.\n");
}

static bool selected(const char *name, const char *only)
{
	char list[256], *save, *p;

	if (!only)
		return true;
	snprintf(list, sizeof(list), "%s", only);
	for (p = strtok_r(list, ",", &save); p; p = strtok_r(NULL, ",", &save))
		if (!fnmatch(p, name, 0))
			return true;
	return false;
}

int main(int argc, char **argv)
{
	struct vt_opt o = { .gid_index = 1, .timeout_ms = 5000 };
	const char *only = NULL;
	bool list = false, lose = false;
	int c, bad = 0, ran = 0;
	size_t i;

	while ((c = getopt(argc, argv, "d:g:t:Flh")) != -1) {
		switch (c) {
		case 'd': o.dev = optarg; break;
		case 'g': o.gid_index = atoi(optarg); break;
		case 't': only = optarg; break;
		case 'F': lose = true; break;
		case 'l': list = true; break;
		default:
			usage(c == 'h' ? stdout : stderr);
			return c == 'h' ? 0 : 2;
		}
	}
	signal(SIGPIPE, SIG_IGN);
	for (i = 0; i < VT_ARRAY_SIZE(groups); i++) {
		if (!selected(groups[i].name, only))
			continue;
		ran++;
		if (list)
			puts(groups[i].name);
		else
			bad |= run_group(&o, i, lose);
	}
	if (!ran)
		fprintf(stderr, "vhca-probe: no group matches; -l lists them\n");
	return bad || !ran;
}
