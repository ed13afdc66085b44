#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# A hostile backend that says it has an mlx5 takes nothing from the guest but the
# device, and memory at a rate where it arms CQs itself, although nobody sees CQs
# armed, doorbell pages are its word, and queues are memory of the process.
# skip-ok: no time is left for it
# limit: 700
. ./lib.sh
. ./vhca.sh
. ./hostile.sh

CQS=$(long 80 200 40)	# each of which an overflow may be told
FLOOD=$(long 40 60 60)	# seconds at most; a flood ends when the guest has measured
HARD=$(seconds "$(long 5 30 30)")	# seconds of one that never rests, in which it has no time to
MANY_KB=2048	# of events that nobody reads; 65536 would be 4 MB

# held CQS [OPTION]: for the guest: with so many CQs, whose events stay unread, what five
# seconds cost its kernel: "slab KB", "free KB", "cmds PER SECOND", "work N": interrupts
# that Xen's driver was told had work, of which it slows down none.
held() {
	echo "cqs=$1 option=${2:-}"
	cat <<-'EOT'
	kb() {
		while read -r n v _; do
			[ "$n" != "$1:" ] || echo "$v"
		done </proc/meminfo
	}
	# At one time: the counters of interrupts go on.
	now() {
		local n v
		while read -r n v; do
			case $n in cmds|irqs|spurious) printf -v $n %d "$v" ;; esac
		done <<<"$(cat /sys/kernel/debug/xen-vhca/vhca*/stats)"
		work=$((irqs - spurious))
	}
	rm -f /tmp/unread
	s=$(kb SUnreclaim) f=$(kb MemFree)
	vhca-unread $option -n $cqs sleep 7 >/tmp/unread &
	p=$!
	while kill -0 $p && ! grep CQs /tmp/unread; do
		sleep 0.1
	done 2>/dev/null
	now
	c=$cmds w=$work
	read -r t _ </proc/uptime
	sleep 5 # measured
	read -r u _ </proc/uptime
	now
	echo "cmds $(((cmds - c) / (${u%.*} - ${t%.*})))"
	echo "work $((work - w))"
	echo "slab $(($(kb SUnreclaim) - s))"
	echo "free $((f - $(kb MemFree)))"
	wait $p
	EOT
}

# said NAME: that number.
said() { awk -v n="$1" '$1 == n { print $2; f = 1 } END { exit !f }' "/tmp/said.$guest"; }
# few NAME MORE: it is not that much more than without a lie.
few() {
	note "$guest: $1 $(said "$1"), honestly $(cat "/tmp/honest.$guest.$1")"
	[ "$(said "$1")" -lt $(($(cat "/tmp/honest.$guest.$1") + $2)) ]
}
# asked: how often the guest asked for its port since the flood had begun.
asked() { sed -n 's/.*, asked \([0-9]*\) times.*/\1/p' "/tmp/lie.$guest"; }
# flooded N: at least so many were sent.
flooded() {
	local n
	n=$(sed -n 's/.*flood of \([0-9]*\),.*/\1/p' "/tmp/lie.$guest")
	note "$guest: $n sent"
	[ "${n:-0}" -ge "$1" ]
}

# Each of these is a part; a guest gets some of them.
honest() {
	local n
	check "$guest: without a lie" brief mlx5-honest 60 "$(held "$CQS")"
	check "$guest: there are CQs" grep -qx "$CQS CQs" "/tmp/said.$guest"
	for n in slab free cmds work; do
		said $n >"/tmp/honest.$guest.$n"
	done
}

# meets MODE WHAT [OPTION]: such a flood meets that many CQs.
meets() {
	check "$2" brief "$1" "$FLOOD" "$(held "$CQS" "${@:3}")"
	check "there are CQs" grep -qx "$CQS CQs" "/tmp/said.$guest"
	check "they came" flooded 512
}

