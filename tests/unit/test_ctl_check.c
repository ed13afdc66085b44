// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * vhcactl check over made-up hosts: a fit one has no complaint and exit status
 * 0; every single thing that is missing is told, with what mends it.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include <cmocka.h>
#include "host/chardev.h"
#include "tests/fake/fake_xs.h"
#include "test_ctl_host.h"
#include "tools/vhcactl/check.h"
#include "vhca-provider.h"

#define GOOD_INFO \
	"host                   : h\n" \
	"virt_caps              : pv hvm hvm_directio pv_directio hap\n" \
	"xen_commandline        : placeholder dom0_mem=4096M,max:4096M " \
	"gnttab_max_frames=2048 gnttab_max_maptrack_frames=8192\n" \
	"cc_compiler            : gcc\n"

static const char *info;
static const char *tables;
static struct host_chardev chardev;
static int chardev_rc;

static int fake_info(char *buf, size_t size)
{
	if (!info)
		return -ENOENT;
	snprintf(buf, size, "%s", info);
	return 0;
}

static int fake_tables(char *buf, size_t size)
{
	if (!tables)
		return -EIO;
	snprintf(buf, size, "%s", tables);
	return 0;
}

/* In place of the kernel's. */
int host_chardev(const char *hca, struct host_chardev *cd)
{
	(void)hca;
	*cd = chardev;
	return chardev_rc;
}

/* A lock file, and its line in /proc/locks. */
static void lock(const char *path, char *locks, size_t size)
{
	char full[PATH_MAX];
	struct stat st;

	host_file(path, "1\n");
	snprintf(full, sizeof(full), "%s%s", host_root, path);
	assert_int_equal(stat(full, &st), 0);
	snprintf(locks + strlen(locks), size - strlen(locks),
		 "%d: FLOCK  ADVISORY  WRITE 12 %02x:%02x:%llu 0 EOF\n", 3,
		 major(st.st_dev), minor(st.st_dev),
		 (unsigned long long)st.st_ino);
}

static void drop(const char *path)
{
	char full[PATH_MAX];

	snprintf(full, sizeof(full), "%s%s", host_root, path);
	assert_int_equal(remove(full), 0);
}

/* A control domain with everything, PVH, one Soft-RoCE device. */
static void good_host(struct ctl *c)
{
	static char agent_dir[PATH_MAX];
	char locks[512] = "1: POSIX  ADVISORY  READ  5 08:01:99 0 EOF\n";

	snprintf(agent_dir, sizeof(agent_dir), "%s/agent", host_root);
	*c = (struct ctl){ .root = host_root, .run_dir = host_root,
			   .agent_dir = agent_dir, .xl_info = fake_info,
			   .nft_tables = fake_tables };
	info = GOOD_INFO;
	tables = NULL;
	chardev = (struct host_chardev){ .name = "uverbs0",
		.driver_id = vhca_provider_rxe.driver_id,
		.abi = vhca_provider_rxe.abi_min,
	};
	chardev_rc = 0;
	host_file("/sys/hypervisor/type", "xen\n");
	host_file("/sys/hypervisor/guest_type", "PVH\n");
	host_file("/sys/hypervisor/version/major", "4\n");
	host_file("/sys/hypervisor/version/minor", "17\n");
	host_file("/proc/xen/capabilities", "control_d\n");
	host_file("/proc/sys/kernel/osrelease", "6.1.0-56-amd64\n");
	host_file("/usr/lib/x86_64-linux-gnu/libibverbs.so.1.14.44.0", "");
	host_dir("/sys/class/infiniband");
	host_dir("/sys/class/infiniband/rxe0");
	host_dir("/sys/module");
	host_dir("/sys/module/ib_uverbs");
	host_dir("/sys/module/xen_evtchn");
	host_dir("/sys/module/xen_vhca_helper");
	host_file("/sys/module/xen_gntdev/parameters/limit", "65536\n");
	host_file("/sys/devices/system/xen_memory/xen_memory0/target_kb",
		  "4194304\n");
	host_file("/sys/devices/system/xen_memory/xen_memory0/info/current_kb",
		  "4194304\n");
	lock("/supervisor.lock", locks, sizeof(locks));
	lock("/agent/lock", locks, sizeof(locks));
	host_file("/proc/locks", locks);
}

static void expect(struct ctl *c, int exit_code, const char *say)
{
	char *out;
	int rc;

	host_capture();
	rc = ctl_check(c);
	host_captured(&out, NULL);
	if (!strstr(out, say))
		fail_msg("no \"%s\" in:\n%s", say, out);
	if (rc != exit_code)
		fail_msg("exit status %d, not %d:\n%s", rc, exit_code, out);
}

