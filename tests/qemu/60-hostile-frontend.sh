#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# A hostile frontend (a program in guest a, with the module unloaded) against
# the real backend: its device is closed with a reason, guest b's traffic and
# the supervisor do not notice, and the module connects again afterwards.
# limit: 420
. ./lib.sh
. ./vhca.sh

# hostile MODE...: the program in guest a; the module is not loaded meanwhile.
hostile() {
	guest_sh -t 170 a "hostile-frontend $*"
}

step "two PV guests with a vhca each"
backend_start
guest_create b pvh &
guest_create a pv
wait $!
ledger_open a b
vhca_attach a
vhca_attach b
old=$(supervisor_pid)
guest_sh a 'modprobe -r xen-vhcafront; modprobe xen-gntalloc; modprobe xen-evtchn'

step "b has traffic all the time"
guest_sh -t 400 b 'while [ ! -e /tmp/enough ]; do
	vhca-xfer --loop --traffic 10 || exit 1; done' >/tmp/traffic.b 2>&1 &
traffic=$!
wait_until 20 grep -q '^t=1 ' /tmp/traffic.b || fail "no traffic in b"

step "nodes that cannot be"
check "each closes the device and says why" hostile nodes
step "wild producer indices"
check "each closes the device and says why" hostile producer
step "garbage and lying page lists"
check "errors are answered, the device serves on" hostile garbage pages
step "a flood of commands, kicks and notifications"
worker=$(worker_pid b 0)
check "the backend serves on afterwards" hostile flood
check "b's worker is the same" [ "$(worker_pid b 0)" = "$worker" ]
step "states in disorder"
check "the backend follows" hostile states
step "the frontend vanishes"
check "connected, with a memory region, and gone" hostile vanish

step "what is left"
check "the supervisor is the same" [ "$(supervisor_pid)" = "$old" ]
check "b's traffic is still going" kill -0 "$traffic"
guest_sh b 'touch /tmp/enough'
check "b's traffic was never wrong" wait "$traffic"
guest_sh a 'modprobe xen-vhcafront'
check "the module connects to the same device" \
	wait_guest 30 a 'ibv_devinfo | grep PORT_ACTIVE'
check "and it works" guest_sh -t 60 a 'vhca-xfer --loop -t rc-write-4k'
check "detach a" vhcactl detach a all
check "detach b" vhcactl detach b all
ledger_close b
kernel_clean a b
