// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * vhcactl stats: one device or all of this backend domain, as text, JSON and
 * OpenMetrics, whose form is checked by what the standard says of it.
 */
#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>
#include "host/maptrack.h"
#include "tests/fake/fake_xs.h"
#include "test_ctl_host.h"
#include "tools/vhcactl/check.h"

/* As backend/worker/stats.c writes it. */
#define FILE_5_0 \
	"{\"domid\":5,\"devid\":0,\"pid\":77,\"state\":\"Connected\"," \
	"\"hca\":\"rxe0\",\"port\":1,\"uptime_ms\":1000,\"counters\":{" \
	"\"cmds\":10,\"cmd_errors\":1,\"kicks\":20,\"kick_spins\":2," \
	"\"kick_sleeps\":3,\"events\":4,\"events_dropped\":0," \
	"\"map_pages\":6,\"map_ns\":1500000001,\"unmap_ns\":7,\"faults\":0," \
	"\"rate_waits\":0},\"objects\":{\"pd\":{\"used\":1,\"max\":1024}," \
	"\"qp\":{\"used\":2,\"max\":64}}," \
	"\"pages\":{\"used\":3,\"max\":524288}}\n"
#define FILE_5_1 \
	"{\"domid\":5,\"devid\":1,\"state\":\"InitWait\"," \
	"\"hca\":\"a\\\"b\\\\c\\nd\",\"counters\":{\"cmds\":18446744073709551615}}"

static int stats(struct ctl *c, const char *domain, const char *devid,
		 char **out, char **err)
{
	static char text[2][32];
	static char *argv[] = { text[0], text[1] };
	int rc;

	snprintf(text[0], sizeof(text[0]), "%s", domain ? domain : "");
	snprintf(text[1], sizeof(text[1]), "%s", devid ? devid : "");
	c->argv = argv;
	c->argc = !!domain + !!devid;
	host_capture();
	rc = ctl_stats(c);
	host_captured(out, err);
	return rc;
}

/* Two devices of domain 0, and one of domain 3 that nobody here can count. */
static void three_devices(struct ctl *c)
{
	struct ctl_dev d;

	fake_xs_set("/local/domain/3/name", "netdom");
	host_device(c, "hca=rxe0", &d);
	host_device(c, "hca=rxe1", &d);
	host_device(c, "hca=rxe0,backend=3", &d);
	assert_int_equal(d.devid, 2);
	host_file("/5-0.stats", FILE_5_0);
	host_file("/5-1.stats", FILE_5_1);
	host_file("/5-2.stats", FILE_5_0);
}

static void one_device_as_text_and_json(void **state)
{
	struct json_object *o;
	char *out, *err;
	struct ctl c;

	(void)state;
	three_devices(&c);
	assert_int_equal(stats(&c, "web", "0", &out, &err), CTL_OK);
	assert_non_null(strstr(out, "counters.cmds                10\n"));
	assert_non_null(strstr(out, "objects.qp.used              2\n"));
	c.json = true;
	assert_int_equal(stats(&c, "5", "0", &out, &err), CTL_OK);
	o = json_tokener_parse(out);
	assert_int_equal(ctl_stats_num(o, "counters", "kicks"), 20);
	assert_int_equal(ctl_stats_num(o, "counters", "nothing"), 0);
	assert_int_equal(ctl_stats_num(o, "hca", "x"), 0);
	json_object_put(o);
}

static void all_devices_of_this_domain(void **state)
{
	struct json_object *list;
	char *out, *err;
	struct ctl c;

	(void)state;
	three_devices(&c);
	c.json = true;
	assert_int_equal(stats(&c, NULL, NULL, &out, &err), CTL_OK);
	list = json_tokener_parse(out);
	assert_int_equal(json_object_array_length(list), 2);
	json_object_put(list);
	c.json = false;
	assert_int_equal(stats(&c, "web", NULL, &out, &err), CTL_OK);
	assert_non_null(strstr(out, "\n\ndomid"));
}

