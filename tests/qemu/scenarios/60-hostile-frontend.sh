#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Hostile frontends (a program in guests a and c, with the module unloaded) against
# the real backend: their devices are closed with a reason, guest b's traffic and
# the supervisor do not notice, and the module connects again afterwards. In the long form
# they flood, too.
# limit: 420
. ./lib.sh
. ./vhca.sh
. ./hostile_front.sh

# What a backend waits for before it starts a worker again takes most of the time:
# the two guests have half of it each.
first_half() {
	step "a: nodes that cannot be"
	check "each closes the device and says why" hostile a nodes
	step "a: the frontend vanishes"
	check "connected, with a memory region, and gone" hostile a vanish
}
second_half() {
	step "c: garbage and lying page lists"
	check "errors are answered, the device serves on" \
		hostile c garbage pages
	step "c: wild producer indices"
	check "each closes the device and says why" hostile c producer
	step "c: states in disorder"
	check "the backend follows" hostile c states
}

declare -A domid pid cmds
of() { echo "/sys/fs/cgroup/vhcad-${pid[$1]}/$2"; }
# usage GUEST: milliseconds of a processor that its worker's cgroup has had.
usage() { awk '$1 == "usage_usec" { print int($2 / 1000) }' "$(of "$1" cpu.stat)"; }
# count GUEST: commands that its worker has executed.
count() {
	local file=$RUN_DIR/${domid[$1]}-0.stats
	rm -f "$file"
	kill -USR1 "${pid[$1]}"
	wait_until 10 test -s "$file" || fail "no statistics of $1's worker"
	cmds[$1]=$(sed -n 's/.*"cmds":\([0-9]*\).*/\1/p' "$file")
}
# busy GUEST: a thread that never rests, where those of its worker are.
busy() {
	echo "$BASHPID" >"$(of "$1" cgroup.procs)"
	while :; do :; done
}
# shares: of a worker with many busy threads, and of one with one.
shares() {
	local g hogs=() b c
	for g in c c c c b; do
		busy $g &
		hogs+=($!)
	done
	b=$(usage b)
	c=$(usage c)
	sleep 4 # measured
	b=$(($(usage b) - b))
	c=$(($(usage c) - c))
	kill "${hogs[@]}"
	wait "${hogs[@]}" 2>/dev/null || true
	check "one busy thread beside b's worker had $b ms, four beside c's $c ms" \
		[ "$c" -lt $((2 * b)) ]
}
# What is served in all is counted, not how long it takes: a has 100 commands a second,
# and says itself whether it had more.
floods() {
	local a c g n since
	local -A was
	n=50
	guest_sh -t 500 a 'hostile-frontend destroys' >/tmp/flood.a 2>&1 &
	a=$!
	guest_sh -t 500 c 'hostile-frontend flood' >/tmp/flood.c 2>&1 &
	c=$!
	for g in a c; do
		wait_until 60 grep -q begun "/tmp/flood.$g" ||
			fail "no flood of $g: $(cat "/tmp/flood.$g")"
	done
	# Each has a worker that was started when it connected.
	for g in a b c; do
		domid[$g]=$(guest_domid $g)
		pid[$g]=$(worker_pid $g 0)
	done
	since=$SECONDS
	for g in a b c; do
		count $g
		was[$g]=${cmds[$g]}
		note "$g: ${cmds[$g]} commands, $(usage $g) ms"
	done
	check "b makes $n queue pairs meanwhile" guest_sh -t 100 b \
		"TIME_SCALE=${TIME_SCALE:-2} vhca-many probe $n"
	for g in a b c; do
		count $g
		note "$g: ${cmds[$g]} commands, $(usage $g) ms"
		cmds[$g]=$((cmds[$g] - was[$g]))
	done
	since=$((SECONDS - since + 1))
	check "b's worker has executed ${cmds[b]} commands, three for each and more" \
		[ "${cmds[b]}" -ge $((3 * n)) ]
	# One second's more, and a ring whose answers wait.
	check "a's ${cmds[a]} in $since s, its rate" \
		[ "${cmds[a]}" -le $((100 * since + 100 + 64)) ]
	check "c's ${cmds[c]}, more than b's" [ "${cmds[c]}" -gt "${cmds[b]}" ]
	shares
	check "before the floods have ended" eval "kill -0 $a && kill -0 $c"
	for g in a c; do
		guest_sh $g 'touch /tmp/enough'
	done
	check "a: destroy commands that end nothing have their rate" \
		shown /tmp/flood.a wait $a
	check "c: a flood of commands, kicks and notifications is served" \
		shown /tmp/flood.c wait $c
	check "b's worker is the same" [ "$(worker_pid b 0)" = "${pid[b]}" ]
}
# shown FILE COMMAND...: and what it said.
shown() {
	local rc=0
	"${@:2}" || rc=$?
	cat "$1"
	return $rc
}
no_cgroups_of_workers() { [ -z "$(find /sys/fs/cgroup -maxdepth 1 -name 'vhcad-*')" ]; }
# Each worker has a cgroup, and dom0's programs are in none of them.
own_cgroups() {
	local g pid
	for g in a b c; do
		pid=$(worker_pid $g 0)
		[ "$(cat "/proc/$pid/cgroup")" = "0::/vhcad-$pid" ] &&
			[ "$(cat "/sys/fs/cgroup/vhcad-$pid/memory.max")" = \
				$(((512 + 2 * 128) << 20)) ] &&
			[ "$(cat "/sys/fs/cgroup/vhcad-$pid/cpu.weight")" = 100 ] || return 1
	done
	[ "$(cat "/proc/$(supervisor_pid)/cgroup")" = 0::/ ]
}

step "three PV guests with a vhca each"
backend_start
guest_config a pv >/dev/null
guest_config b pv >/dev/null
guest_config c pv >/dev/null
guests_start a b c
ledger_open a b c
vhca_attach a max-cmd-rate=100 &
first=$!
vhca_attach_all b c
all_well "a has no vhca" $first
hostile_fronts_begin

first_half &
first=$!
second_half &
second=$!
all_well "what a or c does is not endured" "$first" "$second"

step "cgroups; floods, each in its way"
hostile_traffic_end
check "each worker has a cgroup of its own" own_cgroups
[ "$(long no yes)" = no ] || floods
hostile_fronts_end
ledger_close b
kernel_clean a b c
check "no worker's cgroup is left" wait_until 5 no_cgroups_of_workers
spoilt a c
