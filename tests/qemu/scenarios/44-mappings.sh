#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Processes do to their queues and doorbell pages what a process may do to memory
# (move, protect, advise, lock, track, unmap, fork), and devices are taken from under
# them: no kernel complains, and nothing is left. A page of a queue that somebody holds
# keeps neither its process nor the file system that the device node was in.
# skip-ok: no time is left for it
# limit: 300
# soak-limit: 1200
# hca: yes
# qemu: -device connectx4,id=hca0,lid=1 -device connectx4,id=hca1,lid=2
. ./lib.sh
. ./vhca.sh
. ./hca.sh

# torture GUEST: of both devices at once.
torture() {
	guest_sh -t 90 "$1" 'for d in $(ls /sys/class/infiniband); do
			vhca-torture -d $d -t 8 -l '"$(seconds 60)"' -b /tmp/begun.$d \
				>/tmp/torture.$d 2>&1 &
			pids="$pids $!"
		done
		rc=0; for p in $pids; do wait $p || rc=$?; done
		cat /tmp/torture.*; exit $rc' >"/tmp/torture.$1" 2>&1
}

# round N: in both guests; in odd ones the devices go meanwhile.
round() {
	local g rc pids=()
	for g in a b; do
		guest_sh $g 'rm -f /tmp/begun.*'
		torture $g &
		pids+=($!)
	done
	if [ $(($1 % 2)) = 1 ]; then
		for g in a b; do
			wait_guest 80 $g 'for d in $(ls /sys/class/infiniband); do
				[ -e /tmp/begun.$d ] || exit 1
			done'
			check "$g: detached under it" vhcactl detach $g all
		done
	fi
	for g in a b; do
		rc=0
		wait "${pids[0]}" || rc=$?
		cat "/tmp/torture.$g"
		check "$g: mappings were tortured" [ $rc = 0 ]
		pids=("${pids[@]:1}")
	done
}

step "a PV and a PVH guest, both kinds of device"
hca_guests pv a pvh b
vhcactl detach b all
vhcactl detach a all
ledger_open a b
# A device is detached in each round with an odd number.
FIRST=$(long 1 0 0)
for ((n = FIRST; n < $(long 2 21 2); n++)); do
	step "round $n"
	[ $((n % 2)) = 1 ] && [ "$n" != "$FIRST" ] || { attach_both a; attach_both b; }
	round $n
done

step "a page of a queue that outlives its process"
# In a PV guest nobody can hold one.
attach_both b
check "b: the file system of its device node goes" guest_sh -t 60 b '
	for d in $(ls /sys/class/infiniband); do
		case "$(cat /sys/class/infiniband/$d/hca_type 2>/dev/null)" in
		MT*) continue;;
		esac
		{ vhca-torture -d $d -g 0 -p; echo $? >/tmp/held; } |
			{ sleep 12; cat >/dev/null; }
		[ "$(cat /tmp/held)" = 0 ] || exit 1
	done
	[ -e /tmp/held ] && ! dmesg | grep "Busy inodes"'
guests_end_clean a b
