#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# xl destroy of a guest under traffic, a PVH guest in the long form, leaves nothing; the
# other guest's traffic inside itself goes on.
# skip-ok: no time is left for it
# limit: 240
. ./lib.sh
. ./vhca.sh

guests_with_vhca pv a "$(long pv pvh pvh)" b pv c
# operations of c that are done and right
ops_of_c() { sed -n 's/^t=.* ops=\([0-9]*\) .* errors=0$/\1/p' /tmp/traffic.c | tail -n 1; }
more_ops() { [ "$(ops_of_c)" -gt "$1" ]; }

step "traffic inside c, and between a and b"
# With rests: guests that poll all the time keep the only processor from one that starts. On
# a debug kernel they do not poll.
rest='--pause 10'
! on_debug_kernel || rest='-e --pause 5000'
traffic_inside c 1200
traffic_start a b 1200 "$rest --timeout $(seconds 5000)"

step "destroy b"
b=$(guest_domid b)
check "the backend has nodes for b before" backend_has "$b"
check "verbs objects exist before" not no_objects
guest_destroy b
check "traffic inside c goes on" wait_until 20 more_ops "$(ops_of_c)"
rc=0
wait "$traffic_server" || rc=$?
# 124 and 255 are guest_sh's: no answer from the guest in time.
check "a's program ends with an error of its own, it does not hang" \
	bash -c "[ $rc != 0 ] && [ $rc != 124 ] && [ $rc != 255 ]"
check "and still does" wait_until 20 more_ops "$(ops_of_c)"
guest_sh c 'pkill -INT -x vhca-xfer'
check "and all of it was right" wait "${inside[c]}"
check "the backend's nodes for b are gone" \
	wait_until 20 not backend_has "$b"
check "b is no zombie in Xen" wait_until 20 bash -c '! xl list | grep -q null'
check "a still works" guest_sh -t 30 a 'vhca-xfer --loop -t rc-write-4k'
vhcactl detach a all
vhcactl detach c all
check "no verbs object is left" wait_until 15 no_objects
kernel_clean a c
