#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Processes write each verb twice at once for one object: no kernel complains, and
# nothing is left.
# limit: 300
# soak-limit: 1200
# hca: yes
# qemu: -device connectx4,id=hca0,lid=1 -device connectx4,id=hca1,lid=2
. ./lib.sh
. ./vhca.sh
. ./hca.sh

step "a PV and a PVH guest, both kinds of device"
hca_guests pv a pvh b
vhcactl detach b all
vhcactl detach a all
ledger_open a b
attach_both a
attach_both b

step "each verb twice at once on one object"
for g in a b; do
	check "$g: on both devices" guest_sh -t $(long 120 500) $g "
		for d in \$(ls /sys/class/infiniband); do
			vhca-twice -d \$d -n $(long 3 60 2) || exit 1
		done"
done

guests_end_clean a b
