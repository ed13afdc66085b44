#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Thousands of objects: 1,000 RC queue pairs to RTS of one process and of 16, 8,192
# regions of one process, and a region of 4 GiB with the grant limits that it takes.
# Each verb is one command, as it is one system call natively, and one more object
# costs what the first ones did. The times of dom0 are beside those of the guest, where
# nobody polls and where both sides do.
# limit: 1500
# ram: 9216
# processors: 2
# tier: soak
# xen: gnttab_max_frames=4096 gnttab_max_maptrack_frames=12288
. ./lib.sh
. ./vhca.sh
. ./scale.sh

QPS=1000
MRS=8192
BIG=4096		# MiB
KEYS=max-pinned-mb=4608
export BACKEND_LOG=info BACKEND_ARGS='--maptrack-frames 12288'

# counted WHERE NAME FILE [LINE]: a line of vhca-many, for the table.
counted() { tell "$1 $(grep "^$2 " "$3" | tail -n 1)"; }

# natively NAME MODE... and guest NAME MODE...: the same there, into /tmp/NAME.WHERE.
natively() {
	vhca-many -d rxe0 "${@:2}" >"/tmp/$1.native" ||
		fail "dom0: vhca-many ${*:2}"
}
guest() {
	local before
	before=$(worker_counts)
	guest_sh -t 600 big "vhca-many ${*:2}" >"/tmp/$1.guest" ||
		fail "the guest: vhca-many ${*:2}"
	# The worker writes its statistics once a second.
	sleep 2	# measured
	tell "worker $1 $(echo "$before $(worker_counts)" | awk '{
		print "cmd_notifies", $4 - $1, "cmd_sleeps", $5 - $2, "cmd_spins", $6 - $3 }')"
}
worker_counts() {
	vhcactl stats --json big 0 |
		jq -r '.counters | "\(.cmd_notifies) \(.cmd_sleeps) \(.cmd_spins)"'
}

# against NATIVE GUEST LINE: the guest's time as a multiple of dom0's.
against() {
	tell "$3 of $2 guest_ms_by_native_ms $(awk -v a="$(value_of ms "/tmp/$2.guest" "$3")" \
		-v b="$(value_of ms "/tmp/$1.native" "$3")" 'BEGIN { printf "%.2f", a / b }')"
}

# polling US: the guest's processes for so long; its worker if it was attached so.
polling() { guest_sh big "echo $1 >/sys/module/xen_vhcafront/parameters/spin_us"; }

# one_each FILE LINE MORE: as many commands as verbs, and at most MORE besides.
one_each() {
	local verbs cmds
	verbs=$(value_of verbs "$1" "$2")
	cmds=$(($(value_of cmds "$1" "$2") - $(value_of munmaps "$1" "$2")))
	[ "$cmds" -ge "$verbs" ] && [ "$cmds" -le $((verbs + $3)) ]
}

# notified_once FILE LINE: for a command the guest notifies, and sleeps, once at most.
notified_once() {
	local cmds name
	cmds=$(value_of cmds "$1" "$2")
	for name in cmd_notifies cmd_sleeps; do
		[ "$(value_of $name "$1" "$2")" -le "$cmds" ] || return 1
	done
}

# in_guest NAME MODE N: there, beside what dom0 needed for the same.
in_guest() {
	local line
	guest "$1" "$2" "$3"
	for line in "$2" "end_$2"; do
		counted "guest $1" "$line" "/tmp/$1.guest"
		against "$2" "$1" "$line"
		check "$line: a verb is a command" one_each "/tmp/$1.guest" "$line" 16
		check "$line: at most one notification and one sleep for each" \
			notified_once "/tmp/$1.guest" "$line"
	done
}

# in_dom0 MODE N
in_dom0() {
	natively "$1" "$1" "$2"
	counted native "$1" "/tmp/$1.native"
	counted native "end_$1" "/tmp/$1.native"
}

step "a guest of 5 GiB with room for a region of 4 GiB"
VHCA_GUEST_MEM=5120
# A guest's module grants 448 pages for each of them, and lists of references besides.
VHCA_GUEST_CFG=(vcpus=2 'max_grant_frames = 2432')
VHCA_KEYS=$KEYS,spin-us=0
guests_with_vhca pv big
spoilt big
polling 0

step "$QPS queue pairs of one process, where nobody polls"
in_dom0 qps $QPS
in_guest asleep qps $QPS

step "and where both sides do"
vhcactl detach big all
vhca_attach big "$KEYS,spin-us=1000"
polling 1000
worker=$(worker_pid big 0)
in_guest qps qps $QPS
check "ten ends and more have one command for their memory" \
	[ "$(value_of munmaps /tmp/qps.guest end_qps)" -le $((QPS / 10 + 2)) ]

step "what the last ones cost"
guest few qps 100
counted guest qps /tmp/few.guest
tell "qp_of_100_and_of_$QPS ms $(awk -v a="$(value_of ms /tmp/few.guest qps)" \
	-v b="$(value_of ms /tmp/qps.guest qps)" -v n=$QPS 'BEGIN {
		printf "%.2f %.2f", a / 100, b / n }')"

step "$QPS queue pairs of 16 processes"
natively all -p 16 qps $QPS
guest all -p 16 qps $QPS
for where in native guest; do
	counted $where all /tmp/all.$where
done
against all all all
# Besides: each process opens and closes a context, a PD, a CQ, and asks for the port.
check "a verb is a command" one_each /tmp/all.guest all $((16 * 24))

step "$MRS regions of one process"
in_dom0 mrs $MRS
in_guest mrs mrs $MRS

step "a region of $BIG MiB"
# It is one command, and its end another: a minute each on a slow host.
guest_sh big "echo $(seconds 120) >/sys/module/xen_vhcafront/parameters/cmd_timeout"
free=$(free_kib)
guest_sh -t 600 big "vhca-many -w 500 region $BIG" >/tmp/region.guest 2>&1 &
region=$!
wait_until 300 grep -q held /tmp/region.guest ||
	fail "$BIG MiB cannot be registered: $(cat /tmp/region.guest)"
tell "region_$BIG dom0_bytes_per_page $(((free - $(free_kib)) * 1024 / (BIG * 256)))" \
	"worker_pss_kib $(awk '/^Pss:/ { print $2 }' "/proc/$worker/smaps_rollup")"
many_ends big
check "it ends in order" wait $region
counted guest region /tmp/region.guest
counted guest end_region /tmp/region.guest
check "it is one command" one_each /tmp/region.guest region 0

step "what is left"
check "it is the same worker" [ "$(worker_pid big 0)" = "$worker" ]
check "no object is left" wait_until 30 no_objects
vhcactl detach big all
kernel_clean big
