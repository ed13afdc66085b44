#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# As 26-same-verbs-hca, on models of a ConnectX-3: every verb, natively and in a guest.
# tier: soak
# limit: 420
# hca: yes
# qemu: -device connectx3,id=hca0,lid=1 -device connectx3,id=hca1,lid=2
HCAS="mlx4_0 mlx4_1"
PROBE_MEM=448	# libmlx4 allocates 128 MiB for a CQ that is refused
# shellcheck source=tests/qemu/scenarios/26-same-verbs-hca.sh
. ../scenarios/26-same-verbs-hca.sh
