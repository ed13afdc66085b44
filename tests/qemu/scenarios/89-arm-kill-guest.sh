#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# As 41-kill-guest, on Arm with dom0: a guest is destroyed under traffic.
# machine: arm64
# tier: soak
# limit: 480
# shellcheck source=tests/qemu/scenarios/41-kill-guest.sh
. ../scenarios/41-kill-guest.sh
