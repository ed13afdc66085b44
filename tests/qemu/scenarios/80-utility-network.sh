#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# A utility domain that serves vhcas serves Ethernet, too: dom0 and a guest have a netfront
# in its network, which is the one of its Soft-RoCE, and a vhca beside it. Both come back
# with a new utility domain.
# limit: 400
# tier: soak
# processors: 2
. ./lib.sh
. ./vhca.sh
. ./utility.sh

both_work() {
	check "dom0 reaches hcadom" wait_until 20 ping -c 1 -W 1 10.9.0.1
	check "and the guest, by hcadom's bridge" wait_until 20 ping -c 5 -W 1 10.9.0.3
	pair "guest to guest: ibv_rc_pingpong" a b "ibv_rc_pingpong -g 1 -n 300"
	with_dom0 "dom0 to guest: ib_write_lat" a "ib_write_lat -F -x 1 -s 8 -n 200"
}

step "hcadom and two guests"
network_guests
hcadom_network
hcadom_daemon
hcadom_attach hca=rxe0,max-pinned-mb=64 a b Domain-0
joins Domain-0 2
joins a 3
both_work

step "a new hcadom"
hcadom_anew
hcadom_network
hcadom_daemon
check "the devices come back" vhcactl reattach
joins Domain-0 2
joins a 3
both_work

step "detach"
for g in a b Domain-0; do
	check "$g" vhcactl detach $g all
done
check "dom0's interface" xl network-detach 0 ${MAC}2
kernel_clean a b hcadom
