#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# A PVH guest with traffic is checkpointed, and saved and restored, as PV guests are
# in 50-suspend: programs hear that the device died, the device comes back, the next
# program works; nothing is left.
# tier: soak
# limit: 600
. ./lib.sh
. ./vhca.sh
. ./suspend.sh

step "a PVH guest"
backend_start
guest_config a pvh >/dev/null
guests_start a
ledger_open a
vhca_attach_all a
load_start a
check "verbs objects exist" not no_objects

step "suspend"
check "it is checkpointed" checkpoint a
check "it is saved and restored" resume_with a rxe0

step "what is left"
load_end a
vhcactl detach a all
ledger_close a
check "no verbs object is left" no_objects
kernel_clean a
