#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# A verb costs as many commands on a mlx5 HCA as docs/design/data-path.md says.
# tier: soak
# limit: 200
# hca: yes
# qemu: -device connectx4,id=hca0,lid=1 -device connectx4,id=hca1,lid=2
. ./lib.sh
. ./vhca.sh
. ./hca.sh

step "guests with a vhca each"
hca_guests pv a pv b

step "the commands of each verb"
commands_as_promised a mlx5
vhcactl detach a all
vhcactl detach b all
kernel_clean a