static void good_host_has_no_complaint(void **state)
{
	struct ctl c;

	(void)state;
	good_host(&c);
	expect(&c, CTL_OK, "ok   xen: Xen 4.17, PVH control domain\n");
	expect(&c, CTL_OK, "ok   rdma-core: version 44\n");
	expect(&c, CTL_OK, "ok   hca rxe0: software, provider rxe ABI 2\n");
	expect(&c, CTL_OK, "ok   xen-vhcad: running\n");
	expect(&c, CTL_OK, "ok   memory: fixed by dom0_mem");
	expect(&c, CTL_OK, "8192: devices of this domain may map 6144 MiB");
}

static void json_says_the_same(void **state)
{
	struct json_object *o;
	struct ctl c;
	char *out;

	(void)state;
	good_host(&c);
	drop("/sys/module/xen_evtchn");
	c.json = true;
	host_capture();
	assert_int_equal(ctl_check(&c), CTL_FAILED);
	host_captured(&out, NULL);
	o = json_tokener_parse(out);
	assert_true(json_object_array_length(o) > 10);
	json_object_put(o);
	assert_non_null(strstr(out, "\"verdict\": \"fail\""));
	assert_non_null(strstr(out, "\"mend\": \"modprobe xen-evtchn\""));
}

static void no_xen(void **state)
{
	struct ctl c;

	(void)state;
	good_host(&c);
	host_file("/sys/hypervisor/type", "kvm\n");
	c.no_xs = true;
	expect(&c, CTL_FAILED, "FAIL xen: this is no Xen domain; boot");
}

static void no_xenstore(void **state)
{
	struct ctl c;

	(void)state;
	good_host(&c);
	c.no_xs = true;
	expect(&c, CTL_FAILED, "FAIL xenstore: cannot be reached; systemctl");
}

static void old_versions(void **state)
{
	struct ctl c;

	(void)state;
	good_host(&c);
	host_file("/proc/sys/kernel/osrelease", "5.10.0\n");
	expect(&c, CTL_WARNED, "warn kernel: Linux 5.10.0; use Linux 6.1");
	host_file("/sys/hypervisor/version/minor", "14\n");
	expect(&c, CTL_WARNED, "warn xen: Xen 4.14");
}

static void missing_modules(void **state)
{
	struct ctl c;

	(void)state;
	good_host(&c);
	drop("/sys/module/xen_vhca_helper");
	expect(&c, CTL_FAILED, "FAIL xen-vhca-helper: the kernel module is not loaded; modprobe xen-vhca-helper\n");
	drop("/sys/module/ib_uverbs");
	expect(&c, CTL_FAILED, "FAIL ib_uverbs: ");
	/* Built into the kernel: the device is there, the module is not. */
	host_dir("/sys/class/infiniband_verbs");
	host_file("/dev/xen/vhca-helper", "");
	expect(&c, CTL_OK, "ok   ib_uverbs: loaded");
}

/* Then it is the backend of nobody, or its HCAs are in driver domains. */
static void no_hca_here(void **state)
{
	struct ctl_dev d;
	struct ctl c;

	(void)state;
	good_host(&c);
	drop("/sys/class/infiniband/rxe0");
	drop("/sys/module/xen_evtchn");
	host_file("/proc/locks", "");
	expect(&c, CTL_WARNED, "ok   xen-evtchn: not loaded, and not needed");
	expect(&c, CTL_WARNED, "ok   xen-vhcad: not running, and not needed");
	expect(&c, CTL_WARNED, "warn hca: this domain has no RDMA device");
	fake_xs_set("/local/domain/3/name", "netdom");
	assert_int_equal(ctl_attach_spec(&c, 5, "hca=rxe0,backend=3,max-pinned-mb=9",
					 &d), CTL_OK);
	expect(&c, CTL_OK, "ok   hca: none here: run vhcactl check in the driver");
}

