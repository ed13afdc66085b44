// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * vhcactl dom0less: mistakes of its file are told before anything is written, its
 * guests get what a toolstack would have given them, once, and others nothing.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "tests/fake/fake_xs.h"
#include "host/tree.h"
#include "test_ctl_host.h"
#include "tools/vhcactl/dom0less.h"

#define TARGET "/sys/devices/system/xen_memory/xen_memory0/target_kb"
#define GOOD "# two guests\nown-domain 3\nmemory 704\nguest-reserve 16\n\n" \
	"guest 1 g1 hca=rxe0,max-qp=7  # first\n\tguest 2 g2\r\n"

static void the_file_is_read(void **state)
{
	char err[CTL_ERR_MAX];
	struct dom0less all;

	(void)state;
	assert_int_equal(ctl_dom0less_parse(GOOD, &all, err), 0);
	assert_int_equal(all.own, 3);
	assert_int_equal(all.memory, 704);
	assert_int_equal(all.guest_reserve, 16);
	assert_int_equal(all.nr, 2);
	assert_int_equal(all.guest[0].domid, 1);
	assert_string_equal(all.guest[0].name, "g1");
	assert_string_equal(all.guest[0].spec, "hca=rxe0,max-qp=7");
	assert_string_equal(all.guest[1].name, "g2");
	assert_string_equal(all.guest[1].spec, "");
}

static void its_mistakes_are_told(void **state)
{
	static const char *const bad[][2] = {
		{ "", "own-domain is missing" },
		{ "guest 1 g1\n", "own-domain is missing" },
		{ "own-domain 0\n", "line 1: \"0\": the number" },
		{ "own-domain\n", "line 1: \"\": the number" },
		{ "own-domain 3\nown-domain 3\n", "line 2: a second own-domain" },
		{ "own-domain 3\nguest 3 g\n", "line 2: domain 3 stands there twice" },
		{ "guest 1 a\nguest 1 b\n", "line 2: domain 1 stands there twice" },
		{ "guest 32752 a\n", "line 1: \"32752\": the number" },
		{ "guest 1\n", "guest NUMBER NAME" },
		{ "guest 1 hca=rxe0\n", "guest NUMBER NAME" },
		{ "guest 1 ../x\n", "guest NUMBER NAME" },
		{ "guest 1 g max-qp=7\n", "line 1: " },
		{ "guest 1 g hca=rxe0,backend=0\n", "backend=0: it is own-domain" },
		{ "memory 0\n", "memory \"0\": MiB" },
		{ "memory x\n", "memory \"x\": MiB" },
		{ "guest-reserve\n", "guest-reserve \"\": MiB" },
		{ "guests 1 g\n", "\"guests\": own-domain, no-xenstore, memory, guest" },
	};
	char err[CTL_ERR_MAX], *text = calloc(1, 5000);
	struct dom0less all;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_not_equal(ctl_dom0less_parse(bad[i][0], &all, err), 0);
		if (!strstr(err, bad[i][1]))
			fail_msg("\"%s\" of %s", err, bad[i][0]);
	}
	memset(text, '#', 4000);
	assert_int_not_equal(ctl_dom0less_parse(text, &all, err), 0);
	assert_non_null(strstr(err, "longer than"));
	for (i = 0, *text = '\0'; i <= DOM0LESS_GUESTS; i++)
		sprintf(text + strlen(text), "guest %zu g\n", i + 1);
	assert_int_not_equal(ctl_dom0less_parse(text, &all, err), 0);
	assert_non_null(strstr(err, "line 65: more than 64 guests"));
	free(text);
}

/* Three domains as Xen starts them: nothing in xenstore but what xenstored knows. */
static int run(const char *text, char **out, char **err)
{
	char path[128], *argv[] = { path };
	struct ctl c = { .root = host_root, .argc = 1, .argv = argv, .wait = -1 };
	int rc;

	host_file("/file", text);
	snprintf(path, sizeof(path), "%s/file", host_root);
	host_capture();
	rc = ctl_dom0less(&c);
	host_captured(out, err);
	return rc;
}

