#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Where no limit of grants was raised, a PV and a PVH guest have verbs, and regions as
# large as docs/guide/limits.md says.
# limit: 400
# tier: soak
# xen: gnttab_max_frames=64 gnttab_max_maptrack_frames=1024
. ./lib.sh
. ./vhca.sh
. ./default_limits.sh

default_limits 384

# A disk has four queues of 32 requests, each of eleven pages and more; a network card
# takes 512 grants for each queue when it connects.
step "a guest with eight processors registers all that it may"
echo 8 >/sys/module/xen_netback/parameters/max_queues
modprobe xen-blkback max_queues=8
modprobe loop
dd if=/dev/zero bs=1M count=64 of=/tmp/disk status=none
disk=$(losetup -f --show /tmp/disk)
VHCA_GUEST_MEM=448
VHCA_GUEST_CFG=(grants=default vcpus=8)
guests_with_vhca pv c
mib=$(promised c)
guest_sh -t 400 c "vhca-many -w 300 region $mib" >/tmp/held.c 2>&1 &
held=$!
check "$mib MiB are registered" wait_until 60 grep -q held /tmp/held.c
check "no two MiB more" no_memory c 2
step "meanwhile it gets a network card and a disk"
check "xl network-attach" xl network-attach c \
	mac=00:16:3e:77:02:01,bridge=xenbr0,script=vif,type=vif
check "the card has eight queues" wait_guest 20 c \
	'[ "$(ls -d /sys/class/net/eth1/queues/rx-* | wc -l)" = 8 ]'
ip addr add 192.168.78.1/24 dev xenbr0
check "it carries packets" guest_sh -t 60 c 'ip addr add 192.168.78.2/24 dev eth1
	ip link set eth1 up
	ping -c 3 -s 8000 192.168.78.1'
guest_sh c 'modprobe xen-blkfront'
check "xl block-attach" xl block-attach c "phy:$disk" xvdb w
check "the disk is there" wait_guest 20 c '[ -b /dev/xvdb ]'
check "it is written and read" guest_sh -t 120 c '
	for i in 1 2 3 4 5 6 7 8; do
		dd if=/dev/urandom of=/tmp/part.$i bs=1M count=4
		dd if=/tmp/part.$i of=/dev/xvdb bs=1M seek=$((8 * i - 8)) oflag=direct &
	done
	wait
	for i in 1 2 3 4 5 6 7 8; do
		dd if=/dev/xvdb bs=1M skip=$((8 * i - 8)) count=4 iflag=direct |
			cmp - /tmp/part.$i || exit 1
	done'
guest_sh c 'pkill -x vhca-many'
wait $held || true
vhcactl detach c all
kernel_clean c
