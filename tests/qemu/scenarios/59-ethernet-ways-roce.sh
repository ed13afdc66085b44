#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Copyright (C) 2026 The vhca authors
#
# Ethernet for guests over the HCA of their host, beside RDMA: the card's Ethernet port and
# the guests' vifs are ports of one bridge. Guests and another host are in one network, or
# in a VLAN of it that others do not reach; the bridge learns addresses.
# tier: soak
# limit: 900
# hca: yes
# programs: yes
# qemu: -device connectx4,id=hca0,port=eth -device connectx4,id=hca1,port=eth
. ./lib.sh
. ./vhca.sh
. ./hca.sh
. ./rdmacm.sh
. ./roce.sh
. ./ethernet.sh

step "the port in a bridge, and two guests"
archive_setup programs
network
ip link del v7
ip addr flush dev "$ETH"
ip link add br0 type bridge forward_delay 0
ip link set "$ETH" master br0
ip link set br0 up
ip addr add "${V4[dom0]}/24" dev br0
agent_start
backend_start
for g in a b; do
	guest_config "$g" pv "mem=$VHCA_GUEST_MEM" "${VHCA_GUEST_CFG[@]}" >/dev/null
done
guests_start a b
second_vif a 10.8.0.171/24
second_vif b 10.8.0.172/24

step "one network"
way "natively" dom0 peer "${V4[peer]}"
way "to another host" a peer "${V4[peer]}"
way "from another host" peer a 10.8.0.171
way "guest to guest" b a 10.8.0.171
check "the bridge has learned a's address" bash -c \
	"bridge fdb show br br0 | grep -i '00:16:3e:78:00:0a dev $(vif_of a) '"
mac=$(ip -n peer -o link show v7 | sed 's/.* link.ether \([^ ]*\).*/\1/')
check "and the other host's" bash -c "bridge fdb show br br0 | grep -i '$mac dev $ETH '"

step "RDMA beside it"
vhca_attach a "hca=mlx5_0,ip=${V4[a]}/24"
check "a's address of RDMA is on the bridge" ip -o addr show dev br0 to "${V4[a]}"
table a
table peer
use v2 V4
check "rc with another host" with_host a peer "ibv_rc_pingpong -g % -n 20"
vhcactl detach a all

step "a VLAN of a's"
ip link set br0 type bridge vlan_filtering 1
bridge vlan add dev "$ETH" vid 7
bridge vlan add dev "$(vif_of a)" vid 7 pvid untagged
bridge vlan del dev "$(vif_of a)" vid 1
guest_sh a "ip addr add 10.8.7.171/24 dev eth1"
guest_sh b "ip addr add 10.8.7.172/24 dev eth1"
way "in the VLAN" a peer "${IN_VLAN[peer]}"
check_not "b is not in it" at b "ping -q -c 3 -W 1 10.8.7.171"
check_not "nor is a in the other one" at a "ping -q -c 3 -W 1 ${V4[peer]}"
check "b still is" at b "ping -q -c 3 -W $(seconds 2) ${V4[peer]}"

step "the end"
for g in a b; do
	check "detach $g's vif" xl network-detach "$g" 1
done
ip link set "$ETH" nomaster
ip link del br0
ip link add link "$ETH" name v7 type vlan id 7
network_end
kernel_clean a b