static void daemons(void **state)
{
	struct ctl_dev d;
	struct ctl c;

	(void)state;
	good_host(&c);
	host_file("/proc/locks", "");
	expect(&c, CTL_FAILED, "FAIL xen-vhcad: not running");
	expect(&c, CTL_FAILED, "ok   xen-vhca-doorbelld: not running, and not needed");
	/* A device of a driver domain's hardware HCA needs the agent here. */
	fake_xs_set("/local/domain/3/name", "netdom");
	host_pci_hca("hidden", "0000:00:07.0");
	drop("/sys/class/infiniband/hidden");
	assert_int_equal(ctl_attach_spec(&c, 5, "hca=mlx5_0,backend=3,pci=00:07.0", &d),
			 CTL_OK);
	expect(&c, CTL_FAILED, "FAIL xen-vhca-doorbelld: not running: guests");
	host_file("/proc/xen/capabilities", "");
	expect(&c, CTL_FAILED, "ok   xen-vhca-doorbelld: runs in the control");
}

static void addresses_need_a_script(void **state)
{
	struct ctl_dev d;
	struct ctl c;

	(void)state;
	good_host(&c);
	assert_int_equal(ctl_attach_spec(&c, 5, "hca=rxe0", &d), CTL_OK);
	expect(&c, CTL_OK, "ok   addresses: 0 devices have their own, 1 share");
	assert_int_equal(ctl_attach_spec(&c, 5, "hca=rxe0,ip=192.0.2.7", &d),
			 CTL_OK);
	expect(&c, CTL_FAILED, "vhca-address is missing; install it again");
	host_file("/etc/xen/scripts/vhca-address", "");
	expect(&c, CTL_FAILED, "FAIL addresses: 1 devices have addresses of their own, which ip and rdma put on the network; apt-get install iproute2");
	host_file("/usr/bin/rdma", "");
	expect(&c, CTL_FAILED, "FAIL addresses: 1 devices");
	host_file("/usr/sbin/ip", "");
	expect(&c, CTL_OK, "ok   addresses: 1 devices have their own, 1 share");
	drop("/usr/sbin/ip");
	host_file("/bin/ip", "");	/* not all have one /usr */
	expect(&c, CTL_OK, "ok   addresses: 1 devices have their own, 1 share");
	assert_int_equal(ctl_attach_spec(&c, 5, "hca=rxe0,ip=192.0.2.8,vif=0", &d),
			 CTL_OK);
	expect(&c, CTL_FAILED, "FAIL addresses: 1 devices have their addresses in common with vifs, to which nft passes traffic; apt-get install nftables");
	host_file("/usr/sbin/nft", "");
	expect(&c, CTL_OK, "ok   addresses: 2 devices have their own, 1 share");
}

static void tables_of_nft_that_are_gone_are_told(void **state)
{
	static const char gone[] = "FAIL addresses: 1 devices have their addresses in common with vifs, and nft lacks the tables vhca that pass traffic; /etc/xen/scripts/vhca-vif sync";
	struct ctl_dev d;
	struct ctl c;

	(void)state;
	good_host(&c);
	host_file("/etc/xen/scripts/vhca-address", "");
	host_file("/usr/bin/rdma", "");
	host_file("/usr/sbin/ip", "");
	host_file("/usr/sbin/nft", "");
	tables = "table inet filter\n";
	assert_int_equal(ctl_attach_spec(&c, 5, "hca=rxe0,ip=192.0.2.7", &d), CTL_OK);
	expect(&c, CTL_OK, "ok   addresses: 1 devices");
	assert_int_equal(ctl_attach_spec(&c, 5, "hca=rxe0,ip=192.0.2.8,vif=0", &d),
			 CTL_OK);
	expect(&c, CTL_FAILED, gone);
	tables = "table netdev vhca\n";
	expect(&c, CTL_FAILED, gone);
	tables = "table inet vhca\ntable netdev vhca2\n";
	expect(&c, CTL_FAILED, gone);
	tables = "table inet filter\ntable netdev vhca\ntable inet vhca\n";
	expect(&c, CTL_OK, "ok   addresses: 2 devices");
	tables = NULL;		/* not root */
	expect(&c, CTL_OK, "ok   addresses: 2 devices");
}

static void a_port_that_is_not_active(void **state)
{
	struct ctl c;

	(void)state;
	good_host(&c);
	host_file("/sys/class/infiniband/rxe0/ports/1/link_layer", "Ethernet\n");
	host_file("/sys/class/infiniband/rxe0/ports/1/state", "4: ACTIVE\n");
	expect(&c, CTL_OK, "ok   port rxe0: RoCE, active\n");
	host_file("/sys/class/infiniband/rxe0/ports/1/state", "1: DOWN\n");
	expect(&c, CTL_WARNED, "warn port rxe0: RoCE, not active (1: DOWN): programs of guests find no usable port; ip link set");
	host_file("/sys/class/infiniband/rxe0/ports/1/link_layer", "InfiniBand\n");
	host_file("/sys/class/infiniband/rxe0/ports/1/state", "2: INIT\n");
	expect(&c, CTL_WARNED, "warn port rxe0: InfiniBand, not active (2: INIT): programs of guests find no usable port; look at the cable, and for a subnet manager");
}

