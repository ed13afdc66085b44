// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * A vif that has a device's addresses, too: what the supervisor's script is told of it,
 * when, and that no worker waits for it. The script is one that says what it is asked
 * for; what the real one does: tools/scripts/check.sh.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "tests/fake/fake_xs.h"
#include "carrier/open_files.h"
#include "carrier/open_xenstore.h"
#include "core/devices.h"
#include "host/tree.h"
#include "lock.h"
#include "supervise/supervisor.h"
#include "test_sup_host.h"

#define MAC	"00:16:3e:00:00:01"
#define VIF	VIFS "/5/0"

static struct be_devices_ops real, ops;
static int pipe_fd[2];
static char state_then[8];	/* of the device, as something happened */

static void file_of(char *path, size_t size, const char *name)
{
	snprintf(path, size, "%.100s/%s", sup_opt.run_dir, name);
}

static void touch(const char *name)
{
	char path[300];
	FILE *f;

	file_of(path, sizeof(path), name);
	f = fopen(path, "w");
	assert_non_null(f);
	fclose(f);
}

static void drop(const char *name)
{
	char path[300];

	file_of(path, sizeof(path), name);
	unlink(path);
}

/* Waits for a writer of a FIFO "slow"; fails for "vif" if there is a file "fail". */
static void script(void)
{
	static char path[300];
	FILE *f;

	file_of(path, sizeof(path), "script");
	f = fopen(path, "w");
	assert_non_null(f);
	fprintf(f, "#!/bin/sh\ncd %s\n"
		"[ $1 != list ] || { ls | sed -n 's/.net$//p'; exit; }\n"
		"echo \"$1 $2 $VHCA_VIF $VHCA_MAC\" >>log\n"
		"[ ! -p slow ] || read -r x <slow\n"
		"[ $1 != vif ] || [ ! -e fail ] || { echo no nft >&2; exit 1; }\n"
		"case $1 in remove) rm -f $VHCA_DEVICE.net ;; *) : >$VHCA_DEVICE.net ;; esac\n",
		sup_opt.run_dir);
	fclose(f);
	assert_int_equal(chmod(path, 0700), 0);
	sup_opt.script = path;
}

static void slow(void)
{
	char path[300];

	file_of(path, sizeof(path), "slow");
	assert_int_equal(mkfifo(path, 0600), 0);
}

static void no_more_slow(void)
{
	char path[300];
	int fd;

	file_of(path, sizeof(path), "slow");
	fd = open(path, O_WRONLY);
	if (fd >= 0)
		close(fd);
	unlink(path);
}

/* What was run since the last time. */
static const char *said(void)
{
	static char text[1024];
	char path[300];
	FILE *f;

	memset(text, 0, sizeof(text));
	file_of(path, sizeof(path), "log");
	f = fopen(path, "r");
	if (f) {
		text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
		fclose(f);
	}
	unlink(path);
	return text;
}

static void ran(const char *want)
{
	assert_string_equal(said(), want);
}

static void vif_is(const char *status)
{
	fake_xs_set(VIF "/mac", MAC);
	fake_xs_set(VIF "/hotplug-status", status);
}

static void attach(void)
{
	script();
	sup_attach(5, NULL);
	sup_set(5, "ip", "192.0.2.7");
	sup_set(5, "vif", "0");
}

/* ---- what happens meanwhile: a letter for each ---- */
static int fd_of_pipe(struct be_devices *s)
{
	(void)s;
	return pipe_fd[0];
}

static int happens(struct be_devices *s, be_device_fn *below, be_guest_fn *vifs, void *arg)
{
	char what = 0;

	assert_int_equal(read(pipe_fd[0], &what, 1), 1);
	snprintf(state_then, sizeof(state_then), "%s", sup_get(5, "state"));
	switch (what) {
	case 'b':		/* libxl makes it */
		vif_is("");
		break;
	case 'c':		/* its script has ended */
		vif_is("connected");
		break;
	case 's':		/* netback is at work */
		fake_xs_set(VIF "/state", "4");
		break;
	case 'g':		/* it is removed */
		fake_xs_rm(VIF);
		break;
	case 'k':		/* the key changes */
		sup_set(5, "vif", "1");
		break;
	case 'w':		/* as 'c', but the script of the supervisor hangs */
		slow();
		vif_is("connected");
		break;
	case 'e':		/* the worker dies */
		assert_int_equal(kill(sup_told("5-0.ran").pid, SIGKILL), 0);
		break;
	}
	if (!strchr("we", what))
		no_more_slow();
	return real.changed(s, below, vifs, arg);
}

