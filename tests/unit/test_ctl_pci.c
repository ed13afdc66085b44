// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * vhcactl and the PCI address of an HCA: what is accepted, where it comes
 * from, and that no node which a backend or a guest may write has it.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "tests/fake/fake_xs.h"
#include "test_ctl_host.h"

#define BDF	"0000:00:05.0"
#define LIBXL	"/libxl/5/device/vhca/0"
#define BE	"/local/domain/0/backend/vhca/5/0"
#define FE	"/local/domain/5/device/vhca/0"

static void address_is_read_strictly(void **state)
{
	static const char *const bad[] = {
		"", "5", "00:05", "00:05.8", "0000:00:05.", "0000:00:05.00",
		"0000-00:05.0", "000g:00:05.0", "00000:00:05.0", " 00:05.0",
		"../../../etc", "0000:00:05/0", "00:05.0\n",
	};
	char bdf[CTL_BDF];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(ctl_bdf_parse(bad[i], bdf), -EINVAL);
	assert_int_equal(ctl_bdf_parse("0000:00:05.0", bdf), 0);
	assert_string_equal(bdf, BDF);
	assert_int_equal(ctl_bdf_parse("00:05.0", bdf), 0);
	assert_string_equal(bdf, BDF);
	assert_int_equal(ctl_bdf_parse("FFFF:AB:1C.7", bdf), 0);
	assert_string_equal(bdf, "ffff:ab:1c.7");
}

static void key_is_a_pci_address(void **state)
{
	char err[CTL_ERR_MAX];
	struct ctl_conf conf;

	(void)state;
	assert_int_equal(ctl_conf_parse("hca=mlx5_0,pci=00:05.0", &conf, err),
			 0);
	assert_string_equal(conf.pci, BDF);
	assert_int_equal(ctl_conf_parse("hca=mlx5_0", &conf, err), 0);
	assert_string_equal(conf.pci, "");
	assert_int_equal(ctl_conf_parse("hca=a,pci=eth0", &conf, err), -EINVAL);
	assert_non_null(strstr(err, "pci=eth0"));
	assert_non_null(strstr(err, "0000:00:05.0"));
	assert_int_equal(ctl_conf_parse("hca=a,pci=00:05.0,pci=00:05.0", &conf,
					err), -EINVAL);
	assert_non_null(strstr(err, "twice"));
}

static void hca_of_this_domain_is_looked_up(void **state)
{
	char bdf[CTL_BDF];

	(void)state;
	assert_int_equal(ctl_pci_of_hca(host_root, "mlx5_0", bdf), -ENODEV);
	host_pci_hca("mlx5_0", BDF);
	host_dir("/sys/class/infiniband/rxe0");
	host_link("/sys/class/infiniband/siw0", "../../devices/virtual/siw0");
	host_link("/sys/devices/virtual/siw0/device", "../lo");
	host_dir("/sys/class/net");
	host_link("/sys/devices/virtual/lo/subsystem", "../../../class/net");
	assert_int_equal(ctl_pci_of_hca(host_root, "mlx5_0", bdf), 0);
	assert_string_equal(bdf, BDF);
	assert_int_equal(ctl_pci_of_hca(host_root, "rxe0", bdf), -ENOENT);
	assert_int_equal(ctl_pci_of_hca(host_root, "siw0", bdf), -ENOENT);
}

static void only_the_toolstack_has_the_node(void **state)
{
	struct ctl_dev d;
	struct ctl c;

	(void)state;
	host_pci_hca("mlx5_0", BDF);
	host_device(&c, "hca=mlx5_0", &d);
	assert_string_equal(fake_xs_get(LIBXL "/pci"), BDF);
	assert_string_equal(fake_xs_get(LIBXL "/hca"), "mlx5_0");
	assert_string_equal(fake_xs_get(BE "/hca"), "mlx5_0");
	assert_null(fake_xs_get(BE "/pci"));
	assert_null(fake_xs_get(FE "/pci"));
	assert_int_equal(ctl_dev_remove(&c, &d), 0);
	assert_null(fake_xs_get(LIBXL "/pci"));
}

