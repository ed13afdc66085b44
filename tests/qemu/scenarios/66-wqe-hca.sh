#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Processes of a PV and of a PVH guest write what they like into their queues of a
# mlx5 HCA and ring at their own doorbell pages: the HCA, which is the model here,
# lives, dom0's kernel has nothing to say, the workers are the same ones, and
# verbs between the guests and in dom0 work afterwards as before.
# tier: soak
# limit: 400
# soak-limit: 6000
# hca: yes
# qemu: -device connectx4,id=hca0,lid=1 -device connectx4,id=hca1,lid=2
. ./lib.sh
. ./vhca.sh
. ./hca.sh

WQES=$(long 10000 500000)	# of each guest

# wild GUEST: the requests; a file has what was written.
wild() {
	check "$1: $WQES work requests" guest_sh -t "$(long 200 5400)" "$1" \
		"vhca-wqe -g 0 -n $WQES >/tmp/wild; rc=\$?; cat /tmp/wild; exit \$rc"
}

seen() { echo $(($(hca_get hca0 wqes) + $(hca_get hca1 wqes))); }

step "a PV and a PVH guest, each with an HCA"
hca_guests pv a pvh b
old="$(worker_pid a 0) $(worker_pid b 0)"
wqes=$(seen)

step "wild work requests, in both guests"
wild a &
wild_a=$!
wild b &
all_well "wild work requests" "$wild_a" $!
wqes=$(($(seen) - wqes))
note "the HCAs took $wqes of them and completed $(hca_get hca0 cqes) and $(hca_get hca1 cqes)"
check "they took many" [ "$wqes" -gt $((WQES / 10)) ]

step "all is well"
check "the workers are the same" \
	[ "$(worker_pid a 0) $(worker_pid b 0)" = "$old" ]
check_not "the kernel had nothing to say" bash -c \
	'dmesg | grep -E "BUG|Oops|WARNING|soft lockup|general protection|mlx5_core.*(health|timeout)"'
pair "ibv_rc_pingpong" a b "ibv_rc_pingpong -g 0 -n 100"
xfer_between "every byte" b a '-t rc-write-4k,rc-send-4k,ud-send-4k,srq'
for d in $HCAS; do
	check "dom0 on $d: every byte" vhca-xfer --loop -d "$d" -g 0 \
		-t rc-write-4k,rc-send-4k
done
vhcactl detach a all
vhcactl detach b all
kernel_clean a b
