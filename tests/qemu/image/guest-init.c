// SPDX-License-Identifier: GPL-2.0
// Copyright (C) 2026 The vhca authors
/*
 * /init of a test guest (pid 1): mounts, devices by udev as on any distribution,
 * the test network, then the guest shell by which dom0 runs commands. From the
 * kernel command line: vhca.ip=ADDRESS vhca.name=NAME, vhca.wait=SECONDS for the
 * network's device (default 10). Without xenstore vhca.tap=DOMID: the other end of the
 * network (xen-tap.c); vhca.reserve=MIB: memory left to pages of other domains. No shell script, because each process that one starts
 * takes a tenth of a second or more under emulation, and guests start more often than
 * anything else. Trusts dom0.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/klog.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CONSOLE_LEVEL	8	/* what dmesg -n 8 sets */
#define SYSLOG_LEVEL	8	/* the action of syslog(2) that does */

#define TARGET		"/sys/devices/system/xen_memory/xen_memory0/target_kb"

static char ip[32] = "192.168.77.254", name[64] = "guest";
static char tap[16];			/* empty: xenstore has a network */
static int eth0_tenths = 100, reserve_mib;

/* Says on the console what does not work; the guest starts as far as it can. */
static void complain(const char *what, const char *arg)
{
	printf("guest-init: %s %s: %s\n", what, arg, strerror(errno));
}

static void mount_on(const char *type, const char *dir)
{
	if (mkdir(dir, 0755) && errno != EEXIST)
		complain("mkdir", dir);
	if (mount(type, dir, type, 0, NULL))
		complain("mount", dir);
}

static void mount_all(void)
{
	mount_on("proc", "/proc");
	mount_on("sysfs", "/sys");
	/* The kernel may have done that. */
	if (mount("dev", "/dev", "devtmpfs", 0, NULL) && errno != EBUSY)
		complain("mount", "/dev");
	mount_on("devpts", "/dev/pts");
	if (symlink("/proc/self/fd", "/dev/fd") && errno != EEXIST)
		complain("symlink", "/dev/fd");
	mount_on("tmpfs", "/dev/shm");
	mount_on("tmpfs", "/run");
	/* The root may fill half of the memory, which its image does in small guests. */
	mount_on("tmpfs", "/tmp");
	mount_on("debugfs", "/sys/kernel/debug");
}

/* Scenarios ask a debug kernel for scans; its own take a processor. */
static void no_leak_scans(void)
{
	static const char off[] = "scan=off";
	int fd = open("/sys/kernel/debug/kmemleak", O_WRONLY);

	if (fd < 0)
		return;
	if (write(fd, off, sizeof(off) - 1) < 0)
		complain("cannot stop", "kmemleak");
	close(fd);
}

static void to_console(void)
{
	int fd, i;

	fd = open("/dev/console", O_RDWR);
	for (i = 0; fd >= 0 && i < 3; i++)
		dup2(fd, i);
	if (fd > 2)
		close(fd);
	setvbuf(stdout, NULL, _IOLBF, 0);
}

static void read_cmdline(void)
{
	char line[4096], *word, *next = line;
	ssize_t n = -1;
	int fd = open("/proc/cmdline", O_RDONLY);

	if (fd >= 0) {
		n = read(fd, line, sizeof(line) - 1);
		close(fd);
	}
	line[n > 0 ? n : 0] = 0;
	while ((word = strsep(&next, " \n"))) {
		if (!strncmp(word, "vhca.ip=", 8))
			snprintf(ip, sizeof(ip), "%s", word + 8);
		else if (!strncmp(word, "vhca.name=", 10))
			snprintf(name, sizeof(name), "%s", word + 10);
		else if (!strncmp(word, "vhca.wait=", 10))
			eth0_tenths = 10 * atoi(word + 10);
		else if (!strncmp(word, "vhca.tap=", 9))
			snprintf(tap, sizeof(tap), "%s", word + 9);
		else if (!strncmp(word, "vhca.reserve=", 13))
			reserve_mib = atoi(word + 13);
	}
}

static pid_t start(char *const argv[])
{
	pid_t pid = fork();

	if (pid == 0) {
		execvp(argv[0], argv);
		complain("exec", argv[0]);
		_exit(127);
	}
	return pid;
}

/* Whatever else ends meanwhile, pid 1 has to wait for it too. */
static void wait_for(pid_t pid)
{
	pid_t p;

	do {
		p = waitpid(-1, NULL, 0);
	} while (p != pid && (p > 0 || errno == EINTR));
}

static void run(char *const argv[])
{
	wait_for(start(argv));
}

