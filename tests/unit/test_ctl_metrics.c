// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * vhcactl stats --openmetrics and what reads it: each counter of a worker has a family,
 * the manual names each family, and each metric and label of the example's dashboard and
 * alert rules is there. With promtool, in PATH or as $PROMTOOL, Prometheus' own parsers
 * take metrics, rules and queries, and each alert fires when it should.
 */
#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "core/be.h"
#include "tests/fake/fake_xs.h"
#include "test_ctl_host.h"

#define FIRST_VALUE 1000	/* of the counters, each another one */
#define DASHBOARD EXAMPLES "/vhca-dashboard.json"
#define RULES EXAMPLES "/vhca-rules.yml"

#define COUNTER(name) #name,
static const char *const counters[] = { BE_COUNTERS(COUNTER) };
#define NR_COUNTERS (sizeof(counters) / sizeof(counters[0]))

static char *metrics(void)
{
	static char *out;
	char text[4096];
	struct ctl_dev d;
	struct ctl c;
	size_t i, len;
	int rc;

	host_device(&c, "hca=rxe0", &d);
	len = (size_t)snprintf(text, sizeof(text),
			       "{\"hca\":\"rxe0\",\"state\":\"Connected\",\"pages\":{\"used\":1,\"max\":2},"
			       "\"objects\":{\"qp\":{\"used\":3,\"max\":4}},\"counters\":{");
	for (i = 0; i < NR_COUNTERS; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s\"%s\":%zu",
					i ? "," : "", counters[i], FIRST_VALUE + i);
	snprintf(text + len, sizeof(text) - len, "}}");
	host_file("/5-0.stats", text);
	c.openmetrics = true;
	host_capture();
	rc = ctl_stats(&c);
	host_captured(&out, NULL);
	assert_int_equal(rc, CTL_OK);
	return out;
}

static char *file(const char *path)
{
	char *text = ctl_read_file(path);

	assert_non_null(text);
	return text;
}

/* Is there such a sample? name: len letters */
static bool has_sample(const char *out, const char *name, size_t len)
{
	char text[80];

	snprintf(text, sizeof(text), "\n%.*s{", (int)len, name);
	return strstr(out, text);
}

static void every_counter_has_a_family(void **state)
{
	char *out = metrics(), number[32], ns[32];
	size_t i;

	(void)state;
	for (i = 0; i < NR_COUNTERS; i++) {
		snprintf(number, sizeof(number), "} %zu\n", FIRST_VALUE + i);
		snprintf(ns, sizeof(ns), "} 0.%09zu\n", FIRST_VALUE + i);
		if (!strstr(out, number) && !strstr(out, ns))
			fail_msg("%s is in no metric", counters[i]);
	}
}

/* Not as the begin of a longer one. */
static bool has_word(const char *text, const char *word)
{
	size_t len = strlen(word);
	const char *p;

	for (p = text; (p = strstr(p, word)); p += len)
		if (!isalnum((unsigned char)p[len]) && p[len] != '_')
			return true;
	return false;
}

static void the_manual_names_every_family(void **state)
{
	char *out = metrics(), *manual = file(MANUAL), name[80];
	const char *p;

	(void)state;
	for (p = out; (p = strstr(p, "# TYPE ")); p++) {
		assert_int_equal(sscanf(p, "# TYPE %79s", name), 1);
		if (!has_word(manual, name))
			fail_msg("vhcactl.8 lacks %s", name);
	}
	free(manual);
}

/* Returns the number of names. */
static int all_are_there(const char *out, const char *path)
{
	char *text = file(path);
	const char *p;
	size_t len;
	int n = 0;

	for (p = text; (p = strstr(p, "vhca_")); p += len, n++) {
		len = strspn(p, "abcdefghijklmnopqrstuvwxyz_");
		if (!has_sample(out, p, len))
			fail_msg("%s: there is no metric %.*s", path, (int)len, p);
	}
	free(text);
	return n;
}

static void every_metric_is_there(void **state)
{
	char *out = metrics();

	(void)state;
	assert_true(all_are_there(out, DASHBOARD) > 20);
	assert_true(all_are_there(out, RULES) >= 9);
}

