#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Allocations fail, in the kernels of a guest and of dom0, while a device is met, while
# objects are made and destroyed and while queues are mapped: programs get errors,
# then all works again, and nothing is lost.
# by-hand: needs a kernel that can be told to fail (make check-debug)
# limit: 900
. ./lib.sh
. ./vhca.sh

[ -e /sys/kernel/debug/failslab ] ||
	skip "this kernel cannot fail allocations: make check-debug"

# faults PERCENT TIMES FILTER: a command. FILTER Y: only of processes that say so in
# /proc/PID/make-it-fail. What it opens is lost, too, from the moment it begins.
faults() {
	cat <<-EOT
	for d in failslab fail_page_alloc; do
		cd /sys/kernel/debug/\$d
		echo 0 >verbose
		echo $3 >task-filter
		echo $2 >times
		echo N >ignore-gfp-wait
		[ ! -e min-order ] || echo 0 >min-order
	done
	echo $1 >probability
	until echo $1 >/sys/kernel/debug/failslab/probability; do :; done
	EOT
}
NONE='cd /sys/kernel/debug
	echo 0 >failslab/probability && echo 0 >fail_page_alloc/probability'

works() {
	wait_guest 60 "$1" 'ibv_devinfo | grep PORT_ACTIVE' &&
		guest_sh -t 100 "$1" 'vhca-xfer --loop -t rc-write-4k,rc-send-4k'
}

# probed GUEST: all verbs, most of them more often than once; how it ends is not the
# point, that it ends is.
probed() {
	guest_sh -t 200 "$1" "timeout $(seconds 60) vhca-probe -F >/tmp/probe"'; rc=$?
		cat /tmp/probe >>/tmp/probes
		[ $rc -lt 124 ]'
}

# refused GUEST: verbs that had no memory, of those runs.
refused() { guest_sh "$1" 'n=$(grep -c ENOMEM /tmp/probes); echo "ENOMEM: $n"
	[ "$n" -gt 0 ]'; }

# lost GUEST TIMES: allocations were lost there, so fewer than TIMES are left.
lost() {
	guest_sh "$1" "cd /sys/kernel/debug
		cat failslab/times fail_page_alloc/times | tr '\\n' ' '
		[ \$(cat failslab/times) -lt $2 ]"
}

step "a PV and a PVH guest"
backend_start
guest_create a pv
guest_create b pvh
ledger_open a b
vhca_attach_all a b

step "in a process's verbs"
for g in a b; do
	guest_sh $g "$(faults 3 -1 Y)"
	check "$g: all verbs, with 3 % of allocations lost" probed $g
	guest_sh $g "$NONE"
	check "$g: verbs were refused for want of memory" refused $g
	check "$g works" works $g
done

step "while a device is met and left"
for n in 1 3 6; do
	vhcactl detach a all
	guest_sh a "$(faults 30 $((2 * n)) N)"
	vhcactl attach a hca=rxe0 || note "vhcactl attach did not see it come up"
	check "a lost some of $((2 * n)) allocations" wait_until 5 lost a $((2 * n))
	wait_guest 10 a "$NONE"
	check "a works after $((2 * n)) lost allocations" works a
done

step "in the worker's system calls"
bash -c "$(faults 2 -1 Y)"
for task in /proc/"$(worker_pid a 0)"/task/*; do
	echo 1 >"$task/make-it-fail"
done
guest_sh -t 200 a 'timeout 100 vhca-probe >/tmp/probe || true'
for task in /proc/"$(worker_pid a 0)"/task/*; do
	[ ! -e "$task" ] || echo 0 >"$task/make-it-fail"
done
bash -c "$NONE"
check "a works" works a
check "b did not notice" works b

guests_end_clean a b
