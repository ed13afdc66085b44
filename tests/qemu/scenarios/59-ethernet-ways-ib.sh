#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Ethernet for guests over the InfiniBand port of their host, beside RDMA: their vifs are
# ports of a bridge, which is routed over IPoIB, or is one network with another host's by
# VXLAN over IPoIB.
# tier: soak
# limit: 900
# hca: yes
# programs: yes
# qemu: -device connectx4,id=hca0 -device connectx4,id=hca1
. ./lib.sh
. ./vhca.sh
. ./hca.sh
. ./rdmacm.sh
. ./oneaddr.sh
. ./ethernet.sh

NET=10.9.40		# of the bridge

step "a fabric, and two guests in a bridge"
archive_setup programs
fabric_start
modprobe -a ib_ipoib vxlan
wait_until 10 test -e /sys/class/net/ib1 || fail "there is no ib1"
two_hosts ib0 ib1 30
agent_start
backend_start
for g in a b; do
	guest_config "$g" pv "mem=$VHCA_GUEST_MEM" "${VHCA_GUEST_CFG[@]}" >/dev/null
done
guests_start a b
ip link add br0 type bridge forward_delay 0
ip link set br0 up
ip addr add $NET.1/24 dev br0
second_vif a $NET.71/24
second_vif b $NET.72/24
way "natively" dom0 peer "${V4[peer]}"
way "guest to guest" b a $NET.71

step "routed over IPoIB"
sysctl -q net.ipv4.ip_forward=1
ip -n peer route add $NET.0/24 via "${V4[dom0]}"
guest_sh a "ip route add ${V4[peer]}/32 via $NET.1"
way "routed" a peer "${V4[peer]}"
way "routed, from the other host" peer a $NET.71
ip -n peer route del $NET.0/24
guest_sh a "ip route del ${V4[peer]}/32"
sysctl -q net.ipv4.ip_forward=0

step "VXLAN over IPoIB"
ip link add vx0 type vxlan id 71 dstport 4789 local "${V4[dom0]}" remote "${V4[peer]}" dev ib0
ip link set vx0 master br0 up
ip -n peer link add vx0 type vxlan id 71 dstport 4789 local "${V4[peer]}" remote "${V4[dom0]}" \
	dev ib1
ip -n peer addr add $NET.5/24 dev vx0
ip -n peer link set vx0 up
way "VXLAN" a peer $NET.5
way "VXLAN, from the other host" peer a $NET.71
mac=$(ip netns exec peer cat /sys/class/net/vx0/address)
check "a sees the MAC address of the other host" \
	guest_sh a "ip neigh show $NET.5 | grep -i 'lladdr $mac'"

step "RDMA beside it"
vhca_attach a hca=mlx5_0
vhca_attach b hca=mlx5_1
pair "rc" a b "ibv_rc_pingpong -n 100"
for g in a b; do
	check "detach $g" vhcactl detach "$g" all
done

step "the end"
for g in a b; do
	check "detach $g's vif" xl network-detach "$g" 1
done
ip link del vx0
ip link del br0
ip netns del peer
ip addr flush dev ib0
pkill -x opensm
kernel_clean a b
