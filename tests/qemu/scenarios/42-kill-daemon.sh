#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# kill -9 of a worker and of the supervisor under traffic: the other guest
# goes on, the device comes back, a PV driver domain's page tables stay whole.
# limit: 300
. ./lib.sh
. ./vhca.sh

step "two PV guests"
backend_start
guests_create pv a b
ledger_open a b
vhca_attach_all a b

for ((round = 1; round <= $(long 1 3); round++)); do
	step "round $round: kill the worker of a under traffic"
	kill_worker a b rc-write-1m
done

step "kill the supervisor under traffic"
guest_sh -t 60 b 'vhca-xfer --loop --traffic 8' >/tmp/traffic.b 2>&1 &
other=$!
wait_until 15 grep -q '^t=1 ' /tmp/traffic.b || fail "no traffic in b"
old=$(supervisor_pid)
worker=$(worker_pid b 0)
kill -9 "$old"
check "traffic goes on without it" wait "$other"
check "a new supervisor is there" wait_until 10 \
	bash -c ". ./lib.sh; . ./vhca.sh; trap - EXIT; p=\$(supervisor_pid) && [ \"\$p\" != $old ]"
check "it adopted the worker" [ "$(worker_pid b 0)" = "$worker" ]
check "it restarts a worker that it adopted" comes_back b 0
check "b's device works" wait_guest 20 b 'vhca-xfer --loop -t rc-write-4k'

step "detach"
check "detach a" vhcactl detach a all
check "detach b" vhcactl detach b all
ledger_close a b
kernel_clean a b
