#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# A verb costs as many commands on Soft-RoCE as docs/design/data-path.md says. The guest is
# trusted: only then has it memory windows.
# tier: soak
# limit: 200
. ./lib.sh
. ./vhca.sh

step "a guest with a vhca"
VHCA_KEYS=trusted=1
guests_with_vhca pv a

step "the commands of each verb"
commands_as_promised a Soft-RoCE
vhcactl detach a all
kernel_clean a
