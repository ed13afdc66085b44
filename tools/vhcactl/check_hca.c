// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The checks of vhcactl check of this domain's HCAs: does xen-vhcad support them, can
 * guests harm this domain by them, is memory safe with them in a PV domain, does an
 * IOMMU bound their DMA?
 */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "check.h"
#include "host/bar.h"
#include "host/chardev.h"
#include "host/kernel.h"
#include "host/paths.h"
#include "vhca-keys.h"
#include "vhca-provider.h"

#define CAPPED		"/sys/kernel/debug/xen-vhca-helper/capped_hcas"
#define FEATURES	"/sys/hypervisor/properties/features"	/* hexadecimal */
#define NOT_DIRECT	(1ul << 16)	/* XENFEAT_not_direct_mapped */
#define DIRECT		(1ul << 17)	/* XENFEAT_direct_mapped */
#define BEHIND_IOMMU	"/sys/module/xen_vhca_helper/parameters/behind_iommu"
#define HCAS_DOC	"docs/design/providers.md lists the HCAs"

/* "mlx4_core 0000:00:05.0 (ConnectX-3)", or the known part of it. */
static void describe(struct check *k, const char *hca, char *text, size_t size)
{
	char path[PATH_MAX], driver[64], bdf[CTL_BDF];
	struct host_uars u;

	snprintf(path, sizeof(path), "%s" HOST_IB_CLASS "/%s/device/driver",
		 k->c->root, hca);
	if (ctl_link_name(path, driver, sizeof(driver)))
		snprintf(driver, sizeof(driver), "driver unknown");
	if (ctl_pci_of_hca(k->c->root, hca, bdf)) {
		snprintf(text, size, "software");
		return;
	}
	k->n_hw++;
	snprintf(path, sizeof(path), "%s" HOST_IB_CLASS "/%s/device", k->c->root, hca);
	if (host_uars(path, &u))
		snprintf(text, size, "%s %s", driver, bdf);
	else
		snprintf(text, size, "%s %s (%s)", driver, bdf, u.hca->name);
}

/* This domain's devices of the HCA have together so many of that number key. */
static uint64_t sum(const struct check *k, const char *hca, enum ctl_key_id id)
{
	const struct ctl_key *key = &ctl_keys[id];
	char of[XENVHCA_NAME_LEN];
	const struct ctl_dev *d;
	uint64_t n = 0;
	uint32_t v;

	for (d = k->devs; d < k->devs + k->n_devs; d++) {
		if (!check_mine(k, d) || xn_read_str(k->c->xs, XBT_NULL, d->be,
						     XENVHCA_NODE_HCA, of, sizeof(of)) ||
		    strcmp(of, hca))
			continue;
		v = key->def;
		xn_read_u32_def(k->c->xs, XBT_NULL, d->be, key->name, key->min, key->max,
				key->def, &v);
		n += v;
	}
	return n;
}

/* docs/design/threat-model.md: a guest with windows of Soft-RoCE can crash this kernel. */
static void check_windows(struct check *k, const char *hca)
{
	unsigned int n = (unsigned int)sum(k, hca, CTL_TRUSTED);
	char name[NAME_MAX + 12];

	snprintf(name, sizeof(name), "windows %s", hca);
	if (!n)
		check_ok(k, name, "no memory windows for guests, no device is trusted=1");
	else
		check_say(k, CHECK_WARN, name, "attach without trusted=1 what needs none",
			  "no memory windows for guests but those of %u devices with trusted=1, which can end the kernel of this domain",
			  n);
}

static void check_kernel(struct check *k, const char *hca)
{
	char version[HOST_VERSION_LEN], number[32], name[NAME_MAX + 12];
	bool mended;

	check_read(k, version, sizeof(version), "/proc/version");
	mended = host_rxe_mended(version, number, sizeof(number));
	snprintf(name, sizeof(name), "kernel %s", hca);
	if (!mended)
		check_say(k, CHECK_WARN, name, HOST_RXE_MEND,
			  "rdma_rxe of Linux %s has faults by which guests can end this domain's kernel",
			  number);
	else if (number[0])
		check_ok(k, name, "Linux %s", number);
}

/*
 * docs/design/threat-model.md: what guests of an mlx4 share. A queue pair tells of its
 * connection, its path, its failure and its last request of an SRQ, a CQ of an overrun,
 * an SRQ of its limit and a failure.
 */
