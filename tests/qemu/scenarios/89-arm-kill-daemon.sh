#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# As 42-kill-daemon, on Arm with dom0: worker and supervisor are killed under traffic.
# machine: arm64
# tier: soak
# limit: 480
# shellcheck source=tests/qemu/scenarios/42-kill-daemon.sh
. ../scenarios/42-kill-daemon.sh
