// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * vhcactl and devices whose backend domain is gone: they are seen, can be
 * detached, and come back at the new domain of that name as they were made. And a
 * device that gets the number of one that the guest has not ended yet.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "tests/fake/fake_xs.h"
#include "test_ctl_host.h"

#define SPEC "hca=mlx5_0,backend=netdom,pci=0000:00:05.0,max-qp=7," \
	"ip=192.0.2.7/24 2001:db8::7,vif=1,pkeys=0xffff"
#define NEW_BE "/local/domain/9/backend/vhca/5/1"
#define NEW_LIBXL "/libxl/5/device/vhca/1"

/* A device of "web" whose backend "netdom" was domain 3, and is 9 now. */
static void restarted(struct ctl *c, struct ctl_dev *d)
{
	host_pci_hca("other", "0000:00:05.0");
	fake_xs_set("/local/domain/3/name", "netdom");
	host_device(c, SPEC, d);
	fake_xs_rm("/local/domain/3");
	fake_xs_set("/local/domain/9/name", "netdom");
	c->wait = 0;
}

static int run(struct ctl *c, int (*fn)(struct ctl *c), int argc, char **argv,
	       char **out)
{
	int rc;

	c->argc = argc;
	c->argv = argv;
	host_capture();
	rc = fn(c);
	host_captured(out, NULL);
	return rc;
}

static void it_is_listed_and_detached(void **state)
{
	char web[] = "web", all[] = "all", *argv[] = { web, all }, *out;
	struct ctl_dev d;
	struct ctl c;

	(void)state;
	restarted(&c, &d);
	assert_int_equal(run(&c, ctl_list, 0, NULL, &out), CTL_OK);
	assert_non_null(strstr(out, "5     web               0     3       mlx5_0           Unknown"));
	fake_xs_set("/local/domain/5/device/vhca/0/state", "6");
	assert_int_equal(run(&c, ctl_detach, 2, argv, NULL), CTL_OK);
	assert_null(fake_xs_get("/libxl/5/device/vhca/0/backend"));
	assert_null(fake_xs_get("/local/domain/5/device/vhca/0/backend"));
}

static void it_comes_back_as_it_was(void **state)
{
	struct ctl_dev d;
	struct ctl c;
	char *out;

	(void)state;
	restarted(&c, &d);
	assert_int_equal(run(&c, ctl_reattach, 0, NULL, &out), CTL_OK);
	assert_string_equal(out, "domain 5: device 0 is now 1, backend domain 9\n");
	assert_string_equal(fake_xs_get(NEW_BE "/hca"), "mlx5_0");
	assert_string_equal(fake_xs_get(NEW_BE "/max-qp"), "7");
	assert_null(fake_xs_get(NEW_BE "/max-cq"));
	assert_null(fake_xs_get(NEW_BE "/pci"));
	assert_string_equal(fake_xs_get(NEW_BE "/ip"),
			    "192.0.2.7/24 2001:db8::7");
	assert_string_equal(fake_xs_get(NEW_BE "/pkeys"), "0xffff");
	assert_string_equal(fake_xs_get(NEW_BE "/vif"), "1");
	assert_string_equal(fake_xs_get(NEW_LIBXL "/pci"), "0000:00:05.0");
	assert_string_equal(fake_xs_get(NEW_LIBXL "/backend"), NEW_BE);
	assert_string_equal(fake_xs_get("/local/domain/5/device/vhca/1/backend-id"),
			    "9");
	assert_null(fake_xs_get("/libxl/5/device/vhca/0/backend"));
	assert_null(fake_xs_get("/local/domain/5/device/vhca/0/backend"));
	/* A second time there is nothing to do. */
	assert_int_equal(run(&c, ctl_reattach, 0, NULL, &out), CTL_OK);
	assert_string_equal(out, "");
}

#define FE "/local/domain/5/device/vhca/0"
#define MOVED_BE "/local/domain/9/backend/vhca/5/0"

