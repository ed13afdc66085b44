# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Runs the parts of a guest from the HCA's domain, by a command that runs another one in
# the guest ("ssh root@web"): its parts, traffic on the host beside its hostile parts, and
# doorbells that one side rings for the other. Sourced by vhca-selftest.
#
# A guest is not trusted: its output is a bounded number of files of known names and
# bounded size, without control characters of terminals, in bounded time.

MOST_FILES=64
MOST_BYTES=16777216	# of all of them
MOST_WORDS=1048576	# octets that the run of its parts may print
PARTS_SECONDS=3600	# for that run
COMMAND_SECONDS=${VHCA_GUEST_SECONDS:-60}	# for any other command
# Values of a guest that the report replaces.
SECRET='^((guid|gid|mac|ip) [0-9A-Fa-f:][0-9A-Fa-fx.:-]{6,63}|host [A-Za-z0-9][A-Za-z0-9._-]{1,63})$'
MOST_SECRETS=500
RINGS=500
# Files that a guest without the package needs.
PROGRAMS='vhca-selftest parts.sh guest.sh report.sh vhca-probe vhca-xfer vhca-bench
	vhca-uar vhca-wqe hostile-frontend'
declare -A guest_command=() guest_lib=() guest_dir=()

# in_guest GUEST COMMAND [SECONDS]: runs a command in its shell.
in_guest() {
	local run
	read -ra run <<<"${guest_command[$1]}"
	timeout --foreground -k 10 $((${3:-$COMMAND_SECONDS} * factor)) "${run[@]}" "$2"
}

# bundle FILE...: one stream of files, each behind "SIZE NAME", without tar.
bundle() {
	local f
	for f; do
		echo "$(stat -Lc %s "$f") ${f##*/}" && cat "$f"
	done
}
# The other end, for any shell: into the current folder.
# shellcheck disable=SC2016
UNBUNDLE='while read -r size name; do head -c "$size" >"$name" || exit; done'

# unbundle FOLDER: the same for a guest's stream.
unbundle() {
	local size name n=0
	while read -r size name; do
		n=$((n + 1))
		[[ $name =~ ^\.?[a-z][a-z-]*(\.(txt|tsv))?$ ]] && [[ $size =~ ^[0-9]{1,8}$ ]] &&
			[ "$size" -le $MOST_BYTES ] && [ "$n" -le $MOST_FILES ] || return 1
		head -c "$size" >"$1/$name"
	done
}

