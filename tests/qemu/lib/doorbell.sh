# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# What scenarios about doorbell pages share: a process in a guest that has some
# (vhca-uar), and moving a guest to another HCA. Sourced after vhca.sh and
# hca.sh.

declare -A hold

# hold_start GUEST: a process whose queue pair and CQ others may try to ring
# for; hold_end GUEST fails if one could. At most 380 s, on a slow host longer.
hold_start() {
	: >"/tmp/hold.$1"	# not what an earlier one said
	guest_sh -t 400 "$1" "vhca-uar hold $(seconds 190)" >"/tmp/hold.$1" 2>&1 &
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

DOORBELLS=500
refused() { hca_get "$1" doorbells-refused; }
rung_since() { [ "$(refused hca0)" -gt "$1" ]; }

# attack VICTIM ATTACKER HCA OTHER: the attacker's guest is on HCA.
attack() {
	local qpn cqn here there
	hold_start "$1"
	read -r qpn cqn < <(held "$1")
	here=$(refused "$3")
	there=$(refused "$4")
	check "$2 rings for QP $qpn and CQ $cqn of $1" guest_sh -t 60 "$2" \
		"vhca-uar ring $qpn $cqn $DOORBELLS"
	note "$3 refused $(($(refused "$3") - here)) doorbells"
	check "each was refused, and no other" \
		[ $(($(refused "$3") - here)) = $((2 * DOORBELLS)) ]
	check "$4 refused none" [ "$(refused "$4")" = "$there" ]
	check "$1 did not notice" hold_end "$1"
}
