# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Sourced by run: which machine runs which scenario. Each lane is a process that
# boots a machine for one configuration, gives it one scenario after the other, and
# then looks for another configuration; lanes take from one list, so that none
# waits for another. A machine of one processor is emulated without the locks that
# several need, so two of them do far more than one of two.
#
# $scratch/plan: lines of configuration, name, script. $scratch/todo/N: the Nth of
# them, until a lane takes it. $scratch/results: "status seconds name" of each, and before
# them of $scratch/unable, those that no machine is needed for.

# Emulated machines that compete for processors each get slower by more than
# their share, so they queue, in order of arrival: take_processors N returns when
# this run has N of the host's, which it holds until it ends or frees them.
take_processors() {
	local n got=0 fd all=${VHCA_SLOTS:-$(nproc)} dir
	dir=$(dirname "$images")
	[ "$all" -ge "$1" ] || all=$1
	exec 6>"$dir/queue"
	# No time-out: who asks again is the last of the queue again.
	flock -n 6 || flock 6
	held=()
	while :; do
		for ((n = 0; n < all && got < $1; n++)); do
			exec {fd}>"$dir/slot.$n"
			if flock -n "$fd"; then
				held+=("$fd")
				got=$((got + 1))
			else
				exec {fd}>&-
			fi
		done
		[ "$got" -lt "$1" ] || break
		pause 1
	done
	exec 6>&-
}
free_processors() {
	local fd
	for fd in "${held[@]}"; do
		exec {fd}>&-
	done
	held=()
}
held=()

# take [CONFIG]: the next scenario, as take_any() has it. After VHCA_UNTIL (seconds since
# 1970), which a CI with a limit sets, those that say so are skipped: a slow host must not
# decide what lands.
no_time='no time is left for it'
take() {
	local name script
	while take_any "$@"; do
		IFS=$'\t' read -r _ name script <<<"$taken"
		[ "$(date +%s)" -gt "${VHCA_UNTIL:-9999999999}" ] &&
			[ "$(header "$script" skip-ok)" = "$no_time" ] || return 0
		say "skip $name: $no_time"
		echo "skip 0 $name" >>"$scratch/results"
	done
	return 1
}

# take_any [CONFIG]: takes a scenario of that configuration off the list; else of the
# one that has most of them left, but first of those that no machine runs, and last
# of those that need several processors. $taken is its line. Status 1: there is none.
take_any() {
	local file
	taken=''
	exec 5>"$scratch/todo.lock"
	flock 5
	file=$(cd "$scratch/todo" && grep -H '' -- * 2>/dev/null |
		awk -F'\t' -v only="${1:-}" -v run="$(cat "$scratch"/at.* 2>/dev/null)" '
		BEGIN { split(run, a, "\n"); for (i in a) running[a[i]] }
		{ file = $1; sub(/:.*/, "", file); sub(/^[^:]*:/, "", $1) }
		only != "" && $1 != only { next }
		!($1 in first) { first[$1] = file; order[++n] = $1 }
		{ left[$1]++ }
		END { for (i = n; i > 0; i--) {
			c = order[i]
			v = left[c] + (c ~ /^1\|/) * 2000 + !(c in running) * 1000
			if (v >= best) { best = v; f = first[c] } }
		      print f }')
	if [ -n "$file" ]; then
		taken=$(cat "$scratch/todo/$file")
		rm "$scratch/todo/$file"
		echo "${taken%%$'\t'*}" >"$scratch/at.$lane"
	fi
	exec 5>&-
	[ -n "$taken" ]
}

# limit_of SCRIPT: its time limit here, in seconds.
limit_of() {
	local limit=''
	[ "$tier" != soak ] || limit=$(header "$1" soak-limit)
	[ -n "$limit" ] || limit=$(header "$1" limit)
	echo $((${limit:-300} * scale))
}

# give NAME SCRIPT: dom0's runner takes it from there.
give() {
	local limit
	limit=$(limit_of "$2")
	cp "$2" "$share/$1.sh"
	echo "$1 /share/$1.sh $limit" >"$share/next.new"
	mv "$share/next.new" "$share/next"
	watch_one "$1" "$2" "$limit"
}

# lane N: until nothing is left. A machine whose scenario failed is given up; the
# lane is when nothing boots.
lane() {
	local config name script again dead=0 all
	lane=$1
	work=$scratch/lane.$1
	mkdir -p "$work"
	trap stop_qemu EXIT
	trap 'exit 130' INT TERM
	while [ $dead -lt 3 ] && take; do
		IFS=$'\t' read -r config name script <<<"$taken"
		take_processors "${config%%|*}"
		# What any of them needs is in each of their machines.
		mapfile -t all < <(awk -F'\t' -v c="$config" '$1 == c { print $3 }' \
			"$scratch/plan")
		if ! boot_next "$config" "${all[@]}"; then
			finish "$name" "$script" "fail the machine did not boot" 0
			dead=$((dead + 1))
		else
			again=0 dead=0
			while [ "$again" = 0 ]; do
				give "$name" "$script" || break
				take "$config" || again=1
				IFS=$'\t' read -r config name script <<<"$taken"
			done
		fi
		[ -z "${KEEP:-}" ] || { say "kept running: pid $qemu_pid"; wait; }
		stop_qemu
		free_processors
		rm -f "$scratch/at.$lane"
	done
}

# How many machines side by side: as many as processors, and as memory allows.
lanes_of_host() {
	local lanes memory
	lanes=$(nproc)
	memory=$(awk '/^MemAvailable/ { print int($2 / 1048576 / 6) }' /proc/meminfo)
	[ "$lanes" -le "$memory" ] || lanes=$memory
	[ "$lanes" -ge 1 ] || lanes=1
	[ "$verbose" = 0 ] || lanes=1	# the logs of two cannot be read
	echo "$lanes"
}

run_lanes() {
	local n=0 i lanes=${VHCA_LANES:-$(lanes_of_host)}
	mkdir -p "$scratch/todo"
	: >"$scratch/results"
	cat "$scratch/unable" >>"$scratch/results" 2>/dev/null
	while read -r i; do
		n=$((n + 1))
		echo "$i" >"$scratch/todo/$(printf %03d $n)"
	done <"$scratch/plan"
	[ "$lanes" -le "$n" ] || lanes=$n
	say "$n scenario(s), $lanes machine(s) side by side, time limits x $scale"
	for ((i = 1; i <= lanes; i++)); do
		lane $i &
		lane_pids+=($!)
	done
	wait "${lane_pids[@]}"
	lane_pids=()
}

# summary: the slowest, and the counts. Status 0: none failed.
summary() {
	local passed failed skipped
	if [ "$(wc -l <"$scratch/results")" -gt 3 ]; then
		echo "slowest:$(sort -k2,2nr "$scratch/results" | head -n 10 |
			awk '{ printf "%s %s %s s", (NR > 1 ? "," : ""), $3, $2 }')"
	fi
	passed=$(grep -c ^pass "$scratch/results")
	failed=$(grep -c ^fail "$scratch/results")
	skipped=$(grep -c -e ^skip -e ^unexpected "$scratch/results")
	[ "$before" = 0 ] || echo "$before passed before, with the same inputs"
	echo "$passed passed, $failed failed, $skipped skipped"
	[ $((passed + skipped)) = "$(cat "$scratch/plan" "$scratch/unable" 2>/dev/null | wc -l)" ] &&
		! grep -q ^unexpected "$scratch/results"
}
