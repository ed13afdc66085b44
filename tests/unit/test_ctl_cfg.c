// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * What vhcactl create reads in an xl configuration is what xl's own parser
 * reads there (libxlutil, only here: the program does without), and mistakes
 * are told with file, line and key.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <libxlutil.h>
#include "tests/fake/fake_xs.h"
#include "test_ctl_host.h"

static const char *const good[] = {
	"name = \"g\"\nvhca = [ \"hca=rxe0\" ]\n",
	"name='g'\nvhca=['hca=rxe0','hca=rxe1,port=2']",
	/* several lines, comments between them, a comma at the end */
	"# a guest\nname = \"g\"\nmemory = 512\nvhca = [\n"
	"\t\"hca=mlx5_0,port=1\",   # first\n\n"
	"\t# nothing here\n\t'hca=rxe0,max-qp=64,backend=net',\n]\nvcpus=2\n",
	"name=\"g\"; vhca=[\"hca=a\"]; vcpus=1\n",
	"vhca = []\nname = \"g\"\n",
	"vhca = [ ]\nname = \"g\"\nvhca = [ \"hca=b\", ]\n",
	/* the last assignment counts, += appends */
	"name=\"old\"\nname=\"g\"\nvhca=[\"hca=a\"]\nvhca=[\"hca=b\"]\n",
	"name=\"g\"\nvhca=[\"hca=a\"]\nvhca+=[\"hca=b\",\"hca=c\"]\n",
	"name=\"g\"\nvhca += [ \"hca=a\" ]\n",
	/* brackets, hashes and quotes inside of strings, other lists */
	"name=\"g\"\ndisk=[ 'a]b#c', \"vhca = [ 'x' ]\" ]\nvhca=[\"hca=a\"]\n",
	"name=\"g\"\nnested=[ [ \"a\", \"b\" ], [ 1, 2 ] ]\nvhca=[\"hca=a\"]\n",
	"name=\"it's\"\nvhca=['hca=\"a\"']\n",
	"name=\"g\"\nextra=\"vhca=[ # no comment\"\nvhca=[\"hca=a\"]\n",
	/* escapes */
	"name=\"a\\\"b\\\\c\"\nvhca=[\"hca=\\n\\t\", 'd\\'e']\n",
	"name=\"g\"\nvhca=[\"hca=a\"]# end\n",
	"name=\"g\"\nx_vhca=[\"hca=a\"]\nvhca2=[\"hca=b\"]\n",
	"\n\n   name   =   \"g\"   \n   vhca   =   [   \"hca=a\"   ,   \"hca=b\"   ]   \n",
	"name=\"g\"\nvhca=[\"\"]\n",
	"",
};

static void same(const char *text)
{
	XLU_Config *xlu = xlu_cfg_init(stderr, "test");
	XLU_ConfigList *list = NULL;
	char err[CTL_ERR_MAX] = "";
	const char *name = "";
	struct ctl_cfg cfg;
	int i, n = 0;

	assert_non_null(xlu);
	assert_int_equal(xlu_cfg_readdata(xlu, text, (int)strlen(text)), 0);
	if (xlu_cfg_get_string(xlu, "name", &name, 1))
		name = "";
	if (xlu_cfg_get_list(xlu, "vhca", &list, &n, 1))
		n = 0;
	if (ctl_cfg_parse(text, &cfg, err))
		fail_msg("%s in:\n%s", err, text);
	assert_string_equal(cfg.name, name);
	if (cfg.nr != n)
		fail_msg("%d devices, xl has %d, in:\n%s", cfg.nr, n, text);
	for (i = 0; i < n; i++)
		assert_string_equal(cfg.spec[i],
				    xlu_cfg_get_listitem(list, i));
	xlu_cfg_destroy(xlu);
}

static void agrees_with_xl(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		same(good[i]);
}

static void lists_know_their_lines(void **state)
{
	char err[CTL_ERR_MAX] = "";
	struct ctl_cfg cfg;

	(void)state;
	assert_int_equal(ctl_cfg_parse(good[2], &cfg, err), 0);
	assert_int_equal(cfg.nr, 2);
	assert_int_equal(cfg.line[0], 5);
	assert_int_equal(cfg.line[1], 8);
}