static void sleep_ms(long ms)
{
	struct timespec ts = { ms / 1000, ms % 1000 * 1000000 };

	nanosleep(&ts, NULL);
}

/* udev loads what devices ask for while the rest is loaded by name. */
static void load_modules(void)
{
	char *udevd[] = { "/usr/lib/systemd/systemd-udevd", "--daemon", NULL };
	char *trigger[] = { "udevadm", "trigger", "--action=add",
		"--subsystem-match=xen", "--subsystem-match=misc",
		"--subsystem-match=infiniband",
		"--subsystem-match=infiniband_verbs",
		"--subsystem-match=infiniband_mad", "--subsystem-match=mem",
		"--subsystem-match=net", "--subsystem-match=platform", NULL };
	char *modprobe[] = { "modprobe", "-a", "xenfs", "xen-evtchn",
		"xen-gntdev", "xen-gntalloc", "xen-privcmd", NULL };

	run(udevd);
	run(trigger);
	run(modprobe);
	mount_on("xenfs", "/proc/xen");
}

/* Has the balloon give up some memory: pages of other domains take its place. */
static void reserve(void)
{
	FILE *f = fopen(TARGET, "r+");
	long kib = 0;

	if (!f || fscanf(f, "%ld", &kib) != 1 || fseek(f, 0, SEEK_SET) ||
	    fprintf(f, "%ld\n", kib - reserve_mib * 1024L) < 0 || fflush(f))
		complain("cannot lower", TARGET);
	if (f)
		fclose(f);
}

/* Its pages are the first that this kernel grants, so that the other end finds them. */
static void start_tap(void)
{
	char *modprobe[] = { "modprobe", "-a", "tun", "xen-gntalloc",
		"xen-evtchn", NULL };
	char *link[] = { "xen-tap", "guest", tap, "eth0", NULL };

	run(modprobe);
	start(link);
}

/* if_up SOCKET, INTERFACE, ADDRESS/24 or NULL: as ip-addr and ip-link do. */
static void if_up(int s, const char *ifname, const char *address)
{
	struct ifreq r = { 0 };
	struct sockaddr_in a = { .sin_family = AF_INET };

	snprintf(r.ifr_name, sizeof(r.ifr_name), "%s", ifname);
	if (address) {
		inet_pton(AF_INET, address, &a.sin_addr);
		memcpy(&r.ifr_addr, &a, sizeof(a));
		if (ioctl(s, SIOCSIFADDR, &r))
			complain("address of", ifname);
		a.sin_addr.s_addr = htonl(0xffffff00);
		memcpy(&r.ifr_netmask, &a, sizeof(a));
		if (ioctl(s, SIOCSIFNETMASK, &r))
			complain("network mask of", ifname);
	}
	if (ioctl(s, SIOCGIFFLAGS, &r))
		complain("flags of", ifname);
	r.ifr_flags |= IFF_UP;
	if (ioctl(s, SIOCSIFFLAGS, &r))
		complain("cannot bring up", ifname);
}

static void network(void)
{
	int i, s = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if_up(s, "lo", NULL);
	for (i = 0; i < eth0_tenths && !if_nametoindex("eth0"); i++)
		sleep_ms(100);
	if_up(s, "eth0", ip);
	close(s);
}

/* Tells dom0, once the guest shell has had the time to listen. */
static void tell_ready(void)
{
	char *write[] = { "xenstore-write", "data/ready", "1", NULL };

	if (fork())
		return;
	sleep_ms(100);
	execvp(write[0], write);
	complain("exec", write[0]);
	_exit(127);
}

int main(void)
{
	/* Pinned memory is what is tested: let no default stand in the way. */
	struct rlimit all = { RLIM_INFINITY, RLIM_INFINITY };
	char *shell[] = { "guest-shell", "-s", "7000", NULL };
	struct timespec up;

	setenv("PATH", "/usr/sbin:/usr/bin", 1);
	setenv("HOME", "/root", 1);
	mount_all();
	to_console();
	no_leak_scans();
	read_cmdline();
	if (sethostname(name, strlen(name)) || setrlimit(RLIMIT_MEMLOCK, &all))
		complain("cannot name, or let pin memory,", name);
	if (reserve_mib)
		reserve();
	if (tap[0])
		start_tap();
	load_modules();
	network();
	klogctl(SYSLOG_LEVEL, NULL, CONSOLE_LEVEL);
	clock_gettime(CLOCK_BOOTTIME, &up);
	printf("guest %s: ready at %ld.%02ld s, %s\n", name, up.tv_sec,
	       up.tv_nsec / 10000000, ip);
	if (!tap[0])
		tell_ready();
	for (;;) {
		run(shell);
		sleep_ms(1000);
	}
}
