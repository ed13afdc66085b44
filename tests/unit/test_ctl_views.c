// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * What an operator reads of a device in each of its states: list and top are compared as
 * a whole; they, show, quota and stats have no line of more than 80 columns; and whatever
 * does not work comes with a hint of what to do.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include <cmocka.h>
#include "host/tree.h"
#include "tests/fake/fake_xs.h"
#include "test_ctl_host.h"
#include "tools/vhcactl/top.h"

#define BE "/local/domain/0/backend/vhca/5/0/"
#define FE "/local/domain/5/device/vhca/0/"

struct node {
	const char *path, *value;	/* value NULL: removed, with what is below it */
};

#define STATES(be, fe) { BE "state", be }, { FE "state", fe }

struct view {
	const char *name;		/* of the state */
	struct node nodes[6];
	const char *stats;		/* the worker's file; NULL: none */
	int lock;			/* the worker's; NO_LOCK, LEFT, HELD */
	const char *list, *top;		/* below their heads */
};

enum { NO_LOCK, LEFT, HELD };

#define COUNTERS "{\"pid\":7,\"counters\":{\"cmds\":1},"
#define IDLE COUNTERS "\"pages\":{\"used\":0,\"max\":32768},\"objects\":{\"qp\":{\"used\":0,\"max\":64}}}"
#define BUSY COUNTERS "\"pages\":{\"used\":257,\"max\":32768},\"objects\":{" \
	"\"ucontext\":{\"used\":12,\"max\":256},\"pd\":{\"used\":12,\"max\":1024}," \
	"\"mr\":{\"used\":1023,\"max\":16384},\"cq\":{\"used\":4,\"max\":65},\"qp\":{\"used\":3,\"max\":64}}}"
#define FULL COUNTERS "\"pages\":{\"used\":32768,\"max\":32768},\"objects\":{\"qp\":{\"used\":64,\"max\":64}}}"

#define LIST(be, fe) \
	"5     web               0     0       rxe0             " be " " fe "\n"
#define TOP(be) \
	"    5 web                0 rxe0         " be "      -      -      -      -\n"
/* The same hint below both. */
#define VIEWS(be, fe, hint) .list = LIST(be, fe) hint, .top = TOP(be) hint
#define CONNECTED "Connected   "
#define INIT_WAIT "InitWait    "
#define CLOSED "Closed      "

