#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# As 57-nvme-pv, between a PV guest, which is the target, and a PVH guest; the target's queue
# pairs share a receive queue.
# limit: 2400
# tier: soak
# hca: yes
# storage: yes
# qemu: -device connectx4,id=hca0 -device connectx4,id=hca1
KERNEL_GUESTS="pv a pvh b" NVMET_SRQ=256 POOL_MB=32
# shellcheck source=tests/qemu/scenarios/57-nvme-pv.sh
. ../scenarios/57-nvme-pv.sh
