#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# On Arm, in a domain that is not dom0, Debian's mlx5 driver and provider use model HCAs:
# the utility domain owns them, with their interrupts, and Xen maps it directly.
# machine: dom0less two-guests
# qemu: -device connectx4,id=hca0,lid=1 -device connectx4,id=hca1,lid=2
# limit: 300
. ./lib.sh
. ./hca.sh
. ./dom0less.sh

step "drivers"
check "no domain 0 exists" no_domain 0
hca_setup
check "an interrupt of each reaches this domain" \
	bash -c '[ "$(grep -c "mlx5_async.*pci:" /proc/interrupts)" = 2 ]'
check "their DMA reaches what it is meant to, vhcactl says" \
	grep "ok   dma: Xen maps this domain directly" <(vhcactl check || true)

step "Debian's programs, by polling and by events"
check "RC ping-pong, data compared" both ibv_rc_pingpong -g 0 -c -n 100
check "RC ping-pong with events" both ibv_rc_pingpong -g 0 -c -e -s 65536 -n 50
check "UD ping-pong" both ibv_ud_pingpong -g 0 -n 100
# Its health poll, every two seconds, reads a register by one octet.
check "the kernel did not complain" quiet_kernel
