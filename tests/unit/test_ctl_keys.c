// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Device specifications of vhcactl: every key, its range and its default, and
 * answers to mistakes that name the key and what it accepts. And vhcactl quota,
 * which changes them.
 */
#include <errno.h>
#include <regex.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "tests/fake/fake_xs.h"
#include "test_ctl_host.h"

#define LIBXL	"/libxl/5/device/vhca/0"
#define BE	"/local/domain/0/backend/vhca/5/0"
#define VIF	"/local/domain/0/backend/vif/5/1"

static void read_text(const char *path, char *text, size_t size)
{
	FILE *f = fopen(path, "re");
	size_t n;

	assert_non_null(f);
	n = fread(text, 1, size - 1, f);
	fclose(f);
	assert_in_range(n, 1, size - 2);
	text[n] = '\0';
}

/* A hyphen of roff is "\\-". */
static void typed(const char *name, char *to)
{
	for (; *name; name++) {
		if (*name == '-')
			*to++ = '\\';
		*to++ = *name;
	}
	*to = '\0';
}

static bool matches(const char *text, const char *pattern)
{
	regex_t re;
	int rc;

	assert_int_equal(regcomp(&re, pattern, REG_NOSUB), 0);
	rc = regexec(&re, text, 0, NULL, 0);
	regfree(&re);
	return !rc;
}

static void says(const char *spec, const char *say)
{
	char err[CTL_ERR_MAX] = "";
	struct ctl_conf conf;

	assert_int_equal(ctl_conf_parse(spec, &conf, err), -EINVAL);
	if (!strstr(err, say))
		fail_msg("%s: \"%s\", not \"%s\"", spec, err, say);
}

/* What keys.awk makes of vhca-keys.h is what the compiler makes of it. */
static void texts_have_every_key(void **state)
{
	static char manual[32768], words[32768];
	char row[128], word[64];
	const struct ctl_key *k;
	int i;

	(void)state;
	read_text(MANUAL, manual, sizeof(manual));
	read_text(COMPLETION, words, sizeof(words));
	for (i = CTL_PORT + 1; i < CTL_KEYS; i++) {
		k = &ctl_keys[i];
		snprintf(word, sizeof(word), "[ \"]%s[ \"]", k->name);
		if (!matches(words, word))
			fail_msg("the completion lacks %s", k->name);
		typed(k->name, word);
		snprintf(row, sizeof(row), "\n%s\t%u..%u\t%u\t", word, k->min,
			 k->max, k->def);
		if (!strstr(manual, row))
			fail_msg("the manual lacks %s", row + 1);
	}
}

static void every_key_has_range_and_default(void **state)
{
	char spec[128], say[128], err[CTL_ERR_MAX];
	const struct ctl_key *k;
	struct ctl_conf conf;
	int i;

	(void)state;
	for (i = 0; i < CTL_KEYS; i++) {
		k = &ctl_keys[i];
		assert_true(k->def >= k->min && k->def <= k->max);
		assert_int_equal(ctl_conf_parse("hca=a", &conf, err), 0);
		assert_int_equal(conf.val[i], k->def);
		assert_false(conf.set[i]);
		snprintf(spec, sizeof(spec), "hca=a,%s=%u", k->name, k->max);
		assert_int_equal(ctl_conf_parse(spec, &conf, err), 0);
		assert_int_equal(conf.val[i], k->max);
		assert_true(conf.set[i]);
		snprintf(spec, sizeof(spec), "hca=a,%s=%llu", k->name,
			 (unsigned long long)k->max + 1);
		snprintf(say, sizeof(say), "a number %u..%u is needed (default %u)",
			 k->min, k->max, k->def);
		says(spec, k->name);
		says(spec, say);
		snprintf(spec, sizeof(spec), "hca=a,%s=-1", k->name);
		says(spec, say);
	}
}

static void mistakes_name_the_key(void **state)
{
	char err[CTL_ERR_MAX];
	struct ctl_conf conf;

	(void)state;
	says("", "hca=NAME is missing");
	says("port=1", "hca=NAME is missing");
	says("hca=a,colour=red", "unknown key \"colour\"");
	says("hca=a,colour=red", "spin-us");
	says("hca=a,colour=red", "pci, ip, vif, pkeys, umad, ");
	says("hca=a,rxe0", "\"rxe0\": key=value is needed");
	says("hca=a,hca=b", "hca is given twice");
	says("hca=a,port=1,port=1", "port is given twice");
	says("hca=../x", "a name has");
	says("hca=", "a name has");
	says("hca=a,backend=", "backend=");
	says("hca=a,,port=1", "\"\": key=value is needed");
	assert_int_equal(ctl_conf_parse(" hca = a , max-qp = 7 ", &conf, err),
			 0);
	assert_int_equal(conf.val[CTL_MAX_QP], 7);
}

