/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 The vhca authors
 *
 * Functions that drop capabilities.
 */
#ifndef VL_CAPS_H
#define VL_CAPS_H

#include <stdint.h>

/**
 * vl_caps_retain() - drop all capabilities but these, and all ways to gain others
 * @retain: bits of capabilities 0 to 31; the process retains those that it has
 *
 * Programs that the process starts have none (no_new_privs, no inheritable ones,
 * no bounding set where the process may change it). The process is not dumpable
 * afterwards. Return: 0 or -errno.
 */
int vl_caps_retain(uint32_t retain);

#endif