static void hardware_in_a_pv_domain(void **state)
{
	struct ctl c;

	(void)state;
	good_host(&c);
	host_file("/sys/hypervisor/guest_type", "PV\n");
	expect(&c, CTL_OK, "ok   segment-cap: not needed: no hardware HCA");
	host_pci_hca("mlx5_0", "0000:00:05.0");
	host_link("/sys/devices/pci0000:00/0000:00:05.0/driver",
		  "../../../bus/pci/drivers/mlx5_core");
	chardev.driver_id = vhca_provider_mlx5.driver_id;	/* of both */
	chardev.abi = vhca_provider_mlx5.abi_min;
	expect(&c, CTL_WARNED, "warn segment-cap: cannot see");
	host_file("/sys/kernel/debug/xen-vhca-helper/capped_hcas", "1\n");
	expect(&c, CTL_OK, "ok   segment-cap: 1 HCA capped now");
	drop("/sys/module/xen_vhca_helper");
	expect(&c, CTL_FAILED, "FAIL segment-cap: hardware HCA in a PV domain");
	info = "virt_caps : pv hvm\n";
	expect(&c, CTL_FAILED, "warn iommu: none: the HCA can reach all");
}

static void hardware_on_arm(void **state)
{
	static const char features[] = "/sys/hypervisor/properties/features";
	struct ctl c;
	char *out;

	(void)state;
	good_host(&c);
	host_pci_hca("mlx5_0", "0000:00:05.0");
	host_link("/sys/devices/pci0000:00/0000:00:05.0/driver",
		  "../../../bus/pci/drivers/mlx5_core");
	chardev.driver_id = vhca_provider_mlx5.driver_id;	/* of both */
	chardev.abi = vhca_provider_mlx5.abi_min;
	host_capture();
	ctl_check(&c);
	host_captured(&out, NULL);
	assert_null(strstr(out, " dma: "));
	c.arm = true;
	drop("/sys/module/xen_vhca_helper");
	expect(&c, CTL_FAILED, "FAIL segment-cap: hardware HCA in an Arm domain");
	host_dir("/sys/module/xen_vhca_helper");
	host_file("/sys/kernel/debug/xen-vhca-helper/capped_hcas", "1\n");
	host_file(features, "00012705\n");
	expect(&c, CTL_FAILED, "FAIL dma: hardware HCA in a domain that Xen does not map directly");
	host_file("/sys/module/xen_vhca_helper/parameters/behind_iommu", "N\n");
	expect(&c, CTL_FAILED, "modprobe xen-vhca-helper behind_iommu=1");
	host_file("/sys/module/xen_vhca_helper/parameters/behind_iommu", "Y\n");
	expect(&c, CTL_OK, "ok   dma: behind an IOMMU, as");
	drop("/sys/module/xen_vhca_helper/parameters/behind_iommu");
	host_file(features, "00022705\n");
	expect(&c, CTL_OK, "ok   dma: Xen maps this domain directly");
	host_file(features, "00002705\n");	/* an old Xen's dom0, and no dom0 */
	expect(&c, CTL_OK, "ok   dma: Xen maps this domain directly");
	host_file("/proc/xen/capabilities", "\n");
	expect(&c, CTL_FAILED, "FAIL dma: ");
}

static void hcas_and_their_providers(void **state)
{
	struct ctl c;

	(void)state;
	good_host(&c);
	host_pci_hca("irdma0", "0000:00:05.0");
	host_link("/sys/devices/pci0000:00/0000:00:05.0/driver", "../irdma");
	chardev.driver_id = 12345;
	expect(&c, CTL_WARNED, "warn hca irdma0: irdma 0000:00:05.0, driver id 12345 with ABI 2: not supported");
	chardev.driver_id = vhca_provider_mlx5.driver_id;	/* a later ABI */
	chardev.abi = vhca_provider_mlx5.abi_max + 1;
	expect(&c, CTL_WARNED, "driver id 1 with ABI 2: not supported, xen-vhcad refuses it");
	chardev_rc = -ENOENT;
	expect(&c, CTL_WARNED, "no verbs device (No such file or directory); modprobe ib_uverbs");
	chardev_rc = -ENODEV;
	expect(&c, CTL_WARNED, "network namespace");
}

