#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# tests/qemu/lib/ratio.sh without Xen: guest and HCAs are stubs, rounds of samples
# are made up. A scenario that ends early leaves the rows of the rounds before.
set -eu

top=$(cd "$(dirname "$0")/../.." && pwd)
command -v jq >/dev/null || {
	echo "SKIP: jq is not installed (make deps)"
	exit 77
}
# shellcheck source=tests/lib/claim.sh
. "$top/tests/lib/claim.sh"

# The guest is as fast in bandwidth and a tenth slower in latency; it dies in
# the round DIES, in the middle of a line.
cat >"$work/stubs.sh" <<'EOT'
set -eEuo pipefail
for stub in step hca_setup agent_start backend_start guest_create \
	vhca_attach wait_guest vhcactl; do
	eval "$stub() { :; }"
done
note() { echo "$*"; }
check() {
	shift
	"$@" >/dev/null
}
samples() {
	local i list=''
	for i in 1 2 3 4 5 6 7 8 9; do
		list+="${list:+,}[$((100 * $2 + i)),900]"
	done
	echo "{\"name\":\"$1\",\"unit\":\"$3\",\"samples\":[$list]}"
}
figures() {
	samples "write_lat 8 B" $((10 + $1)) us
	samples "send_lat 8 B" 10 us
	samples "send_lat 8 B events" $((10 * (1 + $1))) us
	for name in write_bw read_bw; do
		for size in "4 KiB" "64 KiB" "1 MiB"; do
			samples "$name $size" 20 MB/s
		done
	done
}
. "$TOP/tests/qemu/lib/ratio.sh"
evtchn_rtt() { echo 1200; }
measured() {
	local slow=1
	[ "$2" != native ] || slow=0
	figures $slow >"$1"
	if [ "${1##*.}" = "${DIES:-}" ] && [ "$slow" = 1 ]; then
		head -c 300 "$1" >"$1.cut"
		mv "$1.cut" "$1"
		return 1
	fi
}
ratio pv
EOT

# scenario NAME [DIES]: its status, its rows in $work/NAME/bench.json.
scenario() {
	mkdir -p "$work/$1"
	SCENARIO_DIR=$work/$1 TOP=$top DIES=${2:-} \
		bash "$work/stubs.sh" >"$work/$1/log" 2>&1
}
ends() { scenario "$@" || { cat "$work/$1/log"; return 1; }; }
fails() { ! scenario "$@"; }
rows() { jq -e "$2" "$work/$1/bench.json"; }
no_rows() { [ ! -e "$work/$1/bench.json" ]; }

claim "five rounds" ends whole
claim "  rows of all figures" rows whole 'length == 9'
claim "  of five rounds of five" rows whole \
	'all(.rounds == 5 and .rounds_wanted == 5)'
claim "  a slow latency misses its goal" rows whole \
	'.[] | select(.name == "write_lat 8 B") |
	 .met == false and .goal_ratio == 1.05 and .ratio > 1.09'
claim "  events cost a round trip" rows whole \
	'.[] | select(.name | endswith("events")) | .met and .more == 1000 and
	 .goal_ratio > 2.1 and .goal_ratio < 2.2'
claim "  the rest meets it" rows whole 'map(select(.met)) | length == 8'
claim "the guest dies in round 3" fails third 3
claim "  rows of two rounds of five" rows third \
	'length == 9 and all(.rounds == 2 and .rounds_wanted == 5)'
claim "  with goals" rows third 'all(has("goal") and has("met"))'
claim "the guest dies in round 1" fails first 1
claim "  no rows" no_rows first

verdict
