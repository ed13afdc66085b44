#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# On an HCA with an Ethernet port two PV guests have one address each for RDMA and everything
# else: TCP and rdma_cm reach them at it from each other, from dom0 and from another host, over
# IPv4 and IPv6. Nothing is left in dom0's network.
# tier: soak
# limit: 600
# hca: yes
# qemu: -device connectx4,id=hca0,port=eth -device connectx4,id=hca1,port=eth
. ./lib.sh
. ./vhca.sh
. ./hca.sh
. ./rdmacm.sh
. ./oneaddr.sh

SHARED_HCA=mlx5_0 DOM0_SERVICE=7002
PAIRS=('dom0 a' 'a dom0' 'peer a' 'a peer' 'a b' 'b a')

# network: dom0's interface is that of the first HCA, another host's that of the second.
network() {
	local other
	hca_drivers
	modprobe rdma_ucm
	SHARED_DEV=$(ls /sys/class/infiniband/mlx5_0/device/net)
	other=$(ls /sys/class/infiniband/mlx5_1/device/net)
	ip addr add "${V4[dom0]}/24" dev "$SHARED_DEV"
	ip addr add "${V6[dom0]}/64" dev "$SHARED_DEV" nodad
	ip link set "$SHARED_DEV" up
	ip netns add peer
	ip link set "$other" netns peer
	ip -n peer link set lo up
	ip -n peer addr add "${V4[peer]}/24" dev "$other"
	ip -n peer addr add "${V6[peer]}/64" dev "$other" nodad
	ip -n peer link set "$other" up
	wait_until 30 ip netns exec peer ping -q -c 1 -W 1 "${V4[dom0]}" ||
		fail "the other host does not reach dom0"
}
refuses() { connect "$1" "$2" $DOM0_SERVICE | grep -i refused; }

step "an Ethernet port, and two guests with one address each"
network
agent_start
backend_start
guests_create pv a b
network_state >/tmp/network
share a
share b
check "the addresses are on the HCA's interface" bash -c \
	"[ \$(ip -o addr show dev $SHARED_DEV | grep -cE '${V4[a]}/|${V4[b]}/|${V6[a]}/|${V6[b]}/') = 4 ]"

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
ip addr flush dev "$SHARED_DEV"
kernel_clean a b
