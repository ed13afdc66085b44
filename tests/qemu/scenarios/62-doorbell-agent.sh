#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# A hostile backend (dom0, by hand) asks the doorbell agent for everything that
# it must not map into a guest: each request is refused for the right reason,
# which is logged, and nobody's doorbells are touched.
# tier: soak
# limit: 600
# hca: yes
# qemu: -device connectx4,id=hca0,lid=1 -device connectx4,id=hca1,lid=2
. ./lib.sh
. ./vhca.sh
. ./hca.sh
. ./doorbell.sh

AGENT_LOG=${AGENT_LOG:-/run/doorbelld.log}
AGENT_STATE=/run/xen-vhca-doorbelld/state
declare -A dir
asked=0

devid_of() { xenstore-list "/libxl/$(guest_domid "$1")/device/vhca" | tail -n 1; }
hex() { printf '0x%x' "$1"; }
bdf_of() { basename "$(readlink -f "/sys/class/infiniband/$1/device")"; }

# bar BDF N: first frame of a BAR and how many there are, "0 0" if none.
bar() {
	local start end flags
	read -r start end flags < <(sed -n "$(($2 + 1))p" \
		"/sys/bus/pci/devices/$1/resource")
	if (((flags & 0x200) == 0)); then
		echo 0 0
	else
		echo $((start >> 12)) $(((end - start + 4096) >> 12))
	fi
}

# Frame of a memory BAR of anything but the HCAs.
other_device() {
	local d first n
	for d in /sys/bus/pci/devices/*; do
		[ "$(cat "$d/vendor")" != 0x15b3 ] || continue
		for n in 0 1 2 3 4 5; do
			read -r first _ < <(bar "${d##*/}" "$n")
			[ "$first" = 0 ] || { echo "$first"; return; }
		done
	done
	fail "no device with a memory BAR beside the HCAs"
}

# live GUEST: machine frame and guest frame of its mapped slots.
live() {
	awk -v guest="$(guest_domid "$1")" '
		$1 == "map" && $2 == guest && $9 ~ /^.00$/ { print $6, $7 }' \
		"$AGENT_STATE"
}
mappings() { grep -c '^map ' "$AGENT_STATE" || true; }

# ask DIR SLOT TEXT: request number n in place of the worker's list, which is stopped;
# the answer, if one comes. A list that is refused as a whole has number 0.
n=$(date +%s%N)
ask() {
	local end=$((SECONDS + 10))
	xenstore-rm "$1/answers" 2>/dev/null || true
	xenstore-write "$1/requests" "$n $2 $3"
	until xenstore-read "$1/answers" 2>/dev/null | grep -E "^(0|$n) "; do
		[ "$SECONDS" -lt "$end" ] || return 0
		sleep 0.1
	done | sed 's/^[0-9]* //'
}

next_slot() {
	asked=$((asked + 1))
	n=$((n + 1))
	slot=$((1000 + asked % 20))
}

# expect ANSWER GUEST TEXT CLAIM [SLOT]: in a slot of its own.
expect() {
	local answer
	next_slot
	answer=$(ask "${dir[$2]}" "${5:-$slot}" "$3")
	[ "$answer" = "$1" ] || note "the agent answers '$answer'"
	check "$4: $1" [ "$answer" = "$1" ]
}

# refused REASON GUEST TEXT CLAIM: and the agent's log has the reason. It has ten
# lines a second of a device at most: what it left out is asked again.
refused() {
	expect "refused $1" "$2" "$3" "$4"
	check "it is in the log" wait_until 10 logged "$@"
}
logged() {
	grep -qF "slot $slot: refused \"$3\": $1" "$AGENT_LOG" && return
	next_slot
	ask "${dir[$2]}" "$slot" "$3"
	return 1
}

step "a PVH and a PV guest, both on mlx5_0, with processes that use it"
hca_guests pvh a pv b
hca_move b mlx5_0
for g in a b; do
	dir[$g]=/local/domain/0/backend/vhca/$(guest_domid $g)/$(devid_of $g)/doorbell
	hold_start $g
	live $g >"/tmp/live.$g"
	check "$g has doorbell pages" [ -s "/tmp/live.$g" ]