static void missing_counters_are_explained(void **state)
{
	struct ctl_dev d;
	char *out, *err;
	struct ctl c;

	(void)state;
	fake_xs_set("/local/domain/3/name", "netdom");
	host_device(&c, "hca=rxe0", &d);
	host_device(&c, "hca=rxe0,backend=3", &d);
	assert_int_equal(stats(&c, "web", "0", &out, &err), CTL_FAILED);
	assert_non_null(strstr(err, "is xen-vhcad running in the backend domain"));
	assert_int_equal(stats(&c, "web", "1", &out, &err), CTL_FAILED);
	assert_non_null(strstr(err, "in its backend domain 3"));
	assert_int_equal(stats(&c, "web", "7", &out, &err), CTL_NOT_FOUND);
	assert_int_equal(stats(&c, "nobody", NULL, &out, &err), CTL_NOT_FOUND);
	host_file("/5-0.stats", "{\"domid\":5,");
	assert_int_equal(stats(&c, "web", "0", &out, &err), CTL_FAILED);
	assert_non_null(strstr(err, "no JSON object"));
	host_file("/5-0.stats", "[1]");
	assert_int_equal(stats(&c, "web", "0", &out, &err), CTL_FAILED);
	assert_non_null(strstr(err, "no JSON object"));
	c.json = c.openmetrics = true;
	assert_int_equal(stats(&c, NULL, NULL, &out, &err), CTL_USAGE);
}

/* A worker that a guest took over may put anything there. */
static void what_is_no_file_is_not_waited_for(void **state)
{
	static const char *const names[] = { "/5-0.stats", "/supervisor.lock" };
	struct ctl_dev d;
	char *out, *err, path[128];
	struct ctl c;
	struct check k = { .c = &c };
	unsigned int i;

	(void)state;
	host_device(&c, "hca=rxe0", &d);
	for (i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "%s%s", host_root, names[i]);
		assert_int_equal(mkfifo(path, 0600), 0);
	}
	alarm(10);
	assert_int_equal(stats(&c, "web", "0", &out, &err), CTL_FAILED);
	assert_non_null(strstr(err, "/5-0.stats: no regular file: remove it"));
	assert_int_equal(check_told_frames(&k), HOST_MAPTRACK_FRAMES);
	alarm(0);
	snprintf(path, sizeof(path), "%s/5-0.stats", host_root);
	unlink(path);
	host_file("/file", FILE_5_0);
	host_link("/5-0.stats", "file");
	assert_int_equal(stats(&c, "web", "0", &out, &err), CTL_FAILED);
	unlink(path);
	host_file("/5-0.stats", FILE_5_0);
	assert_int_equal(truncate(path, 1 << 20), 0);
	assert_int_equal(stats(&c, "web", "0", &out, &err), CTL_FAILED);
	assert_non_null(strstr(err, "too large"));
}

static size_t name_len(const char *p)
{
	size_t n = 0;

	while (isalnum((unsigned char)p[n]) || p[n] == '_')
		n++;
	return n;
}

/* {name="value",...}; returns what is behind it. */
static const char *labels(const char *p)
{
	assert_int_equal(*p++, '{');
	for (;;) {
		assert_true(name_len(p) > 0);
		p += name_len(p);
		assert_memory_equal(p, "=\"", 2);
		for (p += 2; *p != '"'; p++) {
			assert_true(*p && *p != '\n');
			if (*p == '\\')
				assert_non_null(strchr("\\\"n", *++p));
		}
		if (*++p == '}')
			return p + 1;
		assert_int_equal(*p++, ',');
	}
}

/* A sample of family: counters end in _total, the others have its name. */
static void sample_line(const char *line, const char *family, bool counter)
{
	size_t n = strlen(family);
	char *end;

	assert_memory_equal(line, family, n);
	if (counter) {
		assert_memory_equal(line + n, "_total", 6);
		n += 6;
	}
	line = labels(line + n);
	assert_int_equal(*line++, ' ');
	assert_true(isdigit((unsigned char)*line));
	strtod(line, &end);
	assert_int_equal(*end, '\0');
}

/* Every family once: TYPE, UNIT if its name ends so, HELP, its samples. */
static void well_formed(char *text)
{
	char family[64] = "", type[16] = "", seen[4096] = " ", *line, *next;
	bool end = false;

	for (line = text; *line; line = next) {
		next = strchr(line, '\n');
		assert_non_null(next);
		*next++ = '\0';
		assert_false(end);
		end = !strcmp(line, "# EOF");
		if (end)
			continue;
		if (sscanf(line, "# TYPE %63s %15s", family, type) == 2) {
			char word[66];

			snprintf(word, sizeof(word), " %s ", family);
			assert_null(strstr(seen, word));
			strcat(seen, word);
		} else if (!strncmp(line, "# UNIT ", 7) ||
			   !strncmp(line, "# HELP ", 7)) {
			assert_memory_equal(line + 7, family, strlen(family));
			if (line[2] == 'U')
				assert_string_equal(strrchr(line, ' ') + 1,
					strrchr(family, '_') + 1);
		} else {
			sample_line(line, family, !strcmp(type, "counter"));
		}
	}
	assert_true(end);
}

