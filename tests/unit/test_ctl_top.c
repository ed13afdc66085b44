// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * vhcactl top: rates from files that are written at most once a second, lines
 * and JSON; and list, detach of devices over a xenstore in memory.
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
#include "tools/vhcactl/top.h"

static struct top_sample sample(int64_t at, int64_t mtime, uint64_t cmds)
{
	return (struct top_sample){ .have = true, .pid = 7, .at_ms = at,
				    .mtime_ms = mtime, .count = { cmds } };
}

static void near(double a, double b)
{
	assert_true(a - b < 0.01 && b - a < 0.01);
}

static void time_between_files_counts(void **state)
{
	struct top_sample a = sample(10000, 9900, 100);
	struct top_sample b = sample(12000, 11900, 300);

	(void)state;
	top_rate(&a, &b);
	assert_true(b.rated);
	near(b.rate[TOP_CMDS], 100.0);
	/* Looks are 2 s apart, these files only 1 s. */
	b = sample(12000, 10900, 300);
	top_rate(&a, &b);
	near(b.rate[TOP_CMDS], 200.0);
}

static void rest_is_no_work(void **state)
{
	struct top_sample a = sample(10000, 9900, 100), b, c, d;

	(void)state;
	a.rated = true;
	a.rate[TOP_CMDS] = 50.0;
	/* No new file yet: it goes on as before. */
	b = sample(11000, 9900, 100);
	top_rate(&a, &b);
	near(b.rate[TOP_CMDS], 50.0);
	/* None for too long: nothing happened. */
	c = sample(13000, 9900, 100);
	top_rate(&b, &c);
	assert_true(c.rated);
	near(c.rate[TOP_CMDS], 0.0);
	/* A minute later a burst: not spread over the minute. */
	c.at_ms = 70000;
	d = sample(71000, 70500, 300);
	top_rate(&c, &d);
	near(d.rate[TOP_CMDS], 100.0);
}

static void another_worker_has_no_rate(void **state)
{
	struct top_sample a = sample(10000, 9900, 100);
	struct top_sample b = sample(12000, 11900, 300), none = { .at_ms = 1 };

	(void)state;
	b.pid = 8;
	top_rate(&a, &b);
	assert_false(b.rated);
	b = sample(12000, 11900, 50);
	top_rate(&a, &b);
	assert_false(b.rated);
	b = sample(12000, 11900, 300);
	top_rate(&none, &b);
	assert_false(b.rated);
	top_rate(&a, &none);
	assert_false(none.rated);
}

static void lines_fit_their_head(void **state)
{
	struct top_row r = { .dev = { .domid = 5, .devid = 0 },
			     .name = "web", .hca = "rxe0",
			     .state = "Connected" };
	char head[1024], line[1024], uses[1024], small[40];
	struct json_object *o;

	(void)state;
	r.stats = json_tokener_parse(
		"{\"pages\":{\"used\":257,\"max\":524288},\"objects\":{"
		"\"pd\":{\"used\":0,\"max\":9},\"qp\":{\"used\":3,\"max\":64},"
		"\"cq\":{\"used\":4,\"max\":65}}}");
	r.sample.rated = true;
	r.sample.rate[TOP_CMDS] = 12.4;
	r.sample.rate[TOP_KICKS] = 123456.0;
	r.sample.rate[TOP_EVENTS] = 12345678.0;
	top_head(head, sizeof(head));
	top_line(&r, line, sizeof(line));
	assert_string_equal(line, "    5 web                0 rxe0         Connected        12      0 123.5k  12.3M");
	assert_int_equal(strlen(head), 80);
	assert_int_equal(strlen(line), 80);
	top_uses(&r, uses, sizeof(uses));
	assert_string_equal(uses, "in use: memory 2/2048 MB, qp 3/64, cq 4/65");
	assert_true(top_line(&r, small, sizeof(small)) > 0);
	assert_int_equal(strlen(small), sizeof(small) - 1);
	o = top_json(&r);
	assert_int_equal(ctl_stats_num(o, NULL, "pinned_mb"), 2);
	assert_int_equal(ctl_stats_num(ctl_stats_get(o, "objects"), "qp",
				       "used"), 3);
	json_object_put(o);
	json_object_put(r.stats);
	r.stats = NULL;
	r.sample.rated = false;
	top_line(&r, line, sizeof(line));
	assert_string_equal(line, "    5 web                0 rxe0         Connected         -      -      -      -");
	top_uses(&r, uses, sizeof(uses));
	assert_string_equal(uses, "");
	o = top_json(&r);
	assert_null(ctl_stats_get(o, "cmds_per_s"));
	json_object_put(o);
}

static void batch_prints_rounds(void **state)
{
	struct ctl_dev d;
	struct ctl c;
	char *out;

	(void)state;
	host_device(&c, "hca=rxe0", &d);
	host_file("/5-0.stats", "{\"pid\":1,\"counters\":{\"cmds\":1}}");
	c.batch = true;
	c.delay = 1;
	c.count = 2;
	host_capture();
	assert_int_equal(ctl_top(&c), CTL_OK);
	host_captured(&out, NULL);
	assert_null(strchr(out, '\033'));
	assert_non_null(strstr(out, "\n\nDOMID NAME"));
	assert_non_null(strstr(out, "web"));
	c.json = true;
	c.count = 1;
	host_capture();
	assert_int_equal(ctl_top(&c), CTL_OK);
	host_captured(&out, NULL);
	assert_ptr_equal(strchr(out, '\n'), out + strlen(out) - 1);
	assert_non_null(strstr(out, "\"devices\":[{\"domid\":5"));
}

static void list_and_detach_print_json(void **state)
{
	char domain[] = "web", all[] = "all", *argv[] = { domain, all };
	struct json_object *o;
	struct ctl_dev d;
	struct ctl c;
	char *out;

	(void)state;
	host_device(&c, "hca=rxe0", &d);
	host_device(&c, "hca=rxe1", &d);
	c.argv = argv;
	c.json = true;
	host_capture();
	assert_int_equal(ctl_list(&c), CTL_OK);
	host_captured(&out, NULL);
	o = json_tokener_parse(out);
	assert_int_equal(json_object_array_length(o), 2);
	json_object_put(o);
	fake_xs_set("/local/domain/0/backend/vhca/5/0/state", "6");
	fake_xs_set("/local/domain/0/backend/vhca/5/1/state", "6");
	c.argc = 2;
	host_capture();
	assert_int_equal(ctl_detach(&c), CTL_OK);
	host_captured(&out, NULL);
	o = json_tokener_parse(out);
	assert_int_equal(json_object_array_length(o), 2);
	json_object_put(o);
	assert_null(fake_xs_get("/libxl/5/device/vhca/0/backend"));
	assert_null(fake_xs_get("/local/domain/0/backend/vhca/5/1/hca"));
}

#define HOST_TEST(f) cmocka_unit_test_setup_teardown(f, host_new, host_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(time_between_files_counts),
		cmocka_unit_test(rest_is_no_work),
		cmocka_unit_test(another_worker_has_no_rate),
		cmocka_unit_test(lines_fit_their_head),
		HOST_TEST(batch_prints_rounds),
		HOST_TEST(list_and_detach_print_json),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
