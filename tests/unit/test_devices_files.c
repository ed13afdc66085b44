// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The supervisor's devices as directories of files, and what files may hold: which are
 * found, which changes are told how, what a mistake counts as.
 */
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>
#include "carrier/open_files.h"
#include "host/tree.h"
#include "vhca-keys.h"

static char root[] = "/tmp/vhca-files-XXXXXX";
static struct be_devices *s;
static char seen[256];

static void put(unsigned int domid, unsigned int devid, const char *node,
		const char *value)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%u", root, domid);
	mkdir(path, 0700);
	host_tree_dir(path, root, domid, devid);
	mkdir(path, 0700);
	assert_int_equal(host_tree_write(path, node, value), 0);
}

static const char *get(unsigned int domid, unsigned int devid, const char *node)
{
	static char value[256];
	char path[PATH_MAX];

	host_tree_dir(path, root, domid, devid);
	return host_tree_read(path, node, value, sizeof(value)) ? NULL : value;
}

static int note(unsigned int domid, unsigned int devid, void *arg)
{
	(void)arg;
	snprintf(seen + strlen(seen), sizeof(seen) - strlen(seen), "%u/%u ", domid,
		 devid);
	return 0;
}

static const char *scan(void)
{
	seen[0] = '\0';
	assert_int_equal(s->ops->scan(s, note, NULL), 0);
	return seen;
}

/* What changed() says, and the devices that it names. */
static int changed(void)
{
	struct pollfd p = { .fd = s->ops->fd(s), .events = POLLIN };

	seen[0] = '\0';
	assert_int_equal(poll(&p, 1, 1000), 1);
	return s->ops->changed(s, note, NULL, NULL);
}

static int setup(void **state)
{
	(void)state;
	snprintf(root, sizeof(root), "/tmp/vhca-files-XXXXXX");
	if (!mkdtemp(root))
		return -1;
	be_files_at(root);
	s = be_devices_files();
	return s ? s->ops->watch(s) : -1;
}

static int teardown(void **state)
{
	char cmd[64];

	(void)state;
	s->ops->free(s);
	snprintf(cmd, sizeof(cmd), "rm -rf %s", root);
	return system(cmd);
}

static void devices_are_found(void **state)
{
	char path[PATH_MAX];

	(void)state;
	assert_string_equal(scan(), "");
	put(5, 0, "state", "1");
	put(32752, 0, "state", "1");	/* no domain has that number */
	snprintf(path, sizeof(path), "%s/x", root);
	mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/05", root);
	mkdir(path, 0700);
	/* What is no directory has no device, and hides no other. */
	snprintf(path, sizeof(path), "%s/4", root);
	assert_int_equal(mkfifo(path, 0600), 0);
	snprintf(path, sizeof(path), "%s/3", root);
	assert_int_equal(symlink("3", path), 0);
	assert_string_equal(scan(), "5/0 ");
	assert_true(s->ops->alive(s, 5));
}

/* A scan watches it: what changes below is told as that device's. */
static void device_is_watched(void)
{
	put(5, 0, "state", "1");
	assert_int_equal(changed(), 1);
	scan();
	put(5, 0, "online", "1");
	assert_int_equal(changed(), 0);
	assert_non_null(strstr(seen, "5/0 "));
}

static void changes_are_told(void **state)
{
	(void)state;
	device_is_watched();
	put(5, 1, "state", "1");	/* a second one of the guest */
	assert_int_equal(changed(), 1);
	assert_string_equal(scan(), "5/0 5/1 ");
	put(6, 0, "state", "1");
	assert_int_equal(changed(), 1);
	scan();
	assert_int_equal(s->ops->remove(s, 5, 0), 0);
	assert_int_equal(changed(), 1);
	assert_null(strstr(scan(), "5/0"));
	assert_int_equal(s->ops->remove(s, 5, 1), 0);
	assert_int_equal(changed(), 1);
	assert_string_equal(scan(), "6/0 ");
	/* One that comes back is watched again. */
	device_is_watched();
}