static void openmetrics_are_well_formed(void **state)
{
	char *out, *err;
	struct ctl c;

	(void)state;
	three_devices(&c);
	c.openmetrics = true;
	assert_int_equal(stats(&c, NULL, NULL, &out, &err), CTL_OK);
	assert_non_null(strstr(out, "# TYPE vhca_commands counter\n"
			       "# HELP vhca_commands Commands of the guest.\n"
			       "vhca_commands_total{domid=\"5\",devid=\"0\",hca=\"rxe0\"} 10\n"
			       "vhca_commands_total{domid=\"5\",devid=\"1\",hca=\"a\\\"b\\\\c\\nd\"} 18446744073709551615\n"));
	assert_non_null(strstr(out, "# UNIT vhca_map_seconds seconds\n"));
	assert_non_null(strstr(out, "vhca_map_seconds_total{domid=\"5\",devid=\"0\",hca=\"rxe0\"} 1.500000001\n"));
	assert_non_null(strstr(out, "vhca_objects{domid=\"5\",devid=\"0\",hca=\"rxe0\",type=\"qp\"} 2\n"));
	assert_non_null(strstr(out, "vhca_objects_limit{domid=\"5\",devid=\"0\",hca=\"rxe0\",type=\"qp\"} 64\n"));
	assert_non_null(strstr(out, "vhca_pinned_bytes{domid=\"5\",devid=\"0\",hca=\"rxe0\"} 12288\n"));
	assert_non_null(strstr(out, "vhca_connected{domid=\"5\",devid=\"1\",hca=\"a\\\"b\\\\c\\nd\"} 0\n"));
	well_formed(out);
}

static void openmetrics_of_nothing_are_well_formed(void **state)
{
	struct ctl c = { .root = host_root, .run_dir = host_root,
			 .openmetrics = true };
	char *out, *err;

	(void)state;
	assert_int_equal(stats(&c, NULL, NULL, &out, &err), CTL_OK);
	well_formed(out);
}

/* Sets the terminal's title, moves its cursor: as bytes, and as JSON has them. */
#define EVIL	"\033]0;a\\u0007\\u001b[2J\302\2332J\177\377"
#define FILE_EVIL \
	"{\"domid\":5,\"hca\":\"" EVIL "\",\"" EVIL "\":1,\"counters\":{\"" EVIL "\":2}," \
	"\"state\":\"a\\nb\"}"

static void is_text(const char *s)
{
	assert_int_not_equal(*s, '\0');
	for (; *s; s++)
		if (*s != '\n' && (*s < 0x20 || *s > 0x7e))
			fail_msg("0x%02x is printed", *s & 0xff);
}

/* A worker that a guest took over writes what it likes, and so does a backend. */
static void the_terminal_gets_text(void **state)
{
	struct ctl_dev d;
	char *out, *err;
	struct ctl c;

	(void)state;
	host_device(&c, "hca=rxe0", &d);
	host_file("/5-0.stats", FILE_EVIL);
	assert_int_equal(stats(&c, "web", "0", &out, &err), CTL_OK);
	is_text(out);
	assert_non_null(strstr(out, "state                        a?b\n"));
	c.json = true;
	assert_int_equal(stats(&c, NULL, NULL, &out, &err), CTL_OK);
	is_text(out);
	assert_non_null(strstr(out, "\"a\\nb\""));
	c.json = false;
	c.openmetrics = true;
	assert_int_equal(stats(&c, NULL, NULL, &out, &err), CTL_OK);
	is_text(out);
	host_capture();
	c.argc = c.json = c.openmetrics = 0;
	c.batch = true;
	c.delay = c.count = 1;
	assert_int_equal(ctl_top(&c), CTL_OK);
	assert_int_equal(ctl_error(CTL_OK, "broken: %s", "\033]0;a\007"), CTL_OK);
	fake_xs_set("/local/domain/5/name", "web\033[2J");
	fake_xs_set("/local/domain/0/backend/vhca/5/0/hca", "\033[2J");
	assert_int_equal(ctl_list(&c), CTL_OK);
	host_captured(&out, &err);
	is_text(out);
	assert_string_equal(err, "vhcactl: broken: ?]0;a?\n");
}

#define HOST_TEST(f) cmocka_unit_test_setup_teardown(f, host_new, host_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		HOST_TEST(one_device_as_text_and_json),
		HOST_TEST(all_devices_of_this_domain),
		HOST_TEST(missing_counters_are_explained),
		HOST_TEST(what_is_no_file_is_not_waited_for),
		HOST_TEST(openmetrics_are_well_formed),
		HOST_TEST(openmetrics_of_nothing_are_well_formed),
		HOST_TEST(the_terminal_gets_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
