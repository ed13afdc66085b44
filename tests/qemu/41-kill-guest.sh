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
guest_destroy b
check "traffic inside c went on" wait "$loop"
check "a's program ends with an error, it does not hang" \
	bash -c "! wait $traffic_server" || true
check "b's objects are gone" wait_until 20 \
	bash -c "! xenstore-list /local/domain/0/backend/vhca | grep -x '$(cat /run/guest/b.domid 2>/dev/null || echo none)'"
check "b is no zombie in Xen" wait_until 20 bash -c '! xl list | grep -q null'
check "a still works" guest_sh -t 30 a 'vhca-xfer --loop -t rc-write-4k'
vhcactl detach a all
vhcactl detach c all
check "no verbs object is left" wait_until 15 no_objects
kernel_clean a c
