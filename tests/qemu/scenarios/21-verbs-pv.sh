#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Two PV guests run Debian's verbs programs between them, and every byte of
# every kind of transfer is compared. In PV, queue pages are mapped by grant
# straight into the page tables of the process.
# limit: 900
. ./lib.sh
. ./vhca.sh

step "two PV guests with a vhca each"
guests_with_vhca pv a pv b

step "Debian's programs"
programs_between a b

step "verified transfers"
xfer_between "vhca-xfer: every byte of all transfers" b a \
	"-q $(long 4 100 4) --max-size $(long 65536 67108864 65536)"
if [ "$(long 0 1)" = 1 ]; then
	xfer_between "messages of 64 MiB" b a "-t rc-*-64m,uc-write-64m"
	xfer_between "vhca-xfer by completion events" b a "-e --max-size 1048576"
	step "inside one guest"
	check "loopback within a guest" guest_sh -t 200 a \
		"vhca-xfer --loop --max-size 1048576"
fi
vhcactl detach a all
vhcactl detach b all
kernel_clean a b