static void mistakes_are_told(void **state)
{
	static const struct { const char *text, *say; } bad[] = {
		{ "name=\"g\"\nvhca=[\"hca=a\"", "2: vhca: the list has no ]" },
		{ "\nvhca = \"hca=a\"\n", "2: vhca: a list is needed" },
		{ "vhca=[\"hca=a]\n", "1: vhca: the string has no closing \"" },
		{ "vhca=['hca=a\n']", "1: vhca: the string has no closing '" },
		{ "vhca=[\n[\"hca=a\"]]", "2: vhca: a list in the list" },
		{ "vhca=['\\x41']", "1: vhca: \\x in a string" },
		{ "vhca=['a\\", "1: vhca: " },
		{ "name='g", "1: name: the string has no closing '" },
	};
	char err[CTL_ERR_MAX], text[8192];
	struct ctl_cfg cfg;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		err[0] = '\0';
		assert_true(ctl_cfg_parse(bad[i].text, &cfg, err) < 0);
		if (strncmp(err, bad[i].say, strlen(bad[i].say)))
			fail_msg("\"%s\", not \"%s\"", err, bad[i].say);
	}
	strcpy(text, "vhca=[");
	for (i = 0; i <= CTL_CFG_MAX; i++)
		strcat(text, "'hca=a',\n");
	strcat(text, "]");
	assert_true(ctl_cfg_parse(text, &cfg, err) < 0);
	assert_non_null(strstr(err, "17: vhca: at most 16"));
	snprintf(text, sizeof(text), "vhca=[\"%0*d\"]", CTL_SPEC_MAX, 0);
	assert_true(ctl_cfg_parse(text, &cfg, err) < 0);
	assert_non_null(strstr(err, "too long"));
}

/* Every cut of every good text ends, and stays inside of its buffer. */
static void cut_texts_do_no_harm(void **state)
{
	char err[CTL_ERR_MAX], *text;
	struct ctl_cfg cfg;
	size_t i, len;

	(void)state;
	for (i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		for (len = 0; len < strlen(good[i]); len++) {
			text = strndup(good[i], len);
			assert_non_null(text);
			ctl_cfg_parse(text, &cfg, err);
			free(text);
		}
}

static int create_cfg(const char *text, const char *more, struct ctl_cfg *cfg,
		      char **err)
{
	char file[PATH_MAX], arg[128], *argv[] = { file, arg };
	struct ctl c = { .argc = more ? 2 : 1, .argv = argv };
	int rc;

	host_file("/g.cfg", text);
	snprintf(file, sizeof(file), "%s/g.cfg", host_root);
	snprintf(arg, sizeof(arg), "%s", more ? more : "");
	host_capture();
	rc = ctl_create_cfg(&c, cfg);
	host_captured(NULL, err);
	return rc;
}

static void file_and_key_are_named(void **state)
{
	static const char text[] = "name=\"g\"\nvhca=[\n\"hca=a\",\n"
				   "\"hca=a,max-qp=0\"]\n";
	struct ctl_cfg cfg;
	char *err;

	(void)state;
	assert_int_equal(create_cfg(text, NULL, &cfg, &err), CTL_USAGE);
	assert_non_null(strstr(err, "/g.cfg:4: vhca[1]: max-qp=0: a number 1..65535"));
	assert_int_equal(create_cfg("vhca=[]\n", NULL, &cfg, &err), CTL_USAGE);
	assert_non_null(strstr(err, "g.cfg: name = \"...\" is missing"));
	assert_int_equal(create_cfg("name=\"g\"\nvhca=1\n", NULL, &cfg, &err),
			 CTL_USAGE);
	assert_non_null(strstr(err, "g.cfg:2: vhca: a list"));
	assert_int_equal(create_cfg("", NULL, &cfg, &err), CTL_USAGE);
	assert_non_null(strstr(err, "empty"));
}

static void command_line_adds_to_the_file(void **state)
{
	struct ctl_cfg cfg;
	char *err;

	(void)state;
	assert_int_equal(create_cfg("name=\"g\"\nvhca=[\"hca=a\"]",
				    "name=\"h\"", &cfg, &err), CTL_OK);
	assert_string_equal(cfg.name, "h");
	assert_int_equal(cfg.nr, 1);
	assert_int_equal(create_cfg("name=\"g\"", "--quiet=1", &cfg, &err),
			 CTL_OK);
	assert_string_equal(cfg.name, "g");
}

#define HOST_TEST(f) cmocka_unit_test_setup_teardown(f, host_new, host_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(agrees_with_xl),
		cmocka_unit_test(lists_know_their_lines),
		cmocka_unit_test(mistakes_are_told),
		cmocka_unit_test(cut_texts_do_no_harm),
		HOST_TEST(file_and_key_are_named),
		HOST_TEST(command_line_adds_to_the_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
