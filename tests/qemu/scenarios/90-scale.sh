#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Many guests with a vhca each on one HCA: what one more costs dom0 does not depend on
# how many there are, what each takes of memory is told, and a guest that loops does
# not make another one wait for more than its turn. 64 guests in the long form, 16 in
# the short one.
# limit: 2400
# soak-limit: 7200
# ram: 11776
# processors: 2
# tier: soak
# xen: gnttab_max_maptrack_frames=12288
. ./lib.sh
. ./vhca.sh
. ./hca.sh
. ./scale.sh

N=$(long 16 64)
BUSY=16
# The machine's memory is for guests of Linux 6.1.
case $GUEST_KVER in
6.1.*-amd64) ;;
*)	N=16 TINY_MEM=$GUEST_MEM ;;
esac
export BACKEND_LOG=info AGENT_OPTIONS='-l info' BACKEND_ARGS='--maptrack-frames 12288'
# 64 of the default of 128 would not fit beside each other.
KEYS=hca=rxe0,max-pinned-mb=40
guests=()
for ((i = 1; i <= N; i++)); do
	guests+=("s$i")
done

# All at once they take longer than one alone may.
attach() { vhcactl attach -w "$(seconds 120)" "$1" $KEYS; }
detach() { vhcactl detach -w "$(seconds 120)" "$1" all; }

# attach_measured FROM TO: one after the other; what each cost is told as NAME.
attach_measured() {
	local name=$1 i start free
	costs_begin
	free=$(free_kib)
	stamp; start=$NOW
	for ((i = $2; i <= $3; i++)); do
		attach "s$i" || fail "attach s$i"
	done
	stamp
	tell "$name ms $(awk "BEGIN { printf \"%.0f\", ($NOW - $start) * 1000 / ($3 - $2 + 1) }")" \
		"costs $(costs_since $(($3 - $2 + 1)))" \
		"free_kib $(((free - $(free_kib)) / ($3 - $2 + 1)))"
	costs_last=$(tail -n 1 "$SCENARIO_DIR/scale")
}

# flat FIRST LAST: of two lines of attach_measured, the columns of the supervisor's and
# of the agent's reads and writes: not half as many again, and a few.
flat() {
	awk -v a="$1" -v b="$2" 'BEGIN {
		na = split(a, x, " "); nb = split(b, y, " ")
		for (i = 1; i <= na; i++) if (x[i] == "costs") p = i
		for (i = 1; i <= nb; i++) if (y[i] == "costs") q = i
		for (i = 1; i <= 7; i += 3)
			if (y[q + i] > x[p + i] * 1.5 + 30) bad++
		exit bad || !p || !q }'
}

step "$N guests"
backend_start
agent_start
tiny_guests "${guests[@]}"
ledger_open

step "a vhca for each, one after the other"
attach_measured attach_1 1 1
tell "workers_1 pss_median_max_private_kib $(memory_of_workers)"
attach_measured attach_2_4 2 4
first=$costs_last
tell "workers_4 pss_median_max_private_kib $(memory_of_workers)"
attach_measured attach_5_13 5 13
attach_measured attach_14_16 14 16
tell "workers_16 pss_median_max_private_kib $(memory_of_workers)"
last=$costs_last
if [ "$N" -gt 16 ]; then
	attach_measured attach_17_61 17 $((N - 3))
	attach_measured "attach_62_$N" $((N - 2)) "$N"
	last=$costs_last
	tell "workers_$N pss_median_max_private_kib $(memory_of_workers)"
fi
check "the last ones cost dom0 what the first ones did" flat "$first" "$last"
check "each has a worker" [ "$(workers | wc -l)" = "$N" ]
for g in "${guests[@]}"; do
	check "$g is connected" wait_until 30 connected "$g" 0
done

step "nobody does anything"
woken=$(wakeups_of_workers)
costs_begin
sleep 20	# measured
tell "idle_20s wakeups_of_a_worker_per_s $(awk -v n="$(($(wakeups_of_workers) - woken))" \
	-v w="$N" 'BEGIN { printf "%.2f", n / 20 / w }') costs $(costs_since 1)"

step "$BUSY of them under traffic"
pids=()
for ((i = 1; i <= BUSY; i++)); do
	wait_guest 30 "s$i" 'ls /dev/infiniband/uverbs*'
	guest_sh -t 200 "s$i" 'vhca-xfer --loop -e --pause 50 --traffic 60' \
		>"/tmp/traffic.s$i" 2>&1 &
	pids+=($!)
