#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# In a PV dom0 whose memory has been ballooned, a HCA that reads and writes
# memory itself loses data, silently; with the helper's cap on DMA segments it
# does not. The first half shows that the second one proves something.
# tier: soak
# limit: 300
# hca: yes
# qemu: -device connectx4,id=hca0,lid=1 -device connectx4,id=hca1,lid=2
. ./lib.sh
. ./hca.sh

rounds() { vhca-xfer --loop -g 0 -d mlx5_0 -t mr-rounds -r "$1"; }

step "a model HCA, frames in disorder"
hca_setup
modprobe xen-vhca-helper
mountpoint -q /sys/kernel/debug || mount -t debugfs none /sys/kernel/debug
balloon_twice

step "without the cap"
rounds 20 >/tmp/rounds 2>&1 || true
cat /tmp/rounds
check "data is lost or memory is refused" \
	grep -E 'FAIL mr-rounds: .*(wrong data|EIO)' /tmp/rounds
step "with the cap"
check "the helper finds the doorbell frames and sets the cap" \
	vhca-helper-test mlx5_0
check "80 regions of 4 KiB to 64 MiB" timeout "$(seconds 200)" \
	vhca-helper-test --capped mlx5_0 \
	vhca-xfer --loop -g 0 -d mlx5_0 -t mr-rounds -r 80
step "and without it again"
rounds 20 >/tmp/rounds 2>&1 || true
check "data is lost or memory is refused" \
	grep -E 'FAIL mr-rounds: .*(wrong data|EIO)' /tmp/rounds
modprobe -r xen-vhca-helper
