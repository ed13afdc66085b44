#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# As 45-doorbell-kill, on HCAs with an Ethernet port: daemons and guests are killed.
# tier: soak
# limit: 900
# hca: yes
# qemu: -device connectx4,id=hca0,port=eth -device connectx4,id=hca1,port=eth
# shellcheck source=tests/qemu/scenarios/45-doorbell-kill.sh
. ../scenarios/45-doorbell-kill.sh
