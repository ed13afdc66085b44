#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# A flood of requests to the doorbell agent for one guest (by a hostile backend: dom0,
# by hand) does not hold up another guest's processes, and its last list is answered.
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

LISTS=$(long 16 64)

# A list of requests, each of them a new one; the one before may have no answer yet.
number=0
listed() {
	local i text=
	for ((i = 0; i < 16; i++)); do
		number=$((number + 1))
		text+=";$number $((2000 + i)) map 0x1000 0x0 0x1"
	done
	xenstore-write "$dir/requests" "${text#;}"
}
answered() { [[ $(xenstore-read "$dir/answers") == *";$number refused "* ]]; }
flood() {
	local i
	until [ -e /tmp/flood.end ]; do
		for ((i = 0; i < LISTS; i++)); do
			listed
		done
		wait_until 150 answered || return 1
	done
}

step "$LISTS lists for a at a time; b opens contexts meanwhile"
rm -f /tmp/flood.end
flood &
flood=$!
check "the flood runs" wait_until 20 xenstore-exists "$dir/answers"
# The daemon waits five seconds for a page, which may be too few where all is slow.
for n in 1 2 3; do
	check "a process of b gets its pages, $n" \
		wait_guest 120 b 'vhca-uar hold 1'
done
touch /tmp/flood.end
check "each last list of the flood was answered" wait "$flood"
check "a process of a gets its pages afterwards" guest_sh -t 70 a \
	"timeout $(seconds 60) vhca-uar hold 1"
kernel_clean a b
vhcactl detach a all
vhcactl detach b all