static void addresses_and_pkeys_are_lists_of_words(void **state)
{
	static const char *const bad[] = {
		"", "192.0.2.256", "192.0.2.7/33", "192.0.2.7/", "192.0.2.7/0",
		"192.0.2.7/+8", "2001:db8::7/129", "224.0.0.1", "ff02::1",
		"127.0.0.1", "0.0.0.0", "::", "::1", "::ffff:192.0.2.7",
		"192.0.2.7 192.0.2.7/24", "192.0.2.7;192.0.2.8", "eth0",
		"1.1.1.1 1.1.1.2 1.1.1.3 1.1.1.4 1.1.1.5 1.1.1.6 1.1.1.7 1.1.1.8 1.1.1.9",
	};
	static const char *const no_pkey[] = {
		"", "0x0", "0x8000", "0x10000", "ffff", "8001", "0x", "0x-1",
		"0xffff 0xffff",
	};
	char spec[256], err[CTL_ERR_MAX];
	struct ctl_conf conf;
	size_t i;

	(void)state;
	assert_int_equal(ctl_conf_parse("hca=a, ip = 192.0.2.7/24  2001:db8::7 ,pkeys=0xffff 0x1",
					&conf, err), 0);
	assert_string_equal(conf.text[CTL_IP], "192.0.2.7/24  2001:db8::7");
	assert_string_equal(conf.text[CTL_PKEYS], "0xffff 0x1");
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(spec, sizeof(spec), "hca=a,ip=%s", bad[i]);
		says(spec, "at most 8 different addresses");
	}
	for (i = 0; i < sizeof(no_pkey) / sizeof(no_pkey[0]); i++) {
		snprintf(spec, sizeof(spec), "hca=a,pkeys=%s", no_pkey[i]);
		says(spec, "at most 32 different P_Keys");
	}
	says("hca=a,ip=192.0.2.7,ip=192.0.2.8", "ip is given twice");
	says("hca=a,umad=1", "umad=1: query or all is needed");
	says("hca=a,umad=", "query or all is needed");
	assert_int_equal(ctl_conf_parse("hca=a,umad=query", &conf, err), 0);
	assert_string_equal(conf.text[CTL_UMAD], "query");
}

static void a_vif_is_a_number_and_needs_addresses(void **state)
{
	static const char *const bad[] = { "", "x", "-1", "65536", "0x1", "0 1", "vif1.0" };
	char spec[128], err[CTL_ERR_MAX];
	struct ctl_conf conf;
	size_t i;

	(void)state;
	assert_int_equal(ctl_conf_parse("hca=a,vif=0,ip=192.0.2.7", &conf, err), 0);
	assert_string_equal(conf.text[CTL_VIF], "0");
	assert_int_equal(ctl_conf_parse("hca=a,ip=192.0.2.7,vif=65535", &conf, err), 0);
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(spec, sizeof(spec), "hca=a,ip=192.0.2.7,vif=%s", bad[i]);
		says(spec, "the number of the guest's vif is needed");
	}
	says("hca=a,ip=192.0.2.7,vif=1,vif=1", "vif is given twice");
	says("hca=a,vif=0", "vif=0 needs ip=");
}

static void the_kernels_pool_fits_into_what_may_be_pinned(void **state)
{
	char err[CTL_ERR_MAX];
	struct ctl_conf conf;

	(void)state;
	assert_int_equal(ctl_conf_parse("hca=a,kernel=1", &conf, err), 0);
	assert_int_equal(conf.val[CTL_KERNEL_POOL_MB], 32);
	assert_int_equal(ctl_conf_parse("hca=a,max-pinned-mb=16", &conf, err), 0);
	says("hca=a,kernel=1,max-pinned-mb=32",
	     "kernel-pool-mb=32 does not fit into max-pinned-mb=32");
	says("hca=a,kernel=1,kernel-pool-mb=1025", "a number 1..1024 is needed");
	says("hca=a,kernel=1,umad=query", "umad=query is for programs");
}

static void doorbell_pages_are_three_numbers(void **state)
{
	static const char *const bad[] = {
		"", "0x1", "0x1 0x1", "1 0x1 0x1", "0x1 0x1 0x1 0x1", "0x0 0x1 0x1",
		"0x1 0x0 0x1", "0x1 0x1 0x0", "0x1 0x1 0x1;", "0x1 0x1 0x 1", "0x1 0x1 -0x1",
		"0x1 0x1 0x100001", "0x10000000000 0x1 0x1", "0x1 0x10000000000 0x1",
		"0x10000000000000001 0x1 0x1", "0x1 0x1 0x10000000000000001",
		"0x1 0x1 0xg",
	};
	char spec[256], err[CTL_ERR_MAX];
	struct ctl_conf conf;
	size_t i;

	(void)state;
	assert_int_equal(ctl_conf_parse("hca=a,doorbell-static= 0x8000140  0xFFFFFFFFFF 0x1",
					&conf, err), 0);
	assert_string_equal(conf.text[CTL_DOORBELLS],
			    "0x8000140  0xFFFFFFFFFF 0x1");
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(spec, sizeof(spec), "hca=a,doorbell-static=%s", bad[i]);
		says(spec, "machine frame, guest frame and number");
	}
}

