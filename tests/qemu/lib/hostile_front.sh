# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# What scenarios with hostile-frontend share: guests a and c are hostile, a program of
# theirs takes the place of the module, and b has traffic all the time. Sourced after
# vhca.sh, and after hca.sh if there is an HCA.

# hostile GUEST MODE...: the program; the module is not loaded meanwhile.
hostile() { guest_sh -t 170 "$1" "hostile-frontend ${*:2}"; }

# hostile_fronts_begin: all three have a device.
hostile_fronts_begin() {
	local g
	old=$(supervisor_pid)
	for g in a c; do
		guest_sh $g 'modprobe -r xen-vhcafront; modprobe xen-gntalloc
			modprobe xen-evtchn'
	done
	# It rests between rounds: on the only processor it would keep a and c waiting.
	step "b has traffic all the time"
	guest_sh -t 500 b "while [ ! -e /tmp/enough ]; do
		vhca-xfer --loop $XFER_GID --pause 10 --traffic 4 || exit 1; done" >/tmp/traffic.b 2>&1 &
	traffic=$!
	wait_until 20 grep -q '^t=1 ' /tmp/traffic.b || fail "no traffic in b"
}

# hostile_traffic_end: b's, unless it has ended.
hostile_traffic_end() {
	[ -n "$traffic" ] || return 0
	check "b's traffic is still going" kill -0 "$traffic"
	guest_sh b 'touch /tmp/enough'
	check "b's traffic was never wrong" wait "$traffic"
	traffic=''
}

# hostile_fronts_end: what must be true when both have done what they could.
hostile_fronts_end() {
	local g
	step "what is left"
	check "the supervisor is the same" [ "$(supervisor_pid)" = "$old" ]
	hostile_traffic_end
	for g in a c; do
		guest_sh $g 'modprobe xen-vhcafront'
		check "$g: the module connects to the same device" \
			wait_guest 30 $g 'ibv_devinfo | grep PORT_ACTIVE'
		check "$g: and it works" guest_sh -t 60 $g \
			"vhca-xfer --loop $XFER_GID -t rc-write-4k"
	done
	for g in a b c; do
		check "detach $g" vhcactl detach $g all
	done
}
