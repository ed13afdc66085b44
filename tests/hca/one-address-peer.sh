#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Machine "b" of two-machines.sh --address: another host, without Xen, that does what "a"
# tells it.
# limit: 900
# machine: native
# hca: yes
. ./lib.sh
. ./vhca.sh
. ./hca.sh
. ./rdmacm.sh
. ./oneaddr.sh

HCAS=mlx5_0
step "b: an Ethernet port"
hca_drivers
modprobe rdma_ucm
dev=$(ls /sys/class/infiniband/mlx5_0/device/net)
ip addr add "${V4[peer]}/24" dev "$dev"
ip addr add "${V6[peer]}/64" dev "$dev" nodad
ip link set "$dev" up
ip link set lo up
guest-shell -s "$SHELL_PORT" &
check "b: the other side is done" wait_until 450 test -e /run/end
check "b: the kernel did not complain" quiet_kernel
