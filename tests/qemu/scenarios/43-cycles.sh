#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Attach/detach cycles of two guests at a time, and some under traffic,
# leave nothing.
# tier: soak
# limit: 600
. ./lib.sh
. ./vhca.sh

# cycles GUEST N: attaches and detaches; every 5th time a program looks.
cycles() {
	local n
	for ((n = 1; n <= $2; n++)); do
		vhcactl attach "$1" hca=rxe0 || fail "attach $1, cycle $n"
		[ $((n % 5)) != 0 ] ||
			wait_guest 10 "$1" 'ibv_devinfo | grep PORT_ACTIVE' ||
			fail "no device of $1 in cycle $n"
		vhcactl detach "$1" all || fail "detach $1, cycle $n"
	done
}

step "two PV guests"
backend_start
guests_create pv a b
ledger_open a b
step "detach under traffic"
for ((round = 1; round <= $(long 1 3); round++)); do
	vhca_attach a
	traffic_inside a 300
	check "detach under traffic, $round" vhcactl detach a all
	check "the program ends with an error, not by time-out" ends_with_error a
done
ledger_close a b
N=$(long 5 100 3)
step "$N cycles of each"
cycles b "$N" &
other=$!
check "$N cycles of a" cycles a "$N"
check "$N cycles of b meanwhile" wait "$other"
ledger_close a b
kernel_clean a b
