#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# The drivers let go of the device and take it again, many times.
# tier: soak
# limit: 400
# machine: native
# hca: yes
# qemu: -device connectx4,id=hca0,lid=1 -device connectx4,id=hca1,lid=2
. ./lib.sh
. ./hca.sh

hca_setup
pci=$(basename "$(readlink -f /sys/class/infiniband/mlx5_0/device)")
cycle() {
	echo 1 >"/sys/bus/pci/devices/$pci/remove"
	[ ! -e /sys/class/infiniband/mlx5_0 ] || return 1
	[ "$(hca_get hca0 pages-held)" = 0 ] || return 1
	echo 1 >/sys/bus/pci/rescan
	wait_until 30 port_is mlx5_0 ACTIVE
}
for ((i = 1; i <= $(long 5 20); i++)); do
	step "cycle $i"
	check "cycle $i" cycle
done
check "queue pairs afterwards" both ibv_rc_pingpong -n 100
step "unloading, function level reset, loading"
check "the drivers unload" modprobe -r mlx5_ib mlx5_core
echo flr >"/sys/bus/pci/devices/$pci/reset_method"
check "function level reset" sh -c "echo 1 >/sys/bus/pci/devices/$pci/reset"
hca_setup
check "the drivers load" both ibv_rc_pingpong -n 100
check "the kernel did not complain" quiet_kernel