# guest_begin GUEST COMMAND: sets the folders of its programs and results.
guest_begin() {
	local d f files=()
	guest_command[$1]=$2
	d=$(in_guest "$1" 'umask 077 && mktemp -d /tmp/vhca-selftest.XXXXXX' </dev/null) &&
		[[ $d =~ ^/tmp/vhca-selftest\.[A-Za-z0-9]{6}$ ]] || return 1
	guest_dir[$1]=$d
	# shellcheck disable=SC2016
	guest_lib[$1]=$(in_guest "$1" 'f=$(command -v vhca-selftest) && readlink -f "$f"' \
		</dev/null)
	if [[ ${guest_lib[$1]} =~ ^(/[A-Za-z0-9._-]+)+/vhca-selftest$ ]]; then
		guest_lib[$1]=${guest_lib[$1]%/*}
		return
	fi
	for f in $PROGRAMS; do
		files+=("$lib/$f")
	done
	guest_lib[$1]=$d/bin
	bundle "${files[@]}" |
		in_guest "$1" "mkdir $d/bin && cd $d/bin && { $UNBUNDLE; } && chmod 700 *"
}

guest_end() {
	[ -z "${guest_dir[$1]:-}" ] || in_guest "$1" "rm -rf ${guest_dir[$1]}" </dev/null
}

# guest_parts GUEST PARTS: runs them there and fetches their results. The guest's own
# result reports a part that failed.
guest_parts() {
	local d=${guest_dir[$1]} options="-w $factor -p $2" new=$out/$1/.new rc
	[ "$quick" = no ] || options+=' -q'
	[ "$hostile" = no ] || options+=' -H'
	rm -rf "$new" && mkdir "$new" || return
	in_guest "$1" "${guest_lib[$1]}/vhca-selftest guest -o $d $options" $PARTS_SECONDS \
		</dev/null 2>&1 | head -c $MOST_WORDS
	rc=${PIPESTATUS[0]}
	in_guest "$1" "cd $d/guest && for f in results .secrets *.txt *.tsv; do
		[ ! -f \$f ] || { stat -c '%s %n' \$f && cat \$f; }; done" </dev/null |
		head -c $MOST_BYTES | unbundle "$new"
	if [ "${PIPESTATUS[2]}" != 0 ] || ! taken "$1"; then
		echo "FAIL no results came (status $rc)"
		return 1
	fi
	if [ "$rc" -gt 1 ] || grep "it did not end$" "$out/$1/results"; then
		echo "FAIL the guest's parts were not run to their end (status $rc)"
		return 1
	fi
	echo "run to their end"
}

# taken GUEST: replaces its results by the fetched ones.
taken() {
	local verdict name why
	[ -e "$out/$1/.new/results" ] || return
	side_is "$1"
	printable "$dir/.new"/{results,.secrets,*.txt,*.tsv}
	while IFS=$TAB read -r verdict name why; do
		[[ $verdict =~ ^(ok|FAIL|skip)$ && $name =~ ^[a-z-]+$ ]] || return
		result "$verdict" "$name" "$why"
	done <"$dir/.new/results"
	rm "$dir/.new/results"
	grep -E "$SECRET" "$dir/.new/.secrets" 2>/dev/null | head -n $MOST_SECRETS >"$dir/.secrets"
	rm -f "$dir/.new/.secrets"
	for name in "$dir/.new"/*; do
		[ ! -e "$name" ] || mv "$name" "$dir/"
	done
	rmdir "$dir/.new"
}

# traffic_start and traffic_end: verified traffic on the host between the two.
traffic_start() {
	stop=$dir/.stop
	rm -f "$stop"
	while [ ! -e "$stop" ]; do
		limited 60 "${capped[@]}" vhca-xfer --loop -d "$hca" -g "$gid" \
			--traffic 5 --pause 50 || exit 1
	done >"$dir/.traffic" 2>&1 &
	traffic=$!
}
traffic_end() {
	traffic_rc=0
	touch "$stop"
	wait "$traffic" || traffic_rc=$?
}
traffic_well() {
	tail -n 3 "$dir/.traffic"
	return "$traffic_rc"
}

# told GUEST: prints the results of its parts.
told() {
	[ ! -e "$out/$1/results" ] || awk -F '\t' -v g="$1" '{
		printf "%-4s %s/%s: %s\n", $1, g, $2, $3 }' "$out/$1/results" >&2
}

# wishes PART...: the requested ones of them, separated by commas.
wishes() {
	local p list=''
	for p; do
		! wanted "$p" || list+=,$p
	done
	echo "${list#,}"
}

# host_of COMMAND: its name for the guest's machine, which must not be in a report.
host_of() {
	local name
	name=${1##* }
	name=${name##*@}
	[[ $name != [A-Za-z0-9]* ]] || printf 'host %s\nhost %s\n' "$name" "${name%%.*}"
}

# guest_run GUEST COMMAND
guest_run() {
	local parts
	mkdir -p "$out/$1"
	host_of "$2" >>"$out/host/.secrets"
	[ -n "$only" ] || rm -f "$out/$1"/*.txt "$out/$1"/*.tsv "$out/$1/results"
	side_is host
	if ! guest_begin "$1" "$2"; then
		guest_end "$1"
		guest_dir[$1]=''
		only='' part "$1" eval "echo 'FAIL the command of -g does not work'; exit 1"
		return
	fi
	parts=$(wishes facts probe transfers pages speed kernel)
	[ -z "$parts" ] || only='' part "$1" guest_parts "$1" "$parts"
	parts=$(wishes wild hostile)
	if [ "$hostile" = yes ] && [ -n "$parts" ]; then
		traffic_start
		only='' part "$1-hostile" guest_parts "$1" "$parts,kernel"
		traffic_end
		only='' part "$1-beside" traffic_well
	fi
	told "$1"
}

# ---- doorbells of others ----------------------------------------------------

# on_side SIDE "hold SECONDS"|"ring QPN CQN N": runs that side's vhca-selftest and prints
# at most 64 KiB of its output, without delay.
on_side() {
	if [ "$1" = host ]; then
		sh -c "exec '$lib/vhca-selftest' $2 -d $hca -i $gid"
	else
		in_guest "$1" "exec ${guest_lib[$1]}/vhca-selftest $2" 180
	fi </dev/null 2>&1 | dd bs=512 count=128 2>/dev/null
	return "${PIPESTATUS[0]}"
}
on_side_end() { # on_side_end SIDE PID
	if [ "$1" = host ]; then
		kill "$2"
	else
		in_guest "$1" "kill $2" </dev/null
	fi
}

# doorbells VICTIM ATTACKER: the attacker rings, at its own page, for queues of the victim.
# The output of vhca-uar on both sides decides.
doorbells() {
	local hold=$dir/.hold n job pid rc=0 qpn cqn
	[[ $kind = mlx[45] ]] || skip "$kind has no doorbell pages"
	: >"$hold"	# not what an earlier one said
	on_side "$1" "hold $((120 * factor))" >"$hold" 2>&1 &
	job=$!
	for ((n = 0; n < 300 * factor; n++)); do
		! grep -q '^qpn' "$hold" || break
		kill -0 $job 2>/dev/null || break
		sleep 0.1
	done
	read -r qpn cqn < <(sed -n 's/^qpn \([0-9]*\) cqn \([0-9]*\)$/\1 \2/p' "$hold")
	pid=$(sed -n 's/^pid \([0-9]*\)$/\1/p' "$hold")
	[ -n "${cqn:-}" ] || { echo "FAIL $1: $(why_of "$hold")"; return 1; }
	on_side "$2" "ring $qpn $cqn $RINGS" || { echo "FAIL $2 could not ring"; rc=1; }
	on_side_end "$1" "$pid"
	wait $job || { echo "FAIL $1 noticed: $(why_of "$hold")"; rc=1; }
	sed '/^pid/d' "$hold"
	return "$rc"
}

# Each direction between the existing sides.
doorbells_all() {
	local g sides=(host) a b
	side_is host
	for g in "${!guest_dir[@]}"; do
		[ -z "${guest_dir[$g]}" ] || sides+=("$g")
	done
	for a in "${sides[@]}"; do
		for b in "${sides[@]}"; do
			[ "$a" = "$b" ] || part "doorbells-$b-to-$a" doorbells "$a" "$b"
		done
	done
	for g in "${!guest_dir[@]}"; do
		guest_end "$g"
	done
}
