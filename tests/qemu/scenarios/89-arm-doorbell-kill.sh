#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# As 45-doorbell-kill, on Arm with dom0: with doorbells, daemons, devices and guests end.
# machine: arm64
# tier: soak
# limit: 900
# hca: yes
# qemu: -device connectx4,id=hca0,lid=1 -device connectx4,id=hca1,lid=2
# shellcheck source=tests/qemu/scenarios/45-doorbell-kill.sh
. ../scenarios/45-doorbell-kill.sh
