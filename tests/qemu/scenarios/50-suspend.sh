#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Many times a guest with traffic is checkpointed, or saved and restored, with a
# toolstack that knows of vhcas and with one that does not: programs hear that the
# device died, the device comes back, the next program works; nothing is left. In the
# long form another guest is suspended meanwhile.
# skip-ok: no time is left for it
# limit: 900
. ./lib.sh
. ./vhca.sh
. ./suspend.sh

CYCLES=$(long 3 25)	# of guest a
OTHERS=$(long 0 25 1)	# of guest b meanwhile
GUESTS=(a)
[ "$OTHERS" = 0 ] || GUESTS+=(b)

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

step "PV guests: ${GUESTS[*]}"
backend_start
# A suspend copies all of their memory.
for g in "${GUESTS[@]}"; do
	guest_config "$g" pv "mem=$GUEST_MEM_LEAST" >/dev/null
done
guests_start "${GUESTS[@]}"
ledger_open "${GUESTS[@]}"
vhca_attach_all "${GUESTS[@]}"
# In the short form it rests between rounds: it shares the processor with suspends.
load_start a -e "--pause $(long 10 0 1000)"
check "verbs objects exist" not no_objects

step "cycles"
# On a debug kernel one after the other: a's programs leave b's no time.
if on_debug_kernel; then
	check "$CYCLES cycles of a" cycles a "$CYCLES"
	load_end a
fi
if [ "$OTHERS" != 0 ]; then
	load_start b -e "--pause $(long 20 0 1000)"
	cycles b "$OTHERS" &
	other=$!
fi
on_debug_kernel || check "$CYCLES cycles of a" cycles a "$CYCLES"
[ "$OTHERS" = 0 ] || check "$OTHERS of b" wait "$other"

step "what is left"
for g in "${GUESTS[@]}"; do
	load_end "$g"
	vhcactl detach "$g" all
done
ledger_close "${GUESTS[@]}"
check "no verbs object is left" no_objects
kernel_clean "${GUESTS[@]}"
