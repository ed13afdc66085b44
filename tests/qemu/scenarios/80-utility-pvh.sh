#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# A utility domain may be a PVH or an HVM guest: its daemon serves a PV and a PVH guest
# and dom0 with Soft-RoCE as that of a PV one does, and after its end nothing is left.
# limit: 500
# tier: soak
# processors: 2
# hvm: yes
. ./lib.sh
. ./vhca.sh
. ./utility.sh

step "guests"
guest_config a pv >/dev/null
guest_config b pvh >/dev/null
guests_start a b
ends_open a b

for kind in pvh hvm; do
	step "hcadom is $kind"
	guest_create hcadom $kind mem=512
	hcadom_sh rxe_setup
	hcadom_daemon
	hcadom_attach hca=rxe0,max-pinned-mb=64 a b Domain-0
	check "vhcactl check there finds it fit" hcadom_check
	check "of that kind" hcadom_says "ok   xen: Xen .*, ${kind^^} driver domain"
	check "for what it serves" hcadom_says \
		'ok   max_maptrack_frames: 1024: .* 768 MiB of guests, max-pinned-mb of all is 192 '
	pair "guest to guest: ibv_rc_pingpong" a b "ibv_rc_pingpong -g 1 -n 300"
	with_dom0 "dom0 to guest: ib_write_lat" a "ib_write_lat -F -x 1 -s 8 -n 200"
	xfer_between "vhca-xfer: every byte" a b '-t rc-write-1m,rc-send-4k,rc-read-4k'
	for g in a b Domain-0; do
		check "detach $g" vhcactl detach $g all
	done
	ends_close a b
	kernel_clean hcadom
	check "hcadom ends" xl destroy hcadom
	check "it is no zombie in Xen" wait_until 20 bash -c '! xl list | grep -q null'
done
kernel_clean a b
