#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# With Debian's xl, vhcactl create makes the two devices that a guest's configuration
# names, and refuses what is wrong without a trace.
# tier: soak
# limit: 200
. ./lib.sh
. ./vhca.sh
. ./create.sh

step "two HCAs"
backend_start
rxe1_setup
dom0_ledger >/tmp/ledger.dom0

step "what is wrong is refused"
check "this xl does not know vhca devices" \
	not eval 'xl help | grep vhca-list'
create_refused vhcactl hca=rxe1,colour=red colour 'hca, backend'
create_refused vhcactl hca=rxe1,backend=nobody backend=nobody

step "two devices"
guest_config a pv "$SPECS" >/dev/null
guest_start a vhcactl
guest_complete "vhcactl create" 0 rxe0 1 rxe1
check "vhcactl list has both" both_listed vhcactl list a
check "xl destroy" guest_destroy a
ledger_close
rxe1_remove
kernel_clean
