// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Which devices the supervisor serves: all that this domain's maptrack table
 * has room for. The supervisor is the real one over a xenstore in memory; its
 * workers are this program, which leaves a file and waits.
 */
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "tests/fake/fake_manager.h"
#include "tests/fake/fake_xs.h"
#include "lock.h"
#include "core/run.h"
#include "bucket.h"
#include "host/maptrack.h"
#include "carrier/open_files.h"
#include "carrier/open_xenstore.h"
#include "host/tree.h"
#include "supervise/supervisor.h"
#include "test_sup_host.h"
#include "vhca-keys.h"

/* In a child: the manager hears that process parent serves, and stops it. */
static int heard(int manager, pid_t parent)
{
	struct pollfd p = { .fd = manager, .events = POLLIN };
	char path[300], text[64] = "";
	bool held;

	snprintf(path, sizeof(path), "%s/supervisor.lock", sup_opt.run_dir);
	if (poll(&p, 1, 60000) == 1 &&
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
	assert_int_equal(be_supervisor_main(&sup_opt, be_devices_xenstore), BE_EXIT_OK);
	unsetenv("NOTIFY_SOCKET");
	close(manager);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void run_file(const char *name, const char *text)
{
	char path[300];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", sup_opt.run_dir, name);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

/* Nor of libraries: the supervisor's would live on with it. */
static void a_worker_has_no_file_of_the_supervisor(void **state)
{
	(void)state;
	sup_attach(5, NULL);
	sup_supervise(1, 0);
	assert_int_equal(sup_told("5-0.ran").files, 3);
}

/* In a child, whose fd 3 the service manager stored under that name. */
static void served_beside(const char *guard, unsigned int workers)
{
	char pid[16];

	dup2(STDERR_FILENO, 3);
	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	setenv("LISTEN_PID", pid, 1);
	setenv("LISTEN_FDS", "1", 1);
	setenv("LISTEN_FDNAMES", guard, 1);
	sup_supervise(workers, 0);
}

/* Whichever device of the guest left it. */
static void tells_a_worker_what_its_guest_left(void **state)
{
	int status;
	pid_t pid;

	(void)state;
	sup_attach(6, NULL);
	fake_xs_set("/local/domain/5/name", "guest");
	fake_xs_set(BACK "/5/1/online", "1");
	fake_xs_set(BACK "/5/1/state", "1");
	pid = fork();
	if (!pid) {
		served_beside("guard.5.0.l.10.120", 2);
		_exit(sup_told("5-1.ran").left != 120 || sup_told("6-0.ran").left != 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* Nobody can have left more than its device may have, whatever a lock file says. */
static void a_made_up_number_locks_nobody_out(void **state)
{
	int status;
	pid_t pid;

	(void)state;
	sup_attach(5, NULL);
	sup_set(5, "max-ucontext", "12");
	sup_set(5, "state", "6");	/* its worker ended, and parked contexts */
	run_file("5-0.lock", "0\n4000000000\n");
	pid = fork();
	if (!pid) {
		served_beside("guard.5.0.w.10.0", 1);
		_exit(sup_told("5-0.ran").left != 96);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* Says what it is asked for; what the real one does: tools/scripts/check.sh. */
static void script(void)
{
	static char path[300];
	FILE *f;

	snprintf(path, sizeof(path), "%s/script", sup_opt.run_dir);
	f = fopen(path, "w");
	assert_non_null(f);
	fprintf(f, "#!/bin/sh\ncd %s\n"
		"[ $1 != list ] || { ls | sed -n 's/.net$//p'; exit; }\n"
		"echo \"$*, $VHCA_HCA $VHCA_PORT $VHCA_PKEY, $VHCA_DEVICE\" >>log\n"
		"[ ! -e fail ] || { printf 'no\\033\\nnet' >&2; exit 1; }\n"
		"case $1 in add) : >$VHCA_DEVICE.net ;; *) rm -f $VHCA_DEVICE.net ;; esac\n",
		sup_opt.run_dir);
	fclose(f);
	assert_int_equal(chmod(path, 0700), 0);
	sup_opt.script = path;
}

static void touch(const char *name)
{
	run_file(name, "");
}

/* What was run since the last time. */
static void ran(const char *want)
{
	char path[300], text[1024] = "";
	FILE *f;

	snprintf(path, sizeof(path), "%s/log", sup_opt.run_dir);
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
	sup_attach(domid, NULL);
	sup_set(domid, "hca", "rxe0");
	sup_set(domid, "ip", ip);
}

#define ADD7	"add 192.0.2.7 192.0.2.0/23 " \
		"0000:0000:0000:0000:0000:ffff:c000:0207"
static void addresses_are_there_before_the_worker(void **state)
{
	(void)state;
	script();
	attach_ip(5, "192.0.3.7/23 2001:db8::7");
	sup_set(5, "port", "2");
	sup_set(5, "pkeys", "0x8001 0xffff");
	sup_supervise(1, 0);
	ran("add 192.0.3.7 192.0.2.0/23 0000:0000:0000:0000:0000:ffff:c000:0307"
	    " 2001:db8::7 - 2001:0db8:0000:0000:0000:0000:0000:0007,"
	    " rxe0 2 0x8001, 5-0\nworker 5\n");
	/* They stay, and the next supervisor makes sure of them: "add" removes what is old. */
	assert_true(sup_served(5));
	assert_true(sup_there("5-0.net"));
	sup_set(5, "ip", "192.0.2.7/23");
	sup_supervise(1, 0);
	ran(ADD7 ", rxe0 2 0x8001, 5-0\nworker 5\n");
}

static void without_addresses_nothing_is_run(void **state)
{
	(void)state;
	script();
	sup_attach(5, NULL);
	sup_supervise(1, 0);
	ran("worker 5\n");
	assert_true(sup_served(5));
	/* They were taken from it meanwhile. */
	touch("5-0.net");
	sup_supervise(1, 0);
	ran("remove,  1 , 5-0\nworker 5\n");
}

/* Each worker can write there. */
static void no_file_says_what_is_there(void **state)
{
	(void)state;
	script();
	sup_attach(5, NULL);
	touch("5-0.address");
	touch("9-9.address");
	sup_supervise(1, 0);
	ran("worker 5\n");
	run_file("script", "#!/bin/sh\necho 5-0x; echo nonsense; exit 3\n");
	sup_supervise(1, 0);
	ran("worker 5\n");
}

static void what_went_while_nobody_watched_is_removed(void **state)
{
	(void)state;
	script();
	touch("5-0.net");			/* detached */
	touch("6-0.net");			/* a dead domain */
	sup_set(6, "online", "1");
	sup_set(6, "hca", "rxe0");
	touch("7-0.net");			/* detach waits for Closed */
	attach_ip(7, "192.0.2.7/23");
	sup_set(7, "online", "0");
	sup_attach(8, NULL);
	sup_supervise(1, 4);
	assert_false(sup_there("5-0.net"));
	assert_false(sup_there("6-0.net"));
	assert_false(sup_there("7-0.net"));
	assert_null(sup_get(6, "hca"));
	assert_false(sup_served(7));
}

static void a_network_that_is_not_there_is_told(void **state)
{
	(void)state;
	script();
	touch("fail");
	attach_ip(5, "192.0.2.7/23");
	sup_attach(6, NULL);
	sup_supervise(1, 2);
	assert_false(sup_served(5));
	assert_true(sup_served(6));
	assert_string_equal(sup_get(5, "broken"), "ip: no?;net");
	assert_string_equal(sup_get(5, "state"), "6");
	sup_opt.script = "/nowhere/script";
	sup_supervise(1, 0);
	assert_string_equal(sup_get(5, "broken"),
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
	sup_supervise(2, 4);
	assert_true(sup_served(7));
	first = sup_served(5) ? 5 : 6;
	assert_null(sup_get(first, "broken"));
	assert_false(sup_served(11 - first));
	assert_non_null(strstr(sup_get(11 - first, "broken"),
			       "has an address of these"));
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
	sup_attach(5, NULL);
	sup_attach(6, NULL);
	sup_supervise(2, 0);
	assert_true(sup_served(5));
	assert_true(sup_served(6));
	assert_null(sup_get(5, "broken"));
	assert_null(sup_get(6, "broken"));
}

static void refuses_what_does_not_fit(void **state)
{
	(void)state;
	sup_attach(5, "385");
	sup_attach(6, "384");
	sup_attach(7, "nonsense");		/* for the worker to refuse: default */
	sup_supervise(1, 0);
	assert_false(sup_served(5));
	assert_non_null(sup_get(5, "broken"));
	assert_int_equal(strncmp(sup_get(5, "broken"), "max-pinned-mb 385",
				 17), 0);
	assert_string_equal(sup_get(5, "state"), "6");
	assert_int_equal(sup_served(6) + sup_served(7), 1);

	/* It stays configured, and is served as soon as there is room. */
	sup_opt.maptrack_frames = 8192;
	sup_supervise(3, 0);
	assert_true(sup_served(5));
	assert_true(sup_served(6));
	assert_true(sup_served(7));
}

/* The first BAR of an HCA has so many pages, and so has its third. */
static void hca(const char *name, unsigned int device, unsigned int pages)
{
	unsigned int end = 0xf0000000u + pages * 4096 - 1;
	char cmd[700];

	snprintf(cmd, sizeof(cmd), "d=%s/sys/class/infiniband/%s/device; mkdir -p $d && echo 0x15b3 >$d/vendor && echo 0x%04x >$d/device && printf '0xf0000000 0x%08x 0x140204\\n0x0 0x0 0x0\\n0xf0000000 0x%08x 0x140204\\n' >$d/resource",
		 sup_opt.run_dir, name, device, end, end);
	assert_int_equal(system(cmd), 0);
}

/* One guest could take all, and no other would open a context. */
static void doorbell_pages_are_for_all(void **state)
{
	(void)state;
	hca("mlx5_0", 0x1013, 256);
	hca("mlx5_1", 0x1013, 256);
	sup_attach(5, NULL);
	sup_attach(6, NULL);
	sup_attach(7, NULL);
	sup_attach(8, NULL);
	sup_set(5, "hca", "mlx5_0");
	sup_set(5, "max-ucontext", "12");
	sup_set(6, "hca", "mlx5_0");
	sup_set(6, "max-ucontext", "13");
	sup_set(7, "hca", "mlx5_1");
	sup_set(7, "max-ucontext", "10");
	sup_set(8, "hca", "mlx5_1");		/* the default */
	sup_opt.maptrack_frames = 8192;
	sup_supervise(2, 0);
	assert_int_equal(sup_served(5) + sup_served(6), 1);
	assert_true(sup_served(7));
	assert_false(sup_served(8));
	assert_int_equal(strncmp(sup_get(8, "broken"), "max-ucontext 128 takes 1024 doorbell pages, beside ",
				 51), 0);
	assert_non_null(strstr(sup_get(8, "broken"), "HCA mlx5_1 has 192 for guests"));
	assert_string_equal(sup_get(8, "state"), "6");
	sup_set(6, "max-ucontext", "12");
	sup_supervise(3, 0);
	assert_true(sup_served(5));
	assert_true(sup_served(6));
}

/* A context of an mlx4 has one of 512, of which guests get three quarters. */
static void pages_of_an_mlx4_are_for_all(void **state)
{
	(void)state;
	hca("mlx4_0", 0x1003, 1024);
	sup_attach(5, NULL);
	sup_attach(6, NULL);
	sup_set(5, "hca", "mlx4_0");
	sup_set(5, "max-ucontext", "300");
	sup_set(6, "hca", "mlx4_0");
	sup_set(6, "max-ucontext", "85");
	sup_opt.maptrack_frames = 8192;
	sup_supervise(1, 0);
	assert_int_equal(sup_served(5) + sup_served(6), 1);
	sup_set(6, "max-ucontext", "84");
	sup_supervise(2, 0);
	assert_true(sup_served(5));
	assert_true(sup_served(6));
}

int uname(struct utsname *u)
{
	*u = (struct utsname){ .release = "6.1.190", .version = "#1 SMP" };
	return 0;
}

static void an_old_kernel_is_told_of(void **state)
{
	int err = dup(STDERR_FILENO);
	char cmd[400];

	(void)state;
	hca("rxe0/parent", 0, 0);
	sup_attach(5, NULL);
	sup_attach(6, NULL);
	sup_set(5, "hca", "rxe0");
	snprintf(cmd, sizeof(cmd), "%s/stderr", sup_opt.run_dir);
	assert_non_null(freopen(cmd, "w", stderr));
	sup_supervise(2, 0);
	dup2(err, STDERR_FILENO);
	close(err);
	snprintf(cmd, sizeof(cmd), "cd %s; [ \"$(grep -o '.*: hca .* of Linux 6.1.190 has' stderr)\" = '<4>d5/0: hca \"rxe0\": rdma_rxe of Linux 6.1.190 has' ]",
		 sup_opt.run_dir);
	assert_int_equal(system(cmd), 0);
}

/* A worker that a guest took over can write to lock files. */
static void only_who_took_a_lock_holds_it(void **state)
{
	char path[300];
	int fd;

	(void)state;
	snprintf(path, sizeof(path), "%s/x.lock", sup_opt.run_dir);
	fd = vl_lock_take(path);
	assert_true(fd >= 0);
	assert_int_equal(vl_lock_holder(path), getpid());
	assert_int_equal(pwrite(fd, "1\n\0", 3, 0), 3);
	assert_int_equal(vl_lock_holder(path), 0);
	close(fd);
	assert_int_equal(vl_lock_holder(path), 0);
}

/* It can give its own the name of another device's. */
static void a_worker_is_of_one_device(void **state)
{
	char path[300], other[300];
	pid_t pid;

	(void)state;
	snprintf(path, sizeof(path), "%s/5-0.lock", sup_opt.run_dir);
	snprintf(other, sizeof(other), "%s/6-0.lock", sup_opt.run_dir);
	sup_attach(5, NULL);
	sup_attach(6, NULL);
	pid = fork();
	if (!pid)
		_exit(vl_lock_take(path) < 0 || link(path, other) || pause());
	while (vl_lock_holder(other) != pid)
		usleep(1000);
	sup_supervise(1, 0);
	assert_int_equal(sup_served(5) + sup_served(6), 1);
	waitpid(pid, NULL, 0);
}

/* Nor is what such a worker left to the next one taken as it is. */
static void what_a_worker_leaves_has_bounds(void **state)
{
	static const struct { const char *text; int64_t left; } row[] = {
		{ "0\n0\n-9223372036854775808 7\n", -VL_BUCKET_DEBT_NS },
		{ "0\n0\n9223372036854775807 7\n", 100 },
		{ "0\n0\n-5 7\n", -5 }, { "0\n0\n50 7\n", 50 },
	};
	struct vl_bucket b = { .rate = 1, .depth_ns = 100 }, log = {};
	char path[300];
	unsigned int i;
	int fd;

	(void)state;
	snprintf(path, sizeof(path), "%s/x.lock", sup_opt.run_dir);
	for (i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		run_file("x.lock", row[i].text);
		fd = be_run_take(path, &b, &log);
		assert_true(fd >= 0);
		assert_true(b.tokens_ns == row[i].left);
		vl_bucket_wait(&b, 8);
		close(fd);
	}
}

static void gives_back_what_is_detached(void **state)
{
	(void)state;
	sup_attach(5, "384");
	sup_supervise(1, 0);
	assert_true(sup_served(5));
	sup_set(5, "online", "0");
	sup_attach(6, "384");
	sup_supervise(1, 0);
	assert_false(sup_served(5));
	assert_true(sup_served(6));
	fake_xs_rm(BACK "/6");
	sup_set(5, "online", "1");
	sup_supervise(1, 0);
	assert_true(sup_served(5));
}

static void put_file(const char *dir, const char *node, const char *value)
{
	assert_int_equal(host_tree_write(dir, node, value), 0);
}

/* Without xenstore; workers are told where their devices are, and get Closed all the same. */
static void serves_files(void **state)
{
	char dir[300], told[300], want[300], value[8];
	pid_t pid;

	(void)state;
	snprintf(sup_opt.devices, sizeof(sup_opt.devices), "%.100s/files",
		 sup_opt.run_dir);
	mkdir(sup_opt.devices, 0700);
	be_files_at(sup_opt.devices);
	snprintf(dir, sizeof(dir), "%s/5", sup_opt.devices);
	mkdir(dir, 0700);
	snprintf(dir, sizeof(dir), "%s/5/0", sup_opt.devices);
	pid = fork();
	if (!pid) {		/* it comes later, and connects */
		sup_until(0, 0);
		mkdir(dir, 0700);
		put_file(dir, "state", "4");
		put_file(dir, "online", "1");
		sup_until(1, 0);
		kill(getppid(), SIGTERM);
		_exit(0);
	}
	assert_int_equal(be_supervisor_main(&sup_opt, be_devices_files), BE_EXIT_OK);
	waitpid(pid, NULL, 0);
	assert_true(sup_served(5));
	snprintf(want, sizeof(want), "%s/told", sup_opt.run_dir);
	memset(told, 0, sizeof(told));
	assert_true(readlink(want, told, sizeof(told) - 1) > 0);
	assert_string_equal(told, sup_opt.devices);
	assert_int_equal(host_tree_read(dir, "state", value, sizeof(value)), 0);
	assert_string_equal(value, "6");
}

int main(int argc, char **argv)
{
#define T(f) cmocka_unit_test_setup_teardown(f, sup_setup, sup_teardown)
	static const struct CMUnitTest tests[] = {
		T(counts_entries),
		T(defaults_fit),
		T(refuses_what_does_not_fit),
		T(doorbell_pages_are_for_all),
		T(pages_of_an_mlx4_are_for_all),
		T(only_who_took_a_lock_holds_it),
		T(a_worker_is_of_one_device),
		T(what_a_worker_leaves_has_bounds),
		T(gives_back_what_is_detached),
		T(ready_is_one_that_serves),
		T(a_worker_has_no_file_of_the_supervisor),
		T(tells_a_worker_what_its_guest_left),
		T(a_made_up_number_locks_nobody_out),
		T(addresses_are_there_before_the_worker),
		T(without_addresses_nothing_is_run),
		T(no_file_says_what_is_there),
		T(what_went_while_nobody_watched_is_removed),
		T(a_network_that_is_not_there_is_told),
		T(an_address_is_of_one_device),
		T(serves_files),
		T(an_old_kernel_is_told_of),
	};
#undef T

	if (argc > 1)
		return sup_worker(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
