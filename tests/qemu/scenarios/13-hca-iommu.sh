#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# The model's DMA passes an IOMMU: behind one that translates, every byte of
# every opcode arrives, and the IOMMU reports no fault.
# tier: soak
# limit: 300
# machine: native
# hca: yes
# qemu: -device intel-iommu,aw-bits=48 -device connectx4,id=hca0,lid=1 -device connectx4,id=hca1,lid=2
. ./lib.sh
. ./hca.sh

# Does the IOMMU translate for this HCA?
translated() {
	local type
	type=$(cat "/sys/class/infiniband/$1/device/iommu_group/type")
	echo "$1: $type"
	[ "$type" = DMA ] || [ "$type" = DMA-FQ ]
}

hca_setup
for d in $HCAS; do
	check "$d is translated" translated "$d"
done
check "ibv_rc_pingpong between the two" both ibv_rc_pingpong -n 100
check "vhca-xfer" timeout 180 vhca-xfer --loop -g 0 -d mlx5_0
check "the IOMMU reports no fault" \
	bash -c '! dmesg | grep -iE "DMAR.*fault|DMA (Read|Write) .*fault"'
check "the kernel did not complain" quiet_kernel