floods() {
	step "$guest: events that nobody asked for"
	meets mlx5-comp-flood "completions of a CQ that was never armed"
	check "they are not kept: slab" few slab $MANY_KB
	check "they are not kept: memory" few free $((2 * MANY_KB))
	check "they are no work" few work 20
	# It is told of that CQ only, so one is enough. On one processor the word changes
	# only before the guest takes a ring full of events: one of each is kept. How many
	# at most, if it changes all the time, test_front_event shows.
	check "completions of a CQ that the backend arms" \
		brief mlx5-arm-flood "$HARD" "$(held 1)"
	check "they came" flooded 65536
	check "few of them are kept: slab" few slab $((MANY_KB / 2))
	meets mlx5-overflow "overflows"
	check "they are not kept: slab" few slab $MANY_KB
	check "they are not kept: memory" few free $((2 * MANY_KB))
	meets mlx5-file-flood "events of rdma_cm and umad" -f
	check "they are not kept: slab" few slab $MANY_KB
	check "but for the first, they are no work" few work 20
	meets mlx5-port-flood "events of the port"
	check "they are not kept: slab" few slab $MANY_KB
	# Once a second, after a few times more, port, GIDs and P_Keys are read again.
	check "the guest asks, but not for each" few cmds 60
	check "it does ask" [ "$(asked)" -ge 2 ]
}

# none_written N [M]: the process had an answer for each of N pages, and none to use. A
# translated guest's page is where it said, whatever the backend says: M are where
# nothing is.
none_written() {
	local m=0
	is_pv || m=${2:-0}
	cat "/tmp/said.$guest"
	[ "$(grep -c '^doorbell ' "/tmp/said.$guest")" = "$1" ] &&
		[ "$(grep -c ': written' "/tmp/said.$guest")" = "$m" ]
}

doorbells() {
	step "$guest: doorbell pages"
	check "refused in all ways" brief mlx5-doorbell-error 10 \
		'vhca-unread -u 6'
	check "no page" none_written 6
	# Each of the eleven lies twice, of which five look well.
	check "frames that are not the HCA's" brief mlx5-doorbell-lies 10 \
		'vhca-unread -u 22'
	check "no page" none_written 22 10
	! is_pv || check "Xen refused what looked well" \
		[ "$(grep -c SIGBUS "/tmp/said.$guest")" = 10 ]
	check "never answered" brief mlx5-doorbell-silent 20 'vhca-unread -u 2'
	check "no page" none_written 2
}

# A CQ of 4 MiB each time: 14 MiB may be kept of 256.
keeping() {
	step "$guest: it keeps the memory of CQs"
	check "mlx5-keeps-cq" broken mlx5-keeps-cq 10 \
		'vhca-unread -n 0 -e 65535 -r 20'
	cat "/tmp/said.$guest"
	check "that is the reason" grep -q 'broken: .*let go' "/tmp/lie.$guest"
	check "what is kept stays charged to the process" \
		grep -qE 'round 1: VmPin (409[6-9]|41[0-9]{2}) kB, ok' "/tmp/said.$guest"
	check "and in the second round" \
		grep -qE 'round 2: VmPin (819[2-9]|82[0-9]{2}) kB, ok' "/tmp/said.$guest"
	check "the guest has it again, later" wait_guest 20 "$guest" \
		'grep -qx "zombies 0" /sys/kernel/debug/xen-vhca/zombies'
}

# 32 objects, 1.8 s for each: a minute, of which 33 s are waited for.
lateness() {
	step "$guest: every answer is late"
	check "detach" lie mlx5-late-detach 60 'vhca-unread -n 30 sleep 45'
	check "it was not waited for to the end" \
		grep -qE 'detached after (2[0-9]|3[0-9]|4[0-4]) s' "/tmp/lie.$guest"
}

step "a PV and a PVH guest, and no daemon in dom0"
hostile_guests

in_turn "honest floods doorbells" "doorbells keeping lateness"
hostile_end
