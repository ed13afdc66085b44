#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# On an HCA with an Ethernet port two PV guests have one address each for RDMA and everything
# else: TCP and rdma_cm reach them at it from each other, from dom0 and from another host, over
# IPv4 and IPv6. Nothing is left in dom0's network.
# tier: soak
# limit: 600
# hca: yes
# qemu: -device connectx4,id=hca0,port=eth -device connectx4,id=hca1,port=eth
. ./lib.sh
. ./vhca.sh
. ./hca.sh
. ./rdmacm.sh
. ./oneaddr.sh

SHARED_HCA=mlx5_0

step "an Ethernet port, and two guests with one address each"
hca_drivers
modprobe rdma_ucm
SHARED_DEV=$(ls /sys/class/infiniband/mlx5_0/device/net)
two_hosts "$SHARED_DEV" "$(ls /sys/class/infiniband/mlx5_1/device/net)"
agent_start
backend_start
guests_create pv a b
at_one_address 'a b' 'a dom0' 'dom0 b' 'a peer'
ip netns del peer
ip addr flush dev "$SHARED_DEV"
kernel_clean a b
