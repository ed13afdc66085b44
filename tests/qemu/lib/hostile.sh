# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# What scenarios with hostile-backend share: a lie that is told to a guest, what
# must be true after it, and two guests that are lied to at a time. Sourced after
# vhca.sh. Parts run for $guest, which is $domid (parts).

# Seconds that a command may take: a debug kernel needs some to read an answer.
COMMAND_TIME=$(long 2 2 10)
# hostile_guests: a is PV, b is PVH, and there is no daemon in dom0.
hostile_guests() {
	local g
	backend_stop
	modprobe xen-gntdev; modprobe xen-evtchn
	guest_config a pv >/dev/null
	guest_config b pvh >/dev/null
	guests_start a b
	for g in a b; do
		guest_sh $g "modprobe xen-vhcafront cmd_timeout=$COMMAND_TIME
			echo $COMMAND_TIME >/sys/module/xen_vhcafront/parameters/cmd_timeout"
	done
}

# Is $guest PV? Else it chooses itself where pages may be.
is_pv() { [ "$guest" = a ]; }

# met PID: the frontend of $domid has begun, or the liar has ended.
met() {
	! kill -0 "$1" 2>/dev/null ||
		[ "$(xenstore-read "/local/domain/$domid/device/vhca/0/state")" -gt 1 ]
}

# lie MODE [SECONDS [COMMAND IN THE GUEST]]: to $guest, which is $domid. The
# command starts when the device is there (LIE_DEVICE), or was given up.
lie() {
	local mode=$1 seconds=${2:-2} command=${3:-} pid rc=0
	# A slow host's frontend is given the time to believe them.
	seconds=$((seconds * ${TIME_SCALE:-2} * $(long 1 1 3) / 2))
	hostile-backend "$domid" "$mode" "$seconds" >"/tmp/lie.$guest" 2>&1 &
	pid=$!
	if [ -n "$command" ]; then
		wait_until 10 met $pid || fail "$mode: no frontend"
		guest_sh -t $((seconds + 20)) "$guest" "
			for ((i = 0; i < $((30 * ${TIME_SCALE:-2})); i++)); do
				ls ${LIE_DEVICE:-/dev/infiniband/uverbs*} >/dev/null 2>&1 && break
				[ -e /sys/bus/xen/devices/vhca-0 ] || break
				sleep 0.1
			done
			$command
			rc=\$?
			[ \$rc -lt 124 ] || exit 99
			exit \$rc" >"/tmp/said.$guest" 2>&1 || rc=$?
		# A command may fail, and some do with 124 or 255 (hence 99), but
		# not hang or lose the guest.
		case $rc in
		124|255) tail -n 5 "/tmp/said.$guest"
			fail "$mode: the guest hangs" ;;
		esac
		[ -z "${brief:-}" ] || kill -TERM $pid 2>/dev/null || true
	fi
	rc=0
	wait "$pid" || rc=$?
	cat "/tmp/lie.$guest"
	[ "$rc" = 0 ] || return 1
	# The next lie is about a new device.
	guest_sh "$guest" "
		for ((i = 0; i < $((50 * ${TIME_SCALE:-2})); i++)); do
			[ -e /sys/bus/xen/devices/vhca-0 ] || break
			sleep 0.1
		done
		! [ -e /sys/bus/xen/devices/vhca-0 ] && ! dmesg | grep -E '$BAD_KERNEL'"
}
# brief MODE...: as lie; nothing more is to come when the command has ended.
brief() {
	local brief=yes
	lie "$@"
}
# broken MODE SECONDS...: as lie, and the frontend must have said why it gave up. That
# ends it, so there is time enough for a slow guest.
broken() {
	lie "$1" $((3 * $2)) "${@:3}" && grep -q 'broken: .' "/tmp/lie.$guest"
}

unloading() {
	check "$guest: the module can be unloaded" \
		guest_sh -t 60 "$guest" 'modprobe -r xen-vhcafront'
	guest_sh "$guest" 'modprobe xen-vhcafront'
}

real() {
	vhca_attach "$guest"
	check "$guest: a real backend connects" wait_guest 20 "$guest" \
		'ibv_devinfo | grep PORT_ACTIVE'
	check "$guest: and it works" guest_sh -t 60 "$guest" \
		'vhca-xfer --loop -t rc-write-4k'
	# It takes the devices of its id along, and this is one.
	check "$guest: rdma_rxe is loaded and unloaded" guest_sh "$guest" \
		'modprobe rdma_rxe && modprobe -r rdma_rxe'
	check "$guest: the device is there again" wait_guest 20 "$guest" \
		'ibv_devinfo | grep PORT_ACTIVE'
	check "$guest: and it works again" guest_sh -t 60 "$guest" \
		'vhca-xfer --loop -t rc-write-4k'
	check "$guest: detach" vhcactl detach "$guest" all
}

# parts GUEST PART...: one after the other.
parts() {
	guest=$1
	domid=$(guest_domid "$1")
	shift
	for part; do
		"$part"
	done
}

# in_turn PARTS OF a, PARTS OF b: words. Not at once: a guest that is flooded leaves the
# other one no time on one processor.
in_turn() {
	# shellcheck disable=SC2086
	parts a $1
	# shellcheck disable=SC2086
	parts b $2
}

# hostile_end: what must be true when all lies were told.
hostile_end() {
	step "afterwards"
	in_turn unloading unloading
	backend_start
	in_turn real real
	kernel_clean a b
	spoilt a b
}
