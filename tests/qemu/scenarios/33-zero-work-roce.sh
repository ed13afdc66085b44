#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# As 33-zero-work, on HCAs with an Ethernet port: a polled data path makes no work.
# tier: soak
# limit: 420
# hca: yes
# qemu: -device connectx4,id=hca0,port=eth -device connectx4,id=hca1,port=eth
# shellcheck source=tests/qemu/scenarios/33-zero-work.sh
. ../scenarios/33-zero-work.sh
