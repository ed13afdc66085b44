# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# What scenarios about doorbell pages share: a process in a guest that has some
# (vhca-uar), and moving a guest to another HCA. Sourced after vhca.sh and
# hca.sh.

declare -A hold

# hold_start GUEST: a process whose queue pair and CQ others may try to ring
# for; hold_end GUEST fails if one could. At most 380 s.
hold_start() {
	: >"/tmp/hold.$1"	# not what an earlier one said
	guest_sh -t 400 "$1" 'vhca-uar hold 380' >"/tmp/hold.$1" 2>&1 &
	hold[$1]=$!
	wait_until 30 grep -q '^qpn' "/tmp/hold.$1" ||
		fail "vhca-uar in $1: $(tail -n 3 "/tmp/hold.$1")"
}
hold_end() {
	local rc=0
	guest_sh "$1" 'pkill -TERM -x vhca-uar'
	wait "${hold[$1]}" || rc=$?
	tail -n 1 "/tmp/hold.$1"
	return "$rc"
}

# held GUEST: "QPN CQN" of that process.
held() { sed -n 's/^qpn \([0-9]*\) cqn \([0-9]*\)$/\1 \2/p' "/tmp/hold.$1"; }

# hca_move GUEST HCA: a vhca on that HCA in place of those that it has.
hca_move() {
	vhcactl detach "$1" all
	vhcactl attach "$1" "hca=$2"
	wait_guest 30 "$1" 'ibv_devinfo | grep PORT_ACTIVE' ||
		fail "$1 has no working vhca on $2"
}
