#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# A guest's configuration names two HCAs. The patched xl makes, lists, detaches
# and attaches its devices, keeps them over save and restore, and refuses what is
# wrong without a trace. With Debian's xl the same file works by vhcactl create.
# limit: 300
# xl: patched
. ./lib.sh
. ./vhca.sh

stock=$PATH
patched=/usr/lib/xen-vhca/bin:$PATH
PATH=$patched
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
devid_of() { xl vhca-list a | awk -v h="$1" '$5 == h { print $1 }'; }
in_json() {
	xl list -l a | jq -c '[.[0].config.vhcas[]? | [.devid, .hca, .max_qp]]'
}
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

step "two devices by plain xl create"
check "this xl knows vhca devices" eval 'xl help | grep vhca-list'
backend_start
rxe1_setup
dom0_ledger >/tmp/ledger.dom0
guest_create a pv "$SPECS"
guest_complete create 0 rxe0 1 rxe1
check "max-qp is the backend's" test "$(backend_node 0/max-qp)" = 64
check "a software HCA has no PCI address" \
	not xenstore-exists "/libxl/$dom/device/vhca/0/pci"
check "xl vhca-list has both, connected" \
	test "$(xl vhca-list a | grep -c ' 4 *4 *rxe')" = 2
check "vhcactl list has both" both_listed vhcactl list a
check "xl list -l has both" \
	test "$(in_json)" = '[[0,"rxe0",64],[1,"rxe1",null]]'

step "detach and attach"
check "vhcactl detaches what xl made" vhcactl detach a 0
check "the guest has one" guest_has 1
check "xl list -l has one" test "$(in_json)" = '[[1,"rxe1",null]]'
check "vhcactl attaches" vhcactl attach a hca=rxe0
check "xl detaches what vhcactl attached" xl vhca-detach a "$(devid_of rxe0)"
check "xl vhca-attach" xl vhca-attach a hca=rxe0 max-qp=32
id=$(devid_of rxe0)
check "it is connected" wait_until 20 connected a "$id"
check "the guest has two" guest_has 2
check "xl list -l has two" \
	test "$(in_json)" = "[[1,\"rxe1\",null],[$id,\"rxe0\",32]]"

step "save and restore"
check "xl save" xl save a /run/a.save
check "the domain is gone" not xl domid a
ledger_close
check "xl restore" xl restore /run/a.save
rm /run/a.save
check "xl list -l has what it had" \
	test "$(in_json)" = "[[1,\"rxe1\",null],[$id,\"rxe0\",32]]"
guest_complete restore 1 rxe1 "$id" rxe0

step "destroy"
check "xl destroy" guest_destroy a
check "no node is left" no_node

step "what is wrong is refused"
create_refused xl hca=rxe1,colour=red 'unknown key "colour"' \
	'keys are hca, backend, pci, port, max-ucontext'
create_refused xl hca=rxe1,max-qp=70000 max-qp=70000 1..65535
create_refused xl hca=rxe1,backend=nobody backend=nobody 'no such domain'
create_refused xl hca=mlx9_9 'hca "mlx9_9" does not exist' \
	'this domain has: rxe0, rxe1'

step "vhcactl create with an xl that makes the devices itself"
check "vhcactl create" vhcactl create "$GUEST_RUN/a.cfg"
check "no device is made twice" \
	test "$(in_json)" = '[[0,"rxe0",64],[1,"rxe1",null]]'
check "no node is made twice" both_listed vhcactl list a
guest_destroy a

step "Debian's xl and vhcactl create: the same file"
PATH=$stock
check "this xl does not know vhca devices" \
	not eval 'xl help | grep vhca-list'
create_refused vhcactl hca=rxe1,colour=red colour 'hca, backend'
create_refused vhcactl hca=rxe1,backend=nobody backend=nobody
guest_start a vhcactl
guest_complete "vhcactl create" 0 rxe0 1 rxe1
check "vhcactl list has both" both_listed vhcactl list a
check "xl destroy" guest_destroy a
ledger_close
rxe1_remove
kernel_clean