/* The guest's kernel has one device all the time. */
static void a_kernels_device_keeps_its_number(void **state)
{
	struct ctl_dev d;
	struct ctl c;
	char *out, *err;

	(void)state;
	fake_xs_set("/local/domain/3/name", "netdom");
	host_device(&c, "hca=rxe0,backend=netdom,ip=192.0.2.7/24,kernel=1", &d);
	fake_xs_set(FE "/state", "6");
	fake_xs_set(FE "/setup", "of the old one");
	fake_xs_set(FE "/broken", "backend closed without notice");
	fake_xs_rm("/local/domain/3");
	fake_xs_set("/local/domain/9/name", "netdom");
	c.wait = 0;
	assert_int_equal(run(&c, ctl_reattach, 0, NULL, &out), CTL_OK);
	assert_string_equal(out, "domain 5: device 0, backend domain 9\n");
	assert_string_equal(fake_xs_get(FE "/state"), "6");
	assert_string_equal(fake_xs_get(FE "/backend"), MOVED_BE);
	assert_string_equal(fake_xs_get(FE "/backend-id"), "9");
	assert_null(fake_xs_get(FE "/setup"));
	assert_null(fake_xs_get(FE "/broken"));
	assert_string_equal(fake_xs_get(MOVED_BE "/kernel"), "1");
	assert_string_equal(fake_xs_get("/libxl/5/device/vhca/0/backend"), MOVED_BE);
	assert_null(fake_xs_get("/libxl/5/device/vhca/1/backend"));

	/* Without its nodes the guest has no device that it could keep. */
	fake_xs_rm("/local/domain/9");
	fake_xs_set("/local/domain/9/name", "netdom");
	fake_xs_rm(FE);
	assert_int_equal(run(&c, ctl_reattach, 0, NULL, &out), CTL_OK);
	assert_string_equal(fake_xs_get(FE "/state"), "1");
	assert_string_equal(fake_xs_get(FE "/backend"), MOVED_BE);
	fake_xs_set(FE "/state", "6");

	/* Its state is the guest's. What it says of the old backend is no failure. */
	fake_xs_set(MOVED_BE "/state", "2");
	fake_xs_set(FE "/broken", "backend closed without notice");
	d.moved = true;
	d.backend = 9;
	snprintf(d.be, sizeof(d.be), MOVED_BE);
	host_capture();
	assert_int_equal(ctl_attach_wait(&c, &d, 1), CTL_TIMEOUT);
	host_captured(NULL, &err);
	assert_string_equal(fake_xs_get(FE "/state"), "6");
}

static void others_are_left_alone(void **state)
{
	char num[] = "6", *argv[] = { num }, *out;
	struct ctl_dev d;
	struct ctl c;

	(void)state;
	fake_xs_set("/local/domain/3/name", "netdom");
	host_device(&c, "hca=rxe0,backend=netdom", &d);
	c.wait = 0;
	assert_int_equal(run(&c, ctl_reattach, 0, NULL, &out), CTL_OK);
	assert_string_equal(out, "");
	fake_xs_rm("/local/domain/3");
	/* Another domain's is asked for. */
	assert_int_equal(run(&c, ctl_reattach, 1, argv, &out), CTL_OK);
	assert_string_equal(out, "");
	assert_non_null(fake_xs_get("/libxl/5/device/vhca/0/backend"));
}

static void it_waits_for_the_domain(void **state)
{
	char all[] = "all", nine[] = "9", *argv[] = { all, nine }, *out;
	struct ctl_dev d;
	struct ctl c;

	(void)state;
	restarted(&c, &d);
	fake_xs_set("/local/domain/9/name", "unnamed");
	assert_int_equal(run(&c, ctl_reattach, 0, NULL, &out), CTL_NOT_FOUND);
	assert_non_null(fake_xs_get("/libxl/5/device/vhca/0/backend"));
	/* No name was recorded: the operator has to tell. */
	fake_xs_rm("/libxl/5/device/vhca/0/backend-name");
	assert_int_equal(run(&c, ctl_reattach, 1, argv, &out), CTL_FAILED);
	assert_non_null(fake_xs_get("/libxl/5/device/vhca/0/backend"));
	assert_int_equal(run(&c, ctl_reattach, 2, argv, &out), CTL_OK);
	assert_string_equal(fake_xs_get(NEW_BE "/hca"), "mlx5_0");
}

/* The guest's, of an earlier device of that number: it would not look at the new one. */
static void a_late_end_is_written_over(void **state)
{
	struct ctl_dev d;
	struct ctl c;
	char *err;

	(void)state;
	host_device(&c, "hca=rxe0", &d);
	fake_xs_set("/local/domain/0/backend/vhca/5/0/state", "2");
	fake_xs_set("/local/domain/5/device/vhca/0/state", "6");
	host_capture();
	assert_int_equal(ctl_attach_wait(&c, &d, 1), CTL_TIMEOUT);
	host_captured(NULL, &err);
	assert_string_equal(fake_xs_get("/local/domain/5/device/vhca/0/state"), "1");
	assert_non_null(strstr(err, "the guest does not answer"));
	/* One that says why it closed is not asked again. */
	fake_xs_set("/local/domain/5/device/vhca/0/broken", "why");
	fake_xs_set("/local/domain/5/device/vhca/0/state", "6");
	host_capture();
	assert_int_equal(ctl_attach_wait(&c, &d, 1), CTL_FAILED);
	host_captured(NULL, &err);
	assert_string_equal(fake_xs_get("/local/domain/5/device/vhca/0/state"), "6");
}

#define HOST_TEST(f) cmocka_unit_test_setup_teardown(f, host_new, host_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		HOST_TEST(it_is_listed_and_detached),
		HOST_TEST(it_comes_back_as_it_was),
		HOST_TEST(a_kernels_device_keeps_its_number),
		HOST_TEST(others_are_left_alone),
		HOST_TEST(it_waits_for_the_domain),
		HOST_TEST(a_late_end_is_written_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
