#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Processes write each verb twice at once for one object, and what they like into the
# queues of an mlx5 (in the long form 66-wqe-hca does that): no kernel complains, and
# nothing is left. Timers interrupt them at any verb: no verb notices.
# limit: 500
# tier: soak
# soak-limit: 1200
# hca: yes
# qemu: -device connectx4,id=hca0,lid=1 -device connectx4,id=hca1,lid=2
. ./lib.sh
. ./vhca.sh
. ./hca.sh

WQES=$(long 5000 1000 2000)	# of each guest

# wild GUEST: the HCA, which is the model, reads them where the process wrote them.
wild() {
	check "$1: $WQES wild work requests" guest_sh -t 200 "$1" \
		"vhca-wqe -g 0 -n $WQES >/tmp/wild; rc=\$?; cat /tmp/wild; exit \$rc"
}
wqes() { echo $(($(hca_get hca0 wqes) + $(hca_get hca1 wqes))); }

step "a PV and a PVH guest, both kinds of device"
hca_guests pv a pvh b

step "wild work requests, in both guests"
old="$(worker_pid a 0) $(worker_pid b 0)"
seen=$(wqes)
wild a &
wild_a=$!
wild b &
all_well "wild work requests" "$wild_a" $!
seen=$(($(wqes) - seen))
check "the HCAs took $seen of them" [ "$seen" -gt $((WQES / 10)) ]
check "the workers are the same" \
	[ "$(worker_pid a 0) $(worker_pid b 0)" = "$old" ]
vhcactl detach b all
vhcactl detach a all
ledger_open a b
for g in a b; do
	# It has the name of the vhca's.
	guest_sh $g 'rmmod ib_umad 2>/dev/null || true'
	attach_both $g umad=query
done

step "each verb twice at once on one object"
for g in a b; do
	check "$g: on both devices" guest_sh -t $(long 120 500) $g "
		for d in \$(ls /sys/class/infiniband); do
			vhca-twice -d \$d -n $(long 3 60 2) || exit 1
		done"
done

step "each verb while timers interrupt its process"
# did FILE VERB...: it is no refusal that was the same each time.
did() {
	local verb
	for verb in "${@:2}"; do
		grep -qx "$verb: ok" "$1" || { echo "$verb was refused"; return 1; }
	done
}
# a PV dom0 that gave memory away has frames in disorder
check "natively, Soft-RoCE" vhca-signals -d rxe0 -g 1
check "natively, mlx5" vhca-helper-test --capped mlx5_0 vhca-signals -d mlx5_0 -g 0
timers=$(long 8 80)
for g in a b; do
	check "$g: on both devices" guest_sh -t $(long 120 500) $g "
		for d in \$(ls /sys/class/infiniband); do
			vhca-signals -d \$d -g 0 -n $timers >>/tmp/signals || exit 1
		done"
	guest_sh $g 'cat /tmp/signals' >/tmp/signals.$g
	cat /tmp/signals.$g
	check "$g: with XRC" did /tmp/signals.$g xrc_srq xrc_send xrc_recv cm_open
	timers=$(long 4 80)
done

guests_end_clean a b
