#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# The same probe of every verb runs natively on a model HCA in dom0 and in a PV
# guest that has it as vhca, error statuses among it; differences must be those
# that are documented. Natively with the cap on DMA segments: a dom0 that gave
# memory away and took it back has frames in disorder, 15-hca-segment-cap.
# tier: soak
# limit: 420
# hca: yes
# qemu: -device connectx4,id=hca0,lid=1 -device connectx4,id=hca1,lid=2
. ./lib.sh
. ./vhca.sh
. ./hca.sh

step "native"
native=${HCAS%% *}
hca_setup
# xen-vhcad needs it, and with it the port announces a connection manager.
modprobe -a xen-vhca-helper rdma_ucm
vhca-helper-test --capped "$native" vhca-probe -g 0 -d "$native" >/tmp/native.txt ||
	true
check "the native probe ran" [ "$(wc -l </tmp/native.txt)" -gt 60 ]
cp /tmp/native.txt "$SCENARIO_DIR/native.txt"
kernel_clean

step "guest"
VHCA_GUEST_MEM=${PROBE_MEM:-}
hca_guests pv a pv b
guest_sh -t 250 a "vhca-probe -g 0" >"$SCENARIO_DIR/a.txt" || true
check "same result of every verb as natively, but documented ones" \
	/tests/verbs/compare.sh /tmp/native.txt "$SCENARIO_DIR/a.txt" \
	"/tests/verbs/expected-differences-${native%_*}.txt"
vhcactl detach a all
kernel_clean a
