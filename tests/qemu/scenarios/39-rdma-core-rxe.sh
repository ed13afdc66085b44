#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# The tests that rdma-core brings with its Python bindings have the same verdicts on
# Soft-RoCE in dom0 as in a guest that has it as vhca; differences must be those that
# are documented. The guest is trusted, as dom0 is: only then has it memory windows.
# limit: 900
# tier: soak
# pyverbs: yes
. ./lib.sh
. ./vhca.sh
. ./verdicts.sh

backend_start
step "a guest with Python"
verdicts_setup
VHCA_KEYS=trusted=1
guests_with_vhca pv a
verdicts_equal rxe0 a expected-verdicts-rxe.txt
vhcactl detach a all
kernel_clean a