done
read -r live_a gfn_a <"/tmp/live.a"
read -r live_b _ <"/tmp/live.b"
read -r bar0 pages < <(bar "$(bdf_of mlx5_0)" 0)
read -r bar2 _ < <(bar "$(bdf_of mlx5_0)" 2)
read -r bar_other _ < <(bar "$(bdf_of mlx5_1)" 0)
# The HCA hands out UAR pages from the front: the last one is nobody's.
free=$(hex $((bar0 + pages - 1)))
before=$(mappings)

step "frames that are no doorbell page of b's HCA, asked for in place of the workers"
workers=("$(worker_pid a "$(devid_of a)")" "$(worker_pid b "$(devid_of b)")")
kill -STOP "${workers[@]}"
outside="not in a BAR of the HCA"
no_bell="not a doorbell page of the HCA"
refused "$outside" b "map 0x1000 0x0 0x1" "memory"
refused "$outside" b "map 0x0 0x0 0x1" "frame 0"
refused "$outside" b "map $(hex "$(other_device)") 0x0 0x1" "another device"
refused "$outside" b "map $(hex $((bar_other + 300))) 0x0 0x1" \
	"a doorbell page of the other HCA"
for n in 0 1 2; do
	refused "$no_bell" b "map $(hex $((bar0 + n))) 0x0 0x1" \
		"page $n of the HCA, not a doorbell"
done
refused "$no_bell" b "map $(hex "$bar2") 0x0 0x1" "the HCA's MSI-X table"

step "pages of others"
refused "mapped into another guest" b "map $live_a 0x0 0x1" \
	"a page that a process of a uses"
refused "mapped into this guest already" b "map $live_b 0x0 0x1" \
	"a page that b has"

step "numbers"
refused "frame number out of range" b "map 0x10000000000 0x0 0x1" "2^40"
refused "frame number out of range" b "map 0xffffffffffffffff 0x0 0x1" \
	"the last frame of all"
refused "frame number out of range" b \
	"map $(hex $((1 << 52 | bar0 + pages - 1))) 0x0 0x1" \
	"a frame that a shift would make a good one"
refused "no pages asked for" b "map $free 0x0 0x0" "0 pages"
refused "too many pages in one request" b "map $free 0x0 0x2" "2 pages"
refused "too many pages in one request" b "map $free 0x0 0xffffffffffffffff" \
	"a range that wraps"

step "guest frames"
read -r window_gfn window_nr < <(xenstore-read \
	"/local/domain/$(guest_domid a)/device/vhca/$(devid_of a)/doorbell-window")
refused "a PV guest has no guest frame (gfn must be 0x0)" b \
	"map $free 0x1000 0x1" "a guest frame for a PV guest"
window="guest frame outside of the guest's window"
refused "$window" a "map $free 0x0 0x1" "frame 0"
refused "$window" a "map $free 0x1000 0x1" "memory of the guest"
refused "$window" a "map $free $(hex $((window_gfn - 1))) 0x1" \
	"right before the window"
refused "$window" a "map $free $(hex $((window_gfn + window_nr))) 0x1" \
	"right behind the window"
refused "frame number out of range" a "map $free 0x10000000000 0x1" \
	"guest frame 2^40"
refused "guest frame has another doorbell page" a "map $free $gfn_a 0x1" \
	"where a has a page"

step "texts"
unknown="request not understood"
for text in hello '' map "map $free" "map $free 0x0" "map $free 0x0 0x1 0x1" \
	"map $((bar0 + pages - 1)) 0 1" "map $free 0x0 0x1 " "unmap all" \
	"map 0x10000000000000000 0x0 0x1" "MAP $free 0x0 0x1" "map  $free 0x0 0x1"; do
	expect "refused $unknown" b "$text" "'$text'"