static void software_hca_has_no_node(void **state)
{
	struct ctl_dev d;
	struct ctl c;

	(void)state;
	host_dir("/sys/class/infiniband/rxe0");
	/* A leftover must not become the address of the new device. */
	fake_xs_set(LIBXL "/pci", BDF);
	host_device(&c, "hca=rxe0", &d);
	assert_null(fake_xs_get(LIBXL "/pci"));
	assert_string_equal(fake_xs_get(BE "/hca"), "rxe0");
}

/* sysfs here says nothing about the names of another domain. */
static void driver_domains_hca_needs_the_key(void **state)
{
	struct ctl_dev d;
	struct ctl c;

	(void)state;
	fake_xs_set("/local/domain/3/name", "netdom");
	host_pci_hca("mlx5_0", "0000:00:06.0");
	host_pci_hca("none", BDF);
	host_device(&c, "hca=mlx5_0,backend=netdom", &d);
	assert_null(fake_xs_get(LIBXL "/pci"));
	assert_int_equal(ctl_dev_remove(&c, &d), 0);
	host_device(&c, "hca=mlx5_0,backend=3,pci=" BDF, &d);
	assert_string_equal(fake_xs_get(LIBXL "/pci"), BDF);
	assert_null(fake_xs_get("/local/domain/3/backend/vhca/5/0/pci"));
}

static void refuse(const char *spec, int exit_code, const char *say)
{
	struct ctl c = { .root = host_root };
	struct ctl_dev d;
	char *err;
	int rc;

	host_capture();
	rc = ctl_attach_spec(&c, 5, spec, &d);
	host_captured(NULL, &err);
	assert_int_equal(rc, exit_code);
	assert_non_null(strstr(err, say));
	assert_null(fake_xs_get(LIBXL "/backend"));
	assert_null(fake_xs_get(BE "/hca"));
}

static void wrong_address_is_refused(void **state)
{
	(void)state;
	host_pci_hca("mlx5_0", BDF);
	host_pci_hca("mlx5_1", "0000:00:06.0");
	host_dir("/sys/class/infiniband/rxe0");
	refuse("hca=mlx5_0,pci=0000:00:06.0", CTL_USAGE,
	       "mlx5_0 is the device 0000:00:05.0");
	refuse("hca=rxe0,pci=0000:00:06.0", CTL_USAGE,
	       "rxe0 is no PCI device");
	refuse("hca=absent,pci=0000:00:07.0", CTL_USAGE,
	       "no such PCI device");
	refuse("hca=mlx5_0,pci=x", CTL_USAGE, "pci=x");
}

static void show_prints_it(void **state)
{
	char domain[] = "web", devid[] = "0", *argv[] = { domain, devid };
	struct ctl_dev d;
	struct ctl c;
	char *out;
	int rc;

	(void)state;
	host_pci_hca("mlx5_0", BDF);
	host_device(&c, "hca=mlx5_0", &d);
	c.argc = 2;
	c.argv = argv;
	host_capture();
	rc = ctl_show(&c);
	host_captured(&out, NULL);
	assert_int_equal(rc, CTL_OK);
	assert_non_null(strstr(out, "pci                          " BDF));
}

#define HOST_TEST(f) cmocka_unit_test_setup_teardown(f, host_new, host_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(address_is_read_strictly),
		cmocka_unit_test(key_is_a_pci_address),
		HOST_TEST(hca_of_this_domain_is_looked_up),
		HOST_TEST(only_the_toolstack_has_the_node),
		HOST_TEST(software_hca_has_no_node),
		HOST_TEST(driver_domains_hca_needs_the_key),
		HOST_TEST(wrong_address_is_refused),
		HOST_TEST(show_prints_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
