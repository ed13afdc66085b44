#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# As 24-rdma-cm-ib, on models of a ConnectX-3: guests connect by addresses of IPoIB.
# tier: soak
# limit: 600
# hca: yes
# qemu: -device connectx3,id=hca0 -device connectx3,id=hca1
HCAS="mlx4_0 mlx4_1"
# shellcheck source=tests/qemu/scenarios/24-rdma-cm-ib.sh
. ../scenarios/24-rdma-cm-ib.sh