static int setup(void **state)
{
	int rc = host_new(state);

	fake_xs_reset();
	fake_xs_set("/local/domain/3/name", "utility");
	fake_xs_set("/local/domain/3/domid", "3");
	fake_xs_set("domid", "3");
	fake_xs_set("/fake/port/1", "1");
	fake_xs_set("/fake/port/2", "3");
	fake_xs_set("/fake/port/4", "1");
	host_file(TARGET, "786432\n");
	return rc;
}

static void its_guests_are_served_once(void **state)
{
	char path[128], *out, line[32] = "";
	unsigned int commits;
	FILE *f;

	(void)state;
	assert_int_equal(run(GOOD, &out, NULL), CTL_OK);
	assert_string_equal(out, "domain 1 (g1): device 0\ndomain 2 (g2): no vhca\n");
	assert_string_equal(fake_xs_get("/local/domain/1/name"), "g1");
	assert_string_equal(fake_xs_get("/local/domain/1/domid"), "1");
	assert_non_null(fake_xs_get("/local/domain/1/data"));
	assert_non_null(fake_xs_get("/local/domain/1/control"));
	assert_string_equal(fake_xs_get("/local/domain/1/memory/static-max"), "32768");
	assert_string_equal(fake_xs_get("/local/domain/1/memory/target"), "16384");
	assert_null(fake_xs_get("/local/domain/2/memory/target"));
	assert_string_equal(fake_xs_get("/local/domain/3/backend/vhca/1/0/hca"), "rxe0");
	assert_string_equal(fake_xs_get("/local/domain/3/backend/vhca/1/0/max-qp"), "7");
	assert_string_equal(fake_xs_get("/local/domain/1/device/vhca/0/backend-id"), "3");
	assert_string_equal(fake_xs_get("/local/domain/2/name"), "g2");
	assert_null(fake_xs_get("/local/domain/2/device/vhca/0/backend"));
	assert_null(fake_xs_get("/local/domain/4/name"));
	snprintf(path, sizeof(path), "%s" TARGET, host_root);
	f = fopen(path, "r");
	assert_non_null(f);
	assert_non_null(fgets(line, sizeof(line), f));
	fclose(f);
	assert_string_equal(line, "720896\n");
	/* Again: as the daemon's domain does that restarts its services. */
	commits = fake_xs_commits();
	assert_int_equal(run(GOOD, &out, NULL), CTL_OK);
	assert_string_equal(out, "domain 1 (g1): device 0\ndomain 2 (g2): no vhca\n");
	assert_int_equal(fake_xs_commits(), commits);
	assert_int_equal(fake_xs_outside(), 0);
	assert_null(fake_xs_get("/local/domain/1/device/vhca/1/backend"));
}

#define WINDOWS(b, nr) "own-domain 3\n" \
	"guest 1 g1 hca=a,doorbell-static=0x8000140 0x9000140 0x20\n" \
	"guest 2 g2 hca=a,doorbell-static=" b " 0x9000140 " nr "\n"

/* Each guest has its own for life: no two may have one page. */
static void doorbell_pages_are_one_guest_s(void **state)
{
	static const char *const bad[] = {
		WINDOWS("0x8000140", "0x20"), WINDOWS("0x800015f", "0x1"),
		WINDOWS("0x8000100", "0x41"), WINDOWS("0x8000141", "0x1"),
		WINDOWS("0x8000000", "0x1000"),
	};
	char *err;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(run(bad[i], NULL, &err), CTL_USAGE);
		assert_non_null(strstr(err, "domain 1 has some of these pages"));
		assert_null(fake_xs_get("/local/domain/3/backend/vhca/2/0/hca"));
	}
	assert_string_equal(fake_xs_get("/local/domain/3/backend/vhca/1/0/doorbell-static"),
			    "0x8000140 0x9000140 0x20");
	assert_int_equal(run(WINDOWS("0x8000160", "0x20"), NULL, &err), CTL_OK);
	assert_string_equal(fake_xs_get("/local/domain/3/backend/vhca/2/0/doorbell-static"),
			    "0x8000160 0x9000140 0x20");
}

