#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# As 57-nfs-pv, between a PVH guest, which is the server, and a PV guest.
# limit: 1800
# tier: soak
# hca: yes
# storage: yes
# qemu: -device connectx4,id=hca0 -device connectx4,id=hca1
KERNEL_GUESTS="pvh a pv b"
# shellcheck source=tests/qemu/scenarios/57-nfs-pv.sh
. ../scenarios/57-nfs-pv.sh
