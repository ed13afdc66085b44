#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# A PV guest and a PVH guest do the same: in PV queue pages are mapped by
# grant straight into the page tables of the process. Both are trusted: they have
# memory windows.
# tier: soak
# limit: 900
. ./lib.sh
. ./vhca.sh

step "a PV and a PVH guest with a vhca each"
VHCA_KEYS=trusted=1
guests_with_vhca pv a pvh b

step "Debian's programs"
for t in rc ud; do
	pair "ibv_${t}_pingpong, events" a b \
		"ibv_${t}_pingpong -g 1 -n 100 -s 1024 -e"
done
pair "ib_write_bw 64 KiB" a b "ib_write_bw -F -x 1 -s 65536 -n 500"
pair "ib_atomic_lat" a b "ib_atomic_lat -F -x 1 -n 200"

step "verified transfers"
xfer_between "every byte of all transfers up to 1 MiB" b a \
	'-q 100 --max-size 1048576'
# rxe does not check a window's bounds: that one is always skipped.
# shellcheck disable=SC2016
check "the other tests of memory windows are not left out" guest_sh a \
	'[ "$(vhca-xfer --loop -t "mw-*" | tail -n 1)" = "3 passed, 0 failed, 1 skipped" ]'
vhcactl detach a all
vhcactl detach b all
kernel_clean a b