static void windows_of_soft_roce(void **state)
{
	static const char name[] = "windows mlx5_0";
	struct ctl_dev d;
	struct ctl c;
	char *out, *err;

	(void)state;
	good_host(&c);
	expect(&c, CTL_OK, "ok   windows rxe0: no memory windows for guests, no device is trusted=1\n");
	host_file("/proc/version", "Linux version 6.1.190 (root@host) #1 SMP\n");
	expect(&c, CTL_WARNED, "warn kernel rxe0: rdma_rxe of Linux 6.1.190 has");
	host_file("/proc/version", "Linux version 6.1.191 (root@host) #1 SMP\n");
	expect(&c, CTL_OK, "ok   kernel rxe0: Linux 6.1.191\n");
	host_capture();
	assert_int_equal(ctl_attach_spec(&c, 5, "hca=rxe0,max-pinned-mb=1", &d), CTL_OK);
	host_captured(NULL, &err);
	assert_null(strstr(err, "trusted"));
	expect(&c, CTL_OK, "ok   windows rxe0: ");
	host_capture();
	assert_int_equal(ctl_attach_spec(&c, 5, "hca=rxe0,max-pinned-mb=1,trusted=1",
					 &d), CTL_OK);
	host_captured(NULL, &err);
	assert_non_null(strstr(err, "warning: trusted=1: over Soft-RoCE domain 5 can end the kernel of domain 0"));
	expect(&c, CTL_WARNED, "warn windows rxe0: no memory windows for guests but those of 1 devices with trusted=1, which can end the kernel of this domain; attach without trusted=1");
	/* Those of other HCAs, and of other domains, do not count. */
	fake_xs_set("/local/domain/3/name", "netdom");
	assert_int_equal(ctl_attach_spec(&c, 5, "hca=rxe1,max-pinned-mb=1,trusted=1", &d), CTL_OK);
	assert_int_equal(ctl_attach_spec(&c, 5, "hca=rxe0,backend=3,max-pinned-mb=1,trusted=1",
					 &d), CTL_OK);
	expect(&c, CTL_WARNED, "but those of 1 devices");
	/* A mlx5 trusts nobody. */
	host_pci_hca("mlx5_0", "0000:00:05.0");
	chardev.driver_id = vhca_provider_mlx5.driver_id;
	chardev.abi = vhca_provider_mlx5.abi_min;
	host_capture();
	ctl_check(&c);
	host_captured(&out, NULL);
	assert_non_null(strstr(out, "hca mlx5_0: "));
	assert_null(strstr(out, name));
}

static void grant_tables(void **state)
{
	struct ctl_dev d;
	struct ctl c;

	(void)state;
	good_host(&c);
	assert_int_equal(ctl_attach_spec(&c, 5, "hca=rxe0,max-pinned-mb=512",
					 &d), CTL_OK);
	expect(&c, CTL_OK, "ok   gnttab_max_frames: 2048: a guest can register 3584 MiB");
	expect(&c, CTL_OK, "ok   gnttab_max_maptrack_frames: 8192: devices of this domain may map 6144 MiB of guests, max-pinned-mb of all is 512 (tell xen-vhcad: --maptrack-frames)");
	info = "xen_commandline : dom0_mem=1G,max:1G\nvirt_caps : pv\n";
	expect(&c, CTL_WARNED, "warn gnttab_max_frames: 64: a guest can register 112 MiB at most, a device may use 512 MiB; gnttab_max_frames=325 on");
	expect(&c, CTL_WARNED, "ok   gnttab_max_maptrack_frames: 1024: devices of this domain may map 768 MiB of guests, max-pinned-mb of all is 512\n");
	host_file("/sys/hypervisor/guest_type", "PV\n");
	assert_int_equal(ctl_attach_spec(&c, 5, "hca=rxe0,max-pinned-mb=1",
					 &d), CTL_OK);
	expect(&c, CTL_WARNED, "may map 384 MiB of guests, max-pinned-mb of all is 513: xen-vhcad refuses some; gnttab_max_maptrack_frames=1369");
	host_file("/sys/module/xen_gntdev/parameters/limit", "16\n");
	expect(&c, CTL_WARNED, "warn gntdev-limit: 16 pages");
	info = NULL;
	expect(&c, CTL_WARNED, "warn grant-tables: cannot ask xl");
}