static struct json_object *shown(struct ctl *c)
{
	char web[] = "web", zero[] = "0", *out, *err, *argv[] = { web, zero };
	struct json_object *o;

	c->argv = argv;
	c->argc = 2;
	c->json = true;
	host_capture();
	assert_int_equal(ctl_show(c), 0);
	host_captured(&out, &err);
	o = json_tokener_parse(out);
	assert_non_null(o);
	return o;
}

static const char *shown_in(struct json_object *o, const char *part, const char *key)
{
	struct json_object *a, *v;

	assert_true(json_object_object_get_ex(o, part, &a));
	return json_object_object_get_ex(a, key, &v) ? json_object_get_string(v) : NULL;
}

static const char *shown_as(struct json_object *o, const char *key)
{
	const char *value = shown_in(o, "addresses", key);

	assert_non_null(value);
	return value;
}

static void show_tells_what_is_shared(void **state)
{
	struct json_object *o;
	struct ctl_dev d;
	struct ctl c;

	(void)state;
	host_device(&c, "hca=rxe0", &d);
	o = shown(&c);
	assert_non_null(strstr(shown_as(o, "ip"), "shared"));
	assert_non_null(strstr(shown_as(o, "pkeys"), "shared"));
	assert_null(shown_in(o, "backend", "doorbell-static"));
	json_object_put(o);
	assert_null(fake_xs_get(BE "/ip"));
	fake_xs_set(BE "/ip", "192.0.2.7/24");
	fake_xs_set(BE "/doorbell-static", "0x1 0x2 0x3");
	o = shown(&c);
	assert_string_equal(shown_in(o, "backend", "doorbell-static"), "0x1 0x2 0x3");
	assert_string_equal(shown_as(o, "ip"), "192.0.2.7/24");
	assert_string_equal(shown_as(o, "pkeys"), "default partition");
	json_object_put(o);
	fake_xs_set(BE "/pkeys", "nonsense");
	o = shown(&c);
	assert_string_equal(shown_as(o, "pkeys"), "not a legal value");
	json_object_put(o);
}

static void show_tells_of_the_vif(void **state)
{
	struct json_object *o;
	struct ctl_dev d;
	struct ctl c;

	(void)state;
	host_device(&c, "hca=rxe0,ip=192.0.2.7", &d);
	o = shown(&c);
	assert_non_null(strstr(shown_as(o, "vif"), "the backend domain's"));
	assert_null(shown_in(o, "addresses", "vif_mac"));
	json_object_put(o);
	fake_xs_set(BE "/vif", "1");
	fake_xs_set(VIF "/mac", "00:16:3e:00:00:01");
	fake_xs_set(VIF "/hotplug-status", "");
	o = shown(&c);
	assert_string_equal(shown_as(o, "vif"), "1");
	assert_non_null(strstr(shown_as(o, "vif_mac"), "no such vif (yet)"));
	json_object_put(o);
	fake_xs_set(VIF "/hotplug-status", "connected");
	o = shown(&c);
	assert_string_equal(shown_as(o, "vif_mac"), "00:16:3e:00:00:01");
	json_object_put(o);
}

static void quota_keys_are_numbers_but_port(void **state)
{
	struct ctl_conf conf = { .hca = "" };
	char err[CTL_ERR_MAX];

	(void)state;
	assert_int_equal(ctl_quota_parse("max-qp=7", &conf, err), 0);
	assert_int_equal(ctl_quota_parse("max-cq=default", &conf, err), 0);
	assert_true(conf.set[CTL_MAX_QP] && !conf.reset[CTL_MAX_QP]);
	assert_true(conf.set[CTL_MAX_CQ] && conf.reset[CTL_MAX_CQ]);
	assert_int_equal(ctl_quota_parse("max-qp=8", &conf, err), -EINVAL);
	assert_non_null(strstr(err, "twice"));
	assert_int_equal(ctl_quota_parse("max-mr=0", &conf, err), -EINVAL);
	assert_non_null(strstr(err, "max-mr=0: a number 1..65535"));
	assert_int_equal(ctl_quota_parse("port=1", &conf, err), -EINVAL);
	assert_non_null(strstr(err, "\"port\" is no quota"));
	assert_non_null(strstr(err, "those are max-ucontext, max-xrcd"));
	assert_int_equal(ctl_quota_parse("max-qp", &conf, err), -EINVAL);
	assert_non_null(strstr(err, "KEY=NUMBER"));
}

