/* SPDX-License-Identifier: GPL-2.0 */
/* Copyright (C) 2026 The vhca authors */
/*
 * What differs between QEMU 7.2 (Debian 12) and 10.0 (Debian 13).
 */
#ifndef CX_COMPAT_H
#define CX_COMPAT_H

#include "hw/qdev-properties.h"
#if QEMU_VERSION_MAJOR >= 10
#include "hw/pci/pci_device.h"
#endif

#if QEMU_VERSION_MAJOR < 10
#define CX4_PROPERTY		Property
#define CX4_END_OF_PROPERTIES	DEFINE_PROP_END_OF_LIST(),

static inline void device_class_set_legacy_reset(DeviceClass *dc,
						 void (*reset)(DeviceState *))
{
	dc->reset = reset;
}
#else
/* An array's length says how many there are. */
#define CX4_PROPERTY		const Property
#define CX4_END_OF_PROPERTIES
#endif

#endif
