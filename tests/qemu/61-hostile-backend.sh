#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# A hostile backend (a program in dom0) against the real module in a guest: it
# dies at every stage, answers nonsense, storms, stays silent. The guest's
# kernel has no complaint, its module can be unloaded, a real backend connects.
# Half of that is waiting: two guests are lied to at a time.
# limit: 600
. ./lib.sh
. ./vhca.sh

# met PID: the frontend of $domid has begun, or the liar has ended.
met() {
	! kill -0 "$1" 2>/dev/null ||
		[ "$(xenstore-read "/local/domain/$domid/device/vhca/0/state")" -gt 1 ]
}

# lie MODE [SECONDS [COMMAND IN THE GUEST]]: to $guest, which is $domid. The
# command starts when the device is there, or was given up.
lie() {
	local mode=$1 seconds=${2:-2} command=${3:-} pid rc=0
	# A slow host's frontend is given the time to believe them.
	seconds=$((seconds * ${TIME_SCALE:-2} / 2))
	hostile-backend "$domid" "$mode" "$seconds" >"/tmp/lie.$guest" 2>&1 &
	pid=$!
	if [ -n "$command" ]; then
		wait_until 10 met $pid || fail "$mode: no frontend"
		guest_sh -t $((seconds + 20)) "$guest" "
			for ((i = 0; i < $((30 * ${TIME_SCALE:-2})); i++)); do
				ls /dev/infiniband/uverbs* >/dev/null 2>&1 && break
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

# Each of these is a part; a guest gets some of them.
honest() {
	# To show that the lies are the reason.
	check "$guest: a device appears" brief honest 10 'ibv_devinfo | grep hca_id'
	check "$guest: it did" grep -q hca_id "/tmp/said.$guest"
}

dying() {
	step "$guest: it dies at every stage"
	for mode in die-begin die-initwait die-initialised die-connected; do
		check "$mode" lie $mode
	done
	for mode in die-get-info die-query-port; do
		check "$mode" lie $mode 4
	done
	check "die-alloc-pd" lie die-alloc-pd 8 'timeout 5 ibv_rc_pingpong -g 0'
}

nodes() {
	step "$guest: nodes"
	check "version" lie version
	# The frontend fails once; nobody tells it when to try again.
	check "late-version" brief late-version 10 'ibv_devinfo | grep hca_id'
	check "it tries again" grep -q hca_id "/tmp/said.$guest"
	check "order" lie order
	check "order-minus" lie order-minus
}

answers() {
	step "$guest: answers that break the rules of the ring"
	for mode in wild-prod prod-back id-range id-idle twice other-op \
		long-out huge-out; do
		check "$mode" broken $mode 6
	done
	check "a status that is no error" lie status 3 'ibv_devinfo -v'
}

silence() {
	step "$guest: it does not answer"
	check "silent-get-info" broken silent-get-info 6
	check "silent-alloc" broken silent-alloc 8 'timeout 20 ibv_devinfo'
	check "silent-dealloc" broken silent-dealloc 8 'timeout 20 ibv_devinfo'
	check "silent-reg-mr" lie silent-reg-mr 9 'timeout 6 ibv_rc_pingpong -g 0'
	check "silent-reg-mr, killed" lie silent-reg-mr 9 \
		'timeout -s KILL 1 ibv_rc_pingpong -g 0'
}

# Each of forty contexts ends just in time: 72 s, of which 30 are waited for.
slowness() {
	step "$guest: it takes its time"
	# shellcheck disable=SC2016 # for the guest's shell
	check "slow-dealloc, and the module is unloaded" \
		brief slow-dealloc 100 'for ((i = 0; i < 40; i++)); do
				ibv_asyncwatch >/dev/null 2>&1 &
			done
			sleep 5
			t=$SECONDS
			modprobe -r xen-vhcafront
			echo "unloaded after $((SECONDS - t)) s"
			kill $(jobs -p)
			modprobe xen-vhcafront cmd_timeout=2'
	cat "/tmp/said.$guest"
	check "it was not waited for to the end" \
		grep -qE 'unloaded after (2[0-9]|[34][0-9]) s' "/tmp/said.$guest"
}

# Each run registers 4 MiB and ends: 40 MiB, of which 14 may be kept (64 frames).
keeping() {
	step "$guest: it keeps what it has mapped"
	check "keeps-mr" broken keeps-mr 10 'for i in 1 2 3 4 5 6 7 8 9 10; do
		timeout 3 ibv_rc_pingpong -g 0 -s 4194304; done
		cat /sys/kernel/debug/xen-vhca/zombies'
	check "that is the reason" grep -q 'broken: .*let go' "/tmp/lie.$guest"
	check "the guest has it again, later" wait_guest 20 "$guest" \
		'grep -qx "zombies 0" /sys/kernel/debug/xen-vhca/zombies'
}

descriptions() {
	step "$guest: absurd descriptions"
	for mode in info-ones info-zero info-no-end info-escapes info-driver; do
		check "$mode" broken $mode 6
	done
	for mode in device-ones device-zero port-ones port-zero gid-ones \
		gid-loop pkey-zero pkey-ones; do
		check "$mode" brief $mode 6 'ibv_devinfo -v'
	done
}

objects() {
	step "$guest: absurd objects"
	for mode in uc-zero pd-zero mr-ones cq-small cq-ones same-handle \
		mmap-lies; do
		check "$mode" lie $mode 5 'for i in 1 2 3 4 5 6; do
			timeout 3 ibv_rc_pingpong -g 0; done'
	done
}

storms() {
	step "$guest: storms"
	check "events, to a process that uses the device" \
		lie event-storm 8 'timeout 3 ibv_rc_pingpong -g 0; ibv_devinfo -v'
	check "notifications" lie notify-storm 5 'ibv_devinfo -v'
	check "an event index out of range" broken wild-events 6 'ibv_devinfo'
	check "a fatal event" lie fatal-event 6 'ibv_devinfo'
	check "wild kick indices" lie wild-kicks 6 \
		'timeout 3 ibv_rc_pingpong -g 0'
	check "random answers" lie random 20 'for i in 1 2 3 4 5 6 7 8 9 10; do
		timeout 2 ibv_rc_pingpong -g 0; timeout 2 ibv_devinfo -v; done'
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

# at_once PARTS OF a, PARTS OF b: words.
at_once() {
	local pids=()
	# shellcheck disable=SC2086
	parts a $1 &
	pids+=($!)
	# shellcheck disable=SC2086
	parts b $2 &
	pids+=($!)
	all_well "not all is well with a guest" "${pids[@]}"
}

step "two guests, and no daemon in dom0"
backend_stop
modprobe xen-gntdev; modprobe xen-evtchn
guests_create "${HOSTILE_GUEST:-pv}" a b
for g in a b; do
	guest_sh $g 'modprobe xen-vhcafront cmd_timeout=2
		echo 2 >/sys/module/xen_vhcafront/parameters/cmd_timeout'
done

at_once "honest dying descriptions objects nodes" \
	"honest silence storms answers keeping slowness"

step "afterwards"
at_once unloading unloading
backend_start
at_once real real
kernel_clean a b
spoilt a b
