#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Machine "a" of two-machines.sh --address: two PV guests have one address each for RDMA and
# everything else, on the Ethernet port of an HCA. TCP and rdma_cm reach them at it from each
# other, from dom0, and over the cable from machine "b".
# limit: 900
# hca: yes
. ./lib.sh
. ./vhca.sh
. ./hca.sh
. ./rdmacm.sh
. ./oneaddr.sh

HCAS=mlx5_0
SHARED_HCA=mlx5_0
peer_sh() { guest-shell -t "$(seconds 60)" "${V4[peer]}" "$SHELL_PORT" "$1"; }

step "an Ethernet port, and the other machine"
hca_drivers
modprobe rdma_ucm
SHARED_DEV=$(ls /sys/class/infiniband/mlx5_0/device/net)
ip addr add "${V4[dom0]}/24" dev "$SHARED_DEV"
ip addr add "${V6[dom0]}/64" dev "$SHARED_DEV" nodad
ip link set "$SHARED_DEV" up
check "the cable is there" wait_until 120 peer_sh true

step "two guests with one address each"
agent_start
backend_start
guests_create pv a b
at_one_address 'a b' 'a dom0' 'dom0 b' 'a peer'
peer_sh '(sleep 1; touch /run/end) </dev/null >/dev/null 2>&1 &'
check "the driver of the HCA did not complain" quiet_kernel
kernel_clean a b
