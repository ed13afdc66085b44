# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# A data path over two HCAs, measured with the same program in dom0 and in a
# guest that has a vhca on each: in turn, both ends on processors of their own,
# so that nothing differs but the domain. Sourced after hca.sh.

# So many rounds, each of which gives medians; the median of them is judged. Except
# for bandwidth, which one processor makes alone: a virtual machine's processors
# run at half of their speed, for seconds at a time, while others use the same
# cores; so samples are judged one by one, those of equal speed. What else this
# host does makes a round slower, never faster: the best rounds are compared as
# well. A missed goal is told in the table and in bench.json; what fails is beyond
# noise.
RATIO_ROUNDS=${RATIO_ROUNDS:-7}
RATIO_ENOUGH=42		# samples of equal speed; else
RATIO_MORE=3		# so many rounds more

# measured FILE COMMAND-PREFIX DEVICE DEVICE: one run, rows as JSON lines.
measured() {
	local how="--data -b 1000 -c $mhz -g 0"
	# One address space layout for all: pages that meet in QEMU's TLB are worth
	# a fifth of a latency. The processor's counter is the clock: under
	# emulation those of Xen's domains stand still and jump, by milliseconds.
	local run="ip link set lo up
		echo 0 >/proc/sys/kernel/randomize_va_space
		taskset -c 1 vhca-bench $how -s -d $4 >/dev/null &
		sleep 0.5
		taskset -c 0 vhca-bench $how -d $3 127.0.0.1"
	if [ "$2" = native ]; then
		timeout 200 bash -c "$run"
	else
		guest_sh -t 200 "$2" "$run"
	fi | grep '^{' >"$1"
}

# ratio_rows KIND: of all rounds rows of bench.json. "speed" is that of the samples
# taken, "full" or "shared", whichever both sides have more of, and "n" how many
# the side with fewer has.
ratio_rows() {
	jq -s --arg kind "$1" --slurpfile n <(cat "$raw"/native.*) '
		def med: sort | .[length / 2 | floor];
		def per($a; $b): $a / $b * 1000 | round / 1000;
		def samples: map(.samples // [[.value, 1]] | .[] |
				 select(.[1] > 0));
		def fewer: [(.n, .g) | length] | min;
		def alike($n; $g): ([$n[], $g[] | .[1]] | max * 0.75) as $limit |
			[{speed: "full", n: $n | map(select(.[1] >= $limit)),
			  g: $g | map(select(.[1] >= $limit))},
			 {speed: "shared", n: $n | map(select(.[1] < $limit)),
			  g: $g | map(select(.[1] < $limit))}] | max_by(fewer) |
			(.n, .g) |= map(.[0]);
		group_by(.name) | map(.[0].name as $name | .[0].unit as $unit |
			def best: if $unit == "us" then min else max end;
			. as $g | [$n[] | select(.name == $name)] as $n |
			alike($n | samples; $g | samples) as $s |
			{name: $name, unit: $unit, guest_kind: $kind,
			 native: ($s.n | med), guest: ($s.g | med),
			 ratio: per($s.g | med; $s.n | med),
			 ratio_of_best: per($g | map(.value) | best;
					    $n | map(.value) | best),
			 speed: (if $g[0].samples then $s.speed else null end),
			 n: ($s | fewer)})' "$raw"/guest.*
}

# ratio_table FILE
ratio_table() {
	printf '%-22s %-5s %10s %10s %6s %8s  %s\n' \
		'' unit native guest ratio best goal
	jq -r '.[] | [.name, .unit, .native, .guest, .ratio, .ratio_of_best,
		.goal + if .met then "" else "  MISSED" end + if .speed then
		"  (\(.n) at \(.speed) speed)" else "" end] | @tsv' "$1" |
		awk -F '\t' '{ printf "%-22s %-5s %10.2f %10.2f %6.3f %8.3f  %s\n",
			$1, $2, $3, $4, $5, $6, $7 }'
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

# enough FILE: samples of equal speed, of each bandwidth.
enough() {
	jq -e --argjson n "$RATIO_ENOUGH" \
		'map(select(.speed)) | all(.n >= $n)' "$1" >/dev/null
}

# sane FILE NAME: not so far from the goal that no noise explains it, which on a
# busy host may spoil the medians or the best rounds, but hardly both: they have
# wide bounds, and one of them has to keep a narrow one.
sane() {
	jq -e --arg n "$2" --argjson rtt "$rtt" '.[] | select(.name == $n) |
		if .name == "send_lat 8 B events" then
			.guest <= 1.5 * (.native + $rtt)
		elif .unit == "us" then
			.ratio <= 1.5 and .ratio_of_best <= 1.25
		else .ratio >= 0.67 and .ratio_of_best >= 0.75 and
			([.ratio, .ratio_of_best] | max) >= 0.85 end' "$1"
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
	local i rtt rtts='' mhz name rows=$SCENARIO_DIR/bench.json
	raw=$SCENARIO_DIR/raw
	mkdir -p "$raw"
	step "a $1 guest with two HCAs"
	hca_setup
	agent_start
	backend_start
	mhz=$(awk '/^cpu MHz/ { print $4; exit }' /proc/cpuinfo)
	guest_create a "$1" vcpus=2 'cpus = ["0", "1"]' 'tsc_mode = "native"'
	vhca_attach a hca=mlx5_0
	vhca_attach a hca=mlx5_1
	wait_guest 20 a 'test -e /dev/infiniband/uverbs1'
	for ((i = 1; i <= RATIO_ROUNDS + RATIO_MORE; i++)); do
		step "round $i"
		# In some rounds: it changes as all else.
		((i % 3 != 1)) || rtts+=" $(evtchn_rtt a)"
		measured "$raw/native.$i" native mlx5_0 mlx5_1
		measured "$raw/guest.$i" a vhca0 vhca1
		[ "$i" -ge "$RATIO_ROUNDS" ] || continue
		ratio_rows "$1" >"$rows"
		! enough "$rows" || break
	done
	# shellcheck disable=SC2086
	rtt=$(printf '%s\n' $rtts | jq -s \
		'sort | (.[(length - 1) / 2 | floor] + .[length / 2 | floor]) / 2')
	note "event channel round trip: $rtt us, of$rtts"
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