static const struct view views[] = {
	{ .name = "Connected, Connected", .nodes = { STATES("4", "4") }, .stats = IDLE,
	  .lock = HELD, VIEWS(CONNECTED, "Connected", "") },
	{ .name = "Connected, Connected", .nodes = { STATES("4", "4") }, .stats = BUSY,
	  .list = LIST(CONNECTED, "Connected"), .top = TOP(CONNECTED)
	  "      in use: memory 2/128 MB, ucontext 12/256, pd 12/1024, mr 1023/16384, cq\n"
	  "      4/65, qp 3/64\n" },
	{ .name = "a quota is full", .nodes = { STATES("4", "4") }, .stats = FULL,
	  .list = LIST(CONNECTED, "Connected"), .top = TOP(CONNECTED)
	  "      in use: memory 128/128 MB (full), qp 64/64 (full); raise a limit\n"
	  "      (vhcactl quota 5 0 KEY=NUMBER)\n" },
	{ .name = "no backend", .nodes = { STATES("1", "1") },
	  VIEWS("Initialising", "Initialising",
	  "      no backend answers: is xen-vhcad running in the backend domain\n"
	  "      (systemctl start xen-vhcad), and is xen-vhca-helper loaded there?\n") },
	{ .name = "no module in the guest", .nodes = { STATES("2", "1") },
	  VIEWS(INIT_WAIT, "Initialising",
	  "      the backend is ready, the guest does not answer: is xen-vhcafront loaded\n"
	  "      in the guest (modprobe xen-vhcafront; Linux 6.1 or later), and has it\n"
	  "      booted?\n") },
	{ .name = "the guest is ready", .nodes = { STATES("2", "3") },
	  VIEWS(INIT_WAIT, "Initialised",
	  "      the guest is ready, the backend does not connect: see xen-vhcad's log\n"
	  "      (journalctl -u xen-vhcad)\n") },
	{ .name = "not registered", .nodes = { STATES("4", "3") },
	  VIEWS(CONNECTED, "Initialised",
	  "      the backend is connected, the guest did not register its RDMA device: see\n"
	  "      the guest's kernel log\n") },
	{ .name = "suspended", .nodes = { STATES("2", "6") },
	  VIEWS(INIT_WAIT, "Closed",
	  "      the backend is ready, the guest has closed the device: it is suspended, or\n"
	  "      its kernel log says why\n") },
	{ .name = "broken by the backend",
	  .nodes = { STATES("6", "6"), { BE "broken", "hca \"mlx9_9\" does not exist; this domain has: rxe0" } },
	  VIEWS(CLOSED, "Closed",
	  "      backend: hca \"mlx9_9\" does not exist; this domain has: rxe0; the device\n"
	  "      connects when that is mended (journalctl -u xen-vhcad)\n") },
	{ .name = "the helper is too old",
	  .nodes = { STATES("6", "1"), { BE "broken", "/dev/xen-vhca-helper: No such file or directory; run: modprobe xen-vhca-helper" } },
	  VIEWS(CLOSED, "Initialising",
	  "      backend: /dev/xen-vhca-helper: No such file or directory; run: modprobe\n"
	  "      xen-vhca-helper; the device connects when that is mended\n"
	  "      (journalctl -u xen-vhcad)\n") },
	{ .name = "after a fault",
	  .nodes = { STATES("2", "6"), { BE "broken", "frontend violated the command ring" } },
	  VIEWS(INIT_WAIT, "Closed",
	  "      the backend is ready, the guest has closed the device: it is suspended, or\n"
	  "      its kernel log says why; the last connection ended with \"frontend violated\n"
	  "      the command ring\"\n") },
	{ .name = "broken by the guest",
	  .nodes = { STATES("2", "6"), { FE "broken", "backend does not answer a destroy command" } },
	  VIEWS(INIT_WAIT, "Closed",
	  "      guest: backend does not answer a destroy command; its driver tries again\n"
	  "      by itself, and its kernel log has more\n") },
	{ .name = "refused by a quota",
	  .nodes = { STATES("6", "1"), { BE "broken", "max-pinned-mb 385 beside 64 of other devices is more than the 384 MiB that this PV domain can map: lower them, or raise Xen's gnttab_max_maptrack_frames and --maptrack-frames (now 1024)" } },
	  VIEWS(CLOSED, "Initialising",
	  "      backend: max-pinned-mb 385 beside 64 of other devices is more than the 384\n"
	  "      MiB that this PV domain can map: lower them, or raise Xen's\n"
	  "      gnttab_max_maptrack_frames and --maptrack-frames (now 1024)\n"
	  "      (vhcactl quota 5 0 KEY=NUMBER)\n") },
	{ .name = "the agent is silent",
	  .nodes = { STATES("4", "4"), { BE "doorbell/requests", "7 0 map 0xfe000 0x0 0x1;9 1 map 0xfe001 0x0 0x1" },
		     { BE "doorbell/answers", "7 mapped" } },
	  VIEWS(CONNECTED, "Connected",
	  "      the doorbell agent does not answer, programs cannot open the device: start\n"
	  "      it in the control domain (systemctl start xen-vhca-doorbelld)\n") },
	{ .name = "the agent has answered",
	  .nodes = { STATES("4", "4"), { BE "doorbell/requests", "7 0 map 0xfe000 0x0 0x1;9 1 map 0xfe001 0x0 0x1" },
		     { BE "doorbell/answers", "7 mapped;9 refused" } },
	  VIEWS(CONNECTED, "Connected", "") },
	{ .name = "the worker is dead", .nodes = { STATES("4", "4") }, .lock = LEFT,
	  VIEWS(CONNECTED, "Connected",
	  "      its worker of xen-vhcad is dead, whatever the states say: start the daemon\n"
	  "      (systemctl start xen-vhcad) and see its log (journalctl -u xen-vhcad)\n") },
	{ .name = "the worker died", .nodes = { STATES("6", "1") },
	  VIEWS(CLOSED, "Initialising",
	  "      xen-vhcad does not serve the device: is it running in the backend domain\n"
	  "      (systemctl start xen-vhcad)? If a worker died, its log says so\n"
	  "      (journalctl -u xen-vhcad)\n") },
	{ .name = "the guest still holds it", .nodes = { STATES("6", "4") },
	  VIEWS(CLOSED, "Connected",
	  "      the backend has closed, the guest has not yet: see the guest's kernel log\n") },
	{ .name = "xen-vhcad stops", .nodes = { STATES("5", "4") },
	  VIEWS("Closing     ", "Connected",
	  "      xen-vhcad is closing the device, as when it stops: wait, or start it in\n"
	  "      the backend domain (systemctl start xen-vhcad)\n") },
	{ .name = "no traffic of the vif",
	  .nodes = { STATES("4", "4"), { BE "broken", "vif: no nft" } },
	  VIEWS(CONNECTED, "Connected",
	  "      RDMA works, but vif: no nft (journalctl -u xen-vhcad)\n") },
	{ .name = "detached, the guest holds it", .nodes = { STATES("5", "4"), { BE "online", "0" } },
	  VIEWS("Closing     ", "Connected",
	  "      detached, but the guest does not let go of it: see its kernel log, or take\n"
	  "      it away (vhcactl detach -f 5 0)\n") },
	{ .name = "detached, the backend ends it", .nodes = { STATES("5", "6"), { BE "online", "0" } },
	  VIEWS("Closing     ", "Closed",
	  "      detached, but xen-vhcad still ends its objects: see its log\n"
	  "      (journalctl -u xen-vhcad), or take it away (vhcactl detach -f 5 0)\n") },
	{ .name = "detached, not removed", .nodes = { STATES("6", "6"), { BE "online", "0" } },
	  VIEWS(CLOSED, "Closed",
	  "      detached, but not removed yet: take it away (vhcactl detach 5 0)\n") },
	{ .name = "the guest is gone", .nodes = { { BE "state", "4" }, { "/local/domain/5/device", NULL } },
	  VIEWS(CONNECTED, "Unknown",
	  "      the guest is gone: xen-vhcad ends what it left and removes the device; if\n"
	  "      the device stays, its log says why (journalctl -u xen-vhcad)\n") },
	{ .name = "the backend domain is gone",
	  .nodes = { { FE "state", "6" }, { "/local/domain/0/backend", NULL } },
	  VIEWS("Unknown     ", "Closed",
	  "      the backend domain 0 is gone: start it, then attach its devices again\n"
	  "      (vhcactl reattach)\n") },
};

