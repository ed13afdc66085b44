#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# On an InfiniBand fabric programs of librdmacm connect by addresses of IPoIB: guests
# of one HCA, each in a partition at an index of its own, with each other, with
# dom0 and with another host. Once connected, nobody but the HCA works for them.
# tier: soak
# limit: 600
# hca: yes
# qemu: -device connectx4,id=hca0 -device connectx4,id=hca1
. ./lib.sh
. ./vhca.sh
. ./hca.sh
. ./rdmacm.sh
. ./zero.sh

CM_ADDR=([dom0]=10.8.0.1 [a]=10.8.0.71 [b]=10.8.0.72 [peer]=10.8.0.2)

PAIRS=('a b' 'dom0 b' 'a peer')
[ "$(long 0 1)" = 0 ] || PAIRS+=('a dom0' 'peer b')

# another_host: the second HCA, with an interface in a network of its own.
another_host() {
	ip netns add peer
	ip link set ib1 netns peer
	ip netns exec peer ip link set lo up
	ip netns exec peer ip addr add 10.8.0.2/24 dev ib1
	ip netns exec peer ip link set ib1 up
}
# moved N: doorbells of the HCA of both guests since $doorbells.
moved() { [ $(($(hca_get hca0 doorbells-sq) - doorbells)) -ge "$1" ]; }
# Not what the HCA's driver does: dom0's IPoIB and opensm are there, too. What it did
# for a guest would be a command of its worker.
moves() {
	local g
	snapshot | grep -v '^hca.* \(commands\|irqs\|doorbells-eq\) '
	for g in a b; do
		guest_sh "$g" "cat $DBG_FRONT/*/stats" | sed "s/^/$g /"
	done
}
nothing_moves() { moves >/tmp/before && moves | diff /tmp/before - >/tmp/moved; }

step "a fabric"
fabric_start 'one=0x0001,ipoib:ALL=full;'
modprobe -a ib_ipoib rdma_ucm
wait_until 10 test -e /sys/class/net/ib1 || fail "there is no ib1"
ip addr add 10.8.0.1/24 dev ib0
ip link set ib0 up
another_host
agent_start
backend_start
guest_create a pv &
guest_create b pv
wait $!
vhca_attach a "hca=${HCAS%% *},ip=10.8.0.71/24"
vhca_attach b "hca=${HCAS%% *},ip=10.8.0.72/24"
for g in a b; do
	guest_sh "$g" 'mountpoint -q /sys/kernel/debug ||
		mount -t debugfs debugfs /sys/kernel/debug'
done
check "the other host is there" wait_until 30 ping -c 1 -W 1 10.8.0.2

step "programs"
cm_case rping "rping -s -a @ -C 3 -V" "rping -c -a @ -C 3 -V" \
	"${PAIRS[@]}"
cm_case "ucmatose, 20 connections" "ucmatose -b @ -c 20 -C 2" \
	"ucmatose -s @ -c 20 -C 2" 'a b'
cm_case "ib_write_bw -R" "ib_write_bw -R -F -s 65536 -n 50" \
	"ib_write_bw -R -F -s 65536 -n 50 @" 'a b'

step "ib_write_bw -R, once it is connected"
cm_serve a "ib_write_bw -R -F -s 64 -D 200"
guest_sh -t 400 b "ib_write_bw -R -F -s 64 -D 200 10.8.0.71" >/tmp/cm.c 2>&1 &
client=$!
doorbells=$(hca_get hca0 doorbells-sq)
check "it writes" wait_until 40 moved 200
wait_until 20 nothing_moves || fail "it does not become quiet: $(cat /tmp/moved)"
doorbells=$(hca_get hca0 doorbells-sq)
check "but doorbells" wait_until 40 moved 200
moves >/tmp/after
check "and nobody has worked for them" diff /tmp/before /tmp/after
guest_sh b 'pkill -x ib_write_bw'
guest_sh a 'pkill -x ib_write_bw' || true
wait "$client" || true
wait "$server" || true

step "partitions"
vhcactl detach a 0
vhcactl detach b 0
vhca_attach a "hca=${HCAS%% *},pkeys=0x8001,ip=10.9.0.71/24"
vhca_attach b "hca=${HCAS%% *},pkeys=0x8001,ip=10.9.0.72/24"
CM_ADDR[a]=10.9.0.71 CM_ADDR[b]=10.9.0.72
check "the partition has index 0 in the guest" guest_sh a \
	'vhca-indices | grep "^pkey 0 0x8001"'
cm_case "rping in a partition" "rping -s -a @ -C 3 -V" "rping -c -a @ -C 3 -V" \
	'a b'

step "the end"
check "no id of a worker" no_cm_ids
vhcactl detach a all
vhcactl detach b all
ip netns del peer
ip addr del 10.8.0.1/24 dev ib0
pkill -x opensm
kernel_clean a b
