#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# As 10-attach, on Arm with dom0: a vhca comes and goes, and what is wrong is refused.
# machine: arm64
# tier: soak
# limit: 300
# shellcheck source=tests/qemu/scenarios/10-attach.sh
. ../scenarios/10-attach.sh
