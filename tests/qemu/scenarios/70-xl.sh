#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# The patched xl manages vhca devices as it does others: it makes the two that a
# guest's configuration names, lists, detaches and attaches them, keeps them over save
# and restore, and refuses what is wrong without a trace.
# skip-ok: no time is left for it
# limit: 300
# xl: patched
. ./lib.sh
. ./vhca.sh
. ./create.sh

PATH=/usr/lib/xen-vhca/bin:$PATH

devid_of() { xl vhca-list a | awk -v h="$1" '$5 == h { print $1 }'; }
in_json() {
	xl list -l a | jq -c '[.[0].config.vhcas[]? | [.devid, .hca, .max_qp]]'
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
	'keys are hca, backend, pci, ip, pkeys, umad, port, vif, max-ucontext'
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
ledger_close
rxe1_remove
kernel_clean