static struct be_devices *open_devices(void)
{
	struct be_devices *s = be_devices_xenstore();

	real = ops = *s->ops;
	ops.fd = fd_of_pipe;
	ops.changed = happens;
	s->ops = &ops;
	return s;
}

/* In a child: each letter when workers and lines of the log are so many. */
struct step { char what; unsigned int workers, lines; };

static void steps(const struct step *step, unsigned int n)
{
	unsigned int i;
	pid_t pid;

	assert_int_equal(pipe(pipe_fd), 0);
	pid = fork();
	if (!pid) {
		for (i = 0; i < n; i++) {
			sup_until(step[i].workers, step[i].lines);
			if (step[i].what == 'm')	/* the operator mends it */
				drop("fail");
			else if (write(pipe_fd[1], &step[i].what, 1) != 1)
				break;
		}
		sup_until(step[n].workers, step[n].lines);
		kill(getppid(), SIGTERM);
		_exit(0);
	}
	assert_int_equal(be_supervisor_main(&sup_opt, open_devices), BE_EXIT_OK);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	close(pipe_fd[0]);
	close(pipe_fd[1]);
}

static void addresses_and_vif_come_at_once(void **state)
{
	(void)state;
	attach();
	vif_is("connected");
	sup_supervise(1, 2);
	ran("add 192.0.2.7 0 " MAC "\nworker 5\n");
}

static void without_the_key_there_is_no_vif(void **state)
{
	static const struct step s[] = { { 'c', 1, 2 }, { 0, 1, 2 } };

	(void)state;
	attach();
	sup_set(5, "vif", "65536");		/* nobody wrote that */
	steps(s, 1);
	ran("add 192.0.2.7  \nworker 5\n");
}

static void a_vif_comes_and_goes_beside_the_worker(void **state)
{
	static const struct step s[] = {
		{ 'b', 1, 2 }, { 's', 1, 2 }, { 'c', 1, 2 }, { 's', 1, 3 }, { 'g', 1, 3 },
		{ 'b', 1, 4 }, { 'c', 1, 4 },
		{ 'k', 1, 5 },			/* for the next worker */
		{ 'c', 1, 5 },			/* another one, with its MAC address */
		{ 0, 1, 6 },
	};

	(void)state;
	attach();
	steps(s, 9);
	ran("add 192.0.2.7 0 \nworker 5\n"
	    "vif 192.0.2.7 0 " MAC "\nvif 192.0.2.7 0 \nvif 192.0.2.7 0 " MAC "\n"
	    "vif 192.0.2.7 0 " MAC "\n");
	assert_null(sup_get(5, "broken"));
}

/* The next run tells of it, and the worker starts beside that one. */
static void what_happens_while_the_script_runs_is_told(void **state)
{
	static const struct step s[] = { { 'c', 0, 1 }, { 0, 1, 3 } };

	const char *text;

	(void)state;
	attach();
	slow();
	steps(s, 1);
	text = said();
	assert_int_equal(strncmp(text, "add 192.0.2.7 0 \n", 17), 0);
	assert_non_null(strstr(text, "vif 192.0.2.7 0 " MAC "\n"));
	assert_true(sup_served(5));
}

static void the_next_worker_does_not_wait_for_it(void **state)
{
	static const struct step s[] = {
		{ 'w', 1, 2 }, { 'e', 1, 3 }, { 's', 1, 4 }, { 0, 1, 4 },
	};

	(void)state;
	attach();
	steps(s, 3);
	ran("add 192.0.2.7 0 \nworker 5\nvif 192.0.2.7 0 " MAC "\nworker 5\n");
}

static void another_vif_takes_both_anew(void **state)
{
	static const struct step s[] = { { 'k', 0, 1 }, { 0, 1, 4 } };

	(void)state;
	attach();
	vif_is("connected");
	slow();
	steps(s, 1);
	ran("add 192.0.2.7 0 " MAC "\nremove  0 " MAC "\nadd 192.0.2.7 1 \nworker 5\n");
}