#define NR_VIEWS (sizeof(views) / sizeof(views[0]))

static void set_up(const struct view *v, struct ctl *c)
{
	char path[PATH_MAX], line[128];
	const struct node *n;
	struct ctl_dev d;
	struct stat st;

	host_device(c, "hca=rxe0", &d);
	for (n = v->nodes; n->path; n++) {
		if (n->value)
			fake_xs_set(n->path, n->value);
		else
			fake_xs_rm(n->path);
	}
	if (v->stats)
		host_file("/5-0.stats", v->stats);
	if (v->lock == NO_LOCK)
		return;
	host_file("/5-0.lock", "");
	snprintf(path, sizeof(path), "%s/5-0.lock", host_root);
	assert_int_equal(stat(path, &st), 0);
	snprintf(line, sizeof(line), "1: FLOCK  ADVISORY  WRITE 1 %02x:%02x:%llu 0 EOF\n",
		 major(st.st_dev), minor(st.st_dev), (unsigned long long)st.st_ino);
	host_file("/proc/locks", v->lock == HELD ? line : "");
}

static char *run(struct ctl *c, int (*fn)(struct ctl *c), int argc)
{
	static char domid[] = "5", devid[] = "0", *argv[] = { domid, devid }, *out;
	int rc;

	c->argc = argc;
	c->argv = argv;
	host_capture();
	rc = fn(c);
	host_captured(&out, NULL);
	assert_int_equal(rc, CTL_OK);
	return out;
}

static void fits(const char *name, const char *command, const char *text)
{
	const char *line, *end;

	for (line = text; *line; line = end + 1) {
		end = strchr(line, '\n');
		assert_non_null(end);
		if (end - line > 80)
			fail_msg("%s: %s: %d columns: %.*s", name, command, (int)(end - line),
				 (int)(end - line), line);
	}
}

