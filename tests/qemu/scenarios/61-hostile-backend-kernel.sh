#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# A hostile backend (a program in dom0) that serves a device for the guest's kernel
# (kernel=1): completions with each field wrong, events of connections in any order, of ids
# that ended or never were, with private data of any length, floods of both, no event at all,
# answers that come late or lie, death, detach. A module in the guest listens, connects twenty
# times at once and ends it all. The guest's kernel has no complaint, its modules can be
# unloaded, and a real backend connects, with a device for processes that works.
# limit: 1500
# tier: soak
. ./lib.sh
. ./vhca.sh
. ./hostile.sh

KC=/sys/kernel/debug/vhca-kconns
LIE_DEVICE='/sys/class/infiniband/vhca*'
PEER=10.8.0.72
COUNT=20
# Seconds of a lie; consumers wait that long for what never comes.
SHORT=$(long 15 30 20)

# For the guest: its network, where rdma_cm looks for the device.
net_begins() {
	guest_sh "$guest" "modprobe -a rdma_cm dummy vhca-kconns
		mountpoint -q /sys/kernel/debug || mount -t debugfs none /sys/kernel/debug
		ip link show rdma0 >/dev/null 2>&1 || ip link add rdma0 type dummy
		ip link set rdma0 up; ip addr replace 10.8.0.71/24 dev rdma0; cat $KC/info"
}
# A GID that is not 0 is the address's: rdma_cm has the device.
HAS_GID="for ((i = 0; i < 50; i++)); do
	grep -v '^0000:0000:0000:0000' /sys/class/infiniband/vhca0/ports/1/gids/0 && break
	sleep 0.1; done"
# Each command may fail.
USED="$HAS_GID; echo listen 4420 >$KC/run; echo connect $PEER 4421 $COUNT >$KC/run
	echo use 2 >$KC/run; cat $KC/info; echo close >$KC/run; cat $KC/info"

# told MODE [SECONDS]: such a lie, all of which the module meets; then nothing of it is left.
told() {
	brief "kernel-$1" "${2:-$SHORT}" "$USED" &&
		guest_sh -t 60 "$guest" "echo close >$KC/run; read -r up there _ <$KC/info
			[ \$up.\$there = 0.0 ]"
}
# lies N: at least so many were told.
lies() {
	local n
	n=$(sed -n 's/^ *\([0-9]*\) lies$/\1/p' "/tmp/lie.$guest")
	note "$guest: ${n:-0} lies"
	[ "${n:-0}" -ge "$1" ]
}
said() { grep -q "$1" "/tmp/said.$guest" || { cat "/tmp/said.$guest"; return 1; }; }

# Each of these is a part; a guest gets some of them.
begins() {
	net_begins
	step "$guest: without a lie, so that the lies are the reason"
	check "twenty connections come up and go" brief kernel-honest 90 \
		"$HAS_GID; echo listen 4420 >$KC/run
		echo connect $PEER 4421 $COUNT >$KC/run && cat $KC/info
		for ((i = 0; i < 100; i++)); do
			read -r up _ <$KC/info
			[ \$up -lt $((COUNT + 3)) ] || break
			sleep 0.1
		done
		cat $KC/info; echo close >$KC/run && cat $KC/info"
	check "they did" said " $COUNT of $COUNT came up"
	check "so did those of peers" said "^$((COUNT + 3)) "
	check "they went" said '^0 0 '
}
completions() {
	local i
	step "$guest: completions"
	for i in $(long 1 '1 2 3'); do
		check "each field is wrong, $i" told completions 15
		# A queue pair takes some ten until it is in error, and there are 23.
		check "they were" lies 150
	done
}
orders() {
	step "$guest: events of connections"
	check "in any order" told orders
	check "they were" lies 200
	check "requests without end" told requests
	check "they were" lies 100
	check "none" told quiet
	check "private data, numbers and addresses" told data
}
floods() {
	step "$guest: both, as many as there is room for"
	check "a flood" told flood
	check "it was one" lies 1000
}
answers() {
	step "$guest: answers"
	check "late ones" told late $((2 * SHORT))
	check "no queue pair stops" told err
	check "that is the reason" grep -q 'broken: .*does not stop' "/tmp/lie.$guest"
	check "random ones" told random
	check "it dies" told dies
}
detached() {
	step "$guest: it lies, and is told to go"
	check "detach" lie kernel-detach $((3 * SHORT)) "$USED"
	check "it went" grep -q 'detached after' "/tmp/lie.$guest"
}
ends() {
	step "$guest: the end of its modules"
	check "$guest: the module of connections" guest_sh -t 60 "$guest" \
		'rmmod vhca-kconns && ip link del rdma0'
}

step "a PV and a PVH guest, and no daemon in dom0"
hostile_guests

in_turn "begins completions orders floods answers detached ends" \
	"begins completions $(long '' orders orders) floods detached ends"
hostile_end
