#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# A hostile backend (a program in dom0) against the real module in a guest: it
# dies at every stage, answers nonsense, storms, stays silent. The guest's
# kernel has no complaint, its module can be unloaded, a real backend connects.
# Half of that is waiting: two guests are lied to at a time.
# skip-ok: no time is left for it
# limit: 750
. ./lib.sh
. ./vhca.sh
. ./hostile.sh

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

# slow_end MODULE: each of forty contexts ends just in time, as that is unloaded: 72 s, of
# which 30 are waited for.
slow_end() {
	# shellcheck disable=SC2016 # for the guest's shell
	check "slow-dealloc, and $1 is unloaded" \
		brief slow-dealloc 150 'modprobe '"$1"'
			for ((i = 0; i < 40; i++)); do
				ibv_asyncwatch >/dev/null 2>&1 &
			done
			# Each has one context open, soon.
			for ((i = 0, n = 0; i < 300 && n < 40; i++)); do
				sleep 0.2
				n=0
				for fd in /proc/[0-9]*/fd/*; do
					[ ! "$fd" -ef /dev/infiniband/uverbs0 ] ||
						n=$((n + 1))
				done
			done
			t=$SECONDS
			modprobe -r '"$1"'
			echo "unloaded after $((SECONDS - t)) s"
			kill $(jobs -p)
			modprobe xen-vhcafront cmd_timeout='$COMMAND_TIME
	cat "/tmp/said.$guest"
	check "it was not waited for to the end" \
		grep -qE 'unloaded after (2[0-9]|[34][0-9]) s' "/tmp/said.$guest"
}
slowness() {
	step "$guest: it takes its time"
	slow_end xen-vhcafront
}
# Of the HCA's own driver in the guest, which takes the device along.
taken() {
	step "$guest: it takes its time while ib_core ends the device"
	slow_end rdma_rxe
}

# Each run registers 4 MiB and ends, as it finds no server: 40 MiB, of which 14 may be
# kept (64 frames).
keeping() {
	step "$guest: it keeps what it has mapped"
	check "keeps-mr" broken keeps-mr 10 'for i in 1 2 3 4 5 6 7 8 9 10; do
		ibv_rc_pingpong -g 0 -s 4194304 127.0.0.1; done
		cat /sys/kernel/debug/xen-vhca/zombies'
	check "that is the reason" grep -q 'broken: .*let go' "/tmp/lie.$guest"
	check "the guest has it again, later" wait_guest 20 "$guest" \
		'grep -qx "zombies 0" /sys/kernel/debug/xen-vhca/zombies'
}

descriptions() {
	step "$guest: absurd descriptions"
	for mode in info-ones info-zero info-no-end info-escapes info-driver \
		names-ones names-twice counters-ones counters-zero; do
		check "$mode" broken $mode 6
	done
	for mode in device-ones device-zero port-ones port-zero gid-ones \
		gid-loop pkey-zero pkey-ones; do
		check "$mode" brief $mode 6 'ibv_devinfo -v'
	done
}

# made N: so many commands were answered at least, of which ten are for the device.
made() {
	local n
	n=$(sed -n 's/.*served \([0-9]*\) commands.*/\1/p' "/tmp/lie.$guest")
	[ "${n:-0}" -ge "$1" ]
}

# The programs make all their objects, and then find no server.
absurd() {
	local mode
	for mode; do
		check "$mode" brief "$mode" 30 'for i in 1 2 3 4 5 6; do
			timeout 10 ibv_rc_pingpong -g 0 127.0.0.1; done'
		check "it had the occasion" made 11
	done
}
mappings() {
	step "$guest: absurd mappings"
	absurd mmap-lies made-lies
}
objects() {
	step "$guest: absurd objects"
	absurd uc-zero pd-zero mr-ones cq-small cq-ones same-handle
	# Queues of 1 GiB, each page of which it would answer for.
	check "huge-queue" brief huge-queue 30 'timeout 20 ibv_rc_pingpong -g 0 127.0.0.1
		dmesg | grep "pages of queue memory"'
	check "the guest refuses them" \
		grep -q ': 262144 pages of queue memory .*refused' "/tmp/said.$guest"
	check "it asks for none" not made 1000
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

step "a PV and a PVH guest, and no daemon in dom0"
hostile_guests

in_turn "honest dying descriptions objects mappings nodes $(long '' taken '')" \
	"honest silence storms answers $(long '' mappings) keeping $(long '' slowness '')"
hostile_end
