#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# As 29-one-address-programs, on the Ethernet port of a model of a rich card, whose ways UCX
# chooses among.
# limit: 2400
# tier: soak
# hca: yes
# programs: yes
# qemu: -device connectx4,id=hca0,port=eth,profile=cx6dx -device connectx4,id=hca1,port=eth
SHARED_HCA=mlx5_0
# Two processes of libfabric's rdm need more than the default of 128 (docs/guide/limits.md).
SHARED_KEYS=,max-pinned-mb=512
# shellcheck source=tests/qemu/scenarios/29-one-address-programs.sh
. ../scenarios/29-one-address-programs.sh
