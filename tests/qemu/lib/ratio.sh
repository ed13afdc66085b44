# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# A data path over two HCAs, measured with the same program in dom0 and in a
# guest that has a vhca on each: in turn, both ends on processors of their own,
# so that nothing differs but the domain. Sourced after hca.sh.

# So many rounds, in each so many processes, each with few samples of a figure:
# where a process has its pages, virtual and in the machine, is worth a tenth of
# a figure (pages meet in QEMU's TLB, in the host's caches), so that it takes many
# processes to compare domains and not layouts. A virtual machine's processors run
# at half of their speed, for seconds at a time, while others use the same cores:
# each sample of the guest is held against a native one of the same speed, and
# the median of those ratios is judged. What else this host does makes a sample
# slower, never faster: the best tenths are compared as well. A missed goal is told
# in the table and in bench.json; what fails is beyond noise.
RATIO_ROUNDS=${RATIO_ROUNDS:-5}
RATIO_PROCESSES=${RATIO_PROCESSES:-6}
RATIO_SAMPLES=${RATIO_SAMPLES:-7}	# of a figure, of each process
RATIO_ENOUGH=42		# pairs of one speed; else
RATIO_MORE=3		# so many rounds more, and then of whatever speed

# measured FILE COMMAND-PREFIX DEVICE DEVICE: one round, rows as JSON lines.
measured() {
	local how="--data -b 1000 -r $RATIO_SAMPLES -c $mhz -g 0"
	# The processor's counter is the clock: under emulation those of Xen's
	# domains stand still and jump, by milliseconds.
	local run which
	which=$(seq -s ' ' "$RATIO_PROCESSES")
	run="set -e
		ip link set lo up
		for i in $which; do
			taskset -c 1 vhca-bench $how -s -d $4 >/dev/null &
			taskset -c 0 vhca-bench $how -d $3 127.0.0.1
			wait \$!
		done"
	if [ "$2" = native ]; then
		timeout "$(seconds 200)" bash -c "$run"
	else
		guest_sh -t 200 "$2" "$run"
	fi | grep '^{' >"$1"
}

# ratio_rows KIND ROUNDS: of all rounds rows of bench.json. "native" and "guest" are
# medians of the paired samples, "ratio" is the median of the pairs' ratios, "more"
# that of what the guest's have more, "pairs" their number, "alike" whether each is
# of one speed, to 3 %.
ratio_rows() {
	jq -s --arg kind "$1" --argjson enough "$RATIO_ENOUGH" \
		--argjson rounds "$2" --argjson wanted "$RATIO_ROUNDS" \
		--slurpfile n <(cat "$raw"/native.*) '
		def at($part): sort | .[length * $part | floor];
		def rounded: . * 1000 | round / 1000;
		def samples($name): map(select(.name == $name).samples[]);
		def speed: (.[1] | log) / 0.03 | round | tostring;
		def values: map(.[0]);
		def by_speed: map(select(.[1] > 0)) | group_by(speed) |
			map({key: .[0] | speed, value: values}) | from_entries;
		def zip($b): [., $b] | transpose | map(select(all));
		def paired($g): ($g | by_speed) as $at |
			[by_speed | to_entries[] | . as {$key, $value} |
			 $value | zip($at[$key] // [])[]];
		. as $g | group_by(.name) |
		map(.[0] as {$name, $unit} |
			def best: at(if $unit == "us" then 0.1 else 0.9 end);
			($n | samples($name)) as $ns | ($g | samples($name)) as $gs |
			($ns | paired($gs)) as $like |
			(if $like | length >= $enough then $like else
			 $ns | values | zip($gs | values) end) as $pairs |
			($pairs | map(.[0])) as $ns | ($pairs | map(.[1])) as $gs |
			{name: $name, unit: $unit, guest_kind: $kind,
			 native: ($ns | at(0.5)), guest: ($gs | at(0.5)),
			 ratio: ($pairs | map(.[1] / .[0]) | at(0.5) | rounded),
			 more: ($pairs | map(.[1] - .[0]) | at(0.5) | rounded),
			 ratio_of_best: (($gs | best) / ($ns | best) | rounded),
			 more_of_best: (($gs | best) - ($ns | best) | rounded),
			 pairs: ($pairs | length),
			 alike: ($like | length >= $enough),
			 rounds: $rounds, rounds_wanted: $wanted})' "$raw"/guest.*
}

# ratio_table FILE
ratio_table() {
	printf '%-22s %-5s %10s %10s %6s %8s  %s\n' \
		'' unit native guest ratio best goal
	jq -r '.[] | [.name, .unit, .native, .guest, .ratio, .ratio_of_best,
		.goal + if .met then "" else "  MISSED" end +
		if .alike then "" else "  (speeds differ)" end] | @tsv' "$1" |
		awk -F '\t' '{ printf "%-22s %-5s %10.2f %10.2f %6.3f %8.3f  %s\n",
			$1, $2, $3, $4, $5, $6, $7 }'
}

# ratio_verdict: rows with their goal, and whether it is met: latency by polling
# up to 1.05 times the native one, by events one event channel round trip ($rtt,
# us) more, bandwidth at least 0.97. "goal_ratio" is the goal as a ratio.
ratio_verdict() {
	jq --argjson rtt "$rtt" 'map(
		if .name == "send_lat 8 B events" then
			.goal = "native + 1 round trip of \($rtt)" |
			.goal_ratio = ((1 + $rtt / .native) * 1000 | round / 1000) |
			.met = (.more <= $rtt)
		elif .unit == "us" then
			.goal = "1.05 x native" | .goal_ratio = 1.05 |
			.met = (.ratio <= 1.05)
		else
			.goal = "0.97 x native" | .goal_ratio = 0.97 |
			.met = (.ratio >= 0.97)
		end)'
}

# enough FILE: pairs of one speed, of each figure.
enough() {
	jq -e 'all(.alike)' "$1" >/dev/null
}

# sane FILE NAME: not so far from the goal that no noise explains it, which on a
# busy host may spoil the medians or the best tenths, but hardly both: they have
# wide bounds, and one of them has to keep a narrow one.
sane() {
	jq -e --arg n "$2" --argjson rtt "$rtt" '.[] | select(.name == $n) |
		if .name == "send_lat 8 B events" then
			.native + .more <= 1.5 * (.native + $rtt) and
			.more_of_best <= 1.5 * $rtt
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

# median "NUMBER..."
median() {
	jq -s 'sort | (.[(length - 1) / 2 | floor] + .[length / 2 | floor]) / 2' \
		<<<"$1"
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
		# It changes as all else.
		rtts+=" $(evtchn_rtt a)"
		measured "$raw/native.$i" native mlx5_0 mlx5_1
		measured "$raw/guest.$i" a vhca0 vhca1
		# Whatever fails later, these rounds are known.
		rtt=$(median "$rtts")
		ratio_rows "$1" "$i" | ratio_verdict >"$rows.new"
		mv "$rows.new" "$rows"
		[ "$i" -ge "$RATIO_ROUNDS" ] || continue
		! enough "$rows" || break
	done
	note "event channel round trip: $rtt us, of$rtts"
	ratio_table "$rows"
	check "all figures are there" [ "$(jq length "$rows")" -ge 9 ]
	note "goals met: $(jq '[.[] | select(.met)] | length' "$rows") of $(
		jq length "$rows")"
	while read -r name; do
		check "$name: guest and dom0 are alike" sane "$rows" "$name"
	done < <(jq -r '.[].name' "$rows")
	vhcactl detach a all
}
