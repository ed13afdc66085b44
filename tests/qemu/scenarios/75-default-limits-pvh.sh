#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# 75-default-limits on a PVH dom0, which may map twice as much: a PV and a PVH guest have
# verbs, and regions as large as docs/guide/limits.md says.
# limit: 400
# tier: soak
# dom0: pvh
# xen: gnttab_max_frames=64 gnttab_max_maptrack_frames=1024 iommu=no-intremap,no-sharept,no-superpages
# qemu: -machine kernel-irqchip=split -device intel-iommu,intremap=off,aw-bits=48
. ./lib.sh
. ./vhca.sh
. ./default_limits.sh

default_limits 768
