#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Many times a guest with traffic is checkpointed, or saved and restored, with a
# toolstack that knows of vhcas and with one that does not: programs hear that the
# device died, the device comes back, the next program works; nothing is left.
# limit: 900
. ./lib.sh
. ./vhca.sh
. ./suspend.sh

CYCLES=$(long 3 25)	# of guest a
OTHERS=$(long 1 25)	# of guest b meanwhile

# cycles GUEST N: of ten, the second is a restore of one kind, the third of the other.
cycles() {
	local n
	for ((n = 0; n < $2; n++)); do
		case $((n % 10)) in
		1)	resume_with "$1" rxe0 ;;
		2)	resume_without "$1" rxe0 ;;
		*)	checkpoint "$1" ;;
		esac
		note "$1: cycle $((n + 1)) of $2"
	done
}

step "two PV guests"
backend_start
# A suspend copies all of their memory.
guest_config a pv "mem=$GUEST_MEM_LEAST" >/dev/null
guest_config b pv "mem=$GUEST_MEM_LEAST" >/dev/null
guests_start a b
ledger_open a b
vhca_attach_all a b
load_start a -e
# b rests between rounds: it shares the processor with a's suspends.
load_start b -e "--pause $(long 20 0 200)"
check "verbs objects exist" not no_objects

step "cycles"
cycles b "$OTHERS" &
other=$!
check "$CYCLES cycles of a" cycles a "$CYCLES"
check "meanwhile $OTHERS of b" wait "$other"

step "what is left"
for g in a b; do
	load_end $g
	vhcactl detach $g all
done
ledger_close a b
check "no verbs object is left" no_objects
kernel_clean a b
