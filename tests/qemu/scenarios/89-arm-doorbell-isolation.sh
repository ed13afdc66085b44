#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# As 63-doorbell-isolation, on Arm with dom0: guests ring for each other.
# machine: arm64
# tier: soak
# limit: 600
# hca: yes
# qemu: -device connectx4,id=hca0,lid=1 -device connectx4,id=hca1,lid=2
# shellcheck source=tests/qemu/scenarios/63-doorbell-isolation.sh
. ../scenarios/63-doorbell-isolation.sh
