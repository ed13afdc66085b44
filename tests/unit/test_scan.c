// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * What a backend may do in a domain that is not the control domain: whether a
 * guest is alive it learns from the toolstack's directories, and a xenstored
 * that is busy with other processes of the domain is waited for.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "tests/fake/fake_xs.h"
#include "number.h"
#include "xenstore/scan.h"

#define BE	"/local/domain/3/backend/vhca/5/"
#define FE	"/local/domain/5/device/vhca/"
#define VIF	"/local/domain/3/backend/vif/5/1/"

static int setup(void **state)
{
	(void)state;
	fake_xs_reset();
	fake_xs_set("domid", "3");
	return 0;
}

static void device(const char *be_state, const char *fe_backend)
{
	fake_xs_set(be_state, "4");
	fake_xs_set(fe_backend, "x");
}

static void xenstored_knows(void **state)
{
	(void)state;
	fake_xs_set("/local/domain/5/name", "web");
	assert_true(xn_domain_alive(NULL, 5));
	assert_false(xn_domain_alive(NULL, 6));
	/* Its word counts, whatever directories there are. */
	device("/local/domain/3/backend/vhca/6/0/state",
	       "/local/domain/6/device/vhca/0/backend");
	assert_false(xn_domain_alive(NULL, 6));
}

/* A guest that is taken for dead loses its devices, and what is held for it. */
static void no_answer_is_no_death(void **state)
{
	static const int err[] = { EIO, EPIPE, EBADF, EINVAL, EAGAIN, EBUSY, ENOMEM };
	unsigned int i;

	(void)state;
	fake_xs_set("/local/domain/5/name", "web");
	for (i = 0; i < sizeof(err) / sizeof(err[0]); i++) {
		fake_xs_break(err[i]);
		assert_true(xn_domain_alive(NULL, 5));
		assert_true(xn_domain_alive(NULL, 6));
	}
	fake_xs_break(ENOENT);
	assert_false(xn_domain_alive(NULL, 5));
	fake_xs_break(0);
	assert_false(xn_domain_alive(NULL, 6));
}

static void a_guest_lives_while_it_has_a_device(void **state)
{
	(void)state;
	fake_xs_unprivileged(true);
	fake_xs_set("/local/domain/5/name", "web");
	assert_false(xn_domain_alive(NULL, 5));
	device(BE "0/state", FE "0/backend");
	device(BE "1/state", FE "1/backend");
	assert_true(xn_domain_alive(NULL, 5));
	/* One of two was detached. */
	fake_xs_rm(FE "0");
	assert_true(xn_domain_alive(NULL, 5));
	/* The guest has another device, of another backend. */
	device("/local/domain/9/backend/vhca/5/2/state", FE "2/backend");
	fake_xs_rm(FE "1");
	assert_false(xn_domain_alive(NULL, 5));
	/* A lost connection is no death. */
	fake_xs_break(EIO);
	assert_true(xn_domain_alive(NULL, 5));
}

static int count(struct xs_handle *xs, xs_transaction_t t, void *arg)
{
	(void)xs;
	(void)t;
	++*(unsigned int *)arg;
	return 0;
}

static void a_full_xenstored_is_waited_for(void **state)
{
	unsigned int n = 0;

	(void)state;
	fake_xs_full(3);
	assert_int_equal(xn_transact(NULL, count, &n), 0);
	assert_int_equal(n, 1);
	fake_xs_full(~0u);
	assert_int_equal(xn_transact(NULL, count, &n), -ENOSPC);
	fake_xs_full(0);
	fake_xs_break(EPIPE);
	assert_int_equal(xn_transact(NULL, count, &n), -EPIPE);
	assert_int_equal(n, 1);
}

/* What goes to a script as its argument. */
static void a_vif_has_a_mac_address(void **state)
{
	static const char *const bad[] = {
		"", "00:16:3e:00:00:0", "00:16:3e:00:00:001", "00:16:3e:00:00:0g", "- ; id",
	};
	char mac[VL_MAC];
	unsigned int i;

	(void)state;
	xn_vif_mac(NULL, 3, 5, 1, mac);
	assert_string_equal(mac, "");
	fake_xs_set(VIF "mac", "00:16:3E:00:00:0a");
	xn_vif_mac(NULL, 3, 5, 1, mac);
	assert_string_equal(mac, "");
	fake_xs_set(VIF "hotplug-status", "connected");
	xn_vif_mac(NULL, 3, 5, 1, mac);
	assert_string_equal(mac, "00:16:3E:00:00:0a");
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		fake_xs_set(VIF "mac", bad[i]);
		xn_vif_mac(NULL, 3, 5, 1, mac);
		assert_string_equal(mac, "");
	}
	fake_xs_set(VIF "mac", "00:16:3e:00:00:0a");
	fake_xs_set(VIF "hotplug-status", "error");
	xn_vif_mac(NULL, 3, 5, 1, mac);
	assert_string_equal(mac, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(xenstored_knows, setup),
		cmocka_unit_test_setup(no_answer_is_no_death, setup),
		cmocka_unit_test_setup(a_guest_lives_while_it_has_a_device,
				       setup),
		cmocka_unit_test_setup(a_full_xenstored_is_waited_for, setup),
		cmocka_unit_test_setup(a_vif_has_a_mac_address, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