done
for ((i = 1; i <= BUSY; i++)); do
	wait_until 60 grep -q '^t=1 ' "/tmp/traffic.s$i" || fail "no traffic in s$i"
done
if [ "$N" -gt "$BUSY" ]; then
	check "one goes meanwhile" detach "s$N"
	attach_measured attach_beside_traffic "$N" "$N"
fi
check "all transfers were right" all_well "a transfer failed" "${pids[@]}"

step "memory of dom0 for each page that is mapped"
MAPPED=16
pids=()
free=$(free_kib)
for ((i = 1; i <= BUSY; i++)); do
	: >"/tmp/region.s$i"
	guest_sh -t 300 "s$i" "vhca-many -w 240 region $MAPPED" >"/tmp/region.s$i" 2>&1 &
	pids+=($!)
done
for ((i = 1; i <= BUSY; i++)); do
	wait_until 60 grep -q held "/tmp/region.s$i" ||
		fail "s$i registers nothing: $(cat "/tmp/region.s$i")"
done
tell "mapped_page bytes $(((free - $(free_kib)) * 1024 / (BUSY * MAPPED * 256)))"
for ((i = 1; i <= BUSY; i++)); do
	many_ends "s$i"
done
check "the regions end" all_well "a region" "${pids[@]}"

# A guest has not dom0's environment.
PROBE="TIME_SCALE=${TIME_SCALE:-2} vhca-many probe 200"

# beside MODE: what s2 feels of s1's loop. The commands of s1 that were served for each
# of s2's, which has one at a time: as many as wait before it.
beside() {
	local own rate
	guest_sh -t 400 s1 "vhca-many -w 300 $1" >/tmp/churn 2>&1 &
	churn=$!
	wait_until 60 grep -q begun /tmp/churn || fail "no $1: $(cat /tmp/churn)"
	guest_sh -t 300 s2 "$PROBE" >"/tmp/probe.$2" ||
		fail "s2: $(cat "/tmp/probe.$2")"
	many_ends s1
	wait $churn || fail "$1: $(cat /tmp/churn)"
	rate=$(awk -v v="$(value_of cmds /tmp/churn churn)" \
		-v ms="$(value_of ms /tmp/churn churn)" 'BEGIN { print v / ms }')
	own=$(awk -v v="$(value_of cmds "/tmp/probe.$2" create_qp)" \
		-v ms="$(value_of ms "/tmp/probe.$2" create_qp)" 'BEGIN { print v / ms }')
	before_one=$(awk -v a="$rate" -v b="$own" 'BEGIN { printf "%.2f", a / b }')
}
told() {
	tell "$1 create_qp_p50_p99_us $(value_of p50_us "/tmp/probe.$2" create_qp)" \
		"$(value_of p99_us "/tmp/probe.$2" create_qp)" \
		"event_p50_p99_us $(value_of p50_us "/tmp/probe.$2" event)" \
		"$(value_of p99_us "/tmp/probe.$2" event) others_before_one ${3:-0}"
}
at_most() { awk -v a="$1" -v b="$2" 'BEGIN { exit !(a <= b) }'; }

step "fairness"
for g in s1 s2; do
	wait_guest 30 "$g" 'ls /dev/infiniband/uverbs*'
done
guest_sh -t 300 s2 "$PROBE" >/tmp/probe.alone || fail "s2: $(cat /tmp/probe.alone)"
told alone alone
beside 'create 1' create
told beside_create create "$before_one"
check "of one that makes queue pairs at most four commands are before one of another's" \
	at_most "$before_one" 4
beside "reg $MAPPED" reg
told beside_reg reg "$before_one"
check "of one that registers memory at most one command is" at_most "$before_one" 1

step "all go, and come at once"
pids=()
for g in "${guests[@]}"; do
	detach "$g" &
	pids+=($!)
done
check "all are detached" all_well "a detach" "${pids[@]}"
pids=()
costs_begin
stamp; start=$NOW
for g in "${guests[@]}"; do
	attach "$g" &
	pids+=($!)
done
check "all are attached at once" all_well "an attach" "${pids[@]}"
stamp
tell "attach_at_once s $(awk "BEGIN { print $NOW - $start }") costs $(costs_since "$N")"
for g in "${guests[@]}"; do
	check "$g is connected again" wait_until 60 connected "$g" 0
done

step "what is left"
for g in "${guests[@]}"; do
	detach "$g"
done
ledger_close
kernel_clean
