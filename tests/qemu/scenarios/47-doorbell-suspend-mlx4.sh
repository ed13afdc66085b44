#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# As 47-doorbell-suspend, on models of a ConnectX-3: a guest is suspended.
# tier: soak
# limit: 300
# hca: yes
# qemu: -device connectx3,id=hca0,lid=1 -device connectx3,id=hca1,lid=2
HCAS="mlx4_0 mlx4_1"
# shellcheck source=tests/qemu/scenarios/47-doorbell-suspend.sh
. ../scenarios/47-doorbell-suspend.sh
