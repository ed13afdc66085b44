#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# As 55-migrate-hca, on HCAs with an Ethernet port: a guest moves under traffic.
# tier: soak
# limit: 900
# xl: patched
# hca: yes
# qemu: -device connectx4,id=hca0,port=eth -device connectx4,id=hca1,port=eth
# shellcheck source=tests/qemu/scenarios/55-migrate-hca.sh
. ../scenarios/55-migrate-hca.sh
