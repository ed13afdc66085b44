#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# A flood of requests to the doorbell agent for one guest (by a hostile backend: dom0,
# by hand) does not hold up another guest's processes, and each request is answered.
# tier: soak
# limit: 400
# hca: yes
# qemu: -device connectx4,id=hca0,lid=1 -device connectx4,id=hca1,lid=2
. ./lib.sh
. ./vhca.sh
. ./hca.sh

step "a PVH and a PV guest"
hca_guests pvh a pv b
dir=/local/domain/0/backend/vhca/$(guest_domid a)/0/doorbell

SLOTS=$(long 250 1000)
FIRST=$((1024 - SLOTS))
MIDDLE=$((1024 - SLOTS / 2))

# asked FROM TO: requests in these slots; answered FROM TO: waits until all are
# answered, and removes them.
asked() {
	local s pairs=()
	for ((s = $1; s < $2; s++)); do
		pairs+=("$dir/$s/request" "map 0x1000 0x0 0x1")
	done
	xenstore-write "${pairs[@]}"
}
answered() {
	local s paths=()
	for ((s = $1; s < $2; s++)); do
		paths+=("$dir/$s")
	done
	wait_until 150 xenstore-exists "${paths[@]/%//answer}" &&
		xenstore-rm "${paths[@]}"
}
# A list of requests, not waited for; each is a new one.
number=0
listed() {
	local i text=
	for ((i = 0; i < 16; i++)); do
		number=$((number + 1))
		text+=";$number $((2000 + i)) map 0x1000 0x0 0x1"
	done
	xenstore-write "$dir/requests" "${text#;}"
}
# Requests are there all the time: of one half of the slots while those of the other
# half are removed. So what b gets, it gets during the flood.
flood() {
	asked $FIRST $MIDDLE
	until [ -e /tmp/flood.end ]; do
		asked $MIDDLE 1024
		listed
		answered $FIRST $MIDDLE || return 1
		asked $FIRST $MIDDLE
		listed
		answered $MIDDLE 1024 || return 1
	done
	answered $FIRST $MIDDLE
}

step "$SLOTS requests for a at a time; b opens contexts meanwhile"
rm -f /tmp/flood.end
flood &
flood=$!
check "the flood runs" wait_until 20 xenstore-exists "$dir/$FIRST/answer"
# The daemon waits five seconds for a page, which may be too few where all is slow.
for n in 1 2 3; do
	check "a process of b gets its pages, $n" \
		wait_guest 120 b 'vhca-uar hold 1'
done
touch /tmp/flood.end
check "all requests of the flood were answered" wait "$flood"
check "a process of a gets its pages afterwards" guest_sh -t 70 a \
	"timeout $(seconds 60) vhca-uar hold 1"
kernel_clean a b
vhcactl detach a all
vhcactl detach b all
