#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# A model HCA in a PV dom0: drivers, traffic, and memory regions of all sizes
# with every byte compared: with the cap on DMA segments, because large regions may
# lose data without, in a dom0 of any age (15-hca-segment-cap).
# limit: 300
# hca: yes
# qemu: -device connectx4,id=hca0,lid=1 -device connectx4,id=hca1,lid=2
. ./lib.sh
. ./hca.sh

capped() { timeout "$(seconds 180)" vhca-helper-test --capped mlx5_0 "$@"; }

step "drivers in a PV dom0"
hca_setup
step "pingpong"
check "ibv_rc_pingpong" both ibv_rc_pingpong -n 200
modprobe xen-vhca-helper
step "every opcode"
check "vhca-xfer" capped vhca-xfer --loop -g 0 -d mlx5_0
step "regions one after the other"
check "60 regions of 4 KiB to 64 MiB" capped \
	vhca-xfer --loop -g 0 -d mlx5_0 -t mr-rounds -r 60
cat /sys/kernel/debug/swiotlb/io_tlb_used 2>/dev/null || true
check "the kernel did not complain" quiet_kernel
