// SPDX-License-Identifier: GPL-2.0
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Collects facts (facts.h) and decides nothing. Facts that cannot be read or parsed are
 * omitted, and dba_frame_check() refuses requests without them.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "facts.h"
#include "number.h"
#include "vhca-agent.h"
#include "vhca-keys.h"
#include <xen/io/vhcaif.h>

#define RESOURCE_MEM	0x200u		/* IORESOURCE_MEM of <linux/ioport.h> */
#define PCI_CFG		256
#define PCI_STATUS	0x06
#define PCI_STATUS_CAPS	0x10
#define PCI_CAP_PTR	0x34
#define PCI_CAP_MSIX	0x11
#define PCI_MAX_CAPS	48		/* more do not fit */

/* "0x" and 1..16 digits at *s; advances *s behind them. */
static int parse_hex(const char **s, uint64_t *val)
{
	const char *p = *s;
	uint64_t v = 0;
	int n;

	if (p[0] != '0' || p[1] != 'x')
		return -EINVAL;
	p += 2;
	for (n = 0; isxdigit((unsigned char)p[n]); n++) {
		if (n == 16)
			return -EINVAL;
		v = v << 4 | (uint64_t)(isdigit((unsigned char)p[n]) ?
			p[n] - '0' : tolower((unsigned char)p[n]) - 'a' + 10);
	}
	if (!n)
		return -EINVAL;
	*s = p + n;
	*val = v;
	return 0;
}

/* n numbers with one blank between them, up to the character end. */
static int parse_hexes(const char **s, uint64_t *val, int n, char end)
{
	int i;

	for (i = 0; i < n; i++) {
		if (parse_hex(s, &val[i]))
			return -EINVAL;
		if (**s != (i + 1 < n ? ' ' : end))
			return -EINVAL;
		if (**s)
			(*s)++;
	}
	return 0;
}

int dba_parse_request(const char *s, struct dba_request *r)
{
	static const char word[] = XENVHCA_DOORBELL_MAP " ";
	uint64_t v[3];

	memset(r, 0, sizeof(*r));
	if (!strcmp(s, XENVHCA_DOORBELL_UNMAP))
		return 0;
	if (strncmp(s, word, sizeof(word) - 1))
		return -EINVAL;
	s += sizeof(word) - 1;
	if (parse_hexes(&s, v, 3, '\0'))
		return -EINVAL;
	r->map = true;
	r->req = (struct dba_req){ .mfn = v[0], .gfn = v[1], .nr = v[2] };
	return 0;
}

int dba_parse_window(const char *s, uint64_t *first, uint64_t *nr)
{
	uint64_t v[2];

	if (parse_hexes(&s, v, 2, '\0'))
		return -EINVAL;
	*first = v[0];
	*nr = v[1];
	return 0;
}

int dba_parse_slot(const char *s, unsigned int *slot)
{
	uint64_t v = 0;
	int rc = vl_parse_u64(s, 0, XENVHCA_DOORBELL_SLOTS - 1, &v);

	/* One name for each slot: no leading zeroes. */
	if (rc || (s[0] == '0' && s[1]))
		return -EINVAL;
	*slot = (unsigned int)v;
	return 0;
}

int dba_parse_resource(const char *text, struct dba_bytes bar[DBA_BARS])
{
	uint64_t v[3];
	int i;

	memset(bar, 0, DBA_BARS * sizeof(*bar));
	for (i = 0; i < DBA_BARS; i++) {
		if (parse_hexes(&text, v, 3, '\n'))
			return -EINVAL;
		if (!(v[2] & RESOURCE_MEM) || !v[0])
			continue;
		/* A BAR of 2^64 bytes would have length 0. */
		if (v[1] < v[0] || v[1] - v[0] == UINT64_MAX)
			return -EINVAL;
		bar[i] = (struct dba_bytes){ v[0], v[1] - v[0] + 1 };
	}
	return 0;
}

static uint32_t le32(const uint8_t *p)
{
	return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 |
	       (uint32_t)p[3] << 24;
}

/* reg: offset in the BAR that its three low bits name. */
static int msix_bytes(const struct dba_hca *hca, uint32_t reg, uint64_t len,
		      struct dba_bytes *b)
{
	const struct dba_bytes *bar;

