/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The sources of xen-vhca-doorbelld's facts: the toolstack's nodes, sysfs of
 * the control domain, and for a guest's window the guest itself. Parsers take
 * text and are strict; they run without Xen.
 */
#ifndef DBA_FACTS_H
#define DBA_FACTS_H

#include "frame.h"
#include "xenstore/scan.h"

#define DBA_SYSFS	"/sys/bus/pci/devices"

struct dba_request {
	bool map;		/* else unmap */
	struct dba_req req;
};

/* "map 0xMFN 0xGFN 0xNR" or "unmap", nothing else. -EINVAL. */
int dba_parse_request(const char *s, struct dba_request *r);

/* Two numbers "0xFIRST 0xNR". -EINVAL. */
int dba_parse_window(const char *s, uint64_t *first, uint64_t *nr);

/* Is s a slot? The plain number below XENVHCA_DOORBELL_SLOTS. */
int dba_parse_slot(const char *s, unsigned int *slot);

/* The sysfs file "resource": the six BARs, memory only. -EINVAL. */
int dba_parse_resource(const char *text, struct dba_bytes bar[DBA_BARS]);

/**
 * dba_parse_msix() - where the MSI-X table and pending bits are
 * @cfg: configuration space
 * @len: bytes of it that could be read; all 256 are needed
 *
 * Sets msix_known, also where there is no MSI-X. hca->bar must be set.
 * -EINVAL: not readable, a loop of capabilities, a BAR that is not there.
 */
int dba_parse_msix(const uint8_t *cfg, size_t len, struct dba_hca *hca);

/* Fill in the facts of bdf from sysfs below root; sets named, not owner. */
void dba_read_sysfs(const char *root, const char *bdf, struct dba_hca *hca);

/**
 * dba_read_hca() - everything about the HCA of a device
 * @own: our domain id
 *
 * The PCI address from the toolstack's node, BARs from sysfs, the owner from
 * the toolstack's nodes of passed-through devices: own if none has it.
 */
void dba_read_hca(struct xs_handle *xs, const char *sysfs, unsigned int own,
		  unsigned int guest, unsigned int devid, struct dba_hca *hca);

/* The backend domain of a device according to /libxl, -errno if there is no
 * such device. */
int dba_read_backend(struct xs_handle *xs, unsigned int guest,
		     unsigned int devid);

/* Contexts that the toolstack allows to the guest by a device, 0: the default;
 * or -errno. */
int dba_read_ucontexts(struct xs_handle *xs, unsigned int guest,
		       unsigned int devid);

/* The guest's window for doorbells; nr 0 if it has none. */
void dba_read_window(struct xs_handle *xs, unsigned int guest,
		     unsigned int devid, uint64_t *first, uint64_t *nr);

#endif
