#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# As 74-selftest, on the Ethernet ports of model HCAs.
# limit: 900
# tier: soak
# hca: yes
# qemu: -device connectx4,id=hca0,port=eth -device connectx4,id=hca1,port=eth
ONLY_MODEL=yes
# shellcheck source=tests/qemu/scenarios/74-selftest.sh
. ../scenarios/74-selftest.sh
