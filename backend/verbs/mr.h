/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Memory regions and windows.
 */
#ifndef BE_MR_H
#define BE_MR_H

#include "be.h"
#include "gmap.h"

struct be_mr {
	struct be_obj o;
	uint32_t access;		/* as registered, or asked for since */
	struct be_gmap mem;
};
struct be_mw { struct be_obj o; };

/* May this guest have memory windows of this HCA? */
bool be_windows(const struct be_dev *dev);

#endif
