/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Internals of vhcactl check: the facts that several checks need, and the report.
 */
#ifndef CTL_CHECK_H
#define CTL_CHECK_H

#include "ctl.h"

enum check_verdict { CHECK_OK, CHECK_WARN, CHECK_FAIL };

struct check {
	struct ctl *c;
	struct json_object *list;	/* for --json, else NULL */
	enum check_verdict worst;
	bool xen;			/* set by check_xen() */
	bool control;			/* this is the control domain */
	bool pv;
	int own;			/* domain id, -errno */
	struct ctl_dev *devs;		/* devices that this domain can see */
	int n_devs;
	int n_hca, n_hw;		/* RDMA devices; those with a PCI address */
	const char *info;		/* of xl info; NULL: not available */
};

/**
 * check_say() - one line of the report
 * @mend: command or page that helps; NULL: nothing to mend
 * @fmt: the finding
 */
void check_say(struct check *k, enum check_verdict v, const char *name,
	       const char *mend, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));

#define check_ok(k, name, ...) check_say(k, CHECK_OK, name, NULL, __VA_ARGS__)

/* First line of a file below c->root; 0 or -errno, buf is a string always. */
int check_read(const struct check *k, char *buf, size_t size, const char *path);
bool check_exists(const struct check *k, const char *path);
/* Value of a key of xl info, "key : value"; false: there is none. */
bool check_info(const char *info, const char *key, char *buf, size_t size);
/* Number behind WORD= on Xen's command line, def where it is not given. */
uint32_t check_param(const char *cmdline, const char *word, uint32_t def);
/* Has Xen's command line a maximum for domain 0's memory? */
bool check_dom0_mem_fixed(const char *cmdline);

/* Is this domain the backend of the device? */
bool check_mine(const struct check *k, const struct ctl_dev *d);

/* --maptrack-frames of the running daemon, else its default. */
uint32_t check_told_frames(const struct check *k);

/* The checks, in the order of the report. */
void check_xen(struct check *k);
void check_versions(struct check *k);
void check_modules(struct check *k);
void check_daemon(struct check *k);
void check_agent(struct check *k);
void check_gntdev(struct check *k);
void check_grant_tables(struct check *k);
void check_utility(struct check *k);	/* a domain other than the control domain */
void check_memory(struct check *k);
void check_addresses(struct check *k);
void check_hcas(struct check *k);	/* the first: counts them */
void check_segment_cap(struct check *k);
void check_dma(struct check *k);	/* on Arm only */
void check_doorbells(struct check *k);
void check_iommu(struct check *k);

#endif