/* Labels of legends and of the alerts' texts. instance is Prometheus' own. */
static void labels_behind(const char *out, const char *path, const char *before)
{
	char *text = file(path), label[24];
	const char *p;

	for (p = text; (p = strstr(p, before)); p++) {
		assert_int_equal(sscanf(p + strlen(before), "%15[a-z]", label), 1);
		strcat(label, "=\"");
		if (!strstr(out, label) && strcmp(label, "instance=\""))
			fail_msg("%s: there is no label %s", path, label);
	}
	free(text);
}

static void every_label_is_there(void **state)
{
	char *out = metrics();

	(void)state;
	labels_behind(out, DASHBOARD, "{{");
	labels_behind(out, RULES, "$labels.");
}

static struct json_object *get(struct json_object *o, const char *key)
{
	struct json_object *val = ctl_stats_get(o, key);

	assert_non_null(val);
	return val;
}

/* As Prometheus gets it. */
static void put_query(FILE *f, const char *expr)
{
	const char *const macro = "$__rate_interval", *p = strstr(expr, macro);

	assert_true(expr[0]);
	fputs("  - record: query\n    expr: >-\n      ", f);
	for (; p; expr = p + strlen(macro), p = strstr(expr, macro))
		fprintf(f, "%.*s1m", (int)(p - expr), expr);
	fprintf(f, "%s\n", expr);
}

/* The queries of all panels, as rules, for promtool. */
static void put_queries(FILE *f)
{
	char *text = file(DASHBOARD);
	struct json_object *all = json_tokener_parse(text), *panels, *targets;
	size_t i, k;

	free(text);
	panels = get(all, "panels");
	fputs("groups:\n- name: queries\n  rules:\n", f);
	for (i = 0; i < json_object_array_length(panels); i++) {
		targets = get(json_object_array_get_idx(panels, i), "targets");
		assert_true(json_object_array_length(targets) > 0);
		for (k = 0; k < json_object_array_length(targets); k++)
			put_query(f, json_object_get_string(get(json_object_array_get_idx(targets, k),
								"expr")));
	}
	json_object_put(all);
}

static int promtool(const char *args, char *text, size_t size)
{
	const char *tool = getenv("PROMTOOL");
	char command[PATH_MAX];
	FILE *f;

	snprintf(command, sizeof(command), "%s %s 2>&1", tool ? tool : "promtool", args);
	f = popen(command, "r");
	assert_non_null(f);
	text[fread(text, 1, size - 1, f)] = '\0';
	return pclose(f);
}

static void agrees(const char *args)
{
	char text[4096];

	if (promtool(args, text, sizeof(text)))
		fail_msg("promtool %s: %s", args, text);
}

/*
 * It reads the older format, as node_exporter does, where _total is a part of the
 * family's name: this format's comments of a counter are not those of its samples.
 */
static void lints(const char *path)
{
	char text[4096], args[PATH_MAX], *rest = text, *line;
	static const char end[] = "_total no help text";

	snprintf(args, sizeof(args), "check metrics <%s", path);
	promtool(args, text, sizeof(text));
	while ((line = strsep(&rest, "\n")))
		if (line[0] && (strlen(line) < sizeof(end) ||
				strcmp(line + strlen(line) - sizeof(end) + 1, end)))
			fail_msg("promtool check metrics: %s", line);
}

static void prometheus_agrees(void **state)
{
	char text[256], path[128], args[PATH_MAX];
	FILE *f;

	(void)state;
	if (!getenv("PROMTOOL") && promtool("--version", text, sizeof(text)))
		skip();
	agrees("--version");
	host_file("/metrics", metrics());
	snprintf(path, sizeof(path), "%s/metrics", host_root);
	lints(path);
	snprintf(path, sizeof(path), "%s/queries.yml", host_root);
	f = fopen(path, "w");
	assert_non_null(f);
	put_queries(f);
	fclose(f);
	snprintf(args, sizeof(args), "check rules %s " RULES, path);
	agrees(args);
	agrees("test rules " RULES_TEST);
}

#define HOST_TEST(f) cmocka_unit_test_setup_teardown(f, host_new, host_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		HOST_TEST(every_counter_has_a_family),
		HOST_TEST(the_manual_names_every_family),
		HOST_TEST(every_metric_is_there),
		HOST_TEST(every_label_is_there),
		HOST_TEST(prometheus_agrees),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
