/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * The file of vhcactl dom0less: one line for each domain, blanks between words, # begins
 * a comment. No xenstore here, so that the parser can be tested alone.
 *
 *	own-domain 3			the domain in which this runs
 *	memory 704			MiB, to which its balloon is lowered (optional)
 *	no-xenstore			there is none: devices are files (optional)
 *	guest-reserve 16		MiB, by which those of guests with a vhca are (optional)
 *	guest 1 g1 hca=rxe0,max-mr=64	number, name, device as for vhcactl attach
 *	guest 2 g2			no vhca, but xenstore
 */
#ifndef CTL_DOM0LESS_H
#define CTL_DOM0LESS_H

#include "keys.h"

#define DOM0LESS_GUESTS		64
#define DOM0LESS_SPEC_MAX	512	/* of a device, with the NUL */

struct dom0less_guest {
	unsigned int domid;
	char name[CTL_NAME_MAX];
	char spec[DOM0LESS_SPEC_MAX];	/* empty: no vhca */
};

struct dom0less {
	unsigned int own;		/* number of this domain */
	bool no_xenstore;
	unsigned int memory;		/* MiB; 0: leave it */
	unsigned int guest_reserve;	/* MiB; 0: leave them */
	int nr;
	struct dom0less_guest guest[DOM0LESS_GUESTS];
};

/**
 * ctl_dom0less_parse() - read such a file
 * @text: all of it
 * @all: filled completely, on failure with unspecified content
 * @err: CTL_ERR_MAX bytes; line, what is wrong and what is accepted
 *
 * Devices are parsed too. 0 or -EINVAL.
 */
int ctl_dom0less_parse(const char *text, struct dom0less *all, char *err);

#endif