static void states_are_files(void **state)
{
	(void)state;
	put(5, 0, "state", "4\n");
	assert_int_equal(be_devices_state(s, 5, 0), XenbusStateConnected);
	assert_int_equal(be_devices_state(s, 5, 1), XenbusStateUnknown);
	assert_int_equal(be_devices_close(s, 5, 0), 0);
	assert_string_equal(get(5, 0, "state"), "6");
	assert_int_equal(be_devices_close(s, 5, 1), 0);
	assert_null(get(5, 1, "state"));	/* nothing is made */
	assert_false(be_devices_online(s, 5, 0));
	put(5, 0, "online", "1");
	assert_true(be_devices_online(s, 5, 0));
	put(5, 0, "online", "2");
	assert_false(be_devices_online(s, 5, 0));
	assert_int_equal(s->ops->write(s, 5, 0, "broken", "too many"), 0);
	assert_string_equal(get(5, 0, "broken"), "too many");
	assert_int_equal(s->ops->write(s, 5, 0, "broken", NULL), 0);
	assert_null(get(5, 0, "broken"));
}

static void mistakes_are_no_state(void **state)
{
	static const char *const bad[] = { "", "7", "x", "-1", "1 ", "4\n\n", "\a4",
					   "00000000000000000000000004" };
	char path[PATH_MAX], target[PATH_MAX];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		put(5, 0, "state", bad[i]);
		assert_true(be_devices_state(s, 5, 0) < 0);
		assert_true(be_devices_close(s, 5, 0) < 0);
	}
	/* Nor what somebody's link leads to. */
	put(5, 0, "other", "4");
	host_tree_dir(path, root, 5, 0);
	strcat(path, "/state");
	snprintf(target, sizeof(target), "%s/5/0/other", root);
	assert_int_equal(remove(path), 0);
	assert_int_equal(symlink(target, path), 0);
	assert_true(be_devices_state(s, 5, 0) < 0);
}

static void limits_are_read(void **state)
{
	struct be_share share;
	struct be_network net;

	(void)state;
	put(5, 0, "hca", "rxe0\n");
	put(5, 0, "max-pinned-mb", "7");
	put(5, 0, "max-ucontext", "70000");
	put(5, 0, "port", "2");
	put(5, 0, "ip", "192.0.2.7/24");
	be_devices_share(s, 5, 0, &share);
	assert_string_equal(share.hca, "rxe0");
	assert_int_equal(share.pinned_mb, 7);
	assert_int_equal(share.ucontexts, XENVHCA_DEF_MAX_UCONTEXT);
	be_devices_network(s, 5, 0, &net);
	assert_string_equal(net.ip, "192.0.2.7/24");
	assert_string_equal(net.pkeys, "");
	assert_int_equal(net.vif, BE_NO_VIF);
	put(5, 0, "vif", "0");
	be_devices_network(s, 5, 0, &net);
	assert_int_equal(net.vif, 0);
	assert_string_equal(net.mac, "");	/* the supervisor refuses it */
	put(5, 0, "vif", "65536");
	put(5, 0, "ip", "192.0.2.7\a");
	be_devices_network(s, 5, 0, &net);
	assert_string_equal(net.ip, "");
	assert_int_equal(net.port, 2);
	assert_int_equal(net.vif, BE_NO_VIF);
}

static void a_value_fits_or_is_none(void **state)
{
	char path[PATH_MAX], text[5] = "....";

	(void)state;
	put(5, 0, "hca", "rxe");
	host_tree_dir(path, root, 5, 0);
	assert_int_equal(host_tree_read(path, "hca", text, 4), 0);
	assert_string_equal(text, "rxe");
	put(5, 0, "hca", "rxe0");
	text[4] = '.';
	assert_int_equal(host_tree_read(path, "hca", text, 4), -E2BIG);
	assert_int_equal(text[4], '.');
}

static void without_a_folder_there_are_none(void **state)
{
	(void)state;
	be_files_at("/nonexistent");
	assert_null(be_devices_files());
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	static const struct CMUnitTest tests[] = {
		T(devices_are_found),
		T(changes_are_told),
		T(states_are_files),
		T(mistakes_are_no_state),
		T(limits_are_read),
		T(a_value_fits_or_is_none),
		T(without_a_folder_there_are_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