static void check_events(struct check *k, const char *hca, unsigned int room)
{
	uint64_t n = 4 * sum(k, hca, CTL_MAX_QP) + sum(k, hca, CTL_MAX_CQ) +
		     2 * sum(k, hca, CTL_MAX_SRQ);
	char name[NAME_MAX + 12];

	snprintf(name, sizeof(name), "events %s", hca);
	if (n <= room)
		check_ok(k, name, "%" PRIu64 " at once at most, its queue has room for %u",
			 n, room);
	else
		check_say(k, CHECK_WARN, name, "vhcactl quota, max-qp, max-cq and max-srq",
			  "%" PRIu64 " at once at most, its queue has room for %u: guests may have the HCA reset",
			  n, room);
}

/* docs/design/threat-model.md: an HCA that compares no pages. */
static void check_apart(struct check *k, const char *hca)
{
	char name[NAME_MAX + 12], mend[NAME_MAX + 32];

	snprintf(name, sizeof(name), "isolation %s", hca);
	snprintf(mend, sizeof(mend), "vhca-selftest run -d %s", hca);
	check_say(k, CHECK_WARN, name, mend,
		  "not known of this kind of HCA, but of the model: guests may ring for each other's queues");
}

/* Of an HCA with several ports the first, which a device has unless it has the key port. */
static void check_port(struct check *k, const char *hca)
{
	char path[PATH_MAX], link[32], state[32], name[NAME_MAX + 12];
	bool ether;

	snprintf(path, sizeof(path), HOST_IB_CLASS "/%s/ports/1/link_layer", hca);
	if (check_read(k, link, sizeof(link), path))
		return;
	snprintf(path, sizeof(path), HOST_IB_CLASS "/%s/ports/1/state", hca);
	if (check_read(k, state, sizeof(state), path))
		return;
	ether = !strcmp(link, "Ethernet");
	snprintf(name, sizeof(name), "port %s", hca);
	if (strstr(state, "ACTIVE"))
		check_ok(k, name, "%s, active", ether ? "RoCE" : link);
	else
		check_say(k, CHECK_WARN, name, ether ?
			  "ip link set its network device up (rdma link), and look at the cable" :
			  "look at the cable, and for a subnet manager (opensm)",
			  "%s, not active (%s): programs of guests find no usable port",
			  ether ? "RoCE" : link, state);
}

static void check_hca(struct check *k, const char *hca)
{
	const struct vhca_provider *p;
	struct host_chardev cd;
	char name[NAME_MAX + 8], what[128];
	int rc, n_hw = k->n_hw;

	k->n_hca++;
	snprintf(name, sizeof(name), "hca %s", hca);
	describe(k, hca, what, sizeof(what));
	rc = host_chardev(hca, &cd);
	if (rc) {
		check_say(k, CHECK_WARN, name, rc == -ENOENT ?
			  "modprobe ib_uverbs" :
			  "rdma system shows whether it is in another network namespace",
			  "%s, no verbs device (%s)", what, strerror(-rc));
		return;
	}
	p = vhca_provider_find(cd.driver_id, cd.abi);
	if (!p) {
		check_say(k, CHECK_WARN, name, HCAS_DOC,
			  "%s, driver id %u with ABI %u: not supported, xen-vhcad refuses it",
			  what, cd.driver_id, cd.abi);
		return;
	}
	check_ok(k, name, "%s, provider %s ABI %u%s", what, p->name, cd.abi,
		 k->n_hw > n_hw ? ", tested with a model of it, not with a card" : "");
	check_port(k, hca);
	if (p->pages_assumed)
		check_apart(k, hca);
	if (p->events)
		check_events(k, hca, p->events);
	if (p->trusts)
		check_kernel(k, hca);
	if (p->no_windows)
		check_windows(k, hca);
}

static int not_hidden(const struct dirent *e)
{
	return e->d_name[0] != '.';
}

static void no_hca(struct check *k)
{
	const struct ctl_dev *d = k->devs;

	while (d < k->devs + k->n_devs && check_mine(k, d))
		d++;
	if (d < k->devs + k->n_devs)
		check_ok(k, "hca", "none here: run vhcactl check in the driver domain, too");
	else
		check_say(k, CHECK_WARN, "hca",
			  "load the HCA's driver, or for Soft-RoCE: rdma link add rxe0 type rxe netdev DEV",
			  "this domain has no RDMA device, it is the backend of no guest");
}

void check_hcas(struct check *k)
{
	struct dirent **names = NULL;
	char dir[PATH_MAX];
	int i, n;

	snprintf(dir, sizeof(dir), "%s" HOST_IB_CLASS, k->c->root);
	n = scandir(dir, &names, not_hidden, alphasort);
	for (i = 0; i < n; i++) {
		check_hca(k, names[i]->d_name);
		free(names[i]);
	}
	free(names);
	if (n <= 0)
		no_hca(k);
}

