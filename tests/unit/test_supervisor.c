// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Which devices the supervisor serves: all that this domain's maptrack table
 * has room for. The supervisor is the real one over a xenstore in memory; its
 * workers are this program, which leaves a file and waits.
 */
#include <glob.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "tests/fake/fake_manager.h"
#include "tests/fake/fake_xs.h"
#include "lock.h"
#include "run.h"
#include "bucket.h"
#include "host/maptrack.h"
#include "carrier/open_xenstore.h"
#include "supervise/supervisor.h"

#define BACK	"/local/domain/1/backend/vhca"

static struct be_options opt;

/* What sup_exec() executes: argv ends with "--worker DOMID DEVID LEFT-UARS". */
static int worker(int argc, char **argv)
{
	char path[300];
	FILE *f;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	snprintf(path, sizeof(path), "%s/%s-%s.ran", argv[2], argv[argc - 3],
		 argv[argc - 2]);
	f = fopen(path, "w");
	if (f) {
		fputs(argv[argc - 1], f);
		fclose(f);
	}
	/* To the script's: which was first? */
	snprintf(path, sizeof(path), "%s/log", argv[2]);
	f = fopen(path, "a");
	if (f) {
		fprintf(f, "worker %s\n", argv[argc - 3]);
		fclose(f);
	}
	pause();
	return 0;
}

static bool served(unsigned int domid)
{
	char path[300];

	snprintf(path, sizeof(path), "%s/%u-0.ran", opt.run_dir, domid);
	return !unlink(path);
}

static void set(unsigned int domid, const char *node, const char *value)
{
	char path[128];

	snprintf(path, sizeof(path), BACK "/%u/0/%s", domid, node);
	fake_xs_set(path, value);
}

static const char *get(unsigned int domid, const char *node)
{
	char path[128];

	snprintf(path, sizeof(path), BACK "/%u/0/%s", domid, node);
	return fake_xs_get(path);
}

/* mb NULL: the default. */
static void attach(unsigned int domid, const char *mb)
{
	char path[64];

	snprintf(path, sizeof(path), "/local/domain/%u/name", domid);
	fake_xs_set(path, "guest");
	set(domid, "online", "1");
	set(domid, "state", "1");
	if (mb)
		set(domid, "max-pinned-mb", mb);
}

static unsigned int workers(void)
{
	char pattern[300];
	unsigned int n;
	glob_t g;

	snprintf(pattern, sizeof(pattern), "%s/*.ran", opt.run_dir);
	n = glob(pattern, 0, NULL, &g) ? 0 : (unsigned int)g.gl_pathc;
	globfree(&g);
	return n;
}

/* Lines of the log: scripts and workers that were started. */
static unsigned int lines(void)
{
	unsigned int n = 0;
	char path[300];
	FILE *f;
	int c;

	snprintf(path, sizeof(path), "%s/log", opt.run_dir);
	f = fopen(path, "r");
	while (f && (c = fgetc(f)) != EOF)
		n += c == '\n';
	if (f)
		fclose(f);
	return n;
}

/*
 * Until n workers ran and so many lines are in the log, and a moment longer; then as
 * systemd stops it.
 */
static void supervise_for(unsigned int n, unsigned int more)
{
	pid_t pid = fork();
	int i;

	if (!pid) {
		for (i = 0; i < 1000 && (workers() < n || lines() < more); i++)
			usleep(10000);
		usleep(more ? 500000 : 100000);
		kill(getppid(), SIGTERM);
		_exit(0);
	}
	assert_int_equal(be_supervisor_main(&opt, be_devices_xenstore), BE_EXIT_OK);
	waitpid(pid, NULL, 0);
}

static void supervise(unsigned int n)
{
	supervise_for(n, 0);
}

/* In a child: the manager hears that process parent serves, and stops it. */
static int heard(int manager, pid_t parent)
{
	struct pollfd p = { .fd = manager, .events = POLLIN };
	char path[300], text[64] = "";
	bool held;

	snprintf(path, sizeof(path), "%s/supervisor.lock", opt.run_dir);
	if (poll(&p, 1, 10000) == 1 &&
	    recv(manager, text, sizeof(text) - 1, 0) < 0)
		text[0] = '\0';
	held = vl_lock_holder(path) == parent;
	kill(parent, SIGTERM);
	return strcmp(text, "READY=1\n") ? 1 : held ? 0 : 2;
}