static void one_that_cannot_be_met_stops_no_other(void **state)
{
	char *out, *err;

	(void)state;
	fake_xs_rm("/fake/port/1");
	assert_int_equal(run(GOOD, &out, &err), CTL_FAILED);
	assert_string_equal(out, "domain 2 (g2): no vhca\n");
	assert_non_null(strstr(err, "domain 1 (g1) cannot be introduced"));
	assert_non_null(strstr(err, "xsm=dummy"));
	assert_null(fake_xs_get("/local/domain/1/name"));
}

static void a_wrong_number_or_no_balloon_is_told(void **state)
{
	char path[128], *err;

	(void)state;
	assert_int_equal(run("own-domain 2\nguest 1 g\n", NULL, &err), CTL_FAILED);
	assert_non_null(strstr(err, "does not know that domain"));
	assert_int_equal(run("own-domain 3\nguest 1 g x=y\n", NULL, &err), CTL_USAGE);
	assert_non_null(strstr(err, "line 2: "));
	snprintf(path, sizeof(path), "%s" TARGET, host_root);
	assert_int_equal(remove(path), 0);
	assert_int_equal(run(GOOD, NULL, &err), CTL_FAILED);
	assert_non_null(strstr(err, "target_kb: No such file"));
	assert_null(fake_xs_get("/local/domain/1/name"));
}

/* ---- without xenstore ---- */
static const char *devices(void)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/devices", host_root);
	return path;
}

/* A command without xenstore, and its arguments; c has the options. */
static int files(int (*fn)(struct ctl *c), struct ctl c, char **out, char **err,
		 int argc, char **argv)
{
	int rc;

	c.no_xs = true;
	c.devices = devices();
	c.root = c.run_dir = host_root;
	c.argc = argc;
	c.argv = argv;
	host_capture();
	rc = fn(&c);
	host_captured(out, err);
	return rc;
}

static int make_files(const char *text, char **out, char **err)
{
	char path[128], *argv[] = { path };

	host_file("/file", text);
	snprintf(path, sizeof(path), "%s/file", host_root);
	return files(ctl_dom0less, (struct ctl){ .wait = -1 }, out, err, 1, argv);
}

static const char *node(const char *name)
{
	static char value[256];
	char dir[PATH_MAX];

	host_tree_dir(dir, devices(), 1, 0);
	return host_tree_read(dir, name, value, sizeof(value)) ? NULL : value;
}

static void set_node(const char *name, const char *value)
{
	char dir[PATH_MAX];

	host_tree_dir(dir, devices(), 1, 0);
	assert_int_equal(host_tree_write(dir, name, value), 0);
}

#define FILES "own-domain 3\nno-xenstore\nmemory 704\n" \
	"guest 1 g1 hca=rxe0,max-qp=7,ip=192.0.2.7/24\nguest 2 g2\n"

static void devices_become_files(void **state)
{
	char *out;

	(void)state;
	assert_int_equal(make_files(FILES, &out, NULL), CTL_OK);
	assert_string_equal(out, "domain 1 (g1): device 0\ndomain 2 (g2): no vhca\n");
	assert_string_equal(node("hca"), "rxe0");
	assert_string_equal(node("max-qp"), "7");
	assert_string_equal(node("ip"), "192.0.2.7/24");
	assert_string_equal(node("grant-ref"), "2");
	assert_string_equal(node("state"), "1");
	assert_string_equal(node("online"), "1");
	assert_null(node("max-cq"));
	assert_int_equal(fake_xs_commits() + fake_xs_outside(), 0);
	/* Again: what is there stays. */
	set_node("state", "4");
	assert_int_equal(make_files(FILES, &out, NULL), CTL_OK);
	assert_string_equal(node("state"), "4");
}

static void no_xenstore_has_to_be_said(void **state)
{
	char *err;

	(void)state;
	assert_int_equal(make_files(GOOD, NULL, &err), CTL_FAILED);
	assert_non_null(strstr(err, "does not say no-xenstore"));
	assert_int_not_equal(access(devices(), F_OK), 0);
}

