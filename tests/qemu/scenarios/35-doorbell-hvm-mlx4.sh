#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# As 33-zero-work and 63-doorbell-isolation, on models of a ConnectX-3, between an HVM and a
# PVH guest.
# tier: soak
# limit: 600
# hvm: yes
# processors: 2
# hca: yes
# qemu: -device connectx3,id=hca0,lid=1 -device connectx3,id=hca1,lid=2
HCAS="mlx4_0 mlx4_1"
OTHER=pvh
# shellcheck source=tests/qemu/scenarios/35-doorbell-hvm-roce.sh
. ../scenarios/35-doorbell-hvm-roce.sh
