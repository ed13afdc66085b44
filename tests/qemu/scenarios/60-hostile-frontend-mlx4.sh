#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# As 60-hostile-frontend-hca, on models of a ConnectX-3.
# tier: soak
# limit: 900
# hca: yes
# qemu: -device connectx3,id=hca0,lid=1,cqe64=on -device connectx3,id=hca1,lid=2
HCAS="mlx4_0 mlx4_1"
# shellcheck source=tests/qemu/scenarios/60-hostile-frontend-hca.sh
. ../scenarios/60-hostile-frontend-hca.sh
