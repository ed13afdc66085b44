# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# A data path over two HCAs, measured with the same program in dom0 and in a
# guest that has a vhca on each: in turn, both ends on processors of their own,
# so that nothing differs but the domain. Sourced after hca.sh.

# Medians of so many rounds. One run is off by a third now and then, on either
# side, under emulation: a missed goal is told, in the table and in bench.json,
# and what fails is far beyond noise.
RATIO_ROUNDS=${RATIO_ROUNDS:-5}

# measured FILE COMMAND-PREFIX DEVICE DEVICE: one run, rows as JSON lines.
measured() {
	local run="ip link set lo up
		taskset -c 1 vhca-bench --data -b 200 -s -g 0 -d $4 >/dev/null &
		sleep 0.5
		taskset -c 0 vhca-bench --data -b 200 -g 0 -d $3 127.0.0.1"
	if [ "$2" = native ]; then
		timeout 200 bash -c "$run"
	else
		guest_sh -t 200 "$2" "$run"
	fi | grep '^{' >"$1"
}

# ratio_rows KIND: medians of all rounds as rows of bench.json.
ratio_rows() {
	jq -s --arg kind "$1" --slurpfile n <(cat "$raw"/native.*) '
		def med: sort | .[length / 2 | floor];
		group_by(.name) | map(.[0].name as $name |
			(map(.value) | med) as $guest |
			([$n[] | select(.name == $name) | .value] | med) as $native |
			{name: $name, unit: .[0].unit, guest_kind: $kind,
			 native: $native, guest: $guest,
			 ratio: ($guest / $native * 1000 | round / 1000),
			 n: ([.[].n] | add)})' "$raw"/guest.*
}

# ratio_table FILE
ratio_table() {
	printf '%-22s %-5s %10s %10s %6s  %s\n' '' unit native guest ratio goal
	jq -r '.[] | [.name, .unit, .native, .guest, .ratio, .goal +
		if .met then "" else "  MISSED" end] | @tsv' \
		"$1" | awk -F '\t' '{ printf "%-22s %-5s %10.2f %10.2f %6.3f  %s\n",
			$1, $2, $3, $4, $5, $6 }'
}

# ratio_verdict FILE: rows with their goal, and whether it is met: latency by
# polling up to 1.05 times the native one, by events one event channel round
# trip ($rtt, us) more, bandwidth at least 0.97.
ratio_verdict() {
	jq --argjson rtt "$rtt" 'map(
		if .name == "send_lat 8 B events" then
			.goal = "native + 1 round trip: \(.native + $rtt)" |
			.met = (.guest <= .native + $rtt)
		elif .unit == "us" then
			.goal = "1.05 x native" | .met = (.ratio <= 1.05)
		else
			.goal = "0.97 x native" | .met = (.ratio >= 0.97)
		end)' "$1" >"$1.new"
	mv "$1.new" "$1"
}

# sane FILE NAME: not half as fast again as the goal.
sane() {
	jq -e --arg n "$2" --argjson rtt "$rtt" '.[] | select(.name == $n) |
		if .name == "send_lat 8 B events" then
			.guest <= 1.5 * (.native + $rtt)
		elif .unit == "us" then .ratio <= 1.5
		else .ratio >= 0.67 end' "$1"
}

# evtchn_rtt GUEST: round trip of an event channel to dom0, us, median.
evtchn_rtt() {
	local server port
	: >/tmp/port
	guest_sh -t 60 "$1" 'evtchn-rtt serve 0' >/tmp/port 2>&1 &
	server=$!
	wait_until 10 grep -q . /tmp/port || fail "no event channel"
	port=$(head -n 1 /tmp/port)
	evtchn-rtt measure "$(guest_domid "$1")" "$port" 1000 |
		tail -n 1 | jq .value
	guest_sh "$1" 'pkill evtchn-rtt' || true
	wait "$server" || true
}

# ratio TYPE: a guest of that type against dom0.
ratio() {
	local i rtt name rows=$SCENARIO_DIR/bench.json
	raw=$SCENARIO_DIR/raw
	mkdir -p "$raw"
	step "a $1 guest with two HCAs"
	hca_setup
	agent_start
	backend_start
	guest_create a "$1" vcpus=2 'cpus = ["0", "1"]'
	vhca_attach a hca=mlx5_0
	vhca_attach a hca=mlx5_1
	wait_guest 20 a 'test -e /dev/infiniband/uverbs1'
	rtt=$(evtchn_rtt a)
	note "event channel round trip: $rtt us"
	for ((i = 1; i <= RATIO_ROUNDS; i++)); do
		step "round $i"
		measured "$raw/native.$i" native mlx5_0 mlx5_1
		measured "$raw/guest.$i" a vhca0 vhca1
	done
	ratio_rows "$1" >"$rows"
	ratio_verdict "$rows"
	ratio_table "$rows"
	check "all figures are there" [ "$(jq length "$rows")" -ge 9 ]
	note "goals met: $(jq '[.[] | select(.met)] | length' "$rows") of $(
		jq length "$rows")"
	while read -r name; do
		check "$name: guest and dom0 are alike" sane "$rows" "$name"
	done < <(jq -r '.[].name' "$rows")
	vhcactl detach a all
}