/* A worker of an earlier supervisor, which may have missed what happened. */
static void the_next_supervisor_tells_it_again(void **state)
{
	static const char *const status[] = { "connected", "" };
	static const char *const want[] = { "vif 192.0.2.7 0 " MAC "\n", "vif 192.0.2.7 0 \n" };
	char path[300];
	unsigned int i;
	pid_t pid;

	(void)state;
	attach();
	file_of(path, sizeof(path), "5-0.lock");
	for (i = 0; i < 2; i++) {
		touch("5-0.net");
		vif_is(status[i]);
		pid = fork();
		if (!pid)
			_exit(vl_lock_take(path) < 0 || pause());
		while (vl_lock_holder(path) != pid)
			usleep(1000);
		sup_supervise(0, 1);
		ran(want[i]);
		waitpid(pid, NULL, 0);
	}
}

static void a_failure_is_told_and_the_worker_stays(void **state)
{
	static const struct step bad[] = { { 'c', 1, 2 }, { 's', 1, 3 }, { 0, 1, 3 } };
	static const struct step mended[] = { { 'c', 1, 2 }, { 'm', 1, 3 }, { 0, 1, 4 } };

	(void)state;
	attach();
	touch("fail");
	steps(bad, 2);
	assert_string_equal(state_then, "1");
	ran("add 192.0.2.7 0 \nworker 5\nvif 192.0.2.7 0 " MAC "\n");
	assert_string_equal(sup_get(5, "broken"), "vif: no nft");
	assert_true(sup_served(5));
	drop("5-0.net");
	fake_xs_rm(VIF);
	sup_set(5, "state", "1");
	steps(mended, 2);
	ran("add 192.0.2.7 0 \nworker 5\n"
	    "vif 192.0.2.7 0 " MAC "\nvif 192.0.2.7 0 " MAC "\n");
	assert_null(sup_get(5, "broken"));
}

static void put(const char *dir, const char *node, const char *value)
{
	assert_int_equal(host_tree_write(dir, node, value), 0);
}

static void without_a_toolstack_it_is_refused(void **state)
{
	char dir[PATH_MAX], text[128];
	pid_t pid;

	(void)state;
	script();
	file_of(sup_opt.devices, sizeof(sup_opt.devices), "files");
	be_files_at(sup_opt.devices);
	snprintf(dir, sizeof(dir), "mkdir -p %s/5/0", sup_opt.devices);
	assert_int_equal(system(dir), 0);
	host_tree_dir(dir, sup_opt.devices, 5, 0);
	put(dir, "online", "1");
	put(dir, "state", "1");
	put(dir, "ip", "192.0.2.7");
	put(dir, "vif", "0");
	pid = fork();
	if (!pid) {
		sup_until(0, 0);
		kill(getppid(), SIGTERM);
		_exit(0);
	}
	assert_int_equal(be_supervisor_main(&sup_opt, be_devices_files), BE_EXIT_OK);
	waitpid(pid, NULL, 0);
	ran("");
	assert_int_equal(host_tree_read(dir, "broken", text, sizeof(text)), 0);
	assert_non_null(strstr(text, "without a toolstack this domain has no vif"));
	assert_int_equal(host_tree_read(dir, "state", text, sizeof(text)), 0);
	assert_string_equal(text, "6");
}

int main(int argc, char **argv)
{
#define T(f) cmocka_unit_test_setup_teardown(f, sup_setup, sup_teardown)
	static const struct CMUnitTest tests[] = {
		T(addresses_and_vif_come_at_once),
		T(without_the_key_there_is_no_vif),
		T(a_vif_comes_and_goes_beside_the_worker),
		T(what_happens_while_the_script_runs_is_told),
		T(the_next_worker_does_not_wait_for_it),
		T(another_vif_takes_both_anew),
		T(the_next_supervisor_tells_it_again),
		T(a_failure_is_told_and_the_worker_stays),
		T(without_a_toolstack_it_is_refused),
	};
#undef T

	if (argc > 1)
		return sup_worker(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
