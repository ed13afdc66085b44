#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Every byte of every opcode arrives, and what must fail does, on a model HCA.
# tier: soak
# limit: 400
# machine: native
# hca: yes
# qemu: -device connectx4,id=hca0,lid=1 -device connectx4,id=hca1,lid=2
. ./lib.sh
. ./hca.sh

hca_setup
step "both sides on one device"
check "vhca-xfer --loop" timeout 180 vhca-xfer --loop -g 0 -d mlx5_0
step "between two devices"
timeout 180 vhca-xfer -s -g 0 -d mlx5_1 >"$SCENARIO_DIR/server.txt" 2>&1 &
check "vhca-xfer" timeout 180 vhca-xfer -g 0 -d mlx5_0 127.0.0.1
check "the server agrees" wait $!
check "a region of 1 GiB" timeout "$(seconds 100)" \
	vhca-xfer --loop -g 0 -d mlx5_0 -t big-mr
check "the kernel did not complain" quiet_kernel
