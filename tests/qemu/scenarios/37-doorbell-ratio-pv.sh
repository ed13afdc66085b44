#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# What doorbells in a guest cost: a PV guest against the PV dom0 of the same boot.
# The HCA moves all of a message within its doorbell's store, on the processor
# whose speed the sample is judged by, and leaves nothing to another thread.
# limit: 900
# tier: soak
# processors: 2
# hca: yes
# qemu: -device connectx4,id=hca0,lid=1,doorbell-bytes=4194304 -device connectx4,id=hca1,lid=2,doorbell-bytes=4194304
. ./lib.sh
. ./vhca.sh
. ./hca.sh
. ./ratio.sh

ratio pv
kernel_clean a
