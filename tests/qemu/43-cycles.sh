#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# 200 attach/detach cycles, some under traffic, leave nothing.
# limit: 600
. ./lib.sh
. ./vhca.sh

step "a PV guest"
backend_start
guest_create a pv
ledger_open a
step "detach under traffic"
for round in 1 2 3; do
	vhca_attach a
	guest_sh -t 60 a 'vhca-xfer --loop --traffic 30' >/tmp/traffic.a 2>&1 &
	traffic=$!
	wait_until 15 grep -q '^t=1 ' /tmp/traffic.a || fail "no traffic"
	check "detach under traffic, $round" vhcactl detach a all
	rc=0; wait "$traffic" || rc=$?
	check "the program ends with an error, not by time-out" \
		[ "$rc" != 0 -a "$rc" != 124 -a "$rc" != 255 ]
done
ledger_close a
step "200 cycles"
cycles=0
while [ $cycles -lt 200 ]; do
	vhcactl attach a hca=rxe0 || fail "attach, cycle $cycles"
	[ $((cycles % 20)) != 0 ] ||
		wait_guest 10 a 'ibv_devinfo | grep PORT_ACTIVE' ||
		fail "no device in cycle $cycles"
	vhcactl detach a all || fail "detach, cycle $cycles"
	cycles=$((cycles + 1))
	[ $((cycles % 20)) != 0 ] || step "$cycles cycles"
done
check "200 cycles" [ $cycles = 200 ]
ledger_close a
kernel_clean a