static void is_golden(const char *name, const char *text, const char *want)
{
	const char *body = strchr(text, '\n') + 1;

	if (strcmp(body, want))
		fail_msg("%s:\n%snot:\n%s", name, body, want);
}

/* A device that works has none; what does not has one in all of the views. */
static bool has_hint(const struct view *v)
{
	return strchr(v->list, '\n')[1];
}

static void each_state(void **state)
{
	const struct view *v;
	struct ctl c;
	char *out;

	for (v = views; v < views + NR_VIEWS; v++) {
		if (v != views)
			assert_int_equal(host_new(state), 0);
		set_up(v, &c);
		out = run(&c, ctl_list, 0);
		fits(v->name, "list", out);
		is_golden(v->name, out, v->list);
		c.batch = true;
		c.count = 1;
		out = run(&c, ctl_top, 0);
		fits(v->name, "top", out);
		is_golden(v->name, out, v->top);
		out = run(&c, ctl_show, 2);
		fits(v->name, "show", out);
		if (has_hint(v) != !!strstr(out, "\nhint "))
			fail_msg("%s: show: %s", v->name, out);
		fits(v->name, "quota", run(&c, ctl_quota, 2));
		if (v->stats)
			fits(v->name, "stats", run(&c, ctl_stats, 2));
		if (v != views + NR_VIEWS - 1)
			host_end(state);
	}
}

/* Every pair of states but the one that works. */
static void no_pair_of_states_is_left_alone(void **state)
{
	struct ctl_facts f = { .domid = 5 };
	char text[CTL_HINT_MAX];

	(void)state;
	for (f.be = XenbusStateUnknown; f.be <= XenbusStateClosed; f.be++)
		for (f.fe = XenbusStateUnknown; f.fe <= XenbusStateClosed; f.fe++) {
			ctl_hint(&f, text, sizeof(text));
			assert_int_equal(!text[0], f.be == XenbusStateConnected &&
					 f.fe == XenbusStateConnected);
			if (text[0] && !strstr(text, "log") && !strstr(text, "systemctl") &&
			    !strstr(text, "journalctl") && !strstr(text, "modprobe"))
				fail_msg("what is to be done? %s", text);
		}
}

/* The longest of everything. */
static void long_names_are_cut(void **state)
{
	char text[XN_VALUE_MAX], *out;
	struct ctl_dev d;
	struct ctl c;

	(void)state;
	host_device(&c, "hca=rxe0", &d);
	fake_xs_set("/local/domain/5/name", "a-database-that-has-a-long-name");
	fake_xs_set(BE "hca", "rocep129s0f0np0-of-a-vendor");
	fake_xs_set(BE "state", "1");
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	fake_xs_set(BE "broken", text);
	out = run(&c, ctl_list, 0);
	fits("long", "list", out);
	assert_non_null(strstr(out, "\n5     a-database-that-+ 0     0       rocep129s0f0np0+ Initialising Initialising\n"));
	assert_non_null(strstr(out, "\n      " "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"));
	c.batch = true;
	c.count = 1;
	out = run(&c, ctl_top, 0);
	fits("long", "top", out);
	assert_non_null(strstr(out, "    5 a-database-th+     0 rocep129s0f+ Initialising "));
	fits("long", "show", run(&c, ctl_show, 2));
	/* JSON has all of it. */
	c.json = true;
	out = run(&c, ctl_list, 0);
	assert_non_null(strstr(out, "\"a-database-that-has-a-long-name\""));
	assert_non_null(strstr(out, text));
	assert_non_null(strstr(run(&c, ctl_top, 0), "\"hint\":"));
}

/* A terminal in place of stdin and stdout; returns its other side. */
static int terminal(int lines, int saved[2])
{
	struct winsize size = { .ws_row = (unsigned short)lines, .ws_col = 80 };
	int i, tty, fd = posix_openpt(O_RDWR | O_NOCTTY);

	assert_true(fd >= 0 && !grantpt(fd) && !unlockpt(fd));
	tty = open(ptsname(fd), O_RDWR | O_NOCTTY);
	assert_true(tty >= 0 && !ioctl(tty, TIOCSWINSZ, &size));
	fflush(stdout);
	for (i = 0; i < 2; i++) {
		saved[i] = dup(i);
		dup2(tty, i);
	}
	close(tty);
	return fd;
}