done
expect "refused $unknown" b "map $(printf '%02000d' 0)" "2000 zeroes"
expect "refused $unknown" b $'map \001\033[2J 0x0 0x1' "control characters"
check "the log has none of them" eval "! LC_ALL=C grep -q \$'[\\001\\033]' $AGENT_LOG"

step "a slot that is in use, and a page that was"
expect mapped b "map $free 0x0 0x1" "a free page" 1020
expect "refused slot is in use, unmap first" b \
	"map $(hex $((free - 1))) 0x0 0x1" "the slot again" 1020
refused "mapped into this guest already" b "map $free 0x0 0x1" \
	"nor the page by another slot"
refused "mapped into another guest" a "map $free $(hex "$window_gfn") 0x1" \
	"nor into the other guest"
expect unmapped b unmap "the slot" 1020
expect unmapped b unmap "a slot without a mapping"
# b's page tables may have it still.
refused "was mapped into another guest that still runs" a \
	"map $free $(hex "$window_gfn") 0x1" "the page of a running PV guest"

step "slots and devices that there are not"
for s in 8192 01001 x; do
	expect "refused no such slot" b "map $(hex $((free - 2))) 0x0 0x1" \
		"slot $s" "$s"
done
strange=("/local/domain/$(guest_domid a)/backend/vhca/$(guest_domid b)/$(devid_of b)/doorbell"
	"/local/domain/0/backend/vhca/$(guest_domid b)/77/doorbell")
for path in "${strange[@]}"; do
	xenstore-write "$path/requests" "1 1001 map $(hex $((free - 2))) 0x0 0x1"
done
# The agent takes its events in order: these came before.
refused "$outside" b "map 0x1000 0x0 0x1" "memory, once more"
for path in "${strange[@]}"; do
	check_not "no answer in ${path#/local/domain/}" \
		xenstore-exists "$path/answers"
	xenstore-rm "$path" || true
done
xenstore-rm "/local/domain/0/backend/vhca/$(guest_domid b)/77" || true
# + 1: the page that is kept for b
check "nothing was mapped by all this" [ "$(mappings)" = $((before + 1)) ]

kill -CONT "${workers[@]}"

step "the processes that were there all the time"
check "a's doorbells work, and nobody else rang" hold_end a
check "b's doorbells work, and nobody else rang" hold_end b

# listed ANSWERS REQUESTS CLAIM: in b's list, whose worker is stopped.
listed() {
	xenstore-write "${dir[b]}/requests" "$2"
	check "$3: $1" wait_until 10 list_says "$1"
}
list_says() { [ "$(xenstore-read "${dir[b]}/answers")" = "$1" ]; }

step "a list of requests, by hand in place of b's worker"
worker=$(worker_pid b "$(devid_of b)")
kill -STOP "$worker"
n=$(date +%s%N)
one="$n 2000 map $(hex $((free - 3))) 0x0 0x1"
two="$((n + 1)) 2001 map 0x1000 0x0 0x1"
listed "$n mapped;$((n + 1)) refused $outside" "$one;$two" "each has its answer"
listed "$n mapped;$((n + 2)) unmapped" "$one;$((n + 2)) 2000 unmap" \
	"what has an answer is not looked at"
unknown="0 refused $unknown"
listed "$unknown" "$((n + 3)) 2000 unmap;$((n + 3)) 2001 unmap" "a number twice"
listed "$((n + 4)) unmapped" "$((n + 4)) 2000 unmap" "the next list is good"
listed "$unknown" "$((n + 6)) 2000 unmap;$((n + 5)) 2001 unmap" "numbers that fall"
listed "$((n + 7)) refused no such slot" "$((n + 7)) 8192 unmap" "slot 8192"
listed "$unknown" "$(for i in {10..26}; do printf ';%s 2000 unmap' \
	$((n + i)); done | cut -c2-)" "17 requests"
listed "$((n + 30)) unmapped" "$((n + 30)) 2000 unmap" "and a good one"
kill -CONT "$worker"
check "b gets doorbells again" guest_sh -t 70 b "timeout $(seconds 60) vhca-uar hold 1"
kernel_clean a b