/* Runs vhcactl quota web 0 ARG.... */
static int quota(struct ctl *c, const char *a, const char *b, char **out,
		 char **err)
{
	char text[4][32] = { "web", "0" };
	char *argv[] = { text[0], text[1], text[2], text[3] };
	int rc;

	snprintf(text[2], sizeof(text[2]), "%s", a ? a : "");
	snprintf(text[3], sizeof(text[3]), "%s", b ? b : "");
	c->argv = argv;
	c->argc = a ? b ? 4 : 3 : 2;
	host_capture();
	rc = ctl_quota(c);
	host_captured(out, err);
	return rc;
}

static void changes_are_written_to_both(void **state)
{
	struct ctl_dev d;
	char *out, *err;
	struct ctl c;

	(void)state;
	host_device(&c, "hca=rxe0,max-cq=9", &d);
	assert_int_equal(quota(&c, "max-qp=7", "max-cq=default", &out, &err),
			 CTL_OK);
	assert_string_equal(fake_xs_get(BE "/max-qp"), "7");
	assert_string_equal(fake_xs_get(LIBXL "/max-qp"), "7");
	assert_null(fake_xs_get(BE "/max-cq"));
	assert_null(fake_xs_get(LIBXL "/max-cq"));
	assert_non_null(strstr(err, "takes effect when the device connects"));
	assert_string_equal(out, "");
	fake_xs_set(BE "/state", "4");
	assert_int_equal(quota(&c, "max-qp=8", NULL, &out, &err), CTL_OK);
	assert_non_null(strstr(err, "at the device's next connection"));
	fake_xs_set(BE "/state", "2");
	assert_int_equal(quota(&c, "max-qp=8", NULL, &out, &err), CTL_OK);
	assert_non_null(strstr(err, "after the next one"));
}

static void one_mistake_changes_nothing(void **state)
{
	struct ctl_dev d;
	char *out, *err;
	struct ctl c;

	(void)state;
	host_device(&c, "hca=rxe0", &d);
	assert_int_equal(quota(&c, "max-qp=7", "max-cq=70000", &out, &err),
			 CTL_USAGE);
	assert_non_null(strstr(err, "max-cq=70000: a number 1..65535"));
	assert_null(fake_xs_get(BE "/max-qp"));
}

static void shows_value_origin_use_and_range(void **state)
{
	struct json_object *o;
	struct ctl_dev d;
	char *out, *err;
	struct ctl c;

	(void)state;
	host_device(&c, "hca=rxe0,max-qp=64", &d);
	host_file("/5-0.stats", "{\"objects\":{\"qp\":{\"used\":3,\"max\":64}},"
		  "\"pages\":{\"used\":257,\"max\":524288}}");
	assert_int_equal(quota(&c, NULL, NULL, &out, &err), CTL_OK);
	assert_non_null(strstr(out, "max-qp                 64  set"
			       "               3  1..65535\n"));
	assert_non_null(strstr(out, "max-pinned-mb         128  default"
			       "           2  1..1048576\n"));
	assert_non_null(strstr(out, "spin-us                50  default"
			       "           -  0..1000\n"));
	assert_null(strstr(out, "\nport "));
	c.json = true;
	assert_int_equal(quota(&c, NULL, NULL, &out, &err), CTL_OK);
	o = json_tokener_parse(out);
	assert_int_equal(ctl_stats_num(o, "max-qp", "used"), 3);
	assert_int_equal(ctl_stats_num(o, "max-qp", "value"), 64);
	json_object_put(o);
	/* A wrong node is shown, not hidden. */
	c.json = false;
	fake_xs_set(BE "/max-qp", "many");
	assert_int_equal(quota(&c, NULL, NULL, &out, &err), CTL_OK);
	assert_non_null(strstr(out, "max-qp              wrong"));
}

#define HOST_TEST(f) cmocka_unit_test_setup_teardown(f, host_new, host_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts_have_every_key),
		cmocka_unit_test(every_key_has_range_and_default),
		cmocka_unit_test(mistakes_name_the_key),
		cmocka_unit_test(a_vif_is_a_number_and_needs_addresses),
		cmocka_unit_test(the_kernels_pool_fits_into_what_may_be_pinned),
		cmocka_unit_test(doorbell_pages_are_three_numbers),
		cmocka_unit_test(addresses_and_pkeys_are_lists_of_words),
		HOST_TEST(show_tells_what_is_shared),
		HOST_TEST(show_tells_of_the_vif),
		cmocka_unit_test(quota_keys_are_numbers_but_port),
		HOST_TEST(changes_are_written_to_both),
		HOST_TEST(one_mistake_changes_nothing),
		HOST_TEST(shows_value_origin_use_and_range),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
