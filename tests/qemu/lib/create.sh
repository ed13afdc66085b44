# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# What scenarios share whose guest gets two HCAs from its configuration: the HCAs,
# what such a guest a must have, and configurations that must be refused. Sourced
# after vhca.sh.

SPECS='vhca = [ "hca=rxe0,max-qp=64", "hca=rxe1" ]'

# A second HCA, on a network of its own.
rxe1_setup() {
	ip link add d1 type dummy
	ip addr add 10.9.1.1/24 dev d1
	ip link set d1 mtu 4200 up
	rdma link add rxe1 type rxe netdev d1
}
rxe1_remove() {
	rdma link delete rxe1
	ip link delete d1
}

backend_node() { xenstore-read "/local/domain/0/backend/vhca/$dom/$1"; }
both_listed() { [ "$("$@" | grep -c -e rxe0 -e rxe1)" = 2 ]; }
guest_has() { wait_guest 20 a "[ \"\$(ibv_devices | grep -c vhca)\" = $1 ]"; }

# Both devices carry data: a program against itself on each.
programs_run() {
	# shellcheck disable=SC2016
	guest_sh a 'for d in $(ibv_devices | awk "/vhca/ { print \$1 }"); do
		ibv_rc_pingpong -d "$d" -g 1 -n 20 & server=$!
		for ((i = 0; i < 300; i++)); do
			! ss -ltnH | grep -q ":18515 " || break
			sleep 0.1
		done
		ibv_rc_pingpong -d "$d" -g 1 -n 20 127.0.0.1 &&
			wait "$server" || exit 1
	done'
}

# guest_complete WHEN ID0 HCA0 ID1 HCA1: the guest has both devices, at their
# numbers, and they work.
guest_complete() {
	local when=$1 id hca
	shift
	dom=$(guest_domid a)
	while [ $# -gt 0 ]; do
		id=$1 hca=$2
		shift 2
		check "$when: device $id is connected" \
			wait_until 20 connected a "$id"
		check "$when: device $id is of $hca" \
			test "$(backend_node "$id/hca")" = "$hca"
	done
	check "$when: the guest has both" guest_has 2
	check "$when: verbs programs run on both" programs_run
}

# refused PROGRAM... -- WORDS...: fails, and says every one of the words.
refused() {
	local command=() out
	while [ "$1" != -- ]; do
		command+=("$1")
		shift
	done
	shift
	! out=$("${command[@]}" 2>&1) || return 1
	echo "$out"
	for word; do
		grep -q -F -e "$word" <<<"$out" || return 1
	done
}

no_node() { ! xenstore-ls /libxl | grep vhca; }

# create_refused PROGRAM SPEC WORDS...: no guest comes of it, nor a part of one.
create_refused() {
	local program=$1 spec=$2 cfg
	shift 2
	cfg=$(guest_config bad pv "vhca = [ \"hca=rxe0\", \"$spec\" ]")
	check "$program create refuses $spec" \
		refused "$program" create "$cfg" -- "$@"
	check "no domain is left" not xl domid bad
	check "no node is left" no_node
}