/* What systemctl, xendomains and "vhcactl check" may go by from then on. */
static void ready_is_one_that_serves(void **state)
{
	pid_t parent = getpid(), pid;
	int manager = fake_manager(), status;

	(void)state;
	assert_true(manager >= 0);
	pid = fork();
	if (!pid)
		_exit(heard(manager, parent));
	assert_int_equal(be_supervisor_main(&opt, be_devices_xenstore), BE_EXIT_OK);
	unsetenv("NOTIFY_SOCKET");
	close(manager);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* In a child, whose fd 3 the service manager stored: d5/0 left 120 there. */
static int served_beside_a_guard(void)
{
	char path[300], left[16] = "", pid[16];
	FILE *f;

	dup2(STDERR_FILENO, 3);
	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	setenv("LISTEN_PID", pid, 1);
	setenv("LISTEN_FDS", "1", 1);
	setenv("LISTEN_FDNAMES", "guard.5.0.l.10.120", 1);
	supervise(2);
	snprintf(path, sizeof(path), "%s/5-1.ran", opt.run_dir);
	f = fopen(path, "r");
	if (!f || !fgets(left, sizeof(left), f) || strcmp(left, "120"))
		return 1;
	fclose(f);
	snprintf(path, sizeof(path), "%s/6-0.ran", opt.run_dir);
	f = fopen(path, "r");
	return !f || !fgets(left, sizeof(left), f) || strcmp(left, "0") ? 2 : 0;
}

/* Whichever device of the guest left it. */
static void tells_a_worker_what_its_guest_left(void **state)
{
	int status;
	pid_t pid;

	(void)state;
	attach(6, NULL);
	fake_xs_set("/local/domain/5/name", "guest");
	fake_xs_set(BACK "/5/1/online", "1");
	fake_xs_set(BACK "/5/1/state", "1");
	pid = fork();
	if (!pid)
		_exit(served_beside_a_guard());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static int setup(void **state)
{
	(void)state;
	fake_xs_reset();
	fake_xs_set("domid", "1");
	opt = (struct be_options){
		.run_dir = "/tmp/vhca-unit-XXXXXX", .helper_fd = -1,
		.maptrack_frames = HOST_MAPTRACK_FRAMES, .root = "",
	};
	return mkdtemp(opt.run_dir) ? 0 : -1;
}

/* Says what it is asked for; what the real one does: tools/scripts/check.sh. */
static void script(void)
{
	static char path[300];
	FILE *f;

	snprintf(path, sizeof(path), "%s/script", opt.run_dir);
	f = fopen(path, "w");
	assert_non_null(f);
	fprintf(f, "#!/bin/sh\necho \"$*, $VHCA_HCA $VHCA_PORT $VHCA_PKEY,"
		" ${VHCA_RECORD##*/}\" >>%s/log\n"
		"[ ! -e %s/fail ] || { printf 'no\\033\\nnet' >&2; exit 1; }\n"
		"case $1 in add) : >$VHCA_RECORD ;; *) rm $VHCA_RECORD ;; esac\n",
		opt.run_dir, opt.run_dir);
	fclose(f);
	assert_int_equal(chmod(path, 0700), 0);
	opt.script = path;
}

static void touch(const char *name)
{
	char path[300];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", opt.run_dir, name);
	f = fopen(path, "w");
	assert_non_null(f);
	fclose(f);
}

static bool there(const char *name)
{
	char path[300];

	snprintf(path, sizeof(path), "%s/%s", opt.run_dir, name);
	return !access(path, F_OK);
}

/* What was run since the last time. */
static void ran(const char *want)
{
	char path[300], text[1024] = "";
	FILE *f;

	snprintf(path, sizeof(path), "%s/log", opt.run_dir);
	f = fopen(path, "r");
	if (f) {
		text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
		fclose(f);
	}
	unlink(path);
	assert_string_equal(text, want);
}

static void attach_ip(unsigned int domid, const char *ip)
{
	attach(domid, NULL);
	set(domid, "hca", "rxe0");
	set(domid, "ip", ip);
}

#define ADD7	"add 192.0.2.7 192.0.2.0/23 " \
		"0000:0000:0000:0000:0000:ffff:c000:0207"
static void addresses_are_there_before_the_worker(void **state)
{
	(void)state;
	script();
	attach_ip(5, "192.0.3.7/23 2001:db8::7");
	set(5, "port", "2");
	set(5, "pkeys", "0x8001 0xffff");
	supervise(1);
	ran("add 192.0.3.7 192.0.2.0/23 0000:0000:0000:0000:0000:ffff:c000:0307"
	    " 2001:db8::7 - 2001:0db8:0000:0000:0000:0000:0000:0007,"
	    " rxe0 2 0x8001, 5-0.address\nworker 5\n");
	/* They stay, and the next supervisor makes sure of them. */
	assert_true(served(5));
	assert_true(there("5-0.address"));
	set(5, "ip", "192.0.2.7/23");
	supervise(1);
	ran("remove, rxe0 2 0x8001, 5-0.address\n" ADD7
	    ", rxe0 2 0x8001, 5-0.address\nworker 5\n");
}

static void without_addresses_nothing_is_run(void **state)
{
	(void)state;
	script();
	attach(5, NULL);
	supervise(1);
	ran("worker 5\n");
	assert_true(served(5));
	/* They were taken from it meanwhile. */
	touch("5-0.address");
	supervise(1);
	ran("remove,  1 , 5-0.address\nworker 5\n");
}

static void what_went_while_nobody_watched_is_removed(void **state)
{
	(void)state;
	script();
	touch("5-0.address");			/* detached */
	touch("6-0.address");			/* a dead domain */
	set(6, "online", "1");
	set(6, "hca", "rxe0");
	touch("7-0.address");			/* detach waits for Closed */
	attach_ip(7, "192.0.2.7/23");
	set(7, "online", "0");
	attach(8, NULL);
	supervise_for(1, 4);
	assert_false(there("5-0.address"));
	assert_false(there("6-0.address"));
	assert_false(there("7-0.address"));
	assert_null(get(6, "hca"));
	assert_false(served(7));
}

static void a_network_that_is_not_there_is_told(void **state)
{
	(void)state;
	script();
	touch("fail");
	attach_ip(5, "192.0.2.7/23");
	attach(6, NULL);
	supervise_for(1, 2);
	assert_false(served(5));
	assert_true(served(6));
	assert_string_equal(get(5, "broken"), "ip: no?;net");
	assert_string_equal(get(5, "state"), "6");
	opt.script = "/nowhere/script";
	supervise(1);
	assert_string_equal(get(5, "broken"),
			    "ip: cannot run /nowhere/script: No such file or directory");
}

static void an_address_is_of_one_device(void **state)
{
	unsigned int first;

	(void)state;
	script();
	attach_ip(5, "192.0.2.7/23 192.0.2.9");
	attach_ip(6, "2001:db8::7 192.0.2.7");
	attach_ip(7, "192.0.2.8/23");
	supervise_for(2, 4);
	assert_true(served(7));
	first = served(5) ? 5 : 6;
	assert_null(get(first, "broken"));
	assert_false(served(11 - first));
	assert_non_null(strstr(get(11 - first, "broken"),
			       "has an address of these"));
}

static int teardown(void **state)
{
	char cmd[300];

	(void)state;
	snprintf(cmd, sizeof(cmd), "rm -rf '%s'", opt.run_dir);
	return system(cmd);
}

static void counts_entries(void **state)
{
	uint64_t mb;

	(void)state;
	assert_int_equal(host_maptrack_mb(HOST_MAPTRACK_FRAMES, false), 768);
	assert_int_equal(host_maptrack_mb(HOST_MAPTRACK_FRAMES, true), 384);
	assert_int_equal(host_maptrack_mb(1, false), 0);
	for (mb = 1; mb <= XENVHCA_MOST_MAX_PINNED_MB; mb = mb * 3 + 1)
		assert_true(host_maptrack_mb((uint32_t)host_maptrack_need(mb, true),
					   true) >= mb);
}

/* On a machine without Xen it takes two entries a page, as for PV. */
static void defaults_fit(void **state)
{
	(void)state;
	attach(5, NULL);
	attach(6, NULL);
	supervise(2);
	assert_true(served(5));
	assert_true(served(6));
	assert_null(get(5, "broken"));
	assert_null(get(6, "broken"));
}

static void refuses_what_does_not_fit(void **state)
{
	(void)state;
	attach(5, "385");
	attach(6, "384");
	attach(7, "nonsense");		/* for the worker to refuse: default */
	supervise(1);
	assert_false(served(5));
	assert_non_null(get(5, "broken"));
	assert_int_equal(strncmp(get(5, "broken"), "max-pinned-mb 385",
				 17), 0);
	assert_string_equal(get(5, "state"), "6");
	assert_int_equal(served(6) + served(7), 1);

	/* It stays configured, and is served as soon as there is room. */
	opt.maptrack_frames = 8192;
	supervise(3);
	assert_true(served(5));
	assert_true(served(6));
	assert_true(served(7));
}

/* The first BAR of an HCA has so many pages. */
static void hca(const char *name, unsigned int pages)
{
	char cmd[600];

	snprintf(cmd, sizeof(cmd), "mkdir -p %s/sys/class/infiniband/%s/device && echo 0xf0000000 0x%08x 0x140204 >%s/sys/class/infiniband/%s/device/resource",
		 opt.run_dir, name, 0xf0000000u + pages * 4096 - 1, opt.run_dir,
		 name);
	assert_int_equal(system(cmd), 0);
	opt.root = opt.run_dir;
}

/* One guest could take all, and no other would open a context. */
static void doorbell_pages_are_for_all(void **state)
{
	(void)state;
	hca("mlx5_0", 256);
	hca("mlx5_1", 256);
	attach(5, NULL);
	attach(6, NULL);
	attach(7, NULL);
	attach(8, NULL);
	set(5, "hca", "mlx5_0");
	set(5, "max-ucontext", "12");
	set(6, "hca", "mlx5_0");
	set(6, "max-ucontext", "13");
	set(7, "hca", "mlx5_1");
	set(7, "max-ucontext", "10");
	set(8, "hca", "mlx5_1");		/* the default */
	opt.maptrack_frames = 8192;
	supervise(2);
	assert_int_equal(served(5) + served(6), 1);
	assert_true(served(7));
	assert_false(served(8));
	assert_int_equal(strncmp(get(8, "broken"), "max-ucontext 128 takes 1024 doorbell pages, beside ",
				 51), 0);
	assert_non_null(strstr(get(8, "broken"), "HCA mlx5_1 has 192 for guests"));
	assert_string_equal(get(8, "state"), "6");
	set(6, "max-ucontext", "12");
	supervise(3);
	assert_true(served(5));
	assert_true(served(6));
}

/* A worker that a guest took over can write to lock files. */
static void only_who_took_a_lock_holds_it(void **state)
{
	char path[300];
	int fd;

	(void)state;
	snprintf(path, sizeof(path), "%s/x.lock", opt.run_dir);
	fd = vl_lock_take(path);
	assert_true(fd >= 0);
	assert_int_equal(vl_lock_holder(path), getpid());
	assert_int_equal(pwrite(fd, "1\n\0", 3, 0), 3);
	assert_int_equal(vl_lock_holder(path), 0);
	close(fd);
	assert_int_equal(vl_lock_holder(path), 0);
}

/* Nor is what such a worker left to the next one taken as it is. */
static void what_a_worker_leaves_has_bounds(void **state)
{
	static const struct { const char *text; int64_t left; } row[] = {
		{ "0\n0\n-9223372036854775808 7\n", -VL_BUCKET_DEBT_NS },
		{ "0\n0\n9223372036854775807 7\n", 100 },
		{ "0\n0\n-5 7\n", -5 }, { "0\n0\n50 7\n", 50 },
	};
	struct vl_bucket b = { .rate = 1, .depth_ns = 100 };
	char path[300];
	unsigned int i;
	FILE *f;
	int fd;

	(void)state;
	snprintf(path, sizeof(path), "%s/x.lock", opt.run_dir);
	for (i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		f = fopen(path, "w");
		assert_non_null(f);
		fputs(row[i].text, f);
		fclose(f);
		fd = be_run_take(path, &b);
		assert_true(fd >= 0);
		assert_true(b.tokens_ns == row[i].left);
		vl_bucket_wait(&b, 8);
		close(fd);
	}
}

static void gives_back_what_is_detached(void **state)
{
	(void)state;
	attach(5, "384");
	supervise(1);
	assert_true(served(5));
	set(5, "online", "0");
	attach(6, "384");
	supervise(1);
	assert_false(served(5));
	assert_true(served(6));
	fake_xs_rm(BACK "/6");
	set(5, "online", "1");
	supervise(1);
	assert_true(served(5));
}

/* ---- what makes it look at all devices ---- */
#define CHANGES	20u

static struct {
	struct be_devices_ops real, ops;
	int fd[2];
	unsigned int scans, heard, before, after;
} look;

static int look_fd(struct be_devices *s)
{
	(void)s;
	return look.fd[0];
}

static int look_scan(struct be_devices *s, be_device_fn *seen, void *arg)
{
	look.scans++;
	return look.real.scan(s, seen, arg);
}

/* A letter for each change; the last one is followed by another. */
static int look_changed(struct be_devices *s, be_device_fn *below, void *arg)
{
	char what = 0;

	(void)s;
	assert_int_equal(read(look.fd[0], &what, 1), 1);
	if (!look.heard++)
		look.before = look.scans;
	look.after = look.scans;
	switch (what) {
	case 'w':		/* of a device with a worker */
		return below(5, 0, arg);
	case 'd':		/* of one that is not served */
		return below(6, 0, arg);
	default:
		return 1;
	}
}

static struct be_devices *look_open(void)
{
	struct be_devices *s = be_devices_xenstore();

	look.real = look.ops = *s->ops;
	look.ops.fd = look_fd;
	look.ops.scan = look_scan;
	look.ops.changed = look_changed;
	s->ops = &look.ops;
	return s;
}

/* In a child, as soon as there is a worker. */
static void change(char what)
{
	unsigned int i;

	while (!workers())
		usleep(1000);
	usleep(100000);
	for (i = 0; i < CHANGES; i++) {
		usleep(5000);
		if (write(look.fd[1], &what, 1) != 1)
			break;
	}
	usleep(50000);
	kill(getppid(), SIGTERM);
	_exit(0);
}

/* Scans between the first and the last of CHANGES changes. */
static unsigned int scans_for(char what)
{
	pid_t pid;

	memset(&look, 0, sizeof(look));
	assert_int_equal(pipe(look.fd), 0);
	pid = fork();
	if (!pid)
		change(what);
	assert_int_equal(be_supervisor_main(&opt, look_open), BE_EXIT_OK);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	close(look.fd[0]);
	close(look.fd[1]);
	assert_true(served(5));
	assert_true(look.heard > 1);
	return look.after - look.before;
}

/*
 * Workers write states and requests for doorbell pages below their devices. A scan
 * for each would cost requests to xenstored for all devices of all guests.
 */
static void what_workers_write_costs_no_scan(void **state)
{
	(void)state;
	attach(5, "64");
	set(6, "online", "0");
	assert_int_equal(scans_for('w'), 0);
	assert_true(scans_for('d') > 0);
	assert_true(scans_for('o') > 0);
}

static int take_device(unsigned int domid, unsigned int devid, void *arg)
{
	*(unsigned int *)arg = domid << 16 | devid;
	return 0;
}

/* A change below a device's directory names the device. */
static void changes_name_their_device(void **state)
{
	static const struct { const char *path; int other; } t[] = {
		{ BACK "/5/0/state", 0 }, { BACK "/5/0/doorbell/3/slot", 0 },
		{ BACK "/5/0", 1 }, { BACK "/5", 1 }, { BACK, 1 },
		{ BACK "/5/x/state", 1 }, { BACK "/5/0x/state", 1 },
	};
	struct be_devices *s = be_devices_xenstore();
	unsigned int i, got;

	(void)state;
	assert_non_null(s);
	assert_int_equal(s->ops->watch(s), 0);
	s->ops->changed(s, take_device, &got);
	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		got = 0;
		fake_xs_set(t[i].path, "1");
		assert_int_equal(s->ops->changed(s, take_device, &got),
				 t[i].other);
		assert_int_equal(got, t[i].other ? 0 : 5 << 16);
	}
	s->ops->free(s);
}

int main(int argc, char **argv)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	static const struct CMUnitTest tests[] = {
		T(counts_entries),
		T(defaults_fit),
		T(refuses_what_does_not_fit),
		T(doorbell_pages_are_for_all),
		T(only_who_took_a_lock_holds_it),
		T(what_a_worker_leaves_has_bounds),
		T(gives_back_what_is_detached),
		T(ready_is_one_that_serves),
		T(tells_a_worker_what_its_guest_left),
		T(addresses_are_there_before_the_worker),
		T(without_addresses_nothing_is_run),
		T(what_went_while_nobody_watched_is_removed),
		T(a_network_that_is_not_there_is_told),
		T(an_address_is_of_one_device),
		T(what_workers_write_costs_no_scan),
		T(changes_name_their_device),
	};
#undef T

	if (argc > 1)
		return worker(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
