#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# The debug kernel tells: KASAN sees a module's use of freed memory in PV and PVH
# domains, and it looks at the memory accesses of frontend and helper.
# by-hand: needs a kernel with KASAN (make check-debug)
# limit: 200
. ./lib.sh
. ./vhca.sh

# Inline checks call nothing but the report.
instrumented() { grep -Eq "__asan_(report_)?load" "$(modinfo -n "$1")"; }
instrumented crc32_generic ||
	skip "this kernel has no KASAN: make check-debug"

# What guests do: Linux's own module uses memory that it has freed.
CONTROL='modprobe kasan_test_module 2>/dev/null
	dmesg | grep "BUG: KASAN: .*use-after-free"'

step "our modules"
check "the helper is instrumented" instrumented xen-vhca-helper
check "the frontend is instrumented" instrumented xen-vhcafront

step "a fault in a PV and a PVH guest"
guest_config a pv >/dev/null
guest_config b pvh >/dev/null
guests_start a b
for g in a b; do
	check "$g: its frontend is the same" guest_sh $g \
		'grep -Eq "__asan_(report_)?load" "$(modinfo -n xen-vhcafront)"'
	check_not "$g: nothing is reported yet" guest_sh $g \
		"dmesg | grep -E '$BAD_KERNEL'"
	check "$g: KASAN reports it" guest_sh $g "$CONTROL"
done
spoilt a b
