#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# As 81-utility-hca, on models of a ConnectX-3.
# tier: soak
# limit: 300
# processors: 2
# hca: yes
# xen: iommu=no-intremap
# qemu: -machine kernel-irqchip=split -device intel-iommu,intremap=off,aw-bits=48 -device connectx3,id=hca0,lid=1 -device connectx3,id=hca1,lid=2
HCAS="mlx4_0 mlx4_1"
# shellcheck source=tests/qemu/scenarios/81-utility-hca.sh
. ../scenarios/81-utility-hca.sh
