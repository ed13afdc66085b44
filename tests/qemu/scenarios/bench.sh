#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Latency and bandwidth, natively in dom0 and in guests, in one boot: PV guests
# against the PV dom0, like with like. PVH guests, which under emulation also
# pay for emulated nested paging and share one CPU (README.md), have rows of
# their own. Raw lines go to $SCENARIO_DIR as they come, tests/bench/report.py makes
# the table and bench.json of them, also of those before a failure.
# limit: 1500
# processors: 2
. ./lib.sh
. ./vhca.sh

kinds="pv pvh"
export BACKEND_LOG=info
raw=$SCENARIO_DIR/raw
mkdir -p "$raw"

# data_native: both sides in dom0.
data_native() {
	vhca-bench -s -d rxe0 --data >/dev/null &
	vhca-bench -d rxe0 --data 127.0.0.1 >"$raw/native.data"
	wait $!
}

# data_guests NAME SERVER CLIENT
data_guests() {
	guest_sh -t 300 "$2" 'vhca-bench -s --data' >/dev/null &
	counters "$3" >"$raw/$1.before"
	guest_sh -t 300 "$3" "vhca-bench --data $(guest_ip "$2")" \
		>"$raw/$1.data"
	wait $!
}

# Commands sent by the frontend of a guest so far.
counters() {
	guest_sh "$1" "mountpoint -q /sys/kernel/debug ||
		mount -t debugfs debugfs /sys/kernel/debug
		cat $DBG_FRONT/vhca0/stats"
}

# quiet_path NAME GUEST PEER: the counter of commands does not move during
# three seconds of traffic.
quiet_path() {
	local before after server client
	: >/tmp/quiet
	guest_sh -t 120 "$3" 'vhca-xfer -s --traffic 20' >/dev/null &
	server=$!
	guest_sh -t 120 "$2" "vhca-xfer --traffic 20 $(guest_ip "$3")" \
		>/tmp/quiet &
	client=$!
	wait_until 20 grep -q '^t=2 ' /tmp/quiet || fail "no traffic"
	before=$(counters "$2" | awk '$1 == "cmds" { print $2 }')
	wait_until 20 grep -q '^t=5 ' /tmp/quiet || fail "traffic stopped"
	after=$(counters "$2" | awk '$1 == "cmds" { print $2 }')
	wait "$server" "$client"
	note "$1: commands before $before, after $after"
	check "$1: no command on the post/poll path" [ "$before" = "$after" ]
}

# evtchn NAME GUEST: round trip of an event channel, dom0 <-> guest.
evtchn() {
	local port server
	guest_sh -t 60 "$2" 'evtchn-rtt serve 0' >/tmp/port 2>&1 &
	server=$!
	wait_until 10 grep -q . /tmp/port || fail "no event channel"
	port=$(head -n 1 /tmp/port)
	evtchn-rtt measure "$(guest_domid "$2")" "$port" 1000 >"$raw/$1.evtchn"
	guest_sh "$2" 'pkill evtchn-rtt' || true
	wait "$server" || true
}

# states_of FILE DIRECTORY COMMAND...: it makes a device; how long that takes from the
# first state of its backend, in that directory, to Connected.
states_of() {
	local file=$1 watch
	: >/tmp/states
	state-time "$2" "$(seconds 30)" >/tmp/states &
	watch=$!
	wait_until 10 grep -q ready /tmp/states || fail "nobody watches $2"
	shift 2
	"$@"
	wait $watch || fail "no device connects: $*"
	sed -n 's/^us //p' /tmp/states >>"$file"
}

# attach_time NAME GUEST: from the operator's command to an active port, and of that
# what is between the states of its backend, beside the same of a network device.
attach_time() {
	local i t dom
	dom=$(guest_domid "$2")
	: >"$raw/$1.attach"
	: >"$raw/$1.states"
	: >"$raw/$1.vif"
	for i in 1 2 3 4 5; do
		states_of "$raw/$1.vif" "/local/domain/$(own_domid)/backend/vif/$dom" \
			xl network-attach "$2" "mac=00:16:3e:77:01:0$i,bridge=xenbr0,script=vif,type=vif"
		xl network-detach "$2" "00:16:3e:77:01:0$i"
		vhcactl detach "$2" all
		t=$(date +%s%N)
		states_of "$raw/$1.states" "$(backend_dir)/$dom" vhcactl attach "$2" hca=rxe0
		until guest_sh "$2" 'ibv_devinfo 2>/dev/null | grep -q PORT_ACTIVE'; do
			sleep 0.02
		done
		echo $((($(date +%s%N) - t) / 1000)) >>"$raw/$1.attach"
	done
}

# measure NAME TYPE: two guests of one type; only they run meanwhile.
measure() {
	step "$1: guests"
	guests_with_vhca "$2" "a$1" "$2" "b$1"
	step "$1: control verbs"
	guest_sh -t 400 "a$1" 'vhca-bench --control' >"$raw/$1.control"
	vhcactl stats --json "a$1" 0 >"$raw/$1.stats"
	# Before what may take too long: goals of control verbs need it.
	step "$1: event channel"
	evtchn "$1" "a$1"
	step "$1: data"
	data_guests "$1" "b$1" "a$1"
	step "$1: counters, attach"
	quiet_path "$1" "a$1" "b$1"
	attach_time "$1" "a$1"
	vhcactl detach "a$1" all
	vhcactl detach "b$1" all
	guest_destroy "a$1"
	guest_destroy "b$1"
}

step "native"
backend_start
vhca-bench -d rxe0 --control >"$raw/native.control"
data_native
for kind in $kinds; do
	measure "$kind" "$kind"
	check "$kind: all figures are there" \
		[ "$(wc -l <"$raw/$kind.data")" = "$(wc -l <"$raw/native.data")" ]
done
