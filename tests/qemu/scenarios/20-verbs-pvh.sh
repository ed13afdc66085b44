#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Two PVH guests run the examples of libibverbs between them, and every byte of
# every kind of transfer is compared. (perftest between PVH guests:
# 35-doorbell-pvh.)
# tier: soak
# limit: 900
. ./lib.sh
. ./vhca.sh

VHCA_CPUS=all	# two that poll on one processor wait for each other
step "two PVH guests with a vhca each"
guests_with_vhca pvh a pvh b

step "ping-pongs"
pingpongs_between a b

step "verified transfers"
xfer_between "vhca-xfer: every byte of all transfers" a b \
	"-q $(long 4 100) --max-size $(long 65536 67108864)"

step "inside one guest"
check "loopback within a guest" guest_sh -t 200 a \
	"vhca-xfer --loop --max-size $(long 65536 1048576)"

vhcactl detach a all
vhcactl detach b all
kernel_clean a b
