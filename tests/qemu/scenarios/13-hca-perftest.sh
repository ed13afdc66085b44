#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Every program of perftest, with its events, many queue pairs, all sizes.
# tier: soak
# limit: 600
# machine: native
# hca: yes
# qemu: -device connectx4,id=hca0,lid=1 -device connectx4,id=hca1,lid=2
. ./lib.sh
. ./hca.sh

hca_setup
hca_perftests
hca_perftest_options
check "the kernel did not complain" quiet_kernel
