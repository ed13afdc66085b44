#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# The same as 54-migrate on an HCA with doorbell pages, whose DMA Xen does not see: what a
# second HCA has written into the guest moves with it, and neither reaches memory of the
# old domain nor has it a doorbell page left.
# limit: 900
# tier: soak
# xl: patched
# hca: yes
# qemu: -device connectx4,id=hca0,lid=1 -device connectx4,id=hca1,lid=2
. ./lib.sh
. ./vhca.sh
. ./hca.sh
. ./suspend.sh
. ./create.sh
. ./migrate.sh

MIGRATE_HCA=mlx5_0 MIGRATE_OTHER=mlx5_7 MIGRATE_PEER=mlx5_1 MIGRATE_GID=0
hca_setup
agent_start
hca_ledger_open
migrations
hca_ledger_close
kernel_clean
