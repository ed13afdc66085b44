#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Each transport of libibverbs' examples, by polling and by events.
# tier: soak
# limit: 300
# machine: native
# hca: yes
# qemu: -device connectx4,id=hca0,lid=1 -device connectx4,id=hca1,lid=2
. ./lib.sh
. ./hca.sh

hca_setup
hca_pingpongs
check "no doorbell was refused" [ "$(hca_get hca0 doorbells-refused)" = 0 ]
check "the kernel did not complain" quiet_kernel
