#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# As 66-wqe-hca, on models of a ConnectX-3: processes write what they like into their queues.
# tier: soak
# limit: 400
# soak-limit: 6000
# hca: yes
# qemu: -device connectx3,id=hca0,lid=1,cqe64=on -device connectx3,id=hca1,lid=2
HCAS="mlx4_0 mlx4_1"
# shellcheck source=tests/qemu/scenarios/66-wqe-hca.sh
. ../scenarios/66-wqe-hca.sh
