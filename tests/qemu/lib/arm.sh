# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# What scenarios on Arm share, with dom0 and without. Sourced after vhca.sh.

# Kernels map pages of other domains in place of their own, which they must have given up
# before; what memory they have is committed with care, as on x86, where a small guest
# refuses a program that asks for most of it. $mib: how much, $percent: of what is left.
GIVE_UP='dir=/sys/devices/system/xen_memory/xen_memory0
	echo $(($(cat $dir/target_kb) - 1024 * mib)) >$dir/target_kb
	until [ "$(cat $dir/info/current_kb)" -le "$(cat $dir/target_kb)" ]; do
		sleep 0.2
	done
	echo $percent >/proc/sys/vm/overcommit_ratio
	echo 2 >/proc/sys/vm/overcommit_memory'

# room_for_many GUEST...: for regions of 64 MiB, and more queues than a few. A dom0 has room
# (root/dom0-init).
room_for_many() {
	local g
	[ "$(own_domid)" = 0 ] || check "memory is given up for mapped pages" \
		timeout "$(seconds 60)" env mib=96 percent=60 bash -c "$GIVE_UP"
	for g; do
		guest_sh "$g" "mib=24 percent=40; $GIVE_UP"
	done
}

# perftests_between SERVER CLIENT [OPTION...]: some of each kind.
perftests_between() {
	local a=$1 b=$2 t
	shift 2
	step "perftest"
	for t in 'send_lat -s 8' 'send_lat -s 8 -e' 'write_lat -s 8' 'read_lat -s 8' \
		'atomic_lat' 'write_bw -s 65536' 'read_bw -s 65536' \
		'send_bw -c UD -s 1024' 'write_bw -q 8 -s 4096'; do
		pair "ib_$t" "$a" "$b" "ib_$t -F $* -n 200"
	done
}

# same_verbs GUEST DIFFERENCES OPTION...: vhca-probe says the same on the bare HCA here,
# which OPTION... names, and in the guest, but for what a list of tests/verbs/ explains.
# Both have room.
same_verbs() {
	local g=$1 list=$2 dir=$SCENARIO_DIR
	shift 2
	vhca-probe "$@" >"$dir/native.txt" || true
	check "the native probe ran" [ "$(wc -l <"$dir/native.txt")" -gt 60 ]
	# Its own device is the only one there.
	guest_sh -t 300 "$g" "vhca-probe $XFER_GID" >"$dir/$g.txt" || true
	check "$g: same result of every verb as natively, but documented ones" \
		/tests/verbs/compare.sh "$dir/native.txt" "$dir/$g.txt" "/tests/verbs/$list"
}
