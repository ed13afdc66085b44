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

step "two guests"
backend_start
modprobe rdma_ucm
guests_create pv a b

step "the HCA's network device is a bond"
modprobe bonding max_bonds=0
SHARED_DEV=bond0
network_setup bond mode active-backup miimon 100
at_one_address 'a b' 'a dom0' 'dom0 b'
network_remove
ip link delete bond0

step "the card is a port of the vif's bridge"
SHARED_DEV=xenbr0
network_setup
at_one_address 'a b' 'a dom0' 'dom0 b'
network_remove
kernel_clean a b
