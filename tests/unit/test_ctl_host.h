/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * What the tests of vhcactl share: a root folder with made-up /sys and /proc,
 * a xenstore in memory (fake_xs.h) in which this is domain 0, and what the
 * code under test printed.
 */
#ifndef TEST_CTL_HOST_H
#define TEST_CTL_HOST_H

#include <stdio.h>
#include "tools/vhcactl/ctl.h"

extern char host_root[64];	/* empty folder after host_new() */

/* Fixtures of a test: a new root and an empty xenstore; both taken away. */
int host_new(void **state);
int host_end(void **state);
/* A file below the root with its folders; a symbolic link, a folder. */
void host_file(const char *path, const char *text);
void host_link(const char *path, const char *target);
void host_dir(const char *path);
/* The RDMA device hca below the PCI device bdf. */
void host_pci_hca(const char *hca, const char *bdf);

/* Between them stdout and stderr are kept; the texts live until the next. */
void host_capture(void);
void host_captured(char **out, char **err);

/* A device as vhcactl attach makes it, in domain 5 with backend 0. */
void host_device(struct ctl *c, const char *spec, struct ctl_dev *d);

#endif
