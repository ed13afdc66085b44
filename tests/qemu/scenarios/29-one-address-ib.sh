#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# On an InfiniBand fabric two PV guests have one address each of IPoIB's network for RDMA
# and everything else: TCP and rdma_cm reach them at it from each other, from dom0 and
# from another host, over IPv4 and IPv6. Nothing is left in dom0's network.
# tier: soak
# limit: 600
# hca: yes
# qemu: -device connectx4,id=hca0 -device connectx4,id=hca1
. ./lib.sh
. ./vhca.sh
. ./hca.sh
. ./rdmacm.sh
. ./oneaddr.sh

SHARED_HCA=mlx5_0 SHARED_DEV=ib0

step "a fabric, and two guests with one address each"
fabric_start
agent_start
backend_start
guests_create pv a b
modprobe -a ib_ipoib rdma_ucm
wait_until 10 test -e /sys/class/net/ib1 || fail "there is no ib1"
two_hosts ib0 ib1 30
at_one_address 'a b' 'a dom0' 'dom0 b' 'a peer'
ip netns del peer
ip addr flush dev ib0
pkill -x opensm
kernel_clean a b
