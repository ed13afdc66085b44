#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# As 57-nvme-fs, between two PVH guests, and the host's CQs are moderated by their load.
# limit: 1500
# tier: soak
# hca: yes
# storage: yes
# programs: yes
# qemu: -device connectx4,id=hca0 -device connectx4,id=hca1
KERNEL_GUESTS="pvh a pvh b" MODERATION=on
# shellcheck source=tests/qemu/scenarios/57-nvme-fs.sh
. ../scenarios/57-nvme-fs.sh
