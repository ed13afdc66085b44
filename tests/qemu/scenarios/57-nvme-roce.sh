#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# As 57-nvme-pv, on HCAs with an Ethernet port.
# limit: 2400
# tier: soak
# hca: yes
# storage: yes
# qemu: -device connectx4,id=hca0,port=eth -device connectx4,id=hca1,port=eth
# shellcheck source=tests/qemu/scenarios/57-nvme-pv.sh
. ../scenarios/57-nvme-pv.sh
