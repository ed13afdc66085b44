#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# A process without CAP_IPC_LOCK may pin as much in a guest as in dom0: what it
# registers counts against RLIMIT_MEMLOCK, twice if it registers the same pages twice,
# queues of its provider too, and nothing is counted when all has ended. A page of
# doorbell records counts once, and whichever object on it goes first, none is missed.
# tier: soak
# limit: 300
# hca: yes
# qemu: -device connectx4,id=hca0,lid=1 -device connectx4,id=hca1,lid=2
. ./lib.sh
. ./vhca.sh
. ./hca.sh

anybody="setpriv --reuid 1000 --regid 1000 --clear-groups"

step "guests: a model HCA, Soft-RoCE"
hca_guests pv a pv b
vhca_attach b
wait_guest 20 b '[ -e /sys/class/infiniband/vhca1 ]'

# both HCA GUEST DEVICE
both() {
	local capped=()
	# a PV dom0 that gave memory away has frames in disorder
	[ "$1" = rxe0 ] || capped=(vhca-helper-test --capped "$1")
	# shellcheck disable=SC2086
	"${capped[@]}" $anybody vhca-pinned "$1" >"$SCENARIO_DIR/$1.native"
	guest_sh "$2" "$anybody vhca-pinned $3" >"$SCENARIO_DIR/$1.guest"
	cat "$SCENARIO_DIR/$1.guest"
	diff "$SCENARIO_DIR/$1.native" "$SCENARIO_DIR/$1.guest"
}
step "the same limit"
for row in 'mlx5_0 a vhca0' 'rxe0 b vhca1'; do
	read -r hca guest device <<<"$row"
	check "$hca: pinned and refused as in dom0" both "$hca" "$guest" "$device"
	for line in 'reg ok +512' 'reg_same_pages ok +512' \
		'reg_over_limit ENOMEM +0' 'dereg ok -512' \
		'reg_within_limit ok +512' 'dereg_all ok -1024'; do
		check "$hca: $line" grep -qxF "$line" "$SCENARIO_DIR/$hca.guest"
	done
done
check "a: the backend has let go of each page" \
	guest_sh a "! dmesg | grep 'backend still maps'"
vhcactl detach a all
vhcactl detach b all
kernel_clean a b
