/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Protection domains and address handles.
 */
#ifndef BE_PD_H
#define BE_PD_H

#include "be.h"

struct be_pd { struct be_obj o; };
struct be_ah { struct be_obj o; };

/* Address of a path, checked. 0 or -EINVAL. */
int be_ah_check(const struct be_dev *dev, const struct xenvhca_ah_attr *ah);

#endif