/* A guest's module leaves an eighth of its grant table to other devices. */
static void grant_frames_needed(void **state)
{
	struct ctl_dev d;
	struct ctl c;

	(void)state;
	good_host(&c);
#define XEN "virt_caps : pv hvm hvm_directio pv_directio\nxen_commandline : dom0_mem=1G,max:1G gnttab_max_maptrack_frames=99999"
	info = XEN "\n";
	/* Nobody asked for the default of max-pinned-mb. */
	assert_int_equal(ctl_attach_spec(&c, 5, "hca=rxe0", &d), CTL_OK);
	expect(&c, CTL_OK, "ok   gnttab_max_frames: 64: a guest can register 112 MiB at most (its");
	assert_int_equal(ctl_attach_spec(&c, 5, "hca=rxe0,max-pinned-mb=129", &d), CTL_OK);
	expect(&c, CTL_WARNED, "may use 129 MiB; gnttab_max_frames=106 on");
	assert_int_equal(ctl_attach_spec(&c, 5, "hca=rxe0,max-pinned-mb=4096", &d), CTL_OK);
	expect(&c, CTL_WARNED, "may use 4096 MiB; gnttab_max_frames=2373 on");
	info = XEN " gnttab_max_frames=2304\n";
	expect(&c, CTL_WARNED, "2304: a guest can register 4032 MiB at most, a device may use 4096 MiB;");
	info = XEN " gnttab_max_frames=2373\n";
	expect(&c, CTL_OK, "ok   gnttab_max_frames: 2373: a guest can register 4152 MiB");
#undef XEN
}

/* The daemon of the good host, whose number is in its lock file. */
static void daemon_words(const char *words, size_t len)
{
	char full[PATH_MAX];
	FILE *f;

	host_file("/proc/1/cmdline", "");
	snprintf(full, sizeof(full), "%s/proc/1/cmdline", host_root);
	f = fopen(full, "w");
	assert_non_null(f);
	assert_int_equal(fwrite(words, 1, len, f), len);
	fclose(f);
}
#define DAEMON_WORDS(w) daemon_words(w, sizeof(w))

/* As expect(), in a domain that is no toolstack. */
static void beside_dom0(struct ctl *c, int exit_code, const char *say)
{
	fake_xs_unprivileged(true);
	expect(c, exit_code, say);
	fake_xs_unprivileged(false);
}

static void utility_domain(void **state)
{
	struct ctl_dev d;
	struct ctl c;
	char *out;

	(void)state;
	good_host(&c);
	info = NULL;	/* and it is not asked for */
	host_file("/proc/xen/capabilities", "\n");
	/* Without a control domain its rights are those of one. */
	expect(&c, CTL_OK, "ok   utility-domain: it is the backend of 0 devices and may read all of xenstore, as");
	beside_dom0(&c, CTL_OK, "ok   xen: Xen 4.17, PVH driver domain\n");
	beside_dom0(&c, CTL_OK, "ok   utility-domain: it is the backend of 0 devices and has no rights of a toolstack: attach");
	beside_dom0(&c, CTL_OK, "ok   xen-vhca-doorbelld: runs in the control");
	beside_dom0(&c, CTL_OK, "ok   iommu: only the control domain sees it\n");
	assert_int_equal(ctl_attach_spec(&c, 5, "hca=rxe0,max-pinned-mb=512", &d), CTL_OK);
	beside_dom0(&c, CTL_OK, "ok   max_maptrack_frames: 1024: devices of this domain may map 768 MiB of guests, max-pinned-mb of all is 512 (as xen-vhcad was told; this");
	beside_dom0(&c, CTL_OK, "ok   max_grant_frames: pages of Soft-RoCE's queues that guests have now: unknown how many;");
	host_file("/sys/kernel/debug/xen-vhca-helper/grants", "17\n");
	beside_dom0(&c, CTL_OK, "guests have now: 17; max_grant_frames");
	beside_dom0(&c, CTL_OK, "ok   xenstore-quota: 1 devices take 4 watches and at most 15 nodes of the 100 and 1000");
	/* A device of another domain is none of its business. */
	fake_xs_set("/local/domain/3/name", "netdom");
	assert_int_equal(ctl_attach_spec(&c, 5, "hca=rxe0,backend=3,max-pinned-mb=9999", &d),
			 CTL_OK);
	beside_dom0(&c, CTL_OK, "is the backend of 1 devices");
	assert_int_equal(ctl_attach_spec(&c, 5, "hca=rxe0,max-pinned-mb=512", &d), CTL_OK);
	beside_dom0(&c, CTL_WARNED, "warn max_maptrack_frames: 1024: devices of this domain may map 768 MiB of guests, max-pinned-mb of all is 1024: xen-vhcad refuses some; max_maptrack_frames=1366 in this domain's configuration, --maptrack-frames=1366 of");
	DAEMON_WORDS("/usr/sbin/xen-vhcad\0--foreground\0--maptrack-frames\0" "2048");
	beside_dom0(&c, CTL_OK, "ok   max_maptrack_frames: 2048: ");
	DAEMON_WORDS("/usr/sbin/xen-vhcad\0-m\0" "4\0--maptrack-frames=4096\0-f");
	beside_dom0(&c, CTL_OK, "ok   max_maptrack_frames: 4096: ");
	/* The control domain has other lines. */
	host_file("/proc/xen/capabilities", "control_d\n");
	host_capture();
	ctl_check(&c);
	host_captured(&out, NULL);
	assert_null(strstr(out, "utility-domain"));
	assert_null(strstr(out, "xenstore-quota"));
}