	if ((reg & 7) >= DBA_BARS)
		return -EINVAL;
	bar = &hca->bar[reg & 7];
	if (bar->len < len || (reg & ~7u) > bar->len - len)
		return -EINVAL;
	*b = (struct dba_bytes){ bar->start + (reg & ~7u), len };
	return 0;
}

static int msix_cap(const uint8_t *cap, struct dba_hca *hca)
{
	uint64_t n = ((cap[2] | (unsigned int)cap[3] << 8) & 0x7ff) + 1;
	int rc = msix_bytes(hca, le32(cap + 4), n * 16, &hca->msix[0]);

	if (!rc)
		rc = msix_bytes(hca, le32(cap + 8), (n + 63) / 64 * 8,
				&hca->msix[1]);
	return rc;
}

int dba_parse_msix(const uint8_t *cfg, size_t len, struct dba_hca *hca)
{
	unsigned int pos, n;
	int rc = 0;

	hca->msix_known = false;
	memset(hca->msix, 0, sizeof(hca->msix));
	if (len < PCI_CFG)
		return -EINVAL;
	pos = cfg[PCI_STATUS] & PCI_STATUS_CAPS ? cfg[PCI_CAP_PTR] & ~3u : 0;
	for (n = 0; pos && n < PCI_MAX_CAPS; n++) {
		if (pos < 0x40 || pos > PCI_CFG - 12)
			return -EINVAL;
		if (cfg[pos] == PCI_CAP_MSIX) {
			rc = msix_cap(cfg + pos, hca);
			break;
		}
		pos = cfg[pos + 1] & ~3u;
	}
	if (rc || n == PCI_MAX_CAPS)
		return -EINVAL;
	hca->msix_known = true;
	return 0;
}

/* A small file whole, with a NUL; its length or -errno. */
static ssize_t slurp(const char *root, const char *bdf, const char *name,
		     char *buf, size_t size)
{
	char path[PATH_MAX];
	ssize_t n;
	int fd;

	n = snprintf(path, sizeof(path), "%s/%s/%s", root, bdf, name);
	if (n < 0 || (size_t)n >= sizeof(path))
		return -ENAMETOOLONG;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	n = read(fd, buf, size - 1);
	if (n < 0)
		n = -errno;
	else
		buf[n] = '\0';
	close(fd);
	return n;
}

/* "0x15b3\n" */
static int read_id(const char *root, const char *bdf, const char *name,
		   uint16_t *id)
{
	const char *s;
	uint64_t v;
	char buf[32];

	if (slurp(root, bdf, name, buf, sizeof(buf)) <= 0)
		return -ENOENT;
	s = buf;
	if (parse_hexes(&s, &v, 1, '\n') || v > UINT16_MAX)
		return -EINVAL;
	*id = (uint16_t)v;
	return 0;
}

void dba_read_sysfs(const char *root, const char *bdf, struct dba_hca *hca)
{
	char buf[4096];
	ssize_t n;

	hca->named = true;
	/* Ids from files: the configuration space of a VF has none. */
	if (read_id(root, bdf, "vendor", &hca->vendor) ||
	    read_id(root, bdf, "device", &hca->device))
		return;
	n = slurp(root, bdf, "resource", buf, sizeof(buf));
	if (n <= 0 || dba_parse_resource(buf, hca->bar))
		return;
	n = slurp(root, bdf, "config", buf, sizeof(buf));
	dba_parse_msix((const uint8_t *)buf, n < 0 ? 0 : (size_t)n, hca);
	hca->present = true;
}

/* Is bdf one of the devices that the toolstack passed through in dir? */
static bool has_device(struct xs_handle *xs, const char *dir, const char *bdf)
{
	char value[XN_VALUE_MAX], other[VL_BDF], **names = NULL;
	bool found = false;
	int i, n;

	n = xn_list(xs, XBT_NULL, dir, &names);
	for (i = 0; i < n && !found; i++)
		found = !strncmp(names[i], "dev-", 4) &&
			!xn_read_str(xs, XBT_NULL, dir, names[i], value,
				     sizeof(value)) &&
			!vl_parse_bdf(value, other) && !strcmp(other, bdf);
	free(names);
	return found;
}

