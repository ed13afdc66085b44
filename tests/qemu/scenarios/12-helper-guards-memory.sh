#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# xen-vhca-helper grants Soft-RoCE rings, never frees a page that is mapped,
# and lets a killed worker's grant mappings go only after its memory regions.
# limit: 150
. ./lib.sh

# A kernel complaint about page tables, grants or references.
complaints() {
	dmesg | grep -E 'BUG|WARNING|Bad (page|rss)|Call Trace|still pending'
}

step "Soft-RoCE and the helper"
rxe_setup
modprobe xen-vhca-helper
mountpoint -q /sys/kernel/debug || mount -t debugfs none /sys/kernel/debug
check "the device node is there" test -c /dev/xen/vhca-helper
check "only root may open it" test "$(stat -c %a /dev/xen/vhca-helper)" = 600

step "grant, unmap late, kill"
check "vhca-helper-test" vhca-helper-test rxe0 0
check "the waiting guard said so" bash -c 'dmesg | grep -q "memory of dead"'
check_not "the kernel complains" complaints
check_not "a memory region is left" bash -c 'rdma res show mr | grep -q .'
check "the module can go" modprobe -r xen-vhca-helper
