#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# The patched xl: two devices by plain xl create, list, detach, attach,
# save and restore, destroy; what is wrong is refused and leaves nothing.
# limit: 600
# xl: patched
# by-hand: the patched libxl needs an xen-init-dom0 of its own, as its structures grow
. ./lib.sh
. ./vhca.sh

check "xl knows vhca devices" eval "xl help 2>&1 | grep -q vhca-list"
SPEC='vhca = [ "hca=rxe0,max-qp=64", "hca=rxe0" ]'
config_vhcas() { xl list -l "$1" | jq '.[0].config.vhcas'; }
no_trace() {	# NAME: no domain, no node
	! xl domid "$1" >/dev/null 2>&1 &&
	! xenstore-ls /libxl 2>/dev/null | grep -q vhca &&
	! xenstore-ls /local/domain/0/backend 2>/dev/null | grep -q vhca
}

step "two devices by plain xl create"
backend_start
dom0_ledger >/tmp/ledger.dom0
guest_create a pvh "$SPEC"
dom=$(guest_domid a)
for id in 0 1; do
	check "device $id: both sides are Connected" wait_until 20 connected a "$id"
done
check "the guest has both" wait_guest 10 a '[ "$(ibv_devices | grep -c vhca)" = 2 ]'
check "max-qp is the backend's" \
	test "$(xenstore-read /local/domain/0/backend/vhca/$dom/0/max-qp)" = 64
check "a software HCA has no PCI address" \
	not xenstore-exists "/libxl/$dom/device/vhca/0/pci"
check "xl vhca-list shows both, connected" \
	bash -c '[ "$(xl vhca-list a | grep -c " 4 *4 *rxe0")" = 2 ]'
check "vhcactl list shows both" bash -c '[ "$(vhcactl list a | grep -c rxe0)" = 2 ]'
check "xl list -l has them" test "$(config_vhcas a | jq length)" = 2

step "detach and attach"
check "xl vhca-detach" xl vhca-detach a 0
check "one is left in the guest" wait_guest 10 a '[ "$(ibv_devices | grep -c vhca)" = 1 ]'
check "and in the JSON" test "$(config_vhcas a | jq length)" = 1
check "xl vhca-attach" xl vhca-attach a hca=rxe0 max-cq=32
check "it connects" wait_guest 10 a '[ "$(ibv_devices | grep -c vhca)" = 2 ]'
new=$(xl vhca-list a | awk 'END { print $1 }')
check "vhcactl detaches what xl attached" vhcactl detach a "$new"
check "vhcactl attaches" vhcactl attach a hca=rxe0
new=$(vhcactl list a | awk 'END { print $3 }')
check "xl detaches what vhcactl attached" xl vhca-detach a "$new"

step "wrong specifications"
refused() {	# WORD SPEC
	local out
	! out=$(xl vhca-attach a "$2" 2>&1) && grep -q -e "$1" <<<"$out"
}
check "unknown key" refused 'unknown key "colour"' hca=rxe0,colour=red
check "value out of range" refused '1\.\.65535' hca=rxe0,max-qp=0
check "no such backend domain" refused 'no such domain' hca=rxe0,backend=nobody
check "a software HCA has no pci" refused 'no PCI device' hca=rxe0,pci=00:05.0
check "unknown HCA: the backend's reason" refused 'mlx9_9' hca=mlx9_9
id=$(xl vhca-list a | awk '/mlx9_9/ { print $1 }')
check "its device goes away" xl vhca-detach a "$id"

step "a create that fails leaves nothing"
for spec in hca=rxe0,max-qp=0 hca=mlx9_9; do
	cfg=$(guest_config "bad${#spec}" pvh "vhca = [ \"hca=rxe0\", \"$spec\" ]")
	check_not "$spec: xl create fails" xl create "$cfg"
	check "$spec: no domain" not xl domid "bad${#spec}"
	check "$spec: one device is left, that of a" wait_until 15 \
		bash -c '[ "$(vhcactl list | grep -c rxe0)" = 1 ]'
done

step "save and restore"
before=$(config_vhcas a)
check "save" xl save a /run/a.save
check "nothing is left meanwhile" wait_until 15 no_trace a
check "restore" xl restore /run/a.save
check "the configuration is the same" test "$(config_vhcas a)" = "$before"
check "the device comes back" wait_until 30 connected a 1
check "a program can open it" wait_guest 20 a 'ibv_devinfo | grep PORT_ACTIVE'
rm -f /run/a.save

step "destroy"
check "xl destroy" guest_destroy a
check "nothing is left" wait_until 15 no_trace a
ledger_close
kernel_clean
