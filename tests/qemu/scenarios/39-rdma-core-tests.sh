#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# The tests that rdma-core brings with its Python bindings have the same verdicts on a
# model HCA in dom0 as in a guest that has it as vhca; differences must be those that
# are documented.
# limit: 1800
# tier: soak
# hca: yes
# pyverbs: yes
# qemu: -device connectx4,id=hca0,lid=1 -device connectx4,id=hca1,lid=2
. ./lib.sh
. ./vhca.sh
. ./hca.sh
. ./verdicts.sh

step "guests with Python"
verdicts_setup
hca_guests pv a pv b
# A PV dom0 that gave memory away has frames in disorder: with the cap.
native=${HCAS%% *}
verdicts_equal "$native" a "expected-verdicts-${native%_*}.txt" vhca-helper-test --capped "$native"
vhcactl detach a all
kernel_clean a b
