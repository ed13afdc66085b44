#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# As 56-kernel-verbs, between a PV and a PVH guest.
# limit: 900
# tier: soak
# hca: yes
# qemu: -device connectx4,id=hca0 -device connectx4,id=hca1
KIND_B=pvh
# shellcheck source=tests/qemu/scenarios/56-kernel-verbs.sh
. ../scenarios/56-kernel-verbs.sh
