#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Thousands of objects: 1,000 RC queue pairs to RTS of one process and of 16, 8,192
# regions of one process, and a region of 4 GiB with the grant limits that it takes.
# Each verb is one command, as it is one system call natively, and one more object
# costs what the first ones did. The times of dom0 are beside those of the guest.
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
export BACKEND_LOG=info BACKEND_ARGS='--maptrack-frames 12288'

# counted WHERE NAME FILE [LINE]: a line of vhca-many, for the table.
counted() { tell "$1 $(grep "^$2 " "$3" | tail -n 1)"; }

# natively NAME MODE... and guest NAME MODE...: the same there, into /tmp/NAME.WHERE.
natively() {
	vhca-many -d rxe0 "${@:2}" >"/tmp/$1.native" ||
		fail "dom0: vhca-many ${*:2}"
}
guest() {
	guest_sh -t 600 big "vhca-many ${*:2}" >"/tmp/$1.guest" ||
		fail "the guest: vhca-many ${*:2}"
}

# one_each FILE LINE MORE: as many commands as verbs, and at most MORE besides.
one_each() {
	local verbs cmds
	verbs=$(value_of verbs "$1" "$2")
	cmds=$(($(value_of cmds "$1" "$2") - $(value_of munmaps "$1" "$2")))
	[ "$cmds" -ge "$verbs" ] && [ "$cmds" -le $((verbs + $3)) ]
}

# each_way MODE N: in dom0 and in the guest.
each_way() {
	local where
	natively "$1" "$1" "$2"
	guest "$1" "$1" "$2"
	for where in native guest; do
		counted "$where" "$1" "/tmp/$1.$where"
		counted "$where" "end_$1" "/tmp/$1.$where"
	done
	check "a verb is a command" one_each "/tmp/$1.guest" "$1" 16
	check "and so is each end" one_each "/tmp/$1.guest" "end_$1" 16
}

step "a guest of 5 GiB with room for a region of 4 GiB"
VHCA_GUEST_MEM=5120
VHCA_GUEST_CFG=('max_grant_frames = 2304')
VHCA_KEYS=max-pinned-mb=4608
guests_with_vhca pv big
spoilt big
worker=$(worker_pid big 0)

step "$QPS queue pairs of one process"
each_way qps $QPS
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
# Besides: each process opens and closes a context, a PD, a CQ, and asks for the port.
check "a verb is a command" one_each /tmp/all.guest all $((16 * 24))

step "$MRS regions of one process"
each_way mrs $MRS

step "a region of $BIG MiB"
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
