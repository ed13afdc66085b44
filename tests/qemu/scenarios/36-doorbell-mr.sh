#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Memory regions of guests behind a PV dom0 whose frames are in disorder:
# rounds of register, RDMA both ways with every byte compared, deregister, with
# sizes from 4 KiB to 64 MiB mixed. That data is lost there without the cap on
# DMA segments is shown by 15-hca-segment-cap.
# tier: soak
# limit: 600
# hca: yes
# qemu: -device connectx4,id=hca0,lid=1 -device connectx4,id=hca1,lid=2
. ./lib.sh
. ./vhca.sh
. ./hca.sh

balloon_twice
step "guests"
VHCA_KEYS=max-pinned-mb=256 hca_guests pv a pv b	# both ends in one guest
check "the HCAs are capped" \
	[ "$(cat /sys/kernel/debug/xen-vhca-helper/capped_hcas)" = 2 ]
N=$(long 8 20)
step "rounds"
xfer_between "$N rounds between guests" b a "-t mr-rounds -r $N"
check "$N rounds within one guest" guest_sh -t 200 a \
	"vhca-xfer --loop -g 0 -t mr-rounds -r $N"
step "queues that a process makes and destroys, in the same memory"
check "64 queue pairs, SRQ, resize" guest_sh -t 100 a \
	'vhca-xfer --loop -g 0 -q 64 -t many-qp -t srq -t event'
vhcactl detach a all
vhcactl detach b all
kernel_clean a b
