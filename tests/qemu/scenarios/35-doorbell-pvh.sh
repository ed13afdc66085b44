#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# The same as 34-doorbell-pv with PVH guests, which have doorbell pages at guest
# frames of their own choice.
# tier: soak
# limit: 1200
# long: yes
# hca: yes
# qemu: -device connectx4,id=hca0,lid=1 -device connectx4,id=hca1,lid=2
. ./lib.sh
. ./vhca.sh
. ./hca.sh

VHCA_CPUS=all	# two that poll on one processor wait for each other
hca_everything pvh
