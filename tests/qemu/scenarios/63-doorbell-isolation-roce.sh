#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# As 63-doorbell-isolation, on HCAs with an Ethernet port: guests ring for each other.
# skip-ok: no time is left for it
# limit: 420
# hca: yes
# qemu: -device connectx4,id=hca0,port=eth -device connectx4,id=hca1,port=eth
# shellcheck source=tests/qemu/scenarios/63-doorbell-isolation.sh
. ../scenarios/63-doorbell-isolation.sh