static void doorbell_pages_and_vifs_need_xenstore(void **state)
{
	char *err;

	(void)state;
	assert_int_equal(make_files("own-domain 3\nno-xenstore\n"
				    "guest 1 g1 hca=a,ip=192.0.2.7,vif=0\n",
				    NULL, &err), CTL_USAGE);
	assert_non_null(strstr(err, "g1: vif needs xenstore"));
	assert_int_equal(make_files("own-domain 3\nno-xenstore\n"
				    "guest 1 g1 hca=a,doorbell-static=0x1 0x1 0x40\n",
				    NULL, &err), CTL_USAGE);
	assert_non_null(strstr(err, "g1: doorbell-static needs xenstore"));
	assert_null(node("hca"));
}

static void files_are_listed(void **state)
{
	char *out, *err, *one[] = { "1" }, *two[] = { "2" }, *name[] = { "g1" };
	const struct ctl c = { .wait = -1 }, json = { .wait = -1, .json = true };

	(void)state;
	assert_int_equal(files(ctl_files_list, c, NULL, &err, 0, NULL), CTL_FAILED);
	assert_non_null(strstr(err, "neither a xenstore"));
	assert_int_equal(make_files(FILES, &out, NULL), CTL_OK);
	set_node("frontend-state", "4");
	assert_int_equal(files(ctl_files_list, c, &out, NULL, 0, NULL), CTL_OK);
	assert_non_null(strstr(out, "\n1     g1                0     rxe0"));
	assert_non_null(strstr(out, "Initialising Connected"));
	assert_int_equal(files(ctl_files_list, json, &out, NULL, 1, one), CTL_OK);
	assert_non_null(strstr(out, "\"frontend_state\": \"Connected\""));
	assert_int_equal(files(ctl_files_list, c, &out, NULL, 1, two), CTL_OK);
	assert_null(strstr(out, "rxe0"));
	assert_int_equal(files(ctl_files_list, c, NULL, &err, 1, name), CTL_USAGE);
}

static void files_are_taken_away(void **state)
{
	char *err, *all[] = { "1", "all" }, *one[] = { "1", "1" }, *bad[] = { "1", "x" };
	struct ctl c = { .wait = 0 };

	(void)state;
	assert_int_equal(make_files(FILES, NULL, NULL), CTL_OK);
	set_node("state", "4");
	/* Nobody closes it. */
	assert_int_equal(files(ctl_files_detach, c, NULL, &err, 2, all), CTL_TIMEOUT);
	assert_non_null(strstr(err, "detach -f"));
	assert_string_equal(node("online"), "0");
	assert_string_equal(node("state"), "5");
	assert_int_equal(files(ctl_files_detach, c, NULL, NULL, 2, one), CTL_NOT_FOUND);
	assert_int_equal(files(ctl_files_detach, c, NULL, NULL, 2, bad), CTL_USAGE);
	set_node("state", "6");
	assert_int_equal(files(ctl_files_detach, c, NULL, NULL, 2, all), CTL_OK);
	assert_null(node("hca"));
	assert_int_equal(make_files(FILES, NULL, NULL), CTL_OK);
	set_node("state", "4");
	c.force = true;
	assert_int_equal(files(ctl_files_detach, c, NULL, NULL, 2, all), CTL_OK);
	assert_null(node("hca"));
	assert_null(node("state"));
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, host_end)
int main(void)
{
	const struct CMUnitTest tests[] = {
		T(the_file_is_read),
		T(its_mistakes_are_told),
		T(its_guests_are_served_once),
		T(doorbell_pages_are_one_guest_s),
		T(one_that_cannot_be_met_stops_no_other),
		T(a_wrong_number_or_no_balloon_is_told),
		T(devices_become_files),
		T(no_xenstore_has_to_be_said),
		T(doorbell_pages_and_vifs_need_xenstore),
		T(files_are_listed),
		T(files_are_taken_away),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