static void doorbells(struct check *k, const char *bdf)
{
	struct ctl_uars u;
	char name[32];

	snprintf(name, sizeof(name), "doorbells %s", bdf);
	ctl_uars(k->c, bdf, &u);
	if (!u.have)
		check_ok(k, name,
			 "guests may take %" PRIu64 "; how many it has is not visible here", u.may);
	else if (u.may > u.have)
		check_say(k, CHECK_WARN, name, "vhcactl quota, max-ucontext",
			  "guests may take %" PRIu64 " and it has %" PRIu64 ": not all devices are served",
			  u.may, u.have);
	else
		check_ok(k, name, "guests may take %" PRIu64 " of %" PRIu64, u.may, u.have);
}

/* docs/design/threat-model.md: UARs are an HCA's scarcest resource. */
void check_doorbells(struct check *k)
{
	const struct ctl_dev *d, *o;
	char bdf[CTL_BDF], of[CTL_BDF];

	for (d = k->devs; k->control && d < k->devs + k->n_devs; d++) {
		if (!ctl_pci_recorded(k->c, d, bdf))
			continue;
		/* The first device of an HCA represents it. */
		for (o = k->devs; o < d; o++)
			if (ctl_pci_recorded(k->c, o, of) && !strcmp(of, bdf))
				break;
		if (o == d)
			doorbells(k, bdf);
	}
}

/* docs/guide/install.md: ib_umem and swiotlb-xen lose data without it. */
void check_segment_cap(struct check *k)
{
	static const char name[] = "segment-cap";
	char text[32];
	int rc;
	const char *what = k->pv ? "a PV" : "an Arm";

	if ((!k->pv && !k->c->arm) || !k->n_hw) {
		check_ok(k, name, "not needed: %s",
			 !k->n_hw ? "no hardware HCA here" : "this is no PV domain");
		return;
	}
	if (!check_exists(k, "/sys/module/xen_vhca_helper")) {
		check_say(k, CHECK_FAIL, name, "modprobe xen-vhca-helper",
			  "hardware HCA in %s domain: only the helper keeps its data intact",
			  what);
		return;
	}
	rc = check_read(k, text, sizeof(text), CAPPED);
	if (rc)
		check_say(k, CHECK_WARN, name,
			  "mount -t debugfs none /sys/kernel/debug",
			  "cannot see whether HCAs are capped: %s",
			  strerror(-rc));
	else
		check_ok(k, name, "%s HCA capped now; it is while a device is open", text);
}

/* docs/guide/dom0-less.md: on Arm a domain has numbers of its own for its pages. */
void check_dma(struct check *k)
{
	static const char name[] = "dma";
	char features[32], told[8];
	unsigned long mask;

	if (!k->c->arm || !k->n_hw)
		return;
	check_read(k, features, sizeof(features), FEATURES);
	mask = strtoul(features, NULL, 16);
	if (mask & DIRECT || (!(mask & NOT_DIRECT) && k->control))
		check_ok(k, name,
			 "Xen maps this domain directly: its HCA reaches what it is meant to");
	else if (!check_read(k, told, sizeof(told), BEHIND_IOMMU) && told[0] == 'Y')
		check_ok(k, name, "behind an IOMMU, as xen-vhca-helper was told");
	else
		check_say(k, CHECK_FAIL, name,
			  "direct-map in this domain's node of the device tree; or an IOMMU, and modprobe xen-vhca-helper behind_iommu=1",
			  "hardware HCA in a domain that Xen does not map directly: its DMA would reach other memory, xen-vhcad refuses it");
}

void check_iommu(struct check *k)
{
	static const char mend[] =
		"enable VT-d or AMD-Vi in the firmware, and iommu=1 on Xen's command line";
	char caps[256] = "";
	bool have;

	if (!k->control) {
		check_ok(k, "iommu", "only the control domain sees it");
		return;
	}
	if (!k->info || !check_info(k->info, "virt_caps", caps, sizeof(caps))) {
		check_say(k, CHECK_WARN, "iommu", "xl info, virt_caps",
			  "cannot ask xl for Xen's capabilities");
		return;
	}
	have = strstr(caps, "_directio");
	if (have || !k->n_hw)
		check_ok(k, "iommu", "%s",
			 have ? "present: HCAs can be given to driver domains" : "none; software HCAs need none");
	else
		check_say(k, CHECK_WARN, "iommu", mend,
			  "none: the HCA can reach all memory, and cannot be given to a driver domain");
}
