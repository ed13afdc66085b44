#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# As 47-doorbell-suspend, on HCAs with an Ethernet port: a guest is suspended.
# tier: soak
# limit: 300
# hca: yes
# qemu: -device connectx4,id=hca0,port=eth -device connectx4,id=hca1,port=eth
# shellcheck source=tests/qemu/scenarios/47-doorbell-suspend.sh
. ../scenarios/47-doorbell-suspend.sh
