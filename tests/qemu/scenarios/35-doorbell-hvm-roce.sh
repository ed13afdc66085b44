#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# As 33-zero-work and 63-doorbell-isolation, on HCAs with an Ethernet port: an HVM guest has
# doorbell pages, by which programs talk to a PV guest, without work for anybody else; it
# can map no other page of the HCA, rings for nobody else, and steers no frames of the port.
# tier: soak
# limit: 600
# hvm: yes
# processors: 2
# hca: yes
# qemu: -device connectx4,id=hca0,port=eth -device connectx4,id=hca1,port=eth
. ./lib.sh
. ./vhca.sh
. ./hca.sh
. ./zero.sh
. ./doorbell.sh

# steers GUEST: what ibv_create_flow() says there.
steers() {
	guest_sh -t 60 "$1" 'vhca-probe -g 0 -t misc' | awk -F '\t' '$1 == "create_flow" { print $2 }'
}

step "an HVM and a ${OTHER:=pv} guest, each with an HCA"
hca_guests hvm a "$OTHER" b
LINK=Ethernet
[[ $HCAS != mlx4* ]] || LINK=InfiniBand
check "a's link is $LINK" guest_sh a "ibv_devinfo | grep 'link_layer:.*$LINK'"
for p in rc uc ud srq; do
	pair "ibv_${p}_pingpong" a b "ibv_${p}_pingpong -g 0 -n $(long 50 200)"
	pair "ibv_${p}_pingpong, events" b a "ibv_${p}_pingpong -g 0 -n 50 -e"
done
pair "ib_write_bw" a b "ib_write_bw -F -x 0 -s 65536 -n 200"
xfer_between "vhca-xfer: every byte of shorter transfers" b a "-q 8 --max-size 1048576"

step "pages"
check "its own can be mapped, nothing else" guest_sh -t 60 a 'vhca-uar mmap'
check "fork()" forked a
check "no flow steering" [ "$(steers a)" = EOPNOTSUPP ]

zero_work "$(long 500 2000)"
attack b a hca0 hca1
attack a b hca1 hca0

step "what is left"
kernel_clean a b
vhcactl detach a all
vhcactl detach b all
