#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Processes of a PV and of a PVH guest write what they like into their queues of
# Soft-RoCE: dom0 lives, its kernel has nothing to say, the workers are the same
# ones, and verbs between the guests work afterwards as before.
# limit: 600
# tier: soak
# soak-limit: 8000
. ./lib.sh
. ./vhca.sh

WQES=$(long 5000 500000)	# of each guest

# wild GUEST: the requests, and what the worker of that guest counted.
wild() {
	check "$1: $WQES work requests" guest_sh -t "$(long 300 7200)" "$1" \
		"vhca-wqe -n $WQES"
	check "$1: most of them were looked at" \
		wait_until 10 counted "$1" wqes $((WQES / 2))
	check "$1: and many refused" \
		wait_until 10 counted "$1" wqes_refused $((WQES / 20))
}

# counted GUEST COUNTER N: its worker counted more than N; told once a second.
counted() {
	vhcactl stats --json "$1" 0 | jq -e ".counters.$2 > $3" >/dev/null
}

step "a PV and a PVH guest with a vhca each"
guests_with_vhca pv a pvh b
old_a=$(worker_pid a 0)
old_b=$(worker_pid b 0)

step "a window that is not bound is invalidated"
for g in a b; do
	check "$g: there are no windows" guest_sh "$g" \
		"vhca-wqe -w >/tmp/windows && cat /tmp/windows &&
		grep -q 'type 2: EOPNOTSUPP' /tmp/windows"
done

step "wild work requests, in both guests"
dmesg -c >"$SCENARIO_DIR/dmesg.before"
wild a &
wild_a=$!
wild b &
all_well "wild work requests" "$wild_a" $!

step "all is well"
check "the workers are the same" \
	[ "$(worker_pid a 0) $(worker_pid b 0)" = "$old_a $old_b" ]
# rdma_rxe warns once of a response that a peer should not send
# (tools/patches/linux-rxe, 0005): docs/design/threat-model.md has it as left open.
check_not "the kernel had nothing else to say" bash -c \
	'dmesg | grep -E "BUG|Oops|WARNING|soft lockup|general protection" |
	grep -v "WARNING: .* rxe_completer"'
dmesg -c >"$SCENARIO_DIR/dmesg.wild"
check_not "no request reached a line that rdma_rxe prints of requests" grep -E \
	"Unable to find AH|PDs don't match|no address vector|crosses page boundary" \
	"$SCENARIO_DIR/dmesg.wild"
# What it refuses of 10,000 requests could be as many lines.
check "the kernel printed less than a guest may make it print" \
	[ "$(wc -l <"$SCENARIO_DIR/dmesg.wild")" -lt 1000 ]
pair "ibv_rc_pingpong" a b "ibv_rc_pingpong -g 1 -n 100"
xfer_between "every byte" b a '-t rc-write-4k,rc-send-4k,ud-send-4k,srq'
vhcactl detach a all
vhcactl detach b all
kernel_clean a b
