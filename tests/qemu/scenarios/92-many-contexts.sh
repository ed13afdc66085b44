#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# 1,024 processes that have an HCA with doorbell pages open, of one guest and then of 16:
# none is refused, and a device has no more than three nodes for doorbells, however many
# processes it serves.
# limit: 2400
# processors: 2
# tier: soak
# hca: yes
# qemu: -device connectx4,id=hca0,lid=1,bar-mb=64 -device connectx4,id=hca1,lid=2
. ./lib.sh
. ./vhca.sh
. ./hca.sh
. ./scale.sh

# 8 doorbell pages each: 8,192, all that a device has slots for, and half of what a BAR of
# 64 MiB has, of which 64 are left to dom0. The parent of the processes is one of them.
ALL=1024
GUESTS=16
EACH=$((ALL / GUESTS))
# So many open it at a time: 32 of one guest, 128 of all. The agent answers some 30 pages a
# second here, and a frontend waits 10 s for one.
AT_ONCE_ALONE=32
AT_ONCE_EACH=8
NODES=3
export BACKEND_LOG=info AGENT_OPTIONS='-l info'
# shellcheck disable=SC2034 # of scale.sh
TINY_PROVIDERS=mlx5
# A process takes a third of a MiB.
BIG_MEM=1280
TINY_MEM=192
[ "$TINY_MEM" -ge "$GUEST_MEM_LEAST" ] || TINY_MEM=$GUEST_MEM_LEAST

# nodes_of GUEST: of its device: the backend's, its own, the toolstack's.
nodes_of() {
	local dom dir n=0 part
	dom=$(guest_domid "$1")
	for dir in "$(backend_dir)/$dom" "/local/domain/$dom/device/vhca" \
		"/libxl/$dom/device/vhca"; do
		part=$(xenstore-ls "$dir" | grep -c =)
		n=$((n + part))
	done
	echo "$n"
}
few_nodes() {
	local more
	more=$(($(nodes_of "$1") - ${nodes[$1]}))
	echo "$1: $more nodes more"
	[ "$more" -le $NODES ]
}
declare -A nodes

# complaints: lines of daemon and agent about doorbells or contexts that could not be had.
complaints() {
	cat /run/vhcad.log /run/doorbelld.log | grep -c -e 'refused "' -e 'doorbell agent:' \
		-e 'are too many' -e 'no room for another context' || true
}

# attach GUEST PROCESSES: a device for so many, and what nodes it has without any.
attach() {
	vhcactl attach -w "$(seconds 120)" "$1" \
		"hca=mlx5_0,max-ucontext=$2,max-mmap=$(($2 * 8 + 64))" || fail "attach $1"
	wait_until 60 connected "$1" 0 || fail "$1 is not connected"
	nodes[$1]=$(nodes_of "$1")
	wait_guest 60 "$1" 'ibv_devinfo | grep PORT_ACTIVE' || fail "$1 has no active port"
}

# all_open PROCESSES AT_ONCE GUEST...: in each of them, and until all hold. pids are those
# of dom0.
all_open() {
	local n=$1 at_once=$2 g
	shift 2
	pids=()
	for g; do
		: >"/tmp/open.$g"
		guest_sh -t 1500 "$g" "vhca-many -g 0 -a $at_once -w $(seconds 600) open $((n - 1))" \
			>"/tmp/open.$g" 2>&1 &
		pids+=($!)
	done
	for g; do
		wait_until 600 grep -q -e '^held' -e '^end_open' "/tmp/open.$g" ||
			fail "$g: not all have opened: $(tail -n 3 "/tmp/open.$g")"
	done
}
pids=()

# so_many PROCESSES GUEST: none was refused.
so_many() {
	tail -n 3 "/tmp/open.$2"
	[ "$(value_of opened "/tmp/open.$2" opened)" = $(($1 - 1)) ] &&
		[ "$(value_of refused "/tmp/open.$2" opened)" = 0 ]
}
# Of all workers, also what ended processes left to the next ones.
contexts_for_all() { [ "$(rdma res show ctx | grep -c 'comm vhcad-')" -ge $ALL ]; }
pages_for_all() { [ "$(hca_ledger | sed -n 's/^doorbells //p')" -ge $((ALL * 8)) ]; }
nobody_left() { [ "$(xl list | grep -c -e null -e "$1 ")" = 0 ]; }

# processes NAME PROCESSES AT_ONCE GUEST...: the whole of it, with as many in each.
processes() {
	local name=$1 n=$2 at_once=$3 g before start
	shift 3
	before=$(complaints)
	costs_begin
	stamp; start=$NOW
	all_open "$n" "$at_once" "$@"
	stamp
	tell "$name s $(awk "BEGIN { print $NOW - $start }") costs_each $(costs_since $ALL)"
	tell "$name $(grep '^open ' "/tmp/open.$1" | tail -n 1)"
	tell "$name workers pss_median_max_private_kib $(memory_of_workers)"
	for g; do
		check "$g: $n processes have the device open" so_many "$n" "$g"
		check "$g: at most $NODES nodes are for them" few_nodes "$g"
	done
	check "dom0 has a context for each" contexts_for_all
	check "and the agent has mapped 8 pages for each" wait_until 20 pages_for_all
	check "nobody was refused anything" [ "$(complaints)" = "$before" ]
	for g; do
		many_ends "$g"
	done
	check "all close in order" all_well "a process" "${pids[@]}"
	for g; do
		tell "$name $(grep '^end_open ' "/tmp/open.$g" | tail -n 1)"
	done
}

# gone GUEST...: with their ends the HCA has its pages back, which takes a command each.
gone() {
	local g
	for g; do
		vhcactl detach -w "$(seconds 120)" "$g" all
		guest_destroy "$g"
		check "$g is gone" wait_until 60 nobody_left "$g"
	done
	check "what they had is given back" wait_until 120 same_dom0
	ledger_close
	hca_ledger_close
}

step "the HCA and one guest"
hca_setup
backend_start
agent_start
pool_end
tiny_guests_of $BIG_MEM big
ledger_open
hca_ledger_open
attach big $ALL

step "$ALL processes of one guest"
processes one_guest $ALL $AT_ONCE_ALONE big
step "and once more, with what the first ones left"
processes again $ALL $AT_ONCE_ALONE big
kernel_clean big
gone big

step "$GUESTS guests"
guests=()
for ((i = 1; i <= GUESTS; i++)); do
	guests+=("m$i")
done
tiny_guests_of "$TINY_MEM" "${guests[@]}"
for g in "${guests[@]}"; do
	attach "$g" $EACH
done

step "$EACH processes of each"
# All of them compute at once, and dom0 answers all: without a weight it would have the
# share of one.
xl sched-credit2 -d Domain-0 -w $((256 * GUESTS))
processes "guests_$GUESTS" $EACH $AT_ONCE_EACH "${guests[@]}"
gone "${guests[@]}"
kernel_clean
