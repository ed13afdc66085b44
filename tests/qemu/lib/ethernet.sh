# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# What scenarios share whose guests a and b have Ethernet over the host of the HCA: a second
# vif in bridge br0, and how well a way to an address works. Sourced after rdmacm.sh.

# second_vif GUEST ADDRESS/PREFIX: its eth1.
second_vif() {
	xl network-attach "$1" type=vif "mac=00:16:3e:78:00:0$1" bridge=br0 script=vif ||
		fail "xl network-attach $1"
	wait_guest 20 "$1" 'test -e /sys/class/net/eth1'
	guest_sh "$1" "ip link set eth1 up; ip addr add $2 dev eth1"
}
vif_of() { echo "vif$(xl domid "$1").1"; }	# vif_of GUEST: the other end, in dom0

# speed CLIENT ADDRESS [-R]: of TCP, in /tmp/way.c.
speed() {
	at "$1" "iperf3 -f m -t 3 -c $2 ${3:-}" >/tmp/way.c 2>&1 && return
	tail -n 3 /tmp/way.c
	return 1
}
# way NAME CLIENT SERVER ADDRESS: packets of all sizes, and TCP both ways; figures are notes.
way() {
	local server back
	check "$1: it answers" wait_until 30 at "$2" "ping -q -c 1 -W 1 $4"
	check "$1: packets of 1500 octets" \
		at "$2" "ping -q -c 10 -i 0.2 -M do -s 1472 $4 >/tmp/way.ping"
	note "$1: $(at "$2" 'tail -n 1 /tmp/way.ping')"
	for back in '' -R; do
		at "$3" 'iperf3 -s -1' >/tmp/way.s 2>&1 &
		server=$!
		wait_until 20 at "$3" 'grep -q ":1451 " /proc/net/tcp /proc/net/tcp6'
		check "$1: TCP${back:+ back}" speed "$2" "$4" "$back"
		wait "$server" || true
		note "$1${back:+, back}: $(awk '/receiver/ { print $7, $8 }' /tmp/way.c)"
	done
}