static void quota_of_a_utility_domain(void **state)
{
	struct ctl_dev d;
	struct ctl c;
	int i;

	(void)state;
	good_host(&c);
	host_pci_hca("mlx5_0", "0000:00:05.0");
	for (i = 0; i < 3; i++)
		assert_int_equal(ctl_attach_spec(&c, 5, "hca=mlx5_0,max-pinned-mb=1,max-ucontext=13",
						 &d), CTL_OK);
	host_file("/proc/xen/capabilities", "\n");
	beside_dom0(&c, CTL_OK, "ok   xenstore-quota: 3 devices take 12 watches and at most 45 nodes of the 100 and 1000 that xenstored allows a domain by default\n");
	for (i = 0; i < 21; i++)
		assert_int_equal(ctl_attach_spec(&c, 5, "hca=rxe0,max-pinned-mb=1", &d), CTL_OK);
	beside_dom0(&c, CTL_OK, "ok   xenstore-quota: 24 devices take 96 watches");
	assert_int_equal(ctl_attach_spec(&c, 5, "hca=rxe0,max-pinned-mb=1", &d), CTL_OK);
	beside_dom0(&c, CTL_WARNED, "warn xenstore-quota: 25 devices take 100 watches, and xen-vhcad 3; xenstored allows a domain 100");
}

/* 85 pages in the BAR, 64 of them for guests; a context may take 8. */
static void doorbell_pages(void **state)
{
	struct ctl_dev d;
	struct ctl c;
	char *err;

	(void)state;
	good_host(&c);
	host_pci_hca("mlx5_0", "0000:00:05.0");
	assert_int_equal(ctl_attach_spec(&c, 5, "hca=mlx5_0,max-ucontext=6",
					 &d), CTL_OK);
	expect(&c, CTL_OK, "ok   doorbells 0000:00:05.0: guests may take 48; how many it has is not visible");
	host_file("/sys/devices/pci0000:00/0000:00:05.0/vendor", "0x15b3\n");
	host_file("/sys/devices/pci0000:00/0000:00:05.0/device", "0x1013\n");
	host_file("/sys/devices/pci0000:00/0000:00:05.0/resource",
		  "0x00000000fe000000 0x00000000fe054fff 0x0000000000140204\n"
		  "0x0000000000000000 0x0000000000000000 0x0000000000000000\n");
	expect(&c, CTL_OK, "ok   doorbells 0000:00:05.0: guests may take 48 of 64\n");
	/* What is attached to others does not count. */
	assert_int_equal(ctl_attach_spec(&c, 5, "hca=rxe0", &d), CTL_OK);
	host_capture();
	assert_int_equal(ctl_attach_spec(&c, 5, "hca=mlx5_0,max-ucontext=2",
					 &d), CTL_OK);
	host_captured(NULL, &err);
	assert_string_equal(err, "");
	host_capture();
	assert_int_equal(ctl_attach_spec(&c, 5, "hca=mlx5_0,max-ucontext=1",
					 &d), CTL_OK);
	host_captured(NULL, &err);
	assert_non_null(strstr(err, "guests of mlx5_0 may take 72 doorbell pages and it has 64"));
	expect(&c, CTL_WARNED, "warn doorbells 0000:00:05.0: guests may take 72 and it has 64: not all devices are served; vhcactl quota, max-ucontext\n");
}

