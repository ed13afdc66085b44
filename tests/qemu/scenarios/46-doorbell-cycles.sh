#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Many times attach, a program that has doorbell pages, detach; in three guests at a
# time, on one HCA.
# tier: soak
# limit: 900
# hca: yes
# qemu: -device connectx4,id=hca0,lid=1 -device connectx4,id=hca1,lid=2
. ./lib.sh
. ./vhca.sh
. ./hca.sh

# cycles GUEST N
cycles() {
	local n run
	for ((n = 1; n <= $2; n++)); do
		vhcactl attach "$1" "hca=${HCAS%% *}" || fail "attach $1, cycle $n"
		# Either opens a context and maps its doorbell pages: few or all.
		run='MLX5_TOTAL_UUARS=4 MLX5_NUM_LOW_LAT_UUARS=1 ibv_devinfo'
		[ $((n % 3)) != 0 ] || run='vhca-xfer --loop -g 0 -t rc-write-4k'
		wait_guest 20 "$1" "$run" || fail "$run in $1, cycle $n"
		vhcactl detach "$1" all || fail "detach $1, cycle $n"
	done
}

nothing_kept() { [ "$(cat $DBG_HELPER/kept_mms)" = 0 ]; }

step "two PV guests and a PVH guest"
pool_end
hca_guests pv a pv b pvh c
for g in a b c; do
	vhcactl detach $g all
done
ledger_open a b c
hca_ledger_open
step "cycles"
PV=$(long 6 45)
PVH=$(long 3 10)
cycles a "$PV" &
others=($!)
cycles b "$PV" &
others+=($!)
check "$PVH cycles of c" cycles c "$PVH"
check "$PV cycles of a meanwhile" wait "${others[0]}"
check "$PV cycles of b meanwhile" wait "${others[1]}"
ledger_close a b c
hca_ledger_close
kernel_clean a b c
guest_destroy a
guest_destroy b
guest_destroy c
check "no memory of dead workers is kept" \
	wait_until 20 nothing_kept