/* Does domain name have bdf? dir: backend/pci of the control domain. */
static bool domain_has(struct xs_handle *xs, const char *dir, const char *name,
		       const char *bdf)
{
	char sub[XN_PATH_MAX], path[XN_PATH_MAX], **ids = NULL;
	bool found = false;
	int i, n;

	if (xn_path(sub, dir, name))
		return false;
	n = xn_list(xs, XBT_NULL, sub, &ids);
	for (i = 0; i < n && !found; i++)
		found = !xn_path(path, sub, ids[i]) &&
			has_device(xs, path, bdf);
	free(ids);
	return found;
}

/*
 * libxl writes /local/domain/<own>/backend/pci/<domain>/0/dev-<n>; only the
 * control domain can. Without such a node the control domain owns the device. A
 * stale node of a domain that is gone does not count if another domain has the
 * device.
 */
static int read_owner(struct xs_handle *xs, unsigned int own, const char *bdf,
		      int *owner)
{
	char dir[XN_PATH_MAX], **names = NULL;
	int i, n, found = 0;
	uint64_t id = 0;
	bool known;

	snprintf(dir, sizeof(dir), "/local/domain/%u/backend/pci", own);
	n = xn_list(xs, XBT_NULL, dir, &names);
	*owner = n < 0 ? -1 : (int)own;
	for (i = 0; i < n; i++) {
		if (!domain_has(xs, dir, names[i], bdf))
			continue;
		known = !vl_parse_u64(names[i], 0, XN_MAX_DOMID,
				      &id);
		if (known && !xn_domain_alive(xs, (unsigned int)id)) {
			if (!found)
				*owner = -1;
			continue;
		}
		found++;
		*owner = known ? (int)id : -1;
	}
	free(names);
	if (found > 1)
		*owner = -1;
	return n < 0 ? n : 0;
}

void dba_read_hca(struct xs_handle *xs, const char *sysfs, unsigned int own,
		  unsigned int guest, unsigned int devid, struct dba_hca *hca)
{
	char dir[XN_PATH_MAX], value[XN_VALUE_MAX], bdf[VL_BDF];
	int rc;

	memset(hca, 0, sizeof(*hca));
	hca->owner = -1;
	xn_libxl_dir(dir, guest, devid);
	rc = xn_read_str(xs, XBT_NULL, dir, XENVHCA_NODE_PCI, value,
			 sizeof(value));
	if (rc && rc != -ENOENT && rc != -EINVAL && rc != -E2BIG)
		hca->error = rc;
	if (rc || vl_parse_bdf(value, bdf))
		return;
	dba_read_sysfs(sysfs, bdf, hca);
	rc = read_owner(xs, own, bdf, &hca->owner);
	if (rc)
		hca->error = rc;
}

int dba_read_backend(struct xs_handle *xs, unsigned int guest,
		     unsigned int devid)
{
	char dir[XN_PATH_MAX], value[XN_VALUE_MAX], want[XN_PATH_MAX];
	unsigned int backend;
	int rc;

	xn_libxl_dir(dir, guest, devid);
	rc = xn_read_str(xs, XBT_NULL, dir, "backend", value, sizeof(value));
	if (rc)
		return rc;
	if (sscanf(value, "/local/domain/%5u/", &backend) != 1 || backend > XN_MAX_DOMID)
		return -EINVAL;
	xn_backend_dir(want, backend, guest, devid);
	return strcmp(want, value) ? -EINVAL : (int)backend;
}

int dba_read_ucontexts(struct xs_handle *xs, unsigned int guest,
		       unsigned int devid)
{
	char dir[XN_PATH_MAX];
	uint32_t v = 0;
	int rc;

	xn_libxl_dir(dir, guest, devid);
	rc = xn_read_u32_def(xs, XBT_NULL, dir, XENVHCA_NODE_MAX_UCONTEXT, 1,
			     XENVHCA_MAX_OBJECTS, 0, &v);
	return rc ? rc : (int)v;
}

void dba_read_window(struct xs_handle *xs, unsigned int guest,
		     unsigned int devid, uint64_t *first, uint64_t *nr)
{
	char dir[XN_PATH_MAX], value[XN_VALUE_MAX];

	xn_frontend_dir(dir, guest, devid);
	if (xn_read_str(xs, XBT_NULL, dir, XENVHCA_NODE_DOORBELL_WINDOW, value,
			sizeof(value)) ||
	    dba_parse_window(value, first, nr))
		*first = *nr = 0;
}
