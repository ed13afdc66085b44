#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# With two processors on both sides, whoever waits for the other polls: the same
# queue pairs take fewer notifications and sleeps than where nobody polls, in rounds
# of both kinds in turn.
# limit: 300
# processors: 2
# tier: soak
. ./lib.sh
. ./vhca.sh

ROUNDS=3
QPS=100

# counters FILE: of both sides, "name number".
counters() {
	vhcactl stats --json a 0 |
		jq -r '.counters | to_entries[] | "worker_\(.key) \(.value)"' >"$1"
	# shellcheck disable=SC2016
	guest_sh a 'cat /sys/kernel/debug/xen-vhca/vhca*/stats' |
		sed 's/^/guest_/' >>"$1"
}

# grown NAME: between the two files.
grown() {
	awk -v n="$1" '$1 == n { v = $2 - v } END { print v + 0 }' /tmp/before /tmp/after
}

# measured KIND US: both sides poll for so long; sums of the rounds in KIND_NAME.
measured() {
	local name
	vhca_attach a "spin-us=$2"
	guest_sh a "echo $2 >/sys/module/xen_vhcafront/parameters/spin_us"
	counters /tmp/before
	guest_sh -t 120 a "vhca-many qps $QPS" >"/tmp/many.$1"
	# The worker writes its statistics once a second.
	sleep 2	# measured
	counters /tmp/after
	for name in guest_cmds guest_cmd_spins guest_cmd_sleeps guest_cmd_notifies \
		worker_cmds worker_cmd_spins worker_cmd_sleeps worker_cmd_notifies; do
		sum[$1.$name]=$((${sum[$1.$name]:-0} + $(grown $name)))
	done
	note "$1: $(grep '^qps' "/tmp/many.$1")"
	vhcactl detach a all
}
declare -A sum

step "a guest with two processors"
backend_start
guest_config a pv vcpus=2 >/dev/null
guests_start a

step "queue pairs, in turn with and without polling"
for ((i = 0; i < ROUNDS; i++)); do
	measured never 0
	measured spinning 1000
done
for name in "${!sum[@]}"; do
	echo "$name ${sum[$name]}"
done | sort | tee "$SCENARIO_DIR/spinning"

more() { [ "${sum[$1]}" -gt "${sum[$2]}" ]; }
none() { [ "${sum[$1]}" = 0 ]; }
check "the guest never polls if it is told so" none never.guest_cmd_spins
check "nor does the worker" none never.worker_cmd_spins
check "the guest takes answers by polling" more spinning.guest_cmd_spins never.guest_cmd_spins
check "the worker takes commands by polling" \
	more spinning.worker_cmd_spins never.worker_cmd_spins
check "the guest sleeps less" more never.guest_cmd_sleeps spinning.guest_cmd_sleeps
check "it notifies less" more never.guest_cmd_notifies spinning.guest_cmd_notifies
check "the worker notifies less" more never.worker_cmd_notifies spinning.worker_cmd_notifies
kernel_clean a
