#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# As 74-selftest, on models of a ConnectX-3.
# tier: soak
# limit: 900
# hca: yes
# qemu: -device connectx3,id=hca0,lid=1 -device connectx3,id=hca1,lid=2
ONLY_MODEL=yes
HCAS="mlx4_0 mlx4_1"
PROBE_MEM=448	# as 26-same-verbs-mlx4
# shellcheck source=tests/qemu/scenarios/74-selftest.sh
. ../scenarios/74-selftest.sh
