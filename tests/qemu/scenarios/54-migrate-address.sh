#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# A guest with one address for RDMA and everything else (vif=) cannot migrate to the machine
# where it is: both domains would have the address at once. The migration ends with that
# reason, and TCP and RDMA reach the guest at its address as before. It can be saved here, and
# restored by the patched xl.
# limit: 400
# tier: soak
# xl: patched
. ./lib.sh
. ./vhca.sh
. ./rdmacm.sh
. ./suspend.sh
. ./create.sh
. ./migrate.sh
. ./oneaddr.sh

# reached: at its address, by everybody.
reached() {
	talks 4 'peer a' 'a peer' 'dom0 a'
	talks 6 'peer a'
	cm_case rping "rping -s -a @ -C 3 -V" "rping -c -a @ -C 3 -V" 'a dom0' 'dom0 a'
}

step "a PVH guest with one address"
backend_start
modprobe rdma_ucm
network_setup
network_state >/tmp/network
guest_create a pvh "vhca = [ \"hca=rxe2,ip=${V4[a]}/24 ${V6[a]}/64,vif=0\" ]"
check "the device is connected" wait_until 20 connected a 0
own_addresses a
serve_all a
reached

step "a live migration to this machine"
old=$(guest_domid a)
check "xl migrate fails" not migrate a 'xl migrate-receive'
check "the reason is told" grep -q 'has an address of these' "$SCENARIO_DIR/xl.migrate"
check "the guest is the old domain" [ "$(guest_domid a)" = "$old" ]
check "the network is back" wait_until 40 guest_sh -t 2 a true
check "TCP at the address" wait_until 20 talk 4 peer a
check "the device is connected" wait_until 40 connected a 0
reached

step "saved, and restored with its vhca"
save a
check "the address is nobody's" nothing_left
restore a
check "the network is back" wait_until 40 guest_sh -t 2 a true
check "the device is connected" wait_until 40 connected a 0
check "TCP at the address" wait_until 20 talk 4 peer a
reached

step "what is left"
end_services a
check "xl destroy" guest_destroy a
check "nothing is left in dom0's network" nothing_left
network_remove
kernel_clean
