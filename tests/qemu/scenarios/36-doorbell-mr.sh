#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Memory regions of guests behind a PV dom0 whose frames are in disorder:
# rounds of register, RDMA both ways with every byte compared, deregister, with
# sizes from 4 KiB to 64 MiB mixed. First by dma-bufs, for which the workers map
# nothing, then by addresses. That data is lost there without the cap on
# DMA segments is shown by 15-hca-segment-cap.
# tier: soak
# limit: 800
# hca: yes
# qemu: -device connectx4,id=hca0,lid=1,odp=on -device connectx4,id=hca1,lid=2,odp=on
. ./lib.sh
. ./vhca.sh
. ./hca.sh
. ./zero.sh

helper=/sys/kernel/debug/xen-vhca-helper
# count GUEST NAME: a counter of its worker.
count() { worker_counters "$1" | sed -n "s/.* $2://p"; }
# by_gntdev GUEST: pages that its worker has mapped.
by_gntdev() {
	local range _ file n=0
	while read -r range _ _ _ _ file; do
		[[ $file != */gntdev* ]] ||
			n=$((n + (0x${range#*-} - 0x${range%-*}) / 4096))
	done <"/proc/$(worker_pid "$1" 0)/maps"
	echo "$n"
}
# rounds: of both kinds.
rounds() {
	xfer_between "$N rounds between guests" b a "-t mr-rounds -r $N"
	check "$N rounds within one guest" guest_sh -t 200 a \
		"vhca-xfer --loop -g 0 -t mr-rounds -r $N"
}
# did TEST TEST: is it so of the pages that a's worker has mapped since before(), by
# dma-bufs and by gntdev?
before() { dmabuf=$(count a dmabuf_pages) gntdev=$(count a map_pages); }
did() {
	local d g both="d $1 && g $2"
	d=$(($(count a dmabuf_pages) - dmabuf)) g=$(($(count a map_pages) - gntdev))
	echo "$d pages by dma-bufs, $(count a dmabuf_refused) refused, $g by gntdev"
	((both))
}

balloon_twice
step "guests"
VHCA_KEYS=max-pinned-mb=256 hca_guests pv a pv b	# both ends in one guest
check "the HCAs are capped" \
	[ "$(cat $helper/capped_hcas)" = 2 ]
N=$(long 4 10)
step "rounds by dma-bufs"
before
rounds
check "regions are dma-bufs, queues are not" did '> 1000' '< 500'
check "and none was refused" [ "$(count a dmabuf_refused)" = 0 ]
check "nothing of them is left" grep -qx 0 $helper/mapped
step "while regions live"
queues=$(by_gntdev a)
traffic_inside a 300
check "they are mapped, in no worker" \
	[ "$(cat $helper/mapped)" -gt 0 -a "$(($(by_gntdev a) - queues))" -lt 64 ]
guest_sh a 'pkill -KILL -x vhca-xfer'
wait "${inside[a]}" || true
check "a process that is killed leaves none" wait_until 20 grep -qx 0 $helper/mapped
step "the worker is killed under its regions"
kill_worker a b rc-write-4k
check "its regions are gone" wait_until 20 grep -qx 0 $helper/mapped
step "rounds by addresses"
echo 0 >/sys/module/xen_vhca_helper/parameters/map_pages
before
rounds
check "regions are mapped by gntdev" did '== 0' '> 1000'
check "what was refused is counted" [ "$(count a dmabuf_refused)" -gt 0 ]
echo 4194304 >/sys/module/xen_vhca_helper/parameters/map_pages
step "queues that a process makes and destroys, in the same memory"
check "64 queue pairs, SRQ, resize" guest_sh -t 100 a \
	'vhca-xfer --loop -g 0 -q 64 -t many-qp -t srq -t event'
vhcactl detach a all
vhcactl detach b all
kernel_clean a b
