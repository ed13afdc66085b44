# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# What scenarios share in which allocations fail: in processes' verbs, while a device is
# met and left, in a worker's system calls. Sourced after vhca.sh. XFER_GID: "-g N" of
# programs in the guest.

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
		guest_sh -t 100 "$1" \
			"vhca-xfer --loop $XFER_GID -t rc-write-4k,rc-send-4k"
}

# probed GUEST: all verbs, most of them more often than once; how it ends is not the
# point, that it ends is.
probed() {
	guest_sh -t 200 "$1" "timeout $(seconds 60) vhca-probe $XFER_GID -F >/tmp/probe"'; rc=$?
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

# faults_in_verbs GUEST...: in a process's verbs.
faults_in_verbs() {
	local g
	for g; do
		guest_sh "$g" "$(faults 3 -1 Y)"
		check "$g: all verbs, with 3 % of allocations lost" probed "$g"
		guest_sh "$g" "$NONE"
		check "$g: verbs were refused for want of memory" refused "$g"
		check "$g works" works "$g"
	done
}

# faults_in_meeting GUEST HCA: while a device is met and left.
faults_in_meeting() {
	local n
	for n in 1 3 6; do
		vhcactl detach "$1" all
		guest_sh "$1" "$(faults 30 $((2 * n)) N)"
		vhcactl attach "$1" "hca=$2" || note "vhcactl attach did not see it come up"
		check "$1 lost some of $((2 * n)) allocations" \
			wait_until 5 lost "$1" $((2 * n))
		wait_guest 10 "$1" "$NONE"
		check "$1 works after $((2 * n)) lost allocations" works "$1"
	done
}

# faults_in_worker GUEST: in its worker's system calls. Many probes cannot even open the
# device then.
faults_in_worker() {
	local task dir=/sys/kernel/debug left=100000 n
	bash -c "$(faults 2 $left Y)"
	for task in /proc/"$(worker_pid "$1" 0)"/task/*; do
		echo 1 >"$task/make-it-fail"
	done
	for n in 1 2 3; do
		guest_sh -t 200 "$1" "timeout 60 vhca-probe $XFER_GID >/tmp/probe || true"
	done
	for task in /proc/"$(worker_pid "$1" 0)"/task/*; do
		[ ! -e "$task" ] || echo 0 >"$task/make-it-fail"
	done
	n=$((left - $(cat $dir/failslab/times) + left - $(cat $dir/fail_page_alloc/times)))
	bash -c "$NONE"
	check "the worker lost $n allocations" [ "$n" -gt 0 ]
}
