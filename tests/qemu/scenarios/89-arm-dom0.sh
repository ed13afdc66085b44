#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# On Arm, Debian's own Xen with a dom0: guests that xl creates get a vhca on Soft-RoCE by
# vhcactl, run the examples of libibverbs between them, and every byte of every kind of
# transfer is compared. Nothing is left of their devices.
# machine: arm64
# tier: soak
# limit: 600
. ./lib.sh
. ./vhca.sh

step "two guests of xl create"
check "this is an Arm machine" test "$(uname -m)" = aarch64
check "this is dom0" test "$(xenstore-read domid)" = 0
backend_start
guests_create pvh a b
ledger_open a b
vhca_attach_all a b
vhcactl list

step "Debian's programs, unmodified"
for g in a b; do
	check "$g: the port is active" guest_sh $g 'ibv_devinfo | grep PORT_ACTIVE'
done
pingpongs_between a b

step "verified transfers"
xfer_between "vhca-xfer: every byte of all transfers" a b \
	"-q $(long 2 16) --max-size $(long 4096 1048576)"

step "nothing is left"
for g in a b; do
	check "$g: detach" vhcactl detach $g all
done
ledger_close a b
kernel_clean a b
