#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# xl destroy of a guest under traffic leaves nothing; the other guest's
# traffic inside itself goes on.
# limit: 240
. ./lib.sh
. ./vhca.sh

guests_with_vhca pv a pvh b pv c
step "traffic between a and b, and inside c"
guest_sh -t 60 c 'vhca-xfer --loop --traffic 12' >/tmp/traffic.loop 2>&1 &
loop=$!
traffic_start a b 20

step "destroy b"
b=$(guest_domid b)
check "the backend has nodes for b before" backend_has "$b"
check "verbs objects exist before" not no_objects
guest_destroy b
check "traffic inside c went on" wait "$loop"
rc=0
wait "$traffic_server" || rc=$?
# 124 and 255 are guest_sh's: no answer from the guest in time.
check "a's program ends with an error of its own, it does not hang" \
	bash -c "[ $rc != 0 ] && [ $rc != 124 ] && [ $rc != 255 ]"
check "the backend's nodes for b are gone" \
	wait_until 20 not backend_has "$b"
check "b is no zombie in Xen" wait_until 20 bash -c '! xl list | grep -q null'
check "a still works" guest_sh -t 30 a 'vhca-xfer --loop -t rc-write-4k'
vhcactl detach a all
vhcactl detach c all
check "no verbs object is left" wait_until 15 no_objects
kernel_clean a c
