#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# What doorbells in a guest cost: a PVH guest against the PVH dom0 of the same
# boot, as a store to a doorbell is dearer under emulated nested paging. dom0's
# memory is mapped page by page in the IOMMU, as a guest's is. The HCA's doorbells
# are as in 37.
# limit: 1200
# tier: soak
# processors: 2
# hca: yes
# dom0: pvh
# xen: iommu=no-intremap,no-sharept,no-superpages
# qemu: -machine kernel-irqchip=split -device intel-iommu,intremap=off,aw-bits=48 -device connectx4,id=hca0,lid=1,doorbell-bytes=4194304 -device connectx4,id=hca1,lid=2,doorbell-bytes=4194304
. ./lib.sh
. ./vhca.sh
. ./hca.sh
# Event channels, and so opening and closing, are slow there.
RATIO_ROUNDS=5
RATIO_PROCESSES=2
RATIO_SAMPLES=11
. ./ratio.sh

ratio pvh
kernel_clean a
