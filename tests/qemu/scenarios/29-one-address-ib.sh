#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# On an InfiniBand fabric two PV guests have one address each of IPoIB's network for RDMA
# and everything else: TCP and rdma_cm reach them at it from each other, from dom0 and
# from another host, over IPv4 and IPv6. Nothing is left in dom0's network.
# tier: soak
# limit: 600
# hca: yes
# qemu: -device connectx4,id=hca0 -device connectx4,id=hca1
. ./lib.sh
. ./vhca.sh
. ./hca.sh
. ./rdmacm.sh
. ./oneaddr.sh

SHARED_HCA=mlx5_0 SHARED_DEV=ib0 DOM0_SERVICE=7002
PAIRS=('dom0 a' 'a dom0' 'peer a' 'a peer' 'a b' 'b a')

# network: dom0's interface is that of the first HCA, another host's that of the second.
network() {
	modprobe -a ib_ipoib rdma_ucm
	wait_until 10 test -e /sys/class/net/ib1 || fail "there is no ib1"
	ip addr add "${V4[dom0]}/24" dev ib0
	ip addr add "${V6[dom0]}/64" dev ib0 nodad
	ip link set ib0 up
	ip netns add peer
	ip link set ib1 netns peer
	ip -n peer link set lo up
	ip -n peer addr add "${V4[peer]}/24" dev ib1
	ip -n peer addr add "${V6[peer]}/64" dev ib1 nodad
	ip -n peer link set ib1 up
	wait_until 30 ip netns exec peer ping -q -c 1 -W 1 "${V4[dom0]}" ||
		fail "the other host does not reach dom0"
}
refuses() { connect "$1" "$2" $DOM0_SERVICE | grep -i refused; }

step "a fabric, and two guests with one address each"
fabric_start
agent_start
backend_start
guests_create pv a b
network
network_state >/tmp/network
share a
share b
check "the addresses are on the IPoIB interface" bash -c \
	"[ \$(ip -o addr show dev ib0 | grep -cE '${V4[a]}/|${V4[b]}/|${V6[a]}/|${V6[b]}/') = 4 ]"

step "TCP at the address of RDMA"
serve_all a b
talks 4 "${PAIRS[@]}"
talks 6 "${PAIRS[@]}"
check "a answers a ping of the other host" at peer "ping -q -c 1 -W $(seconds 2) ${V4[a]}"
setsid socat TCP4-LISTEN:$DOM0_SERVICE,reuseaddr,fork /dev/null </dev/null >/dev/null 2>&1 &
wait_until 10 bash -c "ss -ltnH | grep ':$DOM0_SERVICE '"
for where in peer b; do
	check "$where does not reach dom0's listener at a's address" \
		refuses "$where" "${V4[a]}"
done

step "RDMA at the same address"
cm_case rping "rping -s -a @ -C 3 -V" "rping -c -a @ -C 3 -V" 'a b' 'a dom0' 'dom0 b' 'a peer'
one_family 6
cm_case "rping, IPv6" "rping -s -a @ -C 3 -V" "rping -c -a @ -C 3 -V" 'a b' 'a peer'
one_family 4

step "the end"
check "detach a" vhcactl detach a all
check "detach b" vhcactl detach b all
end_services a b
check "nothing is left in dom0's network" nothing_left
own_no_addresses a
own_no_addresses b
ip netns del peer
ip addr flush dev ib0
pkill -x opensm
kernel_clean a b