/* 1,024 UARs of which 128 are for events and 64 this domain's; a context has one. */
static void doorbell_pages_of_an_mlx4(void **state)
{
	struct ctl_dev d;
	struct ctl c;

	(void)state;
	good_host(&c);
	host_pci_hca("mlx4_0", "0000:00:05.0");
	host_file("/sys/devices/pci0000:00/0000:00:05.0/vendor", "0x15b3\n");
	host_file("/sys/devices/pci0000:00/0000:00:05.0/device", "0x1003\n");
	host_file("/sys/devices/pci0000:00/0000:00:05.0/resource",
		  "0x00000000fe900000 0x00000000fe9fffff 0x0000000000140204\n"
		  "0x0000000000000000 0x0000000000000000 0x0000000000000000\n"
		  "0x00000000fe000000 0x00000000fe7fffff 0x000000000014220c\n");
	assert_int_equal(ctl_attach_spec(&c, 5, "hca=mlx4_0,max-ucontext=100",
					 &d), CTL_OK);
	expect(&c, CTL_OK, "ok   doorbells 0000:00:05.0: guests may take 100 of 832\n");
	expect(&c, CTL_OK, "0000:00:05.0 (ConnectX-3)");
}

/* What is known of it, and how much at once guests can have it tell the kernel. */
static void trust_in_an_mlx4(void **state)
{
	struct ctl_dev d;
	struct ctl c;

	(void)state;
	good_host(&c);
	host_pci_hca("mlx4_0", "0000:00:05.0");
	host_link("/sys/devices/pci0000:00/0000:00:05.0/driver", "../mlx4_core");
	chardev.driver_id = vhca_provider_mlx4.driver_id;
	chardev.abi = vhca_provider_mlx4_v3.abi_min;
	expect(&c, CTL_WARNED, "ok   hca mlx4_0: mlx4_core 0000:00:05.0, provider mlx4 ABI 3, tested with a model of it, not with a card\n");
	expect(&c, CTL_WARNED, "warn isolation mlx4_0: not known of this kind of HCA, but of the model: guests may ring for each other's queues; vhca-selftest run -d mlx4_0\n");
	expect(&c, CTL_WARNED, "ok   events mlx4_0: 0 at once at most");
	assert_int_equal(ctl_attach_spec(&c, 5, "hca=mlx4_0,max-qp=40,max-cq=40,max-srq=2",
					 &d), CTL_OK);
	expect(&c, CTL_WARNED, "ok   events mlx4_0: 204 at once at most, its queue has room for 368\n");
	/* of two devices, one on another HCA */
	assert_int_equal(ctl_attach_spec(&c, 5, "hca=mlx4_1", &d), CTL_OK);
	expect(&c, CTL_WARNED, "ok   events mlx4_0: 204 at once");
	assert_int_equal(ctl_attach_spec(&c, 5, "hca=mlx4_0,max-qp=40,max-cq=3,max-srq=1",
					 &d), CTL_OK);
	expect(&c, CTL_WARNED, "warn events mlx4_0: 369 at once at most, its queue has room for 368: guests may have the HCA reset; vhcactl quota, max-qp, max-cq and max-srq\n");
}

static void memory(void **state)
{
	struct ctl c;

	(void)state;
	good_host(&c);
	info = "xen_commandline : dom0_mem=4096M\nvirt_caps : pv_directio\n";
	expect(&c, CTL_WARNED, "warn memory: not fixed: ballooning");
	host_file("/sys/devices/system/xen_memory/xen_memory0/target_kb",
		  "2097152\n");
	expect(&c, CTL_WARNED, "warn memory: this domain is ballooning, -2097152 KiB");
}

#define HOST_TEST(f) cmocka_unit_test_setup_teardown(f, host_new, host_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		HOST_TEST(good_host_has_no_complaint),
		HOST_TEST(json_says_the_same),
		HOST_TEST(no_xen),
		HOST_TEST(no_xenstore),
		HOST_TEST(old_versions),
		HOST_TEST(missing_modules),
		HOST_TEST(no_hca_here),
		HOST_TEST(daemons),
		HOST_TEST(addresses_need_a_script),
		HOST_TEST(tables_of_nft_that_are_gone_are_told),
		HOST_TEST(a_port_that_is_not_active),
		HOST_TEST(hardware_in_a_pv_domain),
		HOST_TEST(hardware_on_arm),
		HOST_TEST(hcas_and_their_providers),
		HOST_TEST(windows_of_soft_roce),
		HOST_TEST(grant_tables),
		HOST_TEST(grant_frames_needed),
		HOST_TEST(utility_domain),
		HOST_TEST(quota_of_a_utility_domain),
		HOST_TEST(doorbell_pages),
		HOST_TEST(doorbell_pages_of_an_mlx4),
		HOST_TEST(trust_in_an_mlx4),
		HOST_TEST(memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