/* What was written to it. */
static size_t terminal_text(int fd, int saved[2], char *text, size_t size)
{
	size_t len = 0;
	ssize_t n;
	int i;

	fcntl(fd, F_SETFL, O_NONBLOCK);
	while (len < size - 1 && (n = read(fd, text + len, size - 1 - len)) > 0)
		len += (size_t)n;
	text[len] = '\0';
	for (i = 0; i < 2; i++) {
		dup2(saved[i], i);
		close(saved[i]);
	}
	close(fd);
	return len;
}

/* Nothing scrolls: devices whose hints have no room are counted instead. */
static void top_fits_into_a_terminal(void **state)
{
	int i, fd, saved[2], rc, lines = 0;
	char text[4096], *p;
	struct ctl_dev d;
	struct ctl c;

	(void)state;
	for (i = 0; i < 9; i++)
		host_device(&c, "hca=rxe0", &d);
	c.count = 1;
	fd = terminal(24, saved);
	rc = ctl_top(&c);
	terminal_text(fd, saved, text, sizeof(text));
	assert_int_equal(rc, CTL_OK);
	/* Two lines of hint below each. */
	assert_non_null(strstr(text, "\033[K\r\n(2 more)\033[K\r\n"));
	for (p = text; (p = strchr(p, '\n')); p++)
		lines++;
	assert_int_equal(lines, 1 + 7 * 3 + 1);
}

/* Devices as files. */
static void without_xenstore(void **state)
{
	static const char *const dir = "/devices/5/0/";
	struct ctl c = { .no_xs = true, .root = host_root, .run_dir = host_root, .wait = -1 };
	char path[PATH_MAX], node[64];
	char *out;

	(void)state;
	snprintf(path, sizeof(path), "%s/devices", host_root);
	c.devices = path;
	snprintf(node, sizeof(node), "%sstate", dir);
	host_file(node, "6");
	snprintf(node, sizeof(node), "%shca", dir);
	host_file(node, "rxe0");
	out = run(&c, ctl_files_list, 0);
	fits("files", "list", out);
	is_golden("files", out,
		  "5     -                 0     rxe0             Closed       Unknown\n"
		  "      xen-vhcad does not serve the device: is it running in the backend domain\n"
		  "      (systemctl start xen-vhcad)? If a worker died, its log says so\n"
		  "      (journalctl -u xen-vhcad)\n");
	snprintf(node, sizeof(node), "%sbroken", dir);
	host_file(node, "hca \"rxe0\" has no port 2, only 1..1");
	assert_non_null(strstr(run(&c, ctl_files_list, 0), "\n      backend: hca \"rxe0\" has no port 2"));
}

static void text_is_wrapped_at_blanks(void **state)
{
	const char *p = "ab cd  efghij k";

	(void)state;
	assert_int_equal(ctl_wrap(&p, 5), 5);
	assert_string_equal(p, "  efghij k");
	assert_int_equal(ctl_wrap(&p, 5), 5);
	assert_string_equal(p, "j k");
	assert_int_equal(ctl_wrap(&p, 5), 3);
	assert_int_equal(ctl_wrap(&p, 5), 0);
	/* A command stays whole, if it can. */
	p = "ab (cd e) f";
	assert_int_equal(ctl_wrap(&p, 6), 2);
	assert_int_equal(ctl_wrap(&p, 6), 6);
	p = "(cd efgh) f";
	assert_int_equal(ctl_wrap(&p, 6), 3);
	p = "abcde f";
	assert_int_equal(ctl_wrap(&p, 5), 5);
	assert_string_equal(p, " f");
}

#define HOST_TEST(f) cmocka_unit_test_setup_teardown(f, host_new, host_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		HOST_TEST(each_state),
		cmocka_unit_test(no_pair_of_states_is_left_alone),
		HOST_TEST(long_names_are_cut),
		HOST_TEST(top_fits_into_a_terminal),
		HOST_TEST(without_xenstore),
		cmocka_unit_test(text_is_wrapped_at_blanks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
