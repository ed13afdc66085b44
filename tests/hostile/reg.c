// SPDX-License-Identifier: GPL-2.0
/* Copyright (C) 2026 The vhca authors */
#include <xenctrl.h>

#include "reg.h"

bool reg_permit(uint32_t domid, bool may)
{
	xc_interface *xc = xc_interface_open(NULL, NULL, 0);
	int rc;

	if (!xc)
		return false;
	rc = xc_domain_iomem_permission(xc, domid, REG_FRAME, 1, may);
	xc_interface_close(xc);
	return !rc;
}
