#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# A guest shares its address with its vif where the HCA's network device is a bond, and
# where the card is a port of the bridge of the vif: TCP and rdma_cm reach the guests from
# each other, from dom0 and from another host. Nothing is left in dom0's network.
# tier: soak
# limit: 600
. ./lib.sh
. ./vhca.sh
. ./rdmacm.sh
. ./oneaddr.sh

PAIRS=('dom0 a' 'a dom0' 'peer a' 'a peer' 'a b' 'b a')

# shared NETWORK-DEVICE: two guests have one address each of its network.
shared() {
	local g
	network_state >/tmp/network
	share a
	share b
	check "$1 has their addresses" bash -c "[ \$(ip -o addr show dev $1 |
		grep -cE '${V4[a]}/|${V4[b]}/|${V6[a]}/|${V6[b]}/') = 4 ]"
	serve_all a b
	talks 4 "${PAIRS[@]}"
	talks 6 "${PAIRS[@]}"
	check "a answers a ping of the other host" \
		at peer "ping -q -c 1 -W $(seconds 2) ${V4[a]}"
	cm_case rping "rping -s -a @ -C 3 -V" "rping -c -a @ -C 3 -V" 'a b' 'a dom0' 'dom0 b'
	end_services a b
	for g in a b; do
		check "detach $g" vhcactl detach "$g" all
		own_no_addresses "$g"
	done
	check "nothing is left in dom0's network" nothing_left
}

step "two guests"
backend_start
modprobe rdma_ucm
guests_create pv a b

step "the HCA's network device is a bond"
modprobe bonding max_bonds=0
SHARED_DEV=bond0
network_setup bond mode active-backup miimon 100
shared bond0
network_remove
ip link delete bond0

step "the card is a port of the vif's bridge"
SHARED_DEV=xenbr0
network_setup
shared xenbr0
network_remove
kernel_clean a b
