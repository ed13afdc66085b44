#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# A polled data path on an HCA with doorbell pages makes no work for anybody
# but the HCA: while two guests exchange writes no command, kick, event or
# interrupt of a vhca happens, in the guests, in the daemon or in dom0's
# kernel, the programs make no system call, no event channel is notified, and
# the HCA's driver gives no command.
# skip-ok: no time is left for it
# limit: 420
# hca: yes
# qemu: -device connectx4,id=hca0,lid=1 -device connectx4,id=hca1,lid=2
. ./lib.sh
. ./vhca.sh
. ./hca.sh
. ./zero.sh

WRITES=$(long 500 10000)

step "a PV and a PVH guest, each with an HCA"
hca_guests pv a pvh b
check "dom0 shows the workers' event channels" grep -q vhcad /proc/interrupts

zero_work $WRITES
note "doorbells: $sq0 at hca0, $sq1 at hca1"
check "the HCAs: a doorbell for each write" \
	[ "$sq0" -ge $WRITES -a "$sq1" -ge $WRITES ]
kernel_clean a b
vhcactl detach a all
vhcactl detach b all
