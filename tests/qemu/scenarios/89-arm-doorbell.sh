#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# As 35-doorbell-pvh, on Arm: dom0 has model HCAs, and its agent maps their doorbell pages
# into guests.
# machine: arm64
# tier: soak
# limit: 1200
# hca: yes
# qemu: -device connectx4,id=hca0,lid=1 -device connectx4,id=hca1,lid=2
# shellcheck source=tests/qemu/scenarios/35-doorbell-pvh.sh
. ../scenarios/35-doorbell-pvh.sh
