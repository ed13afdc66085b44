#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# As 39-rdma-core-tests, on models of a ConnectX-3.
# tier: soak
# limit: 1800
# hca: yes
# pyverbs: yes
# qemu: -device connectx3,id=hca0,lid=1 -device connectx3,id=hca1,lid=2
HCAS="mlx4_0 mlx4_1"
# shellcheck source=tests/qemu/scenarios/39-rdma-core-tests.sh
. ../scenarios/39-rdma-core-tests.sh
