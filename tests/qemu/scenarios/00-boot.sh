#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# The test bed itself: PV and PVH guests start, run commands, reach each other;
# Soft-RoCE works natively in dom0.
# tier: soak
# limit: 300
. ./lib.sh

step "start a PV and a PVH guest"
guest_config g1 pv >/dev/null
guest_config g2 pvh >/dev/null
guests_start g1 g2

step "run commands in them"
check "g1 is PV" guest_sh g1 'grep -qx PV /sys/hypervisor/guest_type'
check "g2 is PVH" guest_sh g2 'grep -qx PVH /sys/hypervisor/guest_type'
for g in g1 g2; do
	check "$g: the processor keeps the flags of cmpxchg16b" guest_sh $g cpu-flags
done
check_not "exit status comes through" guest_sh g1 'exit 3'
check "two commands at once" bash -c '
	. ./lib.sh; trap - EXIT
	guest_sh g1 "while [ ! -e /tmp/go ]; do sleep 0.1; done" & a=$!
	guest_sh g1 "touch /tmp/go"
	wait $a'
echo payload >/tmp/payload
guest_put g2 /tmp/payload /tmp/in
guest_get g2 /tmp/in /tmp/payload.back
check "a file goes in and out" cmp /tmp/payload /tmp/payload.back

step "TCP between the guests"
guest_sh g1 'socat -u TCP-LISTEN:5000,reuseaddr OPEN:/tmp/got,creat' &
server=$!
check "g2 connects to g1" wait_guest 10 g2 \
	"echo hello | socat -u - TCP:$(guest_ip g1):5000"
wait $server
check "the bytes arrived" guest_sh g1 'grep -q hello /tmp/got'

step "Soft-RoCE in dom0"
rxe_setup
ibv_rc_pingpong -d rxe0 -g 1 -n 200 >/tmp/pp &
check "rc pingpong client" wait_until 10 ibv_rc_pingpong -d rxe0 -g 1 -n 200 127.0.0.1
check "rc pingpong server" wait $!
cat /tmp/pp

step "destroy the guests"
guest_destroy g1
guest_destroy g2
check "both are gone" bash -c '! xl domid g1 2>/dev/null && ! xl domid g2 2>/dev/null'
